"""How much of the truth `tltui provenance --json` tells, and how much of what it tells is true.

The truth is what Inductor's scheduler knew in the process that compiled, one JSON object a line (written by
`traces/scripts/truth_recorder.py`): of each kernel call its nodes, all nodes that had a part in it (`allowed`) and the stacks of
their lines, outermost frame first. Of a stack the innermost own frame is meant, else the innermost of a library, else of torch.
Newer files also have the callers of the compiled function: they are a part of the stacks of torch's frames alone.
Of each node it has the stack and, in newer files, the module and the subgraph that it is in. A layer is right if it is a module
of the nodes or around one.

    python tests/kit/provenance_truth.py [LOG TRUTH]     # a table; without arguments of the traces in tests/traces/provenance
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import real

from tltui.export import to_json
from tltui.model.run import Run
from tltui.questions.layers.layer_costs import is_below
from tltui.questions.layers.layer_kernels import layers_of
from tltui.questions.provenance.provenance import graph_at, provenance_json, provenance_of
from tltui.questions.provenance.records import WRITTEN
from tltui.text.graphs.fx_graph import SubGraph

CASES = real.TRACES / "provenance"
Row = dict[str, Any]
Pairs = set[tuple[object, str]]
OfNodes = dict[tuple[str | None, str], Row]
"""Nodes by subgraph, None for the outermost graph, and name."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Precision and recall of claims."""

    claimed: int
    right: int
    true: int
    recalled: int

    @property
    def precision(self) -> float:
        """1 where nothing is said."""
        return self.right / self.claimed if self.claimed else 1.0

    @property
    def recall(self) -> float:
        """1 where there is nothing to say."""
        return self.recalled / self.true if self.true else 1.0

    def __str__(self) -> str:
        return f"{self.precision:.3f} {self.recall:.3f}"


def measure(claimed: Pairs, true: Pairs, allowed: Pairs) -> Measure:
    """Compare claims with the truth; `allowed` pairs are neither wrong nor required."""
    return Measure(len(claimed), len(claimed & (true | allowed)), len(true), len(true & claimed))


@dataclass(frozen=True, slots=True)
class UnitMeasures:
    """One unit."""

    trace: str
    unit: str
    calls: tuple[int, int, int]
    """Calls of kernels: found of those that there are, and how many with nodes there are not."""
    kernel_node: Measure
    kernel_line: Measure
    node_kernel: Measure
    derived: Measure
    """Kernel → node, of those kernels alone whose nodes torch did not write."""
    node_line: Measure
    line_kernel: Measure
    """As the lines tell it, without those of torch."""
    layer: Measure
    """Kernel → layer; the recall is of the innermost layers alone."""

    def __str__(self) -> str:
        matched, total, more = self.calls
        calls = f"{matched}/{total}" + (f" +{more}" if more else "")
        row = (self.kernel_node, self.kernel_line, self.node_kernel, self.derived, self.node_line, self.line_kernel, self.layer)
        return f"{self.trace:25}{self.unit:12}{calls:10}" + "".join(f"{matched!s:13}" for matched in row)


RELATIONS = ("kernel_node", "kernel_line", "node_kernel", "node_line", "line_kernel", "layer")


def by_kind(rows: Iterable[UnitMeasures]) -> dict[tuple[str, str], dict[str, Measure]]:
    """Add up the units of a kind: recorded or not, and forward, backward or inference."""
    kinds: dict[tuple[str, str], list[UnitMeasures]] = {}
    for row in rows:
        kind = "unrecorded" if row.derived.true == row.kernel_node.true else "recorded"
        kinds.setdefault((kind, row.unit), []).append(row)
    return {
        kind: {name: _sum([getattr(unit, name) for unit in units]) for name in RELATIONS} for kind, units in sorted(kinds.items())
    }


def _sum(measures_: Sequence[Measure]) -> Measure:
    return Measure(*(sum(column) for column in zip(*((m.claimed, m.right, m.true, m.recalled) for m in measures_), strict=True)))


HEAD = f"{'trace':25}{'unit':12}{'calls':10}" + "".join(
    f"{word:13}" for word in ("kernel→node", "kernel→line", "node→kernel", "derived", "node→line", "line→kernel", "kernel→layer")
)


def owner_rank(frame: str) -> int:
    """0 for an own frame, 1 for one of a library, 2 for one of torch: by the directory alone, as the truth has whole paths."""
    if "/site-packages/" not in frame:
        return 0
    return 2 if "/site-packages/torch/" in frame else 1


def line_of(stack: list[str]) -> str:
    """Return the innermost frame of the best owner."""
    return min(reversed(stack), key=owner_rank)


def outside_torch(stack: list[str]) -> str:
    """Return the innermost frame that is not torch's, of torch's frames alone the innermost one."""
    return next((frame for frame in reversed(stack) if owner_rank(frame) < 2), stack[-1])


def cases() -> list[str]:
    """Return the names of the traces that have a truth."""
    return sorted(path.parent.name for path in CASES.glob("*/truth.jsonl*"))


