"""The timeline of a run: cells that add up to the compile time, groups of ranks, marks, and the axis, at any width."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from pathlib import Path

import pytest
from ranked import ranked
from real import DEMO, TRACES, trace

from tltui.documents import format as fmt
from tltui.documents.format import axis, broken_axis
from tltui.documents.page import Page
from tltui.model.follow import open_run
from tltui.model.ref import parse_ref
from tltui.model.run import Run
from tltui.model.status import Status, compile_intervals
from tltui.questions.hang.open_phases import begun, last_record
from tltui.questions.overview import run_timeline
from tltui.questions.overview.run_timeline import (
    BREAK,
    EAGER,
    ERROR,
    FULL,
    RECOMPILE,
    UNFINISHED,
    _Coverage,
    phase_spans,
    phases_over_time,
    scale_of,
    timeline,
)
from tltui.questions.overview.timeline_sections import add_timeline
from tltui.questions.ranks.differences import differences_and_pace
from tltui.questions.timing.event_sums import add_phases
from tltui.questions.timing.timing_report import timing_steps
from tltui.sources.discover import discover
from tltui.text.document import Options
from tltui.text.steps import run_steps


def lines(run: Run, width: int = 76, ascii_: bool = False, goes_on: str = "", unfinished: int = 0) -> list[str]:
    page = Page("", "run", Options(width=width, ascii=ascii_, goes_on=goes_on))
    add_timeline(page, run, differences_and_pace(run)[1], unfinished)
    return list(page.document(None).text())


def test_coverage_is_the_sum_of_the_intervals() -> None:
    chosen = random.Random(4)
    for _ in range(200):
        width = chosen.randint(1, 12)
        covered = _Coverage(width)
        intervals = [sorted((chosen.uniform(0, width), chosen.uniform(0, width))) for _ in range(chosen.randint(0, 6))]
        for lo, hi in intervals:
            covered.add(lo, hi)
        expected = [sum(max(min(hi, n + 1) - max(lo, n), 0.0) for lo, hi in intervals) for n in range(width)]
        assert covered.shares() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["torch-2.13/recompiles", "torch-2.13/breaks", "torch-2.13/ddp"])
def test_the_cells_of_a_row_add_up_to_the_compile_time(name: str) -> None:
    run = trace(name)
    result = timeline(run.processes(), 200, {})
    assert result is not None
    compiling = sum(sum(row.levels) * len(row.ranks) for row in result.rows) / FULL * result.duration_s / 200
    assert compiling <= (result.first_s + result.recompile_s) * 1.1 + 0.1
    assert result.first_s + result.recompile_s == pytest.approx(sum(c.tally.compile_s for c in run.compiles()), rel=1e-3)
    assert all(len(row.levels) == len(row.marks) == 200 for row in result.rows)


def test_marks_are_of_the_compiles_that_began_there() -> None:
    result = timeline(open_run(discover([str(DEMO)])).processes(), 76, {})
    assert result is not None
    first, second = result.rows
    assert {mark for mark in first.marks if mark} >= {ERROR, BREAK} and {mark for mark in second.marks if mark} == {RECOMPILE}
    assert any(second.recompiles) and not second.recompiles[0]


def test_a_compile_without_an_end_is_drawn_to_the_last_record() -> None:
    run = trace("hangs/ranks")
    result = timeline(run.processes(), 76, {})
    assert result is not None and result.compiles == result.compiles_with_phases == 8
    assert result.first_s + result.recompile_s == pytest.approx(sum(c.tally.compile_s for c in run.compiles()), rel=1e-3)
    cut = next(row for row in result.rows if row.ranks == (2,))
    assert (
        cut.marks.count(UNFINISHED) == 1 and cut.too_short == 0 and not any(row.open_ends for row in result.rows if row is not cut)
    )
    begin, [end] = cut.marks.index(UNFINISHED), cut.open_ends
    [compile_] = [c for c in run.compiles() if c.status is Status.UNFINISHED]
    since, last = begun(compile_)[0][0].since_at_us, last_record(compile_.process)
    assert last is not None and begin == int(result.scale.cell(since)) <= end == math.ceil(result.scale.cell(last)) - 1
    assert all(cut.levels[begin + 1 : end])
    legend = "…: compile without an end in the log, drawn up to the last record of its process"
    for ascii_ in (False, True):
        text = lines(run, ascii_=ascii_)
        row = next(number for number, line in enumerate(text) if line.startswith("  rank 2"))
        assert text[row].endswith("~" if ascii_ else "…") and text[row + 1].strip() == "?"
        assert text[row + 1].index("?") <= len(text[row]) - 1
        assert (legend.replace("…", "~") if ascii_ else legend) in " ".join(line.strip() for line in text)
    assert "…: compile without an end so far" in "\n".join(lines(run, goes_on="the job is running"))
    assert not any(line.startswith("  …:") for line in lines(trace("torch-2.13/recompiles")))


def test_an_open_backward_has_its_mark_where_it_began() -> None:
    result = timeline(trace("hangs/epoch_backward").processes(), 80, {})
    assert result is not None and result.compiles == 2
    [row] = result.rows
    assert row.marks.count(UNFINISHED) == 1 and row.marks.index(UNFINISHED) == 79 == row.open_ends[0]


def test_a_fallback_to_eager_has_a_mark_of_its_own() -> None:
    demo = timeline(open_run(discover([str(DEMO)])).processes(), 400, {})
    assert demo is not None and EAGER in demo.rows[0].marks


@pytest.mark.parametrize("name", ["torch-2.13/recompiles", "torch-2.13/breaks", "torch-2.13/ddp", "torch-2.13/train"])
def test_phases_are_those_of_the_page_timing(name: str) -> None:
    run = trace(name)
    expected = run_steps(timing_steps("", list(run.compiles())))
    times = [phase_spans(compile_) for compile_ in run.compiles() if compile_.is_compile]
    sums = {phase.name: phase.self_s for phase in add_phases(time.phases for time in times)}
    assert sums == pytest.approx({phase.name: phase.self_s for phase in expected.phases if phase.name in sums}, abs=1e-3)
    for time in times:
        assert all(span.start_us < span.end_us for span in time.spans)
        assert all(first.end_us <= second.start_us for first, second in pairwise(time.spans)), "at each moment one phase"


def test_the_most_specific_phase_counts() -> None:
    events = [("dynamo", 0.0, 10.0), ("inductor", 2.0, 9.0), ("kernels", 3.0, 5.0), ("kernels", 4.0, 6.0)]
    assert list(map(tuple, phases_over_time(events))) == [
        ("dynamo", 0.0, 2.0), ("inductor", 2.0, 3.0), ("kernels", 3.0, 4.0), ("kernels", 4.0, 5.0), ("kernels", 5.0, 6.0),
        ("inductor", 6.0, 9.0), ("dynamo", 9.0, 10.0),
    ]  # fmt: skip


def test_cells_have_the_phase_of_most_of_their_time() -> None:
    run = open_run(discover([str(DEMO)]))
    result = timeline(run.processes(), 60, {})
    assert result is not None and result.compiles == result.compiles_with_phases
    slow = result.rows[1].phases
    assert slow[0] == "dynamo" and slow.count("kernels") > 40 and len(slow) == 60
    text = lines(run, 76, ascii_=True)
    row = next(line for line in text if line.startswith("  rank 1"))[20:]
    assert row.startswith("di") and row.count("k") > 40
    legend = " ".join(line.strip() for line in text if " %" not in line)
    assert "kernels 27.7 s 82%" in legend and "inductor 4.42 s 13%" in legend
    wide = lines(run, 136)
    assert any(line.startswith("  kernels       27.7 s   82%  █") for line in wide)


def test_of_a_long_run_phases_are_those_of_the_longest_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_timeline, "READ", 300)
    run = open_run(discover([str(DEMO)]))
    result = timeline(run.processes(), 60, {})
    assert result is not None and 0 < result.compiles_with_phases < result.compiles == 25
    assert f"  phases of {result.compiles_with_phases} of 25 compiles: → timing" in lines(run)


@pytest.fixture(scope="module")
def unrelated() -> Run:
    """Return a run of traces that have nothing to do with each other, days apart."""
    return open_run(discover([str(TRACES / "torch-2.13" / name) for name in ("breaks", "recompiles", "diverge", "resets")]))


def test_each_compile_counts_once_however_often_its_backward_ran(unrelated: Run) -> None:
    result = timeline(unrelated.processes(), 10, {})
    assert result is not None
    assert sum(row.compiles for row in result.rows) == result.compiles == sum(c.is_compile for c in unrelated.compiles())
    assert all(0 <= row.too_short <= row.compiles for row in result.rows)


@pytest.mark.parametrize("width", [40, 76, 136])
def test_long_gaps_between_compiles_are_left_out(unrelated: Run, width: int) -> None:
    result = timeline(unrelated.processes(), width, {})
    assert result is not None and result.duration_s > 3600
    scale = result.scale
    gaps = sum(scale.gaps_s)
    assert gaps > 0.9 * result.duration_s and width // 2 < scale.width <= width
    assert all(not any(row.levels[cell] for cell in scale.gap_cells) for row in result.rows)
    compiling = sum(sum(row.levels) * len(row.ranks) for row in result.rows) / FULL * scale.cell_us / 1e6
    assert compiling == pytest.approx(result.first_s + result.recompile_s, rel=0.3), "compiles are visible, at their true length"
    text = lines(unrelated, width)
    rows = text[2:]
    assert any("█" in line for line in rows) and all(line.strip() for line in rows)
    summary = f"┊ {fmt.plural(len(scale.gaps_s), 'gap')} between these compiles: {fmt.seconds(gaps)}, the longest "
    assert summary in " ".join(line.strip() for line in text)
    assert "\n".join(lines(unrelated, width, ascii_=True)).isascii()


def test_the_axis_has_the_times_after_gaps() -> None:
    assert broken_axis(7300.0, 50, [(0, 0.0), (11, 3600.0), (13, 3700.0)], [10, 12]) == \
        "0 s       ┊ ┊1 h 02 min                 2 h 02 min"  # fmt: skip


def test_a_scale_places_times_in_order() -> None:
    spans = [(0.0, 10e6), (5e6, 20e6), (3600e6, 3610e6), (7200e6, 7200e6)]
    scale = scale_of(spans, 40)
    assert [part.start_us for part in scale.parts] == [0.0, 3600e6, 7200e6] and scale.gaps_s == (3580.0, 3590.0)
    assert scale.width <= 40 and scale.cell(20e6) <= scale.gap_cells[0] < scale.cell(3600e6) == scale.gap_cells[0] + 1
    chosen = random.Random(2)
    times = sorted(chosen.uniform(-10e6, 8000e6) for _ in range(200))
    cells = [scale.cell(at) for at in times]
    assert cells == sorted(cells) and cells[-1] <= scale.width
    assert scale_of([(0.0, 10e6), (11e6, 20e6)], 40).gaps_s == (), "a short gap is drawn"
    even = scale_of([(at * 60e6, at * 60e6 + 1e6) for at in range(200)], 40)
    assert even.gaps_s == () and even.width == 40, "the other gaps would still be most of the time"


def test_of_many_rows_those_with_the_longest_compiles_are_drawn(unrelated: Run) -> None:
    result = timeline(unrelated.processes(), 60, {}, detailed=2)
    assert result is not None and len(result.rows) > 2
    alone = [row for row in result.rows[2:] if len(row.ranks) == 1]
    lengths = {str(process.ref): sum(c.tally.compile_s for c in process.ordered()) for process in unrelated.processes()}
    drawn = [row for row in result.rows[:2] if len(row.ranks) == 1]
    assert drawn and min(lengths[row.ref] for row in drawn) >= max(lengths[row.ref] for row in alone)


def test_rows_of_one_name_have_the_addresses_of_their_processes(unrelated: Run) -> None:
    names = [line[2:18].strip() for line in lines(unrelated) if line[2:18].strip().endswith(":")]
    assert len(names) > 1 and len({*names}) == len(names)
    assert all(unrelated.resolve(parse_ref(name)) is not None for name in names)


def test_ranks_with_the_same_compiles_share_a_row_and_slow_ones_have_their_own(tmp_path: Path) -> None:
    plants = ("--plant", "slow_phase:ranks=5-6,compile=1,seconds=20")
    ranked(tmp_path, "--ranks", 8, "--compiles", 3, "--detail", "tiny", *plants)
    run = open_run(discover([str(tmp_path)]))
    text = lines(run)
    assert [line.split("  ")[1] for line in text if line.startswith("  rank")] == ["ranks 0–4, 7", "ranks 5, 6"]
    most, slow = (line[20:] for line in text if line.startswith("  rank"))
    assert slow.count("█") > 3 * most.count("█"), "the others waited"


@pytest.mark.parametrize("width", [30, 40, 76, 136])
@pytest.mark.parametrize("ascii_", [False, True])
def test_no_line_is_too_long_and_rows_differ_without_color(width: int, ascii_: bool) -> None:
    run = open_run(discover([str(DEMO)]))
    text = lines(run, width, ascii_)
    assert all(len(line) <= width for line in text) or width == 30
    assert "The run" in text and ("\n".join(text).isascii() or not ascii_)
    if width >= 76:
        assert any(line.strip() in ("↻", "r") for line in text), "the recompile of rank 1 has its mark below"
        share = next(line for line in text if "recompiles " in line and "14%" in line).partition("recompiles ")[2]
        assert share.split()[:3] == ["4.78", "s", "14%"]


def test_nothing_is_drawn_of_one_compile() -> None:
    run = trace("torch-2.13/train")
    assert sum(compile_.is_compile for compile_ in run.compiles()) == 1 and lines(run) == []


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [(17.8, ["0 s", "5 s", "10 s", "17.8 s"]), (0.9, ["0 s", "200 ms", "400 ms", "600 ms", "900 ms"]),
     (101, ["0 s", "30 s", "1 min", "1 min 41 s"]), (9000, ["0 s", "30 min", "1 h", "1.5 h", "2 h", "2 h 30 min"])],
)  # fmt: skip
def test_the_axis_has_round_numbers(seconds: float, labels: list[str]) -> None:
    line = axis(seconds, 60)
    assert len(line) == 60
    place = 0
    for label in labels:
        place = line.index(label, place)


def test_a_running_job_has_the_time_of_its_last_compile() -> None:
    run = trace("torch-2.13/recompiles")
    last = max(start + seconds * 1e6 for c in run.compiles() for start, seconds in compile_intervals(c.metrics))
    sentence = f"No compile is open so far: the last one ended at {fmt.clock(last)}. A new one would add records."
    assert sentence in " ".join(" ".join(lines(run, goes_on="the job is running")).split())
    assert "No compile is open" not in " ".join(lines(run, goes_on="the job is running", unfinished=1) + lines(run))
