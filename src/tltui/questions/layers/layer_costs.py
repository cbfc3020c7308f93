"""Layers and static kernel costs: records, module names, JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import lru_cache

from tltui.model.record_reader import list_in, text_in
from tltui.questions.provenance.graph_names import GraphText
from tltui.questions.provenance.records import KERNEL, Kernel
from tltui.text.frozen import frozen
from tltui.text.graphs.fx_graph import FxNode
from tltui.text.torch_names import Parameter, unwrapped

MERGED = "*"
"""Stands for the number of an iteration where iterations are merged: `layers.*.attn`."""


@frozen
class StaticCost:
    """Cost of a kernel read from generated code. None: not in the code."""

    loads: int | None = None
    """Buffers that C++ reads; of Triton the loads in its code, as Inductor counts them."""
    stores: int | None = None
    reductions: int | None = None
    """Of Triton; C++ does not say."""
    moved_bytes: int | None = None
    """Read and written, by the sizes of the buffers: each whole, once for each pointer to it."""
    estimated_us: float | None = None
    """Inductor's estimate, where it was logged."""


@frozen
class Layer:
    """A module of the model: `layers.3.attn`. The outermost is ''."""

    path: str
    parent: int
    """Its place in `UnitLayers.layers`; -1 for the outermost."""
    pre: tuple[str, ...]
    """Pre-grad nodes of it and of what it holds, in the order of the graph."""
    post: tuple[str, ...]
    kernels: tuple[str, ...]
    """Keys of kernels (`Kernel.key`) that compute something of it. A kernel may be in several layers."""
    alone: tuple[str, ...]
    """Those of them that compute nothing outside of it."""
    lines: tuple[str, ...]
    """`FILE:LINE`, the user's own first."""
    cost: StaticCost = field(default_factory=StaticCost)
    """Of those of `kernels` together of which it is known."""
    priced: int = 0
    """How many of `kernels` those are, for the bytes."""


@frozen
class Site:
    """A line on the way from the outermost caller to an operation: a node of the call tree of a unit."""

    file: str
    line: int
    function: str
    parent: int
    """-1 at the top."""
    kernels: tuple[str, ...]
    post_nodes: tuple[str, ...]


@frozen
class UnitLayers:
    """The layers and call sites of one unit, in the order in which they first run."""

    unit: str
    layers: tuple[Layer, ...]
    sites: tuple[Site, ...]
    of_pre: dict[str, str]
    """Pre-grad node → path of its innermost layer."""
    of_post: dict[str, str]
    of_kernel: dict[str, tuple[str, ...]]
    """Key of a kernel → its innermost layers."""
    unknown: int
    """Kernels of which no layer is known."""
    why: str
    """Why there are no layers, or not all; '' where all is known."""
    costs: dict[str, StaticCost]
    """Key of a kernel → its cost."""


@frozen
class Layers:
    """All units of a compile."""

    ref: str
    units: tuple[UnitLayers, ...]

    def unit(self, name: str) -> UnitLayers | None:
        """Return the unit of a name."""
        return next((unit for unit in self.units if unit.unit == name), None)


_SIGNATURE = re.compile(r"^\s*#?\s*(?P<name>\w+): (?:PARAMETER|BUFFER)\b[^\n]*?target='(?P<path>[^'\n]+)'", re.M)
_MODULE = re.compile(r"_modules\['([^'\]]+)'\]")
_SOURCE = re.compile(r"^[LG]\['(\w+)'\]")
_STEP = re.compile(r"\.(\w+)|\['([^'\]]+)'\]|\[(\d+)\]")
_NAMED = r"(?:\.(?!_)\w{1,200}|\['(?!_)[^'\]\n]{1,200}'\])"
_HELD = rf"({_NAMED}(?:{_NAMED}|\[\d{{1,9}}\]){{0,7}})"
"""The steps from a variable to a module in a list, a dictionary or an attribute of an object that is no module."""
_IN_OBJECT = re.compile(rf"{_HELD}(?=\._)")
_IN_OBJECTS = re.compile(rf"[LG]\['(\w+)'\]{_HELD}\._(?:modules|parameters|buffers)\b")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9]+")
IN_DICTIONARY = ".__dict__['_modules']"
"""Modules in guards of a class with a `__getattr__`, like the models of diffusers."""
_NUMBER = re.compile(r"(?:^|\.)\d+(?=\.|$)")


def signature_of(text: str) -> dict[str, Parameter]:
    """Return the parameters of an exported program: graph name → module, from the signature after the graph."""
    results = {}
    for line in _SIGNATURE.finditer(text):
        *modules, attribute = line["path"].split(".")
        results[line["name"]] = Parameter("", unwrapped(tuple(modules)), attribute)
    return results


