"""The layer of each node of the lowered graphs, followed from the program."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence

from tltui.questions.layers.layer_costs import is_below
from tltui.questions.layers.node_layers import Key, Program, masked, operator_of, regions_of, same_operator
from tltui.questions.provenance.dataflow.value_graph import COPIES, VIEWS
from tltui.questions.provenance.graph_names import COMPUTED, GraphText
from tltui.text.graphs.fx_graph import FxNode
from tltui.text.torch_names import common

_PRIMAL = re.compile(r"^primals_(\d{1,9})$")
_INPUT = re.compile(r"(?:Plain|Param)AOTInput\(.*?idx=(\d{1,9})\)")
_VIEW = re.compile(r"^torch\.ops\.(?:aten|prims)\.(?:t|permute|transpose|view|unsqueeze|expand|_to_copy|convert_element_type)\.")
_RESHAPE, _PRODUCT = "torch.ops.aten.reshape.default", "torch.ops.aten.mm.default"
_ENDS_WITH_PARAMETERS = frozenset(("batch_norm", "conv1d", "conv2d", "conv3d", "group_norm", "layer_norm", "linear", "rms_norm"))
"""Operators that a lowered graph ends with a node that reads a parameter, but for conversions and views."""
_MAY_FOLLOW = VIEWS | COPIES | {"_to_copy", "convert_element_type", "getitem"}
_SUMS = ("torch.ops.aten.add.Tensor", "torch.ops.aten.addmm.default")
_FROZEN = "._frozen_param"
"""Constants of a graph that were parameters: which, the trace does not have."""
_RETURN = re.compile(r"^\s*return \((.*)\)\s*$|^\s*return \[(.*)\]\s*$")


def inputs_of(graph: GraphText, joint: GraphText | None, program: Program) -> dict[str, int]:
    """Map placeholders to input numbers from the notes of the joint graph, else by order if the counts agree."""
    results: dict[str, int] = {}
    for node in joint.nodes if joint is not None else ():
        if node.kind == "placeholder" and node.graph == 0 and (note := _INPUT.match(node.note)):
            results[node.name] = int(note[1])
    if results:
        return results
    placeholders = [node.name for node in graph.nodes if node.kind == "placeholder" and node.graph == 0]
    primals = [name for name in placeholders if _PRIMAL.match(name)] or [name for name in placeholders if name.startswith("arg")]
    return {name: n for n, name in enumerate(primals)} if len(primals) == len(program.inputs) else {}


def forward_layers(
    graph: GraphText, program: Program, inputs: dict[str, int], before: dict[str, tuple[str, ...]], inference: bool
) -> dict[str, str]:
    """Map the nodes of a forward to layers. `before` has the source nodes in torch's mappings."""
    by_name = {step.name: n for n, step in enumerate(program.steps)}
    results: dict[str, str] = {}
    anchors: list[tuple[int, int]] = []
    nodes = _nodes(graph)
    attributes = {
        node.name: program.attributes[node.target] for node in graph.nodes
        if node.kind == "get_attr" and node.graph == 0 and node.target in program.attributes
    }  # fmt: skip
    held = _held(nodes, inputs | attributes)
    frozen_nodes = {node.name for node in graph.nodes if node.kind == "get_attr" and _FROZEN in node.target}
    for n, (node, key) in enumerate(nodes):
        sources = [by_name[name] for name in before.get(node.name, ()) if name in by_name]
        if key[0] and any(program.steps[k].key != key for k in sources):
            sources = []  # a node that was left out, or one of the same name in another graph
        steps = [program.steps[k].layer for k in sources]
        if sources and None not in steps:
            results[node.name] = program.module(common(layer or "" for layer in steps))
            if len(sources) == 1:
                anchors.append((n, sources[0]))
            continue
        read = _readers(program, (held[name] for name in node.args if name in held), key)
        if not read and not frozen_nodes.isdisjoint(node.args):
            read = [k for k in program.by_key.get(key, ()) if program.steps[k].anchor]
        if len(read) == 1:
            anchors.append((n, read[0]))
        elif (layer := _same_layer(program, read)) is not None:
            results[node.name] = layer
    _reshaped(nodes, program, anchors, results)
    if inference:  # Inductor moves nodes to where they are used: only what they read and who reads them tells
        _bounded(graph, nodes, program, anchors, results)
    else:
        _sums_between(nodes, program, anchors, held, results)
    _layers_between(nodes, program, [] if inference else anchors, results, False)
    _masks(graph, nodes, results)
    _saved(graph, nodes, results, [nodes[n][0].name for n, _ in anchors])
    _leave_constants(graph, nodes, results)
    return results


