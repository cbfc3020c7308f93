"""Failed processes of a job: root causes before their consequences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tltui.questions.job_failures.launcher_reports import (
    CANCELLED,
    ENDING,
    EXIT,
    INTERRUPTED,
    KERNEL,
    MEMORY,
    SHELL,
    SPAWN,
    SRUN,
    STOPPED,
    TIMEOUT,
    TORCHRUN,
    WORKER,
    Report,
)
from tltui.questions.job_failures.launches import Cut, Printed, TorchrunEnd, TracedProcess, WorkerEnd
from tltui.questions.job_failures.printed_tracebacks import FATAL, Traceback

_LOST = re.compile(
    r"\[\S*gloo/transport/\S+:\d+\] |Connection closed by peer|Check the logs of the remote worker"
    r"|Timed out waiting \d+ ?ms for (?:recv|send)|Application timeout caused pair closure"
    r"|(?:[Ff]ailed|unable) to (?:recv|send), got \d+ bytes|Socket Timeout|wait timeout after \d+ ?ms|recvValueWithTimeout failed"
    r"|The client socket has (?:timed out|failed to connect)|(?:Broken pipe|Connection reset by peer) \["
    r"|NCCL communicator was aborted|ncclRemoteError|remote process exited or there was a network error"
    r"|[Ww]atchdog caught collective operation timeout|collective operation timeout"
    r"|[Rr]ank \d+ (?:successfully reached|failed to pass) monitoredBarrier"
)
"""Messages about a peer that ended or did not come: third_party/gloo/gloo/transport/tcp, torch/csrc/distributed/c10d/socket.cpp,
TCPStore.cpp, ProcessGroupGloo.cpp and ProcessGroupNCCL.cpp."""
MESSAGE_READ = 4000
"""Characters of a message that are searched."""
LAUNCHERS = frozenset(("SignalException", "ProcessRaisedException", "ProcessExitedException", "ChildFailedError"))
"""Exceptions that torchrun and `torch.multiprocessing.spawn` raise when a worker has failed."""
_LAUNCHER_FILES = ("accelerate/commands/", "deepspeed/launcher/", "torch/distributed/run.py", "torch/distributed/launcher/")


def is_lost_connection(traceback: Traceback) -> bool:
    """Return whether an exception reports that another process ended, or did not enter a collective."""
    return _LOST.search(traceback.message[:MESSAGE_READ]) is not None


def is_of_launcher(traceback: Traceback) -> bool:
    """Return whether a launcher raised an exception, as a worker of it had failed."""
    if traceback.name in LAUNCHERS:
        return True
    if traceback.name != "CalledProcessError":
        return False
    files = [frame.file or "" for part in traceback.parts for frame in part.frames]
    return any(name in file for file in files for name in _LAUNCHER_FILES)


FAULTS = {
    "Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT", "Bus error": "SIGBUS", "Floating point exception": "SIGFPE",
    "Floating-point exception": "SIGFPE", "Illegal instruction": "SIGILL",
}  # fmt: skip
"""Names of signals in messages of `faulthandler` (CPython, Modules/faulthandler.c)."""
FIRST, CULPRIT, FOLLOWED, ENDED, REMARK = "first", "culprit", "followed", "ended", "remark"
"""Roles. `first`: the process that failed first. `culprit`: one that failed by itself. `followed`: one that lost a connection or
timed out because another process failed. `ended`: one that the launcher ended. `remark`: a message that ended no process."""
ROLES = (FIRST, CULPRIT, FOLLOWED, ENDED, REMARK)
PYTHON_ERROR = 1
"""The exit code of a Python process that ends by an exception."""
PREFIX_SIZE = 80
"""Bytes that a launcher may print before each line."""


@dataclass(slots=True)
class End:
    """How one process ended, put together from all messages about it."""

    launch: int
    offset: int
    output: int
    rank: int | None = None
    pid: int | None = None
    index: int | None = None
    """Its number on its node, or among the processes of `torch.multiprocessing`."""
    exit: str = ""
    host: str = ""
    time: str = ""
    meaning: str = ""
    program: str = ""
    """The launcher that reported it."""
    text: str = ""
    """The line of the report, where there is no exception."""
    recorded: str = ""
    """The traceback in torchrun's summary."""
    tracebacks: list[tuple[int, Traceback]] = field(default_factory=list)
    """(output, traceback)"""
    is_root: bool = False
    """Whether the launcher names it as the first failure."""
    is_stopped: bool = False
    """Whether the launcher ended it, or sent it a signal."""
    timed_out: bool = False
    """Whether a watchdog gave one of its collectives up."""
    memory: str = ""
    """The program that reports that memory ran out: `the kernel`; empty for none."""

    @property
    def traceback(self) -> tuple[int, Traceback] | None:
        """The exception that ended it: the last one that is no lost connection, else the last one."""
        culprits = [pair for pair in self.tracebacks if not is_lost_connection(pair[1])]
        pairs = culprits or self.tracebacks
        return pairs[-1] if pairs else None

    @property
    def role(self) -> str:
        """What its end was, seen alone."""
        if self.tracebacks:
            is_lost = all(is_lost_connection(item) for _, item in self.tracebacks)
            return FOLLOWED if is_lost else CULPRIT
        if self.is_stopped and not self.is_root:
            return ENDED
        return FOLLOWED if self.timed_out else CULPRIT


