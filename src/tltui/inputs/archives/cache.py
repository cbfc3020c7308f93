"""The private cache of unpacked files, and standard input as a growing file of it."""

from __future__ import annotations

import atexit
import errno
import fcntl
import os
import select
import shutil
import threading
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from tltui.inputs.archives import BLOCK, RESERVE, SETTINGS, STANDARD_INPUT, Limits, Progress, packing_of, size_of
from tltui.inputs.archives.decompress import PIECE, CannotUnpack

DIRECTORY, FILE = 0o700, 0o600
LOCK = "lock"
GATE = ".gate"
"""Locked while a directory is made or taken away: one that has no lock yet is not one that is left over."""
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Full(Exception):
    """The error that a size limit is reached; the message names the limit."""


class Cache:
    """Files that are unpacked. Made when the first one is."""

    def __init__(self, top: Path, limits: Limits, progress: Progress = lambda *_: None) -> None:
        self.top = top
        self.limits = limits
        self.written = 0
        """Bytes in it."""
        self.results: dict[Hashable, Any] = {}
        """What was unpacked, by what it was unpacked from."""
        self.progress = progress
        self._directory: Path | None = None
        self._lock = -1
        self._count = 0
        self._owner = os.getpid()
        self._guard = threading.Lock()

    @property
    def directory(self) -> Path:
        """That of this process. Raises `CannotUnpack`."""
        with self._guard:
            if self._directory is None:
                try:
                    self._directory = self._create()
                except OSError as error:
                    reason = error.strerror or str(error)
                    raise CannotUnpack(f"cannot unpack to {self.top}: {reason}; set XDG_CACHE_HOME") from None
            return self._directory

    def _create(self) -> Path:
        self.top.mkdir(mode=DIRECTORY, parents=True, exist_ok=True)
        self.top.chmod(DIRECTORY)
        gate = os.open(self.top / GATE, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, FILE)
        try:
            fcntl.flock(gate, fcntl.LOCK_EX)
            self._remove_remains()
            directory = self.top / f"{os.getpid()}-{os.urandom(6).hex()}"
            directory.mkdir(mode=DIRECTORY)
            self._lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, FILE)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        finally:
            os.close(gate)
        return directory

    def _remove_remains(self) -> None:
        """Remove directories of processes that no longer run."""
        with os.scandir(self.top) as entries:
            directories = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        for path in directories:
            try:
                lock = os.open(os.path.join(path, LOCK), os.O_RDWR | _NO_FOLLOW)
            except FileNotFoundError:
                shutil.rmtree(path, ignore_errors=True)
                continue
            except OSError:
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # it is in use, or nobody can tell
                continue
            else:
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)

    def new_file(self) -> Path:
        """Return an unused file name."""
        return self.directory / f"{self.number():06}"

    def new_directory(self) -> Path:
        """Create a new directory. Raises `CannotUnpack`."""
        path = self.directory / f"{self.number():06}"
        path.mkdir(mode=DIRECTORY)
        return path

    def make_directories(self, path: Path) -> None:
        """Create `path`, in this directory, and its parents. Raises OSError and `CannotUnpack`."""
        missing = [path, *path.parents]
        for parent in reversed(missing[: missing.index(self.directory)]):
            parent.mkdir(mode=DIRECTORY, exist_ok=True)

    def number(self) -> int:
        """Return an unused number."""
        with self._guard:
            self._count += 1
            return self._count

    def has_room(self, size: int) -> None:
        """So many bytes are about to be written. Raises `Full` where the file system has no room for them."""
        free = shutil.disk_usage(self.directory).free
        if free < size + RESERVE:
            raise Full(f"only {size_of(max(free, 0))} are free in {self.top}; set XDG_CACHE_HOME")

    def remove(self) -> None:
        """Take all of it away. It is empty then, and can be used again."""
        if self._owner != os.getpid():  # a child that was forked: not its own
            return
        with self._guard:
            directory, self._directory, self.written = self._directory, None, 0
            self.results.clear()
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)
            os.close(self._lock)