@lru_cache(maxsize=1 << 13)
def source_path(source: str) -> tuple[str, tuple[str, ...]] | None:
    """Split a source into variable and module path; None if no variable holds it.

    `L['self']._modules['layers']._modules['0']` → `self` and `layers`, `0`; so is a module in a Python list: `L['self'].layers[0]`,
    and one in a dictionary or in an attribute of an object.
    """
    root = _SOURCE.match(source)
    if root is None:
        return None
    rest = source[root.end() :]
    if not rest or "_modules[" in rest:
        held = _steps(in_object[1]) if (in_object := _IN_OBJECT.match(rest)) is not None else ()
        return root[1], unwrapped(tuple(_as_in_names(word) for word in (*held, *_MODULE.findall(rest))))
    return root[1], unwrapped(tuple(map(_as_in_names, _steps(rest))))


def modules_in_lists(guards: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the modules in lists, dictionaries and plain objects: name in graphs (`self_layers_0`) → `self` and `layers`, `0`."""
    held = {match.groups() for match in _IN_OBJECTS.finditer(guards)}
    paths = {(root, tuple(map(_as_in_names, _steps(steps)))) for root, steps in held}
    return {"_".join((root, *path)): (root, path) for root, path in paths}


def _steps(text: str) -> list[str]:
    """Return the names, keys and numbers of `.layers['first'][0]`."""
    return [a or b or c for a, b, c in _STEP.findall(text)]


def _as_in_names(word: str) -> str:
    """Return a module path in the spelling of Dynamo's node names."""
    return word if word.isascii() and word.isalnum() else _NOT_IN_NAMES.sub("_", word).strip("_")


def merged(path: str) -> str:
    """Replace the numbers in a path by `*`, so that iterations share it."""
    return _NUMBER.sub(lambda match: match[0].rstrip("0123456789") + MERGED, path) if any(map(str.isdigit, path)) else path


def is_below(path: str, other: str) -> bool:
    """Return whether a module is `other` or nested in it."""
    return not other or path == other or path.startswith(other + ".")


WIDE = 20_000
"""Columns of a line that are read."""
_META = re.compile(r"'(num_load|num_store|num_reduction|kernel_num_gb)': ([0-9.e+-]{1,30})")
_POINTER = re.compile(r"(?:const )?([\w:]+)\s*\*\s*(?:__restrict__\s+)?((?:in_out|in|out)_ptr\d+)\b")
_TRITON = re.compile(r"^\s*def \w+\(([^)]*)\)")
_SIZED = re.compile(
    r"(?:\b(\w+) = empty_strided\w*|\bassert_size_stride|\b(\w+) = reinterpret_tensor|reinterpret_tensor)"
    r"\((?:(\w+), )?\(([\d, ]*)\), \(([\d, ]*)\)"
)
_DTYPE = re.compile(r"\b(\w+) = empty_strided\w*\([^)]*\)?, \([\d, ]*\), torch\.(\w+)\)")
_SAME = re.compile(r"^\s*(\w+) = (\w+)(?:;|$)")
_ARGUMENT = re.compile(r"reinterpret_tensor\(\w+, \([\d, ]*\), \([\d, ]*\), \d+\)|[A-Za-z_]\w*|-?\d+")
_VIEW = re.compile(
    r"^torch\.ops\.aten\.(?:view|reshape|_unsafe_view|permute|t|transpose|expand|squeeze|unsqueeze|slice|select|split|detach|alias"
    r"|as_strided)\."
)
_TYPE = re.compile(r"^(b|u|i|f|c|bf)(\d+)(?:\w*?)\[([\d, ]*)\](?:\[([\d, ]*)\])?")
_C_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "at::Half": 2, "at::BFloat16": 2, "bool": 1, "uint8_t": 1, "int8_t": 1,
    "int16_t": 2, "int32_t": 4, "int64_t": 8, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8,
}  # fmt: skip
_DTYPE_BYTES = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "complex64": 8, "complex128": 16, "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip


def costs_of_unit(
    kernels: Sequence[Kernel], code: Sequence[str], wrapper_code: Sequence[str], post: GraphText | None, estimates: object
) -> dict[str, StaticCost]:
    """Map kernel keys to static costs.

    `code` are the lines of the caller, `elsewhere` those of AOTInductor's kernels, `estimates` the parsed artifact.
    """
    buffers = _buffers(code, post)
    estimated = _estimated(kernels, estimates)
    results = {}
    for kernel in kernels:
        cost = _of_kernel(kernel, code, wrapper_code if kernel.definition_pane == KERNEL else code, buffers, post)
        if kernel.key in estimated:
            cost = StaticCost(cost.loads, cost.stores, cost.reductions, cost.moved_bytes, estimated[kernel.key])
        if cost != StaticCost():
            results[kernel.key] = cost
    return results


