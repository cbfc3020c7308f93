"""The panel at the right of a wide screen: the page that enter opens for the finding under the cursor of the first page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Protocol

from textual.geometry import Size
from textual.timer import Timer

from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.screens.requests import OF_RUN, Renderer, Request
from tltui.text import tokens
from tltui.text.document import Builder, Document, Options
from tltui.widgets.document_view import DocumentView

WIDE = 160
"""Columns of the screen from which the panel is shown."""
SHARE = 0.4
"""Share of the panel in the width that the tree leaves."""
LEAST = 40
"""Columns of the panel, at least."""
COMPARISON = "@diff:"
"""The beginning of the address of a comparison."""
NO_PAGE = "This line leads to no page."
SETTLE = 0.08
"""Seconds that the cursor must rest before the panel follows."""


def finding_at(document: Document, line: int) -> str:
    """Return the address that a finding of the first page leads to, '' for none.

    `line`: that of the cursor, from 0. A finding begins with the smallest indent of its section and may take several lines: the
    nearest link above the cursor counts, then a comparison below it, then any other link. On a heading it is the first finding of
    the section, above the findings the first of them.
    """
    from tltui.questions.overview.run_page import START  # imported with the first page, not at the start

    sections = document.sections()
    around = [section for section in sections if section.first <= line <= section.last]
    if around:
        section = around[-1]
        lines = range(section.first + 1, section.last + 1)
        place = max(line, lines.start)
        finding = _finding_around(document, place, lines)
        above = chain.from_iterable(_targets(document, number)[:1] for number in range(place, finding.start - 1, -1))
        below = [target for number in finding if number > place for target in _targets(document, number)]
        compared = (target for target in below if target.startswith(COMPARISON))
        if target := next(chain(above, compared, below), ""):
            return target
    start = next((section for section in sections if section.title == START), None)
    first = range(start.first + 1, start.last + 1) if start is not None and line <= start.last else range(0)
    return next(chain.from_iterable(_targets(document, number) for number in first), "")


def _finding_around(document: Document, line: int, lines: range) -> range:
    """Return the lines of a section that belong to the finding of a line."""
    indents = {number: len(text) - len(text.lstrip()) for number in lines if (text := document.line(number).text).strip()}
    least = min(indents.values(), default=0)
    starts = [number for number, indent in indents.items() if indent == least]
    first = max((number for number in starts if number <= line), default=lines.start)
    return range(first, min((number for number in starts if number > line), default=lines.stop))


def _targets(document: Document, line: int) -> list[str]:
    return [page for link in document.line(line).links if (page := _page(link.target))]


def _page(target: str) -> str:
    """Return the address of the page that the panel shows for a link; '' for a link to something else."""
    try:
        ref = parse_ref(target)
    except BadAddress:
        return ""
    return target if ref.view or ref.id is not None or ref.rank is not None else ""


def _no_page() -> Document:
    builder = Builder("@no-details", "")
    builder.add((NO_PAGE, tokens.DIM))
    return builder.document()


class DetailsView(DocumentView, can_focus=False):
    """Shows the page; it gets no keys, so that enter and the cursor stay those of the first page."""


class FirstPage(Protocol):
    """The main screen, as the panel sees it."""

    @property
    def trace(self) -> Run: ...

    @property
    def is_first_page(self) -> bool: ...

    @property
    def has_one_pane(self) -> bool: ...

    @property
    def document_view(self) -> DocumentView: ...

    @property
    def details_view(self) -> DocumentView: ...

    @property
    def size(self) -> Size: ...

    def set_timer(self, delay: float, callback: Callable[[], object]) -> Timer: ...

    def request(self, ref: str) -> Request: ...

    def key_of(self, name: str) -> str: ...


class FindingDetails:
    """Decides whether the panel is in sight, and what is on it."""

    def __init__(self, screen: FirstPage, maker: Renderer) -> None:
        self._screen = screen
        self._maker = maker
        self._shown: tuple[str, int, int] | None = None
        self._rest: Timer | None = None

    def columns(self, room: int) -> int:
        """Return the columns of the panel, of those in `room`, which the tree leaves; 0 where there is none."""
        screen = self._screen
        if screen.size.width < WIDE or screen.has_one_pane or not screen.is_first_page:
            return 0
        return max(round(room * SHARE), LEAST)

    def lay_out(self, room: int) -> None:
        """Show or hide the panel, in the columns of `room`, which the tree leaves."""
        view, columns = self._screen.details_view, self.columns(room)
        if columns:
            view.styles.width = columns - 1  # one is the gap beside it
        view.display = columns > 0
        if not columns:
            self._shown = None
            self._maker.drop_preview()

    def follow(self) -> None:
        """Show the page of the finding under the cursor, when that rests."""
        if self._rest is None and self._screen.details_view.display:
            self._rest = self._screen.set_timer(SETTLE, self._show)

    def _show(self) -> None:
        self._rest = None
        view, screen = self._screen.details_view, self._screen
        first_page = screen.document_view
        if not view.display or not view.size.width or not screen.is_first_page or first_page.document.ref not in OF_RUN:
            return
        target = finding_at(first_page.document, first_page.current_line())
        wanted = target, screen.trace.version, view.size.width
        is_between = not first_page.document.line(first_page.current_line()).text.strip()
        if wanted == self._shown or (is_between and not target):
            return
        self._shown = wanted
        if not target:
            self._maker.drop_preview()
            view.show(_no_page())
            return
        options = Options(width=view.text_width, key_of=screen.key_of)
        self._maker.preview(screen.request(target), options, partial(self._ready, wanted))

    def _ready(self, wanted: tuple[str, int, int], document: Document) -> None:
        if wanted != self._shown:
            return
        view = self._screen.details_view
        if view.document.ref == document.ref:
            view.renew(document)
        else:
            view.show(document)
