"""The kernels of one graph: which call of the code each of them is, and how long they took."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from statistics import median

from tltui.analyses.runtime.code import CodeCall, CodeGraph
from tltui.analyses.runtime.joining import Joiner
from tltui.analyses.runtime.nesting import Nested
from tltui.analyses.runtime.result import GraphTime, KernelTime, Spread
from tltui.inputs.profile.columns import Profile

CPP_KERNELS = "they are with torch._inductor.config.cpp.enable_kernel_profile"
NO_TIME = Spread(0, 0.0, 0.0, 0.0, 0.0)


def spread(times: list[int] | array[int]) -> Spread:
    """How long something took each time; times in ns."""
    if not times:
        return NO_TIME
    return Spread(len(times), sum(times) / 1000, median(times) / 1000, min(times) / 1000, max(times) / 1000)


class Devices:
    """What ran on devices, by the kernel that launched it."""

    def __init__(self, profile: Profile, nested: Nested) -> None:
        self._of_kernel = array("q", bytes(8 * len(nested.kernels)))
        self.replayed: dict[int, list[int]] = defaultdict(list)
        """A call → events on a device that no kernel of it launched."""
        for event, owner in zip(nested.device, nested.launched_by, strict=True):
            if owner >= 0:
                self._of_kernel[owner] += profile.duration[event]
            else:
                self.replayed[-1 - owner].append(event)
        launches = {category.split("_")[0] for category in profile.categories if category.endswith(("_runtime", "_driver"))}
        self.name = min(launches & {"cuda", "xpu", "mtia", "hpu", "privateuse1"}, default="device")

    def time(self, kernel: int) -> int:
        """The ns on a device that a kernel launched."""
        return self._of_kernel[kernel]


class Kernels:
    """Times of the kernels of one graph."""

    def __init__(self, profile: Profile, nested: Nested, joiner: Joiner, devices: Devices) -> None:
        self._profile, self._nested, self._joiner, self._devices = profile, nested, joiner, devices
        self.doubts: Counter[str] = Counter()

    def graph(self, unit: str, key: str | None, calls: list[int], graph: CodeGraph | None, loose: list[int]) -> GraphTime:
        """The times of a graph that was called so often. `loose`: what ran on a device for it, by name alone."""
        profile, nested = self._profile, self._nested
        gaps: list[int] = []
        whole, inside, on_device = 0, 0, 0
        for span in calls:
            event = nested.event[span]
            whole += profile.duration[event]
            before = -1
            on_device += sum(profile.duration[own] for own in self._devices.replayed.get(span, ()))
            for row in range(nested.first[span], nested.last[span]):
                kernel = nested.kernels[row]
                inside += profile.duration[kernel]
                on_device += self._devices.time(row)
                if before >= 0:
                    gaps.append(max(profile.begin[kernel] - before, 0))
                before = profile.end(kernel)
        on_device += sum(profile.duration[event] for event in loose)
        kernels = self._kernels(calls, graph, loose)
        return GraphTime(
            unit, key, spread([profile.duration[nested.event[span]] for span in calls]), kernels,
            inside / 1000, max(whole - inside, 0) / 1000, median(gaps) / 1000 if gaps else 0.0, on_device / 1000,
        )  # fmt: skip

    def _kernels(self, calls: list[int], graph: CodeGraph | None, loose: list[int]) -> tuple[KernelTime, ...]:
        """Each call of the code, then what cannot be told apart, or is not in the code."""
        nested = self._nested
        wanted: dict[str, list[CodeCall]] = defaultdict(list)
        for call in graph.calls if graph is not None else ():
            wanted[call.name].append(call)
        rows: dict[tuple[str, int], list[int]] = defaultdict(list)
        uneven: set[str] = set()
        for span in calls:
            count: Counter[str] = Counter()
            for row in range(nested.first[span], nested.last[span]):
                name = self._joiner.kernel_named(nested.kernels[row])
                rows[name, count[name]].append(row)
                count[name] += 1
            uneven.update(name for name in wanted.keys() | count.keys() if count[name] != len(wanted[name]))
        found: list[KernelTime] = []
        for call in graph.calls if graph is not None else ():
            nth = wanted[call.name].index(call)
            if call.name not in uneven and (own := rows.get((call.name, nth))):
                found.append(self._time(call, call.kernel.name, nth, own))
        lacking = sum(call.kernel.name[:3] == "cpp" and not rows.get((call.name, 0)) for call in graph.calls) if graph else 0
        if lacking:
            self.doubts[f"calls of C++ kernels were not recorded: {CPP_KERNELS}"] += lacking
        for name in dict.fromkeys(name for name, _ in rows if name in uneven):
            together = [row for (own, _), those in rows.items() if own == name for row in those]
            found.append(self._together(name, wanted.get(name, []), together))
        replayed = [event for span in calls for event in self._devices.replayed.get(span, ())]
        if replayed:
            self.doubts["kernels that were replayed (CUDA graphs) are told by name, not by call"] += len(replayed)
        if loose:
            self.doubts["kernels on a device, of which no launch was recorded, are told by name or handle"] += len(loose)
        return (*found, *self._by_name([*replayed, *loose], wanted))

    def _time(self, call: CodeCall | None, name: str, nth: int, rows: list[int]) -> KernelTime:
        """One call of the code."""
        on_device = [time for row in rows if (time := self._devices.time(row))]
        times = on_device or [self._profile.duration[self._nested.kernels[row]] for row in rows]
        device = self._devices.name if on_device else "cpu"
        if call is None:
            return KernelTime("", name, nth, None, spread(times), (), (), device)
        kernel = call.kernel
        return KernelTime(kernel.key, name, nth, kernel.handle, spread(times), kernel.post_nodes, kernel.user_lines, device)

    def _together(self, name: str, calls: list[CodeCall], rows: list[int]) -> KernelTime:
        """All calls of a name, where they are not as many as in the code."""
        if not calls:
            self.doubts["calls of kernels that are not in the code of their graph"] += len(rows)
            return self._time(None, name, -1, rows)
        name = calls[0].kernel.name
        self.doubts[f"calls of {name} are told together: it ran another number of times than the code calls it"] += len(rows)
        own = self._time(calls[0], name, -1, rows)
        return own if len(calls) == 1 else _of_all(own, calls)

    def _by_name(self, events: list[int], wanted: dict[str, list[CodeCall]]) -> list[KernelTime]:
        """What ran on a device, by its name; by the handle of the call where the device says it (`debug_handle`)."""
        times: dict[tuple[str, int | None], list[int]] = defaultdict(list)
        for event in events:
            name = self._joiner.kernel_named(event)
            handle = self._profile.extra.get(event, {}).get("debug_handle")
            known = isinstance(handle, int) and any(call.kernel.handle == handle for call in wanted.get(name, ()))
            times[name, handle if known else None].append(self._profile.duration[event])
        found = []
        for (name, handle), own in times.items():
            calls = wanted.get(name, [])
            same = [call for call in calls if handle is not None and call.kernel.handle == handle]
            nth = calls.index(same[0]) if len(same) == 1 else -1
            time = KernelTime("", name, nth, None, spread(own), (), (), self._devices.name)
            found.append(_of_all(time, same or calls) if calls else time)
        return found


def _of_all(own: KernelTime, calls: list[CodeCall]) -> KernelTime:
    """With the nodes and lines of these calls of a name; a key only where there is one."""
    kernels = [call.kernel for call in calls]
    keys = {kernel.key for kernel in kernels}
    return KernelTime(
        keys.pop() if len(keys) == 1 else "", kernels[0].name, own.nth, kernels[0].handle if len(kernels) == 1 else None, own.time,
        tuple(dict.fromkeys(node for kernel in kernels for node in kernel.post_nodes)),
        tuple(dict.fromkeys(line for kernel in kernels for line in kernel.user_lines)), own.device,
    )  # fmt: skip
