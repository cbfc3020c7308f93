"""Who was late or slow, in what, who waited, whose clock is off: planted in jobs of many ranks, and read in real ones."""

from __future__ import annotations

import re
import subprocess
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from pages import page
from ranked import MAKER, ranked
from real import TRACES, fresh, opened
from viewed import lead_somewhere, text

from tltui.cli import main
from tltui.model.run import Run
from tltui.questions.ranks.compile_facets import PhasesOf, bare_course, phases_of, times_of
from tltui.questions.ranks.lanes import read_lanes, with_hosts
from tltui.questions.ranks.pace import CRITERIA, LATE_S, Pace, is_minority, offset_of, offsets_from_begins, stands_out
from tltui.questions.ranks.pace_analysis import Columns, pace_of, read_phase_spreads
from tltui.questions.ranks.rank_course import FACETS, Course, Lane, Older, Step, Times, classes
from tltui.questions.ranks.stragglers_page import answer
from tltui.questions.timing.timing_report import ProcessTime, outliers_of
from tltui.text.steps import run_steps

NAN = float("nan")
SECOND = 1e6
EPOCH = 1.79e15


def paced(run: Run) -> Pace:
    return pace_of(with_hosts(run, run_steps(read_lanes(run))), PhasesOf(run))


def late_in(pace: Pace) -> list[tuple[str, tuple[int, ...], float]]:
    return sorted((one.compile[0][0], one.ranks, round(one.late_s)) for one in pace.late)


def slow_in(pace: Pace) -> list[tuple[str, tuple[int, ...], str]]:
    return sorted((one.compile[0][0], one.ranks, one.phase) for one in pace.slow)


def test_ranks_without_a_common_compile_are_not_compared(tmp_path: Path) -> None:
    ranked(tmp_path, "--ranks", 2, "--detail", "tiny", "--compiles", 1, "--seed", 1)
    run = fresh(tmp_path)
    found = paced(run)
    assert answer(run, found) == "No rank was late or slow."
    unfinished = replace(found, spreads=())
    assert answer(run, unfinished) == "No compile was finished by two or more ranks, so their times cannot be compared."
    assert answer(run, unfinished, 1).startswith("No compile of rank 1 was finished by two or more ranks, so ")


# planted in jobs


@pytest.mark.parametrize(
    ("ranks", "arguments"),
    [(8, ["--compiles", 4, "--seed", 1]), (8, ["--compiles", 6, "--recompiles", 1, "--layout", "hosts", "--seed", 2]),
     (64, ["--compiles", 4, "--layout", "hosts", "--seed", 3]), (512, ["--compiles", 3, "--seed", 4])],
)  # fmt: skip
def test_a_job_without_stragglers_says_so(tmp_path: Path, ranks: int, arguments: list[object]) -> None:
    ranked(tmp_path, "--ranks", ranks, "--detail", "tiny", *arguments)
    run = fresh(tmp_path)
    found = paced(run)
    assert (found.clocks, found.late, found.slow, found.waits) == ((), (), (), ())
    assert found.spreads and all(one.ranks == ranks for one in found.spreads)
    assert "No rank was late or slow." in text(page(run, "@stragglers"))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Run]:
    """32 ranks on four nodes, with all that this page is about, each on other ranks and compiles."""
    into = tmp_path_factory.mktemp("planted")
    truth = ranked(
        into, "--ranks", 32, "--compiles", 8, "--detail", "tiny", "--layout", "hosts", "--seed", 5,
        "--plant", "clock:node=2,seconds=-62", "--plant", "clock:ranks=5,seconds=7",
        "--plant", "late_start:ranks=2-3,compile=1,seconds=4", "--plant", "late_start:ranks=5,compile=3,seconds=11",
        "--plant", "late_start:ranks=17,compile=5,seconds=120",
        "--plant", "slow_phase:ranks=8,compile=2,phase=async_compile.wait,seconds=1.5",
        "--plant", "slow_phase:ranks=9-10,compile=4,phase=build_guards,seconds=6",
        "--plant", "slow_phase:ranks=20,compile=6,phase=GraphLowering.run,seconds=30",
        "--plant", "slow_phase:ranks=11,compile=1,phase=bytecode_tracing,factor=60",
        "--plant", "killed:ranks=12,compile=5", "--plant", "restarted:ranks=30,compile=3",
        "--plant", "missing_compile:ranks=25,compile=2", "--plant", "reordered:ranks=26,compile=4",
        "--plant", "extra_recompile:ranks=27,compile=0",
    )  # fmt: skip
    return truth, fresh(into)


