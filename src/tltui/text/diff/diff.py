"""What changed between two sequences of lines.

Anchored on lines that are unique on both sides (patience diff, Bram Cohen's idea), which keeps 50,000 lines with few
edits fast and hunks readable. Small gaps between anchors are compared with difflib, large ones (layers that repeat have
no unique line) by Myers' algorithm, which settles each time when enough equal lines follow one another.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

GAP = 10_000
"""Product of lengths up to which difflib compares: it finds the longest equal runs, but may need cubic time."""
SETTLED = 12
"""Equal lines in a row after which Myers' algorithm takes what it has found for good."""
EDITS = 160
"""Edits after which it takes the best that it has."""
DEPTH = 60
"""Anchors within anchors within anchors …: deeper ones are not looked for."""
NEVER = -2
CONTEXT = 3
NO_NEWLINE = b"\\ No newline at end of file"


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
    _match(left, right, 0, len(left), 0, len(right), equal, 0)
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
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    a0: int,
    a1: int,
    b0: int,
    b1: int,
    out: list[tuple[int, int, int]],
    depth: int,
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
        anchors = _anchors(left, right, a0, a1, b0, b1) if depth < DEPTH else []
        if anchors:
            for x, y in anchors:
                if x < a0 or y < b0:
                    continue  # an anchor inside of what the one before it grew over
                _match(left, right, a0, x, b0, y, out, depth + 1)
                out.append((x, y, 1))
                a0, b0 = x + 1, y + 1
            _match(left, right, a0, a1, b0, b1, out, depth + 1)
        elif (a1 - a0) * (b1 - b0) <= GAP:
            matcher = SequenceMatcher(None, left[a0:a1], right[b0:b1], autojunk=False)
            out += [(a0 + m.a, b0 + m.b, m.size) for m in matcher.get_matching_blocks() if m.size]
        else:
            _shared(left, right, (a0, a1), (b0, b1), out)
    if end:
        out.append((a1, b1, end))


def _shared(
    left: Sequence[Hashable],
    right: Sequence[Hashable],
    a: tuple[int, int],
    b: tuple[int, int],
    out: list[tuple[int, int, int]],
) -> None:
    """Compare a large gap: lines that the other side lacks are left aside, which Myers' algorithm would pay for."""
    own, other = set(left[slice(*a)]), set(right[slice(*b)])
    xs = [x for x in range(*a) if left[x] in other]
    ys = [y for y in range(*b) if right[y] in own]
    for x, y in myers([left[x] for x in xs], [right[y] for y in ys]):
        out.append((xs[x], ys[y], 1))


def myers(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The places of equal lines by Myers' O(ND) algorithm, made greedy: see `SETTLED` and `EDITS`."""
    pairs: list[tuple[int, int]] = []
    a = b = 0
    while a < len(left) and b < len(right):
        found, a, b = _settle(left, right, a, b)
        pairs += found
    return pairs


def _settle(
    left: Sequence[Hashable], right: Sequence[Hashable], a: int, b: int
) -> tuple[list[tuple[int, int]], int, int]:
    """Follow the cheapest edits from a place until they are settled; the equal lines, and where that was."""
    n, m = len(left), len(right)
    reach = {1: a}  # the furthest place on each diagonal (left minus right, counted from the start)
    steps: list[dict[int, int]] = []
    best, best_k = a + b, 0
    for d in range(EDITS + 1):
        now: dict[int, int] = {}
        for k in range(-d, d + 1, 2):
            down = k == -d or (k != d and reach.get(k - 1, NEVER) < reach.get(k + 1, NEVER))
            x = reach.get(k + 1, NEVER) if down else reach.get(k - 1, NEVER) + 1
            y = b + (x - a) - k
            if x < a or y < b or x > n or y > m:
                continue
            start = x
            while x < n and y < m and left[x] == right[y]:
                x, y = x + 1, y + 1
            now[k] = x
            if x + y > best:
                best, best_k = x + y, k
            if (x >= n and y >= m) or x - start >= SETTLED:
                steps.append(now)
                return _walked(steps, a, b, k), x, y
        if not now:
            break
        steps.append(now)
        reach = now
    last = max((d for d, step in enumerate(steps) if best_k in step), default=-1)
    if last < 0:
        return [], a + 1, b + 1
    x = steps[last][best_k]
    y = b + (x - a) - best_k
    found = _walked(steps[: last + 1], a, b, best_k)
    return (found, x, y) if x + y > a + b else ([], a + 1, b + 1)


def _walked(steps: list[dict[int, int]], a: int, b: int, k: int) -> list[tuple[int, int]]:
    """The equal lines on the way to diagonal `k` of the last step."""
    pairs: list[tuple[int, int]] = []
    for d in range(len(steps) - 1, -1, -1):
        x = steps[d][k]
        before = steps[d - 1] if d else {1: a}
        down = k == -d or (k != d and before.get(k - 1, NEVER) < before.get(k + 1, NEVER))
        start = before.get(k + 1, NEVER) if down else before.get(k - 1, NEVER) + 1
        pairs += [(at, b + (at - a) - k) for at in range(x - 1, start - 1, -1)]
        k = k + 1 if down else k - 1
    return pairs[::-1]


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


WORDS = 60_000
"""Product of the numbers of words up to which two lines are compared by words."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def word_changes(left: str, right: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The columns (start, end) that differ within two lines that replaced one another; all of them if little is equal."""
    a, b = _WORD.findall(left), _WORD.findall(right)
    if len(a) * len(b) > WORDS:
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


def unified(left: bytes, right: bytes, name_a: str, name_b: str) -> Iterator[bytes]:
    """A unified diff that `patch` and `git apply` understand, lines without their ends."""
    a, b = _byte_lines(left), _byte_lines(right)
    found = changes(a, b)
    if all(change.same for change in found):
        return
    yield f"--- {name_a}".encode()
    yield f"+++ {name_b}".encode()
    for group in hunks(found):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first.a0, last.a1)} +{_range(first.b0, last.b1)} @@".encode()
        for change in group:
            if change.same:
                yield from _signed(b" ", a[change.a0 : change.a1])
            else:
                yield from _signed(b"-", a[change.a0 : change.a1])
                yield from _signed(b"+", b[change.b0 : change.b1])


def _byte_lines(text: bytes) -> list[bytes]:
    """Lines; a last one without a line end has the end of its own that no other line has."""
    lines = text.split(b"\n")
    last = lines.pop()
    return [*lines, last + b"\n"] if last else lines


def _signed(sign: bytes, lines: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        if line.endswith(b"\n"):
            yield sign + line[:-1]
            yield NO_NEWLINE
        else:
            yield sign + line


def _range(start: int, end: int) -> str:
    size = end - start
    # an empty range names the line before it
    return f"{start + 1 if size else start},{size}"
