"""A function mapped over many parts by any concurrent.futures executor, results in order; the function that indexes one log."""

from __future__ import annotations

import hashlib
import os
import socket
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import AbstractContextManager
from dataclasses import field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

from tltui import __version__
from tltui.inputs.index.indexed_log import opened
from tltui.sources.discovery_results import FoundLog
from tltui.text.bad_input import BadInput
from tltui.text.frozen import frozen, mutable
from tltui.text.sanitize import sanitize
from tltui.writers.index import log_part

BEGINNING = 4096
"""Bytes at the beginning by which a log is recognised."""
IN_MEMORY = 64 << 20
"""Bytes of pieces in memory. Beyond that they are in a file without a name, which ends with this process."""

P = TypeVar("P")
R = TypeVar("R")

TRIES = 3
"""Attempts for a part whose workers die."""
EVERY = 0.2
"""Seconds between two reports of the progress, also without a result."""
PATIENCE = 2.0
"""Seconds in which a broken executor reports the state of each part."""
Executors = Callable[[], AbstractContextManager[Executor]]
"""Makes an executor. Leaving it ends its workers, at once after an exception in the block."""


@frozen
class Failure(Generic[P]):
    """A failed part, in place of its result."""

    part: P
    text: str
    """Why, in a line."""


@frozen
class Done(Generic[P, R]):
    """A part that is done."""

    number: int
    """Its place among the parts."""
    part: P
    result: R | Failure[P]
    lost: int = 0
    """Workers that died with it."""
    fault: str | None = None
    """The last error of the workers, if this process did it after they died."""


@frozen
class Progress:
    """The progress of the work."""

    done: int
    all: int
    bytes: int
    all_bytes: int
    lost: int = 0
    """Workers that died with a part."""


@frozen
class Engine:
    """A set of workers and the number of parts in flight."""

    executors: Executors
    in_flight: int
    """Parts that are given to the workers at once: what they work at, and a little more."""


@frozen
class LogPart:
    """A log, and how it is read."""

    log: FoundLog
    lean: bool = False
    key: bytes = b""
    """Arguments of `log_part`."""
    size: int = 0
    """Minimum bytes of its file."""
    beginning: bytes = b""
    """The digest of its first bytes; b'' for whoever reads it on the machine on which it was found."""

    @property
    def unread(self) -> int:
        """The bytes to read: of an indexed log, its growth."""
        indexed = opened(self.log.index).logs[self.log.number].reached if self.log.index else 0
        return max(self.log.size - indexed, 0)


class NoEngineError(BadInput):
    """The error that an engine is unavailable; the message gives the reason."""


class OtherVersionError(Exception):
    """A worker has another version of tltui."""


def gather(
    engine: Engine | None,
    function: Callable[[P], R | Failure[P]],
    parts: Sequence[P],
    sizes: Sequence[int] = (),
    report: Callable[[Progress], None] | None = None,
) -> Generator[Done[P, R], None, None]:
    """Yield each part with its result, in the order of completion.

    `function` and parts are picklable, and so is the result; without an engine it is called here. `sizes` are the bytes of the
    parts, for `report`, which is called now and then, also where nothing has come, and at the end. Closing the generator ends the
    workers.
    """
    work: _Work[P, R] = _Work(function, parts, sizes, report)
    fruitless = 0
    while engine is not None and fruitless < TRIES and work.line:
        before = work.done
        try:
            with engine.executors() as executor:
                yield from work.give(executor, engine.in_flight)
        except BrokenExecutor as error:
            work.fault = str(error) or work.fault
        fruitless = 0 if work.done > before else fruitless + 1
    yield from work.here(None if engine is None else work.fault)


