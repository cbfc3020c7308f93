"""The one protocol of what is read: a source of bytes, a scanner that cuts it into batches, a log that says what a record is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tltui.trace.batch import Batch
from tltui.trace.files import FileBytes
from tltui.trace.log import Log


class StepScanner(Protocol):
    """Cuts a source into batches, step by step, also while it grows."""

    @property
    def reached(self) -> int:
        """Bytes before this place have been taken: they are in the batches."""

    def step(self, size: int, last: bool) -> Batch:
        """Scan on by about `size` bytes. Raises OSError.

        With `last` the writer has ended: what is there is all that will be, and the batch says `finished` at the end. Else it says
        `waiting` when there is nothing more to take for now.
        """


@dataclass(frozen=True, slots=True)
class Form:
    """A form in which records are stored."""

    name: str
    """As `Process.origins` has it."""
    title: str
    """What a page calls it: `TORCH_LOGS text`."""
    source: Callable[[str], FileBytes]
    """Path → its bytes. Opens nothing."""
    scanner: Callable[[FileBytes], StepScanner]
    log: Callable[[str, FileBytes, int], Log]
    """The name that is shown, the source, and which of the files of that name it is → its records."""
    begins: Callable[[bytes], bool] | None = None
    """The beginning of a file → whether it is of this form, asked of files that are neither a trace nor anything packed. None for
    the forms that take more than that to be known (`tltui.sources.discover`)."""
