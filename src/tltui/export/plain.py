"""A document → text, or text with the 16 colours that every terminal has."""

from __future__ import annotations

from collections.abc import Iterator

from tltui.text import tokens
from tltui.text.document import Document, Line

SGR: dict[str, str] = {
    tokens.OK: "32", tokens.BREAK: "33", tokens.ERROR: "1;31", tokens.EAGER: "31", tokens.EMPTY: "2",
    tokens.MISSING: "35", tokens.RUNNING: "35", tokens.SEEN: "2", tokens.WARN: "33", tokens.RECOMPILE: "36",
    tokens.TITLE: "1", tokens.HEADING: "1;34", tokens.LABEL: "2", tokens.DIM: "2", tokens.STRONG: "1",
    tokens.LINK: "4;36", tokens.CONTROL: "7",
    tokens.KEYWORD: "35", tokens.DEFINITION: "1", tokens.FUNCTION: "34", tokens.TYPE: "36", tokens.STRING: "32",
    tokens.NUMBER: "33", tokens.COMMENT: "2", tokens.ORIGIN: "1;33", tokens.DECORATOR: "35", tokens.KEY: "34",
    tokens.CONSTANT: "35", tokens.EXCEPTION: "31",
    tokens.ADDED: "32", tokens.REMOVED: "31", tokens.CHANGED: "33",
    tokens.PHASE_DYNAMO: "33", tokens.PHASE_AUTOGRAD: "32", tokens.PHASE_INDUCTOR: "34", tokens.PHASE_CACHE: "36",
    tokens.PHASE_KERNELS: "35", tokens.PHASE_GUARDS: "31", tokens.PHASE_OTHER: "2",
}  # fmt: skip
"""Style → ANSI code of the 16 colours that every terminal has."""


def ansi(line: Line) -> str:
    """A line with ANSI colours. The text itself is sanitised already."""
    text, at, out = line.text, line.first, []
    done = at
    for span in sorted(line.spans, key=lambda span: span.start):
        start, end = max(span.start, done), min(span.end, at + len(text))
        code = SGR.get(span.style)
        if code is None or start >= end:
            continue
        out.append(text[done - at : start - at])
        out.append(f"\x1b[{code}m{text[start - at : end - at]}\x1b[0m")
        done = end
    out.append(text[done - at :])
    return "".join(out)


def brief_lines(document: Document, style: str = "text") -> Iterator[str]:
    """All lines as text or ANSI, but for what is aside: of torch's own frames in a row, how many there are."""
    while not document.advance():
        pass
    done = 0
    for section in document.sections() if document.language in ("", "traceback") else ():
        if not section.aside or section.first < done:
            continue
        yield from plain(document, style == "ansi", done, section.first)
        head = document.line(section.first).text
        if head.endswith(section.title):
            yield from plain(document, style == "ansi", section.first, section.first + 1)
        else:  # a text of torch's begins with the first of the frames
            yield _dim(head[: len(head) - len(head.lstrip())] + section.title, style)
        done = section.last + 1
    yield from plain(document, style == "ansi", done, len(document))
    if done:
        yield ""
        yield _dim("Torch's own frames are counted only: --all prints them.", style)


def _dim(text: str, style: str) -> str:
    return f"\x1b[{SGR[tokens.DIM]}m{text}\x1b[0m" if style == "ansi" else text


def plain(document: Document, colours: bool = False, lo: int = 0, hi: int | None = None) -> Iterator[str]:
    """The lines `lo` to `hi` (exclusive) of a document, whole."""
    while not document.advance():
        pass
    if not colours:
        yield from document.text(lo, hi)
        return
    for n in range(lo, len(document) if hi is None else min(hi, len(document))):
        length = document.length(n)
        line = document.line(n)
        text = ansi(line)
        at = len(line.text)
        while at < length and line.text:  # a long line comes in windows
            line = document.line(n, at, length)
            text += ansi(line)
            at += len(line.text)
        yield text
