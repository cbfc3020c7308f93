"""Searching a document without ever making a key wait: what is known of a search, and the work of finding out more.

The work never touches a widget: it posts what it found.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from tltui.text.document import Document, Hit
from tltui.text.search.pattern import is_simple
from tltui.text.unannotated import Unannotated
from tltui.work.scheduler import Steps

HITS_CAP = 10_000
"""Hits that are kept and counted; beyond it the count says `10,000+` and the next hit is looked for when asked."""

SLICE = 0.02
"""Seconds of work before something else has its turn."""

TELL_EVERY = 0.25
"""Seconds between two reports of progress: faster is bytes over SSH that nobody reads."""

def _place(hit: Hit) -> tuple[int, int]:
    return (hit.line, hit.start)


@dataclass(slots=True)
class Search:
    """A pattern and the hits known so far, ascending. Filled on the UI thread by what is found elsewhere."""

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

    @property
    def is_simple(self) -> bool:
        """Whether the pattern may be tried on the UI thread."""
        return is_simple(self.pattern)

    def spans(self, line: int, text: str, first: int) -> list[tuple[int, int]]:
        """Hits in a decoded piece of a line that begins at column `first`. Of a pattern that could hold the interpreter those
        that were found by now."""
        if self.is_simple:
            if isinstance(self.document, Unannotated) and (shown := self.document.hits_in(line, self.pattern)) is not None:
                return shown
            return [(m.start() + first, m.end() + first) for m in self.pattern.finditer(text) if m.end() > m.start()]
        found = []
        for hit in self.hits[bisect_left(self.hits, (line, 0), key=_place) :]:
            if hit.line != line:
                break
            if hit.end > first and hit.start < first + len(text):
                found.append((hit.start, hit.end))
        return found


def counting(search: Search, found: Callable[[list[Hit], bool, bool], None], first: int = 0) -> Steps:
    """Find all hits from line `first` on, up to `HITS_CAP`; `found(more hits, counted, capped)` now and then."""
    hits = search.document.find(search.pattern, first)
    waiting: list[Hit] = []
    total, told, end = 0, 0.0, time.monotonic() + SLICE
    try:
        for hit in hits:
            now = time.monotonic()
            if hit is not None:
                waiting.append(hit)
                total += 1
                if total >= HITS_CAP:
                    found(waiting, True, next(hits, None) is not None)
                    return
            if waiting and now - told > TELL_EVERY:
                found(waiting, False, False)
                waiting, told = [], now
            if hit is None or now > end:
                yield None
                end = time.monotonic() + SLICE
        found(waiting, True, False)
    finally:
        close(hits)


def seeking(search: Search, line: int, column: int, back: bool, found: Callable[[Hit | None], None]) -> Steps:
    """Find the hit after (`back`: before) a place."""
    hits = search.document.find(search.pattern, line, back)
    try:
        for hit in hits:
            if hit is None:
                yield None
            elif (_place(hit) < (line, column)) if back else (_place(hit) > (line, column)):
                found(hit)
                return
        found(None)
    finally:
        close(hits)


def close(hits: object) -> None:
    """End a search in another process with the search."""
    if isinstance(hits, Generator):
        hits.close()
