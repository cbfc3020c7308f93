"""`tltui timing`: a view with an export for Perfetto."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from tltui.cli import view
from tltui.cli.loading import load
from tltui.cli.parser import Parser
from tltui.cli.printing import message

EXAMPLES = """\
examples:
  tltui timing /tmp/tracedir
  tltui timing /tmp/tracedir 0/1
  tltui timing /tmp/tracedir --perfetto trace.json        open it in ui.perfetto.dev
  tltui timing /tmp/tracedir --profile profile.json --perfetto both.json    compile and run time on one time line
"""


def add_arguments(parser: Parser) -> None:
    """Add those of the view, and the file."""
    view.add_arguments(parser)
    parser.add_argument("--perfetto", metavar="FILE", help="write the events as JSON for ui.perfetto.dev instead")


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the page, or the counts of the written file."""
    return _perfetto(options) if options.perfetto else view.run(options)


def _perfetto(options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.documents.format import plural, size_of
    from tltui.documents.scope import scope_of
    from tltui.text.safe_files import replacing
    from tltui.writers.perfetto import Written, chunks

    model = load(options)
    compiles = scope_of(model, view.part(options)).compiles
    target, written, size = Path(options.perfetto).expanduser(), Written(), 0
    with replacing(target, force=options.force) as file:
        for chunk in chunks(compiles, written, model):
            size += file.write(chunk)
    summary = f"{plural(written.events, 'event')} in {plural(written.lanes, 'lane')}, {size_of(size)}"
    if written.ran:
        summary += f", {plural(written.ran, 'event')} of what ran"
    if written.unreadable:
        summary += f"; {plural(written.unreadable, 'event')} left out: no JSON, or without name and time"
    yield message(f"{target}  {summary}")
