"""The page `exports`."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.questions.exports import export_report as found_in
from tltui.questions.exports.export_report import Export, ExportFailure, Exports, Expression, read_exports
from tltui.questions.problems.reason_sections import add_stack
from tltui.questions.question import Question
from tltui.questions.shapes.shape_env import Symbol
from tltui.questions.stacks.tracebacks import StackFrame
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

PARTS_SHOWN = 12
"""Parts of an expression that stay visible; the rest is folded."""
TITLES = {
    found_in.GUARD: "guard evaluated",
    found_in.GUESS: "guessed from the example",
    found_in.MISSING: "no fake kernel",
    found_in.MISMATCHED: "wrong fake kernel",
    found_in.UNDECIDED: "export stopped",
}


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
    return failure.kind == found_in.UNDECIDED


def _meaning(failure: ExportFailure) -> list[str]:
    """Explain a failure, with torch's own report."""
    if failure.kind == found_in.GUARD:
        return [
            "Export needed this condition and took its value from the example inputs. The program is only correct where the "
            "condition holds. It may specialize a dimension that was declared dynamic."
        ]
    if failure.kind == found_in.GUESS:
        used = f"used {failure.result}, its value" if failure.result else "used its value"
        return [
            f"This expression depends on data, so its value is unknown during export. Export {used} for the example inputs, "
            "and added an assertion to the program."
        ]
    if failure.kind == found_in.MISSING:
        return [
            "The operator has no fake kernel, so export ran the real one on the example inputs. Register a fake kernel with "
            "torch.library.register_fake."
        ]
    if failure.kind == found_in.MISMATCHED:
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
    for part in parts:
        deep = min(part.depth, page.width // 6)
        text = f"{'  ' * deep}{part.text}"
        if part.method is not None:
            how: Piece = (f"{part.method}({', '.join(part.arguments)})", tokens.FUNCTION)
        else:
            how = (part.source or "", tokens.DIM)
        rows.append([(text, tokens.NAME), _line(page, part.user_frame), how])
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
