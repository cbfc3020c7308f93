"""Dynamic and specialized sizes of a compile, by user line, with advice."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, records_of
from tltui.questions.recompiles.guard_grammar import strip_modules
from tltui.questions.recompiles.recompile_reasons import Became, became_of, instants_of
from tltui.questions.shapes.shape_env import (
    EVENTS,
    PROGRAM,
    Bounds,
    Fixed,
    GuardedSizes,
    KeptGuard,
    NewSymbol,
    RealValue,
    ShapeGuard,
    ShapeRecords,
    TensorInput,
    Value,
    full_path,
    graph_sizes,
    guarded_sizes,
    inputs_of,
    plain_name,
    shape_records,
)
from tltui.questions.stacks.tracebacks import StackFrame, display_code
from tltui.questions.timing.timing_events import EVENT_LIMIT
from tltui.text.frozen import frozen

_SIZE = re.compile(r"^(?P<tensor>.+)\.size\(\)\[(?P<dim>\d{1,6})\]$")
_OF_SIZES = re.compile(r"\.(?:size|stride)\(\)\[|\.storage_offset\(\)")
_NUMBER = re.compile(r"^-?\d+$")
_PARAMETER = re.compile(r"_parameters\[|_buffers\[|\.(?:weight|bias)$")


@frozen
class Dim:
    """One dimension of an input tensor."""

    tensor: str
    dim: int
    size: Value
    """The size at this compile; a symbol if the log lacks it."""
    state: str
    """`dynamic`, `fixed` (it had a symbol, which was fixed), `unbacked`, or `static`."""
    symbol: str | None = None
    mark: str = ""
    """The user's mark: `dynamic`, `maybe dynamic`, `unbacked`, `static`."""
    is_parameter: bool = False
    """Whether the tensor is a parameter or buffer: its sizes never vary."""


@frozen
class SymbolShape:
    """A symbol and its history."""

    name: str
    source: str | None
    """`L['x'].size()[0]`; None for a value that depends on data."""
    tensor: str | None
    dim: int | None
    hint: Value | None
    range: Bounds | None
    """As it was made."""
    is_unbacked: bool
    mark: str
    user_frame: StackFrame | None
    """The user's line that torch was at when it made the symbol: where the value was used first."""
    torch_frame: StackFrame | None
    """The line of torch that made it."""
    ref: str
    fixed: Fixed | None
    guards: tuple[ShapeGuard, ...]
    call_guards: tuple[KeptGuard, ...]
    """Conditions on it alone that every call is checked for."""
    equal_symbols: tuple[str, ...]
    """Symbols that have to be equal to it."""
    other_sources: tuple[str, ...]
    """Further dims that had the same size and so got the same symbol."""
    same_size_dims: tuple[Dim, ...]
    """Static dims of other inputs with the size of a fixed one."""
    became_dynamic: tuple[Became, ...]
    """Why torch made it dynamic by itself."""


@frozen
class TensorShape:
    """An input tensor with a dim that is not plainly static."""

    source: str
    dtype: str
    dims: tuple[Dim, ...]


@frozen
class CompileShapes:
    """The shapes of one compile."""

    ref: str
    status: str | None
    fail_type: str | None
    fail_reason: str | None
    """The first line of why the compile failed, if it did."""
    function: str | None
    file: str | None
    line: int | None
    symbols: tuple[SymbolShape, ...]
    """Fixed ones first, then those with guards."""
    marked_without_symbol: tuple[Dim, ...]
    """Dims that were marked as dynamic but never got a symbol."""
    tensors: tuple[TensorShape, ...]
    static_tensors: int
    """Inputs whose sizes are all static."""
    call_guards: tuple[KeptGuard, ...]
    """All conditions on symbols that every call is checked for."""
    has_guards: bool
    """Whether the log has the guards of this compile."""
    real_values: tuple[RealValue, ...]
    became_dynamic: tuple[Became, ...]
    """Sizes and numbers that torch marked as dynamic by itself, as they had varied."""
    symbol_guard_count: int
    """Guards on symbols that were added while tracing."""
    unread_guard_count: int
    """The number of those that were not read."""
    advice: tuple[str, ...] = ()
    """Advice, by `advice_of`."""

    @property
    def weight(self) -> tuple[int, int, int]:
        """Return the sort key: number of specializations, then of guards."""
        fixed = sum(symbol.fixed is not None for symbol in self.symbols) + len(self.marked_without_symbol)
        return fixed, len(self.call_guards) + len(self.real_values), self.symbol_guard_count


