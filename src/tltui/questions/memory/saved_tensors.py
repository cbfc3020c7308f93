"""Tensors that a forward graph saves for its backward, and nodes that the backward computes again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from tltui.questions.memory.tensor_sizes import Amount, tensor_type, together
from tltui.questions.memory.wrapper_allocations import Storage
from tltui.questions.provenance.dataflow.value_graph import Values, arguments, values_of
from tltui.questions.provenance.graph_names import COMPUTED, GraphText
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.fx_graph import FxNode, Origin

ACTIVATION, OUTPUT, INPUT, PARAMETER = "activation", "output", "input", "parameter"
KINDS = (ACTIVATION, OUTPUT, INPUT, PARAMETER)
"""What a saved tensor is: allocated by the forward and held for the backward alone; also a result of the function; an argument; a
parameter or buffer of a module."""
_TAG = re.compile(r"\b((?:MUST|PREFER)_(?:SAVE|RECOMPUTE))\b")
_SAVED = "SavedForBackwards"
_MUTATION = "InputMutation"
_NOT_SAVED = re.compile(r"^(?:tangents?_\d|bwd_(?:base|seed|rng)|fwd_rng_state|rng_state|token)")
MAX_RETURN = 20_000
"""Lines of a `return`."""


@frozen
class Output:
    """A result of a graph: the node, '' for none, and torch's note about it."""

    name: str
    note: str = ""


@frozen
class Saved:
    """A tensor that the forward returns for the backward."""

    name: str
    place: int
    """Its number among the results of the forward graph."""
    node: FxNode
    kind: str
    """One of `KINDS`."""
    root: str
    """The node whose memory it shows: itself, or the base of a view."""
    argument: str
    """The argument of the forward whose storage it is, '' for none."""
    base: str
    """The first saved tensor with the same storage, itself if it is the first."""
    amount: Amount | None
    """Bytes of the storage; None if unknown."""
    tag: str
    """The checkpointing tag of the node in the joint graph, '' for none."""
    set_tag: str
    """Its tag in the forward graph where the partitioner changed it, else ''."""


@frozen
class Recomputed:
    """A node of the forward that the backward computes again."""

    node: FxNode
    amount: Amount | None
    """Bytes of its result; none for a view."""
    tag: str


@mutable
class GraphPair:
    """A forward graph and its backward, as AOTAutograd logged them."""

    forward: GraphText
    backward: GraphText
    joint: GraphText | None
    outputs: tuple[Output, ...] = field(init=False)
    saved_places: tuple[int, ...] = field(init=False)
    """Numbers of the results that the backward reads."""

    def __post_init__(self) -> None:
        self.outputs = outputs_of(self.forward)
        self.saved_places = _saved_places(self.outputs, self.backward)


def outputs_of(graph: GraphText) -> tuple[Output, ...]:
    """Return the results of the outermost graph in order, with their notes."""
    node = next((node for node in reversed(graph.nodes) if node.kind == "output" and node.graph == 0), None)
    if node is None:
        return ()
    first = graph.text[node.line].strip().removeprefix("return").strip()
    if first not in ("(", "["):
        text = first.partition("  # ")[0].partition(";")[0].strip()
        names = arguments(text[1:-1]) if text[:1] in ("(", "[") else [text]
        return tuple(Output("" if name == "None" else name) for name in names if name)
    outputs = []
    for line in graph.text[node.line + 1 : node.line + MAX_RETURN]:
        code, _, note = line.strip().partition("  # ")
        if code.startswith((")", "]")):
            break
        name = code.rstrip(", ")
        outputs.append(Output("" if name == "None" else name, note))
    return tuple(outputs)


def _saved_places(outputs: Sequence[Output], backward: GraphText) -> tuple[int, ...]:
    """Return the results that are saved: by torch's notes, else the last result of each name that the backward reads."""
    noted = tuple(n for n, output in enumerate(outputs) if output.note.startswith(_SAVED))
    if noted:
        return noted
    names = {node.name for node in backward.nodes if node.kind == "placeholder" and node.graph == 0}
    read = {name for name in names if not _NOT_SAVED.match(name)}
    last = {output.name: n for n, output in enumerate(outputs) if output.name in read}
    return tuple(sorted(last.values()))


