"""Where the time went: pairing, sums, flames, what is open, the page, the command."""

from __future__ import annotations

import json
import os
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from golden import assert_golden
from made_logs import Log
from pages import complete, page
from ranked import ranked
from real import TRACES, demo, fresh, trace
from viewed import lead_somewhere, opened, targets, text

from tltui.cli import main
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.scope import scope_of
from tltui.export import to_json
from tltui.model.ref import NO_ID
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.problems.reason_sections import add_time
from tltui.questions.timing import timing_events as spans_module
from tltui.questions.timing.event_sums import NameSum, Sums, add_names, nested
from tltui.questions.timing.page import _children, names_table
from tltui.questions.timing.timing_events import (
    Event,
    Group,
    Phase,
    ReadStats,
    Span,
    events_of,
    intervals_of,
    ordered,
    read_groups,
    timing_of,
)
from tltui.questions.timing.timing_report import ProcessTime, Timing, outliers_of, single_of, timing_steps
from tltui.text.document import Options

pytestmark = pytest.mark.usefixtures("utc")

LOGS = [path for group in ("torch-2.13", "tlparse") for path in (TRACES / group).iterdir() if path.name != "LICENSE"]
NAMES = sorted(str(path.relative_to(TRACES.parents[1])) for path in LOGS)


def finished(steps: Any) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


def timing(run: Run, ref: str = "") -> Timing:
    scope = scope_of(run, ref)
    found = finished(timing_steps(str(scope.ref), scope.compiles))
    assert isinstance(found, Timing)
    return found


@pytest.mark.parametrize(("name", "ref", "width"), [
    ("src/tltui/demo", "", 80), ("src/tltui/demo", "", 160), ("tests/traces/torch-2.13/train", "0/0", 100),
    ("tests/traces/torch-2.13/train", "0/0", 60), ("tests/traces/torch-2.13/aoti", "", 80),
    ("tests/traces/tlparse/inductor_provenance_jit_cuda_log.txt", "0/0", 80), ("tests/traces/tlparse/artifacts.log", "", 80),
    ("tests/traces/tlparse/export.log", "", 80),
])  # fmt: skip
def test_golden(name: str, ref: str, width: int) -> None:
    run = opened(name)
    document = page(run, f"@timing:{ref}" if ref else "@timing", width)
    assert_golden(f"timing_{name.rpartition('/')[2].partition('.')[0]}_{width}", text(document))


@pytest.mark.parametrize("name", NAMES)
def test_every_trace_at_every_width(name: str) -> None:
    run = opened(name)
    for width in (60, 80, 160):
        document = page(run, "@timing", width, ascii_=width == 60)
        assert max(len(line) for line in text(document).split("\n")) <= width
        assert width > 60 or text(document).isascii()
    json.loads(to_json(document.data()))


def test_every_number_leads_to_where_it_comes_from() -> None:
    run = trace("torch-2.13/breaks")
    for ref in ("@timing", "@timing:0/0", "@timing:0/"):
        document = page(run, ref)
        lead_somewhere(run, document)
    assert any(target.startswith("@record:") for target in targets(document))