def shapes_of(compile_: Compile, reader: Reader | None = None) -> CompileShapes:
    """Read a compile's records about shapes."""
    reader = reader or Reader(compile_.process.log)
    records = shape_records(compile_, reader)
    guarded = guarded_sizes(compile_, reader)
    inputs = inputs_of(compile_, reader)
    graph = graph_sizes(compile_, reader)
    tensors = _tensors(inputs.tensors, records, guarded, graph)
    became = tuple(became_of(event) for event in instants_of(compile_, reader, EVENT_LIMIT))
    users = _users(records)
    sources = _by_length(symbol.source for symbol in records.symbols if symbol.source)
    guards = tuple(
        replace(
            guard,
            user_frame=full_path(guard.user_frame, users.get(guard.user_frame.line, {}).values()) if guard.user_frame else None,
        )
        for guard in guarded.guards
        if _OF_SIZES.search(guard.expr) or _holds(guard.expr, sources)
    )
    symbols = _symbols(records, guards, tensors, became)
    function, file, line = display_code(compile_.frame)
    interesting = tuple(t for t in tensors if any(dim.state != "static" or dim.mark for dim in t.dims))
    stuck = tuple(dim for t in tensors for dim in t.dims if dim.state == "static" and dim.mark not in ("", "static"))
    status = compile_.status
    return CompileShapes(
        str(compile_.ref), str(status) if status else None, compile_.facts.fail_type,
        (compile_.facts.fail_reason or "").partition("\n")[0][:500] or None, function, file, line, symbols,
        stuck, interesting, len(tensors) - len(interesting), guards, guarded.has_tree,
        records.real, became, len(records.guards) + records.more_guards, records.more_guards,
    )  # fmt: skip


def _users(records: ShapeRecords) -> dict[int | None, dict[str, StackFrame]]:
    """Map lines to files to the user frames in records."""
    frames: dict[int | None, dict[str, StackFrame]] = defaultdict(dict)
    for group in (records.symbols, records.guards, records.fixed):
        for item in group:
            if item.user_frame is not None:
                frames[item.user_frame.line].setdefault(item.user_frame.file, item.user_frame)
    return frames


def _by_length(sources: Iterable[str]) -> dict[int, set[str]]:
    results: dict[int, set[str]] = defaultdict(set)
    for source in sources:
        results[len(source)].add(source)
    return results


def _holds(expr: str, sources: dict[int, set[str]]) -> bool:
    """Return whether any source occurs in an expression.

    There may be thousands of sources, but of few lengths.
    """
    return any(expr[at : at + size] in of_size for size, of_size in sources.items() for at in range(len(expr) - size + 1))


def has_marks(compile_: Compile, reader: Reader) -> bool:
    """Return whether any tensor had dims marked by `mark_dynamic`.

    Other marks are visible only in guards.
    """
    return any(b'"dynamo_dynamic_indices": [' in reader.head(n) for n, _ in records_of(compile_, ("describe_tensor",)))


def signature(shapes: CompileShapes) -> tuple[object, ...]:
    """Return a key that is equal for compiles of one code object with equal shapes, on any rank."""
    symbols = tuple(
        (s.name, s.source, s.hint, s.range, s.mark, s.fixed and s.fixed.value, tuple(guard.expr for guard in s.guards))
        for s in shapes.symbols
    )
    guards = tuple(guard.expr for guard in shapes.call_guards)
    real = tuple(item.expr for item in shapes.real_values)
    return (shapes.function, shapes.file, shapes.line, shapes.fail_type, symbols, shapes.marked_without_symbol, guards, real)


def dim_of(source: str | None) -> tuple[str | None, int | None]:
    """Return tensor and dimension of `L['x'].size()[0]`; (None, None) for anything else."""
    match = _SIZE.match(source or "")
    return (match["tensor"], int(match["dim"])) if match else (None, None)


