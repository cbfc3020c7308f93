"""The dumps of torch's flight recorder beside the logs of a run: read when somebody asks where the run is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tltui.inputs.flight_recorder.dump import Dump, NotADump, read_dump
from tltui.sources.found import FoundDump

MOST = 4096
"""Dumps that are read."""


@dataclass(frozen=True, slots=True)
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
        """Read what was not read yet, with a pause after each piece."""
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
