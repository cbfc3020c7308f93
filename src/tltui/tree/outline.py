"""Nodes of the tree on the left: children, and the text of each line."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tltui.documents.format import graph_title, pid, plural, seconds, size_of
from tltui.documents.scope import rank_title
from tltui.model.artifacts import Artifact, Unit, artifacts_of, compile_calls, prefix_of, units_of
from tltui.model.kind import Phase
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import NO_ID, CompileId, Ranks, Ref
from tltui.model.run import Run
from tltui.model.status import ASCII_RECOMPILE, RECOMPILE_GLYPH, TABLE, Tally, colour, error_name, glyph
from tltui.questions.runtime.costs import Costs
from tltui.questions.stacks.stack_tree import Branch
from tltui.questions.stacks.tracebacks import StackFrame
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.formatting import micros
from tltui.text.frozen import frozen
from tltui.text.torch_names import short


@frozen
class Attempt:
    """One attempt of a compile with several."""

    owner: Compile
    number: int


@frozen
class UnitGroup:
    """The artifacts of one unit of a compile that has several."""

    owner: Compile
    unit: Unit
    artifacts: tuple[Artifact, ...]


@frozen
class PhaseGroup:
    """The artifacts of one phase of a compile (or of one of its units)."""

    owner: Compile
    phase: Phase
    artifacts: tuple[Artifact, ...]
    unit: Unit | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StackPart:
    """Callers of compiled functions, in stack order: a chain of frames without branches."""

    owner_process: Process
    branch: Branch
    """The outermost of them."""
    frames: tuple[StackFrame, ...]
    """Outermost first."""
    counted: Callable[[Branch], Tally]

    @property
    def tally(self) -> Tally:
        """Of all compiles below, by now."""
        return self.counted(self.branch)


@dataclass(frozen=True, slots=True, eq=False)
class RankGroup:
    """Ranks with the same outcomes: equal functions, compile ids and statuses in the same order. Graphs are not compared."""

    ranks: tuple[Rank, ...]
    remark: str
    """The difference from the largest group, '' for that one."""


@frozen
class CallGroup:
    """One of several compile calls of vLLM in a compile: what belongs to none of its pieces, then the pieces."""

    owner: Compile
    number: int
    name: str
    common: tuple[Artifact, ...]
    units: tuple[UnitGroup, ...]


Target = Run | RankGroup | Rank | Process | Frame | Compile | Attempt | CallGroup | UnitGroup | PhaseGroup | Artifact | StackPart


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A line of the tree. `key` is the same after the tree was built again."""

    key: str
    target: Target
    ref: str
    """The address of the document that the node shows."""
    expandable: bool
    numbered: bool = True
    """Whether its line says which of several records of a name it is; inside of a unit there is but one."""
    remark: str = ""
    """The difference of a rank from most others, '' for none."""


@frozen
class Label:
    """The text of a line: pieces from the left, pieces that end at the right edge, and pieces in between that may be cut."""

    left: tuple[Piece, ...]
    right: tuple[Piece, ...] = ()
    detail: tuple[Piece, ...] = ()
    """Shown after `left` as far as there is room."""
    rule: str = ""
    """The character that fills the gap before `right`, '' for blanks: a rule separates a rank from its compiles."""


def root(run: Run) -> Node:
    """Return the node of the run itself."""
    return Node("@run", run, "", True)


def children(node: Node) -> list[Node]:
    """Return the child nodes, in display order."""
    target = node.target
    if isinstance(target, Run):
        return _run_children(target)
    if isinstance(target, Rank):
        if len(target.processes) == 1:
            return _process_children(target.processes[0])
        return [Node(str(process.ref), process, str(process.ref), True) for process in target.processes]
    if isinstance(target, Process):
        return _process_children(target)
    if isinstance(target, Frame):
        return [compile_node(compile_) for compile_ in target.compiles]
    if isinstance(target, Compile):
        return _compile_children(target)
    if isinstance(target, Attempt):
        artifacts = [a for a in artifacts_of(target.owner) if a.attempt == target.number]
        return [_artifact_node(artifact) for artifact in artifacts]
    if isinstance(target, CallGroup):
        return [*map(_artifact_node, target.common), *map(_unit_node, target.units)]
    if isinstance(target, UnitGroup):
        return _phases(target.owner, list(target.artifacts), target.unit)
    if isinstance(target, PhaseGroup):
        names = Counter(artifact.name for artifact in target.artifacts)
        return [_artifact_node(a, names[a.name] > 1 or target.unit is None) for a in target.artifacts]
    return []


