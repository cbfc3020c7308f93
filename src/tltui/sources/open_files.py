"""Which processes of this machine have a file open for writing. They are found by the file, device and inode: a number in a log may
be that of another namespace, or by now of another process."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Set
from dataclasses import dataclass

from tltui.trace.files import Identity, identity_of

PROC = "/proc"


@dataclass(frozen=True, slots=True)
class Held:
    """Who has some files open for writing."""

    by: dict[Identity, tuple[int, ...]]
    """The processes of those files that are held."""
    hidden: frozenset[int]
    """The users of whose processes that cannot be known."""


def held(wanted: Set[Identity], proc: str = PROC) -> Held | None:
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
                found = identity_of(os.stat(f"{place}/fd/{descriptor}"))
            except OSError:
                continue
            if found in wanted and pid not in by[found] and _writes(f"{place}/fdinfo/{descriptor}"):
                by[found].append(pid)
    return Held({file: tuple(numbers) for file, numbers in by.items() if numbers}, frozenset(hidden))


def holds(pid: int, file: Identity, proc: str = PROC) -> bool:
    """Whether one process has a file open for writing. False where that cannot be seen."""
    place = f"{proc}/{pid}"
    try:
        for descriptor in os.listdir(f"{place}/fd"):
            if identity_of(os.stat(f"{place}/fd/{descriptor}")) == file and _writes(f"{place}/fdinfo/{descriptor}"):
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


def _writes(path: str) -> bool:
    """Whether a descriptor may write: its flags stand in octal (proc(5), fdinfo). One whose flags cannot be read is taken for one
    that does."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("flags:"):
                    return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    except (OSError, ValueError, IndexError):
        pass
    return True
