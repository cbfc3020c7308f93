"""The page `passes`: graphs of a compile in the order of the compiler, and the changes of each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.format import plural
from tltui.documents.page import Page
from tltui.documents.rank_groups import add_alike
from tltui.documents.scope import Scope
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.input_coverage import GRAPH_LOGS, Needs
from tltui.model.node_answers import content_key, digest_of, part, shared
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader
from tltui.model.ref import diff_ref
from tltui.model.run import Run
from tltui.questions.compare.comparable_lines import graph_text
from tltui.questions.compare.pairing import raw_of
from tltui.questions.passes.node_changes import ADDED, KINDS, REMOVED, RETARGETED, RETYPED, GraphChange, NodeChange, node_changes
from tltui.questions.question import Question
from tltui.questions.stacks.tracebacks import display_name
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.text.steps import run_steps

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


@frozen
class Step:
    """Graph with the changes since the graph that it was made from."""

    name: str
    ref: str
    before: str | None
    """The name of the graph that it was made from; None for the first one."""
    before_ref: str | None
    is_unchanged: bool
    """Both have the same bytes."""
    change: GraphChange | None
    """None for the first graph, and where `problem` says why not."""
    problem: str = ""
    is_rebuilt: bool = False


@frozen
class UnitSteps:
    """The steps of a unit; `''`: those before the graph was split into units."""

    unit: str
    steps: tuple[Step, ...]


@frozen
class CompilePasses:
    """The steps of a compile."""

    ref: str
    function: str | None
    units: tuple[UnitSteps, ...]


@frozen
class Alike:
    """Compiles with the same steps: the same graphs in the same order, and as many nodes changed by each."""

    first_ref: str
    """The address of the first of them."""
    function: str | None
    steps: int
    nodes_before: int
    """Nodes of the first graph that was compared."""
    nodes_after: int
    """Nodes of the last one."""
    changes: tuple[int, ...]
    """How many nodes were changed in all steps together, as `node_changes.KINDS` orders them."""
    refs: tuple[str, ...]
    """All of them."""


@frozen
class Passes:
    """The steps of the compiles of a part of a run."""

    compiles: tuple[CompilePasses, ...] = ()
    """Those whose steps are told in full: the first of each kind, as many as `FULL`."""
    groups: tuple[Alike, ...] = ()
    """All compiles with graphs, those with the same steps together."""


FULL = 12
"""Maximum number of kinds of steps in full; of further ones the sums."""
Outline = tuple[tuple[str, tuple[tuple[object, ...], ...]], ...]
"""Names of units, each with its steps without addresses and single nodes."""


def outline_of(compile_: Compile) -> Outline:
    """Return the steps of a compile as a grouping key; computed once per content."""
    try:
        digest = content_of(compile_)
    except OSError as error:  # said by the steps themselves; not kept, as the log may be there again
        return (("", ((str(compile_.ref), str(error)),)),)
    return shared(compile_, outline_of, digest, lambda: _outline(run_steps(passes_of(compile_)))) if digest else ()


@part
def content_of(compile_: Compile, reader: Reader) -> bytes:
    """Return a digest of the graphs of a compile and their units; empty without graphs."""
    return content_key(compile_, reader, _graphs(compile_.process), LIMIT)


def _graphs(process: Process) -> frozenset[str]:
    """Return the graph names of a log: passes of vLLM are numbered."""
    names = {kind.name for kind in process.log.kinds if kind.name and kind.name.startswith(VLLM)}
    return GRAPHS | names if names else GRAPHS


def _outline(compile_passes: CompilePasses) -> Outline:
    return tuple((unit.unit, tuple(map(_step_key, unit.steps))) for unit in compile_passes.units)


def _step_key(step: Step) -> tuple[object, ...]:
    change = step.change
    facts = (
        (change.nodes_before, change.nodes_after, change.renamed, change.moved, counts_of(change)) if change is not None else None
    )
    return step.name, step.before, step.is_unchanged, step.problem, step.is_rebuilt, facts


def counts_of(change: GraphChange) -> tuple[int, ...]:
    """Return the number of changed nodes of a step by `KINDS`."""
    return tuple(map(change.count, KINDS))


def alike_of(compile_: Compile, outline: Outline) -> Alike:
    """Return a group of equal steps with its first compile."""
    steps = [step for _, unit_steps in outline for step in unit_steps]
    compared_steps = [step[-1] for step in steps if isinstance(step[-1], tuple)]  # of those that were compared
    sums = [sum(unit_steps[4][n] for unit_steps in compared_steps) for n in range(len(KINDS))]
    left, right = (compared_steps[0][0], compared_steps[-1][1]) if compared_steps else (0, 0)
    return Alike(str(compile_.ref), display_name(compile_.frame), len(steps), left, right, tuple(sums), ())


def is_graph(artifact: Artifact) -> bool:
    """Return whether an artifact is a step."""
    return artifact.name in GRAPHS or artifact.name.startswith(VLLM)


def has_counterpart(artifact: Artifact) -> bool:
    """Return whether an artifact is of a kind that `beside` supports."""
    return is_graph(artifact) or artifact.name in FUSED


def counterpart(artifact: Artifact) -> Artifact | None:
    """Return the graph before this one; for the first one the graph after it. None if there is neither.

    IR before and after fusion are each other's counterparts.
    """
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
    """Return the steps of one compile in the record order of each unit."""
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
    steps = tuple(UnitSteps(names.get(unit, "") if unit is not None else "", tuple(unit_steps)) for unit, unit_steps in ordered)
    return CompilePasses(str(compile_.ref), display_name(compile_.frame), steps)


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
        """Return the graph from which a graph was made."""
        follows = a.name.startswith(VLLM) or a.name in ("inductor_post_grad_graph", "after_post_grad_graph")
        # one call and range after another: passes begin anew at each `before_post_grad_graph`
        if follows and (before := self._latest(("pass", a.attempt, a.unit))) is not None:
            return before
        wanted = FROM.get(a.name, ())
        if a.name == "before_pre_grad_graph" and a.unit is not None and not a.alone:
            return None  # one of several pieces that a graph was cut into
        candidates = (self._latest(("own", a.attempt, a.unit, name)) for name in wanted)
        return next((artifact for artifact in (*candidates, *self._common(a, wanted)) if artifact is not None), None)

    def _common(self, a: Artifact, wanted: Iterable[str]) -> Iterator[Artifact | None]:
        """Return the artifacts of the whole compile or of the same subgraph."""
        for name in wanted:
            if a.unit is None:
                yield self._latest(("any", a.attempt, name))
            else:
                yield self._latest(("compile", a.attempt, name), ("subgraph", a.attempt, a.subgraph, name))


def _step(before: Artifact | None, artifact: Artifact) -> Step:
    anew = artifact.name in MADE_ANEW
    if before is None:
        return Step(artifact.name, str(artifact.ref), None, None, False, None, is_rebuilt=anew)
    plain = Step(artifact.name, str(artifact.ref), before.name, str(before.ref), False, None, "", anew)
    sizes = artifact.log.columns.size
    if max(sizes[a.record] for a in (before, artifact)) > LIMIT:
        log = artifact.log
        digest = log.md5(artifact.record)
        if digest is not None and digest == log.md5(before.record):
            return replace(plain, is_unchanged=True)
        return replace(plain, problem="graphs above 32 MB are not compared")
    try:
        left, right = raw_of(before), raw_of(artifact)
    except OSError as error:
        return replace(plain, problem=f"not read: {error.strerror or error}")
    if left == right:
        return replace(plain, is_unchanged=True)
    change = shared(artifact.owner, node_changes, digest_of(left, right), lambda: _change(left, right))
    return replace(plain, problem="cannot be parsed as a graph") if change is None else replace(plain, change=change)


def _change(left: bytes, right: bytes) -> GraphChange | None:
    """Return the node changes; None if either text is no graph."""
    before, after = (graph_text(text.decode("utf-8", "replace")) for text in (left, right))
    return node_changes(before, after) if before.understood and after.understood else None


SHOWN = 8
"""Changed nodes of a step; more are folded."""
NODES_LISTED = 400
AT_ONCE = 64
"""Compiles examined between two yields."""
WORDS = {ADDED: "added", REMOVED: "removed", RETARGETED: "with a different call", RETYPED: "with a different dtype or shape"}
REWIRES = "with different inputs"


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `passes` for the compiles of the scope, each kind of steps once."""

    def fill(page: Page) -> Generator[None, None, Passes]:
        page.add((f"Passes{scope.title}", tokens.TITLE))
        page.say("Graph changes by each compiler step. Nodes are matched by operation, dtype, shape, source line and inputs, so "
                 "renumbering is not a change.", "", tokens.DIM)  # fmt: skip
        if len(scope.compiles) == 1:
            report = yield from passes_of(scope.compiles[0])
            if report.units:
                _compile(page, report, several=False)
                return Passes((report,), (alike_of(scope.compiles[0], outline_of(scope.compiles[0])),))
        else:
            passes = yield from _several(page, scope)
            if passes.groups:
                return passes
        page.blank()
        page.say(page.so_far(_no_graphs(scope)))
        return Passes()

    return GrowingDocument(scope.page("passes"), f"passes{scope.title}", options, fill, Page)


