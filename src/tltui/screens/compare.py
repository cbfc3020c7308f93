"""Two artifacts side by side: equal lines stand in one row, both halves scroll together.

Below `WIDE` columns the browser shows the same comparison as one page (`questions/compare/page.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from tltui.commands import FOOTER_COMPARE, Situation, Where
from tltui.model.artifacts import Artifact
from tltui.model.ref import diff_ref
from tltui.questions.compare.artifacts_page import Memo, Sides, artifact_page, sides_of, verdict
from tltui.questions.compare.comparable_lines import Difference
from tltui.questions.compare.pairing import artifact_difference
from tltui.screens.workbench import AppContext, Output, PanesScreen, fault_document
from tltui.text import tokens
from tltui.text.document import Options
from tltui.text.safe_files import safe_name
from tltui.text.screen_rows import Aligned
from tltui.widgets.document_view import DocumentView
from tltui.widgets.key_input import bindings
from tltui.widgets.linked_views import CompareSide
from tltui.work.scheduler import Place, Steps

LARGE = 1 << 20
"""Stored bytes of both above which the comparison as stored is shown while that by structure is made."""


class CompareScreen(PanesScreen[str]):
    """Gives the address of the page to show in its place when the screen became narrow, else ''."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.COMPARE)
    WHERE = Where.COMPARE
    FOOTER = FOOTER_COMPARE

    def __init__(self, around: AppContext, left: Artifact, right: Artifact, least: int) -> None:
        """Create the screen; `least`: columns below which the page is shown instead."""
        super().__init__(around)
        self.artifacts = (left, right)
        self._least = least
        self._raw = False
        self._difference: Difference | None = None
        self.sides: Sides | None = None
        """What is shown; None until the two have been compared."""
        self._memo: Memo = {}
        self._opened: set[int] | None = set()
        self._is_left = False

    # layout

    def compose_panes(self) -> Iterator[DocumentView]:
        """Yield the two halves."""
        for is_left, name in ((True, "left"), (False, "right")):
            view = CompareSide(is_left=is_left, mouse=self.mouse, ascii_only=self.ascii_only, id=f"side-{name}")
            view.numbers = False
            view.on_position = partial(self._moved, view)
            view.asked = self._asked
            yield view

    @property
    def shown_panes(self) -> list[DocumentView]:
        """Both halves."""
        return [self.view(True), self.view(False)]

    def on_mount(self) -> None:
        """Compare off the UI thread."""
        self.view(True).focus()
        self._load()

    def view(self, left: bool) -> CompareSide:
        """Return the left or the right half."""
        return self.query_one("#side-left" if left else "#side-right", CompareSide)

    @property
    def focused_side(self) -> CompareSide:
        """The half that has the focus."""
        return self.view(not self.view(False).has_focus)

    def on_resize(self) -> None:
        """Show the page instead when the screen is too narrow for two halves."""
        if self.is_mounted and self.is_current and self.size.width < self._least and not self._is_left:
            self._is_left = True  # a second resize may come before this one has had its effect
            self.dismiss(self.ref)

    @property
    def ref(self) -> str:
        """The address of the comparison."""
        return diff_ref(self.artifacts[0].ref, self.artifacts[1].ref)

    # comparing

    def _load(self) -> None:
        self._say("comparing …")
        self.scheduler.drop(self)
        self.scheduler.do(self._compare(self._raw), place=Place.LONG, owner=self, fault=self._failed)

    def _compare(self, raw: bool) -> Steps:
        """Read and compare the texts, which do not change with the run."""
        is_large = sum(a.log.columns.size[a.record] for a in self.artifacts) > LARGE
        for as_stored in (True, False) if is_large and not raw else (raw,):
            difference = artifact_difference(*self.artifacts, raw=as_stored)
            memo: Memo = {}
            sides = sides_of(difference, self._refs, set(), memo)
            self.answer(partial(self._compared, difference, sides, memo, as_stored != raw))
            yield None

    def _failed(self, error: BaseException) -> None:
        self.answer(partial(self._not_compared, error))

    def on_unmount(self) -> None:
        """Drop all work."""
        self.scheduler.drop(self)

    @property
    def _refs(self) -> tuple[str, str]:
        return str(self.artifacts[0].ref), str(self.artifacts[1].ref)

    def _not_compared(self, error: BaseException) -> None:
        self.view(True).show(fault_document(self.ref, "compare", self.ref, error))
        self._say("not compared")

    def _compared(self, difference: Difference, sides: Sides, memo: Memo, is_first: bool) -> None:
        """Show what came out. `is_first`: as stored, to look at while the structure is being compared."""
        hunk = self._hunk if self.sides is not None else 0
        self._difference, self._memo, self._opened = difference, memo, set()
        self._lay_out(sides)
        progress = "comparing by structure … as stored: " if is_first else "as stored: " if self._raw else ""
        self._say(progress + verdict(difference))
        if self.sides is not None and self.sides.hunks:
            self._go(self.sides.hunks[min(hunk, len(self.sides.hunks) - 1)][0])

    @property
    def _hunk(self) -> int:
        """The change that the cursor is in or below, from 0."""
        row = self.focused_side.row
        return max(sum(first <= row for first, _ in self.sides.hunks) - 1, 0) if self.sides is not None else 0

    def _lay_out(self, sides: Sides | None = None) -> None:
        """Show both halves, made anew where they are not given."""
        assert self._difference is not None
        self.sides = sides = sides or sides_of(self._difference, self._refs, self._opened, self._memo)
        changed = _changed_lines(sides)
        with self.following():
            for place, view in enumerate((self.view(True), self.view(False))):
                view.is_changed = changed[place].__contains__
                view.show((sides.left, sides.right)[place])
                view.fix_rows(Aligned(sides.rows[place]))

    def _say(self, text: str) -> None:
        left, right = self.artifacts
        names = f" {left.ref} {'=' if self.ascii_only else '↔'} {right.ref}  "
        self.say_above([(names, tokens.TITLE), (text, tokens.STRONG)])

    # both halves

    def _moved(self, view: CompareSide, moved: DocumentView.Moved) -> None:
        if self.is_following or self.sides is None:
            return
        with self.following():
            self.view(not view.is_left).follow(view.row, view.top, view.scroll_offset.x)
        hunk = sum(first <= view.row for first, _ in self.sides.hunks)
        where = f"change {hunk}/{len(self.sides.hunks)}  " if self.sides.hunks else ""
        self.say_place(moved, where)

    def _go(self, row: int) -> None:
        """Move the cursor to a row: in the half with the focus, or, where that has no line, in the other one."""
        view = self.focused_side
        if not view.go(row):
            other = self.view(not view.is_left)
            other.focus()
            other.go(row)

    def _asked(self, action: str) -> None:
        {
            "next": self.action_next_change, "previous": self.action_previous_change, "fold": self.action_fold,
            "fold_all": self.action_fold_all, "unfold_all": self.action_unfold_all,
        }[action]()  # fmt: skip

    def action_next_pane(self) -> None:
        """Go to the other half, in the same row if that has a line there."""
        view = self.focused_side
        other = self.view(not view.is_left)
        row = view.row
        other.focus()
        other.go_near(row)

    def action_next_change(self) -> None:
        """Go to the next lines that differ."""
        self._change(False)

    def action_previous_change(self) -> None:
        """Go to the change before."""
        self._change(True)

    def _change(self, back: bool) -> None:
        if self.sides is None:
            return
        row = self.focused_side.row
        firsts = [first for first, _ in self.sides.hunks]
        targets = [first for first in firsts if first < row][-1:] if back else [first for first in firsts if first > row][:1]
        if targets:
            self._go(targets[0])
        else:
            self.show_message(f"no {'earlier' if back else 'later'} change")

    # folds

    def action_fold(self) -> None:
        """Show the equal lines that are folded at the cursor."""
        change = self.sides.folds.get(self.focused_side.row) if self.sides is not None else None
        if self.sides is None or change is None or self._opened is None:
            self.show_message("no folded lines at the cursor")
            return
        self._opened.add(change)
        self._lay_out()
        self._go(self.sides.starts[change])

    def action_fold_all(self) -> None:
        """Show only changes, with the lines around them."""
        self._fold_to(set())

    def action_unfold_all(self) -> None:
        """Show all lines."""
        self._fold_to(None)

    def _fold_to(self, opened: set[int] | None) -> None:
        if self._difference is None or self.sides is None:
            return
        hunk = self._hunk
        self._opened = opened
        self._lay_out()
        self._go(self.sides.hunks[hunk][0] if self.sides.hunks else 0)

    def action_raw(self) -> None:
        """Compare as stored, or without what any two runs differ in."""
        self._raw = not self._raw
        self._load()

    def situation(self) -> Situation:
        """Return the state that commands depend on."""
        return Situation(Where.COMPARE, has_hits=bool(self.focused_side.hits))

    # out

    def action_export(self) -> None:
        """Export the page, or the patch, to a file."""
        left, right = self.artifacts
        options = Options(raw=self._raw)
        output = Output(partial(artifact_page, self.ref, f"{left.ref} ↔ {right.ref}", left, right, options))
        name = safe_name(f"{left.ref}_{right.ref}", ".patch" if self._raw else ".txt")
        self.ask_where("write the patch to" if self._raw else "write the comparison to", output, name)

    def action_leave(self) -> None:
        """Go back, unless something is to be closed first."""
        if not self.closes_innermost():
            self.dismiss("")


def _changed_lines(sides: Sides) -> tuple[set[int], set[int]]:
    """Return the differing lines of each half."""
    changed: tuple[set[int], set[int]] = set(), set()
    for first, last in sides.hunks:
        for place in (0, 1):
            changed[place].update(line for line in sides.rows[place][first : last + 1] if line >= 0)
    return changed
