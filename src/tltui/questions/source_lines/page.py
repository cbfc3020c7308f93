"""The page `@source`: everything in a trace that comes from one line of source."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import groupby

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.documents.rank_groups import add_alike
from tltui.documents.scope import place_of, scope_of
from tltui.model.node_answers import part, shared
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, addresses, records_of
from tltui.model.ref import NO_ID, BadAddress, Ref, at_line, parse_ref
from tltui.model.run import Run
from tltui.model.status import Eager
from tltui.questions.problems.compile_problems import cached_breaks, cached_failures, from_restart
from tltui.questions.provenance.provenance import PANES, PRE, content_of, provenance_of
from tltui.questions.provenance.records import Born, UnitProvenance
from tltui.questions.provenance.unit_artifacts import DYNAMO_GRAPH, POST_GRAPHS, PRE_GRAPHS
from tltui.questions.recompiles.recompile_reasons import RecompileReason, cached_recompile, parsed_ref
from tltui.questions.shapes.shape_env import EVENTS, ShapeGuard, inputs_of, shape_records
from tltui.questions.source_lines.file_page import SourceFile as SourceFile
from tltui.questions.source_lines.file_page import file_document
from tltui.questions.stacks.tracebacks import StackFrame, callers_of, display_name, is_end_of
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.guard_tree import parse as parse_guards
from tltui.text.sanitize import sanitize

GUARDS = "dynamo_cpp_guards_str"
TEXTS = (*PRE_GRAPHS, *POST_GRAPHS, DYNAMO_GRAPH, "inductor_provenance_tracking_kernel_stack_traces")
LIMIT = 64 << 20
EARLIER_READ = 8
"""Reasons of a recompile without a place of their own for which the guards of the earlier compile are read."""
_OF_TENSOR = re.compile(r"^tensor '(?P<name>.+?)' (?:size|stride|dtype|dispatch|requires_grad|rank|device)")


class BadPlace(ValueError):
    """A text that names no line of a file."""


@frozen
class Trail:
    """One result of the line: a graph node, kernel, guard, break or other fact."""

    kind: str
    """`function`, `node`, `kernel`, `guard`, `graph break`, `recompile`, `symbol`, `fixed` (a symbol that it fixed to a number),
    `condition` (on symbols, noted while the line was traced), `failure`, or `called`: the line calls a function whose compile
    began with it."""
    text: str
    ref: str
    """Where it stands: the address of an artifact with its line, or of the compile."""
    detail: str = ""
    unit: str = ""


@frozen
class CompileTrails:
    """The results of the line in one compile."""

    ref: str
    function: str
    results: tuple[Trail, ...]


@frozen
class SourceLine:
    """The results of the line in all compiles."""

    file: str
    """As asked for."""
    line: int
    files: tuple[str, ...]
    """The files of that name which the trace knows at this line."""
    code: str
    """The line as torch recorded it, '' where it did not."""
    compiles: tuple[CompileTrails, ...]
    searched_compiles: int
    """Compiles that were searched."""


def is_file(text: str) -> bool:
    """Return whether a text names a whole file, `train.py` or `models/block.py`, and no line of it."""
    name = text.strip().replace("\\", "/").rpartition("/")[2]
    return bool(name) and ":" not in name


def parse_place(text: str) -> tuple[str, int]:
    """Parse `FILE:LINE` into file and line. Raises `BadPlace`."""
    file, _, number = text.strip().rpartition(":")
    if not file or not (number.isascii() and number.isdigit()) or len(number) > 9 or int(number) == 0:
        raise BadPlace(f"not FILE:LINE: {text!r}")
    return file, int(number)


@mutable
class _Search:
    """A line to search for, and the files and code matched during the search."""

    file: str
    line: int
    files: dict[str, None] = field(default_factory=dict)
    code: str = ""
    tail: str = ""

    def __post_init__(self) -> None:
        self.tail = "/" + self.file.removeprefix("./").lstrip("/")

    def same_file(self, path: str | None) -> bool:
        """Return whether the requested file can refer to this path."""
        if path is None:
            return False
        path = path.replace("\\", "/")
        return path == self.file or path.endswith(self.tail)

    def here(self, path: str | None, line: int | None, code: str | None = None) -> bool:
        """Return whether a place is the line; remember its file and code."""
        if line != self.line or path is None or not self.same_file(path):
            return False
        self.files[path] = None
        if code and code.strip() and not self.code:
            self.code = code.strip()
        return True

    def distinct(self) -> tuple[str, ...]:
        """Return the files without suffixes of others: guards shorten paths to their end."""
        return tuple(file for file in self.files if not any(is_end_of(file, other) for other in self.files))

    def frame(self, frame: StackFrame | None) -> bool:
        """Return whether a stack frame is at the line."""
        return frame is not None and self.here(frame.file, frame.line, frame.code)

    def maybe_in(self, payload: bytes) -> bool:
        """Return whether a text may contain the line: a cheap check before parsing."""
        name = self.file.replace("\\", "/").rpartition("/")[2].encode("utf-8", "surrogatepass")
        number = str(self.line).encode()
        return name + b":" + number in payload or (name in payload and b"line " + number in payload)


def source_line_steps(compiles: Sequence[Compile], file: str, line: int) -> Generator[CompileTrails | None, None, SourceLine]:
    """Search the compiles one by one; yield the results of each, None for none."""
    search = _Search(file, line)
    compile_trails: list[CompileTrails] = []
    for compile_ in compiles:
        trails, files, code = trails_of(compile_, file, line)
        search.files.update(dict.fromkeys(files))
        search.code = search.code or code
        entry = CompileTrails(str(compile_.ref), display_name(compile_.frame) or "", trails) if trails else None
        if entry is not None:
            compile_trails.append(entry)
        yield entry
    searched = sum(compile_.untimed_tally.compiles for compile_ in compiles)
    return SourceLine(file, line, search.distinct(), search.code, tuple(compile_trails), searched)


Finder = Callable[[_Search, Compile, Reader], Iterator[Trail]]


Found = tuple[tuple[Trail, ...], tuple[str, ...], str]
"""What was born of the line, the files that were meant, and its code."""
NOTHING: Found = ((), (), "")


@part
def trails_of(compile_: Compile, reader: Reader, file: str, line: int) -> Found:
    """Return the results of a line in one compile."""
    search = _Search(file, line)
    trails = tuple(
        trail for find in (_functions, _failures, _breaks, _recompiles, _sizes, _born, _guards, _symbols)
        for trail in find(search, compile_, reader)
    )  # fmt: skip
    return (trails, tuple(search.files), search.code) if trails or search.files else NOTHING


def _functions(search: _Search, compile_: Compile, reader: Reader) -> Iterator[Trail]:
    """Yield the functions defined or called at the line."""
    name, file, line = compile_.frame.code
    ref = str(compile_.ref)
    if search.here(file, line):
        yield Trail("function", f"{name} begins here", ref)
    if compile_.started is not None:
        for frame in callers_of(compile_, reader):
            if search.frame(frame):
                yield Trail("called", f"{frame.name} was at this line when {name or 'the function'} was compiled", ref)
                return


def _failures(search: _Search, compile_: Compile, reader: Reader) -> Iterator[Trail]:
    facts = compile_.facts
    if (not facts.failed and not facts.backward_failed) or facts.eager_reason is Eager.SKIPPED:
        return  # the graph break already covers a function that fell back
    for failure in cached_failures(compile_):
        frames = (*failure.stack, failure.innermost_frame, failure.user_raise_frame)
        if search.here(failure.file, failure.line, failure.code) or any(map(search.frame, frames)):
            yield Trail("failure", failure.type, failure.ref or str(compile_.ref), _in_short(failure.reason))


def _in_short(reason: str) -> str:
    """Shorten a reason by torch's hints."""
    if "Explanation:" not in reason:
        return reason
    message = from_restart(reason)
    return f"{message.headline}: {message.explanation}" if message.explanation else message.headline


