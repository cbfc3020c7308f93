"""The failures of a job, launch by launch: the first one, other culprits, then those that only followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tltui.analyses.job_failures.failures import (
    CULPRIT,
    ENDED,
    FIRST,
    FOLLOWED,
    REMARK,
    ROLES,
    End,
    LaunchEnds,
    launch_ends,
)
from tltui.analyses.job_failures.launchers import CANCELLED, DEEPSPEED, EXIT, MEMORY, SPAWN, SRUN, TORCHRUN, Report
from tltui.analyses.job_failures.launches import TracedProcess
from tltui.analyses.job_failures.printed import Printed
from tltui.analyses.job_failures.tracebacks import Traceback
from tltui.analyses.prose.traceback import last_raised, read_traceback
from tltui.analyses.ranks.ranges import ranges
from tltui.text.owner import Owner

CUT_OFF = "a traceback whose end is not in the output"


@dataclass(frozen=True, slots=True)
class JobFailure:
    """Processes that failed alike, or one message about the job."""

    said: str
    """`RuntimeError: rank 1 gives up`; empty where no message contains an error."""
    role: str = CULPRIT
    """One of `ROLES`."""
    exit: str = ""
    """`exit code 1`, `SIGSEGV`; empty where no message contains it."""
    ranks: tuple[int, ...] = ()
    pids: tuple[int, ...] = ()
    """As many as are known, in the order of the output."""
    index: int | None = None
    """The number of the process on its node, where its rank is not known."""
    first_rank: int | None = None
    """Of several ranks the one that failed first; None where that is not known."""
    launch: int = 1
    program: str = ""
    """The launcher that reported it, or ended it."""
    memory: str = ""
    """The program that reports that memory ran out; empty for none."""
    is_compile: bool = False
    """A compile failed."""
    is_unexplained: bool = False
    """It follows from another failure, which no message explains."""
    file: str | None = None
    line: int | None = None
    function: str | None = None
    host: str = ""
    time: str = ""
    means: str = ""
    """The meaning of a message that is no exception."""
    offset: int = 0
    """Bytes from the beginning of the file."""
    output: int = 0
    """The number of the output, from 0."""
    traceback: Traceback | None = None

    @property
    def is_first(self) -> bool:
        """Whether it failed before all others."""
        return self.role == FIRST

    @property
    def is_consequence(self) -> bool:
        """Whether another failure explains it."""
        return self.role in (FOLLOWED, ENDED) and not self.is_unexplained

    @property
    def rank(self) -> int | None:
        """The rank that failed first, or its only one."""
        return self.first_rank if self.first_rank is not None else self.ranks[0] if len(self.ranks) == 1 else None

    @property
    def pid(self) -> int | None:
        """The pid of its only process."""
        return self.pids[0] if len(self.pids) == 1 else None

    @property
    def who(self) -> str:
        """`ranks 0, 2`, `process 4711`; empty where no message names a process."""
        if self.ranks:
            return f"{'rank' if len(self.ranks) == 1 else 'ranks'} {ranges(self.ranks)}"
        if self.index is not None and self.program == SPAWN:
            return f"process {self.index} of torch.multiprocessing"
        if self.index is not None:
            return f"local rank {self.index} (pid {self.pid})" if self.pid is not None else f"local rank {self.index}"
        if self.pids:
            return f"process {self.pids[0]}" if len(self.pids) == 1 else f"processes {', '.join(map(str, self.pids))}"
        return ""

    @property
    def event(self) -> str:
        """`rank 1 failed first (SIGKILL)`: the end without its error; empty for a message without a process."""
        who = self.who
        if self.role == ENDED:
            by = f"{self.program or 'the launcher'} ended {who}"
            return by + (f" ({self.exit})" if self.exit else "")
        if self.role == FOLLOWED:
            why = "waited in vain for another rank"
            if self.traceback is not None:
                connected = "connect" not in self.traceback.message.partition("Connection closed")[0]
                why = "lost the connection to another rank" if connected else "could not connect to another rank"
            return f"{who or 'a process'} {why}" + (f" ({self.exit})" if self.exit else "")
        if self.program == TORCHRUN and not who:
            return f"torchrun was ended from outside ({self.exit})" if self.exit else "torchrun was ended from outside"
        if not who:
            return ""
        reported = "" if not self.memory else ", out of memory" if self.memory == SRUN else f", {self.memory} reports out of memory"
        how = f"({self.exit}{reported})" if self.exit else ""
        if len(self.ranks) > 1:
            order = f", rank {self.first_rank} first" if self.first_rank is not None else ""
            return f"{who} failed alike{order} {how}".rstrip()
        return f"{who} failed {'first ' if self.is_first else ''}{how}".rstrip()

    @property
    def sentence(self) -> str:
        """`rank 1 failed first (exit code 1): RuntimeError: rank 1 gives up`"""
        event = self.event
        return f"{event}: {self.said}" if event and self.said else event or self.said


def job_failures(printed: Sequence[Printed], processes: Sequence[TracedProcess] = ()) -> tuple[JobFailure, ...]:
    """Return the failures that the outputs of a job contain, launch by launch, causes before consequences."""
    return tuple(failure for ends in launch_ends(printed, processes) for failure in _of_launch(ends))


def _of_launch(ends: LaunchEnds) -> list[JobFailure]:
    failures = [_of_end(end) for end in ends.ends]
    failures += [_of_traceback(ends.number, output, item) for output, item in ends.loose]
    roots = [failure for failure, end in zip(failures, ends.ends, strict=False) if end.is_root and failure.role == CULPRIT]
    outside = _from_outside(ends, failures)
    failures = _merge(failures, roots)
    culprits = [failure for failure in failures if failure.role == CULPRIT]
    if outside is not None:
        failures.append(outside)
    elif first := _first_of(culprits, failures, roots):
        failures[failures.index(first)] = replace(first, role=FIRST)
    has_cause = outside is not None or bool(culprits)
    failures += [_of_remark(ends.number, output, report, has_cause) for output, report in ends.remarks]
    if not any(failure.role in (FIRST, CULPRIT) for failure in failures):
        failures = [replace(failure, is_unexplained=failure.role in (FOLLOWED, ENDED)) for failure in failures]
    return sorted(failures, key=lambda failure: (ROLES.index(failure.role), failure.offset))


def _of_end(end: End) -> JobFailure:
    base = JobFailure(
        "", end.role, end.exit, () if end.rank is None else (end.rank,), () if end.pid is None else (end.pid,), end.index, None,
        end.launch, end.program, end.memory, host=end.host, time=end.time, means=end.meaning, offset=end.offset, output=end.output,
    )  # fmt: skip
    if end.traceback is not None:
        output, traceback = end.traceback
        return replace(
            base, said=traceback.said or CUT_OFF, is_compile=traceback.is_compile, file=traceback.file, line=traceback.line,
            function=traceback.function, offset=traceback.offset, output=output, traceback=traceback,
        )  # fmt: skip
    if end.recorded and end.role != ENDED:
        return _with_recorded(base, end.recorded)
    return replace(base, said=end.text) if end.role == FOLLOWED else base


def _with_recorded(failure: JobFailure, text: str) -> JobFailure:
    """Add the error of a worker with `@record`: its traceback is in torchrun's summary."""
    last = last_raised(read_traceback(text))
    if last is None:
        return failure
    user = next((frame for frame in reversed(last.frames) if frame.owner is Owner.USER), None)
    failure = replace(failure, said=f"{last.type}: {last.message}".partition("\n")[0].strip().rstrip(":"))
    return replace(failure, file=user.file, line=user.line, function=user.name) if user else failure


