from __future__ import annotations

from pathlib import Path

import pytest
from made_logs import Log
from real import compile_at, trace

from tltui.model.artifacts import artifacts_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, metrics_fields
from tltui.model.torch_version import torch_version
from tltui.model.torch_versions import minor_of
from tltui.questions.caches.cache_report import caches_of
from tltui.questions.overview.compile_sections import study
from tltui.questions.overview.run_summary import summarise
from tltui.questions.shapes.shape_env import SymbolValue, inputs_of, short_device, short_dtype
from tltui.questions.stacks.tracebacks import callers_of, start_stack, traceback_frames
from tltui.questions.timing.timing_events import Event, events_of, intervals_of, timing_of
from tltui.text.torch_names import is_framework


@pytest.mark.parametrize(
    ("path", "framework"),
    [
        ("/opt/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", True),
        ("/home/user/pytorch/torch/nn/modules/module.py", True),
        ("/usr/lib/python3.11/contextlib.py", True),
        ("<eval_with_key>.5", True),
        ("<frozen runpy>", True),
        ("C:\\venv\\Lib\\site-packages\\x.py", True),
        ("/home/user/.cache/vllm/torch_compile_cache/1b9c/rank_0_0/inductor_cache/ab/cab.py", True),
        ("/home/user/.cache/vllm/torch_compile_cache/1b9c/rank_0_0/backbone/computation_graph.py", True),
        ("/home/user/torch/train.py", False),
        ("/home/user/models/train.py", False),
        ("‹str#4›", False),
    ],
)
def test_framework_files(path: str, framework: bool) -> None:
    assert is_framework(path) is framework


def test_the_stack_of_a_compile() -> None:
    frames = start_stack(compile_at(trace("torch-2.13/breaks"), "1/0"))
    assert [(f.name, f.line, f.is_framework) for f in frames] == [
        ("<module>", 14, False), ("torch_dynamo_resume_in_f_at_5", 5, False),
    ]  # fmt: skip
    assert frames[0].code == "f(torch.randn(8)); inner_break(torch.randn(4))"


def test_callers_are_taken_from_a_symbol_where_the_start_has_none() -> None:
    node = compile_at(trace("torch-2.13/recompiles"), "0/3")
    assert len(start_stack(node)) == 1
    assert [f.code for f in callers_of(node)] == ["f(torch.randn(4).double(), 3)"]


def test_a_printed_traceback() -> None:
    frames = traceback_frames('  File "/a.py", line 3, in f\n    g()\n    ^^^\n  File "/b.py", line 4, in g\n')
    assert [(f.file, f.line, f.name, f.code) for f in frames] == [("/a.py", 3, "f", "g()"), ("/b.py", 4, "g", None)]


def test_a_version_that_another_compile_states(tmp_path: Path) -> None:
    """Before the first metrics are written it is the artifact that tells, of whichever compile."""
    log = Log(tmp_path / "a.log").start()
    log.artifact("torch_version", '{"pytorch_version": "2.9.1"}', frame=None)
    assert torch_version(log.compile().process) == "2.9.1"


def test_inputs_with_symbols() -> None:
    found = inputs_of(compile_at(trace("torch-2.13/recompiles"), "0/2"))
    (tensor,) = found.tensors
    assert (tensor.source, tensor.dtype, tensor.size, tensor.device) == ("L['x']", "float32", ("s77", "s27"), "cpu")
    assert tensor.hints == (SymbolValue("s77", 9), SymbolValue("s27", 3)) and not tensor.is_parameter
    assert [(s.name, s.source, s.hint) for s in found.numbers] == [("s86", "L['n']", 1)]
    assert str(found.symbols[0].range) == "[2, int_oo]" and found.symbols[0].user_frame is not None


def test_inputs_are_those_of_the_last_attempt() -> None:
    node = compile_at(trace("torch-2.13/breaks"), "0/0")
    assert len(inputs_of(node).tensors) == 1 == len(inputs_of(node, attempt=0).tensors)


def test_marked_dynamic_and_fixed() -> None:
    found = inputs_of(compile_at(trace("torch-2.13/dyn"), "0/0"))
    (symbol,) = found.symbols
    assert symbol.specialized == 5 and symbol.specialized_reason == "range_refined_to_singleton"
    assert found.tensors[0].dynamic == (0,)


