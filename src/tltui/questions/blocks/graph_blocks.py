"""Repeated blocks of a captured graph: modules of one list whose parts of the graph are isomorphic.

Parts are compared in a canonical form. Guards add the classes of blocks, values that differ, and parameters that need a
gradient.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from tltui.questions.layers.layer_costs import is_below, merged, source_path
from tltui.questions.layers.layer_kernels import CapturedLayers
from tltui.questions.layers.node_layers import ancestors
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.fx_graph import FxNode

LEAST_NODES = 4
"""Nodes of the smallest block: calling a compiled block costs more than fewer operations in eager mode."""
_WORD = re.compile(r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)|(?<![\w.])([A-Za-z_]\w*)(?!\s=[^=])(?!\w)")

DICTIONARY = "torch.nn.modules.container.ModuleDict"
NOT_CALLED = (DICTIONARY, "torch.nn.modules.container.ModuleList")
"""Classes that only hold modules."""
CONTENTS = 200
"""Characters of a statement that differs."""

_Call = tuple[str, int]
"""A module and the number of its call."""
_Kind = tuple[str, tuple[str, ...]]
"""A class and the statements of its graph: modules of one kind are equal."""
_CLASS = re.compile(r"___check_type_id\(([LG]\[[^\n]*?), \d+\), type=<class '([^']+)'>")
_VALUE = re.compile(
    r"EQUALS_MATCH: ([LG]\['\w+'\](?:\._modules\['[^'\]]+'\])*)\.(\w+) == ([^\n]*?)  +# ([^\n]*?)  # (\S[^\n]*?:\d{1,9}) in "
)
_Values = dict[str, tuple[str | None, ...]]
"""Module → values of the guarded attributes."""

_TENSOR = re.compile(r"check_tensor\(([LG]\[[^\n]*?), \w+, DispatchKeySet[^\n]*? requires_grad=(True|False)")
_PARAMETER = re.compile(r"^(.*)\._parameters\['([^']+)'\]$")


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
class DifferentBlock:
    """A module of the same list whose graph is not equal to that of a group, or the first module of a further group."""

    path: str
    nodes: int
    equal_to: str
    """The module of the largest group that it is compared with; empty where `reason` says why it is not compared."""
    differing_nodes: int
    """Nodes without an equal node there; of the two graphs the larger number."""
    statement: str
    """The first of them in this module, as the graph has it; empty where only the group has such nodes."""
    parameter: str
    """A parameter or buffer of another type: `shift is f32[8][1]cpu, not f32[4][1]cpu`; else empty."""
    reason: str
    """Why the module is in no group, where it is not compared."""


@frozen
class OtherInput:
    """A module of a group with an input of another type."""

    path: str
    type: str
    """The first type that differs: `f32[2, 16, 64][1024, 1, 16]cpu`."""
    usual_type: str
    """The type of most modules of the group."""


@frozen
class FrozenParameters:
    """Modules of a group with the same parameters frozen."""

    paths: tuple[str, ...]
    frozen: int
    """Parameters that need no gradient by the guards."""
    parameters: int


@frozen
class BlockGroup:
    """Modules with equal graphs: the same operations, arguments, constants, and types of parameters and buffers.

    The types of their inputs may differ: strides of the input of a first block.
    """

    containers: tuple[str, ...]
    """Paths of the lists and dictionaries that hold the modules: `model.layers`."""
    dictionaries: tuple[str, ...]
    """Those paths, and parts of them, that are dictionaries of modules."""
    class_name: str
    """The class of the modules by the guards; empty if no guard names it."""
    class_module: str
    """The Python module of the class."""
    members: tuple[str, ...]
    """Their paths."""
    calls: int
    """Calls of the modules in a run: one each, more if a loop calls them again."""
    nodes: int
    """Nodes of one call in the captured graph."""
    different: tuple[DifferentBlock, ...]
    """Other modules of the lists."""
    difference: DifferentBlock | None
    """How this group differs from the largest one of its list; None for that one, and for blocks of another class."""
    guarded: tuple[GuardedValue, ...]
    """Guarded attributes that differ: each different combination of values is a compiled version."""
    without_gradient: int
    """Calls whose input needs no gradient while that of the others does."""
    other_inputs: tuple[OtherInput, ...]
    """Modules whose inputs have another dtype, shape or stride than those of the first ones that are most."""
    frozen: tuple[FrozenParameters, ...]
    """The modules by their frozen parameters, where these differ: each combination is a compiled version."""
    graph_versions: int
    """Different combinations of input types, frozen parameters and the need of gradients: their kernels differ."""
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
        return sum(group.nodes * group.calls for group in self.groups)


@frozen
class _Form:
    """The canonical form of the graph of a module: equal forms are isomorphic graphs."""

    statements: tuple[str, ...]
    """Each node: its expression with relative names, and its type."""
    inputs: tuple[str, ...]
    """Types of the values from outside of the module, in the order of their first use."""
    parameters: tuple[tuple[str, str], ...]
    """Parameters and buffers of the module with their types, in the order of their first use."""


@mutable
class _Members:
    """Modules of one list, in the order in which they run, with the numbers of their nodes in each call."""

    calls: dict[str, list[list[int]]] = field(default_factory=dict)
    _last: str = ""

    def add(self, path: str, number: int) -> None:
        """Add a node of a module. After nodes of another module it belongs to a further call."""
        calls = self.calls.setdefault(path, [])
        if path != self._last:
            self._last = path
            calls.append([])
        calls[-1].append(number)


@mutable
class _List:
    """The modules of a list that are in no block of an enclosing list."""

    container: str
    numbers: dict[_Call, list[int]]
    forms: dict[_Call, _Form]
    kinds: dict[str, _Kind]
    """Module → its kind, by its first call."""
    _calls_of: dict[str, list[_Call]] = field(default_factory=dict)

    def all_calls(self, path: str) -> list[_Call]:
        """Return the calls of a module."""
        if not self._calls_of:
            for call in self.forms:
                self._calls_of.setdefault(call[0], []).append(call)
        return self._calls_of.get(path, [])

    def calls(self, path: str) -> list[_Call]:
        """Return the calls of a module that equal its first one. Other nodes of it are outside of the blocks."""
        return [call for call in self.all_calls(path) if self.forms[call].statements == self.kinds[path][1]]

    def repeated(self) -> dict[_Kind, list[str]]:
        """Return the modules of each kind that runs twice or more, largest first.

        Kinds with few nodes only count beside a larger kind of their class, whose blocks get other arguments.
        """
        paths: dict[_Kind, list[str]] = defaultdict(list)
        for path, kind in self.kinds.items():
            paths[kind].append(path)
        repeated = {kind: members for kind, members in paths.items() if sum(len(self.calls(path)) for path in members) > 1}
        classes = {class_name for class_name, statements in repeated if len(statements) >= LEAST_NODES}
        chosen = [kind for kind in repeated if len(kind[1]) >= LEAST_NODES or (kind[0] and kind[0] in classes)]
        chosen.sort(key=lambda kind: (len(kind[1]) < LEAST_NODES, -len(repeated[kind]) * len(kind[1])))
        return {kind: repeated[kind] for kind in chosen}


class _Covered:
    """The modules that are in a group."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._around: set[str] = set()

    def add(self, paths: Iterable[str]) -> None:
        """Add modules."""
        for path in paths:
            self._paths.add(path)
            self._around.update(ancestors(path))

    def has(self, path: str) -> bool:
        """Return whether a module is one of them, or inside of one."""
        return any(around in self._paths for around in ancestors(path))

    def overlaps(self, path: str) -> bool:
        """Return whether a module is one of them, inside of one, or around one."""
        return path in self._around or self.has(path)

    def are_in(self, path: str) -> bool:
        """Return whether a module is one of them, or around one."""
        return path in self._around


