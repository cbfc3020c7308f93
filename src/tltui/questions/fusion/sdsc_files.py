"""Operation files of torch-spyre (`sdsc_<i>.json`): parsing, fields, and the kernel each belongs to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from tltui.model.artifacts import OUTPUT_CODE, Artifact, artifacts_of
from tltui.model.node_answers import parsed, part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader
from tltui.text.frozen import frozen, mutable
from tltui.text.lazy_pattern import lazy_pattern

_KEY = lazy_pattern(r"(\d{1,9})_(\w+)\Z")
_INTEGER = lazy_pattern(r"-?\d{1,100}\Z")
_CORE = lazy_pattern(r"\[?(\d{1,9})\b")
_TYPES = {dict: "an object", list: "a list", str: "a text", int: "a number", bool: "true or false", float: "a fraction"}


@frozen
class PerCore:
    """A value of each core, in the order of the cores."""

    values: tuple[tuple[int, int], ...]
    """(core, value)"""

    @property
    def line(self) -> tuple[int, int] | None:
        """(value of core 0, step from core to core) where all lie on one line; None else, and for less than two."""
        if len(self.values) < 2:
            return None
        (first, low), (second, high) = self.values[:2]
        step, left = divmod(high - low, second - first)
        base = low - step * first
        return (base, step) if not left and all(value == base + step * core for core, value in self.values) else None


@frozen
class Tensor:
    """A tensor that an operation reads or writes."""

    name: str
    kind: str
    """INPUT, OUTPUT, …"""
    dtype: str
    word: int | None
    """Bytes of an element."""
    memory: tuple[str, ...]
    """Where it is allocated: hbm, lx."""
    dims: tuple[str, ...]
    """As it is laid out there."""
    addresses: PerCore


@frozen
class Layout:
    """Data layout of a role (OUTPUT, INPUT, …)."""

    role: str
    dims: tuple[str, ...]
    sticks: tuple[str, ...]
    """Dimensions that lie in a stick."""
    sizes: tuple[int, ...]
    """Elements of a stick, for each of them."""


@frozen
class Compute:
    """Operation and its processing unit."""

    unit: str
    function: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@frozen
class Operation:
    """One operation."""

    key: str
    number: int | None
    op: str
    handle: str
    """Its id, exactly as written; '' for none."""
    aten: str
    file: str
    line: int | None
    nodes: tuple[str, ...]
    """`ir_chain`: the node of the graph, then what became of it."""
    fused: tuple[str, ...]
    cores: int | None
    dims: tuple[tuple[str, int], ...]
    slices: tuple[tuple[str, int], ...]
    """Into how many pieces each dimension is cut."""
    slice_of: tuple[tuple[str, PerCore], ...]
    """Dimension → which piece each core has."""
    tensors: tuple[Tensor, ...]
    layouts: tuple[Layout, ...]
    computes: tuple[Compute, ...]
    odd: tuple[str, ...]
    """What has another type than expected."""


@frozen
class Sdsc:
    """A file."""

    problem: str = ""
    """Why it is not one operation; '' where it is."""
    operations: tuple[Operation, ...] = ()


@mutable
class _Fields:
    """The fields of an object, by type. What has another one is noted."""

    value: Mapping[str, object]
    odd: list[str]
    where: str = ""

    def _typed(self, key: str, wanted: type, noun: str) -> object:
        results = self.value.get(key)
        if results is None or (isinstance(results, wanted) and not isinstance(results, bool)):
            return results
        self.odd.append(f"{self.where}{key} is {_TYPES.get(type(results), 'something')}, where {noun} is expected")
        return None

    def text(self, key: str) -> str:
        value = self._typed(key, str, "a text")
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int | None:
        value = self._typed(key, int, "a whole number")
        return value if isinstance(value, int) else None

    def inner(self, key: str) -> _Fields:
        value = self._typed(key, dict, "an object")
        return _Fields(value if isinstance(value, dict) else {}, self.odd, f"{self.where}{key}.")

    def items(self, key: str) -> list[object]:
        value = self._typed(key, list, "a list")
        return value if isinstance(value, list) else []

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(item for item in self.items(key) if isinstance(item, str))

    def each(self, key: str) -> list[_Fields]:
        return [_Fields(item, self.odd, f"{self.where}{key}.") for item in self.items(key) if isinstance(item, dict)]

    def id(self, key: str) -> str:
        """Return a decimal string, or an integer, without loss of precision."""
        value = self.value.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.text(key)

    def numbers(self) -> tuple[tuple[str, int], ...]:
        """All fields that are whole numbers."""
        return tuple((key, number) for key in self.value if (number := self.number(key)) is not None)


def parse_sdsc(data: bytes) -> Sdsc:
    """Parse an operation file; the result of an unreadable file has only the reason."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Sdsc("not UTF-8")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            return Sdsc("cut off: the JSON ends in the middle")
        return Sdsc(f"not JSON: {error.msg}, line {error.lineno} column {error.colno}")
    except (ValueError, RecursionError):
        return Sdsc("JSON that cannot be read: nested too deeply, or with a number that is too long")
    if not isinstance(value, dict):
        return Sdsc(f"{_TYPES.get(type(value), 'something')}, where an object with one operation is expected")
    if not value:
        return Sdsc("an empty object: no operation in it")
    operations = tuple(_operation(str(key), design) for key, design in value.items())
    if len(value) > 1:
        return Sdsc(f"{len(value):,} operations in one file, where one is expected", operations)
    problem = f"the key {operations[0].key!r} is not of the form NUMBER_OPERATION"
    return Sdsc("" if operations[0].number is not None else problem, operations)


