"""Which nodes a value carries with it when it is read: what Inductor's lowering does with the nodes of a graph.

A value that is in memory (*realized*) is read without what it was made of; one that is not yet is computed where it is needed,
so all of its nodes go into that kernel too. A view remembers what its value was made of when the view was made, though the
value may have become a buffer since. After `GraphLowering.run_node`, `StorageBox.mark_reuse` and `gather_origins` of
torch/_inductor (graph.py, ir.py, utils.py); where those decide by things that no text tells, the answer here is "realized":
it leaves nodes out and says none too many.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tltui.analyses.provenance.flow.values import SPLITS, Value, Values

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
    "copy_", "embedding_dense_backward", "empty", "index_add", "index_put", "inductor_seeds", "max_pool2d_with_indices", "scatter",
    "scatter_add", "scatter_reduce", "sort", "topk",
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


@dataclass(slots=True)
class Lowering:
    """What each node of a graph carries."""

    values: Values
    externs: Collection[str]
    """Nodes that external kernels run."""
    kept: set[str]
    """Views that are buffers of their own."""
    carried: dict[str, frozenset[str]] = field(default_factory=dict)
    """Node → itself and what was not in memory when it was lowered, as far as it is certain."""
    inlined: dict[str, frozenset[str]] = field(default_factory=dict)
    """The same with all that may be so."""
    leaves: dict[str, frozenset[str]] = field(default_factory=dict)
    """Node → the values in memory that it reads."""
    realized: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    """Values that are used more than once, and may be in memory."""
    constant: set[str] = field(default_factory=set)
    """Values in memory that were made of nothing: who reads one computes it again."""

    def run(self) -> None:
        """Lower all nodes in their order."""
        for node in self.values.nodes.values():
            self.lower(node)

    def lower(self, node: Value) -> None:
        """Lower one node."""
        name = node.name
        if node.kind in ("placeholder", "get_attr"):
            self.keep(name, frozenset())
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
        whole = frozenset(carried)
        self.inlined[name] = frozenset(inlined)
        for operand in node.operands:
            if node.op in MATRICES or name in self.externs or (node.op == "cat" and not self.values.is_view(operand)):
                self.store(operand)
        if self.values.is_view(name) and name not in self.kept:
            self.carried[name], self.leaves[name] = whole, frozenset(leaves)
            self.reused(node)
        elif self.is_stored(node) or len(inlined) > MAX_CARRIED or name in self.kept:
            self.constant.update((name,) if not leaves and node.op == "empty" else ())
            self.keep(name, whole)
        else:
            self.carried[name], self.leaves[name] = whole, frozenset(leaves)
            self.reused(node)

    def keep(self, name: str, carried: frozenset[str]) -> None:
        """A value is in memory from now on."""
        self.carried[name], self.leaves[name] = carried, frozenset((name,))
        self.realized.add(name)

    def store(self, name: str) -> None:
        """The value that a node shows gets into memory: what is lowered from now on reads it there."""
        root = self.values.root(name)
        if root not in self.realized and name not in self.kept:
            if not self.leaves.get(root):
                self.constant.add(root)
            self.keep(root, self.carried.get(root, frozenset()))

    def is_stored(self, node: Value) -> bool:
        """Whether the result of an operator is in memory at once."""
        if node.op == "getitem":
            source = self.values.nodes.get(node.operands[0]) if node.operands else None
            return source is None or source.op not in SPLITS
        return node.op in REDUCTIONS or node.op in STORED or node.op in MATRICES or node.name in self.externs or node.higher

    def reused(self, node: Value) -> None:
        """What is read often, or was made of much, gets into memory."""
        values = self.values
        root = values.root(node.name)
        if root in self.realized:
            return
        users = values.users.get(node.name, ())
        reads = [leaf for leaf in self.leaves.get(root, ()) if _large(values, leaf)]
        nodes = [name for name in self.inlined.get(root, ()) if not values.is_view(name)]
        given = root == node.name and node.name in values.outputs
        large = len(nodes) > MAX_NODES
        if len(users) + given > 1 and (
            len(nodes) > MAX_SHARED_NODES
            or given
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
            self.kept.add(node.name)
        elif len(users) + given > 1 and len(reads) >= DOUBTFUL_READS and len(nodes) >= DOUBTFUL_NODES:
            self.doubtful.add(root)


def lowering(values: Values, externs: Collection[str], kept: set[str]) -> Lowering:
    """Lower a graph."""
    made = Lowering(values, externs, kept)
    made.run()
    return made


def traceless(values: Values, name: str) -> bool:
    """Whether lowering leaves no trace of a node: a view that changes nothing, an item that is taken out."""
    node = values.nodes[name]
    if node.op == "getitem":
        return True
    return values.is_view(name) and bool(node.type) and node.type == values.nodes[node.operands[0]].type


def _large(values: Values, name: str) -> bool:
    shape = values.nodes[name].shape
    return shape is None or shape.count != 1
