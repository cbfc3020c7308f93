"""What `tltui runtime --json` prints."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypedDict

from tltui.analyses.runtime.result import CompileTime, Fallback, GraphTime, KernelTime, Refused, Runtime

SCHEMA = 1


class KernelTimeJson(TypedDict):
    """One call of a kernel in the code of a graph. Times are µs of wall clock, with the profiler on."""

    name: str
    nth: int
    """Which call of that name in the code, from 0; -1: all of them, as they cannot be told apart."""
    handle: int | None
    """Torch's number of the call."""
    calls: int
    us: float
    mean_us: float
    median_us: float
    min_us: float
    max_us: float
    nodes: list[str]
    lines: list[str]
    """`FILE:LINE`. Each has the whole time of the kernel: never to be added."""
    key: str
    """As in `tltui provenance --json`; '' where the code is not in the trace."""
    device: str


class GraphTimeJson(TypedDict):
    """One lowered graph."""

    unit: str
    key: str | None
    """The cache key by which the profile names it, null with caches off."""
    calls: int
    us: float
    mean_us: float
    median_us: float
    kernels_us: float
    wrapper_us: float
    """In the graph and in no kernel."""
    gap_us: float
    """The median time between two kernels."""
    device_us: float
    kernels: list[KernelTimeJson]


class CompileRunJson(TypedDict):
    """One compile."""

    ref: str
    regions: int
    region_us: float
    """With the regions of other compiles in it: not to be added."""
    region_self_us: float
    lookups: int
    lookup_us: float
    """Trying its guards."""
    overhead_us: float
    eager_us: float
    graphs: list[GraphTimeJson]


class EagerJson(TypedDict):
    """An operator that ran outside of compiled graphs."""

    inside: str | None
    op: str
    calls: int
    us: float


class FallbackJson(TypedDict):
    """Guards were tried, and no compile ran."""

    ts_us: float
    lookup_us: float
    ops: list[str]
    ref: str


class ShareJson(TypedDict):
    """Where the time of the window went: disjoint parts of the whole."""

    whole_us: float
    kernels_us: float
    wrapper_us: float
    guards_us: float
    overhead_us: float
    eager_us: float
    idle_us: float


class StepJson(TypedDict):
    """One step."""

    name: str
    begin_us: float
    us: float


class RuntimeJson(TypedDict):
    """What one profile says of one process."""

    schema: int
    profile: str
    begin_us: float
    end_us: float
    rank: int | None
    pid: int
    steps: list[StepJson]
    share: ShareJson
    fallbacks_count: int
    compiles: list[CompileRunJson]
    never_called: list[str]
    eager: list[EagerJson]
    fallbacks: list[FallbackJson]
    unmatched: dict[str, int]
    doubts: list[str]


class RefusedJson(TypedDict):
    """A profile that was not joined."""

    profile: str
    why: str


class RuntimesJson(TypedDict):
    """Several profiles, or one that was refused."""

    schema: int
    runtimes: list[RuntimeJson]
    refused: list[RefusedJson]


def runtimes_json(
    runtimes: Sequence[Runtime], refused: Sequence[Refused], refs: Collection[str] | None = None
) -> RuntimeJson | RuntimesJson:
    """The documented shape (docs/json.md). `refs`: only these compiles, and what stands in them."""
    if len(runtimes) == 1 and not refused:
        return runtime_json(runtimes[0], refs)
    return {
        "schema": SCHEMA,
        "runtimes": [runtime_json(runtime, refs) for runtime in runtimes],
        "refused": [{"profile": item.profile, "why": item.why} for item in refused],
    }


def runtime_json(runtime: Runtime, refs: Collection[str] | None = None) -> RuntimeJson:
    """One profile."""
    share = runtime.share
    fallbacks = [item for item in runtime.fallbacks if refs is None or item.ref in refs]
    return {
        "schema": SCHEMA,
        "profile": runtime.profile,
        "begin_us": runtime.begin_us,
        "end_us": runtime.end_us,
        "rank": runtime.rank,
        "pid": runtime.pid,
        "steps": [{"name": step.name, "begin_us": step.begin_us, "us": step.us} for step in runtime.steps],
        "share": {
            "whole_us": share.whole_us, "kernels_us": share.kernels_us, "wrapper_us": share.wrapper_us,
            "guards_us": share.guards_us, "overhead_us": share.overhead_us, "eager_us": share.eager_us, "idle_us": share.idle_us,
        },
        "fallbacks_count": len(fallbacks),
        "compiles": [_compile(compile_) for compile_ in runtime.compiles if refs is None or compile_.ref in refs],
        "never_called": [ref for ref in runtime.never_called if refs is None or ref in refs],
        "eager": [
            {"inside": item.inside, "op": item.op, "calls": item.calls, "us": item.us}
            for item in runtime.eager if refs is None or item.inside in refs
        ],
        "fallbacks": [_fallback(item) for item in fallbacks],
        "unmatched": dict(runtime.unmatched),
        "doubts": list(runtime.doubts),
    }  # fmt: skip


def _compile(compile_: CompileTime) -> CompileRunJson:
    return {
        "ref": compile_.ref,
        "regions": compile_.regions.calls,
        "region_us": compile_.regions.us,
        "region_self_us": compile_.region_self_us,
        "lookups": compile_.lookups.calls,
        "lookup_us": compile_.lookups.us,
        "overhead_us": compile_.overhead_us,
        "eager_us": compile_.eager_us,
        "graphs": [_graph(graph) for graph in compile_.graphs],
    }


def _graph(graph: GraphTime) -> GraphTimeJson:
    return {
        "unit": graph.unit,
        "key": graph.key,
        "calls": graph.time.calls,
        "us": graph.time.us,
        "mean_us": graph.time.mean_us,
        "median_us": graph.time.median_us,
        "kernels_us": graph.kernels_us,
        "wrapper_us": graph.wrapper_us,
        "gap_us": graph.gap_us,
        "device_us": graph.device_us,
        "kernels": [_kernel(kernel) for kernel in graph.kernels],
    }


def _kernel(kernel: KernelTime) -> KernelTimeJson:
    time = kernel.time
    return {
        "name": kernel.name,
        "nth": kernel.nth,
        "handle": kernel.handle,
        "calls": time.calls,
        "us": time.us,
        "mean_us": time.mean_us,
        "median_us": time.median_us,
        "min_us": time.min_us,
        "max_us": time.max_us,
        "nodes": list(kernel.nodes),
        "lines": list(kernel.lines),
        "key": kernel.key,
        "device": kernel.device,
    }


def _fallback(item: Fallback) -> FallbackJson:
    return {"ts_us": item.ts_us, "lookup_us": item.lookup_us, "ops": list(item.ops), "ref": item.ref}
