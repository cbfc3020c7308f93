"""The forms of input that are read in place, the one that tells most first.

Add one: a package beside this module, and a line here. Its modules are imported when a log of it is opened.
"""

from __future__ import annotations

from tltui.inputs.form import Form, StepScanner
from tltui.trace.files import FileBytes
from tltui.trace.log import Log
from tltui.trace.scan import Scanner

TRACE = "trace"
TEXT = "text"
DEBUG_DIR = "debug_dir"


def _text_scanner(source: FileBytes) -> StepScanner:
    from tltui.inputs.text.scan import TextScanner

    return TextScanner(source)


def _text_log(name: str, source: FileBytes, number: int) -> Log:
    from tltui.inputs.text.log import TextLog

    return TextLog(name, source, number)


def _debug_source(path: str) -> FileBytes:
    from tltui.inputs.debug_dir.source import DirectoryBytes

    return DirectoryBytes(path)


def _debug_scanner(source: FileBytes) -> StepScanner:
    from tltui.inputs.debug_dir.scanner import DebugScanner

    return DebugScanner(source)


def _debug_log(name: str, source: FileBytes, number: int) -> Log:
    from tltui.inputs.debug_dir.log import DebugLog

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
    """The form of a file that says by its beginning which it is; '' for none."""
    return next((form.name for form in FORMS.values() if form.begins is not None and form.begins(head)), "")


def source_of(form: str, path: str, index: str = "", number: int = 0) -> FileBytes:
    """The bytes of a log: of the file `path`, or those that a saved index keeps, where `path` is that index. Opens nothing."""
    if not index:
        return FORMS[form].source(path)
    from tltui.inputs.index.source import IndexBytes, KnownFile

    return IndexBytes(path, number) if path == index else KnownFile(path, index, number)


def scanner_of(form: str, source: FileBytes) -> StepScanner:
    """What cuts a source into batches: of a log that an index knows it begins with those of the index."""
    if not source.is_saved:
        return FORMS[form].scanner(source)
    from tltui.inputs.index.scanner import IndexScanner

    return IndexScanner(source)