class LaunchEnds:
    """The ends of the processes of one launch."""

    def __init__(self, number: int, ranks: dict[int, int | None]) -> None:
        """`ranks`: pid → rank, of the processes of this launch that wrote a log."""
        self.number = number
        self.ranks = ranks
        self.ends: list[End] = []
        self.remarks: list[tuple[int, Report]] = []
        """(output, report) of messages that name no process of the job."""
        self.loose: list[tuple[int, Traceback]] = []
        """(output, traceback) of which no message names the process."""
        self.stops: dict[int, tuple[int, Report]] = {}
        """pid → (output, report) of the processes that the launcher sent a signal."""
        self.interrupt: tuple[int, Report] | None = None
        self.agents: set[int | None] = set()

    def end_of(self, output: int, offset: int, pid: int | None, rank: int | None) -> End:
        """Return the end of a process; a new one where no message before named it."""
        if rank is None and pid is not None:
            rank = self.ranks.get(pid)
        for end in self.ends:
            if pid is not None and end.pid is not None:
                if end.pid == pid:
                    end.rank = rank if end.rank is None else end.rank
                    return end
            elif rank is not None and end.rank == rank:
                end.pid = pid if end.pid is None else end.pid
                return end
        self.ends.append(End(self.number, offset, output, rank, pid))
        return self.ends[-1]

    def has_rank_of_another(self, rank: int, pid: int | None) -> bool:
        """Return whether another process of the launch is known to have a rank."""
        return any(number == rank and own != pid for own, number in self.ranks.items()) or any(
            end.rank == rank and end.pid != pid for end in self.ends
        )

    @property
    def is_one_node(self) -> bool:
        """Whether one torchrun reported all failures."""
        return len(self.agents) <= 1


def launch_ends(printed: Sequence[Printed], processes: Sequence[TracedProcess]) -> list[LaunchEnds]:
    """Collect the ends of processes by launch, the first launch first."""
    cuts = [Cut(one, processes) for one in printed]
    launches: dict[int, LaunchEnds] = {}

    def launch(number: int) -> LaunchEnds:
        if number not in launches:
            ranks = {item.pid: item.rank for item in processes if item.launch in (0, number)}
            launches[number] = LaunchEnds(number, ranks)
        return launches[number]

    for output, (one, cut) in enumerate(zip(printed, cuts, strict=True)):
        for report in one.reports:
            if report.program == TORCHRUN:
                _add_torchrun(launch(cut.launch_of(report.offset, True)), output, report)
        for end in one.torchrun:
            number = _launch_of_summary(end, launches.values()) or cut.launch_of(end.offset, True)
            _add_summary(launch(number), output, end)
    for output, traceback in _distinct([one.tracebacks for one in printed]):
        if not is_of_launcher(traceback):
            _add_traceback(launch(cuts[output].launch_of(traceback.offset)), output, traceback, printed[output].reports)
    for output, (one, cut) in enumerate(zip(printed, cuts, strict=True)):
        ending: dict[int, bool] = {}
        for report in one.reports:
            if report.program != TORCHRUN:
                number = cut.launch_of(report.offset, report.program not in (KERNEL, SHELL))
                ending[number] = ending.get(number, False) or report.kind in (ENDING, CANCELLED)
                _add_report(launch(number), output, report, ending[number])
    ordered = [launches[number] for number in sorted(launches)]
    for ends in ordered:
        _name_ranks(ends)
        _give_loose(ends)
        _name_memory(ends)
    return ordered


