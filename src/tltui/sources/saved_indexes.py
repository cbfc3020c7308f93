"""Logs listed in saved indexes (.tlx), and the ranks of them that are not read."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from tltui.inputs.forms import TRACE
from tltui.inputs.index.format import MAGIC, BadIndex
from tltui.inputs.index.indexed_log import IndexFile, SavedLog, SavedProcess, opened
from tltui.sources.discovery_results import FoundLog, Saved
from tltui.trace.files import FileBytes

READ = 30_000
"""Compiles up to which all logs are read, and above which no log is read that has not been asked for."""


class Crowd:
    """The processes listed in saved indexes."""

    def __init__(self, saved: Iterable[Saved]) -> None:
        self.saved: tuple[Saved, ...] = tuple(sorted(saved, key=_age))
        """The older ones of a rank first."""

    @cached_property
    def newest(self) -> dict[int, Saved]:
        """Rank → its newest process of the newest launch, in the order of the ranks."""
        numbered = [process for process in self.saved if process.rank is not None]
        last = max((_launch(process) for process in numbered), default=-1)
        newest = {process.rank: process for process in numbered if _launch(process) in (-1, last) and process.rank is not None}
        return dict(sorted(newest.items()))

    @cached_property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """The ranks that did the same, together; those of the most ranks first."""
        by_course: dict[bytes, list[int]] = {}
        for rank, process in self.newest.items():
            by_course.setdefault(process.course, []).append(rank)
        return tuple(map(tuple, sorted(by_course.values(), key=lambda ranks: (-len(ranks), ranks[0]))))

    @cached_property
    def _class_of(self) -> dict[int, tuple[int, ...]]:
        return {rank: ranks for ranks in self.classes for rank in ranks}

    def like(self, rank: int) -> tuple[int, ...]:
        """Return the ranks equivalent to this one, itself included; () for an unknown rank."""
        return self._class_of.get(rank, ())

    def logs_of(self, ranks: Collection[int]) -> list[FoundLog]:
        """Return the logs of all processes of these ranks."""
        return _once(process.log for process in self.saved if process.rank in ranks)

    def to_read(self, ranks: Collection[int] = (), most: int = READ) -> list[FoundLog]:
        """Return the logs to read at once: all of them, or one of each class and in any case those of `ranks`.

        Of too many classes those of the most ranks, and of these the first ones.
        """
        if sum(process.compiles for process in self.saved) <= most:
            return _once(process.log for process in self.saved)
        chosen, remaining = set(ranks), most
        for members in self.classes:
            remaining -= self.newest[members[0]].compiles
            if remaining < 0 and chosen:
                break
            chosen.add(members[0])
        unnumbered = [process for process in self.saved if process.rank is None]
        numbered = [self.newest[rank] for rank in sorted(chosen) if rank in self.newest]
        return _once(process.log for process in (*numbered, *(unnumbered if remaining > 0 else ())))

    def is_partial(self, logs: Collection[FoundLog]) -> bool:
        """Whether some are not among these logs."""
        return len(self.saved) > len(logs) and any(process.log not in logs for process in self.saved)


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
    """Return the digests of the beginning of a log and of the bytes before `reached`. Raises OSError."""
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

    def contains(self, path: str) -> bool:
        """Whether it is one of them."""
        return any(index.path == path for index in self._files)

    def begin(self) -> None:
        """Forget which there were: everything is looked at again."""
        self._files.clear()
        self.notes.clear()

    def add(self, path: str, status: tuple[int, int, int]) -> str:
        """Add an index; return the reason if it is unusable, else ''. `status` detects a changed file."""
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
        """Return the discovered logs and those that are only listed in an index.

        An indexed log is read from the end of its indexed part.
        """
        self.saved.clear()
        if not self._files:
            return list(logs)
        indexed = self._newest()
        matched = self._matched(logs, indexed)
        names = {log.name for log in matched}
        for index, saved in indexed.values():
            name = saved.path if saved.path not in names else f"{saved.host}:{saved.path}"
            names.add(name)
            matched.append(_only_indexed(index, saved, name))
        files = {index.path: index for index in self._files}
        self.saved += [_saved(log, saved) for log in matched if log.index for saved in files[log.index].logs[log.number].processes]
        return matched

    def _newest(self) -> dict[tuple[str, str], tuple[IndexFile, SavedLog]]:
        """Map host and path to the log; of several indexes the one that has read the most of it.

        Logs of two hosts under one path with the same beginning are one file.
        """
        newest: dict[tuple[str, str], tuple[IndexFile, SavedLog]] = {}
        files: dict[tuple[str, str, int], tuple[str, str]] = {}
        for index in self._files:
            for saved in index.logs:
                file = (saved.path, saved.head, min(PLACE, saved.reached))
                key = files.setdefault(file, (saved.host, saved.path)) if saved.reached else (saved.host, saved.path)
                if key not in newest or newest[key][1].reached < saved.reached:
                    newest[key] = index, saved
        return newest

    def chosen(self, logs: Sequence[FoundLog], ranks: Collection[int] = ()) -> tuple[list[FoundLog], Crowd | None]:
        """Return the logs to read, those of `ranks` included, and all indexed processes; None without an index."""
        present = set(logs)
        crowd = Crowd(saved for saved in self.saved if saved.log in present and saved.process and not saved.process.is_forked)
        if not crowd.saved:
            return list(logs), None
        indexed, chosen = {process.log for process in crowd.saved}, set(crowd.to_read(ranks))
        return [log for log in logs if log in chosen or log not in indexed], crowd

    def _matched(self, logs: Iterable[FoundLog], indexed: dict[tuple[str, str], tuple[IndexFile, SavedLog]]) -> list[FoundLog]:
        """Return the discovered logs with their index entries; matched entries are removed from `known`."""
        by_head: dict[tuple[int, str], list[tuple[str, str]]] = {}
        for key, (_, saved) in indexed.items():
            by_head.setdefault((min(PLACE, saved.reached), saved.head), []).append(key)
        sizes = {size for size, _ in by_head if size}
        matched: list[FoundLog] = []
        changed: list[str] = []
        places = {saved.path: key for key, (_, saved) in indexed.items()}
        for log in logs:
            same = _same(log, sizes, by_head, indexed) if log.form == TRACE and not log.label else None
            if same is not None:
                index, saved = indexed.pop(same)
                log = replace(log, index=index.path, number=saved.number)
            elif log.path in places and (before := indexed.pop(places[log.path], None)) is not None and before[1].reached:
                changed.append(log.path)
            matched.append(log)
        if changed:
            more = f" and {len(changed) - SAID} more" if len(changed) > SAID else ""
            self.notes.append(f"changed since the index was made, read again: {', '.join(changed[:SAID])}{more}")
        return matched


def _same(
    log: FoundLog, sizes: set[int], by_head: dict[tuple[int, str], list[tuple[str, str]]],
    indexed: dict[tuple[str, str], tuple[IndexFile, SavedLog]],
) -> tuple[str, str] | None:  # fmt: skip
    """Return the index entry of a file; of several equal ones that of the same name."""
    source = FileBytes(log.path)
    same = []
    try:
        for size in sizes:
            if size <= log.size:
                for key in by_head.get((size, digest(source.read(0, size))), ()):
                    saved = indexed[key][1] if key in indexed else None
                    if saved is not None and saved.size <= log.size and ends_of(source, saved.reached) == (saved.head, saved.tail):
                        same.append(key)
    except OSError:
        return None  # whoever reads it will say so
    return min(same, key=lambda key: (key[1] != log.path, key), default=None)


def _only_indexed(index: IndexFile, entry: SavedLog, name: str) -> FoundLog:
    return FoundLog(
        index.path, entry.size, entry.rank, entry.launch, entry.started, entry.changed / 1e9, entry.clock, TRACE, name, entry.ended,
        entry.fault, index.path, entry.number,
    )  # fmt: skip


def _saved(log: FoundLog, item: SavedProcess) -> Saved:
    return Saved(log, item.rank, item.pid, item.host, item.launch, item.started, item.compiles, item.course, item)
