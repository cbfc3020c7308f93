"""Sizes of a compile: its inputs, symbols, and the guards on them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, address, list_in, record_ref, records_of, text_in, whole_in
from tltui.questions.stacks.tracebacks import StackFrame, frames_of, is_end_of, user_frames
from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern

_DEVICE = lazy_pattern(r"device\(type='([^']*)'(?:, index=(\d+))?\)")
_SIZE = lazy_pattern(r"^(?P<source>.+)\.size\(\)\[(?P<dim>\d+)\]$")
_EVENTS = (
    "describe_storage", "describe_tensor", "describe_source", "create_symbol", "create_unbacked_symbol",
    "symbolic_shape_specialization",
)  # fmt: skip


Value = int | float | str
"""A size or a number in a log; text if it is an expression: `s77`."""
_NUMBER = lazy_pattern(r"[-+]?\d{1,18}(\.\d*)?(e[-+]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_RANGE = lazy_pattern(r"(?:VR)?\[(.*), (.*)\]", re.DOTALL)


def value_of(value: object) -> Value:
    """Return a number for the text of a number; other text as it is, cut at 80 characters."""
    text = str(value)[:80]
    match = _NUMBER.fullmatch(text)
    return text if match is None else float(text) if match[1] or match[2] else int(text)


@frozen
class Bounds:
    """The range of a symbol."""

    min: int | float | None
    """The least value; null: no bound, or an expression."""
    max: int | float | None
    _text: str

    def __str__(self) -> str:
        return self._text


def bounds_of(text: str | None) -> Bounds | None:
    """Parse a range: `[2, int_oo]`; None for none."""
    if not text:
        return None
    match = _RANGE.fullmatch(text)
    low, high = (value_of(match[1]), value_of(match[2])) if match is not None else ("", "")
    return Bounds(None if isinstance(low, str) else low, None if isinstance(high, str) else high, text)


@frozen
class Symbol:
    """A symbol of the shape environment."""

    name: str
    source: str | None
    """Its source expression, e.g. `L['x'].size()[0]`; None for an unbacked one."""
    hint: Value | None
    """Its value during the compile; None for an unbacked one."""
    range: Bounds | None
    user_frame: StackFrame | None = None
    """The user's line that was being traced."""
    specialized: Value | None = None
    """The number that it was fixed to."""
    specialized_reason: str | None = None

    @property
    def unbacked(self) -> bool:
        """Whether the value depends on data and so has no hint."""
        return self.hint is None

    @property
    def is_size(self) -> bool:
        """Whether it is a tensor's size, stride or offset rather than a Python number."""
        return self.source is not None and any(word in self.source for word in ("size()", "stride()", "storage_offset"))


@frozen
class SymbolValue:
    """The value of a symbol during the compile."""

    symbol: str
    value: Value | None


@frozen
class TensorInput:
    """A tensor as described by Dynamo."""

    source: str
    dtype: str
    size: tuple[Value, ...] | None
    """The sizes, with symbols for dynamic ones; None if not logged."""
    stride: tuple[Value, ...] | None
    device: str
    requires_grad: bool = False
    is_parameter: bool = False
    dynamic: tuple[int, ...] = ()
    """Dimensions that the user marked as dynamic."""
    hints: tuple[SymbolValue, ...] = ()
    """The values of the symbols of its size."""
    storage_bytes: int | None = None
    note: str = ""
    """Further properties that are not the usual ones: `view`, `nested`, `subclass` …"""


@frozen
class Inputs:
    """The inputs of a compile."""

    tensors: tuple[TensorInput, ...]
    numbers: tuple[Symbol, ...]
    """Python ints and floats that became symbols."""
    symbols: tuple[Symbol, ...]
    """All symbols, the sizes included."""
    unnamed: int
    """Described tensors without a source: bases of views, gradients, parts of subclasses."""


def short_dtype(dtype: str | None) -> str:
    """Shorten `torch.float32` to `float32`."""
    return (dtype or "?").removeprefix("torch.")


def short_device(device: str | None) -> str:
    """Shorten `device(type='cuda', index=0)` to `cuda:0`."""
    match = _DEVICE.search(device or "")
    if match is None:
        return device or "?"
    return match[1] + (f":{match[2]}" if match[2] else "")


