"""`tltui list`: the runs of a directory, a line each; in a terminal a screen that opens them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure
from tltui.cli.options import add_json, add_output, add_text
from tltui.cli.parser import Command, Parser, argument
from tltui.cli.printing import as_json, as_text, layout
from tltui.documents.envelope import envelope
from tltui.documents.format import plural

if TYPE_CHECKING:
    from tltui.questions.compare.run_list_page import RunList

EXAMPLES = """\
A run is a directory with a trace, a saved index (.tlx) or a packed trace, directly in DIR. Saved indexes open fastest:
hundreds in about a second.
The column "change" compares a run with the last run before it that compiled the same functions.
In a terminal the list is a screen: enter opens a run, q comes back to the list. In a pipe, or with an option for printed text
other than --ascii, it is printed.

examples:
  tltui list /shared/traces
  tltui list /shared/traces --sort time | head
  tltui list /shared/traces --json | jq '.result.runs[] | select(.errors > 0).path'
"""


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield the list of runs, or show it. Raises `Failure` for what is no directory, and for a directory without runs."""
    if options.directory is None:
        raise Failure("missing DIR", "for example: tltui list /shared/traces")
    names = run_names(options.directory)
    if _is_shown(options):
        options.exit_code = _show(options, names)
    else:
        yield from _printed(options, names)


def run_names(directory: str) -> list[str]:
    """Return the entries of a directory that may be runs, by name. Raises `Failure`."""
    from tltui.questions.compare.run_list_page import entry_names

    try:
        return entry_names(directory)
    except OSError as error:
        raise Failure(f"{error.strerror}: '{directory}'", "give a directory of runs") from None


def _printed(options: argparse.Namespace, names: list[str]) -> Iterator[bytes]:
    from tltui.questions.compare.run_list_page import list_of, open_entry

    given = options.directory
    result = list_of(given, {name: open_entry(given, name) for name in names})
    if not result.runs:
        raise _without_runs(result)
    if options.json:
        yield from as_json(envelope("list", os.path.basename(os.path.normpath(given)), "", result))
        return
    from tltui.questions.compare.run_list_page import run_list_document

    options.paths = [given]
    yield from as_text(run_list_document(result, layout(options)), options, complete=True)


def _is_shown(options: argparse.Namespace) -> bool:
    """Return whether the list is a screen: in a terminal, unless an option asks for printed text."""
    from tltui.cli.loading import no_terminal

    is_printed = options.json or options.markdown or options.all or options.color or options.to or options.is_stdout
    return not is_printed and not no_terminal()


def _show(options: argparse.Namespace, names: list[str]) -> int:
    """Show the list, and each run that is chosen in it; return the exit code. Raises `Failure` for a directory without runs."""
    from tltui.app import start_of_list
    from tltui.cli.loading import search
    from tltui.list_app import choose_run, free_run
    from tltui.questions.compare.run_list_page import list_of
    from tltui.screens.run_list import RunChoice
    from tltui.sources.discover import NothingFound

    settings = argparse.Namespace(theme=None, ascii=options.ascii, no_mouse=None)
    choice = RunChoice(options.directory, names, options.sort)
    code: int | None = None
    while code is None:
        code = choose_run(choice, settings)
        if code or not choice.is_made:
            break
        try:
            path = os.path.join(choice.directory, choice.chosen)
            code = start_of_list(search([path], latest=False), settings, choice.typed)
        except (Failure, NothingFound) as none:
            code, choice.remark = None, str(none).partition("\n")[0]
        free_run()
    if not (code or choice.has_runs or choice.unread):
        raise _without_runs(list_of(choice.directory, choice.entries))
    return code


def _without_runs(result: RunList) -> Failure:
    """Return the error for a directory without runs: entries that cannot be opened, and the number of the others."""
    others = f"{plural(result.other_entries, 'entry', 'entries')} without a trace"
    lines = [*result.not_opened, *([others] if result.other_entries else ()), "give a directory with a subdirectory for each run"]
    return Failure(f"no run in '{result.directory}'", "\n  ".join(lines))


def _add_sort(parser: Parser) -> None:
    from tltui.questions.compare.run_list_page import ORDERS

    parser.add_argument("--sort", choices=ORDERS, default=ORDERS[0], help=f"order of the runs (default: {ORDERS[0]})")


COMMANDS = {
    "list": Command(run, (
        argument("directory", nargs="?", metavar="DIR", help="a directory with a subdirectory or a saved index for each run"),
        _add_sort, add_text, add_json, add_output,
    ), EXAMPLES),
}  # fmt: skip