def _tensors(
    inputs: Iterable[TensorInput], records: ShapeRecords, guarded: GuardedSizes, graph: dict[str, tuple[str, ...]]
) -> list[TensorShape]:
    """Return the tensors with the outcome of each dim."""
    by_source = {symbol.source: symbol for symbol in records.symbols if symbol.source}
    fixed = {item.symbol for item in records.fixed}
    by_input: dict[str | None, list[NewSymbol]] = defaultdict(list)
    for symbol in records.symbols:
        by_input[symbol.input].append(symbol)
    tensors = []
    for tensor in inputs:
        in_graph = graph.get(plain_name(tensor.source), ())
        checked = guarded.sizes.get(tensor.source, ())
        unbacked = list(by_input.get(tensor.source, ()))
        parameter = tensor.is_parameter or bool(_PARAMETER.search(tensor.source))
        dims = []
        for n, size in enumerate(tensor.size or ()):
            mark = guarded.marks.get((tensor.source, n), "dynamic" if n in tensor.dynamic else "")
            dim_symbol = by_source.get(f"{tensor.source}.size()[{n}]")
            shown = in_graph[n] if n < len(in_graph) else ""
            free = n < len(checked) and checked[n] == "None"
            dim = Dim(tensor.source, n, size, "static", None, mark, parameter)
            if dim_symbol is not None:
                state = "fixed" if dim_symbol.name in fixed else "dynamic"
                dim = replace(dim, size=size if dim_symbol.hint is None else dim_symbol.hint, state=state, symbol=dim_symbol.name)
            elif unbacked and (mark == "unbacked" or (not guarded.has_tree and len(unbacked) == len(tensor.size or ()))):
                dim = replace(dim, state="unbacked", symbol=unbacked.pop(0).name)
            elif free or (shown and not _NUMBER.match(shown)):
                symbolic = shown if shown and not _NUMBER.match(shown) else None
                dim = replace(dim, state="unbacked" if (symbolic or "").startswith("u") else "dynamic", symbol=symbolic)
            dims.append(dim)
        tensors.append(TensorShape(tensor.source, tensor.dtype, tuple(dims)))
    return tensors


def _symbols(
    records: ShapeRecords, checks: tuple[KeptGuard, ...], tensors: list[TensorShape], became: tuple[Became, ...]
) -> tuple[SymbolShape, ...]:
    """Return each symbol with all facts about it."""
    guards: dict[str, list[ShapeGuard]] = defaultdict(list)
    for guard in records.guards:
        for name in guard.symbols:
            guards[name].append(guard)
    fixed = {item.symbol: item for item in records.fixed}
    dims: dict[str, list[Dim]] = defaultdict(list)
    static: dict[Value, list[Dim]] = defaultdict(list)
    for dim in (dim for tensor in tensors for dim in tensor.dims):
        if dim.symbol is not None:
            dims[dim.symbol].append(dim)
        elif dim.state == "static":
            static[dim.size].append(dim)
    by_source: dict[str | None, list[KeptGuard]] = defaultdict(list)
    for check in checks:
        by_source[check.source].append(check)
    changes: dict[str | None, list[Became]] = defaultdict(list)
    for change in became:
        changes[change.source].append(change)
    symbols = []
    for created in _symbols_in(records):
        tensor, number = dim_of(created.source)
        owner_dim = next((d for d in dims[created.name] if (d.tensor, d.dim) == (tensor, number) or created.source is None), None)
        if owner_dim is not None:
            tensor, number = owner_dim.tensor, owner_dim.dim
        source = created.source or (f"{tensor}.size()[{number}]" if tensor is not None else None)
        at = fixed.get(created.name)
        symbols.append(
            SymbolShape(
                created.name, source, tensor, number, created.hint, created.range, created.hint is None and created.source is None,
                owner_dim.mark if owner_dim else "", created.user_frame, created.torch_frame, created.ref, at,
                tuple(guards[created.name]),
                tuple(by_source.get(source, ())) if source is not None else (),
                _equal(created.name, guards[created.name]),
                tuple(f"{d.tensor}.size()[{d.dim}]" for d in dims[created.name] if d is not owner_dim and created.source),
                tuple(d for d in static[at.value] if d.tensor != tensor) if at is not None else (),
                tuple(
                    b for name in dict.fromkeys((tensor, created.source)) for b in changes.get(name, ())
                    if (b.source, b.dim) == (tensor, number) or b.source == created.source
                ),
            )
        )  # fmt: skip
    return tuple(sorted(symbols, key=lambda symbol: (symbol.fixed is None, not symbol.guards)))


def _symbols_in(records: ShapeRecords) -> list[NewSymbol]:
    """Return created symbols, and those only referred to because the log is incomplete."""
    symbols = {symbol.name: symbol for symbol in records.symbols}
    for item in records.fixed:
        source = item.sources[0] if item.sources else None
        symbols.setdefault(item.symbol, NewSymbol(item.symbol, source, None, None, item.user_frame, None, item.ref))
    return list(symbols.values())


def _equal(name: str, guards: Iterable[ShapeGuard]) -> tuple[str, ...]:
    """Return the symbols that guards `Eq(a, b)` equate with one."""
    names = []
    for guard in guards:
        match = re.fullmatch(r"Eq\((\w+), (\w+)\)", guard.expr)
        if match is not None and name in match.groups():
            other = match[2] if match[1] == name else match[1]
            if other in guard.symbols and other != name:
                names.append(other)
    return tuple(dict.fromkeys(names))