class Member:
    """One file of the cache while it is written. `end` is to be called in any case."""

    def __init__(self, cache: Cache, path: Path) -> None:
        self.path = path
        self.size = 0
        self._cache = cache
        self._checked = 0  # bytes for which there is room
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, FILE)
        except OSError as error:
            raise _cannot(cache, error) from None

    def write(self, data: bytes) -> None:
        """Append bytes. Raises `Full` at a limit, after writing the bytes that fit."""
        limits = self._cache.limits
        complete, data = data, data[: max(min(limits.member - self.size, limits.total - self._cache.written), 0)]
        if self.size + len(data) > self._checked:
            self._cache.has_room(max(len(data), CHECKED))
            self._checked = self.size + max(len(data), CHECKED)
        view = memoryview(data)
        while view:
            try:
                written = os.write(self._fd, view)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise Full(f"{error.strerror} in {self._cache.top}; set XDG_CACHE_HOME") from None
                raise _cannot(self._cache, error) from None
            self.size += written
            self._cache.written += written
            view = view[written:]
        if len(complete) > len(data):
            of_one = self.size >= limits.member
            raise Full(f"{size_of(limits.member)} per file" if of_one else f"{size_of(limits.total)} for all unpacked files")

    def cut(self, size: int) -> None:
        """Keep the first `size` bytes."""
        os.ftruncate(self._fd, size)
        self._cache.written -= self.size - size
        self.size = size

    def end(self, changed: float | None = None) -> None:
        """Nothing more comes. `changed`: seconds since the epoch, when the member was last written to."""
        os.close(self._fd)
        if changed is not None:
            with suppress(OSError, OverflowError, ValueError):  # the archive may say anything
                os.utime(self.path, (changed, changed))

    def drop(self) -> None:
        """Delete the file."""
        self._cache.written -= self.size
        self.path.unlink(missing_ok=True)


CHECKED = 16 << 20
"""Bytes between two looks at how much room is left."""


def _cannot(cache: Cache, error: OSError) -> CannotUnpack:
    return CannotUnpack(f"cannot unpack to {cache.top}: {error.strerror or error}; set XDG_CACHE_HOME")


_process_cache: list[Cache] = []
_cache_lock = threading.Lock()


def own_cache() -> Cache:
    """Return the cache of this process."""
    with _cache_lock:
        if not _process_cache:
            _process_cache.append(Cache(user_cache_path("tltui") / "unpacked", SETTINGS.limits(), SETTINGS.report))
            atexit.register(_process_cache[0].remove)
        return _process_cache[0]


def remove_own() -> None:
    """Take the cache of this process away, if it has one."""
    for cache in _process_cache:
        cache.remove()


TICK = 0.2
"""Seconds between two looks at whether to end."""


class StandardInput:
    """The data received through a descriptor. Raises `CannotUnpack` where no file can be made for it."""

    def __init__(self, descriptor: int, cache: Cache) -> None:
        self._descriptor = descriptor
        self._cache = cache
        self._member = Member(cache, cache.new_file())
        self.path = str(self._member.path)
        """The file that it is copied to."""
        self.packing = ""
        """How it is packed; '' for text, and while too little has come to know."""
        self.fault = ""
        """Why the file is not all that has come."""
        self._head = b""
        self._begun, self._ended, self._stop = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._copy, name="tltui standard input", daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        """Whether all of it has come."""
        return self._ended.is_set()

    def wait(self) -> None:
        """Wait for its end."""
        while not self._ended.wait(TICK):
            self._cache.progress(STANDARD_INPUT, self._member.size, 0, self._cache.written)

    def wait_for_beginning(self, seconds: float) -> None:
        """Wait until it is known how it is packed, but not for ever."""
        self._begun.wait(seconds)

    def stop(self) -> None:
        """Read no more."""
        self._stop.set()

    def _copy(self) -> None:
        try:
            while not self._stop.is_set():
                if select.select([self._descriptor], [], [], TICK)[0]:
                    data = os.read(self._descriptor, PIECE)
                    if not data:
                        break
                    self._write(data)
        except OSError as error:
            self.fault = self.fault or f"reading standard input failed: {error.strerror or error}"
        finally:
            self._member.end()
            self._begun.set()
            self._ended.set()

    def _write(self, data: bytes) -> None:
        if not self._begun.is_set():
            self._head += data
            self.packing = packing_of(self._head)
            if len(self._head) >= BLOCK:
                self._begun.set()
        if self.fault:
            return
        try:
            self._member.write(data)
        except Full as full:
            self.fault = f"cut at the limit: {full}"
        except CannotUnpack as cannot:
            self.fault = str(cannot)


_standard_input: list[StandardInput] = []
_standard_input_lock = threading.Lock()


def standard_input(descriptor: int = 0) -> StandardInput:
    """Return the standard input of this process and start to read it. `descriptor` counts the first time. Raises `CannotUnpack`."""
    with _standard_input_lock:
        if not _standard_input:
            _standard_input.append(StandardInput(descriptor, own_cache()))
        return _standard_input[0]
