"""Kernels on devices: launched by operators or directly, replayed, or of a plug-in that says little.

No profile of a device is at hand: the events are made up as libkineto writes them (output_json.cpp, CuptiActivity.cpp: `kernel`
events have the `correlation` of their launch and the `External id` of the operator around it), for the trace of a run on two GPUs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import page
from viewed import text

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.runtime.event_joining import graphs_of
from tltui.questions.runtime.profile_results import GraphTime, KernelTime, Refused, Runtime
from tltui.questions.runtime.profile_sums import runtimes_of
from tltui.sources.discover import discover, profiles_at

LOGS = Path(__file__).parents[1] / "traces" / "tlparse" / "two_gpus"
CALLS = 3


class Device:
    """Makes the events of a process and of its device. Times are ns."""

    def __init__(self, run: Run, pid: int) -> None:
        self.events: list[dict[str, Any]] = []
        self.pid = pid
        self.now = 1_000_000
        self.number = 0
        self.on_device = 5_000_000
        compile_ = next(own for own in run.compiles() if str(own.ref) == "0:0/0")
        (self.graph,) = graphs_of(compile_)
        (self.key,) = self.graph.keys

    def add(self, name: str, begin: int, length: int, cat: str = "cpu_op", is_device: bool = False, **arguments: Any) -> None:
        where: dict[str, Any] = {"pid": 0, "tid": 7} if is_device else {"pid": self.pid, "tid": self.pid}
        times = {"ts": begin / 1000, "dur": length / 1000}
        self.events.append({"ph": "X", "cat": cat, "name": name, **where, **times, "args": arguments})

    def op(self, name: str, length: int, **arguments: Any) -> int:
        """An operator from now on; its `External id`."""
        self.number += 1
        self.add(name, self.now, length, **{"External id": self.number, "Ev Idx": self.number - 1}, **arguments)
        return self.number

    def call(self, inside: Callable[[], None], length: int = 900_000) -> None:
        """A call of the graph."""
        begin = self.now
        self.op("TorchDynamo Cache Lookup", 5_000)
        self.now += 6_000
        self.op("Torch-Compiled Region: 0/0", length + 20_000)
        self.now += 5_000
        self.op(f"## Call CompiledFxGraph {self.key} ##", length)
        self.now += 1_000
        inside()
        self.now = begin + length + 100_000

    def kernel(self, name: str, length: int, cat: str = "kernel", **arguments: Any) -> None:
        """What runs on the device."""
        self.add(name, self.on_device, length, cat, True, device=0, context=1, stream=7, **arguments)
        self.on_device += length + 1_000

    def launched(self, op: str, kernel: str, length: int, by: str = "correlation") -> None:
        """An operator that launches a kernel."""
        external = self.op(op, 20_000)
        correlation = 1000 + external
        self.add("cudaLaunchKernel", self.now + 5_000, 4_000, "cuda_runtime", cbid=211, correlation=correlation)
        ids = {"correlation": {"External id": 0, "correlation": correlation}, "External id": {"External id": external}}[by]
        self.kernel(kernel, length, **ids, **{"est. achieved occupancy %": 30})
        self.now += 30_000

    def read(self, tmp_path: Path, run: Run) -> Runtime:
        head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "distributedInfo": {"rank": 0}}
        base = 1755896460000000000
        (tmp_path / "profile.json").write_text(json.dumps({**head, "baseTimeNanoseconds": base, "traceEvents": self.events}))
        run.profiles.add(profiles_at([str(tmp_path / "profile.json")]))
        run.profiles.read()
        (found,) = runtimes_of(run)
        assert isinstance(found, Runtime), found
        return found


@pytest.fixture
def run() -> Run:
    return open_run(discover([str(LOGS)]))


@pytest.fixture
def device(run: Run) -> Device:
    return Device(run, 2354971)


def graph_in(found: Runtime) -> GraphTime:
    (compile_,) = found.compiles
    assert (compile_.ref, compile_.regions.calls, compile_.lookups.calls) == ("0:0/0", CALLS, CALLS)
    (graph,) = compile_.graphs
    assert graph.time.calls == CALLS
    return graph


def told(kernels: tuple[KernelTime, ...]) -> list[tuple[str, int, int, float, str]]:
    return [(kernel.name, kernel.nth, kernel.time.calls, kernel.time.us, kernel.device) for kernel in kernels]


@pytest.mark.parametrize("by", ["correlation", "External id"])
def test_kernels_belong_to_the_operator_that_launched_them(run: Run, device: Device, tmp_path: Path, by: str) -> None:
    def inside() -> None:
        for n, own in enumerate(device.graph.calls):
            if own.name.startswith(("aten", "triton")):
                device.launched(own.name, own.name if own.name.startswith("triton") else f"ampere_gemm_{n}", 1000 * (n + 1), by)
            else:
                device.op(own.name, 9_000)
                device.now += 10_000

    for _ in range(CALLS):
        device.call(inside)
        device.launched("aten::add", "void at::native::vectorized_elementwise_kernel<4>", 777_000, by)  # in no graph
    graph = graph_in(found := device.read(tmp_path, run))
    count: dict[str, int] = {}
    wanted = []
    for n, own in enumerate(device.graph.calls):
        nth = count.get(own.kernel.name, 0)
        count[own.kernel.name] = nth + 1
        runs = own.name.startswith(("aten", "triton"))
        us, where = (3.0 * (n + 1), "cuda") if runs else (27.0, "cpu")
        wanted.append((own.kernel.name, nth, CALLS, us, where))
    assert told(graph.kernels) == wanted
    assert [kernel.key for kernel in graph.kernels] == [own.kernel.key for own in device.graph.calls]
    assert graph.device_us == sum(us for *_, us, where in wanted if where == "cuda")
    assert found.unmatched == {} and {one.op for one in found.eager} == {"aten::add"}
    assert found.device is not None
    assert (found.device.name, found.device.devices, found.device.replays) == ("NVIDIA H100", 1, 0)
    assert found.device.compiled_us == graph.device_us and found.device.eager_us == CALLS * 777
    assert [(op.name, op.calls, op.us) for op in found.device.ops] == [("aten::add", CALLS, CALLS * 777.0)]
    assert found.device.busy_us == found.device.total_us == found.device.compiled_us + found.device.eager_us
    assert [(stream.device, stream.stream) for stream in found.device.streams] == [("0", "7")]


def test_launches_without_an_operator_are_kernels_by_the_name_on_the_device(run: Run, device: Device, tmp_path: Path) -> None:
    """Triton kernels whose launch nobody annotated: the driver's call stands directly in the call of the graph."""
    names = [own.name for own in device.graph.calls if own.name.startswith("triton")]

    def inside() -> None:
        device.add("cudaMemcpyAsync", device.now, 3_000, "cuda_runtime", correlation=device.number + 5_000)
        device.kernel("Memcpy HtoD (Pageable -> Device)", 50_000, "gpu_memcpy", correlation=device.number + 5_000)
        for n, name in enumerate(names):
            device.now += 10_000
            device.number += 1
            device.add("cuLaunchKernel", device.now, 4_000, "cuda_driver", correlation=device.number + 9_000)
            device.kernel(name, 2_000 * (n + 1), correlation=device.number + 9_000)

    for _ in range(CALLS):
        device.call(inside)
    graph = graph_in(device.read(tmp_path, run))
    known = [own for own in told(graph.kernels) if own[0].startswith("triton")]
    assert known == [(name, 0, CALLS, 6.0 * (n + 1), "cuda") for n, name in enumerate(names)]
    assert graph.kernels_us == pytest.approx(CALLS * 4.0 * len(names))