def _run_children(run: Run) -> list[Node]:
    ranks = run.ranks
    if len(ranks) == 1 and ranks[0].number is None:
        return children(Node("", ranks[0], "", True))
    return [Node(str(rank.ref), rank, str(rank.ref), True) for rank in ranks]


def _process_children(process: Process) -> list[Node]:
    frames = list(process.frames.values())
    if process.log.columns.source:  # of several inputs the one that was read first need not be the trace
        frames = list({id(compile_.frame): compile_.frame for compile_ in process.ordered()}.values())
    return [frame_node(frame) for frame in sorted(frames, key=lambda frame: frame.key == NO_ID)]


def frame_node(frame: Frame) -> Node:
    """Return the node of a frame, or of its compile if it has only one."""
    if len(frame.compiles) == 1:
        return compile_node(frame.compiles[0])
    return Node(_absolute(frame.process, frame.key), frame, str(frame.ref), True)


def _absolute(process: Process, compile_id: CompileId) -> str:
    """Return a key that does not change when further ranks or processes are found during the scan."""
    return f"{process.key}\0{compile_id.address}"


def frame_key_of(compile_: Compile) -> str:
    """Return the key of the node of a compile's frame, which exists once the frame has a second compile."""
    return _absolute(compile_.process, compile_.frame.key)


def compile_node(compile_: Compile) -> Node:
    """Return the node of a compile."""
    return Node(_absolute(compile_.process, compile_.id), compile_, str(compile_.ref), True)


def _artifact_node(artifact: Artifact, numbered: bool = True) -> Node:
    key = f"{artifact.log.key}\0{artifact.record}"
    return Node(key, artifact, str(artifact.ref), False, numbered)


def _compile_children(compile_: Compile) -> list[Node]:
    artifacts = artifacts_of(compile_)
    nodes: list[Node] = []
    key = _absolute(compile_.process, compile_.id)
    last = max(compile_.attempts, default=0)
    if len(compile_.attempts) > 1:
        for number in sorted(compile_.attempts - {last}):
            ref = replace(compile_.ref, view="attempt", attempt=number)
            held = any(artifact.attempt == number for artifact in artifacts)
            nodes.append(Node(f"{key}\0attempt{number}", Attempt(compile_, number), str(ref), held))
        early = compile_.attempts - {last}
        # metrics and recompile reasons are written once, whatever attempt they name
        artifacts = [a for a in artifacts if a.attempt not in early or a.kind.phase is Phase.METRICS]
    units = units_of(artifacts)
    calls = compile_calls(artifacts)
    if len(units) < 2 and not (calls and units):
        return nodes + _phases(compile_, artifacts)
    members: dict[int | None, list[Artifact]] = {}
    for artifact in artifacts:
        members.setdefault(artifact.unit, []).append(artifact)
    groups = [UnitGroup(compile_, unit, tuple(members[unit.number])) for unit in units]
    called = {artifact.record for call in calls for artifact in call.common}
    common = [artifact for artifact in artifacts if artifact.unit is None and artifact.record not in called]
    before = [artifact for artifact in common if artifact.kind.phase.order < Phase.INDUCTOR.order]
    after = [artifact for artifact in common if artifact.kind.phase.order >= Phase.INDUCTOR.order]
    nodes += _phases(compile_, before)
    if len(calls) > 1:
        page = str(compile_.ref.at("vllm"))
        for number, call in enumerate(calls, 1):
            numbers = frozenset(call.units)
            matching = tuple(group for group in groups if group.unit.number in numbers)
            target = CallGroup(compile_, number, prefix_of(call), tuple(call.common), matching)
            nodes.append(Node(f"{key}\0call{number}", target, page, bool(call.common or matching)))
    else:
        nodes += _phases(compile_, [artifact for call in calls for artifact in call.common])
        nodes += map(_unit_node, groups)
    return nodes + _phases(compile_, after)


def _unit_node(group: UnitGroup) -> Node:
    key = _absolute(group.owner.process, group.owner.id)
    ref = replace(group.owner.ref, view="unit", n=group.unit.number + 1)
    return Node(f"{key}\0unit{group.unit.number}", group, str(ref), True)