def backward_layers(
    graph: GraphText, lines: Sequence[str], program: Program, inputs: dict[str, int], forward: GraphText | None,
    forward_layers_: dict[str, str],
) -> dict[str, str]:  # fmt: skip
    """Nodes of a backward → layers."""
    results: dict[str, str] = {}
    anchors: list[tuple[int, int]] = []
    nodes = _nodes(graph)
    gradients = _gradients(graph, lines, inputs)
    held = _held(nodes, inputs)
    if forward is not None:  # what the forward has saved of a parameter: converted or transposed
        saved = _held(_nodes(forward), inputs)
        given = {node.name for node in graph.nodes if node.kind == "placeholder" and node.graph == 0}
        held = _held(nodes, held | {name: number for name, number in saved.items() if name in given})
    lines_of = {node.name: key for node, key in nodes}
    for n, (node, key) in enumerate(nodes):
        if (layer := _again(graph, node, key, forward, forward_layers_)) is not None:
            results[node.name] = layer
            continue
        reads = [held[name] for name in node.args if name in held]
        read = _readers(program, [*gradients.get(node.name, ()), *reads], key)
        if len(read) == 1:
            anchors.append((n, -read[0]))
        elif (layer := _same_layer(program, read)) is not None:
            results[node.name] = layer
    again = set(results)
    _flattened(graph, nodes, program, anchors, results)
    _layers_between(nodes, program, anchors, results, True)
    _leave_constants(graph, nodes, results)
    _masked_gradients(nodes, forward, forward_layers_, results)
    sums: set[str] = set()
    for node, _ in nodes:
        if node.target not in _SUMS or node.name in again:
            continue
        layers = {results[name] for name in node.args if name in results}
        if len({lines_of.get(name) for name in node.args}) > 1 or len(layers) > 1 or not sums.isdisjoint(node.args):
            results.pop(node.name, None)  # the gradients of two uses of a value are added: it is of neither
            sums.add(node.name)
    return results


def inner_layers(graph: GraphText, program: Program, inputs: dict[str, int]) -> dict[str, str | None]:
    """Map the nodes of graphs inside of a graph to layers: branches of a `cond`, the body of a loop; None where it is not known.

    A node is in the layer of the nodes of its line that read the same parameter, else in that of all nodes of its line.
    """
    results: dict[str, str | None] = {}
    todo = [(0, _held(_nodes(graph), inputs))] if any(inner.parent >= 0 for inner in graph.graph.graphs) else []
    while todo:
        number, held = todo.pop()
        for node, key in _nodes(graph, number):
            todo += [(region.number, region.held(held)) for region in regions_of(graph, node)]
            if number == 0:
                continue
            if len(node.args) == 1 and node.args[0] in held and _VIEW.match(node.target):
                held[node.name] = held[node.args[0]]
            numbers = {held[name] for name in node.args if name in held}
            same_line = [step for step, _ in program.inner if step.key == key and key[0]]
            reading = [step for step in same_line if not numbers.isdisjoint(step.reads)]
            layers = [step.layer for step in reading or same_line]
            layer = program.module(common(layer or "" for layer in layers)) if layers and None not in layers else None
            name = graph.key(node)
            other = results.setdefault(name, layer)
            if other is not None and layer is not None:  # a region that several layers run
                results[name] = program.module(common((other, layer)))
    return results


