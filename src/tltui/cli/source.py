"""`tltui source`: compilation results of a source line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from tltui.cli.exits import Failure
from tltui.cli.loading import load, one_ref
from tltui.cli.parser import Parser, add_json, add_markdown, add_paths, add_refs
from tltui.cli.printing import layout, printed
from tltui.model.ref import parse_ref

EXAMPLES = """\
examples:
  tltui source /tmp/tracedir train.py:42
  tltui source /tmp/tracedir models/block.py:7 0/1 --json
"""


def add_arguments(parser: Parser) -> None:
    """Add PATH, FILE:LINE and REF."""
    add_paths(parser)
    add_json(parser)
    parser.add_argument("place", nargs="?", metavar="FILE:LINE", help="the line; the end of a path is enough: train.py:42")
    add_refs(parser, "the part of the run (default: all)")
    add_markdown(parser)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page of the line."""
    from tltui.documents.scope import place_of
    from tltui.questions.build import build

    if not options.place:
        raise Failure("which line? FILE:LINE is meant, for example train.py:42")
    loaded = load(options)
    part = parse_ref(one_ref(options))
    ref = replace(place_of(part), artifact=options.place, view="source")
    yield from printed(build(loaded, ref, layout(options)), options)
