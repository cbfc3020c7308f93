"""Ranks on which no compile handed a graph to a backend."""

from __future__ import annotations

from tltui.model.nodes import Compile, Rank
from tltui.model.run import Run
from tltui.model.status import FORWARD

GRAPH = "dynamo_output_graph"
"""Torch writes it before it calls the backend."""


def made_graph(compile_: Compile) -> bool | None:
    """Return whether a compile handed a graph with operations to a backend; None if the log does not show it."""
    facts = compile_.facts
    if any(metrics.event == FORWARD and metrics.graph_op_count for metrics in compile_.metrics):
        return True
    if not facts.has_trace or not facts.has_metrics:
        return None
    if not facts.failed:
        return False
    log = compile_.process.log
    return any(log.kind(record).event == GRAPH for record in compile_.records)


def ranks_without_graph(run: Run) -> tuple[Rank, ...]:
    """Return the ranks that compiled functions, none of them to a graph with operations."""
    return tuple(rank for rank in run.ranks if _is_without_graph(rank))


def _is_without_graph(rank: Rank) -> bool:
    outcomes = (made_graph(compile_) for process in rank.processes for compile_ in process.compiles.values() if compile_.is_compile)
    first = next(outcomes, None)
    return first is False and all(outcome is False for outcome in outcomes)
