"""A document → HTML: a fragment, or a file that stands by itself. No script, nothing loaded, whatever a trace holds.

What a file may do is said in its own head (`Content-Security-Policy`): nothing but its own styles. Every text is escaped, no name
of a trace stands in an attribute as it is, and only links to `http`, `https` and places of the same file are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from html import escape
from itertools import pairwise

from tltui.text.document import Document, Line

POLICY = "default-src 'none'; style-src 'unsafe-inline'"

Target = Callable[[str], str]
"""The target of a link of a document (an address, `line:N`, `file:…`) → where it leads: `#a12` in this file, or `https://…`; '' for
nowhere, and `?why` for text that says so when it is pointed at: what to do to have what is not in the file."""
GONE = "?"
_SAFE = re.compile(r"#[A-Za-z][A-Za-z0-9-]*|https?://[^\s\"'<>]*")


def nowhere(target: str) -> str:
    """No link leads anywhere."""
    return ""


def line_id(name: str, line: int) -> str:
    """The id of a line (from 1) of the fragment `name`."""
    return f"{name}-l{line}"


def fragment(
    document: Document, name: str = "", target: Target = nowhere, lo: int = 0, hi: int | None = None, *,
    level: int = 2, heading: bool = True, marked: Collection[int] = (),
) -> Iterator[str]:  # fmt: skip
    """The lines `lo` to `hi` (exclusive) of a document as a `<section id=name>`, in pieces. `name`: letters, digits, hyphens.

    `heading`: whether the title stands above them, as `<h{level}>`. Folded sections are `<details>`. Links to lines of the document
    itself work; lines `marked` (from 1) have an id (`line_id`) besides those.
    """
    while not document.advance():
        pass
    end = len(document) if hi is None else min(hi, len(document))
    yield f'<section id="{escape(name)}">' if name else "<section>"
    if heading:
        yield f"<h{level}>{escape(document.title)}</h{level}>"
    yield "\n<pre>"
    wanted = {*marked, *_own_lines(document, lo, end)} if name else set()
    folds = {
        section.first: section.last
        for section in document.sections()
        if section.folded and lo <= section.first < section.last < end
    }
    open_: list[int] = []

    def leads(to: str) -> str:
        number = to.removeprefix("line:")
        if number == to:
            return target(to)
        return f"#{line_id(name, int(number))}" if number.isdecimal() and int(number) in wanted and lo < int(number) <= end else ""

    for n in range(lo, end):
        text = _line(document.line(n, 0, document.length(n)), leads)
        if n + 1 in wanted:
            text = f'<span id="{escape(line_id(name, n + 1))}">{text}</span>'
        if n in folds:
            open_.append(folds[n])
            yield f"</pre><details><summary>{text}</summary><pre>\n"
        else:
            yield text + "\n"
        while open_ and open_[-1] == n:
            open_.pop()
            yield "</pre></details><pre>\n"
    yield "</pre></details><pre>\n" * len(open_)
    yield "</pre></section>\n"


def _own_lines(document: Document, lo: int, hi: int) -> Iterator[int]:
    """Lines (from 1) that links of the document lead to."""
    for n in range(lo, hi):
        for link in document.line(n).links:
            number = link.target.removeprefix("line:")
            if number != link.target and number.isdecimal():
                yield int(number)


def _line(line: Line, target: Target) -> str:
    """A line with its styles and links. Where they begin and end in one another the text is cut there."""
    text = line.text
    edges = [at - line.first for span in line.spans for at in (span.start, span.end)]
    edges += [at - line.first for link in line.links for at in (link.start, link.end)]
    cuts = sorted({0, len(text), *(min(max(at, 0), len(text)) for at in edges)})
    out: list[str] = []
    before = ""
    for start, end in pairwise(cuts):
        at = start + line.first
        style = next((span.style for span in line.spans if span.start <= at < span.end), "")
        link = next((link for link in line.links if link.start <= at < link.end), None)
        opening = _opening(target(link.target)) if link is not None else ""
        if opening != before:
            out.append(_closing(before) + opening)
            before = opening
        piece = escape(text[start:end])
        out.append(f'<span class="{escape(style)}">{piece}</span>' if style else piece)
    out.append(_closing(before))
    return "".join(out)


def _opening(leads: str) -> str:
    if leads.startswith(GONE):
        return f'<span class="gone" title="{escape(leads[1:])}">'
    return f'<a href="{escape(leads)}">' if _SAFE.fullmatch(leads) else ""


def _closing(opening: str) -> str:
    return "" if not opening else "</a>" if opening.startswith("<a ") else "</span>"


def whole(title: str, body: Iterable[str], style: str = "") -> Iterator[str]:
    """A file of such fragments that stands by itself, in pieces. `style`: what it has of styles besides."""
    yield "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n<title>{escape(title)}</title>\n'
    if style:
        yield f"<style>{style}</style>\n"
    yield "</head>\n<body>\n"
    yield from body
    yield "</body>\n</html>\n"
