"""The page `@source::FILE`: what a trace has to report on each line of a source file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.documents.scope import Scope, place_of, scope_of
from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, records_of
from tltui.model.ref import Ref
from tltui.model.run import Run
from tltui.questions.problems import page as problems_page
from tltui.questions.problems.compile_problems import cached_breaks, cached_failures
from tltui.questions.problems.reason_sections import refused_words
from tltui.questions.recompiles.recompile_reasons import cached_recompile
from tltui.questions.shapes.shape_env import EVENTS, shape_records
from tltui.questions.stacks.tracebacks import display_code, is_end_of
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

LABELS = {
    "error": ("error", tokens.ERROR),
    "output": ("failure in the output", tokens.ERROR),
    "backward": ("error in the backward", tokens.ERROR),
    "eager": ("fell back to eager", tokens.WARN),
    "limit": ("recompile limit", tokens.WARN),
    "break": ("graph break", tokens.BREAK),
    "recompile": ("recompiles", tokens.RECOMPILE),
    "specialized": ("size specialized", tokens.WARN),
    "cudagraph": ("no CUDA graph", tokens.WARN),
    "warning": ("warning of torch", tokens.WARN),
    "empty": ("no tensor operation", tokens.DIM),
    "function": ("function", tokens.LABEL),
}
"""The kind of a finding → its name and style on the page, the worst kind first."""
REASONS_SHOWN = 2
FILES_SHOWN = 8
"""Files of the trace that are listed if none has the requested name."""
REFS_SHOWN = 4
DETAIL_WIDTH = 300
"""Characters of torch's messages; the linked page of the line has all."""


@frozen
class FileFinding:
    """A problem of a line, a function that begins there, its recompiles, or a size that the line specialized."""

    kind: str
    """A kind of `problems`, or `function`, `recompile`, `specialized`."""
    text: str
    detail: str
    """Torch's message or hint, the failed guards, or the condition; '' for none."""
    compiles: tuple[str, ...]
    """The addresses of the compiles that have it."""


@frozen
class FileLine:
    """A line with findings."""

    line: int
    """From 1."""
    code: str
    """The line as torch recorded it; '' where it did not."""
    findings: tuple[FileFinding, ...]
    """The worst first."""


@frozen
class FileLines:
    """The lines of one file."""

    file: str
    """The longest path that the trace has."""
    lines: tuple[FileLine, ...]


@frozen
class SourceFile:
    """The findings of all files that end with the requested name."""

    file: str
    """As asked for."""
    files: tuple[FileLines, ...]
    searched_compiles: int


class _Lines:
    """The findings by file and line, collected from the compiles of a scope."""

    def __init__(self, name: str) -> None:
        self.name = name.replace("\\", "/").removeprefix("./")
        self.findings: dict[tuple[str, int], list[FileFinding]] = defaultdict(list)
        self.code: dict[tuple[str, int], str] = {}
        self.others: Counter[str] = Counter()

    def is_meant(self, file: str | None) -> bool:
        """Return whether the requested name may refer to the file; count the others."""
        if not file:
            return False
        path = file.replace("\\", "/")
        if path == self.name or path.endswith("/" + self.name.lstrip("/")):
            return True
        self.others[path] += 1
        return False

    def add(self, file: str | None, line: int | None, finding: FileFinding) -> None:
        """Add a finding if it is in the file."""
        if file and line and self.is_meant(file):
            self.findings[file, line].append(finding)

    def add_code(self, file: str | None, line: int | None, code: str | None) -> None:
        """Remember the code of a line."""
        if file and line and code and code.strip():
            self.code.setdefault((file, line), code.strip())

    def files(self) -> Iterator[FileLines]:
        """Yield the files by name; findings under a shortened path belong to the longest path that ends with it."""
        paths = sorted({file for file, _ in self.findings})
        full = {path: next((other for other in paths if is_end_of(path, other)), path) for path in paths}
        lines: dict[str, dict[int, list[FileFinding]]] = defaultdict(lambda: defaultdict(list))
        code: dict[tuple[str, int], str] = {}
        for (file, line), findings in self.findings.items():
            lines[full[file]][line] += findings
        for (file, line), text in self.code.items():
            code.setdefault((full.get(file, file), line), text)
        order = list(LABELS)
        for file, by_line in sorted(lines.items()):
            rows = (
                FileLine(line, code.get((file, line), ""), tuple(sorted(findings, key=lambda one: order.index(one.kind))))
                for line, findings in sorted(by_line.items())
            )
            yield FileLines(file, tuple(rows))


