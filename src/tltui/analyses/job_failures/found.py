"""All that a job's output tells of its end, joined: who failed, who first, and who was ended as another one had failed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from tltui.analyses.job_failures.lines import TextLine
from tltui.analyses.job_failures.signs import NEEDLES, Sign, sign_of
from tltui.analyses.job_failures.torchrun import TorchrunEnd, WorkerEnd, parse_torchrun
from tltui.analyses.job_failures.tracebacks import FATAL, Traceback, TracebackReader
from tltui.analyses.prose.traceback import last_raised, read_traceback
from tltui.text.owner import Owner

FAULTS = {
    "Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT", "Bus error": "SIGBUS", "Floating point exception": "SIGFPE",
    "Floating-point exception": "SIGFPE", "Illegal instruction": "SIGILL",
}  # fmt: skip
"""What `faulthandler` calls the signals that it tells of (CPython, Modules/faulthandler.c)."""
_TELLING = (b"Traceback (most recent call last):", b"ChildFailedError", b"Fatal Python error: ", b'  File "', *NEEDLES)


@dataclass(frozen=True, slots=True)
class Printed:
    """What one output tells, in file order."""

    tracebacks: tuple[Traceback, ...] = ()
    torchrun: tuple[TorchrunEnd, ...] = ()
    signs: tuple[Sign, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tracebacks or self.torchrun or self.signs)


@dataclass(frozen=True, slots=True)
class JobFailure:
    """One process that failed, or one line that says that something did."""

    said: str
    """`RuntimeError: rank 1 gives up`; '' where nothing is known but how it ended."""
    exit: str = ""
    """`exit code 1`, `SIGSEGV`; '' where nobody says."""
    rank: int | None = None
    pid: int | None = None
    is_first: bool = False
    """torchrun says that it failed before all others."""
    is_compile: bool = False
    """A compile failed."""
    is_consequence: bool = False
    """It was ended since another one had failed: no failure of its own."""
    file: str | None = None
    line: int | None = None
    function: str | None = None
    host: str = ""
    time: str = ""
    means: str = ""
    """What the line means, where it is no exception."""
    offset: int = 0
    """Bytes from the beginning of the file to where it is told."""
    output: int = 0
    """Which of the outputs tells of it, from 0."""
    traceback: Traceback | None = None

    @property
    def sentence(self) -> str:
        """`rank 1 died first (exit code 1): RuntimeError: rank 1 gives up`"""
        who = f"rank {self.rank}" if self.rank is not None else f"process {self.pid}" if self.exit else ""
        if self.is_consequence:
            what = "was ended, as another process had failed"
        elif self.is_first:
            what = "died first"
        else:
            what = "failed" if who else ""
        head = f"{who} {what}".strip() + (f" ({self.exit})" if self.exit else "")
        return f"{head}: {self.said}" if head and self.said else head or self.said


class PrintedReader:
    """Takes the lines of one output in file order."""

    def __init__(self) -> None:
        self._tracebacks = TracebackReader()
        self._signs: list[Sign] = []

    def take(self, lines: Iterable[TextLine]) -> None:
        """Further lines."""
        for line in lines:
            self._tracebacks.take(line)
            if (sign := sign_of(line)) is not None:
                self._signs.append(sign)

    @property
    def is_open(self) -> bool:
        """Whether a traceback may go on with the next line: then what comes must be read whatever it is."""
        return self._tracebacks.is_open

    def close(self) -> Printed:
        """There are no more lines."""
        self._tracebacks.close()
        found = tuple(sorted(self._tracebacks.found, key=lambda item: item.offset))
        ends = tuple(parse_torchrun(offset, text) for offset, text in sorted(self._tracebacks.torchrun))
        return Printed(found, ends, tuple(self._signs))


def may_tell(data: bytes) -> bool:
    """Whether any line of a text may be one that counts here: most of a job's output is none."""
    return any(needle in data for needle in _TELLING)