def inputs_of(compile_: Compile, reader: Reader | None = None, attempt: int | None = None) -> Inputs:
    """Return the inputs of an attempt; by default of the last one with a description."""
    log = compile_.process.log
    reader = reader or Reader(log)
    records = list(records_of(compile_, _EVENTS))
    if attempt is None:
        attempt = max((log.context(record).attempt or 0 for record, _ in records), default=0)
    collected = _Collected(compile_)
    for record, name in records:
        if (log.context(record).attempt or 0) == attempt:
            collected.add(name, reader.event(record))
    return collected.result()


class _Collected:
    """The records of one attempt during reading."""

    def __init__(self, compile_: Compile) -> None:
        self._process = compile_.process
        self._storages: dict[tuple[object, object], int] = {}
        self._tensors: dict[tuple[object, object], dict[str, Any]] = {}
        self._sources: dict[str, tuple[object, object]] = {}
        self._symbols: dict[str, Symbol] = {}

    def add(self, event: str, fields: dict[str, Any]) -> None:
        """Add one record."""
        key = (_key(fields.get("describer_id")), _key(fields.get("id")))
        if event == "describe_storage":
            size = whole_in(fields, "size")
            if size is not None:
                self._storages[key] = size
        elif event == "describe_tensor":
            self._tensors.setdefault(key, fields)
        elif event == "describe_source":
            if source := text_in(fields, "source"):
                self._sources.setdefault(source, key)
        elif event == "symbolic_shape_specialization":
            name = text_in(fields, "symbol")
            if name in self._symbols:
                value, why = fields.get("value"), text_in(fields, "reason")
                self._symbols[name] = replace(self._symbols[name], specialized=value_of(value), specialized_reason=why)
        elif name := text_in(fields, "symbol"):
            where = user_frames(frames_of(self._process, list_in(fields, "user_stack")))
            hint = fields.get("val") if event == "create_symbol" else None
            self._symbols.setdefault(
                name,
                Symbol(
                    name,
                    text_in(fields, "source"),
                    None if hint is None else value_of(hint),
                    bounds_of(text_in(fields, "vr")),
                    where[0] if where else None,
                ),
            )

    def result(self) -> Inputs:
        """Return the joined records."""
        by_source = {symbol.source: symbol for symbol in self._symbols.values() if symbol.source}
        tensors = tuple(
            self._tensor(source, self._tensors[key], key, by_source)
            for source, key in self._sources.items()
            if key in self._tensors
        )
        numbers = tuple(s for s in self._symbols.values() if s.source is not None and not s.is_size)
        unnamed = len(self._tensors.keys() - set(self._sources.values()))
        return Inputs(tensors, numbers, tuple(self._symbols.values()), unnamed)

    def _tensor(
        self, source: str, fields: dict[str, Any], key: tuple[object, object], symbols: dict[str, Symbol]
    ) -> TensorInput:
        raw = fields.get("size")
        size: tuple[Value, ...] | None = None
        hints = []
        if isinstance(raw, list):
            sizes = []
            for dim, value in enumerate(raw):
                symbol = symbols.get(f"{source}.size()[{dim}]")
                if symbol is not None:
                    hints.append(SymbolValue(symbol.name, symbol.hint))
                sizes.append(symbol.name if symbol is not None else value_of(value))
            size = tuple(sizes)
        stride = fields.get("stride")
        return TensorInput(
            source,
            short_dtype(text_in(fields, "dtype")),
            size,
            tuple(map(value_of, stride)) if isinstance(stride, list) else None,
            short_device(text_in(fields, "device")),
            fields.get("requires_grad") is True,
            fields.get("is_parameter") is True,
            tuple(dim for dim in list_in(fields, "dynamo_dynamic_indices") if isinstance(dim, int)),
            tuple(hints),
            self._storages.get((key[0], _key(fields.get("storage")))),
            _note(fields),
        )


