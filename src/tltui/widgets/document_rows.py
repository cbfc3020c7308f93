"""The rows of a document, computed in the background: line index, folds, filter, wrapping, and the work of a search."""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Sequence
from dataclasses import field
from functools import partial
from typing import Any, Protocol, cast

from textual.message import Message

from tltui.text.annotations import Unannotated
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Hit, Section
from tltui.text.frozen import mutable
from tltui.text.screen_rows import WRAP_CAP, WRAP_LIMIT, Lines, Row, RowMap, SectionIndex, Wrapped
from tltui.text.search.child_process import compiled, is_simple
from tltui.widgets.document_canvas import DocumentCanvas
from tltui.widgets.row_painter import WHOLE, RowStyle, wrapped
from tltui.work.scheduler import Lane, Place, Scheduler, Steps, Task

HITS_CAP = 10_000
"""Hits that are kept and counted; beyond it the count says `10,000+` and the next hit is looked for when asked."""

SLICE = 0.02
"""Seconds of work before something else has its turn."""

REPORT_INTERVAL = 0.25
"""Seconds between two reports of progress: faster is bytes over SSH that nobody reads."""

def _place(hit: Hit) -> tuple[int, int]:
    return (hit.line, hit.start)


@mutable
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

    def hit_after(self, line: int, column: int, back: bool) -> tuple[bool, Hit | None]:
        """Return the hit after (`back`: before) a place: (whether that can be said yet, the hit or None)."""
        if back:
            place = bisect_left(self.hits, (line, column), key=_place) - 1
            sure = self.complete or (bool(self.hits) and _place(self.hits[-1]) >= (line, column))
            return sure, self.hits[place] if place >= 0 else None
        place = bisect_right(self.hits, (line, column), key=_place)
        if place < len(self.hits):
            return True, self.hits[place]
        return self.complete, None

    def hit_at(self, line: int) -> bool:
        """Return whether a hit in this line is known."""
        place = bisect_left(self.hits, (line, 0), key=_place)
        return place < len(self.hits) and self.hits[place].line == line

    def label(self, hit: Hit | None) -> str:
        """Return `3/17`, `17` off a hit, `3/120…` while it is counting, `3/10,000+` where it gave up counting."""
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
        """Return the hits in a decoded piece of a line that begins at column `first`.

        Of a pattern that could hold the interpreter, those that are known by now.
        """
        if self.is_simple:
            if isinstance(self.document, Unannotated) and (shown := self.document.hits_in(line, self.pattern)) is not None:
                return shown
            return [(m.start() + first, m.end() + first) for m in self.pattern.finditer(text) if m.end() > m.start()]
        spans = []
        for hit in self.hits[bisect_left(self.hits, (line, 0), key=_place) :]:
            if hit.line != line:
                break
            if hit.end > first and hit.start < first + len(text):
                spans.append((hit.start, hit.end))
        return spans


def counting(search: Search, report: Callable[[list[Hit], bool, bool], None], first: int = 0) -> Steps:
    """Find all hits from line `first` on, up to `HITS_CAP`; `report(more hits, counted, capped)` now and then."""
    hits = search.document.find(search.pattern, first)
    waiting: list[Hit] = []
    total, reported_s, end = 0, 0.0, time.monotonic() + SLICE
    try:
        for hit in hits:
            now = time.monotonic()
            if hit is not None:
                waiting.append(hit)
                total += 1
                if total >= HITS_CAP:
                    report(waiting, True, next(hits, None) is not None)
                    return
            if waiting and now - reported_s > REPORT_INTERVAL:
                report(waiting, False, False)
                waiting, reported_s = [], now
            if hit is None or now > end:
                yield None
                end = time.monotonic() + SLICE
        report(waiting, True, False)
    finally:
        close(hits)


def seeking(search: Search, line: int, column: int, back: bool, report: Callable[[Hit | None], None]) -> Steps:
    """Find the hit after (`back`: before) a place."""
    hits = search.document.find(search.pattern, line, back)
    try:
        for hit in hits:
            if hit is None:
                yield None
            elif (_place(hit) < (line, column)) if back else (_place(hit) > (line, column)):
                report(hit)
                return
        report(None)
    finally:
        close(hits)


def close(hits: object) -> None:
    """End a search in another process with the search."""
    if isinstance(hits, Generator):
        hits.close()


