"""Local processes of a job: how to sample their Python stacks, and the stacks in few groups."""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.inputs.forms import TEXT
from tltui.model.nodes import Process
from tltui.model.ref import Ranks, shortened, with_noun
from tltui.model.run import Run
from tltui.sources.local_processes import LogProcesses, Stacks, doing_of, lines_of, processes_of, stacks_of
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import Owner, owner_of
from tltui.trace.files import FileBytes, Identity

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
"""The frame above C++ code: kernels of the backward, and the hooks with which DDP and FSDP wait for their collectives."""
COMPILER = ("torch/_dynamo/convert_frame.py", "torch/_inductor/", "torch/_functorch/")
_GENERATED = re.compile(r"/c[a-z2-7]{51}\.py$")
"""Code that Inductor wrote: it is named after its hash (`torch/_inductor/codecache.py`) and may lie in any directory."""


@frozen
class StackFrame:
    """A frame of a Python stack."""

    function: str
    file: str
    line: int | None


@frozen
class SampledStack:
    """Output of py-spy for one process. `rank`: None for a process without one."""

    rank: int | None
    pid: int
    lines: tuple[str, ...]


@frozen
class StackVariant:
    """Processes whose main threads have the same frames, those of torch and of libraries included."""

    ranks: Ranks
    """Empty for processes without a rank."""
    pids: tuple[int, ...]
    lines: tuple[str, ...]
    """All threads of the first of them, as py-spy prints them."""


@frozen
class StackGroup:
    """Processes that are at the same place of the user's code."""

    ranks: Ranks
    """Empty for processes without a rank."""
    count: int
    pids: tuple[int, ...]
    state: str
    """`collective`: in a function of torch.distributed that waits for other ranks; `backward`: in autograd's engine, which may
    wait for a collective too; `elsewhere`."""
    collective: str
    """The function of torch.distributed: `barrier`; '' outside of one."""
    is_compiling: bool
    """Whether torch.compile is among the frames."""
    is_compiler_collective: bool
    """Whether torch.compile itself called the collective, and no code of the user that it runs."""
    frames: tuple[StackFrame, ...]
    """Those of the user's code, the innermost first; of a process without any those of libraries, else all."""
    callee: str
    """The function that the innermost of these frames called; '' where it is the innermost of all."""
    variants: tuple[StackVariant, ...]


def group_stacks(stacks: Iterable[SampledStack]) -> tuple[StackGroup, ...]:
    """Group stacks by the user's frames.

    The first group is the one to look at: ranks that are not in a collective while others are, else the smallest group.
    """
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
    """Return the frames of the main thread, the innermost first; of the first thread where none has that name."""
    threads: list[tuple[bool, list[StackFrame]]] = []
    for line in lines:
        if _THREAD.match(line):
            threads.append((MAIN in line, []))
        elif threads and (match := _FRAME.match(line)):
            threads[-1][1].append(StackFrame(match[1], match[2], int(match[3]) if match[3] else None))
    frames = next((thread for is_main, thread in threads if is_main), threads[0][1] if threads else [])
    return tuple(frames)


def _places(frames: Sequence[StackFrame]) -> tuple[StackFrame, ...]:
    """Return the user's frames; of a process without any those of libraries, else all."""
    for owner in (Owner.USER, Owner.LIBRARY):
        if chosen := tuple(frame for frame in frames if _owner(frame) is owner):
            return chosen
    return tuple(frames)


def _owner(frame: StackFrame) -> Owner:
    return Owner.TORCH if _GENERATED.search(frame.file) else owner_of(frame.file)


def _compiles(frames: Iterable[StackFrame]) -> bool:
    return any(part in frame.file for frame in frames for part in COMPILER)


def _state(frames: Sequence[StackFrame]) -> tuple[str, str]:
    """Return the state of a `StackGroup` with these frames, and its collective."""
    for frame in frames:
        if _owner(frame) is Owner.USER:
            break  # user code that a collective or a backward calls is no wait
        if frame.file.endswith(COLLECTIVE_FILES) and frame.function in COLLECTIVES:
            return IN_COLLECTIVE, _outermost(frames, frame)
        if frame.file.endswith(BACKWARD[0]) and frame.function == BACKWARD[1]:
            return IN_BACKWARD, ""
    return ELSEWHERE, ""


