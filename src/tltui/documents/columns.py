"""Tables declared as columns: each has its title, cell, alignment and order, and knows when it gives way to the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tltui.text.document import Piece

Row = TypeVar("Row")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a table."""

    title: str
    """Its label in the first line, '' for none."""
    cell: Callable[[Row], Piece]
    """Return the text of a row, with its style and where it leads."""
    right: bool = False
    """Whether it is aligned right, as numbers are."""
    drop: int = 0
    """When it gives way in a pane that is too narrow for all columns: 1 first, then 2 …; those with 0 last, from the right."""
    shrinks: bool = True
    """Whether its texts may be cut, down to 6 cells. Addresses never are."""
    least: int = 0
    """Cells that it keeps, if more than 6, as far as its texts have them: other columns give way before."""
    when: Callable[[Sequence[Row]], bool] | None = None
    """Return whether these rows have anything for it; None: all rows have."""
    sort: str = ""
    """The order (`--sort`) that goes by this column, '' for none."""
    key: Callable[[Row], Any] | None = None
    """Return what rows are compared by in that order; None: the rows come in it."""

    @property
    def arrow(self) -> str:
        """The sign in the title of the column that the rows are sorted by: numbers go down, names up."""
        return " ↓" if self.right else " ↑"


@dataclass(frozen=True)
class Table(Generic[Row]):
    """The columns of a table, and how many of its rows a page has."""

    columns: tuple[Column[Row], ...]
    noun: str = "rows"
    """Many of the rows, as the line says that stands for those that are folded: `12 more functions`."""
    shown: int = 0
    """Rows above that line; 0: all. One or two more are not folded."""
    folded: int = 0
    """Rows below it at most; 0: all of them. `--json` has the others."""
    indent: str = "  "
    order: str = ""
    """The order in which the rows come, '' for none that has a name."""

    def present(self, rows: Sequence[Row]) -> list[Column[Row]]:
        """Return the columns for which these rows have anything."""
        return [column for column in self.columns if column.when is None or column.when(rows)]

    def applied(self, sort: str) -> str:
        """Return the order of the rows if `sort` is wanted: the one in which they come, where no column has it."""
        return sort if sort and any(column.sort == sort for column in self.columns) else self.order

    def ordered(self, rows: Sequence[Row], sort: str) -> Sequence[Row]:
        """Return the rows in the order `sort`; as they come, where no column has it."""
        key = next((column.key for column in self.columns if sort and column.sort == sort), None)
        return rows if key is None or sort == self.order else sorted(rows, key=key)


def by_numbers(text: str) -> tuple[int, ...]:
    """Return what addresses and versions are sorted by: `0/2` comes before `0/10`, 2.9 before 2.10."""
    return tuple(map(int, _NUMBER.findall(text)))


def fitting(least: Sequence[int], drops: Sequence[int], room: int) -> list[int]:
    """Return the columns that fit into `room` cells: the first one, and as many others as possible.

    `least` are the minimum cells of each, `drops` the order in which they give way; two cells separate columns.
    """
    stay = list(range(len(least)))
    for column in sorted(stay[1:], key=lambda n: (drops[n] == 0, drops[n], -n)):
        if sum(least[n] for n in stay) + 2 * (len(stay) - 1) <= room:
            break
        stay.remove(column)
    return stay
