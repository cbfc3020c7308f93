"""Visible rows of the tree, with nodes and function names cached while a run grows, and folds of ranks with the same outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from tltui.documents.format import plural
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.ref import NO_ID, CompileId
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.questions.stacks.tracebacks import is_ambiguous, qualified_name
from tltui.text.document import piece_text
from tltui.text.frozen import frozen
from tltui.text.search.child_process import compiled
from tltui.text.torch_names import short
from tltui.tree.outline import (
    Label,
    Node,
    RankGroup,
    StackPart,
    Target,
    children,
    compile_node,
    frame_key_of,
    frame_node,
    label,
    path_to,
    recompile_reason,
)

if TYPE_CHECKING:
    from tltui.tree.stack_rows import StackOrder

MANY_RANKS = 9
"""Ranks of a run from which the tree folds them: fewer fit below each other."""
MOST_COMPILES = 20_000
"""Compiles up to which ranks are folded: comparing them takes 12 µs each before the tree opens."""
LEAST_FOLDED = 3
"""Ranks with the same outcomes that are folded."""
Key = tuple[str, CompileId]

LIMIT = 5000
"""Rows up to which all nodes are opened at once."""
LONG = 100
"""Nodes below one of which the rows are kept."""
STATUSES = frozenset(str(status) for status in Status)


class Outcome(NamedTuple):
    """A compile of a rank, as far as the tree compares ranks: no payload is read, so that thousands of ranks open at once."""

    name: str
    """Function name, '' without one."""
    line: int | None
    id: CompileId
    """The id as addresses have it: with its epoch where the process has several."""
    is_recompile: bool
    status: Status | None

    @property
    def label(self) -> str:
        """Return `[3/0] block3`."""
        return f"{self.id.bracketed} {short(self.name)}".rstrip()


@frozen
class OutlineRow:
    """A visible node."""

    node: Node
    depth: int


Outcomes = tuple[Outcome, ...]


class _RankFolds:
    """Nodes of ranks with folds among them. They are made again when a compile has changed."""

    def __init__(self) -> None:
        self._state: tuple[int, ...] = ()
        self._nodes: list[Node] = []
        self._members: dict[str, list[Node]] = {}
        self._fold_keys: dict[str, str] = {}

    def folded(self, run: Run, nodes: list[Node]) -> list[Node]:
        """Return the nodes of ranks, with a fold in place of those that are alike.

        While records may still come nothing is folded: the ranks of a running job differ for a moment all the time.
        """
        if not (len(nodes) >= MANY_RANKS and run.tally.compiles <= MOST_COMPILES and run.finished) or run.crowd is not None:
            self._state, self._members, self._fold_keys = (), {}, {}
            return nodes
        state = (len(nodes), *(process.stamp + process.naming.stamp for process in run.processes()))
        if state != self._state:
            self._state = state
            self._fold(nodes)
        return self._nodes

    def members(self, node: Node) -> list[Node]:
        """Return the nodes of the ranks in a fold."""
        return self._members.get(node.key, [])

    def fold_of(self, key: str) -> str | None:
        """Return the key of the fold that contains the node of a rank, None outside of folds."""
        return self._fold_keys.get(key)

    def _fold(self, nodes: Sequence[Node]) -> None:
        groups = groups_of([node.target for node in nodes if isinstance(node.target, Rank)])
        by_rank = {id(rank): group for group in groups for rank in group.ranks}
        self._nodes, self._members, self._fold_keys = [], {}, {}
        for node in nodes:
            group = by_rank.get(id(node.target))
            if group is None:
                self._nodes.append(node)
            elif len(group.ranks) < LEAST_FOLDED:
                self._nodes.append(replace(node, remark=group.remark))
            else:
                key = f"@fold\0{group.ranks[0].ref}"
                if key not in self._members:
                    self._nodes.append(Node(key, group, "@ranks", True))
                self._members.setdefault(key, []).append(node)
                self._fold_keys[node.key] = key


def groups_of(ranks: Sequence[Rank]) -> list[RankGroup]:
    """Return the groups of ranks with equal outcomes and without a difference in time, the largest first.

    The remark of a group is its difference from the largest one.
    """
    by_outcomes: dict[Outcomes, list[Rank]] = {}
    for rank in ranks:
        by_outcomes.setdefault(_outcomes(rank), []).append(rank)
    usual = max(by_outcomes, key=lambda outcomes: len(by_outcomes[outcomes]), default=())
    groups: list[RankGroup] = []
    for outcomes, members in by_outcomes.items():
        remark = "" if outcomes == usual else difference(outcomes, usual)
        for slow, alike in _by_slowness(outcomes, members).items():
            groups.append(RankGroup(tuple(alike), remark or slow))
    return sorted(groups, key=lambda group: -len(group.ranks))


def _outcomes(rank: Rank) -> Outcomes:
    """Return the compiles of a rank in the order of the tree."""
    outcomes: list[Outcome] = []
    for process in rank.processes:
        for frame in process.frames.values():
            (name, _, line), first = frame.code, frame.first_code
            for compile_ in frame.compiles:
                id_ = compile_.id
                outcomes.append(Outcome(name or "", line, process.named_id(id_), (id_.compile or 0) > first, compile_.status))
    return tuple(outcomes)


def _compiles(rank: Rank) -> Iterator[Compile]:
    return (compile_ for process in rank.processes for frame in process.frames.values() for compile_ in frame.compiles)


def _by_slowness(outcomes: Outcomes, ranks: Sequence[Rank]) -> dict[str, list[Rank]]:
    """Group ranks with equal outcomes by the compile in which they took much longer than the median."""
    from tltui.questions.ranks.pace import stands_out  # not before the first frame

    durations = [[compile_.duration_s or 0.0 for compile_ in _compiles(rank)] for rank in ranks]
    groups: dict[str, list[Rank]] = {}
    typical = [median(column) for column in zip(*durations, strict=True)] if len(ranks) >= LEAST_FOLDED else []
    for rank, row in zip(ranks, durations, strict=True):
        compared = enumerate(zip(row, typical, strict=False))
        over = [(took - usual, place) for place, (took, usual) in compared if stands_out(took, usual)]
        groups.setdefault(f"slow in {outcomes[max(over)[1]].label}" if over else "", []).append(rank)
    return groups


def difference(outcomes: Outcomes, usual: Outcomes) -> str:
    """Return the first difference from the usual outcomes: a status, a number of compiles, an order, an id."""
    by_place = dict(_numbered(usual))
    for key, outcome in _numbered(outcomes):
        other = by_place.get(key)
        if other is not None and other.status != outcome.status:
            return f"{outcome.label} {outcome.status or 'no outcome'}, elsewhere {other.status or 'no outcome'}"
    counts, usual_counts = (Counter(short(outcome.name) for outcome in each) for each in (outcomes, usual))
    for name in {**usual_counts, **counts}:
        if counts[name] != usual_counts[name]:
            return f"{name or 'no name'}: {plural(counts[name], 'compile')}, elsewhere {usual_counts[name]}"
    for outcome, other in zip(outcomes, usual, strict=False):
        if (outcome.name, outcome.line) != (other.name, other.line):
            return f"order: {outcome.label}, elsewhere {other.label}"
        if outcome != other:
            return f"{outcome.label}, elsewhere {other.label}"
    return ""


def _numbered(outcomes: Outcomes) -> list[tuple[tuple[str, int | None, int], Outcome]]:
    """Return (name, line, count of the function so far) and outcome of each compile."""
    counts: Counter[tuple[str, int | None]] = Counter()
    numbered = []
    for outcome in outcomes:
        code = (outcome.name, outcome.line)
        counts[code] += 1
        numbered.append(((*code, counts[code]), outcome))
    return numbered


class KeptNodes:
    """Cached children of nodes, equal to `outline.children`."""

    def __init__(self) -> None:
        self._processes: dict[str, _OfProcess] = {}
        self._frames: dict[str, _OfFrame] = {}

    def __call__(self, node: Node) -> list[Node]:
        """Return the child nodes, in display order."""
        target = node.target
        if isinstance(target, Run):
            ranks = target.ranks
            return self(Node("", ranks[0], "", True)) if len(ranks) == 1 and ranks[0].number is None else children(node)
        if isinstance(target, Rank) and len(target.processes) == 1:
            return self._of_process(target.processes[0])
        if isinstance(target, Process):
            return self._of_process(target)
        if isinstance(target, Frame):
            cached = self._frames.get(node.key)
            if cached is None or cached.frame is not target:
                cached = self._frames[node.key] = _OfFrame(target)
            return cached.now()
        return children(node)

    def _of_process(self, process: Process) -> list[Node]:
        cached = self._processes.get(process.key)
        if cached is None or cached.process is not process:
            cached = self._processes[process.key] = _OfProcess(process)
        return cached.now()


class _OfFrame:
    """The compiles of a frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._naming = -1
        self._nodes: list[Node] = []

    def now(self) -> list[Node]:
        """Return all nodes."""
        if self._naming != self.frame.process.naming.stamp:
            self._naming, self._nodes = self.frame.process.naming.stamp, []
        self._nodes += map(compile_node, self.frame.compiles[len(self._nodes) :])
        return self._nodes


