"""`tltui extract`: payloads as files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.exits import Failure
from tltui.cli.loading import load
from tltui.cli.parser import Parser, add_force, add_paths, add_refs
from tltui.cli.printing import message

EXAMPLES = """\
examples:
  tltui extract /tmp/tracedir -o out
  tltui extract /tmp/tracedir -o out 0/1 0/2:inductor_output_code
"""


def add_arguments(parser: Parser) -> None:
    """PATH, what of it, and where to."""
    add_paths(parser)
    add_refs(parser, "what to extract (default: everything)", several=True)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="directory to write into")
    add_force(parser)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """The files that were written."""
    from tltui.inputs.index.indexed_log import Elsewhere
    from tltui.questions.artifacts.show_output import extract

    missing: list[Elsewhere] = []
    for path, size in extract(load(options), options.refs, options.output, options.force, missing):
        yield message(f"{path}  {size:,} bytes")
    if missing:
        more = f"{len(missing):,} payloads are neither in the index nor here, the first: " if len(missing) > 1 else ""
        raise Failure(f"{more}{missing[0]}")
