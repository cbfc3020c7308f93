"""`tltui case`: everything that a job left behind in one file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tltui.cli.exits import Failure, print_error
from tltui.cli.loading import load
from tltui.cli.parser import Parser, add_force, add_json, add_paths
from tltui.cli.printing import as_json, as_text, layout

EXAMPLES = """\
The file opens to the same pages: tltui case.zip. The preview says what would be in it.

examples:
  tltui case trace/ torch_compile_debug/ job.err -o case.zip
  tltui case trace/ job.err --redact --preview
"""


def add_arguments(parser: Parser) -> None:
    """PATHs, and where to."""
    add_paths(parser)
    add_json(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the zip archive to write")
    parser.add_argument(
        "--redact", action="store_true", help="replace or leave out all that is not torch's own, and list what was left out"
    )
    parser.add_argument("-n", "--preview", action="store_true", help="only say what would be in it, write nothing")
    add_force(parser)
    parser.set_defaults(refs=[])


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """What is in it."""
    from tltui.writers.bundle import known_secrets
    from tltui.writers.case import Case, case_document

    if not options.preview and not options.output:
        raise Failure("where to? -o FILE writes the case, --preview only says what would be in it")
    case = Case(load(options), options.redact, tuple(known_secrets()) if options.redact else ())
    if options.preview:
        result = case.result()
    else:
        try:
            result = case.write(options.output, options.force)
        except FileExistsError as error:
            raise Failure(f"{error.filename}: {error.strerror}; --force replaces it") from None
    yield from as_json(result) if options.json else as_text(case_document(result, layout(options)), options)
    if not options.preview:
        print_error(f"wrote {options.output}")
