"""Row maps against a naive model that writes down every row."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tltui.text.document import Section
from tltui.text.screen_rows import FILLER, WRAP_CAP, Aligned, Lines, Row, SectionIndex, Wrapped

quiet = settings(deadline=None, derandomize=True, max_examples=150)


@st.composite
def nested(draw: st.DrawFn, first: int = 0, last: int = 40, level: int = 0) -> list[Section]:
    """Properly nested sections within lines first..last."""
    sections: list[Section] = []
    at = first
    while at < last and draw(st.booleans()):
        lo = draw(st.integers(at, last))
        hi = draw(st.integers(lo, last))
        sections.append(Section(lo, hi, level, f"s{lo}", draw(st.booleans())))
        if level < 3 and hi > lo:
            sections += draw(nested(lo + draw(st.integers(0, 1)), hi, level + 1))
        at = hi + 1
    return sections


def naive_visible(count: int, sections: list[Section], folded: set[int], kept: set[int] | None = None) -> list[int]:
    hidden = {n for s in sections if s.first in folded for n in range(s.first + 1, s.last + 1)}
    return [n for n in range(count) if n not in hidden and (kept is None or n in kept)]


def check_lines(rows: Lines | Aligned, expected: list[int], count: int) -> None:
    assert len(rows) == len(expected)
    assert [rows.at(r).line for r in range(len(expected))] == expected
    assert rows.at(len(expected)) == FILLER and rows.at(-1) == FILLER
    for line in range(count):
        assert rows.shows(line) == (line in expected)
        before = [n for n in expected if 0 <= n <= line]
        assert rows.row_of(line) == (expected.index(before[-1]) if before else 0)


@quiet
@given(st.integers(0, 45), nested(), st.sets(st.integers(0, 45)), st.none() | st.sets(st.integers(0, 44)))
def test_folds_and_filter(count: int, sections: list[Section], folded: set[int], kept: set[int] | None) -> None:
    sections = [s for s in sections if s.last < count]
    index = SectionIndex(sections)
    base = range(count) if kept is None else sorted(n for n in kept if n < count)
    rows = Lines(base, index.hidden(folded))
    check_lines(rows, naive_visible(count, sections, folded, kept), count)


@quiet
@given(nested())
def test_section_index(sections: list[Section]) -> None:
    index = SectionIndex(sections)
    real = [s for s in sections if s.last > s.first]
    for line in range(42):
        around = [s for s in real if s.first <= line <= s.last]
        assert index.around(line) == around[::-1]
        assert index.headed(line) == next((s for s in real if s.first == line), None)
        assert index.after(line) == min((s.first for s in real if s.first > line), default=None)
        assert index.before(line) == max((s.first for s in real if s.first < line), default=None)
    assert index.heads() == {s.first for s in real}
    assert index.folded() == {s.first for s in real if s.folded}


@quiet
@given(nested(), st.sets(st.integers(0, 40)))
def test_filter_keeps_heads(sections: list[Section], hits: set[int]) -> None:
    kept = SectionIndex(sections).with_heads(sorted(hits))
    real = [s for s in sections if s.last > s.first]
    assert list(kept) == sorted(hits | {s.first for s in real for n in hits if s.first <= n <= s.last})


def cuts(text: str, width: int) -> list[int]:
    """Where rows begin when `W` is two cells wide."""
    starts, cells = [0], 0
    for column, char in enumerate(text):
        size = 2 if char == "W" else 1
        if cells + size > width:
            starts.append(column)
            cells = 0
        cells += size
    return starts


@quiet
@given(
    st.lists(st.text("aW", max_size=30), max_size=200),
    st.integers(2, 12),
    st.integers(0, 5),
    st.lists(st.integers(0, 500), max_size=20),
)
def test_wrap(texts: list[str], width: int, slack: int, looked: list[int]) -> None:
    wrapped = Wrapped(
        Lines(range(len(texts))), width, lambda n: len(texts[n]) + slack, lambda n: cuts(texts[n], width)
    )
    for row in looked:
        wrapped.at(row)
    expected: list[Row] = []
    for n, text in enumerate(texts):
        starts = cuts(text, width)
        expected += [Row(n, p, lo, starts[p + 1] if p + 1 < len(starts) else None) for p, lo in enumerate(starts)]
    got, row = [], 0
    while row < len(wrapped):
        got.append(wrapped.at(row))
        row += 1
    got = [row for row in got if row != FILLER]
    assert got == expected
    for row, what in enumerate(expected):
        assert wrapped.row_of(what.line, what.lo) == row
    assert wrapped.at(len(expected)) == FILLER


def test_wrap_caps_a_long_line() -> None:
    asked: list[int] = []

    def parts(line: int) -> list[int]:
        asked.append(line)
        return list(range(0, WRAP_CAP, 100))

    rows = Wrapped(Lines(range(3)), 100, lambda n: (10, 1_000_000, 50)[n], parts)
    assert len(rows) == 2 + -(-WRAP_CAP // 100)
    assert rows.at(len(rows) - 2) == Row(1, 163, 16300, WRAP_CAP)
    assert rows.at(len(rows) - 1) == Row(2)
    assert asked == [1]


def test_wrap_over_folds() -> None:
    rows = Wrapped(Lines(range(6), [(2, 3)]), 10, lambda n: 25 if n == 1 else 5, lambda n: [0, 10, 20])
    assert [rows.at(r).line for r in range(len(rows))] == [0, 1, 1, 1, 4, 5]
    assert rows.row_of(3) == 1
    assert rows.row_of(1, 15) == 2
    assert not rows.shows(2)


@quiet
@given(st.lists(st.booleans(), max_size=30))
def test_aligned(has: list[bool]) -> None:
    number = iter(range(100))
    lines = [next(number) if flag else -1 for flag in has]
    rows = Aligned(lines)
    real = [n for n in lines if n >= 0]
    assert len(rows) == len(lines)
    for row, line in enumerate(lines):
        assert rows.at(row) == (Row(line) if line >= 0 else FILLER)
    for line in real:
        assert rows.row_of(line) == lines.index(line) and rows.shows(line)
    assert not rows.shows(len(real))


def test_millions_of_lines_take_no_memory_per_line() -> None:
    rows = Lines(range(5_000_000), [(10, 1_000_000)])
    assert len(rows) == 4_000_000 - 1 + 10
    assert rows.at(10).line == 1_000_001
    assert rows.row_of(4_999_999) == len(rows) - 1
    assert rows.row_of(500) == 9
