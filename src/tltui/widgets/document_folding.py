"""Which rows a document has: folds, filter, wrapping; and how it grows while its line index is being built.

Everything that could take long is done by the scheduler: a key that starts it answers at once, and what is found arrives as a
message.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tltui.text.document import Document, Section
from tltui.text.pattern import compiled
from tltui.text.rows import WRAP_CAP, WRAP_LIMIT, Lines, Row, RowMap, SectionIndex, Wrapped
from tltui.widgets.document_background import YIELD, BackgroundCanvas
from tltui.widgets.document_search import SLICE, close
from tltui.widgets.document_strips import Look, wrapped
from tltui.work.scheduler import Place, Steps, Task

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
        self._known = (len(document), document.version)
        self._sections, self._folded = SectionIndex(), folded or set()
        self._fold_at_first = folded is None
        if self._is_quick(document):
            self._take_sections(SectionIndex(document.sections()))
        if not document.complete:
            self.after_paint(document, partial(self._grow, document))
        elif not self._is_quick(document):
            self.after_paint(document, partial(self._work_on, self._read_sections(document)))
        return self._made_rows(document)

    @staticmethod
    def _is_quick(document: Document) -> bool:
        return document.complete and (not document.language or len(document) * document.width() <= AT_ONCE)

    def _read_sections(self, document: Document) -> Steps:
        """Sections of a large document."""
        yield Place.LONG
        if document.complete and (sections := document.sections()):
            self.post(document, partial(self._sections_read, SectionIndex(sections)))

    def _sections_read(self, index: SectionIndex) -> None:
        if index.sections == self._sections.sections:
            return
        self._take_sections(index)
        self._renew_rows()

    def _take_sections(self, index: SectionIndex) -> None:
        self._sections = index
        if self._fold_at_first and len(index):
            self._folded = index.folded()
            self._fold_at_first = False

    def document_grown(self) -> None:
        """Call this when the document has more lines, sections or another badge. Nothing that is in sight jumps."""
        document = self._document
        if self._known == (len(document), document.version):
            return
        self._known = (len(document), document.version)
        gutter, rows, sections = self.gutter_width, len(self._rows), self._sections
        self._numbered = len(document)
        if self._is_quick(document):
            self._take_sections(SectionIndex(document.sections()))
        elif document.complete:
            self.work(self._read_sections(document))
        if self._fixed is None and self._filtered is None:
            self._rows = self._made_rows(document)
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

    def _made_rows(self, document: Document) -> RowMap:
        if self._fixed is not None:
            return self._fixed
        if self._filtered is not None:
            lines = Lines(self._filtered)
        else:
            lines = Lines(range(len(document)), self._sections.hidden(self._folded))
        return self._wrapped_rows(document, lines) if self._is_wrapped else lines

    def _renew_rows(self) -> None:
        self.set_rows(self._made_rows(self._document))
        self._moved()

    def fix_rows(self, rows: RowMap | None) -> None:
        """Show the document by a row map from outside (a side-by-side view), or by folds and filter again (None)."""
        self._fixed = rows
        self._renew_rows()

    def _wrapped_rows(self, document: Document, lines: Lines) -> RowMap:
        """Wrap `lines` if their lengths are known, else have them measured and wrap later."""
        if len(lines) > WRAP_LIMIT:
            self._is_wrapped = False
            self.tell(f"not wrapped: {len(lines):,} lines, {WRAP_LIMIT:,} at most (fold or filter first)")
            return lines
        if document.width() * 2 <= self.text_width:
            return lines
        shown = [lines.at(row).line for row in range(len(lines))]
        missing = [line for line in shown if line not in self._lengths]
        if len(missing) > MEASURED_AT_ONCE:
            self.tell(f"measuring {len(missing):,} lines to wrap them")
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
            self._rows = self._made_rows(self._document)
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
            self.tell("lines are wrapped; none is longer than the pane")
        elif self._is_wrapped and not self._document.language:
            self.tell(f"wrapped: {self.marks.onward} goes on with the row above, also in tables; w ends that")

    def action_numbers(self) -> None:
        """Show line numbers, or not."""
        self.numbers = not self.has_numbers
        self._painter.clear()
        self._renew_rows()

    # folds

    def _look(self, row: Row) -> Look:
        look = super()._look(row)
        section = self._sections.headed(row.line) if not row.part else None
        if section is not None:
            is_closed = self._is_closed(section)
            look.fold = self.marks.closed if is_closed else self.marks.open
            if is_closed:
                look.tail = f" {self.marks.cut} +{section.last - section.first:,} lines"
        return look

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
            self.tell("nothing folds while lines are filtered" if self._filtered is not None else "nothing folds here")
            return
        if not len(self._sections):
            self.tell("this document has no sections")
            return
        self._folded = folded
        rows = self._made_rows(self._document)
        self._cursor_line = rows.at(rows.row_of(self._cursor_line)).line
        self.set_rows(rows)
        self._moved()

    def action_fold(self) -> None:
        """Close or open the section at the cursor."""
        line = self._cursor_line
        section = self._sections.headed(line) or next(iter(self._sections.around(line)), None)
        if section is None:
            self.tell("no section here")
        else:
            self._fold(self._folded ^ {section.first})

    def action_fold_all(self) -> None:
        """Close all sections."""
        self._fold(self._sections.heads())

    def action_unfold_all(self) -> None:
        """Open all sections."""
        self._fold(set())

    def action_next_section(self) -> None:
        """To the next section's head."""
        self._to_section(self._sections.after)

    def action_previous_section(self) -> None:
        """To the head of this section, or of the one above."""
        self._to_section(self._sections.before)

    def _to_section(self, step: Callable[[int], int | None]) -> None:
        line: int | None = step(self._cursor_line)
        while line is not None and not self._rows.shows(line):
            line = step(line)
        if line is None:
            self.tell("no further section")
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
            self.tell(f"no line with: {text}")
            return
        self._filtered = self._sections.with_heads(lines)
        if len(lines) >= FILTER_CAP:
            self.tell(f"the first {FILTER_CAP:,} lines with: {text}")
        rows = self._made_rows(self._document)
        self._cursor_line = max(rows.at(rows.row_of(self._cursor_line)).line, 0)
        self.set_rows(rows)
        self._moved()
