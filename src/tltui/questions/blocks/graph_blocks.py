"""Repeated blocks of a captured graph: modules of one list whose parts of the graph are isomorphic."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tltui.questions.layers.layer_costs import is_below, source_path
from tltui.questions.layers.layer_kernels import CapturedLayers
from tltui.text.frozen import frozen
from tltui.text.graphs.fx_graph import FxNode

LEAST_NODES = 4
"""Nodes of the smallest block: calling a compiled block costs more than fewer operations in eager mode."""
CONTENTS = 200
"""Characters of a statement that differs."""


@frozen
class DifferentBlock:
    """A module of the same list whose graph is not equal to that of any group."""

    path: str
    nodes: int
    differing_nodes: int
    """Nodes without an equal node in the largest group; of the two graphs the larger number."""
    statement: str
    """The first of them in this module, as the graph has it; empty where only the group has such nodes."""


@frozen
class OtherInput:
    """A module of a group with an input of another type."""

    path: str
    type: str
    """The first type that differs: `f32[2, 16, 64][1024, 1, 16]cpu`."""
    usual_type: str
    """The type of most modules of the group."""


@frozen
class GuardedValue:
    """An attribute of the modules of a group that has a guard, with different values."""

    attribute: str
    """Its path in the module: `self_attn.layer_idx`."""
    values: int
    """Number of different values."""
    code: str
    """The line of source that reads it."""
    place: str
    """`FILE:LINE` of that line."""
    is_integer: bool


@frozen
class BlockGroup:
    """Modules of one list with equal graphs: the same operations, arguments, shapes, dtypes and constants.

    The types of their inputs may differ: strides of the input of a first block.
    """

    container: str
    """Path of the list: `model.layers`."""
    class_name: str
    """The class of the modules by the guards; empty if no guard names it."""
    class_module: str
    """The Python module of the class."""
    members: tuple[str, ...]
    """Their paths."""
    nodes: int
    """Nodes of one module in the captured graph."""
    different: tuple[DifferentBlock, ...]
    """Other modules of the list."""
    guarded: tuple[GuardedValue, ...]
    """Guarded attributes that differ: each different combination of values is a compiled version."""
    without_gradient: int
    """Modules whose input needs no gradient while that of the others does."""
    other_inputs: tuple[OtherInput, ...]
    """Modules whose inputs have another dtype, shape or stride than those of the first ones that are most."""
    graph_versions: int
    """Different combinations of input types and of the need of gradients: their kernels differ."""
    versions: int
    """Compiled versions that the modules need when each is compiled separately: those combinations with guarded values."""


@frozen
class GraphBlocks:
    """The groups of one captured graph."""

    nodes: int
    """Nodes that compute something."""
    groups: tuple[BlockGroup, ...]

    @property
    def repeated_nodes(self) -> int:
        """Nodes in repeated blocks."""
        return sum(group.nodes * len(group.members) for group in self.groups)


@frozen
class _Form:
    """The canonical form of the graph of a module: equal forms are isomorphic graphs."""

    statements: tuple[str, ...]
    """Each node: its expression with relative names, and its type."""
    inputs: tuple[str, ...]
    """Types of the values from outside of the module, in the order of their first use."""


@dataclass(slots=True)
class _Members:
    """Modules of one list, in the order in which they run, with the numbers of their nodes."""

    nodes: dict[str, list[int]] = field(default_factory=dict)
    _last: str = ""
    _left: set[str] = field(default_factory=set)

    def add(self, path: str, number: int) -> None:
        """Add a node of a module. Nodes of a later call are no part of the block: code outside may call a module in it again."""
        if path != self._last:
            self._left.add(self._last)
            self._last = path
        if path not in self._left:
            self.nodes.setdefault(path, []).append(number)


def blocks_in(captured: CapturedLayers, trains: bool) -> GraphBlocks:
    """Return the groups of equal blocks of a captured graph. `trains`: the compile has a backward."""
    reading = _Reading(captured)
    groups: list[BlockGroup] = []
    covered: list[str] = []
    classes = _classes(captured)
    gradients = _with_gradient(reading) if trains else None
    for container, members in sorted(_containers(reading).items(), key=lambda item: item[0].count(".")):
        open_members = {
            path: numbers for path, numbers in members.nodes.items()
            if len(numbers) >= LEAST_NODES and not any(is_below(path, outer) for outer in covered)
        }  # fmt: skip
        if len(open_members) < 2:
            continue
        forms = {path: reading.form(path, numbers) for path, numbers in open_members.items()}
        _complete(reading, container, open_members, forms)
        equal: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
        for path, form in forms.items():
            equal[classes.get(path, ""), form.statements].append(path)
        repeated = [(class_name, paths) for (class_name, _), paths in equal.items() if len(paths) > 1]
        repeated.sort(key=lambda group: -len(group[1]) * len(forms[group[1][0]].statements))
        others = [path for path in forms if not any(path in paths for _, paths in repeated)]
        for n, (class_name, paths) in enumerate(repeated):
            covered += paths
            different = tuple(
                _different(path, forms[path], forms[paths[0]], reading, open_members[path]) for path in (others if n == 0 else ())
            )  # fmt: skip
            needs = {path: not gradients or _needs_gradient(reading, gradients, open_members[path]) for path in paths}
            groups.append(_group(captured, container, class_name, {path: forms[path] for path in paths}, different, needs))
    groups.sort(key=lambda group: -group.nodes * len(group.members))
    return GraphBlocks(len(reading.nodes), tuple(groups))


def _complete(reading: _Reading, container: str, members: dict[str, list[int]], forms: dict[str, _Form]) -> None:
    """Add the last nodes of modules that are attributed to an enclosing module, where a module of the list has them.

    The nodes after the last parameter of a block may also belong to the code that calls it: only after the last block this is
    certain. They are added if all equal modules then equal that module.
    """
    usual, count = Counter(forms.values()).most_common(1)[0]
    if count < 2:
        return
    size = len(usual.statements)
    occupied = {number for numbers in members.values() for number in numbers}
    longer = (form for form in forms.values() if len(form.statements) > size and form.statements[:size] == usual.statements)
    for complete in dict.fromkeys(longer):
        added = {}
        for path in [path for path, form in forms.items() if form == usual]:
            first = members[path][-1] + 1
            rest = range(first, min(first + len(complete.statements) - size, len(reading.nodes)))
            if any(number in occupied or not is_below(container, reading.layers[number]) for number in rest):
                break
            added[path] = [*members[path], *rest]
        extended = {path: reading.form(path, numbers) for path, numbers in added.items()}
        if len(extended) == count and all(form.statements == complete.statements for form in extended.values()):
            members.update(added)
            forms.update(extended)
            return


def _group(
    captured: CapturedLayers, container: str, class_name: str, forms: Mapping[str, _Form], different: tuple[DifferentBlock, ...],
    needs_gradient: Mapping[str, bool],
) -> BlockGroup:  # fmt: skip
    """Return the group of modules with equal graphs, and count the versions that they need."""
    paths = tuple(forms)
    guarded, combinations = _guarded(captured, paths)
    usual = Counter(form.inputs for form in forms.values()).most_common(1)[0][0]
    other_inputs = []
    for path, form in forms.items():
        if form.inputs != usual:
            pairs = zip(form.inputs, usual, strict=True)
            other_inputs.append(OtherInput(path, *next(pair for pair in pairs if pair[0] != pair[1])))
    without = sum(not needs for needs in needs_gradient.values())
    graphs = {path: (form.inputs, needs_gradient[path]) for path, form in forms.items()}
    module, _, name = class_name.rpartition(".")
    return BlockGroup(
        container, name, module, paths, len(forms[paths[0]].statements), different, guarded, without if without < len(paths) else 0,
        tuple(other_inputs), len(set(graphs.values())), len({(graphs[path], combinations[path]) for path in paths}),
    )  # fmt: skip


def _containers(reading: _Reading) -> dict[str, _Members]:
    """Map each list of modules to its modules with nodes."""
    lists_of_path: dict[str, tuple[tuple[str, str], ...]] = {}
    results: dict[str, _Members] = {}
    for number, layer in enumerate(reading.layers):
        lists = lists_of_path.get(layer)
        if lists is None:
            lists = lists_of_path[layer] = tuple(_lists_in(layer))
        for container, path in lists:
            results.setdefault(container, _Members()).add(path, number)
    return results


def _lists_in(path: str) -> Iterator[tuple[str, str]]:
    """Yield each list on a path with its module: `layers` and `layers.3` of `layers.3.attn`."""
    words = path.split(".")
    for n, word in enumerate(words):
        if n and word.isdecimal():
            yield ".".join(words[:n]), ".".join(words[: n + 1])


_WORD = re.compile(r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)|(?<![\w.])([A-Za-z_]\w*)(?!\s=[^=])(?!\w)")


class _Reading:
    """The nodes of a captured graph in the order in which they run, with the meaning of the names that they read."""

    def __init__(self, captured: CapturedLayers) -> None:
        self.graph = captured.graph
        self.parameters = _parameter_paths(captured)
        self.nodes: list[FxNode] = []
        self.layers: list[str] = []
        for key, layer in captured.layers.items():
            if (node := self.graph.find(key)) is not None:
                self.nodes.append(node)
                self.layers.append(layer)
        self.number = {(node.graph, node.name): n for n, node in enumerate(self.nodes)}

    def form(self, path: str, numbers: Sequence[int]) -> _Form:
        """Return the canonical form of a module."""
        places = {number: n for n, number in enumerate(numbers)}
        inputs: dict[tuple[int, str], int] = {}
        types: list[str] = []
        statements = []
        for place, number in enumerate(numbers):
            node = self.nodes[number]

            def word(match: re.Match[str], node: FxNode = node, place: int = place) -> str:
                name = match[1]
                if name is None:
                    return match[0]
                key = (node.graph, name)
                producer = places.get(self.number.get(key, -1))
                if producer is not None:
                    return f"%{place - producer}" if producer < place else name
                parameter = self.parameters.get(name)
                if parameter is not None and is_below(parameter, path):
                    return f"@{parameter[len(path) :]}"
                source = self.graph.graph.find(name, node.graph)
                if source is None:
                    return name
                if key not in inputs:
                    inputs[key] = len(inputs)
                    types.append(self.type(source))
                return f"${inputs[key]}"

            statements.append(f"{_WORD.sub(word, self.expression(node))} : {node.type}")
        return _Form(tuple(statements), tuple(types))

    def type(self, node: FxNode) -> str:
        """Return the type of a value; Dynamo gives each input a second name without a type."""
        first = self.graph.graph.find(node.args[0], node.graph) if node.kind == "alias" and node.args else None
        return node.type or (first.type if first is not None else "")

    def expression(self, node: FxNode) -> str:
        """Return the statement of a node without its own name, and without the names that it frees."""
        text = self.graph.text[node.line].partition(";  ")[0].strip()
        head, equals, value = text.partition(" = ")
        if equals and not node.in_place and head.partition(":")[0].strip() == node.name:
            return value
        return text


def _parameter_paths(captured: CapturedLayers) -> dict[str, str]:
    """Map the names of parameters in the graph, including their second names, to their paths in the model."""
    paths = dict(captured.parameters)
    for node in captured.graph.nodes:
        if node.kind == "get_attr" and node.target in paths:
            paths[node.name] = paths[node.target]
        elif node.kind == "alias" and node.args and node.args[0] in paths:
            paths[node.name] = paths[node.args[0]]
    return paths


def _different(path: str, form: _Form, other: _Form, reading: _Reading, numbers: Sequence[int]) -> DifferentBlock:
    """Count the nodes of a module without an equal node in the block of a group."""
    rest = Counter(other.statements)
    extra = []
    for number, statement in zip(numbers, form.statements, strict=True):
        if rest[statement]:
            rest[statement] -= 1
        else:
            extra.append(number)
    count = max(len(extra), rest.total(), 1)
    first = reading.expression(reading.nodes[extra[0]])[:CONTENTS] if extra else ""
    return DifferentBlock(path, len(form.statements), count, first)


_CLASS = re.compile(r"___check_type_id\(([LG]\[[^\n]*?), \d+\), type=<class '([^']+)'>")


def _classes(captured: CapturedLayers) -> dict[str, str]:
    """Map module paths to the full names of their classes from the guards."""
    results = {}
    for match in _CLASS.finditer(captured.guards):
        source = source_path(match[1])
        if source is not None and match[1].endswith("']"):
            results[captured.naming(*source)] = match[2]
    return results


_VALUE = re.compile(
    r"EQUALS_MATCH: ([LG]\['\w+'\](?:\._modules\['[^'\]]+'\])*)\.(\w+) == ([^\n]*?)  +# ([^\n]*?)  # (\S[^\n]*?:\d{1,9}) in "
)


_Values = dict[str, tuple[str | None, ...]]
"""Module → values of the guarded attributes."""


def _guarded(captured: CapturedLayers, members: Sequence[str]) -> tuple[tuple[GuardedValue, ...], _Values]:
    """Return the guarded attributes that differ between the modules of a group, and their values in each module."""
    wanted = set(members)
    values: dict[str, dict[str, str]] = defaultdict(dict)
    lines: dict[str, tuple[str, str]] = {}
    for match in _VALUE.finditer(captured.guards):
        source = source_path(match[1])
        path = captured.naming(*source) if source is not None else ""
        member = next((outer for outer in _prefixes(path) if outer in wanted), None)
        if member is not None:
            attribute = f"{path[len(member) :]}.{match[2]}".removeprefix(".")
            values[attribute][member] = match[3]
            lines.setdefault(attribute, (match[4], match[5]))
    differing = {attribute: by_member for attribute, by_member in values.items() if len(set(by_member.values())) > 1}
    combinations = {member: tuple(by_member.get(member) for by_member in differing.values()) for member in members}
    results = tuple(
        GuardedValue(
            attribute, len(set(by_member.values())), *lines[attribute],
            all(value.lstrip("-").isdecimal() for value in by_member.values()),
        ) for attribute, by_member in differing.items()
    )  # fmt: skip
    return results, combinations


def _prefixes(path: str) -> Iterable[str]:
    while path:
        yield path
        path = path.rpartition(".")[0]


def _with_gradient(reading: _Reading) -> Mapping[tuple[int, str], bool]:
    """Return the nodes that need a gradient: floating-point values computed from a parameter."""
    results: dict[tuple[int, str], bool] = {}
    for node in reading.graph.nodes:
        if node.name in reading.parameters and node.type:
            results[node.graph, node.name] = node.type.startswith(("f", "bf")) and "_buffers_" not in node.name
        elif node.kind == "alias":
            results[node.graph, node.name] = any(results.get((node.graph, name), False) for name in node.args)
        else:
            computed = any(results.get((node.graph, name), False) for name in node.args)
            results[node.graph, node.name] = computed and (not node.type or node.type.startswith(("f", "bf", "c")))
    return results


def _needs_gradient(reading: _Reading, gradients: Mapping[tuple[int, str], bool], numbers: Sequence[int]) -> bool:
    """Return whether an input of a module, other than a parameter, needs a gradient."""
    inside = set(numbers)
    for number in numbers:
        node = reading.nodes[number]
        for name in node.args:
            key = (node.graph, name)
            if reading.number.get(key, -1) not in inside and name not in reading.parameters and gradients.get(key, False):
                return True
    return False
