"""Failures of a run's job, launch by launch, joined with its logs and updated as outputs grow."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from weakref import WeakKeyDictionary

from tltui.model.input_coverage import TEXT
from tltui.model.log_model import OTHER_TEXT, LogModel, unfinished_before
from tltui.model.nodes import Compile, Process
from tltui.model.ref import Ranks, ranges, with_noun
from tltui.model.run import Run
from tltui.questions.hang.open_phases import Inside, inside, last_record, launch_number
from tltui.questions.job_failures.failure_order import (
    CULPRIT,
    ENDED,
    FIRST,
    FOLLOWED,
    REMARK,
    ROLES,
    End,
    LaunchEnds,
    Overlap,
    Printed,
    PrintedReader,
    TracedProcess,
    launch_ends,
    may_report,
    number_launches,
)
from tltui.questions.job_failures.printed_messages import (
    CANCELLED,
    DEEPSPEED,
    EXIT,
    MEMORY,
    OVERWRITTEN,
    SPAWN,
    SRUN,
    TORCHRUN,
    WATCHDOG,
    Report,
    TextLine,
    Traceback,
)
from tltui.questions.job_failures.printed_warnings import MODULES, Warned
from tltui.questions.problems.compile_problems import cached_failures
from tltui.questions.stacks.tracebacks import last_raised, qualified_name, read_traceback
from tltui.text.frozen import frozen, mutable
from tltui.text.torch_names import Owner
from tltui.trace.log import Log

COMPILER = re.compile(r"(?:^|/)torch/(?:_dynamo|_inductor|_functorch)/")
"""Files of torch's compiler."""
_COLLECTIVE = re.compile(r"SeqNum=\d+, OpType=\w+")
"""A collective in the message of NCCL's watchdog (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp)."""
CUT_OFF = "a traceback whose end is missing from the output"


@frozen
class JobFailure:
    """Processes that failed alike, or one message about the job."""

    error: str
    """`RuntimeError: rank 1 gives up`; empty where no message contains an error."""
    role: str = CULPRIT
    """One of `ROLES`."""
    exit: str = ""
    """`exit code 1`, `SIGSEGV`; empty where no message contains it."""
    ranks: tuple[int, ...] = ()
    pids: tuple[int, ...] = ()
    """All known pids, in the order of the output."""
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
            return with_noun(ranges(self.ranks))
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
            why = "failed while waiting for another rank"
            if self.traceback is not None and not self.error.startswith(WATCHDOG):
                connected = "connect" not in self.traceback.message.partition("Connection closed")[0]
                why = "lost the connection to another rank" if connected else "could not connect to another rank"
            return f"{who or 'a process'} {why}" + (f" ({self.exit})" if self.exit else "")
        if self.program == TORCHRUN and not who:
            return f"torchrun was terminated from outside ({self.exit})" if self.exit else "torchrun was terminated from outside"
        if not who:
            return ""
        reported = "" if not self.memory else ", out of memory" if self.memory == SRUN else f", {self.memory} reports out of memory"
        how = f"({self.exit}{reported})" if self.exit else ""
        if len(self.ranks) > 1:
            order = f", rank {self.first_rank} first" if self.first_rank is not None else ""
            return f"{who} failed the same way{order} {how}".rstrip()
        return f"{who} failed {'first ' if self.is_first else ''}{how}".rstrip()

    @property
    def sentence(self) -> str:
        """`rank 1 failed first (exit code 1): RuntimeError: rank 1 gives up`"""
        event = self.event
        return f"{event}: {self.error}" if event and self.error else event or self.error


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
        # the watchdog names the collective; the exception of the same rank only reports that it waited for another one
        error = _without_prefix(end.text) if end.timed_out and end.role == FOLLOWED else traceback.headline or CUT_OFF
        return replace(
            base, error=error, is_compile=traceback.is_compile, file=traceback.file, line=traceback.line,
            function=traceback.function, offset=traceback.offset, output=output, traceback=traceback,
        )  # fmt: skip
    if end.recorded and end.role != ENDED:
        return _with_recorded(base, end.recorded)
    return replace(base, error=_without_prefix(end.text)) if end.role == FOLLOWED else base


