"""Marked places of a trace: lines and nodes, with notes. Kept in the state directory, never beside the trace."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tltui.documents.hints import key_hint
from tltui.model.ref import at_line
from tltui.text import tokens
from tltui.text.atomic import replacing
from tltui.text.document import Builder, Options, TextDocument
from tltui.text.small_file import read_small_json

VERSION = 1
LARGEST = 64 << 20
"""Bytes of a file of marks: some 200,000 marks; one that is larger is none of ours."""


@dataclass(frozen=True, slots=True)
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
    """The file that holds the marks of a trace: named after what was opened, so that each trace has its own."""
    key = "\0".join(sorted(os.path.realpath(os.path.expanduser(path)) for path in paths))
    return state / "marks" / f"{hashlib.sha256(key.encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.json"


def read_marks(file: Path) -> list[Mark]:
    """The marks of a trace; [] where there are none, or where the file is not ours."""
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
    marks: Sequence[Mark], gone: Callable[[Mark], str] = lambda mark: "", options: Options | None = None
) -> TextDocument:
    """All marked places with their origin: what goes into a bug report. `gone` says why a mark leads nowhere, '' if it does."""
    builder = Builder("@marks", "marks", options)
    if not marks:
        builder.add("Nothing is marked yet: lines and nodes of the tree can be.  ", key_hint(builder.options, "app.mark"))
    for mark in marks:
        builder.blank()
        place = f", line {mark.line}" if mark.line else ""
        builder.add((f"{mark.title}{place}", tokens.LINK, mark.target), (f"   {mark.ref}", tokens.DIM))
        if why := gone(mark):
            builder.add("  ", (why, tokens.WARN))
        if mark.note:
            builder.add("  ", (mark.note, tokens.STRONG))
        if mark.text:
            builder.add("    ", mark.text)
    return builder.document(tuple(marks))
