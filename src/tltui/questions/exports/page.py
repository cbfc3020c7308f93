"""The page `exports`: undecided, guessed and wrong facts of `torch.export`, and their expressions."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.documents.scope import Scope
from tltui.model.artifacts import artifact_name
from tltui.model.input_coverage import Needs
from tltui.model.node_answers import part, reader_of
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, address, list_in, records_of, text_in, whole_in
from tltui.model.ref import Ref
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.questions.problems.reason_sections import add_stack
from tltui.questions.question import Question
from tltui.questions.shapes.shape_env import Symbol, bounds_of
from tltui.questions.stacks.tracebacks import StackFrame, frames_of, user_frames
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

USES = 20
_FROM = re.compile(r"^\s*# (?:.* )?File: (?P<file>.+):(?P<line>\d{1,9}) in (?P<name>.+?), code: (?P<code>.*)$")

CREATED, SYMBOL = "expression_created", "create_unbacked_symbol"
DEPTH = 400
NODES = 300
"""Parts of one expression that are followed."""
KEPT = 4_000
SLICE = 500
ANY = "[-int_oo, int_oo]"
_ID = re.compile(rb'"(?:result_id|node_id)": (-?\d{1,24})[,}]')
_NUMBER = re.compile(r"^(?:-?[\d.]+(?:e[-+]?\d+)?|True|False|None|-?int_oo)$")

START, PROGRAM, PARTIAL = "export", "exported_program", "make_fx_fail_partial"
GUARD, GUESS = "guard_added", "propagate_real_tensors_provenance"
MISSING, MISMATCHED, UNDECIDED = "missing_fake_kernel", "mismatched_fake_kernel", "guard_on_data_dependent_error"
FAILURES = (GUARD, GUESS, MISSING, MISMATCHED, UNDECIDED)
_NAMES = (START, PROGRAM, PARTIAL, SYMBOL, *FAILURES)
_EVIDENCE = frozenset({START, PROGRAM, GUESS, MISSING, MISMATCHED, UNDECIDED})
_EVAL = "eval"
PROGRAM_LIMIT = 16 << 20
NumberedCompile = tuple[int, str, Compile]
"""A record, its name, and whose it is."""

PARTS_SHOWN = 12
"""Parts of an expression that stay visible; the rest is folded."""
TITLES = {
    GUARD: "guard evaluated",
    GUESS: "guessed from the example",
    MISSING: "no fake kernel",
    MISMATCHED: "wrong fake kernel",
    UNDECIDED: "export stopped",
}


@frozen
class OpUse:
    """A call of an operator in a graph."""

    text: str
    """The line of the graph."""
    file: str | None
    line: int | None
    function: str | None
    code: str | None


@frozen
class Expression:
    """A part of an expression, in the order of a walk from the whole down to the symbols."""

    depth: int
    text: str
    method: str | None = None
    """How it was made of its arguments; None for a symbol."""
    arguments: tuple[str, ...] = ()
    source: str | None = None
    """Of a symbol: what it stands for, or its range where it depends on data."""
    user_frame: StackFrame | None = None
    """The user's line that made it."""


@frozen
class _ParsedRecord:
    """Parsed record: an expression, and (id, text) of its operands."""

    expression: Expression
    parts: tuple[tuple[int, str], ...] = ()


@frozen
class Local:
    """Variable of the user's line, or a symbol with its source."""

    name: str
    value: str


