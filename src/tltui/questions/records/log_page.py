"""The page `@log`: every line that a job printed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.scope import called, part_title, place_of
from tltui.model.artifacts import Artifact, artifact_name, is_artifact
from tltui.model.log_model import OTHER_TEXT, LogModel
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.record_reader import address
from tltui.model.ref import BadAddress, Ref, at_line, parse_ref
from tltui.model.run import Run
from tltui.questions.job_failures.job_failures import RunFailure, outputs_of, printed_of, run_failures
from tltui.questions.records.output_page import output_document
from tltui.questions.stacks.tracebacks import display_name
from tltui.text import tokens
from tltui.text.bytes_document import BytesDocument, links
from tltui.text.document import Document, Line, Link, Options, Section, Span
from tltui.text.frozen import frozen
from tltui.text.lru import Lru
from tltui.text.payload import ByteSource, LineIndex, MemoryBytes, Payload
from tltui.text.sanitize import sanitize
from tltui.text.terminal_lines import TerminalLines

NAME = "log"
SEARCHED_BACK = 64
"""Records before a line among which its own is looked for: those of other processes may stand between."""
MOST_SECTIONS = 20_000
RAISED_IN = 300
"""Columns of a line in which the name of an exception is looked for."""
_HEAD = re.compile(
    r"^.{0,200}?[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{6,} (?P<pid>\d{1,9}) .{1,300}?:\d+\]"
    r"(?P<id> \[[!\d/_]+\])?(?: \[__\w+\])?(?= |$)"
)
_RAISED = re.compile(
    r"^.{0,80}?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failed|Unsupported|Interrupt|Exit|Hit|Exceeded)(?::|$)"
)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):|^\S*Fatal Python error: |ChildFailedError")


@frozen
class Output:
    """One output, for JSON."""

    file: str
    size_bytes: int
    records: int
    """Records of torch's loggers."""
    other_lines: int
    """Runs of other lines."""


@frozen
class OutputReport:
    """What a job printed, of a run or of a part of it."""

    ref: str
    outputs: tuple[Output, ...]
    failures: tuple[RunFailure, ...]
    """What they tell of the end of the job, all of it, the first failure first."""


@frozen
class Extent:
    """A piece of an output."""

    source: ByteSource
    offset: int
    """Offset in the source."""
    size: int
    start: int
    """Offset in the text of the page."""
    model: LogModel | None = None
    """The log that it is of; None for a line of ours."""


class Extents:
    """Pieces of outputs one after the other, as a `ByteSource`."""

    def __init__(self, extents: Sequence[Extent]) -> None:
        self.extents = extents
        self._starts = [extent.start for extent in extents]

    def grow(self, size: int) -> None:
        """Set the size of the last piece in bytes."""
        self.extents = [*self.extents[:-1], replace(self.extents[-1], size=size)]

    def size(self) -> int:
        return self.extents[-1].start + self.extents[-1].size if self.extents else 0

    def at(self, offset: int) -> Extent | None:
        """Return the piece that a byte of the page is in."""
        place = bisect_right(self._starts, offset) - 1
        return self.extents[place] if place >= 0 else None

    def read(self, offset: int, size: int) -> bytes:
        pieces = []
        place = max(bisect_right(self._starts, offset) - 1, 0)
        for extent in self.extents[place:]:
            if size <= 0:
                break
            inside = offset - extent.start
            data = extent.source.read(extent.offset + inside, min(size, extent.size - inside)) if inside < extent.size else b""
            pieces.append(data)
            offset, size = offset + len(data), size - len(data)
        return b"".join(pieces)


