"""Pages of runs, built to their end."""

from __future__ import annotations

import re

from tltui.model.run import Run
from tltui.questions.build import build
from tltui.text.document import Document, Options


def complete(document: Document) -> Document:
    """Advance a document that grows to its end."""
    while not document.advance():
        pass
    return document


def page(run: Run, ref: str, width: int = 80, ascii_: bool = False) -> Document:
    """Build the page at an address, complete."""
    return complete(build(run, ref, Options(width=width, ascii=ascii_)))


def flat_text(run: Run, ref: str, width: int = 80) -> str:
    """Return the text of the page at an address in one line, each run of white space as one blank."""
    return " ".join("\n".join(page(run, ref, width).text()).split())


def is_url(line: str) -> bool:
    """Return whether a line is one URL: it is never broken, so it may exceed the width."""
    return re.fullmatch(r"\W{0,2}https?://\S+", line.strip()) is not None
