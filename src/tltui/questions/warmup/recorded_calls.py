"""Calls of the compiled functions with the recorded arguments, and functions that no script can call."""

from __future__ import annotations

import ast
import json
import keyword
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod

from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, records_of
from tltui.model.status import Status
from tltui.questions.guards.guard_report import LIMIT, TREE
from tltui.questions.recompiles.failed_guard_text import class_name
from tltui.questions.shapes.shape_env import Inputs, Symbol, TensorInput, guarded_sizes, inputs_of
from tltui.questions.stacks.tracebacks import is_module
from tltui.text.frozen import frozen
from tltui.text.graphs.guard_tree import GuardNode, parse
from tltui.text.torch_names import PREFIX, Owner, owner_of

DTYPES = frozenset((
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "complex32",
    "complex64", "complex128", "int8", "int16", "int32", "int64", "bool", "uint8", "uint16", "uint32", "uint64",
))  # fmt: skip
LARGEST = 1 << 40
"""Largest size, stride or absolute value of an integer argument."""
ELEMENTS = 1 << 32
"""Most elements of a tensor."""
DIMS = 64
MARKS = {"dynamic": "mark_dynamic", "maybe dynamic": "maybe_mark_dynamic", "unbacked": "mark_unbacked", "static": "mark_static"}
"""Mark of a dimension → the function of torch._dynamo that sets it."""
PLAIN = frozenset(("int", "float", "bool", "NoneType", "str"))
TEXT_LIMIT, TUPLE_LIMIT = 200, 64
"""Characters of a string argument, and values of a tuple, at most."""
TENSORS = frozenset(("torch.Tensor", "torch.nn.parameter.Parameter"))
CONTAINERS = frozenset(("tuple", "list", "dict"))
_DEVICE = re.compile(r"(?:cpu|cuda|xpu|mps|hpu|meta)(?::\d{1,3})?", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,13}", re.ASCII)
_FLOAT = re.compile(r"-?\d{1,20}(?:\.\d{0,30})?(?:e[-+]?\d{1,3})?", re.ASCII)
_LOCAL = re.compile(
    r"L\['(?P<name>[^'\n]{1,200})'\], FrameLocalsGuardAccessor\(key='(?P=name)', framelocals_idx=(?P<place>\d{1,6})\)", re.ASCII
)
"""The source of a variable, and how its manager is accessed."""
_LOCAL_NAME = re.compile(r"^L\['(?P<name>\w+)'\]", re.ASCII)
_LENGTH = re.compile(r"LENGTH_CHECK: len\((?P<source>.+)\) == (?P<length>\d{1,6})", re.ASCII)
_RESUMED = re.compile(rf"{PREFIX}(?P<name>\w{{1,200}})_at_\d{{1,9}}(?:_\d{{1,9}})?", re.ASCII)
_STATE = re.compile(r"___check_global_state\(\) against (?P<state>\{.{0,4000}?\})")
_NOT_PLAIN = ("subclass", "nested", "sparse", "functorch", "conj")
NOT_COMPILED = {
    Status.ERROR: "its compile failed",
    Status.EAGER: "it fell back to eager mode",
    Status.UNFINISHED: "its compile did not finish",
    Status.RUNNING: "it is still being compiled",
}
RESUMED = "after a graph break: a call of the function compiles it too"
LIBRARY = "a library function: calling your code that uses it compiles it"
NO_GUARDS = "the log has no guards of this compile"
EQUAL = "its arguments are those of a listed call: attributes, globals or settings differed, which the script does not set"
OLD_GUARDS = "its guards do not record the arguments (those of torch 2.10 and later do)"


Scalar = bool | int | float | str | None
Literal = Scalar | tuple[Scalar, ...]
"""A plain value: what a script may contain of a trace besides tensors."""


class NotCallable(Exception):
    """Why no script can make a call: a clause for people."""


@frozen
class DimensionMark:
    """A mark that the program set on a dimension."""

    dim: int
    mark: str
    """A function of torch._dynamo: `mark_dynamic` …"""


@frozen
class Argument:
    """An argument of a call."""

    name: str
    dtype: str | None
    """Of a tensor: `float32`; null for a plain value."""
    size: tuple[int, ...] | None
    stride: tuple[int, ...] | None
    device: str | None
    requires_grad: bool
    marks: tuple[DimensionMark, ...]
    value: bool | int | float | str | tuple[bool | int | float | str | None, ...] | None
    """A plain value; null for None, and for a tensor."""


