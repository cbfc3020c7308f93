"""Names of the scheduler's nodes: `op3`, `op9_op10` for a fused one, `true_graph_0_op1` in a subgraph, `buf3` before torch 2.5."""

from __future__ import annotations

import re
from functools import lru_cache

_PART = re.compile(r"(?:op|buf)\d+$")


def is_node(name: str) -> bool:
    """Whether a name is one of a node."""
    return _PART.match(name.rpartition("_")[2]) is not None


@lru_cache(maxsize=1 << 14)
def members_of(name: str) -> tuple[str, ...]:
    """The nodes that a fused node is made of: its name is theirs, joined by `_`. A name of another kind stands for itself."""
    found: list[str] = []
    waiting: list[str] = []
    for part in name.split("_"):
        waiting.append(part)
        if _PART.match(part):
            found.append("_".join(waiting))
            waiting = []
    return (name,) if waiting else tuple(found)