def blocks_in(captured: CapturedLayers, trains: bool) -> GraphBlocks:
    """Return the groups of equal blocks of a captured graph. `trains`: the compile has a backward."""
    reading = _Reading(captured)
    classes = _classes_of(captured)
    dictionaries = {path for path, name in classes.items() if name == DICTIONARY}
    covered = _Covered()
    lists: list[_List] = []
    members: dict[_Kind, list[tuple[_List, str]]] = defaultdict(list)
    for container, in_list in sorted(_containers(reading, dictionaries).items(), key=lambda item: item[0].count(".")):
        numbers = {
            (path, n): part for path, calls in in_list.calls.items()
            if classes.get(path) not in NOT_CALLED and not covered.has(path)
            for n, part in enumerate(reading.parts(path, calls))
        }  # fmt: skip
        if not numbers:
            continue
        forms = {call: reading.form(call[0], part) for call, part in numbers.items()}
        _complete(reading, container, numbers, forms)
        kinds = {path: (classes.get(path, ""), forms[path, n].statements) for path, n in forms if n == 0}
        lists.append(_List(container, numbers, forms, kinds))
        for kind, paths in lists[-1].repeated().items():
            members[kind] += [(lists[-1], path) for path in paths]
            covered.add(paths)
    for kind, in_lists in _of_equal_lists(reading, lists, covered).items():
        members[kind] += in_lists
        covered.add(path for _, path in in_lists)
    for one in lists:  # the only module of its kind in a list may equal those of another list
        for path, kind in one.kinds.items():
            if kind in members and not covered.overlaps(path):
                members[kind].append((one, path))
                covered.add((path,))
    gradients = _Gradients(reading, captured, trains)
    groups = [_group(captured, kind, paths, gradients, dictionaries) for kind, paths in members.items()]
    groups.sort(key=lambda group: -group.nodes * group.calls)
    return GraphBlocks(len(reading.nodes), _compared(groups, lists, reading, classes, covered))


