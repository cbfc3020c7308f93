"""News of a growing run: each fact once, in the order of the records, also from several inputs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from enum import Enum
from heapq import heapify, heappop, heappush
from itertools import islice, takewhile

from tltui.inputs.forms import TRACE
from tltui.model.input_coverage import TEXT
from tltui.model.log_model import LogModel
from tltui.model.nodes import Compile, CompileKey, Process
from tltui.model.ref import Ranks
from tltui.model.run import Delta, Event, Failed, Lost, Moved, Read, Run, Unreadable
from tltui.model.status import BREAK, Eager, SharedFacts, Status, error_name, status_of, without_backward
from tltui.questions.problems.compile_problems import headline_of
from tltui.text.frozen import frozen, mutable
from tltui.trace.batch import Metrics, Started
from tltui.trace.grammar import is_entry

REASONS = "recompile_reasons"
GRAPH = "dynamo_output_graph"
AHEAD = "eager_compile_backwards_failure"
BACKWARDS = ("bwd_comp", "aot_autograd_b")
CACHES = ("fx_graph_cache_", "aotautograd_cache_")
SIBLINGS_ASKED = 4
"""Compiles of a function that are asked for its name."""


class NewsKind(str, Enum):
    """Kind of news."""

    PROCESS = "process"
    EPOCH = "epoch"
    BEGUN = "begun"
    RECOMPILE = "recompile"
    BREAK = "break"
    RESTART = "restart"
    ENDED = "ended"
    ERROR = "error"
    EAGER = "eager"
    LIMIT = "limit"
    BACKWARD = "backward"
    UNFINISHED = "unfinished"
    MOVED = "moved"
    LOST = "lost"
    UNREADABLE = "unreadable"
    READABLE = "readable"
    FAILURE = "failure"
    OVER = "over"

    def __str__(self) -> str:
        return self.value


TROUBLE = frozenset((
    NewsKind.ERROR, NewsKind.EAGER, NewsKind.LIMIT, NewsKind.BREAK, NewsKind.LOST, NewsKind.UNREADABLE, NewsKind.FAILURE,
))  # fmt: skip


@frozen
class News:
    """One fact, as it is known without reading a payload."""

    kind: NewsKind
    log: int
    """The number of the log in `Run.models`."""
    record: int | None = None
    """The record that tells; None where none does. Its time is that of the news."""
    key: CompileKey | None = None
    """The compile that it is about. Its address is known when all that was found has been taken over: others may come with it."""
    label: str = ""
    """`[2/0]`"""
    rank: int | None = None
    process: str = ""
    """The key of the process that it is about."""
    name: str | None = None
    """The function."""
    status: Status | None = None
    """The status of a compile that ended; None while the log does not show whether its restarts were graph breaks."""
    seconds: float | None = None
    again: bool = False
    """Whether the function had been compiled before; for a begin."""
    cached: str = ""
    """The common answer of the caches: `hit`, `miss`, `bypass`; '' for none, or different answers."""
    text: str = ""
    """The event in a few words."""

    @property
    def is_trouble(self) -> bool:
        """Whether the news should interrupt a user at other work."""
        return self.kind in TROUBLE


@mutable
class _Open:
    """Compile that has begun and not ended."""

    begun: bool = False
    reasons: bool = False
    """The log has why it is a recompile."""
    queued: bool = False
    """Whether its graph is in the current batch."""
    reported: bool = False
    """Whether its recompile was reported."""
    caches: frozenset[str] = frozenset()

    @property
    def waits(self) -> bool:
        """Whether a recompile waits for its graph."""
        return self.begun and self.reasons and not (self.reported or self.queued)


_Fact = Process | Compile | Started | Metrics | str
"""Fact of a record: a new process, a recompile with its graph, …, an artifact of this name."""


class Watch:
    """Converter of run events to news. `quiet`: only additions are news, not the present content of logs.

    `reads_outputs`: also read the job output, and report the processes that failed by themselves.
    """

    def __init__(self, run: Run, quiet: bool = False, reads_outputs: bool = False) -> None:
        self._run = run
        self._reads_outputs = reads_outputs
        self._failures: set[tuple[int, Ranks, str]] = set()  # (launch, ranks, sentence) of those that were reported
        self._ends: Counter[int] = Counter()  # log → ends of processes in it that launchers had reported
        self._open: dict[Compile, _Open] = {}
        self._processes: Counter[int] = Counter()  # log → number of its reported processes
        self._epochs: dict[Process, int] = {}
        self._logs_breaks: set[Process] = set()
        self._unread: set[int] = set()  # logs without news until their present content is read
        for number, model in enumerate(run.models if quiet else ()):
            if model.log.ended or model.log.waiting:
                self._skip_present(number)
            else:
                self._unread.add(number)

    @property
    def size(self) -> int:
        """Return the number of objects held."""
        return len(self._open) + len(self._epochs) + len(self._logs_breaks) + len(self._processes)

    def _skip_present(self, number: int) -> None:
        """Mark the present state of a log as known, so that it is no news."""
        model = self._run.models[number]
        self._unread.discard(number)
        self._processes[number] = sum(process.pid != 0 for process in model.processes)
        for process in model.processes:
            self._epochs[process] = process.epochs
            if process.logs_breaks:
                self._logs_breaks.add(process)
            for compile_ in process.compiles.values():
                if compile_.started is not None and compile_.is_compile and not compile_.is_closed:
                    self._open[compile_] = _Open(
                        begun=True, reasons=compile_.counts[REASONS] > 0, reported=_graph(compile_, 0) is not None
                    )

    def read_event(self, event: Event, delta: Delta) -> list[News]:
        """Return the news of an event that the run has applied."""
        if isinstance(event, Read):
            return self._quietly(event.log) if event.log in self._unread else list(self._read(event, delta))
        if isinstance(event, Moved):
            return [self._of_log(NewsKind.MOVED, event.log, event.path)]
        if isinstance(event, Unreadable):
            kind = NewsKind.UNREADABLE if event.reason else NewsKind.READABLE
            return [self._of_log(kind, event.log, event.reason or "it can be read again")]
        if isinstance(event, Lost):
            return self._end_log(NewsKind.LOST, event.log, event.reason)
        if isinstance(event, Failed):
            return self._end_log(NewsKind.UNREADABLE, event.log, event.error.strerror or str(event.error))
        return []

    def _end_log(self, kind: NewsKind, number: int, reason: str) -> list[News]:
        """Handle a log that will not be read any further."""
        if number in self._unread:
            self._skip_present(number)
        compiles = (compile_ for process in self._run.models[number].processes for compile_ in process.compiles.values())
        return [self._of_log(kind, number, reason), *self._unfinished(number, compiles)]

    def _quietly(self, number: int) -> list[News]:
        """Process a part of a log from before the watch began, without news."""
        log = self._run.models[number].log
        if log.ended or log.waiting:
            self._skip_present(number)
        return []

    def _read(self, event: Read, delta: Delta) -> Iterator[News]:
        """Yield the news of a batch, record by record."""
        number, batch, model = event.log, event.batch, self._run.models[event.log]
        facts: list[tuple[int, int, _Fact]] = [(_first(process), 0, process) for process in self._new_processes(number, model)]
        facts += ((fact.record, 1, fact) for fact in batch.started)
        facts += ((fact.record, 1, fact) for fact in batch.metrics)
        facts += ((record, 1, model.log.kinds[kind].name or model.log.kinds[kind].event) for record, kind in batch.notable)
        heap = [(record, order, n, fact) for n, (record, order, fact) in enumerate(facts)]
        for owner in delta.compiles if self._open else ():
            self._await(owner, batch.first, heap)
        heapify(heap)
        while heap:
            record, _, _, fact = heappop(heap)
            if isinstance(fact, Process):
                yield self._of_process(NewsKind.PROCESS, number, record, fact)
            elif isinstance(fact, Compile):
                yield from self._caused(number, record, fact)
            else:
                owner = model.owner(record)
                yield from self._new_epoch(number, record, owner)
                yield from self._news_of(number, record, fact, owner)
                self._await(owner, record, heap)
        if self._reads_outputs and model.form == TEXT:
            yield from self._failed_processes(number, model, batch.finished)
        if batch.finished:
            yield from self._unfinished(number, delta.compiles)
            yield self._of_log(NewsKind.OVER, number, "no process writes to it anymore")

    def _failed_processes(self, number: int, model: LogModel, finished: bool) -> Iterator[News]:
        """Yield the processes that failed by themselves, once a launcher or the output reported their end."""
        from tltui.questions.job_failures.job_failures import independent_failures, printed_of, run_failures
        from tltui.questions.job_failures.printed_messages import EXIT

        printed = printed_of(model.log)
        ends = len(printed.torchrun) + sum(report.kind == EXIT for report in printed.reports)
        if not finished and ends <= self._ends[number]:
            return
        self._ends[number] = ends
        for failure in independent_failures(run_failures(self._run)):
            key = (failure.launch, failure.ranks, "" if failure.ranks else failure.sentence)
            if key not in self._failures and failure.log == model.log.path:
                self._failures.add(key)
                head = f"launch {failure.launch}: " if failure.launches > 1 else ""
                reported = (report.offset for report in printed.reports if report.kind == EXIT and report.pid == failure.pid)
                offset = (
                    failure.offset_bytes if failure.pid is None else next(reported, failure.offset_bytes)
                )  # the report has a time
                record = bisect_right(model.log.columns.offset, offset) - 1
                yield News(NewsKind.FAILURE, number, record, rank=failure.rank, text=head + failure.sentence)

    def _await(self, owner: Compile, since: int, heap: list[tuple[int, int, int, _Fact]]) -> None:
        """Check whether the graph of a waiting recompile has come."""
        state = self._open.get(owner)
        if state is not None and state.waits and (graph := _graph(owner, since)) is not None:
            state.queued = True
            heappush(heap, (graph, 2, 0, owner))

    def _news_of(self, number: int, record: int, fact: Started | Metrics | str, owner: Compile) -> Iterator[News]:
        if isinstance(fact, Started):
            return self._begun(number, fact, owner)
        return self._measured(number, fact, owner) if isinstance(fact, Metrics) else self._noted(number, record, fact, owner)

    def _new_processes(self, number: int, model: LogModel) -> Iterator[Process]:
        """Yield new processes. A process whose first lines are no records has no pid yet."""
        while self._processes[number] < len(model.processes) and (process := model.processes[self._processes[number]]).pid:
            self._processes[number] += 1
            yield process

    def _new_epoch(self, number: int, record: int, owner: Compile) -> Iterator[News]:
        process, epoch = owner.process, owner.id.epoch
        if epoch > self._epochs.setdefault(process, 1):
            self._epochs[process] = epoch
            news = self._of_process(NewsKind.EPOCH, number, record, process)
            yield replace(news, text=f"compile ids restarted, as after torch._dynamo.reset(): epoch {epoch}")

    def _begun(self, number: int, started: Started, owner: Compile) -> Iterator[News]:
        if owner.started is None or owner.started.record != started.record or not owner.is_compile:
            return  # a further attempt
        state = self._open.setdefault(owner, _Open())
        state.begun, state.reasons = True, state.reasons or _has_reasons(owner, started.record)
        again = owner.is_recompile
        news = self._of(NewsKind.BEGUN, number, started.record, owner, "begun again" if again else "begun")
        yield replace(news, again=again)

    def _noted(self, number: int, record: int, name: str, owner: Compile) -> Iterator[News]:
        if name in (BREAK, "torch_version"):
            self._logs_breaks.add(owner.process)
        if name == BREAK:
            yield self._of(NewsKind.BREAK, number, record, owner, "graph break")
        elif name == AHEAD:
            yield self._of(NewsKind.BACKWARD, number, record, owner, "the backward could not be compiled ahead of its first call")
        elif name == REASONS and not _ended_before(owner, record):  # else they belong to the next compile with this id
            self._open.setdefault(owner, _Open()).reasons = True
        elif name.startswith(CACHES) and (state := self._open.get(owner)) is not None:
            state.caches |= {name.rpartition("_")[2]}

    def _caused(self, number: int, record: int, owner: Compile) -> Iterator[News]:
        """Yield the reason of a recompile, once."""
        state = self._open[owner]
        if not state.reported:
            state.reported = True
            yield self._of(NewsKind.RECOMPILE, number, record, owner, "recompile")

    def _measured(self, number: int, metrics: Metrics, owner: Compile) -> Iterator[News]:
        """Yield the end of a compile, or of its backward."""
        if metrics.graph_breaks is not None or metrics.pytorch_version is not None:  # since torch 2.7, since 2.10
            self._logs_breaks.add(owner.process)
        if metrics.ends_compile and owner.is_compile:
            yield from self._ended(number, metrics, owner)
        elif metrics.event.startswith(BACKWARDS) and not metrics.is_runtime:
            failed = metrics.fail_type is not None
            text = _failed("backward failed", metrics.fail_type, metrics.fail_reason) if failed else "backward ended"
            news = self._of(NewsKind.ERROR if failed else NewsKind.BACKWARD, number, metrics.record, owner, text)
            yield replace(news, status=Status.ERROR if failed else Status.OK, seconds=metrics.duration_s)

    def _ended(self, number: int, metrics: Metrics, owner: Compile) -> Iterator[News]:
        record, facts = metrics.record, without_backward(owner.facts)
        state = self._open.setdefault(owner, _Open())
        if owner.is_recompile or state.reasons:
            yield from self._caused(number, record, owner)
        del self._open[owner]
        news = self._of(NewsKind.ENDED, number, record, owner)
        restarts = () if owner.process in self._logs_breaks else metrics.restart_reasons or ()
        for reason in restarts:
            yield replace(news, kind=NewsKind.RESTART, text=headline_of(reason or ""))
        cached = next(iter(state.caches)) if len(state.caches) == 1 else ""
        news = _outcome(replace(news, status=status_of(facts), seconds=metrics.duration_s, cached=cached), facts)
        yield replace(news, status=None) if restarts and news.kind is NewsKind.ENDED else news

    def _unfinished(self, number: int, compiles: Iterable[Compile]) -> Iterator[News]:
        """Yield the compiles without an end in a log that has ended."""
        left = [owner for owner in compiles if owner.is_compile and not _ended_before(owner)]
        last = len(self._run.models[number].log) - 1
        for owner in sorted(left, key=lambda owner: owner.records[0] if owner.records else 0):
            if self._open.setdefault(owner, _Open()).reasons:
                yield from self._caused(number, last, owner)
            del self._open[owner]
            facts = without_backward(owner.facts)
            if not facts.has_trace and not facts.failed:
                continue  # TORCH_LOGS text has no end of compiles
            news = self._of(NewsKind.UNFINISHED, number, last, owner, "unfinished when the log ends")
            yield _outcome(replace(news, status=status_of(facts)), facts)
        for owner in compiles:
            if owner.is_compile and owner.facts.backward_unfinished:
                news = self._of(NewsKind.UNFINISHED, number, last, owner, "its backward is unfinished when the log ends")
                yield replace(news, status=Status.UNFINISHED)

    def _of(self, kind: NewsKind, number: int, record: int, owner: Compile, text: str = "") -> News:
        process = owner.process
        return News(
            kind, number, record, owner.key, owner.label, process.rank, process.key, _name(owner, record),
            text=text,
        )  # fmt: skip

    def _of_process(self, kind: NewsKind, number: int, record: int, process: Process) -> News:
        is_output = kind is NewsKind.PROCESS and self._run.models[number].form == TEXT
        has_compiles = any(compile_.is_compile for compile_ in process.compiles.values())
        text = f"output of process {process.pid}" if is_output and not has_compiles else f"process {process.pid}"
        return News(kind, number, record, rank=process.rank, process=process.key, text=text)

    def _of_log(self, kind: NewsKind, number: int, text: str) -> News:
        model = self._run.models[number]
        record = len(model.log) - 1 if kind is NewsKind.OVER and len(model.log) else None
        if not model.processes:
            return News(kind, number, record, text=text)
        process = model.processes[0]
        return News(kind, number, record, rank=process.rank, process=process.key, text=text)


def _outcome(news: News, facts: SharedFacts) -> News:
    """Return the outcome of a compile."""
    if facts.recompile_limit_hit:
        return replace(news, kind=NewsKind.LIMIT, text="reached the recompile limit")
    if facts.eager_reason is not None:
        skipped = facts.eager_reason is Eager.SKIPPED
        eager = "fell back to eager mode"
        text = f"{eager} after a graph break" if skipped else _failed(eager, facts.fail_type, facts.fail_reason)
        return replace(news, kind=NewsKind.EAGER, text=text)
    if facts.failed:
        text = "interrupted" if facts.interrupted else _failed("failed", facts.fail_type, facts.fail_reason)
        return replace(news, kind=NewsKind.ERROR, text=text)
    return news if news.text else replace(news, text="ended")


def _failed(event: str, kind: str | None, reason: str | None) -> str:
    """`failed: TypeError: its first line`"""
    return ": ".join(part for part in (event, error_name(kind), headline_of(reason or "")) if part)


def _name(compile_: Compile, record: int) -> str | None:
    """Return the function name known up to a record: from the metrics of the compile or of a sibling."""
    for candidate in (compile_, *islice(compile_.frame.compiles, SIBLINGS_ASKED)):
        name = next((metrics.co_name for metrics in candidate.metrics if metrics.co_name and metrics.record <= record), None)
        if name is not None:
            return name
        started = candidate.started
        is_named = started is not None and started.record <= record and not is_entry(candidate.process.string(started.filename))
        if started is not None and is_named and started.name is not None:
            return started.name
    return None


def _graph(compile_: Compile, since: int) -> int | None:
    """Return the first graph captured in a compile from a record on."""
    log, records = compile_.process.log, compile_.records
    later = (records[place] for place in range(bisect_left(records, since), len(records)))
    return next((record for record in later if log.kind(record).event == GRAPH), None)


def _has_reasons(compile_: Compile, before: int) -> bool:
    """Return whether the log has recompile reasons before a record."""
    log = compile_.process.log
    return any(log.kind(record).name == REASONS for record in takewhile(lambda record: record < before, compile_.records))


def _ended_before(compile_: Compile, record: int | None = None) -> bool:
    """Return whether the log has the end of a compile before a record."""
    ends = (metrics.record for metrics in compile_.metrics if metrics.event == "compilation_metrics")
    return any(record is None or end < record for end in ends)


def _first(process: Process) -> int:
    return min((compile_.records[0] for compile_ in process.compiles.values() if compile_.records), default=0)


OF_ONE = frozenset((
    NewsKind.PROCESS, NewsKind.MOVED, NewsKind.LOST, NewsKind.UNREADABLE, NewsKind.READABLE, NewsKind.OVER,
    NewsKind.BACKWARD, NewsKind.RESTART, NewsKind.UNFINISHED,
))  # fmt: skip
"""News about a file, or from a trace only."""

Numbered = tuple[News, int]
"""News with its ordinal among news of its kind about the compile in its log."""


class Once:
    """Deduplication of news about processes with several inputs.

    `number` runs first, in the order of each log; `new` requires joined processes.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._nth: Counter[tuple[int, CompileKey | None, NewsKind]] = Counter()
        self._news_of: set[Hashable] = set()

    def number(self, news: News) -> Numbered:
        """Return the news with its number."""
        if news.kind is not NewsKind.BREAK or self._run.joining.is_plain(self._run.models):
            return news, 0
        key = (news.log, news.key, news.kind)
        self._nth[key] += 1
        return news, self._nth[key]

    def new(self, numbered: Iterable[Numbered]) -> Iterator[News]:
        """Yield the news that no other input of its process reported before. Traces, the most complete, go first."""
        models = self._run.models
        for news, nth in sorted(numbered, key=lambda pair: models[pair[0].log].form != TRACE):
            if self._is_new(news, nth):
                yield news

    def _is_new(self, news: News, nth: int) -> bool:
        process = next((candidate for candidate in self._run.models[news.log].processes if candidate.key == news.process), None)
        joined = self._run.joining.joined_process(process) if process is not None else None
        if joined is None or news.kind in OF_ONE:
            return True
        key = (joined.key, news.key.id if news.key is not None else None, news.kind, nth)
        is_new = key not in self._news_of
        self._news_of.add(key)
        return is_new
