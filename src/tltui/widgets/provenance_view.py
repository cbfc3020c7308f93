"""A pane of provenance mode: a marked view in which enter asks what a line corresponds to, with signs for what is derived and for
what took time in its gutter."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.message import Message

from tltui.text.document import Document
from tltui.text.pattern import compiled
from tltui.text.rows import Row, RowMap
from tltui.text.script import script_for
from tltui.text.unannotated import Unannotated
from tltui.widgets.document_drawn import TITLE_EDGES
from tltui.widgets.document_strips import ASCII_MARKS, Look
from tltui.widgets.marked_view import MarkedView

DERIVED = "≈"
LEVELS = "▁▂▃▄▅▆▇█"
BAR = 6
"""Cells of the bar of a time in a wide pane."""
TIME = 8
"""Cells of the time beside it, with a blank."""
WIDE, HALF = 66, 54
"""Cells of a pane from which a time is written out with a bar, or with one cell; a narrower one has the cell alone."""
HOT, WARM = 0.5, 0.1
"""From which part of the dearest a time stands out."""


@dataclass(frozen=True, slots=True)
class Heat:
    """What a line took."""

    said: str
    """`812 µs`."""
    part: float
    """Of the dearest one: 0…1."""


class ProvenanceView(MarkedView):
    """A `MarkedView` with more in its gutter. The screen sets what it is to show."""

    @dataclass
    class LineFollowed(Message):
        """Enter was pressed on a line. Who knows nothing that it corresponds to calls `follow_link`. Lines count from 0."""

        view: ProvenanceView
        line: int

        @property
        def control(self) -> ProvenanceView:
            """The view that posted this."""
            return self.view

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.titled: Callable[[int, int], str] = lambda line, room: self.document.title
        """What stands over the document while the cursor is on a line, in so many cells."""
        self.is_derived: Callable[[int], bool] = lambda line: False
        """Whether what a line corresponds to was derived."""
        self.heat_of: Callable[[int], Heat | None] | None = None
        """What a line took; None where no profile tells of this pane."""

    # following

    def action_follow(self) -> None:
        """What the caret is on: a link, or the definition of a name; in the first column what the line corresponds to."""
        stop = self.stop_at_caret() if self._caret_column else None
        if stop is not None:
            self._follow(stop, self._cursor_line)
        else:
            self.post_message(self.LineFollowed(self, self._cursor_line))

    def follow_link(self) -> None:
        """The first link of the line, or its fold."""
        super().action_follow()

    # what is left out

    def search(self, pattern: str, back: bool = False) -> None:
        """Search from the caret on; a line with a hit in what is left out is shown whole."""
        self._open_for(compiled(pattern) if pattern else None)
        super().search(pattern, back)

    def action_search_word(self) -> None:
        """Search for the name at the caret."""
        super().action_search_word()
        if self._search is not None:
            self._open_for(self._search.pattern)

    def _begin(self, document: Document, folded: set[int] | None) -> RowMap:
        if isinstance(document, Unannotated):
            document.opening = self._search.pattern if self._search is not None else None
        return super()._begin(document, folded)

    def _open_for(self, pattern: re.Pattern[str] | None) -> None:
        document = self.document
        if isinstance(document, Unannotated) and document.opening is not pattern:
            document.opening = pattern
            self._painter.clear()
            self.refresh()

    # the title

    def _title(self) -> str:
        return self.titled(self.current_line(), max(self.size.width - TITLE_EDGES, 0))

    def _badge(self) -> str:
        """A text that is as it was written needs no words for it here."""
        badge = super()._badge()
        return "" if badge.endswith("✓") else badge

    def renew_title(self) -> None:
        """The cursor came to another line."""
        self._set_frame()

    # the gutter

    @property
    def _heat_width(self) -> int:
        if self.heat_of is None:
            return 0
        width = self.size.width
        return TIME + BAR + 1 if width >= WIDE else TIME + 2 if width >= HALF else 2

    @property
    def gutter_width(self) -> int:
        """Cells left of the text."""
        return super().gutter_width + self._heat_width

    def set_heat(self, heat_of: Callable[[int], Heat | None] | None) -> None:
        """Show what lines took, or no more."""
        if (heat_of is None) != (self.heat_of is None):
            self._painter.clear()
        self.heat_of = heat_of
        self._resized_rows()
        self.refresh()

    def _look(self, row: Row) -> Look:
        look = super()._look(row)
        if look.fold == " " and not row.part and self.is_derived(row.line):
            look.fold = self._own(DERIVED)
        return look

    def _own(self, text: str) -> str:
        return script_for(self.marks is ASCII_MARKS).drawn(text)

    def _gutter_segments(self, row: Row, look: Look, base: Style, flat: bool) -> list[Segment]:
        found = super()._gutter_segments(row, look, base, flat)
        width = self._heat_width
        if not width or self.heat_of is None:
            return found
        heat = self.heat_of(row.line) if not row.part else None
        if heat is None:
            return [*found, Segment(" " * width, base)]
        name = "tok-error" if heat.part >= HOT else "tok-warn" if heat.part >= WARM else "gutter"
        bar = LEVELS[min(round(heat.part * len(LEVELS)), len(LEVELS) - 1)]
        if width > TIME + 2:
            bar = f"{'▇' * max(round(heat.part * BAR), 1):<{BAR}}"
        text = f"{heat.said:>{TIME - 1}} {bar} " if width > 2 else f"{bar} "
        return [*found, Segment(self._own(text), base if flat else base + self._part(name))]