def _without_prefix(text: str) -> str:
    """Return a watchdog's message without rank and place: `[rank3]:[E1012 03:11:22.1 ProcessGroupNCCL.cpp:632] [Rank 3] …`."""
    return text[max(text.find(WATCHDOG), 0) :]


def _with_recorded(failure: JobFailure, text: str) -> JobFailure:
    """Add the error of a worker with `@record`: its traceback is in torchrun's summary."""
    last = last_raised(read_traceback(text))
    if last is None:
        return failure
    user = next((frame for frame in reversed(last.frames) if frame.owner is Owner.USER), None)
    failure = replace(failure, error=f"{last.type}: {last.message}".partition("\n")[0].strip().rstrip(":"))
    return replace(failure, file=user.file, line=user.line, function=user.name) if user else failure


def _of_traceback(launch: int, output: int, item: Traceback) -> JobFailure:
    """Return the failure of an exception whose process no message names."""
    end = End(launch, item.offset, output, item.rank, item.pid, tracebacks=[(output, item)])
    failure = _of_end(end)
    if item.lead:
        return replace(failure, role=REMARK, error=f"{item.lead}: {item.headline}" if item.headline else item.lead)
    return failure


def _merge(failures: Sequence[JobFailure], roots: Sequence[JobFailure]) -> list[JobFailure]:
    """Merge processes that failed alike: the same error at the same line, or the same end without an error."""
    groups: dict[tuple[object, ...], list[JobFailure]] = {}
    for failure in failures:
        if failure.role == ENDED:
            key: tuple[object, ...] = (ENDED, failure.program, failure.exit)
        elif failure.role == FOLLOWED:
            key = (FOLLOWED, failure.traceback is not None, failure.file, failure.line, _collective_in(failure.error))
        else:
            key = (failure.role, failure.error or failure.exit, failure.file, failure.line)
        is_mergeable = bool(failure.ranks) or failure.role in (ENDED, FOLLOWED)
        groups.setdefault(key if is_mergeable else (*key, id(failure)), []).append(failure)
    return [_merged(group, roots) for group in groups.values()]


def _collective_in(error: str) -> str:
    """Return the collective that a watchdog names, `SeqNum=142, OpType=ALLREDUCE`: ranks that wait in different ones differ."""
    match = _COLLECTIVE.search(error) if error.startswith(WATCHDOG) else None
    return match[0] if match else ""


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
    reported = [failure for failure in culprits if any(set(failure.pids) & set(root.pids) or failure.ranks == root.ranks != ()
                                                    or failure is root for root in roots)]  # fmt: skip
    if reported:
        return min(reported, key=lambda failure: failure.offset)
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
            text = f"Slurm ended the job: {report.reason.lower()}" if report.reason else "Slurm ended the job"
            means = "" if report.reason else "it was canceled (scancel), or one of its tasks failed"
            return JobFailure(text, FIRST, launch=ends.number, means=means, offset=report.offset, output=output)
    return None


def _of_remark(launch: int, output: int, report: Report, has_cause: bool) -> JobFailure:
    """Return the failure of a message that names no process of the job."""
    text, means = report.text, report.meaning
    if report.program == DEEPSPEED:
        text, means = f"a process that DeepSpeed started failed ({report.exit})", "DeepSpeed prints no rank and no pid"
    is_cause = report.kind in (MEMORY, EXIT) and not has_cause
    return JobFailure(
        text, CULPRIT if is_cause else REMARK, launch=launch, means=means, offset=report.offset, output=output,
        pids=() if report.pid is None else (report.pid,) if report.kind == EXIT and is_cause else (),
    )  # fmt: skip


MESSAGE = 1 << 14
"""Bytes of a message of torchrun's logger that are read."""


@mutable
class _State:
    """Progress of reading an output."""

    reader: PrintedReader = field(default_factory=PrintedReader)
    record: int = 0
    """The first record that was not read to its end."""
    done: int = 0
    """Bytes of it that were."""
    scanned: int = -1
    printed: Printed = field(default_factory=Printed)


_STATES: WeakKeyDictionary[Log, _State] = WeakKeyDictionary()


def printed_of(log: Log) -> Printed:
    """Return the messages of one output, as far as it is scanned."""
    state = _STATES.setdefault(log, _State())
    if state.scanned != log.scanned:
        _read_on(log, state)
        state.printed, state.scanned = state.reader.printed(), log.scanned
    return state.printed


