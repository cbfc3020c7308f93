"""Launches of a job, with torchrun's failure summary and the other failure messages of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tltui.questions.job_failures.launcher_reports import CANCELLED, EXIT, NEEDLES, TORCHRUN, LauncherReader, Report, TextLine
from tltui.questions.job_failures.printed_tracebacks import Traceback, TracebackReader
from tltui.text.frozen import frozen

_NAME = re.compile(r"^(?P<name>.+) FAILED\s*$")
_FIELD = re.compile(r"^  (?P<key>time|host|rank|exitcode|error_file|traceback)\s*: ?(?P<value>.*)$")
_RANK = re.compile(r"(?P<rank>\d+) \(local_rank: (?P<local>\d+)\)")
_EXIT = re.compile(r"(?P<code>-?\d+) \(pid: (?P<pid>\d+)\)\s*(?:\((?P<signal>SIG\w+)\))?")
_ROOT, _OTHERS = "Root Cause (first observed failure):", "Failures:"
NOT_THERE = "<N/A>"


@frozen
class WorkerEnd:
    """How one worker ended, as torchrun says."""

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
    """Where the worker's entry point has `@record`; '' else."""

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
    """What was run: `train.py`."""
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
            key = _take(worker[0], key, line)
    ends = [_worker(fields) for fields in root]
    return TorchrunEnd(offset, name, ends[0] if ends else None, tuple(map(_worker, others)))


def _take(fields: dict[str, str], key: str, line: str) -> str:
    """A line of a worker's block. Gives the field that it belongs to."""
    if key != "traceback" and (match := _FIELD.match(line)):
        fields[match["key"]] = match["value"]
        return match["key"]
    if key == "traceback" and line[:1].isspace():
        fields[key] += "\n" + line.removeprefix("  ")
        return key
    return ""


def _worker(fields: dict[str, str]) -> WorkerEnd:
    rank, ended = _RANK.match(fields.get("rank", "")), _EXIT.match(fields.get("exitcode", ""))
    said, error_file = fields.get("traceback", "").strip(), fields.get("error_file", "").strip()
    return WorkerEnd(
        int(rank["rank"]) if rank else None, int(rank["local"]) if rank else None, int(ended["pid"]) if ended else None,
        int(ended["code"]) if ended else None, (ended["signal"] or "") if ended else "", fields.get("host", "").strip(),
        fields.get("time", "").strip(), "" if error_file == NOT_THERE else error_file, said if said.startswith("Traceback") else "",
    )  # fmt: skip


_NEEDLES = (b"Traceback (most recent call last):", b"ChildFailedError", b"Fatal Python error: ", b'  File "', *NEEDLES)


@frozen
class Printed:
    """The messages of one output about failed processes, each kind in file order."""

    tracebacks: tuple[Traceback, ...] = ()
    torchrun: tuple[TorchrunEnd, ...] = ()
    reports: tuple[Report, ...] = ()
    attempt: int | None = None
    """The number of the launch where the path of the output contains it, from 1 (torchrun's directories `attempt_K`)."""

    def __bool__(self) -> bool:
        return bool(self.tracebacks or self.torchrun or self.reports)


class PrintedReader:
    """Reads the lines of one output in file order."""

    def __init__(self) -> None:
        self._tracebacks = TracebackReader()
        self._launchers = LauncherReader()

    def take(self, lines: Iterable[TextLine]) -> None:
        """Read further lines."""
        for line in lines:
            self._tracebacks.take(line)
            self._launchers.read(line)

    def read_message(self, line: TextLine) -> None:
        """Read a message of torchrun's logger, which is no part of a traceback."""
        self._launchers.read(line)

    @property
    def is_open(self) -> bool:
        """Whether the next line may continue a traceback or a report, whatever it contains."""
        return self._tracebacks.is_open or self._launchers.is_open

    def close(self) -> Printed:
        """Return the messages: there are no more lines."""
        self._tracebacks.close()
        tracebacks = tuple(sorted(self._tracebacks.found, key=lambda item: item.offset))
        ends = tuple(parse_torchrun(offset, text) for offset, text in sorted(self._tracebacks.torchrun))
        return Printed(tracebacks, ends, tuple(self._launchers.reports))


def may_report(data: bytes) -> bool:
    """Return whether any line of a text may be part of such a message: most of a job's output is not."""
    return any(needle in data for needle in _NEEDLES)


def read_printed(lines: Iterable[TextLine]) -> Printed:
    """Read the messages of a whole output."""
    reader = PrintedReader()
    reader.take(lines)
    return reader.close()


@frozen
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


@frozen
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