def test_what_was_planted_is_found_and_nothing_else(planted: tuple[dict[str, Any], Run]) -> None:
    truth, run = planted
    found = paced(run)
    assert late_in(found) == [("block1", (2, 3), 4), ("block3", (5,), 11), ("block5", (17,), 120)]
    assert slow_in(found) == [
        ("block1", (11,), "bytecode_tracing"), ("block2", (8,), "async_compile.wait"), ("block4", (9, 10), "build_guards"),
        ("block6", (20,), "GraphLowering.run"),
    ]  # fmt: skip
    told = [(str(one.ranks), round(one.ahead_s), one.hosts) for one in found.clocks]
    assert told == [("16–23", -62, ("node0002",)), ("5", 7, ("node0000",))]
    planted_s = {row["function"]: row["seconds"] for row in truth["plants"] if row["kind"] == "slow_phase"}
    for one in found.slow:
        assert one.phase_s - one.phase_median_s == pytest.approx(planted_s[one.compile[0][0]], rel=0.05)
        assert one.duration_s - one.median_s == pytest.approx(planted_s[one.compile[0][0]], abs=0.7)
    assert {one.ref for one in found.late} - {"2:1/0", "3:1/0"} == {"5:3/0", "17:5/0"}


def test_who_waited_for_whom(planted: tuple[dict[str, Any], Run]) -> None:
    """The ranks that are there wait, a killed one does not, and all of it is told in seconds of ranks."""
    found = paced(planted[1])
    by_last = {(wait.last_ranks, wait.compile[0][0]): wait for wait in found.waits}
    late = by_last[(17,), "block5"]
    assert late.is_late and not late.is_in_collective and late.waiting_rank_count == 30  # rank 12 was killed in it
    assert late.median_wait_s == pytest.approx(120, abs=1) and late.total_wait_s == pytest.approx(30 * 120, rel=0.01)
    slow = by_last[(9, 10), "block4"]
    assert not slow.is_late and slow.waiting_rank_count == 29  # rank 26 did block5 before
    assert slow.median_wait_s == pytest.approx(6, abs=0.5) and slow.total_wait_s == pytest.approx(29 * 6, rel=0.05)
    assert found.wait_for(slow.compile, (10,)) == slow and found.wait_for(slow.compile, (11,)) is None
    assert by_last[(27,), "block0"].compile[1] == 2, "the others waited for the recompile that only this rank made"


def test_pages_of_the_run_of_a_rank_and_of_a_compile(planted: tuple[dict[str, Any], Run]) -> None:
    _, run = planted
    for width in (80, 120):
        whole = page(run, "@stragglers", width)
        assert max(map(len, text(whole).splitlines())) <= width
        lead_somewhere(run, whole)
    said = " ".join(text(whole).split())
    assert all(text in said for text in CRITERIA.values())
    assert "Rank 17 began block5 2 min 00 s after the others; rank 20 took " in said
    assert "ranks 2, 3 began [" in said and "blocks.py:120 4.0" in said
    assert "build_guards 6.0" in said and "29 ranks waited, " in said
    clocks = "The clocks of ranks 16–23 (node0002) are 62 s behind the others', or they started that much earlier: 7 compiles agree"
    assert clocks in said
    assert "Rank 5's clock (node0000) is 7.0" in said
    own = text(page(run, "@stragglers:20:", 120))
    assert "Stragglers of rank 20" in own and "GraphLowering.run" in own and "rank 17 began" not in own
    assert "Rank 0 was neither late nor slow, after clock correction." in text(page(run, "@stragglers:0:", 120))
    compile_ = page(run, "@stragglers:20:6/0", 120)
    lead_somewhere(run, compile_)
    inner = text(compile_)
    assert "By phase" in inner and re.search(r"30\.[01] s +20 .* GraphLowering\.run", inner)
    assert "block5" not in inner


