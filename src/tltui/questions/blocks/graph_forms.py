"""Canonical forms of parts of a captured graph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tltui.questions.layers.layer_costs import is_below
from tltui.questions.layers.layer_kernels import CapturedLayers
from tltui.text.frozen import frozen
from tltui.text.graphs.fx_graph import FxNode

LEAST_NODES = 4
"""Nodes of the smallest block: calling a compiled block costs more than fewer operations in eager mode."""


@frozen
class Form:
    """The canonical form of the graph of a module: equal forms are isomorphic graphs."""

    statements: tuple[str, ...]
    """Each node: its expression with relative names, and its type."""
    inputs: tuple[str, ...]
    """Types of the values from outside of the module, in the order of their first use."""
    parameters: tuple[tuple[str, str], ...]
    """Parameters and buffers of the module with their types, in the order of their first use."""


_WORD = re.compile(r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)|(?<![\w.])([A-Za-z_]\w*)(?!\s=[^=])(?!\w)")


class Reading:
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

    def form(self, path: str, numbers: Sequence[int]) -> Form:
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
        return Form(tuple(statements), tuple(types), tuple(parameters.items()))

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