def measured(name: str) -> list[UnitMeasures]:
    """Every unit of a case."""
    [log], [truth] = ((CASES / name).glob(wanted) for wanted in ("*.log*", "truth.jsonl*"))
    return list(measures(name, real.opened(log), truth))


def measures(name: str, run: Run, truth: Path) -> Iterator[UnitMeasures]:
    """Every unit of a run that the truth knows."""
    units: dict[tuple[str, str], list[Row]] = defaultdict(list)
    nodes: dict[tuple[str, str], OfNodes] = defaultdict(dict)
    with lzma.open(truth, "rt") if truth.suffix == ".xz" else truth.open() as file:
        lines = file.read().splitlines()
    for line in lines:
        row = json.loads(line)
        if row["kind"] == "kernel":
            units[row["compile"], row["unit"]].append(row)
        else:
            nodes[row["compile"], row["unit"]][row.get("subgraph"), row["node"]] = row
    for where, rows in units.items():
        _add_callers(rows, nodes[where])
    answers: dict[str, Row] = {}
    for compile_ in run.compiles():
        answer = json.loads(to_json(provenance_json(provenance_of(compile_))))
        answers[answer["ref"]] = {unit["unit"]: unit for unit in answer["units"]}
        for unit in answer["units"]:
            [at] = (pane["ref"] for pane in unit["panes"] if pane["pane"] == "post")
            graph = graph_at(compile_, at) if at else None
            defined = () if graph is None else (node for node in graph.nodes if node.kind not in ("placeholder", "output"))
            names = {node.line + 1: (_subgraph(graph.graph.graphs[node.graph]), node.name) for node in defined}
            unit["post_names"] = names
        for unit_layers in layers_of(compile_).units:
            answers[answer["ref"]][unit_layers.unit]["layers"] = unit_layers.of_kernel
    for (ref, unit), rows in units.items():
        _as_in_the_code(rows)
        title = name if len({ref for ref, _ in units}) == 1 else f"{name} {ref}"
        yield _measured(title, unit, rows, nodes[ref, unit], answers.get(ref, {}).get(unit))


def _subgraph(graph: SubGraph) -> str | None:
    """Return a subgraph as Inductor names it: one in another has the names of both."""
    return graph.path.partition(".")[2].replace(".", "_") if graph.parent >= 0 else None


def _node(of_nodes: OfNodes, subgraph: str | None, name: str) -> Row:
    """Return a node that a kernel of a subgraph counts: one of its graph, else of one around it."""
    return of_nodes.get((subgraph, name)) or of_nodes.get((None, name), {})


def _add_callers(rows: list[Row], of_nodes: OfNodes) -> None:
    """Add the callers of the compiled function to stacks of torch's frames alone."""
    callers = rows[0].get("callers", [])
    for row in rows:
        row["stacks"] = [_below(callers, stack) for stack in row["stacks"]]
    for row in of_nodes.values():
        row["stack"] = _below(callers, row["stack"])


def _below(callers: list[str], stack: list[str]) -> list[str]:
    return [*callers, *stack] if stack and owner_rank(line_of(stack)) == 2 else stack


def _as_in_the_code(rows: list[Row]) -> None:
    """Count the calls of a kernel in the order of the code.

    There functions of subgraphs come before the one that calls them; Inductor records a subgraph (`torch.cond`) in the order of
    lowering.
    """
    counts: dict[str, int] = defaultdict(int)
    for row in sorted(rows, key=lambda row: row["subgraph"] is None):
        row["nth"] = counts[row["kernel"]]
        counts[row["kernel"]] += 1


def _measured(name: str, unit: str, rows: list[Row], of_nodes: OfNodes, answer: Row | None) -> UnitMeasures:
    kernels = _numbered(answer["kernels"] if answer else [])
    nodes, allowed, lines, near, derived = set[tuple[object, str]](), set(), set(), set(), set[object]()
    for row in rows:
        key = row["kernel"], row["nth"]
        nodes |= {(key, node) for node in row["nodes"]}
        allowed |= {(key, node) for node in row["allowed"]}
        lines |= {(key, line_of(stack)) for stack in row["stacks"] if stack}
        near |= {(key, stack[-1]) for stack in row["stacks"] if stack and stack[0] in row.get("callers", ())}
        near |= {(key, line_of(stack)) for name in row["allowed"] if (stack := _node(of_nodes, row["subgraph"], name).get("stack"))}
        if kernels.get(key, {}).get("nodes_from") not in WRITTEN:
            derived.add(key)
    calls = {(row["kernel"], row["nth"]) for row in rows}
    claimed = {(key, _name(node)) for key, kernel in kernels.items() for node in kernel["post_nodes"]}
    said_lines = {(key, line) for key, kernel in kernels.items() for line in kernel["user_lines"]}
    back = _node_kernels(answer, kernels) if answer else set()
    return UnitMeasures(
        name, unit, (len(calls & set(kernels)), len(calls), sum(bool(kernels[key]["post_nodes"]) for key in set(kernels) - calls)),
        measure(claimed, nodes, allowed), measure(said_lines, lines, near), measure(back, nodes, allowed),
        measure(*({(key, node) for key, node in pairs if key in derived} for pairs in (claimed, nodes, allowed))),
        _node_lines(of_nodes, answer), _line_kernels(kernels, lines, near, answer), _layers(rows, of_nodes, kernels, answer),
    )  # fmt: skip


