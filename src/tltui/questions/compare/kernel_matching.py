"""Kernels of two units, grouped by the graph nodes that they compute."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.ref import at_line
from tltui.questions.compare.comparable_lines import GraphText, graph_text, side_of
from tltui.questions.passes.node_changes import node_pairs
from tltui.questions.provenance.dataflow.value_graph import VIEWS
from tltui.questions.provenance.generated_code import aten_of
from tltui.questions.provenance.provenance import LIMIT, provenance_of
from tltui.questions.provenance.records import POST, Kernel, UnitProvenance
from tltui.text.frozen import frozen
from tltui.text.graphs.fx_graph import FxNode
from tltui.text.normalisation import RankIdentity

Names = tuple[str, ...]
EXTERN, TEMPLATE, GENERATED = "extern", "template", "generated"
_TEMPLATE = re.compile(r"triton_heuristics\.template\(|\w_micro_gemm\w*\(|async_compile\.(?:cuda|rocm|cutlass|cutedsl)\(")
"""A kernel from one of Inductor's templates: Triton's, those in C++, CUTLASS, CK, CuTe."""
_NUMBER = re.compile(r"_\d+$")
_FEATURES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("threads", re.compile(r"num_threads\((\d+)\)")),
    ("heuristic", re.compile(r"triton_heuristics\.(\w+)\(")),
    ("size hints", re.compile(r"size_hints=(\{[^}\n]{0,200}\}|\[[^\]\n]{0,200}\])")),
    ("warps", re.compile(r"num_warps=(\d+)")),
    ("stages", re.compile(r"num_stages=(\d+)")),
)
"""What of the configuration of a kernel its code has, by name."""
_STEP = re.compile(r"\+=\(?static_cast<int64_t>\((\d{1,9})L?\)")
"""The elements by which a loop in C++ advances."""
_CPP, _VECTORS, _SYMBOLIC = re.compile(r"async_compile\.cpp|#include"), "at::vec::", re.compile(r"\bks\d+\b")


@frozen
class UnitKernel:
    """A kernel call and the properties that are compared."""

    kernel: Kernel
    ref: str
    """The address of the line that calls it; '' without code."""
    implementation: str
    """`extern`: a function of a library; `template`: one of Inductor's templates; `generated`."""
    code: tuple[Hashable, ...]
    """Its code without its name and without run-dependent parts; of an extern kernel the function."""
    features: tuple[tuple[str, str], ...]
    """The configuration in its code: name and value."""
    moved_bytes: int | None

    @property
    def stem(self) -> str:
        """Its name without the number of the kernel."""
        return _NUMBER.sub("", self.kernel.name)


@frozen
class UnitKernels:
    """The kernels of one unit of a compile."""

    unit: str
    kernels: tuple[UnitKernel, ...]
    graph: GraphText | None
    """The post-grad graph; None without one."""

    @property
    def nodes(self) -> tuple[FxNode, ...]:
        """The nodes of the graph."""
        return () if self.graph is None else self.graph.graph.nodes


@frozen
class Group:
    """Kernels of both sides that compute the same nodes; one side may be empty. Numbers are places in `UnitKernels.kernels`."""

    left: tuple[int, ...]
    right: tuple[int, ...]


def kernels_of(compile_: Compile, identity: RankIdentity) -> tuple[UnitKernels, ...]:
    """Return the kernels of each unit of a compile. `identity`: the device and the ranks that count as the same. Raises OSError."""
    artifacts = {str(artifact.ref): artifact for artifact in artifacts_of(compile_)}
    texts: dict[str, str] = {}

    def text(ref: str) -> str:
        if ref not in texts:
            texts[ref] = _text(compile_, artifacts[ref]) if ref in artifacts else ""
        return texts[ref]

    provenance = provenance_of(compile_)
    from tltui.questions.layers.layer_kernels import layers_of  # the first screen imports this module, and needs no layers

    costs = {unit.unit: unit.costs for unit in layers_of(compile_, provenance).units}
    results = []
    for unit in provenance.units:
        moved = {key: cost.moved_bytes for key, cost in costs.get(unit.unit, {}).items()}
        codes = {pane.ref: text(pane.ref).split("\n") for pane in unit.panes if pane.ref and pane.kind != "source"}
        graph = graph_text(text(unit.panes[POST].ref)) if unit.panes[POST].ref else None
        kernels = tuple(_kernel(unit, kernel, codes, moved.get(kernel.key), identity) for kernel in unit.kernels)
        results.append(UnitKernels(unit.unit, kernels, graph if graph is not None and graph.understood else None))
    return tuple(results)


