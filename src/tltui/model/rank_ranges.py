"""Sets of rank numbers as ranges: `0–6, 8–511`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

SHOWN = 12
"""Ranges that are written out."""


BUT = 3
"""Ranks that may be missing where the others are of an even distance: those of one device of each node."""


Range = tuple[int, int]
"""The first and the last number of a range."""


class Ranks(tuple[int, ...]):
    """Rank numbers, ascending. In JSON and as text they are their ranges: `0–6, 8–511`."""

    __slots__ = ()

    def __str__(self) -> str:
        return ranges(self)

    def __json__(self) -> str:
        """Return the JSON form."""
        return ranges(self)


def ranges(ranks: Iterable[int]) -> str:
    """Format numbers in ascending order, consecutive ones as a range.

    Many ranges of an even distance become `every 8th of 2–506`, `every 8th of 2–506 but 122`, or, for the missing numbers,
    `0–511 but every 8th of 2–506`.
    """
    runs: list[Range] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], rank
        else:
            runs.append((rank, rank))
    return range_text(runs)


def gaps(numbers: Collection[int]) -> list[Range]:
    """Return the ranges between 0 and the largest number that contain none of the numbers.

    A log may have any number as its rank, so time and memory depend on how many numbers there are, never on how large they are.
    """
    ordered = sorted({-1, *numbers})
    return [(a + 1, b - 1) for a, b in pairwise(ordered) if b - a > 1]


def range_text(runs: Sequence[Range]) -> str:
    """Write ranges that ascend and do not touch one another, as `ranges` does."""
    if len(runs) > SHOWN:
        if even := _even(runs):
            return even
        first, last = runs[0][0], runs[-1][1]
        if even := _even([(a + 1, b - 1) for (_, a), (b, _) in pairwise(runs)]):
            return f"{first}–{last} but {even}"
    texts = [f"{a}" if a == b else f"{a}, {b}" if b == a + 1 else f"{a}–{b}" for a, b in runs[:SHOWN]]
    remaining = sum(b - a + 1 for a, b in runs[SHOWN:])
    return ", ".join(texts) + (f" and {remaining:,} more" if remaining else "")


def shortened(text: str, width: int) -> str:
    """Crop the text of `ranges` after the last range that ends within `width`. A single range is never cropped."""
    end = text.rfind(",", 0, width)
    return text if len(text) <= width or end < 0 else f"{text[:end]} …"


def is_several(text: str) -> bool:
    """Return whether a text of `ranges` has more than one rank."""
    return any(sign in text for sign in "–, ")


def with_noun(text: str) -> str:
    """Return `rank 7`, `ranks 0–6, 8–511` for a text of `ranges`."""
    return f"{'ranks' if is_several(text) else 'rank'} {text}"


def _even(runs: Sequence[Range]) -> str:
    """Numbers of an even distance, but a few that are missing; '' for others."""
    if any(a != b for a, b in runs):
        return ""
    numbers = [number for number, _ in runs]
    first, last = numbers[0], numbers[-1]
    step = min((b - a for a, b in pairwise(numbers)), default=0)
    if step < 2 or any((number - first) % step for number in numbers) or (last - first) // step + 1 - len(numbers) > BUT:
        return ""
    missing = sorted(set(range(first, last + 1, step)).difference(numbers))
    but = f" but {', '.join(map(str, missing))}" if missing else ""
    suffix = "th" if 10 <= step % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(step % 10, "th")
    return f"every {step}{suffix} of {first}–{last}{but}"
