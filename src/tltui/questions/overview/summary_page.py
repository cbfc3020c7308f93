"""The view `summary`: the overview of the node that is meant."""

from __future__ import annotations

from tltui.documents.scope import Scope
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.text.document import Document, Options


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The overview of the scope."""
    return build(run, scope.ref, options)
