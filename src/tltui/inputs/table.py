"""The forms of input that are read in place, the one that tells most first.

Add one: a package beside this module, and a line here.
"""

from __future__ import annotations

from tltui.inputs.debug_dir.log import DebugLog
from tltui.inputs.debug_dir.scanner import DebugScanner
from tltui.inputs.debug_dir.source import DirectoryBytes
from tltui.inputs.form import Form, StepScanner
from tltui.inputs.index.scanner import IndexScanner
from tltui.inputs.index.source import IndexBytes, KnownFile
from tltui.inputs.text.log import TextLog
from tltui.inputs.text.scan import TextScanner
from tltui.trace.files import FileBytes
from tltui.trace.log import Log
from tltui.trace.scan import Scanner

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