def _leave_constants(graph: GraphText, nodes: Sequence[tuple[FxNode, Key]], layer_by_node: dict[str, str]) -> None:
    """Leave a node without inputs in its layer only if all its readers are in it: equal constants of many layers are one node."""
    for node, _ in nodes:
        if node.name in layer_by_node and not node.args:
            readers = {layer_by_node.get(user.name) for user in graph.graph.users(node)}
            if readers != {layer_by_node[node.name]}:
                del layer_by_node[node.name]


def _nodes(graph: GraphText, number: int = 0) -> list[tuple[FxNode, Key]]:
    """Return the computing nodes of a graph of the text, the outermost one by default, with their source locations."""
    results = []
    for node in graph.nodes:
        if node.kind in COMPUTED and node.graph == number:
            origin = graph.origin(node)
            results.append((node, (origin.path, origin.place) if origin else ("", 0)))
    return results


def _held(nodes: list[tuple[FxNode, Key]], inputs: dict[str, int]) -> dict[str, int]:
    """Return the inputs and the views of a single input: a transposed or converted weight."""
    held = dict(inputs)
    for node, _ in nodes:
        if len(node.args) == 1 and node.args[0] in held and node.name not in held and _VIEW.match(node.target):
            held[node.name] = held[node.args[0]]
    return held


def _bounded(
    graph: GraphText,
    nodes: list[tuple[FxNode, Key]],
    program: Program,
    anchors: list[tuple[int, int]],
    layer_by_node: dict[str, str],
) -> None:
    """Assign layers to nodes by their producers and consumers: a step follows the steps that it reads."""
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    exact = {nodes[n][0].name: step for n, step in anchors}
    for node, _ in nodes:
        low[node.name] = exact.get(node.name, max((low.get(name, 0) for name in node.args), default=0))
    for node, _ in reversed(nodes):
        upper = high[node.name] = exact.get(node.name, high.get(node.name, len(program.steps)))
        for name in node.args:
            high[name] = min(upper, high.get(name, upper))
    for node, key in nodes:
        if node.name not in layer_by_node and key[0]:
            if node.name in exact:
                layer = program.steps[exact[node.name]].layer
            else:
                layer = program.layer_of(key, low[node.name], high[node.name])
            if layer is not None:
                layer_by_node[node.name] = layer


def _readers(program: Program, numbers: Iterable[int], key: Key) -> list[int]:
    """Return the steps at a source line that read one of these inputs."""
    return list(dict.fromkeys(n for k in numbers for n in program.readers.get(k, ()) if program.steps[n].key == key))


def _same_layer(program: Program, steps: Sequence[int]) -> str | None:
    """Return the layer of several steps: a module that a loop calls again and again."""
    layers = {program.steps[n].layer for n in steps}
    return layers.pop() if len(layers) == 1 else None


def _layers_between(
    nodes: list[tuple[FxNode, Key]], program: Program, anchors: list[tuple[int, int]], layer_by_node: dict[str, str], backward: bool
) -> None:
    """Assign layers to the remaining nodes between anchors. Steps of a backward are negative: they descend."""
    chain = _rising(anchors)
    places = [n for n, _ in chain]
    anchored = dict(anchors)
    last_of = {step: n for n, step in anchors}
    for n, (node, key) in enumerate(nodes):
        if node.name in layer_by_node or not key[0]:
            continue
        if n in anchored:
            layer = program.steps[abs(anchored[n])].layer
        else:
            at = bisect_left(places, n)
            low, high = chain[at - 1][1] if at else None, chain[at][1] if at < len(chain) else None
            if backward:
                low, high = None if high is None else -high, None if low is None else -low
            steps = program.steps_in(key, low or 0, high)
            if not backward and low is not None and program.steps[low].operator in _ENDS_WITH_PARAMETERS:
                steps = _after(node, steps, low, n, last_of) or steps
            layer = program.layer_of_steps(same_operator(program, operator_of(node.target), steps) or steps)
            if layer is None:
                layer = program.layer_of(key)
        if layer is not None:
            layer_by_node[node.name] = layer