def _several(page: Page, scope: Scope) -> Generator[None, None, Passes]:
    """Add the first compile of each kind in full (of many kinds the sums), then the compiles per kind."""
    kinds: dict[Outline, tuple[Alike, list[str]]] = {}
    passes: list[CompilePasses] = []
    for number, compile_ in enumerate(scope.compiles):
        outline = outline_of(compile_)
        if number % AT_ONCE == 0:
            yield
        if not outline:
            continue
        earlier = kinds.get(outline)
        if earlier is not None:
            earlier[1].append(str(compile_.ref))
            continue
        kinds[outline] = alike_of(compile_, outline), [str(compile_.ref)]
        if len(kinds) <= FULL:
            passes.append((yield from passes_of(compile_)))
            _compile(page, passes[-1], several=True)
        else:
            if len(kinds) == FULL + 1:
                page.heading("More compiles, totals only")
            _sums(page, kinds[outline][0])
        yield
    alike = tuple(replace(kind, refs=tuple(refs)) for kind, refs in kinds.values())
    several = [kind for kind in alike if len(kind.refs) > 1]
    sentence = (
        "Compiles on one line have the same graphs in the same order, and the same number of changed nodes in each step. "
        "For details, open one of them."
    )
    counts = [plural(kind.steps, "step") for kind in several]
    refs = [kind.refs for kind in several]
    yield from add_alike(page, "Compiles with the same steps", refs, lambda ref: f"@passes:{ref}", sentence, counts)
    return Passes(tuple(passes), alike)


