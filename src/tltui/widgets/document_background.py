"""A canvas that has work done elsewhere, so that no key waits for a document.

What the scheduler's threads find comes back as a message and is applied on the UI thread, unless another document is shown by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

from textual.message import Message

from tltui.text.document import Document
from tltui.text.growing import GrowingDocument
from tltui.text.rows import Wrapped
from tltui.widgets.document_canvas import DocumentCanvas
from tltui.widgets.document_search import SLICE, TELL_EVERY
from tltui.widgets.document_strips import WHOLE
from tltui.work.scheduler import Lane, Place, Scheduler, Steps, Task

YIELD = 0.0005
"""Seconds of sleep after reading, so that a key that waits for the lock of the document gets it."""

ADVANCE = 1 << 20
"""Bytes of a line index that are built while that lock is held."""


class Busy(Protocol):
    """The app, as far as a view knows it."""

    scheduler: Scheduler


class BackgroundCanvas(DocumentCanvas):
    """A canvas that has a document's line index built, and the next page read, by the scheduler of the app."""

    @dataclass
    class Answer(Message, bubble=False):
        """What another thread has to say: `apply` runs on the UI thread, if `document` is still shown."""

        document: Document
        apply: Callable[[], None]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._known = (0, -1)
        """Lines and version of the document that the screen is up to date with."""
        self._told_growth = 0.0
        self._wanted: list[int] = []
        self._scheduler: Scheduler | None = None
        self._growth: Task | None = None
        self._unbegun: GrowingDocument | None = None
        """The page that is shown, as long as nobody works on the rest of it."""

    def post(self, document: Document, apply: Callable[[], None]) -> None:
        """From any thread: run `apply` on the UI thread if the document is still shown then."""
        try:
            self.post_message(self.Answer(document, apply))
        except RuntimeError:  # the app is ending: nobody is left to be told
            return

    def on_background_canvas_answer(self, message: Answer) -> None:
        """Apply what was found, unless it is about a document of before."""
        message.stop()
        if message.document is self._document:
            message.apply()

    def on_unmount(self) -> None:
        """Nobody waits any more."""
        self.drop_work()
        self.leave(None)

    # work

    def work(self, steps: Steps, place: Place = Place.BYTES) -> Task:
        """Have something done for the document that is shown. It is dropped with the document."""
        self._scheduler = cast(Busy, self.app).scheduler
        followed = self._followed_up(steps)
        next(followed)  # one that never began would not end what it has to end
        return self._scheduler.do(followed, lane=Lane.GROW, place=place, owner=self)

    def _work_on(self, steps: Steps) -> None:
        self.work(steps)

    def drop_work(self) -> None:
        """Forget all that is being done."""
        if self._scheduler is not None:
            self._scheduler.drop(self)

    def _drop_task(self, task: Task) -> None:
        if self._scheduler is not None:
            self._scheduler.cancel(task)

    def _followed_up(self, steps: Steps) -> Steps:
        """The same steps; after each one the screen is told what the document has become."""
        try:
            yield None
            for place in steps:
                self._after_step()
                yield place
        finally:
            steps.close()
            self._after_step()

    def _after_step(self) -> None:
        """On the thread that works: tell the UI thread that the document grew, a few times a second."""
        document, now = self._document, time.monotonic()
        if (len(document), document.version) == self._known:
            return
        if document.complete or now - self._told_growth > TELL_EVERY:
            self._told_growth = now
            self.post(document, self.document_grown)

    def after_paint(self, document: Document, work: Callable[[], None]) -> None:
        """Begin with work once the screen is painted: the page that somebody waits for comes first."""

        def begin() -> None:
            if document is self._document:
                work()

        self.call_after_refresh(begin)

    def _grow(self, document: Document) -> None:
        """Have the lines found that are not known yet. Pages are made from nodes, payloads from bytes."""
        is_page = isinstance(document, GrowingDocument)
        if is_page and self._unbegun is not document:
            return  # it was stopped before it began
        self._unbegun = None
        steps = _advancing(document)
        next(steps)
        self._growth = self.work(steps, Place.NODES if is_page else Place.BYTES)

    def leave(self, document: Document | None) -> None:
        """`document` is shown from now on. A page that nobody had begun to complete ends where it is, with what it started."""
        unbegun, self._unbegun = self._unbegun, document if isinstance(document, GrowingDocument) else None
        if unbegun is not None and unbegun is not document:
            unbegun.stop()

    def stop_growing(self) -> bool:
        """Have the page that is being made end where it is. False where none is being made."""
        document = self._document
        if document.complete or not isinstance(document, GrowingDocument):
            return False
        if self._unbegun is document:
            self.leave(None)
            self.document_grown()
        elif self._growth is not None:
            self._drop_task(self._growth)
        return True

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Have the next page read while this one is looked at: lexing it takes longer than drawing it."""
        super().watch_scroll_y(old_value, new_value)
        top, height = self.scroll_offset.y, self.size.height
        if not height or not self._document.language or isinstance(self._rows, Wrapped):
            return
        first = top + height if new_value > old_value else top - height
        rows = range(max(first, 0), min(first + height, len(self._rows)))
        self._wanted = wanted = [self._rows.at(row).line for row in rows]
        document = self._document
        self.after_paint(document, partial(self._work_on, self._read_ahead(document, wanted)))

    def _read_ahead(self, document: Document, lines: list[int]) -> Steps:
        """Have the document lex some lines, which it keeps. Ends when another page is wanted."""
        end = time.monotonic() + SLICE / 4
        for line in lines:
            if lines is not self._wanted:
                return
            if line >= 0:
                if document.length(line) <= WHOLE:
                    document.line(line)
                time.sleep(YIELD)
            if time.monotonic() > end:
                yield None
                end = time.monotonic() + SLICE / 4

    def document_grown(self) -> None:
        """Call this when the document has more lines, sections or another badge."""

    def tell(self, text: str) -> None:
        """Say something in the status bar."""


def _advancing(document: Document) -> Steps:
    """Complete a document in slices. A page that is left before it is complete ends where it is. Does nothing at its first step."""
    try:
        yield None
        while not document.advance(ADVANCE):
            if not isinstance(document, GrowingDocument):
                time.sleep(YIELD)
            yield None
    finally:
        if isinstance(document, GrowingDocument):
            document.stop()