def _of_traceback(launch: int, output: int, item: Traceback) -> JobFailure:
    """An exception of a process that no message names."""
    end = End(launch, item.offset, output, item.rank, item.pid, tracebacks=[(output, item)])
    failure = _of_end(end)
    if item.lead:
        return replace(failure, role=REMARK, said=f"{item.lead}: {item.said}" if item.said else item.lead)
    return failure


def _merge(failures: Sequence[JobFailure], roots: Sequence[JobFailure]) -> list[JobFailure]:
    """Merge processes that failed alike: the same error at the same line, or the same end without an error."""
    groups: dict[tuple[object, ...], list[JobFailure]] = {}
    for failure in failures:
        if failure.role == ENDED:
            key: tuple[object, ...] = (ENDED, failure.program, failure.exit)
        elif failure.role == FOLLOWED:
            key = (FOLLOWED, failure.traceback is not None, failure.file, failure.line)
        else:
            key = (failure.role, failure.said or failure.exit, failure.file, failure.line)
        is_named = bool(failure.ranks) or failure.role in (ENDED, FOLLOWED)
        groups.setdefault(key if is_named else (*key, id(failure)), []).append(failure)
    return [_merged(group, roots) for group in groups.values()]


def _merged(group: Sequence[JobFailure], roots: Sequence[JobFailure]) -> JobFailure:
    if len(group) == 1:
        return group[0]
    root = next((failure for failure in group if failure in roots), None)
    lead = root or min(group, key=lambda failure: (failure.traceback is None, failure.offset))
    ranks = tuple(sorted({rank for failure in group for rank in failure.ranks}))
    pids = tuple(pid for failure in group for pid in failure.pids)
    exits = {failure.exit for failure in group}
    return replace(
        lead, ranks=ranks, pids=pids, first_rank=root.ranks[0] if root and root.ranks else None,
        exit=lead.exit if len(exits) == 1 else "", index=None,
    )  # fmt: skip


