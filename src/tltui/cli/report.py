"""`tltui report`: the whole run in one file, for readers without tltui."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure
from tltui.cli.loading import load, look
from tltui.cli.parser import Parser, add_force, add_paths, size
from tltui.cli.printing import layout, message

if TYPE_CHECKING:
    from tltui.model.run import Run

EXAMPLES = """\
The file has what is worth most of what fits: summary, problems, every page that says something, all compiles, and code, graphs
and guards of those that matter. It says what was left out, and how to get it. It loads nothing and runs no script.

examples:
  tltui report /tmp/tracedir -o report.html
  tltui report /tmp/tracedir -o report.html --max-size 20M
  tltui report /tmp/tracedir -o report.html --redact
"""
WIDTH = 100
"""Columns of the pages in the file."""
DEFAULT = "5M"


def add_arguments(parser: Parser) -> None:
    """Add PATH, output and size."""
    add_paths(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write: .html")
    parser.add_argument("--max-size", metavar="SIZE", type=size, default=size(DEFAULT),
                        help=f"the largest it may become, as 800k, 5M, 1G (default: {DEFAULT})")  # fmt: skip
    parser.add_argument("--redact", action="store_true",
                        help="replace all that is not torch's own first: names, paths, source lines, strings, hosts")  # fmt: skip
    add_force(parser, "replace FILE if it exists")
    parser.set_defaults(reads_profiles=True)


@contextmanager
def _redacted(run: Run) -> Iterator[Run]:
    """Yield the redacted run, whose logs exist within the context only and whose paths are hidden."""
    from tltui.model.follow import open_run
    from tltui.writers.bundle import Bundle, known_secrets

    with TemporaryDirectory(prefix="tltui-") as directory:
        copy = f"{directory}/redacted/"
        Bundle(run, (), True, known_secrets()).write(copy)
        discovered = look([copy], False)
        logs = tuple(replace(log, label=os.path.relpath(log.name, directory)) for log in discovered.logs)
        yield open_run(replace(discovered, logs=logs))


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Write the file; yield a summary line."""
    from tltui.documents.format import plural, size_of
    from tltui.export.report_book import Book, TooSmall
    from tltui.text.safe_files import replacing

    target = Path(options.output).expanduser()
    if target.suffix.lower() not in (".html", ".htm"):
        raise Failure(f"{options.output}: a report is an HTML file, FILE.html")
    if os.path.lexists(target) and not options.force:
        raise Failure(f"{options.output} exists; --force replaces it")
    source_run, path = load(options), " ".join(options.paths)
    try:
        with ExitStack() as stack:
            if options.redact:
                source_run, path = stack.enter_context(_redacted(source_run)), ""
            book = Book(source_run, options.max_size, path, replace(layout(options), width=WIDTH))
            file = stack.enter_context(replacing(target, force=options.force, private=True))
            counts = book.write(file)
    except TooSmall as small:
        raise Failure(f"--max-size: {small}") from None
    except OSError as error:
        if error.filename == str(target):
            raise Failure(f"{options.output}: {error.strerror}") from None
        raise
    summary = f"{plural(counts.pages, 'page')}, {counts.compiles:,} of {plural(counts.of_compiles, 'compile')}"
    artifacts = f"{counts.artifacts:,} of {plural(counts.of_artifacts, 'artifact')}"
    cut = f", {plural(counts.cut, 'section')} cut" if counts.cut else ""
    yield message(f"wrote {options.output}  {size_of(counts.bytes)}: {summary}, {artifacts}{cut}")
