"""The page `shapes`."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.rank_groups import OnRanks, add_named, alike_on_ranks, functions, said_ranks
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.question import Question
from tltui.questions.recompiles.guard_grammar import strip_modules, without_numpy
from tltui.questions.recompiles.recompile_reasons import Became
from tltui.questions.shapes.dynamic_sizes import (
    FIXED,
    GUARDED,
    MARKED,
    PLAIN,
    SYMBOLS,
    CompileShapes,
    Dim,
    SymbolShape,
    interest,
    readable_dim,
    shapes_in,
    signature,
)
from tltui.questions.shapes.shape_env import KeptGuard, ShapeGuard, Value
from tltui.questions.stacks.tracebacks import StackFrame, display_name
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

SYMBOLS_SHOWN = 6
SPECIALIZED = 2
"""The least size that a symbol may have: torch specializes 0 and 1."""
GUARDS_SHOWN = 4
CHECKS_SHOWN = 8
REASON = 240
"""Characters of the reason of a failure that are shown."""
Names = dict[str, tuple[int, SymbolShape]]
"""The symbols of a compile by name, each with its place."""


def add_compile(page: Page, shapes: CompileShapes, single: bool, folded: bool, notes: set[str], known_as: str = "") -> None:
    """Add the size history of a compile, specializations first.

    `notes` has the one-time notes that the page has.
    """
    shown = known_as or shapes.function or ""
    name = f"[{shapes.ref}]"
    if not single:
        page.close(0)
        page.blank()
        page.open(f"{name} {shown}", folded)
    text = "records without a compile id" if shapes.ref.endswith("none") else "a backward graph, captured by compiled autograd"
    function: Piece = (sanitize(shown), tokens.FUNCTION) if shapes.function or shapes.status else (text, tokens.DIM)
    head: list[Piece] = [(name, tokens.LINK, shapes.ref), " ", function, "  "]
    if shapes.file is not None:
        head += [page.place(shapes.file, shapes.line), "  "]
    if shapes.fail_type:
        head.append((fmt.clip(sanitize(shapes.fail_type.rpartition(".")[2]), 40), tokens.ERROR))
    page.row(head, "")
    if shapes.fail_reason:
        page.say(fmt.clip(shapes.fail_reason, REASON), "  ", tokens.DIM)
    shown_guards: set[str] = set()
    names: Names = {}
    for n, symbol in enumerate(shapes.symbols):
        names.setdefault(symbol.name, (n, symbol))
    symbols = [symbol for symbol in shapes.symbols if has_finding(symbol)]
    plain = [symbol for symbol in shapes.symbols if not has_finding(symbol)]
    if single and not symbols:
        symbols, plain = plain, symbols
    for symbol in symbols[:SYMBOLS_SHOWN]:
        _symbol(page, symbol, names, shown_guards)
    for dim in shapes.marked_without_symbol:
        _stuck(page, dim)
    _more(page, symbols[SYMBOLS_SHOWN:], shapes.unread_guard_count, names, shown_guards)
    _plain_symbols(page, plain, names)
    _automatic(page, shapes)
    _real(page, shapes)
    _add_call_checks(page, shapes, notes)
    if any(guard.is_deferred for symbol in shapes.symbols for guard in symbol.guards):
        page.say("A size that fails a condition asserted at run time raises an error, without a recompilation.", "  ", tokens.VALUE)
    _advice(page, shapes.advice)
    _inputs(page, shapes)
    if not shapes.symbols and not shapes.marked_without_symbol and not shapes.real_values:
        text = "No symbols: all sizes were static, or this torch does not log symbols."
        page.say(page.so_far(text), "  ")


def _symbol(page: Page, symbol: SymbolShape, names: Names, shown_guards: set[str]) -> None:
    """Add `dim 0 of L['x']` and its outcome.

    `shown_guards` has the guards that the page has.
    """
    text = _name(symbol)
    page.open(text)
    style = tokens.WARN if symbol.fixed is not None else tokens.STRONG
    title: Piece = (fmt.clip_middle(text, page.width - 4), style, "" if symbol.source else symbol.ref)
    page.joined([title, *((words, style) for words in _state(symbol, names))], "  ")
    notes: list[Piece] = [(symbol.name, tokens.NAME, symbol.ref)] if symbol.source else []
    if symbol.hint is not None:
        notes.append(f"was {symbol.hint} at this compile")
    if symbol.range:
        notes.append((f"range {symbol.range}", tokens.DIM))
    guards = [guard for guard in symbol.guards if symbol.fixed is None or not _fixes(guard, symbol)]
    new = [guard for guard in guards if guard.ref not in shown_guards]
    if (
        symbol.user_frame is not None
        and symbol.fixed is None
        and not any(_same(guard.user_frame, symbol.user_frame) for guard in new)
    ):
        notes.append(_at("first used at " if symbol.source else "created at ", symbol.user_frame))
    page.joined(notes, "    ")
    for change in symbol.became_dynamic:
        if not change.lacks_values:
            page.say(_became(change), "    ")
    if symbol.other_sources:
        page.say(f"symbol shared with (same size): {', '.join(symbol.other_sources)}", "    ", tokens.DIM)
    if symbol.is_unbacked and symbol.source is None:
        if symbol.user_frame is not None:
            page.code(symbol.user_frame.code, "       ")
        if symbol.torch_frame is not None:
            _add_reason(page, "", symbol.torch_frame, "       ", "created by")
    _fixed(page, symbol)
    _guards(page, new)
    shown_guards.update(guard.ref for guard in symbol.guards)
    page.close()


def _name(symbol: SymbolShape) -> str:
    return strip_modules(sanitize(readable_dim(symbol.tensor, symbol.dim, symbol.source) or symbol.name))


def _same(first: StackFrame | None, right: StackFrame | None) -> bool:
    """Return whether two frames are at one place."""
    return first is not None and right is not None and (first.file, first.line) == (right.file, right.line)


def _at(label: str, frame: StackFrame) -> Piece:
    """Return a label and a link to the user's source."""
    return (label + fmt.place(frame.file, frame.line), tokens.LINK, fmt.place_target(frame.file, frame.line))