def _text(compile_: Compile, artifact: Artifact) -> str:
    text = reader_of(compile_).text(artifact.record, LIMIT)
    return text.replace("\r\n", "\n") if "\r\n" in text else text


def _kernel(
    unit: UnitProvenance, kernel: Kernel, codes: Mapping[str, list[str]], moved_bytes: int | None, identity: RankIdentity
) -> UnitKernel:
    caller = unit.panes[kernel.call_pane].ref
    ref = at_line(caller, kernel.call_lines[0]) if caller and kernel.call_lines else ""
    lines = codes.get(unit.panes[kernel.definition_pane].ref, [])
    if kernel.definition is None:
        return UnitKernel(kernel, ref, EXTERN, (kernel.name,), (), moved_bytes)
    first, last = kernel.definition
    text = "\n".join(lines[first - 1 : last])
    code = side_of(text.replace(kernel.name, "‹kernel›"), "text", identity).keys
    return UnitKernel(kernel, ref, TEMPLATE if _TEMPLATE.search(text) else GENERATED, code, _features(text), moved_bytes)


def _features(text: str) -> tuple[tuple[str, str], ...]:
    values = [(name, ", ".join(dict.fromkeys(pattern.findall(text)))) for name, pattern in _FEATURES]
    if _CPP.search(text):
        widest = max(map(int, _STEP.findall(text)), default=0)
        values.append(("C++", (f"vectorized by {widest}" if widest > 1 else "vectorized") if _VECTORS in text else "scalar"))
    values.append(("sizes", "dynamic" if _SYMBOLIC.search(text) else "static"))
    return tuple((name, value) for name, value in values if value)


def groups_of(left: UnitKernels, right: UnitKernels) -> tuple[Group, ...]:
    """Group the kernels of two units, in the order of the right side; kernels of the left side alone come last.

    If the code of all kernels is equal in order, each is paired with its counterpart. Otherwise kernels that compute a node
    in common are one group; of the others, those with equal code, lines or names are pairs.
    """
    if [(k.implementation, k.code) for k in left.kernels] == [(k.implementation, k.code) for k in right.kernels]:
        return tuple(Group((n,), (n,)) for n in range(len(left.kernels)))
    partners = _partners(left, right)
    names = _nodes(left, {}), _nodes(right, partners)
    groups = _Union(len(left.kernels), len(right.kernels))
    _join_sharing(groups, left, right, names)
    for key in (_by_code, _by_lines, _by_name):
        waiting: dict[Hashable, list[int]] = defaultdict(list)
        for x in groups.alone(0):
            if (value := key(left.kernels[x])) is not None:
                waiting[value].append(x)
        for y in groups.alone(1):
            if (value := key(right.kernels[y])) is not None and waiting.get(value):
                groups.join(waiting[value].pop(0), y)
    _join_unknown(groups, names, ({node.name for node in left.nodes}, set(partners.values())))
    return groups.ordered()


def _join_sharing(groups: _Union, left: UnitKernels, right: UnitKernels, names: tuple[Sequence[Names], Sequence[Names]]) -> None:
    """Put kernels that share a node into one group.

    A node in several kernels of a side is computed again in each: it joins kernels only if nothing else does, first those with
    equal code.
    """
    weak = []
    equal: tuple[set[int], set[int]] = (set(), set())
    for x, y, is_only_there, common in _sharing(*names):
        if is_only_there:
            groups.join(x, y)
        else:
            a, b = left.kernels[x], right.kernels[y]
            weak.append((-common, a.code != b.code, a.stem != b.stem, x, y))
    for *_, x, y in sorted(weak):
        if groups.is_alone(0, x) and groups.is_alone(1, y):
            groups.join(x, y)
            if left.kernels[x].code == right.kernels[y].code:
                equal[0].add(x)
                equal[1].add(y)
    for *_, x, y in sorted(weak):  # a kernel with equal code on the other side was not split
        if (groups.is_alone(0, x) or groups.is_alone(1, y)) and x not in equal[0] and y not in equal[1]:
            groups.join(x, y)


def _join_unknown(groups: _Union, names: tuple[Sequence[Names], Sequence[Names]], graphs: tuple[set[str], set[str]]) -> None:
    """Put kernels with unknown nodes into the one group with nodes that no other kernel of their side computes."""
    for side in (0, 1):
        without = [n for n, of_kernel in enumerate(names[side]) if not of_kernel]
        unknown = [n for n in without if groups.is_alone(side, n)]
        may_be_complete = {groups.root(side, n) for n in without}
        computed = {name for of_kernel in names[side] for name in of_kernel}
        roots = {
            groups.root(1 - side, n): n for n, of_kernel in enumerate(names[1 - side])
            if any(name in graphs[side] and name not in computed for name in of_kernel)
        }  # fmt: skip
        incomplete = {root: n for root, n in roots.items() if root not in may_be_complete}
        if len(incomplete) == 1:
            [other] = incomplete.values()
            for n in unknown:
                groups.join(*((n, other) if side == 0 else (other, n)))


