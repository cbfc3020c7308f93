"""How the panes of provenance mode are laid out: which are in sight, how wide, what stands over them, what is left out of them.

`documents/panes.py` says which panes there are and what corresponds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial

from textual.app import ComposeResult

from tltui.analyses.provenance.provenance import PRE, Provenance, UnitProvenance
from tltui.documents.panes import Panes
from tltui.documents.parts import pane_choice as panes
from tltui.screens.panes import PanesScreen
from tltui.screens.surroundings import Surroundings
from tltui.text.document import Document
from tltui.text.unannotated import Unannotated
from tltui.widgets.document_view import DocumentView
from tltui.widgets.elsewhere import Elsewhere
from tltui.widgets.provenance_view import ProvenanceView

ROOMY = 90
"""Columns of a pane from which annotations are shown at first."""


class PanesOfUnit(PanesScreen[None]):
    """The panes of one unit. What happens in them is up to the screen."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self._found: Provenance | None = None
        self._number = 0
        self._chosen: tuple[int, ...] = ()
        """The panes between which `tab` goes."""
        self._is_zoomed = False
        self._documents: dict[int, Document] = {}
        self._bare: dict[int, Unannotated] = {}
        self._is_bare: bool | None = None
        """Whether annotations are left out; None: where panes are narrow."""
        self._panes: Panes | None = None

    # what the screen does

    @abstractmethod
    def _moved(self, pane: int, moved: DocumentView.Moved) -> None:
        """The cursor of a pane moved."""

    @abstractmethod
    def _hovered(self, pane: int, line: int) -> None:
        """The mouse is over a line of a pane, -1 for none any more."""

    @abstractmethod
    def _came_to(self, pane: int, moves: bool = False) -> None:
        """The cursor is in a pane now."""

    # what there is

    def made_panes(self) -> Iterator[DocumentView]:
        """A pane for each text, of which some are shown."""
        for pane in panes.ALL:
            view = ProvenanceView(mouse=self.mouse, ascii_only=self.ascii_only, id=f"pane-{panes.NAMES[pane]}")
            view.display = False
            view.on_position = partial(self._moved, pane)
            view.on_hover = partial(self._hovered, pane)
            view.titled = partial(self._titled, pane)
            yield view

    def below_panes(self) -> ComposeResult:
        """What corresponds in panes that are not in sight."""
        yield Elsewhere(ascii_only=self.ascii_only)

    @property
    def shown_panes(self) -> list[DocumentView]:
        """The chosen panes, from the left."""
        return [self.view(pane) for pane in self._chosen or (PRE,)]

    def view(self, pane: int) -> ProvenanceView:
        """The widget of a pane."""
        return self.query_one(f"#pane-{panes.NAMES[pane]}", ProvenanceView)

    @property
    def unit(self) -> UnitProvenance | None:
        """The unit that is shown."""
        return self._found.units[self._number] if self._found and self._found.units else None

    @property
    def pane(self) -> int:
        """The pane that has the focus."""
        return next((pane for pane in self._chosen if self.view(pane).has_focus), self._chosen[0] if self._chosen else PRE)

    @property
    def is_single(self) -> bool:
        """Whether one pane has the screen, with lines below it on the others."""
        return self._is_zoomed or panes.fitting(self.size.width) == 1

    def _titled(self, pane: int, line: int, room: int) -> str:
        return self._panes.title(pane, line, room) if self._panes else self.view(pane).document.title

    def _band(self, pane: int, line: int) -> int | None:
        return self._panes.band(pane, line) if self._panes is not None else None

    # panes

    def _first_choice(self) -> tuple[int, ...]:
        unit = self.unit
        return panes.first_choice(self.size.width, self._documents, len(unit.places) if unit else 0)

    def _arrange(self, focused: int) -> None:
        """Show the chosen panes, of which one gets the focus: that one alone where it has the screen."""
        shown = (focused,) if self.is_single else self._chosen
        for pane in panes.ALL:
            view = self.view(pane)
            view.styles.width = f"{panes.share(pane)}fr"
            view.display = pane in shown
        self.set_class(self.is_single, "-single")
        self._lay_bare()
        self.view(focused).focus()
        self._came_to(focused)

    def on_resize(self) -> None:
        """More or fewer panes fit."""
        if self._documents:
            focused, is_alike = self.pane, len(self._chosen) == len(self._first_choice())
            if not is_alike:
                self._chosen = self._first_choice()
            if not is_alike or self.is_single != self.has_class("-single"):
                self._arrange(focused if focused in self._chosen else self._chosen[0])

    def action_choose_panes(self) -> None:
        """The next choice of panes."""
        self._chosen = panes.next_choice(self._chosen, self._documents)
        self._arrange(self.pane if self.pane in self._chosen else self._chosen[0])
        self.tell(f"panes: {' · '.join(panes.WORDS[pane] for pane in self._chosen)}")

    def action_next_pane(self) -> None:
        """The pane to the right."""
        self._turn(1)

    def action_previous_pane(self) -> None:
        """The pane to the left."""
        self._turn(-1)

    def _turn(self, by: int) -> None:
        if self.is_single:
            self._arrange(self._chosen[(self._chosen.index(self.pane) + by) % len(self._chosen)])
        else:
            self.go_to_pane(by)

    def action_zoom(self) -> None:
        """One pane over the whole width, or all again."""
        self._is_zoomed = not self._is_zoomed
        self._arrange(self.pane)
        if self._is_zoomed and panes.fitting(self.size.width) == 1:
            self.tell("one pane has the screen already: tab turns it")

    # what is left out

    def _as_shown(self, pane: int, document: Document) -> Document:
        is_narrow = self.size.width // (1 if self.is_single else len(self._chosen)) < ROOMY
        return self._bare.get(pane, document) if (is_narrow if self._is_bare is None else self._is_bare) else document

    def _lay_bare(self) -> None:
        for pane, document in self._documents.items():
            view = self.view(pane)
            if view.document is not (shown := self._as_shown(pane, document)):
                view.show(shown)

    def action_annotations(self) -> None:
        """Leave types, frees and checks out, or show them."""
        shown = self._as_shown(PRE, bare) if (bare := next(iter(self._bare.values()), None)) else None
        self._is_bare = not (shown is not None and any(self.view(pane).document is own for pane, own in self._bare.items()))
        self._lay_bare()
        self.tell("types, frees and checks are left out: i shows them" if self._is_bare else "all is shown as torch wrote it")
