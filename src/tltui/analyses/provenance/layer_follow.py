"""From the layers of the graph that Inductor began with to those of the graphs that it lowered.

Their nodes name lines of source, and stand in the order of that graph, in a backward in the reverse one. A line that runs once
an iteration is told apart by *anchors*: nodes that read a parameter, and in a backward what is returned as its gradient. Between
two of them only the steps between their steps are meant.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from tltui.analyses.provenance.graph import COMPUTED, GraphText
from tltui.analyses.provenance.layer_pre import Key, Program
from tltui.text.graphs.fx_graph import FxNode
from tltui.text.graphs.module_names import common

_PRIMAL = re.compile(r"^primals_(\d{1,9})$")
_INPUT = re.compile(r"(?:Plain|Param)AOTInput\(.*?idx=(\d{1,9})\)")
_VIEW = re.compile(r"^torch\.ops\.(?:aten|prims)\.(?:t|permute|transpose|view|unsqueeze|expand|_to_copy|convert_element_type)\.")
_SUMS = ("torch.ops.aten.add.Tensor", "torch.ops.aten.addmm.default")
_RETURN = re.compile(r"^\s*return \((.*)\)\s*$|^\s*return \[(.*)\]\s*$")


def inputs_of(graph: GraphText, joint: GraphText | None, program: Program) -> dict[str, int]:
    """Placeholder → the number of the input that it stands for, as the joint graph notes it; else by order, where there are as
    many."""
    found: dict[str, int] = {}
    for node in joint.nodes if joint is not None else ():
        if node.kind == "placeholder" and node.graph == 0 and (note := _INPUT.match(node.note)):
            found[node.name] = int(note[1])
    if found:
        return found
    own = [node.name for node in graph.nodes if node.kind == "placeholder" and node.graph == 0]
    primals = [name for name in own if _PRIMAL.match(name)] or [name for name in own if name.startswith("arg")]
    return {name: n for n, name in enumerate(primals)} if len(primals) == len(program.inputs) else {}


def forward_layers(
    graph: GraphText, program: Program, inputs: dict[str, int], before: dict[str, tuple[str, ...]], inference: bool
) -> dict[str, str]:
    """Nodes of a forward → layers. `before` has the nodes that torch says each came from."""
    by_name = {step.name: n for n, step in enumerate(program.steps)}
    found: dict[str, str] = {}
    anchors: list[tuple[int, int]] = []
    nodes = _nodes(graph)
    attributes = {
        node.name: program.attributes[node.target] for node in graph.nodes
        if node.kind == "get_attr" and node.graph == 0 and node.target in program.attributes
    }  # fmt: skip
    held = _held(nodes, inputs | attributes)
    for n, (node, key) in enumerate(nodes):
        told = [by_name[name] for name in before.get(node.name, ()) if name in by_name]
        steps = [program.steps[k].layer for k in told]
        if told and None not in steps:
            found[node.name] = program.module(common(layer or "" for layer in steps))
            if len(told) == 1:
                anchors.append((n, told[0]))
            continue
        read = _readers(program, (held[name] for name in node.args if name in held), key)
        if len(read) == 1:
            anchors.append((n, read[0]))
    if inference:  # Inductor moves nodes to where they are used: only what they read and who reads them tells
        _bounded(graph, nodes, program, anchors, found)
    _between(nodes, program, [] if inference else anchors, found, False)
    return found


def backward_layers(
    graph: GraphText, lines: Sequence[str], program: Program, inputs: dict[str, int], forward: GraphText | None,
    forward_layers_: dict[str, str],
) -> dict[str, str]:  # fmt: skip
    """Nodes of a backward → layers."""
    found: dict[str, str] = {}
    anchors: list[tuple[int, int]] = []
    nodes = _nodes(graph)
    gradients = _gradients(graph, lines, inputs)
    held = _held(nodes, inputs)
    lines_of = {node.name: key for node, key in nodes}
    for n, (node, key) in enumerate(nodes):
        if (layer := _again(graph, node, key, forward, forward_layers_)) is not None:
            found[node.name] = layer
            continue
        reads = [held[name] for name in node.args if name in held]
        read = _readers(program, [*gradients.get(node.name, ()), *reads], key)
        if len(read) == 1:
            anchors.append((n, -read[0]))
    again = set(found)
    _between(nodes, program, anchors, found, True)
    for node, _ in nodes:
        if node.target in _SUMS and node.name not in again and len({lines_of.get(name) for name in node.args}) > 1:
            found.pop(node.name, None)  # the gradients of two uses of a value are added: it is of neither
    return found


def _nodes(graph: GraphText) -> list[tuple[FxNode, Key]]:
    """What the outermost graph computes, and where it was written."""
    found = []
    for node in graph.nodes:
        if node.kind in COMPUTED and node.graph == 0:
            origin = graph.origin(node)
            found.append((node, (origin.path, origin.place) if origin else ("", 0)))
    return found


def _held(nodes: list[tuple[FxNode, Key]], inputs: dict[str, int]) -> dict[str, int]:
    """The inputs, and what is made of one of them alone: a weight that is transposed or converted."""
    held = dict(inputs)
    for node, _ in nodes:
        if len(node.args) == 1 and node.args[0] in held and node.name not in held and _VIEW.match(node.target):
            held[node.name] = held[node.args[0]]
    return held


def _bounded(
    graph: GraphText, nodes: list[tuple[FxNode, Key]], program: Program, anchors: list[tuple[int, int]], found: dict[str, str]
) -> None:
    """The layers of nodes by what they read and who reads them: a step comes behind the steps that it reads."""
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    exact = {nodes[n][0].name: step for n, step in anchors}
    for node, _ in nodes:
        low[node.name] = exact.get(node.name, max((low.get(name, 0) for name in node.args), default=0))
    for node, _ in reversed(nodes):
        own = high[node.name] = exact.get(node.name, high.get(node.name, len(program.steps)))
        for name in node.args:
            high[name] = min(own, high.get(name, own))
    for node, key in nodes:
        if node.name not in found and key[0]:
            if node.name in exact:
                layer = program.steps[exact[node.name]].layer
            else:
                layer = program.layer_of(key, low[node.name], high[node.name])
            if layer is not None:
                found[node.name] = layer


def _readers(program: Program, numbers: Iterable[int], key: Key) -> list[int]:
    """The steps of a line that read one of these inputs."""
    return list(dict.fromkeys(n for k in numbers for n in program.readers.get(k, ()) if program.steps[n].key == key))


def _between(
    nodes: list[tuple[FxNode, Key]], program: Program, anchors: list[tuple[int, int]], found: dict[str, str], backward: bool
) -> None:
    """The layers of nodes that are not known yet. Steps of a backward are negative: they fall as its nodes go on."""
    chain = _rising(anchors)
    places = [n for n, _ in chain]
    own = dict(anchors)
    for n, (node, key) in enumerate(nodes):
        if node.name in found or not key[0]:
            continue
        if n in own:
            layer = program.steps[abs(own[n])].layer
        else:
            at = bisect_left(places, n)
            low, high = chain[at - 1][1] if at else None, chain[at][1] if at < len(chain) else None
            if backward:
                low, high = None if high is None else -high, None if low is None else -low
            layer = program.layer_of(key, low or 0, high)
            if layer is None:
                layer = program.layer_of(key)
        if layer is not None:
            found[node.name] = layer


def _rising(anchors: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the anchors whose steps rise: nodes that were moved elsewhere are left out."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for n, (_, step) in enumerate(anchors):
        at = bisect_right(tails, step)
        previous.append(ends[at - 1] if at else -1)
        if at == len(tails):
            tails.append(step)
            ends.append(n)
        else:
            tails[at], ends[at] = step, n
    chain = []
    n = ends[-1] if ends else -1
    while n >= 0:
        chain.append(anchors[n])
        n = previous[n]
    return chain[::-1]


def _gradients(graph: GraphText, lines: Sequence[str], inputs: dict[str, int]) -> dict[str, list[int]]:
    """Node → the inputs whose gradient it is: what a backward returns at place i is that of the i-th input."""
    last = next((node for node in reversed(graph.nodes) if node.kind == "output" and node.graph == 0), None)
    match = _RETURN.match(lines[last.line].partition(";")[0]) if last is not None and last.line < len(lines) else None
    names = [name.strip() for name in (match[1] or match[2] or "").split(",")] if match else []
    names = [name for name in names if name]
    found: dict[str, list[int]] = {}
    if inputs and len(names) == len(inputs):
        for name, number in zip(names, inputs.values(), strict=True):
            if name != "None":
                found.setdefault(name, []).append(number)
    return found


def _again(graph: GraphText, node: FxNode, key: Key, forward: GraphText | None, layers: dict[str, str]) -> str | None:
    """The layer of a node of the forward that a backward computes again: it has its name, its operator and its line."""
    other = forward.find(node.name) if forward is not None and graph.named(node) else None
    if other is None or forward is None or node.name not in layers or other.target != node.target or other.type != node.type:
        return None
    origin = forward.origin(other)
    return layers[node.name] if origin is not None and (origin.path, origin.place) == key else None
