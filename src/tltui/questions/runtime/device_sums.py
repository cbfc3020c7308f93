"""Sums over what ran on devices: busy and idle, by what launched it, by stream, operator and kernel."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from tltui.inputs.profile_reader import Profile
from tltui.questions.runtime.event_nesting import BENCHMARK, Nested
from tltui.questions.runtime.profile_results import DeviceOp, DeviceTime, StreamTime

COPIES = ("gpu_memcpy", "gpu_memset")
_COLLECTIVE = re.compile(r"^(?:nccl|rccl|msccl)", re.IGNORECASE)
"""Kernels of collectives: `ncclDevKernel_AllReduce_Sum_f32_RING_LL`, also those of RCCL."""


def device_time(profile: Profile, nested: Nested, compiled_us: float) -> DeviceTime | None:
    """Return the side of the devices; None where nothing ran on one.

    `compiled_us`: the time that was assigned to compiled graphs of the trace.
    """
    events = profile.on_device
    if not events:
        return None
    by_device: dict[str, list[int]] = defaultdict(list)
    for event in events:
        by_device[profile.threads[profile.thread[event]][0]].append(event)
    others = {device: [event for event in group if not _is_collective(profile, event)] for device, group in by_device.items()}
    busy = sum(_covered(profile, group) for group in by_device.values())
    eager, eager_ns, bare, compiling = _outside(profile, nested)
    total = sum(profile.duration[event] for event in events)
    begin, end = profile.window
    unknown = max(total / 1000 - compiled_us - (eager_ns + bare + compiling) / 1000, 0.0)
    return DeviceTime(
        _name(profile, min(by_device)), len(by_device), (end - begin) / 1000, busy / 1000,
        (busy - sum(_covered(profile, group) for group in others.values())) / 1000, compiled_us, eager_ns / 1000, bare / 1000,
        compiling / 1000, unknown,
        sum(profile.duration[event] for event in events if profile.categories[profile.category[event]] in COPIES) / 1000,
        sum(profile.duration[event] for event in nested.replayed) / 1000, nested.replays, _streams(profile),
        eager, _by_name((profile.name_of(event), profile.duration[event]) for event in events),
    )  # fmt: skip


def _is_collective(profile: Profile, event: int) -> bool:
    return _COLLECTIVE.match(profile.name_of(event)) is not None


def _covered(profile: Profile, events: Iterable[int]) -> int:
    """Return the time of the window (ns) in which any of some events ran."""
    first, last = profile.window
    total, reached = 0, first
    for begin, end in sorted((profile.begin[event], profile.end(event)) for event in events):
        total += max(min(end, last) - max(begin, reached), 0)
        reached = max(reached, end)
    return total


def _outside(profile: Profile, nested: Nested) -> tuple[tuple[DeviceOp, ...], int, int, int]:
    """Return what was launched outside of graphs: by operator, and in ns by operators, by nothing else, by compiling."""
    times: list[tuple[str, int]] = []
    bare = compiling = 0
    for event, by in zip(nested.outside, nested.outside_of, strict=True):
        duration = profile.duration[event]
        if by >= 0:
            times.append((profile.name_of(nested.eager[by]), duration))
        elif by == BENCHMARK:
            compiling += duration
        else:
            bare += duration
    return _by_name(times), sum(ns for _, ns in times), bare, compiling


def _by_name(times: Iterable[tuple[str, int]]) -> tuple[DeviceOp, ...]:
    count: Counter[str] = Counter()
    ns: Counter[str] = Counter()
    for name, duration in times:
        count[name] += 1
        ns[name] += duration
    ordered = sorted(ns.items(), key=lambda item: (-item[1], item[0]))
    return tuple(DeviceOp(name, count[name], time / 1000) for name, time in ordered)


def _streams(profile: Profile) -> tuple[StreamTime, ...]:
    count: Counter[int] = Counter()
    ns: Counter[int] = Counter()
    for event in profile.on_device:
        count[profile.thread[event]] += 1
        ns[profile.thread[event]] += profile.duration[event]
    return tuple(StreamTime(*profile.threads[thread], count[thread], time / 1000) for thread, time in ns.most_common())


def _name(profile: Profile, device: str) -> str:
    """Return the name of a device as `deviceProperties` has it."""
    properties = profile.head.get("deviceProperties")
    for entry in properties if isinstance(properties, list) else ():
        if isinstance(entry, dict) and str(entry.get("id")) == device and isinstance(entry.get("name"), str):
            return str(entry["name"])[:60]
    return ""