def _node_lines(of_nodes: OfNodes, answer: Row | None) -> Measure:
    """Node → its line: the innermost one outside of torch, under which a node is listed. A line around it is not wrong."""
    said: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for born in answer["lines"] if answer else ():
        for node in born["post_nodes"] if born["file"] else ():
            said[answer["post_names"][node["line"]]].add(f"{born['file']}:{born['line']}")
    true = {(node, outside_torch(row["stack"])) for node, row in of_nodes.items() if row["stack"]}
    claimed = set()
    for node, lines in said.items():
        best = min(map(owner_rank, lines))
        claimed |= {(node, line) for line in lines if owner_rank(line) == best and of_nodes.get(node, {}).get("stack")}
    return measure(claimed, true, {(node, line) for node, row in of_nodes.items() for line in row["stack"]})


def _line_kernels(kernels: dict[tuple[str, int], Row], lines: Pairs, near: Pairs, answer: Row | None) -> Measure:
    by_key = {kernel["key"]: key for key, kernel in kernels.items()}
    places = [(f"{born['file']}:{born['line']}", born["kernels"]) for born in (answer["lines"] if answer else ()) if born["file"]]
    claimed = {(by_key[kernel], line) for line, of_line in places for kernel in of_line if kernel in by_key}
    said, true = ({(key, line) for key, line in pairs if owner_rank(line) < 2} for pairs in (claimed, lines))
    return measure(said, true, near)


def _layers(rows: list[Row], of_nodes: OfNodes, kernels: dict[tuple[str, int], Row], answer: Row | None) -> Measure:
    said = answer.get("layers", {}) if answer else {}
    claimed, right, true = set[tuple[object, str]](), set[tuple[object, str]](), set[tuple[object, str]]()
    for row in rows:
        key = row["kernel"], row["nth"]
        modules = {_module(module) for name in row["nodes"] if (module := _node(of_nodes, row["subgraph"], name).get("module"))}
        if not modules:  # of sums of gradients torch knows none
            continue
        told = {(key, layer) for layer in said.get(kernels.get(key, {}).get("key"), ())}
        claimed |= told
        true |= {(key, module) for module in modules}
        right |= {(key, layer) for key, layer in told if any(is_below(module, layer) for module in modules)}
    return measure(claimed, true, right)


def _module(text: str) -> str:
    text = re.sub(r"\.__dict__\['_modules'\]\['(\w+)'\]", r".\1", text)
    return re.sub(r"^[LG]\['(\w+)'\]", r"\1", text).removeprefix("self").strip(".")


def _name(node: str) -> str:
    """Return the name of a node without its graph, which the truth does not have."""
    return node.rpartition(".")[2]


def _numbered(kernels: list[Row]) -> dict[tuple[str, int], Row]:
    """(name, nth call of it in the code) → kernel; one that stands for several calls is found by each of them."""
    calls: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    for kernel in kernels:
        calls[kernel["name"]] += [(line, kernel) for line in _firsts(kernel["call_lines"]) or [0]]
    return {
        (name, nth): kernel for name, places in calls.items()
        for nth, (_, kernel) in enumerate(sorted(places, key=lambda call: call[0]))
    }  # fmt: skip


def _firsts(lines: list[int]) -> Iterable[int]:
    """Return the first line of each call."""
    return [line for line in lines if line - 1 not in lines]


def _node_kernels(unit: Row, kernels: dict[tuple[str, int], Row]) -> Pairs:
    """Node → kernel as the line maps tell it: from the line of a node to the lines of calls."""
    names = unit["post_names"]
    at = {line: key for key, kernel in kernels.items() for line in kernel["call_lines"]}
    maps = (unit["post_to_py_code"], unit["post_to_cpp_code"])
    return {
        (at[to], names[int(line)][1]) for line_map in maps for line, targets in line_map.items() for to in targets
        if to in at and int(line) in names
    }  # fmt: skip


def main() -> None:
    """Print the table."""
    print(HEAD)
    if sys.argv[1:]:
        log, truth = map(Path, sys.argv[1:])
        rows = list(measures(truth.parent.name, real.fresh(log), truth))
    else:
        rows = [row for name in cases() for row in measured(name)]
    print(*rows, sep="\n")
    for (kind, unit), sums in by_kind(rows).items():
        print(f"{kind:25}{unit:12}" + ", ".join(f"{name} {sums[name]}" for name in RELATIONS))


if __name__ == "__main__":
    main()