def _after(node: FxNode, steps: Sequence[int], low: int, n: int, last_of: dict[int, int]) -> list[int]:
    """Return the steps of a node after the last one that reads a parameter of step `low`; [] if it may still belong to that step.

    Conversions and views may.
    """
    if n < last_of.get(low, n) or not node.args or operator_of(node.target) in _MAY_FOLLOW:
        return []
    return [step for step in steps if step != low]


def _sums_between(
    nodes: list[tuple[FxNode, Key]], program: Program, anchors: list[tuple[int, int]], held: dict[str, int],
    layer_by_node: dict[str, str],
) -> None:  # fmt: skip
    """Assign sums of two values (residual connections) between anchors, where the program has as many on their line."""
    chain = _rising(anchors)
    groups: dict[tuple[int, Key], list[str]] = {}
    for n, (node, key) in enumerate(nodes):
        from_parameter = any(held.get(name) in program.paths for name in node.args)
        if node.target == _SUMS[0] and len(node.args) == 2 and key[0] and not from_parameter:
            groups.setdefault((bisect_left(chain, (n, 0)), key), []).append(node.name)
    for (at, key), names in groups.items():
        low, high = chain[at - 1][1] if at else 0, chain[at][1] if at < len(chain) else len(program.steps)
        steps = [k for k in program.by_key.get(key, ()) if low < k < high and program.steps[k].operator in ("+", "add")]
        if len(steps) == len(names):
            for name, k in zip(names, steps, strict=True):
                if (layer := program.steps[k].layer) is not None:
                    layer_by_node.setdefault(name, layer)


def _masks(graph: GraphText, nodes: Sequence[tuple[FxNode, Key]], layer_by_node: dict[str, str]) -> None:
    """Assign what a dropout computes from random numbers to its layer, and the mask of a `relu` for the backward to its layer."""
    relus = {node.name: key for node, key in nodes if operator_of(node.target) == "relu" and node.name in layer_by_node}
    for node, key in nodes:
        if operator_of(node.target) == "le" and len(node.args) == 1 and relus.get(node.args[0]) == key:
            layer_by_node[node.name] = layer_by_node[node.args[0]]
        if operator_of(node.target) == "inductor_random" and node.name in layer_by_node:
            for user in masked(graph, node, key):
                layer_by_node[user.name] = layer_by_node[node.name]


def _reshaped(
    nodes: list[tuple[FxNode, Key]], program: Program, anchors: list[tuple[int, int]], layer_by_node: dict[str, str]
) -> None:  # fmt: skip
    """Assign the view that gives the result of a matrix product the sizes of the linear layer's result to that layer."""
    exact = {nodes[n][0].name: step for n, step in anchors}
    types = {node.name: node.type for node, _ in nodes}
    for node, key in nodes:
        step = exact.get(node.args[0]) if node.target == _RESHAPE and len(node.args) == 1 else None
        if step is None or node.name in layer_by_node or program.steps[step].key != key:
            continue
        wanted = _sizes(program.steps[step].type)
        layer = program.steps[step].layer
        if wanted and wanted == _sizes(node.type) != _sizes(types.get(node.args[0], "")) and layer is not None:
            layer_by_node[node.name] = layer


def _flattened(
    graph: GraphText, nodes: list[tuple[FxNode, Key]], program: Program, anchors: list[tuple[int, int]],
    layer_by_node: dict[str, str],
) -> None:  # fmt: skip
    """Assign the views that flatten the gradient of a linear layer's result, and give that of its input sizes, to that layer."""
    exact = {nodes[n][0].name: -step for n, step in anchors if nodes[n][0].target == _PRODUCT}
    types = {node.name: node.type for node in graph.nodes if node.graph == 0}
    for node, key in nodes:
        if node.target != _RESHAPE or len(node.args) != 1 or node.name in layer_by_node:
            continue
        sizes, given = _sizes(node.type), _sizes(types.get(node.args[0], ""))
        steps = {exact[user.name] for user in graph.graph.users(node) if user.name in exact}
        wanted = {_sizes(program.steps[step].type) for step in steps}
        is_own = given in wanted
        if not steps and node.args[0] in exact:
            steps = {exact[node.args[0]]}
            is_own = sizes in {_sizes(program.steps[n].type) for step in steps for n in program.steps[step].inputs}
        step = program.steps[steps.pop()] if len(steps) == 1 else None
        if step is not None and step.key == key and step.layer is not None and is_own and sizes != given:
            layer_by_node[node.name] = step.layer


