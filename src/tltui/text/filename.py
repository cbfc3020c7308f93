"""Labels of a trace → names of files. A label is never a path."""

from __future__ import annotations

import re

from tltui.text.sanitize import sanitize

LONGEST = 120


def safe_name(text: str, suffix: str = "") -> str:
    """A file name from a label of the trace: no separators, no leading dot, at most 120 characters."""
    name = re.sub(r"[^\w.+=@-]+", "_", sanitize(text), flags=re.ASCII).strip("._") or "unnamed"
    return name[: LONGEST - len(suffix)] + suffix
