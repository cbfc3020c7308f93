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
    """The form of a file that says by its beginning which it is; '' for none."""
    return next((form.name for form in FORMS.values() if form.begins is not None and form.begins(head)), "")


def source_of(form: str, path: str, index: str = "", number: int = 0) -> FileBytes:
    """The bytes of a log: of the file `path`, or those that a saved index keeps, where `path` is that index. Opens nothing."""
    if not index:
        return FORMS[form].source(path)
    return IndexBytes(path, number) if path == index else KnownFile(path, index, number)


def scanner_of(form: str, source: FileBytes) -> StepScanner:
    """What cuts a source into batches: of a log that an index knows it begins with those of the index."""
    return IndexScanner(source) if isinstance(source, IndexBytes | KnownFile) else FORMS[form].scanner(source)
