"""`tltui records`: every record in file order."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.loading import load, one_ref
from tltui.cli.parser import Parser, add_json, add_paths, add_refs
from tltui.cli.printing import layout, printed
from tltui.model.ref import parse_ref

EXAMPLES = """\
examples:
  tltui records /tmp/tracedir 0/1
  tltui records /tmp/tracedir 3: --json
"""


def add_arguments(parser: Parser) -> None:
    """Add PATH and REF."""
    add_paths(parser)
    add_json(parser)
    add_refs(parser, "a compile, frame, process or rank")


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the records."""
    from tltui.questions.build import build

    loaded = load(options)
    yield from printed(build(loaded, parse_ref(one_ref(options)).at("records"), layout(options)), options)
