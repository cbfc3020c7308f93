"""What guards record of the blocks of a model: classes, values that differ, and parameters that need a gradient."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tltui.questions.blocks.graph_forms import Reading
from tltui.questions.layers.layer_costs import source_path
from tltui.questions.layers.layer_kernels import CapturedLayers
from tltui.questions.layers.node_layers import ancestors
from tltui.text.frozen import frozen


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


_CLASS = re.compile(r"___check_type_id\(([LG]\[[^\n]*?), \d+\), type=<class '([^']+)'>")


def classes_of(captured: CapturedLayers) -> dict[str, str]:
    """Map module paths to the full names of their classes from the guards."""
    results = {}
    for match in _CLASS.finditer(captured.guards):
        source = source_path(match[1]) if match[1].endswith("']") else None
        if source is not None:
            results[captured.naming(*source)] = match[2]
    return results


_VALUE = re.compile(
    r"EQUALS_MATCH: ([LG]\['\w+'\](?:\._modules\['[^'\]]+'\])*)\.(\w+) == ([^\n]*?)  +# ([^\n]*?)  # (\S[^\n]*?:\d{1,9}) in "
)


_Values = dict[str, tuple[str | None, ...]]
"""Module → values of the guarded attributes."""


def guarded_values(captured: CapturedLayers, members: Sequence[str]) -> tuple[tuple[GuardedValue, ...], _Values]:
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


_TENSOR = re.compile(r"check_tensor\(([LG]\[[^\n]*?), \w+, DispatchKeySet[^\n]*? requires_grad=(True|False)")
_PARAMETER = re.compile(r"^(.*)\._parameters\['([^']+)'\]$")


class Gradients:
    """What needs a gradient in a graph: parameters and inputs by the guards, values that are computed from them."""

    def __init__(self, reading: Reading, captured: CapturedLayers, trains: bool) -> None:
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