def _read_on(log: Log, state: _State) -> None:
    columns = log.columns
    wanted = {number for number, kind in enumerate(log.kinds) if kind == OTHER_TEXT}
    elastic = {number for number, kind in enumerate(log.kinds) if kind.event == "log" and "elastic" in kind.name}
    warning = {number for number, kind in enumerate(log.kinds) if kind.event == "log" and _module(kind.name) in MODULES}
    pids = {context.pid for context in log.contexts if context.pid}
    last = len(log)
    for record in range(state.record, last):
        if columns.kind[record] in wanted:
            begin = state.done if record == state.record else 0
            # a log of one process is its own; of several, the one that logged last need not have printed a line
            context = log.context(record)
            pid, rank = (context.pid or None, context.rank) if len(pids) == 1 else (None, None)
            for at, data in log.line_blocks(record, begin):
                if state.reader.is_open or may_report(data):
                    state.reader.read_block(data, at, pid, rank)
        elif columns.kind[record] in elastic and (record > state.record or not state.done):
            for line in _message(log, record):
                state.reader.read_message(line)
        elif state.reader.has_all_warnings:
            continue
        elif columns.kind[record] in warning and (record > state.record or not state.done):
            state.reader.read_warning(log.text(record, MESSAGE), columns.offset[record], record)
    if last:  # its last record may still grow
        state.record = last - 1
        state.done = columns.size[last - 1] if columns.kind[last - 1] in wanted else 1


def _module(name: str) -> str:
    """Return the file of a logger: `torch/_inductor/utils.py`."""
    return name.replace(".", "/") + ".py"


def _message(log: Log, record: int) -> Iterator[TextLine]:
    """Yield the lines of a message of torchrun's logger, each with torch's prefix: messages of one moment are one record."""
    prefix, offset = log.prefix(record), log.columns.offset[record]
    head = f"{prefix.level}{prefix.month:02}{prefix.day:02} {prefix.time} {prefix.pid} torch:1] " if prefix is not None else ""
    for text in log.text(record, MESSAGE).split("\n"):
        yield TextLine(offset, (head + text).encode("utf-8", "replace"))


def outputs_of(run: Run) -> list[LogModel]:
    """Return the logs of a run that hold output of its job."""
    return [model for model in run.models if model.form == TEXT]


@frozen
class RunFailure:
    """Processes of a job that failed alike, as an output reports it, and their place in the run."""

    sentence: str
    """`rank 1 failed first (exit code 1): RuntimeError: rank 1 gives up`"""
    rank: int | None
    """Of several ranks the one that failed first."""
    pid: int | None
    exit: str
    """`exit code 1`, `SIGSEGV`; empty where no message contains it."""
    is_first: bool
    """It failed before all others of its launch."""
    is_consequence: bool
    """Another failure explains it: the launcher ended the process, or it lost the connection to another rank."""
    is_compile: bool
    """A compile failed."""
    compile: str
    """The address of the compile that failed, or that the process was in; empty for none."""
    file: str | None
    """The innermost line of the user's own code."""
    line: int | None
    function: str | None
    meaning: str
    """The meaning of a message that is no exception."""
    host: str
    time: str
    log: str
    """The output that contains it."""
    offset_bytes: int
    """Bytes from the beginning of the output."""
    is_fatal: bool
    """Whether it ends a process or a compile: an exception in a thread ends neither."""
    role: str = ""
    """`first`, `culprit`, `followed`, `ended` or `remark`: see `tltui.questions.job_failures.failure_order`."""
    launch: int = 1
    """The number of the launch, from 1."""
    launches: int = 1
    """How many launches the logs and the output contain."""
    ranks: Ranks = Ranks()
    """Empty where no message names a rank."""
    open: Inside | None = None
    """The compile and the phases that the process was in when it ended; None for no compile, or where no log shows it."""
    has_log: bool = False
    """Whether the log of its process is part of the run."""
    is_certain: bool = False
    """Whether the log of the process names `compile`; else it is the last one without an end before the message."""
    compiling: str = ""
    """The function of the compile that failed; empty for none."""
    is_backward: bool = False
    """Whether the compile of its backward failed."""