def _operation(key: str, value: object) -> Operation:
    odd: list[str] = []
    if not isinstance(value, dict):
        odd.append(f"it is {_TYPES.get(type(value), 'nothing')}, where an object is expected")
    fields = _Fields(value if isinstance(value, dict) else {}, odd)
    match = _KEY.match(key)
    handle = fields.inner("debug_handle_")
    source = handle.inner("source")
    number, op = (int(match[1]), match[2]) if match else (None, key)
    designs = [design for held in fields.each("dscs_") for name in held.value if (design := held.inner(name)).value]
    return Operation(
        key, number, op, handle.id("id"), handle.text("aten_op"), source.text("file"), source.number("start_line"),
        handle.texts("ir_chain"), handle.texts("fused_from"), fields.number("numCoresUsed_"),
        tuple(dict.fromkeys(dim for design in designs for dim in _dims(design))), fields.inner("numWkSlicesPerDim_").numbers(),
        _slices(fields.inner("coreIdToWkSlice_")), tuple(tensor for design in designs for tensor in _tensors(design)),
        tuple(layout for design in designs for layout in _layouts(design)),
        tuple(compute for design in designs for compute in _computes(design)), tuple(dict.fromkeys(odd)),
    )  # fmt: skip


def _dims(design: _Fields) -> list[tuple[str, int]]:
    """`{"name_": "n", "mb_": 4, "out_": 64}`"""
    extents = design.inner("N_")
    sizes = _Fields({key: value for key, value in extents.value.items() if key != "name_"}, extents.odd, extents.where)
    return [(key.removesuffix("_"), size) for key, size in sizes.numbers()]


def _slices(table: _Fields) -> tuple[tuple[str, PerCore], ...]:
    """`{"0": {"mb": 0, "out": 0}, "1": …}`"""
    by_dim: dict[str, list[tuple[int, int]]] = {}
    for core in table.value:
        if core.isascii() and core.isdigit() and len(core) < 10:
            for dim, piece in table.inner(core).numbers():
                by_dim.setdefault(dim, []).append((int(core), piece))
    return tuple((dim, PerCore(tuple(sorted(values)))) for dim, values in by_dim.items())


@mutable
class _Place:
    """Allocation of a tensor."""

    memory: list[str] = field(default_factory=list)
    dims: tuple[str, ...] = ()
    addresses: PerCore = field(default_factory=lambda: PerCore(()))


def _tensors(design: _Fields) -> list[Tensor]:
    places: dict[int | None, _Place] = {}
    for node in design.each("scheduleTree_"):
        if node.text("nodeType_") == "allocate":
            place = places.setdefault(node.number("ldsIdx_"), _Place())
            place.memory.append(node.text("component_"))
            place.dims = place.dims or node.texts("layoutDimOrder_")
            addresses = node.inner("startAddressCoreCorelet_").inner("data_")
            place.addresses = place.addresses if place.addresses.values else _addresses(addresses.value)
    results = []
    for structure in design.each("labeledDs_"):
        place = places.get(structure.number("ldsIdx_"), _Place())
        results.append(Tensor(
            structure.text("dsName_"), structure.text("dsType_"), structure.text("dataFormat_"), structure.number("wordLength"),
            tuple(dict.fromkeys(filter(None, place.memory))), place.dims, place.addresses,
        ))  # fmt: skip
    return results


