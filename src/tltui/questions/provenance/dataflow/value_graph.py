"""Values of a post-grad graph, and the nodes that Inductor's lowering attaches to a read value."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import field

from tltui.questions.provenance.graph_names import COMPUTED, GraphText
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.fx_graph import QUOTED, FxNode, split

VIEWS = frozenset((
    "_unsafe_view", "alias", "as_strided", "chunk", "detach", "diagonal", "expand", "lift_fresh", "lift_fresh_copy", "permute",
    "reshape", "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsafe_split",
    "unsqueeze", "view",
))  # fmt: skip
"""Operators whose result shows the memory of their first argument."""
SPLITS = frozenset(("split", "split_with_sizes", "unsafe_split", "unbind", "chunk"))
"""Those of them with several results."""
COPIES = frozenset(("clone", "contiguous"))
"""Operators that Inductor may leave out: their result equals their argument."""
_TYPE = re.compile(r"^([A-Za-z]\w*)\[([^\]]*)\]")
_STRIDES = re.compile(r"^[A-Za-z]\w*\[[^\]]*\]\[([^\]]*)\]")
_TARGET = re.compile(r"^(?:torch\.)?ops\.(\w+)\.(\w+)")
_WORD = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?!\s*=(?!=))(?![\w.(])")
_ITEM = re.compile(r"\[(\d{1,6})\]\s*$")
MAX_VIEWS = 1000


@frozen
class Shape:
    """The dtype, device, sizes and strides of a tensor, as far as a text states them."""

    dtype: str
    sizes: tuple[str, ...]

    @property
    def count(self) -> int | None:
        """The number of elements; None with symbolic sizes."""
        count = 1
        for size in self.sizes:
            if not (size.isascii() and size.isdigit() and len(size) < 16):
                return None
            count *= int(size)
        return count


def shape_of(text: str) -> Shape | None:
    """Parse a shape as torch annotates nodes: `f32[8, 16][16, 1]cpu`."""
    match = _TYPE.match(text)
    if match is None:
        return None
    return Shape(match[1], tuple(part for item in match[2].split(",") if (part := item.strip())))


def strides_of(text: str) -> tuple[str, ...]:
    """Parse the strides of `f32[8, 16][16, 1]cpu`; () without any."""
    match = _STRIDES.match(text)
    return tuple(part for item in match[1].split(",") if (part := item.strip())) if match else ()


def fits(shape: Shape | None, other: Shape | None) -> bool:
    """Return whether two shapes can share memory: equal element count and dtype.

    Unknown parts fit everything.
    """
    if shape is None or other is None:
        return True
    if shape.dtype != other.dtype:
        return False
    count, other_count = shape.count, other.count
    return count is None or other_count is None or count == other_count


@mutable
class Value:
    """A graph node with its inputs and shape."""

    name: str
    kind: str
    op: str = ""
    """The operator without namespace and overload: `mm`, `getitem`."""
    operands: tuple[str, ...] = ()
    """The input nodes in order; a repeated one is listed twice."""
    shape: Shape | None = None
    type: str = ""
    item: int = -1
    """The index of a getitem."""
    attribute: str = ""
    """The last part of the name of a get_attr."""
    higher: bool = False
    """Whether it is a higher-order operator, which runs subgraphs."""
    begins: int | None = None
    """Where in an input of the graph a view of it begins; None for other nodes, and if unknown."""


@mutable
class Values:
    """The values of one graph."""

    number: int
    """The index in `FxGraph.graphs`."""
    nodes: dict[str, Value] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)
    users: dict[str, list[str]] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: tuple[str, ...] = ()
    """The returned nodes, in order; '' for a value that is no node."""
    by_op: dict[str, list[str]] = field(default_factory=dict)
    _roots: dict[str, str] = field(default_factory=dict)
    _plain: dict[str, str] = field(default_factory=dict)

    def root(self, name: str) -> str:
        """Return the value whose memory a node views."""
        return self._up(name, self._roots, False)

    def plain(self, name: str) -> str:
        """Return the value with equal elements, through views and copies."""
        return self._up(name, self._plain, True)

    def same(self, name: str, other: str) -> bool:
        """Return whether two nodes may be one buffer."""
        return self.plain(name) == self.plain(other)

    def is_view(self, name: str) -> bool:
        """Return whether a node is a view of another node's memory."""
        node = self.nodes.get(name)
        if node is None or not node.operands:
            return False
        if node.op == "getitem":
            source = self.nodes.get(node.operands[0])
            return source is not None and source.op in SPLITS
        return node.op in VIEWS

    def _up(self, name: str, cache: dict[str, str], copies: bool) -> str:
        way: list[str] = []
        while name not in cache and len(way) < MAX_VIEWS:
            node = self.nodes.get(name)
            if node is None or not (self.is_view(name) or (copies and node.op in COPIES and node.operands)):
                break
            way.append(name)
            name = node.operands[0]
        root = cache.get(name, name)
        for other in way:
            cache[other] = root
        return root


