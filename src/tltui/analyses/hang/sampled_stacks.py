"""Python stacks of many processes in few groups: where they are in the user's code, and who is not in the collective that others
are in.

The input is what `py-spy dump --full-filenames` prints: a line for each thread, below it its frames, the innermost first. Only the
main thread is compared, as that is the one that runs the program; a backward that autograd runs in another thread shows there as
`_engine_run_backward`. A stack is one moment, and with `--nonblocking` it may be torn.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tltui.analyses.ranks.ranges import ranges
from tltui.text.owner import Owner, owner_of

IN_COLLECTIVE, IN_BACKWARD, ELSEWHERE = "collective", "backward", "elsewhere"
MAIN = '"MainThread"'
_THREAD = re.compile(r"Thread .*\(.*\)")
_FRAME = re.compile(r" {4}(?! )(.+) \((.+?)(?::(\d+))?\)$")
COLLECTIVE_FILES = ("torch/distributed/distributed_c10d.py", "torch/distributed/_functional_collectives.py")
COLLECTIVES = frozenset((
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_reduce_coalesced",
    "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list",
    "destroy_process_group", "gather", "gather_object", "init_process_group", "monitored_barrier", "new_group", "new_subgroups",
    "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter",
    "scatter_object_list", "send", "send_object_list", "split_group", "wait_tensor",
))  # fmt: skip
"""Functions of these files that return when other ranks have called them too: `__all__` of both in torch 2.13, without those that
only start something or ask for something."""
BACKWARD = ("torch/autograd/graph.py", "_engine_run_backward")
"""Behind this frame is C++: kernels of the backward, and the hooks with which DDP and FSDP wait for their collectives."""
COMPILER = ("torch/_dynamo/convert_frame.py", "torch/_inductor/", "torch/_functorch/")
_GENERATED = re.compile(r"/c[a-z2-7]{51}\.py$")
"""Code that Inductor wrote: it is named after its hash (`torch/_inductor/codecache.py`) and may lie in any directory."""


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A frame of a Python stack."""

    function: str
    file: str
    line: int | None


@dataclass(frozen=True, slots=True)
class SampledStack:
    """What py-spy printed of one process. `rank`: None for a process without one."""

    rank: int | None
    pid: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StackVariant:
    """Processes whose main threads have the same frames, those of torch and of libraries included."""

    ranks: str
    """As ranges; '' for processes without a rank."""
    pids: tuple[int, ...]
    lines: tuple[str, ...]
    """All threads of the first of them, as py-spy prints them."""


@dataclass(frozen=True, slots=True)
class StackGroup:
    """Processes that are at the same place of the user's code."""

    ranks: str
    """As ranges; '' for processes without a rank."""
    count: int
    pids: tuple[int, ...]
    state: str
    """`collective`: in a function of torch.distributed that waits for other ranks; `backward`: in autograd's engine, which may
    wait for a collective too; `elsewhere`."""
    collective: str
    """The function of torch.distributed: `barrier`; '' outside of one."""
    compiling: bool
    """Whether torch.compile is among the frames."""
    compilers_own: bool
    """Whether torch.compile itself called the collective, and no code of the user that it runs."""
    frames: tuple[StackFrame, ...]
    """Those of the user's code, the innermost first; of a process without any those of libraries, else all."""
    callee: str
    """The function that the innermost of these frames called; '' where it is the innermost of all."""
    variants: tuple[StackVariant, ...]


def group_stacks(stacks: Iterable[SampledStack]) -> tuple[StackGroup, ...]:
    """Group stacks by the user's frames. The first group is the one to look at: ranks that are not in a collective while others
    are, else the smallest group."""
    together: dict[tuple[object, ...], list[tuple[SampledStack, tuple[StackFrame, ...]]]] = defaultdict(list)
    for stack in stacks:
        frames = main_thread(stack.lines)
        if frames:
            state, collective = _state(frames)
            together[_places(frames), state, collective].append((stack, frames))
    groups = [_group(members) for members in together.values()]
    states = {group.state for group in groups}
    order = (ELSEWHERE, IN_BACKWARD, IN_COLLECTIVE) if {ELSEWHERE, IN_COLLECTIVE} <= states else ()
    return tuple(sorted(groups, key=lambda group: (order.index(group.state) if order else 0, group.count)))


def main_thread(lines: Iterable[str]) -> tuple[StackFrame, ...]:
    """The frames of the main thread, the innermost first; where no thread has that name those of the first thread."""
    threads: list[tuple[bool, list[StackFrame]]] = []
    for line in lines:
        if _THREAD.match(line):
            threads.append((MAIN in line, []))
        elif threads and (match := _FRAME.match(line)):
            threads[-1][1].append(StackFrame(match[1], match[2], int(match[3]) if match[3] else None))
    frames = next((thread for is_main, thread in threads if is_main), threads[0][1] if threads else [])
    return tuple(frames)


def _places(frames: Sequence[StackFrame]) -> tuple[StackFrame, ...]:
    """The user's frames; of a process without any those of libraries, else all."""
    for owner in (Owner.USER, Owner.LIBRARY):
        if chosen := tuple(frame for frame in frames if _owner(frame) is owner):
            return chosen
    return tuple(frames)


def _owner(frame: StackFrame) -> Owner:
    return Owner.TORCH if _GENERATED.search(frame.file) else owner_of(frame.file)


def _compiles(frames: Iterable[StackFrame]) -> bool:
    return any(part in frame.file for frame in frames for part in COMPILER)


def _state(frames: Sequence[StackFrame]) -> tuple[str, str]:
    """What the innermost frames do: the state of a `StackGroup`, and the collective."""
    for frame in frames:
        if _owner(frame) is Owner.USER:
            break  # code of the user that a collective or a backward has called does something else
        if frame.file.endswith(COLLECTIVE_FILES) and frame.function in COLLECTIVES:
            return IN_COLLECTIVE, _outermost(frames, frame)
        if frame.file.endswith(BACKWARD[0]) and frame.function == BACKWARD[1]:
            return IN_BACKWARD, ""
    return ELSEWHERE, ""


def _outermost(frames: Sequence[StackFrame], inner: StackFrame) -> str:
    """The collective that the user's code called: `all_gather_object` rather than the `all_gather` inside of it."""
    name = inner.function
    for frame in frames[frames.index(inner) :]:
        if _owner(frame) is Owner.USER:
            break
        if frame.file.endswith(COLLECTIVE_FILES) and frame.function in COLLECTIVES:
            name = frame.function
    return name


def _group(members: Sequence[tuple[SampledStack, tuple[StackFrame, ...]]]) -> StackGroup:
    frames = members[0][1]
    variants: dict[tuple[StackFrame, ...], list[SampledStack]] = defaultdict(list)
    for stack, full in members:
        variants[full].append(stack)
    places, (state, collective) = _places(frames), _state(frames)
    inner = frames.index(places[0])
    different = sorted(variants.values(), key=len)
    stacks = [stack for stack, _ in members]
    called = frames[inner - 1].function if inner else ""
    return StackGroup(
        _ranks(stacks), len(stacks), tuple(stack.pid for stack in stacks), state, collective,
        _compiles(frames), state == IN_COLLECTIVE and _compiles(frames[:inner]), places, called,
        tuple(StackVariant(_ranks(same), tuple(stack.pid for stack in same), same[0].lines) for same in different),
    )


def _ranks(stacks: Iterable[SampledStack]) -> str:
    return ranges(stack.rank for stack in stacks if stack.rank is not None)
