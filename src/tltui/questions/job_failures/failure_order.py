"""Failed processes of a job, launch by launch: root causes before their consequences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from tltui.questions.job_failures.printed_messages import (
    CANCELLED,
    ENDING,
    EXIT,
    FATAL,
    INTERRUPTED,
    KERNEL,
    MEMORY,
    NEEDLES,
    OPENERS,
    SHELL,
    SPAWN,
    SRUN,
    STOPPED,
    TIMEOUT,
    TORCHRUN,
    WORKER,
    LauncherReader,
    Report,
    TextLine,
    Traceback,
    TracebackReader,
)
from tltui.questions.job_failures.printed_warnings import NEEDLES as WARNINGS
from tltui.questions.job_failures.printed_warnings import Warned, WarningReader
from tltui.text.frozen import frozen, mutable
from tltui.text.lazy_pattern import lazy_pattern


class LinePlaces:
    """The beginnings of the lines of a block that contain one of some texts, asked for in ascending order.

    The block is searched text by text: far faster than line by line.
    """

    def __init__(self, data: bytes, needles: Iterable[bytes]) -> None:
        begins = set()
        for needle in needles:
            at = data.find(needle)
            while at >= 0:
                begins.add(data.rfind(b"\n", 0, at) + 1)
                at = data.find(needle, at + len(needle))
        self._begins = sorted(begins)
        self._begins.append(len(data) + 1)
        self._next = 0

    def after(self, at: int) -> int:
        """Return the beginning of the first such line from `at` on; behind the block if no such line follows."""
        while self._begins[self._next] < at:
            self._next += 1
        return self._begins[self._next]


_NAME = lazy_pattern(r"^(?P<name>.+) FAILED\s*$")
_FIELD = lazy_pattern(r"^  (?P<key>time|host|rank|exitcode|error_file|traceback)\s*: ?(?P<value>.*)$")
_RANK = lazy_pattern(r"(?P<rank>\d+) \(local_rank: (?P<local>\d+)\)")
_EXIT = lazy_pattern(r"(?P<code>-?\d+) \(pid: (?P<pid>\d+)\)\s*(?:\((?P<signal>SIG\w+)\))?")
_ROOT, _OTHERS = "Root Cause (first observed failure):", "Failures:"
NOT_THERE = "<N/A>"


@frozen
class WorkerEnd:
    """End of one worker, from torchrun's summary."""

    rank: int | None
    local_rank: int | None
    pid: int | None
    exit_code: int | None
    signal: str = ""
    """`SIGKILL`"""
    host: str = ""
    time: str = ""
    """`2026-11-21_19:00:43`, local time of the host."""
    error_file: str = ""
    """'' for none."""
    traceback: str = ""
    """The traceback, if the worker's entry point has `@record`; '' else."""

    @property
    def is_ended_by_torchrun(self) -> bool:
        """Whether torchrun ended it, as another one had failed."""
        return self.signal == "SIGTERM"

    @property
    def exit(self) -> str:
        """`exit code 1`, `SIGSEGV`"""
        return self.signal or ("" if self.exit_code is None else f"exit code {self.exit_code}")


@frozen
class TorchrunEnd:
    """One summary of failed workers."""

    offset: int
    """Bytes from the beginning of the file to the line that it begins with."""
    name: str
    """The program: `train.py`."""
    root: WorkerEnd | None
    """The first failure; None where the text ends before it."""
    others: tuple[WorkerEnd, ...] = ()


def parse_torchrun(offset: int, text: str) -> TorchrunEnd:
    """Parse the message of a `ChildFailedError`, also one that is cut off."""
    name, section = "", ""
    root: list[dict[str, str]] = []
    others: list[dict[str, str]] = []
    key = ""
    for line in text.split("\n"):
        stripped = line.strip()
        if not section and (match := _NAME.match(line)):
            name = match["name"].strip()
        elif stripped in (_ROOT, _OTHERS):
            section, key = stripped, ""
        elif section and re.fullmatch(r"\[\d+\]:", stripped) and line[:1] == "[":
            (root if section == _ROOT else others).append({})
            key = ""
        elif section and (worker := (root if section == _ROOT else others)[-1:]):
            key = _parse_field(worker[0], key, line)
    ends = [_worker(fields) for fields in root]
    return TorchrunEnd(offset, name, ends[0] if ends else None, tuple(map(_worker, others)))


