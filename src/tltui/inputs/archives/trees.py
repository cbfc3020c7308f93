"""Directories in an archive that are opened as a whole: their files need each other, and their names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tltui.inputs.debug_dir.names import CACHED, CODE, FILES, RUNNABLE, SDSC, SHARD, SPYRE_CACHE, UNIT, pid_of
from tltui.inputs.tlparse.report import RAW_LOG, Report, report_in

Parts = tuple[str, ...]
_SAFE = re.compile(r"(?!\.)[A-Za-z0-9_.+=@,~ ()\[\]-]{1,150}")
"""Names that a file of the cache may have where its form needs them: no separators, nothing hidden, nothing that leads anywhere."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A directory of an archive."""

    parts: Parts
    only: str = ""
    """The one file in it that is read, '' where it is not one alone."""
    within: tuple[Parts, ...] = ()
    """The directories below it that belong to it; none where all of it does."""

    def has(self, parts: Parts) -> bool:
        """Whether a member below it belongs to it."""
        return not self.within or any(parts[: len(own)] == own for own in self.within)


def trees_in(names: Iterable[Parts]) -> list[Tree]:
    """The directories that members with these names make up: reports of tlparse, and what torch leaves for debugging (the directory
    of a process, `run_…-pid_N`, and units, also where they lie alone or in Inductor's cache)."""
    listing: dict[Parts, set[str]] = defaultdict(set)
    found: dict[Parts, Tree] = {}
    units: dict[Parts, list[Parts]] = defaultdict(list)
    for parts in names:
        listing[parts[:-1]].add(parts[-1])
        run = next((place for place, part in enumerate(parts[:-1], 1) if pid_of(part)), 0)
        if run:
            found.setdefault(parts[:run], Tree(parts[:run]))
    for parts, inside in listing.items():
        report = report_in(inside)
        if report is not Report.NONE:
            found[parts] = Tree(parts, RAW_LOG if report is Report.WITH_LOG else "")
        elif _is_unit(parts[-1] if parts else "", inside):
            units[_above(parts)].append(parts)
    for parts, own in units.items():
        found.setdefault(parts, Tree(parts, within=tuple(own) if own != [parts] else ()))
    return [tree for parts, tree in found.items() if not any(parts[:length] in found for length in range(len(parts)))]


def _is_unit(name: str, inside: set[str]) -> bool:
    is_called = UNIT.fullmatch(name) is not None or CACHED.fullmatch(name) is not None
    return inside >= {CODE, RUNNABLE} or (is_called and bool(inside & FILES.keys())) or any(map(SDSC.fullmatch, inside))


def _above(unit: Parts) -> Parts:
    """The directory that is opened for a unit: those beside it are of the same process, or in the same cache."""
    if SPYRE_CACHE in unit:
        return unit[: max(unit.index(SPYRE_CACHE), 1)]
    if len(unit) > 2 and CACHED.fullmatch(unit[-1]) and SHARD.fullmatch(unit[-2]):
        return unit[:-2]
    return unit[:-1] if len(unit) > 1 and (UNIT.fullmatch(unit[-1]) or CACHED.fullmatch(unit[-1])) else unit


def tree_of(parts: Parts, trees: dict[Parts, Tree]) -> Tree | None:
    """The directory that a member belongs to."""
    tree = next((tree for length in range(len(parts)) if (tree := trees.get(parts[:length])) is not None), None)
    return tree if tree is not None and tree.has(parts) else None


def safe_parts(parts: Parts) -> Parts | None:
    """The names of a member below a directory as they may stand in the cache; None where one of them may not."""
    return parts if len(parts) <= 16 and all(_SAFE.fullmatch(part) for part in parts) else None