def _state(symbol: SymbolShape, names: Names) -> list[str]:
    """Return state texts: `marked dynamic, but specialized to 5`; `marked dynamic`, `valid for sizes 2 to 9`."""
    mark = {"dynamic": "marked dynamic", "maybe dynamic": "marked with maybe_mark_dynamic", "unbacked": "marked unbacked"}
    words = mark.get(symbol.mark, "")
    if not words and symbol.became_dynamic:
        words = "automatic dynamic"
    if symbol.fixed is not None:
        return [f"{words}, but specialized to {symbol.fixed.value}" if words else f"specialized to {symbol.fixed.value}"]
    if symbol.is_unbacked and not words:
        words = "unbacked (data-dependent)"
    results = [words or "dynamic"]
    same = min((names[name] for name in symbol.equal_symbols if name in names), key=lambda item: item[0], default=None)
    low, high = bounds(symbol)
    text = "sizes" if symbol.dim is not None else "values"
    if (low, high) == (None, None) and same is not None:
        results.append(f"must equal {_name(same[1])}")
    elif high is not None:
        results.append(f"valid for {text} {low or 0} to {high}")
    elif low is not None:
        results.append(f"valid for {text} {low} and up")
    return results


def bounds(symbol: SymbolShape) -> tuple[int | None, int | None]:
    """Return the least and the largest value that the guards accept."""
    lows = [guard.low for guard in symbol.call_guards if guard.low is not None]
    highs = [guard.high for guard in symbol.call_guards if guard.high is not None]
    return max(lows, default=None), min(highs, default=None)


def _fixes(guard: ShapeGuard, symbol: SymbolShape) -> bool:
    fixed = symbol.fixed
    return fixed is not None and guard.expr in (f"Eq({symbol.name}, {fixed.value})", f"Eq({fixed.value}, {symbol.name})")


def _fixed(page: Page, symbol: SymbolShape) -> None:
    fixed = symbol.fixed
    if fixed is None:
        return
    guard = next((guard for guard in symbol.guards if _fixes(guard, symbol)), None)
    by: list[Piece] = ["specialized by "]
    by.append((guard.expr, tokens.CHANGED, guard.ref) if guard else (f"{symbol.name} = {fixed.value}", tokens.CHANGED, fixed.ref))
    if fixed.user_frame is not None:
        by += [
            " at ",
            page.place(fixed.user_frame.file, fixed.user_frame.line),
            f" in {fmt.clip_middle(sanitize(fixed.user_frame.name), 30)}",
        ]
    else:
        by.append(" (your line is unknown: not in the log)")
    page.row(by, "    ")
    if fixed.user_frame is not None:
        page.code(fixed.user_frame.code, "       ")
    _add_reason(page, fixed.purpose, fixed.torch_frame, "    ")
    for partner in symbol.same_size_dims[:3]:
        kind = " (a parameter)" if partner.is_parameter else ""
        text = f"dim {partner.dim} of {strip_modules(partner.tensor)} has this size and is static{kind}"
        page.say(text, "    ", tokens.VALUE)