def values_of(graph: GraphText) -> dict[int, Values]:
    """Return the graphs of a text by their index in it."""
    results: dict[int, Values] = {}
    outputs: dict[int, tuple[str, ...]] = {}
    for node in graph.nodes:
        values = results.setdefault(node.graph, Values(node.graph))
        text = _statement(graph.text, node)
        if node.kind == "output":
            values.outputs = _returned(text)
            outputs[node.graph] = values.outputs
        elif node.name not in values.nodes:
            _add(values, node, text)
    for values in results.values():
        values.outputs = tuple(name if name in values.nodes else "" for name in values.outputs)
    return results


def _add(values: Values, node: FxNode, text: str) -> None:
    target = _TARGET.match(node.target.removeprefix("torch."))
    op = "getitem" if node.kind == "getitem" else target[2] if target else node.target.rpartition(".")[2] or node.kind
    operands = tuple(word for word in _WORD.findall(QUOTED.sub("''", text.partition(" = ")[2])) if word in values.nodes)
    if len(set(operands)) < len(node.args):  # a statement of several lines
        operands = tuple(name for name in node.args if name in values.nodes)
    operands = tuple(name for name in operands if not values.nodes[name].type.startswith("Sym("))  # sizes are no tensors
    item = _ITEM.search(text) if node.kind == "getitem" else None
    value = Value(
        node.name, node.kind, op, operands, shape_of(node.type), node.type, int(item[1]) if item else -1,
        node.target.rpartition(".")[2] if node.kind == "get_attr" else "", bool(target and target[1] == "higher_order"),
    )  # fmt: skip
    value.begins = _begins(values, value, text)
    values.order[node.name] = len(values.nodes)
    values.nodes[node.name] = value
    if node.kind == "placeholder":
        values.inputs.append(node.name)
    elif node.kind in COMPUTED:
        values.by_op.setdefault(op, []).append(node.name)
    for name in dict.fromkeys(operands):
        values.users.setdefault(name, []).append(node.name)


_PARTS = re.compile(r"\.(select\.int|slice\.Tensor)\(\w+, (\d{1,3}), (\d{1,15})\b")
SAME_BEGIN = frozenset(("alias", "expand", "permute", "squeeze", "t", "transpose", "unsqueeze"))


def _begins(values: Values, value: Value, text: str) -> int | None:
    """Return where in an input a value begins: `select.int(x, 1, 3)` at three times the stride of dimension 1."""
    if value.kind == "placeholder":
        return 0
    source = values.nodes[value.operands[0]] if value.operands else None
    if source is None or source.begins is None:
        return None
    if value.op in SAME_BEGIN:
        return source.begins
    match = _PARTS.search(text)
    strides = strides_of(source.type)
    if match is None or int(match[2]) >= len(strides) or not strides[int(match[2])].isdecimal():
        return None
    return source.begins + int(match[3]) * int(strides[int(match[2])])


def _statement(lines: Sequence[str], node: FxNode) -> str:
    """Return the statement that defines a node, on a line with several statements."""
    line = lines[node.line].strip() if node.line < len(lines) else ""
    if node.kind == "output":
        return line
    start = node.name
    parts = split(line) if ";" in line else (line,)
    return next((part for part in parts if part.startswith(start) and part[len(start) : len(start) + 1] in (":", " ")), "")


def _returned(text: str) -> tuple[str, ...]:
    """Parse `return (add, None, mul)`: names by position."""
    inner = split(text)[0].removeprefix("return").strip() if text else ""
    if inner[:1] in ("(", "[") and inner[-1:] in (")", "]"):
        inner = inner[1:-1]
    return tuple(item for part in arguments(inner) if (item := part.strip()))


def arguments(text: str) -> list[str]:
    """Split an argument list at commas outside of brackets and strings."""
    if not any(mark in text for mark in "([{'\""):
        return [part.strip() for part in text.split(",")]
    results, depth, start, quote = [], 0, 0, ""
    for n, mark in enumerate(text):
        if quote:
            quote = "" if mark == quote and text[n - 1] != "\\" else quote
        elif mark in "'\"":
            quote = mark
        elif mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        elif mark == "," and depth == 0:
            results.append(text[start:n].strip())
            start = n + 1
    return [*results, text[start:].strip()]