def run_failures(run: Run) -> tuple[RunFailure, ...]:
    """Return the failures that the outputs of a run report: launch by launch, causes before consequences."""
    models = outputs_of(run)
    printed = [replace(printed_of(model.log), attempt=_attempt(model)) for model in models]
    if not any(printed):
        return ()
    traced, _ = traced_processes(run)
    failures = job_failures(printed, traced)
    launches = max([1, *(item.launch for item in failures), *(item.launch for item in traced)])
    return tuple(_placed(run, models[failure.output], failure, traced, launches) for failure in failures)


def _attempt(model: LogModel) -> int | None:
    """Return the number of the launch in the path of an output, from 1."""
    return next((number for process in model.processes if (number := launch_number(process) + 1)), None)


def traced_processes(run: Run) -> tuple[list[TracedProcess], list[Overlap]]:
    """Return the processes of a run that wrote logs, with their launches, and the ranks of which two ran at once."""
    mains = [process for process in run.processes() if process.parent is None and process.is_traced]
    ranks = [process.rank for process in mains if process.rank is not None]
    is_repeated = len(ranks) != len(set(ranks))  # only then the times of last records are needed
    traced = []
    for process in mains:
        last = last_record(process) if is_repeated else None
        end = process.started if last is None else last / 1e6
        traced.append(TracedProcess(process.pid, process.rank, process.started, end, launch_number(process) + 1))
    return number_launches(traced)


def _placed(run: Run, model: LogModel, failure: JobFailure, traced: Sequence[TracedProcess], launches: int) -> RunFailure:
    """Add the compile of a failure and the state of its process."""
    process = _process_of(run, failure, traced)
    compile_, certain = None, False
    if failure.traceback is not None:
        compile_ = _failed_compile(run, failure, traced)
        certain = compile_ is not None
        if compile_ is None and process is None:
            compile_ = probable_compile(run, model, failure.traceback)
    open_ = inside(process) if process is not None and compile_ is None and failure.role != FOLLOWED else None
    traceback = failure.traceback
    deadly = traceback is None or traceback.is_deadly or failure.is_first
    return RunFailure(
        failure.sentence, failure.rank, failure.pid, failure.exit, failure.is_first, failure.is_consequence, failure.is_compile,
        str(compile_.ref) if compile_ else open_.ref if open_ else "", failure.file, failure.line, failure.function, failure.means,
        failure.host, failure.time, model.log.path, failure.offset, deadly and failure.role != REMARK, failure.role, failure.launch,
        launches, Ranks(failure.ranks), open_, process is not None, certain or open_ is not None,
        (qualified_name(compile_.frame) or compile_.frame.code[0] or "") if compile_ and certain else "",
        bool(compile_ and certain and compile_.facts.backward_failed),
    )  # fmt: skip


def _process_of(run: Run, failure: JobFailure, traced: Sequence[TracedProcess]) -> Process | None:
    """Return the process that a failure is about, if exactly one log can be that of it."""
    pids = {item.pid for item in traced if item.launch == failure.launch and _is_about(failure, item)}
    processes = [process for process in run.processes() if process.pid in pids and process.is_traced and process.parent is None]
    return processes[0] if len(processes) == 1 else None


def _is_about(failure: JobFailure, item: TracedProcess) -> bool:
    if failure.pids:
        return item.pid in failure.pids and (failure.rank is None or item.rank in (None, failure.rank))
    return item.rank is not None and item.rank == failure.rank


def _failed_compile(run: Run, failure: JobFailure, traced: Sequence[TracedProcess]) -> Compile | None:
    """Return the compile of which the trace contains this very exception."""
    assert failure.traceback is not None
    pids = {item.pid for item in traced if item.launch == failure.launch and (
        item.pid in failure.pids or item.rank in failure.ranks or not (failure.pids or failure.ranks)
    )}  # fmt: skip
    first = _first_line(failure.traceback.message)
    if not first:
        return None
    for process in run.processes():
        if process.pid not in pids:
            continue
        for compile_ in reversed(list(process.ordered())):
            facts = compile_.facts
            if (facts.failed or facts.backward_failed) and facts.has_trace and _is_reason(first, compile_):
                return compile_
    return None


