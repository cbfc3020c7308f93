"""Why an artifact is not there: each reason, that it is not given where it would be wrong, and the real traces."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from tltui.model.expected_artifacts import Absent, Outcome, absent, failed_in
from tltui.model.torch_versions import UNKNOWN, stated_version

V13 = stated_version("2.13.0")
DYNAMO = {"dynamo_start", "dynamo_output_graph"}
PRE_GRAD = {"before_pre_grad_graph", "after_pre_grad_graph"}
INFERENCE = {"aot_forward_graph_fw_metadata", "aot_inference_graph", "before_joint_graph", "after_joint_graph"}
TRAINING = {"aot_joint_graph", "aot_forward_graph_fw_metadata", "aot_forward_graph", "aot_backward_graph"}
PROVENANCE = {"inductor_provenance_tracking_node_mappings", "inductor_provenance_tracking_kernel_stack_traces"}
UNIT = {"fx_graph_runnable", "before_post_grad_graph", "inductor_post_grad_graph", "inductor_output_code"}
CACHES = {"aotautograd_cache_miss", "fx_graph_cache_miss"}
END = {"runtime_wrapper_orchestration", "dynamo_cpp_guards_str", "compilation_metrics"}
META = {"inductor_runtime_and_tensor_meta"}

TRACES = Path(__file__).parents[1] / "traces"
RECORD = re.compile(rb"^[VIWEC]\d{4} [\d:.]+ \d+ .+?:\d+\] (\{.*\})\r?$")


def outcome(*has: set[str], **known: Any) -> Outcome:
    return Outcome(frozenset[str]().union(*has), **{"version": V13, **known})


def reasons(of: Outcome) -> dict[str, Absent]:
    rows = absent(of)
    assert all(row.title and row.reason and "\n" not in row.reason for row in rows)
    return {row.name: row for row in rows}


FULL = outcome(DYNAMO, PRE_GRAD, TRAINING, UNIT, PROVENANCE, META, CACHES, END, inductor=True)


def without(*names: str, **known: Any) -> Outcome:
    return replace(FULL, has=FULL.has - set(names), **known)


def test_nothing_is_absent_from_a_full_compile() -> None:
    assert absent(FULL) == []
    assert absent(replace(FULL, directions=frozenset({"forward", "backward"}))) == []


def test_inference_has_no_backward() -> None:
    found = reasons(outcome(DYNAMO, PRE_GRAD, INFERENCE, UNIT, PROVENANCE, META, CACHES, END))
    assert set(found) == {"aot_joint_graph", "aot_backward_graph"}
    assert "no input requires grad" in found["aot_joint_graph"].reason
    # Older torch called the graph of an inference a forward graph.
    old = outcome({"aot_forward_graph"}, DYNAMO, UNIT, END, version=UNKNOWN)
    assert "no input requires grad" in reasons(old)["aot_backward_graph"].reason


def test_provenance_has_to_be_asked_for() -> None:
    found = reasons(without(*PROVENANCE))
    assert set(found) == PROVENANCE
    assert {row.flag for row in found.values()} == {"INDUCTOR_PROVENANCE=1"}
    assert all("set INDUCTOR_PROVENANCE=1" in row.reason for row in found.values())


def test_provenance_in_older_torch() -> None:
    found = reasons(without(*PROVENANCE, version=stated_version("2.8.0")))
    assert found["inductor_provenance_tracking_node_mappings"].flag == "TORCH_COMPILE_DEBUG=1"
    traces = found["inductor_provenance_tracking_kernel_stack_traces"]
    assert (traces.reason, traces.flag) == ("not written by torch 2.8, only by torch 2.9 and later", None)
    old = reasons(without(*PROVENANCE, version=stated_version("2.6.0")))
    assert [old[name].reason.partition(",")[0] for name in PROVENANCE] == ["not written by torch 2.6"] * 2
    unknown = reasons(without(*PROVENANCE, version=UNKNOWN))
    assert {unknown[name].reason.partition(":")[0] for name in PROVENANCE} == {"unknown for this torch"}
    assert not {row.flag for row in unknown.values()} & {"INDUCTOR_PROVENANCE=1", "TORCH_COMPILE_DEBUG=1"}


def test_an_aot_cache_hit_skips_passes() -> None:
    skipped = PRE_GRAD | META | {"before_post_grad_graph"}
    found = reasons(without(*skipped, cache_hit=True, fx_cache_hit=True))
    assert set(found) == skipped
    assert all("AOTAutograd cache" in row.reason for row in found.values())
    assert found["before_pre_grad_graph"].flag == "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1"


def test_an_fx_cache_hit_skips_only_the_lowering() -> None:
    found = reasons(without("before_post_grad_graph", fx_cache_hit=True))
    assert set(found) == {"before_post_grad_graph"}
    assert "FX graph cache" in found["before_post_grad_graph"].reason


def test_older_torch_repeats_nothing_on_a_cache_hit() -> None:
    old = outcome(DYNAMO, END, {"aotautograd_cache_hit"}, cache_hit=True, version=stated_version("2.6.0"))
    found = reasons(old)
    assert found["inductor_output_code"].reason == "not written when the result comes from a cache"


def test_caches_that_are_off() -> None:
    disabled = reasons(without(*CACHES, caches_disabled=True))
    assert {name: row.reason for name, row in disabled.items()} == {
        "aotautograd_cache_hit": "caches are disabled",
        "fx_graph_cache_hit": "caches are disabled",
    }
    assert disabled["fx_graph_cache_hit"].title == "FX graph cache: hit or miss"
    off = reasons(without("fx_graph_cache_miss"))
    assert set(off) == {"fx_graph_cache_hit"}
    assert "did not query" in off["fx_graph_cache_hit"].reason


@pytest.mark.parametrize("state", ["hit", "miss", "bypass", "hash"])
def test_any_answer_of_a_cache_will_do(state: str) -> None:
    has = FULL.has - CACHES | {f"fx_graph_cache_{state}", f"aotautograd_cache_{state}"}
    assert absent(replace(FULL, has=has)) == []


def test_runtime_estimates_need_a_flag() -> None:
    assert absent(without(*META)) == [
        Absent(
            "inductor_runtime_and_tensor_meta",
            "Runtime estimates and tensors",
            "only written with LOG_TLPARSE=1",
            "LOG_TLPARSE=1",
        )
    ]


def test_other_backends() -> None:
    eager = reasons(outcome(DYNAMO, END - {"runtime_wrapper_orchestration"}, inductor=False))
    assert set(eager) == {"aot_inference_graph", "inductor_post_grad_graph", "inductor_output_code"}
    assert {row.reason for row in eager.values()} == {"the backend is not Inductor: eager or a custom backend"}
    aot = reasons(outcome(DYNAMO, TRAINING, END, inductor=False))
    assert set(aot) == {"inductor_post_grad_graph", "inductor_output_code"}
    assert "aot_eager" in aot["inductor_output_code"].reason
    old = reasons(outcome(DYNAMO, END, version=UNKNOWN))
    assert old["inductor_output_code"].reason == "the backend is not Inductor, or this torch version does not write it"
    # Inductor ran by the metrics: then it is not the backend.
    assert "backend" not in reasons(outcome(DYNAMO, END, inductor=True))["inductor_output_code"].reason


def test_vllm() -> None:
    found = reasons(outcome(DYNAMO, {"vllm_compilation_config", "dynamo_cpp_guards_str"}, complete=False))
    assert "vLLM" in found["compilation_metrics"].reason
    assert "vLLM" in found["inductor_output_code"].reason


@pytest.mark.parametrize("name", ["inductor_aot_wrapper_code", "inductor_aot_kernel_code"])
def test_cpp_code_is_code(name: str) -> None:
    assert absent(replace(FULL, has=FULL.has - {"inductor_output_code"} | {name})) == []


def test_an_empty_frame_is_not_complained_about() -> None:
    found = reasons(outcome({"dynamo_start", "dynamo_cpp_guards_str", "compilation_metrics"}, empty=True))
    assert set(found) == {"dynamo_output_graph"}
    assert "no operations" in found["dynamo_output_graph"].reason


def test_a_skipped_resume_frame() -> None:
    has = {"dynamo_start", "torch_dynamo_resume_in_f_at_5_ORIGINAL_BYTECODE", "compilation_metrics"}
    found = reasons(outcome(has, empty=True))
    assert set(found) == {"dynamo_output_graph", "*_MODIFIED_BYTECODE", "dynamo_cpp_guards_str"}
    assert "skipped" in found["dynamo_cpp_guards_str"].reason
    assert found["*_MODIFIED_BYTECODE"].title == "Modified bytecode"


def test_the_recompile_limit() -> None:
    has = {"recompile_reasons", "compilation_metrics", "dynamo_error"}
    limit = outcome(has, failed=True, recompile_limit=True, recompile=True)
    (row,) = absent(limit)
    assert (row.name, row.flag) == ("dynamo_start", "torch._dynamo.config.recompile_limit")
    assert "recompile limit" in row.reason


def test_an_attempt_that_was_given_up() -> None:
    (row,) = absent(outcome({"dynamo_start", "dynamo_graph_break_reason"}, attempt_restarted=True, complete=False))
    assert row.name == "dynamo_output_graph"
    assert "last attempt" in row.reason


def test_a_restart_that_is_no_graph_break() -> None:
    assert set(reasons(replace(FULL, restarted=True))) == {"dynamo_graph_break_reason"}
    assert absent(replace(FULL, has=FULL.has | {"dynamo_graph_break_reason"}, restarted=True)) == []


def test_a_recompile_without_reasons() -> None:
    assert set(reasons(replace(FULL, recompile=True))) == {"recompile_reasons"}


@pytest.mark.parametrize(
    ("has", "fail_type", "phase", "missing"),
    [
        ({"dynamo_start"}, "Unsupported", "Dynamo", 5),
        (DYNAMO, "BackendCompilerFailed", "the backend", 2),
        (DYNAMO | PRE_GRAD, "BackendCompilerFailed", "AOTAutograd", 4),
        (DYNAMO | PRE_GRAD | TRAINING | {"fx_graph_runnable"}, "InductorError", "Inductor", 3),
        (DYNAMO | PRE_GRAD | TRAINING, "BackendCompilerFailed", "Inductor", 3),
        (FULL.has - {"dynamo_cpp_guards_str"}, "ConstraintViolationError", "guard building", 1),
        (DYNAMO | PRE_GRAD, "SomethingElse", None, 4),
    ],
)
def test_after_a_failure(has: set[str], fail_type: str, phase: str | None, missing: int) -> None:
    of = outcome(set(has) | {"dynamo_error", "compilation_metrics"}, failed=True)
    assert failed_in(fail_type, of.has) == phase
    found = reasons(replace(of, fail_phase=phase))
    assert len(found) == missing
    where = f", in {phase}" if phase else ""
    assert {row.reason for row in found.values()} == {f"the compile failed earlier{where}"}


def test_nothing_failed_in_nothing() -> None:
    assert failed_in(None, frozenset()) is None


def test_a_log_that_ends_early() -> None:
    found = reasons(outcome(DYNAMO, PRE_GRAD, complete=False))
    assert set(found) == {
        "aot_inference_graph", "inductor_post_grad_graph", "inductor_output_code", "dynamo_cpp_guards_str",
        "compilation_metrics",
    }  # fmt: skip
    assert found["inductor_output_code"].reason == "the log ends earlier"
    assert "still running" in found["compilation_metrics"].reason
    assert set(reasons(without("compilation_metrics", complete=False))) == {"compilation_metrics"}


def test_a_log_that_begins_late() -> None:
    found = reasons(outcome({"dynamo_cpp_guards_str", "compilation_metrics"}, inductor=True))
    assert "starts later" in found["dynamo_start"].reason
    assert "no reason in the log" in found["dynamo_output_graph"].reason


def test_a_backward_that_was_not_compiled() -> None:
    (row,) = absent(replace(FULL, directions=frozenset({"forward"})))
    assert row.title == "Output code of the backward"
    assert "when backward() first runs" in row.reason
    (row,) = absent(replace(FULL, directions=frozenset({"forward"}), backward_failed=True))
    assert row.reason == "the backward failed to compile"
    assert absent(replace(FULL, directions=frozenset({"inference"}))) == []


def test_compiled_autograd_has_no_pre_grad_passes() -> None:
    found = reasons(without(*PRE_GRAD, compiled_autograd=True))
    assert set(found) == PRE_GRAD
    assert "compiled autograd" in found["before_pre_grad_graph"].reason


@pytest.mark.parametrize(
    "has",
    [
        set(),
        {"exported_program"},
        {"compiled_autograd_graph", "compiled_autograd_graph_pre_reordering"},
        {"torch_version"},
        {"my_own"},
    ],
)
def test_what_did_not_begin_with_a_frame_lacks_nothing(has: set[str]) -> None:
    assert absent(outcome(has, dynamo=False, complete=False)) == []


def test_aot_inductor_lacks_only_provenance() -> None:
    code = UNIT - {"inductor_output_code"} | {"inductor_aot_wrapper_code", "inductor_aot_kernel_code"}
    of = outcome(PRE_GRAD, INFERENCE, code, META, {"compilation_metrics"}, dynamo=False)
    assert set(reasons(of)) == PROVENANCE


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096).replace(b" ", b"")


def _outcomes(path: Path) -> dict[tuple[object, ...], Outcome]:
    """A rough reading of a log, enough for the reasons; the model does it properly."""
    has: dict[tuple[object, ...], set[str]] = defaultdict(set)
    metrics: dict[tuple[object, ...], dict[str, Any]] = {}
    for line in path.read_bytes().split(b"\n"):
        match = RECORD.match(line)
        if match is None:
            continue
        try:
            envelope = orjson.loads(match[1])
        except orjson.JSONDecodeError:
            continue
        event = next(iter(envelope))
        key = tuple(envelope.get(part) for part in ("compiled_autograd_id", "frame_id", "frame_compile_id"))
        if "has_payload" in envelope or event in {"dynamo_start", "compilation_metrics"}:
            has[key].add(envelope[event]["name"] if event in {"artifact", "graph_dump"} else event)
        if event == "compilation_metrics":
            metrics[key] = envelope[event]
    found = {}
    for key, names in has.items():
        of = metrics.get(key, {})
        fail_type = of.get("fail_type")
        found[key] = Outcome(
            has=frozenset(names),
            failed=bool(fail_type),
            fail_phase=failed_in(fail_type, frozenset(names)),
            cache_hit="aotautograd_cache_hit" in names,
            fx_cache_hit="fx_graph_cache_hit" in names and "fx_graph_cache_miss" not in names,
            caches_disabled='"force_disable_caches": true' in (of.get("compiler_config") or ""),
            empty=bool(of) and not fail_type and not of.get("graph_op_count"),
            complete=bool(of),
            version=V13,
            recompile_limit="recompile limit" in (of.get("fail_reason") or ""),
            recompile=bool(key[2]),
            restarted=bool(of.get("restart_reasons")),
            dynamo=key[1] is not None,
            compiled_autograd=key[0] is not None,
            inductor=of.get("inductor_cumulative_compile_time_us") is not None if of else None,
        )
    return found


def test_each_absence_in_the_traces_of_2_13_has_a_reason() -> None:
    # Since 2.13 a log names the version that wrote it. Of the traces of these directories artifacts were left out.
    logs = [path for path in sorted(TRACES.rglob("*.log")) if path.parent.parent.name not in ("provenance", "rank_jobs")]
    paths = [path for path in logs if b'"name":"torch_version"' in _head(path)]
    if not paths:
        pytest.skip("no traces here")
    unexplained = [
        (path.parent.name, key, row.name)
        for path in paths
        for key, of in _outcomes(path).items()
        for row in absent(of)
        if "no reason in the log" in row.reason or "starts later" in row.reason
    ]
    assert unexplained == []