def together(costs: Iterable[StaticCost]) -> StaticCost:
    """Sum costs over kernels; each field over the kernels that have it, None if none has."""
    cost_list = list(costs)

    def added(values: Iterable[int | None]) -> int | None:
        known_values = [value for value in values if value is not None]
        return sum(known_values) if known_values else None

    times = [cost.estimated_us for cost in cost_list if cost.estimated_us is not None]
    return StaticCost(
        added(cost.loads for cost in cost_list), added(cost.stores for cost in cost_list),
        added(cost.reductions for cost in cost_list), added(cost.moved_bytes for cost in cost_list), sum(times) if times else None,
    )  # fmt: skip


@frozen
class _Buffer:
    numbers: int
    """Of elements in memory."""
    size: int | None
    """Bytes of one."""


def _numbers(sizes: str, strides: str) -> int:
    """Return the number of elements of a tensor in memory: an expanded dimension counts one."""
    shape = [int(size) for size in sizes.split(",") if size.strip()]
    steps = [int(stride) for stride in strides.split(",") if stride.strip()] or [1] * len(shape)
    count = 1
    for size, stride in zip(shape, steps, strict=False):
        count *= size if stride else 1
    return count


def _buffers(code: Sequence[str], post: GraphText | None) -> dict[str, _Buffer]:
    """Return the static sizes of names in the code; arguments have the types of the graph.

    A name with different sizes (in a partition or a subgraph) has none.
    """
    buffers: dict[str, _Buffer | None] = {}
    for node in post.nodes if post is not None else ():
        if node.kind == "placeholder" and node.graph == 0 and (kind := _TYPE.match(node.type)):
            buffers[node.name] = _Buffer(_numbers(kind[3], kind[4] or ""), max(int(kind[2]) // 8, 1))

    def put(name: str, buffer: _Buffer) -> None:
        old = buffers.get(name, buffer)
        buffers[name] = None if old is None or old.numbers != buffer.numbers else _Buffer(buffer.numbers, buffer.size or old.size)

    for line in code:
        text = line[:WIDE]
        if "_strided" in text or "_stride(" in text or "reinterpret_tensor" in text:
            for match in _SIZED.finditer(text):
                name = match[1] or match[2] or (match[3] if "assert_size_stride" in match[0] else "")
                if name:
                    dtype = _DTYPE.search(text) if match[1] else None
                    put(name, _Buffer(_numbers(match[4], match[5]), _DTYPE_BYTES.get(dtype[2]) if dtype else None))
        elif " = " in text and (same := _SAME.match(text)) and (old := buffers.get(same[2])) is not None:
            put(same[1], old)
    return {name: buffer for name, buffer in buffers.items() if buffer is not None}


def _of_kernel(
    kernel: Kernel, code: Sequence[str], kernel_code: Sequence[str], buffers: dict[str, _Buffer], post: GraphText | None
) -> StaticCost:
    if kernel.definition is None:
        return _of_node(kernel, post)
    lines = kernel_code[kernel.definition[0] - 1 : kernel.definition[1]]
    meta = {match[1]: float(match[2]) for line in lines if "inductor_meta" in line for match in _META.finditer(line[:WIDE])}
    pointers = _pointers(lines)
    moved = _moved(kernel, code, buffers, pointers)
    if "num_load" in meta:
        if "kernel_num_gb" in meta:
            moved = round(meta["kernel_num_gb"] * 1e9)
        stores = int(meta["num_store"]) if "num_store" in meta else _written(pointers)
        return StaticCost(int(meta["num_load"]), stores, int(meta["num_reduction"]) if "num_reduction" in meta else None, moved)
    if not pointers:
        return StaticCost()
    return StaticCost(sum(name.startswith("in") for name, _ in pointers), _written(pointers), None, moved)


def _written(pointers: Sequence[tuple[str, int | None]]) -> int | None:
    return sum(name.startswith(("out", "in_out")) for name, _ in pointers) if pointers else None


def _pointers(lines: Sequence[str]) -> list[tuple[str, int | None]]:
    """Return the pointers of a kernel signature in order, with bytes per element; '' for other arguments."""
    for n, line in enumerate(lines):
        if triton := _TRITON.match(line[:WIDE]):
            names = [part.strip().partition(":")[0] for part in triton[1].split(",")]
            return [(name if "_ptr" in name else "", None) for name in names if name]
        if "kernel(" in line and "void" in line:
            head = ""
            for other in lines[n : n + 400]:
                head += other[:WIDE]
                if ")" in other:
                    break
            return [
                (match[2], _C_BYTES.get(match[1])) if (match := _POINTER.search(part)) else ("", None)
                for part in head.partition("(")[2].rpartition(")")[0].split(",")
            ]  # fmt: skip
    return []


def _moved(
    kernel: Kernel, code: Sequence[str], buffers: dict[str, _Buffer], pointers: Sequence[tuple[str, int | None]]
) -> int | None:
    """Return the bytes that one call reads and writes."""
    if not pointers or not kernel.call_lines:
        return None
    text = " ".join(code[line - 1].strip()[:WIDE] for line in kernel.call_lines if 0 < line <= len(code))
    given = _ARGUMENT.findall(text.partition("(")[2])
    if len(given) < len(pointers):
        return None
    total = 0
    for (name, size), argument in zip(pointers, given, strict=False):
        if not name:
            continue
        buffer = _argument(argument, buffers)
        each = size or (buffer.size if buffer is not None else None)
        if buffer is None or each is None:
            return None
        total += buffer.numbers * each * (2 if name.startswith("in_out") else 1)
    return total


def _argument(text: str, buffers: dict[str, _Buffer]) -> _Buffer | None:
    sized = _SIZED.search(text)
    if sized is None:
        return buffers.get(text)
    allocated = buffers.get(sized[3] or "")
    return _Buffer(_numbers(sized[4], sized[5]), allocated.size if allocated is not None else None)


def _of_node(kernel: Kernel, post: GraphText | None) -> StaticCost:
    """Return the cost of an external kernel from its only graph node that is no view."""
    if post is None:
        return StaticCost()
    nodes = post.nodes_in(kernel.function, kernel.post_nodes)
    nodes = [node for node in nodes if node.kind == "call" and not _VIEW.match(node.target)]
    if len(nodes) != 1:
        return StaticCost()
    reads = post.graph.producers(nodes[0])
    sizes = [_bytes(node) for node in (*reads, nodes[0])]
    sized = [size for size in sizes if size is not None]
    return StaticCost(len(reads), 1, None, sum(sized) if len(sized) == len(sizes) else None)


def _bytes(node: FxNode) -> int | None:
    """Return the bytes of a tensor with a type in the graph: `f32[8, 16][16, 1]cpu`."""
    match = _TYPE.match(node.type)
    if match is None:
        return None
    return _numbers(match[3], match[4] or "") * max(int(match[2]) // 8, 1)


def _estimated(kernels: Sequence[Kernel], estimates: object) -> dict[str, float]:
    """Key of a kernel → µs, as Inductor estimated it."""
    ops = [(text_in(op, "name") or "", op.get("estimated_runtime_ns")) for op in list_in(estimates, "ops") if isinstance(op, dict)]
    named_times = [(name, float(ns) / 1000) for name, ns in ops if isinstance(ns, (int, float)) and not isinstance(ns, bool)]
    if not named_times or len(named_times) != len(ops):
        return {}
    if len(named_times) == len(kernels):
        pairs = list(zip(named_times, kernels, strict=True))
        if all(name == kernel.name or "." not in name for (name, _), kernel in pairs):
            return {kernel.key: us for (_, us), kernel in pairs}
    results: dict[str, float] = {}
    for name in dict.fromkeys(name for name, _ in named_times):
        times = [us for other, us in named_times if other == name]
        keys = [kernel.key for kernel in kernels if kernel.name == name]
        if len(keys) == len(times):
            results.update(zip(keys, times, strict=True))
    return results


@frozen
class KernelCost:
    """A kernel of a layer, in the order of the code."""

    key: str
    """As in provenance: `NAME:HANDLE`, or `NAME`."""
    layers: tuple[str, ...]
    """The innermost layers that it computes something of."""
    nodes: tuple[str, ...]
    """Post-grad nodes."""
    lines: tuple[str, ...]
    """`FILE:LINE`."""
    cost: StaticCost
    measured_us: float | None
    """Measured, with a profile: in all, or a step on average."""


@frozen
class LayerCost:
    """A layer, or with `--merge` all iterations of one."""

    path: str
    """The outermost is ''."""
    iterations: int
    """The number of layers in this row."""
    kernels: int
    kernels_only_here: int
    """Kernels that compute nothing outside of it."""
    nodes: int
    """Post-grad nodes."""
    lines: tuple[str, ...]
    cost: StaticCost
    """Of the kernels of which it is known together."""
    kernels_with_bytes: int
    """Of how many kernels the bytes are known."""
    measured_us: float | None
    """Measured: the whole time of the kernels that are in it. Such figures of several layers are never added."""


@frozen
class UnitCosts:
    """One lowering."""

    unit: str
    reason: str
    """Why layers are not known, or not of all kernels; ''."""
    unknown_kernels: int
    """Kernels of which no layer is known."""
    layers: tuple[LayerCost, ...]
    kernels: tuple[KernelCost, ...]
    sites: tuple[Site, ...]
    """The call tree; () where one layer was asked for."""


@frozen
class CompileLayers:
    """The layers of a compile."""

    ref: str
    layer: str
    """The layer that was asked for; '' for all."""
    units: tuple[UnitCosts, ...]
