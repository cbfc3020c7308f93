"""`tltui show`: the document of an address."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.loading import load, one_ref
from tltui.cli.parser import Parser, add_json, add_paths, add_refs
from tltui.cli.printing import as_json, as_text, layout
from tltui.model.ref import parse_ref

EXAMPLES = """\
examples:
  tltui show /tmp/tracedir                    the whole run
  tltui show /tmp/tracedir 0/1                one compile
  tltui show /tmp/tracedir 0/0:inductor_output_code --unit backward
  tltui show --demo 0:0/0:dynamo_output_graph --raw > graph.py
"""


def add_arguments(parser: Parser) -> None:
    """Add PATH, REF and options for artifacts."""
    add_paths(parser)
    add_json(parser)
    add_refs(parser, "an address, e.g. 0/1 or 0/1:inductor_output_code")
    parser.add_argument("--unit", metavar="U", help="which unit is meant: forward, backward, inference …")
    parser.add_argument("--raw", action="store_true", help="the bytes as torch wrote them")


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the document, its result, or the bytes."""
    from tltui.questions.artifacts.show_output import in_unit, raw_bytes, shown_data
    from tltui.questions.build import build

    loaded = load(options)
    ref = parse_ref(one_ref(options))
    if options.unit:
        ref = in_unit(loaded, ref, options.unit)
    if options.raw:
        yield from raw_bytes(loaded, ref)
        return
    document = build(loaded, ref, layout(options))
    yield from as_json(shown_data(loaded, ref, document)) if options.json else as_text(document, options)