def _sizes(type_: str) -> str:
    """Return the sizes of `f32[4, 8][8, 1]cpu`."""
    return type_.partition("[")[2].partition("]")[0]


def _masked_gradients(
    nodes: list[tuple[FxNode, Key]], forward: GraphText | None, forward_layers_: dict[str, str], layer_by_node: dict[str, str]
) -> None:  # fmt: skip
    """Assign what the backward of a dropout or a `relu` does with its mask to the layer that made the mask."""
    masks: dict[str, tuple[str, Key]] = {}
    positive: dict[str, tuple[str, Key]] = {}
    for other, key in _nodes(forward) if forward is not None else ():
        operator = operator_of(other.target)
        if operator in ("gt", "le", "relu") and other.name in forward_layers_:
            (positive if operator == "relu" else masks)[other.name] = forward_layers_[other.name], key
    for node, key in nodes:
        operator = operator_of(node.target)
        candidates = positive if operator == "le" else masks
        made_by = [candidates[name] for name in node.args if name in candidates and candidates[name][1] == key]
        if len(made_by) != 1 or operator not in ("le", "where", "convert_element_type", "mul"):
            continue
        layer_by_node[node.name] = made_by[0][0]
        if len(node.args) == 1:
            masks[node.name] = made_by[0]


def _saved(
    graph: GraphText, nodes: list[tuple[FxNode, Key]], layer_by_node: dict[str, str], anchored: Collection[str]
) -> None:  # fmt: skip
    """Assign what is computed at the end only to be saved for the backward to the layer of what it reads."""
    for node, _ in reversed(nodes):
        if any(user.kind != "output" for user in graph.graph.users(node)):
            break
        layer = layer_by_node.get(node.name)
        of_args = {layer_by_node[name] for name in node.args if name in layer_by_node}
        if layer is None or node.name in anchored or any(is_below(other, layer) or is_below(layer, other) for other in of_args):
            continue
        if len(of_args) == 1:
            layer_by_node[node.name] = of_args.pop()
        else:
            del layer_by_node[node.name]


def _rising(anchors: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of anchors with ascending steps; reordered nodes drop out."""
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
    """Map nodes to inputs whose gradients they are: output i of a backward is the gradient of input i."""
    last = next((node for node in reversed(graph.nodes) if node.kind == "output" and node.graph == 0), None)
    match = _RETURN.match(lines[last.line].partition(";")[0]) if last is not None and last.line < len(lines) else None
    names = [name.strip() for name in (match[1] or match[2] or "").split(",")] if match else []
    names = [name for name in names if name]
    results: dict[str, list[int]] = {}
    if inputs and len(names) == len(inputs):
        for name, number in zip(names, inputs.values(), strict=True):
            if name != "None":
                results.setdefault(name, []).append(number)
    for node, _ in reversed(_nodes(graph) if results else []):  # what it is a view, a conversion or a sum of
        passes_on = node.kind == "getitem" or _VIEW.match(node.target) or node.target in (*_SUMS, _RESHAPE)
        summands = node.args[:1] if node.target == _SUMS[1] else node.args
        for name in summands if passes_on and node.name in results else ():
            results[name] = list(dict.fromkeys((*results.get(name, ()), *results[node.name])))
    return results


def _again(graph: GraphText, node: FxNode, key: Key, forward: GraphText | None, layers: dict[str, str]) -> str | None:
    """Return the layer of a forward node that a backward recomputes: same name, operator and source line."""
    other = forward.find(node.name) if forward is not None and graph.is_outermost(node) else None
    if other is None or forward is None or node.name not in layers or other.target != node.target:
        return None
    if _sizes(other.type) != _sizes(node.type):  # strides may differ
        return None
    origin = forward.origin(other)
    return layers[node.name] if origin is not None and (origin.path, origin.place) == key else None
