"""The messages about failed processes in one output: tracebacks, torchrun's summary, reports of launchers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tltui.analyses.job_failures.launchers import NEEDLES, LauncherReader, Report
from tltui.analyses.job_failures.lines import TextLine
from tltui.analyses.job_failures.torchrun import TorchrunEnd, parse_torchrun
from tltui.analyses.job_failures.tracebacks import Traceback, TracebackReader

_NEEDLES = (b"Traceback (most recent call last):", b"ChildFailedError", b"Fatal Python error: ", b'  File "', *NEEDLES)


@dataclass(frozen=True, slots=True)
class Printed:
    """The messages of one output about failed processes, each kind in file order."""

    tracebacks: tuple[Traceback, ...] = ()
    torchrun: tuple[TorchrunEnd, ...] = ()
    reports: tuple[Report, ...] = ()
    attempt: int | None = None
    """The number of the launch where the path of the output contains it, from 1 (torchrun's directories `attempt_K`)."""

    def __bool__(self) -> bool:
        return bool(self.tracebacks or self.torchrun or self.reports)


class PrintedReader:
    """Reads the lines of one output in file order."""

    def __init__(self) -> None:
        self._tracebacks = TracebackReader()
        self._launchers = LauncherReader()

    def take(self, lines: Iterable[TextLine]) -> None:
        """Read further lines."""
        for line in lines:
            self._tracebacks.take(line)
            self._launchers.read(line)

    def read_message(self, line: TextLine) -> None:
        """Read a message of torchrun's logger, which is no part of a traceback."""
        self._launchers.read(line)

    @property
    def is_open(self) -> bool:
        """Whether the next line may continue a traceback or a report, whatever it contains."""
        return self._tracebacks.is_open or self._launchers.is_open

    def close(self) -> Printed:
        """Return the messages: there are no more lines."""
        self._tracebacks.close()
        tracebacks = tuple(sorted(self._tracebacks.found, key=lambda item: item.offset))
        ends = tuple(parse_torchrun(offset, text) for offset, text in sorted(self._tracebacks.torchrun))
        return Printed(tracebacks, ends, tuple(self._launchers.reports))


def may_report(data: bytes) -> bool:
    """Return whether any line of a text may be part of such a message: most of a job's output is not."""
    return any(needle in data for needle in _NEEDLES)


def read_printed(lines: Iterable[TextLine]) -> Printed:
    """Read the messages of a whole output."""
    reader = PrintedReader()
    reader.take(lines)
    return reader.close()
