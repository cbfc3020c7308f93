"""The page and the command `runtime`: real traces with a profile of the same run, and what other pages say of run time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import real
from pages import page
from results import result_in
from viewed import lead_somewhere, text

from tltui.cli import main
from tltui.inputs import profile_reader
from tltui.model.follow import open_run
from tltui.model.ref import split_line
from tltui.model.run import Run
from tltui.questions.runtime.costs import Costs, costs_of, self_us
from tltui.questions.runtime.profile_results import Runtime, line_times, rank_kernels
from tltui.questions.runtime.profile_sums import first_rows, runtimes_of
from tltui.sources.discover import discover
from tltui.text.formatting import cells, micros

PROFILED = real.TRACES / "profiler"
NAMES = ("mlp", "broken", "cache_hit", "recompiles", "threads", "ranks", "scheduled", "llama", "plain", "autograd", "waits",
         "compiles_inside")  # fmt: skip


@cache
def profiled(name: str) -> Run:
    """A trace with its profiles read; shared by all tests."""
    run = real.fresh(PROFILED / name)
    run.profiles.read()
    return run


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    yield


def told(*arguments: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> tuple[str, str]:
    assert main(list(arguments)) == code
    return capsys.readouterr()


def of(name: str, *arguments: str, capsys: pytest.CaptureFixture[str]) -> Any:
    return result_in(told("runtime", str(PROFILED / name), *arguments, "--json", capsys=capsys)[0])


# numbers


@pytest.mark.parametrize(
    ("us", "said"),
    [(0, "0 µs"), (0.01, "<0.1 µs"), (4.24, "4.2 µs"), (690.2, "690 µs"), (999.4, "999 µs"), (999.6, "1.00 ms"), (1_820, "1.82 ms"),
     (41_230, "41.2 ms"), (999_600, "1.00 s"), (3_200_000, "3.20 s"), (125e6, "125 s"), (float("inf"), "?")],
)  # fmt: skip
def test_micros(us: float, said: str) -> None:
    assert micros(us) == said


# the facts of mlp and broken, as their README has them


def test_mlp_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = of("mlp", capsys=capsys)
    assert (found["rank"], found["fallback_count"], found["fallbacks"]) == (None, 0, [])
    (compile_,) = found["compiles"]
    assert (compile_["ref"], compile_["regions"], compile_["lookups"]) == ("0/0", 4, 4)
    assert compile_["region_us"] == pytest.approx(23_685.1, abs=0.1)
    assert compile_["lookup_us"] == pytest.approx(572.6, abs=0.1)
    forward, backward = compile_["graphs"]
    assert (forward["unit"], forward["key"]) == ("forward", "fxqmjxuincgl5locvtnknhffr6ncqrfynfq25zc3wquzy2waccqz")
    assert (backward["unit"], backward["key"]) == ("backward", "faf3dtq6sylim6uybcceuukkwfwsaezde7ob6s4rkznivz7xbz5a")
    assert (forward["calls"], forward["total_us"]) == (4, pytest.approx(17_245.7, abs=0.1))
    assert (backward["calls"], backward["total_us"]) == (4, pytest.approx(43_294.7, abs=0.1))
    assert [len(graph["kernels"]) for graph in (forward, backward)] == [27, 39]
    slowest = max(forward["kernels"], key=lambda kernel: kernel["total_us"])
    assert (slowest["name"], slowest["handle"], slowest["total_us"]) == ("extern_kernels.mm", 12, pytest.approx(4_891.3, abs=0.1))
    twice = [k for g in (forward, backward) for k in g["kernels"] if k["name"] == "cpp_fused_clone_transpose_view_3"]
    assert [(kernel["call_number"], kernel["calls"]) for kernel in twice] == [(0, 4), (1, 4)] * 2


def test_broken_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = of("broken", capsys=capsys)
    regions = {c["ref"]: (c["regions"], round(c["region_us"], 1)) for c in found["compiles"]}
    assert regions["0/0"] == (4, 31_691.4)
    assert regions["1/0"] == (4, 22_141.7)
    assert {ref: calls for ref, (calls, _) in regions.items()} == {"0/0": 4, "1/0": 4, "2/0": 4, "2/1": 4}
    assert sum(c["lookups"] for c in found["compiles"]) + found["fallback_count"] == 20
    assert found["fallback_count"] == len(found["fallbacks"]) == 4
    assert found["fallbacks"][0]["ops"] == ["aten::sin", "aten::cos", "aten::add", "aten::softmax"]
    inside = {item["op"]: (item["calls"], round(item["total_us"], 1)) for item in found["eager"] if item["inside_ref"] == "0/0"}
    assert inside == {"aten::sort": (4, 3_721.4), "aten::cumsum": (4, 286.7)}
    graphs = {c["ref"]: round(c["graphs"][0]["total_us"], 1) for c in found["compiles"]}
    assert graphs == {"0/0": 4_129.7, "1/0": 15_414.4, "2/0": 17_043.1, "2/1": 1_093.5}
    assert all(graph["key"] is None for c in found["compiles"] for graph in c["graphs"])


def test_json_of_a_part_has_what_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = of("broken", "0/0", capsys=capsys)
    assert [c["ref"] for c in found["compiles"]] == ["0/0"]
    assert {item["op"] for item in found["eager"]} == {"aten::sort", "aten::cumsum"}
    assert found["fallbacks"] == [] and found["fallback_count"] == 0


def test_json_of_several_profiles(capsys: pytest.CaptureFixture[str]) -> None:
    found = of("ranks", capsys=capsys)
    assert [runtime["rank"] for runtime in found["runtimes"]] == [0, 1]
    assert [c["ref"] for runtime in found["runtimes"] for c in runtime["compiles"]] == ["0:0/0", "1:0/0"]


# the page


def test_mlp_page() -> None:
    said = text(page(profiled("mlp"), "@runtime", 80))
    lines = said.splitlines()
    assert lines[0] == "Runtime"
    assert lines[1].startswith("one of 4 calls of extern_kernels.mm:5 in the backward graph of [0/0] took 6.56")
    assert "the median is 458 µs, from models/mlp.py:26" in " ".join(lines[1:4]).replace("  ", "").replace("\n", " ")
    assert "4 steps of 21.3 ms" in said and "no steps" not in said
    assert "Where a step goes: 21.4 ms" in said
    assert "guards 143 µs per call (torch estimated 5.81 ms)" in said
    assert "27 kernels by time" in said and "39 kernels by time" in said
    (row,) = [line for line in lines if "extern_kernels.mm:12" in line]
    assert row.split()[:8] == ["1.22", "ms", "6%", "1.22", "ms", "216", "µs", "extern_kernels.mm:12"]
    assert "8 lines, each with the full time of its kernels (do not add them up)" in said
    assert "Fell back" not in said and "breaks at" not in said


def test_broken_page() -> None:
    said = text(page(profiled("broken"), "@runtime", 80))
    assert said.splitlines()[1].startswith("4 calls of limited [2/2] fell back to eager mode")
    assert "[0/0] breaks at models/broken.py:20: 1.00 ms eager per step, 5% of the time" in said
    assert "continues in [1/0], guards take 43.8 µs per step" in said
    assert "Fell back to eager mode: 4 calls" in said
    assert "ran aten::sin, aten::cos, aten::add, aten::softmax" in said
    assert "no cache key: matched by compile and kernels" in said


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [40, 52, 80, 120, 200])
def test_a_page_fits(name: str, width: int) -> None:
    document = page(profiled(name), "@runtime", width)
    assert [line for line in document.text() if cells(line) > width] == []
    if width == 80:
        lead_somewhere(profiled(name), document)


@pytest.mark.parametrize("name", NAMES)
def test_shares_are_the_whole(name: str) -> None:
    for found in runtimes_of(profiled(name)):
        assert isinstance(found, Runtime)
        share = found.share
        parts = (share.kernels_us, share.wrapper_us, share.guards_us, share.overhead_us, share.eager_us, share.collectives_us,
                 share.idle_us)  # fmt: skip
        assert sum(parts) == pytest.approx(share.total_us, rel=0.01)
        assert min(parts) >= 0


def test_a_kernel_leads_to_its_call() -> None:
    run = profiled("mlp")
    document = page(run, "@runtime", 120)
    row = next(n for n in range(len(document)) if "extern_kernels.mm:12" in document.line(n).text and n > 5)
    (target,) = [link.target for link in document.line(row).links if "inductor_output_code" in link.target]
    ref, number = split_line(target)
    assert number is not None and "extern_kernels.mm(" in list(page(run, ref).text())[number - 1]


@pytest.mark.parametrize(("sort", "first"), [("time", "extern_kernels.mm:12"), ("code", "cpp_fused_native_layer_norm_0:1"),
                                             ("name", "cpp_fused__"), ("median", "extern_kernels.mm:22"),
                                             ("line", "extern_kernels.mm:2 ")])  # fmt: skip
def test_sorted(sort: str, first: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    lines = told("runtime", str(PROFILED / "mlp"), "--sort", sort, capsys=capsys)[0].splitlines()
    at = next(n for n, line in enumerate(lines) if "27 kernels" in line)
    assert first in lines[at + 2]


def test_without_cpp_kernels_it_is_said() -> None:
    said = text(page(profiled("plain"), "@runtime", 120))
    assert "1 of 3 kernels of its code is not in the profile" in said
    assert "enable_kernel_profile = True" in said
    assert "launch-bound" not in said, "the time of kernels that are not seen is not between kernels"
    assert "no steps marked" in said


def test_another_backend_is_no_graph_break() -> None:
    said = " ".join(text(page(profiled("other_backend"), "@runtime", 120)).split())
    assert "no Inductor graph ran: the compile's backend runs operators one by one, like eager and aot_eager" in said
    assert "why these are not in its graph" not in said


def covered(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def in_collectives(path: Path) -> float:
    """µs in which a collective is open on any thread, and no thread is in an event of torch besides."""
    whole = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    events = [event for event in whole if event["cat"] in ("cpu_op", "user_annotation")]
    opened = [e for e in events if e["name"].startswith(("gloo:", "c10d::"))]
    engine = "autograd::engine::evaluate_function: CompiledFunction"
    starts = ("aten::", "TorchDynamo", "Torch-Compiled", "CompiledFunction", engine)
    busy = [e for e in events if e["name"].startswith(starts)]
    spans = [covered([(e["ts"], e["ts"] + e["dur"]) for e in own]) for own in (opened, busy)]
    both = sum(max(min(b, d) - max(a, c), 0.0) for a, b in spans[0] for c, d in spans[1])
    return sum(b - a for a, b in spans[0]) - both


@pytest.mark.parametrize("rank", [0, 1])
def test_collectives_are_named(rank: int) -> None:
    """Rank 1 sleeps 20 ms in each step: rank 0 is in its collectives meanwhile, and not in other Python."""
    (found,) = [one for one in runtimes_of(profiled("waits")) if isinstance(one, Runtime) and one.rank == rank]
    wanted = in_collectives(PROFILED / "waits" / f"profile_rank{rank}.json")
    assert found.share.collectives_us == pytest.approx(wanted, rel=0.01)
    said = " ".join(text(page(profiled("waits"), f"@runtime:{rank}:", 120)).split())
    assert ("of the time is in collectives while no thread computes" in said) and "most in gloo:all_reduce (4 calls)" in said
    if rank == 0:
        assert found.share.collectives_us > 0.8 * found.share.total_us and "no torch code ran" not in said
    assert not any(item.op.startswith("c10d::") for item in found.eager)


def test_the_rank_that_sleeps_was_waited_for() -> None:
    said = " ".join(text(page(profiled("waits"), "@runtime", 120)).split())
    assert "the others waited for rank 1: 4 of 4 collectives are shortest on that rank" in said
    assert "waited for" not in text(page(profiled("ranks"), "@runtime", 120))


def test_compiling_in_a_region_is_not_its_run_time() -> None:
    """`inner` is compiled, for seconds, while `[0/0]` runs."""
    (found,) = [one for one in runtimes_of(profiled("compiles_inside")) if isinstance(one, Runtime)]
    events = json.loads((PROFILED / "compiles_inside" / "profile.json").read_text())["traceEvents"]
    around = max(event["dur"] for event in events if event.get("name") == "Torch-Compiled Region: 0/0")
    own = next(compile_ for compile_ in found.compiles if compile_.ref == "0/0")
    assert around > 5e6 and own.regions.calls == 4
    assert own.regions.us < 20_000 and own.region_self_us < own.regions.us
    assert sum(self_us(compile_) for compile_ in found.compiles) < 0.01 * found.share.total_us


def test_several_ranks() -> None:
    run = profiled("ranks")
    said = text(page(run, "@runtime", 80))
    assert "2 profiles of ranks 0, 1" in said
    assert "Kernels across ranks" in said and "extern_kernels.addmm:1" in said
    own = text(page(run, "@runtime:1:", 80))
    assert "profile_rank1.json · rank 1" in own and "[1:0/0]" in own and "[0:0/0]" not in own
    kernels = rank_kernels([found for found in runtimes_of(run) if isinstance(found, Runtime)])
    assert all(item.slowest == 1 for item in kernels[:3]), "rank 1 has twice as many rows"
    assert all(item.lost_us >= 0 for item in kernels)


def test_several_profiles_of_one_process() -> None:
    said = text(page(profiled("scheduled"), "@runtime", 80))
    assert said.count("3 steps of") == 2
    assert "ranks" not in said


# flame and Perfetto


def test_flame(capsys: pytest.CaptureFixture[str]) -> None:
    said = told("runtime", str(PROFILED / "broken"), "--flame", capsys=capsys)[0]
    lines = said.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("One step, round 1"))
    names = [line[2:35].rstrip() for line in lines[at + 1 :]]
    outer, inner = names.index("[0/0]"), names.index(" [1/0]")
    assert outer < names.index(" aten::sort") < inner < names.index("  graph", inner)
    assert "Compiles" not in said


def test_flame_of_kernels_is_in_graphs(capsys: pytest.CaptureFixture[str]) -> None:
    said = told("runtime", str(PROFILED / "mlp"), "--flame", capsys=capsys)[0]
    assert "    graph fxqmjxui" in said and "autograd backward" in said


def test_perfetto_has_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "both.json"
    trace, profile = PROFILED / "mlp", PROFILED / "mlp" / "profile.json"
    said = told("timing", str(trace), "--profile", str(profile), "--perfetto", str(target), capsys=capsys)[0]
    assert "run-time events" in said
    events = json.loads(target.read_text())["traceEvents"]
    ran = [event for event in events if event["ph"] == "X"]
    kernels = [event for event in ran if event["cat"] == "kernel"]
    assert len(kernels) == (27 + 39) * 4
    assert {event["pid"] for event in ran} == {event["pid"] for event in events if event["ph"] == "B"}
    compiled = max(event["ts"] for event in events if event["ph"] == "E")
    assert 0 < min(event["ts"] for event in ran) - compiled < 60e6, "the profile began within a minute after compiling"
    graphs = [event for event in ran if event["cat"] == "graph"]
    for kernel in kernels:
        assert any(g["ts"] - 1 <= kernel["ts"] and kernel["ts"] + kernel["dur"] <= g["ts"] + g["dur"] + 1 for g in graphs)


def test_perfetto_without_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "compile.json"
    assert "ran" not in told("timing", str(PROFILED / "mlp"), "--perfetto", str(target), capsys=capsys)[0]
    assert all(event["ph"] != "X" for event in json.loads(target.read_text())["traceEvents"])


# costs


def costs(name: str) -> Costs:
    found = costs_of(profiled(name))
    assert found is not None
    return found


def test_costs() -> None:
    found = costs("mlp")
    assert found.per_step and found.of == "per step" and found.refs == ("0/0",)
    kernels = found.of_kernels("0/0", "forward")
    assert len(kernels) == 27 and kernels["extern_kernels.mm:12"].time.us == pytest.approx(4_891.3, abs=0.1)
    lines = found.of_lines("0/0", "forward")
    dearest = max(lines, key=lambda line: lines[line])
    assert dearest.endswith("mlp.py:26") and lines[dearest] == pytest.approx(1_450, rel=0.01)
    nodes = found.of_nodes("0/0", "forward")
    assert max(nodes.values()) == pytest.approx(4_891.3 / 4, abs=0.1)
    assert found.of_nodes("0/0", "nothing") == {} and found.of_compile("9/9") is None and found.us_of("9/9") is None
    whole = found.us_of("0/0")
    assert whole == pytest.approx((23_685.1 + 572.6 + 43_294.7) / 4, rel=0.001), "its region, its guards, and its backward"
    hottest = max(k.time.us / 4 for unit in ("forward", "backward") for k in found.of_kernels("0/0", unit).values())
    assert found.heat(hottest) == 1 and found.heat(0) == 0 and found.heat(hottest / 2) == pytest.approx(0.5)


def test_costs_of_nested_compiles_are_not_counted_twice() -> None:
    found = costs("broken")
    own = [us for ref in found.refs if (us := found.us_of(ref)) is not None]
    assert sum(own) * 4 <= sum(step.duration_us for step in found.runtimes[0].steps)


def test_without_steps_costs_are_of_the_window() -> None:
    found = costs("plain")
    assert not found.per_step and found.of == "in total"


def test_a_line_has_all_of_its_kernels() -> None:
    (found,) = runtimes_of(profiled("mlp"))
    assert isinstance(found, Runtime)
    forward = found.compiles[0].graphs[0]
    for line in line_times([forward]):
        own = [kernel for kernel in forward.kernels if line.name in kernel.lines]
        assert line.us == pytest.approx(sum(kernel.time.us for kernel in own)) and line.calls == sum(k.time.calls for k in own)
        assert line.alone_us == pytest.approx(sum(kernel.time.us for kernel in own if kernel.lines == (line.name,)))


# what other pages say


def test_problems_say_what_a_break_costs() -> None:
    said = text(page(profiled("broken"), "@problems", 100))
    assert "this break costs 5% of a step: 1.00 ms eager, 43.8 µs for guards after the break" in said
    assert "4 calls ran in eager mode while the profiler ran" in said


def test_recompiles_say_how_often_they_ran() -> None:
    said = text(page(profiled("broken"), "@recompiles", 100))
    assert "this recompile cost 11.1 s of compile time and was called 4 times while the profiler ran" in said


def test_a_compile_says_what_it_takes() -> None:
    said = text(page(profiled("broken"), "1/0", 100))
    assert "5.58 ms per step, 28% of a step, 4 calls; guards 43.8 µs per call" in said


def test_start_here_has_what_costs_most() -> None:
    said = text(page(profiled("broken"), "", 120))
    assert "[0/0]  breaks at models/broken.py:20: 1.00 ms eager per step, 5% of the time" in said


def test_ls_has_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    trace = PROFILED / "broken"
    said = told("ls", str(trace), "--profile", str(trace / "profile.json"), capsys=capsys)[0].splitlines()
    assert "time per step" in said[0]
    (row,) = [line for line in said if "[1/0]" in line]
    assert row.split()[-4:] == ["5.58", "ms", "10.9", "s"]


@pytest.mark.parametrize("ref", ["", "@problems", "@recompiles", "0/0"])
def test_without_a_profile_nothing_is_said_of_run_time(ref: str) -> None:
    said = text(page(real.opened(PROFILED / "broken"), ref, 100))
    assert " per step" not in said and "the profiler" not in said and "Run time" not in said


# no profile, one of another run


def test_without_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(next((PROFILED / "mlp").glob("*.log")), tmp_path)
    said = told("runtime", str(tmp_path), capsys=capsys)[0]
    assert "No profile, so run times are unknown" in said
    empty = result_in(told("runtime", str(tmp_path), "--json", capsys=capsys)[0])
    assert empty == {"runtimes": [], "refused": []}


def test_a_profile_that_is_not_read_yet() -> None:
    run = open_run(discover([str(PROFILED / "mlp")]))
    shown = text(page(run, "@runtime", 100))
    assert "profile.json (237 KB) is not read yet. The run times appear here" in shown and "No profile" not in shown


def test_the_first_rows_of_a_profile_that_is_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_reader, "STEP", 1 << 15)
    run = open_run(discover([str(PROFILED / "mlp")]))
    steps = run.profiles.steps()
    share = [next(steps) for _ in range(3)][-1]
    reading = run.profiles.reading
    assert reading is not None and 0.2 < share < 0.9
    run.profiles.first = first = first_rows(reading)
    assert first.share == share and [row.us for row in first.rows] == sorted((row.us for row in first.rows), reverse=True)
    profile = reading.profile
    mm = [n for n in range(len(profile)) if profile.name_of(n) == "aten::mm"]
    [row] = [row for row in first.rows if row.name == "aten::mm"]
    assert row.calls == len(mm) and row.us == sum(profile.duration[n] for n in mm) / 1000
    shown = text(page(run, "@runtime", 100))
    assert f"First {share:.0%} of profile.json" in shown and "aten::mm" in shown and "ProfilerStep" not in shown
    assert "%" not in shown.partition("of profile.json")[2], "no shares before the end"
    assert all(part <= 1 for part in steps) and run.profiles.first is None and run.profiles.reading is None
    assert "First " not in text(page(run, "@runtime", 100))


def test_a_profile_of_another_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(next((PROFILED / "mlp").glob("*.log")), tmp_path)
    other = str(PROFILED / "broken" / "profile.json")
    _, why = told("runtime", str(tmp_path), "--profile", other, capsys=capsys, code=2)
    assert "not joined: it is from a different run" in why
    both = told("runtime", str(PROFILED / "mlp"), "--profile", other, capsys=capsys)[0]
    assert "does not match this trace" in both and "27 kernels by time" in both, "the other one is told"
    found = of("mlp", "--profile", other, capsys=capsys)
    assert len(found["runtimes"]) == len(found["refused"]) == 1


# bars


def check(name: str, bars: str, capsys: pytest.CaptureFixture[str], code: int) -> tuple[str, str]:
    return told("check", str(PROFILED / name), "--fail-on", bars, capsys=capsys, code=code)


def test_bars(capsys: pytest.CaptureFixture[str]) -> None:
    said, _ = check("broken", "guard_overhead=5%,eager_share=20%,fallback_calls,never_called", capsys, 1)
    assert "FAILED: 2 of 4 limits exceeded" in said
    assert "guard_overhead: 9.5%, limit 5%" in said
    assert "1.06 ms per call, before each of the 4 calls that fell back" in said
    assert "[2/2]  4 × limited: ran aten::sin, aten::cos, aten::add, aten::softmax" in said
    said, _ = check("broken", "guard_overhead=10%,eager_share=20%,wrapper_share=5%,fallback_calls=4", capsys, 0)
    assert said.startswith("passed")
    said, _ = check("broken", "eager_share=5%", capsys, 1)
    assert "breaks at" in said and "1 broken" not in said


def test_bars_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    said = told("check", str(PROFILED / "mlp"), "--fail-on", "guard_overhead=5%", "--json", capsys=capsys)[0]
    (limit,) = result_in(said)["limits"]
    assert limit["is_percent"] is True and limit["limit"] == 5 and 0 < limit["value"] < 5 and limit["page"] == "@runtime"


@pytest.mark.parametrize(("bars", "why"), [
    ("guard_overhead=5", "not a percentage from 0% to 100%: 'guard_overhead=5'\n  use guard_overhead=5%"),
    ("guard_overhead", "missing percentage: 'guard_overhead'"),
    ("eager_share=120%", "not a percentage from 0% to 100%"),
    ("break=5%", "a percentage needs + and --baseline: 'break=5%'\n  use break=2"),
    ("fallback_calls=5%", "a percentage needs + and --baseline: 'fallback_calls=5%'"),
])  # fmt: skip
def test_bad_bars(bars: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert why in check("mlp", bars, capsys, 2)[1]


def test_bars_without_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(next((PROFILED / "mlp").glob("*.log")), tmp_path)
    _, why = told("check", str(tmp_path), "--fail-on", "eager_share=20%", capsys=capsys, code=2)
    assert "eager_share: needs a profile; none was found. Add --profile FILE" in why
    other = str(PROFILED / "broken" / "profile.json")
    _, why = told("check", str(tmp_path), "--profile", other, "--fail-on", "eager_share=20%", capsys=capsys, code=2)
    assert "does not match this trace: it is from a different run" in why


def test_bars_with_a_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(PROFILED / "broken")
    said = told("check", trace, "--baseline", trace, "--fail-on", "guard_overhead=+2%,eager_share", capsys=capsys)[0]
    assert "limit 11.5%, baseline 9.5%" in said, "of a share percent are points"
    told("check", trace, "--baseline", str(PROFILED / "mlp"), "--fail-on", "guard_overhead=+2%", capsys=capsys, code=1)


def test_compiling_in_the_window_is_said_first() -> None:
    said = text(page(profiled("recompiles"), "@runtime", 100)).splitlines()
    assert "compiled while the profiler ran: 10.5 s, 100% of the time" in said[1]
    assert not any("no torch code ran" in line for line in said)


def without(profile: Path, region: str) -> str:
    """A profile in which a compile never ran: its regions, and all in them, left out."""
    whole = json.loads(profile.read_text())
    own = [event for event in whole["traceEvents"] if event.get("name") == f"Torch-Compiled Region: {region}"]
    spans = [(event["ts"], event["ts"] + event["dur"]) for event in own]
    assert spans
    events = [e for e in whole["traceEvents"] if not any(a <= e.get("ts", 0) < b for a, b in spans)]
    return json.dumps(whole | {"traceEvents": events})


def test_a_compile_that_never_ran(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(PROFILED / "broken", tmp_path / "job")
    profile = tmp_path / "job" / "profile.json"
    profile.write_text(without(profile, "2/1"))
    found = result_in(told("runtime", str(tmp_path / "job"), "--json", capsys=capsys)[0])
    assert found["never_called"] == ["2/1"] and "2/1" not in [c["ref"] for c in found["compiles"]]
    said = told("runtime", str(tmp_path / "job"), capsys=capsys)[0]
    assert "[2/1] was compiled in 11.1 s and never called while the profiler ran" in said
    assert "Compiled and never called (1)" in said
    said = told("problems", str(tmp_path / "job"), "--profile", str(profile), capsys=capsys)[0]
    assert "1 compile compiled in 11.1 s and never called: [2/1]" in said
    said = told("recompiles", str(tmp_path / "job"), "--profile", str(profile), capsys=capsys)[0]
    assert "this recompile cost 11.1 s of compile time and was never called while the profiler ran" in " ".join(said.split())
    said = told("check", str(tmp_path / "job"), "--fail-on", "never_called", capsys=capsys, code=1)[0]
    assert "[2/1]  limited, compiled in 11.06 s" in said


def test_problems_name_a_profile_of_another_run(capsys: pytest.CaptureFixture[str]) -> None:
    other = str(PROFILED / "broken" / "profile.json")
    said = told("problems", str(PROFILED / "mlp"), "--profile", other, capsys=capsys)[0]
    assert "profile.json does not match this trace: it is from a different run" in said
    for command in (("ls",), ("show", "0/0"), ("provenance", "0/0")):
        why = told(command[0], str(PROFILED / "mlp"), *command[1:], "--profile", other, capsys=capsys)[1]
        assert why.startswith("tltui: --profile ") and why.count("does not match this trace: it is from a different run") == 1
    why = told("ls", str(PROFILED / "mlp"), "--profile", str(PROFILED / "mlp" / "profile.json"), capsys=capsys)[1]
    assert why == ""


def test_names_of_a_profile_do_no_harm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(PROFILED / "broken", tmp_path / "job")
    profile = tmp_path / "job" / "profile.json"
    named = profile.read_text().replace("aten::sort", "aten::so\\u001b[31m[bold]\\nrt")
    profile.write_text(named.replace("round 1", "r\\u001b[2J1"))
    for arguments in ((), ("--flame",)):
        said = told("runtime", str(tmp_path / "job"), *arguments, capsys=capsys)[0]
        assert "\x1b" not in said and "[bold]" in said
    assert "\x1b" not in told("check", str(tmp_path / "job"), "--fail-on", "eager_share=0%", capsys=capsys, code=1)[0]


def test_a_frame(capsys: pytest.CaptureFixture[str]) -> None:
    said = told("runtime", str(PROFILED / "broken"), "--frame", "2", capsys=capsys)[0]
    assert "[2/0] limited" in said and "[2/1] limited" in said and "[0/0]" not in said
