"""Marked lines and nodes of the main screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tltui.config import state_path
from tltui.marks import Mark, file_of, marks_document, read_marks, write_marks
from tltui.model.artifacts import Artifact
from tltui.model.ref import BadAddress, parse_ref
from tltui.screens.browser_output import BrowserOutput
from tltui.screens.prompt import Prompt
from tltui.text import tokens
from tltui.text.document import TextDocument


class BrowserMarks(BrowserOutput):
    """Marking, and the list of marks."""

    @property
    def _marks_file(self) -> Path:
        return file_of(state_path(), self.own.trace.found.paths)

    def action_mark(self) -> None:
        """Mark the line, or the node of the tree; a mark that is there goes."""
        own = self.own
        view = own.document_view
        line = view.current_line() + 1 if view.has_focus else 0
        marks = read_marks(self._marks_file)
        kept = [mark for mark in marks if (mark.ref, mark.line) != (own.shown_ref, line)]
        if len(kept) < len(marks):
            self._keep_marks(kept, "the mark is gone")
            return
        document = own.current_document
        text = document.line(line - 1, 0, 400).text if line and len(document) else ""

        def noted(note: str | None) -> None:
            if note is not None:
                mark = Mark(own.shown_ref, line, document.title, text.strip(), note.strip())
                self._keep_marks([*marks, mark], "marked: ' lists the marks")

        self.app.push_screen(Prompt("note", "", "enter marks, with or without a note"), noted)

    def _keep_marks(self, marks: list[Mark], said: str) -> None:
        try:
            write_marks(self._marks_file, marks)
        except OSError as error:
            self.own.tell(f"could not keep the marks: {error.strerror or error}", tokens.ERROR)
        else:
            self.own.tell(said)

    def action_marks(self) -> None:
        """The list of marks; x writes it to a file."""
        self.own.show_ref("@marks")

    def marks_page(self) -> TextDocument:
        """The page of marks."""
        return marks_document(read_marks(self._marks_file), self._why_gone)

    def _why_gone(self, mark: Mark) -> str:
        """Why a mark leads nowhere: the trace may have been recorded anew since. The text of the line is kept in the mark."""
        try:
            ref = parse_ref(mark.ref)
            node = None if ref.view else self.own.trace.resolve(replace(ref, attempt=None) if ref.id else ref)
        except BadAddress:
            return "no longer in this trace; this is what it said"
        if isinstance(node, Artifact) and mark.line and node.payload is not None and mark.line > node.payload.size + 1:
            return "the artifact no longer has this line; this is what it said"
        return ""