def _outermost(frames: Sequence[StackFrame], inner: StackFrame) -> str:
    """Return the collective that the user's code called: `all_gather_object` rather than the `all_gather` inside of it."""
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
        _ranks(stacks),
        len(stacks),
        tuple(stack.pid for stack in stacks),
        state,
        collective,
        _compiles(frames),
        state == IN_COLLECTIVE and _compiles(frames[:inner]),
        places,
        called,
        tuple(StackVariant(_ranks(same), tuple(stack.pid for stack in same), same[0].lines) for same in different),
    )


def _ranks(stacks: Iterable[SampledStack]) -> Ranks:
    return Ranks(stack.rank for stack in stacks if stack.rank is not None)


STACKS_SHOWN = 8
"""Groups that are listed."""
GROUPS_LISTED = 3
"""Groups that the answer names, and processes without a rank that are named by their numbers."""
DEEPEST = 4
"""Frames of the user's code that are shown of a group."""
LIST_WIDTH = 40


def stacks_answer(groups: Sequence[StackGroup]) -> str:
    """Return the answer in a sentence; '' where there are no stacks, or only one process."""
    if sum(group.count for group in groups) < 2:
        return ""
    waiting = [group for group in groups if group.state == IN_COLLECTIVE]
    absent = [group for group in groups if group.state == ELSEWHERE]
    if waiting and absent:
        return _absent_sentence(absent, waiting)
    text = "; ".join(f"{_who(group)} {_are(group)} {_doing(group)}" for group in groups[:GROUPS_LISTED])
    if more := sum(group.count for group in groups[GROUPS_LISTED:]):
        text += f"; {fmt.plural(more, 'more process', 'more processes')} {'is' if more == 1 else 'are'} elsewhere"
    if len(waiting) > 1:
        text += ". These are different calls. If they use the same process group, none of them can finish"
    elif len(groups) > 1 and any(group.state == IN_BACKWARD for group in groups):
        text += ". A backward pass may be waiting in a collective, which Python stacks do not show"
    return f"{text[:1].upper()}{text[1:]}."


def _absent_sentence(absent: Sequence[StackGroup], waiting: Sequence[StackGroup]) -> str:
    """`Rank 1 has not reached the barrier at job.py:288, in which ranks 0, 2 wait. It is at job.py:287 in sync.`"""
    largest = max(waiting, key=lambda group: group.count)
    first = absent[0]
    have, it = ("has", "It") if first.count == 1 else ("have", "They")
    wait = "waits" if largest.count == 1 else "wait"
    text = f"{_who(first)} {have} not reached the {_call(largest)}, in which {_who(largest)} {wait}"
    text += f". {it} {_are(first)} {_doing(first)}"
    others = [*absent[1:], *(group for group in waiting if group is not largest)]
    text += "".join(f"; {_who(group)} {_are(group)} {_doing(group)}" for group in others[: GROUPS_LISTED - 1])
    if more := sum(group.count for group in others[GROUPS_LISTED - 1 :]):
        text += f"; {fmt.plural(more, 'more process', 'more processes')} {'is' if more == 1 else 'are'} elsewhere"
    return f"{text[:1].upper()}{text[1:]}."


def _are(group: StackGroup) -> str:
    return "is" if group.count == 1 else "are"


def _who(group: StackGroup | StackVariant) -> str:
    """`rank 1`, `ranks 0, 2`, `process 1234`"""
    many = len(group.pids) > 1
    if group.ranks:
        return f"{'ranks' if many else 'rank'} {shortened(str(group.ranks), LIST_WIDTH)}"
    numbers = ", ".join(map(str, group.pids[:GROUPS_LISTED])) + (" …" if len(group.pids) > GROUPS_LISTED else "")
    return f"{'processes' if many else 'process'} {numbers}"


def _call(group: StackGroup) -> str:
    """`barrier at job.py:288`"""
    whose = "compiler's own " if group.is_compiler_collective else ""
    return f"{whose}{sanitize(group.collective)} at {_place(group.frames[0])}"


def _doing(group: StackGroup) -> str:
    """`in the barrier at job.py:288`, `at job.py:287 in sync, inside of torch.compile`"""
    if group.state == IN_COLLECTIVE:
        text = f"in the {_call(group)}"
    elif group.state == IN_BACKWARD:
        text = f"in the backward at {_place(group.frames[0])}"
    else:
        text = f"at {_place(group.frames[0])} in {_function(group.frames[0])}"
    return f"{text}, inside of torch.compile" if group.is_compiling and not group.is_compiler_collective else text