def _by_code(kernel: UnitKernel) -> Hashable:
    return kernel.implementation, kernel.code


def _by_lines(kernel: UnitKernel) -> Hashable:
    return kernel.kernel.user_lines or None


def _by_name(kernel: UnitKernel) -> Hashable:
    return kernel.stem


def _sharing(left: Sequence[Names], right: Sequence[Names]) -> Iterator[tuple[int, int, bool, int]]:
    """Yield the kernels that share nodes: left, right, whether one of the nodes is in no other kernel, and their number."""
    counts = [Counter(name for names in side for name in names) for side in (left, right)]
    holders: dict[str, list[int]] = defaultdict(list)
    for x, names in enumerate(left):
        for name in names:
            holders[name].append(x)
    for y, names in enumerate(right):
        only = {x for name in names if counts[0][name] == counts[1][name] == 1 for x in holders[name]}
        shared = Counter(x for name in names for x in holders.get(name, ()))
        for x, common in shared.items():
            yield x, y, x in only, common


def _partners(left: UnitKernels, right: UnitKernels) -> dict[str, str]:
    """Map each node of the right graph to the same node of the left one, or to a name of its own."""
    if left.graph is None or right.graph is None:
        return {}
    outermost = (side.graph.graph.graphs for side in (left, right) if side.graph is not None)
    roots = [{n for n, graph in enumerate(graphs) if graph.parent < 0} for graphs in outermost]
    pairs = node_pairs(left.graph, right.graph)
    partners = {b.name: a.name for a, b in pairs if a.graph in roots[0] and b.graph in roots[1]}
    renamed = {node.name for node in right.nodes if node.graph in roots[1]}
    return {name: partners.get(name, f"+{name}") for name in renamed}


def _nodes(unit: UnitKernels, partners: Mapping[str, str]) -> list[Names]:
    """Return the nodes of each kernel under their names on the left side; views only where a kernel has no other node."""
    views = {
        node.name for node in unit.nodes
        if node.kind == "getitem" or aten_of(node).partition(".")[2] in VIEWS
    }  # fmt: skip
    results = []
    for item in unit.kernels:
        kernel = item.kernel
        names: Iterable[str] = kernel.post_nodes or kernel.pre_nodes
        names = [name for name in names if name not in views] or names
        if kernel.function:
            results.append(tuple(f"{kernel.function}.{name}" for name in names))
        else:
            results.append(tuple(partners.get(name, name) for name in names) if kernel.post_nodes else tuple(names))
    return results


class _Union:
    """Groups of kernels that grow together."""

    def __init__(self, left: int, right: int) -> None:
        self._sizes = left, right
        self._parents = list(range(left + right))
        self._joined: set[int] = set()

    def join(self, x: int, y: int) -> None:
        """Put a kernel of the left and one of the right into one group."""
        y += self._sizes[0]
        self._joined |= {x, y}
        a, b = self._root(x), self._root(y)
        self._parents[max(a, b)] = min(a, b)

    def root(self, side: int, n: int) -> int:
        """Return a number of the group of a kernel."""
        return self._root(n + self._sizes[0] * side)

    def is_alone(self, side: int, n: int) -> bool:
        """Return whether a kernel of a side (0, 1) has no partner."""
        return n + self._sizes[0] * side not in self._joined

    def alone(self, side: int) -> list[int]:
        """Return the kernels of a side without a partner."""
        return [n for n in range(self._sizes[side]) if self.is_alone(side, n)]

    def ordered(self) -> tuple[Group, ...]:
        """Return the groups by their first kernel on the right; those without one come last."""
        left, right = self._sizes
        members: dict[int, tuple[list[int], list[int]]] = {}
        for n in (*range(left, left + right), *range(left)):
            sides = members.setdefault(self._root(n), ([], []))
            sides[n >= left].append(n - left if n >= left else n)
        return tuple(Group(tuple(a), tuple(b)) for a, b in members.values())

    def _root(self, n: int) -> int:
        while self._parents[n] != n:
            self._parents[n] = self._parents[self._parents[n]]
            n = self._parents[n]
        return n


def names_of(kernels: Sequence[UnitKernel]) -> tuple[str, ...]:
    """Return the nodes of kernels, each once."""
    return tuple(dict.fromkeys(name for item in kernels for name in item.kernel.post_nodes or item.kernel.pre_nodes))