@pytest.mark.parametrize("name", NAMES)
def test_phases_are_those_of_the_overviews(name: str) -> None:
    """One way reads block by block and adds up nested spans, the other sorts all intervals of a compile."""
    compiles = [c for c in opened(name).compiles() if c.id != NO_ID]
    sums = Sums()
    for groups in read_groups(compiles, ReadStats()):
        for group in groups:
            sums.add(group)
    for compile_ in compiles:
        expected = timing_of(events_of(compile_), [])
        seconds: dict[str, float] = {}
        for phase in expected.phases + expected.backward:
            seconds[phase.name] = seconds.get(phase.name, 0) + phase.self_s
        own = sums.owners.get(id(compile_))
        found = {p.name: p.self_s for p in ordered(own.micros(), own.aot)} if own else {}
        assert found == pytest.approx(seconds, abs=1e-6)
        assert (own.wall / 1e6 if own else 0) == pytest.approx(sum(seconds.values()), abs=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_pairing_and_sums_against_the_plain_way(seed: int, tmp_path: Path) -> None:
    """Random begins and ends of few names, as of threads that share a lane."""
    chance = random.Random(seed)
    log, at = Log(tmp_path / "x.log"), 0.0
    opened_: list[str] = []
    for _ in range(60):
        at += chance.choice((0.0, 0.001, 0.25))
        if opened_ and chance.random() < 0.5:
            log.event(opened_.pop(chance.randrange(len(opened_))), "E", at)
        else:
            opened_.append(chance.choice("abc"))
            log.event(opened_[-1], "B", at)
    compile_ = log.compile()
    groups = [group for found in read_groups([compile_], ReadStats()) for group in found]
    plain = intervals_of(events_of(compile_))
    last = log.micros + at * 1e6
    assert sorted((s, e, n) for g in groups for s, _, e, n in g.spans) == sorted(
        (i.start, last if i.end is None else i.end, i.name) for i in plain
    )
    assert sum(len(group.open) for group in groups) == sum(i.end is None for i in plain)
    for group in groups:
        names: dict[str, NameSum] = {}
        wall = add_names(group, names)
        assert wall == pytest.approx(group.end - group.start)
        for name, found in names.items():
            own = [(s, e) for s, _, e, n in group.spans if n == name]
            assert found.count == len(own) and found.work == pytest.approx(sum(e - s for s, e in own))
            assert found.total == pytest.approx(covered(own))
            assert found.longest == max(e - s for s, e in own)


def covered(spans: list[tuple[float, float]]) -> float:
    points = sorted({point for span in spans for point in span})
    return sum(b - a for a, b in pairwise(points) if any(s <= a and b <= e for s, e in spans))


def group_of_spans(*spans: tuple[float, float, str]) -> Group:
    found: list[Span] = [(start, number, end, name) for number, (start, end, name) in enumerate(spans)]
    return Group(None, sorted(found))  # type: ignore[arg-type]


def test_self_and_total_time() -> None:
    names: dict[str, NameSum] = {}
    wall = add_names(group_of_spans((0, 10, "a"), (1, 4, "b"), (2, 3, "b"), (5, 9, "c")), names)
    assert wall == 10
    assert {name: (s.count, s.self_time, s.total, s.work) for name, s in names.items()} == {
        "a": (1, 3, 10, 10), "b": (2, 3, 3, 4), "c": (1, 4, 4, 4),
    }  # fmt: skip


def test_threads_side_by_side() -> None:
    names: dict[str, NameSum] = {}
    wall = add_names(group_of_spans((0, 10, "wait"), (1, 5, "file"), (3, 8, "file")), names)
    assert wall == 10 and names["wait"].self_time == 3
    assert (names["file"].total, names["file"].work) == (7, 9)
    depths = [(name, depth, own) for (_, _, _, name), depth, own in nested(group_of_spans((0, 2, "a"), (1, 3, "b")).spans)]
    assert depths == [("a", 0, 2), ("b", 0, 2)]


def killed(tmp_path: Path) -> Log:
    log = Log(tmp_path / "x.log").start()
    log.event("dynamo", "B", 0).event("backend_compile", "B", 1).event("gc", "B", 1).event("gc", "E", 1.5)
    return log.event("inductor_compile", "B", 3)


def test_what_is_still_open(tmp_path: Path) -> None:
    run = killed(tmp_path).open()
    (item,) = timing(run).open
    assert item.names == ("dynamo", "backend_compile", "inductor_compile")
    assert (item.duration_s, item.innermost_s, item.has_metrics) == (3, None, False), "nothing is known of what began last"
    shown = text(page(run, "@timing:0/0", 100))
    assert "Still open (1)" in shown and "for at least 3.00 s" in shown and "≥3.00 s" in shown
    run = killed(tmp_path).metrics(compile_=1).open()
    assert "≥3.00 s" in text(page(run, "@timing"))
    bars = timing(run, "0/0").flames[0].bars
    assert [(bar.name, bar.depth, bar.is_open) for bar in bars] == [
        ("dynamo", 0, True), ("backend_compile", 1, True), ("gc", 2, False), ("inductor_compile", 2, True),
    ]  # fmt: skip


def test_a_lost_end_is_no_running_compile(tmp_path: Path) -> None:
    log = killed(tmp_path)
    log.metrics(duration_us=3_000_000)
    shown = " ".join(text(page(log.open(), "@timing")).split())
    assert "Still open" not in shown and "only their end events are missing" in shown


def test_odd_events(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    log.event("a", "E", 0)
    numbers = ('"x"', "NaN", "1e400", "9" * 400)
    for payload in (
        "", "{", "[]", "7", '{"name": "a"}', '{"name": 1, "ph": "B", "ts": 1}', '{"name": "a", "ph": [], "ts": 1}',
        *(f'{{"name": "a", "ph": "B", "ts": {number}}}' for number in numbers),
    ):  # fmt: skip
        log.add("chromium_event", {}, payload)
    log.add("chromium_event", {})  # without a payload
    log.event("ok", "B", 1).event("ok", "E", 2).event("i", "i", 1)
    log.add("chromium_event", {}, f'{{\n"name": "lines", "ph": "B",\n"ts": {log.micros + 3e6}}}').event("lines", "E", 4)
    run = log.open()
    found = timing(run)
    assert (found.events, found.unreadable_events, found.unmatched_ends) == (18, 12, 1)
    assert {row.name: row.total_s for row in found.names} == {"ok": 1, "lines": 1}
    assert "could not be read" in text(page(run, "@timing"))


def test_deep_nesting(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    for n in range(3000):
        log.event(f"n{n}", "B", n)
    for n in reversed(range(3000)):
        log.event(f"n{n}", "E", 6000 - n)
    run = log.open()
    document = page(run, "@timing:0/0", 60)
    assert len(document) > 3000 and len(timing(run, "0/0").flames[0].bars) == 3000
    json.loads(to_json(document.data()))


def test_children_of_bars() -> None:
    run = trace("torch-2.13/train")
    bars = timing(run, "0/0").flames[0].bars
    children = _children(bars)
    assert sum(map(len, children.values())) == len(bars)
    assert all(bars[inner].depth == bars[outer].depth + 1 for outer, own in children.items() if outer >= 0 for inner in own)


def test_the_backward_has_a_flame_of_its_own() -> None:
    forward, backward = timing(trace("torch-2.13/train"), "0/0").flames
    assert (forward.title, backward.title) == ("dynamo", "backward")
    assert forward.duration_s + backward.duration_s == pytest.approx(timing(trace("torch-2.13/train"), "0/0").compile_s, abs=0.02)


def test_workers_are_counted_beside_the_compile_that_waits() -> None:
    found = timing(trace("torch-2.13/train"), "0/0")
    (row,) = found.outside_compiles
    assert row.name == "compile_file" and row.work_s > row.total_s
    assert found.kernels.file_count == row.count + next(r.count for r in found.names if r.name == "compile_file")
    assert found.kernels.wait_s == pytest.approx(3.01, abs=0.01)


def test_triton_kernels_by_artifact_and_by_metrics(tmp_path: Path) -> None:
    found = timing(trace("tlparse/inductor_provenance_jit_cuda_log.txt")).kernels
    assert [(k.name, round(k.duration_s, 2), k.cache, k.configs) for k in found.triton] == [
        ("triton_poi_fused_mul_1", 1.74, "miss", 2), ("triton_poi_fused_addmm_relu_sigmoid_0", 0.33, "only 1 config", None),
        ("triton_poi_fused_addmm_gelu_2", 0.26, "miss", 2),
    ]  # fmt: skip
    log = Log(tmp_path / "x.log")
    log.metrics(triton_kernel_compile_times_us='[["k", 2000000], ["odd"], 7, ["l", null]]', runtime_triton_autotune_time_us=5)
    kernels = timing(log.open(), "0/0").kernels
    assert [(k.name, k.duration_s) for k in kernels.triton] == [("k", 2.0)]
    assert kernels.tuning == (("autotuning at the first call", 5e-6, "@metrics:0/0"),)


def test_times_of_metrics_where_there_are_no_events(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start()
    log.metrics(dynamo_cumulative_compile_time_us=1_500_000, inductor_cumulative_compile_time_us=1_000_000)
    run = log.open()
    found = timing(run)
    assert found.source == "metrics" and found.compile_s == 1.5
    assert [(p.name, p.self_s) for p in found.phases] == [("dynamo", 0.5), ("inductor", 1.0)]
    assert "Times come from the metrics." in text(page(run, "@timing")).replace("\n", " ")


def process(rank: int, seconds: float) -> ProcessTime:
    return ProcessTime(f"{rank}:", rank, 1, seconds, 1, (), None, None)


def test_outliers() -> None:
    assert outliers_of([process(0, 1), process(1, 1.1), process(2, 0.9)]) == ()
    (slow,) = outliers_of([process(0, 1), process(1, 1.1), process(2, 4)])
    assert (slow.rank, slow.compile_s, slow.median_s) == (2, 4, 1.1)
    assert outliers_of([process(0, 5), process(1, 0.2), process(2, 5)]) == ()  # it may have been killed
    (one,) = outliers_of([process(0, 1), process(1, 3.1)])
    assert (one.rank, one.median_s) == (1, 1)
    assert outliers_of([process(0, 0.001), process(1, 0.003)]) == ()  # too little to matter


def test_ranks_that_took_twice_the_median_are_named_with_the_event(tmp_path: Path) -> None:
    """As `stragglers` has them; the sentence below the table says what the table shows."""
    ranked(tmp_path, "--ranks", 24, "--compiles", 4, "--detail", "tiny", "--plant", "slow_phase:ranks=10-12,compile=2")
    run = fresh(tmp_path)
    found = timing(run)
    assert {outlier.rank for outlier in found.outliers} == {10, 11, 12}
    assert {outlier.event for outlier in found.outliers} == {"async_compile.wait"}
    shown = " ".join(text(page(run, "@timing")).split())
    assert "ranks 10–12 took" in shown and ", twice the median (" in shown and "); the difference is in async_compile.wait" in shown
    assert "The other 21 ranks took" in shown and "No rank" not in shown


def test_without_outliers_the_range_is_told() -> None:
    shown = " ".join(text(page(opened("src/tltui/demo"), "@timing")).split())
    assert "Both ranks took 16.2–17.8 s." in shown


def test_ranks_and_gaps() -> None:
    found = timing(opened("src/tltui/demo"))
    assert [(p.rank, p.compiles) for p in found.processes] == [(0, 22), (1, 3)]
    assert all(p.busy_s is not None and p.span_s is not None and p.busy_s <= p.span_s for p in found.processes)
    assert sum(p.compile_s for p in found.processes) == pytest.approx(found.compile_s)


def test_a_gap_without_a_compile(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log")
    log.event("dynamo", "B", 0).event("dynamo", "E", 1).event("entire_backward_compile", "B", 11)
    found = timing(log.event("entire_backward_compile", "E", 12).open())
    assert [(gap.duration_s, gap.after_ref, gap.before_ref) for gap in found.gaps] == [(10, "0/0", "0/0")]
    assert (found.processes[0].busy_s, found.processes[0].span_s) == (2, 12)


def test_a_gap_begins_when_the_last_of_several_compiles_ends(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").event("dynamo", "B", 0).event("dynamo", "E", 10)
    for name, phase, at, frame in (("dynamo", "B", 1, 1), ("dynamo", "E", 2, 1), ("dynamo", "B", 15, 2), ("dynamo", "E", 16, 2)):
        value = {"name": name, "ts": log.micros + at * 1e6, "args": {}, "ph": phase, "cat": "dynamo_timed"}
        log.add("chromium_event", {}, json.dumps(value), frame=frame)
    assert [(gap.duration_s, gap.after_ref, gap.before_ref) for gap in timing(log.open()).gaps] == [(5, "0/0", "2/0")]


def test_orders(capsys: pytest.CaptureFixture[str]) -> None:
    def names(sort: str) -> list[str]:
        assert main(["timing", str(TRACES / "torch-2.13/breaks"), "--sort", sort]) == 0
        out = capsys.readouterr().out
        table = out[out.index("By event") :].split("\n\n")[0].split("\n")[2:]
        return [line for line in table if "more names" not in line]

    by_name = [line.split()[-3] if line.split()[-1].startswith("[") else "" for line in names("name")]
    assert names("count")[0] != names("total")[0] and len(by_name) == len(names("own"))
    assert "dynamo" in names("total")[0]


@pytest.mark.parametrize(("sort", "heads"), [
    ("own", ["own ↓", "total ↓", "total ↓"]), ("total", ["total ↓", "total ↓", "total ↓"]),
    ("count", ["count ↓", "compiles ↓", "total ↓"]), ("longest", ["longest ↓", "total ↓", "total ↓"]),
    ("ranks", ["own ↓", "ranks ↓", "ranks ↓"]), ("phase", ["own ↓", "top phase ↑", "top phase ↑"]),
    ("name", ["event ↑", "function ↑", "function ↑"]),
])  # fmt: skip
def test_an_arrow_marks_the_column_of_the_order(sort: str, heads: list[str]) -> None:
    document = complete(build(demo(), "@timing", Options(width=120, sort=sort)))
    shown = [line for line in document.text() if "↓" in line or "↑" in line]
    assert [head for head, line in zip(heads, shown, strict=True) if head not in line] == []
    assert all(line.count("↓") + line.count("↑") == 1 for line in shown)


def test_rows_are_in_the_order_of_each_column() -> None:
    result = finished(timing_steps("", list(demo().compiles())))
    table = names_table(1.0, is_one_compile=False)
    for sort, value in (
        ("own", lambda row: -row.self_s), ("total", lambda row: -row.total_s), ("count", lambda row: -row.count),
        ("longest", lambda row: -row.longest_s), ("name", lambda row: row.name), ("ranks", lambda row: -row.self_s),
    ):  # fmt: skip
        values = [value(row) for row in table.ordered(result.names, sort)]
        assert values == sorted(values) and len(values) > 20, sort


def test_a_large_run_begins_with_what_the_index_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.questions.timing.page.AT_ONCE", 10)
    run = trace("torch-2.13/breaks")
    shown = text(page(run, "@timing"))
    assert shown.index("By function") < shown.index("By phase") < shown.index("By event")
    assert page(run, "@timing").data() == timing(run)
    assert "Flame" in text(page(run, "@timing:0/0"))


def test_small_blocks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = timing(fresh(TRACES / "torch-2.13/recompiles"))
    monkeypatch.setattr(spans_module, "BLOCK", 300)
    monkeypatch.setattr(spans_module, "SPARSE", 100)
    assert timing(fresh(TRACES / "torch-2.13/recompiles")) == whole


def perfetto(path: Path, *more: str) -> list[dict[str, Any]]:
    file = path / "trace.json"
    assert main(["timing", *more, "--perfetto", str(file)]) == 0
    found = json.loads(file.read_bytes())["traceEvents"]
    file.unlink()
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_perfetto_nests_in_every_thread(name: str, tmp_path: Path) -> None:
    """In Chrome's trace format an end closes the last begin of its thread."""
    stacks: dict[tuple[int, int], list[str]] = {}
    named: set[tuple[int, int]] = set()
    lasts: dict[tuple[int, int], float] = {}
    for event in perfetto(tmp_path, str(TRACES.parents[1] / name)):
        thread = event["pid"], event["tid"]
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name", "thread_sort_index")
            named.add(thread)
            continue
        assert thread in named and event["ph"] in "BEi" and isinstance(event["ts"], float)
        if event["ph"] == "B":
            stacks.setdefault(thread, []).append(event["name"])
        elif event["ph"] == "E":
            assert stacks[thread].pop() == event["name"]
        if event["ph"] != "i":
            assert event["ts"] >= lasts.get(thread, 0)
            lasts[thread] = event["ts"]
    assert not any(stacks.values())


def test_perfetto_names_ranks_and_compiles(tmp_path: Path) -> None:
    found = perfetto(tmp_path, "--demo")
    processes = {e["pid"]: e["args"]["name"] for e in found if e["name"] == "process_name"}
    assert set(processes) == {0, 1} and processes[1].startswith("rank 1 (pid ")
    threads = {(e["pid"], e["args"]["name"]) for e in found if e["name"] == "thread_name"}
    assert (0, "[4/7] sample train.py:45") in threads
    assert perfetto(tmp_path, "--demo", "--rank", "1") == [e for e in found if e["pid"] == 1]


def test_perfetto_puts_what_overlaps_into_threads_of_their_own(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").event("a", "B", 0).event("b", "B", 1).event("in b", "B", 1.5).event("in b", "E", 1.6)
    log.event("a", "E", 2).event("b", "E", 3).event("odd", "B", 5).event("odd", "E", 4).open()
    events = [event for event in perfetto(tmp_path, str(log.path)) if event["ph"] != "M"]
    threads = {(event["name"], event["tid"]) for event in events}
    assert len(threads) == 4, "begin and end are in one thread"
    thread = dict(threads)
    assert thread["a"] != thread["b"] and thread["in b"] in (thread["a"], thread["b"])


def test_perfetto_of_a_killed_run_and_of_a_cut_one(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").event("lost", "E", 0)
    log.add("chromium_event", {}, "{").event("big", "B", 1, number=1 << 70, odd="\ud800").event("gc", "B", 2)
    log.open()
    events = [event for event in perfetto(tmp_path, str(log.path)) if event["ph"] != "M"]
    assert [(e["ph"], e["name"]) for e in events] == [("i", "end of lost (without a start)"), ("B", "big"), ("B", "gc")]
    assert events[1]["args"]["number"] == 1 << 70


def test_perfetto_refuses_to_overwrite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.json"
    command = ["timing", "--demo", "--perfetto", str(file)]
    assert main(command) == 0
    assert "1,173 events" in capsys.readouterr().out
    assert main(command) == 2 and "--force" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert main(["timing", "--demo", "--perfetto", str(tmp_path), "--force"]) == 2
    assert main(["timing", "--demo", "--perfetto", os.devnull, "--force"]) == 2
    assert main(["timing", "--demo", "--perfetto", str(tmp_path / "no" / "where.json")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


def test_the_only_compile_of_a_part() -> None:
    ddp, train = list(trace("torch-2.13/ddp").compiles()), list(trace("torch-2.13/train").compiles())
    without_id = [c for c in ddp if c.id == NO_ID]
    assert len(without_id) == 2 and single_of(without_id) is None and single_of(without_id[:1]) is without_id[0]
    assert single_of(ddp) is None
    (only,) = [c for c in train if c.id != NO_ID]
    assert single_of(train) is only


def test_an_event_closes_the_nearest_begin_of_its_name() -> None:
    events = [Event(name, phase, at, {}) for name, phase, at in (("a", "B", 0), ("b", "B", 1), ("a", "E", 2), ("b", "E", 3))]
    assert [(i.name, i.start, i.end) for i in intervals_of(events)] == [("a", 0, 2), ("b", 1, 3)]


def test_records_without_ids_of_several_processes() -> None:
    run = trace("torch-2.13/ddp")
    found = timing(run)
    assert {row.name for row in found.outside_compiles} <= {"compile_file"}
    assert found.compile_s == pytest.approx(sum(c.tally.compile_s for c in run.compiles()), abs=1e-6)


@pytest.mark.parametrize(
    ("cells", "drawn"),
    [(0, ""), (0.12, ""), (0.125, "▏"), (0.5, "▌"), (0.99, "▉"), (1, "█"), (2.26, "██▎"), (0.1 + 0.2 + 0.7, "█")],
)
def test_a_bar_is_exact_to_an_eighth_of_a_cell(cells: float, drawn: str) -> None:
    assert fmt.bar(cells) == drawn


@pytest.mark.parametrize(("width", "ascii_"), [(30, False), (76, False), (76, True), (136, False)])
def test_bars_of_phases_have_one_scale_and_no_bar_is_too_long(width: int, ascii_: bool) -> None:
    phases = [Phase("dynamo", 1.0), Phase("inductor", 4.0), Phase("cache", 0.001), Phase("guards", 3.0)]
    made = Page("@timing", "timing", Options(width=width, ascii=ascii_))
    add_time(made, phases, "")
    add_time(made, [Phase("kernels", 2.0)], "", scale_s=8.0)
    lines = list(made.document(None).text())
    length = {line.split()[0]: len(re.findall("[█#]", line)) for line in lines if re.search("[█#]", line)}
    assert all(len(line) <= width for line in lines)
    if width > 30:
        assert abs(length["inductor"] - 4 * length["dynamo"]) <= 4 and abs(length["inductor"] - 2 * length["kernels"]) <= 1
        assert "too short to draw: cache 1 ms" in lines
