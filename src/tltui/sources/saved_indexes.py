"""Logs listed in saved indexes (.tlx), and the ranks of them that are not read."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from tltui.inputs.forms import TRACE
from tltui.inputs.index.format import MAGIC, BadIndex
from tltui.inputs.index.indexed_log import opened
from tltui.inputs.index.reader import IndexFile, SavedLog, SavedProcess
from tltui.sources.discovery_results import FoundLog, Saved
from tltui.trace.files import FileBytes

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


INDEX = "a saved index"
"""Of what is looked into."""
PLACE = 4096
"""Bytes of the beginning of a log, and of the place up to which it was read, that must be as they were."""
SAID = 5
"""Logs that a remark names."""


def is_index(head: bytes) -> bool:
    """Whether a file that begins so is a saved index, of whichever version."""
    return head.startswith(MAGIC)


def digest(data: bytes) -> str:
    """As `SavedLog.head` and `SavedLog.tail`."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def ends_of(source: FileBytes, reached: int) -> tuple[str, str]:
    """The digests of the beginning of a log and of the bytes before `reached`. Raises OSError."""
    size = min(PLACE, reached)
    return digest(source.read(0, size)), digest(source.read(reached - size, size))


class Indexes:
    """The indexes that were found, in the order in which they were."""

    def __init__(self) -> None:
        self._files: list[IndexFile] = []
        self._changed: dict[str, tuple[int, int, int]] = {}
        self.notes: list[str] = []
        self.saved: list[Saved] = []
        """The processes of the logs that an index tells of."""

    @property
    def are_there(self) -> bool:
        """Whether there is one."""
        return bool(self._files)

    def knows(self, path: str) -> bool:
        """Whether it is one of them."""
        return any(index.path == path for index in self._files)

    def begin(self) -> None:
        """Forget which there were: everything is looked at again."""
        self._files.clear()
        self.notes.clear()

    def add(self, path: str, status: tuple[int, int, int]) -> str:
        """One more; why it cannot be used, '' where it can. `status` tells one that has changed."""
        try:
            index = opened(path, anew=self._changed.get(path) != status)
        except BadIndex as bad:
            return str(bad.strerror)
        except OSError as error:
            return error.strerror or str(error)
        self._changed[path] = status
        self._files.append(index)
        return ""

    def merged(self, logs: Sequence[FoundLog]) -> list[FoundLog]:
        """The logs that were found and those that only an index tells of. One that an index knows need not be read again up to the
        place that the index knows."""
        self.saved.clear()
        if not self._files:
            return list(logs)
        known = self._newest()
        found = self._matched(logs, known)
        names = {log.name for log in found}
        for index, own in known.values():
            name = own.path if own.path not in names else f"{own.host}:{own.path}"
            names.add(name)
            found.append(_only_indexed(index, own, name))
        files = {index.path: index for index in self._files}
        self.saved += [_saved(log, own) for log in found if log.index for own in files[log.index].logs[log.number].processes]
        return found

    def _newest(self) -> dict[tuple[str, str], tuple[IndexFile, SavedLog]]:
        """Host and path → the log, of several indexes that have it as the one says that has read the most of it. What two hosts
        have read under one path, and what begins alike, is one file."""
        known: dict[tuple[str, str], tuple[IndexFile, SavedLog]] = {}
        files: dict[tuple[str, str, int], tuple[str, str]] = {}
        for index in self._files:
            for own in index.logs:
                file = (own.path, own.head, min(PLACE, own.reached))
                key = files.setdefault(file, (own.host, own.path)) if own.reached else (own.host, own.path)
                if key not in known or known[key][1].reached < own.reached:
                    known[key] = index, own
        return known

    def chosen(self, logs: Sequence[FoundLog], ranks: Collection[int] = ()) -> tuple[list[FoundLog], Crowd | None]:
        """Those of these logs that are to be read, those of `ranks` among them, and all the processes that indexes tell of; None
        where there is no index."""
        there = set(logs)
        crowd = Crowd(own for own in self.saved if own.found in there and own.kept is not None and not own.kept.is_forked)
        if not crowd.saved:
            return list(logs), None
        told, wanted = {process.found for process in crowd.saved}, set(crowd.to_read(ranks))
        return [log for log in logs if log in wanted or log not in told], crowd

    def _matched(self, logs: Iterable[FoundLog], known: dict[tuple[str, str], tuple[IndexFile, SavedLog]]) -> list[FoundLog]:
        """The logs that were found, each with what an index knows of it; that is taken out of `known`."""
        by_head: dict[tuple[int, str], list[tuple[str, str]]] = {}
        for key, (_, own) in known.items():
            by_head.setdefault((min(PLACE, own.reached), own.head), []).append(key)
        sizes = {size for size, _ in by_head if size}
        found: list[FoundLog] = []
        changed: list[str] = []
        places = {own.path: key for key, (_, own) in known.items()}
        for log in logs:
            same = _same(log, sizes, by_head, known) if log.form == TRACE and not log.label else None
            if same is not None:
                index, own = known.pop(same)
                log = replace(log, index=index.path, number=own.number)
            elif log.path in places and (before := known.pop(places[log.path], None)) is not None and before[1].reached:
                changed.append(log.path)
            found.append(log)
        if changed:
            more = f" and {len(changed) - SAID} more" if len(changed) > SAID else ""
            self.notes.append(f"other bytes than the index knows, read anew: {', '.join(changed[:SAID])}{more}")
        return found


def _same(
    log: FoundLog, sizes: set[int], by_head: dict[tuple[int, str], list[tuple[str, str]]],
    known: dict[tuple[str, str], tuple[IndexFile, SavedLog]],
) -> tuple[str, str] | None:  # fmt: skip
    """The log of an index that a file is; of several equal ones that of the same name."""
    source = FileBytes(log.path)
    same = []
    try:
        for size in sizes:
            if size <= log.size:
                for key in by_head.get((size, digest(source.read(0, size))), ()):
                    own = known[key][1] if key in known else None
                    if own is not None and own.size <= log.size and ends_of(source, own.reached) == (own.head, own.tail):
                        same.append(key)
    except OSError:
        return None  # whoever reads it will say so
    return min(same, key=lambda key: (key[1] != log.path, key), default=None)


def _only_indexed(index: IndexFile, own: SavedLog, name: str) -> FoundLog:
    return FoundLog(
        index.path, own.size, own.rank, own.launch, own.started, own.changed / 1e9, own.clock, TRACE, name, own.ended, own.fault,
        index.path, own.number,
    )  # fmt: skip


def _saved(log: FoundLog, own: SavedProcess) -> Saved:
    return Saved(log, own.rank, own.pid, own.host, own.launch, own.started, own.compiles, own.course, own)