def class_versions(groups: Iterable[BlockGroup]) -> int:
    """Return the most compiled versions of one class: the blocks of a class share the code, and its limit of versions."""
    counts: Counter[tuple[str, str]] = Counter()
    for group in groups:
        key = (group.class_module, group.class_name) if group.class_name else ("", group.members[0])
        counts[key] += group.versions
    return max(counts.values(), default=0)


def _of_equal_lists(
    reading: _Reading, lists: Sequence[_List], covered: _Covered
) -> dict[_Kind, list[tuple[_List, str]]]:  # fmt: skip
    """Return the modules of each kind that several lists have once each, where the paths of the lists differ only in numbers.

    So are the layers of a list of lists: each has an attention and a perceptron.
    """
    by_name: dict[str, list[tuple[_List, str]]] = defaultdict(list)
    for one in lists:
        for path in one.kinds:
            if not covered.overlaps(path):
                by_name[merged(one.container)].append((one, path))
    results: dict[_Kind, list[tuple[_List, str]]] = defaultdict(list)
    for free in by_name.values():
        if len({one.container for one, _ in free}) < 2:
            continue
        of_call = {call: one for one, path in free for call in one.all_calls(path)}
        numbers = {call: one.numbers[call] for call, one in of_call.items()}
        forms = {call: one.forms[call] for call, one in of_call.items()}
        _complete(reading, free[0][0].container.rpartition(".")[0], numbers, forms)
        for call, one in of_call.items():
            one.numbers[call], one.forms[call] = numbers[call], forms[call]
        of_kind: dict[_Kind, list[tuple[_List, str]]] = defaultdict(list)
        for one, path in free:
            one.kinds[path] = one.kinds[path][0], forms[path, 0].statements
            of_kind[one.kinds[path]].append((one, path))
        for kind, paths in of_kind.items():
            if len(paths) > 1 and len(kind[1]) >= LEAST_NODES:
                results[kind] += paths
    return results


def _compared(
    groups: list[BlockGroup], lists: list[_List], reading: _Reading, classes: Mapping[str, str], covered: _Covered
) -> tuple[BlockGroup, ...]:
    """Return the groups with the other modules of their lists, and with the difference to the largest group of their list."""
    for one in lists:
        of_list = [n for n, group in enumerate(groups) if one.container in group.containers]
        if not of_list:
            continue
        largest = groups[of_list[0]]
        sample = next(path for path in largest.members if path in one.kinds)
        for n in of_list[1:]:
            first = next(path for path in groups[n].members if path in one.kinds)
            if groups[n].difference is None and groups[n].class_name == largest.class_name:
                groups[n] = replace(groups[n], difference=_different(one, first, sample, reading))
        others = [path for path in one.kinds if not covered.are_in(path)]
        different = [_different(one, path, sample, reading) for path in others]
        different += [
            DifferentBlock(path, 0, "", 0, "", "", "no nodes in this graph") for path in classes
            if path.rpartition(".")[0] == one.container and path not in one.kinds
        ]  # fmt: skip
        groups[of_list[0]] = replace(largest, different=(*largest.different, *different))
    return tuple(groups)


def _complete(reading: _Reading, container: str, numbers: dict[_Call, list[int]], forms: dict[_Call, _Form]) -> None:
    """Add the last nodes of modules that are attributed to an enclosing module, where a module of the list has them.

    The nodes after the last parameter of a block may also belong to the code that calls it: only after the last block this is
    certain. They are added if all equal modules then equal that module.
    """
    occupied = {number for part in numbers.values() for number in part}
    for usual, count in Counter(forms.values()).most_common():
        size = len(usual.statements)
        longer = (form for form in forms.values() if len(form.statements) > size and form.statements[:size] == usual.statements)
        for complete in dict.fromkeys(longer):
            added = {}
            for call in [call for call, form in forms.items() if form == usual]:
                first = numbers[call][-1] + 1
                rest = range(first, min(first + len(complete.statements) - size, len(reading.nodes)))
                if any(number in occupied or not is_below(container, reading.layers[number]) for number in rest):
                    break
                added[call] = [*numbers[call], *rest]
            extended = {call: reading.form(call[0], part) for call, part in added.items()}
            if len(extended) == count and all(form.statements == complete.statements for form in extended.values()):
                numbers.update(added)
                forms.update(extended)
                occupied.update(number for part in added.values() for number in part)
                break


