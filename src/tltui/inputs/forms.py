"""The forms of input that are read in place: protocol and table.

Add one: a module or package beside this one, and a line here. It is imported when a log of the form is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tltui.text.frozen import frozen
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


@frozen
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


def _text_scanner(source: FileBytes) -> StepScanner:
    from tltui.inputs.text.text_scanner import TextScanner

    return TextScanner(source)


def _text_log(name: str, source: FileBytes, number: int) -> Log:
    from tltui.inputs.text.text_log import TextLog

    return TextLog(name, source, number)


def _debug_source(path: str) -> FileBytes:
    from tltui.inputs.debug_directory import DirectoryBytes

    return DirectoryBytes(path)


def _debug_scanner(source: FileBytes) -> StepScanner:
    from tltui.inputs.debug_directory import DebugScanner

    return DebugScanner(source)


def _debug_log(name: str, source: FileBytes, number: int) -> Log:
    from tltui.inputs.debug_directory import DebugLog

    return DebugLog(name, source, number)


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form(TRACE, "trace", FileBytes, Scanner, Log),
        Form(TEXT, "TORCH_LOGS text", FileBytes, _text_scanner, _text_log),
        Form(DEBUG_DIR, "torch_compile_debug", _debug_source, _debug_scanner, _debug_log),
    )
}  # fmt: skip


def form_of(head: bytes) -> str:
    """Detect the form of a file from its first bytes; '' if unknown."""
    return next((form.name for form in FORMS.values() if form.begins is not None and form.begins(head)), "")


def source_of(form: str, path: str, index: str = "", number: int = 0) -> FileBytes:
    """Return the bytes of a log: those of the file `path`, or of a saved index at `path`. Opens nothing."""
    if not index:
        return FORMS[form].source(path)
    from tltui.inputs.index.indexed_log import IndexBytes, KnownFile

    return IndexBytes(path, number) if path == index else KnownFile(path, index, number)


def scanner_of(form: str, source: FileBytes) -> StepScanner:
    """Return the scanner of a source; for an indexed log it begins with the batches of the index."""
    if not source.is_saved:
        return FORMS[form].scanner(source)
    from tltui.inputs.index.indexed_log import IndexScanner

    return IndexScanner(source)