@frozen
class ExportFailure:
    """One thing that export could not decide, guessed, or found wrong; the same one at the same line counted once."""

    kind: str
    """The event: guard_added, propagate_real_tensors_provenance, missing_fake_kernel, mismatched_fake_kernel or
    guard_on_data_dependent_error."""
    record: str
    """The address of its first record."""
    count: int = 1
    expr: str | None = None
    expr_without_hints: str | None = None
    """The expression before known values were put in, where that is another."""
    result: str | None = None
    """What a guess took it to be."""
    op: str | None = None
    reason: str | None = None
    user_frame: StackFrame | None = None
    """The user's line nearest to it."""
    code: str | None = None
    """That statement as a whole."""
    locals: tuple[Local, ...] = ()
    symbols: tuple[Local, ...] = ()
    """Where the symbols of the expression come from."""
    expressions: tuple[Expression, ...] = ()
    """What the expression was made of, from itself down to the symbols; each once."""
    uses: tuple[OpUse, ...] = ()
    """Where the exported program calls the operator."""
    user_stack: tuple[StackFrame, ...] = ()
    """Outermost first."""
    stack: tuple[StackFrame, ...] = ()
    """The framework's own stack, outermost first."""


@frozen
class Export:
    """One export. What a log holds is cut before each `export` record and after each `exported_program`."""

    ref: str
    """The address of the compile that holds its first record; `none` for an export that is not strict."""
    failures: tuple[ExportFailure, ...]
    program: str | None
    """The address of the exported program; None: the export failed, or the log ends before it."""
    program_bytes: int
    """Its stored bytes."""
    partial_graph: str | None
    """The address of the graph as far as it was traced, which torch writes when tracing fails."""
    unbacked: tuple[Symbol, ...]
    """Symbols whose values depend on data."""
    guard_added_count: int
    """`guard_added` records that are no failures: runtime assertions, and those of logs that do not tell."""

    @property
    def clean(self) -> bool:
        """Whether a program came out and nothing is to be said about it."""
        return self.program is not None and not self.failures

    @property
    def failed(self) -> bool:
        """Whether the log shows that it failed: the last word of an export without a program."""
        return self.program is None and (self.partial_graph is not None or any(f.kind == UNDECIDED for f in self.failures))


@frozen
class Exports:
    """The exports of a part of a run."""

    exports: tuple[Export, ...] = ()
    failure_count: int = 0
    """Failures in all of them, repetitions counted."""
    expression_count: int = 0
    """`expression_created` records."""


def read_exports(compiles: Iterable[Compile]) -> Generator[None, None, Exports]:
    """Read the exports of compiles; yields between steps."""
    by_process: dict[int, list[Compile]] = {}
    for compile_ in compiles:
        by_process.setdefault(id(compile_.process), []).append(compile_)
    exports: list[Export] = []
    created = 0
    for members in by_process.values():
        expressions = Expressions(members[0].process)
        if not any(artifact_name(kind) in _NAMES for kind in members[0].process.log.kinds):
            continue
        for compile_ in members:
            has_export_records(compile_)
            yield
        segments = list(_segments(members))
        if segments:
            yield from expressions.index(members)
        created += expressions.count
        reader = reader_of(members[0])
        for segment in segments:
            export = yield from _read_export(segment, reader, expressions)
            if export is not None:
                exports.append(export)
    return Exports(tuple(exports), sum(f.count for export in exports for f in export.failures), created)


def _segments(compiles: list[Compile]) -> Iterator[list[NumberedCompile]]:
    """Split records into exports. A compile under `TORCH_DTRACE` has guards too, but is no export."""
    pieces = sorted(
        ((record, name, c) for c in filter(has_export_records, compiles) for record, name in records_of(c, _NAMES)),
        key=lambda piece: piece[0],
    )
    segment: list[NumberedCompile] = []
    for piece in pieces:
        if piece[1] == START and segment:
            yield from _real(segment)
            segment = []
        segment.append(piece)
        if piece[1] == PROGRAM:
            yield from _real(segment)
            segment = []
    yield from _real(segment)


@part
def has_export_records(compile_: Compile, reader: Reader) -> bool:
    """Return whether a compile has any record that an export may have written."""
    return any(True for _ in records_of(compile_, _NAMES))