def _group(
    captured: CapturedLayers, kind: _Kind, members: Sequence[tuple[_List, str]], gradients: _Gradients, dictionaries: set[str]
) -> BlockGroup:
    """Return the group of modules of one kind, and count the versions that they need."""
    paths = tuple(path for _, path in members)
    calls = {call: one for one, path in members for call in one.calls(path)}
    guarded, combinations = _guarded_values(captured, paths)
    usual = Counter(one.forms[call].inputs for call, one in calls.items()).most_common(1)[0][0]
    other_inputs: dict[str, OtherInput] = {}
    for call, one in calls.items():
        pairs = zip(one.forms[call].inputs, usual, strict=True)
        if (pair := next((pair for pair in pairs if pair[0] != pair[1]), None)) is not None:
            other_inputs.setdefault(call[0], OtherInput(call[0], *pair))
    needing = {call: gradients.input_needs(one.numbers[call]) for call, one in calls.items()}
    without = sum(not needed for needed in needing.values())
    frozen_of = {path: gradients.frozen(path) for path in paths}
    by_frozen: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, names in frozen_of.items():
        by_frozen[names].append(path)
    frozen_parameters = tuple(
        FrozenParameters(tuple(equal), len(names), gradients.parameters(equal[0])) for names, equal in by_frozen.items()
    )  # fmt: skip
    graphs = {call: (one.forms[call].inputs, needing[call], frozen_of[call[0]]) for call, one in calls.items()}
    containers = tuple(dict.fromkeys(one.container for one, _ in members))
    module, _, name = kind[0].rpartition(".")
    return BlockGroup(
        containers, tuple(sorted(path for path in dictionaries if any(is_below(container, path) for container in containers))),
        name, module, paths, len(calls), len(kind[1]), (), None, guarded, without if without < len(calls) else 0,
        tuple(other_inputs.values()), frozen_parameters if len(by_frozen) > 1 else (), len(set(graphs.values())),
        len({(graph, combinations[call[0]]) for call, graph in graphs.items()}),
    )  # fmt: skip


def _containers(reading: _Reading, dictionaries: set[str]) -> dict[str, _Members]:
    """Map each list and each dictionary of modules to its modules with nodes."""
    lists_of_path: dict[str, tuple[tuple[str, str], ...]] = {}
    results: dict[str, _Members] = {}
    for number, layer in enumerate(reading.layers):
        lists = lists_of_path.get(layer)
        if lists is None:
            lists = lists_of_path[layer] = tuple(_lists_in(layer, dictionaries))
        for container, path in lists:
            results.setdefault(container, _Members()).add(path, number)
    return results


