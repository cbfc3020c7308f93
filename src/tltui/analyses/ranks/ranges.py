"""Ranks by their ranges: `0–6, 8–511`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

SHOWN = 12
"""Ranges that are written out."""


BUT = 3
"""Ranks that may be missing where the others are of an even distance: those of one device of each node."""


def ranges(ranks: Iterable[int]) -> str:
    """The numbers in order, those that follow one another as a range. Where these would be many and the numbers are of an even
    distance: `every 8th of 2–506`, `every 8th of 2–506 but 122`; where the missing ones are: `0–511 but every 8th of 2–506`."""
    numbers = sorted(set(ranks))
    runs: list[list[int]] = []
    for rank in numbers:
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    if len(runs) > SHOWN:
        if even := _even(numbers):
            return even
        first, last = numbers[0], numbers[-1]
        if even := _even([rank for (_, a), (b, _) in pairwise(runs) for rank in range(a + 1, b)][: last - first]):
            return f"{first}–{last} but {even}"
    said = [f"{a}" if a == b else f"{a}, {b}" if b == a + 1 else f"{a}–{b}" for a, b in runs[:SHOWN]]
    left = sum(b - a + 1 for a, b in runs[SHOWN:])
    return ", ".join(said) + (f" and {left:,} more" if left else "")


def _even(numbers: list[int]) -> str:
    """Numbers of an even distance, but a few that are missing; '' for others."""
    step = min((b - a for a, b in pairwise(numbers)), default=0)
    if step < 2 or any((number - numbers[0]) % step for number in numbers):
        return ""
    missing = set(range(numbers[0], numbers[-1] + 1, step)).difference(numbers)
    if len(missing) > BUT:
        return ""
    but = f" but {', '.join(map(str, sorted(missing)))}" if missing else ""
    suffix = "th" if 10 <= step % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(step % 10, "th")
    return f"every {step}{suffix} of {numbers[0]}–{numbers[-1]}{but}"