def _launch_of_summary(summary: TorchrunEnd, launches: Iterable[LaunchEnds]) -> int | None:
    """Return the newest launch of which torchrun's agent reported a process that a summary lists."""
    pids = {worker.pid for worker in _workers(summary) if worker.pid is not None}
    return max((ends.number for ends in launches if any(end.pid in pids for end in ends.ends)), default=None)


def _workers(summary: TorchrunEnd) -> tuple[WorkerEnd, ...]:
    return ((summary.root,) if summary.root else ()) + summary.others


def _distinct(outputs: Sequence[tuple[Traceback, ...]]) -> list[tuple[int, Traceback]]:
    """(output, traceback): those of one output that another contains too (`--tee`, `2>&1 | tee`) once."""
    distinct: list[tuple[int, Traceback]] = []
    seen: set[tuple[object, ...]] = set()
    for number, tracebacks in enumerate(outputs):
        keys = [(item.rank, item.type, item.message, item.file, item.line, item.function) for item in tracebacks]
        distinct += [(number, item) for item, key in zip(tracebacks, keys, strict=True) if key not in seen]
        seen.update(keys)
    return distinct


def _add_torchrun(ends: LaunchEnds, output: int, report: Report) -> None:
    """Add a message of torchrun's agent."""
    if report.kind == STOPPED and report.pid is not None:
        ends.stops.setdefault(report.pid, (output, report))
    elif report.kind == INTERRUPTED:
        if ends.interrupt is None or ends.interrupt[1].offset > report.offset:
            ends.interrupt = (output, report)
    elif report.kind == EXIT:
        end = ends.end_of(output, report.offset, report.pid, None)
        end.is_root, end.exit, end.index, end.program = True, report.exit, report.local_rank, TORCHRUN
        end.time = end.time or report.time
        ends.agents.add(report.agent)


def _add_summary(ends: LaunchEnds, output: int, summary: TorchrunEnd) -> None:
    """Add torchrun's summary."""
    agents_named_it = any(end.is_root for end in ends.ends)
    for worker in _workers(summary):
        end = ends.end_of(output, summary.offset, worker.pid, worker.rank)
        end.rank = worker.rank if worker.rank is not None else end.rank
        end.exit = worker.exit or end.exit
        end.host, end.time, end.recorded = worker.host, worker.time, worker.traceback
        end.index = worker.local_rank if end.index is None else end.index
        end.program = TORCHRUN
        end.is_root = end.is_root or (worker is summary.root and not agents_named_it)
        end.is_stopped = end.is_stopped or worker.is_ended_by_torchrun


def _add_traceback(ends: LaunchEnds, output: int, traceback: Traceback, reports: Sequence[Report]) -> None:
    """Add an exception to the process that printed it, as far as a message names that."""
    headings = [report for report in reports if report.program == SPAWN and report.offset < traceback.offset]
    spawned = next((r for r in headings if traceback.offset - r.offset <= len(r.text) + PREFIX_SIZE), None)
    if spawned is not None:
        end = ends.end_of(output, spawned.offset, None, spawned.local_rank)
        end.index, end.program, end.is_root = spawned.local_rank, SPAWN, True
        end.tracebacks.append((output, traceback))
    elif traceback.rank is not None or traceback.pid is not None:
        if not traceback.is_deadly:
            ends.loose.append((output, traceback))
            return
        end = ends.end_of(output, traceback.offset, traceback.pid, traceback.rank)
        end.tracebacks.append((output, traceback))
    else:
        fault = FAULTS.get(traceback.message) if traceback.type == FATAL else None
        crashed = [end for end in ends.ends if fault and end.exit == fault and not end.tracebacks]
        if len(crashed) == 1:
            crashed[0].tracebacks.append((output, traceback))
        else:
            ends.loose.append((output, traceback))