def readable_dim(tensor: str | None, dim: int | None, source: str | None) -> str:
    """Format `dim 0 of L['x']`.

    The source itself if it is no size; '' for a value that depends on data.
    """
    if tensor is not None and dim is not None:
        return f"dim {dim} of {tensor}"
    return source or ""


FIXED, GUARDED, SYMBOLS, MARKED, PLAIN = range(5)
"""Kinds of compiles by their shape records, the most interesting first."""

_ARGUMENT = re.compile(r"^[LG]\['(?P<name>\w+)'\](?P<rest>[^\n]*)$")


@part
def interest(compile_: Compile, reader: Reader) -> int:
    """Return FIXED, GUARDED, SYMBOLS, MARKED or PLAIN, from the kinds of a compile's records."""
    names = {name for _, name in records_of(compile_, EVENTS)}
    if compile_.counts["symbolic_shape_specialization"] or (compile_.untimed_tally.errors and names):
        return FIXED
    if names:
        return GUARDED if any(name.startswith("guard_added") for name in names) else SYMBOLS
    return MARKED if has_marks(compile_, reader) else PLAIN


@part
def shapes_in(compile_: Compile, reader: Reader) -> CompileShapes:
    """Return the shapes of a compile with advice."""
    shapes = shapes_of(compile_, reader)
    return replace(shapes, advice=advice_of(shapes))


def python_name(source: str) -> str:
    """Return a source as in user code: `L['x']` → `x`."""
    match = _ARGUMENT.match(source)
    return strip_modules(match["name"] + match["rest"]) if match else source


def advice_of(shapes: CompileShapes) -> tuple[str, ...]:
    """Return distinct advice for a compile, most important first."""
    advice: list[str] = []
    for symbol in shapes.symbols:
        if symbol.fixed is not None:
            advice += _for_fixed(symbol)
    for dim in shapes.marked_without_symbol:
        advice += _for_stuck(dim)
    for symbol in shapes.symbols:
        if symbol.fixed is None:
            advice += _for_bounds(symbol)
    return tuple(dict.fromkeys(advice))


def _call(text: str, dim: Dim | SymbolShape) -> str:
    return f"{text}({python_name(dim.tensor or '')}, {dim.dim})"


def _for_fixed(symbol: SymbolShape) -> list[str]:
    fixed = symbol.fixed
    assert fixed is not None
    text = readable_dim(symbol.tensor, symbol.dim, symbol.source)
    code = ((fixed.user_frame.code if fixed.user_frame else None) or "").strip()
    partners = [partner for partner in symbol.same_size_dims if not partner.is_parameter]
    if code.startswith("assert"):
        return [
            f"If {text} is always {fixed.value}, it need not be dynamic. Otherwise the assert forbids every other size."
        ]
    advice = []
    if symbol.tensor is not None and partners:
        mark = "maybe_mark_dynamic" if symbol.mark == "maybe dynamic" else "mark_dynamic"
        names = " and ".join(_call(f"torch._dynamo.{mark}", partner) for partner in partners[:2])
        advice.append(f"If the two sizes belong together, mark the other one too: {names}.")
    elif any(partner.is_parameter for partner in symbol.same_size_dims):
        advice.append("This size must equal the size of a parameter, which never varies, so it need not be dynamic.")
    if symbol.mark == "dynamic" and symbol.tensor is not None:
        advice.append(
            f"Use {_call('torch._dynamo.maybe_mark_dynamic', symbol)} instead of mark_dynamic to avoid the error. Torch may then "
            "specialize the size, and every other size triggers a recompilation."
        )
    return advice


def _for_stuck(dim: Dim) -> list[str]:
    if dim.size not in (0, 1) or dim.mark == "unbacked":
        return []
    return [
        f"Call it first with a size of 2 or more, or use {_call('torch._dynamo.decorators.mark_unbacked', dim)}: "
        "one compiled version then serves all sizes."
    ]


def _for_bounds(symbol: SymbolShape) -> list[str]:
    """Return advice on a user condition that splits the size range."""
    if symbol.is_unbacked or symbol.tensor is None:
        return []
    splits = [guard for guard in symbol.guards if guard.purpose == PROGRAM and not guard.is_deferred]
    if not splits or not any(guard.high is not None or (guard.low or 0) > 2 for guard in symbol.call_guards):
        return []
    first = splits[0]
    condition = first.expr.replace(symbol.name, f"{python_name(symbol.tensor)}.shape[{symbol.dim}]")
    mark = _call("torch._dynamo.decorators.mark_unbacked", symbol)
    return [
        f"If `{condition}` holds for every size, use {mark} and torch._check({condition}) before the branch. One compiled "
        "version then serves all sizes; a size that fails the check raises an error.",
        "Otherwise each side of the branch is compiled separately.",
    ]