@frozen
class RecordedCall:
    """A call that compiles a function as the recorded run did."""

    ref: str
    """The address of the compile."""
    function: str
    receiver: str | None
    """The class of the object whose method it is; null for a function of a module."""
    file: str
    line: int
    arguments: tuple[Argument, ...]
    """In the order of the parameters."""
    has_grad: bool
    """Whether gradients were enabled."""
    is_inference: bool
    """Whether an argument was an inference tensor (torch.inference_mode)."""
    has_backward: bool
    """Whether its backward was compiled too."""
    is_dynamic: bool
    """Whether sizes were dynamic in the first compile, without a mark on them."""
    duration_s: float
    later: tuple[Argument, ...] = ()
    """Variables with guards after a graph break: arguments too where the function has parameters of these names."""

    @property
    def name(self) -> str:
        """`Model.forward`, `loss`."""
        return f"{self.receiver}.{self.function}" if self.receiver else self.function


@frozen
class UncalledCompile:
    """A compile that no script can repeat."""

    ref: str
    function: str | None
    reason: str


@frozen
class Guarded:
    """A value with guards: a variable, or a part of one."""

    source: str
    """`L['x']`, `L['x'][0]`."""
    type_name: str
    guards: tuple[str, ...]
    """Guards on the value itself."""


@frozen
class Local:
    """A local variable with guards at the beginning of a function."""

    name: str
    place: int
    value: Guarded
    members: tuple[Guarded, ...]
    """Its parts that have guards: items, attributes."""


@frozen
class LocalGuards:
    """The guards on local variables, and of the global state."""

    variables: tuple[Local, ...]
    """In the order of the parameters."""
    has_grad: bool
    is_autocast: bool
    modules: tuple[str, ...]
    """Variables that are accessed as an nn.Module."""


def is_name(text: str) -> bool:
    """Return whether a name of a trace may be written into a script: an ASCII identifier, and no dunder name."""
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text) and not text.startswith("__") and len(text) <= 200


def local_guards(text: str) -> LocalGuards:
    """Read the guards on local variables from a tree. Raises `NotCallable` for the trees of torch before 2.10."""
    nodes = parse(text.split("\n")).nodes
    below: dict[int, list[tuple[int, GuardNode]]] = {}
    for number, node in enumerate(nodes):
        below.setdefault(node.parent, []).append((number, node))
    variables: list[Local] = []
    has_grad, is_autocast = True, False
    for number, node in enumerate(nodes):
        if node.depth != 1:
            continue
        if node.type_name and (match := _LOCAL.fullmatch(f"{node.source}, {node.accessed_by}")) is not None:
            members = tuple(_guarded(member, below.get(place, ())) for place, member in below.get(number, ()) if member.is_manager)
            value = _guarded(node, below.get(number, ()))
            variables.append(Local(match["name"], int(match["place"]), value, members))
        elif (match := _STATE.fullmatch(node.expression)) is not None:
            has_grad, is_autocast = _state(match["state"])
    if not variables and "L['" in text:
        raise NotCallable(OLD_GUARDS)
    modules = tuple(variable.name for variable in variables if is_module(variable.name.encode(), text.encode()))
    return LocalGuards(tuple(sorted(variables, key=lambda one: one.place)), has_grad, is_autocast, modules)


def _guarded(manager: GuardNode, below: Sequence[tuple[int, GuardNode]]) -> Guarded:
    guards = tuple(f"{node.kind}: {node.expression}" for _, node in below if not node.is_manager)
    return Guarded(manager.source, class_name(manager.type_name) if manager.type_name else "", guards)


def _state(text: str) -> tuple[bool, bool]:
    try:
        state = json.loads(text)
        enabled = state["autocast_state"]["enabled"]
        return state["grad_mode"] is not False, any(item is True for item in enabled)
    except (ValueError, KeyError, TypeError, RecursionError):
        return True, False


@part
def recorded_call(compile_: Compile, reader: Reader) -> RecordedCall | UncalledCompile:
    """Return the call that makes torch compile a function again, or why there is none."""
    function, file, line = compile_.frame.code
    try:
        return _call(compile_, reader, function or "", file or "", line or 0)
    except NotCallable as why:
        return UncalledCompile(str(compile_.ref), function, str(why))


