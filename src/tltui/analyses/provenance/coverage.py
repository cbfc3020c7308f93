"""How much of a unit is known, where it is known from, and of what is not known the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tltui.analyses.provenance import result
from tltui.analyses.provenance.flow.values import VIEWS
from tltui.analyses.provenance.graph import COMPUTED
from tltui.analyses.provenance.groups import Woven
from tltui.analyses.provenance.links import Texts
from tltui.analyses.provenance.names import aten_of
from tltui.analyses.provenance.result import Coverage, Kernel, Known, Unknown
from tltui.text.graphs.fx_graph import FxNode

KERNEL_NODES, KERNEL_LINES, NODE_KERNELS = "kernel nodes", "kernel lines", "node kernels"
NO_GRAPH = "torch wrote no post-grad graph, so there are no nodes to name"
LAZY = "torch writes no mapping of a backward that is compiled lazily"
EMPTY = "torch's mapping of this unit is empty"
NOT_IN_MAPPING = "torch's mapping does not name them"
NOT_RECORDED = "torch did not record provenance"
NOT_TOLD = "and neither comments in the code nor the flow of data tell it"
NO_STACK = "their nodes are not known, and torch recorded no stacks of them"
NO_ORIGIN = "the graph names no line of source of their nodes"
CALLED = "the graph names lines of libraries only, not the line of yours that calls them"
NO_CODE = "torch wrote no generated code"
VIEW = "views and items of results: no kernel has to compute them"
IN_NO_KERNEL = "no kernel has them: Inductor computes them at compile time, or not at all"
PERHAPS = "kernels of which not all nodes are known may compute them"


def coverage_of(woven: Woven, kernels: Sequence[Kernel], recorded: bool) -> Coverage:
    """What is known of a unit."""
    graph = woven.texts.post
    nodes = [] if graph is None else [(n, node) for n, node in enumerate(graph.nodes) if node.kind in COMPUTED]
    keys = {n: graph.key(node) for n, node in nodes} if graph is not None else {}
    run = {n: woven.node_kernels[key] for n, key in keys.items() if key in woven.node_kernels}
    unmapped = tuple(node.name for n, node in nodes if n not in run and not woven.links.post_to_pre.get(keys[n]))
    missing = tuple(kernel.key for kernel in kernels if not kernel.mapped)
    with_nodes = [kernel for kernel in kernels if kernel.post_nodes or kernel.pre_nodes]
    with_lines = [kernel for kernel in kernels if kernel.user_lines]
    best = (min((kernels[k].nodes_from for k in found), key=_order) for found in run.values())
    all_known = all(kernel.nodes_from in result.WRITTEN for kernel in kernels)
    unknown = (
        *_kernels_without_nodes(woven.texts, kernels, recorded), *_kernels_without_lines(woven, kernels),
        *_nodes_without_kernels(woven.texts, [node for n, node in nodes if n not in run], all_known),
    )  # fmt: skip
    return Coverage(
        len(kernels), len(kernels) - len(missing), missing, len(nodes), len(nodes) - len(unmapped), unmapped, len(run),
        sum(n in woven.places.post for n, _ in nodes), len(with_nodes), len(with_lines),
        _from(kernel.nodes_from for kernel in with_nodes), _from(kernel.lines_from for kernel in with_lines), _from(best), unknown,
    )  # fmt: skip


def _order(source: str) -> int:
    return result.SOURCES.index(source) if source in result.SOURCES else len(result.SOURCES)


def _from(sources: Iterable[str]) -> tuple[Known, ...]:
    counts = Counter(sources)
    return tuple(Known(source, counts[source]) for source in sorted(counts, key=_order))


def _kernels_without_nodes(texts: Texts, kernels: Sequence[Kernel], recorded: bool) -> Iterator[Unknown]:
    names = tuple(kernel.key for kernel in kernels if not kernel.post_nodes and not kernel.pre_nodes)
    if not names:
        return
    if texts.post is None:
        why = NO_GRAPH
    elif texts.mapping.kernel_to_post:
        why = f"{NOT_IN_MAPPING}, {NOT_TOLD}"
    elif not recorded:
        why = f"{NOT_RECORDED}, {NOT_TOLD}"
    else:
        why = f"{LAZY if texts.direction == 'backward' else EMPTY}, {NOT_TOLD}"
    yield Unknown(KERNEL_NODES, why, names)


def _kernels_without_lines(woven: Woven, kernels: Sequence[Kernel]) -> Iterator[Unknown]:
    """Why no line is known: no node, a node without a line, or only one of a library that own code calls."""
    reasons: dict[str, list[str]] = {}
    for n, kernel in enumerate(kernels):
        if not kernel.user_lines:
            why = CALLED if woven.places.called[n] else NO_ORIGIN if kernel.post_nodes or kernel.pre_nodes else NO_STACK
            reasons.setdefault(why, []).append(kernel.key)
    for why, keys in reasons.items():
        yield Unknown(KERNEL_LINES, why, tuple(keys))


def _nodes_without_kernels(texts: Texts, nodes: Iterable[FxNode], all_known: bool) -> Iterator[Unknown]:
    reasons: dict[str, list[str]] = {}
    for node in nodes:
        if not texts.code.calls:
            why = NO_CODE
        elif node.kind == "getitem" or aten_of(node).partition(".")[2] in VIEWS:
            why = VIEW
        else:
            why = IN_NO_KERNEL if all_known else PERHAPS
        reasons.setdefault(why, []).append(node.name)
    for why, names in reasons.items():
        yield Unknown(NODE_KERNELS, why, tuple(names))
