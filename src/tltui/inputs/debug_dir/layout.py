"""Which directories hold units, and which files each of them has. Nothing is followed out of them, and no file is opened but to be
recognised."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from tltui.inputs.debug_dir import names as called
from tltui.inputs.debug_dir.names import UNIT, pid_of
from tltui.text.sanitize import sanitize

DEPTH = 4
"""Directories below a unit, or below the directory of a process, that are listed."""
MOST = 20_000
"""Files of one directory of units that are listed."""
SNIFFED = 400
NOT_REGULAR = "not a regular file: not opened"
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
Listing = Sequence["os.DirEntry[str]"]


@dataclass(frozen=True, slots=True)
class Layout:
    """What was recognised at a path."""

    pid: int
    """0: not known."""
    started: datetime | None
    """In local time of the job."""
    units: tuple[tuple[str, str], ...]
    """Name and path of each unit, in order."""
    rest: str
    """The directory whose other files belong to the process; '' for none."""
    inside: frozenset[str] | None
    """Directories at the path that belong to it; None: all that is below it does."""


@dataclass(frozen=True, slots=True)
class UnitFile:
    """A file of a unit, or the reason why it is not read."""

    unit: str
    """'' for a file of the process."""
    name: str
    """Relative to the unit."""
    path: str
    size: int
    identity: tuple[int, int]
    changed: float
    """Seconds since the epoch."""
    reason: str = ""


def layout_of(path: str, listing: Listing | None = None) -> Layout | None:
    """What a directory or a file is; None where it is none of ours. Raises OSError."""
    if listing is None:
        if not os.path.isdir(path):
            return _of_file(path)
        listing = _listed(path)
    name = os.path.basename(os.path.abspath(path))
    pid, started = process_of(path)
    directories = [entry.name for entry in listing if entry.is_dir(follow_symlinks=False)]
    files = [entry.name for entry in listing if not entry.is_dir(follow_symlinks=False)]
    if pid_of(name):
        return Layout(pid, started, _units(os.path.join(path, called.INDUCTOR)), path, None)
    if _is_unit(path, name, files):
        return Layout(pid, started, ((name, path),), "", None)
    if own := frozenset(unit for unit in directories if UNIT.fullmatch(unit)):
        if name == called.INDUCTOR:
            return Layout(pid, started, _units(path), path, None)
        return Layout(pid, started, tuple(unit for unit in _units(path) if unit[0] in own), "", own)
    return _cache(path, name, directories)


def process_of(path: str) -> tuple[int, datetime | None]:
    """Which process a path is of, and when that began, as the directory of the process is called. 0 and None: nothing says it."""
    parts = os.path.abspath(path).split(os.sep)[-DEPTH:]
    name = next((part for part in reversed(parts) if pid_of(part)), "")
    return pid_of(name), called.started_of(name)


def files_of(layout: Layout) -> Iterator[UnitFile]:
    """The files of all units, in order, then those of the process. What is empty is left out."""
    count = 0
    places = [(name, path, frozenset[str]()) for name, path in layout.units]
    if layout.rest:
        places.append(("", layout.rest, frozenset(path for _, path in layout.units)))
    for unit, top, without in places:
        for found in _files(unit, top, without):
            count += 1
            if count > MOST:
                reason = f"more than {MOST:,} files: the rest was not looked at"
                yield UnitFile(unit, "", top, 0, (0, 0), 0.0, reason)
                return
            if found.size or found.reason:
                yield found


def _of_file(path: str) -> Layout | None:
    """A file of torch-spyre alone."""
    name = os.path.basename(path)
    if called.SDSC.fullmatch(name) and _is_sdsc(path):
        return Layout(0, None, ((name, path),), "", None)
    return None


def _is_unit(path: str, name: str, files: Sequence[str]) -> bool:
    if {called.CODE, called.RUNNABLE} <= set(files):
        return True
    if (UNIT.fullmatch(name) or called.CACHED.fullmatch(name)) and any(file in called.FILES for file in files):
        return True
    return any(called.SDSC.fullmatch(file) and _is_sdsc(os.path.join(path, file)) for file in files)


def _units(path: str) -> tuple[tuple[str, str], ...]:
    try:
        names = [entry.name for entry in _listed(path) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return ()
    return tuple((name, os.path.join(path, name)) for name in sorted(names, key=called.unit_order))


def _cache(path: str, name: str, directories: Sequence[str]) -> Layout | None:
    """A cache of Inductor, a part of it, or that of torch-spyre."""
    if name == called.SPYRE_CACHE:
        own = _spyre(path)
        return Layout(0, None, own, "", None) if own else None
    found = [(unit, os.path.join(path, unit)) for unit in directories if called.CACHED.fullmatch(unit)]
    inside = {unit for unit, _ in found}
    for shard in directories:
        if not called.SHARD.fullmatch(shard):
            continue
        own = tuple((unit, place) for unit, place in _units(os.path.join(path, shard)) if called.CACHED.fullmatch(unit))
        if own:
            found += own
            inside.add(shard)
    kernels = _spyre(os.path.join(path, called.SPYRE_CACHE)) if called.SPYRE_CACHE in directories else ()
    if kernels:
        inside.add(called.SPYRE_CACHE)
    if not found and not kernels:
        return None
    return Layout(0, None, (*sorted(found), *kernels), "", frozenset(inside))


def _spyre(path: str) -> tuple[tuple[str, str], ...]:
    """The kernels of a cache of torch-spyre."""
    found = []
    for name, place in _units(path):
        try:
            names = [entry.name for entry in _listed(place)]
        except OSError:
            continue
        if any(called.SDSC.fullmatch(file) for file in names):
            found.append((name, place))
    return tuple(found)


def _is_sdsc(path: str) -> bool:
    try:
        fd = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        return stat.S_ISREG(os.fstat(fd).st_mode) and called.SDSC_BEGINS.match(os.read(fd, SNIFFED)) is not None
    finally:
        os.close(fd)


def _listed(path: str) -> list[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        return list(entries)


def _files(unit: str, top: str, without: frozenset[str]) -> Iterator[UnitFile]:
    """The files below a directory, those of the directory itself first. `without`: directories that are told apart."""
    if not os.path.isdir(top):
        yield _looked_at(unit, os.path.basename(top), top)
        return
    waiting = [("", top, 0)]
    while waiting:
        prefix, directory, depth = waiting.pop(0)
        try:
            listing = _listed(directory)
        except OSError as error:
            yield _refused(unit, prefix, directory, error.strerror or str(error))
            continue
        deeper = []
        for entry in sorted(listing, key=lambda entry: called.file_order(entry.name)):
            name = f"{prefix}{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                yield _looked_at(unit, name, entry.path)
            elif entry.path in without:
                continue
            elif depth < DEPTH:
                deeper.append((f"{name}/", entry.path, depth + 1))
            else:
                yield _refused(unit, name, entry.path, f"more than {DEPTH} levels deep")
        waiting += deeper


def _looked_at(unit: str, name: str, path: str) -> UnitFile:
    """A file as it is now. It is opened, so that one that cannot be read is known; a pipe without writers opens at once."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return _refused(unit, name, path, "a symbolic link: not opened")
        if not stat.S_ISREG(mode):
            return _refused(unit, name, path, NOT_REGULAR)
        fd = os.open(path, _FLAGS)
    except OSError as error:
        return _refused(unit, name, path, error.strerror or str(error))
    try:
        status = os.fstat(fd)
    finally:
        os.close(fd)
    if not stat.S_ISREG(status.st_mode):
        return _refused(unit, name, path, NOT_REGULAR)
    return UnitFile(unit, name, path, status.st_size, (status.st_dev, status.st_ino), status.st_mtime)


def _refused(unit: str, name: str, path: str, reason: str) -> UnitFile:
    where = sanitize("/".join(part for part in (unit, name.rstrip("/")) if part)) or "."
    return UnitFile(unit, name, path, 0, (0, 0), 0.0, f"{where}: {reason}")
