"""The main screen: it reads the run, and answers the keys with what its parts do."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from tltui.analyses.torch_version import torch_version
from tltui.commands import Where
from tltui.documents.format import plural
from tltui.documents.tree.header import header, reading_document
from tltui.messages import Again, Scanned
from tltui.screens.browser_commands import BrowserCommands
from tltui.screens.live.following import Following
from tltui.screens.main_screen import NARROW
from tltui.screens.surroundings import Surroundings
from tltui.screens.workbench import Workbench
from tltui.sources.discover import Discovery, NothingFound
from tltui.sources.found import FoundLog
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.trace import workers
from tltui.widgets.bars import RunBar
from tltui.widgets.bindings import bindings
from tltui.widgets.document_view import DocumentView
from tltui.work.scheduler import Place, Steps

LAST_SLICE = 0.3
"""Seconds that leaving waits for what is being read at that moment."""
LAST_WRITE = 10.0
"""Seconds that leaving waits for a file that is being written."""


class Browser(BrowserCommands):
    """Reads the run and draws what it has become."""

    AUTO_FOCUS = ""  # `on_mount` sets the focus: another one before it would have all styles resolved twice more
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.EVERYWHERE)

    def __init__(self, around: Surroundings, faulted: Callable[[BaseException], object], before: Browser | None = None) -> None:
        """`before`: the screen in whose place this one reads all again. It follows as that one did, and when all has been read it
        shows what was shown there."""
        super().__init__(around, faulted)
        self.following: Following = Following(self, faulted, before=None if before is None else before.following)
        self._version = ""
        self._back_to = before.shown_ref if before is not None else None
        self._is_on_document = before is None or before.document_view.has_focus
        self.set_class(self._is_on_document, "-on-document")
        self.is_replaced = False
        self.nothing = ""
        """Why there is nothing to show, where that turned out."""

    def on_mount(self) -> None:
        """Everything is in its place: draw it once, then begin to read."""
        self.document_view.show(reading_document(self.trace))
        self.document_view.on_position = self._moved
        self.document_view.on_rest = self._rested
        self.set_focus(self.document_view if self._is_on_document else self.tree_view)
        self.say_run()
        for problem in self.config.problems:
            self.tell(problem, tokens.WARN)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """The first frame is up."""
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        self.attending.begin()
        if not self.shown_ref:
            self.await_first_page()
        self.following.start()

    def on_unmount(self) -> None:
        """The app ends: so does the work, when what was to be written is written. Unless another one takes over."""
        self.following.stop()
        self.attending.end()
        if self.is_replaced:
            return
        for task in self.around.writing:
            task.ended.wait(LAST_WRITE)
        self.scheduler.stop()
        self.scheduler.join(LAST_SLICE)
        from tltui.text.search.child import end_all  # not before the first frame

        end_all()
        workers.end_all()

    # the run

    def on_scanned(self, message: Scanned) -> None:
        """A batch arrived."""
        self.following.take_over(message.events)

    def read_also(self, logs: Sequence[FoundLog], then: Callable[[], object]) -> None:
        """Read logs that were left out; then do something."""
        self.following.read_also(logs, then)

    def stop_profiles(self) -> None:
        """Read no profiles any more that nobody waits for."""
        self.following.profiling.stop()

    def come_to_nothing(self, reason: str) -> None:
        """There is no log: leave, and say why."""
        self.nothing = reason
        self.app.exit()

    def run_changed(self, is_new: bool, is_read: bool) -> None:
        """The run has grown: counts, new nodes. `is_read`: all that was there has been read."""
        self.tree_view.run_changed(is_new)
        self.say_run()
        self.renew()
        if is_read and self._back_to is None:
            self.show_first_page()
        if is_read and self._back_to is not None:
            self.keep_cursor()
            if self._back_to in self.own_pages:
                self.show_ref(self._back_to)
            else:
                self.arrive(self._back_to)
            self.tell("read again")

    def _rested(self) -> None:
        """The page is whole. Until the first key the caret is where the summary begins: on the worst problem that is known."""
        if not (self._steered or self.shown_ref):
            self.document_view.to_start()
        super()._rested()

    def _is_overview(self) -> bool:
        return not self.document_view.document.language

    def user_acts(self) -> None:
        """A key was pressed or the mouse was used."""
        self._steered = self.tree_view.is_held = True
        for screen in self.app.screen_stack:
            if isinstance(screen, Workbench) and screen.is_whole:
                screen.status.quiet()
        self.following.noticing.read()

    def job_changed(self, remark: str) -> None:
        """What is known of the job that was started changed."""
        self.following.remark = remark
        self.say_run()
        self.renew()

    def action_follow(self) -> None:
        """Follow what the job writes, or do not."""
        self.following.toggle()

    def action_news(self) -> None:
        """To what went wrong last."""
        self.following.noticing.go()

    def action_read_again(self) -> None:
        """Read all logs from their beginning."""
        self.tell("reading again …")
        self.scheduler.do(self._looking(), place=Place.LONG)

    def _looking(self) -> Steps:
        found = self.trace.found
        latest = found.discovery is not None and found.discovery.latest
        try:
            profiles = found.discovery.profiles if found.discovery is not None else ()
            again = replace(Discovery(found.paths, latest, profiles=profiles).look(), is_over=found.is_over)
        except NothingFound as nothing:
            self.answer(partial(self.tell, f"{str(nothing).splitlines()[0]}; what was read stays", tokens.WARN))
            return
        self.answer(partial(self.post_message, Again(again)))
        yield None

    # what the bars say

    def say_run(self) -> None:
        """The line above."""
        run = self.trace
        if not self._version:
            self._version = next((v for process in run.processes() if (v := torch_version(process))), "")
        key = self.key_of("app.follow")
        left, right = header(run, self._version, self.following.live(), self.size.width, self.ascii_only, key)
        self.query_one(RunBar).set(left, right)

    def _moved(self, moved: DocumentView.Moved) -> None:
        parts: list[Piece] = []
        left, compiles = self.tree_view.outline.filter_counts
        if compiles:
            parts.append((f"{left:,} of {plural(compiles, 'compile')} shown  ", tokens.WARN))
        if moved.selected:
            parts.append((f"{plural(moved.selected, 'line')} selected  ", tokens.STRONG))
        if moved.hits:
            parts.append((f"{moved.hits}  ", tokens.BREAK))
        parts.append((f"{moved.position} ", tokens.DIM))
        self._say_name(moved.line)
        self.status.place(parts)

    def _say_name(self, line: int) -> None:
        """What is known of the name under the caret, else of the node that the line defines."""
        if self.names is None or not self.document_view.has_focus:
            return
        stop = self.document_view.stop_at_caret()
        said = self.names.about(stop.text, line) if stop is not None else ""
        said = said or self.names.about_line(line)
        if said:
            self.tell(said, tokens.DIM)

    # layout

    def fit(self, width: int) -> None:
        """Show one pane at a time on a narrow screen."""
        self.set_class(width < NARROW, "-narrow")

    def on_resize(self) -> None:
        """Lay out what depends on the width."""
        self.fit(self.size.width)
        if self.is_mounted:
            self.name_panes()
            self.call_after_refresh(self.attending.resized)
            self.say_run()
            if self._is_overview():
                self.call_after_refresh(self.lay_out_again)

    def on_descendant_focus(self) -> None:
        """The pane with the focus is the one that a narrow or zoomed screen shows."""
        self.set_class(self.document_view.has_focus, "-on-document")
