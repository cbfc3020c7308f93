"""The panel at the right of a wide screen: the page that enter opens for the finding under the cursor of the first page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from textual.geometry import Size
from textual.timer import Timer

from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.screens.requests import OF_RUN, Renderer, Request
from tltui.text.document import Document, Options
from tltui.widgets.document_view import DocumentView

WIDE = 160
"""Columns of the screen from which the panel is shown."""
SHARE = 0.4
"""Share of the panel in the width that the tree leaves."""
LEAST = 40
"""Columns of the panel, at least."""
SETTLE = 0.08
"""Seconds that the cursor must rest before the panel follows."""


def finding_at(document: Document, line: int) -> str:
    """Return the address that a finding of the first page leads to, '' for none.

    `line`: that of the cursor, from 0. A finding takes several lines; the first one has the link. Above the findings it is the
    first finding.
    """
    from tltui.questions.overview.run_page import START  # imported with the first page, not at the start

    sections = document.sections()
    around = [section for section in sections if section.first <= line <= section.last]
    if around:
        for above in range(line, around[-1].first, -1):
            if target := _target(document, above):
                return target
    start = next((section for section in sections if section.title == START), None)
    below = range(start.first + 1, start.last + 1) if start is not None and line <= start.last else range(0)
    return next((target for number in below if (target := _target(document, number))), "")


def _target(document: Document, line: int) -> str:
    pages = (_page(link.target) for link in document.line(line).links)
    return next(filter(None, pages), "")


def _page(target: str) -> str:
    """Return the address of the page that the panel shows for a link; '' for a link to something else."""
    try:
        ref = parse_ref(target)
    except BadAddress:
        return ""
    return target if ref.view or ref.id is not None or ref.rank is not None else ""


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
        if not target or wanted == self._shown:
            return
        self._shown = wanted
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