def test_phases_of_a_compile_on_all_ranks(planted: tuple[dict[str, Any], Run]) -> None:
    _, run = planted
    lanes = run_steps(read_lanes(run))
    columns = Columns(lanes)
    key = next(key for key in columns.usual if key[0][0] == "block5")
    spreads = _result(read_phase_spreads(columns.column(key), PhasesOf(run)))
    assert {one.ranks for one in spreads} == {31} and all(12 not in (one.slowest_rank, one.fastest_rank) for one in spreads)
    for one in spreads:
        assert one.slowest_s >= one.median_s >= one.fastest_s > 0


def _result(steps: Iterator[None]) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


@pytest.mark.parametrize("ranks", [2, 3])
def test_few_ranks(tmp_path: Path, ranks: int) -> None:
    """Of two ranks one is compared with the other."""
    ranked(
        tmp_path, "--ranks", ranks, "--compiles", 5, "--detail", "tiny", "--seed", ranks, "--plant", "clock:ranks=0,seconds=20",
        "--plant", "late_start:ranks=1,compile=1,seconds=9", "--plant", "slow_phase:ranks=1,compile=2,seconds=8",
    )  # fmt: skip
    found = paced(fresh(tmp_path))
    assert late_in(found) == [("block1", (1,), 9)] and slow_in(found) == [("block2", (1,), "async_compile.wait")]
    (clock,) = found.clocks
    # of two clocks nobody knows which is right: that of the first rank is taken for it
    assert (str(clock.ranks), round(clock.ahead_s)) == (("1", -20) if ranks == 2 else ("0", 20))
    assert {wait.last_ranks for wait in found.waits} == {(1,)}


