"""Tables of the timing view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tltui.analyses.phases import MEANING, Phase
from tltui.analyses.timing_results import (
    CompileTime,
    FunctionTime,
    NameTime,
    Outlier,
    ProcessTime,
    StillOpen,
    Timing,
)
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.ref import parse_ref
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

SHOWN = 8
NAMES_SHOWN = 15
FOLDED = 200
GAPS_SHOWN = 3
T = TypeVar("T")


def _timing(ref: str) -> str:
    return str(parse_ref(ref).at("timing"))


def _folded_table(
    page: Page, head: list[Piece], rows: list[list[Piece]], shown: int, noun: str, right: Sequence[int]
) -> None:
    """A table whose rows from `shown` on are folded, and cut off where there are very many."""
    if len(rows) <= shown + 2:
        page.table([head, *rows], right=right)
        return
    kept = rows[: shown + FOLDED]
    start = page.mark()
    page.table([head, *kept], right=right)
    what = f"{fmt.count(len(rows) - shown)} more {noun}"
    page.fold_from(start + 1 + shown, what)
    if len(rows) > len(kept):
        page.add("  ", (f"and {fmt.count(len(rows) - len(kept))} more {noun}: --json has all of them", tokens.DIM))
