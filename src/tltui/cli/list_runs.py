"""`tltui list`: the runs of a directory, one line each."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure
from tltui.cli.options import add_json, add_output, add_text
from tltui.cli.parser import Command, argument
from tltui.cli.printing import as_json, as_text, layout
from tltui.documents.envelope import envelope

if TYPE_CHECKING:
    from tltui.questions.compare.run_list_page import RunRow

EXAMPLES = """\
A run is a directory with a trace, a saved index (.tlx) or a packed trace, directly in DIR. Saved indexes open fastest:
hundreds in about a second.
The column "change" compares a run with the run above it.

examples:
  tltui list /shared/traces
  tltui list /shared/traces --json | jq '.result.runs[] | select(.errors > 0).path'
"""
SAVED = ".tlx"


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the list of runs. Raises `Failure` for what is no directory."""
    from tltui.questions.compare.run_list_page import RunList, in_order, run_list_document

    given = options.directory
    if given is None:
        raise Failure("missing DIR", "for example: tltui list /shared/traces")
    rows: list[RunRow] = []
    not_opened: list[str] = []
    others = 0
    for name in run_names(given):
        opened = open_entry(given, name)
        if isinstance(opened, str):
            not_opened.append(opened)
        elif opened is None:
            others += 1
        else:
            rows.append(opened[0])
    result = RunList(given, in_order(rows), tuple(not_opened), others)
    if options.json:
        yield from as_json(envelope("list", os.path.basename(os.path.normpath(given)), "", result))
    else:
        options.paths = [given]
        yield from as_text(run_list_document(result, layout(options)), options, complete=True)


def run_names(directory: str) -> list[str]:
    """Return the entries of a directory that may be runs, by name. Raises `Failure`."""
    try:
        return sorted(name for name in os.listdir(os.path.expanduser(directory)) if not name.startswith("."))
    except OSError as error:
        raise Failure(f"{error.strerror}: '{directory}'", "give a directory of runs") from None


def open_entry(directory: str, name: str) -> tuple[RunRow, bool] | str | None:
    """Open an entry of a directory.

    Returns its row and whether no process writes its logs any more; or the reason why it cannot be opened; None if it is no run.
    """
    from tltui.inputs.index.format import BadIndex
    from tltui.model.follow import open_run
    from tltui.questions.compare.run_list_page import row_of
    from tltui.sources.discover import NothingFound, discover

    path, shown = os.path.join(os.path.expanduser(directory), name), os.path.join(directory, name)
    try:
        opened = open_run(discover([path]))
    except NothingFound as nothing:
        is_meant = path.endswith(SAVED)
        reason, _, _ = str(nothing).partition(f": '{path}'")
        return f"{shown}: {reason}" if is_meant else None
    except (OSError, BadIndex) as error:
        return f"{shown}: {error}"
    if not any(process.is_traced for process in opened.processes()):
        return None
    return row_of(opened, shown), opened.finished


COMMANDS = {
    "list": Command(run, (
        argument("directory", nargs="?", metavar="DIR", help="a directory with a subdirectory or a saved index for each run"),
        add_text, add_json, add_output,
    ), EXAMPLES),
}  # fmt: skip
