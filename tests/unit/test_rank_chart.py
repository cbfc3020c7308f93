"""Ranks over time: alike ranks in one row, odd ones in rows of their own, corrected clocks, letters, and what is too short."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from ranked import ranked
from real import TRACES
from viewed import lead_somewhere

from tltui.documents.page import Page
from tltui.model.follow import open_run
from tltui.model.ref import Ranks
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.ranks.rank_chart import ChartBar, RankChart, read_chart
from tltui.questions.ranks.rank_chart_sections import ROWS, add_chart, cells_of, letters_of
from tltui.questions.ranks.stragglers_page import counts_of
from tltui.sources.discover import discover
from tltui.text.document import Options
from tltui.text.steps import run_steps

RANKS = re.compile(r"  (ranks? \d|\d+ ranks)")
SLOW = "slow_phase:ranks=5-6,compile=1,seconds=8"
LATE = "late_start:ranks=3,compile=2,seconds=6"
KILLED = "killed:ranks=7,compile=3"
CLOCK = "clock:ranks=2,seconds=90"


def made(tmp_path: Path, *plants: str, ranks: int = 8, compiles: int = 4) -> Run:
    options = [word for plant in plants for word in ("--plant", plant)]
    ranked(tmp_path, "--ranks", ranks, "--compiles", compiles, "--detail", "tiny", *options)
    return open_run(discover([str(tmp_path)]))


def chart_of(run: Run) -> RankChart:
    chart = run_steps(read_chart(run))
    assert chart is not None
    return chart


def section(run: Run, page: str, options: Options) -> list[str]:
    document = build(run, page, options)
    while not document.advance():
        pass
    lines = list(document.text())
    first = next((n for n, line in enumerate(lines) if line.lower().endswith("ranks over time")), len(lines))
    return lines[first : next((n for n in range(first, len(lines)) if not lines[n]), len(lines))]


def rows_of(lines: Sequence[str]) -> dict[str, str]:
    return {line[2:19].partition(" ±")[0].strip(): line[21:] for line in lines[2:] if RANKS.match(line)}


def test_alike_ranks_are_one_row_and_odd_ones_have_their_own(tmp_path: Path) -> None:
    run = made(tmp_path, SLOW, LATE, KILLED, CLOCK)
    chart = chart_of(run)
    assert [row.ranks for row in chart.rows] == [Ranks([0, 1, 2, 4]), Ranks([5, 6]), Ranks([3]), Ranks([7])]
    assert chart.duration_s < 40, "the clock of rank 2 is 90 s ahead, and corrected"
    assert [function.name for function in chart.functions] == ["block0", "block1", "block2", "block3"]
    most, slow, late, killed = (row.bars for row in chart.rows)
    assert slow[1].end_s - slow[1].start_s == pytest.approx(most[1].end_s - most[1].start_s + 8, abs=0.5)
    assert late[2].start_s == pytest.approx(most[2].start_s + 6, abs=0.5)
    assert killed[-1].is_open and not any(bar.is_open for bar in (*most, *slow, *late))
    assert all(first.end_s <= second.start_s + 1e-6 for first, second in pairwise(most))


@pytest.mark.parametrize("page", ["@stragglers", "@timing", "@where"])
@pytest.mark.parametrize("width", [78, 136])
def test_the_chart_is_on_three_pages(tmp_path: Path, page: str, width: int) -> None:
    run = made(tmp_path, SLOW, LATE, KILLED)
    lines = section(run, page, Options(width=width))
    assert all(len(line) <= width for line in lines)
    rows = rows_of(lines)
    assert list(rows) == ["4 ranks", "ranks 5, 6", "rank 3", "rank 7"]
    assert rows["ranks 5, 6"].count("b") > 4 * rows["4 ranks"].count("b"), "block1 took 8 s longer"
    assert rows["rank 3"].index("c") > rows["4 ranks"].index("c") and rows["rank 7"].endswith("…")
    assert "  a = block0   b = block1   c = block2   d = block3" in lines
    remarks = [line.strip() for line in lines if line.startswith(" " * 21) and "s" in line and line is not lines[1]]
    assert any(remark.startswith("began block2 6.00 s after the others") for remark in remarks) == (page == "@stragglers")


def test_in_ascii_the_chart_is_ascii_and_each_compile_is_a_link(tmp_path: Path) -> None:
    run = made(tmp_path, SLOW, KILLED)
    assert "\n".join(section(run, "@stragglers", Options(width=78, ascii=True))).isascii()
    document = build(run, "@stragglers", Options(width=78))
    while not document.advance():
        pass
    row = next(document.line(n) for n in range(len(document)) if document.line(n).text.startswith("  ranks 5, 6"))
    assert [link.target for link in row.links] == ["5:", "5:0/0", "5:1/0", "5:2/0", "5:3/0"]
    assert all(link.is_sign for link in row.links[1:])
    lead_somewhere(run, document)


def test_while_logs_grow_the_section_is_about_the_moment(tmp_path: Path) -> None:
    run = made(tmp_path, SLOW)
    page = Page("@where", "where", Options(width=78, goes_on="the job goes on"))
    add_chart(page, chart_of(run))
    assert next(page.document(None).text()) == "Ranks over time, so far"


def test_stages_of_a_pipeline_are_rows_without_a_remark() -> None:
    run = open_run(discover([str(TRACES / "rank_jobs" / "stages")]))
    lines = section(run, "@stragglers", Options(width=78))
    assert list(rows_of(lines)) == ["rank 0", "rank 1", "rank 2"] and not any("after the others" in line for line in lines)
    assert any(line.startswith("  a = forward rank_jobs.py:63   b = forward rank_jobs.py:67") for line in lines), "equal names"


def test_many_kinds_of_ranks_are_counted(tmp_path: Path) -> None:
    plants = [f"missing_compile:ranks={rank},compile={rank % 6}" for rank in range(1, 7)]
    plants += [f"extra_recompile:ranks={rank},compile={rank % 6}" for rank in range(7, 13)]
    run = made(tmp_path, *plants, ranks=16, compiles=7)
    chart = chart_of(run)
    lines = section(run, "@stragglers", Options(width=78))
    assert len(chart.rows) == 13 and len(rows_of(lines)) == ROWS
    assert "  3 more groups of 3 ranks: → matrix" in lines


def test_a_cell_is_the_compile_that_covers_most_of_it() -> None:
    def bar(start: float, end: float, is_open: bool = False) -> ChartBar:
        return ChartBar(0, False, f"{start}", start, end, is_open)

    long, short, brief, cut = bar(0, 2.6), bar(2.6, 3.0), bar(4.0, 4.3), bar(6.1, 6.1, is_open=True)
    cells = cells_of([long, short, brief, cut], 0.0, 8.0, 8)
    assert cells == [long, long, long, None, None, None, cut, None], "0.3 of a cell is not drawn, an open compile is"


def test_letters_are_for_the_functions_with_the_most_cells() -> None:
    cells = [number for number in range(14) for _ in range(1 if number in (0, 5, 9) else 2)]
    letters = letters_of(cells)
    assert [number for number, letter in letters.items() if letter == "·"] == [0, 5, 9]
    assert [letters[number] for number in (1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 13)] == list("abcdefghijk")


def test_one_rank_has_no_chart(tmp_path: Path) -> None:
    assert run_steps(read_chart(made(tmp_path, ranks=1))) is None


def test_the_distribution_shows_how_many_ranks_took_how_long(tmp_path: Path) -> None:
    run = made(tmp_path, SLOW, ranks=14)
    document = build(run, "@stragglers", Options(width=78))
    while not document.advance():
        pass
    lines = list(document.text())
    first = lines.index("Distribution over ranks")
    assert lines[first + 1].split()[-3:] == ["median", "slowest", "rank"]
    slow = next(line for line in lines[first:] if line.startswith("  block1  "))
    cells = slow[22:48]
    assert cells.count("█") == 1 and 2 <= len(cells.split()) <= 3, "12 ranks took 1.2 s, ranks 5 and 6 took 9.2 s"
    assert int(slow.split()[-1]) in (5, 6) and all(len(line) <= 78 for line in lines[first : first + 6])


def test_of_few_ranks_the_table_is_enough(tmp_path: Path) -> None:
    document = build(made(tmp_path, SLOW), "@stragglers", Options(width=78))
    while not document.advance():
        pass
    assert "Distribution over ranks" not in list(document.text())


def test_the_counts_are_those_of_the_known_durations() -> None:
    assert counts_of([0.0, 0.9, 1.0, 3.9, 4.0, math.nan], 4.0, 4) == [2, 1, 0, 2]
