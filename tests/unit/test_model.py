"""Records → run, ranks, processes, frames, compiles, attempts, units, artifacts; statuses, facts and addresses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import make_trace as mt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real import TRACES, compile_at, trace

from tltui.model.artifacts import Artifact, Unit, artifacts_of, units_of
from tltui.model.follow import open_run
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import NO_ID, NORANK, BadAddress, CompileId, Ref, parse_ref
from tltui.model.run import Run
from tltui.model.status import SharedFacts, Status, tlparse_status
from tltui.sources.discover import discover
from tltui.text.sanitize import sanitize

NAMES = sorted(path.name for path in (TRACES / "torch-2.13").iterdir())


def built(directory: Path, *records: bytes) -> Run:
    return open_run(discover([str(mt.write(directory, b"".join(records)))]))


def units(compile_: Compile) -> list[Unit]:
    return units_of(artifacts_of(compile_))


def members(compile_: Compile) -> dict[str | None, list[str]]:
    """Name of a unit (None: the compile) → names of its artifacts."""
    artifacts = artifacts_of(compile_)
    names = {unit.number: unit.name for unit in units_of(artifacts)}
    found: dict[str | None, list[str]] = {}
    for artifact in artifacts:
        found.setdefault(names.get(artifact.unit) if artifact.unit is not None else None, []).append(artifact.name)
    return found


# units


def code(number: int, direction: str) -> str:
    return f"# AOT ID: ['{number}_{direction}']\nfrom ctypes import c_void_p\n"


def lowering(number: int, direction: str, **ids: Any) -> bytes:
    """The records of one unit as Inductor writes them."""
    return b"".join(
        (
            mt.artifact("fx_graph_runnable", "import torch", **ids),
            mt.artifact("before_post_grad_graph", "class", **ids),
            mt.artifact("inductor_post_grad_graph", "class", **ids),
            mt.record("inductor_output_code", {"filename": "/tmp/c.py"}, code(number, direction), **ids),
            mt.artifact("fx_graph_cache_miss", "{}", "json", **ids),
        )
    )


def traced(training: bool = True, **ids: Any) -> bytes:
    """The records of one run of AOTAutograd."""
    if not training:
        return mt.artifact("aot_forward_graph_fw_metadata", "meta", **ids) + mt.record("aot_inference_graph", {}, "class", **ids)
    return b"".join(
        (
            mt.record("aot_joint_graph", {}, "class", **ids),
            mt.artifact("aot_forward_graph_fw_metadata", "meta", **ids),
            mt.record("aot_forward_graph", {}, "class", **ids),
            mt.record("aot_backward_graph", {}, "class", **ids),
        )
    )


IDS = {"frame": 0, "compile": 0, "attempt": 0}
UNIT = ["fx_graph_runnable", "before_post_grad_graph", "inductor_post_grad_graph", "inductor_output_code", "fx_graph_cache_miss"]


@pytest.mark.parametrize("lazily", [False, True])
def test_forward_and_backward(tmp_path: Path, lazily: bool) -> None:
    forward, backward = lowering(0, "forward", **IDS), lowering(0, "backward", **IDS)
    between = mt.metrics(**IDS) + mt.compiled(1, 0) if lazily else b""
    after = mt.metrics("bwd_compilation_metrics", **IDS) if lazily else mt.metrics(**IDS)
    guards = mt.record("dynamo_cpp_guards_str", {}, "\nTREE", **IDS)
    run = built(tmp_path, mt.start(**IDS), traced(**IDS), forward, guards, between, backward, after)
    compile_ = compile_at(run, "0/0")
    assert [(unit.name, unit.direction) for unit in units(compile_)] == [("forward", "forward"), ("backward", "backward")]
    found = members(compile_)
    assert found["forward"] == ["aot_forward_graph", *UNIT]
    assert found["backward"] == ["aot_backward_graph", *UNIT]
    assert {"aot_joint_graph", "aot_forward_graph_fw_metadata", "dynamo_cpp_guards_str"} <= set(found[None])


def test_a_forward_whose_backward_is_not_compiled_yet(tmp_path: Path) -> None:
    run = built(tmp_path, traced(**IDS), lowering(0, "forward", **IDS))
    found = members(compile_at(run, "0/0"))
    assert found["forward"] == ["aot_joint_graph", "aot_forward_graph_fw_metadata", "aot_forward_graph", *UNIT]
    assert found[None] == ["aot_backward_graph"]


@pytest.mark.parametrize("lazily", [False, True])
def test_ddp_submodules(tmp_path: Path, lazily: bool) -> None:
    split = mt.record("optimize_ddp_split_graph", {}, "class", **IDS)
    split += mt.record("optimize_ddp_split_child", {"name": "submod_0"}, "class", **IDS)
    backwards = [lowering(0, "backward", **IDS), lowering(1, "backward", **IDS)]
    if lazily:  # the last one runs first
        records = [split, traced(**IDS), lowering(0, "forward", **IDS), traced(**IDS), lowering(1, "forward", **IDS)]
        records += [mt.metrics(**IDS), *reversed(backwards)]
    else:
        records = [split, traced(**IDS), lowering(0, "forward", **IDS), backwards[0]]
        records += [traced(**IDS), lowering(1, "forward", **IDS), backwards[1], mt.metrics(**IDS)]
    compile_ = compile_at(built(tmp_path, *records), "0/0")
    assert sorted(unit.name for unit in units(compile_)) == ["backward 1", "backward 2", "forward 1", "forward 2"]
    artifacts = artifacts_of(compile_)
    codes = {a.unit: a.payload.read().split(b"'")[1].decode() for a in artifacts if a.name == "inductor_output_code" and a.payload}
    graphs = [codes[a.unit] for a in artifacts if a.name == "aot_backward_graph" and a.unit is not None]
    assert graphs == ["0_backward", "1_backward"], "each backward graph stands with the code that was made of it"
    graphs = [codes[a.unit] for a in artifacts if a.name == "aot_forward_graph" and a.unit is not None]
    assert graphs == ["0_forward", "1_forward"]


def test_code_that_does_not_say_whose_it_is_stays_with_the_last_run(tmp_path: Path) -> None:
    unknown = [lowering(n, "backward", **IDS).replace(mt.tabbed(code(n, "backward")), mt.tabbed("import torch\n")) for n in (0, 1)]
    records = [traced(**IDS), lowering(0, "forward", **IDS), traced(**IDS), lowering(1, "forward", **IDS), *reversed(unknown)]
    compile_ = compile_at(built(tmp_path, *records), "0/0")
    assert [unit.name for unit in units(compile_)] == ["forward 1", "forward 2", "graph 1", "graph 2"]
    runs = [a.unit for a in artifacts_of(compile_) if a.name == "aot_backward_graph"]
    assert runs[0] == units(compile_)[0].number and runs[1] == units(compile_)[-1].number


def test_regional_units(tmp_path: Path) -> None:
    inner = {**IDS, "subgraph": "__marked_inductor_submod0"}
    other = {**IDS, "subgraph": "__marked_inductor_submod1"}
    run = built(
        tmp_path,
        mt.record("dynamo_output_graph", {}, "class", **IDS),
        traced(training=False, **IDS),
        traced(training=False, **inner), lowering(0, "inference", **inner),
        traced(training=False, **other), lowering(1, "inference", **other),
    )  # fmt: skip
    found = members(compile_at(run, "0/0"))
    assert found["__marked_inductor_submod0 inference"] == ["aot_forward_graph_fw_metadata", "aot_inference_graph", *UNIT]
    assert found["__marked_inductor_submod1 inference"] == ["aot_forward_graph_fw_metadata", "aot_inference_graph", *UNIT]
    assert found[None] == ["dynamo_output_graph", "aot_forward_graph_fw_metadata", "aot_inference_graph"]


def test_vllm_pieces_and_ranges(tmp_path: Path) -> None:
    def piece(index: int, lo: int, hi: int, **more: Any) -> bytes:
        fields = {"piecewise_index": index, "submod_name": f"submod_{index}"}
        fields |= {"compile_range_start": lo, "compile_range_end": hi, **more}
        return mt.artifact("vllm_piecewise_compile_start", json.dumps(fields), "json", **IDS)

    config = mt.artifact("vllm_compilation_config", "{}", "json", **IDS)
    run = built(
        tmp_path,
        mt.record("dynamo_output_graph", {}, "class", **IDS), config,
        piece(0, 1, 2048), lowering(0, "inference", **IDS),
        piece(2, 8, 8, is_single_size=True), mt.artifact("fx_graph_cache_hit", "{}", "json", **IDS),
        mt.record("dynamo_cpp_guards_str", {}, "\nTREE", **IDS),
        config, mt.artifact("torch._functorch.config", "{}", **IDS),
        piece(0, 1, 16), lowering(1, "inference", **IDS),
    )  # fmt: skip
    found = members(compile_at(run, "0/0"))
    assert list(found) == [None, "submod_0 1-2048", "submod_2 8", "submod_0 1-16"]
    assert found["submod_2 8"] == ["vllm_piecewise_compile_start", "fx_graph_cache_hit"]
    assert found["submod_0 1-16"] == ["vllm_piecewise_compile_start", *UNIT]
    assert found[None] == [
        "dynamo_output_graph", "vllm_compilation_config", "dynamo_cpp_guards_str", "vllm_compilation_config",
        "torch._functorch.config",
    ]  # fmt: skip


def test_units_of_real_traces() -> None:
    found = {
        f"{name} {compile_.ref}": [unit.name for unit in units(compile_)]
        for name in NAMES
        for compile_ in trace(f"torch-2.13/{name}").compiles()
    }
    assert found["train 0/0"] == ["forward", "backward"]
    assert found["recompiles 0/4"] == ["forward", "backward"]
    assert found["cache_hit 0/0"] == ["forward", "backward"]
    assert found["breaks 0/0"] == ["inference"]
    assert found["aoti none"] == ["inference"]
    assert found["regional_inductor 0/0"] == ["__marked_inductor_submod0 inference"]
    assert found["errors 0/0"] == []
    unit = {unit.name: unit.number for unit in units(compile_at(trace("torch-2.13/train"), "0/0"))}
    artifacts = artifacts_of(compile_at(trace("torch-2.13/train"), "0/0"))
    assert [a.n for a in artifacts if a.name == "inductor_output_code"] == [1, 2]
    assert [a.unit for a in artifacts if a.name == "inductor_output_code"] == [unit["forward"], unit["backward"]]


def test_logs_of_2024_have_units_too() -> None:
    compile_ = compile_at(trace("tlparse/simple.log"), "0/0")
    assert [unit.name for unit in units(compile_)] == ["inference"]
    assert "inductor_output_code" in members(compile_)["inference"]


# attempts


def test_attempts_of_a_real_trace() -> None:
    compile_ = compile_at(trace("torch-2.13/breaks"), "0/0")
    assert compile_.attempts == {0, 1}
    assert compile_.facts.attempts == 2
    by_attempt: dict[int, set[str]] = {}
    for artifact in artifacts_of(compile_):
        by_attempt.setdefault(artifact.attempt, set()).add(artifact.name)
    assert by_attempt[0] == {"dynamo_graph_break_reason"}
    assert {"dynamo_output_graph", "inductor_output_code", "compilation_metrics"} <= by_attempt[1]
    assert trace("torch-2.13/breaks").resolve("0/0_1") is compile_
    with pytest.raises(BadAddress, match="unknown address: '0/0_2'"):
        trace("torch-2.13/breaks").resolve("0/0_2")


# statuses and facts


def statuses(name: str) -> dict[str, str]:
    return {str(compile_.ref): str(compile_.status) for compile_ in trace(name).compiles() if compile_.status}


def test_statuses_of_real_traces() -> None:
    assert statuses("torch-2.13/breaks") == {
        "0/0": "break", "1/0": "ok", "2/0": "break", "3/0": "break", "4/0": "ok", "5/0": "ok",
    }  # fmt: skip
    assert set(statuses("torch-2.13/errors").values()) == {"error"}
    assert set(statuses("torch-2.13/recompiles").values()) == {"ok"}
    assert statuses("torch-2.13/dyn")["0/0"] == "error"
    assert statuses("torch-2.13/ca")["2/0"] == "empty"
    assert statuses("torch-2.13/ddp")["0:3/0"] == "empty"
    assert statuses("tlparse/comp_failure.log") == {"0/0": "eager"}, "suppress_errors is set"
    assert statuses("tlparse/comp_metrics.log") == {"0/0": "break", "1/0": "break", "2/0": "ok"}
    assert statuses("torch-2.13/aoti") == {}


def test_facts_of_real_traces() -> None:
    facts = compile_at(trace("torch-2.13/breaks"), "0/0").facts
    assert (facts.breaks, len(facts.restarts), facts.failed, facts.is_empty) == (1, 1, False, False)
    facts = compile_at(trace("torch-2.13/errors"), "0/0").facts
    assert facts.failed
    assert facts.fail_type
    assert facts.fail_reason
    assert facts.breaks == 0
    node = compile_at(trace("torch-2.13/train"), "0/0")
    assert node.facts.has_backward
    facts = node.all_facts
    assert facts.duration_s is not None
    assert facts.backward_s is not None
    assert facts.duration_s > facts.backward_s > 0
    tally = trace("torch-2.13/recompiles").tally
    assert (tally.compiles, tally.recompiles, tally.errors, tally.breaks) == (5, 4, 0, 0)
    assert trace("torch-2.13/breaks").tally.breaks == 3
    assert trace("torch-2.13/ddp").tally.compiles == 12


METRICS = {
    "ok": {},
    "empty": {"graph_op_count": 0},
    "empty too": {"graph_op_count": None},
    "failed": {"fail_type": "Boom", "fail_reason": "it went wrong"},
    "failed and empty": {"fail_type": "Boom", "graph_op_count": 0, "restart_reasons": []},
    "restarted": {"restart_reasons": ["a break"]},
    "without restarts": {"restart_reasons": None},
}


@pytest.mark.parametrize(
    ("fields", "artifacts", "version", "status", "theirs"),
    [
        ("ok", [], "2.13.0", "ok", "ok"),
        ("empty", [], "2.13.0", "empty", "empty"),
        ("empty too", [], "2.13.0", "empty", "empty"),
        ("failed", [], "2.13.0", "error", "error"),
        ("failed", ["dynamo_graph_break_reason"], "2.13.0", "error", "error"),
        ("failed and empty", [], "2.13.0", "error", "error"),
        ("ok", ["dynamo_graph_break_reason"], "2.13.0", "break", "ok"),
        ("empty", ["dynamo_graph_break_reason"], "2.13.0", "break", "empty"),
        ("restarted", ["dynamo_graph_break_reason"], "2.13.0", "break", "break"),
        ("restarted", [], "2.13.0", "ok", "break"),
        ("restarted", [], "2.5.1", "break", "break"),
        ("restarted", [], None, "break", "break"),
        ("without restarts", [], "2.13.0", "ok", "break"),
    ],
)
def test_status_is_the_first_that_applies(
    tmp_path: Path, fields: str, artifacts: list[str], version: str | None, status: str, theirs: str
) -> None:
    logged = b"".join(mt.artifact(name, "text", **IDS) for name in artifacts)
    metrics = mt.metrics(fields=METRICS[fields] | {"pytorch_version": version}, **IDS)
    compile_ = compile_at(built(tmp_path, mt.string("/a.py", 0), mt.start(**IDS), logged, metrics), "0/0")
    assert str(compile_.status) == status
    assert tlparse_status(compile_) == theirs


def test_missing_and_backward_failures(tmp_path: Path) -> None:
    boom = {"fail_type": "Boom", "fail_reason": "late"}
    run = built(
        tmp_path,
        mt.start(**IDS),
        mt.compiled(1, 0) + mt.metrics("bwd_compilation_metrics", fields=boom, frame=1, compile=0),
        mt.start(frame=2, compile=0, attempt=1) + mt.metrics(frame=2, compile=0),
    )  # fmt: skip
    first, second, third = (compile_at(run, address) for address in ("0/0", "1/0", "2/0"))
    assert (first.status, tlparse_status(first)) == (Status.UNFINISHED, "missing")
    assert (second.status, tlparse_status(second)) == (Status.ERROR, "ok")
    assert (second.facts.failed, second.facts.backward_failed, second.facts.backward_fail_reason) == (False, True, "late")
    assert (third.status, tlparse_status(third)) == (Status.OK, "missing")


def test_what_has_no_status(tmp_path: Path) -> None:
    run = built(tmp_path, mt.artifact("torch_version", "{}"), mt.record("compiled_autograd_graph", {}, "class", autograd=0))
    assert {compile_.label: compile_.status for compile_ in run.compiles()} == {"[-/-]": None, "[!0]": None}
    assert run.tally.compiles == 0


def test_a_hit_of_the_recompile_limit_is_named_after_its_siblings(tmp_path: Path) -> None:
    limit = {"fail_type": "Unsupported", "fail_reason": "Dynamo recompile limit exceeded\n"}
    limit |= {"co_name": None, "graph_op_count": None}
    run = built(
        tmp_path,
        mt.string("/home/user/f.py", 0), mt.compiled(0, 0, name="f"), mt.compiled(0, 1, name="f"),
        mt.artifact("recompile_reasons", "0/0: n == 2", "json", frame=0, compile=2, attempt=0),
        mt.metrics(fields=limit, frame=0, compile=2),
    )  # fmt: skip
    compile_ = compile_at(run, "0/2")
    assert compile_.started is None
    assert compile_.frame.code == ("f", "/home/user/f.py", 2)
    assert compile_.facts.recompile_limit_hit
    assert (compile_.status, tlparse_status(compile_)) == (Status.EAGER, None)
    assert not compile_at(run, "0/1").facts.recompile_limit_hit


def test_a_frame_without_a_start_is_named_by_its_metrics(tmp_path: Path) -> None:
    run = built(tmp_path, mt.metrics(fields={"co_name": "h", "co_filename": "/h.py", "co_firstlineno": 7}, frame=0, compile=0))
    assert compile_at(run, "0/0").frame.code == ("h", "/h.py", 7)


def test_runtime_records_without_attempt_attach_to_the_compile(tmp_path: Path) -> None:
    runtime = mt.record("compilation_metrics_runtime", {"is_runtime": True, "duration_us": 5e9}, rank=0, frame=0, compile=0)
    event = mt.chromium("autotune", frame=0, compile=0, rank=0)
    run = built(tmp_path, mt.string("/a.py", 0), mt.compiled(rank=0), mt.metrics(rank=0, frame=1, compile=0), event, runtime)
    compile_ = compile_at(run, "0/0")
    assert compile_.attempts == {0}
    assert "compilation_metrics_runtime" in [artifact.name for artifact in artifacts_of(compile_)]
    assert (compile_.status, compile_.duration_s) == (Status.OK, 0.25), "runtime is no compile time"
    assert list(compile_.records) == sorted(compile_.records)


def test_records_without_a_rank_where_one_pid_has_two(tmp_path: Path) -> None:
    """They belong to the process that has the compile; what neither has, to the first."""
    both = mt.compiled(0, 0, rank=0) + mt.compiled(1, 0, rank=0) + mt.compiled(0, 0, rank=1) + mt.compiled(2, 0, rank=1)
    own = b"".join(mt.artifact("mine", "x", frame=frame, compile=0, attempt=0) for frame in (0, 1, 2, 3))
    run = built(tmp_path, both, own)
    found = [str(a.ref) for c in run.compiles() for a in artifacts_of(c) if a.name == "mine"]
    assert found == ["0:0/0:mine", "0:1/0:mine", "0:3/0:mine", "1:2/0:mine"]


def test_a_backward_compiled_later_belongs_to_its_forward(tmp_path: Path) -> None:
    late = lowering(0, "backward", **IDS) + mt.metrics("bwd_compilation_metrics", fields={"duration_us": 1_000_000}, **IDS)
    run = built(tmp_path, mt.compiled(0, 0), mt.compiled(1, 0), mt.compiled(2, 0), late)
    compile_ = compile_at(run, "0/0")
    assert len(list(run.compiles())) == 3
    assert compile_.facts.has_backward
    assert (compile_.duration_s, compile_.backward_s) == (1.25, 1.0)


def test_nan_and_absurd_numbers_in_metrics(tmp_path: Path) -> None:
    odd = {"duration_us": float("nan"), "entire_frame_compile_time_s": 10**400}
    odd |= {"start_time_us": 10**400, "start_time": float("inf")}
    facts = compile_at(built(tmp_path, mt.metrics(fields=odd, frame=0, compile=0)), "0/0").all_facts
    assert (facts.duration_s, facts.start_at_us) == (None, None)


def test_facts_do_not_depend_on_how_the_log_is_cut_into_batches() -> None:
    path = str(next((TRACES / "torch-2.13" / "breaks").iterdir()))
    found = discover([path])
    whole = open_run(found)
    run = Run(found)
    (scanner,) = run.scanners()
    deltas = []
    while not run.finished:
        delta = run.apply(0, scanner.step(5000))
        deltas.append(delta)
        assert all(isinstance(compile_.facts, SharedFacts) for compile_ in delta.compiles)
    assert len(deltas) > 50
    assert run.tally == pytest.approx(whole.tally)
    assert [(str(c.ref), c.status, c.facts) for c in run.compiles()] == [(str(c.ref), c.status, c.facts) for c in whole.compiles()]
    assert run.version == len(deltas)


def test_a_thousand_ranks_are_sorted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(30):
        mt.write(tmp_path, mt.compiled(rank=rank, pid=rank + 1), f"{rank}.log")
    calls = []
    real_arrange = Run._arrange
    monkeypatch.setattr(Run, "_arrange", lambda self: (calls.append(1), real_arrange(self))[1])
    run = open_run(discover([str(tmp_path)]))
    for _ in range(5):
        assert [rank.number for rank in run.ranks] == list(range(30))
        assert run.tally.compiles == 30
    assert len(calls) == 1


# addresses

numbers = st.integers(0, 10**12)
epochs = st.integers(0, 10**6)
odd_names = [
    "torch._functorch.config", "a::b:3", "a#1", "%41", "[x]", " ", "\x1b[31m", "a\nb", "model__0_forward_1", "0/1", "x~2", "a_1",
]  # fmt: skip
names = st.one_of(st.text(min_size=1, max_size=30), st.sampled_from(odd_names))
unnamed = st.just("")
ids = st.one_of(
    st.just(NO_ID),
    st.builds(CompileId, st.none(), numbers, numbers, epochs, unnamed),
    st.builds(CompileId, numbers, numbers, numbers, epochs, unnamed),
    st.builds(CompileId, numbers, st.none(), st.none(), epochs, unnamed),
    st.builds(CompileId, st.none(), numbers, st.none(), epochs, unnamed),
    st.builds(CompileId, st.none(), st.none(), numbers, epochs, unnamed),
    st.builds(CompileId, numbers, numbers, st.none(), epochs, unnamed),
    st.builds(CompileId, numbers, st.none(), numbers, epochs, unnamed),
    st.builds(CompileId, st.none(), st.none(), st.none(), epochs, names),
)


@st.composite
def refs(draw: st.DrawFn) -> Ref:
    rank = draw(st.one_of(st.none(), st.just(NORANK), numbers))
    process = draw(st.one_of(st.none(), st.integers(1, 999))) if rank is not None else None
    id_ = draw(st.one_of(st.none(), ids)) if rank is not None else draw(ids)
    if id_ is None:
        return Ref(rank, process)
    plain = id_.autograd is None and id_.frame is not None and id_.compile is None
    bare = draw(st.booleans()) if plain else False
    if plain and not bare:
        return Ref(rank, process, id_)
    artifact = draw(st.one_of(st.none(), names))
    n = draw(st.one_of(st.none(), st.integers(1, 10**6))) if artifact is not None else None
    attempt = None if id_.name else draw(st.one_of(st.none(), st.integers(0, 99)))
    return Ref(rank, process, id_, attempt, artifact, n, bare=bare)


@settings(deadline=None, derandomize=True, max_examples=500)
@given(refs())
def test_addresses_survive_a_round_trip(ref: Ref) -> None:
    assert parse_ref(str(ref)) == ref
    assert str(parse_ref(str(ref))) == str(ref)
    assert parse_ref(f"  {ref} ") == ref
    viewed = ref.at("records")
    assert parse_ref(str(viewed)) == viewed
    assert sanitize(str(ref)) == str(ref)
    assert len(str(ref).split()) == 1


@settings(deadline=None, derandomize=True, max_examples=500)
@given(st.text(max_size=40))
def test_any_text_is_an_address_or_a_bad_one(text: str) -> None:
    try:
        ref = parse_ref(text)
    except BadAddress as bad:
        assert "not an address" in str(bad)
    else:
        assert parse_ref(str(ref)) == ref


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("[0/1]", "0/1"), ("[!0/1/0]", "a0/1/0"), ("!0", "a0"), ("[-/-]", "none"), ("3:[0/1_1]", "3:0/1_1"),
        ("[0/1]:x#2", "0/1:x#2"), ("norank.2:none", "norank.2:none"), ("[3/-]", "3/-"), ("3/", "3/"), ("2.1:", "2.1:"), ("", ""),
        ("+model__0_forward_1.0", "+model__0_forward_1.0"), ("0:+a.1:ir_pre_fusion", "0:+a.1:ir_pre_fusion"), ("+%61~2", "+a~2"),
    ],
)  # fmt: skip
def test_spellings(text: str, plain: str) -> None:
    assert str(parse_ref(text)) == plain


BAD = [
    "x", "0", "0/1/2", "0/1:", "0/1#2", "3:#2", "3:x", ":x", "1:2:3", "0/1_", "9" * 5000 + "/0", "0/0:x#" + "9" * 40, "+", "+a/b",
    "+a:", "+a b", "[+a]", "model__0_forward_1",
]  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(BadAddress):
        parse_ref(text)


def all_nodes(run: Run) -> list[Rank | Process | Frame | Compile | Artifact]:
    nodes: list[Rank | Process | Frame | Compile | Artifact] = [*run.ranks, *run.processes()]
    for compile_ in run.compiles():
        nodes += [compile_, *artifacts_of(compile_)]
        if compile_.frame.key.frame is not None:
            nodes.append(compile_.frame)
    return nodes


@pytest.mark.parametrize("name", [f"torch-2.13/{name}" for name in NAMES] + ["tlparse/multi_rank_logs", "tlparse", "."])
def test_every_node_is_found_at_its_address(name: str) -> None:
    run = trace(name)
    for node in all_nodes(run):
        found = run.resolve(str(node.ref))
        if isinstance(node, Artifact):
            assert found == node
        elif isinstance(node, Process) and node.alone:
            assert isinstance(found, Rank)
            assert found.processes == [node]
        else:
            assert found is node


def failure(run: Run, address: str) -> str:
    with pytest.raises(BadAddress) as caught:
        run.resolve(address)
    return str(caught.value)


def test_addresses_that_lead_nowhere_list_near_ones(tmp_path: Path) -> None:
    run = trace("torch-2.13/recompiles")
    assert failure(run, "0/9") == "unknown address: '0/9'; near it: 0/0, 0/1, 0/2, 0/3, 0/4, none"
    assert "near it: 0/0" in failure(run, "7/")
    misspelt = "unknown address: '0/1:inductor_outptu_code'; artifacts of 0/1: inductor_output_code"
    assert failure(run, "0/1:inductor_outptu_code").startswith(misspelt)
    assert "artifacts of 0/1: " in failure(run, "0/1:zzzzzzzzzz")
    assert failure(run, "0/4:inductor_output_code#3") == (
        "unknown address: '0/4:inductor_output_code#3'; "
        "use 0/4:inductor_output_code#1 (forward), 0/4:inductor_output_code#2 (backward)"
    )
    assert failure(run, "5:0/1") == "unknown rank: '5'; ranks of this run: norank"
    assert "unknown process: 'norank.2:'; processes of no rank: norank:" in failure(run, "norank.2:0/0")
    assert "no records with a compile id" in failure(Run(discover([str(TRACES / "torch-2.13" / "aoti")])), "0/0")
    assert failure(built(tmp_path, mt.compiled(3, 0)), "none") == "unknown address: 'none'; near it: 3/0"


def test_unclear_addresses_list_their_candidates() -> None:
    run = trace("torch-2.13/ddp")
    assert failure(run, "4/0") == "ambiguous address: '4/0'; use 0:4/0 (rank 0), 1:4/0 (rank 1)"
    assert failure(run, "0/") == "ambiguous address: '0/'; use 0:0/ (rank 0), 1:0/ (rank 1)"
    graphs = "use 0:4/0:dynamo_output_graph (rank 0), 1:4/0:dynamo_output_graph (rank 1)"
    assert failure(run, "4/0:dynamo_output_graph").endswith(graphs)
    assert run.resolve("0/1") is run.resolve("1:0/1"), "only one rank has it"
    unclear = failure(trace("torch-2.13/train"), "0/0:inductor_output_code")
    assert unclear.endswith("use 0/0:inductor_output_code#1 (forward), 0/0:inductor_output_code#2 (backward)")