def test_replayed_graphs_are_told_by_name(run: Run, device: Device, tmp_path: Path) -> None:
    names = [own.name for own in device.graph.calls if own.name.startswith("triton")]

    def inside() -> None:
        device.number += 1
        device.add("cudaGraphLaunch", device.now, 40_000, "cuda_runtime", cbid=311, correlation=device.number + 7_000)
        for name in [*names, "ampere_sgemm"]:
            device.kernel(name, 3_000, correlation=device.number + 7_000, **{"graph id": 4, "graph node id": 2})

    for _ in range(CALLS):
        device.call(inside)
    graph = graph_in(found := device.read(tmp_path, run))
    assert told(graph.kernels) == [(name, -1, CALLS, 9.0, "cuda") for name in [*names, "ampere_sgemm"]]
    assert all(kernel.key for kernel in graph.kernels if kernel.name in names)
    assert any("replayed" in doubt for doubt in found.doubts)
    assert found.device is not None and found.device.replays == CALLS
    assert found.device.replayed_us == found.device.compiled_us == graph.device_us
    assert graph.kernels_us == 0 and graph.device_us == CALLS * 3.0 * (len(names) + 1)


@pytest.mark.parametrize("category", ["privateuse1_driver", "kernel", "PrivateUse1"])
def test_a_device_that_says_no_launch_is_joined_by_name(run: Run, device: Device, tmp_path: Path, category: str) -> None:
    name = next(own.name for own in device.graph.calls if own.name.startswith("triton"))
    for _ in range(CALLS):
        device.call(lambda: None)
        device.kernel(f"{name}#3", 4_000, category)
        device.kernel("nobodys_kernel", 4_000, category)
    graph = graph_in(found := device.read(tmp_path, run))
    assert [own[:4] for own in told(graph.kernels)] == [(name, -1, CALLS, 12.0)]
    assert found.unmatched == {"events on a device whose launch was not recorded": CALLS}
    assert graph.device_us == 12.0
    assert found.device is not None and (found.device.compiled_us, found.device.unknown_us) == (12.0, 12.0)


