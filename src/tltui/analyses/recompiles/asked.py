"""Who wants a condition to hold: torch itself, the program, a library. Told by what torch writes behind the guard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tltui.analyses.recompiles.comments import Comment, Origin
from tltui.analyses.recompiles.conditions import RANGE, Condition, Part
from tltui.text.owner import Owner, owner_of

ZERO_ONE, MARKED, DUCK, EXCLUSION = "sizes 0 and 1", "the bounds of a mark", "equal sizes", "an older compile"
PROGRAM, LIBRARY, TORCH = "your line", "a library", "torch"
SPECIAL = ("0", "1")
"""The sizes that torch compiles for themselves."""


NOWHERE = Origin()


@dataclass(frozen=True, slots=True)
class Asked:
    """The part of a condition that did not hold, and who asked for it."""

    part: Part | None = None
    """None: which one is not known."""
    who: str = ""
    """One of the constants above; '' where torch does not say."""
    origin: Origin = NOWHERE


def asked(condition: Condition, values: Mapping[str, str], comment: Comment) -> Asked:
    """What failed, for the values that the terms had, and who asked for it."""
    failing = condition.failing(values)
    if not failing and len(condition.parts) == 1:
        failing = condition.parts
    part = failing[0] if failing else None
    origin = _origin(part, condition, comment)
    return Asked(part, _who(part, origin, values) if part is not None or len(comment.origins) == 1 else "", origin)


def _origin(part: Part | None, condition: Condition, comment: Comment) -> Origin:
    """That of the bound that failed: of two the second is for the upper one."""
    if part is None or not comment.origins:
        return comment.first
    return comment.origins[0] if part.low or len(condition.parts) == 1 else comment.origins[-1]


def _who(part: Part | None, origin: Origin, values: Mapping[str, str]) -> str:
    note = origin.note
    lowest = part is not None and part.kind == RANGE and part.low and part.bound == 2
    if "0/1 specialization" in note or (lowest and origin == NOWHERE and any(value in SPECIAL for value in values.values())):
        return ZERO_ONE
    if note.startswith("duck sizing"):
        return DUCK
    if note.startswith("exclusion guard"):
        return EXCLUSION
    by = origin.by
    if by is None:
        return ""
    if by.file.endswith("_dynamo/variables/builder.py"):
        return MARKED
    if by.name != "evaluate_expr":
        return TORCH
    return whose(origin.place.file) or PROGRAM if origin.place is not None else ""


_TORCHS = (
    "_dynamo/", "_prims_common/", "_subclasses/", "_refs/", "_decomp/", "_functorch/", "_inductor/", "_higher_order_ops/", "fx/",
    "nn/modules/", "nn/functional.py", "nn/parallel/", "optim/", "autograd/", "_tensor.py", "functional.py",
)  # fmt: skip


@lru_cache(maxsize=1024)
def whose(path: str) -> str:
    """Whose line a file has: TORCH, LIBRARY, or '' for the user's. Guards name files of torch from its folder on."""
    path = path.replace("\\", "/")
    if path.startswith("<"):  # made by exec: nobody knows
        return ""
    owner = Owner.TORCH if path.startswith(_TORCHS) else owner_of(path)
    return {Owner.TORCH: TORCH, Owner.USER: ""}.get(owner, LIBRARY)
