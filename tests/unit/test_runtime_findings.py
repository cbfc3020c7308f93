"""What is worth knowing of a run's time, told of results that are made here: a fact each, and what is no fact."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest
import real
from test_view_runtime import profiled

from tltui.documents.page import Page
from tltui.model.run import Run
from tltui.questions.runtime.costs import Costs, self_us
from tltui.questions.runtime.graph_sections import Figures, add_device
from tltui.questions.runtime.page import add_rank_kernels, add_ranks, add_share, add_window, sentence
from tltui.questions.runtime.profile_results import (
    Collective,
    CompileTime,
    DeviceOp,
    DeviceTime,
    EagerTime,
    Fallback,
    GraphTime,
    KernelTime,
    Runtime,
    Share,
    Spread,
    Step,
    StreamTime,
    rank_kernels,
)
from tltui.questions.runtime.profile_sums import runtimes_of
from tltui.questions.runtime.runtime_report import Fact, Finding, findings_of, waits_of
from tltui.text.document import Options


def spread(calls: int, us: float) -> Spread:
    return Spread(calls, us, us / calls, us / calls, us / calls)


def kernel(us: float, calls: int = 10) -> KernelTime:
    return KernelTime("extern_kernels.mm:1", "extern_kernels.mm", 0, 1, spread(calls, us), ("mm",), ("/home/u/model.py:7",), "cpu")


def graph(us: float, in_kernels: float, device: float = 0.0) -> GraphTime:
    return GraphTime("unknown", "f1", spread(10, us), (kernel(in_kernels),), in_kernels, us - in_kernels, 12.0, device)


def compiled(ref: str, regions: float, guards: float = 0.0, graphs: tuple[GraphTime, ...] = ()) -> CompileTime:
    return CompileTime(ref, spread(10, regions), regions, spread(10, guards), 0.0, graphs, 0.0)


def window(compiles: tuple[CompileTime, ...] = (), steps: int = 10, idle: float = 0.0, us: float = 100_000.0) -> Runtime:
    share = Share(us, us - idle, 0.0, 0.0, 0.0, 0.0, idle)
    made = tuple(Step(f"ProfilerStep#{n}", 1e15 + n * us / max(steps, 1), us / max(steps, 1)) for n in range(steps))
    return Runtime("p.json", None, 1, 1e15, 1e15 + us, made, share, compiles, (), (), (), {}, ())


def run() -> Run:
    return real.opened(real.TRACES / "profiler" / "mlp")


def facts(runtime: Runtime) -> list[Fact]:
    return [found.fact for found in findings_of(run(), runtime)]


def said(runtime: Runtime) -> list[str]:
    return [sentence(found, bool(runtime.steps)) for found in findings_of(run(), runtime)]


def test_guards() -> None:
    dear = window((compiled("0/0", 14_663, 6_900),))
    assert said(dear)[0] == "guards cost 32% of the compiled time of [0/0]: 690 µs per call"
    assert Fact.GUARDS not in facts(window((compiled("0/0", 90_000, 5_000),))), "little of the time of the compile"
    assert Fact.GUARDS not in facts(window((compiled("0/0", 900, 500),))), "little of the whole"


def test_launches_of_the_host() -> None:
    bound = window((compiled("0/0", 50_000, graphs=(graph(40_000, 15_600),)),))
    assert said(bound)[0] == "launch-bound: 61% of the time of the unknown of [0/0] is between kernels, 12.0 µs each time"
    assert Fact.LAUNCHES not in facts(window((compiled("0/0", 50_000, graphs=(graph(40_000, 30_000),)),)))


def test_launches_for_a_device() -> None:
    bound = window((compiled("0/0", 50_000, graphs=(graph(40_000, 30_000, device=8_000),)),))
    assert said(bound)[0] == "launch-bound: kernels of the unknown of [0/0] run for 20% of their launch time"
    busy = window((compiled("0/0", 50_000, graphs=(graph(40_000, 3_000, device=60_000),)),))
    assert Fact.LAUNCHES not in facts(busy), "the device is behind the host"


def test_the_dearest_comes_first() -> None:
    found = window((compiled("0/0", 20_000, 5_000), compiled("1/0", 30_000, graphs=(graph(28_000, 4_000),))), idle=50_000)
    assert facts(found) == [Fact.LAUNCHES, Fact.GUARDS, Fact.IDLE], "what can be changed, then the rest"


def test_idle_and_never_called() -> None:
    assert said(window(idle=38_000)) == ["38% of the time no torch code ran: untraced Python, data loading, waiting"]
    waits = replace(window(idle=38_000), device=device(busy=40_000))
    assert said(waits) == ["60% of the time the device ran nothing: 6.00 ms per step"], "the host's idle time is not its own"
    assert said(replace(window(idle=93_000), device=device(busy=97_000))) == []
    never = replace(window(), never_called=("0/0",))
    assert said(never) == ["[0/0] was compiled in 2 min 19 s and never called while the profiler ran"]


def test_fallbacks_are_always_told() -> None:
    found = replace(window(), fallbacks=tuple(Fallback(1e15, 1.0, ("aten::mm",), "") for _ in range(3)))
    assert said(found) == ["3 calls fell back to eager mode: no compiled version matched"]


def test_what_was_compiled_while_the_profiler_ran() -> None:
    (own,) = [compile_ for compile_ in run().compiles() if compile_.is_compile]
    assert own.start_us is not None and own.duration_s is not None
    begun = replace(window(us=60e6, idle=59e6), begin_us=own.start_us - 1e6, end_us=own.start_us + 59e6)
    found = replace(begun, compiles=(), pid=own.process.pid)
    assert said(found)[0] == "[0/0] was compiled while the profiler ran: 59.0 s, 98% of the time"
    assert Fact.IDLE not in facts(found), "it is that"


def test_what_runs_in_no_compiled_code() -> None:
    outside = (EagerTime(None, "aten::sin", 40, 30_000.0), EagerTime(None, "aten::mul", 40, 20_000.0))
    inside = EagerTime("0/0", "aten::sort", 40, 40_000.0)
    found = replace(window(), eager=(inside, *outside))
    assert said(found) == ["50% of the time operators run outside of compiled code: 5.00 ms per step, most in aten::sin"]
    assert said(replace(found, eager=(inside, replace(outside[0], total_us=19_000.0)))) == [], "little, or in regions"


def test_compiling_is_not_idle() -> None:
    page = Page("", "", Options(width=100))
    add_share(page, window(steps=0, idle=60_000), 45_000)
    rows = {line.split()[0]: line for line in page.document().text() if line.startswith("  ")}
    assert "45.0 ms" in rows["compile"] and "15.0 ms" in rows["idle"] and "torch compiled" in rows["compile"]


def test_steps_that_are_not_all_of_the_window() -> None:
    part = window()
    part = replace(part, steps=tuple(replace(step, duration_us=step.duration_us / 2) for step in part.steps))
    for runtime, said_so in ((part, True), (window(), False)):
        page = Page("", "", Options(width=100))
        add_share(page, runtime)
        assert ("Where a step goes: 10.0 ms, including time between steps" in page.document().text()) is said_so


@pytest.mark.parametrize(("name", "said_so"), [("place \x1b[31mB", True), ("train_step", False), ("ProfilerStep#3", False)])
def test_what_is_taken_for_a_step_is_said(name: str, said_so: bool) -> None:
    own = window()
    page = Page("", "", Options(width=100))
    add_window(page, replace(own, steps=tuple(replace(step, name=name) for step in own.steps)))
    told = " ".join(" ".join(page.document().text()).split())
    assert ("a step is a profiler range named place" in told) is said_so and "\x1b" not in told


def test_nothing_stands_out() -> None:
    assert said(window((compiled("0/0", 60_000),))) == []


def test_a_kernel_with_its_line() -> None:
    found = Finding(Fact.KERNEL, "0/0", 1_940, 0.09, 4, 1_940, "backward", "extern_kernels.mm:5", ("/u/a/m.py:26", "/u/a/m.py:27"))
    said_of_it = sentence(found, True)
    start = "one kernel takes 9% of the time: extern_kernels.mm:5 in the backward graph of [0/0], 1.94 ms per step"
    assert said_of_it.startswith(start)
    assert said_of_it.endswith(", from a/m.py:26 and 1 more line")


def device(busy: float, eager: float = 0.0, us: float = 100_000.0) -> DeviceTime:
    ops = (DeviceOp("aten::mm", 40, eager),) if eager else ()
    streams = (StreamTime("0", "7", 50, busy),)
    kernels = (DeviceOp("triton_poi_fused_add_0", 10, busy - eager),)
    return DeviceTime("NVIDIA H100", 1, us, busy, 0.0, busy - eager, eager, 0.0, 0.0, 0.0, 0.0, 0.0, 0, streams, ops, kernels)


def test_eager_operators_by_the_time_of_the_device() -> None:
    found = replace(window(), device=device(80_000, 30_000), eager=(EagerTime(None, "aten::sin", 40, 90_000.0),))
    assert said(found) == [
        "38% of the device's work is from operators outside of compiled code: 3.00 ms per step, most in aten::mm"
    ]


def test_launches_are_no_cost_where_the_device_is_busy() -> None:
    bound = window((compiled("0/0", 50_000, graphs=(graph(40_000, 30_000, device=8_000),)),))
    assert Fact.LAUNCHES in facts(replace(bound, device=device(60_000)))
    assert Fact.LAUNCHES not in facts(replace(bound, device=device(97_000)))


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_side_of_the_device(width: int) -> None:
    page = Page("", "", Options(width=width))
    found = replace(window(), device=device(80_000, 30_000))
    assert found.device is not None
    add_device(page, Figures(run(), found, "time"), found.device)
    lines = list(page.document().text())
    assert max(map(len, lines)) <= width
    told = " ".join(" ".join(lines).split())
    heading = "The device: busy 80% of the time, 8.00 ms per step" if width >= 62 else "The device: busy 80%"
    assert heading in lines and "NVIDIA H100." in told
    rows = {line.split()[0]: line.split() for line in lines if line.strip()}
    assert rows["compiled"][1:4] == ["5.00", "ms", "50%"] and rows["eager"][1:4] == ["3.00", "ms", "30%"]
    assert rows["idle"][1:4] == ["2.00", "ms", "20%"] and "direct" not in rows


def uneven(times: tuple[float, ...]) -> KernelTime:
    return replace(kernel(1.0), time=Spread(len(times), sum(times), median(times), min(times), max(times)))


def test_an_outlier_is_named_as_one() -> None:
    """One of four calls was preempted: its kernel is not what the time goes to."""
    single = uneven((62.0, 60.0, 64.0, 28_000.0))
    own = GraphTime("forward", "f1", spread(4, 30_000), (single,), 28_186, 1_814, 0.0, 0.0, 3.0)
    found = window((compiled("0/0", 30_000, graphs=(own,)),), steps=4)
    assert said(found) == [
        "one of 4 calls of extern_kernels.mm:1 in the forward graph of [0/0] took 28.0 ms; the median is 63.0 µs, from u/model.py:7"
    ]
    even = replace(own, kernels=(uneven((7_000.0, 7_010.0, 7_020.0, 7_030.0)),))
    assert facts(window((compiled("0/0", 30_000, graphs=(even,)),), steps=4)) == [Fact.KERNEL]


def test_all_calls_of_a_name_are_no_single_kernel() -> None:
    """Their times differ because they compute different things."""
    together = replace(uneven((60.0, 60.0, 64.0, 28_000.0)), nth=-1, key="", name="Cijk_" + "A" * 400, lines=())
    own = GraphTime("forward", "f1", spread(4, 30_000), (together,), 28_184, 1_816, 0.0, 0.0, 3.0)
    (found,) = said(window((compiled("0/0", 30_000, graphs=(own,)),), steps=4))
    assert found.startswith("4 calls of one kernel name take 28% of the time: Cijk_AAA") and len(found) < 160


def test_launches_by_the_median_of_calls() -> None:
    """Of 10 calls one was preempted between kernels: the graph is not launch-bound for that."""
    one = replace(graph(60_000, 15_000), time=Spread(10, 60_000, 1_700.0, 1_700.0, 44_700.0), wrapper_median_us=200.0)
    assert Fact.LAUNCHES not in facts(window((compiled("0/0", 60_000, graphs=(one,)),)))
    assert Fact.LAUNCHES in facts(window((compiled("0/0", 60_000, graphs=(replace(one, wrapper_median_us=1_500.0),)),)))


def joins(lengths: dict[int, tuple[float, ...]], name: str = "gloo:all_reduce", late: float = 0.0) -> list[Runtime]:
    """Ranks whose n-th collectives end together; `late`: µs by which the clock of rank 1 is ahead."""
    found = []
    for rank, times in lengths.items():
        items = tuple(
            Collective(name, 1e15 + 20_000 * (n + 1) - us - late * (rank == 1), us) for n, us in enumerate(times)
        )
        found.append(replace(window(steps=0), rank=rank, collectives=items))
    return found


def test_the_rank_that_was_waited_for() -> None:
    short, long = (100.0, 200.0, 9_000.0, 100.0), (9_000.0, 8_000.0, 9_100.0, 9_000.0)
    found = waits_of(joins({0: long, 1: short}))
    assert found is not None and (found.rank, found.last, found.calls, found.is_in_order) == (1, 3, 4, True)
    assert (found.own_us, found.others_us) == (400.0, 26_000.0)
    page = Page("", "", Options(width=200))
    add_ranks(page, joins({0: long, 1: short}))
    told = "the others waited for rank 1: 3 of 4 collectives are shortest on that rank (400 µs, 26.0 ms on rank 0)"
    assert told in page.document().text()
    apart = waits_of(joins({0: long, 1: short}, late=30_000))
    assert apart is not None and not apart.is_in_order, "clocks of two nodes: hedged"


@pytest.mark.parametrize("ranks", [
    joins({0: (9_000.0, 9_000.0, 9_000.0, 100.0), 1: (100.0, 100.0, 9_000.0, 9_000.0)}),  # each in turn
    joins({0: (9_000.0,) * 4, 1: (100.0,) * 3}),  # one is missing: which is unknown
    joins({0: (9_000.0,) * 4, 1: (100.0,) * 4}, "gloo:broadcast"),  # waits for its root only
    joins({0: (90.0,) * 4, 1: (10.0,) * 4}),  # nothing of the time
    joins({0: (9_000.0,) * 2, 1: (100.0,) * 2}),  # too few
    joins({0: (9_000.0,) * 4}),
])  # fmt: skip
def test_none_was_waited_for_where_that_is_not_evident(ranks: list[Runtime]) -> None:
    assert waits_of(ranks) is None


def test_doubts_stand_below_the_window() -> None:
    page = Page("", "", Options(width=80))
    add_window(page, replace(window(), doubts=("3 events are cut by the edge of the window", *(f"doubt {n}" for n in range(6)))))
    told = list(page.document().text())
    assert "3 events are cut by the edge of the window" in told and "3 more caveats" in told


def test_ranks_by_how_slow_they_are() -> None:
    def of(rank: int, us: float) -> Runtime:
        own = GraphTime("forward", "f", spread(10, us), (kernel(us),), us, 0.0, 0.0, 0.0)
        return replace(window((compiled(f"{rank}:0/0", us, graphs=(own,)),), us=us), rank=rank)

    ranks = [*(of(rank, 10_000) for rank in range(6)), of(6, 15_000), of(7, 16_000)]
    (found,) = rank_kernels(ranks)
    assert (found.slowest, found.median_us, found.lost_us, found.ref) == (7, 1_000, 600, "7:0/0")
    page = Page("", "", Options(width=80))
    add_ranks(page, ranks)
    add_rank_kernels(page, ranks)
    told = list(page.document().text())
    assert told[0] == "rank 7 is the slowest: 1.60 ms per step, 60% more than the median rank"
    assert "8 profiles of ranks 0–7" in told
    assert any("ranks 6, 7  extern_kernels.mm:1" in line for line in told)


def test_costs_of_two_profiles_of_one_compile() -> None:
    """The one that saw more of it counts."""
    few, many = compiled("0/0", 1_000), replace(compiled("0/0", 9_000), regions=spread(90, 9_000))
    found = Costs([window((few,)), window((many,))])
    assert found.of_compile("0/0") is many and found.us_of("0/0") == 900
    assert found.share_of("0/0", 900) == pytest.approx(0.09)


def test_a_backward_is_outside_of_the_region() -> None:
    forward, backward = (replace(graph(us, us), unit=unit) for unit, us in (("forward", 3_000.0), ("backward", 5_000.0)))
    assert self_us(compiled("0/0", 4_000, 100, (forward, backward))) == 9_100


@pytest.mark.parametrize("name", ["mlp", "broken", "llama"])
def test_own_times_are_at_most_the_whole(name: str) -> None:
    for found in runtimes_of(profiled(name)):
        assert isinstance(found, Runtime)
        assert 0 < sum(self_us(compile_) for compile_ in found.compiles) <= found.share.total_us
