"""The side of the device in public profiles of real GPUs, against another implementation that reads the JSON by itself."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tltui.inputs.profile_reader import read_profile
from tltui.questions.runtime.event_nesting import nested
from tltui.questions.runtime.profile_results import DeviceTime
from tltui.questions.runtime.profile_sums import device_time

PUBLIC = Path(__file__).parents[1] / "traces" / "inputs" / "public_profiles"
NAMES = sorted(path.name for path in PUBLIC.glob("*.json.gz"))
DEVICE = "kernel", "gpu_memcpy", "gpu_memset"
LAUNCH = "cuda_runtime", "cuda_driver"
ASIDE = "python_function", "ac2g", "cpu_instant_event", "overhead", "Trace", "gpu_user_annotation"


def ns(us: float) -> int:
    return int(us) * 1000 + round((us - int(us)) * 1000)


def read(path: Path) -> list[dict[str, Any]]:
    events = [event for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if event.get("ph") == "X"]
    for event in events:
        event["begin"] = ns(event["ts"])
        event["end"] = event["begin"] + ns(event["dur"])
        event["args"] = event.get("args") or {}
    return events


def union(spans: list[tuple[int, int]], first: int, last: int) -> int:
    """The length of what any of the spans covers, by counting how many are open."""
    cut = [(min(max(begin, first), last), min(max(end, first), last)) for begin, end in spans]
    points = sorted([(begin, 1) for begin, _ in cut] + [(end, -1) for _, end in cut])
    total = depth = before = 0
    for at, change in points:
        total += at - before if depth else 0
        depth += change
        before = at
    return total


def around(event: dict[str, Any], threads: dict[Any, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """What is around an event on its thread, outermost first."""
    same = threads[event["pid"], event["tid"]]
    return [other for other in same if other["begin"] <= event["begin"] and event["end"] <= other["end"] and other is not event]


def figures(path: Path) -> dict[str, Any]:
    """What the profile says, in ns."""
    events = read(path)
    kept = [event for event in events if event["cat"] not in ASIDE]
    device = [event for event in kept if event["cat"] in DEVICE]
    windows = [event for event in events if event["cat"] == "Trace" and event["name"].startswith("PyTorch Profiler")]
    first = min(event["begin"] for event in [*windows, *kept])
    last = max(event["end"] for event in windows or kept)
    threads: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for event in sorted((e for e in kept if e["cat"] in ("cpu_op", "user_annotation")), key=lambda e: (e["begin"], -e["end"])):
        threads[event["pid"], event["tid"]].append(event)
    launches = {event["args"].get("correlation", 0): event for event in kept if event["cat"] in LAUNCH}
    operators = {event["args"].get("External id", 0): event for event in kept if event["cat"] == "cpu_op"}
    sums: Counter[str] = Counter()
    ops: Counter[str] = Counter()
    replayed, replays = 0, set()
    for event in device:
        length = event["end"] - event["begin"]
        correlation = event["args"].get("correlation", 0)
        by = launches.get(correlation) or operators.get(event["args"].get("External id", 0))
        if by is None:
            sums["unknown"] += length
            continue
        if "GraphLaunch" in by["name"]:
            replayed += length
            replays.add(correlation)
        spans = [*around(by, threads), by]
        if any(span["name"].startswith("## Call CompiledFxGraph") for span in spans):
            sums["compiled"] += length
        elif op := next((s for s in spans if s["cat"] == "cpu_op" and re.match(r"(?!autograd::|torch::)\w+::\w", s["name"])), None):
            sums["eager"] += length
            ops[op["name"]] += length
        else:
            sums["direct"] += length
    by_device: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    streams: Counter[tuple[str, str]] = Counter()
    for event in device:
        by_device[event["pid"]].append(event)
        streams[str(event["pid"]), str(event["tid"])] += event["end"] - event["begin"]
    computing = [[e for e in own if not e["name"].startswith("nccl")] for own in by_device.values()]
    busy = sum(union([(e["begin"], e["end"]) for e in own], first, last) for own in by_device.values())
    return {
        "window": last - first, "busy": busy, "streams": dict(streams), "ops": dict(ops), **sums,
        "collectives": busy - sum(union([(e["begin"], e["end"]) for e in own], first, last) for own in computing),
        "copies": sum(e["end"] - e["begin"] for e in device if e["cat"] != "kernel"),
        "replayed": replayed, "replays": len(replays), "total": sum(e["end"] - e["begin"] for e in device),
    }  # fmt: skip


def device_of(path: Path) -> DeviceTime:
    """Without a trace: all that a call of a graph launched is compiled."""
    profile = read_profile(str(path))
    columns = nested(profile)
    found = device_time(profile, columns, sum(profile.duration[event] for event in columns.device) / 1000)
    assert found is not None
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_of_the_device_is_the_same(name: str) -> None:
    wanted, found = figures(PUBLIC / name), device_of(PUBLIC / name)
    own = {
        "window": found.window_us, "busy": found.busy_us, "collectives": found.collective_us, "copies": found.copies_us,
        "compiled": found.compiled_us, "eager": found.eager_us, "direct": found.bare_us, "unknown": found.unknown_us,
        "replayed": found.replayed_us, "total": found.total_us,
    }  # fmt: skip
    for key, us in own.items():
        assert us == pytest.approx(wanted.get(key, 0) / 1000, abs=0.01), key
    assert found.replays == wanted["replays"]
    assert {item.name: round(item.us * 1000) for item in found.ops} == wanted["ops"]
    assert {(item.device, item.stream): round(item.us * 1000) for item in found.streams} == wanted["streams"]


def test_what_the_public_profiles_are_kept_for() -> None:
    """A device that is busy almost all the time; a replay that holds nearly everything; collectives beside computing."""
    compiled = device_of(PUBLIC / "torch_compile_triton.json.gz")
    assert compiled.busy_us > 0.95 * compiled.window_us and compiled.compiled_us > 0.95 * compiled.total_us
    replay = device_of(PUBLIC / "vllm_decode_full.json.gz")
    assert replay.replays == 1 and replay.replayed_us > 0.9 * replay.total_us and replay.compiled_us == 0
    ranks = device_of(PUBLIC / "sampled_rank_0.json.gz")
    assert 0 < ranks.collective_us < ranks.busy_us < ranks.total_us and len(ranks.streams) > 1
