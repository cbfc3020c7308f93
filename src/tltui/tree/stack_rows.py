"""The tree on the left in stack order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable

from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile, Frame, Process, Rank
from tltui.model.record_reader import Reader, list_in
from tltui.model.ref import NO_ID, Ref
from tltui.model.run import Run
from tltui.model.status import Tally
from tltui.questions.stacks.stack_tree import AHEAD, Branch, Trie, without_suffix
from tltui.questions.stacks.tracebacks import full_stack
from tltui.tree.outline import (
    Attempt,
    CallGroup,
    Node,
    PhaseGroup,
    StackPart,
    UnitGroup,
    children,
    compile_node,
    inside,
    path_to,
)

SLICE = 0.02
"""Seconds of reading in one `advance`."""


def keys_by_frames(run: Run, node: Node) -> list[str]:
    """Return the keys to a node in frame order; to the run for callers, which have no node there."""
    target = node.target
    if isinstance(target, (Rank, Process, Frame, Compile, Artifact)):
        return path_to(run, target)
    if isinstance(target, (Attempt, CallGroup, UnitGroup, PhaseGroup)):
        return [*path_to(run, target.owner), *(inside(compile_node(target.owner), node.key) or ())]
    return ["@run"]


class StackOrder:
    """Children of nodes in stack order; `outline.children` is the equivalent for frame order."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stacks: dict[str, ProcessStacks] = {}

    def of(self, process: Process) -> ProcessStacks:
        """Return the stacks of a process."""
        stacks = self._stacks.get(process.key)
        if stacks is None or stacks.process is not process:
            stacks = self._stacks[process.key] = ProcessStacks(process)
        return stacks

    def advance(self, seconds: float = SLICE) -> bool:
        """Read unread stacks for at most `seconds`; return True when all are read."""
        end = time.monotonic() + seconds
        return all(self.of(process).advance(end) for process in self._run.processes())

    def below(self, node: Node) -> list[Node]:
        """Return the child nodes."""
        target = node.target
        if isinstance(target, Run):
            ranks = target.ranks
            if len(ranks) == 1 and ranks[0].number is None:
                return self.below(Node("", ranks[0], "", True))
        if isinstance(target, Rank) and len(target.processes) == 1:
            return self.of(target.processes[0]).top()
        if isinstance(target, Process):
            return self.of(target).top()
        if isinstance(target, StackPart):
            return self.of(target.owner_process).inside(target.branch)
        return children(node)

    def path(self, keys: list[str]) -> list[str]:
        """Convert the keys to a node from frame order (`outline.path_to`) to this order."""
        for process in self._run.processes():
            converted = self.of(process).path(keys)
            if converted is not None:
                return converted
        return keys

    def parts(self, limit: int) -> list[str]:
        """Return the keys of at most `limit` stack nodes, which are open at first."""
        parts: list[str] = []
        for process in self._run.processes():
            waiting = deque(self.of(process).top())
            while waiting and len(parts) < limit:
                node = waiting.popleft()
                if isinstance(node.target, StackPart):
                    parts.append(node.key)
                    waiting += self.below(node)
        return parts


