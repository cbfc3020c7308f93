"""What is absent and why: every compile of the real traces, and each kind of reason."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from golden import assert_golden
from made_logs import Log
from pages import page
from real import TRACES, trace
from viewed import lead_somewhere, opened, text

from tltui.documents.scope import scope_of
from tltui.export import to_json
from tltui.model import expected_artifacts
from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.overview.compile_sections import study
from tltui.questions.problems import absent_artifacts as view
from tltui.questions.problems.absent_artifacts import Absence, Expected, absence_of, state_of
from tltui.sources.discover import discover

NAMES = sorted(
    str(path.relative_to(TRACES.parents[1]))
    for group in ("torch-2.13", "tlparse")
    for path in (TRACES / group).iterdir()
    if path.name != "LICENSE"
)


def absence(run: Run, ref: str = "") -> Absence:
    return absence_of(scope_of(run, ref).compiles)


def rows(run: Run, ref: str = "0/0") -> dict[str, Expected]:
    (compile_,) = absence(run, ref).compiles
    return {row.name: row for row in compile_.expected}


@pytest.mark.parametrize(("name", "ref"), [
    ("src/tltui/demo", ""), ("tests/traces/torch-2.13/errors", ""), ("tests/traces/torch-2.13/cache_hit", ""),
    ("tests/traces/torch-2.13/train", "0/0"), ("tests/traces/torch-2.13/aoti", ""),
])  # fmt: skip
def test_golden(name: str, ref: str) -> None:
    run = opened(name)
    document = page(run, f"@absent:{ref}" if ref else "@absent")
    assert_golden(f"absent_{name.rpartition('/')[2]}", text(document))
    lead_somewhere(run, document)


@pytest.mark.parametrize("name", NAMES)
def test_every_trace(name: str) -> None:
    """The reasons are those of the overviews, and nothing is wider than the page."""
    run = opened(name)
    scope = scope_of(run)
    found = {compile_.ref: compile_ for compile_ in absence(run).compiles}
    for compile_ in scope.compiles:
        told = [(row.name, row.reason, row.flag) for row in study(compile_).absent]
        own = found[str(compile_.ref)].expected if str(compile_.ref) in found else ()
        assert sorted(told) == sorted((row.name, row.reason or "", row.flag) for row in own if row.count == 0)
        assert all((row.reason is None) == (row.state == view.PRESENT) for row in own)
    for width in (60, 160):
        document = page(run, "@absent", width, ascii_=width == 60)
        assert not [line for line in document.text() if len(line) > width]


def test_every_reason_has_a_state() -> None:
    """A new reason of `expected` must be put into one of the kinds; those that are not named mean: nothing to write."""
    source = inspect.getsource(expected_artifacts)
    reasons = re.findall(r'f?"((?:[a-z]|Inductor)[^"\n]{18,})"', source)
    nothing = {reason for reason in reasons if " " in reason and state_of(reason) == view.NOTHING}
    known = (
        "compiled autograd passes its graph on", "no backward", "Inductor did not run",
        "the backend is not Inductor", "the backend stops after AOTAutograd", "no operations were captured",
        "Dynamo skipped the frame", "the analysis restarted", "no earlier compile of this frame",
        "torch discarded this attempt", "not compiled yet",
    )  # fmt: skip
    assert not [reason for reason in nothing if not reason.startswith(known) and " in {" not in reason]
    for beginning, state in view._BEGINNINGS:
        assert state in view.STATES and beginning in source, beginning


def test_states_of_one_compile() -> None:
    run = trace("torch-2.13/cache_hit")
    found = rows(run)
    assert found["before_pre_grad_graph"].state == view.CACHED
    assert found["before_pre_grad_graph"].flag == "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1"
    assert (found["inductor_output_code"].state, found["inductor_output_code"].count) == (view.PRESENT, 2)
    assert found["aot_inference_graph"].record_name == "aot_forward_graph", "another graph is taken for it"
    assert found["inductor_runtime_and_tensor_meta"].is_routine
    assert [row.name for row in found.values()] == sorted(found, key=lambda name: expected_artifacts.PLACES[name])
    failed = rows(trace("torch-2.13/errors"))
    assert failed["inductor_output_code"].state == view.FAILED
    assert failed["compilation_metrics"].state == view.PRESENT


def test_groups_of_a_run() -> None:
    found = absence(trace("torch-2.13/errors"))
    code = [group for group in found.groups if group.name == "inductor_output_code"]
    assert [(group.state, group.refs) for group in code] == [(view.FAILED, ("0/0", "2/0")), (view.FAILED, ("1/0",))]
    routine = [group.is_routine for group in absence(opened("src/tltui/demo")).groups]
    assert routine == sorted(routine), "what nobody misses comes last"
    there = {item.name: (item.compiles, item.possible_compiles) for item in found.present}
    assert there["dynamo_output_graph"] == (1, 3)


def test_a_log_that_ends_early(tmp_path: Path) -> None:
    log = Log(tmp_path / "x.log").start().add("dynamo_output_graph", {}, "class GraphModule")
    found = rows(log.open())
    assert found["compilation_metrics"].state == found["inductor_output_code"].state == view.CUT
    assert "Cut off" not in text(page(log.open(), "@absent:0/0")), "of one compile each row says it"
    assert "cut off    Output code  inductor_output_code" in text(page(log.open(), "@absent:0/0"))


@pytest.mark.parametrize(("payload", "state"), [
    ("", "empty"), ("[\n\n]", "empty"), ("{}", "empty"), ("null", "empty"), ('"x"', "present"), ("[\n1\n]", "present"),
])  # fmt: skip
def test_empty_records(tmp_path: Path, payload: str, state: str) -> None:
    log = Log(tmp_path / "x.log").start().metrics().add("dynamo_start", {"stack": []}, compile_=1)
    log.artifact("recompile_reasons", payload, compile_=1).metrics(compile_=1)
    assert rows(log.open(), "0/1")["recompile_reasons"].state == state
    if state == "empty":
        assert "Recompile reasons" in text(page(log.open(), "@absent"))


def test_caches_that_were_off_by_the_metrics(tmp_path: Path) -> None:
    for config in ("compiler_config", "inductor_config"):
        log = Log(tmp_path / "x.log").start().add("dynamo_output_graph", {}, "g").add("inductor_output_code", {}, "c")
        log.metrics(**{config: json.dumps({"force_disable_caches": True})})
        row = rows(log.open())["fx_graph_cache_hit"]
        assert row.reason == "caches are disabled" and row.state == view.NOT_LOGGED


@pytest.mark.parametrize("fields", [{"graph_op_count": "x"}, {"restart_reasons": {}}, {"pytorch_version": 5}, {"fail_type": 3}])
def test_odd_metrics(tmp_path: Path, fields: dict[str, Any]) -> None:
    run = Log(tmp_path / "x.log").start().metrics(**fields).open()
    assert len(page(run, "@absent")) > 3


def test_truncated_logs(tmp_path: Path) -> None:
    data = Path(trace("torch-2.13/cache_hit").models[0].log.path).read_bytes()
    for part in range(1, 24):
        path = tmp_path / f"{part}.log"
        path.write_bytes(data[: len(data) * part // 24])
        assert len(page(open_run(discover([str(path)])), "@absent")) > 1


def test_json() -> None:
    found = json.loads(to_json(page(trace("torch-2.13/errors"), "@absent").data()))
    assert found["compiles"][0]["ref"] == "0/0" and found["compiles"][0]["status"] == "error"
    assert {row["state"] for row in found["compiles"][0]["expected"]} == {"present", "failed before"}
