"""Layers of modules without parameters (dropout, activations): by their classes in guards, and by the values that they read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tltui.questions.layers.layer_costs import source_path
from tltui.questions.layers.node_layers import Frames, Naming, Program, Step, is_called_at
from tltui.questions.provenance.graph_names import GraphText
from tltui.text.graphs.fx_graph import FxNode

_CLASS = re.compile(
    r"___check_type_id\(([LG]\['\w+'\](?:\._modules\['[^'\]\n]+'\])+), \d+\), type=<class 'torch\.nn\.modules\.\w+\.(\w+)'>"
)
_SEQUENTIAL = "Sequential"
_CONTAINER = "nn/modules/container.py"
_RANDOM = ("inductor_lookup_seed", "inductor_random")
OWN_NAME = frozenset(("relu", "sigmoid", "tanh"))
"""Operators that lowered graphs have under the name that they have in the program."""


def classes_of_guards(text: str, naming: Naming) -> dict[str, str]:
    """Return the classes of torch's own modules, by path: `layers.0.drop` → `Dropout`."""
    results = {}
    for match in _CLASS.finditer(text):
        source = source_path(match[1])
        if source is not None:
            results[naming(*source)] = match[2]
    return results


def operator_of(target: str) -> str:
    """Return the operator of a lowered graph without namespace and overload: `mul` of `torch.ops.aten.mul.Tensor`."""
    parts = target.split(".")
    return parts[3] if target.startswith("torch.ops.") and len(parts) > 3 else parts[-1]


def assign_leaves(program: Program, frames: Frames, classes: dict[str, str]) -> None:
    """Assign nodes to modules without parameters that run the operator of their class."""
    holding = {around for path in program.paths.values() for around in (path, path.rpartition(".")[0])}
    leaves = [(path, classes[path].lower()) for path in frames.calls if path in classes and path not in holding]
    by_operator: dict[str, list[str]] = {}
    for path, operator in leaves:
        by_operator.setdefault(operator, []).append(path)
    for step in program.steps:
        paths = by_operator.get(step.operator.replace("_", ""), [])
        if step.anchor or not paths:
            continue
        inner = [path for path in paths if _follows(program, frames, classes, step, path)]
        called = inner or [path for path in paths if _is_only_call(frames, step, path)]
        if len(called) == 1:
            step.layer = called[0]


def _follows(program: Program, frames: Frames, classes: dict[str, str], step: Step, path: str) -> bool:
    """Return whether a node reads the value of the module before this one in a `Sequential`."""
    around, _, number = path.rpartition(".")
    if classes.get(around) != _SEQUENTIAL or not number.isdecimal() or not frames.calls[path].file.endswith(_CONTAINER):
        return False
    before = f"{around}.{int(number) - 1}"
    return any(program.steps[n].layer == before and program.steps[n].key == step.key for n in step.inputs)


def _is_only_call(frames: Frames, step: Step, path: str) -> bool:
    """Return whether the line of a node calls the module once, and no function of the operator."""
    around, _, name = path.rpartition(".")
    if step.layer != around or name.isdecimal() or not is_called_at(frames, path, step.at):
        return False
    calls = len(re.findall(rf"\.{re.escape(name)}\(", step.code))
    functions = len(re.findall(rf"\b{re.escape(step.operator)}\(", step.code))
    return calls == 1 and functions == (name == step.operator)


def same_operator(program: Program, operator: str, steps: Iterable[int]) -> list[int]:
    """Return the steps that an operator of a lowered graph can come from, where its name tells; [] where it does not."""
    if operator in OWN_NAME:
        return [n for n in steps if program.steps[n].operator == operator]
    return [n for n in steps if program.steps[n].operator == "dropout"] if operator in _RANDOM else []


def masked(graph: GraphText, node: FxNode, key: tuple[str, int]) -> Iterator[FxNode]:
    """Yield the nodes of one line that apply the mask of a dropout, from its random numbers: `gt`, the product, its scale."""
    todo: Sequence[FxNode] = (node,)
    for operator in ("gt", "mul", "mul"):
        todo = [
            user for other in todo for user in graph.graph.users(other)
            if operator_of(user.target) == operator and (origin := graph.origin(user)) and (origin.path, origin.place) == key
        ]  # fmt: skip
        yield from todo


