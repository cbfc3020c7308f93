"""The nodes of processes and frames, kept while the run grows: of 20,000 compiles those are made that are new.

Nothing is ever taken away from a process or a frame, and what is there keeps its place. A frame of one compile is that compile,
until there is a second one; all nodes are made again when addresses change.
"""

from __future__ import annotations

from tltui.documents.tree.outline import Node, children, compile_node, frame_node
from tltui.model.nodes import Frame, Process, Rank
from tltui.model.ref import NO_ID
from tltui.model.run import Run


class KeptNodes:
    """Gives the children of nodes, as `outline.children` does."""

    def __init__(self) -> None:
        self._processes: dict[str, _OfProcess] = {}
        self._frames: dict[str, _OfFrame] = {}

    def __call__(self, node: Node) -> list[Node]:
        """The nodes below one, in the order in which they are shown."""
        target = node.target
        if isinstance(target, Run):
            ranks = target.ranks
            return self(Node("", ranks[0], "", True)) if len(ranks) == 1 and ranks[0].number is None else children(node)
        if isinstance(target, Rank) and len(target.processes) == 1:
            return self._of_process(target.processes[0])
        if isinstance(target, Process):
            return self._of_process(target)
        if isinstance(target, Frame):
            found = self._frames.get(node.key)
            if found is None or found.frame is not target:
                found = self._frames[node.key] = _OfFrame(target)
            return found.now()
        return children(node)

    def _of_process(self, process: Process) -> list[Node]:
        found = self._processes.get(process.key)
        if found is None or found.process is not process:
            found = self._processes[process.key] = _OfProcess(process)
        return found.now()


class _OfFrame:
    """The compiles of a frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._naming = -1
        self._nodes: list[Node] = []

    def now(self) -> list[Node]:
        """All nodes."""
        if self._naming != self.frame.process.naming.stamp:
            self._naming, self._nodes = self.frame.process.naming.stamp, []
        self._nodes += map(compile_node, self.frame.compiles[len(self._nodes) :])
        return self._nodes


class _OfProcess:
    """The frames of a process, those with one compile as that."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._naming = -1
        self._counted = (-1, -1)
        self._own: list[Node] = []
        self._is_many = bytearray()
        """For each of them whether it has several compiles."""
        self._without_id = -1
        """The place of the frame of records without an id, which stands last in the tree."""
        self._nodes: list[Node] = []

    def now(self) -> list[Node]:
        """All nodes."""
        process = self.process
        if self._naming != process.naming.stamp:
            self._naming, self._counted, self._own, self._is_many = process.naming.stamp, (-1, -1), [], bytearray()
        counted = len(process.frames), len(process.compiles)
        if counted != self._counted:
            self._counted = counted
            self._look()
        return self._nodes

    def _look(self) -> None:
        own, is_many = self._own, self._is_many
        known = len(own)
        for place, frame in enumerate(self.process.frames.values()):
            many = len(frame.compiles) > 1
            if place >= known:
                own.append(frame_node(frame))
                is_many.append(many)
                if frame.key == NO_ID:
                    self._without_id = place
            elif is_many[place] != many:
                own[place], is_many[place] = frame_node(frame), many
        self._nodes = list(own)
        if self._without_id >= 0:
            self._nodes.append(self._nodes.pop(self._without_id))
