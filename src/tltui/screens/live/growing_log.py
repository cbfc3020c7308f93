"""The page of all that a job printed, while it prints on."""

from __future__ import annotations

import sys

from tltui.model.run import Run
from tltui.text.document import Document

STEP = 4 << 20


def has_outputs(run: Run) -> bool:
    """Whether outputs of the job are among the inputs."""
    return any(model.form == "text" for model in run.models)


def grows(document: Document) -> bool:
    """Whether a document is the page `@log` and has more lines now: it takes them over, and is not made again."""
    made_by = getattr(sys.modules.get("tltui.documents.pages.log"), "LogDocument", None)  # another thread may be importing it now
    if made_by is None or not isinstance(document, made_by) or not document.look():
        return False
    while not document.advance(STEP):  # what came since the last batch: nothing to wait for
        pass
    return True
