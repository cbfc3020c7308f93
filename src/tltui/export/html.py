"""A document as HTML: a fragment or a self-contained file, without scripts or external resources, whatever a trace holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from html import escape
from itertools import pairwise

from tltui import __version__
from tltui.model.ref import split_line
from tltui.text import tokens
from tltui.text.bytes_document import BytesDocument
from tltui.text.composite_documents import DocumentPart
from tltui.text.document import Document, Line, Link, Section, Span
from tltui.text.formatting import EIGHTHS, LEVELS
from tltui.text.sanitize import sanitize
from tltui.text.tokens import COLOURS, TRUE
from tltui.text.torch_names import is_graph_break_page

DEEPEST = 8
"""Maximum indentation, in steps of two cells, that a wrapped line keeps."""
_NAMES = ("page", "ink", "dim", "accent", "bar", "rule", "match", "cursor-away",
          *(name for name in COLOURS if name.startswith(("tok-", "phase-"))))  # fmt: skip
_LOOKS: dict[str, str] = {
    **{name: f"color:var(--{name})" for name in tokens.PHASES},
    **dict.fromkeys((tokens.OK, tokens.ADDED), "color:var(--tok-ok)"),
    **dict.fromkeys((tokens.BREAK, tokens.WARN, tokens.CHANGED), "color:var(--tok-break)"),
    **dict.fromkeys((tokens.ERROR, tokens.EXCEPTION), "color:var(--tok-error);font-weight:700"),
    tokens.REMOVED: "color:var(--tok-error)",
    **dict.fromkeys((tokens.UNFINISHED, tokens.RUNNING, tokens.SEEN), "color:var(--tok-running)"),
    **dict.fromkeys((tokens.TITLE, tokens.STRONG, tokens.DEFINITION), "font-weight:700"),
    tokens.HEADING: "color:var(--tok-heading);font-weight:700",
    **dict.fromkeys((tokens.EMPTY, tokens.LABEL, tokens.DIM, tokens.COMMENT), "color:var(--dim)"),
    tokens.CONTROL: "color:var(--page);background:var(--tok-error)",
    **{name: f"color:var(--tok-{name})" for name in (
        tokens.EAGER, tokens.RECOMPILE, tokens.LINK, tokens.KEYWORD, tokens.FUNCTION, tokens.TYPE, tokens.STRING, tokens.ORIGIN,
        tokens.DECORATOR, tokens.KEY, tokens.CONSTANT)},
}  # fmt: skip
"""Token → CSS, as in the UI's `styles.tcss`; other tokens look like plain text."""


def _variables(theme: str) -> str:
    column = TRUE.index(theme)
    return "".join(f"--{name}:{COLOURS[name][column]};" for name in _NAMES)


def _indents() -> str:
    return "".join(f".tltui .in{level}{{--in:{2 * level + 2}ch}}" for level in range(DEEPEST + 1)) + "\n"


def _tokens() -> str:
    return "".join(f".tltui .{name}{{{rules}}}\n" for name, rules in _LOOKS.items())