def _real(segment: list[NumberedCompile]) -> Iterator[list[NumberedCompile]]:
    names = {name for _, name, _ in segment}
    if names & _EVIDENCE or any(name == GUARD and not c.is_compile for _, name, c in segment):
        yield segment


def _read_export(
    segment: list[NumberedCompile], reader: Reader, expressions: Expressions
) -> Generator[None, None, Export | None]:
    log = reader.log
    started = segment[0][1] == START
    failures: list[ExportFailure] = []
    unbacked: dict[str, Symbol] = {}
    program = partial = None
    guards = size = 0
    programs = [(record, c) for record, name, c in segment if name == PROGRAM]
    for record, name, compile_ in segment:
        if name == PROGRAM:
            program, size = address(compile_, record, name), log.columns.size[record]
        elif name == PARTIAL:
            partial = address(compile_, record, name) if log.has_payload(record) else None
        elif name == SYMBOL:
            symbol = _unbacked_symbol(compile_.process, reader, record)
            unbacked.setdefault(symbol.name, symbol)
        elif name in FAILURES:
            yield
            if name == GUARD and compile_.started is not None and not started:
                continue  # a guard of an ordinary compile
            failure = _read_failure(compile_.process, reader, record, name, expressions)
            if failure is None:
                guards += 1
            else:
                failures.append(failure)
    texts = [reader.text(record, PROGRAM_LIMIT) for record, _ in programs if any(f.op for f in failures)]
    ref = str(segment[0][2].ref)
    usages = tuple(_used(failure, texts[-1] if texts else "") for failure in _grouped(failures))
    return Export(ref, usages, program, size, partial, tuple(unbacked.values()), guards)


def _read_failure(
    process: Process, reader: Reader, record: int, name: str, expressions: Expressions
) -> ExportFailure | None:
    """Parse the failure in a record; None for a guard that is no failure."""
    fields = reader.event(record)
    if name == GUARD and text_in(fields, "prefix") != _EVAL:
        return None
    place = str(Ref(process.ref.rank, process.number, view="record", n=record + 1))
    user = frames_of(process, list_in(fields, "user_stack"))
    stack = frames_of(process, list_in(fields, "stack") or list_in(reader.log.envelope(record), "stack"))
    frames = user_frames(user) or user_frames(stack)
    frame = fields.get("frame_locals")
    expr = text_in(fields, "expr")
    unhinted = text_in(fields, "unhinted_expr")
    node = whole_in(fields, "expr_id" if name == UNDECIDED else "expr_node_id")
    symbols = {**_pairs(fields.get("symbol_to_sources")), **_pairs(_inside(frame, "symbols"))}
    return ExportFailure(
        name,
        place,
        1,
        expr,
        unhinted if unhinted != expr else None,
        text_in(fields, "result"),
        text_in(fields, "op"),
        text_in(fields, "reason"),
        frames[0] if frames else None,
        text_in(frame, "loc"),
        tuple(Local(key, value) for key, value in _pairs(_inside(frame, "locals")).items()),
        tuple(Local(key, value) for key, value in symbols.items()),
        expressions.tree(node, record, symbols) if node is not None else (),
        (),
        user,
        stack,
    )


