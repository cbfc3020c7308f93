"""Profiles and flight recorder dumps of a run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from tltui.inputs.flight_recorder import Dump, NotADump, read_dump
from tltui.sources.discovery_results import FoundDump, FoundProfile
from tltui.text.frozen import frozen, mutable

if TYPE_CHECKING:
    from tltui.inputs.profile_reader import Profile, Reading

MOST = 4096
"""Dumps that are read."""


@frozen
class RefusedDump:
    """A dump that cannot be read."""

    path: str
    reason: str


class Dumps:
    """The dumps of a run. What was read is kept while the file is the same."""

    def __init__(self, files: Iterable[FoundDump] = ()) -> None:
        self._files = tuple(files)
        self._read: dict[FoundDump, Dump | RefusedDump] = {}

    def add(self, files: Iterable[FoundDump]) -> None:
        """Take over which dumps there are now."""
        self._files = tuple(files)
        self._read = {file: self._read[file] for file in self._files if file in self._read}

    def steps(self) -> Iterator[None]:
        """Read the unread dumps, with a pause after each piece."""
        for file in self._files[:MOST]:
            if file not in self._read:
                try:
                    self._read[file] = yield from read_dump(file.path, file.rank)
                except NotADump as fault:
                    self._read[file] = RefusedDump(file.name, str(fault))
                yield

    @property
    def refused(self) -> list[RefusedDump]:
        """The dumps that cannot be read, as far as that was tried."""
        return [dump for dump in self._read.values() if isinstance(dump, RefusedDump)]

    @property
    def dumps(self) -> list[Dump]:
        """The newest dump of each rank; of those that end with the same collective the one with stacks, which is the pickle."""
        best: dict[int, Dump] = {}
        for dump in self._read.values():
            if isinstance(dump, Dump) and (dump.rank not in best or _value(dump) > _value(best[dump.rank])):
                best[dump.rank] = dump
        return [best[rank] for rank in sorted(best)]


def _value(dump: Dump) -> tuple[float, bool]:
    return max((entry.created for entry in dump.entries), default=0.0), any(entry.frames for entry in dump.entries)


@mutable(eq=False)
class ProfileFile:
    """One file."""

    export: FoundProfile
    profile: Profile | None = None
    """None while it is not read, or could not be."""
    fault: str = ""
    """Why it could not be read."""

    @property
    def is_read(self) -> bool:
        """Whether nothing more will come of it."""
        return self.profile is not None or self.fault != ""


class Profiles:
    """The profiles of a run. Any thread may read; one at a time calls `steps`."""

    def __init__(self, exports: Iterable[FoundProfile] = ()) -> None:
        self.files = tuple(map(ProfileFile, exports))
        self.version = 0
        """Counts what came to be read."""
        self.lock = threading.Lock()
        """Held while what they say is put together."""
        self.cached: tuple[object, object] = (None, ())
        """What was made of them last, and of what: for `tltui.questions.runtime.profile_sums`."""
        self.cached_for: tuple[int, int] = (-1, -1)
        """For which versions of the run and of the profiles that was found to be true."""
        self._derived: dict[int, tuple[Profile, object]] = {}
        self.reading: Reading | None = None
        """Reads the profile that `steps` is at."""
        self.first: object = None
        """What a first part of it holds: for `tltui.questions.runtime.profile_sums`."""

    def __bool__(self) -> bool:
        return bool(self.files)

    @property
    def unread(self) -> list[ProfileFile]:
        """The files that were not read yet."""
        return [file for file in self.files if not file.is_read]

    @property
    def profiles(self) -> list[Profile]:
        """What was read."""
        return [file.profile for file in self.files if file.profile is not None]

    def steps(self) -> Iterator[float]:
        """Read the unread profiles and yield the progress, from 0 to 1."""
        from tltui.inputs.profile_reader import NoProfile, Reading  # few runs have a profile

        unread = self.unread
        size = sum(file.export.size for file in unread) or 1
        before = 0
        for file in unread:
            reading = self.reading = Reading(file.export.path)
            try:
                for part in reading.steps():
                    yield min((before + part * file.export.size) / size, 1.0)
                reading.profile.path = file.export.name
                file.profile = reading.profile
            except NoProfile as no:
                file.fault = str(no)
            before += file.export.size
            self.reading, self.first = None, None
            self.version += 1

    def read(self) -> None:
        """Read all that was not read yet."""
        for _ in self.steps():
            pass

    def is_derived(self, profile: Profile) -> bool:
        """Return whether `derived` has the value of a profile."""
        return self._derived.get(id(profile), (None,))[0] is profile

    def derived(self, profile: Profile, make: Callable[[Profile], object]) -> object:
        """Return a value computed, once, from one profile alone."""
        entry = self._derived.get(id(profile))
        if entry is None or entry[0] is not profile:
            entry = self._derived[id(profile)] = profile, make(profile)
        return entry[1]

    def add(self, profiles: Iterable[FoundProfile]) -> None:
        """There are more, or others of the same name: those are read anew."""
        previous = {file.export: file for file in self.files}
        files = tuple(previous.get(profile) or ProfileFile(profile) for profile in profiles)
        if files != self.files:
            self.files = files
            read = [file.profile for file in files]
            self._derived = {key: entry for key, entry in self._derived.items() if entry[0] in read}
            self.version += 1