STYLE = f"""
.tltui{{color-scheme:light dark;{_variables("light")}}}
@media screen and (prefers-color-scheme:dark){{.tltui{{{_variables("dark")}}}}}
.tltui{{background:var(--page);color:var(--ink);line-height:1.45;-webkit-text-size-adjust:100%;
font-family:ui-monospace,"Cascadia Mono","JetBrains Mono","SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;
font-size:clamp(11px,calc((100vw - 2.5rem)/61),14px)}}
.tltui body{{margin:0 auto;padding:0 1.25rem 3rem;max-width:88rem}}
.tltui h1,.tltui h2,.tltui h3,.tltui h4,.tltui h5,.tltui h6{{line-height:1.3;margin:1.6em 0 .5em;overflow-wrap:anywhere}}
.tltui h1{{font-size:1.35em}}
.tltui h2,.tltui h3,.tltui h4,.tltui h5,.tltui h6{{font-size:1.1em;color:var(--tok-heading)}}
.tltui pre{{margin:0 0 .9em;font:inherit;overflow-x:auto;direction:ltr;tab-size:4}}
@media(max-width:44rem){{.tltui pre:not(.code){{white-space:pre-wrap;overflow-wrap:anywhere}}
.tltui .wraps{{display:block;padding-left:var(--in);text-indent:calc(-1*var(--in))}}}}
{_indents()}.tltui pre.code{{padding:.7em .9em;border:1px solid var(--rule);border-radius:6px}}
.tltui pre span,.tltui pre a{{unicode-bidi:isolate}}
.tltui .many{{display:block;width:max-content;min-width:100%;content-visibility:auto;contain-intrinsic-size:auto 100% auto 2000lh}}
.tltui summary{{cursor:pointer;white-space:pre-wrap;overflow-wrap:anywhere;padding:.15em 0}}
.tltui summary>:is(h1,h2,h3,h4,h5,h6){{display:inline;margin:0}}
.tltui details{{margin:0 0 .5em}}
.tltui details>:not(summary){{margin-left:.35em;padding-left:.9em}}
.tltui details[open]{{border-left:2px solid var(--rule);padding-left:.7em}}
.tltui details[open]>:not(summary){{margin-left:0;padding-left:.5em}}
.tltui details[open]>pre.code{{padding-left:.9em}}
.tltui a{{color:var(--tok-link);text-decoration:underline;text-underline-offset:.25em}}
.tltui a.stands{{text-decoration-style:double}}
.tltui a:hover{{text-decoration-thickness:2px}}
.tltui :focus-visible{{outline:2px solid var(--accent);outline-offset:2px;border-radius:2px}}
.tltui .gone{{text-decoration:underline dotted;text-underline-offset:.25em;cursor:help}}
.tltui :target{{scroll-margin-top:1em}}
.tltui pre span:target,.tltui summary span:target{{background:var(--match);outline:2px solid var(--match)}}
.tltui section{{scroll-margin-top:.5em}}
.tltui .head{{margin:0 -1.25rem 1.2em;padding:.75em 1.25rem;background:var(--bar);display:flex;gap:1em;align-items:baseline}}
.tltui .head>span{{color:var(--accent);font-weight:700}}
.tltui .head h1{{margin:0;font-size:1.1em;min-width:0}}
.tltui nav ul{{list-style:none;margin:0 0 1em;padding:0;display:flex;flex-wrap:wrap;gap:.25em 1.4em}}
.tltui footer{{margin-top:2.5em;padding-top:.6em;border-top:1px solid var(--rule);color:var(--dim);overflow-wrap:anywhere}}
.tltui .bars{{position:relative;-webkit-text-fill-color:transparent}}
.tltui .bars svg{{position:absolute;left:0;top:0;width:100%;height:100%;fill:currentColor;pointer-events:none}}
.tltui .skip{{position:absolute;left:-99rem}}
.tltui .skip:focus{{left:1.25rem;top:.4rem;padding:.2em .6em;background:var(--page);z-index:1}}
{_tokens()}@media print{{.tltui{{font-size:9pt}}.tltui body{{max-width:none;padding:0}}.tltui nav,.tltui .skip{{display:none}}
.tltui pre{{white-space:pre-wrap;overflow-wrap:anywhere;overflow:visible}}.tltui .many{{content-visibility:visible;width:auto}}
.tltui a{{color:inherit}}.tltui .head{{background:none;padding:0;margin:0 0 1em;border-bottom:1px solid var(--rule)}}
.tltui h2,.tltui h3{{break-after:avoid}}
.tltui details::details-content{{content-visibility:visible!important;block-size:auto!important}}}}
@media(prefers-contrast:more){{.tltui{{--dim:var(--ink);--rule:var(--ink)}}}}
"""


POLICY = "default-src 'none'; style-src 'unsafe-inline'"

Target = Callable[[str], str]
"""The target of a document's link (an address, `line:N`, `file:…`) → its href: `#a12` in this file, or `https://…`; '' for no link,
and `?why` for text with a tooltip: how to get the content that is not in the file. `#a12?why` is a link to a substitute, with a
tooltip.
"""
GONE = "?"
PAGE = "page"
"""The id of the document in a file with one document."""
MANY = 2_000
"""Lines of a long document that a browser lays out together, when they scroll into view."""
NARROW = 50
"""Cells of a page's line on the narrowest screen; longer lines wrap there, with their indentation."""
CONTENTS = 4
"""Minimum number of headings for a table of contents."""
_SAFE = re.compile(r"#[A-Za-z][A-Za-z0-9-]*|https?://[^\s\"'<>\\]+")
_ID = re.compile("[A-Za-z][A-Za-z0-9-]*")
_STYLES = frozenset(tokens.ALL)


