"""The layers of a unit as a document: the pane `layers` of provenance mode, a tree of modules by the names of their parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tltui.analyses.provenance.layered import Layer, UnitLayers
from tltui.analyses.provenance.result import CPP, KERNEL, POST, PRE, PY, SOURCE, UnitProvenance
from tltui.documents import format as fmt
from tltui.text import tokens
from tltui.text.document import Builder, TextDocument

NAMES_UP_TO = 22
"""Columns of names, behind which numbers of kernels stand below each other."""


@dataclass(frozen=True, slots=True)
class Below:
    """What belongs to a line of the tree: its layer and all that it holds, each once."""

    path: str
    pre: frozenset[str]
    post: frozenset[str]
    kernels: frozenset[str]
    """Keys."""
    lines: frozenset[str]
    """`FILE:LINE`."""


@dataclass(frozen=True, slots=True)
class LayerTree:
    """The document, and what each of its lines stands for."""

    document: TextDocument
    below: dict[int, Below]
    places: dict[str, int]
    """Path of a layer → its line."""


@dataclass(slots=True)
class _Node:
    path: str
    name: str
    children: dict[str, _Node] = field(default_factory=dict)
    own: list[Layer] = field(default_factory=list)
    """Layers of exactly this path, without those in them."""

    def layers(self) -> Iterator[Layer]:
        """The layers of it and of what it holds."""
        yield from self.own
        for child in self.children.values():
            yield from child.layers()


def layer_tree(ref: str, unit: UnitLayers) -> LayerTree | None:
    """The tree of a unit; None where no layer is known but the outermost."""
    root = _Node("", "")
    for layer in unit.layers:
        _place(root, layer)
    if not root.children:
        return None
    builder = Builder(ref, "layers")
    below: dict[int, Below] = {}
    places: dict[str, int] = {}
    for child in root.children.values():
        _add(builder, _joined(child), 0, below, places)
    if unit.unknown:
        builder.close(0)
        builder.blank()
        why = f": {unit.why}" if unit.why else ""
        builder.add((f"of {fmt.plural(unit.unknown, 'kernel')} no layer is known{why}", tokens.DIM))
    return LayerTree(builder.document(), below, places)


def _place(root: _Node, layer: Layer) -> None:
    node, path = root, ""
    for name in filter(None, layer.path.split(".")):
        path = f"{path}.{name}" if path else name
        node = node.children.setdefault(name, _Node(path, name))
    if layer.path:
        node.own.append(layer)


def _joined(node: _Node) -> _Node:
    """A module that only holds another one is written with it: `model.layers`, and `layers.0` where that is one of many."""
    while not node.own and len(node.children) == 1:
        (child,) = node.children.values()
        node = _Node(child.path, f"{node.name}.{child.name}", child.children, child.own)
    return node


def _add(builder: Builder, node: _Node, depth: int, below: dict[int, Below], places: dict[str, int]) -> None:
    line = len(builder.growing().lines)
    layers = list(node.layers())
    found = Below(
        node.path, frozenset(name for layer in layers for name in layer.pre),
        frozenset(name for layer in layers for name in layer.post), frozenset(key for layer in layers for key in layer.kernels),
        frozenset(place for layer in layers for place in layer.lines),
    )  # fmt: skip
    below[line], places[node.path] = found, line
    if node.children:
        builder.open(node.path)
    head = f"{'  ' * depth}{node.name}"
    count = f"{' ' * max(NAMES_UP_TO - len(head), 1)}{len(found.kernels):>3}"
    builder.add((head, tokens.NAME), (count, tokens.DIM), anchor=node.path)
    for child in node.children.values():
        _add(builder, _joined(child), depth + 1, below, places)
    if node.children:
        builder.close()


def lines_of_layers(unit: UnitProvenance, tree: LayerTree, places: Mapping[int, int]) -> dict[int, dict[int, frozenset[int]]]:
    """Line of the tree → pane → the lines there that belong to it."""
    pre = {node.name: node.line - 1 for born in unit.lines for node in born.pre}
    post = {node.name: node.line - 1 for born in unit.lines for node in born.post}
    source = {str(unit.places[n]): line for line, n in places.items()}
    found: dict[int, dict[int, frozenset[int]]] = {}
    for line, below in tree.below.items():
        own = found[line] = {
            SOURCE: frozenset(source[place] for place in below.lines if place in source),
            PRE: frozenset(pre[name] for name in below.pre if name in pre),
            POST: frozenset(post[name] for name in below.post if name in post),
        }
        for pane in (PY, CPP, KERNEL):
            calls = (kernel.call_lines for kernel in unit.kernels if kernel.key in below.kernels and kernel.call_pane == pane)
            own[pane] = frozenset(n - 1 for lines in calls for n in lines)
    return found
