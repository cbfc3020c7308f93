"""Call sites: the stacks of the operations in the kernels as one tree, seen from the user's own code.

Torch records for each kernel the stacks of its operations (`inductor_provenance_tracking_kernel_stack_traces`, with
INDUCTOR_PROVENANCE=1). What all of them begin with leads to the model and tells nothing; neither do the frames of torch and of
libraries around it (`__call__`, wrappers) above the user's own code.
"""

from __future__ import annotations

from collections.abc import Iterable

from tltui.analyses.provenance.layered import Site
from tltui.analyses.provenance.mapping import Stacks
from tltui.analyses.provenance.result import Kernel
from tltui.analyses.stacks.stacks import StackFrame
from tltui.text.owner import Owner

Line = tuple[str, int, str]


def sites_of(stacks: Stacks, kernels: Iterable[Kernel]) -> tuple[Site, ...]:
    """The call tree of the kernels of a unit, parents before children, in the order in which they first run."""
    chains: list[tuple[Kernel, tuple[Line, ...]]] = []
    for kernel in kernels:
        own = stacks.frames.get(kernel.key) or stacks.frames.get(kernel.name, ())
        chains += [(kernel, chain) for stack in own if (chain := _seen(stack))]
    head = _head([chain for _, chain in chains])
    parents: list[int] = []
    lines: list[Line] = []
    reached: list[dict[str, tuple[str, ...]]] = []
    known: dict[tuple[int, Line], int] = {}
    for kernel, chain in chains:
        at = -1
        for line in chain[head:]:
            below = known.setdefault((at, line), len(lines))
            if below == len(lines):
                parents.append(at)
                lines.append(line)
                reached.append({})
            at = below
            reached[at][kernel.key] = kernel.post_nodes
    return tuple(
        Site(*line, parent, tuple(found), tuple(dict.fromkeys(node for nodes in found.values() for node in nodes)))
        for line, parent, found in zip(lines, parents, reached, strict=True)
    )


def _seen(stack: tuple[StackFrame, ...]) -> tuple[Line, ...]:
    """The frames of a stack, outermost first: of torch and Python only those below which there is nobody else's."""
    placed = [frame for frame in stack if frame.line is not None]
    theirs = (Owner.USER, Owner.LIBRARY)
    kept = [frame for frame in placed if frame.owner in theirs] or placed[-1:]
    return tuple((frame.file, frame.line or 0, frame.name) for frame in kept)


def _head(chains: list[tuple[Line, ...]]) -> int:
    """How many frames all chains begin with; at least one of each stays."""
    if not chains:
        return 0
    least = min(map(len, chains)) - 1
    first = chains[0]
    return next((n for n in range(least) if any(chain[n] != first[n] for chain in chains)), max(least, 0))
