"""`/`: what is typed is looked for while one types."""

from __future__ import annotations

from tltui.screens.asking.question import Question
from tltui.widgets.document_view import DocumentView


class SearchQuestion(Question):
    """Asks for what to look for in a document; esc leaves it as it was."""

    def __init__(self, view: DocumentView) -> None:
        super().__init__("/", hint="a regular expression", history="search")
        self._view = view
        view.begin_trying()

    def typed(self, text: str) -> None:
        """Show the first hit."""
        self._view.try_search(text)

    def entered(self, text: str, place: int | None) -> None:
        """Look for it."""
        self._view.end_trying()
        self._view.search(text)

    def left(self) -> None:
        """As before."""
        self._view.end_trying()