def _add_reason(page: Page, why: str, by: StackFrame | None, indent: str, verb: str = "requested by") -> None:
    """Add torch's reason for a guard or specialization, and its place."""
    if why:
        page.say(why, indent, tokens.DIM)
    if by is not None and not why.endswith(("your code", "on it")):
        page.add(indent, (page.clip(f"{verb} {by.name}  {_inside(by.file)}:{by.line}", page.width - len(indent)), tokens.DIM))


def _inside(path: str) -> str:
    """Shorten a torch file path to begin at its package."""
    return path.replace("\\", "/").rpartition("/torch/")[2] or path


def _guards(page: Page, guards: Sequence[ShapeGuard]) -> None:
    """Add the conditions from tracing, without duplicates."""
    groups: dict[tuple[object, ...], list[ShapeGuard]] = {}
    for guard in guards:
        place = (guard.user_frame.file, guard.user_frame.line) if guard.user_frame else None
        groups.setdefault((guard.expr, place, guard.is_deferred), []).append(guard)
    members = list(groups.values())
    last: StackFrame | None = None
    for group in members[:GUARDS_SHOWN]:
        _guard(page, group, "    ", last)
        last = group[0].user_frame
    if len(members) > GUARDS_SHOWN:
        with page.fold(fmt.plural(len(members) - GUARDS_SHOWN, "more condition"), "    "):
            for group in members[GUARDS_SHOWN:]:
                _guard(page, group, "      ", last)
                last = group[0].user_frame


def _guard(page: Page, group: Sequence[ShapeGuard], indent: str, before: StackFrame | None) -> None:
    """Add one condition; without its source line if equal to that of `before`."""
    guard = group[0]
    pieces: list[Piece] = [(fmt.clip(sanitize(without_numpy(guard.expr)), page.width - 20), tokens.NAME, guard.ref)]
    if len(group) > 1:
        pieces.append((f" {len(group)}×", tokens.DIM))
    if guard.user_frame is not None:
        pieces += ["  at ", page.place(guard.user_frame.file, guard.user_frame.line)]
    if guard.is_deferred:
        pieces.append(("  asserted at run time", tokens.VALUE))
    short = guard.purpose if len(guard.purpose) < 30 else ""
    pieces.append((f"  {short}", tokens.DIM))
    page.row(pieces, indent)
    if guard.user_frame is not None and not _same(guard.user_frame, before):
        page.code(guard.user_frame.code, indent + "   ")
    if guard.purpose and not short:
        page.say(guard.purpose, indent + "   ", tokens.DIM)
    if not guard.purpose and guard.torch_frame is not None and not guard.is_deferred:
        _add_reason(page, "", guard.torch_frame, indent + "   ")


def _automatic(page: Page, shapes: CompileShapes) -> None:
    """Add torch's automatic marks on other dims than those of the symbols above."""
    listed = {id(change) for symbol in shapes.symbols for change in symbol.became_dynamic}
    for change in shapes.became_dynamic:
        if id(change) not in listed:
            page.say(f"torch logged: {_became(change)}", "  ", tokens.DIM)


def _became(change: Became) -> str:
    source = without_numpy(change.source)
    text = source if change.dim is None else f"dim {change.dim} of {source}"
    if isinstance(change.before, int) and isinstance(change.now, int):
        return f"{text} varied: {change.before}, then {change.now}"
    return f"{text}: {change.reason}, {fmt.clip(str(change.before), 40)} → {fmt.clip(str(change.now), 40)}"


def _stuck(page: Page, dim: Dim) -> None:
    """Add a mark without effect."""
    text = f"dim {dim.dim} of {strip_modules(dim.tensor)}"
    words: list[Piece] = [("  " + fmt.clip_middle(text, page.width - 4), tokens.WARN)]
    words.append((f"marked {dim.mark}, but static: its size was {dim.size}", tokens.WARN))
    page.joined(words)
    if dim.size in (0, 1):
        page.say("torch creates no symbol for a size of 0 or 1 (0/1 specialization).", "    ")