def _is_reason(first: str, compile_: Compile) -> bool:
    for failed in cached_failures(compile_):
        reason = _first_line(failed.reason)
        if reason and (reason in first or first in failed.reason):
            return True
    return False


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def failures_outside_trace(run: Run) -> tuple[RunFailure, ...]:
    """Return the failures without those of compiles whose errors the trace contains, which pages list as errors.

    The first failure of a launch is always included.
    """
    failures = run_failures(run)
    failed = {str(item.ref) for item in run.compiles() if item.facts.failed and item.facts.has_trace} if failures else set()
    return tuple(item for item in failures if item.is_first or item.is_consequence or item.compile not in failed)


def is_of_compiler(traceback: Traceback) -> bool:
    """Return whether an exception is one of torch's compiler, or was raised inside of it."""
    return traceback.is_compile or OVERWRITTEN in traceback.message or any(
        COMPILER.search(frame.file.replace("\\", "/")) is not None for raised in traceback.parts for frame in raised.frames
    )


def traceback_of(run: Run, failure: RunFailure) -> Traceback | None:
    """Return the traceback of a failure."""
    logs = [model.log for model in outputs_of(run) if model.log.path == failure.log]
    return next((item for log in logs for item in printed_of(log).tracebacks if item.offset == failure.offset_bytes), None)


REST = 1 << 10
"""Bytes after the last traceback of an output that may be blank lines."""


def ending_failure(run: Run) -> RunFailure | None:
    """Return the exception that probably ended the job: no message names a rank, and its output ends with the traceback.

    A program that caught it and printed the traceback writes the same, and may even succeed.
    """
    if not run.finished:
        return None
    failures = [item for item in run_failures(run) if item.is_fatal and not item.ranks]
    for model in outputs_of(run) if failures else ():
        last = max((item for item in failures if item.log == model.log.path), key=lambda item: item.offset_bytes, default=None)
        traceback = traceback_of(run, last) if last is not None else None
        if traceback is None or model.source.size() - traceback.end > REST:
            continue
        if not model.source.read(traceback.end, REST).strip():
            return last
    return None


@frozen
class OutputWarning:
    """A warning of torch in the outputs of a job, at one line."""

    title: str
    """`TensorFloat32 is off`"""
    means: str
    fix: str
    """A sentence with what to type; empty where nothing need be done."""
    detail: str
    """The exception, or the error of the compiler; empty for none."""
    file: str | None
    """The user's line, where the text has it."""
    line: int | None
    compile: str
    """The address of the first compile with it; empty where the text has none."""
    count: int
    log: str
    """The first output that contains it."""
    offset_bytes: int
    """Bytes from the beginning of that output to the first one."""


def output_warnings(run: Run) -> tuple[OutputWarning, ...]:
    """Return the warnings of torch in the outputs of a run that no trace repeats, the most frequent first."""
    has_trace = any(process.is_traced for process in run.processes())
    groups: dict[tuple[str, str | None, int | None, str], list[tuple[LogModel, Warned]]] = {}
    for model in outputs_of(run):
        for warned in printed_of(model.log).warnings:
            if has_trace and warned.row.is_traced:
                continue
            groups.setdefault((warned.row.title, warned.file, warned.line, warned.detail), []).append((model, warned))
    warnings = [_warning(run, members) for members in groups.values()]
    return tuple(sorted(warnings, key=lambda warning: -warning.count))


def _warning(run: Run, members: Sequence[tuple[LogModel, Warned]]) -> OutputWarning:
    model, first = members[0]
    owner = run.joining.home(model, first.record)[0] if first.record >= 0 else None
    ref = str(owner.ref) if owner is not None and owner.is_compile else ""
    row = first.row
    return OutputWarning(
        row.title, row.means, row.fix, first.detail, first.file, first.line, ref, len(members), model.log.path, first.offset
    )


def independent_failures(failures: Sequence[RunFailure]) -> list[RunFailure]:
    """Return the failures that no other explains, and that ended a process or a compile."""
    return [item for item in failures if not item.is_consequence and item.is_fatal]


def probable_compile(run: Run, model: LogModel, traceback: Traceback) -> Compile | None:
    """Return the compile that the traceback of a failed one is probably about: the last of its process before it that has no end.

    The text does not contain its id.
    """
    if not traceback.is_compile:
        return None
    record = bisect_left(model.log.columns.offset, traceback.offset)
    owner = unfinished_before(model.log, model.owner, record, traceback.pid, traceback.rank)
    return None if owner is None else run.joining.home(model, owner.records[0])[0]
