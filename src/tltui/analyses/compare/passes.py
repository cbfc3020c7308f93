"""The graphs of a compile in the order in which the compiler made them, and what each step changed.

A step compares a graph with the one that it was made from. Which one that is follows from the names; vLLM's passes follow
one another from the last `before_post_grad_graph` on.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass

from tltui.analyses.compare.graph_keys import graph_text
from tltui.analyses.compare.node_changes import GraphChange, node_changes
from tltui.analyses.compare.pairing import raw_of
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile

LIMIT = 32 << 20
"""Stored bytes of a graph that is still compared."""
VLLM = "vllm_post_grad."
BEFORE_POST = "before_post_grad_graph"
_AOT = ("aot_forward_graph", "aot_backward_graph", "aot_inference_graph")
FROM: dict[str, tuple[str, ...]] = {
    "before_pre_grad_graph": ("dynamo_output_graph",),
    "after_pre_grad_graph": ("before_pre_grad_graph",),
    "aot_joint_graph": ("after_pre_grad_graph", "dynamo_output_graph"),
    "aot_inference_graph": ("after_pre_grad_graph", "dynamo_output_graph"),
    "before_joint_graph": ("aot_joint_graph", "aot_inference_graph", "after_pre_grad_graph"),
    "after_joint_graph": ("before_joint_graph",),
    "aot_forward_graph": ("after_joint_graph", "aot_joint_graph", "after_pre_grad_graph"),
    "aot_backward_graph": ("after_joint_graph", "aot_joint_graph"),
    BEFORE_POST: (*_AOT, "after_joint_graph"),
    "inductor_post_grad_graph": (BEFORE_POST, *_AOT),
    "after_post_grad_graph": (BEFORE_POST, *_AOT),
}
"""The graph that a graph is made from: the first of these names that is there."""
MADE_ANEW = frozenset(("aot_joint_graph", "aot_inference_graph"))
"""AOTAutograd traces these anew, operators are decomposed: few nodes survive."""


@dataclass(frozen=True, slots=True)
class Step:
    """A graph, and what changed since the one that it was made from."""

    name: str
    ref: str
    before: str | None
    """The name of the graph that it was made from; None for the first one."""
    before_ref: str | None
    unchanged: bool
    """Both have the same bytes."""
    change: GraphChange | None
    """None for the first graph, and where `problem` says why not."""
    problem: str = ""
    made_anew: bool = False


@dataclass(frozen=True, slots=True)
class UnitSteps:
    """The steps of a unit; `''`: those before the graph was split into units."""

    unit: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class CompilePasses:
    """The steps of a compile."""

    ref: str
    function: str | None
    units: tuple[UnitSteps, ...]


@dataclass(frozen=True, slots=True)
class Passes:
    """The steps of the compiles of a part of a run."""

    schema: int = 1
    compiles: tuple[CompilePasses, ...] = ()


def read_passes(compiles: Iterable[Compile]) -> Generator[CompilePasses | None, None, None]:
    """The compiles that have graphs, one by one; None in between, so that reading can be left."""
    for compile_ in compiles:
        found = yield from passes_of(compile_)
        if found.units:
            yield found


def passes_of(compile_: Compile) -> Generator[None, None, CompilePasses]:
    """The steps of one compile, in the order of the records of each unit."""
    artifacts = artifacts_of(compile_)
    names = {unit.number: unit.name for unit in units_of(artifacts)}
    units: dict[int | None, list[Step]] = {}
    for place, artifact in enumerate(artifacts):
        if artifact.name not in FROM and not artifact.name.startswith(VLLM) and artifact.name != "dynamo_output_graph":
            continue
        units.setdefault(artifact.unit, []).append(_step(_origin(artifacts[:place], artifact), artifact))
        yield
    ordered = sorted(units.items(), key=lambda item: (item[0] is not None, item[0] or 0))
    steps = tuple(UnitSteps(names.get(unit, "") if unit is not None else "", tuple(own)) for unit, own in ordered)
    return CompilePasses(str(compile_.ref), compile_.frame.code[0], steps)


def _origin(earlier: list[Artifact], artifact: Artifact) -> Artifact | None:
    """The graph that a graph was made from."""
    known = [a for a in earlier if a.attempt == artifact.attempt]
    own = [a for a in known if a.unit == artifact.unit]
    is_vllm = artifact.name.startswith(VLLM)
    if is_vllm or artifact.name in ("inductor_post_grad_graph", "after_post_grad_graph"):
        # one call and range after another: passes begin anew at each `before_post_grad_graph`
        for other in reversed(own):
            if other.name.startswith(VLLM) or other.name == BEFORE_POST:
                return other
    wanted = FROM.get(artifact.name, ())
    common = [a for a in known if None in (artifact.unit, a.unit) or a.subgraph == artifact.subgraph]
    if artifact.name == "before_pre_grad_graph" and artifact.unit is not None and not artifact.alone:
        return None  # one of several pieces that a graph was cut into
    for group in (own, common):
        for name in wanted:
            found = [a for a in group if a.name == name]
            if found:
                return found[-1]
    return None


def _step(before: Artifact | None, artifact: Artifact) -> Step:
    anew = artifact.name in MADE_ANEW
    if before is None:
        return Step(artifact.name, str(artifact.ref), None, None, False, None, made_anew=anew)
    refs = artifact.name, str(artifact.ref), before.name, str(before.ref)
    log = artifact.log
    digest = log.md5(artifact.record)
    if digest is not None and digest == log.md5(before.record):
        return Step(*refs, True, None, made_anew=anew)
    if max(log.columns.size[a.record] for a in (before, artifact)) > LIMIT:
        return Step(*refs, False, None, "a graph of more than 32 MB is not compared here", anew)
    try:
        left, right = (graph_text(raw_of(a).decode("utf-8", "replace")) for a in (before, artifact))
    except OSError as error:
        return Step(*refs, False, None, f"not read: {error.strerror or error}", anew)
    if not (left.understood and right.understood):
        return Step(*refs, False, None, "not understood as a graph", anew)
    return Step(*refs, False, node_changes(left, right), "", anew)
