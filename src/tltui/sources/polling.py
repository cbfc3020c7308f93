"""Rate-limited polling of thousands of files for growth and for new logs."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable
from heapq import nsmallest
from typing import Generic, TypeVar

from tltui.inputs.archives import STANDARD_INPUT
from tltui.sources.discover import Discovery, FoundLog
from tltui.sources.discovery_results import FoundDump, FoundProfile, Opened
from tltui.sources.log_files import MAX_DEPTH, MAX_FILES, is_named_like_a_log
from tltui.text.frozen import mutable
from tltui.trace.files import Identity, identity_of

K = TypeVar("K", bound=Hashable)

SOON = 0.5
"""Seconds between two looks at what changes."""
LIVELY = 10.0
"""Seconds without a change after which something is quiet."""
SLOWER = 6
"""Of the seconds for which something has been quiet, the part after which it is looked at again."""
SELDOM = 10.0
"""Seconds between two looks at what has been quiet for long."""
FOR_QUIET = 0.25
"""The part of all looks that is kept for what is quiet, however much is lively."""


@mutable
class _Turn:
    due: float
    changed: float
    """When it was last seen to have changed."""


class Schedule(Generic[K]):
    """When each of some things is to be looked at again. All times are seconds of one clock that never goes back."""

    def __init__(self) -> None:
        self._schedule: dict[K, _Turn] = {}

    def add(self, key: K, now: float, quiet: float = 0.0) -> None:
        """Something more to look at, from now on. `quiet`: for how many seconds it has not changed."""
        self._schedule[key] = _Turn(now, now - quiet)

    def drop(self, key: K) -> None:
        """Nobody needs to look at it any more."""
        self._schedule.pop(key, None)

    def __contains__(self, key: K) -> bool:
        return key in self._schedule

    def quiet(self, key: K, now: float) -> float:
        """For how many seconds something has not changed."""
        return now - self._schedule[key].changed

    def due_keys(self, now: float, most: int) -> list[K]:
        """Return at most `most` keys to poll now: the most active first, among them those that have waited for longest."""
        due = [(turn.due, key) for key, turn in self._schedule.items() if turn.due <= now]
        if len(due) <= most:
            return [key for _, key in due]
        lively = [item for item in due if now - self._schedule[item[1]].changed < LIVELY]
        quiet = [item for item in due if now - self._schedule[item[1]].changed >= LIVELY]
        for_quiet = min(len(quiet), max(int(most * FOR_QUIET), most - len(lively), 1))
        chosen = nsmallest(most - for_quiet, lively, key=_due) + nsmallest(for_quiet, quiet, key=_due)
        return [key for _, key in chosen]

    def polled(self, key: K, now: float, changed: bool) -> None:
        """Record a poll of the key and whether the file had changed."""
        turn = self._schedule.get(key)
        if turn is None:
            return
        if changed:
            turn.changed = now
        turn.due = now + min(max((now - turn.changed) / SLOWER, SOON), SELDOM) - SOON / 10


def _due(item: tuple[float, object]) -> float:
    return item[0]


COARSE = 2_000_000_000
"""Nanoseconds: a directory that changed so short a time before it was listed may change again without another time of change."""


@mutable
class _Directory:
    depth: int
    listed: int = -1
    """Its time of change when it was listed, in ns; -1 when it has to be listed again."""


class Watching:
    """Looks for logs that were not there when `discovery` last looked. `look` is to be called now and then."""

    def __init__(self, discovery: Discovery, now: float) -> None:
        self._discovery = discovery
        self._directories: dict[str, _Directory] = {}
        self._schedule: Schedule[str] = Schedule()
        self._settled: set[str] = set()
        """Files that are known: logs, and what will never be one."""
        self.profiles: list[FoundProfile] = []
        """Profiles that are new, and that nobody writes any more as far as their time of change tells."""
        self.dumps: list[FoundDump] = []
        """The same of dumps of the flight recorder."""
        self.has_index = False
        """Whether a saved index is new: what it tells of is only known by looking at everything again."""
        for path in discovery.paths:
            if path == STANDARD_INPUT:
                self._schedule.add(path, now)
            else:
                self._add_directory(os.path.expanduser(path), 0, now)

    def _add_directory(self, path: str, depth: int, now: float) -> None:
        if path not in self._directories and len(self._directories) < MAX_FILES:
            self._directories[path] = _Directory(depth)
            self._schedule.add(path, now)

    def poll(self, now: float, most: int) -> list[FoundLog]:
        """Return new logs, with at most about `most` calls of the file system that may query a server."""
        entries: list[Opened] = []
        queue = self._schedule.due_keys(now, most)
        for path in queue:  # what a directory is found to have comes behind it
            if path in self._directories:
                changed = self._list(path, now)
            elif path == STANDARD_INPUT:
                has_ended, changed = self._discovery.has_ended(), True  # asked first: what came then is all
                come = self._discovery.come()
                entries += come
                if has_ended or come:
                    self._schedule.drop(path)
                    continue
            else:
                file = self._detect(path)
                changed = isinstance(file, FoundLog)
                entries.append(file)
            self._schedule.polled(path, now, changed)
            if path == queue[-1]:
                queue += self._schedule.due_keys(now, most - len(queue))
        return self._discovery.with_outputs(entries)

    def renamed(self, path: str) -> None:
        """Record that another file has this name now: it may be a new log."""
        self._settled.discard(path)
        self._discovery.forget(path)
        if os.path.dirname(path) in self._directories:
            self._directories[os.path.dirname(path)].listed = -1

    def _list(self, path: str, now: float) -> bool:
        """List a directory again if it has changed; whether it has."""
        directory = self._directories[path]
        try:
            status = os.stat(path)
            if status.st_mtime_ns == directory.listed:
                return False
            with os.scandir(path) as entries:
                listing = list(entries)
        except NotADirectoryError:
            self._schedule.drop(path)  # a file that was named, and has been found
            return False
        except OSError:
            return False  # not there, or not now
        directory.listed = status.st_mtime_ns if time.time_ns() - status.st_mtime_ns > COARSE else -1
        news = False
        for entry in listing:
            if entry.is_dir(follow_symlinks=False):
                if directory.depth < MAX_DEPTH:
                    self._add_directory(entry.path, directory.depth + 1, now)
            elif entry.path not in self._settled and entry.path not in self._schedule and self._has_room(entry.name):
                news = True
                if self._discovery.is_settled(entry.path):
                    self._settled.add(entry.path)
                else:
                    self._schedule.add(entry.path, now)
        return news

    def _has_room(self, name: str) -> bool:
        """Whether one more file is looked at; where there are many, as long as it has the name of a log."""
        most = 2 * MAX_FILES if is_named_like_a_log(name) else MAX_FILES
        return len(self._settled) < most

    def _detect(self, path: str) -> Opened:
        """Look at a file that may be a log."""
        entry = self._discovery.look_at(path)
        self.has_index |= self._discovery.is_new_index(path, entry)
        if isinstance(entry, FoundProfile) and self._discovery.is_settled(path):
            self.profiles.append(entry)
        if isinstance(entry, FoundDump) and self._discovery.is_settled(path):
            self.dumps.append(entry)
        if self._discovery.is_settled(path):
            self._settled.add(path)
            self._schedule.drop(path)
        return entry


def name_of(path: str, identity: Identity) -> str | None:
    """Return the current name of a file in its former directory, with one listing and no stat of each file."""
    directory = os.path.dirname(path) or "."
    try:
        with os.scandir(directory) as entries:
            same = [entry.path for entry in entries if entry.inode() == identity[1] and entry.path != path]
        return next((name for name in same if identity_of(os.stat(name)) == identity), None)
    except OSError:
        return None