_NOTES = {
    "is_view": "view",
    "is_nested": "nested",
    "is_traceable_wrapper_subclass": "subclass",
    "is_sparse": "sparse",
    "is_functorch_wrapped": "functorch",
    "is_conj": "conj",
    "is_inference": "inference tensor",
}


def _note(fields: dict[str, Any]) -> str:
    return ", ".join(word for key, word in _NOTES.items() if fields.get(key) is True)


def _key(value: object) -> object:
    """Convert an id of any JSON type to a hashable key."""
    return value if isinstance(value, (int, str)) else repr(value)[:80]


BROADCAST = "broadcasting: sizes that one operation combines must be equal"
MATMUL = "a matrix product: the inner sizes must be equal"
RESHAPE = "a view or reshape: the number of elements must match the new shape"
DIVISIBLE = "a view or reshape with -1: the number of elements must be divisible"
PROGRAM, ASSERT, LIBRARY = "your code branches on it", "the assert in your code", "library code branches on it"
INDUCTOR = "Inductor relies on it"
CONTIGUOUS = "a check whether the tensor is contiguous in memory"
_BY_NAME = {
    "_broadcast_shapes": BROADCAST, "broadcast_shapes": BROADCAST, "_broadcast_in_dim_meta": BROADCAST,
    "meta_mm": MATMUL, "meta_bmm": MATMUL, "common_meta_baddbmm_bmm": MATMUL,
    "check_contiguous_sizes_strides": CONTIGUOUS, "is_contiguous": CONTIGUOUS,
}  # fmt: skip
_BY_FILE = {("_prims_common/__init__.py", "infer_size"): RESHAPE, ("_subclasses/fake_impls.py", "infer_size"): BROADCAST}


def meaning_of(file: str, name: str, expression: str, code: str, framework: bool) -> str:
    """Return the meaning of the torch line that evaluated a condition; '' if unknown.

    `code` is the traced line, `framework` whether it is outside of user code.
    """
    path = "/" + file.replace("\\", "/")
    if "/_dynamo/symbolic_convert.py" in path or name == "evaluate_expr":
        return LIBRARY if framework else ASSERT if code.strip().startswith("assert") else PROGRAM
    if "/_inductor/" in path:
        return INDUCTOR
    for (ending, function), text in _BY_FILE.items():
        if name == function and path.endswith("/" + ending):
            return DIVISIBLE if text == RESHAPE and ("Mod(" in expression or "%" in expression) else text
    return _BY_NAME.get(name, "")


GUARDS, GRAPH = "dynamo_cpp_guards_str", "dynamo_output_graph"
GUARDS_LIMIT = 16 << 20
"""Bytes of a guard tree that are read."""
MARKS = {
    "dynamic": "dynamic", "weak_dynamic": "maybe dynamic", "unbacked": "unbacked", "strict_unbacked": "unbacked",
    "static": "static",
}  # fmt: skip
_MARKED = lazy_pattern(
    r"getattr\((?P<source>[^\n]{1,400}?), '_dynamo_(?P<mark>(?:weak_)?dynamic|(?:strict_)?unbacked|static)_indices', set\(\)\)"
    r"\.issubset\(\{(?P<dims>[\d, ]+)\}\)"
)
_TENSOR = lazy_pattern(
    r"TENSOR_MATCH: check_tensor\((?P<source>[^\n]{1,400}?), [\w.]+, DispatchKeySet\([^\n)]*\), [^\n]*?size=\[(?P<size>[^\]\n]*)\]"
)
_SHAPE = lazy_pattern(r"^\+- (?!RootGuardManager)[A-Z_]+: (.+)$", re.MULTILINE)
_PLACE = lazy_pattern(r"# (?P<file>[^\s:#]+):(?P<line>\d{1,9}) in (?P<name>\S+)")
_BOUNDS = lazy_pattern(r"^(?:(?P<low>-?\d+) <= )?(?P<source>[^<>=!]+?)(?: <= (?P<high>-?\d+))?$")
_ZERO_ONE = "0/1 specialization"


