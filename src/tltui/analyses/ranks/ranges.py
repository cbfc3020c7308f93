"""Ranks by their ranges: `0–6, 8–511`."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = 12
"""Ranges that are written out."""


def ranges(ranks: Iterable[int]) -> str:
    """The numbers in order, those that follow one another as a range."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    said = [f"{a}" if a == b else f"{a}, {b}" if b == a + 1 else f"{a}–{b}" for a, b in runs[:SHOWN]]
    left = sum(b - a + 1 for a, b in runs[SHOWN:])
    return ", ".join(said) + (f" and {left:,} more" if left else "")
