"""Differences between two texts: changed lines, paired lines, changed words."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher

from tltui.text.frozen import frozen

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


@frozen
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
    result: list[Change] = []
    a = b = 0
    for a0, b0, size in [*equal, (len(left), len(right), 0)]:
        if a < a0 or b < b0:
            result.append(Change(False, a, a0, b, b0))
        if size:
            if result and result[-1].same and result[-1].a1 == a0 and result[-1].b1 == b0:
                result[-1] = Change(True, result[-1].a0, a0 + size, result[-1].b0, b0 + size)
            else:
                result.append(Change(True, a0, a0 + size, b0, b0 + size))
        a, b = a0 + size, b0 + size
    return result


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
    items, other = set(left[slice(*a)]), set(right[slice(*b)])
    xs = [x for x in range(*a) if left[x] in other]
    ys = [y for y in range(*b) if right[y] in items]
    for x, y in myers([left[x] for x in xs], [right[y] for y in ys]):
        out.append((xs[x], ys[y], 1))


def myers(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the index pairs of equal lines by Myers' O(ND) algorithm, made greedy: see `SETTLED` and `EDITS`."""
    pairs: list[tuple[int, int]] = []
    a = b = 0
    while a < len(left) and b < len(right):
        equal, a, b = _settle(left, right, a, b)
        pairs += equal
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
    pairs = _walked(steps[: last + 1], a, b, best_k)
    return (pairs, x, y) if x + y > a + b else ([], a + 1, b + 1)


def _walked(steps: list[dict[int, int]], a: int, b: int, k: int) -> list[tuple[int, int]]:
    """Return the equal lines on the path to diagonal `k` of the last step."""
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
    """Pair lines that occur once on each side, as far as both sides have them in the same order."""
    once = _unique(right, b0, b1)
    pairs = [(x, once[line]) for line, x in _unique(left, a0, a1).items() if line in once]
    pairs.sort()
    return _increasing(pairs)


def _unique(lines: Sequence[Hashable], lo: int, hi: int) -> dict[Hashable, int]:
    counts: dict[Hashable, int] = {}
    twice: set[Hashable] = set()
    for place in range(lo, hi):
        line = lines[place]
        if line in counts:
            twice.add(line)
        else:
            counts[line] = place
    for line in twice:
        del counts[line]
    return counts


def _increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of the pairs with increasing second numbers (patience sorting)."""
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
    longest: list[tuple[int, int]] = []
    place = ends[-1] if ends else -1
    while place >= 0:
        longest.append(pairs[place])
        place = before[place]
    return longest[::-1]


WORDS = 60_000
"""Product of the numbers of words up to which two lines are compared by words."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def word_changes(left: str, right: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the columns (start, end) that differ between a line and its replacement; all columns if little is equal."""
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


def hunks(changed: Sequence[Change], context: int = CONTEXT) -> Iterator[list[Change]]:
    """Yield groups of changes with `context` equal lines around them, as in a unified diff."""
    group: list[Change] = []
    for change in changed:
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
    """Yield the lines of a unified diff for `patch` and `git apply`, without line ends."""
    a, b = _byte_lines(left), _byte_lines(right)
    changed = changes(a, b)
    if all(change.same for change in changed):
        return
    yield f"--- {name_a}".encode()
    yield f"+++ {name_b}".encode()
    for group in hunks(changed):
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


LARGEST = 2_500
"""Product of the numbers of lines up to which pairs are looked for; beyond, lines stand beside each other in order."""
ALIKE = 0.4
"""Share of the words that two lines must have in common."""
_PAIRED_WORD = re.compile(r"\w+|[^\w\s]")

Row = tuple[int, int]
"""A line of the left and one of the right; -1: none."""


def line_pairs(left: Sequence[str], right: Sequence[str]) -> list[Row]:
    """Return the rows of a changed stretch: similar lines side by side, the other lines alone or in order."""
    if len(left) * len(right) > LARGEST or not left or not right:
        return _aligned(range(len(left)), range(len(right)))
    rows: list[Row] = []
    a = b = 0
    for x, y in [*_alike(left, right), (len(left), len(right))]:
        rows += _aligned(range(a, x), range(b, y))
        if x < len(left):
            rows.append((x, y))
        a, b = x + 1, y + 1
    return rows


