"""A canvas with a helper thread, so that no key waits for a document.

What the thread finds comes back as a message and is applied on the UI thread, unless another document is shown by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from textual.message import Message

from tltui.text.document import Document
from tltui.text.rows import Wrapped
from tltui.widgets.document_canvas import DocumentCanvas
from tltui.widgets.document_search import SLICE, TELL_EVERY, Background, Job
from tltui.widgets.document_strips import WHOLE

YIELD = 0.0005
"""Seconds that the helper thread sleeps after reading, so that a key that waits for the lock gets it."""

ADVANCE = 1 << 20
"""Bytes of a line index that are built while the lock is held."""


class BackgroundCanvas(DocumentCanvas):
    """A canvas that builds a document's line index, and has the next page read, on its helper thread."""

    @dataclass
    class Answer(Message, bubble=False):
        """What the helper thread has to say: `apply` runs on the UI thread, if `document` is still shown."""

        document: Document
        apply: Callable[[], None]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._known = (0, -1)
        """Lines and version of the document that the screen is up to date with."""
        self._told_growth = 0.0
        self._wanted: list[int] = []
        self._background = Background(self._failed, self._after_job)

    def post(self, document: Document, apply: Callable[[], None]) -> None:
        """From any thread: run `apply` on the UI thread if the document is still shown then."""
        try:
            self.post_message(self.Answer(document, apply))
        except RuntimeError:  # the app is ending: nobody is left to be told
            return

    def on_background_canvas_answer(self, message: Answer) -> None:
        """Apply what the helper thread found, unless it is about a document of before."""
        message.stop()
        if message.document is self._document:
            message.apply()

    def on_unmount(self) -> None:
        """End the helper thread."""
        self._background.stop()

    def _failed(self, error: Exception) -> None:
        self.post(self._document, partial(self.tell, f"tltui failed here: {type(error).__name__}: {error}"))

    def _after_job(self) -> None:
        """Runs on the helper thread: tell the UI thread that the document grew, a few times a second."""
        document, now = self._document, time.monotonic()
        if (len(document), document.version) == self._known:
            return
        if document.complete or now - self._told_growth > TELL_EVERY:
            self._told_growth = now
            self.post(document, self.document_grown)

    def after_paint(self, document: Document, job: Job) -> None:
        """Have a job done once the screen is painted: the page that somebody waits for comes first."""

        def begin() -> None:
            if document is self._document:
                self._background.do(job)

        self.call_after_refresh(begin)

    def _advancing(self, document: Document) -> Job:
        """A job that completes the line index in slices."""

        def advance() -> Job | None:
            with self._reading:
                done = document.advance(ADVANCE)
            time.sleep(YIELD)
            return None if done else advance

        return advance

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Have the next page read while this one is looked at: lexing it takes longer than drawing it."""
        super().watch_scroll_y(old_value, new_value)
        top, height = self.scroll_offset.y, self.size.height
        if not height or not self._document.language or isinstance(self._rows, Wrapped):
            return
        first = top + height if new_value > old_value else top - height
        rows = range(max(first, 0), min(first + height, len(self._rows)))
        self._wanted = wanted = [self._rows.at(row).line for row in rows]
        self.after_paint(self._document, partial(self._read_ahead, self._document, wanted, 0))

    def _read_ahead(self, document: Document, lines: list[int], place: int) -> Job | None:
        """A job: have the document lex some lines, which it keeps. Ends when another page is wanted."""
        end = time.monotonic() + SLICE / 4
        while place < len(lines) and lines is self._wanted:
            if lines[place] >= 0:
                with self._reading:
                    if document.length(lines[place]) <= WHOLE:
                        document.line(lines[place])
                time.sleep(YIELD)
            place += 1
            if time.monotonic() > end:
                return partial(self._read_ahead, document, lines, place)
        return None

    def document_grown(self) -> None:
        """Call this when the document has more lines, sections or another badge."""

    def tell(self, text: str) -> None:
        """Say something in the status bar."""