def has_finding(symbol: SymbolShape) -> bool:
    """Whether a symbol is specialized, unbacked, equal to another one or new for a change, or has a condition beyond 0 and 1."""
    if symbol.fixed is not None or symbol.is_unbacked or symbol.equal_symbols or symbol.guards or symbol.became_dynamic:
        return True
    low, high = bounds(symbol)
    return high is not None or (low or 0) > SPECIALIZED


def _plain_symbols(page: Page, symbols: Sequence[SymbolShape], names: Names) -> None:
    """Add symbols with nothing to report, a row each, folded."""
    if not symbols:
        return
    with page.fold(f"{fmt.plural(len(symbols), 'symbol')} with nothing to report"):
        for symbol in symbols:
            words: list[Piece] = [(_name(symbol), tokens.STRONG, "" if symbol.source else symbol.ref), *_state(symbol, names)]
            if symbol.source:
                words.append((symbol.name, tokens.NAME, symbol.ref))
            words += [f"was {symbol.hint} at this compile"] if symbol.hint is not None else []
            if symbol.user_frame is not None:
                words.append(_at("first used at ", symbol.user_frame))
            words += [f"symbol shared with (same size): {', '.join(symbol.other_sources)}"] if symbol.other_sources else []
            page.joined(words, "    ")


def _more(page: Page, symbols: Sequence[SymbolShape], more_guards: int, names: Names, shown_guards: set[str]) -> None:
    if symbols:
        with page.fold(fmt.plural(len(symbols), "more symbol")):
            for symbol in symbols:
                _symbol(page, symbol, names, shown_guards)
    if more_guards:
        page.add("  ", (f"{fmt.plural(more_guards, 'more guard')} on symbols, not parsed", tokens.DIM))


def _real(page: Page, shapes: CompileShapes) -> None:
    for item in shapes.real_values:
        pieces: list[Piece] = ["  data-dependent, evaluated with its real value: "]
        pieces += [(fmt.clip(sanitize(item.expr), page.width - 4), tokens.WARN, item.ref), f" → {item.result}"]
        if item.user_frame is not None:
            pieces += ["  at ", page.place(item.user_frame.file, item.user_frame.line)]
        page.row(pieces, "")


def _add_call_checks(page: Page, shapes: CompileShapes, notes: set[str]) -> None:
    """Add the conditions checked on every call."""
    if not shapes.call_guards:
        return
    backed = any(not symbol.is_unbacked for symbol in shapes.symbols)
    text = "Guards checked on every call" + (" (if one fails, the call needs another compiled version)" if backed else "")
    page.say(text, "  ", tokens.LABEL)
    for guard in shapes.call_guards[:CHECKS_SHOWN]:
        _call_check(page, guard)
    remaining = shapes.call_guards[CHECKS_SHOWN:]
    if remaining:
        with page.fold(fmt.plural(len(remaining), "more guard"), "    "):
            for guard in remaining:
                _call_check(page, guard)
    if any(guard.is_zero_one for guard in shapes.call_guards) and "0/1" not in notes:
        notes.add("0/1")
        text = "Minimum 2: torch specializes sizes 0 and 1 (0/1 specialization); mark_unbacked avoids it."
        page.say(text, "    ", tokens.DIM)


def _call_check(page: Page, guard: KeptGuard) -> None:
    pieces: list[Piece] = [(fmt.clip(sanitize(without_numpy(guard.expr)), page.width - 6), tokens.LINK, guard.ref)]
    if guard.user_frame is not None:
        pieces += ["  ", _at("", guard.user_frame)]
    page.row(pieces, "    ")


def _advice(page: Page, advice: Sequence[str]) -> None:
    for number, text in enumerate(advice, 1):
        page.labelled("try" if number == 1 else "", f"{number} {text}", "  ", 5)