def _call(compile_: Compile, reader: Reader, function: str, file: str, line: int) -> RecordedCall:
    if function.startswith(PREFIX):
        raise NotCallable(RESUMED)
    if not is_name(function):
        kind = {"<lambda>": "a lambda has no name", "<genexpr>": "a generator has no name"}
        special = "a special method" if function.startswith("__") else "its name is not a plain identifier"
        raise NotCallable(kind.get(function, special))
    if compile_.status in NOT_COMPILED:
        raise NotCallable(NOT_COMPILED[compile_.status])
    guards = _guards(compile_, reader)
    if guards.is_autocast:
        raise NotCallable("it ran under autocast: the trace does not show for which device")
    receiver = _receiver(guards)
    if owner_of(file) is not Owner.USER and not (receiver and guards.modules):
        raise NotCallable(LIBRARY)
    inputs = inputs_of(compile_, reader)
    marks = guarded_sizes(compile_, reader).marks
    parameters = [variable for variable in guards.variables if receiver is None or variable.place > 0]
    arguments = tuple(_arguments(parameters, inputs, marks))
    notes = [tensor.note for tensor in inputs.tensors]
    return RecordedCall(
        str(compile_.ref), function, receiver, file, line, arguments, guards.has_grad,
        any("inference" in note for note in notes), _has_backward(compile_), _is_dynamic(compile_, arguments, inputs),
        compile_.tally.compile_s,
    )  # fmt: skip


def _guards(compile_: Compile, reader: Reader) -> LocalGuards:
    records = [record for record, _ in records_of(compile_, (TREE,)) if compile_.process.log.has_payload(record)]
    if not records:
        raise NotCallable(NO_GUARDS)
    return local_guards(reader.text(records[-1], LIMIT))


@part
def later_arguments(compile_: Compile, reader: Reader) -> tuple[Argument, ...]:
    """Return the plain values and tensors among the variables of a part after a graph break."""
    try:
        variables = _guards(compile_, reader).variables
    except NotCallable:
        return ()
    inputs, marks = inputs_of(compile_, reader), guarded_sizes(compile_, reader).marks
    arguments: list[Argument] = []
    for variable in variables:
        with suppress(NotCallable):  # objects, and results on the stack, which have no plain name
            arguments += _arguments([variable], inputs, marks)
    return tuple(arguments)


def _has_backward(compile_: Compile) -> bool:
    """Return whether the backward was compiled: by its metrics, or after a cache hit, which writes none, by its graph."""
    is_hit = bool(compile_.counts["aotautograd_cache_hit"])
    return compile_.facts.has_backward or (is_hit and any(records_of(compile_, ("aot_backward_graph",))))


def _receiver(guards: LocalGuards) -> str | None:
    """Return the class of the object whose method it is; None for a function. Raises `NotCallable`."""
    first = next((variable for variable in guards.variables if variable.place == 0), None)
    if first is None or not (first.name == "self" or first.name in guards.modules):
        return None
    name = first.value.type_name.rpartition(".")[2]
    if not is_name(name):
        raise NotCallable("the class of its object has no plain name")
    return name


def _arguments(variables: Sequence[Local], inputs: Inputs, marks: dict[tuple[str, int], str]) -> Iterator[Argument]:
    tensors = {tensor.source: tensor for tensor in inputs.tensors}
    numbers = {number.source: number for number in inputs.numbers}
    for variable in variables:
        if not is_name(variable.name):
            raise NotCallable("an argument has no plain name")
        kind = variable.value.type_name
        if kind in TENSORS:
            yield _tensor(variable.name, tensors.get(variable.value.source), marks)
        elif kind == "tuple" and variable.value.guards:
            yield _plain(variable.name, _tuple(variable, numbers))
        elif kind in PLAIN:
            yield _plain(variable.name, plain_value(variable.value, numbers.get(variable.value.source)))
        elif not (kind in CONTAINERS and _is_empty(variable)):  # an empty *args or **kwargs needs no argument
            raise NotCallable(f"its argument {variable.name} is neither a tensor nor a plain value: {kind.rpartition('.')[2]}")