def _parse_field(fields: dict[str, str], key: str, line: str) -> str:
    """Parse a line of a worker's block into `fields`; return the field that it belongs to."""
    if key != "traceback" and (match := _FIELD.match(line)):
        fields[match["key"]] = match["value"]
        return match["key"]
    if key == "traceback" and line[:1].isspace():
        fields[key] += "\n" + line.removeprefix("  ")
        return key
    return ""


def _worker(fields: dict[str, str]) -> WorkerEnd:
    rank, ended = _RANK.match(fields.get("rank", "")), _EXIT.match(fields.get("exitcode", ""))
    traceback, error_file = fields.get("traceback", "").strip(), fields.get("error_file", "").strip()
    return WorkerEnd(
        int(rank["rank"]) if rank else None, int(rank["local"]) if rank else None, int(ended["pid"]) if ended else None,
        int(ended["code"]) if ended else None, (ended["signal"] or "") if ended else "", fields.get("host", "").strip(),
        fields.get("time", "").strip(), "" if error_file == NOT_THERE else error_file,
        traceback if traceback.startswith("Traceback") else "",
    )  # fmt: skip


_DIGITS = b"0123456789"
_NEEDLES = tuple(needle.translate(None, _DIGITS) for needle in (
    b"Traceback (most recent call last)", b"torch._dynamo.exc.", b"torch._inductor.exc.", b"ChildFailedError",
    b"Fatal Python error: ", b'  File "', *NEEDLES, *WARNINGS,
))  # fmt: skip
"""Texts of such messages without digits."""


@frozen
class Printed:
    """The messages of one output about failed processes, each kind in file order."""

    tracebacks: tuple[Traceback, ...] = ()
    torchrun: tuple[TorchrunEnd, ...] = ()
    reports: tuple[Report, ...] = ()
    warnings: tuple[Warned, ...] = ()
    attempt: int | None = None
    """The number of the launch where the path of the output contains it, from 1 (torchrun's directories `attempt_K`)."""

    def __bool__(self) -> bool:
        return bool(self.tracebacks or self.torchrun or self.reports)


class PrintedReader:
    """Reads the lines of one output in file order."""

    def __init__(self) -> None:
        self._tracebacks = TracebackReader()
        self._launchers = LauncherReader()
        self._warnings = WarningReader()

    def read(self, lines: Iterable[TextLine]) -> None:
        """Read further lines."""
        for line in lines:
            self._tracebacks.read(line)
            self._launchers.read(line)
            self._warnings.read(line)

    def read_block(self, data: bytes, offset: int, pid: int | None, rank: int | None) -> None:
        """Read whole lines from an offset of the file. Lines without a message are passed at once, and so are runs of frames."""
        marked, openers = LinePlaces(data, (*NEEDLES, *WARNINGS)), LinePlaces(data, OPENERS)
        at, size = 0, len(data) - data.endswith(b"\n")
        while at <= size:
            needs_all, mark = self._launchers.is_open or self._warnings.is_open, marked.after(at)
            if not needs_all:
                is_open = self._tracebacks.is_open
                passed = self._tracebacks.read_frames(data, at, mark, offset) if is_open else min(mark, openers.after(at)) - at
                if passed:
                    at += passed
                    continue
            end = data.find(b"\n", at, size)
            end = size if end < 0 else end
            line = TextLine(offset + at, data[at:end], pid, rank)
            self._tracebacks.read(line)
            if needs_all or at == mark:
                self._launchers.read(line)
                self._warnings.read(line)
            at = end + 1

    @property
    def has_all_warnings(self) -> bool:
        """Whether further warnings are not kept."""
        return self._warnings.is_full

    def read_warning(self, text: str, offset: int, record: int) -> None:
        """Read a message of another logger of torch, which may be a warning."""
        self._warnings.read_message(text, offset, record)

    def read_message(self, line: TextLine) -> None:
        """Read a message of torchrun's logger, which is no part of a traceback."""
        self._launchers.read(line)

    @property
    def is_open(self) -> bool:
        """Whether the next line may continue a traceback or a report, whatever it contains."""
        return self._tracebacks.is_open or self._launchers.is_open or self._warnings.is_open

    def printed(self) -> Printed:
        """Return the messages as if no more lines followed. Reading may go on afterwards."""
        ended = self._tracebacks.ended()
        tracebacks = tuple(sorted(ended.tracebacks, key=lambda item: item.offset))
        ends = tuple(parse_torchrun(offset, text) for offset, text in sorted(ended.torchrun))
        return Printed(tracebacks, ends, tuple(self._launchers.reports), tuple(self._warnings.warnings))


