"""The graphs of a compile in the order in which the compiler made them, and what each step changed.

A step compares a graph with the one that it was made from. Which one that is follows from the names; vLLM's passes follow
one another from the last `before_post_grad_graph` on.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace

from tltui.analyses.compare.graph_keys import graph_text
from tltui.analyses.compare.node_changes import KINDS, GraphChange, node_changes
from tltui.analyses.compare.pairing import raw_of
from tltui.analyses.content import content_key
from tltui.analyses.parts import digest_of, part, shared
from tltui.analyses.records import Reader
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile, Process

LIMIT = 32 << 20
"""Stored bytes of a graph that is still compared."""
VLLM = "vllm_post_grad."
BEFORE_POST = "before_post_grad_graph"
READABLE, TRANSFORMED = "fx_graph_readable", "fx_graph_transformed"
"""Before and after post-grad passes, as a debug directory has them: without the strides and devices that a trace has."""
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
    READABLE: (),
    TRANSFORMED: (READABLE,),
}
"""The graph that a graph is made from: the first of these names that is there."""
FUSED = {"ir_pre_fusion": "ir_post_fusion", "ir_post_fusion": "ir_pre_fusion"}
"""IR before and after fusion."""
GRAPHS = frozenset((*FROM, "dynamo_output_graph"))
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
class Alike:
    """Compiles with the same steps: the same graphs in the same order, and as many nodes changed by each."""

    first: str
    """The address of the first of them."""
    function: str | None
    steps: int
    left: int
    """Nodes of the first graph that was compared."""
    right: int
    """Nodes of the last one."""
    changes: tuple[int, ...]
    """How many nodes were changed in all steps together, as `node_changes.KINDS` orders them."""
    refs: tuple[str, ...]
    """All of them."""


@dataclass(frozen=True, slots=True)
class Passes:
    """The steps of the compiles of a part of a run."""

    schema: int = 1
    compiles: tuple[CompilePasses, ...] = ()
    """Those whose steps are told in full: the first of each kind, as many as `FULL`."""
    alike: tuple[Alike, ...] = ()
    """All compiles with graphs, those with the same steps together."""


FULL = 12
"""Kinds of steps that are told in full where there are several compiles; of further ones the sums."""
Outline = tuple[tuple[str, tuple[tuple[object, ...], ...]], ...]
"""Of each unit its name, and of each step all but addresses and single nodes."""


def outline_of(compile_: Compile) -> Outline:
    """What compiles with the same steps share. Made once for compiles with the same texts."""
    try:
        digest = content_of(compile_)
    except OSError as error:  # said by the steps themselves; not kept, as the log may be there again
        return (("", ((str(compile_.ref), str(error)),)),)
    return shared(compile_, outline_of, digest, lambda: _outline(run_steps(passes_of(compile_)))) if digest else ()


@part
def content_of(compile_: Compile, reader: Reader) -> bytes:
    """What the steps of a compile rest on: its graphs and the units that they are in. Empty without graphs."""
    return content_key(compile_, reader, _graphs(compile_.process), LIMIT)


def _graphs(process: Process) -> frozenset[str]:
    """The names of the graphs of a log: passes of vLLM are numbered."""
    names = {kind.name for kind in process.log.kinds if kind.name and kind.name.startswith(VLLM)}
    return GRAPHS | names if names else GRAPHS


def _outline(found: CompilePasses) -> Outline:
    return tuple((unit.unit, tuple(map(_said, unit.steps))) for unit in found.units)


def _said(step: Step) -> tuple[object, ...]:
    change = step.change
    told = (change.left, change.right, change.renamed, change.moved, counts_of(change)) if change is not None else None
    return step.name, step.before, step.unchanged, step.problem, step.made_anew, told


def counts_of(change: GraphChange) -> tuple[int, ...]:
    """How many nodes a step changed, as `KINDS` orders them."""
    return tuple(map(change.count, KINDS))


def alike_of(compile_: Compile, outline: Outline) -> Alike:
    """A kind of steps, with its first compile."""
    steps = [step for _, own in outline for step in own]
    told = [step[-1] for step in steps if isinstance(step[-1], tuple)]  # of those that were compared
    sums = [sum(own[4][n] for own in told) for n in range(len(KINDS))]
    left, right = (told[0][0], told[-1][1]) if told else (0, 0)
    return Alike(str(compile_.ref), compile_.frame.code[0], len(steps), left, right, tuple(sums), ())


def run_steps(steps: Generator[None, None, CompilePasses]) -> CompilePasses:
    """All steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            found: CompilePasses = stop.value
            return found


def is_graph(artifact: Artifact) -> bool:
    """Whether an artifact is a step."""
    return artifact.name in GRAPHS or artifact.name.startswith(VLLM)


def has_beside(artifact: Artifact) -> bool:
    """Whether it is of a kind that `beside` may know another of."""
    return is_graph(artifact) or artifact.name in FUSED


