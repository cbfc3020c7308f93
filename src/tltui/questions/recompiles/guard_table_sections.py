"""The guard table as lines: compiled versions as columns, differing guards as rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.explanations import name_of
from tltui.questions.recompiles.guard_table import GuardTable, TableRow
from tltui.questions.recompiles.predictions import without_index
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.formatting import cells as width
from tltui.text.sanitize import sanitize

BLOCKS = 3
"""Rows of columns below each other; JSON has all versions."""
ROWS_SHOWN = 12
VALUE_WIDTH = 10
"""Maximum cells of a value."""
NAME_SHARE = 2 / 5
"""Part of the page for names."""
NO_GUARD = "-"


def add_guard_table(page: Page, table: GuardTable, indent: str = "  ") -> None:
    """Add the guards that differ between the compiled versions of a frame."""
    if len(table.versions) < 2 or not table.rows or len(table.versions) == len(table.rows) + 1 == 2:
        return  # one value of two versions: the recompilation has it
    page.blank()
    page.open("Guards by version")
    page.add(indent, ("Guards that differ, by compiled version", tokens.LABEL))
    rows = _alike(table.rows)
    names = [_name(row, count) for row, count in rows[:ROWS_SHOWN]]
    room = int(page.width * NAME_SHARE)
    left = min(max(map(width, names)), room)
    columns = [_id(ref) for ref in table.versions]
    cells = [[_cell(value) for value in row.values] for row, _ in rows[:ROWS_SHOWN]]
    widths = [max(width(columns[n]), *(width(row[n]) for row in cells)) for n in range(len(columns))]
    start = blocks = 0
    while start < len(columns) and blocks < BLOCKS:
        end = start + _fitting(widths[start:], page.width - len(indent) - 2 - left)
        _block(page, table, names, cells, widths, range(start, end), left, indent + "  ")
        start, blocks = end, blocks + 1
    _rest(page, table, len(rows) - ROWS_SHOWN, len(columns) - start, indent + "  ")
    page.close()


def _alike(rows: Sequence[TableRow]) -> list[tuple[TableRow, int]]:
    """Group rows of equal values whose sources differ only in an index: the first of each group and how many there are."""
    groups: dict[tuple[str, str, int | None, tuple[str, ...]], list[TableRow]] = defaultdict(list)
    for row in rows:
        cause = guard_grammar.INT if row.cause in guard_grammar.NUMBERS else row.cause  # one value may be an int and a float
        groups[(cause, without_index(row.source), row.dim, row.values)].append(row)
    return [(members[0], len({row.source for row in members})) for members in groups.values()]


def _name(row: TableRow, count: int) -> str:
    name = name_of(without_index(row.source) if count > 1 else row.source, row.dim)
    number = f" ({count} guards)" if count > 1 else ""
    return fmt.one_line(sanitize(f"{row.cause} {name}{number}"))


def _id(ref: str) -> str:
    return f"[{ref.rpartition(':')[2]}]"


def _cell(value: str) -> str:
    return fmt.clip(fmt.one_line(sanitize(value)), VALUE_WIDTH) or NO_GUARD


def _fitting(widths: Sequence[int], room: int) -> int:
    """Return how many columns fit; at least one."""
    count = 0
    for column in widths:
        room -= column + 2
        if room < 0:
            break
        count += 1
    return max(count, 1)


def _block(
    page: Page, table: GuardTable, names: Sequence[str], cells: Sequence[Sequence[str]], widths: Sequence[int], shown: range,
    left: int, indent: str,
) -> None:  # fmt: skip
    """Add the rows of some versions; a value that differs from that of the version before is highlighted."""
    head: list[Piece] = [indent, " " * left]
    for n in shown:
        ref = table.versions[n]
        head += [f"  {' ' * (widths[n] - width(_id(ref)))}", (_id(ref), tokens.LINK, ref)]
    page.add(*head)
    for name, row in zip(names, cells, strict=True):
        text = fmt.clip_middle(name, left)
        pieces: list[Piece] = [indent, (text, tokens.NAME), " " * (left - width(text))]
        for n in shown:
            changed = n > 0 and row[n] != row[n - 1]
            pieces += [f"  {' ' * (widths[n] - width(row[n]))}", (row[n], tokens.CHANGED if changed else tokens.DIM)]
        page.add(*pieces)


def _rest(page: Page, table: GuardTable, rows: int, hidden: int, indent: str) -> None:
    parts = []
    if hidden > 0 or table.different > len(table.versions):
        parts.append(f"{fmt.plural(max(hidden, 0) + table.different - len(table.versions), 'more version')}")
    if rows > 0:
        parts.append(fmt.plural(rows, "more guard"))
    if parts:
        page.add(indent, (f"{' and '.join(parts)} in --json", tokens.DIM))
    if table.limit:
        page.say(f"Some calls were compared with only {table.limit} older versions.", indent, tokens.DIM)
    if table.without_guards:
        refs = " ".join(map(_id, table.without_guards[:4]))
        more = f" and {len(table.without_guards) - 4} more" if len(table.without_guards) > 4 else ""
        text = f"No guards in the log for {refs}{more}: other causes of these compiles are unknown."
        page.say(page.so_far(text), indent, tokens.DIM)
