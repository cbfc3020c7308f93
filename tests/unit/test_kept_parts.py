"""Pages join what is kept of each compile: what did not change is not made again, and what is kept is still true."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from made_logs import Log
from pages import page
from real import TRACES, fresh, trace
from viewed import targets, text

from tltui.documents.page import Page
from tltui.documents.rank_groups import ROWS_SHOWN
from tltui.export import to_json
from tltui.model.artifacts import artifacts_of, units_of
from tltui.model.derived_cache import MISSING, Parts, weigh
from tltui.model.follow import open_run
from tltui.model.kinds import kind_of
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile, Frame, Process
from tltui.model.run import Run, settle
from tltui.questions.build import build
from tltui.questions.guards.guard_report import GuardCounts, old_nodes, without_latency
from tltui.questions.guards.page import GuardTable
from tltui.questions.shapes.dynamic_sizes import _by_length, _holds, shapes_of
from tltui.questions.shapes.page import add_compile
from tltui.sources.discover import discover
from tltui.text.document import Options
from tltui.text.graphs.guard_tree import GuardNode
from tltui.tree.listing import listing_data

VIEWS = ("guards", "shapes", "caches", "absent", "metrics", "exports", "vllm", "damage")
SOME = (
    "torch-2.13/recompiles", "torch-2.13/dyn", "torch-2.13/train", "torch-2.13/cache_keys", "torch-2.13/ddp",
    "torch-2.13/vllm_like", "torch-2.13/export_draft", "torch-2.13/errors",
    "tlparse/comp_metrics.log", "tlparse/simple.log", "tlparse/multi_rank_logs",
)  # fmt: skip


def pages_of(run: Run) -> list[str]:
    """The pages of the run, of its first and of its last compile."""
    compiles = [compile_ for compile_ in run.compiles() if compile_.is_compile]
    parts = dict.fromkeys(f":{compile_.ref}" for compile_ in (*compiles[:1], *compiles[-1:]))
    return [f"@{view}{part}" for part in ("", *parts) for view in VIEWS if not (part and view == "damage")]


def said(run: Run, ref: str) -> str:
    """All of a page, with its links and its result."""
    document = page(run, ref, 100)
    links = [document.line(n).links for n in range(len(document))]
    return f"{text(document)}\n{links}\n{to_json(document.data())}"


def afresh(run: Run, ref: str) -> str:
    """The same without anything that was kept."""
    processes = [process for model in run.models for process in model.processes]
    kept, run.parts = run.parts, Parts()
    try:
        for process in processes:
            process.parts = run.parts
        return said(run, ref)
    finally:
        run.parts = kept
        for process in processes:
            process.parts = kept


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Hashable]]:
    """The nodes, or the keys of texts, that parts are made of; without the timing of 16 compiles in a row, kept with the first."""
    nodes: list[Hashable] = []
    put = Parts.put

    def noted(self: Parts, question: Hashable, node: Hashable, *rest: Any) -> None:
        if not (isinstance(question, tuple) and question[0] == "timing"):
            nodes.append(node)
        put(self, question, node, *rest)

    monkeypatch.setattr(Parts, "put", noted)
    yield nodes


def test_what_parts_weigh_is_what_is_kept() -> None:
    """An answer that replaces another one takes its room; of what was let go nothing is counted any more."""
    parts = Parts(limit=20_000)
    parts.put("old", 1, (), "x" * 1000)
    once = parts.weight
    for _ in range(50):
        parts.put("old", 1, (), "x" * 1000)
    assert parts.weight == once and parts.get("old", 1) == "x" * 1000
    for number in range(30):
        parts.put("new", number, (), "y" * 1000)
    assert parts.get("old", 1) is MISSING, "the question that was not asked for longest goes first"
    kept = [number for number in range(30) if parts.get("new", number) is not MISSING]
    assert kept == list(range(len(kept))) and parts.weight == len(kept) * once and 20_000 - once < parts.weight <= 20_000


def test_nodes_and_kinds_weigh_nothing() -> None:
    kind = kind_of("artifact", "fx_graph_runnable")
    run = trace("torch-2.13/breaks")
    assert weigh((kind, run.resolve("0/0"))) < weigh(("x" * 50, "y" * 50)) < weigh(["x" * 500])
    assert weigh({"a": (1, 2.5, None)}) == weigh({"b": (3, 0.0, True)})


@pytest.mark.parametrize("name", SOME)
def test_a_page_of_an_unchanged_run_makes_nothing_again(name: str) -> None:
    run = trace(name)
    for ref in pages_of(run):
        first, number = said(run, ref), run.parts.computed
        assert said(run, ref) == first
        assert run.parts.computed == number, ref


@pytest.mark.parametrize("name", SOME)
def test_only_what_changed_is_made_again(name: str, made: list[Hashable]) -> None:
    run = fresh(TRACES / name)
    pages = pages_of(run)
    before = [said(run, ref) for ref in pages]
    touched = list(run.compiles())[-1]
    touched.touch()
    made.clear()
    assert [said(run, ref) for ref in pages] == before
    assert {node for node in made if isinstance(node, (Compile, Frame, Process))} <= {touched, touched.frame, touched.process}
    assert touched in made


@pytest.mark.parametrize("name", SOME)
def test_what_is_kept_is_true_while_a_log_grows(name: str) -> None:
    """At several places of a log each page says what it would say without anything kept, and in the end what a fresh run says."""
    run = Run(discover([str(TRACES / name)]))
    scanners = run.scanners()
    step = max(run.size // len(scanners) // 7, 2000)
    while not run.finished:
        for number, scanner in enumerate(scanners):
            if not run.models[number].log.ended:
                run.apply(number, scanner.step(step))
        for ref in pages_of(run):
            assert said(run, ref) == afresh(run, ref), ref
    settle(run)
    fresh = open_run(discover([str(TRACES / name)]))
    for ref in pages_of(fresh):
        assert said(run, ref) == said(fresh, ref), ref


def test_artifacts_are_derived_once_and_again_when_the_compile_has_changed() -> None:
    run = fresh(TRACES / "torch-2.13/train")
    compile_ = run.resolve("0/0")
    assert isinstance(compile_, Compile)
    first = artifacts_of(compile_)
    assert [a is b for a, b in zip(first, artifacts_of(compile_), strict=True)] == [True] * len(first)
    first.clear()  # a list of the caller's own
    again = artifacts_of(compile_)
    unit = units_of(again)[0]
    assert units_of(again)[0] is unit
    compile_.touch()
    anew = artifacts_of(compile_)
    assert anew == again and anew[0] is not again[0]
    assert units_of(anew)[0] == unit and units_of(anew)[0] is not unit


# guards


def many(tmp_path: Path, number: int) -> Run:
    """Compiles of different functions with the same guards; every tenth without."""
    log = Log(tmp_path / "dedicated_log_torch_trace.log")
    tree = "TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- DEFAULT_DEVICE: x\nGuard latency = {} us"
    for n in range(number):
        log.add("dynamo_start", {"stack": [{"line": n + 1, "name": f"f{n}", "filename": 0}]}, frame=n)
        if n % 10:
            log.add("dynamo_cpp_guards_str", {}, tree.format(n), frame=n)
        log.metrics(frame=n)
    return log.open()


def test_equal_trees_are_counted_once(tmp_path: Path, made: list[Hashable]) -> None:
    run = many(tmp_path, 50)
    table = page(run, "@guards").data()
    assert isinstance(table, GuardTable) and len(table.compiles) == 45
    assert sum(isinstance(node, bytes) for node in made) == 1
    assert [counts.latency_us for counts in table.compiles][:3] == [1.0, 2.0, 3.0]


def test_very_many_compiles_are_grouped_and_each_is_linked(tmp_path: Path) -> None:
    run = many(tmp_path, ROWS_SHOWN * 2)
    document = page(run, "@guards", 100)
    said_ = text(document)
    assert len(document) < ROWS_SHOWN // 2
    assert "360 compiles of 360 functions  1 guard each  1–399 µs  f1, f2, f3, f4 …" in said_
    found = targets(document)
    assert {f"@guards:{n}/0" for n in range(ROWS_SHOWN * 2) if n % 10} <= found
    table = document.data()
    assert isinstance(table, GuardTable) and len(table.compiles) == 360 and dict(table.kinds) == {"DEFAULT_DEVICE": 360}


def test_failed_guards_of_very_many_compiles_are_told_by_function(tmp_path: Path) -> None:
    log = Log(tmp_path / "dedicated_log_torch_trace.log")
    log.start()
    for n in range(ROWS_SHOWN + 50):
        tree = f"TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- EQUALS_MATCH: L['n'] == {n}\nGuard latency = 5 us"
        if n:
            log.artifact("recompile_reasons", json.dumps([f"0/{n - 1}: L['n'] == {n - 1}"]), compile_=n)
        log.add("dynamo_cpp_guards_str", {}, tree, compile_=n).metrics(compile_=n)
    document = page(log.open(), "@guards", 100)
    assert "Failed later: guards of 249 compiles, causing 249 recompiles" in text(document)
    assert "249 recompiles  int value 249" in text(document)
    table = document.data()
    assert isinstance(table, GuardTable)
    assert [failed.tree_line for counts in table.compiles[:3] for failed in counts.failed] == [3, 3, 3]
    assert table.compiles[-1].failed == ()


class Counted(GuardNode):
    """Counts how often its source is asked for."""

    asked = 0

    @property
    def source(self) -> str:
        Counted.asked += 1
        return self[4]


@pytest.mark.parametrize("size", [10, 200])
def test_a_list_of_guards_is_passed_over_once(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    Counted.asked = 0
    guards = [Counted(-1, 1, 0, "EQUALS_MATCH", f"L['{n}']", expression=f"L['{n}'] == 1") for n in range(size)]
    monkeypatch.setattr("tltui.questions.guards.guard_report.old_guards", lambda *_: guards)
    compile_ = trace("torch-2.13/recompiles").resolve("0/0")
    assert isinstance(compile_, Compile)
    nodes = list(old_nodes(compile_, 0))
    assert len(nodes) == 1 + 2 * size and Counted.asked <= 2 * size
    assert [node.parent for node in nodes[1:5]] == [0, 1, 0, 3]


def test_the_latency_is_no_part_of_a_tree() -> None:
    assert without_latency(b"+- A\nGuard latency = 12.5 us") == (b"+- A\n", 12.5)
    assert without_latency(b"+- A\nGuard latency = 12.5.1 us") == (b"+- A\n", None)
    assert without_latency(b"+- A") == (b"+- A", None)
    text_ = b"Guard latency = 1 us\n" + b"x" * 300
    assert without_latency(text_) == (text_, None)


def test_counts_hold_what_failed(tmp_path: Path) -> None:
    table = page(trace("torch-2.13/recompiles"), "@guards").data()
    assert isinstance(table, GuardTable)
    first = table.compiles[0]
    assert isinstance(first, GuardCounts) and {failed.ref for failed in first.failed} == {"0/1", "0/2", "0/3", "0/4"}


# shapes


class CountedNames(tuple[str, ...]):
    """Counts how often it is looked through."""

    asked = 0

    def __contains__(self, name: object) -> bool:
        CountedNames.asked += 1
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        CountedNames.asked += 1
        return super().__iter__()


@pytest.mark.parametrize("size", [20, 300])
def test_symbols_are_looked_up_by_name(size: int) -> None:
    compile_ = trace("torch-2.13/dyn").resolve("0/0")
    assert isinstance(compile_, Compile)
    shapes = shapes_of(compile_)
    symbol = replace(shapes.symbols[0], fixed=None, call_guards=(), guards=(), became_dynamic=())
    CountedNames.asked = 0
    symbols = tuple(replace(symbol, name=f"s{n}", equal_symbols=CountedNames((f"s{(n or size) - 1}",))) for n in range(size))
    drawn = Page("", "", Options(width=100))
    add_compile(drawn, replace(shapes, symbols=symbols), True, False, set())
    assert CountedNames.asked <= 2 * size
    assert any("must equal" in line for line in drawn.document().text())


def test_sources_in_an_expression() -> None:
    sources = ["L['x'].size()[0]", "L['n']", "G['abc']"]
    expressions = ["2 <= L['n']", "L['x'].size()[0] == 3", "L['x'].size()[1]", "", "L['n", "G['abc'] + L['m']"]
    for expr in expressions:
        assert _holds(expr, _by_length(sources)) is any(source in expr for source in sources), expr


def test_at_most_so_many_blocks(tmp_path: Path) -> None:
    log = Log(tmp_path / "dedicated_log_torch_trace.log")
    for n in range(230):
        log.add("create_symbol", {"symbol": f"s{n}", "val": str(n), "source": "L['x'].size()[0]", "vr": "[2, 9]"}, frame=n)
        log.metrics(frame=n)
    document = page(log.open(), "@shapes", 100)
    assert "30 more compiles with symbols" in text(document)
    assert {f"@shapes:{n}/0" for n in range(200, 230)} <= targets(document)
    assert len(document.data().compiles) == 230


# caches, metrics, absent, damage, ls


def test_very_many_answers_of_caches_are_grouped(tmp_path: Path) -> None:
    log = Log(tmp_path / "dedicated_log_torch_trace.log")
    for n in range(450):
        name = "fx_graph_cache_hit" if n % 3 else "fx_graph_cache_miss"
        log.artifact(name, json.dumps({"key": f"f{n:040}", "time_saved_ns": 5}), frame=n).metrics(frame=n)
    document = page(log.open(), "@caches", 100)
    assert "300 compiles  FX graph hit  " in text(document) and "150 compiles  FX graph miss  " in text(document)
    assert {f"@caches:{n}/0" for n in range(450)} <= targets(document)


def test_records_of_one_form_are_one_column(tmp_path: Path) -> None:
    log = Log(tmp_path / "dedicated_log_torch_trace.log")
    for n in range(6):
        log.metrics(frame=n, guard_count=n if n < 5 else "many", dynamo_config=json.dumps({"a": n // 3}), cuda_version=None)
    found = page(log.open(), "@metrics").data()
    totals = {total.name: total for total in found.totals}
    guards = totals["guard_count"]
    assert (guards.count, guards.sum, guards.min, guards.max, guards.max_ref) == (5, 10.0, 0.0, 4.0, "4/0")
    assert totals["graph_op_count"].count == 6
    (setting,) = found.settings
    assert [(v.value, v.count, v.first_ref) for v in setting.values] == [(0, 3, "0/0"), (1, 3, "3/0")]
    assert {t.name: t.values[0].count for t in found.texts}["guard_count"] == 1
    assert "cuda_version" in found.empty


def test_very_many_damaged_records_are_told_by_reason(tmp_path: Path) -> None:
    log = Log(tmp_path / "dedicated_log_torch_trace.log")
    for n in range(250):
        log.artifact("note", f"text {n}", frame=n)
        log.lines[-1] = "\tanother"
    log.metrics()
    document = page(log.open(), "@damage", 100)
    assert "250×  its payload does not match its md5" in text(document) and "240 more records" in text(document)
    assert len(document) < 60 and len(targets(document)) == 250


def test_damage_is_counted_once_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path / "dedicated_log_torch_trace.log")
    for pid in (3536, 3537, 3538):
        for n in range(4):
            log.add("artifact", {"name": "note"}, frame=n)
            log.lines[-1] = log.lines[-1].replace(" 3536 ", f" {pid} ").removesuffix("}") + ("" if n < pid - 3536 else "}")
    run = log.open()
    asked: list[int] = []
    owner = LogModel.owner
    monkeypatch.setattr(LogModel, "owner", lambda self, record: asked.append(record) or owner(self, record))
    processes = [process for rank in listing_data(run)["ranks"] for process in rank["processes"]]
    assert len(asked) == len(run.models[0].log.damage) == sum(process["damaged_records"] for process in processes) > 0


@pytest.mark.parametrize("view", ["guards", "shapes", "caches", "absent", "metrics", "exports", "vllm", "damage"])
def test_a_page_can_be_left(view: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No step of a page is about more than a hundred compiles."""
    run = many(tmp_path, 300)
    times = count(0.0, 0.011)
    monkeypatch.setattr("tltui.text.composite_documents.time.monotonic", lambda: next(times))  # one step at a time
    document = build(run, f"@{view}", Options(width=100))
    steps = 1
    while not document.advance():
        steps += 1
    assert steps >= 3 or view in ("exports", "vllm")