MATRICES = frozenset(("mm", "addmm", "bmm", "baddbmm", "_int_mm", "_scaled_mm", "convolution", "convolution_backward"))
"""External operators whose arguments must be in memory."""
FIXED = frozenset(("mm", "_int_mm", "convolution", "convolution_backward"))
"""Those of them that have a view copied if it is read more than once and what it shows is not in memory."""
REDUCTIONS = frozenset((
    "all", "amax", "amin", "any", "argmax", "argmin", "cummax", "cummin", "cumprod", "cumsum", "logcumsumexp", "max", "mean", "min",
    "prod", "std", "std_mean", "sum", "var", "var_mean",
))  # fmt: skip
STORED = frozenset((
    "_embedding_bag", "_low_memory_max_pool_with_offsets", "_unsafe_index_put", "_unsafe_masked_index_put_accumulate", "cat",
    "copy_", "embedding_dense_backward", "empty", "index_add", "index_put", "inductor_random",
    "inductor_seeds", "max_pool2d_with_indices", "scatter", "scatter_add", "scatter_reduce", "sort", "topk",
))  # fmt: skip
"""Other operators whose result is in memory at once."""
HEAVY = frozenset((
    "exp", "log", "log10", "log1p", "log2", "sigmoid", "tanh", "silu", "_softmax", "_log_softmax", "logsumexp", "gelu",
))  # fmt: skip
"""Operators that a CPU does not compute twice."""
MAX_READS, MAX_ALL_READS, MAX_CPU_READS = 4, 8, 12
"""Reads of a value that is used more than once, of any value, of any value on a CPU."""
DOUBTFUL_READS, DOUBTFUL_NODES = 4, 5
"""Reads and nodes of a value that is used more than once, from which on, both together, it may be in memory."""
MAX_SHARED_NODES, MAX_NODES, MAX_CARRIED = 14, 20, 200
"""Nodes of an inlined value that is used more than once, of any inlined value; nodes that are followed at all. Inductor counts 30
operations, which are more than nodes."""


