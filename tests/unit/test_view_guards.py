"""Guards: the tree by source, the table of many compiles, what failed later, the filter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import TRACES, fresh, trace
from viewed import lead_somewhere, opened, text

from tltui.export import to_json
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.guards.guard_report import KINDS, GuardFilter, old_guards
from tltui.questions.guards.guard_sections import shown
from tltui.questions.guards.page import CompileGuards, GuardTable
from tltui.text.document import Document, Options
from tltui.text.graphs.guard_tree import GuardNode, GuardTree, parse

ALL = sorted(
    str(path.relative_to(TRACES.parents[1]))
    for group in ("torch-2.13", "tlparse")
    for path in (TRACES / group).iterdir()
    if path.name != "LICENSE"
)


def filtered(run: Run, ref: str, typed: str) -> Document:
    document = build(run, ref, Options(width=100, filter=typed))
    while not document.advance():
        pass
    return document


def tree_of(run: Run, ref: str) -> GuardTree:
    node = run.resolve(f"{ref}:dynamo_cpp_guards_str")
    assert isinstance(node, Artifact)
    return parse(node.log.text(node.record).split("\n"))


def one(document: Document) -> CompileGuards:
    found = document.data()
    assert isinstance(found, CompileGuards)
    return found


@pytest.mark.parametrize(("name", "ref", "width"), [
    ("tests/traces/torch-2.13/recompiles", "", 80), ("tests/traces/torch-2.13/recompiles", "0/0", 80),
    ("tests/traces/torch-2.13/recompiles", "0/1", 60), ("tests/traces/torch-2.13/recompiles", "0/0", 160),
    ("tests/traces/torch-2.13/reasons", "9/0", 80), ("tests/traces/torch-2.13/train", "0/0", 100), ("src/tltui/demo", "", 60),
    ("tests/traces/torch-2.13/draft_export", "", 80), ("tests/traces/torch-2.13/errors", "0/0", 80),
    ("tests/traces/tlparse/comp_metrics.log", "0/0", 80), ("tests/traces/tlparse/simple.log", "", 80),
])  # fmt: skip
def test_golden(name: str, ref: str, width: int) -> None:
    run = opened(name)
    document = page(run, f"@guards:{ref}" if ref else "@guards", width)
    assert max(len(line) for line in document.text()) <= width
    part = f"_{ref.replace('/', '_')}" if ref else ""
    assert_golden(f"guards_{name.rpartition('/')[2]}{part}_{width}", text(document))
    lead_somewhere(run, document)


@pytest.mark.parametrize("name", ALL)
def test_every_trace(name: str) -> None:
    """Every guard of a tree is on its page, and the table has counted as many."""
    run = opened(name)
    table = page(run, "@guards", 60).data()
    counted = {c.ref: c for c in table.compiles} if isinstance(table, GuardTable) else {}
    for compile_ in run.compiles():
        ref = str(compile_.ref)
        if not compile_.is_compile or not compile_.counts.keys() | {"x"}:
            continue
        document = page(run, f"@guards:{ref}", 80)
        assert max(len(line) for line in document.text()) <= 80
        found = one(document)
        assert json.loads(to_json(found))
        if found.counts is None:
            assert "No guards: " in text(document)
            continue
        if isinstance(table, GuardTable):
            assert counted[ref] == found.counts
        assert len(found.guards) == found.counts.leaf_guard_count
        assert all(kind in KINDS for kind, _ in found.counts.kinds), found.counts.kinds
        if found.counts.artifact.endswith("guards_str"):
            tree = tree_of(run, ref)
            assert [guard.tree_line for guard in found.guards] == [node.line + 1 for node in tree.nodes if not node.is_manager]
            assert found.counts.latency_us == tree.latency_us


def test_ascii() -> None:
    assert text(page(trace("torch-2.13/recompiles"), "@guards:0/0", 80, ascii_=True)).isascii()


def test_what_failed_later_is_marked() -> None:
    found = one(page(trace("torch-2.13/recompiles"), "@guards:0/0"))
    assert {guard.kind: guard.failed_in for guard in found.guards if guard.failed_in} == {
        "TENSOR_MATCH": ("0/1", "0/2", "0/3", "0/4")
    }
    assert found.counts is not None and [f.cause for f in found.counts.failed] == [
        "tensor size", "tensor rank", "tensor dtype", "requires_grad",
    ]  # fmt: skip
    assert {f.tree_line for f in found.counts.failed} == {11}


def test_folds() -> None:
    document = page(trace("torch-2.13/train"), "@guards:0/0", 100)
    folds = {section.title: section.folded for section in document.sections()}
    assert folds["G['__builtins_dict___0']"] and folds["5 × DIMENSION_DYNAMIC_MARKING_GUARD"]
    assert not folds["L['s']"] and not folds["the frame as a whole"]
    for section in document.sections():
        for other in document.sections():
            inside = section.first <= other.first and other.last <= section.last
            apart = other.last < section.first or section.last < other.first
            assert inside or apart or (other.first <= section.first and section.last <= other.last)


# the filter


@pytest.mark.parametrize(("typed", "kinds"), [
    ("kind:tensor", {"TENSOR_MATCH"}), ("source:L['n']", {"EQUALS_MATCH"}), ("is:failed", {"TENSOR_MATCH"}),
    ("kind:tensor is:failed", {"TENSOR_MATCH"}), ("== 2", {"EQUALS_MATCH"}), ("recompiles.py:4 kind:equals", {"EQUALS_MATCH"}),
    ("autocast_state", {"GLOBAL_STATE"}), ("AUTOCAST", set()), ("check_tensor(", {"TENSOR_MATCH"}), ("nothing like it", set()),
])  # fmt: skip
def test_the_filter(typed: str, kinds: set[str]) -> None:
    document = filtered(trace("torch-2.13/recompiles"), "@guards:0/0", typed)
    assert {guard.kind for guard in one(document).guards} == kinds
    assert one(document).filter == typed
    assert (f"{len(one(document).guards)} of 11 guards" if kinds else f"No matches for {typed!r} in 11 guards.") in text(document)


def test_the_filter_over_many_compiles() -> None:
    document = filtered(trace("torch-2.13/recompiles"), "@guards", "kind:tensor is:failed")
    found = document.data()
    assert isinstance(found, tuple) and [each.counts.ref for each in found] == ["0/0", "0/2", "0/3"]
    assert "3 of 65 guards of 5 compiles" in text(document)
    without = filtered(trace("torch-2.13/recompiles"), "@guards", "no such thing")
    assert "No matches for 'no such thing' in 65 guards of 5 compiles." in text(without)


def test_an_empty_filter_takes_everything() -> None:
    assert not GuardFilter.of("  ") and GuardFilter.of("kind:x") and GuardFilter.of("is:failed")


# short texts


@pytest.mark.parametrize(("expression", "source", "said"), [
    ("L['x'] == 2", "L['x']", "== 2"), ("len(L['x']) == 3", "L['x']", "length == 3"), ("L['x'] is None", "L['x']", "is None"),
    ("not ___dict_contains('forward', L['s'].__dict__)", "L['s'].__dict__", "no key 'forward'"),
    ("not hasattr(L['o'], 'scale')", "L['o']", "no scale"), ("hasattr(L['x'], '_dynamo_static_indices') == False", "L['x']",
     "no _dynamo_static_indices"), ("2 <= L['x'].size()[0]", "", "2 <= L['x'].size()[0]"), ("", "L['x']", ""),
    ("not L['d']", "L['d']", "is empty"), ("___check_type_id(L['x'], 12)", "L['x']", "has the same type"),
    ("___check_obj_id(L['x'], 12)", "L['x']", "is this object"),
])  # fmt: skip
def test_a_guard_does_not_repeat_its_source(expression: str, source: str, said: str) -> None:
    assert shown(GuardNode(0, 1, 0, "EQUALS_MATCH", expression=expression), source) == said


def test_a_tensor_guard_reads_like_a_tensor() -> None:
    words = (
        "check_tensor(L['x'], Parameter, DispatchKeySet(CUDA, BackendSelect, AutogradCUDA), torch.float16, device=1, "
        "requires_grad=True, size=[None, 4], stride=[4, 1])"
    )
    said = shown(GuardNode(0, 1, 0, "TENSOR_MATCH", expression=words), "L['x']")
    assert said == "Parameter float16 [dynamic, 4] stride [4, 1] cuda:1  requires_grad"


# what logs may hold


def test_the_list_of_2024() -> None:
    node = trace("tlparse/comp_metrics.log").resolve("0/0")
    assert isinstance(node, Compile)
    found = one(page(trace("tlparse/comp_metrics.log"), "@guards:0/0"))
    assert [(guard.kind, guard.source) for guard in found.guards] == [
        ("DEFAULT_DEVICE", ""), ("DIMENSION_DYNAMIC_MARKING_GUARD", "L['x']"), ("TENSOR_MATCH", "L['x']"),
    ]  # fmt: skip


def test_the_user_stack_of_an_old_guard(tmp_path: Path) -> None:
    stack = [{"line": 12, "name": "f", "filename": 0, "loc": "y = x + 1"}]
    guards = [{"code": "L['x'] == 2", "user_stack": stack, "stack": None}, {"code": 3}, None, {"code": "len(L['y']) == 1"}]
    payload = json.dumps(guards)
    run = Log(tmp_path / "a.log").start().add("dynamo_guards", {}, payload).metrics().open()
    (guard, other) = one(page(run, "@guards:0/0")).guards
    assert (guard.kind, guard.source, guard.code) == ("EQUALS_MATCH", "L['x']", "y = x + 1")
    assert (guard.user_file, guard.user_line) == ("/home/user/f.py", 12)
    assert (other.kind, other.user_file) == ("LENGTH_CHECK", None)
    lead_somewhere(run, page(run, "@guards:0/0"))


def test_why_there_are_none(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics().start(frame=1).metrics(frame=1, graph_op_count=0)
    log.start(frame=2).metrics(frame=2, fail_type="ValueError", fail_reason="no").start(frame=3)
    log.start(frame=4).add("dynamo_guards", {}, "[\n\n]", frame=4).metrics(frame=4)
    said = text(page(log.open(), "@guards", 100))
    assert "5 compiles without guards in the log" in said
    for reason in ("has no dynamo_cpp_guards_str record", "nothing to guard", "failed before", "the log ends before"):
        assert reason in said


ODD = """
TREE_GUARD_MANAGER:
+-\x20
+- RootGuardManager
| | | +- EQUALS_MATCH: L['\x1b[31m[red]'] == '\u202e'  # x  # /a:1 in f
| +- GuardManager: source=, accessed_by=
| | +- KeyValueManager pair at index=7
| | | +- KeyManager: GuardManager: source=L['k'], type=<class '
| +- nonsense
| +- NEW_KIND
| +- NEW_KIND: # :9 in
"""


@pytest.mark.parametrize("tree", [ODD, "", "\n", "+- ", ODD * 40, "| " * 2000 + "+- TENSOR_MATCH: check_tensor(" + "x" * 9000])
def test_odd_trees(tree: str, tmp_path: Path) -> None:
    run = Log(tmp_path / "a.log").start().add("dynamo_cpp_guards_str", {}, tree).metrics().open()
    for ref in ("@guards:0/0", "@guards"):
        for width in (60, 80):
            document = page(run, ref, width)
            assert "\x1b" not in text(document) and "\u202e" not in text(document)
            assert max(len(line) for line in document.text()) <= width
    lead_somewhere(run, document)


def test_a_cut_log(tmp_path: Path) -> None:
    (source,) = (TRACES / "torch-2.13/reasons").iterdir()
    data = source.read_bytes()
    for part in (1, 3, 5, 7):
        cut = tmp_path / f"{part}.log"
        cut.write_bytes(data[: len(data) * part // 8 + 137])
        run = fresh(cut)
        page(run, "@guards")
        for compile_ in list(run.compiles())[-2:]:
            page(run, f"@guards:{compile_.ref}" if compile_.is_compile else "@guards")


def test_a_broken_list_of_2024(tmp_path: Path) -> None:
    run = Log(tmp_path / "a.log").start().add("dynamo_guards", {}, '[{"code": "L[', attempt=0).metrics().open()
    node = run.resolve("0/0")
    assert isinstance(node, Compile)
    (record,) = [n for n in node.records if node.process.log.kind(n).event == "dynamo_guards"]
    assert old_guards(node, record, Reader(node.process.log)) == []
    page(run, "@guards:0/0")
