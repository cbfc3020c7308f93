"""What is shown stays about what it is about while addresses change: a second rank makes `0/1` unclear, an epoch another one."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.nodes import Process, Rank
from tltui.model.ref import BadAddress, Ref, parse_ref
from tltui.model.run import Node, Run

KEPT = 500
"""Addresses that are remembered."""


class Addresses:
    """What addresses named when they were noted, and what that is called now."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._named: OrderedDict[str, tuple[Ref, Node, Ref]] = OrderedDict()

    def note(self, ref: str) -> None:
        """Remember what an address names."""
        self._named.pop(ref, None)
        try:
            parsed = parse_ref(ref)
            node = self._node(parsed)
        except BadAddress:
            return
        if node is not None:
            self._named[ref] = parsed, node, _called(parsed, node)
            while len(self._named) > KEPT:
                self._named.popitem(last=False)

    def _node(self, ref: Ref) -> Node | None:
        if ref.id is None and ref.rank is None:
            processes = list(self._run.processes())
            return processes[0] if ref.n is not None and len(processes) == 1 else None
        if ref.artifact is None or ref.view:
            return self._run.resolve(replace(ref, attempt=None, artifact=None, n=None, view=""))
        return self._run.resolve(ref)

    def now(self, ref: str) -> str:
        """The address by now of what this one named."""
        parsed, node, called = self._named.get(ref, (None, None, None))
        if parsed is None or node is None or (again := _called(parsed, node)) == called:
            return ref
        del self._named[ref]
        self.note(str(again))
        return str(again)


def _called(ref: Ref, node: Node) -> Ref:
    """An address of a node or of something in it, as it is called by now."""
    if isinstance(node, Artifact):  # another record of its name may have come
        node = next((other for other in artifacts_of(node.owner) if other.record == node.record), node)
        return replace(node.ref, attempt=ref.attempt, n=node.ref.n if ref.n is None else ref.n)
    own = node.ref
    if isinstance(node, Rank):
        return replace(ref, rank=own.rank)
    if isinstance(node, Process):
        if ref.rank is None and node.alone and not node.ranks_differ:
            return ref
        return replace(ref, rank=own.rank, process=own.process if ref.process is None else node.number)
    return replace(ref, rank=own.rank, process=own.process, id=own.id)