YIELD = 0.0005
"""Seconds of sleep after reading, so that a key that waits for the lock of the document gets it."""

ADVANCE = 1 << 20
"""Bytes of a line index that are built while that lock is held."""


class Busy(Protocol):
    """The app, as far as a view knows it."""

    scheduler: Scheduler


class BackgroundCanvas(DocumentCanvas):
    """A canvas that has a document's line index built, and the next page read, by the scheduler of the app."""

    @mutable(slots=False)
    class Answer(Message, bubble=False):
        """What another thread has to say: `apply` runs on the UI thread, if `document` is still shown."""

        document: Document
        apply: Callable[[], None]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._drawn_state = (0, -1)
        """Lines and version of the document that the screen is up to date with."""
        self._growth_reported_s = 0.0
        self._wanted: list[int] = []
        self._scheduler: Scheduler | None = None
        self._growth: Task | None = None
        self._unbegun: GrowingDocument | None = None
        """The page that is shown, as long as nobody works on the rest of it."""

    def post(self, document: Document, apply: Callable[[], None]) -> None:
        """Run `apply` on the UI thread if the document is still shown then. Thread-safe."""
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
        """Drop all work."""
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
        """Run the steps, and report the growth of the document after each one."""
        try:
            yield None
            for place in steps:
                self._after_step()
                yield place
        finally:
            steps.close()
            self._after_step()

    def _after_step(self) -> None:
        """Report growth of the document to the UI thread, a few times a second; runs on the working thread."""
        document, now = self._document, time.monotonic()
        if (len(document), document.version) == self._drawn_state:
            return
        if document.complete or now - self._growth_reported_s > REPORT_INTERVAL:
            self._growth_reported_s = now
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
        """Stop the previous page if nobody has begun to complete it; `document` is shown from now on."""
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

    def show_message(self, text: str) -> None:
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


AT_ONCE = 1 << 20
"""Characters (lines × longest line) up to which sections are asked for on the UI thread."""

MEASURED_AT_ONCE = 500
"""Lines whose lengths are asked for on the UI thread when wrapping starts."""

FILTER_CAP = 200_000
"""Lines with a hit that a filter shows."""


