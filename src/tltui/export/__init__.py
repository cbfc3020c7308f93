"""A document → text, ANSI, markdown, HTML; a result → JSON. One way out for every view, in the UI and on the command line."""

from __future__ import annotations

from tltui.export.files import SUFFIXES, WouldOverwrite, format_of, lines_of, pieces_of, proposed_name, write
from tltui.export.jsons import LEVELS, to_json
from tltui.export.plain import SGR, ansi, brief_lines

__all__ = [
    "LEVELS", "SGR", "SUFFIXES", "WouldOverwrite", "ansi", "brief_lines", "format_of", "lines_of", "pieces_of", "proposed_name",
    "to_json", "write",
]  # fmt: skip
