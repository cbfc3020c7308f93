"""Which ranks wait for others inside of torch.compile, by the meaning of the phase that they are in.

Two phases of torch hold nothing but a collective of all ranks: `compiler_collective` (`OutputGraph.run_compiler_collective` in
`torch/_dynamo/output_graph.py`: ranks exchange what each saw of its inputs) and `guard_collective` (`guard_collectives_hook` in
`torch/_dynamo/eval_frame.py`: ranks exchange whether their guards held; it runs before a call, outside of any compile). Torch 2.13
has more collectives inside of compiles (`inductor/comms.py`, `distributed_autotune.py`, `spmd_check.py`, the partitioner), all of
them in phases that do other work as well: only stacks or the flight recorder show these.
"""

from __future__ import annotations

from collections.abc import Mapping

from tltui.analyses.hang.open_work import Inside

COMPILER_COLLECTIVE, GUARD_COLLECTIVE = "compiler_collective", "guard_collective"
COLLECTIVES = frozenset((COMPILER_COLLECTIVE, GUARD_COLLECTIVE))
"""Phases in which a rank does nothing but wait for all others."""


def collective_of(inside: Inside | None) -> str:
    """The collective of the compiler that a rank is in; '' for none."""
    name = inside.phases[-1].name if inside is not None and inside.phases else ""
    return name if name in COLLECTIVES else ""


def awaited(collectives: Mapping[int, str]) -> dict[int, frozenset[int]]:
    """Find whom each rank waits for: rank → ranks that are not in a collective of the compiler. Ranks that wait for nobody are
    left out. `collectives`: rank → the collective that it is in."""
    absent = frozenset(rank for rank, name in collectives.items() if not name)
    return {rank: absent for rank, name in collectives.items() if name and absent}
