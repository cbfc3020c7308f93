"""The list of the runs of a directory, read while it is shown; enter opens a run."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import BindingType
from textual.timer import Timer

from tltui.commands import FOOTER_LIST, Situation, Where
from tltui.documents.format import clip_middle
from tltui.model.run import Run
from tltui.screens.requests import Renderer, Request
from tltui.screens.workbench import AppContext, PanesScreen
from tltui.text import tokens
from tltui.text.document import Document, Options, TextDocument
from tltui.text.frozen import mutable
from tltui.text.sanitize import sanitize
from tltui.widgets.bars import RunBar
from tltui.widgets.document_view import DocumentView
from tltui.widgets.key_input import Typed, bindings
from tltui.work.scheduler import Place, Scheduler, Steps

if TYPE_CHECKING:
    from tltui.questions.compare.run_list_page import Entry

INTERVAL = 0.5
"""Seconds between two pictures of the list while it is read."""
AGAIN, PACE = 5.0, 20
"""Seconds between two looks at the directory and at runs that are being written, at least; and so many times what the last look
took."""


@mutable(slots=False)
class RunChoice:
    """A list of runs, and the run that was chosen; it outlives the screen."""

    directory: str
    unread: list[str]
    """Names of the entries that are to be read, in this order."""
    sort: str
    entries: dict[str, Entry] = field(default_factory=dict)
    """What was read, by name."""
    chosen: str = ""
    """The name of the run that was chosen last, '' for none."""
    top: int = 0
    """The row of the list, from 0, that was the first in sight when it was chosen."""
    is_made: bool = False
    """Whether the list was left for that run."""
    remark: str = ""
    """Why the chosen run could not be opened."""
    typed: Typed = field(default_factory=deque)
    """What was typed while one screen gave way to the next: the next one takes it."""

    @property
    def has_runs(self) -> bool:
        """Whether a run was read."""
        return any(isinstance(entry, tuple) for entry in self.entries.values())

    @property
    def written(self) -> list[str]:
        """The names of the runs that were being written when they were read."""
        return [name for name, entry in self.entries.items() if isinstance(entry, tuple) and entry[0].has_writer]

    @property
    def progress(self) -> str:
        """How much is read, '' if everything is."""
        count = len(self.entries.keys() | set(self.unread))
        return f"reading {count - len(self.unread)} of {count} entries" if self.unread else ""


class RunListScreen(PanesScreen[None]):
    """Shows the list, and ends the app when a run is chosen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.LIST)
    WHERE = Where.LIST
    FOOTER = FOOTER_LIST

    def __init__(self, around: AppContext, choice: RunChoice, faulted: Callable[[BaseException], object]) -> None:
        super().__init__(around)
        self.choice = choice
        self._faulted = faulted
        self._maker = Renderer(self.trace, self.scheduler, self.answer, faulted, self.ascii_only)
        self._reader = Scheduler(self.scheduler.gate, faulted)
        """Reads runs on its own thread: a run may take long, and what the page needs does not wait for it."""
        self._later: Timer | None = None
        self._next_check: Timer | None = None
        self._has_rows = False
        self.is_at_start = not choice.chosen
        """Whether the list is shown from its top, whatever runs come in: until the first key."""

    def compose_panes(self) -> Iterator[DocumentView]:
        """Yield the list."""
        view = DocumentView(mouse=self.mouse, ascii_only=self.ascii_only, id="runs")
        view.numbers = False
        view.on_position = self.say_place
        view.on_rest = self._rested
        yield view

    @property
    def view(self) -> DocumentView:
        """The list."""
        return self.query_one("#runs", DocumentView)

    @property
    def shown_panes(self) -> Sequence[DocumentView]:
        """The list alone."""
        return [self.view]

    @property
    def back_command(self) -> str:
        """The command of the right mouse button, which does not leave tltui."""
        return "list.help" if self.is_helping else "list.close"

    def on_mount(self) -> None:
        """Show what was read before, then begin to read."""
        self.view.focus()
        for problem in self.config.problems:
            self.show_message(problem, tokens.WARN)
        if self.choice.remark:
            self.show_message(self.choice.remark, tokens.WARN)
            self.choice.remark = ""
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._draw()
        self._read(tuple(self.choice.unread))

    def on_resize(self) -> None:
        """Lay the table out for the new width."""
        if self.is_mounted:
            self.call_after_refresh(self._draw)

    def on_unmount(self) -> None:
        """Stop reading."""
        self._reader.stop()
        self.end_work()

    # reading

    def _read(self, names: Sequence[str] | None) -> None:
        self._reader.drop(self)
        if self._next_check is not None:
            self._next_check.stop()
        self._reader.do(self._reading(names), place=Place.LONG, owner=self, fault=self._failed)

    def _reading(self, names: Sequence[str] | None) -> Steps:
        """Read entries, on another thread; None: all that are in the directory now."""
        from tltui.questions.compare.run_list_page import entry_names, open_entry

        directory = self.choice.directory
        if names is None:
            names = entry_names(directory)
            self.answer(partial(self._listed, names))
        for name in names:
            yield None
            self.answer(partial(self._add_entry, name, open_entry(directory, name)))
        self.answer(self._read_all)

    def _listed(self, names: Sequence[str]) -> None:
        """Drop entries that are gone; the others stay as they are until they are read again."""
        choice = self.choice
        choice.unread = list(names)
        choice.entries = {name: choice.entries[name] for name in names if name in choice.entries}
        self._draw()

    def _add_entry(self, name: str, entry: Entry) -> None:
        self.choice.entries[name] = entry
        self.choice.unread.remove(name)
        if self._later is None:
            self._later = self.set_timer(INTERVAL, self._draw)

    def _read_all(self) -> None:
        """Show the complete list; leave a directory without runs, unless one was there."""
        if self.choice.has_runs or self._has_rows:
            self._draw()
            self._check_later(0.0)
        else:
            self.app.exit()

    def _check_later(self, took: float) -> None:
        """Look at the directory again later; `took`: the seconds of the last time."""
        self._next_check = self.set_timer(max(AGAIN, PACE * took), self._check)

    def _check(self) -> None:
        unchanged = self.choice.entries.keys() - set(self.choice.written)
        self._reader.do(self._check_steps(unchanged), place=Place.LONG, owner=self, fault=self._failed)

    def _check_steps(self, unchanged: Collection[str]) -> Steps:
        """Read new entries and runs that were being written, on another thread."""
        from tltui.questions.compare.run_list_page import entry_names, open_entry

        began, directory, entries = time.monotonic(), self.choice.directory, {}
        names = entry_names(directory)
        for name in names:
            if name not in unchanged:
                yield None
                entries[name] = open_entry(directory, name)
        self.answer(partial(self._show_checked, names, entries, time.monotonic() - began))

    def _show_checked(self, names: Collection[str], read: Mapping[str, Entry], took: float) -> None:
        """Draw what has changed: runs that are new or have grown, and those that are gone or have another name."""
        before = self.choice.entries
        self.choice.entries = {name: read[name] if name in read else before[name] for name in names}
        if self.choice.entries != before:
            self._draw()
        self._check_later(took)

    def _failed(self, error: BaseException) -> None:
        """Report why reading ended; runs in the memory of the screen stay."""
        if isinstance(error, OSError):
            self.answer(partial(self.show_message, f"{error.strerror or error}: {self.choice.directory}", tokens.WARN))
        else:
            self._faulted(error)

    # the page

    def _draw(self) -> None:
        """Make the page from what is read."""
        from tltui.questions.compare.run_list_page import list_of, run_list_document

        if self._later is not None:
            self._later.stop()
            self._later = None
        self._say_progress()
        directory, entries = self.choice.directory, dict(self.choice.entries)

        def make(run: Run, options: Options) -> Document:
            return run_list_document(list_of(directory, entries), options)

        width = max(self.view.text_width, 40)
        options = Options(width=width, sort=self.choice.sort, goes_on=self.choice.progress, key_of=self.key_of)
        self._maker.wish(Request("@list", make, is_of_run=False), options, self._ready)

    def _ready(self, document: Document) -> None:
        """Show the page. The cursor stays on its run; at first it is on the one that was opened, or on the first."""
        from tltui.questions.compare.run_list_page import RUN

        if self._has_rows and not self.is_at_start:
            self.view.renew(document)
            return
        targets = [next((link.target for link in document.line(n).links), "") for n in range(len(document))]
        runs = [n for n, target in enumerate(targets) if target.startswith(RUN)]
        wanted = RUN + self.choice.chosen
        self._has_rows = bool(runs)
        line = targets.index(wanted) if wanted in targets else next(iter(runs), 0)
        self.view.show(document, at=line)
        if not self.is_at_start and self.choice.top <= line < self.choice.top + self.view.size.height:
            self.view.scroll_to(y=self.choice.top, animate=False, immediate=True)

    def _rested(self) -> None:
        """Show a list that fits the screen from its head, which runs that came in above the cursor have moved out of sight."""
        if len(self.view.document) <= self.view.size.height:
            self.view.scroll_to(y=0, animate=False, immediate=True)

    def _say_progress(self) -> None:
        progress = self.choice.progress
        name = (f" {clip_middle(sanitize(self.choice.directory), self.size.width // 2)} ", tokens.TITLE)
        self.query_one(RunBar).set([name], [(f"{progress} ", tokens.RUNNING)] if progress else [])

    # commands

    @on(DocumentView.Followed)
    def _run_followed(self, message: DocumentView.Followed) -> None:
        """Leave the list for the run under the cursor."""
        from tltui.questions.compare.run_list_page import RUN

        if message.target.startswith(RUN) and not self.is_helping:
            self.choice.chosen, self.choice.is_made = message.target.removeprefix(RUN), True
            self.choice.top = self.view.scroll_offset.y
            self.app.exit()

    def action_sort(self) -> None:
        """Sort the runs by the next visible column."""
        from tltui.questions.compare.run_list_page import ORDERS

        document = self.view.document
        shown = {self.choice.sort, *(document.orders if isinstance(document, TextDocument) else ())}
        orders = [order for order in ORDERS if order in shown]
        self.choice.sort = orders[(orders.index(self.choice.sort) + 1) % len(orders)]
        self._draw()
        self.show_message(f"sorted by {self.choice.sort}")

    def action_read_again(self) -> None:
        """Read the directory again."""
        self._read(None)

    def action_export(self) -> None:
        """Export the selection, else the filtered lines, to a file."""
        self.export_lines(self.view)

    def action_suspend(self) -> None:
        """Suspend to the shell."""
        self.app.action_suspend_process()

    def action_close(self) -> None:
        """Close what is to be closed first."""
        self.closes_innermost()

    def action_leave(self) -> None:
        """Leave tltui, or help."""
        if self.is_helping:
            self.closes_innermost()
        else:
            self.app.exit()

    def situation(self) -> Situation:
        """Return the state that commands depend on."""
        return Situation(Where.LIST, has_hits=bool(self.view.hits))