def _breaks(search: _Search, compile_: Compile, reader: Reader) -> Iterator[Trail]:
    for graph_break in cached_breaks(compile_):
        ref = graph_break.ref or str(compile_.ref)
        if search.here(graph_break.file, graph_break.line, graph_break.code):
            yield Trail("graph break", graph_break.headline, ref, graph_break.gb or "")
        elif any(map(search.frame, graph_break.stack)):
            yield Trail("graph break", graph_break.headline, ref, "in a function called from this line")


def _recompiles(search: _Search, compile_: Compile, reader: Reader) -> Iterator[Trail]:
    if not compile_.is_recompile:
        return
    result = cached_recompile(compile_)
    if result is None:
        return
    ref = result.ref or str(compile_.ref)
    for number, reason in enumerate(result.reasons):
        if search.here(reason.file, reason.line, reason.code) or any(map(search.frame, reason.stack)):
            yield Trail("recompile", reason.text, ref)
        elif number < EARLIER_READ and reason.file is None and _comes_from(search, compile_, reason):
            yield Trail("recompile", reason.text, ref, f"the failed guard of [{reason.earlier}] comes from this line")


def _comes_from(search: _Search, compile_: Compile, reason: RecompileReason) -> bool:
    """Return whether a tensor guard without a place comes from the line.

    The earlier compile of the recompiled function has the place.
    """
    match = _OF_TENSOR.match(reason.text)
    ref = parsed_ref(reason.earlier or "")
    if match is None or ref is None or ref.id is None:
        return False
    earlier = compile_.process.compiles.get(ref.id.of(compile_.id.epoch))
    if earlier is None:
        return False
    checks = (f"check_tensor(L['{match['name']}'],", f"check_tensor({match['name']},")
    trails = guards_from(earlier, search.file, search.line)[0]
    return any(check in trail.text for trail in trails for check in checks)


