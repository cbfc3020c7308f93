"""What the READMEs of the cases say, exactly; and that a profile of another run is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tltui.model.follow import open_run
from tltui.questions.runtime.profile_results import GraphTime, Refused, Runtime
from tltui.questions.runtime.profile_sums import runtimes_of
from tltui.sources.discover import discover, profiles_at

CASES = Path(__file__).parents[1] / "traces" / "profiler"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())
FORWARD = "fxqmjxuincgl5locvtnknhffr6ncqrfynfq25zc3wquzy2waccqz"
BACKWARD = "faf3dtq6sylim6uybcceuukkwfwsaezde7ob6s4rkznivz7xbz5a"


def joined(log: str | Path, *profiles: Path) -> tuple[Runtime | Refused, ...]:
    """What profiles say of a log; without any, those beside it."""
    where = CASES / log
    found = discover([str(path) for path in (where.glob("*.log") if profiles else [where])])
    run = open_run(found)
    if profiles:
        run.profiles.add(profiles_at(map(str, profiles)))
    run.profiles.read()
    return runtimes_of(run)


def only(log: str) -> Runtime:
    (found,) = joined(log)
    assert isinstance(found, Runtime)
    return found


def us(value: float) -> float:
    return round(value, 1)


def kernels_a_step(graph: GraphTime) -> int:
    return sum(kernel.time.calls for kernel in graph.kernels) // graph.time.calls


def test_the_facts_of_mlp() -> None:
    found = only("mlp")
    (compile_,) = found.compiles
    assert (compile_.ref, found.pid, found.never_called, found.fallbacks, found.unmatched) == ("0/0", 9234, (), (), {})
    assert (compile_.regions.calls, us(compile_.regions.us)) == (4, 23685.1)
    assert (compile_.lookups.calls, us(compile_.lookups.us), round(compile_.lookups.mean_us)) == (4, 572.6, 143)
    forward, backward = compile_.graphs
    assert (forward.unit, forward.key, forward.time.calls, us(forward.time.us)) == ("forward", FORWARD, 4, 17245.7)
    assert (backward.unit, backward.key, backward.time.calls, us(backward.time.us)) == ("backward", BACKWARD, 4, 43294.7)
    assert (kernels_a_step(forward), us(forward.kernels_us)) == (27, 14712.1)
    assert (kernels_a_step(backward), us(backward.kernels_us)) == (39, 31816.9)
    assert len([kernel for kernel in backward.kernels if kernel.name.startswith("extern_kernels.")]) == 26
    slowest = max(forward.kernels, key=lambda kernel: kernel.time.us)
    assert (slowest.key, us(slowest.time.us)) == ("extern_kernels.mm:12", 4891.3)
    twice = [k for graph in compile_.graphs for k in graph.kernels if k.name == "cpp_fused_clone_transpose_view_3"]
    assert [(kernel.nth, kernel.time.calls) for kernel in twice] == [(0, 4), (1, 4)] * 2
    assert len({(kernel.key, kernel.handle) for kernel in twice[:2]}) == 2
    assert [step.name for step in found.steps] == ["step 0", "step 1", "step 2", "step 3"]
    assert found.doubts == ()


def test_the_facts_of_broken() -> None:
    found = only("broken")
    own = {compile_.ref: compile_ for compile_ in found.compiles}
    assert list(own) == ["0/0", "1/0", "2/0", "2/1"]
    split, rest = own["0/0"], own["1/0"]
    assert (split.regions.calls, us(split.regions.us), us(split.region_self_us)) == (4, 31691.4, 9374.4)
    assert (rest.regions.calls, us(rest.regions.us)) == (4, 22141.7)
    inside = {one.op: (one.calls, us(one.total_us)) for one in found.eager if one.inside_ref == "0/0"}
    assert inside == {"aten::sort": (4, 3721.4), "aten::cumsum": (4, 286.7)}
    assert us(split.eager_us) == us(sum(one.total_us for one in found.eager if one.inside_ref == "0/0"))
    assert len(found.fallbacks) == 4
    assert {one.ops for one in found.fallbacks} == {("aten::sin", "aten::cos", "aten::add", "aten::softmax")}
    assert {one.ref for one in found.fallbacks} == {"2/2"}
    assert sum(compile_.lookups.calls for compile_ in found.compiles) + len(found.fallbacks) == 20
    assert sum(compile_.regions.calls for compile_ in found.compiles) == 16
    graphs = {ref: [(graph.key, us(graph.time.us)) for graph in compile_.graphs] for ref, compile_ in own.items()}
    assert graphs == {"0/0": [(None, 4129.7)], "1/0": [(None, 15414.4)], "2/0": [(None, 17043.1)], "2/1": [(None, 1093.5)]}
    names = {kernel.name for ref in ("2/0", "2/1") for graph in own[ref].graphs for kernel in graph.kernels}
    assert names == {"cpp_fused__softmax_add_cos_sin_0"}
    assert found.never_called == () and found.unmatched == {}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "scheduled" and list((CASES / name).glob("truth*.json"))])
def test_what_the_process_itself_counted(name: str) -> None:
    """Calls by key exactly; its times are around the call, those of the profile inside."""
    truths = [json.loads(path.read_text()) for path in sorted((CASES / name).glob("truth*.json"))]
    found = [one for one in joined(name) if isinstance(one, Runtime)]
    for truth in truths:
        assert truth["graphs"] or name == "other_backend"
        own = [one for one in found if one.pid == truth["pid"]]
        calls: dict[str, int] = {}
        spent: dict[str, float] = {}
        for graph in (graph for one in own for compile_ in one.compiles for graph in compile_.graphs):
            calls[str(graph.key)] = calls.get(str(graph.key), 0) + graph.time.calls
            spent[str(graph.key)] = spent.get(str(graph.key), 0.0) + graph.time.us
        assert calls == {key: one["calls"] for key, one in truth["graphs"].items()}
        assert all(spent[key] <= one["us"] for key, one in truth["graphs"].items())


@pytest.mark.parametrize("log", NAMES)
@pytest.mark.parametrize("profile", ["mlp", "broken", "plain", "autograd"])
def test_a_profile_of_another_run_is_refused(log: str, profile: str) -> None:
    if log == profile:
        return
    (found,) = joined(log, CASES / profile / "profile.json")
    assert isinstance(found, Refused)
    assert "different run" in found.reason or "which is not in the trace" in found.reason


def test_ids_and_the_pid_prove_nothing(tmp_path: Path) -> None:
    """A process of another run may have the same pid, and every run has a `[0/0]`: other graphs are other graphs."""
    text = (CASES / "broken" / "profile.json").read_text().replace("11727", "9234")
    (tmp_path / "profile.json").write_text(text)
    (found,) = joined("mlp", tmp_path / "profile.json")
    assert isinstance(found, Refused) and "different run" in found.reason


def test_the_same_graphs_of_another_process_are_told_with_a_doubt(tmp_path: Path) -> None:
    text = (CASES / "mlp" / "profile.json").read_text().replace("9234", "77")
    (tmp_path / "profile.json").write_text(text)
    (found,) = joined("mlp", tmp_path / "profile.json")
    assert isinstance(found, Runtime) and any("process 77" in doubt for doubt in found.doubts)


def test_each_profile_goes_to_its_rank() -> None:
    found = joined("ranks")
    assert [one.rank for one in found if isinstance(one, Runtime)] == [0, 1]
    for one in found:
        assert isinstance(one, Runtime)
        assert all(compile_.ref.startswith(f"{one.rank}:") for compile_ in one.compiles)


def test_a_profile_without_events(tmp_path: Path) -> None:
    (tmp_path / "profile.json").write_text('{"schemaVersion": 1, "traceEvents": []}')
    (found,) = joined("mlp", tmp_path / "profile.json")
    assert isinstance(found, Refused) and found.reason == "it has no events"


def test_annotations_that_are_little_of_the_time_are_no_steps(tmp_path: Path) -> None:
    events = json.loads((CASES / "mlp" / "profile.json").read_text())
    for event in events["traceEvents"]:
        if str(event.get("name")).startswith("step "):
            event["dur"] /= 4
    short = tmp_path / "profile.json"
    short.write_text(json.dumps(events))
    (found,) = joined("mlp", short)
    assert isinstance(found, Runtime) and found.steps == () and only("mlp").steps


def test_two_windows_of_one_process() -> None:
    first, second = joined("scheduled")
    assert isinstance(first, Runtime) and isinstance(second, Runtime)
    assert [step.name for step in first.steps] == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
    assert [step.name for step in second.steps] == ["ProfilerStep#7", "ProfilerStep#8", "ProfilerStep#9"]
    assert first.end_us < second.begin_us


def test_what_compiled_in_the_window_is_not_eager() -> None:
    found = only("recompiles")
    assert any("in the window" in doubt for doubt in found.doubts)
    assert {one.op for one in found.eager} == {"aten::rand"}
    assert {own.ref: own.regions.calls for own in found.compiles} == {"0/0": 2, "0/1": 2, "0/2": 2, "1/0": 4}


def test_what_is_read_once_is_kept(tmp_path: Path) -> None:
    shutil.copytree(CASES / "mlp", tmp_path / "mlp")
    run = open_run(discover([str(tmp_path / "mlp")]))
    assert runtimes_of(run) == ()  # nothing is read yet
    run.profiles.read()
    found = runtimes_of(run)
    assert runtimes_of(run) is found
    run.version += 1  # a batch that changed nothing of it
    assert runtimes_of(run) is found
