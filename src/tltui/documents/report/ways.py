"""How somebody who has the trace gets what an address leads to."""

from __future__ import annotations

from tltui.documents.hints import DOES
from tltui.documents.pages.table import BY_NAME
from tltui.model.ref import BadAddress, parse_ref, split_line
from tltui.text.sanitize import sanitize
from tltui.text.shell import quoted

COMMANDS = frozenset(("damage", "records", "log", "source", "grep"))
"""Pages besides the views that are called as a command of the shell."""


def way_to(target: str) -> str:
    """The command that prints it, PATH being the trace; of a place in the user's source that place; '' for what leads nowhere."""
    if target.startswith("file:"):
        return sanitize(target.removeprefix("file:"))
    if target.startswith((DOES, "line:")):
        return ""
    ref, _ = split_line(target)
    try:
        parsed = parse_ref(ref)
    except BadAddress:
        return ""
    about = ref.partition(":")[2]
    if parsed.n is None and (parsed.view in BY_NAME or parsed.view in COMMANDS):
        return f"tltui {parsed.view} PATH{' ' + quoted(about) if about else ''}"
    return f"tltui show PATH{' ' + quoted(ref) if ref else ''}"
