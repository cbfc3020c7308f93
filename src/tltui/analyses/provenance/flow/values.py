"""The values of a post-grad graph: what each node computes, of which operands, and of which other value it is only a view.

Each class of the text is a graph of its own with names of its own: a `Values` is one of them. What Inductor makes of the
operators is from `torch/_inductor/lowering.py` and `ir.py`: a view computes nothing, but the kernel that reads a value
through a view counts the view among its own nodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tltui.analyses.provenance.graph import COMPUTED, GraphText
from tltui.text.graphs.fx_graph import FxNode
from tltui.text.graphs.fx_statement import QUOTED, split

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
_TARGET = re.compile(r"^(?:torch\.)?ops\.(\w+)\.(\w+)")
_WORD = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?!\s*=(?!=))(?![\w.(])")
_ITEM = re.compile(r"\[(\d{1,6})\]\s*$")
MAX_VIEWS = 1000


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of a tensor without its values."""

    dtype: str
    sizes: tuple[str, ...]

    @property
    def count(self) -> int | None:
        """How many elements it has; None where sizes are symbols."""
        count = 1
        for size in self.sizes:
            if not (size.isascii() and size.isdigit() and len(size) < 16):
                return None
            count *= int(size)
        return count


def shape_of(text: str) -> Shape | None:
    """`f32[8, 16][16, 1]cpu` as torch annotates nodes."""
    found = _TYPE.match(text)
    if found is None:
        return None
    return Shape(found[1], tuple(part for item in found[2].split(",") if (part := item.strip())))


def fits(one: Shape | None, other: Shape | None) -> bool:
    """Whether both can be the same memory: so many elements of the same dtype. What is not known fits."""
    if one is None or other is None:
        return True
    if one.dtype != other.dtype:
        return False
    count, own = one.count, other.count
    return count is None or own is None or count == own


@dataclass(slots=True)
class Value:
    """One node."""

    name: str
    kind: str
    op: str = ""
    """The operator without namespace and overload: `mm`, `getitem`."""
    operands: tuple[str, ...] = ()
    """The nodes that it reads, in their order; one that is read twice stands twice."""
    shape: Shape | None = None
    type: str = ""
    item: int = -1
    """Of a getitem: which result."""
    attribute: str = ""
    """Of a get_attr: the last part of its name."""
    higher: bool = False
    """Whether it is a higher-order operator, which runs graphs of its own."""


@dataclass(slots=True)
class Values:
    """One graph."""

    number: int
    """Its place in `FxGraph.graphs`."""
    nodes: dict[str, Value] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)
    users: dict[str, list[str]] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: tuple[str, ...] = ()
    """What it returns, in order; '' for what is no node."""
    by_op: dict[str, list[str]] = field(default_factory=dict)
    _roots: dict[str, str] = field(default_factory=dict)
    _plain: dict[str, str] = field(default_factory=dict)

    def root(self, name: str) -> str:
        """The value whose memory a node shows."""
        return self._up(name, self._roots, False)

    def plain(self, name: str) -> str:
        """The same, through copies too: equal numbers, perhaps in another memory."""
        return self._up(name, self._plain, True)

    def same(self, one: str, other: str) -> bool:
        """Whether both may stand for one buffer."""
        return self.plain(one) == self.plain(other)

    def is_view(self, name: str) -> bool:
        """Whether a node only shows the memory of another one."""
        node = self.nodes.get(name)
        if node is None or not node.operands:
            return False
        if node.op == "getitem":
            source = self.nodes.get(node.operands[0])
            return source is not None and source.op in SPLITS
        return node.op in VIEWS

    def _up(self, name: str, known: dict[str, str], copies: bool) -> str:
        way: list[str] = []
        while name not in known and len(way) < MAX_VIEWS:
            node = self.nodes.get(name)
            if node is None or not (self.is_view(name) or (copies and node.op in COPIES and node.operands)):
                break
            way.append(name)
            name = node.operands[0]
        found = known.get(name, name)
        for other in way:
            known[other] = found
        return found


def values_of(graph: GraphText) -> dict[int, Values]:
    """The graphs of a text, by their places in it."""
    found: dict[int, Values] = {}
    outputs: dict[int, tuple[str, ...]] = {}
    for node in graph.nodes:
        own = found.setdefault(node.graph, Values(node.graph))
        text = _statement(graph.text, node)
        if node.kind == "output":
            own.outputs = _returned(text)
            outputs[node.graph] = own.outputs
        elif node.name not in own.nodes:
            _add(own, node, text)
    for own in found.values():
        own.outputs = tuple(name if name in own.nodes else "" for name in own.outputs)
    return found


def _add(own: Values, node: FxNode, text: str) -> None:
    target = _TARGET.match(node.target.removeprefix("torch."))
    op = "getitem" if node.kind == "getitem" else target[2] if target else node.target.rpartition(".")[2] or node.kind
    operands = tuple(word for word in _WORD.findall(QUOTED.sub("''", text.partition(" = ")[2])) if word in own.nodes)
    if len(set(operands)) < len(node.args):  # a statement of several lines
        operands = tuple(name for name in node.args if name in own.nodes)
    operands = tuple(name for name in operands if not own.nodes[name].type.startswith("Sym("))  # sizes are no tensors
    item = _ITEM.search(text) if node.kind == "getitem" else None
    value = Value(
        node.name, node.kind, op, operands, shape_of(node.type), node.type, int(item[1]) if item else -1,
        node.target.rpartition(".")[2] if node.kind == "get_attr" else "", bool(target and target[1] == "higher_order"),
    )  # fmt: skip
    own.order[node.name] = len(own.nodes)
    own.nodes[node.name] = value
    if node.kind == "placeholder":
        own.inputs.append(node.name)
    elif node.kind in COMPUTED:
        own.by_op.setdefault(op, []).append(node.name)
    for name in dict.fromkeys(operands):
        own.users.setdefault(name, []).append(node.name)


def _statement(lines: Sequence[str], node: FxNode) -> str:
    """The statement that makes a node: of a line with several, its own."""
    line = lines[node.line].strip() if node.line < len(lines) else ""
    if node.kind == "output":
        return line
    start = node.name
    parts = split(line) if ";" in line else (line,)
    return next((part for part in parts if part.startswith(start) and part[len(start) : len(start) + 1] in (":", " ")), "")


def _returned(text: str) -> tuple[str, ...]:
    """`return (add, None, mul)`: position by position."""
    inner = split(text)[0].removeprefix("return").strip() if text else ""
    if inner[:1] in ("(", "[") and inner[-1:] in (")", "]"):
        inner = inner[1:-1]
    return tuple(item for part in arguments(inner) if (item := part.strip()))


def arguments(text: str) -> list[str]:
    """A list of arguments, cut at the commas that stand in no bracket and no string."""
    if not any(mark in text for mark in "([{'\""):
        return [part.strip() for part in text.split(",")]
    found, depth, start, quote = [], 0, 0, ""
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
            found.append(text[start:n].strip())
            start = n + 1
    return [*found, text[start:].strip()]

