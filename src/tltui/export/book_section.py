"""A section of a report, and what its pieces are made with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tltui.documents.report.contents import Candidate
from tltui.text import tokens
from tltui.text.document import Document


@dataclass(slots=True)
class Section:
    """A candidate that was chosen."""

    candidate: Candidate
    id: str
    lines: int
    """Lines that are in the file."""
    of: int
    """Lines that there are."""
    bytes: int
    """What it takes at most."""
    document: Document | None = field(default=None, repr=False)
    """Of a page about the run: making it again takes long."""


def first_sentence(document: Document) -> str:
    """What a page says that has nothing to tell: its first line below the title."""
    lines = [line for line in document.text(0, 8) if line.strip()]
    has_title = len(lines) > 1 and any(span.style == tokens.TITLE for span in document.line(0).spans)
    return lines[has_title] if lines else ""


def headed(name: str, says: str) -> str:
    """What stands above sections that belong together."""
    return f"<div class=rep-page><h2>{name}</h2>\n<p><span class=dim>{says}</span></p></div>\n"


def length_of(pieces: Iterable[str]) -> int:
    """Bytes that pieces take in a file."""
    return sum(len(piece.encode("utf-8", "backslashreplace")) for piece in pieces)

