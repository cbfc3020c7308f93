"""`tltui ls`: the contents of a run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.loading import load
from tltui.cli.parser import Parser, add_json, add_paths
from tltui.cli.printing import as_json, as_text, layout

EXAMPLES = """\
examples:
  tltui ls /tmp/tracedir
  tltui ls rank_0.log rank_1.log
  tltui ls /tmp/tracedir --json | jq '.ranks[].processes[].compiles[] | select(.status=="error").ref'
"""


def add_arguments(parser: Parser) -> None:
    """Add PATH and `--check`."""
    add_paths(parser)
    add_json(parser)
    parser.add_argument("--check", action="store_true", help="read every payload: size, lines, md5")


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the listing."""
    from tltui.tree.listing import listing_data, listing_document

    loaded = load(options)
    if options.json or options.check:
        yield from as_json(listing_data(loaded, options.check))
    else:
        yield from as_text(listing_document(loaded, layout(options)), options)
