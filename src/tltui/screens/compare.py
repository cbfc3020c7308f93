"""Two artifacts side by side: equal lines stand in one row, both halves scroll together.

Below `WIDE` columns the browser shows the same comparison as one page (`documents/compare/compare.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen

from tltui.analyses.compare.comparing import Difference
from tltui.analyses.compare.pairing import artifact_difference
from tltui.commands import FOOTER_COMPARE, Where, of
from tltui.config import Config, cache_path
from tltui.documents.compare.artifacts import artifact_page, diff_ref, verdict
from tltui.documents.compare.sides import Memo, Sides, sides_of
from tltui.export import WouldOverwrite, write
from tltui.model.artifacts import Artifact
from tltui.screens.browser_compare import WIDE
from tltui.screens.clipboard import copy
from tltui.screens.help import Help
from tltui.screens.prompt import Confirm, Prompt
from tltui.text import tokens
from tltui.text.document import Document, Options, TextDocument, error_document
from tltui.text.filename import safe_name
from tltui.text.rows import Aligned
from tltui.widgets.bars import RunBar, StatusBar
from tltui.widgets.bindings import bindings
from tltui.widgets.compare_side import CompareSide
from tltui.widgets.document_view import DocumentView

LARGE = 1 << 20
"""Stored bytes of both above which the comparison as stored is shown while that by structure is made."""


@dataclass
class Compared(Message):
    """The two have been compared, or `error` says why not."""

    found: Difference | None
    sides: Sides | None
    memo: Memo
    raw: bool
    error: Exception | None = None
    is_first: bool = False
    """As stored, to look at while the structure is being compared."""


class CompareScreen(Screen[str]):
    """Gives the address of the page to show in its place when the screen became narrow, else ''."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.COMPARE)

    def __init__(self, left: Artifact, right: Artifact, config: Config, *, ascii_only: bool, mouse: bool) -> None:
        super().__init__()
        self.artifacts = (left, right)
        self._config = config
        self._ascii = ascii_only
        self._mouse = mouse
        self._raw = False
        self._found: Difference | None = None
        self.sides: Sides | None = None
        """What is shown; None until the two have been compared."""
        self._memo: Memo = {}
        self._opened: set[int] | None = set()
        self._is_following = False
        self._is_left = False

    # layout

    def compose(self) -> ComposeResult:
        """A line above, two halves, a line below."""
        by_id = {command.id: command for command in of(Where.COMPARE)}
        hints = []
        for name in FOOTER_COMPARE:
            keys = self._config.keys.get(name, by_id[name].keys)[:1]
            hints.append((by_id[name].keys_shown(keys), by_id[name].hint))
        yield RunBar(id="compare-bar")
        with Horizontal(id="compare-panes"):
            for is_left, name in ((True, "left"), (False, "right")):
                view = CompareSide(is_left=is_left, mouse=self._mouse, ascii_only=self._ascii, id=f"side-{name}")
                view.numbers = False
                view.on_position = partial(self._moved, view)
                view.asked = self._asked
                yield view
        yield StatusBar(hints, id="compare-status")

    def on_mount(self) -> None:
        """Compare off the UI thread."""
        self.view(True).focus()
        self._load()

    def view(self, left: bool) -> CompareSide:
        """One of the halves."""
        return self.query_one("#side-left" if left else "#side-right", CompareSide)

    @property
    def focused_side(self) -> CompareSide:
        """The half that has the focus."""
        return self.view(not self.view(False).has_focus)

    @property
    def status(self) -> StatusBar:
        """The line below."""
        return self.query_one(StatusBar)

    def on_resize(self) -> None:
        """Too narrow for two halves: the page is better."""
        if self.is_mounted and self.is_current and self.size.width < WIDE and not self._is_left:
            self._is_left = True  # a second resize may come before this one has had its effect
            self.dismiss(self.ref)

    @property
    def ref(self) -> str:
        """The address of the comparison."""
        return diff_ref(self.artifacts[0].ref, self.artifacts[1].ref)

    # comparing

    def _load(self) -> None:
        self._say("comparing …")
        threading.Thread(target=self._compare, args=(self._raw,), name="compare", daemon=True).start()

    def _compare(self, raw: bool) -> None:
        """On a thread of its own."""
        is_large = sum(a.log.columns.size[a.record] for a in self.artifacts) > LARGE
        try:
            for as_stored in (True, False) if is_large and not raw else (raw,):
                found = artifact_difference(*self.artifacts, raw=as_stored)
                memo: Memo = {}
                sides = sides_of(found, self._refs, set(), memo, self._ascii)
                self.post_message(Compared(found, sides, memo, raw, is_first=as_stored != raw))
        except Exception as error:
            self.post_message(Compared(None, None, {}, raw, error))

    @property
    def _refs(self) -> tuple[str, str]:
        return str(self.artifacts[0].ref), str(self.artifacts[1].ref)

    def on_compared(self, message: Compared) -> None:
        """Show what came out, unless something else is wanted by now."""
        if message.raw != self._raw:
            return
        if message.found is None:
            error = message.error or ValueError("nothing was compared")
            self.view(True).show(error_document(self.ref, "compare", self.ref, error))
            self._say("not compared")
            return
        hunk = self._hunk if self.sides is not None else 0
        self._found, self._memo, self._opened = message.found, message.memo, set()
        self._lay_out(message.sides)
        said = "comparing by structure … as stored: " if message.is_first else "as stored: " if self._raw else ""
        self._say(said + verdict(message.found))
        if self.sides is not None and self.sides.hunks:
            self._go(self.sides.hunks[min(hunk, len(self.sides.hunks) - 1)][0])

    @property
    def _hunk(self) -> int:
        """The change that the cursor is in or below, from 0."""
        row = self.focused_side.row
        return max(sum(first <= row for first, _ in self.sides.hunks) - 1, 0) if self.sides is not None else 0

    def _lay_out(self, sides: Sides | None = None) -> None:
        """Show both halves, made anew where they are not given."""
        assert self._found is not None
        self.sides = sides = sides or sides_of(self._found, self._refs, self._opened, self._memo, self._ascii)
        changed = _changed_lines(sides)
        self._is_following = True
        try:
            for place, view in enumerate((self.view(True), self.view(False))):
                view.is_changed = changed[place].__contains__
                view.show((sides.left, sides.right)[place])
                view.fix_rows(Aligned(sides.rows[place]))
        finally:
            self._is_following = False

    def _say(self, text: str) -> None:
        left, right = self.artifacts
        names = f" {left.ref} {'=' if self._ascii else '↔'} {right.ref}  "
        self.query_one(RunBar).set([(names, tokens.TITLE), (text, tokens.STRONG)])

    # both halves

    def _moved(self, view: CompareSide, moved: DocumentView.Moved) -> None:
        if self._is_following or self.sides is None:
            return
        self._is_following = True
        try:
            self.view(not view.is_left).follow(view.row, view.top, view.scroll_offset.x)
        finally:
            self._is_following = False
        hunk = sum(first <= view.row for first, _ in self.sides.hunks)
        where = f"change {hunk}/{len(self.sides.hunks)}  " if self.sides.hunks else ""
        self.status.place([(f"{moved.hits}  " if moved.hits else "", tokens.BREAK), (f"{where}{moved.position} ", tokens.DIM)])

    def _go(self, row: int) -> None:
        """The cursor to a row: in the half with the focus, or, where that has no line, in the other one."""
        view = self.focused_side
        if not view.go(row):
            other = self.view(not view.is_left)
            other.focus()
            other.go(row)

    def _asked(self, what: str) -> None:
        {
            "next": self.action_next_change, "previous": self.action_previous_change, "fold": self.action_fold,
            "fold_all": self.action_fold_all, "unfold_all": self.action_unfold_all,
        }[what]()  # fmt: skip

    def action_next_pane(self) -> None:
        """To the other half, in the same row if that has a line there."""
        view = self.focused_side
        other = self.view(not view.is_left)
        row = view.row
        other.focus()
        other.go_near(row)

    def action_next_change(self) -> None:
        """To the next lines that differ."""
        self._change(False)

    def action_previous_change(self) -> None:
        """To the change before."""
        self._change(True)

    def _change(self, back: bool) -> None:
        if self.sides is None:
            return
        row = self.focused_side.row
        firsts = [first for first, _ in self.sides.hunks]
        found = [first for first in firsts if first < row][-1:] if back else [first for first in firsts if first > row][:1]
        if found:
            self._go(found[0])
        else:
            self.status.tell(f" no {'earlier' if back else 'further'} change")

    # folds

    def action_fold(self) -> None:
        """Show the equal lines that are folded at the cursor."""
        change = self.sides.folds.get(self.focused_side.row) if self.sides is not None else None
        if self.sides is None or change is None or self._opened is None:
            self.status.tell(" no folded lines here")
            return
        self._opened.add(change)
        self._lay_out()
        self._go(self.sides.starts[change])

    def action_fold_all(self) -> None:
        """Only changes, with the lines around them."""
        self._fold_to(set())

    def action_unfold_all(self) -> None:
        """All lines."""
        self._fold_to(None)

    def _fold_to(self, opened: set[int] | None) -> None:
        if self._found is None or self.sides is None:
            return
        hunk = self._hunk
        self._opened = opened
        self._lay_out()
        self._go(self.sides.hunks[hunk][0] if self.sides.hunks else 0)

    def action_raw(self) -> None:
        """As stored, or without what any two runs differ in."""
        self._raw = not self._raw
        self._load()

    # out

    def action_export(self) -> None:
        """To a file: the page, or the patch."""
        left, right = self.artifacts
        document = artifact_page(self.ref, f"{left.ref} ↔ {right.ref}", left, right, Options(raw=self._raw, ascii=self._ascii))

        def named(path: str | None) -> None:
            if path and path.strip():
                self._write(document, path.strip(), False)

        name = safe_name(f"{left.ref}_{right.ref}", ".patch" if self._raw else ".txt")
        what = "write the patch to" if self._raw else "write the comparison to"
        self.app.push_screen(Prompt(what, name, ".txt .ansi .md"), named)

    def _write(self, document: TextDocument, path: str, force: bool) -> None:
        try:
            count = write(document, path, force=force)
        except WouldOverwrite as exists:

            def answered(yes: bool | None) -> None:
                if yes:
                    self._write(document, path, True)

            self.app.push_screen(Confirm(f"{exists} exists: replace it?"), answered)
        except OSError as error:
            self.status.tell(f" could not write {path}: {error.strerror or error}", tokens.ERROR)
        else:
            self.status.tell(f" wrote {count} lines to {path}")

    def action_copy(self) -> None:
        """The selected lines, or the line."""
        view = self.focused_side
        lo, hi = view.selected_lines() or (view.current_line(), view.current_line() + 1)
        text = "\n".join(_document(view).text(lo, hi))
        self.status.tell(f" {copy(text, self.app.copy_to_clipboard, cache_path() / 'yank.txt')}")

    def action_help(self) -> None:
        """Keys and marks."""
        self.app.push_screen(Help(self._ascii, self._config))

    def action_leave(self) -> None:
        """Back, unless something in the half is to be closed first."""
        if not self.focused_side.close_innermost():
            self.dismiss("")

    # what the halves ask

    @on(DocumentView.Told)
    def _told(self, message: DocumentView.Told) -> None:
        self.status.tell(f" {message.text}")

    @on(DocumentView.AskSearch)
    def _ask_search(self, message: DocumentView.AskSearch) -> None:
        self._ask("/", message.view.search)

    @on(DocumentView.AskLine)
    def _ask_line(self, message: DocumentView.AskLine) -> None:
        self._ask("line", lambda text: message.view.goto_line(int(text)) if text.strip().isdigit() else None)

    def _ask(self, question: str, answer: Callable[[str], object]) -> None:
        def answered(text: str | None) -> None:
            if text is not None:
                answer(text)

        self.app.push_screen(Prompt(question), answered)


def _document(view: CompareSide) -> Document:
    return view.document


def _changed_lines(sides: Sides) -> tuple[set[int], set[int]]:
    """For each half the lines that differ."""
    found: tuple[set[int], set[int]] = set(), set()
    for first, last in sides.hunks:
        for place in (0, 1):
            found[place].update(line for line in sides.rows[place][first : last + 1] if line >= 0)
    return found