def _inputs(page: Page, shapes: CompileShapes) -> None:
    """Add the inputs with a dim that is not plainly static."""
    if not shapes.tensors:
        return
    for n, tensor in enumerate(shapes.tensors):
        sizes = ", ".join(_size(dim) for dim in tensor.dims)
        name = fmt.clip_middle(strip_modules(sanitize(tensor.source)), page.width // 2)
        label = ("inputs" if n == 0 else "").ljust(8)
        page.add("  ", (label, tokens.LABEL), (name, tokens.NAME), "  ", (f"{tensor.dtype} [{sizes}]", tokens.TYPE))
    if shapes.static_tensors:
        page.add(" " * 10, (f"and {fmt.plural(shapes.static_tensors, 'input')} with only static sizes", tokens.DIM))


def _size(dim: Dim) -> str:
    if dim.symbol is None or dim.state == "static":
        return str(dim.size)
    return dim.symbol if dim.state == "unbacked" or dim.size == dim.symbol else f"{dim.symbol}={dim.size}"


BLOCKS = 200
"""Compiles of a run that have a block."""
SHOWN = 40
"""Compiles of a run whose blocks are open at first."""
NAMED = 200
"""Compiles without symbols that are named."""
EVERY = 64


@frozen
class ShapesReport:
    """The shapes of a part of a run."""

    compiles: tuple[CompileShapes, ...]
    """Compiles with symbols or marked dims: those with fixed ones first, then those with conditions."""
    without_symbols: tuple[str, ...]
    """The addresses of the compiles that have neither."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the shapes of the scope."""

    def fill(page: Page) -> Generator[None, None, object]:
        return (yield from _fill(page, scope))

    return GrowingDocument(scope.page("shapes"), f"shapes{scope.title}", options, fill, Page)


def _fill(page: Page, scope: Scope) -> Generator[None, None, ShapesReport]:
    with_symbols, marked, plain = yield from _sorted(scope)
    single = len(scope.compiles) == 1
    if not single:
        page.add((f"Shapes{scope.title}", tokens.TITLE))
        _head(page, with_symbols, [*marked, *plain])
        yield
    compile_shapes: list[CompileShapes] = []
    like: list[tuple[str, str]] = []
    more: list[CompileShapes] = []
    visited: dict[tuple[object, ...], str] = {}
    notes: set[str] = set()
    lacking: set[int] = set()
    without: list[Compile] = []
    for node in [*with_symbols, *marked, *(plain if single else ())]:
        shapes = shapes_in(node)
        if not (shapes.symbols or shapes.real_values or shapes.marked_without_symbol or shapes.symbol_guard_count or single):
            lacking.add(id(node))
            continue
        compile_shapes.append(shapes)
        first = visited.setdefault(signature(shapes), shapes.ref)
        if first != shapes.ref:
            like.append((shapes.ref, first))
        elif len(visited) > BLOCKS:
            more.append(shapes)
        else:
            add_compile(page, shapes, single, len(visited) > SHOWN, notes, display_name(node.frame) or "")
        yield
    if not single:
        without = [node for node in with_symbols if id(node) in lacking]
        remaining = {id(node) for node in plain} | lacking.difference(id(node) for node in with_symbols)
        without += [node for node in scope.compiles if id(node) in remaining]
        page.close(0)
        yield from _further(page, more)
        _like(page, like)
        _plain(page, without, bool(compile_shapes))
    compile_shapes.sort(key=lambda shapes: shapes.weight, reverse=True)
    return ShapesReport(tuple(compile_shapes), tuple(str(node.ref) for node in without if node.is_compile or single))


def _further(page: Page, more: list[CompileShapes]) -> Generator[None, None, None]:
    """Add a short list of compiles beyond the limit, which are less interesting."""
    if not more:
        return
    page.blank()
    text = f"{fmt.plural(len(more), 'more compile')} with symbols"
    links = [(shapes.ref, tokens.LINK, f"@shapes:{shapes.ref}") for shapes in more]
    yield from add_named(page, text, [functions([shapes.function for shapes in more], page.width - len(text) - 4)], links, "")
    page.close(0)


def _like(page: Page, like: list[tuple[str, str]]) -> None:
    """Add the compiles with equal shapes, usually on other ranks."""
    if not like:
        return
    page.blank()
    text = f"{fmt.plural(len(like), 'more compile')} of the same code with the same sizes and guards as a compile above"
    page.open(text, folded=True)
    page.add((fmt.clip(text, page.width), tokens.DIM))
    groups = alike_on_ranks(like, lambda pair: pair[0], page.newest, lambda pair: pair[1])
    for group in groups[:NAMED]:
        first = group[0][1]
        refs = OnRanks(tuple(ref for ref, _ in group), said_ranks([ref for ref, _ in group], page.newest))
        page.row([*refs.pieces(), " like ", (f"[{first}]", tokens.LINK, first)])
    if len(groups) > NAMED:
        page.add("  ", (f"and {fmt.count(sum(map(len, groups[NAMED:])))} more", tokens.DIM))
    page.close()


def _sorted(scope: Scope) -> Generator[None, None, tuple[list[Compile], list[Compile], list[Compile]]]:
    """Sort the compiles into those with shape records (specialized first), marked dims, and neither."""
    sorts: tuple[list[Compile], ...] = ([], [], [], [], [])
    for n, node in enumerate(scope.compiles):
        sorts[interest(node)].append(node)
        if n % EVERY == EVERY - 1:
            yield
    return sorts[FIXED] + sorts[GUARDED] + sorts[SYMBOLS], sorts[MARKED], sorts[PLAIN]


def _head(page: Page, with_symbols: list[Compile], plain: list[Compile]) -> None:
    """Add the counts in one line."""
    total = sum(node.is_compile for node in with_symbols + plain)
    fixed = sum(bool(node.counts["symbolic_shape_specialization"]) for node in with_symbols)
    text = f"{fmt.plural(total, 'compile')}, {fmt.count(sum(node.is_compile for node in with_symbols))} with symbolic sizes"
    remark: list[Piece] = [(f"{fmt.count(fixed)} where a symbolic size was specialized", tokens.WARN)] if fixed else []
    page.joined([(text, tokens.STRONG), *remark])


def _plain(page: Page, plain: list[Compile], has_symbols: bool) -> None:
    """Add the compiles without symbols, folded."""
    if not plain:
        return
    page.close(0)
    page.blank()
    real = [node for node in plain if node.is_compile]
    if not has_symbols:
        text = "No symbols: all sizes were static, or this torch does not log symbols."
        if page.untold:
            text = "No dynamic sizes."
        page.say(page.so_far(text))
        page.say("A dim becomes dynamic if its size varies between calls or torch._dynamo.mark_dynamic marks it.", "", tokens.DIM)
    if not real:
        return
    text = page.title_so_far(f"{fmt.plural(len(real), 'compile')} without symbols")
    with page.fold(text, ""):
        groups = alike_on_ranks(real, lambda node: str(node.ref), page.newest, lambda node: node.frame.code)
        for group in groups[:NAMED]:
            _, file, line = group[0].frame.code
            name = display_name(group[0].frame)
            refs = tuple(str(node.ref) for node in group)
            link, *ranks = OnRanks(refs, said_ranks(refs, page.newest)).pieces()
            page.row([link, "  ", (name or "", tokens.FUNCTION), "  ", page.place(file, line), *(["  "] if ranks else []), *ranks])
        if len(groups) > NAMED:
            page.add("  ", (f"and {fmt.count(sum(map(len, groups[NAMED:])))} more", tokens.DIM))


@frozen
class ShapeRow:
    """One symbol of one compile."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function."""
    symbol: str
    """Its name: `s0`."""
    source: str | None
    """Its source: `L['x'].size()[0]`."""
    tensor: str | None
    """The tensor, of a size."""
    dim: int | None
    """The dimension, of a size."""
    hint: Value | None
    """The value that it had while torch traced."""
    min: int | float | None
    """The least value that it may have; None: no bound, or unknown."""
    max: int | float | None
    """The greatest value that it may have; None: no bound, or unknown."""
    is_unbacked: bool
    """Whether it depends on data."""
    fixed: Value | None
    """The number that it was fixed to; none where it stayed a symbol."""
    fixed_file: str | None
    """The file of the line that fixed it."""
    fixed_line: int | None
    """The line that fixed it, from 1."""
    symbol_guard_count: int
    """Conditions that torch noted down of it while it traced."""


def shape_rows(data: ShapesReport) -> Iterator[ShapeRow]:
    """Yield a row per symbol."""
    for compile_ in data.compiles:
        for symbol in compile_.symbols:
            fixed = symbol.fixed
            user = fixed.user_frame if fixed is not None else None
            yield ShapeRow(compile_.ref, compile_.function, symbol.name, symbol.source, symbol.tensor, symbol.dim, symbol.hint,
                           symbol.range.min if symbol.range is not None else None,
                           symbol.range.max if symbol.range is not None else None,
                           symbol.is_unbacked, fixed.value if fixed is not None else None, user.file if user is not None else None,
                           user.line if user is not None else None, len(symbol.guards))  # fmt: skip


QUESTION = Question(
    name="shapes",
    help="dynamic sizes: symbols, their guards, and specializations with the source line",
    key="6",
    group="find causes",
    order=60,
    needs=Needs("", ("dynamic",), "symbols and specializations"),
    document=document,
    answer=ShapesReport,
    rows=ShapeRow,
    records=shape_rows,
    doc="""
    Dynamic sizes: symbols, their guards, and specializations with the source line. A row per symbol.
    """,
)
