"""Marked lines and nodes with notes, on the main screen and in the state directory (never beside the trace)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tltui.config import state_path
from tltui.documents.scope import key_hint
from tltui.model.artifacts import Artifact
from tltui.model.ref import BadAddress, at_line, parse_ref
from tltui.model.run import Run
from tltui.screens.main_screen import MainScreen
from tltui.text import tokens
from tltui.text.document import Builder, Options, TextDocument
from tltui.text.frozen import frozen
from tltui.text.safe_files import read_small_json, replacing

VERSION = 1
LARGEST = 64 << 20
"""Bytes of a file of marks: some 200,000 marks; one that is larger is none of ours."""


@frozen
class Mark:
    """One marked place."""

    ref: str
    """The address of the document."""
    line: int
    """From 1; 0 for the document as a whole."""
    title: str
    text: str
    """The line as it was when it was marked."""
    note: str = ""

    @property
    def target(self) -> str:
        """The link that leads there."""
        page = self.ref or "@run"
        return at_line(page, self.line) if self.line else page


def file_of(state: Path, paths: Iterable[str]) -> Path:
    """Return the file that holds the marks of a trace: named after what was opened, so that each trace has its own."""
    key = "\0".join(sorted(os.path.realpath(os.path.expanduser(path)) for path in paths))
    return state / "marks" / f"{hashlib.sha256(key.encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.json"


def read_marks(file: Path) -> list[Mark]:
    """Return the marks of a trace; [] where there are none, or where the file is not ours."""
    try:
        value = read_small_json(file, LARGEST)
        if value["version"] != VERSION:
            return []
        return [Mark(**{key: item[key] for key in ("ref", "line", "title", "text", "note")}) for item in value["marks"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def write_marks(file: Path, marks: Sequence[Mark]) -> None:
    """Keep the marks (0600; the file appears whole). Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = json.dumps({"version": VERSION, "marks": [asdict(mark) for mark in marks]}, indent=1)
    with replacing(file, private=True) as out:
        out.write(text.encode("utf-8", "backslashreplace"))


def marks_document(
    marks: Sequence[Mark], problem_of: Callable[[Mark], str] = lambda mark: "", options: Options | None = None
) -> TextDocument:
    """Return all marked places with their origin. `problem_of`: why a mark leads nowhere, '' if it does."""
    builder = Builder("@marks", "marks", options)
    if not marks:
        builder.add("No marks. To mark a line or a node of the tree:  ", key_hint(builder.options, "app.mark"))
    for mark in marks:
        builder.blank()
        place = f", line {mark.line}" if mark.line else ""
        builder.add((f"{mark.title}{place}", tokens.LINK, mark.target), (f"   {mark.ref}", tokens.DIM))
        if why := problem_of(mark):
            builder.add("  ", (why, tokens.WARN))
        if mark.note:
            builder.add("  ", (mark.note, tokens.STRONG))
        if mark.text:
            builder.add("    ", mark.text)
    return builder.document(tuple(marks))


PAGE = "@marks"


class MarkCommands:
    """Marking, and the list of marks."""

    def __init__(self, bench: MainScreen) -> None:
        self._bench = bench
        bench.own_pages[PAGE] = self._page

    @property
    def file(self) -> Path:
        """Where they are kept."""
        return file_of(state_path(), self._bench.trace.discovered.paths)

    def mark(self) -> None:
        """Mark the line, or the node of the tree; a mark that is there goes."""
        bench = self._bench
        view = bench.document_view
        line = view.current_line() + 1 if view.has_focus else 0
        marks = read_marks(self.file)
        others = [mark for mark in marks if (mark.ref, mark.line) != (bench.shown_ref, line)]
        if len(others) < len(marks):
            self._keep(others, "mark removed")
            return
        document = bench.current_document
        text = document.line(line - 1, 0, 400).text if line and len(document) else ""

        def noted(note: str) -> None:
            mark = Mark(bench.shown_ref, line, document.title, text.strip(), note.strip())
            self._keep([*marks, mark], "marked; ' lists the marks")

        bench.ask("note", noted, "", "optional note; enter marks")

    def _keep(self, marks: list[Mark], remark: str) -> None:
        try:
            write_marks(self.file, marks)
        except OSError as error:
            self._bench.show_message(f"could not save the marks: {error.strerror or error}", tokens.ERROR)
        else:
            self._bench.show_message(remark)

    def show(self) -> None:
        """Show the list of marks; x writes it to a file."""
        self._bench.show_ref(PAGE)
        self._bench.document_view.focus()

    def _page(self, run: Run, options: Options) -> TextDocument:
        return marks_document(read_marks(self.file), lambda mark: _why_broken(run, mark), options)


def _why_broken(run: Run, mark: Mark) -> str:
    """Return why a mark leads nowhere, '' if it does: the trace may have been recorded anew since."""
    try:
        ref = parse_ref(mark.ref)
        node = None if ref.view else run.resolve(replace(ref, attempt=None) if ref.id else ref)
    except BadAddress:
        return "no longer in this trace; this is the text that was marked"
    if isinstance(node, Artifact) and mark.line and node.payload is not None and mark.line > node.payload.size + 1:
        return "the artifact no longer has this line; this is the text that was marked"
    return ""
