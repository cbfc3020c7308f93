"""Which lines of several texts belong together: provenance, and the two sides of a comparison.

A *group* is one thing that stands in several texts (*panes*): an operation, a kernel, a run of equal lines. In each pane
it covers ranges of lines, none where it does not occur. A line may be in several groups (a fused kernel is in one for
each operation that went into it), so what corresponds to a line are the lines of all its groups.

Lines and panes count from 0, ranges include both ends.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

Range = tuple[int, int]
"""First and last line, both inclusive."""
NO_BAND = -1


class Correspondence(Protocol):
    """Which lines of several panes belong together."""

    @property
    def panes(self) -> int:
        """How many texts there are."""

    def __len__(self) -> int:
        """How many groups there are."""

    def groups(self, pane: int, line: int) -> Sequence[int]:
        """The groups that a line is in, in ascending order."""

    def lines(self, group: int, pane: int) -> Sequence[int]:
        """The lines of a group in a pane, in ascending order."""

    def ranges(self, group: int, pane: int) -> Sequence[Range]:
        """The same as ranges."""

    def matches(self, pane: int, line: int, other: int) -> Sequence[Range]:
        """What corresponds to a line in the pane `other` (may be the same), in order, without overlaps."""

    def bands(self, pane: int, first: int, last: int) -> Sequence[int]:
        """For painting: the band of each line `first` … `last`, that of its first group, -1 for a line in none."""

    def group_of_lines(self, pane: int, first: int, last: int) -> Sequence[int]:
        """The first group of each line `first` … `last`, -1 for a line in none."""

    def next_line(self, pane: int, line: int, back: bool = False) -> int | None:
        """The next range of lines that are in the same groups (`back`: the one before): its first line."""


@dataclass(frozen=True, slots=True)
class Group:
    """What `LineGroups` is made of: for each pane the ranges, and the band that it is painted in (-1: its own)."""

    ranges: tuple[tuple[Range, ...], ...]
    band: int = NO_BAND


@dataclass(frozen=True, slots=True)
class _Pane:
    """The lines of a pane that are in a group, cut where the groups change: disjoint segments in order."""

    firsts: array[int]
    lasts: array[int]
    offsets: array[int]
    """Segment n is in the groups `members[offsets[n] : offsets[n + 1]]`."""
    members: array[int]

    def at(self, line: int) -> int:
        """The segment of a line, -1 for none."""
        n = bisect_right(self.firsts, line) - 1
        return n if n >= 0 and line <= self.lasts[n] else -1


@dataclass(frozen=True, slots=True)
class LineGroups:
    """A `Correspondence` in flat arrays: a look-up is a bisection."""

    panes: int
    _bands: array[int]
    _offsets: array[int]
    """The ranges of group g in pane p are number `_offsets[g * panes + p]` to `_offsets[g * panes + p + 1]`."""
    _firsts: array[int]
    _lasts: array[int]
    _lines: tuple[_Pane, ...]

    def __len__(self) -> int:
        return len(self._bands)

    @classmethod
    def of(cls, panes: int, groups: Iterable[Group]) -> LineGroups:
        """Build it. Ranges of one group and pane are put in order and joined; empty or negative ones are dropped."""
        bands, offsets, firsts, lasts = array("l"), array("l", [0]), array("l"), array("l")
        where: list[dict[Range, list[int]]] = [{} for _ in range(panes)]
        for number, group in enumerate(groups):
            bands.append(group.band if group.band >= 0 else number)
            for pane in range(panes):
                for found in joined(group.ranges[pane] if pane < len(group.ranges) else ()):
                    firsts.append(found[0])
                    lasts.append(found[1])
                    where[pane].setdefault(found, []).append(number)
                offsets.append(len(firsts))
        return cls(panes, bands, offsets, firsts, lasts, tuple(map(_pane, where)))

    def groups(self, pane: int, line: int) -> Sequence[int]:
        own = self._lines[pane]
        n = own.at(line)
        return own.members[own.offsets[n] : own.offsets[n + 1]] if n >= 0 else ()

    def ranges(self, group: int, pane: int) -> Sequence[Range]:
        place = group * self.panes + pane
        return [(self._firsts[n], self._lasts[n]) for n in range(self._offsets[place], self._offsets[place + 1])]

    def lines(self, group: int, pane: int) -> Sequence[int]:
        return [line for first, last in self.ranges(group, pane) for line in range(first, last + 1)]

    def matches(self, pane: int, line: int, other: int) -> Sequence[Range]:
        found: set[Range] = set()
        for group in self.groups(pane, line):
            found.update(self.ranges(group, other))
        return joined(found)

    def band(self, group: int) -> int:
        """The band that a group is painted in."""
        return self._bands[group]

    def group_of_lines(self, pane: int, first: int, last: int) -> Sequence[int]:
        own = self._lines[pane]
        found = [-1] * max(last - first + 1, 0)
        n = max(bisect_right(own.firsts, first) - 1, 0)
        while n < len(own.firsts) and own.firsts[n] <= last:
            group = own.members[own.offsets[n]]
            for line in range(max(own.firsts[n], first), min(own.lasts[n], last) + 1):
                found[line - first] = group
            n += 1
        return found

    def bands(self, pane: int, first: int, last: int) -> Sequence[int]:
        return [NO_BAND if group < 0 else self._bands[group] for group in self.group_of_lines(pane, first, last)]

    def next_line(self, pane: int, line: int, back: bool = False) -> int | None:
        own = self._lines[pane]
        n = bisect_right(own.firsts, line)
        if back:
            n -= 1 if n > 0 and own.firsts[n - 1] < line else 2
        return own.firsts[n] if 0 <= n < len(own.firsts) else None


def joined(ranges: Iterable[Range]) -> list[Range]:
    """Ranges in order; those that touch or overlap become one."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if last < first or first < 0:
            continue
        if found and first <= found[-1][1] + 1:
            if last > found[-1][1]:
                found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found


def of_lines(lines: Iterable[int]) -> tuple[Range, ...]:
    """The ranges of single lines."""
    return tuple(joined((line, line) for line in lines))


def _pane(where: dict[Range, list[int]]) -> _Pane:
    """Cut ranges, which may overlap, into disjoint segments with the groups of each."""
    firsts, lasts, offsets, members = array("l"), array("l"), array("l", [0]), array("l")
    active: list[tuple[Range, list[int]]] = []
    order = sorted(where)
    cuts = sorted({first for first, _ in order} | {last + 1 for _, last in order})
    n = 0
    for cut, stop in pairwise(cuts):
        active = [own for own in active if own[0][1] >= cut]
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


def letters(band: int) -> str:
    """The gutter index of a band: a … z, aa, ab …"""
    text = ""
    band += 1
    while band > 0:
        band, digit = divmod(band - 1, 26)
        text = chr(ord("a") + digit) + text
    return text