class LogDocument(BytesDocument):
    """The lines of outputs. `extents` are joined as they come; each ends with a line."""

    def __init__(self, run: Run, extents: Sequence[Extent], ref: str, title: str, raw: bool = False, is_live: bool = False) -> None:
        self._run = run
        self._is_raw = raw
        self.is_live = is_live
        self._extents = Extents(extents)
        super().__init__(Payload(self._extents, 0, self._extents.size()), "text", ref=ref, title=title)

    def _indexed(self, payload: Payload) -> LineIndex:
        return TerminalLines(payload, self._is_raw)

    def refresh(self) -> bool:
        """Add the bytes that were scanned since; return whether there are any. `advance` finds the lines."""
        last = self._extents.extents[-1]
        if not self.is_live or last.model is None or last.model.log.scanned == last.size:
            return False
        with self._lock:
            assert isinstance(self._index, TerminalLines)
            self._lines = Lru(8 << 20)  # the last line may continue
            self._extents.grow(last.model.log.scanned)
            self._index.grow(self._extents.size())
            self.payload, self.complete, self._sections = self._index.payload, self._index.complete, None
            self.version += 1
        return True

    def _read(self, n: int) -> Line:
        line = super()._read(n)
        extent = self._extents.at(self._index.start(n))
        marked = replace(line, spans=((Span(0, len(line.text), tokens.HEADING),)), links=())
        if extent is not None and extent.model is not None:
            marked = self._marked(line, extent.model, self._index.start(n) - extent.start + extent.offset)
        self._lines.put(n, marked, len(line.text) + 256)
        return marked

    def _marked(self, line: Line, model: LogModel, offset: int) -> Line:
        """Return a line with a link to the artifact or compile of its record; lines of tracebacks have a style."""
        text = line.text
        head = _HEAD.match(text)
        if head is None:
            style = tokens.EXCEPTION if _TRACEBACK.search(text) else tokens.ERROR if _RAISED.match(text[:RAISED_IN]) else ""
            return replace(line, spans=(Span(0, len(text), style),) if style and text else ())
        target = self._target(model, offset, int(head["pid"]))
        end = head.end()
        spans = [Span(0, end, tokens.DIM)]
        targets = list(links(text))
        if target:
            first, last = head.span("id") if head["id"] else (head.start("pid"), head.end("pid"))
            first += head["id"] is not None  # the blank before it
            spans = [Span(0, first, tokens.DIM), Span(first, last, tokens.LINK), Span(last, end, tokens.DIM)]
            targets.insert(0, Link(first, last, target))
        return replace(line, spans=tuple(spans), links=tuple(targets))

    def _target(self, model: LogModel, offset: int, pid: int) -> str:
        """Return the address of the artifact of a line's record, else of its compile."""
        record = _record_at(model, offset, pid)
        if record is None:
            return ""
        owner, number = self._run.joining.home(model, record)
        log = owner.process.log
        kind = log.kind(number)
        if is_artifact(kind, log.has_payload(number)):
            return address(owner, number, artifact_name(kind))
        return str(owner.ref) if owner.is_compile else ""

    def sections(self) -> Sequence[Section]:
        if not self.complete:
            return ()
        if self._sections is None:
            self._sections = tuple(self._make_sections())
        return self._sections

    def _make_sections(self) -> Iterator[Section]:
        """Yield sections: runs of records of one compile, and tracebacks."""
        ranges: list[tuple[int, int, str]] = []
        for extent in self._extents.extents:
            if extent.model is not None:
                ranges += (
                    (begin - extent.offset + extent.start, end - extent.offset + extent.start, title)
                    for begin, end, title in _parts_of(self._run, extent.model, extent.offset, extent.offset + extent.size)
                )
        behind = -1
        for begin, end, title in sorted(ranges)[:MOST_SECTIONS]:
            first, last = self._index.line_of(begin), self._index.line_of(max(end - 1, begin))
            if first > behind and last > first:
                behind = last
                yield Section(first, last, 0, title)

    def data(self) -> object | None:
        models = {id(extent.model): extent.model for extent in self._extents.extents if extent.model is not None}
        outputs = tuple(_output(model) for model in models.values())
        return OutputReport(str(place_of(parse_ref(self.ref))), outputs, run_failures(self._run))

    def line_of(self, model: LogModel, offset: int) -> int | None:
        """Return the line that a byte of a log is in, from 0; None if the page does not have it."""
        for extent in self._extents.extents:
            if extent.model is model and extent.offset <= offset < extent.offset + extent.size:
                place = offset - extent.offset + extent.start
                while self._index.scanned <= place and not self.advance():
                    pass
                return self._index.line_of(place)
        return None


def _output(model: LogModel) -> Output:
    log = model.log
    others = {number for number, kind in enumerate(log.kinds) if kind == OTHER_TEXT}
    count = sum(number in others for number in log.columns.kind)
    return Output(log.path, log.scanned, len(log) - count, count)


def _record_at(model: LogModel, offset: int, pid: int) -> int | None:
    """Return the record of a process that a line belongs to: the last one that begins before its end."""
    log = model.log
    place = bisect_right(log.columns.offset, offset) - 1
    for record in range(place, max(place - SEARCHED_BACK, -1), -1):
        if log.context(record).pid == pid and log.kind(record) != OTHER_TEXT:
            return record
    return None


