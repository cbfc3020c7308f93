"""Pages of views for tests: built to their end, and as a reader sees them first."""

from __future__ import annotations

import real
from pages import page

from tltui.model.run import Run
from tltui.text.document import Document


def opened(name: str) -> Run:
    """Return the run of a real trace by its path in the repository."""
    return real.opened(real.ROOT / name)


def text(document: Document) -> str:
    """Return all of a document as text, folds open."""
    return "\n".join(document.text())


def initial_text(document: Document) -> str:
    """Return the lines in sight at first; `▸` stands before the head of a folded section."""
    folded = [section for section in document.sections() if section.folded]
    hidden = {line for section in folded for line in range(section.first + 1, section.last + 1)}
    heads = {section.first for section in folded}
    shown = (line for line in range(len(document)) if line not in hidden)
    return "\n".join((("▸ " if line in heads else "  ") + document.line(line).text).rstrip() for line in shown)


def targets(document: Document) -> set[str]:
    """Return the targets of links, without places in the user's files and torch's documentation."""
    links = {link.target for n in range(len(document)) for link in document.line(n).links}
    return {target for target in links if not target.startswith(("file:", "https:"))}


def lead_somewhere(run: Run, document: Document) -> None:
    """Fail for a link that leads nowhere."""
    for target in sorted(targets(document)):
        assert len(page(run, target)) > 0, target