def _add_report(ends: LaunchEnds, output: int, report: Report, ending: bool) -> None:
    """Add a report of another launcher, of the kernel or a shell. `ending`: the launcher had begun to end all processes."""
    tasks_are_nodes = report.program == SRUN and bool(ends.agents or any(end.program == TORCHRUN for end in ends.ends))
    if report.kind == TIMEOUT:
        for rank in report.ranks:
            end = ends.end_of(output, report.offset, None, rank)
            end.timed_out, end.text, end.meaning = True, end.text or report.text, report.meaning
    elif report.kind == EXIT and report.ranks and not tasks_are_nodes:
        for rank in report.ranks:
            _report_exit(ends.end_of(output, report.offset, report.pid, rank), report, ending)
    elif report.kind == EXIT and report.pid is not None and _is_known(ends, report.pid):
        _report_exit(ends.end_of(output, report.offset, report.pid, None), report, ending)
    elif report.kind == EXIT and report.program == SPAWN and report.local_rank is not None:
        end = ends.end_of(output, report.offset, None, report.local_rank)
        end.index, end.is_root = report.local_rank, True
        _report_exit(end, report, ending)
    elif report.kind in (MEMORY, CANCELLED, WORKER) or (report.kind == EXIT and not tasks_are_nodes):
        ends.remarks.append((output, report))


def _is_known(ends: LaunchEnds, pid: int) -> bool:
    return pid in ends.ranks or any(end.pid == pid for end in ends.ends)


def _report_exit(end: End, report: Report, ending: bool) -> None:
    end.exit = end.exit or report.exit or ("SIGKILL" if report.program == KERNEL else "")
    end.host, end.program = end.host or report.host, end.program or report.program
    end.meaning = end.meaning or report.meaning
    end.text = end.text or report.text
    end.is_stopped = end.is_stopped or report.signal == "SIGTERM" or (ending and report.signal == "SIGKILL")
    end.memory = end.memory or (report.program if report.is_memory else "")


def _name_ranks(ends: LaunchEnds) -> None:
    """Mark the processes that torchrun ended; name the rank of a worker by its local rank where the job has one node."""
    for pid, (output, report) in ends.stops.items():
        if not _is_known(ends, pid):
            continue  # its rank may have another message, and one process would be two
        end = ends.end_of(output, report.offset, pid, None)
        end.is_stopped, end.exit, end.program = True, end.exit or report.signal, end.program or TORCHRUN
    named = [end for end in ends.ends if end.index is not None and end.rank is not None]
    if not ends.is_one_node or any(end.rank != end.index for end in named):
        return
    for end in ends.ends:
        if end.rank is None and end.index is not None and not ends.has_rank_of_another(end.index, end.pid):
            end.rank = end.index
    for end in [end for end in ends.ends if end.pid is None and end.rank is not None]:
        twin = next((other for other in ends.ends if other is not end and other.rank == end.rank), None)
        if twin is not None:  # its traceback names the rank, the agent's line named only its pid
            twin.tracebacks += end.tracebacks
            twin.timed_out = twin.timed_out or end.timed_out
            ends.ends.remove(end)


def _give_loose(ends: LaunchEnds) -> None:
    """Give exceptions that name no process to the processes that can have raised them: all of them alike, and one for each."""
    deadly = [pair for pair in ends.loose if pair[1].is_deadly]
    silent = [end for end in ends.ends if not end.tracebacks and not end.recorded and not end.exit.startswith("SIG")]
    raised = [end for end in silent if end.exit == f"exit code {PYTHON_ERROR}"]
    if len(deadly) > len(raised):  # the launcher ended some while they printed theirs
        raised += [end for end in ends.ends if not end.tracebacks and not end.recorded and end.is_stopped and end not in raised]
    if raised and len({_error(item) for _, item in deadly}) == 1:
        for pair, end in zip(deadly, raised, strict=False):
            end.tracebacks.append(pair)
            ends.loose.remove(pair)


def _error(traceback: Traceback) -> tuple[object, ...]:
    """An exception without the numbers in its message: ports and addresses differ from process to process."""
    return traceback.type, re.sub(r"[\d.:]+", "", traceback.message), traceback.file, traceback.line


def _name_memory(ends: LaunchEnds) -> None:
    """Give a report that memory ran out, which names no rank, to the only process that SIGKILL ended."""
    killed = [end for end in ends.ends if end.exit == "SIGKILL" and end.role == CULPRIT and not end.tracebacks]
    programs = [report.program for _, report in ends.remarks if report.is_memory]
    if len(killed) == 1 and programs:
        killed[0].memory = killed[0].memory or programs[0]