def _parts_of(run: Run, model: LogModel, begin: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield (first byte, byte behind the last, title) of the tracebacks and compiles in a piece of an output."""
    log, offsets = model.log, model.log.columns.offset
    for item in printed_of(log).tracebacks:
        if begin <= item.offset < end:
            yield item.offset, item.end, sanitize(item.headline or "traceback")
    owner: Compile | None = None
    first = begin
    for record in range(max(bisect_right(offsets, begin) - 1, 0), len(log)):
        if offsets[record] >= end:
            break
        compile_ = None if log.kind(record) == OTHER_TEXT else run.joining.home(model, record)[0]
        if compile_ is not owner:
            if owner is not None and owner.is_compile:
                yield first, offsets[record], _titled(owner)
            owner, first = compile_, max(offsets[record], begin)
    if owner is not None and owner.is_compile:
        yield first, end, _titled(owner)


def _titled(owner: Compile) -> str:
    return f"{called(owner)} {sanitize(display_name(owner.frame) or '')}".rstrip()


def log_document(run: Run, ref: Ref, options: Options) -> Document:
    """Return the output of the job, of the part that an address names. Raises `BadAddress`.

    `@log:0:#7` is all of it, from record 7 of rank 0 on.
    """
    place = place_of(ref)
    node = run.resolve(place)
    if isinstance(node, Artifact):
        node = node.owner
    models = outputs_of(run)
    page = str(place.at(NAME))
    if ref.n is not None:
        return _at_record(run, node, ref, models, options)
    if not models:
        return output_document(run, options) if run.discovered.outputs else _empty_document(page, options)
    extents = list(_extents(models) if node is None else _extents_of(run, models, node))
    of = "" if node is None else f" of {part_title(node)}"
    if not extents:
        return _empty_document(page, options, of)
    is_live = node is None and not models[-1].log.ended  # a part of the run does not grow
    return LogDocument(run, extents, page, f"log{of}", options.raw, is_live)


def _at_record(
    run: Run, node: Rank | Process | Frame | Compile | None, ref: Ref, models: Sequence[LogModel], options: Options
) -> Document:
    """Return all lines, with the caret on those of record `ref.n` of a process. Raises `BadAddress`."""
    processes = [node] if isinstance(node, Process) else node.processes if isinstance(node, Rank) else list(run.processes())
    if len(processes) != 1 or not 1 <= (ref.n or 0) <= len(processes[0].log):
        raise BadAddress(f"not a record of one process: '{ref}'")
    log, number = processes[0].log.origin((ref.n or 1) - 1)
    model = next((model for model in models if model.log is log), None)
    if model is None:
        raise BadAddress(f"record {ref.n} is not part of the job's output")
    document = LogDocument(run, list(_extents(models)), str(ref), NAME, options.raw)
    document.start = document.line_of(model, log.columns.offset[number]) or 0
    return document


def _empty_document(ref: str, options: Options, of: str = "") -> Document:
    page = Page(ref, f"log{of}", options)
    if of:
        page.say(page.so_far(f"No line of the job's output belongs to{of[3:]}."), "", tokens.WARN)
        page.add(("@log", tokens.LINK, "@log"), "  all lines")
        return page.document(OutputReport(ref.partition(":")[2], (), ()))
    page.say("No job output was opened.", "", tokens.WARN)
    page.blank()
    page.say("To include it, redirect the job's stderr to a file. Open it with the trace, or alone:")
    page.add("  TORCH_LOGS=graph_breaks,recompiles,guards python train.py 2> job.err")
    page.add("  tltui job.err")
    page.say("tltui run --view records the output with the trace.", "", tokens.DIM)
    return page.document(OutputReport(ref.partition(":")[2], (), ()))


def _extents(models: Sequence[LogModel]) -> Iterator[Extent]:
    """Yield all outputs, each below its name where there are several."""
    start = 0
    for model in models:
        if len(models) > 1:
            name = MemoryBytes(f"==> {fmt.home(model.log.path)} <==\n".encode("utf-8", "surrogateescape"))
            yield Extent(name, 0, name.size(), start)
            start += name.size()
        yield Extent(model.log.source, 0, model.log.scanned, start, model)
        start += model.log.scanned
        if model is not models[-1] and model.log.scanned and model.log.source.read(model.log.scanned - 1, 1) != b"\n":
            yield Extent(MemoryBytes(b"\n"), 0, 1, start)
            start += 1


def _extents_of(run: Run, models: Sequence[LogModel], node: Compile | Frame | Process | Rank) -> Iterator[Extent]:
    """Yield the records of a part of the run, as they stand in the outputs."""
    if isinstance(node, Rank):
        wanted = {id(compile_) for process in node.processes for compile_ in process.compiles.values()}
    elif isinstance(node, Process):
        wanted = {id(compile_) for compile_ in node.compiles.values()}
    else:
        wanted = {id(compile_) for compile_ in ([node] if isinstance(node, Compile) else node.compiles)}
    start = 0
    for model in models:
        for begin, end in _merged(_pieces(run, model, wanted)):
            yield Extent(model.log.source, begin, end - begin, start, model)
            start += end - begin


def _pieces(run: Run, model: LogModel, wanted: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the records of some compiles, each up to the next record."""
    offsets = model.log.columns.offset
    for record in range(len(offsets)):
        if id(run.joining.home(model, record)[0]) in wanted:
            yield offsets[record], offsets[record + 1] if record + 1 < len(offsets) else model.log.scanned


def _merged(pieces: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    begin = end = -1
    for first, last in pieces:
        if first == end:
            end = last
            continue
        if end > begin:
            yield begin, end
        begin, end = first, last
    if end > begin:
        yield begin, end


def line_in_log(run: Run, model: LogModel, offset: int, options: Options) -> str:
    """Return the address of the line of `@log` that a byte of an output is in."""
    document = log_document(run, Ref(view=NAME), options)
    line = document.line_of(model, offset) if isinstance(document, LogDocument) else None
    return f"@{NAME}" if line is None else at_line(f"@{NAME}", line + 1)
