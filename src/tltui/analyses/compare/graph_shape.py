"""The shape of a printed FX graph: its statements without comments, the names of values replaced by numbers.

Layers of one kind give graphs that differ in nothing but the names of their values and parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEAD = re.compile(r"^\s*def forward\(self(?:,\s*)?(?P<inputs>.*)\)(?:\s*->.*)?:\s*$")
_INPUT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<type>\s*:\s*\"[^\"]*\")?\s*(?:,|$)")
_ASSIGN = re.compile(r"^(?P<name>[A-Za-z_]\w*)(?P<type>\s*:\s*\"[^\"]*\")?\s*=(?!=)")
_TYPE = re.compile(r"(?P<before>\w)\s*:\s*\"[^\"]*\"")
_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*|(?<=\bself\.)[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class GraphShape:
    """What is left of a graph when names and comments are taken away."""

    inputs: tuple[str, ...]
    """The types of its inputs, '' where none is printed."""
    statements: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Inputs and statements, to compare."""
        return (", ".join(self.inputs), *self.statements)


def graph_shape(text: str) -> GraphShape:
    """The shape of the (first) graph in a text. Frees (`x = None`) are left out."""
    names: dict[str, str] = {}
    inputs: list[str] = []
    statements: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "class ")):
            continue
        if head := _HEAD.match(line):
            for match in _INPUT.finditer(head["inputs"]):
                names.setdefault(match["name"], f"v{len(names)}")
                inputs.append((match["type"] or "").strip(" :"))
            continue
        statement = stripped.partition(";  ")[0]
        statements.append(_renamed(statement, names))
    return GraphShape(tuple(inputs), tuple(statements))


def _renamed(statement: str, names: dict[str, str]) -> str:
    made = _ASSIGN.match(statement)
    if made is not None:
        names.setdefault(made["name"], f"v{len(names)}")

    def number(match: re.Match[str]) -> str:
        name = match[0]
        if match.start() and statement[match.start() - 1] == ".":  # a parameter or a constant of the module
            return names.setdefault(name, f"v{len(names)}")
        return names.get(name, name)

    return _NAME.sub(number, statement)


def same_graph(before: str, after: str) -> bool:
    """Whether two texts are the same graph, however inputs and types are printed."""
    one, two = graph_shape(before), graph_shape(after)
    return [_untyped(s) for s in one.statements] == [_untyped(s) for s in two.statements]


def _untyped(statement: str) -> str:
    return _TYPE.sub(r"\g<before>", statement, count=1)