@frozen
class KeptGuard:
    """A size condition checked on every call; a failure causes a recompile."""

    expr: str
    """The condition, by sources: `2 <= L['x'].size()[0] <= 9`."""
    source: str | None
    """The bounded source, if the condition is a range of one."""
    low: int | None
    high: int | None
    is_zero_one: bool
    """Whether the lower bound is torch's, which compiles sizes 0 and 1 separately."""
    user_frame: StackFrame | None
    ref: str
    """The address of the guard tree."""


@frozen
class GuardedSizes:
    """The guards on tensor sizes and symbols."""

    marks: dict[tuple[str, int], str]
    """(tensor, dim) → its mark, as in `MARKS`."""
    sizes: dict[str, tuple[str, ...]]
    """Tensor → its sizes as they are checked; `None` for a free one."""
    guards: tuple[KeptGuard, ...]
    has_tree: bool
    """Whether the log has a guard tree."""


def guarded_sizes(compile_: Compile, reader: Reader) -> GuardedSizes:
    """Read the newest guard tree of a compile."""
    records = [record for record, _ in records_of(compile_, (GUARDS,))]
    if not records:
        return GuardedSizes({}, {}, (), False)
    text = reader.text(records[-1], GUARDS_LIMIT)
    marks: dict[tuple[str, int], str] = {}
    for match in _MARKED.finditer(text):
        for dim in match["dims"].split(","):
            if dim.strip():
                marks[match["source"], int(dim.strip()[:6])] = MARKS[match["mark"]]
    sizes = {m["source"]: tuple(size.strip() for size in m["size"].split(",")) for m in _TENSOR.finditer(text)}
    ref = address(compile_, records[-1], GUARDS)
    return GuardedSizes(marks, sizes, tuple(_call_check(shape_match[1], ref) for shape_match in _SHAPE.finditer(text)), True)


def _call_check(text: str, ref: str) -> KeptGuard:
    expr, _, comment = text.partition("  # ")
    expr = expr.strip()
    place = _PLACE.search("# " + comment)
    user = None
    if place is not None:
        code = comment[: max(place.start() - 2, 0)].rstrip().removesuffix("#").strip()
        user = StackFrame(place["name"], place["file"], int(place["line"]), code or None)
    bounds = _BOUNDS.match(expr)
    if bounds is None or (bounds["low"] is None and bounds["high"] is None):
        return KeptGuard(expr, None, None, None, False, user, ref)
    low = None if bounds["low"] is None else int(bounds["low"][:18])
    high = None if bounds["high"] is None else int(bounds["high"][:18])
    return KeptGuard(expr, bounds["source"], low, high, _ZERO_ONE in comment and low == 2, user, ref)


def graph_sizes(compile_: Compile, reader: Reader) -> dict[str, tuple[str, ...]]:
    """Return input sizes in Dynamo's graph by plain name (see `plain_name`), symbolic if free."""
    records = [record for record, _ in records_of(compile_, (GRAPH,))]
    sizes = reader.event(records[-1]).get("sizes") if records else None
    if not isinstance(sizes, dict):
        return {}
    return {plain_name(name): tuple(str(item)[:80] for item in list_in(sizes, name)) for name in sizes}


def plain_name(source: str) -> str:
    """Normalize torch's spellings of an input name: `L['x']`, `L_x_`, `l_x_` → `lx`."""
    return re.sub(r"[\W_]+", "", source).lower()


def full_path(frame: StackFrame | None, frames: Iterable[StackFrame | None]) -> StackFrame | None:
    """Resolve a guard's path suffix to the equal place in another record, if any."""
    if frame is None:
        return None
    for other in frames:
        if other is not None and other.line == frame.line and is_end_of(frame.file, other.file):
            return other
    return frame


