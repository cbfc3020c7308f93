"""Searching a document without ever making a key wait: one helper thread for a view, and what is known of a search.

The thread never touches a widget: it posts what it found. It alone calls the methods of a document that take long
(`advance`, `sections`, `find`); those that read lines are called under the view's lock, in slices of milliseconds.
"""

from __future__ import annotations

import re
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Optional

from tltui.text.document import Document, Hit

HITS_CAP = 10_000
"""Hits that are kept and counted; beyond it the count says `10,000+` and the next hit is looked for when asked."""

SLICE = 0.02
"""Seconds that a job works before the next one in the queue has its turn."""

TELL_EVERY = 0.25
"""Seconds between two reports of progress: faster is bytes over SSH that nobody reads."""

Job = Callable[[], Optional["Job"]]
"""Work for the helper thread; what it returns is queued behind all others."""


class Background:
    """One helper thread; runs jobs in turn. Jobs of a document that is no longer shown are dropped."""

    def __init__(self, failed: Callable[[Exception], None], after: Callable[[], None]) -> None:
        self._failed = failed
        self._after = after
        self._queue: SimpleQueue[tuple[int, Job] | None] = SimpleQueue()
        self._epoch = 0
        self._thread: threading.Thread | None = None

    def do(self, job: Job) -> None:
        """Run a job after those that wait already."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="document", daemon=True)
            self._thread.start()
        self._queue.put((self._epoch, job))

    def drop(self) -> None:
        """Forget all jobs that wait."""
        self._epoch += 1

    def stop(self) -> None:
        """End the thread after the job it is in."""
        self.drop()
        self._queue.put(None)
        self._thread = None

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            epoch, job = item
            if epoch != self._epoch:
                continue
            try:
                following = job()
                self._after()
            except Exception as error:  # a failure of one document must not end the thread
                self._failed(error)
                continue
            if following is not None:
                self._queue.put((epoch, following))


def _place(hit: Hit) -> tuple[int, int]:
    return (hit.line, hit.start)


@dataclass(slots=True)
class Search:
    """A pattern and the hits known so far, ascending. Filled on the UI thread by what the helper thread posts."""

    source: str
    pattern: re.Pattern[str]
    document: Document
    hits: list[Hit] = field(default_factory=list)
    counted: bool = False
    capped: bool = False
    counting: bool = False

    @property
    def complete(self) -> bool:
        """Every hit of the document is known."""
        return self.counted and not self.capped

    def known(self, line: int, column: int, back: bool) -> tuple[bool, Hit | None]:
        """The hit after (`back`: before) a place: (whether that can be said yet, the hit or None)."""
        if back:
            place = bisect_left(self.hits, (line, column), key=_place) - 1
            sure = self.complete or (bool(self.hits) and _place(self.hits[-1]) >= (line, column))
            return sure, self.hits[place] if place >= 0 else None
        place = bisect_right(self.hits, (line, column), key=_place)
        if place < len(self.hits):
            return True, self.hits[place]
        return self.complete, None

    def hit_at(self, line: int) -> bool:
        """Whether a hit in this line is known."""
        place = bisect_left(self.hits, (line, 0), key=_place)
        return place < len(self.hits) and self.hits[place].line == line

    def label(self, hit: Hit | None) -> str:
        """`3/17`, `17` off a hit, `3/120…` while it is counting, `3/10,000+` where it gave up counting."""
        total = f"{len(self.hits):,}" + ("+" if self.capped else "" if self.counted else "…")
        if hit is None:
            return total
        place = bisect_left(self.hits, _place(hit), key=_place)
        if place < len(self.hits) and self.hits[place] == hit:
            return f"{place + 1:,}/{total}"
        return f"?/{total}"

    def spans(self, text: str, first: int) -> list[tuple[int, int]]:
        """Hits in a decoded piece of a line that begins at column `first`."""
        return [(m.start() + first, m.end() + first) for m in self.pattern.finditer(text) if m.end() > m.start()]


def counting(search: Search, found: Callable[[list[Hit], bool, bool], None]) -> Job:
    """A job that finds all hits up to `HITS_CAP`, in slices; `found(more hits, counted, capped)` now and then."""
    hits = search.document.find(search.pattern)
    waiting: list[Hit] = []
    total = 0
    told = 0.0

    def slice_() -> Job | None:
        nonlocal total, told, waiting
        end = time.monotonic() + SLICE
        for hit in hits:
            waiting.append(hit)
            total += 1
            now = time.monotonic()
            if total >= HITS_CAP:
                found(waiting, True, next(hits, None) is not None)
                return None
            if now - told > TELL_EVERY:
                found(waiting, False, False)
                waiting, told = [], now
            if now > end:
                return slice_
        found(waiting, True, False)
        return None

    return slice_


def seeking(search: Search, line: int, column: int, back: bool, found: Callable[[Hit | None], None]) -> Job:
    """A job that finds the hit after (`back`: before) a place."""

    def seek() -> None:
        found(next(_beyond(search, line, column, back), None))

    return seek


def _beyond(search: Search, line: int, column: int, back: bool) -> Iterator[Hit]:
    for hit in search.document.find(search.pattern, line, back):
        if (_place(hit) < (line, column)) if back else (_place(hit) > (line, column)):
            yield hit