def _plain(name: str, value: Literal) -> Argument:
    return Argument(name, None, None, None, None, False, (), value)


def _is_empty(variable: Local) -> bool:
    return not variable.members and not any(guard.startswith("LENGTH_CHECK: len(") for guard in variable.value.guards)


def _tuple(variable: Local, numbers: Mapping[str | None, Symbol]) -> tuple[Scalar, ...]:
    """Return a tuple each of whose items the guards fix. Raises `NotCallable` for any other one."""
    source = variable.value.source
    if f"LENGTH_CHECK: not {source}" in variable.value.guards:
        return ()
    members = {member.source: member for member in variable.members}
    lengths = (match for guard in variable.value.guards if (match := _LENGTH.fullmatch(guard)) and match["source"] == source)
    length = next((int(match["length"]) for match in lengths), 0)
    if not 0 < length <= TUPLE_LIMIT:
        raise NotCallable(f"the length of its argument {variable.name} is not in the trace, or too large")
    items = [members.get(f"{source}[{place}]") for place in range(length)]
    if missing := [str(place) for place, item in enumerate(items) if item is None]:
        raise NotCallable(f"item {missing[0]} of its argument {variable.name} is not in the trace")
    if others := [item.type_name for item in items if item is not None and item.type_name not in PLAIN]:
        kind = others[0].rpartition(".")[2]
        raise NotCallable(f"its argument {variable.name} is a tuple that does not only contain plain values: {kind}")
    return tuple(plain_value(item, numbers.get(item.source)) for item in items if item is not None)


def plain_value(value: Guarded, symbol: Symbol | None) -> Scalar:
    """Return a number, a bool, a string or None. Raises `NotCallable`."""
    if value.type_name == "NoneType":
        return None
    for guard in value.guards:
        kind, _, condition = guard.partition(": ")
        if kind in ("EQUALS_MATCH", "TRUE_MATCH", "FALSE_MATCH", "CONSTANT_MATCH") and condition.startswith(f"{value.source} == "):
            text = condition.removeprefix(f"{value.source} == ")
            return string_of(text) if value.type_name == "str" else number_of(text, value.type_name)
    if symbol is not None and symbol.hint is not None:
        return number_of(repr(symbol.hint), value.type_name)
    name = _LOCAL_NAME.sub(r"\g<name>", value.source)
    raise NotCallable(f"the value of its argument {name} is not in the trace")


def string_of(text: str) -> str:
    """Parse a string as Python writes it. Raises `NotCallable` for any other text."""
    text = text.strip()
    if text[:1] in ("'", '"') and len(text) <= 4 * TEXT_LIMIT:
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            value = ast.literal_eval(text)
            if isinstance(value, str) and repr(value) == text and len(value) <= TEXT_LIMIT:
                return value
    raise NotCallable("an argument is a string that is not in the trace, or too long")


def number_of(text: str, type_name: str) -> bool | int | float:
    """Parse a number or a bool. Raises `NotCallable` for any other text."""
    text = text.strip()
    if type_name == "bool" and text in ("True", "False"):
        return text == "True"
    if type_name == "int" and _WHOLE.fullmatch(text) and abs(int(text)) < LARGEST:
        return int(text)
    if type_name == "float" and _FLOAT.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    raise NotCallable(f"an argument has no value that is a plain {type_name}")


def _tensor(name: str, tensor: TensorInput | None, marks: dict[tuple[str, int], str]) -> Argument:
    if tensor is None or tensor.size is None:
        raise NotCallable(f"the size of its argument {name} is not in the trace")
    if any(word in tensor.note for word in _NOT_PLAIN):
        raise NotCallable(f"its argument {name} is not a plain tensor ({tensor.note})")
    if tensor.dtype not in DTYPES or not _DEVICE.fullmatch(tensor.device):
        raise NotCallable(f"its argument {name} has an unknown dtype or device")
    values = {hint.symbol: hint.value for hint in tensor.hints}
    size = tuple(_integer(values.get(item) if isinstance(item, str) else item, name) for item in tensor.size)
    stride = None if tensor.stride is None else tuple(_integer(item, name) for item in tensor.stride)
    if stride is not None and len(stride) != len(size):
        raise NotCallable(f"its argument {name} has a stride that does not match its size")
    extent = prod(size) if stride is None else 1 + sum((max(n, 1) - 1) * step for n, step in zip(size, stride, strict=True))
    if max(extent, prod(size)) > ELEMENTS or len(size) > DIMS:
        raise NotCallable(f"its argument {name} is too large")
    set_marks = sorted((dim, MARKS[mark]) for (source, dim), mark in marks.items() if source == tensor.source and dim < len(size))
    dimension_marks = tuple(DimensionMark(dim, mark) for dim, mark in set_marks)
    return Argument(name, tensor.dtype, size, stride, tensor.device, tensor.requires_grad, dimension_marks, None)