def _sizes(search: _Search, compile_: Compile, reader: Reader) -> Iterator[Trail]:
    """Yield sizes that the line specialized, and conditions evaluated while tracing it."""
    number = b'"line": %d' % search.line
    if not any(number in reader.head(record) for record, _ in records_of(compile_, EVENTS)):
        return
    result = shape_records(compile_, reader)
    conditions = [guard for guard in result.guards if search.frame(guard.user_frame)]
    for item in result.fixed:
        if search.frame(item.user_frame):
            text = f"{item.symbol} = {item.sources[0]}" if item.sources else item.symbol
            by = next((guard.expr for guard in conditions if item.symbol in guard.symbols), "")
            yield Trail("fixed", f"{text} was specialized to {item.value}", item.ref, by and f"by {by}")
    first: dict[str, ShapeGuard] = {}
    for guard in conditions:
        first.setdefault(guard.expr, guard)
    for guard in first.values():
        late = "asserted at run time: a call that fails it raises an error" if guard.is_deferred else guard.purpose
        yield Trail("condition", guard.expr, guard.ref, late)
    for real in result.real:
        if search.frame(real.user_frame):
            yield Trail("condition", f"{real.expr} was assumed to be {real.result}", real.ref)


def _symbols(search: _Search, compile_: Compile, reader: Reader) -> Iterator[Trail]:
    if not any(True for _ in records_of(compile_, ("create_symbol", "create_unbacked_symbol"))):
        return
    for symbol in inputs_of(compile_, reader).symbols:
        if search.frame(symbol.user_frame):
            text = f"{symbol.name} = {symbol.source}" if symbol.source else f"{symbol.name}, data-dependent"
            yield Trail("symbol", text, str(compile_.ref), str(symbol.range or ""))


def _guards(search: _Search, compile_: Compile, reader: Reader) -> Iterator[Trail]:
    """Yield guards whose comment refers to the line."""
    trails, files, code = guards_from(compile_, search.file, search.line)
    search.files.update(dict.fromkeys(files))
    search.code = search.code or code
    yield from trails


@part
def guards_from(compile_: Compile, reader: Reader, file: str, line: int) -> Found:
    """Return the guards of a compile that come from a line."""
    search = _Search(file, line)
    trails = tuple(_guards_in(search, compile_, reader))
    return trails, tuple(search.files), search.code


