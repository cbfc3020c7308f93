"""The loops of a node as people read them: `([4], [16])` → `4 × 16 reduced`."""

from __future__ import annotations

import re

_PARTS = re.compile(r"^\(\s*[\[(](.*?)[\])],\s*[\[(](.*?)[\])]\s*\)$")


def sizes_of(text: str) -> str:
    """What `.sizes` or `.group.iteration` says: outer loops, and those that are reduced; `1` without any loop. As it stands
    where it is written in another way, '' for nothing."""
    own = _PARTS.match(text.strip())
    if own is None:
        return text.strip()
    outer, inner = (_times(part) for part in own.groups())
    return f"{outer or '1'} × {inner} reduced" if inner else outer or "1"


def _times(part: str) -> str:
    return " × ".join(size for item in part.split(", ") if (size := item.strip(" ,")))