def _phases(compile_: Compile, artifacts: list[Artifact], unit: Unit | None = None) -> list[Node]:
    groups: dict[Phase, list[Artifact]] = {}
    for artifact in artifacts:
        groups.setdefault(artifact.kind.phase, []).append(artifact)
    nodes = []
    key = _absolute(compile_.process, compile_.id) + (f"\0unit{unit.number}" if unit else "")
    for phase in sorted(groups, key=lambda phase: phase.order):
        members = tuple(groups[phase])
        group = PhaseGroup(compile_, phase, members, unit)
        ref = replace(compile_.ref, view="phase", artifact=phase.key, n=unit.number + 1 if unit else None)
        nodes.append(Node(f"{key}\0{phase.key}", group, str(ref), True))
    return nodes


class NameOf(Protocol):
    """Function that returns the displayed name of a code object."""

    def __call__(self, frame: Frame) -> str | None:
        """Return the name; None if there is none."""


def own_name(frame: Frame) -> str | None:
    """Return the name of a function in its source."""
    return frame.code[0]


def label(node: Node, ascii_: bool = False, name_of: NameOf = own_name, costs: Costs | None = None) -> Label:
    """Return the current text of a node's line; `name_of` names functions.

    With `costs` compiles and frames have their cost per step.
    """
    base, target = _label(node, ascii_, name_of), node.target
    if costs is None or not isinstance(target, (Run, Frame, Compile)):
        return base
    if isinstance(target, Run):
        return replace(base, detail=((f"  time {costs.of}", tokens.DIM),))
    return replace(base, right=_both_times(_cost(target, costs), base.right))


RUN_TIME, COMPILE_TIME = 8, 8
"""Columns of a cost and of a compile time."""


def time_heads(costs: Costs) -> str:
    """Return the heads of the two columns of times: run time and compile time."""
    return f"{'run/step' if costs.per_step else 'run':>{RUN_TIME}}  {'compile':>{COMPILE_TIME}}"