class ProcessStacks:
    """The stacks of one process."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._trie = Trie()
        self._reader = Reader(process.log, AHEAD)
        self._read: set[int] = set()
        self._at: dict[int, Branch] = {}
        """`id` of a compile → the frame that it compiles."""
        self._firsts: dict[int, Compile] = {}
        """`id` of a frame → the first of its compiles that has a stack."""
        self._keys: dict[str, Compile] = {}
        self._naming = -1
        self._compile_nodes: dict[int, Node] = {}
        self._shown: dict[int, list[Node]] = {}
        """Number of a frame → the nodes for it and what it called."""
        self._sums: dict[int, Tally] = {}
        """Number of a frame → counts over all compiles below it."""
        self._summed: dict[int, tuple[Tally, Branch]] = {}
        """`id` of a compile → what of it is in these, and below which frame."""
        self._summed_at: tuple[Tally, int, int] = (Tally(), 0, 0)

    def advance(self, end: float) -> bool:
        """Read stacks until the time `end`; return True when all are read."""
        if len(self._read) == len(self.process.compiles):
            return True
        waiting = [c for c in self.process.compiles.values() if c.started is not None and id(c) not in self._read]
        waiting.sort(key=lambda c: c.started.record if c.started else 0)
        for number, compile_ in enumerate(waiting):
            if number and time.monotonic() >= end:
                return False
            self._insert(compile_)
        return True

    def _insert(self, compile_: Compile) -> None:
        self._read.add(id(compile_))
        if compile_.started is None:
            return
        try:
            stack = list_in(self._reader.event(compile_.started.record), "stack")
        except OSError:
            return
        branch = self._trie.insert(self.process, without_suffix(self.process, full_stack(compile_, stack)))
        if branch is not self._trie.root:
            self._changed(branch)
            branch.compiles.append(compile_)
            self._at[id(compile_)] = branch
            self._firsts.setdefault(id(compile_.frame), compile_)

    def _changed(self, branch: Branch | None) -> None:
        """Invalidate the cached nodes of a frame and its callers."""
        while branch is not None:
            self._shown.pop(branch.number, None)
            branch = branch.parent

    def _update(self) -> None:
        """Update from the run: addresses, compiles without a stack, counts."""
        process = self.process
        if self._naming != process.naming.stamp:
            self._naming = process.naming.stamp
            self._compile_nodes.clear()
            self._shown.clear()
        now = process.tally, len(self._read), len(process.compiles)
        if now == self._summed_at:
            return
        self._summed_at = now
        for compile_ in process.compiles.values():
            tally, before = self._summed.get(id(compile_), (None, None))
            if tally is not compile_.tally:
                near = compile_ if id(compile_) in self._at else self._sibling(compile_)
                if near is not None:
                    self._sum(compile_, self._at[id(near)], tally, before)

    def _sum(self, compile_: Compile, branch: Branch, tally: Tally | None, before: Branch | None) -> None:
        """Count a compile below a frame, and subtract its previous counts below `before`."""
        if before is not branch:
            self._changed(before)
            self._changed(branch)
        for at, change in ((before, Tally() - (tally or Tally())), (branch, compile_.tally)):
            step = at
            while step is not None:
                self._sums[step.number] = self._sums.get(step.number, Tally()) + change
                step = step.parent
        self._summed[id(compile_)] = compile_.tally, branch

    def counted(self, branch: Branch) -> Tally:
        """Return counts over all compiles below a frame."""
        self._update()
        return self._sums.get(branch.number, Tally())

    def top(self) -> list[Node]:
        """Return the outermost frames, then the compiles without a stack."""
        self._update()
        nodes = self._nodes(self._trie.root.children.values())
        lost = [c for c in self.process.compiles.values() if id(c) not in self._at and self._sibling(c) is None]
        lost.sort(key=lambda c: c.id == NO_ID)
        return nodes + [self._compile_node(c) for c in lost]

    def inside(self, head: Branch) -> list[Node]:
        """Return the children of a stack node: the compiles of its last frame, then the functions that it called."""
        self._update()
        last = _chain(head)[-1]
        return [self._compile_node(c) for c in self._compiles(last)] + self._nodes(last.children.values())

    def _compile_node(self, compile_: Compile) -> Node:
        cached = self._compile_nodes.get(id(compile_))
        if cached is None:
            cached = self._compile_nodes[id(compile_)] = compile_node(compile_)
        return cached

    def _nodes(self, branches: Iterable[Branch]) -> list[Node]:
        nodes = []
        for branch in branches:
            shown = self._shown.get(branch.number)
            if shown is None:
                chain = _chain(branch)
                shown = self.inside(branch) if self._is_plain(chain) else [self._node(branch, chain)]
                self._shown[branch.number] = shown
            nodes += shown
        return nodes

    def _node(self, branch: Branch, chain: tuple[Branch, ...]) -> Node:
        ref = Ref(view="stacks", n=branch.number)
        if not self.process.alone or self.process.ranks_differ:
            process_ref = self.process.ref
            ref = Ref(process_ref.rank, process_ref.process, view="stacks", n=branch.number)
        frames = tuple(step.frame for step in chain if step.frame is not None)
        return Node(self._key(branch), StackPart(self.process, branch, frames, self.counted), str(ref), True)

    def _key(self, branch: Branch) -> str:
        return f"{self.process.key}\0stack{branch.number}"

    def _is_plain(self, chain: tuple[Branch, ...]) -> bool:
        """Return whether a chain needs no node: a single compile, or torch's own frames with one callee."""
        last = chain[-1]
        if last.compiles:
            return len(chain) == 1 and not last.children and len(self._compiles(last)) == 1
        return len(last.children) == 1 and all(step.frame is not None and step.frame.is_framework for step in chain)

    def _compiles(self, branch: Branch) -> list[Compile]:
        """Return the compiles of a frame, including hits of the recompile limit, which have no stack."""
        compiles = list(branch.compiles)
        for compile_ in branch.compiles:
            if compile_.id != NO_ID and self._first(compile_.frame) is compile_:
                compiles += [c for c in compile_.frame.compiles if id(c) not in self._at]
        return compiles

    def _first(self, frame: Frame) -> Compile | None:
        return self._firsts.get(id(frame))

    def _sibling(self, compile_: Compile) -> Compile | None:
        return None if compile_.id == NO_ID else self._first(compile_.frame)

    def path(self, keys: list[str]) -> list[str] | None:
        """Convert keys as `StackOrder.path` for the compiles and frames of this process; None for others."""
        if len(self._keys) != len(self.process.compiles):
            self._keys = {compile_node(c).key: c for c in self.process.compiles.values()}
        for place, key in enumerate(keys):
            if (compile_ := self._keys.get(key)) is not None:
                below_frame = len(compile_.frame.compiles) > 1 and compile_.id != NO_ID
                return [*keys[: place - below_frame], *self._above(compile_), *keys[place:]]
        for frame in self.process.frames.values():
            if len(frame.compiles) > 1 and keys[-1] == self._frame_key(frame):
                first = self._first(frame) or frame.compiles[0]
                return [*keys[:-1], *self._above(first), compile_node(first).key]
        return None

    def _frame_key(self, frame: Frame) -> str:
        return f"{self.process.log.path}\0{self.process.pid}\0{frame.key.address}"

    def _above(self, compile_: Compile) -> list[str]:
        """Return the keys of the nodes above a compile, the outermost first."""
        near = self._sibling(compile_) if id(compile_) not in self._at else compile_
        branch = self._at.get(id(near)) if near is not None else None
        keys: list[str] = []
        while branch is not None and branch is not self._trie.root:
            if _is_head(branch) and not self._is_plain(_chain(branch)):
                keys.append(self._key(branch))
            branch = branch.parent
        return keys[::-1]


def _chain(head: Branch) -> tuple[Branch, ...]:
    """Return a frame and its descendants down to the first branch or before the first compiled one."""
    chain = [head]
    while not chain[-1].compiles and len(chain[-1].children) == 1:
        child = next(iter(chain[-1].children.values()))
        if child.compiles:
            break
        chain.append(child)
    return tuple(chain)


def _is_head(branch: Branch) -> bool:
    """Return whether a chain begins at this frame."""
    above = branch.parent
    return above is None or above.parent is None or bool(above.compiles or branch.compiles) or len(above.children) != 1
