"""More ranks than are read: what saved indexes tell of all of them, and of which the logs are read too.

Ranks of which an index says that they did the same are a *class*; the log of one of them is read for all. The others are read when
they are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

from tltui.sources.found import FoundLog, Saved

READ = 30_000
"""Compiles up to which all logs are read, and above which no log is read that has not been asked for."""


class Crowd:
    """The processes that saved indexes tell of."""

    def __init__(self, saved: Iterable[Saved]) -> None:
        self.saved: tuple[Saved, ...] = tuple(sorted(saved, key=_age))
        """The older ones of a rank first."""

    @cached_property
    def newest(self) -> dict[int, Saved]:
        """Rank → its newest process of the newest launch, in the order of the ranks."""
        numbered = [process for process in self.saved if process.rank is not None]
        last = max((_launch(process) for process in numbered), default=-1)
        found = {process.rank: process for process in numbered if _launch(process) in (-1, last) and process.rank is not None}
        return dict(sorted(found.items()))

    @cached_property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """The ranks that did the same, together; those of the most ranks first."""
        found: dict[bytes, list[int]] = {}
        for rank, process in self.newest.items():
            found.setdefault(process.course, []).append(rank)
        return tuple(map(tuple, sorted(found.values(), key=lambda ranks: (-len(ranks), ranks[0]))))

    @cached_property
    def _class_of(self) -> dict[int, tuple[int, ...]]:
        return {rank: ranks for ranks in self.classes for rank in ranks}

    def like(self, rank: int) -> tuple[int, ...]:
        """The ranks that did the same as this one, with it; () for one of which nothing is known."""
        return self._class_of.get(rank, ())

    def logs_of(self, ranks: Collection[int]) -> list[FoundLog]:
        """The logs of these ranks, of all of their processes."""
        return _once(process.found for process in self.saved if process.rank in ranks)

    def to_read(self, ranks: Collection[int] = (), most: int = READ) -> list[FoundLog]:
        """The logs that are read at once: all of them, or one of each class, those of `ranks` in any case.

        Of too many classes those of the most ranks, and of these the first ones.
        """
        if sum(process.compiles for process in self.saved) <= most:
            return _once(process.found for process in self.saved)
        wanted, left = set(ranks), most
        for own in self.classes:
            left -= self.newest[own[0]].compiles
            if left < 0 and wanted:
                break
            wanted.add(own[0])
        unnumbered = [process for process in self.saved if process.rank is None]
        numbered = [self.newest[rank] for rank in sorted(wanted) if rank in self.newest]
        return _once(process.found for process in (*numbered, *(unnumbered if left > 0 else ())))

    def is_partial(self, logs: Collection[FoundLog]) -> bool:
        """Whether some are not among these logs."""
        return len(self.saved) > len(logs) and any(process.found not in logs for process in self.saved)


def _age(process: Saved) -> tuple[int, float, int]:
    return _launch(process), process.started, process.pid


def _launch(process: Saved) -> int:
    number = process.launch.rpartition("_")[2]
    return int(number) if number.isdigit() else -1


def _once(logs: Iterable[FoundLog]) -> list[FoundLog]:
    return list(dict.fromkeys(logs))
