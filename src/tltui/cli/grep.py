"""`tltui grep`: search in payloads, envelopes and pages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.exits import Failure
from tltui.cli.loading import load
from tltui.cli.parser import Parser, add_json, add_paths
from tltui.cli.printing import layout, printed

EXAMPLES = """\
examples:
  tltui grep addmm /tmp/tracedir
  tltui grep 'extern_kernels\\.\\w+' /tmp/tracedir --artifact inductor_output_code
"""


def add_arguments(parser: Parser) -> None:
    """Add PATTERN, which is always the first argument, PATH, and filters."""
    from tltui.model.status import Status

    parser.add_argument("pattern", metavar="PATTERN", help="a regular expression; small letters match capitals too")
    add_paths(parser)
    add_json(parser)
    parser.add_argument("-C", "--context", metavar="N", type=int, default=0, help="show N lines around each hit")
    parser.add_argument("--artifact", metavar="GLOB", default="*", help="only artifacts of this name")
    parser.add_argument("--status", choices=[str(status) for status in Status], help="only such compiles")
    parser.add_argument("--rank", metavar="N", type=int, help="only this rank")
    parser.add_argument("--frame", metavar="F", type=int, help="only this frame")


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the hits."""
    from tltui.questions.records.grep_page import BadPattern, Query, grep_document

    loaded = load(options)
    query = Query(options.pattern, options.artifact, options.status or "", options.rank, options.frame, max(options.context, 0))
    try:
        document = grep_document(loaded, query, layout(options))
    except BadPattern as bad:
        raise Failure(str(bad)) from None
    yield from printed(document, options)