def nowhere(target: str) -> str:
    """Return no href for any target."""
    return ""


def line_id(name: str, line: int) -> str:
    """Return the id of a line (from 1) of the fragment `name`."""
    return f"{name}-l{line}"


def text(raw: str) -> str:
    """Escape untrusted text for HTML content or an attribute."""
    return escape(sanitize(raw))


def fragment(
    document: Document, name: str = "", target: Target = nowhere, lo: int = 0, hi: int | None = None, *,
    level: int = 2, heading: bool = True, marked: Collection[int] = (),
) -> Iterator[str]:  # fmt: skip
    """Yield the lines `lo` to `hi` (exclusive) of a document as a `<section id=name>`, in pieces.

    `name`: letters, digits, hyphens. `heading`: whether the title precedes them as `<h{level}>`; headings of a page are one level
    below. Folded sections are `<details>`. Links to lines of the document itself work; lines `marked` (from 1) have an id
    (`line_id`) besides those. Raises ValueError for another `name`.
    """
    if name and not _ID.fullmatch(name):
        raise ValueError(f"no id: {name!r}")
    while not document.advance():
        pass
    end = len(document) if hi is None else min(hi, len(document))
    yield f'<section id="{name}">' if name else "<section>"
    if heading:
        yield f"<h{level}>{text(document.title)}</h{level}>"
    yield "\n"
    yield from _Body(document, name, target, lo, end, level + 1, marked).pieces()
    yield "</section>\n"


class _Body:
    """The lines of a fragment: boxes of text, cut at headings and folds."""

    def __init__(
        self, document: Document, name: str, target: Target, lo: int, end: int, level: int, marked: Collection[int]
    ) -> None:
        self._document, self._name, self._target = document, name, target
        self._lo, self._end, self._level = lo, end, min(level, 6)
        self._is_page = document.language == ""
        self._opening = "<pre>" if self._is_page else "<pre class=code>"
        self._chunked = end - lo > MANY
        inside = [section for section in document.sections() if lo <= section.first < section.last < end]
        self._headings = {section.first for section in headings(document)} if self._is_page else set()
        self._folds = {section.first: section.last for section in inside if section.folded}
        self._ids = {*marked, *self._linked_lines(), *(n + 1 for n in self._headings)} if name else set()
        self._in_box = 0
        """Lines in the box that is open."""
        self._blanks = 0
        """Empty lines that are not written yet: at the end of a box they are its margin."""

    def pieces(self) -> Iterator[str]:
        """Yield all HTML."""
        open_: list[int] = []
        for n in range(self._lo, self._end):
            if n in self._folds:
                open_.append(self._folds[n])
                yield self._closed() + "<details><summary>"
                yield from self._head(n)
                yield "</summary>\n"
            elif n in self._headings:
                yield self._closed()
                yield from self._head(n)
                yield "\n"
            else:
                yield from self._row(n)
            while open_ and open_[-1] == n:
                open_.pop()
                yield self._closed() + "</details>\n"
        yield self._closed() + "</details>\n" * len(open_)

    def _head(self, n: int) -> Iterator[str]:
        """Yield the first line of a section."""
        if n in self._headings:
            id_ = f' id="{line_id(self._name, n + 1)}"' if self._name else ""
            yield f"<h{self._level}{id_}>{text(self._document.line(n).text)}</h{self._level}>"
        else:
            yield from self._line(n, is_head=True)

    def _row(self, n: int) -> Iterator[str]:
        if not self._document.length(n) and n + 1 not in self._ids:
            self._blanks += bool(self._in_box)
            return
        if not self._in_box:
            yield self._opening + ("<span class=many>" if self._chunked else "")
        elif self._chunked and self._in_box // MANY != (self._in_box + self._blanks + 1) // MANY:
            yield "\n" * self._blanks + "</span><span class=many>"
            self._in_box += self._blanks
            self._blanks = 0
        self._in_box += self._blanks + 1
        yield "\n" * self._blanks
        self._blanks = 0
        if not self._is_page or self._document.length(n) <= NARROW:
            yield from self._line(n)
            yield "\n"
            return
        start = self._document.line(n).text
        yield f'<span class="wraps in{min((len(start) - len(start.lstrip())) // 2, DEEPEST)}">'
        yield from self._line(n)
        yield "\n</span>"  # as a block it ends without a line of its own

    def _closed(self) -> str:
        """Return the end tags of the open box; '' if none is open."""
        self._blanks = 0
        if not self._in_box:
            return ""
        self._in_box = 0
        return ("</span>" if self._chunked else "") + "</pre>\n"

    def _line(self, n: int, is_head: bool = False) -> Iterator[str]:
        """Yield a line, a long one in windows; the first line of a fold without its indentation."""
        has_id = n + 1 in self._ids
        if has_id:
            yield f'<span id="{line_id(self._name, n + 1)}">'
        at, length = 0, self._document.length(n)
        if is_head:
            start = self._document.line(n).text
            at = len(start) - len(start.lstrip())
        while True:
            line = self._document.line(n, at, length)
            yield _marked_up(line, self._href, self._is_page)
            at += len(line.text)
            if not line.text or at >= length:
                break
        if has_id:
            yield "</span>"

    def _href(self, target: str) -> str:
        """Return the href of a link; links to lines of this document stay in it."""
        if is_graph_break_page(target):
            return target
        number = self._line_of(target)
        if number is None:
            return self._target(target)
        if number in self._ids and self._lo < number <= self._end:
            return f"#{line_id(self._name, number)}"
        return "" if target.startswith("line:") else self._target(target)

    def _line_of(self, target: str) -> int | None:
        """Return the line (from 1) of the document itself that a target names: `line:12`, or its own address and `@L12`.

        None in a `DocumentPart`: its line numbers are not those of the document.
        """
        if isinstance(self._document, DocumentPart):
            return None
        if target.startswith("line:"):
            return int(target[5:]) if target[5:].isdecimal() and len(target) < 20 else None
        ref, line = split_line(target)
        return line if line is not None and ref == self._document.ref else None

    def _linked_lines(self) -> Iterator[int]:
        """Yield the lines (from 1) that links of the document lead to. Links of a payload lead to files only."""
        if isinstance(self._document, BytesDocument):
            return
        for n in range(self._lo, self._end):
            for link in self._document.line(n).links:
                number = self._line_of(link.target)
                if number is not None and self._lo < number <= self._end:
                    yield number