def _inside(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _pairs(value: object) -> dict[str, str]:
    """Names and values as texts. A value is a text in older logs and a list of texts since torch 2.9 or so."""
    if not isinstance(value, dict):
        return {}
    results = {}
    for key, item in value.items():
        if item is None:
            continue
        many = item if isinstance(item, list) else [item]
        results[str(key)[:200]] = ", ".join(str(part) for part in many)
    return results


def _unbacked_symbol(process: Process, reader: Reader, record: int) -> Symbol:
    fields = reader.event(record)
    frames = user_frames(frames_of(process, list_in(fields, "user_stack")))
    return Symbol(text_in(fields, "symbol") or "?", None, None, bounds_of(text_in(fields, "vr")), frames[0] if frames else None)


def _grouped(failures: list[ExportFailure]) -> list[ExportFailure]:
    """Merge equal failures at the same line, in the order of first occurrence."""
    groups: dict[tuple[object, ...], ExportFailure] = {}
    for failure in failures:
        where = (failure.user_frame.file, failure.user_frame.line) if failure.user_frame else None
        key = (failure.kind, failure.expr, failure.result, failure.op, failure.reason, where)
        first = groups.get(key)
        groups[key] = failure if first is None else replace(first, count=first.count + 1)
    return list(groups.values())


def _used(failure: ExportFailure, program: str) -> ExportFailure:
    return replace(failure, uses=uses_of(failure.op, program)) if failure.op and program else failure


def uses_of(op: str, program: str) -> tuple[OpUse, ...]:
    """Return the calls of `demo.no_fake.default` in the text of a program, at most `USES`."""
    wanted = re.compile(rf"torch\.ops\.{re.escape(op)}\(")
    op_uses: list[OpUse] = []
    last: re.Match[str] | None = None
    for line in program.split("\n"):
        if match := _FROM.match(line):
            last = match
        elif wanted.search(line):
            text = line.strip().partition(";  ")[0]
            if last is None:
                op_uses.append(OpUse(text, None, None, None, None))
            else:
                op_uses.append(OpUse(text, last["file"], int(last["line"]), last["name"], last["code"]))
            if len(op_uses) == USES:
                break
    return tuple(op_uses)


class Expressions:
    """The expressions of a process by id."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._reader = Reader(process.log)
        self._records: dict[int, list[int]] = {}
        self._symbols: set[int] = set()
        self._cache: dict[int, _ParsedRecord] = {}
        self.count = 0
        """`expression_created` records."""

    def index(self, compiles: Iterable[Compile]) -> Generator[None, None, None]:
        """Find out which record made which id: the id is searched in the bytes, nothing is parsed. Yields in between."""
        named_records = sorted((record, name) for c in compiles for record, name in records_of(c, (CREATED, SYMBOL)))
        for number, (record, name) in enumerate(named_records):
            if match := _ID.search(self._reader.head(record)):
                self._records.setdefault(int(match[1]), []).append(record)
            if name == SYMBOL:
                self._symbols.add(record)
            else:
                self.count += 1
            if number % SLICE == SLICE - 1:
                yield

    def _creating_record(self, node: int, before: int) -> int | None:
        """Return the newest record before another one that created this id."""
        records = self._records.get(node, [])
        place = bisect_left(records, before)
        return records[place - 1] if place else None

    def tree(self, node: int, before: int, sources: dict[str, str]) -> tuple[Expression, ...]:
        """Return an expression and its operands down to the symbols, each once; `sources` describes symbols."""
        expressions: list[Expression] = []
        visited: set[int] = set()
        waiting = [(node, before, 0, "")]
        while waiting:
            node, before, depth, text = waiting.pop()
            if node in visited:
                continue
            if len(expressions) == NODES:
                expressions.append(Expression(depth, "…", source="more parts not shown"))
                break
            visited.add(node)
            record = self._creating_record(node, before)
            if record is None:
                if text:
                    expressions.append(Expression(depth, text, source=sources.get(text)))
                continue
            parsed = self._read(record)
            expressions.append(replace(parsed.expression, depth=depth, text=parsed.expression.text or text or "?"))
            waiting += [(part, record, min(depth + 1, DEPTH), name) for part, name in reversed(parsed.parts)]
        return tuple(expressions)

    def _read(self, record: int) -> _ParsedRecord:
        """Parse a record, cached: consecutive failures share most operands."""
        cached = self._cache.get(record)
        if cached is None:
            if len(self._cache) >= KEPT:
                self._cache.clear()
            cached = self._cache[record] = self._parsed(record)
        return cached

    def _parsed(self, record: int) -> _ParsedRecord:
        fields = self._reader.event(record)
        frames = user_frames(frames_of(self._process, list_in(fields, "user_stack")))
        where = frames[0] if frames else None
        if record in self._symbols:
            bounds = text_in(fields, "vr")
            source = f"depends on data, range {bounds}" if bounds not in (None, ANY) else "depends on data"
            return _ParsedRecord(Expression(0, text_in(fields, "symbol") or "", source=source, user_frame=where))
        arguments = tuple(str(argument) for argument in list_in(fields, "arguments"))
        method = text_in(fields, "method") or "?"
        expression = Expression(0, text_in(fields, "result") or "", method, arguments, user_frame=where)
        return _ParsedRecord(expression, _expression_parts(fields, arguments))


def _expression_parts(fields: dict[str, object], arguments: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """(id, text) of the arguments that have an id. Numbers have none, so texts and ids need not be as many."""
    ids = [value for value in list_in(fields, "argument_ids") if isinstance(value, int) and not isinstance(value, bool)]
    texts = list(arguments) if len(arguments) == len(ids) else [a for a in arguments if not _NUMBER.match(a)]
    return tuple(zip(ids, texts if len(texts) == len(ids) else [""] * len(ids), strict=True))


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `exports` for the scope. It grows: a large export has many expressions."""

    def fill(page: Page) -> Generator[None, None, Exports]:
        page.add((f"Exports{scope.title}", tokens.TITLE))
        exports = yield from read_exports(scope.compiles)
        if not exports.exports:
            _add_no_exports(page, run.finished, bool(str(scope.ref)))
        for number, export in enumerate(exports.exports, 1):
            _export(page, export, number if len(exports.exports) > 1 else 0, run.finished)
            yield
        return exports

    return GrowingDocument(scope.page("exports"), f"exports{scope.title}", options, fill, Page)


def _add_no_exports(page: Page, finished: bool, part: bool) -> None:
    page.blank()
    where = "this part of the trace" if part else "this trace"
    page.say(f"No torch.export records in {where}{'' if finished else ' yet'}.", "", tokens.DIM)
    page.say(
        "To record them, set TORCH_DTRACE=DIR instead of TORCH_TRACE (torch 2.7 and later). torch.export.draft_export (torch "
        "2.8 and later) always records them, in a log whose path it prints as a warning.",
        "", tokens.DIM,
    )  # fmt: skip


def _export(page: Page, export: Export, number: int, finished: bool) -> None:
    total = sum(failure.count for failure in export.failures)
    if number:
        page.heading(f"Export {number}")
    else:
        page.blank()
    _outcome(page, export, total, finished)
    page.joined(_links(export), "  " if number else "")
    for n, failure in enumerate(export.failures, 1):
        _failure(page, failure, n, len(export.failures), bool(number))
    _unbacked(page, export.unbacked, bool(number))


def _outcome(page: Page, export: Export, total: int, finished: bool) -> None:
    count = fmt.plural(total, "finding")
    if export.program is not None:
        if export.clean:
            page.add(page.status(Status.OK), (" exported a program; torch reported no problems", tokens.STRONG))
        else:
            page.say(f"exported a program with {count}", "", tokens.WARN)
    elif export.failed:
        page.add(page.status(Status.ERROR), (f" the export failed and produced no program; {count}", tokens.ERROR))
    elif finished:
        page.say(f"no exported_program record: the export failed, or the log ends before it; {count}", "", tokens.WARN)
    else:
        page.say(f"no program yet; {count}", "", tokens.STRONG)


def _links(export: Export) -> list[Piece]:
    pieces: list[Piece] = []
    if export.program is not None:
        text = f"exported program, {fmt.size_of(export.program_bytes)}"
        pieces.append((text, tokens.LINK, export.program))
    if export.partial_graph is not None:
        pieces.append(to_page("partially traced graph", export.partial_graph))
    if export.guard_added_count:
        pieces.append((f"{fmt.plural(export.guard_added_count, 'other guard')} added", tokens.DIM))
    pieces.append((f"records of [{export.ref}]", tokens.LINK, f"@records:{export.ref}"))
    return pieces


def _failure(page: Page, failure: ExportFailure, n: int, total: int, nested: bool) -> None:
    expression = failure.expr or failure.op or "(torch wrote no expression)"
    kind = TITLES[failure.kind]
    page.close(1 if nested else 0)
    page.blank()
    page.open(f"{kind}: {expression}")
    times = f"  {failure.count}×" if failure.count > 1 else ""
    head: list[Piece] = [(f"{n} " if total > 1 else "", tokens.DIM), (kind, tokens.ERROR if _stops(failure) else tokens.WARN)]
    head += [(times, tokens.STRONG), "  ", to_page("record", failure.record)]
    page.add(*head)
    page.say(expression, "  ", tokens.STRONG)
    for text in _meaning(failure):
        page.say(text, "  ")
    _where(page, failure)
    _values(page, failure)
    _expression(page, failure.expressions)
    _uses(page, failure)
    _stacks(page, failure)


def _stops(failure: ExportFailure) -> bool:
    return failure.kind == UNDECIDED


def _meaning(failure: ExportFailure) -> list[str]:
    """Explain a failure, with torch's own report."""
    if failure.kind == GUARD:
        return [
            "Export needed this condition and took its value from the example inputs. The program is only correct where the "
            "condition holds. It may specialize a dimension that was declared dynamic."
        ]
    if failure.kind == GUESS:
        used = f"used {failure.result}, its value" if failure.result else "used its value"
        return [
            f"This expression depends on data, so its value is unknown during export. Export {used} for the example inputs, "
            "and added an assertion to the program."
        ]
    if failure.kind == MISSING:
        return [
            "The operator has no fake kernel, so export ran the real one on the example inputs. Register a fake kernel with "
            "torch.library.register_fake."
        ]
    if failure.kind == MISMATCHED:
        reason = f": {fmt.one_line(failure.reason)}" if failure.reason else ""
        return [f"Its fake kernel and its real kernel return different results{reason}. Fix the function passed to register_fake."]
    sentences = ["The condition depends on data. Export needs its value to continue, so export stopped here."]
    if failure.expr_without_hints:
        sentences.append(f"Before known values were substituted: {failure.expr_without_hints}")
    sentences.append("State the condition with torch._check(...). draft_export continues with the value from the example inputs.")
    return sentences


def _where(page: Page, failure: ExportFailure) -> None:
    where = failure.user_frame
    if where is None:
        return
    page.row(["at ", page.place(where.file, where.line), (f" in {fmt.clip_middle(sanitize(where.name), 40)}", tokens.FUNCTION)])
    for line in (failure.code or where.code or "").splitlines()[:6]:
        page.code(line, "     ")


def _values(page: Page, failure: ExportFailure) -> None:
    rows: list[list[Piece]] = []
    for n, item in enumerate(failure.locals):
        rows.append([("where" if n == 0 else "", tokens.LABEL), (item.name, tokens.NAME), (item.value, tokens.VALUE)])
    for n, item in enumerate(failure.symbols):
        rows.append([("symbol" if n == 0 else "", tokens.LABEL), (item.name, tokens.NAME), (f"is {item.value}", "")])
    page.grid(rows)


def _expression(page: Page, parts: tuple[Expression, ...]) -> None:
    if not parts:
        return
    page.add("  ", ("made of", tokens.LABEL))
    shown = parts if len(parts) <= PARTS_SHOWN + 2 else parts[:PARTS_SHOWN]
    _parts(page, shown)
    if len(shown) < len(parts):
        more = fmt.plural(len(parts) - len(shown), "more part")
        page.open(more, folded=True)
        page.add("    ", (more, tokens.DIM))
        _parts(page, parts[len(shown) :])
        page.close()


def _parts(page: Page, parts: tuple[Expression, ...]) -> None:
    """Add an expression and its operands with methods and source lines."""
    rows: list[list[Piece]] = []
    for expression in parts:
        deep = min(expression.depth, page.width // 6)
        text = f"{'  ' * deep}{expression.text}"
        if expression.method is not None:
            how: Piece = (f"{expression.method}({', '.join(expression.arguments)})", tokens.FUNCTION)
        else:
            how = (expression.source or "", tokens.DIM)
        rows.append([(text, tokens.NAME), _line(page, expression.user_frame), how])
    page.grid(rows, "    ")


def _line(page: Page, where: StackFrame | None) -> Piece:
    if where is None:
        return ""
    return (fmt.place(where.file, where.line), tokens.LINK, fmt.place_target(where.file, where.line))


def _uses(page: Page, failure: ExportFailure) -> None:
    if not failure.uses:
        return
    page.add("  ", ("called in the exported program", tokens.LABEL))
    for use in failure.uses:
        page.code(use.text, "    ")
        if use.file is not None:
            name = (f" in {fmt.clip_middle(sanitize(use.function or '?'), 40)}", tokens.FUNCTION)
            page.row(["from ", page.place(use.file, use.line), name], "      ")
            page.code(use.code, "           ")


def _stacks(page: Page, failure: ExportFailure) -> None:
    """Add the user stack and the framework stack, folded: the nearest line is above."""
    for label, frames in (("user stack", failure.user_stack), ("framework stack", failure.stack)):
        if not frames or (frames == failure.user_stack and label != "user stack"):
            continue
        title = f"{label}: {fmt.plural(len(frames), 'frame')}, outermost first"
        page.open(title, folded=True)
        page.add("  ", (title, tokens.DIM))
        add_stack(page, frames, "    ")
        page.close()


def _unbacked(page: Page, symbols: tuple[Symbol, ...], nested: bool) -> None:
    if not symbols:
        return
    page.close(1 if nested else 0)
    page.blank()
    title = f"Symbols that depend on data ({fmt.count(len(symbols))})"
    page.open(title)
    page.add((title, tokens.HEADING))
    rows: list[list[Piece]] = []
    for symbol in symbols:
        code = symbol.user_frame.code if symbol.user_frame and symbol.user_frame.code else ""
        rows.append([
            (symbol.name, tokens.NAME), (str(symbol.range or ""), tokens.DIM), _line(page, symbol.user_frame),
            (code.strip(), tokens.DIM),
        ])  # fmt: skip
    page.grid(rows)


@frozen
class ExportRow:
    """One thing that export could not decide, guessed, or found wrong."""

    ref: str
    """The address of the export."""
    kind: str
    """What it is."""
    count: int
    """How often."""
    expr: str | None
    """The expression."""
    result: str | None
    """What was guessed."""
    op: str | None
    """The operator."""
    reason: str | None
    """Why."""
    file: str | None
    """The file of the line."""
    line: int | None
    """The line, from 1."""
    code: str | None
    """The source line."""


def export_rows(data: Exports) -> Iterator[ExportRow]:
    """Yield one row per failure."""
    for export in data.exports:
        for failure in export.failures:
            file, line = (None, None) if failure.user_frame is None else (failure.user_frame.file, failure.user_frame.line)
            yield ExportRow(
                export.ref,
                failure.kind,
                failure.count,
                failure.expr,
                failure.result,
                failure.op,
                failure.reason,
                file,
                line,
                failure.code,
            )


QUESTION = Question(
    name="exports",
    help="torch.export runs: values that export guessed, could not determine or found to be incorrect, and why",
    group="find causes",
    order=700,
    needs=Needs("has no reports of torch.export"),
    document=document,
    answer=Exports,
    rows=ExportRow,
    records=export_rows,
    doc="""
    Export runs: values that export guessed, could not determine or found to be incorrect, and why. One row per finding.
    """,
)