def _place(frame: StackFrame) -> str:
    return sanitize(fmt.place(frame.file, frame.line))


def _function(frame: StackFrame) -> str:
    return fmt.clip_middle(sanitize(frame.function), 60)


def add_stacks(page: Page, groups: Sequence[StackGroup], heading: str) -> None:
    """Add a line for each group, the odd one first, then the full stacks, folded: one for each variant of a group."""
    if not groups:
        return
    page.heading(heading)
    depth = _depth(groups)
    for group in groups[:STACKS_SHOWN]:
        page.row([(_who(group), tokens.STRONG), ": ", *_trail(page, group, depth)])
    if (more := len(groups) - STACKS_SHOWN) > 0:
        page.say(f"and {fmt.plural(more, 'more place')}", "  ", tokens.DIM)
    for group in groups[:STACKS_SHOWN]:
        for variant in group.variants:
            page.open(f"Stack of {_who(variant)}", folded=True, aside=True)
            page.add("  ", (f"Stack of {_who(variant)}", tokens.LABEL), (f"  pid {variant.pids[0]}", tokens.DIM))
            for line in variant.lines:
                page.add("    ", (line, tokens.DIM))
            page.close()


def _trail(page: Page, group: StackGroup, depth: int) -> list[Piece]:
    """`job.py:288 sync ▸ barrier`: the last frames of the user's code and what they called."""
    pieces: list[Piece] = []
    for frame in reversed(group.frames[:depth]):
        pieces += [" ▸ "] * bool(pieces) + [page.place(frame.file, frame.line), f" {_function(frame)}"]
    called = "backward" if group.state == IN_BACKWARD else group.collective or ("" if group.is_compiling else group.callee)
    if called:
        pieces.append((f" ▸ {fmt.clip_middle(sanitize(called), 60)}", tokens.WARN if group.state == IN_COLLECTIVE else ""))
    if group.is_compiling:
        pieces.append(("  inside of torch.compile", tokens.DIM))
    return pieces


def _depth(groups: Sequence[StackGroup]) -> int:
    """Return the number of frames after which no two groups look alike."""
    for depth in range(1, DEEPEST):
        shown = [(group.frames[:depth], group.state, group.collective) for group in groups]
        if len(set(shown)) == len(shown):
            return depth
    return DEEPEST


ASKED = 64
"""Processes whose stacks are asked for: each takes a while."""
AT_ONCE = 4
"""Processes sampled at the same time, so that one without an answer does not hold up all others."""
FEW = 8
"""Logs whose processes are shown one by one. Of more those that do the same are one line."""
SHOWN = 16
"""Lines of such processes."""
LAST = (True, math.inf)
"""Sort key of a log with nothing open and without a rank."""


@frozen
class ProcessStacks:
    """The Python stacks of a process, as py-spy has them."""

    pid: int
    stacks: Stacks


@frozen
class Here:
    """Processes of a run on this machine."""

    logs: tuple[LogProcesses, ...] = ()
    """Each log that was read, and who writes it."""
    stacks: tuple[ProcessStacks, ...] = ()
    """Where that was asked for, of at most `ASKED` processes."""
    sampled_at: str = ""
    """When that was, by the clock of this machine: a page stays while they go on."""
    not_sampled: int = 0
    """Processes whose stacks were not asked for, since there are too many."""


def files_of(run: Run) -> dict[str, Identity]:
    """Return the logs that are the files that were read: those that end inside of a compile first, then by rank.

    Stacks are sampled of the first ones only. Copies that tltui made are left out, since only tltui writes them, and so are
    outputs beside traces: the launcher, a shell or `tee` holds them open, which is no rank.
    """
    logs = [model for model in run.models if model.form != TEXT] or run.models
    models = sorted(logs, key=lambda model: min(map(_turn, model.processes), default=LAST))
    sources = {model.log.path: model.log.source for model in models}
    return {
        path: source.identity
        for path, source in sources.items()
        if isinstance(source, FileBytes) and source.identity is not None and not source.lost_reason and source.path == path
    }


def _turn(process: Process) -> tuple[bool, float]:
    last = next((compile_ for compile_ in reversed(process.compiles.values()) if compile_.is_compile), None)
    return last is None or last.is_closed, math.inf if process.rank is None else process.rank


