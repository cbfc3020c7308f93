"""What changed between two sequences of lines.

Anchored on lines that are unique on both sides (patience diff, Bram Cohen's idea), which keeps 50,000 lines with few
edits fast and hunks readable; the gaps between anchors are compared with difflib.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

GAP = 250_000
"""Product of lengths up to which a gap without anchors is compared line by line; a larger one counts as replaced."""
CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `a0` to `a1` of the left became `b0` to `b1` of the right (both exclusive); equal when `same`."""

    same: bool
    a0: int
    a1: int
    b0: int
    b1: int


def changes(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[Change]:
    """All runs of equal and changed lines, in order, covering both sides."""
    equal: list[tuple[int, int, int]] = []
    _match(left, right, 0, len(left), 0, len(right), equal)
    found: list[Change] = []
    a = b = 0
    for a0, b0, size in [*equal, (len(left), len(right), 0)]:
        if a < a0 or b < b0:
            found.append(Change(False, a, a0, b, b0))
        if size:
            if found and found[-1].same and found[-1].a1 == a0 and found[-1].b1 == b0:
                found[-1] = Change(True, found[-1].a0, a0 + size, found[-1].b0, b0 + size)
            else:
                found.append(Change(True, a0, a0 + size, b0, b0 + size))
        a, b = a0 + size, b0 + size
    return found


def _match(
    left: Sequence[Hashable], right: Sequence[Hashable], a0: int, a1: int, b0: int, b1: int, out: list[tuple[int, int, int]]
) -> None:
    """Append the equal runs of a part of both sides, in order."""
    start = 0
    while a0 + start < a1 and b0 + start < b1 and left[a0 + start] == right[b0 + start]:
        start += 1
    if start:
        out.append((a0, b0, start))
        a0, b0 = a0 + start, b0 + start
    end = 0
    while a0 < a1 - end and b0 < b1 - end and left[a1 - end - 1] == right[b1 - end - 1]:
        end += 1
    a1, b1 = a1 - end, b1 - end
    if a0 < a1 and b0 < b1:
        anchors = _anchors(left, right, a0, a1, b0, b1)
        if anchors:
            for x, y in anchors:
                if x < a0 or y < b0:
                    continue  # an anchor inside of what the one before it grew over
                _match(left, right, a0, x, b0, y, out)
                out.append((x, y, 1))
                a0, b0 = x + 1, y + 1
            _match(left, right, a0, a1, b0, b1, out)
        elif (a1 - a0) * (b1 - b0) <= GAP:
            matcher = SequenceMatcher(None, left[a0:a1], right[b0:b1], autojunk=False)
            out += [(a0 + m.a, b0 + m.b, m.size) for m in matcher.get_matching_blocks() if m.size]
    if end:
        out.append((a1, b1, end))


def _anchors(
    left: Sequence[Hashable], right: Sequence[Hashable], a0: int, a1: int, b0: int, b1: int
) -> list[tuple[int, int]]:
    """Lines that occur once on each side, as far as they stand in the same order on both."""
    once = _unique(right, b0, b1)
    pairs = [(x, once[line]) for line, x in _unique(left, a0, a1).items() if line in once]
    pairs.sort()
    return _increasing(pairs)


def _unique(lines: Sequence[Hashable], lo: int, hi: int) -> dict[Hashable, int]:
    seen: dict[Hashable, int] = {}
    twice: set[Hashable] = set()
    for place in range(lo, hi):
        line = lines[place]
        if line in seen:
            twice.add(line)
        else:
            seen[line] = place
    for line in twice:
        del seen[line]
    return seen


def _increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs whose second numbers increase (patience sorting)."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, (_, y) in enumerate(pairs):
        pile = bisect_left(tails, y)
        before.append(ends[pile - 1] if pile else -1)
        if pile == len(tails):
            tails.append(y)
            ends.append(place)
        else:
            tails[pile], ends[pile] = y, place
    found: list[tuple[int, int]] = []
    place = ends[-1] if ends else -1
    while place >= 0:
        found.append(pairs[place])
        place = before[place]
    return found[::-1]


_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def word_changes(left: str, right: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The columns (start, end) that differ within two lines that replaced one another; all of them if little is equal."""
    a, b = _WORD.findall(left), _WORD.findall(right)
    if len(a) * len(b) > GAP:
        return [(0, len(left))], [(0, len(right))]
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < 0.4:
        return [(0, len(left))], [(0, len(right))]
    starts_a, starts_b = _starts(a), _starts(b)
    out_a, out_b = [], []
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal":
            if i < j:
                out_a.append((starts_a[i], starts_a[j]))
            if k < m:
                out_b.append((starts_b[k], starts_b[m]))
    return out_a, out_b


def _starts(words: list[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts


def hunks(found: Sequence[Change], context: int = CONTEXT) -> Iterator[list[Change]]:
    """Groups of changes with `context` equal lines around them, as a unified diff has."""
    group: list[Change] = []
    for change in found:
        if not change.same:
            group.append(change)
            continue
        size = change.a1 - change.a0
        if group and size > 2 * context:
            group.append(Change(True, change.a0, change.a0 + context, change.b0, change.b0 + context))
            yield group
            group = []
        if not group:
            keep = min(size, context)
            group = [Change(True, change.a1 - keep, change.a1, change.b1 - keep, change.b1)]
        else:
            group.append(change)
    if any(not change.same for change in group):
        last = group[-1]
        if last.same and last.a1 - last.a0 > context:
            group[-1] = Change(True, last.a0, last.a0 + context, last.b0, last.b0 + context)
        yield group


def unified(left: Sequence[str], right: Sequence[str], name_a: str, name_b: str) -> Iterator[str]:
    """A unified diff that `patch` and `git apply` understand. Both sides are taken to end with a line end."""
    found = changes(left, right)
    if all(change.same for change in found):
        return
    yield f"--- {name_a}"
    yield f"+++ {name_b}"
    for group in hunks(found):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first.a0, last.a1)} +{_range(first.b0, last.b1)} @@"
        for change in group:
            if change.same:
                yield from (f" {line}" for line in left[change.a0 : change.a1])
            else:
                yield from (f"-{line}" for line in left[change.a0 : change.a1])
                yield from (f"+{line}" for line in right[change.b0 : change.b1])


def _range(start: int, end: int) -> str:
    size = end - start
    # an empty range names the line before it
    return f"{start + 1 if size else start},{size}"