@mutable
class Lowering:
    """The origin nodes that each node of a graph carries through Inductor's lowering."""

    values: Values
    externs: Collection[str]
    """Nodes that external kernels run."""
    buffer_views: set[str]
    """Views that are buffers of their own."""
    inlined_always: Collection[str] = ()
    """Values that are never a buffer; constants of the module are numbers in the code then."""
    carried: dict[str, frozenset[str]] = field(default_factory=dict)
    """Node → itself and its unrealized inputs at its lowering, as far as certain."""
    inlined: dict[str, frozenset[str]] = field(default_factory=dict)
    """Node → itself and all possibly unrealized inputs."""
    leaves: dict[str, frozenset[str]] = field(default_factory=dict)
    """Node → the realized values that it reads."""
    realized: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    """Values with several uses that may be realized."""
    constant: set[str] = field(default_factory=set)
    """Realized values without inputs: their readers recompute them."""
    sums: set[str] = field(default_factory=set)
    """Values whose sum is in memory."""
    stored_for: dict[str, str] = field(default_factory=dict)
    """Values in memory only because one `convolution_backward` reads them → that node, to which Inductor counts them too."""

    def run(self) -> None:
        """Lower all nodes in graph order."""
        for node in self.values.nodes.values():
            self.lower(node)

    def lower(self, node: Value) -> None:
        """Lower one node."""
        name = node.name
        if node.kind in ("placeholder", "get_attr"):
            self.keep(name, frozenset())
            if name in self.inlined_always:
                self.carried[name] = frozenset((name,))
                self.realized.discard(name)
            return
        carried, inlined, leaves = {name}, {name}, set[str]()
        if traceless(self.values, name):
            carried = set()
        for operand in node.operands:
            if node.op == "as_strided":  # shows memory, not a value
                self.store(operand)
            if operand in self.realized:
                leaves.add(operand)
                continue
            if operand not in self.doubtful:
                carried |= self.carried.get(operand, frozenset())
            inlined |= self.inlined.get(operand, frozenset())
            leaves |= self.leaves.get(operand, frozenset())
        origins = frozenset(carried)
        if divided := self.divided(node):  # a sum in memory, which its readers divide
            origins, inlined, leaves = frozenset((divided,)), {divided}, {name}
            self.sums.add(name)
        self.inlined[name] = frozenset(inlined)
        for operand in node.operands:
            if node.op in MATRICES or name in self.externs or (node.op == "cat" and not self.values.is_view(operand)):
                self.store_for(node, operand)
                self.store(operand)
        if self.values.is_view(name) and name not in self.buffer_views:
            self.carried[name], self.leaves[name] = origins, frozenset(leaves)
            self.reused(node)
        elif self.is_stored(node) or len(inlined) > MAX_CARRIED or name in self.buffer_views:
            self.constant.update((name,) if not leaves and node.op == "empty" else ())
            self.keep(name, origins)
        else:
            self.carried[name], self.leaves[name] = origins, frozenset(leaves)
            self.reused(node)

    def divided(self, node: Value) -> str:
        """Return the node to which the division of a sum belongs: that of a `mean`, or of the variance of a `var_mean`."""
        source = self.values.nodes[node.operands[0]] if node.op == "getitem" and node.operands else node
        is_variance = source is not node and source.op == "var_mean" and node.item == 0 and node.name not in self.values.outputs
        return source.name if is_variance or (source is node and node.op == "mean") else ""

    def keep(self, name: str, carried: frozenset[str]) -> None:
        """Realize a value: it is in memory from here on."""
        self.carried[name], self.leaves[name] = carried, frozenset((name,))
        self.realized.add(name)

    def store(self, name: str) -> None:
        """Realize the value that a node views; later nodes read it from memory."""
        root = self.values.root(name)
        if root not in self.realized and name not in self.buffer_views:
            if not self.leaves.get(root):
                self.constant.add(root)
            self.keep(root, self.carried.get(root, frozenset()))

    def store_for(self, node: Value, name: str) -> None:
        """Note that a value is in memory only for this node."""
        alone = self.values.users.get(name) == [node.name] and name not in self.values.outputs
        if node.op == "convolution_backward" and alone and name not in self.realized and not self.values.is_view(name):
            self.stored_for[name] = node.name

    def is_stored(self, node: Value) -> bool:
        """Return whether the result of an operator is realized immediately."""
        if self.divided(node):
            return False
        if node.op == "getitem":
            source = self.values.nodes.get(node.operands[0]) if node.operands else None
            return source is None or source.op not in SPLITS
        in_place = node.op.endswith("_") and not node.op.startswith("_")  # `index_put_` in place of `index_put`
        extern = node.higher or node.name in self.externs
        return in_place or extern or node.op in REDUCTIONS or node.op in STORED or node.op in MATRICES

    def reused(self, node: Value) -> None:
        """Realize a value with many readers or many inputs."""
        values = self.values
        root = values.root(node.name)
        if root in self.realized or root in self.inlined_always:
            return  # the latter only until an external kernel reads it
        users = values.users.get(node.name, ())
        reads = [leaf for leaf in self.leaves.get(root, ()) if _large(values, leaf)]
        nodes = [name for name in self.inlined.get(root, ()) if not values.is_view(name)]
        is_output = root == node.name and node.name in values.outputs
        large = len(nodes) > MAX_NODES
        if len(users) + is_output > 1 and (
            len(nodes) > MAX_SHARED_NODES
            or is_output
            or len(reads) > MAX_READS
            or any(values.nodes[name].op in HEAVY for name in nodes)
            or (len(reads) > 1 and any(values.nodes[user].op in MATRICES for user in users))
        ):
            if not self.leaves.get(root):
                self.constant.add(root)
            self.keep(root, self.carried.get(root, frozenset()))
        elif len(reads) > (MAX_CPU_READS if values.nodes[root].type.endswith("cpu") else MAX_ALL_READS) or large:
            self.keep(root, self.carried.get(root, frozenset()))
        elif root != node.name and len(users) > 1 and any(values.nodes[user].op in FIXED for user in users):
            self.keep(node.name, self.carried[node.name])
            self.buffer_views.add(node.name)
        elif len(users) + is_output > 1 and len(reads) >= DOUBTFUL_READS and len(nodes) >= DOUBTFUL_NODES:
            self.doubtful.add(root)


def lowering(values: Values, externs: Collection[str], buffer_views: set[str], inlined_always: Collection[str] = ()) -> Lowering:
    """Lower a graph."""
    result = Lowering(values, externs, buffer_views, inlined_always)
    result.run()
    return result


def traceless(values: Values, name: str) -> bool:
    """Return whether lowering drops a node: a view without effect, a split into one piece, or `getitem`."""
    node = values.nodes[name]
    if node.op == "getitem":
        return True
    if node.op in SPLITS:
        items = [values.nodes[user] for user in values.users.get(name, ())]
        undivided = values.nodes[node.operands[0]].type
        return len(items) == 1 and bool(undivided) and items[0].type == undivided
    return values.is_view(name) and bool(node.type) and node.type == values.nodes[node.operands[0]].type


def _large(values: Values, name: str) -> bool:
    shape = values.nodes[name].shape
    return shape is None or shape.count != 1