def _addresses(table: Mapping[str, object]) -> PerCore:
    """`{"[0, 0, 0]": "-17", …}`: core, corelet and the rest → a decimal string. The first of each core."""
    by_core: dict[int, int] = {}
    for key, value in table.items():
        match = _CORE.match(key)
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if match and isinstance(text, str) and _INTEGER.match(text):
            by_core.setdefault(int(match[1]), int(text))
    return PerCore(tuple(sorted(by_core.items())))


def _layouts(design: _Fields) -> list[Layout]:
    roles = design.inner("primaryDsInfo_")
    results = []
    for role in roles.value:
        role_fields = roles.inner(role)
        sizes = tuple(size for size in role_fields.items("stickSize_") if isinstance(size, int) and not isinstance(size, bool))
        results.append(Layout(role, role_fields.texts("layoutDimOrder_"), role_fields.texts("stickDimOrder_"), sizes))
    return results


def _computes(design: _Fields) -> list[Compute]:
    return [
        Compute(step.text("exUnit"), step.text("opFuncName"), step.texts("inputLabeledDs"), step.texts("outputLabeledDs"))
        for step in design.each("computeOp_")
    ]  # fmt: skip


_DEFINED = lazy_pattern(r"^(?:#\s*)?(\w+) = async_compile\.sdsc\(")
_OP = lazy_pattern(r"""\bOpSpec\(\s*op\s*=\s*(?:'([^'\n]{1,200})'|"([^"\n]{1,200})")""")
_CACHED = lazy_pattern(r"[0-9a-f]{8}_(.+)_[^_]+\Z", re.DOTALL)
MOST_LINES = 20_000
"""Maximum number of lines to read of one list of operations."""


@frozen
class SpyreKernel:
    """A kernel of the generated code."""

    name: str
    ops: tuple[str, ...]
    line: int
    """From 1."""


@frozen
class Dealt:
    """The kernel that a file is of."""

    kernel: str
    place: int
    """Which of the operations of the kernel it is, from 1."""
    of: int
    """How many the kernel has."""
    line: int
    """Of the generated code, from 1; 0 where there is none."""
    agrees: bool
    """Whether code and file name the same operation, as far as both do."""


def kernels_in(lines: Sequence[str]) -> list[SpyreKernel]:
    """Return the kernels that generated code defines for torch-spyre, in order."""
    spyre_kernels: list[SpyreKernel] = []
    n = 0
    while n < len(lines):
        match = _DEFINED.match(lines[n])
        n += 1
        if match is None:
            continue
        first, depth, ops = n, 0, []
        for at in range(n - 1, min(n - 1 + MOST_LINES, len(lines))):
            line = lines[at]
            ops += [found_op[1] or found_op[2] for found_op in _OP.finditer(line)]
            depth += line.count("(") - line.count(")")
            n = at + 1
            if depth <= 0:
                break
        spyre_kernels.append(SpyreKernel(match[1], tuple(ops), first))
    return spyre_kernels


def dealt(kernels: Sequence[SpyreKernel], files: Sequence[tuple[int, str]]) -> dict[int, Dealt]:
    """Map file numbers to kernels. `files`: number and operation ('' if unreadable).

    Surplus files have no kernel.
    """
    places = [(kernel, n) for kernel in kernels for n in range(len(kernel.ops))]
    results = {}
    for number, op in sorted(files):
        if number < len(places):
            kernel, n = places[number]
            results[number] = Dealt(kernel.name, n + 1, len(kernel.ops), kernel.line, not op or op == kernel.ops[n])
    return results


def kernel_of_directory(name: str) -> str:
    """Return the kernel of a directory in torch-spyre's cache; '' for any other name."""
    match = _CACHED.match(name)
    return match[1] if match else ""


_NUMBERED = lazy_pattern(r"\d{1,9}_\w+\Z")
MOST = 200_000
"""Fields up to which a file is taken apart."""