def test_parameters() -> None:
    found = inputs_of(compile_at(trace("torch-2.13/ca"), "0/0"))
    assert sum(tensor.is_parameter for tensor in found.tensors) == 4
    assert all(tensor.requires_grad and tensor.storage_bytes for tensor in found.tensors if tensor.is_parameter)


def test_odd_descriptions_do_not_raise(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start()
    log.add("describe_tensor", {"id": 0, "describer_id": 0, "size": 3, "stride": "x", "dtype": 7, "device": None})
    log.add("describe_source", {"id": 0, "describer_id": 0, "source": "L['x']"})
    log.add("describe_tensor", {"id": [1], "describer_id": {}, "size": [None, "s0", [2]]})
    log.add("describe_source", {"id": [1], "describer_id": {}, "source": "L['y']"})
    log.add("describe_source", {"source": 3}).add("describe_storage", {"size": "big"}).add("describe_tensor", {})
    log.add("create_symbol", {"symbol": None}).add("create_symbol", {"symbol": "s0", "user_stack": 3, "vr": []})
    found = inputs_of(log.compile())
    assert [t.source for t in found.tensors] == ["L['x']", "L['y']"]
    assert found.tensors[0].size is None and found.tensors[0].dtype == "?" and found.tensors[0].device == "?"
    assert found.tensors[1].size == ("None", "s0", "[2]")
    assert [s.name for s in found.symbols] == ["s0"] and found.symbols[0].unbacked


def test_a_run_began_with_its_first_compile_whatever_is_said_outside_of_one(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().metrics(start_time_us=1_000, duration_us=500_000)
    log.metrics(frame=None, start_time_us=5, duration_us=9_000_000)
    found = summarise(log.open().processes())
    assert (found.start_at_us, found.end_at_us) == (1_000, 501_000)


def test_values_of_symbols_are_kept_short(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().add("create_symbol", {"symbol": "s0", "source": "L['x']", "val": "9" * 100, "vr": "?"})
    log.add("symbolic_shape_specialization", {"symbol": "s0", "sources": ["L['x']"], "value": "8" * 100})
    (symbol,) = inputs_of(log.compile()).symbols
    assert (symbol.hint, symbol.specialized) == ("9" * 80, "8" * 80)


def test_short_names() -> None:
    assert short_dtype("torch.bfloat16") == "bfloat16"
    assert short_device("device(type='cuda', index=3)") == "cuda:3"
    assert short_device("device(type='meta')") == "meta"


def events(*items: tuple[str, str, float]) -> list[Event]:
    return [Event(name, phase, at * 1e6, {}) for name, phase, at in items]


def test_an_end_closes_the_nearest_begin_of_its_name() -> None:
    begins = events(("a", "B", 0), ("a", "B", 1), ("b", "B", 2))
    pairs = intervals_of(begins + events(("a", "E", 3), ("b", "E", 4), ("a", "E", 5)))
    assert [(i.name, i.start / 1e6, (i.end or 0) / 1e6) for i in pairs] == [("a", 0, 5), ("a", 1, 3), ("b", 2, 4)]


def test_an_end_without_a_begin_is_dropped() -> None:
    assert intervals_of(events(("a", "E", 1))) == []


def test_phases_do_not_count_overlaps_twice() -> None:
    found = timing_of(events(
        ("dynamo", "B", 0), ("backend_compile", "B", 1), ("create_aot_dispatcher_function", "B", 1),
        ("inductor_compile", "B", 2), ("compile_file", "B", 3), ("compile_file", "B", 4), ("compile_file", "E", 5),
        ("compile_file", "E", 6), ("inductor_compile", "E", 7), ("create_aot_dispatcher_function", "E", 8),
        ("backend_compile", "E", 8), ("build_guards", "B", 8), ("build_guards", "E", 9), ("dynamo", "E", 10),
    ), [])  # fmt: skip
    assert [(p.name, p.self_s) for p in found.phases] == [
        ("dynamo", 2.0), ("aot autograd", 2.0), ("inductor", 2.0), ("kernels", 3.0), ("guards", 1.0),
    ]  # fmt: skip
    assert found.seconds == 10 and found.open == () and found.source == "events"


def test_a_later_backward_is_apart() -> None:
    found = timing_of(events(
        ("dynamo", "B", 0), ("dynamo", "E", 1), ("entire_backward_compile", "B", 5), ("inductor_compile", "B", 6),
        ("inductor_compile", "E", 8), ("entire_backward_compile", "E", 9),
    ), [])  # fmt: skip
    assert found.seconds == 1 and found.backward_seconds == 4
    assert [(p.name, p.self_s) for p in found.backward] == [("inductor", 2.0), ("other", 2.0)]


def test_what_is_still_open() -> None:
    found = timing_of(events(("dynamo", "B", 0), ("backend_compile", "B", 2), ("x", "B", 3), ("x", "E", 7)), [])
    assert [(item.name, item.duration_s) for item in found.open] == [("dynamo", 7.0), ("backend_compile", 5.0)]
    assert found.seconds == 7


def test_real_phases_add_up_to_the_duration() -> None:
    for name, ref in (("torch-2.13/breaks", "0/0"), ("torch-2.13/train", "0/0"), ("torch-2.13/cache_hit", "0/0")):
        node = compile_at(trace(name), ref)
        found = timing_of(events_of(node), metrics_fields(node))
        facts = node.all_facts
        assert facts.duration_s is not None
        assert found.seconds == pytest.approx(facts.duration_s - (facts.backward_s or 0), rel=0.05, abs=0.05)


def test_metrics_are_the_fallback_for_time() -> None:
    node = compile_at(trace("tlparse/artifacts.log"), "0/0")
    found = timing_of(events_of(node), metrics_fields(node))
    assert found.source == "metrics" and found.seconds == pytest.approx(8.9038, abs=0.001)
    assert [phase.name for phase in found.phases] == ["dynamo", "aot autograd", "inductor"]


@pytest.mark.parametrize("fields", [{}, {"triton_compile_time_us": "x"}, {"dynamo_cumulative_compile_time_us": None}])
def test_metrics_without_times(fields: dict[str, object]) -> None:
    assert timing_of([], [("compilation_metrics", fields)]).phases == ()


def test_events_of_wrong_types_are_left_out(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start()
    for payload in ("", "[]", "{", '{"name": 3, "ph": "B", "ts": 1}', '{"name": "a", "ph": "B", "ts": "1"}',
                    '{"name": "a", "ph": "B", "ts": NaN}', '{"name": "a", "ph": "i", "ts": 1, "args": 3}'):  # fmt: skip
        log.add("chromium_event", {}, payload)
    assert [(event.phase, event.args) for event in events_of(log.compile())] == [("i", {})]


def answers(node: Compile):
    return caches_of(artifacts_of(node), events_of(node), Reader(node.process.log))


def test_cache_answers() -> None:
    found = answers(compile_at(trace("torch-2.13/cache_hit"), "0/0"))
    assert {(a.cache, a.state) for a in found} == {("FX graph cache", "hit"), ("AOTAutograd cache", "hit")}
    aot = next(a for a in found if a.cache == "AOTAutograd cache")
    assert aot.saved_s and aot.key and aot.ref
    assert {a.state for a in answers(compile_at(trace("torch-2.13/cache_miss"), "0/0"))} == {"miss"}
    assert [a.state for a in answers(compile_at(trace("torch-2.13/breaks"), "0/0"))] == ["disabled"]


def test_a_cache_record_that_is_no_json(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().artifact("fx_graph_cache_bypass", '{"key": "abc", "cut off')
    log.artifact("aotautograd_cache_miss", "[1, 2]").artifact("fx_graph_cache_hit", '{"time_saved_ms": "x", "key": 3}')
    assert [(a.state, a.key) for a in answers(log.compile())] == [("bypass", "abc"), ("miss", None), ("hit", None)]


def test_absent_artifacts_have_reasons() -> None:
    found = {a.name: a.reason for a in study(compile_at(trace("torch-2.13/errors"), "1/0")).absent}
    assert found["inductor_output_code"] == "the compile failed earlier, in the backend"
    found = {a.name: a.reason for a in study(compile_at(trace("torch-2.13/breaks"), "0/0")).absent}
    assert found["fx_graph_cache_hit"] == "caches are disabled"


def test_torch_version_of_a_log_without_metrics(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").artifact("torch_version", '{"pytorch_version": "2.14.0"}', frame=None).start()
    assert torch_version(log.compile().process) == "2.14.0"
    assert minor_of("2.14.0a0+git1") == (2, 14) and minor_of("x") is None and minor_of(None) is None