def may_report(data: bytes) -> bool:
    """Return whether any line of a text may be part of such a message: most of a job's output is not.

    Many lines of a job differ only in numbers, so each line is searched once without its digits.
    """
    different = b"\n".join(set(data.translate(None, _DIGITS).split(b"\n")))
    return any(needle in different for needle in _NEEDLES)


@frozen
class TracedProcess:
    """A process that wrote a log."""

    pid: int
    rank: int | None
    started: float
    """Seconds since the epoch."""
    last: float
    """The time of its last record, in seconds since the epoch; `started` if the log does not contain it."""
    launch: int = 0
    """The number that the path of its log contains (torchrun's `attempt_K`), from 1; 0 for none."""


@frozen
class Overlap:
    """Two processes of one rank that ran at the same time: two jobs wrote into one directory."""

    rank: int
    pids: tuple[int, int]


def number_launches(processes: Iterable[TracedProcess]) -> tuple[list[TracedProcess], list[Overlap]]:
    """Return processes with launches numbered by their times, and the ranks of which two processes ran at once.

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
        """Find the places in an output; `processes`: those of the run, with their launches."""
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


_LOST = lazy_pattern(
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


@mutable
class End:
    """End of one process, put together from all messages about it."""

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
        """Return the role of this end without regard to the other processes."""
        if self.tracebacks:
            is_lost = all(is_lost_connection(item) for _, item in self.tracebacks)
            return FOLLOWED if is_lost else CULPRIT
        if self.is_stopped and not self.is_root:
            return ENDED
        return FOLLOWED if self.timed_out else CULPRIT


class LaunchEnds:
    """The ends of the processes of one launch."""

    def __init__(self, number: int, ranks: dict[int, int | None]) -> None:
        """Begin without ends; `ranks`: pid → rank, of the processes of this launch that wrote a log."""
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
        return any(number == rank and other != pid for other, number in self.ranks.items()) or any(
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
        _assign_loose(ends)
        _name_memory(ends)
    return ordered


def _launch_of_summary(summary: TorchrunEnd, launches: Iterable[LaunchEnds]) -> int | None:
    """Return the newest launch of which torchrun's agent reported a process that a summary lists."""
    pids = {worker.pid for worker in _workers(summary) if worker.pid is not None}
    return max((ends.number for ends in launches if any(end.pid in pids for end in ends.ends)), default=None)


def _workers(summary: TorchrunEnd) -> tuple[WorkerEnd, ...]:
    return ((summary.root,) if summary.root else ()) + summary.others