def read_printed(lines: Iterable[TextLine]) -> Printed:
    """What an output tells."""
    reader = PrintedReader()
    reader.take(lines)
    return reader.close()


def job_failures(printed: Sequence[Printed], ended: Container[int] = ()) -> tuple[JobFailure, ...]:
    """The failures that outputs of one job tell of, the first one first, those that others led to last.

    A worker that torchrun names and the traceback of its rank are one failure. Without torchrun's word the order is that of the
    output, and nobody is called the first; the processes that it `ended` (pids) are known from its log all the same.
    """
    left = _once([one.tracebacks for one in printed])
    found: list[JobFailure] = []
    for number, one in enumerate(printed):
        for end in one.torchrun:
            for worker in ((end.root,) if end.root else ()) + end.others:
                found.append(_of_worker(worker, worker is end.root, end, number, left))
    found += (_of_traceback(item, number, item.pid in ended) for number, item in left)
    for number, one in enumerate(printed):
        for sign in one.signs:
            found.append(JobFailure(sign.text, "", sign.rank, sign.pid, means=sign.means, offset=sign.offset, output=number))
    return tuple(sorted(found, key=lambda item: (item.is_consequence, not item.is_first)))


def _once(outputs: Sequence[tuple[Traceback, ...]]) -> list[tuple[int, Traceback]]:
    """(output, traceback), those of one output that stand in another too (`--tee`, `2>&1 | tee`) once."""
    left: list[tuple[int, Traceback]] = []
    seen: set[tuple[object, ...]] = set()
    for number, tracebacks in enumerate(outputs):
        keys = [(item.rank, item.type, item.message, item.file, item.line, item.function) for item in tracebacks]
        left += [(number, item) for item, key in zip(tracebacks, keys, strict=True) if key not in seen]
        seen.update(keys)
    return left


def _of_worker(
    worker: WorkerEnd, is_root: bool, end: TorchrunEnd, number: int, left: list[tuple[int, Traceback]]
) -> JobFailure:
    """A worker with the traceback that is its own, which is taken out of those that are left."""
    own = [pair for pair in left if pair[1].is_deadly and _is_of(pair[1], worker)]
    said, file, line, function, traceback, offset = "", None, None, None, None, end.offset
    if own:
        left.remove(own[-1])
        number, traceback = own[-1]
        said, file, line, function = traceback.said, traceback.file, traceback.line, traceback.function
        offset = traceback.offset
    elif worker.traceback:
        said, file, line, function = _recorded(worker.traceback)
    return JobFailure(
        said, worker.exit, worker.rank, worker.pid, is_root, traceback is not None and traceback.is_compile,
        worker.is_ended_by_torchrun and not is_root, file, line, function, worker.host, worker.time, "", offset, number, traceback,
    )  # fmt: skip


def _is_of(traceback: Traceback, worker: WorkerEnd) -> bool:
    """Whether a traceback is that of a worker: by rank, by pid; of one that names neither it is not known."""
    if traceback.rank is not None:
        return traceback.rank == worker.rank
    if traceback.pid is not None:
        return traceback.pid == worker.pid
    return traceback.type == FATAL and FAULTS.get(traceback.message) == worker.signal


def _recorded(text: str) -> tuple[str, str | None, int | None, str | None]:
    """What the traceback says that a worker with `@record` left."""
    last = last_raised(read_traceback(text))
    if last is None:
        return "", None, None, None
    own = next((frame for frame in reversed(last.frames) if frame.owner is Owner.USER), None)
    said = f"{last.type}: {last.message}".partition("\n")[0].strip().rstrip(":")
    return (said, own.file, own.line, own.name) if own else (said, None, None, None)


def _of_traceback(item: Traceback, number: int, is_consequence: bool) -> JobFailure:
    said = f"{item.lead}: {item.said}" if item.lead else item.said
    return JobFailure(
        said or "a traceback whose end is not in the output", "", item.rank, item.pid, False, item.is_compile, is_consequence,
        item.file, item.line, item.function, offset=item.offset, output=number, traceback=item,
    )  # fmt: skip