CREATED, UNBACKED, FIXED = "create_symbol", "create_unbacked_symbol", "symbolic_shape_specialization"
GUARD, DTRACE_GUARD, REAL = "guard_added_fast", "guard_added", "propagate_real_tensors"
DTRACE_REAL = "propagate_real_tensors_provenance"
EVENTS = (CREATED, UNBACKED, FIXED, GUARD, DTRACE_GUARD, REAL, DTRACE_REAL)
GUARDS_READ = 2000
"""Guards of one compile that are read; the rest is counted."""
EXPRESSION = 2000
"""Maximum characters of an expression."""
_MACHINERY = lazy_pattern(
    r"torch/(?:fx/experimental/|fx/_symbolic_trace\.py|fx/interpreter\.py|_logging/|__init__\.py|_compile\.py|utils/_stats\.py"
    r"|_dynamo/eval_frame\.py|_dynamo/guards\.py|_inductor/sizevars\.py|_library/(?:custom_ops|fake_impl)\.py"
    r"|_subclasses/(?:fake_tensor|meta_utils)\.py|export/_trace\.py|utils/_config_module\.py)|contextlib\.py$|<string>$"
)
_DEFERS = "guard_or_defer_runtime_assert"
_NAME = lazy_pattern(r"[A-Za-z_]\w*")


@frozen
class ShapeGuard:
    """A condition from tracing; the generated code is valid only if it holds."""

    expr: str
    """In symbols: `Eq(s77, 5)`, `s77 < 10`."""
    symbols: tuple[str, ...]
    user_frame: StackFrame | None
    """The user's line that was being traced."""
    torch_frame: StackFrame | None
    """The line of torch that added the guard."""
    is_deferred: bool
    """Whether an assertion in the graph checks it at run time: breaking it is an error, not a recompile."""
    ref: str
    purpose: str = ""
    """The purpose of the line of torch, if known."""


@frozen
class Fixed:
    """A symbol that was fixed to one number."""

    symbol: str
    sources: tuple[str, ...]
    value: Value
    reason: str | None
    """Torch's name of the rule: `range_refined_to_singleton`, `find`, `solve` …"""
    user_frame: StackFrame | None
    torch_frame: StackFrame | None
    ref: str
    purpose: str = ""


@frozen
class NewSymbol:
    """A symbol at its creation."""

    name: str
    source: str | None
    """Its source expression; None for an unbacked one, whose value depends on data."""
    hint: Value | None
    """Its value during the compile; None for an unbacked one."""
    range: Bounds | None
    user_frame: StackFrame | None
    torch_frame: StackFrame | None
    ref: str
    input: str | None = None
    """The input tensor at which torch created an unbacked symbol."""


@frozen
class RealValue:
    """An unbacked expression that torch replaced with a real value to decide a condition."""

    expr: str
    result: str
    user_frame: StackFrame | None
    torch_frame: StackFrame | None
    ref: str


@frozen
class ShapeRecords:
    """The shape records of one attempt of a compile."""

    symbols: tuple[NewSymbol, ...]
    guards: tuple[ShapeGuard, ...]
    more_guards: int
    """Guards that were not read."""
    fixed: tuple[Fixed, ...]
    real: tuple[RealValue, ...]


def shape_records(compile_: Compile, reader: Reader) -> ShapeRecords:
    """Read the shape records of the last attempt, which repeats earlier ones' results."""
    log = compile_.process.log
    records = [(n, name) for n, name in records_of(compile_, (*EVENTS, "describe_source"))]
    attempt = max((log.context(n).attempt or 0 for n, _ in records), default=0)
    records = [(n, name) for n, name in records if (log.context(n).attempt or 0) == attempt]
    if any(name == GUARD for _, name in records):  # both are written for one guard where TORCH_DTRACE is set
        records = [(n, name) for n, name in records if name != DTRACE_GUARD]
    if any(name == DTRACE_REAL for _, name in records):
        records = [(n, name) for n, name in records if name != REAL]
    collected = _Records(compile_.process)
    guards = 0
    for number, name in records:
        guards += name in (GUARD, DTRACE_GUARD)
        if guards <= GUARDS_READ or name not in (GUARD, DTRACE_GUARD):
            collected.add(name, reader.event(number), record_ref(compile_.process, number))
    return collected.result(max(guards - GUARDS_READ, 0))


def names_in(expression: str) -> tuple[str, ...]:
    """Return the distinct names in an expression."""
    return tuple(dict.fromkeys(_NAME.findall(expression)))


def asked_by(stack: Iterable[StackFrame]) -> StackFrame | None:
    """Return torch's frame above symbolic-shape internals: the innermost one."""
    for frame in reversed(list(stack)):
        path = frame.file.replace("\\", "/")
        if not _MACHINERY.search(path):
            return frame if frame.is_framework else None
    return None