class _OfProcess:
    """The frames of a process; a frame with one compile is that compile's node."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._naming = -1
        self._counted = (-1, -1)
        self._frame_nodes: list[Node] = []
        self._is_many = bytearray()
        """For each of them whether it has several compiles."""
        self._without_id = -1
        """The place of the frame of records without an id, which stands last in the tree."""
        self._nodes: list[Node] = []

    def now(self) -> list[Node]:
        """Return all nodes."""
        process = self.process
        if self._naming != process.naming.stamp:
            self._naming, self._counted, self._frame_nodes, self._is_many = process.naming.stamp, (-1, -1), [], bytearray()
        counted = len(process.frames), len(process.compiles)
        if counted != self._counted:
            self._counted = counted
            self._update()
        return self._nodes

    def _update(self) -> None:
        nodes, is_many = self._frame_nodes, self._is_many
        count = len(nodes)
        for place, frame in enumerate(self.process.frames.values()):
            many = len(frame.compiles) > 1
            if place >= count:
                nodes.append(frame_node(frame))
                is_many.append(many)
                if frame.key == NO_ID:
                    self._without_id = place
            elif is_many[place] != many:
                nodes[place], is_many[place] = frame_node(frame), many
        self._nodes = list(nodes)
        if self._without_id >= 0:
            self._nodes.append(self._nodes.pop(self._without_id))


class FunctionNames:
    """Function names for `tltui.tree.outline.label`. Missing names are requested; `read` looks them up."""

    def __init__(self) -> None:
        self._cache: dict[Key, tuple[int, str | None]] = {}
        self._requested: dict[Key, Frame] = {}

    @property
    def is_asked(self) -> bool:
        """Return whether names are requested."""
        return bool(self._requested)

    def __call__(self, frame: Frame) -> str | None:
        """Return the name of a function as known so far."""
        name = frame.code[0]
        if not is_ambiguous(name):
            return name
        key = (frame.process.key, frame.key)
        stamp, cached = self._cache.get(key, (-1, None))
        if stamp != frame.stamp:
            self._requested[key] = frame
        return cached or name

    def read(self) -> Iterator[bool]:
        """Look up the requested names one by one; yield whether each changed."""
        while self._requested:
            key, frame = next(iter(self._requested.items()))
            stamp, name = frame.stamp, qualified_name(frame)
            _, before = self._cache.get(key, (-1, None))
            self._cache[key] = stamp, name
            self._requested.pop(key, None)
            yield name != before


class Filter:
    """A filter of the tree: a status (`error`), else a regular expression, else literal text.

    Small letters match capitals too. A leading `!` inverts it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.inverse = text.startswith("!")
        pattern = text.removeprefix("!").strip()
        self._status = pattern.lower() if pattern.lower() in STATUSES else ""
        self._pattern = compiled(pattern)
        self.matched = 0
        """Compiles that matched, and all that were tested."""
        self.tested = 0
        self._cache: dict[Node, tuple[int, bool]] = {}
        """Compile or frame → its stamp at the last test, and whether its line had the text. A new address makes a new node."""

    def matches(self, node: Node) -> bool:
        """Return whether a compile or an artifact matches."""
        target = node.target
        if isinstance(target, Compile):
            if self._status:
                status = "" if target.status is None else str(target.status)
                matches = status != "" and (status == self._status) is not self.inverse
            else:
                matches = self._has(node) is not self.inverse
            self.tested += target.is_compile
            self.matched += target.is_compile and matches
            return matches
        return not self.inverse and not self._status and self.has_text(node)

    def has_text(self, node: Node) -> bool:
        """Return whether the line of a node contains the text; a status matches compiles only."""
        return not self._status and self._has(node)

    def _has(self, node: Node) -> bool:
        target = node.target
        if not isinstance(target, (Compile, Frame)):
            return self._pattern.search(text_of(node)) is not None
        stamp, has = self._cache.get(node, (-1, False))
        if stamp != target.stamp:
            has = self._pattern.search(text_of(node)) is not None
            self._cache[node] = target.stamp, has
        return has