def beside(artifact: Artifact) -> Artifact | None:
    """The graph that a graph was made from; of the first one that which was made from it; of IR before fusion that after it, and
    the other way round. None where there is neither."""
    if artifact.name in FUSED:
        same = (other for other in artifacts_of(artifact.owner) if other.name == FUSED[artifact.name])
        return next((other for other in same if (other.unit, other.attempt) == (artifact.unit, artifact.attempt)), None)
    earlier, last = _Earlier(), None
    for other in artifacts_of(artifact.owner):
        if is_graph(other):
            origin = earlier.origin(other)
            if other == artifact and origin is not None:
                return origin
            if origin == artifact and last is None:
                last = other
        earlier.add(other)
    return last


def passes_of(compile_: Compile) -> Generator[None, None, CompilePasses]:
    """The steps of one compile, in the order of the records of each unit."""
    artifacts = artifacts_of(compile_)
    names = {unit.number: unit.name for unit in units_of(artifacts)}
    units: dict[int | None, list[Step]] = {}
    earlier = _Earlier()
    for artifact in artifacts:
        if is_graph(artifact):
            units.setdefault(artifact.unit, []).append(_step(earlier.origin(artifact), artifact))
            yield
        earlier.add(artifact)
    ordered = sorted(units.items(), key=lambda item: (item[0] is not None, item[0] or 0))
    steps = tuple(UnitSteps(names.get(unit, "") if unit is not None else "", tuple(own)) for unit, own in ordered)
    return CompilePasses(str(compile_.ref), compile_.frame.code[0], steps)


class _Earlier:
    """The graphs that came before, the last of each kind: a compile of vLLM has thousands."""

    def __init__(self) -> None:
        self._last: dict[tuple[object, ...], Artifact] = {}

    def add(self, a: Artifact) -> None:
        """One more."""
        keys: list[tuple[object, ...]] = [
            ("own", a.attempt, a.unit, a.name), ("any", a.attempt, a.name), ("subgraph", a.attempt, a.subgraph, a.name),
        ]  # fmt: skip
        if a.unit is None:
            keys.append(("compile", a.attempt, a.name))
        if a.name.startswith(VLLM) or a.name == BEFORE_POST:
            keys.append(("pass", a.attempt, a.unit))
        self._last.update(dict.fromkeys(keys, a))

    def _latest(self, *keys: tuple[object, ...]) -> Artifact | None:
        return max((self._last[key] for key in keys if key in self._last), key=lambda a: a.record, default=None)

    def origin(self, a: Artifact) -> Artifact | None:
        """The graph that a graph was made from."""
        follows = a.name.startswith(VLLM) or a.name in ("inductor_post_grad_graph", "after_post_grad_graph")
        # one call and range after another: passes begin anew at each `before_post_grad_graph`
        if follows and (before := self._latest(("pass", a.attempt, a.unit))) is not None:
            return before
        wanted = FROM.get(a.name, ())
        if a.name == "before_pre_grad_graph" and a.unit is not None and not a.alone:
            return None  # one of several pieces that a graph was cut into
        own = (self._latest(("own", a.attempt, a.unit, name)) for name in wanted)
        return next((found for found in (*own, *self._common(a, wanted)) if found is not None), None)

    def _common(self, a: Artifact, wanted: Iterable[str]) -> Iterator[Artifact | None]:
        """Those that belong to the whole compile, or to the same subgraph."""
        for name in wanted:
            if a.unit is None:
                yield self._latest(("any", a.attempt, name))
            else:
                yield self._latest(("compile", a.attempt, name), ("subgraph", a.attempt, a.subgraph, name))


def _step(before: Artifact | None, artifact: Artifact) -> Step:
    anew = artifact.name in MADE_ANEW
    if before is None:
        return Step(artifact.name, str(artifact.ref), None, None, False, None, made_anew=anew)
    plain = Step(artifact.name, str(artifact.ref), before.name, str(before.ref), False, None, "", anew)
    sizes = artifact.log.columns.size
    if max(sizes[a.record] for a in (before, artifact)) > LIMIT:
        log = artifact.log
        digest = log.md5(artifact.record)
        if digest is not None and digest == log.md5(before.record):
            return replace(plain, unchanged=True)
        return replace(plain, problem="a graph of more than 32 MB is not compared here")
    try:
        left, right = raw_of(before), raw_of(artifact)
    except OSError as error:
        return replace(plain, problem=f"not read: {error.strerror or error}")
    if left == right:
        return replace(plain, unchanged=True)
    change = shared(artifact.owner, node_changes, digest_of(left, right), lambda: _change(left, right))
    return replace(plain, problem="not understood as a graph") if change is None else replace(plain, change=change)


def _change(left: bytes, right: bytes) -> GraphChange | None:
    """What became of the nodes; None where one of them is no graph."""
    before, after = (graph_text(text.decode("utf-8", "replace")) for text in (left, right))
    return node_changes(before, after) if before.understood and after.understood else None