def _sums(page: Page, kind: Alike) -> None:
    """`[7/0] block7   10 steps   44 → 46 nodes  +3  −1`"""
    pieces: list[Piece] = [(f"[{kind.first_ref}]", tokens.LINK, f"@passes:{kind.first_ref}"), " "]
    name = fmt.clip_middle(sanitize(kind.function or ""), 40)
    pieces += [(name, tokens.FUNCTION), (f"   {plural(kind.steps, 'step')}", tokens.DIM)]
    if any(kind.changes):
        pieces += [f"   {kind.nodes_before} → {plural(kind.nodes_after, 'node')}", *_counts(kind.changes)]
    page.row(pieces)


def _no_graphs(scope: Scope) -> str:
    if not scope.compiles:
        return "No compiles."
    return "No graphs logged: the compiles failed earlier, captured no operations, or their backend logs no graphs."


def _compile(page: Page, passes: CompilePasses, several: bool) -> None:
    if several:
        page.heading(f"{passes.ref} {passes.function or ''}".rstrip())
    level = 1 if several else 0
    for unit in passes.units:
        page.close(level)
        page.blank()
        label = fmt.graph_title(unit.unit) or "whole compile"
        page.open(label)
        page.add((label, tokens.HEADING))
        for step in unit.steps:
            _add_step(page, step)
            page.close(level + 1)
    page.close(level)


def _add_step(page: Page, step: Step) -> None:
    """Add a line with the outcome of a step, and its changed nodes below."""
    page.open(step.name)
    page.row([(step.name, tokens.LINK, step.ref), *_step_wording(step)])
    if step.change is None or not step.change.changes:
        return
    assert step.before_ref is not None
    page.add("      ", (f"diff with {step.before}", tokens.LINK, diff_ref(step.before_ref, step.ref)))
    shown = step.change.changes
    fold_at = 0 if step.is_rebuilt and len(shown) > SHOWN else SHOWN
    for number, change in enumerate(shown[:NODES_LISTED]):
        if number == fold_at and len(shown) > fold_at:
            more = f"{plural(len(shown) - fold_at, 'node')}" + (" more" if fold_at else "")
            page.open(more, folded=True)
            page.add((f"      {more}", tokens.LABEL))
        _node(page, change, step)
    if len(shown) > NODES_LISTED:
        page.add((f"      and {len(shown) - NODES_LISTED} more in the comparison", tokens.DIM))