def headings(document: Document) -> list[Section]:
    """Return the sections of a page by tltui whose first line is a heading."""
    if document.language:
        return []
    return [section for section in document.sections() if section.level == 0 and _is_heading(document.line(section.first))]


def _is_heading(line: Line) -> bool:
    return any(span.style == tokens.HEADING and span.start == 0 and span.end >= len(line.text) for span in line.spans)


def _marked_up(line: Line, target: Target, is_page: bool) -> str:
    """Return a line, or a window of one, with its styles and links, cut where they overlap; bars of pages are drawn."""
    marked = _with_bars if is_page else text
    whole_text = line.text
    if not line.spans and not line.links:
        return marked(whole_text)
    marks: tuple[Span | Link, ...] = (*line.spans, *line.links)
    ends = {min(max(at - line.first, 0), len(whole_text)) for mark in marks for at in (mark.start, mark.end)}
    out: list[str] = []
    before = ""
    for start, end in pairwise(sorted({0, len(whole_text), *ends})):
        at = start + line.first
        style = next((span.style for span in line.spans if span.start <= at < span.end), "")
        link = next((link for link in line.links if link.start <= at < link.end), None)
        opening = "" if link is None else _opened(link, target)
        if opening != before:
            out.append(_closing(before) + opening)
            before = opening
        piece = marked(whole_text[start:end])
        if style == tokens.LINK and link is not None and not opening:
            style = ""  # what looks like a link is one
        out.append(f"<span class={style}>{piece}</span>" if style in _STYLES else piece)
    out.append(_closing(before))
    return "".join(out)


_SIZES = {
    **{glyph: (eighths, 8) for eighths, glyph in enumerate(EIGHTHS, 1)},
    **{glyph: (8, eighths) for eighths, glyph in enumerate(LEVELS) if eighths},
}
"""Glyph → width and height in eighths of its cell; it fills the cell from the left and from below."""


