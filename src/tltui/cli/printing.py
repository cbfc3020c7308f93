"""Documents and results → bytes, as they suit what they are printed on."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tltui.text.document import Document, Options


def layout(options: argparse.Namespace) -> Options:
    """How a document is laid out for the terminal, or for what stands in its place."""
    from tltui.text.document import Options

    sort, filtered = str(getattr(options, "sort", "")), str(getattr(options, "filter", ""))
    one, raw = str(getattr(options, "part", "")), bool(getattr(options, "raw", False))
    return Options(width=_width(), sort=sort, filter=filtered, part=one, raw=raw, ascii=_ascii(options))


def _width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and len(columns) < 10 and int(columns) > 0:
        return min(max(int(columns), 40), 400)
    try:
        return min(max(os.get_terminal_size(sys.stdout.fileno()).columns, 40), 200)
    except (OSError, ValueError):
        return 100


def _ascii(options: argparse.Namespace) -> bool:
    if options.ascii is not None:
        return bool(options.ascii)
    return (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "utf16", "utf32")


def _style(options: argparse.Namespace) -> str:
    """Colours on a terminal or when asked for."""
    if getattr(options, "markdown", False):
        return "markdown"
    if options.color:
        return "ansi"
    return "ansi" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" else "text"


def write(chunks: Iterable[bytes]) -> None:
    """Print: in blocks, so that `| head` ends us early."""
    out = sys.stdout.buffer
    for chunk in chunks:
        out.write(chunk)
    out.flush()


def as_text(document: Document, options: argparse.Namespace, whole: bool = False) -> Iterator[bytes]:
    """The lines of a document. On a terminal torch's own frames are a line with their number, unless all of them are wanted."""
    from tltui.export import brief_lines, lines_of

    encoding, style = sys.stdout.encoding or "utf-8", _style(options)
    brief = sys.stdout.isatty() and style != "markdown" and not (whole or options.all)
    for line in brief_lines(document, style) if brief else lines_of(document, style):
        yield (line + "\n").encode(encoding, "backslashreplace")


def as_json(value: object, indent: bool = True) -> Iterator[bytes]:
    """A result."""
    from tltui.export import to_json

    yield to_json(value, indent) + b"\n"


def result_of(document: Document) -> object:
    """The result behind a document, when it is whole."""
    while not document.advance():
        pass
    return document.data()


def printed(document: Document, options: argparse.Namespace) -> Iterator[bytes]:
    """A document, or with --json the result behind it."""
    yield from as_json(result_of(document)) if options.json else as_text(document, options)


def message(text: str) -> bytes:
    """A line about what was done."""
    return f"{text}\n".encode("utf-8", "backslashreplace")
