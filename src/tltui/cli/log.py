"""`tltui log`: what the job printed, as it stands in its output."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.loading import load, one_ref
from tltui.cli.parser import Parser, add_json, add_paths, add_refs
from tltui.cli.printing import as_json, as_text, layout, result_of
from tltui.model.ref import parse_ref

EXAMPLES = """\
examples:
  tltui log job.err               every line
  tltui log job.err 0/1           the lines of one compile
  tltui log job.err 3:            the lines of rank 3, of a stream that all ranks print into
  tltui log job.err --json        what it tells of the end of the job
  tltui log job.err --raw         with what a terminal would not show: colours, the states of progress bars
"""


def add_arguments(parser: Parser) -> None:
    """PATH and REF."""
    add_paths(parser)
    add_json(parser)
    add_refs(parser, "a compile, frame, process or rank")
    parser.add_argument("--raw", action="store_true", help="as it was written, not as a terminal shows it")


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """The lines."""
    from tltui.questions.records.log_page import log_document

    document = log_document(load(options), parse_ref(one_ref(options)), layout(options))
    yield from as_json(result_of(document)) if options.json else as_text(document, options, whole=True)