def _first_of(
    culprits: Sequence[JobFailure], failures: Sequence[JobFailure], roots: Sequence[JobFailure]
) -> JobFailure | None:
    """Return the failure that came first: the launcher names it, or it is the only one that no other explains."""
    named = [failure for failure in culprits if any(set(failure.pids) & set(root.pids) or failure.ranks == root.ranks != ()
                                                    or failure is root for root in roots)]  # fmt: skip
    if named:
        return min(named, key=lambda failure: failure.offset)
    others = any(failure.role in (FOLLOWED, ENDED) for failure in failures)
    return culprits[0] if len(culprits) == 1 and others and culprits[0].who else None


def _from_outside(ends: LaunchEnds, failures: Sequence[JobFailure]) -> JobFailure | None:
    """Return the signal to torchrun, or the order to Slurm, that ended a launch before any of its processes had failed."""
    began = min((failure.offset for failure in failures if failure.role == CULPRIT), default=None)
    if ends.interrupt is not None:
        output, report = ends.interrupt
        if began is None or report.offset < began:
            return JobFailure("", FIRST, report.exit, launch=ends.number, program=TORCHRUN, offset=report.offset, output=output)
    for output, report in ends.remarks:
        if report.kind == CANCELLED and (report.reason or began is None) and (began is None or report.offset < began):
            said = f"Slurm ended the job: {report.reason.lower()}" if report.reason else "Slurm ended the job"
            means = "" if report.reason else "it was canceled (scancel), or one of its tasks failed"
            return JobFailure(said, FIRST, launch=ends.number, means=means, offset=report.offset, output=output)
    return None


def _of_remark(launch: int, output: int, report: Report, has_cause: bool) -> JobFailure:
    """A message that names no process of the job."""
    said, means = report.text, report.meaning
    if report.program == DEEPSPEED:
        said, means = f"a process that DeepSpeed started failed ({report.exit})", "DeepSpeed prints no rank and no pid"
    is_cause = report.kind in (MEMORY, EXIT) and not has_cause
    return JobFailure(
        said, CULPRIT if is_cause else REMARK, launch=launch, means=means, offset=report.offset, output=output,
        pids=() if report.pid is None else (report.pid,) if report.kind == EXIT and is_cause else (),
    )  # fmt: skip