def source_file_steps(
    run: Run, scope: Scope, name: str, options: Options
) -> Generator[None, None, tuple[SourceFile, tuple[str, ...]]]:
    """Collect the findings of a file; return them, and the most frequent files of the trace with other names."""
    lines = _Lines(name)
    functions: dict[tuple[str | None, str | None, int | None], list[Compile]] = defaultdict(list)
    for number, compile_ in enumerate(scope.compiles):
        functions[display_code(compile_.frame)].append(compile_)
        for graph_break in cached_breaks(compile_):
            lines.add_code(graph_break.file, graph_break.line, graph_break.code)
        for failure in cached_failures(compile_):
            lines.add_code(failure.file, failure.line, failure.code)
        for fixed_file, fixed_line, finding in specialized(compile_):
            lines.add(fixed_file, fixed_line, finding)
        if number % 64 == 63:
            yield
    for (function, file, line), compiles in functions.items():
        if file and line and lines.is_meant(file):
            for finding in _of_function(function, compiles):
                lines.add(file, line, finding)
    yield
    problems = problems_page.document(run, scope, options)
    while not problems.advance():
        yield
    for row in problems_page.problem_rows(problems.data()):  # type: ignore[arg-type]
        if row.kind in LABELS:
            lines.add(row.file, row.line, _of_problem(row))
    others = tuple(file for file, _ in lines.others.most_common(FILES_SHOWN))
    return SourceFile(name, tuple(lines.files()), sum(compile_.untimed_tally.compiles for compile_ in scope.compiles)), others


def _of_problem(row: problems_page.ProblemRow) -> FileFinding:
    label = LABELS[row.kind][0]
    text = "" if fmt.one_line(row.headline) == label else fmt.one_line(row.headline)
    detail = f"torch's hint: {fmt.one_line(row.hints[0])}" if row.hints else fmt.one_line(row.reason)
    return FileFinding(row.kind, text, "" if detail == text else detail, row.refs)


def _of_function(function: str | None, compiles: Sequence[Compile]) -> Iterator[FileFinding]:
    """Yield that a function begins here, and its recompiles with the guards that failed most often."""
    seconds = sum(compile_.duration_s or 0.0 for compile_ in compiles)
    count = fmt.plural(len(compiles), "compile")
    refs = tuple(str(compile_.ref) for compile_ in compiles)
    yield FileFinding(
        "function", f"{function or '?'} begins here: {count}{f' in {fmt.seconds(seconds)}' if seconds else ''}", "", refs
    )
    again = [compile_ for compile_ in compiles if compile_.is_recompile]
    if not again:
        return
    reasons: Counter[str] = Counter()
    for compile_ in again:
        recompile = cached_recompile(compile_)
        reasons.update({fmt.one_line(reason.text) for reason in recompile.reasons} if recompile is not None else ())
    refused = refused_words(sum(compile_.facts.recompile_limit_hit for compile_ in again))
    most = [f"{text} ({fmt.count(number)} times)" if number > 1 else text for text, number in reasons.most_common(REASONS_SHOWN)]
    detail = f"failed guards: {'; '.join(most)}" if most else ""
    more = f" and {len(reasons) - len(most)} more" if len(reasons) > len(most) else ""
    yield FileFinding(
        "recompile", f"{fmt.count(len(again))}{refused}", detail + more, tuple(str(one.ref) for one in again)
    )