def meaning(by: StackFrame | None, user: StackFrame | None, expression: str = "") -> str:
    """Return the meaning of a torch line that evaluates a condition; '' if unknown."""
    if by is None:
        return ""
    code, framework = (user.code or "", user.is_framework and not user.file.startswith("<")) if user is not None else ("", False)
    return meaning_of(by.file, by.name, expression, code, framework)


class _Records:
    """The records of an attempt during reading."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._symbols: dict[str, NewSymbol] = {}
        self._guards: list[ShapeGuard] = []
        self._fixed: dict[str, Fixed] = {}
        self._real: list[RealValue] = []
        self._input: str | None = None

    def add(self, event: str, fields: dict[str, Any], ref: str) -> None:
        """Add one record."""
        if event == "describe_source":
            self._input = text_in(fields, "source")
            return
        stack = frames_of(self._process, list_in(fields, "stack"))
        user, by = self._user(fields), asked_by(stack)
        expr = (text_in(fields, "expr") or "")[:EXPRESSION]
        why = meaning(by, user, expr)
        if event in (CREATED, UNBACKED):
            self._symbol(event, fields, stack, NewSymbol("", None, None, None, user, by, ref))
        elif event == FIXED:
            name = text_in(fields, "symbol") or "?"
            sources = tuple(str(source) for source in list_in(fields, "sources"))
            value = value_of(fields.get("value"))
            if user is None and by is None:  # TORCH_LOGS text states the place with the guard before it alone
                equal = next((guard for guard in reversed(self._guards) if guard.expr == f"Eq({name}, {value})"), None)
                user, by, why = (equal.user_frame, equal.torch_frame, equal.purpose) if equal is not None else (user, by, why)
            self._fixed.setdefault(name, Fixed(name, sources, value, text_in(fields, "reason"), user, by, ref, why))
        elif event in (GUARD, DTRACE_GUARD) and expr:
            deferred = any(frame.name == _DEFERS for frame in stack[-8:]) or fields.get("prefix") == "runtime_assert"
            self._guards.append(ShapeGuard(expr, names_in(expr), user, by, deferred, ref, why))
        elif event in (REAL, DTRACE_REAL) and expr:
            self._real.append(RealValue(expr, str(fields.get("result"))[:80], user, by, ref))

    def _user(self, fields: dict[str, Any]) -> StackFrame | None:
        """Return the innermost user frame; for a library's model the innermost of all."""
        frames = frames_of(self._process, list_in(fields, "user_stack"))
        user = user_frames(frames)
        return user[0] if user else frames[-1] if frames else None

    def _symbol(self, event: str, fields: dict[str, Any], stack: tuple[StackFrame, ...], new_symbol: NewSymbol) -> None:
        name = text_in(fields, "symbol")
        if name is None:
            return
        hint = fields.get("val") if event == CREATED else None
        # made while Dynamo takes an input in: the tensor is the one described last
        wrapping = event == UNBACKED and any(frame.name.startswith("wrap_to_fake_tensor") for frame in stack)
        self._symbols.setdefault(
            name,
            replace(
                new_symbol,
                name=name,
                source=text_in(fields, "source"),
                hint=None if hint is None else value_of(hint),
                range=bounds_of(text_in(fields, "vr")),
                input=self._input if wrapping else None,
            ),
        )

    def result(self, more_guards: int) -> ShapeRecords:
        """Return the records, without names in guards that are no symbols (`Eq`, `Mod`)."""
        names = self._symbols.keys() | self._fixed.keys()
        guards = tuple(
            replace(guard, symbols=tuple(name for name in guard.symbols if name in names or _is_symbol(name)))
            for guard in self._guards
        )
        return ShapeRecords(
            tuple(self._symbols.values()), guards, more_guards, tuple(self._fixed.values()), tuple(self._real)
        )


def _is_symbol(name: str) -> bool:
    """Return whether a name has the form of torch's symbols: `s77`, `u0`, `zf1`, `zuf0`."""
    return bool(re.fullmatch(r"(?:s|u|zf|zuf)\d+", name))
