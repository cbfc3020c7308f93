"""A document → HTML: a fragment, or a file that stands by itself. No script, nothing loaded, whatever a trace holds.

What a file may do is said in its own head (`Content-Security-Policy`): nothing but its own styles. Every text is escaped, no name
of a trace stands in an attribute as it is, and only links to `http`, `https` and places of the same file are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape

from tltui.text.document import Document, Line

POLICY = "default-src 'none'; style-src 'unsafe-inline'"

Target = Callable[[str], str]
"""The target of a link of a document (an address, `line:N`, `file:…`) → where it leads: `#a12` in this file, or `https://…`; '' for
nowhere."""


def nowhere(target: str) -> str:
    """No link leads anywhere."""
    return ""


def fragment(document: Document, name: str = "", target: Target = nowhere, lo: int = 0, hi: int | None = None) -> Iterator[str]:
    """The lines `lo` to `hi` (exclusive) of a document as a `<section id=name>` with a heading, in pieces. `name`: letters, digits,
    hyphens."""
    while not document.advance():
        pass
    yield f'<section id="{escape(name)}">' if name else "<section>"
    yield f"<h2>{escape(document.title)}</h2>\n<pre>"
    for n in range(lo, len(document) if hi is None else min(hi, len(document))):
        yield _line(document.line(n), target) + "\n"
    yield "</pre></section>\n"


def _line(line: Line, target: Target) -> str:
    out, done = [], 0
    for span in sorted(line.spans, key=lambda span: span.start):
        start = max(span.start, done)
        if span.end > start:
            out.append(escape(line.text[done:start]))
            out.append(f'<span class="{escape(span.style)}">{escape(line.text[start : span.end])}</span>')
            done = span.end
    out.append(escape(line.text[done:]))
    return "".join(out)


def whole(title: str, body: Iterable[str]) -> Iterator[str]:
    """A file of such fragments that stands by itself, in pieces."""
    yield "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n<title>{escape(title)}</title>\n'
    yield "</head>\n<body>\n"
    yield from body
    yield "</body>\n</html>\n"
