"""Several documents side by side, of which one is moved in and the others follow. Provenance and comparing are two uses of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.dom import DOMNode
from textual.widget import Widget

from tltui.commands import Command, Where
from tltui.screens.workbench import AppContext, Workbench
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece, error_document
from tltui.widgets.bars import STEP, RunBar, StatusBar, widen
from tltui.widgets.document_view import DocumentView
from tltui.widgets.prompt_line import Asking

T = TypeVar("T")
WHILE_HELPING = ("help", "leave", "close", "copy", "redraw")
"""Actions that help does not keep from anybody."""


class PanesScreen(Workbench[T]):
    """A row of panes between a line above and a line below."""

    WHERE: ClassVar[Where]
    """Whose commands it has."""
    FOOTER: ClassVar[tuple[str, ...]]
    """Which of them the line below names."""

    def __init__(self, around: AppContext) -> None:
        super().__init__(around)
        self.is_following = False
        """Whether panes are moved because another one was."""

    # what each use says

    @abstractmethod
    def made_panes(self) -> Iterator[DocumentView]:
        """The widgets, from the left."""

    def below_panes(self) -> ComposeResult:
        """Widgets between the panes and the line below."""
        return iter(())

    @property
    @abstractmethod
    def shown_panes(self) -> Sequence[DocumentView]:
        """The panes between which `tab` goes, from the left."""

    # layout

    def compose(self) -> ComposeResult:
        """A line above, the panes, a line below."""
        yield RunBar(ascii_only=self.ascii_only)
        with Horizontal(id="row"):
            yield from self.made_panes()
        yield from self.below_panes()
        yield DocumentView(mouse=self.mouse, ascii_only=self.ascii_only, id="help")
        yield StatusBar(self.hints(self.WHERE, self.FOOTER), ascii_only=self.ascii_only, id="status-bar")
        yield Asking(ascii_only=self.ascii_only)

    @property
    def pane_for_keys(self) -> Widget:
        """Help where it has the place, else a pane that is in sight."""
        shown = [view for view in self.shown_panes if view.display]
        return self.query_one("#help", DocumentView) if self.is_helping or not shown else shown[0]

    @property
    def focused_pane(self) -> DocumentView:
        """The pane that has the focus, else the first one."""
        panes = self.shown_panes
        return next((view for view in panes if view.has_focus), panes[0])

    def go_to_pane(self, by: int) -> DocumentView:
        """Give the focus to the pane so many to the right."""
        panes = self.shown_panes
        view = panes[(panes.index(self.focused_pane) + by) % len(panes)]
        view.focus()
        return view

    def action_wider(self) -> None:
        """More of the screen for the pane that has the focus."""
        self._widen(STEP)

    def action_narrower(self) -> None:
        """Less of it."""
        self._widen(-STEP)

    def _widen(self, cells: int) -> None:
        if not widen(self.shown_panes, self.focused_pane, cells):
            self.tell("the panes cannot be moved further: each keeps 20 columns")

    @contextmanager
    def following(self) -> Iterator[None]:
        """While the block runs, what moves in a pane moves nothing in others."""
        self.is_following = True
        try:
            yield
        finally:
            self.is_following = False

    # what the lines say

    def profiles_read(self) -> None:
        """Profiles of the run were read while this screen is open."""

    def say_above(self, pieces: Sequence[Piece]) -> None:
        """The line above."""
        self.query_one(RunBar).set(pieces)

    def say_place(self, moved: DocumentView.Moved, where: str = "") -> None:
        """Where one is in a pane, at the right of the line below."""
        hits = f"{moved.hits}  " if moved.hits else ""
        self.status.place([(hits, tokens.BREAK), (f"{where}{moved.position} ", tokens.DIM)])

    # commands

    def owner(self, command: Command) -> DOMNode:
        """Whose method a command is."""
        return self.focused_pane if command.where is Where.DOCUMENT else self

    # help

    @property
    def is_helping(self) -> bool:
        """Whether help has the place of the panes."""
        return self.has_class("-help")

    def action_help(self) -> None:
        """All keys and marks; again, or esc, goes back."""
        if self.is_helping:
            self._leave_help()
            return
        from tltui.screens.palette import help_document

        view = self.query_one("#help", DocumentView)
        self._before_help = self.focused_pane
        width = max(self.size.width - view.gutter_width - 1, 40)
        view.show(help_document(self.ascii_only, self.config, width))
        self.add_class("-help")
        view.focus()

    @on(DocumentView.Followed)
    def _followed_in_help(self, message: DocumentView.Followed) -> None:
        """Pages of the guide are shown where help is; esc leads from all of them back to the panes."""
        if not self.is_helping:
            return
        from tltui.documents.manual import manual_document

        view = self.query_one("#help", DocumentView)
        width = max(self.size.width - view.gutter_width - 1, 40)
        page = manual_document(message.target, Options(width=width, ascii=self.ascii_only))
        if page is not None:
            view.show(page)

    def _leave_help(self) -> None:
        self.remove_class("-help")
        self._before_help.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Textual asks whether an action is possible now: of panes that are not in sight none is."""
        return not self.is_helping or action in WHILE_HELPING

    # out

    def action_copy(self) -> None:
        """The selected lines, or the line."""
        self.copy_lines(self.query_one("#help", DocumentView) if self.is_helping else self.focused_pane)

    def closes_innermost(self) -> bool:
        """Close help, or what is to be closed first in the pane. False where there is nothing."""
        if not self.is_helping:
            return self.focused_pane.close_innermost()
        if not self.query_one("#help", DocumentView).close_innermost():
            self._leave_help()
        return True


def fault_document(ref: str, title: str, what: str, error: BaseException) -> Document:
    """What is shown in the place of something that could not be made."""
    return error_document(ref, title, what, error if isinstance(error, Exception) else RuntimeError(repr(error)))
