"""The processes that write the logs of a run on this machine: what is asked of them, and what is said."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tltui.analyses.hang.sampled_stacks import SampledStack, StackGroup, group_stacks
from tltui.analyses.ranks.ranges import ranges
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.sampled_stacks import add_stacks
from tltui.inputs.table import TEXT
from tltui.model.nodes import Process
from tltui.model.run import Run
from tltui.sources.pids import LogProcesses, doing_of, lines_of, processes_of
from tltui.sources.py_spy import Stacks, stacks_of
from tltui.text import tokens
from tltui.trace.files import FileBytes, Identity

ASKED = 64
"""Processes whose stacks are asked for: each takes a while."""
AT_ONCE = 4
"""Of these at the same time, so that one that gives no answer does not hold up all others."""
FEW = 8
"""Logs whose processes are shown one by one. Of more those that do the same are one line."""
SHOWN = 16
"""Lines of such processes."""
LAST = (True, math.inf)
"""Where a log stands that has nothing open and no rank."""


@dataclass(frozen=True, slots=True)
class ProcessStacks:
    """The Python stacks of a process, as py-spy has them."""

    pid: int
    stacks: Stacks


@dataclass(frozen=True, slots=True)
class Here:
    """What the processes of a run on this machine do."""

    logs: tuple[LogProcesses, ...] = ()
    """Each log that was read, and who writes it."""
    stacks: tuple[ProcessStacks, ...] = ()
    """Where that was asked for, of at most `ASKED` processes."""
    at: str = ""
    """When that was, by the clock of this machine: a page stays while they go on."""
    unasked: int = 0
    """Processes whose stacks were not asked for, since there are too many."""


def files_of(run: Run) -> dict[str, Identity]:
    """The logs that are still what they were when they were read: those that end inside of a compile first, as stacks are
    asked of some only; then by rank. Copies that tltui has made are left out: nobody but itself writes them. So are outputs beside
    traces: the launcher, a shell or `tee` holds them open, which is no rank."""
    logs = [model for model in run.models if model.form != TEXT] or run.models
    models = sorted(logs, key=lambda model: min(map(_turn, model.processes), default=LAST))
    sources = {model.log.path: model.log.source for model in models}
    return {
        path: source.identity
        for path, source in sources.items()
        if isinstance(source, FileBytes) and source.identity is not None and not source.gone and source.path == path
    }


def _turn(process: Process) -> tuple[bool, float]:
    last = next((compile_ for compile_ in reversed(process.compiles.values()) if compile_.is_compile), None)
    return last is None or last.is_closed, math.inf if process.rank is None else process.rank


def ask(files: dict[str, Identity], stacks: bool) -> Here:
    """Ask: half a second where somebody writes them. With `stacks` py-spy is run, where it is installed."""
    logs = processes_of(files)
    found = [process for log in logs for process in log.processes]
    asked = found[:ASKED] if stacks else []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        sampled = pool.map(lambda process: ProcessStacks(process.pid, stacks_of(process.pid, process.began)), asked)
    return Here(logs, tuple(sampled), time.strftime("%H:%M:%S"), len(found) - len(asked) if stacks else 0)


def add_processes(page: Page, run: Run, here: Here) -> None:
    """A section for each log that somebody writes here, and a line for all others."""
    ranks = {process.log.path: process.rank for process in run.processes()}
    # they were asked in the order in which they matter; here one looks for a rank
    held = sorted((log for log in here.logs if log.processes or log.others), key=lambda log: _order(ranks.get(log.log)))
    over = {model.log.path for model in run.models if model.log.ended}
    add_stacks(page, stack_groups(run, here), f"Python stacks{f' at {here.at}' if here.at else ''}")
    _add_faults(page, here)
    when = f" at {here.at}" if here.at else ""
    if len(held) > FEW:
        _add_alike(page, held, ranks, when)
    for log in held if len(held) <= FEW else ():
        rank = ranks.get(log.log)
        whose = f"Rank {rank}" if rank is not None else fmt.file_name(log.log)
        page.heading(f"{whose} on this machine{when}{', before its log ended' if when and log.log in over else ''}")
        for line in lines_of(log):
            page.add("    ", line)
    _add_others(page, [log for log in here.logs if not (log.processes or log.others)], bool(held))
    if here.unasked:
        page.say(f"py-spy was asked about {ASKED} processes only, not about {here.unasked} more", "  ", tokens.DIM)


def _add_alike(page: Page, logs: Sequence[LogProcesses], ranks: Mapping[str, int | None], when: str) -> None:
    """Many processes: those that do the same are one line, the rarest first."""
    together: dict[str, list[tuple[int | None, int]]] = defaultdict(list)
    for log in logs:
        for process in log.processes:
            together[doing_of(process)].append((ranks.get(log.log), process.pid))
    page.heading(f"Processes on this machine{when}")
    lines = sorted(together.items(), key=lambda item: len(item[1]))
    for what, own in lines[:SHOWN]:
        numbered = ranges(rank for rank, _ in own if rank is not None)
        who = f"{'rank' if len(own) == 1 else 'ranks'} {numbered}" if numbered else fmt.plural(len(own), "process", "processes")
        pids = f"pid {own[0][1]}" if len(own) == 1 else f"pid {own[0][1]} and {len(own) - 1} more"
        page.row([(who, tokens.STRONG), f": {what}", (f"  {pids}", tokens.DIM)])
    if left := sum(len(own) for _, own in lines[SHOWN:]):
        page.say(f"and {fmt.plural(left, 'more process', 'more processes')}", "  ", tokens.DIM)
    if others := sum(log.others for log in logs):
        page.say(f"{fmt.plural(others, 'process', 'processes')} of other users", "  ", tokens.DIM)


def _order(rank: int | None) -> tuple[bool, int]:
    return (rank is None, rank or 0)


def stack_groups(run: Run, here: Here) -> tuple[StackGroup, ...]:
    """The stacks that were sampled, in groups."""
    ranks = {process.log.path: process.rank for process in run.processes()}
    rank_of = {process.pid: ranks.get(log.log) for log in here.logs for process in log.processes}
    return group_stacks(SampledStack(rank_of.get(own.pid), own.pid, own.stacks.lines) for own in here.stacks)


def _add_faults(page: Page, here: Here) -> None:
    """Why there are no stacks of some processes: the same reason once."""
    for fault in dict.fromkeys(own.stacks.fault for own in here.stacks if own.stacks.fault):
        page.say(fault, "  ", tokens.WARN)


def _add_others(page: Page, logs: Sequence[LogProcesses], beside: bool) -> None:
    if not logs:
        return
    page.heading("On this machine" if not beside else "Elsewhere")
    which = "the log" if len(logs) == 1 and not beside else f"{'one of ' * (len(logs) > 1)}{fmt.plural(len(logs), 'log')}"
    here = "no process of yours here" if any(log.unseen for log in logs) else "no process here"
    page.say(f"{here} has {which} open for writing: the job has ended, or runs on another machine or in another container", "  ")