class OutlineRows:
    """The visible rows of an outline. The root is row 0 and is always open."""

    def __init__(self, root: Node, below: Callable[[Node], list[Node]] | None = None) -> None:
        self._root = root
        self._by_frames = self._below = below or KeptNodes()
        self._folds = _RankFolds()
        self._row_cache: dict[str, list[OutlineRow]] = {}
        """Key of a node → the rows of its children, when these are many."""
        self._held = ""
        self.order: StackOrder | None = None
        """Gives the nodes in the order of the stacks, None while they are in that of the frames."""
        self._filter: Filter | None = None
        self._closed: set[str] | None = None
        """Of a run that is still being read, all nodes of which are wanted open: those that were closed since. Else None."""
        self.open: set[str] = {root.key}
        self._has_begun = False
        """Whether the first of several ranks was opened: a tree of closed ranks tells nothing."""
        self._has_folded = False
        """Whether the fold of all ranks was opened: there is nothing else to see."""
        self.rows: list[OutlineRow] = []
        self.refresh()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def filter(self) -> str:
        """Return the text of the filter, '' for none."""
        return self._filter.text if self._filter else ""

    @property
    def filter_counts(self) -> tuple[int, int]:
        """Return (compiles that match the filter, all compiles); (0, 0) without one."""
        return (self._filter.matched, self._filter.tested) if self._filter else (0, 0)

    def refresh(self, held: str | None = None) -> None:
        """Rebuild the rows from the current run. A filter never removes the node with the key `held`."""
        self._open_first()
        rows: list[OutlineRow] = [OutlineRow(self._root, 0)]
        if self._filter is not None:
            self._filter.matched = self._filter.tested = 0
        if held is not None:
            self._held = held
        self._add(rows, self._root, 1)
        self.rows = rows
        self._open_new()

    def _open_first(self) -> None:
        """Open the first rank once, when there is more than one."""
        run = self._root.target
        if not self._has_begun and isinstance(run, Run) and len(run.ranks) > 1:
            self._has_begun = True
            self.open.add(path_to(run, run.ranks[0])[-1])

    def _open_new(self) -> None:
        """Open the nodes that were added since everything was opened."""
        closed, self._closed = self._closed, None
        if closed is not None and self._open_rest(closed, LIMIT) and self._is_being_read:
            self._closed = closed

    @property
    def _is_being_read(self) -> bool:
        return isinstance(self._root.target, Run) and not self._root.target.is_read

    def _add(self, rows: list[OutlineRow], node: Node, depth: int) -> bool:
        """Append the visible rows below a node; return whether the filter leaves any."""
        below = self._children(node)
        if self._filter is None:
            self._add_open(rows, self._rows_of(node, below, depth), depth)
            return bool(below)
        is_visible = False
        for child in below:
            place = len(rows)
            rows.append(OutlineRow(child, depth))
            if self._filtered(rows, child, depth, self._filter):
                is_visible = True
            else:
                del rows[place:]
        return is_visible

    def _children(self, node: Node) -> list[Node]:
        """Return the child nodes, with folds of the ranks that are alike."""
        if isinstance(node.target, RankGroup):
            return self._folds.members(node)
        below = self._below(node)
        if not isinstance(node.target, Run):
            return below
        folded = self._folds.folded(node.target, below)
        if len(folded) == 1 and isinstance(folded[0].target, RankGroup) and not self._has_folded:
            self._has_folded = True
            self.open.add(folded[0].key)
        return folded

    def _add_open(self, rows: list[OutlineRow], children: list[OutlineRow], depth: int) -> None:
        """Append rows, and the rows below open ones."""
        at = 0
        for place in [place for place, row in enumerate(children) if row.node.key in self.open]:
            rows += children[at : place + 1]
            at = place + 1
            self._add(rows, children[place].node, depth + 1)
        rows += children[at:]

    def _rows_of(self, node: Node, below: list[Node], depth: int) -> list[OutlineRow]:
        """Return the rows of a node's children."""
        if len(below) < LONG:
            return [OutlineRow(child, depth) for child in below]
        cached = self._row_cache.get(node.key, [])
        if cached and cached[0].depth != depth:
            cached = []
        current = [row if row.node is child else OutlineRow(child, depth) for row, child in zip(cached, below, strict=False)]
        current += [OutlineRow(child, depth) for child in below[len(current) :]]
        self._row_cache[node.key] = current
        return current

    def _filtered(self, rows: list[OutlineRow], child: Node, depth: int, filter_: Filter) -> bool:
        """Append the filtered rows below a node whose row was appended; return whether the node itself stays."""
        is_open = child.key in self.open
        if isinstance(child.target, (Compile, Artifact)):
            stays = filter_.matches(child) or child.key == self._held
            if stays and is_open:
                self._add_all(rows, child, depth + 1)
            return stays
        matches = filter_.has_text(child)
        names_it = matches or child.key == self._held
        if filter_.inverse and names_it and child.key != self._held:
            return False
        stays = self._add(rows, child, depth + 1)
        if matches and not stays and isinstance(child.target, (Frame, Process, Rank, StackPart)):
            filter_.matched += child.target.tally.compiles
        if names_it and not stays and is_open:
            self._add_all(rows, child, depth + 1)
        return stays or names_it

    def _add_all(self, rows: list[OutlineRow], node: Node, depth: int) -> None:
        """Append all rows below a match, unfiltered."""
        active, self._filter = self._filter, None
        self._add(rows, node, depth)
        self._filter = active

    def set_filter(self, text: str) -> None:
        """Show only the matches of a `Filter`, their ancestors and descendants; '' shows all."""
        self._filter = Filter(text) if text.removeprefix("!").strip() else None
        self.refresh(held="")

    def set_order(self, order: StackOrder | None) -> None:
        """Order by stacks, or by frames (None). Open nodes stay open."""
        self.order = order
        self._below = self._by_frames if order is None else order.below
        self._row_cache.clear()
        self.refresh()

    def row_of(self, key: str, near: int = -1) -> int | None:
        """Return the row of a node, None if it is not visible. The row `near` is checked first."""
        if 0 <= near < len(self.rows) and self.rows[near].node.key == key:
            return near
        return next((place for place, row in enumerate(self.rows) if row.node.key == key), None)

    def is_open(self, place: int) -> bool:
        """Return whether the node of a row shows its children."""
        return self.rows[place].node.key in self.open

    def expand(self, place: int) -> None:
        """Open the node of a row."""
        row = self.rows[place]
        if row.node.key in self.open or not row.node.expandable:
            return
        self.open.add(row.node.key)
        if isinstance(row.node.target, Compile):
            self.keep_in_sight(row.node.target)
        if self._closed is not None:
            self._closed.discard(row.node.key)
        if self._filter is not None:  # what it leaves depends on what is above
            self.refresh()
            return
        below: list[OutlineRow] = []
        self._add(below, row.node, row.depth + 1)
        self.rows[place + 1 : place + 1] = below

    def keep_in_sight(self, compile_: Compile) -> None:
        """Open the frame of this compile when a second compile gives it a node. A compile without a frame never gets one."""
        if len(compile_.frame.compiles) == 1 and compile_.frame.key != compile_.id:
            self.open.add(frame_key_of(compile_))

    def collapse(self, place: int) -> None:
        """Close the node of a row. The root stays open."""
        row = self.rows[place]
        if row.node.key not in self.open or place == 0:
            return
        self.open.discard(row.node.key)
        if self._closed is not None:
            self._closed.add(row.node.key)
        end = place + 1
        while end < len(self.rows) and self.rows[end].depth > row.depth:
            end += 1
        del self.rows[place + 1 : end]

    def collapse_all(self) -> None:
        """Close everything but the root."""
        self.open, self._closed = {self._root.key}, None
        self.refresh()

    def expand_all(self, limit: int = LIMIT) -> bool:
        """Open everything down to the artifacts of compiles, level by level; return False if the limit was reached.

        In a run that is still being read new nodes are opened too.
        """
        is_all = self._open_rest(set(), limit)
        self._closed = set() if is_all and self._is_being_read else None
        return is_all

    def _open_rest(self, closed_keys: set[str], limit: int) -> bool:
        """Open everything but the nodes with the keys `kept`; return False if the limit was reached."""
        while True:
            open_ = self.open | closed_keys
            closed = [row.node.key for row in self.rows if row.node.expandable and row.node.key not in open_]
            if not closed:
                return True
            if len(self.rows) + len(closed) > limit:
                return False
            self.open.update(closed)
            self.refresh()

    def parent(self, place: int) -> int:
        """Return the row of the parent; 0 for the root itself."""
        depth = self.rows[place].depth
        while place > 0 and self.rows[place].depth >= depth:
            place -= 1
        return place

    def reveal(self, keys: Iterable[str]) -> int | None:
        """Open all but the last of the nodes with these keys (in frame order); return the row of the last one."""
        *path, last = keys if self.order is None else self.order.path(list(keys))
        path += [fold for key in (*path, last) if (fold := self._folds.fold_of(key)) is not None]
        if not self.open.issuperset(path):
            self.open.update(path)
            self.refresh()
        return self.row_of(last)


def text_of(node: Node) -> str:
    """Return the text that a filter matches: the line of a node, torch's name of its function, torch's reason, and its address."""
    shown: Label = label(node)
    pieces = (*shown.left, *shown.detail, *shown.right)
    status = str(node.target.status) if isinstance(node.target, Compile) else ""
    line = "".join(piece_text(piece) for piece in pieces)
    reason = recompile_reason(node.target) if isinstance(node.target, Compile) and node.target.is_recompile else ""
    return f"{line} {_original_name(node)} {reason} {node.ref} {status}"


def _original_name(node: Node) -> str:
    """Return torch's name of a function whose displayed name is shortened."""
    target = node.target.frame if isinstance(node.target, Compile) else node.target
    name = target.code[0] if isinstance(target, Frame) else None
    return name if name and short(name) != name else ""


__all__ = ["Filter", "OutlineRow", "OutlineRows", "Target", "text_of"]
