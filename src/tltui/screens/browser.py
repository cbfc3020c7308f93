"""The main screen: it reads the run, and answers the keys with what its parts do."""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable
from typing import ClassVar

from textual.binding import BindingType

from tltui.analyses.torch_version import torch_version
from tltui.commands import Where
from tltui.documents.format import clip, plural, seconds, size_of
from tltui.documents.tree.outline import marks, path_to
from tltui.messages import Scanned
from tltui.model.follow import Follower
from tltui.model.run import Event, settle
from tltui.model.walk import interesting
from tltui.screens.browser_commands import BrowserCommands
from tltui.screens.main_screen import NARROW
from tltui.screens.workbench import Surroundings
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.widgets.bars import RunBar
from tltui.widgets.bindings import bindings
from tltui.widgets.document_view import DocumentView
from tltui.work.scanning import Scan

REDRAW = 0.5
"""Seconds between two redraws of counts while the scan runs."""
AGAIN = 0.005
"""Seconds after which the UI thread asks again for the run, which is being read."""
LAST_SLICE = 0.3
"""Seconds that leaving waits for what is being read at that moment."""
LAST_WRITE = 10.0
"""Seconds that leaving waits for a file that is being written."""


class Browser(BrowserCommands):
    """Reads the run and draws what it has become."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.EVERYWHERE)

    def __init__(self, around: Surroundings, faulted: Callable[[BaseException], object]) -> None:
        super().__init__(around, faulted)
        self._faulted = faulted
        self._waiting: deque[Event] = deque()
        self._scan: Scan | None = None
        self._redrawn = 0.0
        self._is_new = False
        self._version = ""

    def on_mount(self) -> None:
        """Everything is in its place: draw it once, then begin to read."""
        self.document_view.on_position = self._moved
        self.document_view.on_rest = self._rested
        follower = Follower(self.trace, faulted=self._faulted)
        self._scan = Scan(follower, lambda event: self.post_message(Scanned(event)), self._faulted)
        self.tree_view.focus()
        self._say_run()
        for problem in self.config.problems:
            self.tell(problem, tokens.WARN)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """The first frame is up."""
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        if not self.shown_ref:
            self.show_ref("", by_user=False)
        if self._scan:
            self._scan.start()

    def on_unmount(self) -> None:
        """The app ends: so does the work, when what was to be written is written."""
        if self._scan:
            self._scan.stop()
        for task in self.around.writing:
            task.ended.wait(LAST_WRITE)
        self.scheduler.stop()
        self.scheduler.join(LAST_SLICE)
        from tltui.text.search.child import end_all  # not before the first frame

        end_all()

    # the scan

    def on_scanned(self, message: Scanned) -> None:
        """A batch arrived."""
        self._waiting.append(message.event)
        self._take_over()

    def _take_over(self) -> None:
        """Take over what was read. While a slice of reading is going on the run must not change: it is done a little later."""
        while self._waiting:
            with self.scheduler.gate.at_once() as may:
                if may:
                    self._apply(self._waiting.popleft())
            if not may:
                self.set_timer(AGAIN, self._take_over)
                return
            if self._scan:
                self._scan.applied()
            now = time.monotonic()
            if self.trace.is_read or now - self._redrawn >= REDRAW:
                self._redrawn = now
                self._run_changed()

    def _apply(self, event: Event) -> None:
        self._is_new |= self.trace.take(event).new
        if self.trace.is_read:
            settle(self.trace)

    def _run_changed(self) -> None:
        """The run has grown: counts, new nodes, and until the first key the cursor on the most interesting place."""
        self.tree_view.run_changed(self._is_new)
        self._is_new = False
        self._say_run()
        if not self._steered:
            best = interesting(self.trace)
            if best is not None:
                keys = path_to(self.trace, best)
                if self.tree_view.node.key != keys[-1] or self.trace.is_read:
                    self.tree_view.reveal(keys, by_user=False)
        else:
            self.renew()

    def _is_overview(self) -> bool:
        return not self.document_view.document.language

    def user_acts(self) -> None:
        """A key was pressed or the mouse was used."""
        self._steered = self.tree_view.is_held = True
        self.status.quiet()

    # what the bars say

    def _say_run(self) -> None:
        run = self.trace
        tally = run.tally
        if not self._version:
            self._version = next((v for process in run.processes() if (v := torch_version(process))), "")
        left: list[Piece] = [(f" {clip(run.title, 40)}", tokens.TITLE)]
        if self._version:
            left.append((f"  torch {clip(self._version, 24)}", tokens.DIM))
        if len(run.ranks) > 1:
            left.append(f"  {plural(len(run.ranks), 'rank')}")
        left.append(f"  {plural(tally.compiles, 'compile')}")
        for count, mark, word, style in marks(tally, self.ascii_only):
            left.append((f"  {mark} {count:,} {word}", style))
        if run.damaged:
            left.append((f"  {run.damaged} damaged", tokens.WARN))
        if run.lost:
            left.append((f"  {plural(len(run.lost), 'log')} changed", tokens.WARN))
        skipped = len(run.found.skipped) + len(run.failures)
        if skipped:
            left.append((f"  {skipped} not opened", tokens.WARN))
        right: list[Piece] = []
        if not run.is_read:
            right = [(f"reading {100 * run.scanned // run.size}% of {size_of(run.size)} ", tokens.DIM)]
        else:
            words = [f"{seconds(tally.seconds)} compiling"] * (tally.seconds > 0) + ["may go on"] * (not run.finished)
            right = [(" · ".join(words) + " ", tokens.DIM)] if words else []
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

    def on_resize(self) -> None:
        """One pane at a time on a narrow screen."""
        self.set_class(self.size.width < NARROW, "-narrow")
        if self.is_mounted and self._scan and self._is_overview():
            self.call_after_refresh(self.reload)

    def on_descendant_focus(self) -> None:
        """The pane with the focus is the one that a narrow or zoomed screen shows."""
        self.set_class(self.document_view.has_focus, "-on-document")