def sample_processes(files: dict[str, Identity], stacks: bool) -> Here:
    """Return the processes that write these logs, with `stacks` from py-spy if it is installed. Takes half a second or more."""
    logs = processes_of(files)
    processes = [process for log in logs for process in log.processes]
    asked = processes[:ASKED] if stacks else []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        sampled = pool.map(lambda process: ProcessStacks(process.pid, stacks_of(process.pid, process.start_ticks)), asked)
    return Here(logs, tuple(sampled), time.strftime("%H:%M:%S"), len(processes) - len(asked) if stacks else 0)


def add_processes(page: Page, run: Run, here: Here) -> None:
    """Add a section for each log with a writer on this machine, and a line for all others."""
    ranks = {process.log.path: process.rank for process in run.processes()}
    # sampled by importance, shown by rank
    written = sorted(
        (log for log in here.logs if log.processes or log.other_process_count), key=lambda log: _order(ranks.get(log.log))
    )
    over = {model.log.path for model in run.models if model.log.ended}
    add_stacks(page, stack_groups(run, here), f"Python stacks{f' at {here.sampled_at}' if here.sampled_at else ''}")
    _add_faults(page, here)
    when = f" at {here.sampled_at}" if here.sampled_at else ""
    if len(written) > FEW:
        _add_alike(page, written, ranks, when)
    for log in written if len(written) <= FEW else ():
        rank = ranks.get(log.log)
        whose = f"Rank {rank}" if rank is not None else fmt.file_name(log.log)
        page.heading(f"{whose} on this machine{when}{', before its log ended' if when and log.log in over else ''}")
        for line in lines_of(log):
            page.add("    ", line)
    _add_others(page, [log for log in here.logs if not (log.processes or log.other_process_count)], bool(written))
    if here.not_sampled:
        page.say(f"py-spy sampled only {ASKED} processes; {here.not_sampled} more not sampled", "  ", tokens.DIM)


def _add_alike(page: Page, logs: Sequence[LogProcesses], ranks: Mapping[str, int | None], when: str) -> None:
    """Add processes by activity, one line for each, the rarest first."""
    together: dict[str, list[tuple[int | None, int]]] = defaultdict(list)
    for log in logs:
        for process in log.processes:
            together[doing_of(process)].append((ranks.get(log.log), process.pid))
    page.heading(f"Processes on this machine{when}")
    lines = sorted(together.items(), key=lambda item: len(item[1]))
    for activity, members in lines[:SHOWN]:
        numbered = Ranks(rank for rank, _ in members if rank is not None)
        who = with_noun(numbered) if numbered else fmt.plural(len(members), "process", "processes")
        pids = f"pid {members[0][1]}" if len(members) == 1 else f"pid {members[0][1]} and {len(members) - 1} more"
        page.row([(who, tokens.STRONG), f": {activity}", (f"  {pids}", tokens.DIM)])
    if left := sum(len(members) for _, members in lines[SHOWN:]):
        page.say(f"and {fmt.plural(left, 'more process', 'more processes')}", "  ", tokens.DIM)
    if others := sum(log.other_process_count for log in logs):
        page.say(f"{fmt.plural(others, 'process', 'processes')} of other users", "  ", tokens.DIM)


def _order(rank: int | None) -> tuple[bool, int]:
    return (rank is None, rank or 0)


def stack_groups(run: Run, here: Here) -> tuple[StackGroup, ...]:
    """Return the sampled stacks in groups."""
    ranks = {process.log.path: process.rank for process in run.processes()}
    rank_of = {process.pid: ranks.get(log.log) for log in here.logs for process in log.processes}
    return group_stacks(SampledStack(rank_of.get(sample.pid), sample.pid, sample.stacks.lines) for sample in here.stacks)


def _add_faults(page: Page, here: Here) -> None:
    """Add why some processes have no stacks, each reason once."""
    for fault in dict.fromkeys(sample.stacks.fault for sample in here.stacks if sample.stacks.fault):
        page.say(fault, "  ", tokens.WARN)


def _add_others(page: Page, logs: Sequence[LogProcesses], has_writers: bool) -> None:
    if not logs:
        return
    page.heading("On this machine" if not has_writers else "Elsewhere")
    other = "other " if has_writers else ""
    count = f"the {other}log" if len(logs) == 1 else f"any of the {fmt.count(len(logs))} {other}logs"
    mine = any(log.has_unreadable_processes for log in logs)
    here = "None of your processes on this machine" if mine else "No process on this machine"
    page.say(f"{here} has {count} open for writing. The job has ended, or runs on another machine or in another container.", "  ")