def _step_wording(step: Step) -> list[Piece]:
    if step.before is None:
        return [("   no earlier graph to compare with", tokens.DIM)]
    if step.is_unchanged:
        return [(f"   the same as {step.before}", tokens.DIM)]
    if step.problem:
        return [(f"   {step.problem}", tokens.WARN)]
    change = step.change
    if change is None:
        return []
    if not change.changes:
        quiet = _quiet(change)
        return [(f"   no node changed{quiet}", tokens.DIM)]
    pieces: list[Piece] = [f"   {change.nodes_before} → {plural(change.nodes_after, 'node')}", *_counts(counts_of(change))]
    if step.is_rebuilt:
        pieces.append(("  retraced", tokens.DIM))
    return pieces


def _counts(counts: Sequence[int]) -> list[Piece]:
    """`+3  −1  2 nodes with different inputs`"""
    pieces: list[Piece] = []
    for kind, count in zip(KINDS, counts, strict=True):
        if count:
            style = {ADDED: tokens.ADDED, REMOVED: tokens.REMOVED}.get(kind, tokens.CHANGED)
            sign = {ADDED: "+", REMOVED: "−"}.get(kind, "")
            text = f"{sign}{count}" if sign else f"{plural(count, 'node')} {WORDS.get(kind, REWIRES)}"
            pieces += ["  ", (text, style)]
    return pieces


def _quiet(change: GraphChange) -> str:
    parts = [f"{change.renamed} renamed"] if change.renamed else []
    if change.moved:
        parts.append(f"{change.moved} moved")
    return f" ({', '.join(parts)})" if parts else ", only the formatting"


def _node(page: Page, change: NodeChange, step: Step) -> None:
    room = page.width - 8
    if change.before:
        target = f"{step.before_ref}@L{change.line_before}"
        page.add("      ", ("- ", tokens.REMOVED), *_text(page, change.before, change.name, room, tokens.REMOVED, target))
    if change.after:
        target = f"{step.ref}@L{change.line_after}"
        page.add("      ", ("+ ", tokens.ADDED), *_text(page, change.after, change.name, room, tokens.ADDED, target))


def _text(page: Page, text: str, name: str, room: int, style: str, target: str) -> list[Piece]:
    """Format a node with its name as a link to its line."""
    text = page.clip(text, room)
    head = text[: len(name)] if text.startswith(name) else text[:12]
    return [(head, style, target), (text[len(head) :], style)]


@frozen
class PassRow:
    """One step of the compiler: a graph and its changes from the previous one."""

    ref: str
    """The address of the graph."""
    compile: str
    """The address of the compile."""
    function: str | None
    """The function that it compiles."""
    unit: str
    """The lowering; empty before the graph was split."""
    step: str
    """The graph."""
    before: str | None
    """The graph that it was made from; none for the first one."""
    is_unchanged: bool
    """Whether both have the same bytes."""
    nodes_before: int | None
    """Nodes of the graph before; none where the two were not compared."""
    nodes: int | None
    """Nodes of this one; none where the two were not compared."""
    added: int
    """Nodes that were added."""
    removed: int
    """Nodes that were removed."""
    changed: int
    """Nodes that call, give or read something else."""
    problem: str
    """Why the two could not be compared; empty where they were."""


def pass_rows(data: Passes) -> Iterator[PassRow]:
    """Yield one row per step."""
    for compile_ in data.compiles:
        for unit in compile_.units:
            for step in unit.steps:
                change = step.change
                counts = Counter(node.kind for node in change.changes) if change is not None else Counter[str]()
                added, removed = counts.pop("added", 0), counts.pop("removed", 0)
                before, after = (None, None) if change is None else (change.nodes_before, change.nodes_after)
                yield PassRow(
                    step.ref, compile_.ref, compile_.function, unit.unit, step.name, step.before, step.is_unchanged,
                    before, after, added, removed, sum(counts.values()), step.problem,
                )  # fmt: skip


QUESTION = Question(
    name="passes",
    help="graph changes by each compiler step: nodes added, removed, replaced",
    group="find causes",
    order=170,
    needs=Needs("", GRAPH_LOGS, "the graph after each step", in_debug_dir=True),
    document=document,
    answer=Passes,
    rows=PassRow,
    records=pass_rows,
    doc="""
    Graph changes by each compiler step, one row per step.
    """,
)