_BLOCKS = re.compile(f"[{''.join(_SIZES)}]+")


def _with_bars(raw: str) -> str:
    """Escape a text and draw its runs of block elements, whose glyphs differ between fonts and leave gaps between lines."""
    return _BLOCKS.sub(lambda run: _bars(run[0]), text(raw))


def _bars(glyphs: str) -> str:
    """Lay an image over a run of block elements. Its text is invisible, but gives the width, and can be copied and read aloud."""
    boxes: list[list[int]] = []
    for number, glyph in enumerate(glyphs):
        width, height = _SIZES[glyph]
        if boxes and boxes[-1][2] == height and boxes[-1][0] + boxes[-1][1] == 8 * number:
            boxes[-1][1] += width
        else:
            boxes.append([8 * number, width, height])
    path = "".join(f"M{left} {8 - height}h{width}v{height}h-{width}z" for left, width, height in boxes)
    image = f'<svg viewBox="0 0 {8 * len(glyphs)} 8" preserveAspectRatio=none aria-hidden=true><path d="{path}"/></svg>'
    return f"<span class=bars>{glyphs}{image}</span>"


def _opened(link: Link, target: Target) -> str:
    leads = target(link.target)
    if leads.startswith(GONE):
        return f'<span class=gone title="{text(leads[1:])}">'
    if leads.startswith("#"):
        leads, _, why = leads.partition(GONE)
    else:
        why = ""
    if not _SAFE.fullmatch(leads) or leads != sanitize(leads):
        return ""
    rel = "" if leads.startswith("#") else ' rel="noopener noreferrer"'
    title = f' class=stands title="{text(why)}"' if why else ""
    return f'<a href="{escape(leads)}"{rel}{title}>'


def _closing(opening: str) -> str:
    return "" if not opening else "</a>" if opening.startswith("<a ") else "</span>"


def embedded(document: Document, lo: int = 0, hi: int | None = None) -> Iterator[str]:
    """Yield a document for embedding in another page (a notebook); its styles are scoped."""
    yield f"<div class=tltui><style>{STYLE}</style>\n"
    yield from fragment(document, lo=lo, hi=hi, level=3)
    yield "</div>\n"


def page(document: Document, lo: int = 0, hi: int | None = None, of: str = "") -> Iterator[str]:
    """Yield a file with one document, in pieces. `of`: the opened path for the footer, or ''."""

    def body() -> Iterator[str]:
        while not document.advance():
            pass
        yield f'<a class=skip href="#{PAGE}">To the text</a>\n'
        yield f"<header class=head><span>tltui</span> <h1>{text(document.title)}</h1></header>\n"
        end = len(document) if hi is None else hi
        titles = [item for item in headings(document) if lo <= item.first < item.last < end]
        if len(titles) >= CONTENTS:
            yield "<nav aria-label=Contents><ul>"
            for item in titles:
                yield f'<li><a href="#{line_id(PAGE, item.first + 1)}">{text(item.title)}</a></li>'
            yield "</ul></nav>\n"
        yield "<main>\n"
        target = _standalone_target(document)
        yield from fragment(document, PAGE, target, lo, hi, level=1, heading=False)
        yield "</main>\n"
        if origin := [text(item) for item in (document.ref, f"of {of}" if of else "") if item]:
            yield f"<footer>{' '.join(origin)} · tltui {text(__version__)}</footer>\n"

    return html_file(document.title, body())


def _standalone_target(document: Document) -> Target:
    """Return the link targets of a document that is alone in a file."""
    return lambda target: f"#{PAGE}" if target == document.ref and target else target if target.startswith("http") else ""


def html_file(title: str, body: Iterable[str], style: str = "") -> Iterator[str]:
    """Yield a self-contained file with the given body, in pieces. `style`: additional CSS."""
    yield "<!DOCTYPE html>\n<html lang=en class=tltui>\n<head>\n<meta charset=utf-8>\n"
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
    yield '<meta name=viewport content="width=device-width, initial-scale=1">\n<meta name=color-scheme content="light dark">\n'
    yield f"<meta name=referrer content=no-referrer>\n<title>{text(title)}</title>\n<style>{STYLE}{style}</style>\n"
    yield "</head>\n<body>\n"
    yield from body
    yield "</body>\n</html>\n"
