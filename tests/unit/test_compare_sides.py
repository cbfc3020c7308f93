"""Both sides of a comparison in rows: each line once, changed lines next to each other."""

from __future__ import annotations

import pytest

from tltui.questions.compare.artifacts_page import Sides, sides_of
from tltui.questions.compare.comparable_lines import difference


def laid_out(left: str, right: str, raw: bool) -> Sides:
    return sides_of(difference(left, right, "text", raw), ("left", "right"), None)


def texts(sides: Sides) -> list[tuple[str, str]]:
    """Return the texts of each row, '' for a side without a line."""
    sources = [list(side.text()) for side in (sides.left, sides.right)]
    return [
        (sources[0][a] if a >= 0 else "", sources[1][b] if b >= 0 else "") for a, b in zip(*sides.rows, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize("raw", [True, False])
def test_a_changed_line_is_next_to_its_counterpart(raw: bool) -> None:
    sides = laid_out("first\nsecond line\nthird\n", "first\nsecond lime\nthird\nfourth\n", raw)
    rows = texts(sides)
    assert ("second line", "second lime") in rows
    assert ("", "fourth") in rows
    assert [left for left, _ in rows if left] == ["first", "second line", "third"]
    assert [right for _, right in rows if right] == ["first", "second lime", "third", "fourth"]
    assert [rows[first] for first, _ in sides.hunks] == [("second line", "second lime"), ("", "fourth")]


def test_lines_that_one_side_lacks_leave_the_other_side_blank() -> None:
    rows = texts(laid_out("a\nb\nc\nd\n", "c\nd\n", raw=True))
    assert rows[:2] == [("a", ""), ("b", "")]
    assert rows[2:4] == [("c", "c"), ("d", "d")]