@part
def specialized(compile_: Compile, reader: Reader) -> tuple[tuple[str, int, FileFinding], ...]:
    """Return file, line and finding of each size that a line of the user specialized to a number."""
    if not any(True for _ in records_of(compile_, EVENTS)):
        return ()
    rows = []
    for item in shape_records(compile_, reader).fixed:
        frame = item.user_frame
        if frame is not None and frame.file and frame.line:
            text = f"{item.symbol} = {item.sources[0]}" if item.sources else item.symbol
            rows.append((frame.file, frame.line, FileFinding("specialized", f"{text} to {item.value}", "", (str(compile_.ref),))))
    return tuple(rows)


def file_document(run: Run, ref: Ref, name: str, options: Options) -> Document:
    """Return the findings of the files that end with a name, by line."""
    scope = scope_of(run, ref)

    def fill(page: Page) -> Generator[None, None, SourceFile]:
        page.add(("Source file ", tokens.TITLE), (sanitize(name), tokens.TITLE), (scope.title, tokens.TITLE))
        answer, others = yield from source_file_steps(run, scope, name, options)
        if answer.files:
            count = fmt.plural(sum(len(file.lines) for file in answer.files), "line")
            text = f"{count} with findings, of {fmt.plural(answer.searched_compiles, 'compile')}"
            page.say(page.so_far(text), "", tokens.DIM)
        for file in answer.files:
            page.heading(sanitize(fmt.home(file.file)))
            for line in file.lines:
                _add_line(page, str(scope.ref), file.file, line)
        if not answer.files:
            _add_none(page, answer, others)
        yield
        return answer

    return GrowingDocument(str(replace(place_of(ref), artifact=name, view="source")), fmt.file_name(name), options, fill, Page)


def _add_line(page: Page, ref: str, file: str, line: FileLine) -> None:
    """Add a line: its code, or else the function that begins there, and its findings."""
    target = f"@source:{ref}:{file}:{line.line}"
    head: list[Piece] = [(f"{line.line:>5}", tokens.LINK, target), "  "]
    begins = [finding for finding in line.findings if finding.kind == "function"]
    if line.code:
        page.row([*head, (fmt.clip(sanitize(fmt.one_line(line.code)), page.width - 12), tokens.STRONG)])
    elif begins:
        page.row([*head, *_pieces(begins.pop(0))])
    else:
        page.row(head)
    for finding in (*(one for one in line.findings if one.kind != "function"), *begins):
        page.row(_pieces(finding), "         ")
        if finding.detail:
            page.say(sanitize(fmt.clip(finding.detail, DETAIL_WIDTH)), "           ", tokens.DIM)


def _pieces(finding: FileFinding) -> list[Piece]:
    label, style = LABELS[finding.kind]
    text = sanitize(finding.text)
    if finding.kind == "function" or text.startswith(label):
        pieces: list[Piece] = [(text, style)]
    else:
        pieces = [(label, style), f": {text}" if text else ""]
    pieces += [piece for one in finding.compiles[:REFS_SHOWN] for piece in (" ", (f"[{one}]", tokens.LINK, one))]
    more = len(finding.compiles) - REFS_SHOWN
    return [*pieces, f" and {fmt.count(more)} more" if more > 0 else ""]


def _add_none(page: Page, answer: SourceFile, others: Iterable[str]) -> None:
    searched = fmt.plural(answer.searched_compiles, "compile")
    page.blank()
    page.say(page.so_far(f"No finding in {searched} is in a file of this name."), "  ")
    files = list(others)
    if files:
        page.say("Files with findings:", "  ", tokens.DIM)
        for file in files:
            page.row([to_page(sanitize(fmt.home(file)), f"@source::{file}")], "    ")
