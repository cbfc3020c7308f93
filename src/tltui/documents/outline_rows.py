"""Which nodes of the tree are in sight: what is open, what a filter leaves, in which row each stands.

Pure state; the widget draws it. Rows are remade from the open keys, so the tree may grow under it while a scan runs: the cost is
that of the visible rows, not that of the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tltui.documents.outline import Label, Node, Target, children, label
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile

if TYPE_CHECKING:
    from tltui.documents.outline_stacks import StackOrder


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A visible node."""

    node: Node
    depth: int


class OutlineRows:
    """The visible rows of an outline. The root stands in row 0 and is always open."""

    def __init__(self, root: Node, below: Callable[[Node], list[Node]] = children) -> None:
        self._root = root
        self._by_frames = self._below = below
        self.order: StackOrder | None = None
        """Gives the nodes in the order of the stacks, None while they are in that of the frames."""
        self._pattern: re.Pattern[str] | None = None
        self.open: set[str] = {root.key}
        self.rows: list[OutlineRow] = []
        self.refresh()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def filter(self) -> str:
        """The pattern of the filter, '' for none."""
        return self._pattern.pattern if self._pattern else ""

    def refresh(self) -> None:
        """Make the rows again from the run as it is now."""
        rows: list[OutlineRow] = [OutlineRow(self._root, 0)]
        self._add(rows, self._root, 1)
        self.rows = rows

    def _add(self, rows: list[OutlineRow], node: Node, depth: int) -> bool:
        """Append what is visible below a node. True when the filter leaves something there."""
        found = False
        for child in self._below(node):
            place = len(rows)
            rows.append(OutlineRow(child, depth))
            is_open = child.key in self.open
            if self._pattern is None:
                if is_open:
                    self._add(rows, child, depth + 1)
                found = True
                continue
            matches = self._pattern.search(text_of(child)) is not None
            if isinstance(child.target, (Compile, Artifact)):
                kept = matches
                if kept and is_open:
                    self._add_all(rows, child, depth + 1)
            else:
                kept = self._add(rows, child, depth + 1)
                if matches and not kept and is_open:
                    self._add_all(rows, child, depth + 1)
                kept = kept or matches
            if not kept:
                del rows[place:]
            found = found or kept
        return found

    def _add_all(self, rows: list[OutlineRow], node: Node, depth: int) -> None:
        """What is below a match is shown whatever it says."""
        pattern, self._pattern = self._pattern, None
        self._add(rows, node, depth)
        self._pattern = pattern

    def set_filter(self, text: str) -> None:
        """Show only what matches (a regular expression, else the text itself; small letters match capitals too), and what is above and
        below it."""
        self._pattern = compiled(text) if text else None
        self.refresh()

    def set_order(self, order: StackOrder | None) -> None:
        """By stacks, or by frames again (None). What is open stays open."""
        self.order = order
        self._below = self._by_frames if order is None else order.below
        self.refresh()

    def row_of(self, key: str) -> int | None:
        """The row of a node, None when it is not visible."""
        return next((place for place, row in enumerate(self.rows) if row.node.key == key), None)

    def is_open(self, place: int) -> bool:
        """Whether the node of a row shows its children."""
        return self.rows[place].node.key in self.open

    def expand(self, place: int) -> None:
        """Open the node of a row."""
        row = self.rows[place]
        if row.node.key in self.open or not row.node.expandable:
            return
        self.open.add(row.node.key)
        below: list[OutlineRow] = []
        self._add(below, row.node, row.depth + 1)
        self.rows[place + 1 : place + 1] = below

    def collapse(self, place: int) -> None:
        """Close the node of a row. The root stays open."""
        row = self.rows[place]
        if row.node.key not in self.open or place == 0:
            return
        self.open.discard(row.node.key)
        end = place + 1
        while end < len(self.rows) and self.rows[end].depth > row.depth:
            end += 1
        del self.rows[place + 1 : end]

    def collapse_all(self) -> None:
        """Close everything but the root."""
        self.open = {self._root.key}
        self.refresh()

    def expand_all(self, limit: int = 5000) -> bool:
        """Open everything down to the artifacts of compiles, level by level; False when there were too many rows for that."""
        while True:
            closed = [row.node.key for row in self.rows if row.node.expandable and row.node.key not in self.open]
            if not closed:
                return True
            if len(self.rows) + len(closed) > limit:
                return False
            self.open.update(closed)
            self.refresh()

    def parent(self, place: int) -> int:
        """The row of the parent; 0 for the root itself."""
        depth = self.rows[place].depth
        while place > 0 and self.rows[place].depth >= depth:
            place -= 1
        return place

    def reveal(self, keys: Iterable[str]) -> int | None:
        """Open the nodes with these keys (in the order by frames), the last one excepted; the row of the last one."""
        *path, last = keys if self.order is None else self.order.path(list(keys))
        if not self.open.issuperset(path):
            self.open.update(path)
            self.refresh()
        return self.row_of(last)


def compiled(text: str) -> re.Pattern[str]:
    """A search pattern: smart case, and text that is no regular expression is taken literally."""
    flags = 0 if any(letter.isupper() for letter in text) else re.IGNORECASE
    try:
        return re.compile(text, flags)
    except re.error:
        return re.compile(re.escape(text), flags)


def text_of(node: Node) -> str:
    """What the line of a node says, and its address: what a filter looks at."""
    said: Label = label(node)
    pieces = (*said.left, *said.detail, *said.right)
    status = str(node.target.status) if isinstance(node.target, Compile) else ""
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces) + f" {node.ref} {status}"


__all__ = ["OutlineRow", "OutlineRows", "Target", "compiled", "text_of"]