def test_the_device_comes_first(run: Run, device: Device, tmp_path: Path) -> None:
    """A host that waits, and a device that works: what the host did not do is no finding."""
    name = next(own.name for own in device.graph.calls if own.name.startswith("triton"))
    for _ in range(CALLS):
        device.call(lambda: device.launched(name, name, 990_000), 100_000)
        device.now += 800_000
        device.add("cudaMemcpyAsync", device.now, 3_000, "cuda_runtime", correlation=device.number + 5_000)
        device.kernel("Memcpy DtoH (Device -> Pageable)", 5_000, "gpu_memcpy", correlation=device.number + 5_000)
    device.on_device = device.now
    found = device.read(tmp_path, run)
    assert found.device is not None and (found.device.bare_us, found.device.copies_us) == (CALLS * 5.0, CALLS * 5.0)
    lines = [line for line in text(page(run, "@runtime:0:", 120)).splitlines() if line]
    headings = [line for line in lines if line.startswith(("The device", "Where the time goes"))]
    assert headings[0].startswith("The device: busy ") and headings[1].startswith("Where the time goes on the host")
    told = " ".join(" ".join(lines).split())
    assert "of the time the host ran" not in told and "no torch code ran" not in told
    assert "990 µs per call on the device · the host spends" in told
    assert "Memcpy DtoH" in told and "launched outside of operators and graphs" in told


def test_tuning_while_torch_compiles_is_no_run(run: Run, device: Device, tmp_path: Path) -> None:
    """Benchmarks of a first call: neither the time of the graph nor a replay."""
    name = next(own.name for own in device.graph.calls if own.name.startswith("triton"))

    def inside() -> None:
        device.op("CachingAutotuner.benchmark_all_configs (dynamo_timed)", 400_000)
        device.add("cuLaunchKernel", device.now + 1_000, 4_000, "cuda_driver", correlation=77)
        device.kernel(name, 300_000, correlation=77)
        device.now += 410_000
        device.launched(name, name, 2_000)

    device.call(inside)
    (found,) = device.read(tmp_path, run).compiles
    (graph,) = found.graphs
    assert graph.time.us == 500.0 and graph.device_us == 2.0, "900 µs, of which 400 µs compiled"
    (joined,) = runtimes_of(run)
    assert isinstance(joined, Runtime) and joined.device is not None and joined.device.compiling_us == 300.0


def test_a_device_of_another_run_is_refused(run: Run, device: Device, tmp_path: Path) -> None:
    device.key = "f" * 52
    device.call(lambda: device.launched("triton_poi_fused_other_0", "triton_poi_fused_other_0", 1_000))
    (tmp_path / "p.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": device.events}))
    run.profiles.add(profiles_at([str(tmp_path / "p.json")]))
    run.profiles.read()
    (found,) = runtimes_of(run)
    assert isinstance(found, Refused) and "none of its 1 graph is in the trace" in found.reason