def _guards_in(search: _Search, compile_: Compile, reader: Reader) -> Iterator[Trail]:
    refs: dict[int, str] = {}
    full_path = search.file if search.file.startswith("/") else compile_.frame.code[1]
    for record, _ in records_of(compile_, (GUARDS,)):
        payload = reader.payload(record, LIMIT)
        if not search.maybe_in(payload):
            continue
        refs = refs or addresses(compile_, (GUARDS,))
        for node in parse_guards(payload.decode("utf-8", "replace").split("\n")).nodes:
            path = full_path if full_path is not None and is_end_of(node.path, full_path) else node.path
            if node.place == search.line and search.here(path, node.place, node.code):
                message = f"{node.kind}: {node.expression or node.source}"
                yield Trail("guard", message, at_line(refs[record], node.line + 1), node.hint)


def _born(search: _Search, compile_: Compile, reader: Reader) -> Iterator[Trail]:
    """Yield nodes and kernels, including nodes of graphs that were never lowered.

    Equal texts have equal results.
    """
    if not any(search.maybe_in(reader.payload(record, LIMIT)) for record, _ in records_of(compile_, TEXTS)):
        return
    base = str(compile_.ref)
    question = ("born", search.file, search.line)
    trails, files, code = shared(compile_, question, content_of(compile_), lambda: _born_in(search, compile_))
    search.files.update(dict.fromkeys(files))
    search.code = search.code or code
    for trail in trails:
        yield replace(trail, ref=f"{base}{trail.ref}" if trail.ref else "")


def _born_in(request: _Search, compile_: Compile) -> Found:
    """Return nodes and kernels for all compiles with equal texts, with addresses relative to the compile."""
    search, base = _Search(request.file, request.line), str(compile_.ref)
    visited: set[str] = set()
    trails = [
        replace(trail, ref=trail.ref.removeprefix(base))
        for unit in provenance_of(compile_).units
        for born in unit.lines
        if born.file and search.here(born.file, born.line, born.code)
        for trail in _of_unit(unit, born, visited)
    ]
    return tuple(trails), tuple(search.files), search.code


def _of_unit(unit: UnitProvenance, born: Born, visited: set[str]) -> Iterator[Trail]:
    for source_pane, nodes in ((PRE, born.pre_nodes), (PRE + 1, born.post_nodes)):
        for node in nodes:
            ref = at_line(unit.panes[source_pane].ref, node.line)
            if f"{ref} {node.name}" not in visited:
                visited.add(f"{ref} {node.name}")
                yield Trail("node", node.name, ref, f"{PANES[source_pane]}-grad graph", unit.unit)
    kernels = {kernel.key: kernel for kernel in unit.kernels}
    for key in born.kernels:
        kernel = kernels[key]
        pane = unit.panes[kernel.call_pane].ref
        ref = at_line(pane, kernel.call_lines[0]) if pane and kernel.call_lines else pane
        yield Trail("kernel", key, ref, ", ".join(kernel.post_nodes), unit.unit)


HEADINGS = {
    "function": "functions", "called": "called from here", "failure": "failures", "graph break": "graph breaks",
    "recompile": "recompiles", "fixed": "sizes specialized here", "condition": "conditions on sizes", "node": "nodes",
    "kernel": "kernels", "guard": "guards", "symbol": "symbols",
}  # fmt: skip
SHOWN = 12
LISTED = 200
"""Compiles up to which each is told by itself; of more, those that are alike are told once."""
STYLES = {"failure": tokens.ERROR, "graph break": tokens.BREAK, "recompile": tokens.RECOMPILE, "fixed": tokens.WARN}


def source_document(run: Run, ref: Ref, options: Options) -> Document:
    """Return the results of the line in `ref.artifact`, growing by compile, or of all lines of a file. Raises `BadAddress`."""
    if is_file(ref.artifact or ""):
        return file_document(run, ref, (ref.artifact or "").strip(), options)
    try:
        file, line = parse_place(ref.artifact or "")
    except BadPlace as bad:
        raise BadAddress(str(bad), "for example train.py:42") from None
    scope = scope_of(run, ref)

    def fill(page: Page) -> Generator[None, None, SourceLine]:
        page.add(("Source line ", tokens.TITLE), (f"{file}:{line}", tokens.TITLE), (scope.title, tokens.TITLE))
        steps = source_line_steps(scope.compiles, file, line)
        kinds: dict[tuple[object, ...], list[str]] = {}
        while True:
            try:
                result = next(steps)
            except StopIteration as stop:
                answer: SourceLine = stop.value
                break
            if result is not None:
                same = kinds.setdefault(_kind(result) if len(scope.compiles) > LISTED else (result.ref,), [])
                same.append(result.ref)
                if len(same) == 1:
                    _compile(page, result)
            yield
        several = [refs for refs in kinds.values() if len(refs) > 1]
        yield from add_alike(page, "Compiles with the same findings", several, lambda ref: f"@source:{ref}:{file}:{line}")
        _end(page, answer)
        return answer

    address = str(replace(place_of(ref), artifact=ref.artifact, view="source"))
    return GrowingDocument(address, f"{fmt.file_name(file)}:{line}", options, fill, Page)


