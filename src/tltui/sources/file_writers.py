"""Processes that have a file open, and whether anybody may still write into a log."""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Set

from tltui.text.frozen import frozen
from tltui.trace.files import Identity, identity_of

PROC = "/proc"


@frozen
class Held:
    """The processes that have files open for writing."""

    by: dict[Identity, tuple[int, ...]]
    """The processes of those files that are held."""
    hidden: frozenset[int]
    """The users of whose processes that cannot be known."""


def held(identities: Set[Identity], proc: str = PROC) -> Held | None:
    """Who has them open; None where no process can be seen at all."""
    processes = pids(proc)
    if not processes:
        return None
    by: dict[Identity, list[int]] = defaultdict(list)
    hidden: set[int] = set()
    for pid in processes:
        place = f"{proc}/{pid}"
        try:
            descriptors = os.listdir(f"{place}/fd")
        except PermissionError:
            if (user := owner(place)) is not None:
                hidden.add(user)
            continue
        except OSError:
            continue  # it has ended meanwhile
        for descriptor in descriptors:
            try:
                identity = identity_of(os.stat(f"{place}/fd/{descriptor}"))
            except OSError:
                continue
            if identity in identities and pid not in by[identity] and _writes(place, descriptor):
                by[identity].append(pid)
    return Held({file: tuple(numbers) for file, numbers in by.items() if numbers}, frozenset(hidden))


def holds(pid: int, file: Identity, proc: str = PROC) -> bool:
    """Whether one process has a file open for writing. False where that cannot be seen."""
    place = f"{proc}/{pid}"
    try:
        for descriptor in os.listdir(f"{place}/fd"):
            if identity_of(os.stat(f"{place}/fd/{descriptor}")) == file and _writes(place, descriptor):
                return True
    except OSError:  # it has ended, a descriptor has gone, or it is somebody else's
        pass
    return False


def pids(proc: str = PROC) -> list[int]:
    """All processes that can be seen; none where there is no /proc."""
    try:
        return sorted(int(name) for name in os.listdir(proc) if name.isdecimal())
    except OSError:
        return []


def owner(place: str) -> int | None:
    """Whose process it is; None for one that has ended."""
    try:
        return os.stat(place).st_uid
    except OSError:
        return None


def _writes(place: str, descriptor: str) -> bool:
    """Return whether a process has a descriptor open for writing, from its octal flags (proc(5), fdinfo).

    Returns True where the flags cannot be read, False for a descriptor that was closed since it was listed.
    """
    flags = f"{place}/fdinfo"
    try:
        with open(f"{flags}/{descriptor}", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("flags:"):
                    return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    except (FileNotFoundError, ProcessLookupError):
        return os.path.isdir(place) and not os.path.isdir(flags)
    except (OSError, ValueError, IndexError):
        pass
    return True


QUIET = 600.0
"""Seconds without a change after which nobody waits for more."""
LOCAL = frozenset((
    "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfsplus", "jfs", "minix", "nilfs2", "ntfs3", "overlay", "ramfs",
    "reiserfs", "tmpfs", "ubifs", "udf", "vfat", "xfs", "zfs",
))  # fmt: skip
"""Types of file systems that no other host writes into."""
HIDES = re.compile(r" - proc .*\bhidepid=(?:2|invisible|4|ptraceable)\b")


class Writers:
    """Looks for writers. `clock` gives seconds since the epoch; `proc` is where processes are listed."""

    def __init__(self, clock: Callable[[], float] = time.time, proc: str = "/proc") -> None:
        self._clock = clock
        self._proc = proc
        self._mounts: list[tuple[str, str]] | None = None
        self._hides: bool | None = None

    def quiet(self, status: os.stat_result) -> bool:
        """Whether a file was last changed so long ago that its writer must have ended."""
        return self._clock() - status.st_mtime > QUIET

    def abandoned(self, files: dict[str, os.stat_result]) -> set[str]:
        """Those of these paths that are quiet and that no process here has open: a job may hang for hours and still be there."""
        old = {path: identity_of(status) for path, status in files.items() if self.quiet(status)}
        holders = held(set(old.values()), self._proc) if old else None
        return {path for path, file in old.items() if holders is None or file not in holders.by}

    def ended(self, files: dict[str, os.stat_result]) -> set[str]:
        """Those of these paths that nobody can be writing into. One look at the processes serves for all."""
        local = {path: status for path, status in files.items() if self._file_system(path) in LOCAL}
        if not local:
            return set()
        holders = held({identity_of(status) for status in local.values()}, self._proc)
        if holders is None:
            return set()
        return {
            path for path, status in local.items()
            if identity_of(status) not in holders.by and status.st_uid not in holders.hidden and self._sees(status.st_uid)
        }  # fmt: skip

    def _sees(self, user: int) -> bool:
        """Whether processes of a user are listed at all: with `hidepid` only one's own are (proc(5))."""
        if self._hides is None:
            try:
                with open(f"{self._proc}/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
                    self._hides = any(HIDES.search(line) for line in file)
            except OSError:
                self._hides = False
        return not self._hides or os.geteuid() in (0, user)

    def _file_system(self, path: str) -> str:
        """Return the type of the file system of a file; '' if unknown."""
        if self._mounts is None:
            self._mounts = self._read_mounts()
        real = os.path.realpath(path)
        best = max((item for item in self._mounts if _below(real, item[0])), key=lambda item: len(item[0]), default=("", ""))
        return best[1]

    def _read_mounts(self) -> list[tuple[str, str]]:
        """Return (mount point, type) of the mounts of this process.

        They are fields 5 and, after the dash, 1 of mountinfo (proc(5)). Of several mounts at one point the last is visible.
        """
        mounts: dict[str, str] = {}
        try:
            with open(f"{self._proc}/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
                for line in file:
                    mount, _, options = line.partition(" - ")
                    fields, kind = mount.split(" "), options.split(" ", 1)[0]
                    if len(fields) > 4 and kind:
                        mounts[_unescaped(fields[4])] = kind
        except OSError:
            return []
        return list(mounts.items())


def _below(path: str, directory: str) -> bool:
    return directory == "/" or path == directory or path.startswith(directory + "/")


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
