"""Documents as files: the format by the suffix of the name; a file is there whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from tltui.export.jsons import to_json
from tltui.export.plain import plain
from tltui.text.atomic import replacing
from tltui.text.document import Document
from tltui.text.filename import safe_name
from tltui.text.part import Part

SUFFIXES = {".txt": "text", ".ansi": "ansi", ".md": "markdown", ".html": "html", ".htm": "html", ".json": "json"}
"""Suffix → format."""
SCHEMA = 1
"""Version of the JSON that is written for a document."""


class WouldOverwrite(Exception):
    """The file exists, and nobody has agreed to replace it."""


def format_of(path: str) -> str:
    """The format that a file name's suffix asks for; text for any other."""
    return SUFFIXES.get(os.path.splitext(path)[1].lower(), "text")


def proposed_name(document: Document) -> str:
    """What the export asks to be called."""
    suffix = {"fx": ".py", "output_code": ".py", "python": ".py", "cpp": ".cpp", "json": ".json"}.get(document.language, ".txt")
    return safe_name(document.ref or document.title, suffix)


def lines_of(document: Document, style: str = "text", lo: int = 0, hi: int | None = None) -> Iterator[str]:
    """The lines of a document (`lo` to `hi`, exclusive) as text, ANSI or markdown, whole and uncapped."""
    if style == "markdown":
        from tltui.export.markdown import markdown

        return markdown(document, lo, hi)
    return plain(document, style == "ansi", lo, hi)


def pieces_of(document: Document, style: str, lo: int = 0, hi: int | None = None, of: str = "") -> Iterator[str]:
    """A document in any format of `SUFFIXES`, in pieces. `of`: what was opened: HTML names it."""
    if style == "html":
        from tltui.export.html import page

        yield from page(document, lo, hi, of)
    elif style == "json" and document.language != "json":
        yield _json_of(document, lo, hi) + "\n"
    else:
        for line in lines_of(document, style, lo, hi):
            yield line + "\n"


def _json_of(document: Document, lo: int, hi: int | None) -> str:
    """The result behind a page, as `tltui show --json` prints it; of a part of one, and of an artifact, the text."""
    while not document.advance():
        pass
    is_whole = lo == 0 and hi is None and not document.language and not isinstance(document, Part)
    result = document.data() if is_whole else None
    content = {"text": "\n".join(document.text(lo, hi))} if result is None else {"result": result}
    return to_json({"schema": SCHEMA, "ref": document.ref, "title": document.title, **content}).decode()


def write(document: Document, path: str, style: str = "", lo: int = 0, hi: int | None = None, force: bool = False) -> int:
    """Write a document to a file, in the format that its suffix or `style` says; the number of lines written. `~` works; the file
    appears whole or not at all.

    Raises `WouldOverwrite`, and OSError with a message that names what failed.
    """
    target = Path(path).expanduser()
    count = 0
    try:
        with replacing(target, force=force) as file:
            for piece in pieces_of(document, style or format_of(path), lo, hi):
                file.write(piece.encode("utf-8", "backslashreplace"))
                count += piece.count("\n")
    except FileExistsError as error:
        if error.errno == errno.EEXIST:
            raise WouldOverwrite(str(target)) from None
        raise
    return count
