"""A document → text, ANSI, markdown, HTML; a result → JSON. One way out for every view, in the UI and on the command line."""

from __future__ import annotations

from tltui.export.files import (
    LEVELS,
    SGR,
    SUFFIXES,
    WouldOverwrite,
    ansi,
    brief_lines,
    format_of,
    lines_of,
    pieces_of,
    proposed_name,
    to_json,
    write,
)

__all__ = [
    "LEVELS", "SGR", "SUFFIXES", "WouldOverwrite", "ansi", "brief_lines", "format_of", "lines_of", "pieces_of", "proposed_name",
    "to_json", "write",
]  # fmt: skip