class FoldingCanvas(BackgroundCanvas):
    """A canvas whose rows follow from folds, a filter and wrapping."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._sections = SectionIndex()
        self._folded: set[int] = set()
        self._fold_at_first = True
        self._filter = ""
        self._filtered: array[int] | None = None
        self._is_wrapped = False
        self._lengths: dict[int, int] = {}
        self._fixed: RowMap | None = None
        self._filtering: Task | None = None

    # documents

    def _begin(self, document: Document, folded: set[int] | None) -> RowMap:
        """Make the rows of another document; `folded` is what was folded when it was left."""
        self.drop_work()
        self.leave(document)
        self._filter, self._filtered, self._fixed = "", None, None
        self._lengths = {}
        self._drawn_state = (len(document), document.version)
        self._sections, self._folded = SectionIndex(), folded or set()
        self._fold_at_first = folded is None
        if self._is_quick(document):
            self._set_sections(SectionIndex(document.sections()))
        if not document.complete:
            self.after_paint(document, partial(self._grow, document))
        elif not self._is_quick(document):
            self.after_paint(document, partial(self._work_on, self._read_sections(document)))
        return self._make_rows(document)

    @staticmethod
    def _is_quick(document: Document) -> bool:
        return document.complete and (not document.language or len(document) * document.width() <= AT_ONCE)

    def _read_sections(self, document: Document) -> Steps:
        """Find the sections of a large document."""
        yield Place.LONG
        if document.complete and (sections := document.sections()):
            self.post(document, partial(self._sections_read, SectionIndex(sections)))

    def _sections_read(self, index: SectionIndex) -> None:
        if index.sections == self._sections.sections:
            return
        self._set_sections(index)
        self._renew_rows()

    def _set_sections(self, index: SectionIndex) -> None:
        self._sections = index
        if self._fold_at_first and len(index):
            self._folded = index.folded()
            self._fold_at_first = False

    def document_grown(self) -> None:
        """Call this when the document has more lines, sections or another badge. Nothing that is in sight jumps."""
        document = self._document
        if self._drawn_state == (len(document), document.version):
            return
        self._drawn_state = (len(document), document.version)
        gutter, rows, sections = self.gutter_width, len(self._rows), self._sections
        self._numbered = len(document)
        if self._is_quick(document):
            self._set_sections(SectionIndex(document.sections()))
        elif document.complete:
            self.work(self._read_sections(document))
        if self._fixed is None and self._filtered is None:
            self._rows = self._make_rows(document)
        self._resized_rows()
        self._set_frame()
        self._painter.clear()
        if self.gutter_width != gutter or len(self._rows) < rows:
            self.refresh()
        elif len(self._rows) > rows:
            self._repaint(max(rows - 1, 0), len(self._rows))
        if self._sections is not sections:
            self._repaint_changed()  # lines in sight turn out to be the heads of sections
        self._moved()

    # rows

    def _make_rows(self, document: Document) -> RowMap:
        if self._fixed is not None:
            return self._fixed
        if self._filtered is not None:
            lines = Lines(self._filtered)
        else:
            lines = Lines(range(len(document)), self._sections.hidden(self._folded))
        return self._wrapped_rows(document, lines) if self._is_wrapped else lines

    def _renew_rows(self) -> None:
        self.set_rows(self._make_rows(self._document))
        self._moved()

    def fix_rows(self, rows: RowMap | None) -> None:
        """Show the document by a row map from outside (a side-by-side view), or by folds and filter again (None)."""
        self._fixed = rows
        self._renew_rows()

    def _wrapped_rows(self, document: Document, lines: Lines) -> RowMap:
        """Wrap `lines` if their lengths are known, else have them measured and wrap later."""
        if len(lines) > WRAP_LIMIT:
            self._is_wrapped = False
            self.show_message(f"not wrapped: {len(lines):,} lines, at most {WRAP_LIMIT:,} (fold or filter first)")
            return lines
        if document.width() * 2 <= self.text_width:
            return lines
        shown = [lines.at(row).line for row in range(len(lines))]
        missing = [line for line in shown if line not in self._lengths]
        if len(missing) > MEASURED_AT_ONCE:
            self.show_message(f"measuring {len(missing):,} lines to wrap them")
            self.work(self._measuring(document, missing))
            return lines
        for line in missing:
            self._lengths[line] = document.length(line)
        parts = partial(self._parts, document, self.text_width)
        return Wrapped(lines, self.text_width, self._lengths.__getitem__, parts)

    def _parts(self, document: Document, width: int, line: int) -> Any:
        return wrapped(document.line(line, 0, WRAP_CAP).text[:WRAP_CAP], width, self.script)

    def _measuring(self, document: Document, lines: Sequence[int]) -> Steps:
        """Ask for the lengths of many lines."""
        lengths: dict[int, int] = {}
        end = time.monotonic() + SLICE / 4
        for line in lines:
            lengths[line] = document.length(line)
            if time.monotonic() > end:
                time.sleep(YIELD)
                if not self._is_wrapped:
                    return
                yield None
                end = time.monotonic() + SLICE / 4
        self.post(document, partial(self._measured, lengths))

    def _measured(self, lengths: dict[int, int]) -> None:
        self._lengths.update(lengths)
        if self._is_wrapped:
            self._renew_rows()

    def _width_changed(self) -> None:
        if self._is_wrapped:
            self._rows = self._make_rows(self._document)
        self._resized_rows()

    def _content_width(self) -> int:
        return 1 if isinstance(self._rows, Wrapped) else super()._content_width()

    @property
    def is_wrapped(self) -> bool:
        """Whether long lines take several rows."""
        return self._is_wrapped

    def action_wrap(self) -> None:
        """Wrap long lines, or not."""
        self._is_wrapped = not self._is_wrapped
        if self._is_wrapped:
            self._scroll(0, self.scroll_offset.y)
        self._renew_rows()
        if self._is_wrapped and self._document.width() <= self.text_width:
            self.show_message("lines are wrapped; none is wider than the pane")
        elif self._is_wrapped and not self._document.language:
            self.show_message(f"wrapped: {self.marks.onward} continues the row above, also in tables; w unwraps")

    def action_numbers(self) -> None:
        """Show line numbers, or not."""
        self.numbers = not self.has_numbers
        self._painter.clear()
        self._renew_rows()

    # folds

    def _row_style(self, row: Row) -> RowStyle:
        row_style = super()._row_style(row)
        section = self._sections.headed(row.line) if not row.part else None
        if section is not None:
            is_closed = self._is_closed(section)
            row_style.fold = self.marks.closed if is_closed else self.marks.open
            if is_closed:
                row_style.tail = f" {self.marks.cut} +{section.last - section.first:,} lines"
        return row_style

    def _is_closed(self, section: Section) -> bool:
        return self._filtered is None and self._fixed is None and section.first in self._folded

    @property
    def has_sections(self) -> bool:
        """Whether it can be folded."""
        return bool(len(self._sections))

    def reveal(self, line: int) -> None:
        """Open the folds that hide a line; end a filter that does."""
        hiding = {section.first for section in self._sections.around(line)} - {line}
        if self._filtered is not None and not self._rows.shows(line):
            self._filter, self._filtered = "", None
            self._folded -= hiding
            self._renew_rows()
        elif self._filtered is None and hiding & self._folded:
            self._folded -= hiding
            self._renew_rows()

    def _fold(self, folded: set[int]) -> None:
        if self._filtered is not None or self._fixed is not None:
            self.show_message("cannot fold while lines are filtered" if self._filtered is not None else "no fold on this line")
            return
        if not len(self._sections):
            self.show_message("this page has no sections")
            return
        self._folded = folded
        rows = self._make_rows(self._document)
        self._cursor_line = rows.at(rows.row_of(self._cursor_line)).line
        self.set_rows(rows)
        self._moved()

    def fold_here(self) -> bool:
        """Close or open the section whose heading is at the cursor; return whether the line is a heading."""
        section = self._sections.headed(self._cursor_line)
        if section is not None:
            self._fold(self._folded ^ {section.first})
        return section is not None

    def action_fold_all(self) -> None:
        """Close all sections."""
        self._fold(self._sections.heads())

    def action_unfold_all(self) -> None:
        """Open all sections."""
        self._fold(set())

    def action_next_section(self) -> None:
        """Go to the next section's head."""
        self._to_section(self._sections.after)

    def action_previous_section(self) -> None:
        """Go to the head of this section, or of the one above."""
        self._to_section(self._sections.before)

    def _to_section(self, step: Callable[[int], int | None]) -> None:
        line: int | None = step(self._cursor_line)
        while line is not None and not self._rows.shows(line):
            line = step(line)
        if line is None:
            self.show_message("no more sections")
        else:
            self.move_to(line)

    # filter

    @property
    def filter_text(self) -> str:
        """The pattern that lines are filtered by; '' for none."""
        return self._filter

    @property
    def filtered_lines(self) -> Sequence[int] | None:
        """The lines that the filter leaves; None without one."""
        return self._filtered

    def set_filter(self, text: str) -> None:
        """Show only the lines with a hit of a pattern, and the heads of their sections. '' shows all again."""
        self._filter = text
        if self._filtering is not None:
            self._drop_task(self._filtering)
            self._filtering = None
        if text:
            self._filtering = self.work(self._filtered_by(self._document, text))
        elif self._filtered is not None:
            self._filtered = None
            self._renew_rows()

    def _filtered_by(self, document: Document, text: str) -> Steps:
        """Show the lines with hits when they are found."""
        lines: array[int] = array("q")
        yield from self._collected(document, text, lines)
        self.post(document, partial(self._filter_found, text, lines))

    @staticmethod
    def _collected(document: Document, text: str, lines: array[int], first: int = 0) -> Steps:
        """Collect the lines with hits, from line `first` on."""
        hits = document.find(compiled(text), first)
        end = time.monotonic() + SLICE
        try:
            for hit in hits:
                if hit is not None and (not lines or lines[-1] != hit.line):
                    lines.append(hit.line)
                if len(lines) >= FILTER_CAP:
                    break
                if hit is None or time.monotonic() > end:
                    yield None
                    end = time.monotonic() + SLICE
        finally:
            close(hits)

    def _filter_found(self, text: str, lines: array[int]) -> None:
        if text != self._filter:
            return
        if not lines:
            self._filter = ""
            self.show_message(f"no line with: {text}")
            return
        self._filtered = self._sections.with_heads(lines)
        if len(lines) >= FILTER_CAP:
            self.show_message(f"the first {FILTER_CAP:,} lines with: {text}")
        rows = self._make_rows(self._document)
        self._cursor_line = max(rows.at(rows.row_of(self._cursor_line)).line, 0)
        self.set_rows(rows)
        self._moved()
