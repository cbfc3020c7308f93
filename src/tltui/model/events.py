"""What is found out about the files of a run while they are read, and what that changes."""

from __future__ import annotations

from dataclasses import dataclass

from tltui.model.nodes import Compile
from tltui.sources.discover import Found, FoundLog
from tltui.trace.batch import Batch
from tltui.trace.files import FileBytes


@dataclass(frozen=True, slots=True)
class Delta:
    """What a batch changed."""

    compiles: tuple[Compile, ...]
    new: bool
    """Whether processes, frames or compiles were added, or a rank became known."""


@dataclass(frozen=True, slots=True)
class Read:
    """The next piece of a log."""

    log: int
    """Its number in `Run.models`."""
    batch: Batch


@dataclass(frozen=True, slots=True)
class Failed:
    """A log could not be read on."""

    log: int
    error: OSError


@dataclass(frozen=True, slots=True)
class Added:
    """A log that was not there before: the next number is its own."""

    found: FoundLog
    source: FileBytes
    instead_of: int | None = None
    """The number of the log that had its name before."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A log has another name now."""

    log: int
    path: str


@dataclass(frozen=True, slots=True)
class Lost:
    """What was read of a log is not in its file any more."""

    log: int
    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A log that was read cannot be looked at now; or with '' as its reason it can again."""

    log: int
    reason: str


@dataclass(frozen=True, slots=True)
class Looked:
    """What the paths of the run hold now."""

    found: Found


@dataclass(frozen=True, slots=True)
class Nothing:
    """The paths of the run hold no log, and none will come."""

    reason: str


Event = Read | Failed | Added | Moved | Lost | Unreadable | Looked | Nothing
"""What `tltui.model.follow` finds out about the files of a run."""