def saved_of(pair: GraphPair, parameters: Mapping[str, str], storages: Sequence[Storage | None]) -> tuple[Saved, ...]:
    """Return the saved tensors in the order of the forward's results.

    `parameters` maps placeholders to paths of parameters. `storages` has the storage of each result in the wrapper, () without a
    wrapper. The wrapper decides: it may return a copy of an argument where the graph has the argument.
    """
    values = values_of(pair.forward).get(0, Values(0))
    inputs = {node.name for node in pair.forward.nodes if node.kind == "placeholder" and node.graph == 0}
    returned = _returned(pair, values, storages)
    bases: dict[object, str] = {}
    results = []
    for place in pair.saved_places:
        name = pair.outputs[place].name
        node = pair.forward.find(name)
        if node is None or tensor_type(node.type) is None:
            continue  # a size
        root = values.root(name)
        storage = storages[place] if place < len(storages) else None
        if storage is not None and storage.is_argument:
            root = storage.name if storage.name in inputs else root
        is_input = root in inputs if storage is None else storage.is_argument
        key = _storage(storages, place, root)
        kind = (PARAMETER if root in parameters else INPUT) if is_input else OUTPUT if key in returned else ACTIVATION
        amount = _amount(pair.forward, root) if storage is None or storage.is_argument else storage.amount
        tag, set_tag = _tags(pair, name)
        results.append(
            Saved(name, place, node, kind, root, root if is_input else "", bases.setdefault(key, name), amount, tag, set_tag)
        )
    return tuple(results)


def _storage(storages: Sequence[Storage | None], place: int, root: str) -> object:
    """Return a key for the storage of a result: the wrapper's, else the node that the result is a view of."""
    storage = storages[place] if place < len(storages) else None
    return root if storage is None else storage


def _returned(pair: GraphPair, values: Values, storages: Sequence[Storage | None]) -> set[object]:
    """Return the storages of the results that the caller gets."""
    saved = set(pair.saved_places)
    return {
        _storage(storages, n, values.root(output.name)) for n, output in enumerate(pair.outputs)
        if n not in saved and output.name and not output.note.startswith(_MUTATION)
    }  # fmt: skip


def _amount(graph: GraphText, name: str) -> Amount | None:
    node = graph.find(name)
    tensor = tensor_type(node.type) if node is not None else None
    return tensor.amount if tensor is not None else None


def _tag(graph: GraphText | None, name: str) -> str:
    node = graph.find(name) if graph is not None else None
    origin: Origin | None = graph.origin(node) if graph is not None and node is not None else None
    match = _TAG.search(origin.note) if origin is not None else None
    return match[1] if match else ""


def _tags(pair: GraphPair, name: str) -> tuple[str, str]:
    """Return the tag of a node in the joint graph, and that of the partitioner if it differs."""
    before, after = _tag(pair.joint, name), _tag(pair.forward, name)
    if pair.joint is None or pair.joint.find(name) is None:
        return after, ""
    return before, after if after != before else ""


def recomputed_of(pair: GraphPair) -> tuple[Recomputed, ...]:
    """Return the nodes of the forward that the backward graph has too, views left out."""
    values = values_of(pair.backward).get(0, Values(0))
    results = []
    for node in pair.backward.nodes:
        if node.graph != 0 or node.kind not in COMPUTED or values.is_view(node.name):
            continue
        first = pair.forward.find(node.name)
        if first is None or first.graph != 0 or first.kind != node.kind or first.target != node.target:
            continue
        tensor = tensor_type(node.type)
        if tensor is not None:  # results of a call with several results have nodes of their own
            results.append(Recomputed(node, tensor.amount, _tag(pair.backward, node.name)))
    return tuple(results)


def saved_amount(saved: Iterable[Saved], kind: str) -> Amount:
    """Return the bytes of a kind, each storage once."""
    return together(tensor.amount for tensor in saved if tensor.kind == kind and tensor.base == tensor.name)