def fields_of(text: str) -> str:
    """Format a JSON object as lines `PATH = VALUE`, without the operation names in the paths.

    Text that is no JSON object is returned unchanged.
    """
    try:
        value = json.loads(text)
        if not isinstance(value, dict) or not value:
            return text
        lines = [f"operation = {key}" for key in value]
        for key, held in value.items():
            lines += _lines("" if _NUMBERED.match(key) and len(value) == 1 else key, held, key.partition("_")[2])
            if len(lines) > MOST:
                return text
    except (ValueError, RecursionError):
        return text
    return "\n".join(lines) + "\n"


def _lines(path: str, value: object, op: str) -> Iterator[str]:
    dot = "." if path else ""
    if isinstance(value, dict) and value:
        for key, held in value.items():
            label = "OP" if key == op else key
            yield from _lines(f"{path}{dot}{label}", held, op)
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        for n, held in enumerate(value):
            yield from _lines(f"{path}[{n}]", held, op)
    else:
        yield f"{path} = {json.dumps(value, ensure_ascii=False)}"


NAME = lazy_pattern(r"sdsc(?:_(\d{1,9}))?\Z")
LIMIT = 16 << 20
"""Stored bytes of a file, or of generated code, that are read."""
parse = parsed(parse_sdsc)


@frozen
class SpyreFile:
    """A file of torch-spyre."""

    ref: str
    record: int
    op: str
    """'' where it cannot be read."""
    of: Dealt | None
    """The kernel that it is of; None where nothing tells."""
    code: str
    """The address of the code that the kernel is defined in; '' where that is not here."""


def is_sdsc(artifact: Artifact) -> bool:
    """Return whether an artifact is a file of torch-spyre."""
    return NAME.match(artifact.name) is not None and artifact.log.kind(artifact.record).encoding == "json"


def sdsc_of(compile_: Compile, record: int) -> Sdsc:
    """Read and parse an operation file of a compile. Raises OSError."""
    payload = compile_.process.log.payload(record)
    return parse(compile_, b"" if payload is None else payload.read())


@part
def files_of(compile_: Compile, reader: Reader) -> tuple[SpyreFile, ...]:
    """Return the operation files of a compile in order. Reads them and the generated code of their units."""
    artifacts = artifacts_of(compile_)
    files = [artifact for artifact in artifacts if is_sdsc(artifact)]
    spyre_files: list[SpyreFile] = []
    for unit in dict.fromkeys(artifact.unit for artifact in files):
        unit_files = [artifact for artifact in files if artifact.unit == unit]
        ops = [(_number(artifact), _op(compile_, artifact)) for artifact in unit_files]
        code = next((a for a in artifacts if a.name == OUTPUT_CODE and a.unit == unit), None)
        places, ref = _places(compile_, reader, code, ops), "" if code is None else str(code.ref)
        spyre_files += [
            SpyreFile(str(artifact.ref), artifact.record, op, places.get(number), ref)
            for artifact, (number, op) in zip(unit_files, ops, strict=True)
        ]  # fmt: skip
    return tuple(spyre_files)


def files_by_kernel(compile_: Compile, others: Iterable[Compile]) -> dict[str, tuple[SpyreFile, ...]]:
    """Map kernels to their files: of the compile, else of an open cache (`others`: all compiles of the run)."""
    by_kernel: dict[str, list[SpyreFile]] = {}
    for file in files_of(compile_):
        if file.of is not None:
            by_kernel.setdefault(file.of.kernel, []).append(file)
    if not by_kernel:
        for other in others:
            if other is not compile_ and (kernel := kernel_of_directory(other.id.name)):
                by_kernel.setdefault(kernel, []).extend(files_of(other))
    return {kernel: tuple(files) for kernel, files in by_kernel.items()}


def _number(artifact: Artifact) -> int:
    match = NAME.match(artifact.name)
    return int(match[1] or 0) if match else 0


def _op(compile_: Compile, artifact: Artifact) -> str:
    try:
        operations = sdsc_of(compile_, artifact.record).operations
    except OSError:
        return ""
    return operations[0].op if len(operations) == 1 else ""


def _places(compile_: Compile, reader: Reader, code: Artifact | None, ops: list[tuple[int, str]]) -> dict[int, Dealt]:
    if code is not None:
        return dealt(kernels_in(reader.text(code.record, LIMIT).split("\n")), ops)
    kernel = kernel_of_directory(compile_.id.name)
    if not kernel:
        return {}
    return {number: Dealt(kernel, n, len(ops), 0, True) for n, (number, _) in enumerate(sorted(ops), 1)}
