"""Marked lines and nodes of the main screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tltui.config import state_path
from tltui.marks import Mark, file_of, marks_document, read_marks, write_marks
from tltui.model.artifacts import Artifact
from tltui.model.ref import BadAddress, parse_ref
from tltui.model.run import Run
from tltui.screens.main_screen import MainScreen
from tltui.text import tokens
from tltui.text.document import Options, TextDocument

PAGE = "@marks"


class Marking:
    """Marking, and the list of marks."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench
        bench.own_pages[PAGE] = self._page

    @property
    def file(self) -> Path:
        """Where they are kept."""
        return file_of(state_path(), self._bench.trace.found.paths)

    def mark(self) -> None:
        """Mark the line, or the node of the tree; a mark that is there goes."""
        own = self._bench
        view = own.document_view
        line = view.current_line() + 1 if view.has_focus else 0
        marks = read_marks(self.file)
        kept = [mark for mark in marks if (mark.ref, mark.line) != (own.shown_ref, line)]
        if len(kept) < len(marks):
            self._keep(kept, "the mark is gone")
            return
        document = own.current_document
        text = document.line(line - 1, 0, 400).text if line and len(document) else ""

        def noted(note: str) -> None:
            mark = Mark(own.shown_ref, line, document.title, text.strip(), note.strip())
            self._keep([*marks, mark], "marked: ' lists the marks")

        own.ask("note", noted, "", "enter marks, with or without a note")

    def _keep(self, marks: list[Mark], said: str) -> None:
        try:
            write_marks(self.file, marks)
        except OSError as error:
            self._bench.tell(f"could not keep the marks: {error.strerror or error}", tokens.ERROR)
        else:
            self._bench.tell(said)

    def show(self) -> None:
        """The list of marks; x writes it to a file."""
        self._bench.show_ref(PAGE)
        self._bench.document_view.focus()

    def _page(self, run: Run, options: Options) -> TextDocument:
        return marks_document(read_marks(self.file), lambda mark: _why_gone(run, mark), options)


def _why_gone(run: Run, mark: Mark) -> str:
    """Why a mark leads nowhere: the trace may have been recorded anew since. The text of the line is kept in the mark."""
    try:
        ref = parse_ref(mark.ref)
        node = None if ref.view else run.resolve(replace(ref, attempt=None) if ref.id else ref)
    except BadAddress:
        return "no longer in this trace; this is what it said"
    if isinstance(node, Artifact) and mark.line and node.payload is not None and mark.line > node.payload.size + 1:
        return "the artifact no longer has this line; this is what it said"
    return ""