def _both_times(cost: tuple[Piece, ...], right: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Return a cost before the compile time; a cost without a compile time remains in its column."""
    return (*cost, *(right or ((" " * COMPILE_TIME, ""),))) if cost else right


def _cost(target: Frame | Compile, costs: Costs) -> tuple[Piece, ...]:
    """Return `  690 µs  `."""
    compiles = [target] if isinstance(target, Compile) else target.compiles
    costs_us = [us for compile_ in compiles if (us := costs.us_of(str(compile_.ref))) is not None]
    return ((f"{micros(sum(costs_us)):>{RUN_TIME}}  ", tokens.PHASE_KERNELS),) if costs_us else ()


def _label(node: Node, ascii_: bool, name_of: NameOf) -> Label:
    target = node.target
    if isinstance(target, Run):
        return Label(((target.title, tokens.TITLE),), _tally_pieces(target.tally, ascii_))
    if isinstance(target, Rank):
        title: tuple[Piece, ...] = ((rank_title(target), tokens.HEADING),)
        if node.remark:  # the counts would leave it no room
            return Label(title, _time_pieces(target.tally), ((f"  {node.remark}", tokens.WARN),), rule="─")
        return Label(title, _tally_pieces(target.tally, ascii_), rule="─")
    if isinstance(target, RankGroup):
        return _group_label(target)
    if isinstance(target, Process):
        return _process_label(target, ascii_)
    if isinstance(target, Frame):
        return _frame_label(target, ascii_, name_of)
    if isinstance(target, Compile):
        return _compile_label(target, ascii_, name_of)
    if isinstance(target, StackPart):
        return _stack_label(target, ascii_)
    if isinstance(target, Attempt):
        return Label(((f"attempt {target.number}", tokens.LABEL), ("  restarted", tokens.DIM)))
    if isinstance(target, CallGroup):
        pieces = ((f"call {target.number}", tokens.LABEL), (f"  {target.name}" if target.name else "", tokens.NAME))
        return Label(pieces, ((plural(len(target.units), "piece"), tokens.DIM),))
    if isinstance(target, UnitGroup):
        return Label(((graph_title(target.unit.name), tokens.LABEL),), ((f"{len(target.artifacts)}", tokens.DIM),))
    if isinstance(target, PhaseGroup):
        return Label(((target.phase.title, tokens.LABEL),), ((f"{len(target.artifacts)}", tokens.DIM),))
    return _artifact_label(target, node.numbered)


def marks(tally: Tally, ascii_: bool) -> list[tuple[int, str, str, str]]:
    """Return (number, glyph, words, style) of the compiles that keys visit, and of the recompiles, without zeros."""
    counts = [(tally.counted(status), glyph(status, ascii_), row.words, row.colour) for status, row in TABLE.items() if row.keys]
    again = "recompile" if tally.recompiles == 1 else "recompiles"
    counts.append((tally.recompiles, ASCII_RECOMPILE if ascii_ else RECOMPILE_GLYPH, again, tokens.RECOMPILE))
    return [each for each in counts if each[0]]


def summary(tally: Tally) -> str:
    """Return `42 compiles · 1 failed · 3 with breaks · 12 recompiles`, without zeros."""
    return " · ".join([plural(tally.compiles, "compile"), *(f"{count:,} {words}" for count, _, words, _ in marks(tally, False))])


def _marks(tally: Tally, ascii_: bool) -> list[Piece]:
    return [(f" {mark}{count}", style) for count, mark, _, style in marks(tally, ascii_)]


def _tally_pieces(tally: Tally, ascii_: bool) -> tuple[Piece, ...]:
    return ((plural(tally.compiles, "compile"), tokens.DIM), *_marks(tally, ascii_), *_time_pieces(tally))


def _time_pieces(tally: Tally) -> tuple[Piece, ...]:
    return ((f"  {seconds(tally.compile_s):>6}", tokens.DIM),) if tally.compile_s else ()


def _group_label(group: RankGroup) -> Label:
    """Return `52 ranks, same outcomes  26.0–27.4 s`, or `ranks 300–303` with their difference."""
    right = ((f"  {_time_range(group.ranks)}", tokens.DIM),)
    numbers = str(Ranks(rank.number for rank in group.ranks if rank.number is not None))
    if group.remark:
        return Label(((f"ranks {numbers}", tokens.HEADING),), right, ((f"  {group.remark}", tokens.WARN),))
    return Label(((f"{len(group.ranks):,} ranks, same outcomes", tokens.HEADING),), right, ((f"  {numbers}", tokens.DIM),))


def _time_range(ranks: Sequence[Rank]) -> str:
    """Return the least and the greatest compile time: `26.0–27.4 s`."""
    times = [rank.tally.compile_s for rank in ranks]
    low, high = seconds(min(times)), seconds(max(times))
    if low == high:
        return high
    number, _, unit = low.rpartition(" ")
    return f"{number if high.endswith(f' {unit}') and ' ' not in number else low}–{high}"


def _process_label(process: Process, ascii_: bool) -> Label:
    launch = f"{process.launch} " if process.launch else ""
    return Label(
        ((f"{launch}process {process.number}", tokens.STRONG), (f"  {pid(process.pid)}", tokens.DIM)),
        _tally_pieces(process.tally, ascii_),
        ((f"  {os.path.basename(process.log.path)}", tokens.DIM),),
        rule="╌",
    )


def _where(frame: Frame, ascii_: bool, name_of: NameOf) -> tuple[str, str]:
    """Return the shortened function name, `≈ f` for a guess, and `file.py:12`."""
    _, file, line = frame.code
    mark = ("~ " if ascii_ else "≈ ") if frame.is_guessed else ""
    return mark + short(name_of(frame) or "", ascii_), f"{os.path.basename(file)}:{line}" if file else ""


def _frame_label(frame: Frame, ascii_: bool, name_of: NameOf) -> Label:
    name, place = _where(frame, ascii_, name_of)
    tally = frame.tally
    epoch = f"~{frame.key.epoch}" if frame.process.epochs > 1 else ""
    pieces: list[Piece] = [(f"{frame.key.frame}{epoch} ", tokens.DIM), (name or "(no name)", tokens.DEFINITION)]
    pieces += _marks(tally, ascii_)
    right: tuple[Piece, ...] = ((f"{seconds(tally.compile_s):>8}", tokens.DIM),) if tally.compile_s else ()
    return Label(tuple(pieces), right, ((f"  {place}", tokens.DIM),))


def _compile_label(compile_: Compile, ascii_: bool, name_of: NameOf) -> Label:
    status = compile_.status
    if status is None:
        title = "records without a compile id" if compile_.id == NO_ID else "compiled autograd"
        return Label(
            ((f"{glyph(None, ascii_)} ", tokens.DIM), (compile_.label, tokens.VALUE), (f" {title}", tokens.DIM)),
            ((f"{len(compile_.records)}", tokens.DIM),),
        )
    pieces: list[Piece] = [(f"{glyph(status, ascii_)} ", colour(status)), (compile_.label, tokens.VALUE)]
    if compile_.is_recompile:
        pieces.append((f" {ASCII_RECOMPILE if ascii_ else RECOMPILE_GLYPH}", tokens.RECOMPILE))
    detail: tuple[Piece, ...] = ()
    facts = compile_.facts
    if len(compile_.frame.compiles) == 1:
        name, place = _where(compile_.frame, ascii_, name_of)
        pieces.append((f" {name}", tokens.DEFINITION))
        detail = ((f"  {place}", tokens.DIM),)
    elif facts.recompile_limit_hit:
        detail = (("  recompile limit", colour(status)),)
    elif facts.failed:
        detail = ((f"  {'interrupted' if facts.interrupted else error_name(facts.fail_type)}", colour(status)),)
    elif compile_.is_recompile and (reason := recompile_reason(compile_)):
        detail = ((f" {_short_change(reason, ascii_) or reason}", tokens.DIM),)
    right: tuple[Piece, ...] = ()
    if (took := compile_.duration_s) is not None:
        right = ((f"{seconds(took):>8}", tokens.DIM),)
    return Label(tuple(pieces), right, detail)


def _short_change(reason: str, ascii_: bool) -> str:
    from tltui.questions.recompiles.failed_guard_text import short_change  # not before a recompilation is drawn

    change = short_change(reason)
    return change.replace("→", "->") if ascii_ else change


def recompile_reason(compile_: Compile) -> str:
    """Return the recompile reason of the metrics: its first line, without the id of the cache entry."""
    reason = next((m.recompile_reason for m in compile_.metrics if m.recompile_reason), "") or ""
    first = reason.strip().partition("\n")[0].partition("  #")[0]
    entry, colon, reason_text = first.partition(": ")
    return (reason_text if colon and entry.removeprefix("!").replace("/", "").isdigit() else first).strip()


def _stack_label(part: StackPart, ascii_: bool) -> Label:
    """Return the label of the innermost user frame, else of the innermost frame, with the number of further callers."""
    frame = next((frame for frame in reversed(part.frames) if not frame.is_framework), part.frames[-1])
    style = tokens.DIM if frame.is_framework else tokens.DEFINITION
    where = f"  {os.path.basename(frame.file)}:{frame.line}" if frame.line is not None else f"  {os.path.basename(frame.file)}"
    more = f"  +{plural(len(part.frames) - 1, 'frame')}" if len(part.frames) > 1 else ""
    # without the number of compiles: they stand below
    name = short(frame.name, ascii_)
    return Label(((name, style),), _tally_pieces(part.tally, ascii_)[1:], ((where, tokens.DIM), (more, tokens.DIM)))


def _artifact_label(artifact: Artifact, numbered: bool) -> Label:
    number = f" #{artifact.n}" if numbered and not artifact.alone else ""
    size = artifact.log.columns.size[artifact.record] or artifact.log.columns.head[artifact.record]
    return Label(
        ((artifact.name, tokens.NAME), (number, tokens.DIM)),
        ((size_of(size), tokens.DIM),),
    )


def path_to(run: Run, target: Rank | Process | Frame | Compile | Artifact) -> list[str]:
    """Return the keys of the nodes above a target, outermost first, and its own key last."""
    if isinstance(target, Artifact):
        keys = path_to(run, target.owner)
        return [*keys, *(inside(compile_node(target.owner), f"{target.log.key}\0{target.record}") or ())]
    if isinstance(target, Rank):
        return ["@run", str(target.ref)]
    process = target if isinstance(target, Process) else target.process
    keys = ["@run"]
    if not (len(run.ranks) == 1 and run.ranks[0].number is None):
        keys.append(str(Ref(process.ref.rank)))
    if not process.alone:
        keys.append(str(process.ref))
    if isinstance(target, Process):
        return keys
    frame = target if isinstance(target, Frame) else target.frame
    if len(frame.compiles) > 1 and frame.key != NO_ID:
        keys.append(_absolute(process, frame.key))
    if isinstance(target, Frame):
        return keys if len(frame.compiles) > 1 else path_to(run, frame.compiles[0])
    return [*keys, _absolute(process, target.id)]


def inside(node: Node, key: str) -> list[str] | None:
    """Return the keys from a child of `node` down to the node with that key."""
    for child in children(node):
        if child.key == key:
            return [key]
        if child.expandable and (below := inside(child, key)) is not None:
            return [child.key, *below]
    return None