def _distinct(outputs: Sequence[tuple[Traceback, ...]]) -> list[tuple[int, Traceback]]:
    """Return (output, traceback) of each traceback once, also where another output repeats it (`--tee`, `2>&1 | tee`)."""
    distinct: list[tuple[int, Traceback]] = []
    printed_keys: set[tuple[object, ...]] = set()
    for number, tracebacks in enumerate(outputs):
        keys = [(item.rank, item.type, item.message, item.file, item.line, item.function) for item in tracebacks]
        distinct += [(number, item) for item, key in zip(tracebacks, keys, strict=True) if key not in printed_keys]
        printed_keys.update(keys)
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
    has_agent_root = any(end.is_root for end in ends.ends)
    for worker in _workers(summary):
        end = ends.end_of(output, summary.offset, worker.pid, worker.rank)
        end.rank = worker.rank if worker.rank is not None else end.rank
        end.exit = worker.exit or end.exit
        end.host, end.time, end.recorded = worker.host, worker.time, worker.traceback
        end.index = worker.local_rank if end.index is None else end.index
        end.program = TORCHRUN
        end.is_root = end.is_root or (worker is summary.root and not has_agent_root)
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
    elif report.kind == EXIT and report.pid is not None and _has_process(ends, report.pid):
        _report_exit(ends.end_of(output, report.offset, report.pid, None), report, ending)
    elif report.kind == EXIT and report.program == SPAWN and report.local_rank is not None:
        end = ends.end_of(output, report.offset, None, report.local_rank)
        end.index, end.is_root = report.local_rank, True
        _report_exit(end, report, ending)
    elif report.kind in (MEMORY, CANCELLED, WORKER) or (report.kind == EXIT and not tasks_are_nodes):
        ends.remarks.append((output, report))


def _has_process(ends: LaunchEnds, pid: int) -> bool:
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
        if not _has_process(ends, pid):
            continue  # a message about its rank would make a second end of it
        end = ends.end_of(output, report.offset, pid, None)
        end.is_stopped, end.exit, end.program = True, end.exit or report.signal, end.program or TORCHRUN
    numbered = [end for end in ends.ends if end.index is not None and end.rank is not None]
    if not ends.is_one_node or any(end.rank != end.index for end in numbered):
        return
    for end in ends.ends:
        if end.rank is None and end.index is not None and not ends.has_rank_of_another(end.index, end.pid):
            end.rank = end.index
    for end in [end for end in ends.ends if end.pid is None and end.rank is not None]:
        twin = next((other for other in ends.ends if other is not end and other.rank == end.rank), None)
        if twin is not None:  # the traceback has its rank, the agent's line only its pid
            twin.tracebacks += end.tracebacks
            twin.timed_out = twin.timed_out or end.timed_out
            ends.ends.remove(end)


def _assign_loose(ends: LaunchEnds) -> None:
    """Give exceptions that name no process to the processes that can have raised them: all of them alike, and one for each."""
    deadly = [pair for pair in ends.loose if pair[1].is_deadly]
    silent = [end for end in ends.ends if not end.tracebacks and not end.recorded and not end.exit.startswith("SIG")]
    raised = [end for end in silent if end.exit == f"exit code {PYTHON_ERROR}"]
    if len(deadly) > len(raised):  # the launcher ended some processes while they printed their tracebacks
        raised += [end for end in ends.ends if not end.tracebacks and not end.recorded and end.is_stopped and end not in raised]
    if raised and len({_error(item) for _, item in deadly}) == 1:
        for pair, end in zip(deadly, raised, strict=False):
            end.tracebacks.append(pair)
            ends.loose.remove(pair)


def _error(traceback: Traceback) -> tuple[object, ...]:
    """Return a key of an exception without the numbers in its message: ports and addresses differ between processes."""
    return traceback.type, re.sub(r"[\d.:]+", "", traceback.message), traceback.file, traceback.line


def _name_memory(ends: LaunchEnds) -> None:
    """Give a report that memory ran out, which names no rank, to the only process that SIGKILL ended."""
    killed = [end for end in ends.ends if end.exit == "SIGKILL" and end.role == CULPRIT and not end.tracebacks]
    programs = [report.program for _, report in ends.remarks if report.is_memory]
    if len(killed) == 1 and programs:
        killed[0].memory = killed[0].memory or programs[0]