def _lists_in(path: str, dictionaries: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each list on a path with its module: `layers` and `layers.3` of `layers.3.attn`."""
    words = path.split(".")
    for n, word in enumerate(words):
        container = ".".join(words[:n])
        if n and (word.isdecimal() or container in dictionaries):
            yield container, f"{container}.{word}"


def _different(one: _List, path: str, sample: str, reading: _Reading) -> DifferentBlock:
    """Count the nodes of a module without an equal node in a module of a group."""
    form, other = one.forms[path, 0], one.forms[sample, 0]
    calls = one.all_calls(path)
    if len(one.calls(path)) < len(calls):
        nodes = sum(len(one.numbers[call]) for call in calls)
        return DifferentBlock(path, nodes, "", 0, "", "", f"in {len(calls)} parts of the graph that differ")
    rest = Counter(other.statements)
    extra = []
    for number, statement in zip(one.numbers[path, 0], form.statements, strict=True):
        if rest[statement]:
            rest[statement] -= 1
        else:
            extra.append(number)
    count = max(len(extra), rest.total(), 1)
    first = reading.expression(reading.nodes[extra[0]])[:CONTENTS] if extra else ""
    types = dict(other.parameters)
    changed = (f"{name} is {kind}, not {types[name]}" for name, kind in form.parameters if types.get(name, kind) != kind)
    return DifferentBlock(path, len(form.statements), sample, count, first, next(changed, ""), "")


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
        parameters: dict[str, str] = {}
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
                source = self.graph.graph.find(name, node.graph)
                if parameter is not None and is_below(parameter, path):
                    relative = parameter[len(path) + 1 :]
                    parameters[relative] = self.type(source) if source is not None else ""
                    return f"@{relative}: {parameters[relative]}"
                if source is None:
                    return name
                if key not in inputs:
                    inputs[key] = len(inputs)
                    types.append(self.type(source))
                return f"${inputs[key]}"

            statements.append(f"{_WORD.sub(word, self.expression(node))} : {node.type}")
        return _Form(tuple(statements), tuple(types), tuple(parameters.items()))

    def parts(self, path: str, calls: Iterable[list[int]]) -> Iterator[list[int]]:
        """Yield the nodes of each call of a module; calls in a row are equal parts of what seems to be one call."""
        for numbers in calls:
            count = self._repetitions(path, numbers)
            size = len(numbers) // count
            yield from (numbers[n * size : (n + 1) * size] for n in range(count))

    def _repetitions(self, path: str, numbers: list[int]) -> int:
        targets = [self.nodes[number].target for number in numbers]
        for size in range(LEAST_NODES, len(numbers) // 2 + 1):
            if len(numbers) % size == 0 and targets[size:] == targets[:-size]:
                forms = {self.form(path, numbers[n : n + size]).statements for n in range(0, len(numbers), size)}
                if len(forms) == 1 and any("@" in statement for statement in next(iter(forms))):
                    return len(numbers) // size
        return 1

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


def _classes_of(captured: CapturedLayers) -> dict[str, str]:
    """Map module paths to the full names of their classes from the guards."""
    results = {}
    for match in _CLASS.finditer(captured.guards):
        source = source_path(match[1]) if match[1].endswith("']") else None
        if source is not None:
            results[captured.naming(*source)] = match[2]
    return results


def _guarded_values(captured: CapturedLayers, members: Sequence[str]) -> tuple[tuple[GuardedValue, ...], _Values]:
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


class _Gradients:
    """What needs a gradient in a graph: parameters and inputs by the guards, values that are computed from them."""

    def __init__(self, reading: _Reading, captured: CapturedLayers, trains: bool) -> None:
        self._reading = reading
        self._of_module: dict[str, list[str]] = {}
        for node, name in captured.parameters.items():
            for path in ancestors(name) if "_buffers_" not in node else ():
                self._of_module.setdefault(path, []).append(name)
        self._recorded = _recorded_gradients(captured) if trains else {}
        self._values = self._with_gradient() if trains else {}

    def parameters(self, path: str) -> int:
        """Return the number of parameters of a module."""
        return len(self._of_module.get(path, ()))

    def frozen(self, path: str) -> tuple[str, ...]:
        """Return the parameters of a module that need no gradient by the guards."""
        return tuple(sorted(name[len(path) :] for name in self._of_module.get(path, ()) if self._recorded.get(name) is False))

    def input_needs(self, numbers: Sequence[int]) -> bool:
        """Return whether an input of a module, other than a parameter, needs a gradient; True if no value does."""
        if not self._values:
            return True
        reading, inside = self._reading, set(numbers)
        for number in numbers:
            node = reading.nodes[number]
            for name in node.args:
                key = (node.graph, name)
                if reading.number.get(key, -1) not in inside and name not in reading.parameters and self._values.get(key, False):
                    return True
        return False

    def _with_gradient(self) -> dict[tuple[int, str], bool]:
        """Return the values that need a gradient: inputs, and floating-point values computed from parameters or inputs."""
        results: dict[tuple[int, str], bool] = {}
        for node in self._reading.graph.nodes:
            key = (node.graph, node.name)
            path = self._reading.parameters.get(node.name)
            if path is not None and node.type:
                trained = node.type.startswith(("f", "bf")) and "_buffers_" not in node.name
                results[key] = self._recorded.get(path, trained)
            elif node.kind == "placeholder":
                results[key] = self._recorded.get(node.name, False)
            else:
                computed = any(results.get((node.graph, name), False) for name in node.args)
                is_float = not node.type or node.type.startswith(("f", "bf", "c"))
                results[key] = computed and (node.kind == "alias" or is_float)
        return results


def _recorded_gradients(captured: CapturedLayers) -> dict[str, bool]:
    """Map paths of parameters, and names of other inputs of the graph, to whether they need a gradient by the guards."""
    results = {}
    for match in _TENSOR.finditer(captured.guards):
        parameter = _PARAMETER.match(match[1])
        source = source_path(parameter[1]) if parameter is not None else None
        if parameter is not None and source is not None:
            path = captured.naming(*source)
            results[f"{path}.{parameter[2]}" if path else parameter[2]] = match[2] == "True"
        else:
            results[re.sub(r"[^a-zA-Z0-9]+", "_", match[1])] = match[2] == "True"
    return results
