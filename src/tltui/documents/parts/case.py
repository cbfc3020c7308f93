"""What a run is made of where it is more than traces, and what its inputs tell differently."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tltui.analyses.case import Conflict, Holding
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.sanitize import sanitize


def held_words(held: Holding) -> str:
    """`TORCH_LOGS text of rank 0`, `trace of 2 ranks`, `torch_compile_debug of 1 process`"""
    if len(held.ranks) == 1:
        return f"{held.title} of rank {held.ranks[0]}"
    if held.ranks:
        return f"{held.title} of {fmt.plural(len(held.ranks), 'rank')}"
    if held.processes:
        return f"{held.title} of {fmt.plural(held.processes, 'process', 'processes')}"
    return f"{held.title} ({fmt.plural(held.files, 'file')})"


def add_conflicts(page: Page, conflicts: Sequence[Conflict]) -> None:
    """What inputs of one job tell differently."""
    if not conflicts:
        return
    page.heading("What the inputs tell differently")
    for conflict in conflicts:
        files = f"{_name(conflict.first)} and {_name(conflict.second)}"
        if conflict.ref:
            page.row([(conflict.ref, tokens.LINK, conflict.ref), "  in ", files, (f": {conflict.why}", tokens.WARN)])
        else:
            why = f"both have a process {conflict.name}, but not the same one: {sanitize(conflict.why)}"
            page.row([files, "  ", (why, tokens.WARN)])


def _name(path: str) -> str:
    return sanitize(os.path.basename(path))
