"""The forms of input that are read in place. Add one: a package beside this module, and a line here."""

from __future__ import annotations

from tltui.inputs.debug_dir.log import DebugLog
from tltui.inputs.debug_dir.scanner import DebugScanner
from tltui.inputs.debug_dir.source import DirectoryBytes
from tltui.inputs.form import Form
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
        Form(TRACE, "trace", FileBytes, Scanner, Log, has_parts=True),
        Form(TEXT, "TORCH_LOGS text", FileBytes, TextScanner, TextLog),
        Form(DEBUG_DIR, "torch_compile_debug", DirectoryBytes, DebugScanner, DebugLog),
    )
}  # fmt: skip