def _aligned(left: range, right: range) -> list[Row]:
    size = max(len(left), len(right))
    return [(left[n] if n < len(left) else -1, right[n] if n < len(right) else -1) for n in range(size)]


def _alike(left: Sequence[str], right: Sequence[str]) -> list[Row]:
    """Return the pairs, in order on both sides, with the largest sum of similarity."""
    words_a = [set(_PAIRED_WORD.findall(line[:2_000])) for line in left]
    words_b = [set(_PAIRED_WORD.findall(line[:2_000])) for line in right]
    height, width = len(left), len(right)
    best = [[0.0] * (width + 1) for _ in range(height + 1)]
    score = [[_likeness(a, b) for b in words_b] for a in words_a]
    for x in range(height - 1, -1, -1):
        for y in range(width - 1, -1, -1):
            paired = score[x][y] + best[x + 1][y + 1] if score[x][y] >= ALIKE else 0.0
            best[x][y] = max(paired, best[x + 1][y], best[x][y + 1])
    pairs: list[Row] = []
    x = y = 0
    while x < height and y < width:
        if score[x][y] >= ALIKE and best[x][y] == score[x][y] + best[x + 1][y + 1]:
            pairs.append((x, y))
            x, y = x + 1, y + 1
        elif best[x][y] == best[x + 1][y]:
            x += 1
        else:
            y += 1
    return pairs


def _likeness(left: set[str], right: set[str]) -> float:
    return len(left & right) / max(len(left | right), 1)


LINES, MOST_WORDS = 400, 400
"""Lines, and words of a line, that are compared."""
CONTEXT_WORDS = 24
"""Columns that are shown before the first difference of a long line."""
_MARKED_WORD = re.compile(r"\w+|\s+|[^\w\s]")
Marks = tuple[tuple[int, int], ...]


@frozen
class ChangedLine:
    """A line of the left text and the one in its place on the right; None where there is none."""

    left: str | None
    right: str | None
    left_marks: Marks = ()
    """Columns of the words that differ."""
    right_marks: Marks = ()


def changed_lines(left: str, right: str, limit: int = 3) -> tuple[list[ChangedLine], int]:
    """Return the first `limit` lines that differ, and the number of further ones."""
    a, b = left.split("\n")[:LINES], right.split("\n")[:LINES]
    lines: list[tuple[str | None, str | None]] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        rows = max(i_end - i, j_end - j)
        lines += [(a[i + n] if i + n < i_end else None, b[j + n] if j + n < j_end else None) for n in range(rows)]
    shown = [_marked(*pair) for pair in lines[:limit]]
    return shown, max(len(lines) - limit, 0)


def _marked(left: str | None, right: str | None) -> ChangedLine:
    if left is None or right is None:
        return ChangedLine(left, right)
    a, b = _MARKED_WORD.findall(left), _MARKED_WORD.findall(right)
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    ours, theirs = a[start : len(a) - end][:MOST_WORDS], b[start : len(b) - end][:MOST_WORDS]
    before = sum(map(len, a[:start]))
    left_marks: list[tuple[int, int]] = []
    right_marks: list[tuple[int, int]] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            _mark(left_marks, before, ours, i, i_end)
            _mark(right_marks, before, theirs, j, j_end)
    return ChangedLine(left, right, tuple(left_marks), tuple(right_marks))


def _mark(marks: list[tuple[int, int]], before: int, words: list[str], first: int, end: int) -> None:
    if end > first:
        start = before + sum(map(len, words[:first]))
        marks.append((start, start + sum(map(len, words[first:end]))))


def around(text: str, marks: Marks, width: int) -> tuple[str, Marks]:
    """Return the part of a line around its first marks, at most `width` columns, and the marks in it."""
    if len(text) <= width:
        return text, marks
    first = marks[0][0] if marks else 0
    start = max(min(first - CONTEXT_WORDS, len(text) - width), 0)
    part = text[start : start + width]
    if start:
        part = "…" + part[1:]
    if start + width < len(text):
        part = part[:-1] + "…"
    moved = tuple((max(a - start, 0), min(b - start, width)) for a, b in marks if b > start and a < start + width)
    return part, moved
