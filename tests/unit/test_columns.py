"""Tables of declared columns: which columns a narrow pane has, which rows are folded, and in which order they come."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tltui.documents.page import Column, Page, Table, fitting
from tltui.text import tokens
from tltui.text.document import Options


@dataclass(frozen=True)
class Row:
    seconds: int
    name: str
    ref: str = ""


TABLE: Table[Row] = Table((
    Column("took", lambda row: (f"{row.seconds} seconds", tokens.NUMBER), right=True, shrinks=False),
    Column("name", lambda row: row.name, sort="name", key=lambda row: row.name),
    Column("half", lambda row: f"{row.seconds / 2} seconds", right=True, shrinks=False, drop=1),
    Column("where", lambda row: (row.ref, tokens.LINK, row.ref), drop=2, when=lambda rows: any(row.ref for row in rows)),
), "names", shown=3, folded=4)  # fmt: skip
ROWS = [Row(12, "forward_of_the_model_with_a_long_name", "0:12/0"), Row(7, "a"), Row(103, "loss", "0:9999/10_1")]


def lines(rows: list[Row], width: int, total: int | None = None) -> list[str]:
    page = Page("@x", "x", Options(width=width))
    page.table(TABLE, rows, total)
    return list(page.document().text())


def test_all_columns_where_they_fit() -> None:
    assert lines(ROWS, 100) == [
        "         took  name                                           half  where",
        "   12 seconds  forward_of_the_model_with_a_long_name   6.0 seconds  0:12/0",
        "    7 seconds  a                                       3.5 seconds",
        "  103 seconds  loss                                   51.5 seconds  0:9999/10_1",
    ]


def test_a_column_without_anything_is_not_there() -> None:
    assert lines([Row(1, "a")], 100)[0].split() == ["took", "name", "half"]


@pytest.mark.parametrize("width", range(30, 100))
def test_no_width_is_exceeded_and_no_number_or_address_is_cut(width: int) -> None:
    text = lines(ROWS, width)
    assert max(map(len, text)) <= width
    titles = text[0].split()
    assert titles[:2] == ["took", "name"] and "103 seconds" in text[3]
    assert ("half" in titles) <= ("where" in titles), "half gives way first"
    assert ("51.5 seconds" in text[3], "0:9999/10_1" in text[3]) == ("half" in titles, "where" in titles)


def test_what_gives_way_first() -> None:
    assert fitting([10, 10, 10], [0, 2, 1], 34) == [0, 1, 2]
    assert fitting([10, 10, 10], [0, 2, 1], 33) == [0, 1]
    assert fitting([10, 10, 10], [0, 1, 2], 33) == [0, 2]
    assert fitting([10, 10, 10], [0, 0, 0], 33) == [0, 1], "from the right"
    assert fitting([10, 10, 10], [1, 2, 3], 5) == [0], "the first stays"


def test_rows_are_folded_and_counted() -> None:
    rows = [Row(n, f"name {n}") for n in range(20)]
    assert len(lines(rows[:5], 80)) == 6, "one or two more are not folded"
    text = lines(rows[:6], 80)
    assert (len(text), text[4]) == (8, "  3 more names")
    assert lines(rows, 80)[4] == "  17 more names, 4 of them listed; --json lists all" == lines(rows[:7], 80, 20)[4]


def test_orders() -> None:
    assert [row.name for row in TABLE.ordered(ROWS, "name")] == ["a", "forward_of_the_model_with_a_long_name", "loss"]
    assert TABLE.ordered(ROWS, "") == TABLE.ordered(ROWS, "other") == ROWS


SORTED: Table[Row] = Table((
    Column("took", lambda row: f"{row.seconds} s", right=True, sort="time"),
    Column("name", lambda row: row.name, sort="name", key=lambda row: row.name),
    Column("where", lambda row: row.ref, sort="where", key=lambda row: row.ref, when=lambda rows: any(row.ref for row in rows)),
), order="time")  # fmt: skip


@pytest.mark.parametrize(("sort", "head", "first"), [
    ("time", "  took ↓  name", "    12 s  b"), ("name", "  took  name ↑", "   7 s  a"), ("cost", "  took ↓  name", "    12 s  b"),
])  # fmt: skip
def test_an_arrow_marks_the_sorted_column(sort: str, head: str, first: str) -> None:
    page = Page("@x", "x", Options(width=40))
    page.table(SORTED, [Row(12, "b"), Row(7, "a")], sort=sort)
    document = page.document()
    assert [line.rstrip() for line in document.text()][:2] == [head, first]
    assert document.orders == ["time", "name"], "no order of a column without a value"


def test_a_table_without_the_order_has_no_arrow() -> None:
    page = Page("@x", "x", Options(width=40, sort="time"))
    page.table(TABLE, ROWS)
    assert "↑" not in (head := next(iter(page.document().text()))) and "↓" not in head and page.document().orders == ["name"]


def test_a_column_that_gave_way_has_no_order_on_the_page() -> None:
    page = Page("@x", "x", Options(width=30))
    whole = replace(SORTED, columns=tuple(replace(column, shrinks=False) for column in SORTED.columns))
    page.table(whole, [Row(12, "b" * 20, ref="0/1:artifact_name")])
    assert "where" not in next(iter(page.document().text())) and page.document().orders == ["time", "name"]


def test_a_table_is_in_the_order_of_its_page() -> None:
    page = Page("@x", "x", Options(width=40, sort="name"))
    page.table(SORTED, [Row(12, "b"), Row(7, "a")])
    assert [line.rstrip() for line in page.document().text()][:2] == ["  took  name ↑", "   7 s  a"]