@mutable
class _Work(Generic[P, R]):
    """The pending parts."""

    function: Callable[[P], R | Failure[P]]
    parts: Sequence[P]
    sizes: Sequence[int]
    report: Callable[[Progress], None] | None
    line: deque[int] = field(init=False)
    """Numbers of parts that wait for a worker."""
    given_up: list[int] = field(default_factory=list)
    """Parts with which workers died too often."""
    lost: dict[int, int] = field(default_factory=dict)
    fault: str = ""
    """The last error of workers that died."""
    done: int = 0
    in_vain: int = 0
    """Workers that have died since the last result."""
    _bytes: int = 0
    _all_bytes: int = field(init=False)
    _reported_at: float = 0.0

    def __post_init__(self) -> None:
        self.line = deque(range(len(self.parts)))
        self._all_bytes = sum(self.sizes)

    def give(self, executor: Executor, in_flight: int) -> Iterator[Done[P, R]]:
        """Run all pending parts on the executor. Raises BrokenExecutor; the unfinished parts are then pending again."""
        self.in_vain = 0
        pending: dict[Future[R | Failure[P]], int] = {}
        try:
            while self.line or pending:
                while self.line and len(pending) < in_flight:
                    future = self._submitted(executor, self.parts[self.line[0]])
                    pending[future] = self.line.popleft()
                done, _ = wait(pending, timeout=EVERY, return_when=FIRST_COMPLETED)
                for future in done:
                    part_done = self._result_of(future, pending[future])
                    del pending[future]
                    if part_done is not None:
                        yield part_done
                self._report()
                if self.in_vain >= max(in_flight, TRIES):
                    raise BrokenExecutor(self.fault)
        except BrokenExecutor:
            begun = {future: number for future, number in pending.items() if not future.cancel()}
            self.line.extendleft(sorted(set(pending.values()) - set(begun.values()), reverse=True))
            wait(begun, timeout=PATIENCE)
            for future, number in sorted(begun.items(), key=lambda item: item[1], reverse=True):
                if future.done() and not _is_broken(future) and (part_done := self._result_of(future, number)) is not None:
                    yield part_done
                elif not future.done() or _is_broken(future):
                    self._lose(number)
            raise

    def _submitted(self, executor: Executor, part: P) -> Future[R | Failure[P]]:
        try:
            return executor.submit(attempt, __version__, self.function, part)
        except (OSError, RuntimeError) as error:  # no process or thread can be started, no connection be had
            raise BrokenExecutor(str(error)) from error

    def _result_of(self, future: Future[R | Failure[P]], number: int) -> Done[P, R] | None:
        """Return the result of a part; None where its worker died. Raises BrokenExecutor where all of them are lost."""
        error = CancelledError("cancelled") if future.cancelled() else future.exception()
        if error is None:
            return self._finished(number, future.result())
        if isinstance(error, BrokenExecutor):
            raise error
        self.fault = f"{type(error).__name__}: {error}"
        self._lose(number)
        return None

    def _lose(self, number: int) -> None:
        """Requeue a part as the first after its worker died, or fail it."""
        self.lost[number] = self.lost.get(number, 0) + 1
        self.in_vain += 1
        if self.lost[number] < TRIES:
            self.line.appendleft(number)
        else:
            self.given_up.append(number)

    def _finished(self, number: int, result: R | Failure[P], fault: str | None = None) -> Done[P, R]:
        self.done += 1
        self.in_vain = 0
        self._bytes += self.sizes[number] if self.sizes else 0
        return Done(number, self.parts[number], result, self.lost.get(number, 0), fault)

    def here(self, fault: str | None) -> Iterator[Done[P, R]]:
        """Run the pending parts in this process; `fault`: the fault of the workers."""
        for number in sorted((*self.line, *self.given_up)):
            yield self._finished(number, attempt(__version__, self.function, self.parts[number]), fault)
            self._report()

    def _report(self) -> None:
        now = time.monotonic()
        if self.report is not None and (now - self._reported_at >= EVERY or self.done == len(self.parts)):
            self._reported_at = now
            self.report(Progress(self.done, len(self.parts), self._bytes, self._all_bytes, sum(self.lost.values())))


def _is_broken(future: Future[Any]) -> bool:
    """Return whether all workers died with a future."""
    return not future.cancelled() and isinstance(future.exception(), BrokenExecutor)


def attempt(version: str, function: Callable[[P], R | Failure[P]], part: P) -> R | Failure[P]:
    """Run the function in a worker; its exceptions become values. Raises `OtherVersionError`."""
    if version != __version__:
        raise OtherVersionError(f"a worker has tltui {__version__}")
    try:
        return function(part)
    except Exception as error:
        message = error.strerror if isinstance(error, OSError) else None
        return Failure(part, message or f"{type(error).__name__}: {error}")


class PieceStore:
    """Results in the order of their parts. `directory`: where their temporary file is."""

    def __init__(self, directory: Path, in_memory: int = IN_MEMORY) -> None:
        self._file = tempfile.SpooledTemporaryFile(in_memory, dir=str(directory))  # noqa: SIM115
        self._places: dict[int, tuple[int, int]] = {}

    def __enter__(self) -> PieceStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def put(self, number: int, piece: bytes) -> None:
        """Store a piece. Raises OSError."""
        self._places[number] = (self._file.seek(0, 2), len(piece))
        self._file.write(piece)

    def pieces(self) -> Iterator[bytes]:
        """Yield all pieces in the order of their numbers. Raises OSError."""
        for _, (offset, size) in sorted(self._places.items()):
            self._file.seek(offset)
            yield self._file.read(size)


def remote_part(part: LogPart) -> LogPart:
    """Return the same part for any machine that sees the log. Raises OSError."""
    log = part.log
    size = min(os.stat(log.path).st_size, log.size if log.is_here else BEGINNING)
    return replace(part, size=size, beginning=_beginning(log.path, size))


def index_part(part: LogPart) -> bytes | Failure[LogPart]:
    """Index a log, where this machine sees the same one. Raises OSError."""
    return _mismatch(part) or log_part(part.log, part.lean, part.key)


def _mismatch(part: LogPart) -> Failure[LogPart] | None:
    """Return a failure if this machine sees another file at the path of the log."""
    if not part.beginning:
        return None
    path, host = part.log.path, sanitize(socket.gethostname())
    try:
        if os.stat(path).st_size >= part.size and _beginning(path, part.size) == part.beginning:
            return None
    except OSError as error:
        return Failure(part, f"{host} cannot read it ({error.strerror or error})")
    return Failure(part, f"{host} has a different file of this name")


def _beginning(path: str, size: int) -> bytes:
    """Return the digest of the first bytes; for a directory, of its contents."""
    if os.path.isdir(path):
        return hashlib.blake2b("\0".join(sorted(os.listdir(path))).encode("utf-8", "surrogateescape"), digest_size=16).digest()
    with open(path, "rb") as file:
        return hashlib.blake2b(file.read(min(size, BEGINNING)), digest_size=16).digest()
