"""Pages of views for tests: built to their end, and as a reader sees them first."""

from __future__ import annotations

import real

from tltui.model.run import Run
from tltui.questions.build import build
from tltui.text.document import Document, Options


def opened(name: str) -> Run:
    """The run of a real trace by its path in the repository."""
    return real.opened(real.ROOT / name)


def text(document: Document) -> str:
    """All of it, folds open; every line as the reader gets it."""
    return "\n".join(document.text())


def targets(document: Document) -> set[str]:
    """Where its links lead, places in the user's files left out."""
    links = {link.target for n in range(len(document)) for link in document.line(n).links}
    return {target for target in links if not target.startswith("file:")}


def lead_somewhere(run: Run, document: Document) -> None:
    """Fails for a link that leads nowhere."""
    for target in sorted(targets(document)):
        assert len(build(run, target, Options())) > 0, target
