"""Export of documents to text, ANSI, markdown and HTML, and of results to JSON; shared by the UI and the command line."""

from __future__ import annotations

from tltui.export.files import (
    LEVELS,
    SGR,
    SUFFIXES,
    WouldOverwrite,
    ansi,
    folded_lines,
    format_of,
    lines_of,
    pieces_of,
    proposed_name,
    rounded,
    to_json,
    write,
)

__all__ = [
    "LEVELS", "SGR", "SUFFIXES", "WouldOverwrite", "ansi", "folded_lines", "format_of", "lines_of", "pieces_of", "proposed_name",
    "rounded", "to_json", "write",
]  # fmt: skip