def _integer(value: object, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST:
        return value
    raise NotCallable(f"its argument {name} has a size that is not a number")


def _is_dynamic(compile_: Compile, arguments: Sequence[Argument], inputs: Inputs) -> bool:
    if compile_.is_recompile or any(argument.marks for argument in arguments):
        return False
    names = {f"L['{argument.name}']" for argument in arguments}
    return any(tensor.hints for tensor in inputs.tensors if tensor.source in names)


@frozen
class WarmupPlan:
    """Calls in the order of the run, equal ones of several ranks once."""

    calls: tuple[RecordedCall, ...]
    uncalled: tuple[UncalledCompile, ...]


def by_time(compiles: Iterable[Compile]) -> list[Compile]:
    """Return compiles in the order in which each process began them, process by process."""
    by_process: dict[int, list[Compile]] = {}
    for compile_ in compiles:
        if compile_.is_compile:
            by_process.setdefault(id(compile_.process), []).append(compile_)
    return [
        compile_
        for members in by_process.values()
        for compile_ in sorted(members, key=lambda member: member.records[0] if member.records else -1)
    ]


class Planning:
    """Calls of the compiles so far."""

    def __init__(self) -> None:
        self._calls: list[RecordedCall] = []
        self._frames: list[int] = []
        """The function (the `id` of its frame) of each call."""
        self._latest: dict[tuple[int, str, str | None], int] = {}
        """Process (its `id`), function and file → the place of its latest call."""
        self._uncalled: list[UncalledCompile] = []

    def add(self, compile_: Compile) -> None:
        """Add a compile, in the order of the run. A part after a graph break belongs to the latest call of its function."""
        recorded = recorded_call(compile_)
        name, file, _ = compile_.frame.code
        if isinstance(recorded, RecordedCall):
            self._latest[id(compile_.process), recorded.function, file] = len(self._calls)
            self._calls.append(recorded)
            self._frames.append(id(compile_.frame))
            return
        self._uncalled.append(recorded)
        match = _RESUMED.fullmatch(name or "")
        place = self._latest.get((id(compile_.process), match["name"], file)) if match is not None else None
        if place is not None:
            self._add_later(place, compile_)

    def _add_later(self, place: int, compile_: Compile) -> None:
        """Add variables of a later part to a call; a part that was compiled for other values of them is a call of its own."""
        call = self._calls[place]
        merged = {argument.name: argument for argument in call.later}
        earlier = {argument.name for argument in call.arguments}
        later = {argument.name: argument for argument in later_arguments(compile_) if argument.name not in earlier}
        if any(name in merged and merged[name] != argument for name, argument in later.items()):
            seconds = compile_.tally.compile_s
            self._calls.append(replace(call, ref=str(compile_.ref), duration_s=seconds, later=tuple((merged | later).values())))
            self._frames.append(self._frames[place])
        else:
            self._calls[place] = replace(call, later=tuple((merged | later).values()))

    def result(self) -> WarmupPlan:
        """Return the calls, those of several ranks with equal arguments once.

        Of several compiles of one function with equal arguments, the call repeats one.
        """
        distinct: dict[RecordedCall, RecordedCall] = {}
        functions: dict[RecordedCall, set[int]] = defaultdict(set)
        equal = []
        for call, frame in zip(self._calls, self._frames, strict=True):
            plain = replace(call, ref="", duration_s=0.0)
            distinct.setdefault(plain, call)
            if frame in functions[plain]:
                equal.append(UncalledCompile(call.ref, call.function, EQUAL))
            functions[plain].add(frame)
        return WarmupPlan(tuple(distinct.values()), (*self._uncalled, *equal))