def _template() -> Any:
    import importlib.util

    spec = importlib.util.spec_from_file_location("make_ranks", MAKER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Maker(module.options(["-", "--detail", "lean"]))


@pytest.mark.parametrize("seconds", [8, 1.3])
def test_every_phase_of_a_compile(tmp_path: Path, seconds: float) -> None:
    """Each is told itself, or what holds nearly all of it where the time is spread over that; by the rule, nothing else is."""
    plants: list[str] = []
    wanted: dict[tuple[str, int], tuple[str, Any, bool]] = {}
    for parity, unit in enumerate(_template().units):
        begun = dict.fromkeys(record.event for record in unit.records if record.event and record.phase == "B")
        names = [name for name in begun if name != "dynamo" and not name.endswith(("benchmark_all_configs", "benchmark_gpu"))]
        for number, name in enumerate(names):  # what is not in the metrics, or not of the compile, is no time of it
            ordinal, rank = parity + 2 * (number // 3), 3 * (number % 3) + parity
            plants += ["--plant", f"slow_phase:ranks={rank},compile={ordinal},phase={name},seconds={seconds}"]
            begin, end = unit.span(name)
            wanted[f"block{ordinal}", rank] = name, unit, seconds > 1.1 and seconds > 2.2 * (end - begin) / 1e6
    ranked(tmp_path, "--ranks", 16, "--compiles", 22, "--detail", "lean", *plants)
    found = {(one.compile[0][0], rank): one for one in paced(fresh(tmp_path)).slow for rank in one.ranks}
    assert found.keys() <= wanted.keys(), "nothing is invented"
    sure = {key for key, (_, _, stands) in wanted.items() if stands}
    assert len(sure) > 40
    assert not {wanted[key][0] for key in sure - found.keys()} - {"async_compile.precompile"}
    for key, one in found.items():
        name, unit, _ = wanted[key]
        if one.phase != name and name != "entire_frame_compile":
            assert one.phase, name
            outer, inner = unit.span(name), _all_of(unit, one.phase)
            assert outer[0] <= inner[0] and inner[1] <= outer[1], (name, one.phase)


def _all_of(unit: Any, name: str) -> tuple[float, float]:
    at = [record.at - unit.start for record in unit.records if record.event == name]
    return min(at), max(at)


# made of numbers


def lanes_with(begins: Sequence[Sequence[float]], tooks: Sequence[Sequence[float]], **more: Any) -> list[Lane]:
    """Ranks with these compiles; seconds."""
    count = max(map(len, begins))
    steps = [Step((f"f{n}", "f.py", n), 1, f"{n}/0", "ok", (b"",) * len(FACETS)) for n in range(count)]
    lanes = []
    for rank, (begin, took) in enumerate(zip(begins, tooks, strict=True)):
        times = Times(array("d", [EPOCH + at * SECOND for at in begin]), array("f", took), more.get("phases", [{}] * 99)[rank])
        course = Course(tuple(steps[: len(begin)]))
        lanes.append(Lane(rank, f"p{rank}", str(rank), "", 1, True, True, NAN, course, times))
    return lanes


def together(ranks: int, compiles: int, change: Callable[[int, int], float] = lambda rank, n: 0.0) -> list[list[float]]:
    return [[10.0 * n + change(rank, n) for n in range(compiles)] for rank in range(ranks)]


TWO = [[2.0] * 8] * 6


def test_who_falls_behind_and_stays_there_is_late_once() -> None:
    found = pace_of(lanes_with(together(6, 8, lambda rank, n: 20.0 if rank == 4 and n >= 3 else 0.0), TWO))
    (late,) = found.late
    assert (late.compile[0][0], late.ranks, late.late_s, late.late_compiles_after) == ("f3", (4,), 20.0, 4)
    assert found.clocks == () and found.waits == ()


def test_who_falls_behind_at_its_second_compile_has_no_other_clock() -> None:
    found = pace_of(lanes_with(together(6, 8, lambda rank, n: 20.0 if rank == 4 and n >= 1 else 0.0), TWO))
    assert found.clocks == () and [(one.compile[0][0], one.late_compiles_after) for one in found.late] == [("f1", 6)]


def test_who_is_late_because_it_was_slow_is_slow() -> None:
    took = [[2.0, 12.0, *[2.0] * 6] if rank == 2 else [2.0] * 8 for rank in range(6)]
    behind = lanes_with(together(6, 8, lambda rank, n: 10.0 if rank == 2 and n >= 2 else 0.0), took)
    found = pace_of(behind)
    assert found.late == () and found.waits == () and [(one.compile[0][0], one.ranks) for one in found.slow] == [("f1", (2,))]
    waited = pace_of(lanes_with(together(6, 8, lambda rank, n: 10.0 if n >= 2 else 0.0), took))
    (wait,) = waited.waits
    assert waited.late == () and (wait.last_ranks, wait.waiting_rank_count, wait.median_wait_s, wait.total_wait_s) == (
        (2,),
        5,
        10.0,
        50.0,
    )
    assert not wait.is_late


def test_half_against_half_is_two_sides() -> None:
    assert not is_minority(3, 6) and is_minority(2, 6) and is_minority(1, 2) and not is_minority(2, 4)
    took = [[2.0] * 8 if rank < 3 else [20.0] * 8 for rank in range(6)]
    assert pace_of(lanes_with(together(6, 8), took)).slow == ()


def test_a_killed_or_failed_rank_is_not_fast() -> None:
    took = [[2.0, 2.0], [2.1, NAN], [2.2, 0.01]]
    lanes = lanes_with(together(3, 2), took)
    failed = Course((lanes[2].course.steps[0], Step(("f1", "f.py", 1), 1, "1/0", "error", (b"",) * len(FACETS))))
    lanes[2] = Lane(2, "p2", "2", "", 1, True, True, NAN, failed, lanes[2].times)
    found = pace_of(lanes)
    assert [(one.compile[0][0], one.ranks, one.fastest_rank) for one in found.spreads] == [("f0", 3, 0)]
    assert len(classes(lanes)) == 2


def test_of_ranks_that_go_on_nothing_is_said_that_more_of_them_could_make_wrong() -> None:
    """Eight ranks begin a compile one after the other: two of them late, or all but two early."""
    for late in (2, 6):
        begins = [0.0] * (8 - late) + [10.0] * late
        told = []
        for begun in range(2, 9):
            lanes = [replace(lane, ended=begun == 8) for lane in lanes_with([[at, 20.0] for at in begins], [[2.0, 2.0]] * 8)]
            first = Course(lanes[0].course.steps[1:])
            cut = [
                lane if rank < begun else replace(lane, course=first, times=Times(lane.times.begin[1:], lane.times.took[1:], {}))
                for rank, lane in enumerate(lanes)
            ]
            told.append([one.ranks for one in pace_of(cut).late if one.compile[0][0] == "f0"])
        said = [ranks for ranks in told if ranks]
        assert said == ([[(6,)], [(6, 7)]] if late == 2 else []), told


def test_who_runs_a_compile_for_long_is_not_slow_before_most_have_finished_it() -> None:
    took = [[2.0], [20.0], [NAN], [NAN], [NAN]]
    going = [replace(lane, ended=False) for lane in lanes_with(together(5, 1), took)]
    assert pace_of(going).slow == ()
    took[2:4] = [[2.1], [2.2]]
    going = [replace(lane, ended=False) for lane in lanes_with(together(5, 1), took)]
    assert [one.ranks for one in pace_of(going).slow] == [(1,)]


def test_a_rank_that_was_started_again_alone_has_no_other_clock() -> None:
    """Of a job that was started again as a whole clocks are compared as ever."""
    lanes = lanes_with(together(6, 4, lambda rank, n: 100.0 if rank == 4 else 0.0), [[2.0] * 4] * 6)
    again = [replace(lane, older=(Older(7, "4.1", ""),)) if lane.rank == 4 else lane for lane in lanes]
    found = pace_of(again)
    assert found.clocks == () and [(one.compile[0][0], one.ranks, one.late_compiles_after) for one in found.late] == [
        ("f0", (4,), 3)
    ]
    found = pace_of([replace(lane, older=(Older(7, "4.1", ""),)) for lane in lanes])
    assert [str(clock.ranks) for clock in found.clocks] == ["4"] and found.late == ()


def test_a_rank_that_was_started_again_alone_cannot_have_begun_before_the_others() -> None:
    lanes = lanes_with(together(6, 4, lambda rank, n: -100.0 if rank == 4 else 0.0), [[2.0] * 4] * 6)
    again = [replace(lane, older=(Older(7, "4.1", ""),)) if lane.rank == 4 else lane for lane in lanes]
    assert [(str(clock.ranks), clock.ahead_s) for clock in pace_of(again).clocks] == [("4", -100.0)]
    others = [lane if lane.rank == 4 else replace(lane, older=(Older(7, "4.1", ""),)) for lane in lanes]
    assert pace_of(others).clocks == (), "the others were started again, and so began later"


def test_a_rank_whose_log_was_written_when_its_records_were_began_later() -> None:
    """Its clock agrees with that of the file system, and so do those of the others."""
    late = lanes_with(together(4, 4, lambda rank, n: 20.0 if rank == 3 else 0.0), [[2.0] * 4] * 4)
    assert [str(clock.ranks) for clock in pace_of(late).clocks] == ["3"], "without the times of files it may be either"
    right = [replace(lane, last=100e6, written=100.2e6) for lane in late]
    found = pace_of(right)
    assert found.clocks == () and [one.ranks for one in found.late] == [(3,)]
    ahead = [replace(lane, written=80e6) if lane.rank == 3 else lane for lane in right]
    assert [str(clock.ranks) for clock in pace_of(ahead).clocks] == ["3"], "its log was written 20 s before its own clock says so"


def test_a_clock_that_goes_wrong() -> None:
    """An hour and more of compiles; a clock that gains 4 s an hour."""
    found = pace_of(lanes_with(
        [[600.0 * n * (1 + (0.0011 if rank == 3 else 0.0) / 1.1) for n in range(13)] for rank in range(4)], [[2.0] * 13] * 4
    ))  # fmt: skip
    (clock,) = found.clocks
    assert str(clock.ranks) == "3" and clock.drift_s == pytest.approx(7.2, abs=0.2) and found.late == ()
    assert offset_of([2.0 * n for n in range(12)], [60e6 * n for n in range(12)]) is None, "that fast no clock goes wrong"
    assert offsets_from_begins([(0, [0.0, 0.0], [1.0, 2.0]), (1, [NAN], [1.0])]) == {}


def test_waiting_in_a_collective_of_the_compiler_is_no_own_time() -> None:
    """Five ranks wait 20 s in the compile that the last one begins late; nobody is slow."""
    took = [[2.0, 22.0, 2.0] if rank != 5 else [2.0] * 3 for rank in range(6)]
    waiting = {"compiler_collective": array("f", [NAN, 20.0, NAN]), "dynamo": array("f", [2.0, 22.0, 2.0])}
    none = {"dynamo": array("f", [2.0, 2.0, 2.0])}
    begins = together(6, 3, lambda rank, n: 20.0 if (rank == 5 and n == 1) or n == 2 else 0.0)
    found = pace_of(lanes_with(begins, took, phases=[waiting] * 5 + [none]))
    (wait,) = [wait for wait in found.waits if wait.is_in_collective]
    assert (wait.last_ranks, wait.waiting_rank_count, wait.median_wait_s, wait.total_wait_s) == ((5,), 5, 20.0, 100.0)
    assert found.slow == () and [one.ranks for one in found.late] == [(5,)]
    one_waits = pace_of(lanes_with(together(6, 3), [took[0]] + [[2.0] * 3] * 5, phases=[waiting] + [none] * 5))
    assert one_waits.slow == ()


def test_what_is_known_of_phases_names_the_innermost() -> None:
    took = [[2.0] if rank else [30.0] for rank in range(5)]
    usual = {"entire_frame_compile": 2.0, "inductor_compile": 1.5, "code_gen": 1.0, "build_guards": 0.1}
    longer = {"entire_frame_compile": 30.0, "inductor_compile": 29.0, "code_gen": 28.0, "build_guards": 1.3}
    phases = [{name: array("f", [seconds]) for name, seconds in own.items()} for own in [longer, *[usual] * 4]]
    (slow,) = pace_of(lanes_with(together(5, 1), took, phases=phases)).slow
    assert (slow.phase, slow.phase_s, slow.phase_median_s) == ("code_gen", 28.0, 1.0)
    everywhere = {name: seconds * 15 for name, seconds in usual.items()}
    phases[0] = {name: array("f", [seconds]) for name, seconds in everywhere.items()}
    (slow,) = pace_of(lanes_with(together(5, 1), took, phases=phases)).slow
    assert slow.phase == "", "spread over all of it"


def test_a_node_is_named_where_there_are_several() -> None:
    lanes = lanes_with(together(6, 4, lambda rank, n: 60.0 if rank > 3 else 0.0), [[2.0] * 4] * 6)
    for hosts, said in ((["a"] * 6, ()), (["a", "a", "b", "b", "c", "c"], ("c",))):
        (clock,) = pace_of([replace(lane, host=host) for lane, host in zip(lanes, hosts, strict=True)]).clocks
        assert (str(clock.ranks), clock.hosts) == ("4, 5", said)


def test_one_rule() -> None:
    """The page on timing tells who took long in all by it too."""
    assert stands_out(4.1, 1.0) and not stands_out(2.9, 1.0) and not stands_out(0.9, 0.1) and LATE_S > 1
    times = [ProcessTime(f"{rank}:", rank, 1, 4.1 if rank == 2 else 1.0, 1, (), None, None) for rank in range(4)]
    assert [outlier.rank for outlier in outliers_of(times)] == [2]


# real ones


def test_times_of_a_process_read_no_payload() -> None:
    run = fresh(TRACES / "torch-2.13" / "ddp")
    files = Counter[str]()

    def seen(frame: FrameType, event: str, arg: object) -> None:
        files[frame.f_code.co_filename.rpartition("/trace/")[2]] += event == "call"

    for process in run.processes():
        sys.setprofile(seen)
        try:
            times = times_of(process)
        finally:
            sys.setprofile(None)
        assert len(times.begin) == len(times.took) == len(bare_course(process).steps) > 0
        assert all(at > EPOCH / 2 for at in times.begin)
    assert files and "files.py" not in files
    some = next(own for own in next(run.processes()).ordered() if own.is_compile)
    assert phases_of(some)["dynamo"] >= phases_of(some)["entire_frame_compile"] > 0


@pytest.mark.parametrize("name", ["torch-2.13/ddp", "torch-2.13/diverge", "torch-2.13/mesh", "tlparse/two_gpus", "hangs/ranks"])
def test_real_jobs(name: str) -> None:
    """Nobody is called late or slow there, and no clock is off: they ran on one machine."""
    run = opened(TRACES / name)
    found = paced(run)
    assert (found.clocks, found.late, found.slow) == ((), (), ())
    document = page(run, "@stragglers")
    lead_somewhere(run, document)
    assert "No rank was late or slow." in text(document)


def test_one_rank_is_compared_with_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stragglers", str(TRACES / "torch-2.13" / "train")]) == 0
    assert "Nothing to compare. This page needs logs from at least two ranks." in capsys.readouterr().out


def test_the_command_prints_the_page(planted: tuple[dict[str, Any], Run]) -> None:
    directory = Path(next(planted[1].processes()).log.path).parents[1]
    command = [sys.executable, "-m", "tltui", "stragglers", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Rank 17 began block5 2 min 00 s after the others" in " ".join(done.stdout.split()) and done.stderr == ""