def _kind(compile_trails: CompileTrails) -> tuple[object, ...]:
    """Return a key that is equal for compiles with the same output."""
    ref = compile_trails.ref
    return compile_trails.function, *(replace(trail, ref=trail.ref.removeprefix(ref)) for trail in compile_trails.results)


def _compile(page: Page, compile_trails: CompileTrails) -> None:
    page.heading(f"[{compile_trails.ref}] {compile_trails.function}".rstrip())
    page.row([("compile ", tokens.LABEL), (f"[{compile_trails.ref}]", tokens.LINK, compile_trails.ref), "  ",
              to_page("provenance", f"@provenance:{compile_trails.ref}")])  # fmt: skip
    for (kind, unit), members in groupby(compile_trails.results, key=lambda trail: (trail.kind, trail.unit)):
        _trails(page, kind, unit, list(members))


def _trails(page: Page, kind: str, unit: str, trails: list[Trail]) -> None:
    of = f" of the {sanitize(fmt.graph_title(unit))}" if unit else ""
    page.add("  ", (HEADINGS.get(kind, kind), tokens.LABEL), (of, tokens.DIM))
    if kind == "node":
        for graph, members in groupby(trails, key=lambda trail: trail.detail):
            _names(page, graph, members)
        return
    for trail in trails[:SHOWN]:
        _one(page, trail)
    if len(trails) > SHOWN:
        text = f"{fmt.count(len(trails) - SHOWN)} more"
        page.open(text, folded=True)
        page.add("    ", (text, tokens.DIM))
        for trail in trails[SHOWN:]:
            _one(page, trail)
        page.close()


def _names(page: Page, graph: str, trails: Iterable[Trail]) -> None:
    names: list[Piece] = [(f"{graph}  ", tokens.DIM)]
    names += [(sanitize(trail.text) + " ", tokens.LINK, trail.ref) for trail in trails]
    page.row(names, "    ")


def _one(page: Page, trail: Trail) -> None:
    text = fmt.clip(sanitize(fmt.one_line(trail.text)), page.width - 4)
    page.add("    ", (text, tokens.LINK if trail.ref else STYLES.get(trail.kind, ""), trail.ref))
    if trail.detail and trail.kind != "guard":  # the hints of guards say the same of each, and stand where they link
        page.say(sanitize(fmt.clip(fmt.one_line(trail.detail), 400)), "      ", tokens.DIM)


def _end(page: Page, answer: SourceLine) -> None:
    """Add the matched files and the line's code, or an explanation if nothing matched."""
    page.heading("The line")
    if answer.code:
        page.code(answer.code, "  ")
    for file in answer.files:
        page.row([page.place(file, answer.line), (f"  {fmt.home(file)}", tokens.DIM)])
    searched = fmt.plural(answer.searched_compiles, "compile")
    if not answer.compiles:
        page.say(f"No matches in {searched}: no node, kernel, guard, graph break, recompile, failure or symbol.", "  ")
        page.say("torch records the first line of a statement: try the lines around it.", "  ", tokens.DIM)
    elif answer.searched_compiles > 1:
        count = sum(parse_ref(one.ref).id != NO_ID for one in answer.compiles)
        names = "names" if count == 1 else "name"
        page.say(f"{fmt.count(count)} of {searched} {names} it.", "  ", tokens.DIM)
    if len(answer.files) > 1:
        page.say("Several files end with this name. Use a longer path to select one.", "  ", tokens.WARN)
