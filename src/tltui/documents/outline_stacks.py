"""The tree on the left in the order of the stacks: who called what was compiled, the compiles below.

The stacks are read once, in slices, as the tree asks for them: the cost is that of the compiles that are new.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tltui.analyses.records import Reader, list_in
from tltui.analyses.trie import AHEAD, Branch, Trie, without_suffix
from tltui.documents.outline import Node, StackPart, children, compile_node, frame_key_of
from tltui.model.nodes import Compile, Process, Rank
from tltui.model.ref import NO_ID, Ref
from tltui.model.run import Run
from tltui.model.status import Tally

SLICE = 0.02


class ProcessStacks:
    """The stacks of one process as nodes of the tree."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.top: list[Node] = []
        self.below: dict[str, list[Node]] = {}
        self.paths: dict[str, tuple[str, ...]] = {}
        """Key of a compile → the keys of the nodes above it."""
        self._trie = Trie()
        self._reader = Reader(process.log, AHEAD)
        self._read: set[int] = set()
        self._placed: set[int] = set()
        self._made = -1

    def advance(self, end: float) -> bool:
        """Read stacks until a moment. True when all are read."""
        waiting = [c for c in self.process.compiles.values() if c.started is not None and id(c) not in self._read]
        waiting.sort(key=lambda c: c.started.record if c.started else 0)
        for number, compile_ in enumerate(waiting):
            self._insert(compile_)
            if time.monotonic() >= end:
                return number + 1 == len(waiting)
        return True

    def _insert(self, compile_: Compile) -> None:
        self._read.add(id(compile_))
        if compile_.started is None:
            return
        try:
            stack = list_in(self._reader.event(compile_.started.record), "stack")
        except OSError:
            return
        if stack:
            self._trie.insert(self.process, without_suffix(self.process, stack)).compiles.append(compile_)
            self._placed.add(id(compile_))

    def nodes(self) -> list[Node]:
        """The outermost frames, then the compiles without a stack."""
        if self._made != (made := len(self._read) + len(self.process.compiles)):
            self._made = made
            self._make()
        return self.top

    def _make(self) -> None:
        self.below.clear()
        self.paths.clear()
        self._add_unplaced()
        self.top, _ = self._nodes_of(self._trie.root, ())
        for compile_ in self.process.compiles.values():
            if id(compile_) not in self._placed and not self._has_sibling(compile_):
                node = compile_node(compile_)
                self.paths[node.key] = ()
                self.top.append(node)
        self.top.sort(key=lambda node: isinstance(node.target, Compile) and node.target.id == NO_ID)

    def _has_sibling(self, compile_: Compile) -> bool:
        return any(id(other) in self._placed for other in compile_.frame.compiles)

    def _add_unplaced(self) -> None:
        """A hit of the recompile limit has no stack: it stands with the compiles of its frame."""
        self._beside: dict[int, list[Compile]] = {}
        for frame in self.process.frames.values():
            first = next((c for c in frame.compiles if id(c) in self._placed), None)
            if first is not None and frame.key != NO_ID:
                self._beside[id(first)] = [c for c in frame.compiles if id(c) not in self._placed]

    def _nodes_of(self, root: Branch, path: tuple[str, ...]) -> tuple[list[Node], Tally]:
        """Nodes for what is below a frame, without recursion: stacks may be deep."""
        # (branch, its chain of callers, path) are taken apart first, then put together from below
        order: list[tuple[Branch, tuple[Branch, ...], tuple[str, ...], list[Node]]] = []
        top: list[Node] = []
        waiting = [(child, path, top) for child in root.children.values()]
        while waiting:
            branch, above, into = waiting.pop()
            chain = _chain(branch)
            order.append((branch, chain, above, into))
            key = self._key(branch)
            inner = into if self._is_plain(chain) else self.below.setdefault(key, [])
            deeper = above if inner is into else (*above, key)
            if inner is not into:
                inner.clear()
            waiting += [(child, deeper, inner) for child in chain[-1].children.values()]
        tallies: dict[int, Tally] = {}
        for branch, chain, above, into in reversed(order):
            self._put(branch, chain, above, into, tallies)
        return self._sorted(top), Tally()

    def _put(
        self, branch: Branch, chain: tuple[Branch, ...], above: tuple[str, ...], into: list[Node], tallies: dict[int, Tally]
    ) -> None:
        last = chain[-1]
        compiles = [c for first in last.compiles for c in (first, *self._beside.get(id(first), ()))]
        tally = sum((tallies[id(child)] for child in last.children.values()), sum((c.tally for c in compiles), Tally()))
        tallies[id(branch)] = tally
        if self._is_plain(chain):
            self._add_compiles(compiles, above, into)
            return
        key = self._key(branch)
        inner = self.below[key]
        self._add_compiles(compiles, (*above, key), inner)
        self.below[key] = self._sorted(inner)
        ref = Ref(self.process.ref.rank, self.process.ref.process, view="stacks", n=last.number)
        if self.process.alone and not self.process.ranks_differ:
            ref = Ref(view="stacks", n=last.number)
        frames = tuple(step.frame for step in chain if step.frame is not None)
        into.append(Node(key, StackPart(self.process, branch.number, frames, tally), str(ref), True))

    def _add_compiles(self, compiles: Sequence[Compile], above: tuple[str, ...], into: list[Node]) -> None:
        for compile_ in compiles:
            node = compile_node(compile_)
            self.paths[node.key] = above
            into.append(node)

    def _is_plain(self, chain: tuple[Branch, ...]) -> bool:
        """Whether a chain needs no node of its own: one compile stands for its function, and torch's frames on the way
        to a single thing say nothing."""
        last = chain[-1]
        compiles = len(last.compiles) + sum(len(self._beside.get(id(first), ())) for first in last.compiles)
        if len(chain) == 1 and compiles == 1 and not last.children:
            return True
        return compiles == 0 and len(last.children) <= 1 and all(step.frame and step.frame.framework for step in chain)

    def _key(self, branch: Branch) -> str:
        return f"{self.process.key}\0stack{branch.number}"

    @staticmethod
    def _sorted(nodes: list[Node]) -> list[Node]:
        """In the order in which they were logged: compiles of the function itself before what it called."""
        nodes.reverse()
        return sorted(nodes, key=lambda node: isinstance(node.target, StackPart))


def _chain(branch: Branch) -> tuple[Branch, ...]:
    """A frame and those below it up to where the ways part or something was compiled."""
    chain = [branch]
    while not chain[-1].compiles and len(chain[-1].children) == 1:
        child = next(iter(chain[-1].children.values()))
        if child.compiles:
            break
        chain.append(child)
    return tuple(chain)
