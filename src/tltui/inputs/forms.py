"""The forms of input that are read in place: protocol and table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tltui.inputs.debug_directory import DebugLog, DebugScanner, DirectoryBytes
from tltui.inputs.index.indexed_log import IndexBytes, IndexScanner, KnownFile
from tltui.inputs.text.text_log import TextLog
from tltui.inputs.text.text_scanner import TextScanner
from tltui.trace.batch import Batch
from tltui.trace.files import FileBytes
from tltui.trace.log import Log
from tltui.trace.scan import Scanner


class StepScanner(Protocol):
    """Cuts a source into batches, step by step, also while it grows."""

    @property
    def reached(self) -> int:
        """Bytes before this place have been taken: they are in the batches."""

    def step(self, size: int, last: bool) -> Batch:
        """Scan about `size` further bytes. Raises OSError.

        With `last` the writer has ended, the data is complete, and the final batch has `finished` set. Else the batch has `waiting`
        set when no further data is available for now.
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


TRACE = "trace"
TEXT = "text"
DEBUG_DIR = "debug_dir"

FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form(TRACE, "trace", FileBytes, Scanner, Log),
        Form(TEXT, "TORCH_LOGS text", FileBytes, TextScanner, TextLog),
        Form(DEBUG_DIR, "torch_compile_debug", DirectoryBytes, DebugScanner, DebugLog),
    )
}  # fmt: skip


def form_of(head: bytes) -> str:
    """Detect the form of a file from its first bytes; '' if unknown."""
    return next((form.name for form in FORMS.values() if form.begins is not None and form.begins(head)), "")


def source_of(form: str, path: str, index: str = "", number: int = 0) -> FileBytes:
    """Return the bytes of a log: those of the file `path`, or of a saved index at `path`. Opens nothing."""
    if not index:
        return FORMS[form].source(path)
    return IndexBytes(path, number) if path == index else KnownFile(path, index, number)


def scanner_of(form: str, source: FileBytes) -> StepScanner:
    """Return the scanner of a source; for an indexed log it begins with the batches of the index."""
    return IndexScanner(source) if isinstance(source, IndexBytes | KnownFile) else FORMS[form].scanner(source)
