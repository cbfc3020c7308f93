"""Launches of a job: torchrun starts all workers again after a failure (`--max-restarts`), and Slurm requeues jobs.

A process belongs to one launch. It is identified by its pid within that launch, never by its rank alone: each launch has a rank 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tltui.analyses.job_failures.launchers import CANCELLED, EXIT, TORCHRUN, Report
from tltui.analyses.job_failures.printed import Printed
from tltui.analyses.job_failures.torchrun import TorchrunEnd


@dataclass(frozen=True, slots=True)
class TracedProcess:
    """A process that wrote a log."""

    pid: int
    rank: int | None
    started: float
    """Seconds since the epoch."""
    last: float
    """When its last record was written, in seconds since the epoch; `started` where the log does not contain it."""
    launch: int = 0
    """The number that the path of its log contains (torchrun's `attempt_K`), from 1; 0 for none."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two processes of one rank that ran at the same time: two jobs wrote into one directory."""

    rank: int
    pids: tuple[int, int]


def number_launches(processes: Iterable[TracedProcess]) -> tuple[list[TracedProcess], list[Overlap]]:
    """Number the launches of processes by their times; report ranks of which two processes ran at once.

    A new launch begins where all earlier processes had written their last record and a rank appears again. Numbers from paths win.
    """
    ordered = sorted(processes, key=lambda item: item.started)
    if any(item.launch for item in ordered):
        return ordered, []
    numbered: list[TracedProcess] = []
    overlaps: list[Overlap] = []
    launch, end = 1, float("-inf")
    current: dict[int, TracedProcess] = {}
    for item in ordered:
        if item.rank is not None and (before := current.get(item.rank)) is not None:
            if item.started > end:
                launch, current = launch + 1, {}
            elif item.started < before.last:
                overlaps.append(Overlap(item.rank, (before.pid, item.pid)))
        numbered.append(replace(item, launch=launch))
        end = max(end, item.last)
        if item.rank is not None:
            current[item.rank] = item
    return numbered, overlaps


class Cut:
    """The places at which one output is divided into launches."""

    def __init__(self, printed: Printed, processes: Sequence[TracedProcess]) -> None:
        """`processes`: those of the run, with their launches."""
        self._attempt = printed.attempt
        self._ends: list[tuple[int, int]] = []  # (launch, offset of the last message about its end)
        self._by_pid = {item.pid: item.launch for item in processes if sum(other.pid == item.pid for other in processes) == 1}
        self._last = max((item.launch for item in processes), default=0)
        agents = [item for item in printed.reports if item.program == TORCHRUN and item.kind == EXIT]
        if agents:
            self._cut_at_agents(agents)
        elif len(printed.torchrun) > 1:
            self._cut_at_summaries(printed.torchrun)
        else:
            self._cut_at_requeues(printed)

    def _cut_at_agents(self, reports: Sequence[Report]) -> None:
        """Begin a launch where a torchrun reports its second failure, or reports a process that started after the last failure."""
        launch, agents, locals_ = 1, set[int | None](), set[int | None]()
        for report in reports:
            traced = self._by_pid.get(report.pid or 0, 0)
            again = report.agent in agents if report.agent is not None else report.local_rank in locals_
            if agents and (again or traced > launch):
                launch, agents, locals_ = launch + 1, set(), set()
            launch = traced or launch
            agents.add(report.agent)
            locals_.add(report.local_rank)
            self._end(launch, report.offset)

    def _cut_at_summaries(self, ends: Sequence[TorchrunEnd]) -> None:
        """Begin a launch where a summary lists a rank that the one before it lists too."""
        launch, ranks = 1, set[int]()
        for end in ends:
            listed = {worker.rank for worker in ((end.root,) if end.root else ()) + end.others if worker.rank is not None}
            if ranks & listed:
                launch, ranks = launch + 1, set()
            ranks |= listed
            self._end(launch, end.offset)

    def _cut_at_requeues(self, printed: Printed) -> None:
        """Begin a launch where Slurm ended the job and the output goes on."""
        for launch, report in enumerate((r for r in printed.reports if r.kind == CANCELLED and "REQUEUE" in r.reason), 1):
            self._end(launch, report.offset)

    def _end(self, launch: int, offset: int) -> None:
        if self._ends and self._ends[-1][0] == launch:
            self._ends[-1] = (launch, offset)
        else:
            self._ends.append((launch, offset))

    def launch_of(self, offset: int, is_launcher: bool = False) -> int:
        """Return the launch to which a place of the output belongs. `is_launcher`: it is a message of the launcher itself."""
        if self._attempt is not None:
            return self._attempt
        for launch, end in self._ends:
            if offset <= end:
                return launch
        if not self._ends:
            return max(self._last, 1)
        last = self._ends[-1][0]
        return last if is_launcher else max(last, self._last)
