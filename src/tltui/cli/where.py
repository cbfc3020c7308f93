"""`tltui where`: a view, with an option for the current state of the job's processes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli import view
from tltui.cli.loading import load
from tltui.cli.parser import Parser
from tltui.cli.printing import as_json, as_text, layout, result_of

EXAMPLES = """\
examples:
  tltui where /tmp/tracedir
  tltui where /tmp/tracedir 7:           rank 7 alone
  tltui where /tmp/tracedir --pids       on the machine of the job: are its processes alive, and what do they do
  tltui where /tmp/tracedir --stacks     with their Python stacks, equal ones once: py-spy, where it is installed and permitted
  tltui where /tmp/tracedir /tmp/fr      with dumps of torch's flight recorder: who has not entered which collective
  tltui where /tmp/tracedir --json
"""


def add_arguments(parser: Parser) -> None:
    """Add those of the view, and those for processes."""
    view.add_arguments(parser)
    parser.add_argument("--pids", action="store_true", help="what the processes that write these logs on this machine do")
    parser.add_argument("--stacks", action="store_true", help="their Python stacks too: runs py-spy dump, never as another user")


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or its result."""
    if not (options.pids or options.stacks):
        yield from view.run(options)
        return
    from tltui.documents.scope import scope_of
    from tltui.questions.hang.page import where_document
    from tltui.questions.hang.process_sections import files_of, sample_processes

    opened = load(options)
    here = sample_processes(files_of(opened), options.stacks)
    document = where_document(opened, scope_of(opened, view.part(options)), layout(options), here)
    if options.json:
        yield from as_json({"schema": 1, "view": options.command, "result": result_of(document)})
    else:
        yield from as_text(document, options)
