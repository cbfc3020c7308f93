"""Corresponding lines: of provenance and comparisons, and of a page before and after it was made again."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise

from tltui.text.document import Document, Line, Section, TextDocument
from tltui.text.frozen import frozen

Range = tuple[int, int]
"""First and last line, both inclusive."""


@frozen
class Group:
    """A group of `LineGroups`: its ranges in each pane."""

    ranges: tuple[tuple[Range, ...], ...]


@frozen
class _Pane:
    """The lines of a pane that are in a group, cut where the groups change: disjoint segments in order."""

    firsts: array[int]
    lasts: array[int]
    offsets: array[int]
    """Segment n is in the groups `members[offsets[n] : offsets[n + 1]]`."""
    members: array[int]

    def at(self, line: int) -> int:
        """Return the segment of a line, -1 for none."""
        n = bisect_right(self.firsts, line) - 1
        return n if n >= 0 and line <= self.lasts[n] else -1


@frozen
class LineGroups:
    """Which lines of several panes correspond, in flat arrays: a look-up is a bisection."""

    panes: int
    """How many texts there are."""
    _count: int
    _offsets: array[int]
    """The ranges of group g in pane p are number `_offsets[g * panes + p]` to `_offsets[g * panes + p + 1]`."""
    _firsts: array[int]
    _lasts: array[int]
    _lines: tuple[_Pane, ...]

    def __len__(self) -> int:
        """How many groups there are."""
        return self._count

    @classmethod
    def of(cls, panes: int, groups: Iterable[Group]) -> LineGroups:
        """Build it. Ranges of one group and pane are put in order and joined; empty or negative ones are dropped."""
        offsets, firsts, lasts = array("l", [0]), array("l"), array("l")
        where: list[dict[Range, list[int]]] = [{} for _ in range(panes)]
        count = 0
        for number, group in enumerate(groups):
            count += 1
            for pane in range(panes):
                for lines in joined(group.ranges[pane] if pane < len(group.ranges) else ()):
                    firsts.append(lines[0])
                    lasts.append(lines[1])
                    where[pane].setdefault(lines, []).append(number)
                offsets.append(len(firsts))
        return cls(panes, count, offsets, firsts, lasts, tuple(map(_pane, where)))

    def groups(self, pane: int, line: int) -> Sequence[int]:
        """Return the groups of a line, ascending."""
        pane_lines = self._lines[pane]
        n = pane_lines.at(line)
        return pane_lines.members[pane_lines.offsets[n] : pane_lines.offsets[n + 1]] if n >= 0 else ()

    def ranges(self, group: int, pane: int) -> Sequence[Range]:
        """Return the lines of a group in a pane as ranges."""
        place = group * self.panes + pane
        return [(self._firsts[n], self._lasts[n]) for n in range(self._offsets[place], self._offsets[place + 1])]

    def lines(self, group: int, pane: int) -> Sequence[int]:
        """Return the lines of a group in a pane, ascending."""
        return [line for first, last in self.ranges(group, pane) for line in range(first, last + 1)]

    def matches(self, pane: int, line: int, other: int) -> Sequence[Range]:
        """Return the ranges of pane `other` (may be the same) that correspond to a line, in order, without overlaps."""
        ranges: set[Range] = set()
        for group in self.groups(pane, line):
            ranges.update(self.ranges(group, other))
        return joined(ranges)

    def next_line(self, pane: int, line: int, back: bool = False) -> int | None:
        """Return the first line of the next range with the same groups (`back`: of the previous range)."""
        pane_lines = self._lines[pane]
        n = bisect_right(pane_lines.firsts, line)
        if back:
            n -= 1 if n > 0 and pane_lines.firsts[n - 1] < line else 2
        return pane_lines.firsts[n] if 0 <= n < len(pane_lines.firsts) else None


def joined(ranges: Iterable[Range]) -> list[Range]:
    """Ranges in order; those that touch or overlap become one."""
    merged: list[Range] = []
    for first, last in sorted(ranges):
        if last < first or first < 0:
            continue
        if merged and first <= merged[-1][1] + 1:
            if last > merged[-1][1]:
                merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged


def of_lines(lines: Iterable[int]) -> tuple[Range, ...]:
    """Return the ranges of single lines."""
    return tuple(joined((line, line) for line in lines))


def _pane(where: dict[Range, list[int]]) -> _Pane:
    """Cut ranges, which may overlap, into disjoint segments with the groups of each."""
    firsts, lasts, offsets, members = array("l"), array("l"), array("l", [0]), array("l")
    active: list[tuple[Range, list[int]]] = []
    order = sorted(where)
    cuts = sorted({first for first, _ in order} | {last + 1 for _, last in order})
    n = 0
    for cut, stop in pairwise(cuts):
        active = [item for item in active if item[0][1] >= cut]
        while n < len(order) and order[n][0] == cut:
            active.append((order[n], where[order[n]]))
            n += 1
        if not active:
            continue
        inside = active[0][1] if len(active) == 1 else sorted({group for _, groups in active for group in groups})
        firsts.append(cut)
        lasts.append(stop - 1)
        members.extend(inside)
        offsets.append(len(members))
    return _Pane(firsts, lasts, offsets, members)


def letters(number: int) -> str:
    """Return the letters of a number, from 0: a … z, aa, ab …"""
    text = ""
    number += 1
    while number > 0:
        number, digit = divmod(number - 1, 26)
        text = chr(ord("a") + digit) + text
    return text


_REMARK = re.compile(r"\([^()]*\d[^()]*\)")
_NUMBER = re.compile(r"\d[\d,.]*")
_PLURAL = re.compile(r"(?<=[a-z])s\b")
_SPACE = re.compile(r"  +")
_TELLING = 8
"""Characters by whose beginning a line is known in its section; and that it has when it is known again in another one."""

Key = Callable[[int, Line], Hashable]
"""What a line is known by: the number of its section's title, and the line. None: it can't be known by that."""


def blanked(text: str) -> str:
    """Return a text without its volatile parts: numbers, remarks with numbers, plurals, alignment blanks.

    >>> blanked("Graph breaks (2 at 1 place)") == blanked("Graph break (1)")
    True
    """
    return _SPACE.sub(" ", _PLURAL.sub("", _NUMBER.sub("0", _REMARK.sub("(0)", text)))).strip()


def _targets(line: Line) -> tuple[str, ...]:
    return tuple(link.target for link in line.links)


_KEYS: tuple[Key, ...] = (
    lambda place, line: (place, line.text, *_targets(line)) if line.links else (place, line.text),
    lambda place, line: (place, blanked(line.text), _targets(line)) if line.text else None,
    lambda place, line: (place, _targets(line)) if line.links else None,
    lambda place, line: (place, blanked(line.text)[:_TELLING]) if line.text else None,
    lambda place, line: (line.text, *_targets(line)) if len(line.text.strip()) >= _TELLING else None,
)


class Renewed:
    """The lines of `old` in `new`, the same page made again. Documents that are not in memory are asked for their anchors."""

    def __init__(self, old: Document, new: Document) -> None:
        self._old, self._new = old, new
        self._forward: array[int] | None = None
        self._remaining: array[int] = array("q")
        """Lines of the old page that are in the new one, ascending."""
        self._back: array[int] = array("q")
        if isinstance(old, TextDocument) and isinstance(new, TextDocument):
            matching = _Matching(old, new)
            self._forward, self._back = matching.forward, matching.back
            self._remaining = array("q", (n for n, place in enumerate(matching.forward) if place >= 0))

    def counterpart(self, line: int) -> int | None:
        """Where a line is now; None when it went away."""
        if self._forward is None:
            return self._new.where(self._old.anchor(line)) if 0 <= line < len(self._old) else None
        place = self._forward[line] if 0 <= line < len(self._forward) else -1
        return None if place < 0 else place

    def was(self, line: int) -> int | None:
        """Which line of the old page a line of the new one was; None for a new one."""
        if self._forward is None:
            return self._old.where(self._new.anchor(line))
        place = self._back[line]
        return None if place < 0 else place

    def line(self, line: int) -> int:
        """Return the new line of an old line, or of its replacement."""
        end = max(len(self._new) - 1, 0)
        match = self.counterpart(line)
        if match is not None or self._forward is None:
            return min(line if match is None else match, end)
        at = bisect_left(self._remaining, line)
        above = self._remaining[at - 1] if at else -1
        under = self._remaining[at] if at < len(self._remaining) else max(len(self._forward), line + 1)
        first = self._forward[above] + 1 if at else 0
        last = self._forward[under] - 1 if at < len(self._remaining) else end
        if first > last:
            place = min(first, end)
        elif line - above <= under - line:
            place = min(first + line - above - 1, last)
        else:
            place = max(last - (under - line - 1), first)
        while place < end and not self._new.line(place).text:  # a heading says more than the empty line before it
            place += 1
        return place

    def folded(self, before: Sequence[Section], closed: set[int], sections: Sequence[Section]) -> set[int]:
        """Return the heads of closed sections: those closed before, and new sections that start closed."""
        old_heads = {section.first for section in before}
        titles = _by_title(before)
        heads = set()
        for title, section in _titled(sections):
            was = self.was(section.first)
            if was not in old_heads:
                was = titles.get(title)
            if was in closed if was is not None else section.folded:
                heads.add(section.first)
        return heads


def _titled(sections: Sequence[Section]) -> list[tuple[tuple[str, ...], Section]]:
    """Sections with their titles, and those of the ones around them."""
    titles, path = [], list[tuple[int, str]]()
    for section in sections:
        while path and path[-1][0] < section.first:
            path.pop()
        path.append((section.last, blanked(section.title)))
        titles.append((tuple(title for _, title in path), section))
    return titles


def _by_title(sections: Sequence[Section]) -> dict[tuple[str, ...], int]:
    """Map each unique section title to the first line of its section."""
    titles: dict[tuple[str, ...], int] = {}
    twice = set()
    for title, section in _titled(sections):
        if title in titles:
            twice.add(title)
        titles[title] = section.first
    return {title: first for title, first in titles.items() if title not in twice}


class _Matching:
    """A mapping from old lines to new lines; -1 for none."""

    def __init__(self, old: TextDocument, new: TextDocument) -> None:
        self._left, self._right = old.lines, new.lines
        self.forward: array[int] = array("q", [-1]) * len(old.lines)
        self.back: array[int] = array("q", [-1]) * len(new.lines)
        if self._ends() and old.lines:
            self._pair_titled(old, new)
            self._pair_head(0)
            numbers: dict[tuple[str, ...], int] = {}
            self._places = _places(old, numbers), _places(new, numbers)
            for key in _KEYS:
                self._round(key)
            if self.forward[0] == 0:
                self._pair_head(1)  # the counts below a title

    def _pair_head(self, head: int) -> None:
        """Pair the lines of this number if they are one line with other contents."""
        is_open = head < min(len(self._left), len(self._right)) and self.forward[head] < 0 and self.back[head] < 0
        if is_open and self._are_alike(head):
            self._pair(head, head)

    def _pair(self, left: int, right: int) -> None:
        self.forward[left], self.back[right] = right, left

    def _ends(self) -> bool:
        """Pair the equal lines at the beginning and at the end; return False if no line remains."""
        left, right = self._left, self._right
        shorter = min(len(left), len(right))
        first = next((n for n in range(shorter) if left[n] != right[n]), shorter)
        last = next((n for n in range(shorter - first) if left[-1 - n] != right[-1 - n]), shorter - first)
        for n in range(first):
            self._pair(n, n)
        for n in range(last):
            self._pair(len(left) - 1 - n, len(right) - 1 - n)
        self._open = range(first, len(left) - last), range(first, len(right) - last)
        return bool(self._open[0]) and bool(self._open[1])

    def _pair_titled(self, old: TextDocument, new: TextDocument) -> None:
        for name, line in old.anchors.items():
            place = new.anchors.get(name)
            if place is not None and self.forward[line] < 0 and self.back[place] < 0:
                self._pair(line, place)

    def _are_alike(self, head: int) -> bool:
        """Whether the lines at the head are one line with other contents: neither is elsewhere in the other page."""
        return not any(
            other.text == line.text or (line.links and _targets(other) == _targets(line))
            for line, lines in ((self._left[head], self._right), (self._right[head], self._left))
            for other in lines
        )

    def _round(self, key: Key) -> None:
        """Pair lines that are the only ones of their kind on both sides, and those beside pairs that are alike."""
        lefts = {n: key(self._places[0][n], self._left[n]) for n in self._open[0] if self.forward[n] < 0}
        if not lefts:
            return
        rights = {n: key(self._places[1][n], self._right[n]) for n in self._open[1] if self.back[n] < 0}
        once = _once(rights)
        for name, line in _once(lefts).items():
            place = once.get(name, -1)
            if place >= 0 <= line:
                self._pair(line, place)
        for order, step in ((self._open[0], 1), (reversed(self._open[0]), -1)):
            for line in order:
                if self.forward[line] >= 0 or lefts[line] is None:
                    continue
                place = self._neighbour(line, step)
                if place in rights and self.back[place] < 0 and rights[place] == lefts[line]:
                    self._pair(line, place)

    def _neighbour(self, line: int, step: int) -> int:
        """Return the new line next to the match of the neighbouring line (`step` 1: the previous line, -1: the next)."""
        near = line - step
        if 0 <= near < len(self.forward):
            return self.forward[near] + step if self.forward[near] >= 0 else -1
        return 0 if step > 0 else len(self.back) - 1


def _once(keys: dict[int, Hashable]) -> dict[Hashable, int]:
    """Key → the line that has it; -1 where several do."""
    counts: dict[Hashable, int] = {}
    for line, key in keys.items():
        if key is not None:
            counts[key] = -1 if key in counts else line
    return counts


def _places(document: TextDocument, numbers: dict[tuple[str, ...], int]) -> array[int]:
    """For each line a number of the titles of the sections around it: the same in both pages."""
    places = array("q", [-1]) * len(document.lines)
    for title, section in _titled(document.section_list):
        number = numbers.setdefault(title, len(numbers))
        places[section.first : section.last + 1] = array("q", [number]) * (section.last + 1 - section.first)
    return places
