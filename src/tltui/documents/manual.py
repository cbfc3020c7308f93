"""The guide and the glossary inside of the program: markdown that ships with it, as the pages `@guide` and `@glossary`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from tltui.documents.page import Page
from tltui.model.ref import BadAddress, parse_ref
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument
from tltui.text.formatting import cells as wide
from tltui.text.frozen import frozen

if TYPE_CHECKING:
    from markdown_it.token import Token

CHAPTERS = (
    "first-trace", "recompiles", "graph-breaks", "compile-time", "ranks", "hangs", "logs", "kernels", "run-time", "ci", "sharing",
    "clusters", "tlparse",
)  # fmt: skip
"""Names of the chapters, in the order in which they are listed: the file `docs/guide/NAME.md`, the page `@guide::NAME`."""
_ENTRY = re.compile(r'^\| <a id="(?P<name>[\w.-]+)"></a>(?P<word>[^|]+?) \|', re.MULTILINE)


@frozen
class Entry:
    """A word that the glossary explains."""

    name: str
    """Of its anchor, and in its address: `graph-break`."""
    word: str
    heading: str
    cells: tuple[str, ...]
    """Its row, as markdown, without the word."""
    columns: tuple[str, ...]
    """What stands above the cells."""


@cache
def text_of(name: str) -> str:
    """Read the markdown of a chapter (`guide/recompiles`) or of `glossary`. Raises OSError."""
    folder, _, file = f"{name}.md".rpartition("/")
    shipped = files("tltui").joinpath("help")
    if shipped.is_dir():  # also in a zip
        return (shipped.joinpath(folder) if folder else shipped).joinpath(file).read_text(encoding="utf-8")
    return Path(__file__).parents[3].joinpath("docs", folder, file).read_text("utf-8")


def title_of(chapter: str) -> str:
    """`My model recompiles`."""
    return text_of(f"guide/{chapter}").partition("\n")[0].removeprefix("# ")


def symptom_of(chapter: str) -> str:
    """Return the quote of a chapter: its symptom in the user's words."""
    quoted = re.search(r"(?:^> .*\n)+", text_of(f"guide/{chapter}"), re.MULTILINE)
    return " ".join(line[2:] for line in quoted[0].splitlines()) if quoted else ""


@cache
def entries() -> dict[str, Entry]:
    """All words, by their names, in the order of the page."""
    results: dict[str, Entry] = {}
    for part in text_of("glossary").split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        rows = [line for line in body.splitlines() if line.startswith("| ")]
        for row in rows[2:]:
            match = _ENTRY.match(row)
            if match:
                cells, columns = _cells(row), _cells(rows[0])
                results[match["name"]] = Entry(match["name"], match["word"], heading, cells[1:], columns[1:])
    return results


def _cells(row: str) -> tuple[str, ...]:
    return tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|")))


def _slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


def matching_entries(term: str) -> list[Entry]:
    """Return the glossary entries that match a term.

    Exact matches first, then prefixes, then substrings. The anchor of a heading matches all entries below it.
    """
    if below := [entry for entry in entries().values() if _slug(entry.heading) == term]:
        return below
    wanted = " ".join(term.lower().replace("-", " ").replace("_", " ").split())
    if not wanted:
        return []
    words = {entry: entry.word.lower().replace("_", " ") for entry in entries().values()}
    plain = wanted[:-1] if wanted.endswith("s") else wanted
    return (
        [entry for entry, word in words.items() if {wanted, plain} & {*word.split(", "), entry.name.replace("-", " ")}]
        or [entry for entry, word in words.items() if word.startswith(wanted)]
        or [entry for entry, word in words.items() if wanted in word]
    )


Word = list[tuple[str, str, str]]
"""Text between two spaces: pieces of text, style and target."""
LEAST = 8
"""Cells that each column of a table has at least."""


def render(page: Page, markdown: str, chapter: str = "") -> None:
    """Write a text on a page; links are seen from where its file is: `chapter` names one of the guide."""
    from markdown_it import MarkdownIt  # the palette imports this module when the UI starts

    stack = _Blocks(page, chapter)
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        stack.add(token)


def target_of(href: str, chapter: str = "") -> str:
    """Return the program address of a link in `docs/`; '' for files that do not ship."""
    path, _, anchor = href.partition("#")
    if "://" in href:
        return ""
    name = path.removeprefix("../").removesuffix(".md")
    if name == "glossary" or (not path and not chapter):
        return f"@glossary::{anchor}" if anchor else "@glossary"
    in_guide = name.startswith("guide/") or (chapter and path and not path.startswith("../"))
    return f"@guide::{name.removeprefix('guide/')}" if in_guide else ""


class _Blocks:
    """Markdown blocks in sequence, with their indent."""

    def __init__(self, page: Page, chapter: str) -> None:
        self.page = page
        self.chapter = chapter
        self.lead: list[str] = []
        """What the next line begins with, and the indent of those after it: one a list or quote that is open."""
        self.mark = ""
        self.numbers: list[int] = []
        self.heading = ""
        self.rows: list[list[list[Word]]] = []

    def add(self, token: Token) -> None:
        """One token of the parser."""
        kind = token.type
        if kind == "heading_open":
            self.heading = token.tag
        elif kind == "inline":
            self._inline(token)
        elif kind == "heading_close":
            self.heading = ""
        elif kind == "paragraph_close" and not self.numbers:
            self.page.blank()
        elif kind in ("fence", "code_block"):
            self._code(token)
        elif kind == "tr_open":
            self.rows.append([])
        elif kind == "table_close":
            self._table()
        else:
            self._nest(kind, token)

    def _nest(self, kind: str, token: Token) -> None:
        if kind == "blockquote_open":
            self.lead.append("  ")
        elif kind in ("bullet_list_open", "ordered_list_open"):
            self.numbers.append(int(token.attrGet("start") or 1) if kind[0] == "o" else 0)
        elif kind == "list_item_open":
            number = self.numbers[-1]
            self.mark = f"{number}. " if number else "- "
            self.numbers[-1] += bool(number)
            self.lead.append(" " * len(self.mark))
        if kind in ("blockquote_close", "list_item_close"):
            self.lead.pop()
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self.numbers.pop()
            if not self.numbers:
                self.page.blank()

    def _inline(self, token: Token) -> None:
        if self.rows:
            self.rows[-1].append(_words(token, self.chapter))
        elif self.heading == "h1":
            self.page.add((token.content, tokens.TITLE))
            self.page.blank()
        elif self.heading:
            self.page.heading(" ".join("".join(text for text, _, _ in word) for word in _words(token, self.chapter)))
        else:
            before, indent = "".join(self.lead), "".join(self.lead)
            if self.mark:
                before, self.mark = before[: -len(self.mark)] + self.mark, ""
            style = tokens.DIM if self.lead and not self.numbers else ""
            for line in filled(_words(token, self.chapter, style), self.page.width - len(indent)):
                self.page.add(before, *line)
                before = indent

    def _code(self, token: Token) -> None:
        for line in token.content.rstrip("\n").split("\n"):
            self.page.add("".join(self.lead) + "  ", (line, tokens.STRONG if line.startswith(("$ ", "tltui ")) else tokens.STRING))
        self.page.blank()

    def _table(self) -> None:
        rows, self.rows = self.rows, []
        widths = _widths(rows, self.page.width - 2)
        for number, row in enumerate(rows):
            columns = [list(filled(cell, width)) for cell, width in zip(row, widths, strict=True)]
            for lines in zip_longest(*columns, fillvalue=[]):
                pieces: list[Piece] = ["  "]
                for line, width in zip(lines, widths, strict=True):
                    pieces += line if number else [(text, tokens.LABEL) for text, *_ in line]
                    pieces.append(" " * (width + 2 - sum(wide(text) for text, *_ in line)))
                self.page.add(*pieces)
        self.page.blank()


def _words(token: Token, chapter: str, style: str = "") -> list[Word]:
    """Split a paragraph into styled words."""
    words: list[Word] = [[]]
    target = ""
    strong = 0
    for child in token.children or ():
        if child.type == "link_open":
            href = str(child.attrGet("href") or "")
            target = target_of(href, chapter)
        elif child.type == "link_close":
            target = ""
        elif child.type in ("strong_open", "em_open", "strong_close", "em_close"):
            strong += 1 if child.type.endswith("open") else -1
        elif child.type in ("softbreak", "hardbreak"):
            words.append([])
        elif child.type in ("text", "code_inline", "image"):
            inner = tokens.NAME if child.type == "code_inline" else tokens.STRONG if strong else style
            for number, part in enumerate(child.content.split(" ")):
                if number:
                    words.append([])
                if part:
                    words[-1].append((part, tokens.LINK if target else inner, target))
    return [word for word in words if word]


def filled(words: Sequence[Word], width: int) -> Iterator[list[tuple[str, str, str]]]:
    """Lines of at most `width` cells; a word that is wider is cut. What leads to one place is one link."""
    line: list[tuple[str, str, str]] = []
    used = 0
    for word in (part for long_word in words for part in _cut(long_word, width)):
        size = sum(wide(text) for text, _, _ in word)
        if line and used + 1 + size > width:
            yield line
            line, used = [], 0
        if line:
            last, first = line[-1], word[0]
            if last[1:] == first[1:]:
                line[-1] = (last[0] + " ", *last[1:])
            else:
                line.append((" ", "", ""))
            used += 1
        for text, style, target in word:
            if line and line[-1][1:] == (style, target):
                line[-1] = (line[-1][0] + text, style, target)
            else:
                line.append((text, style, target))
        used += size
    if line:
        yield line


def _cut(word: Word, width: int) -> Iterator[Word]:
    if sum(wide(text) for text, _, _ in word) <= width:
        yield word
        return
    part: Word = []
    used = 0
    for text, style, target in word:
        for character in text:
            if used + wide(character) > width and part:
                yield part
                part, used = [], 0
            part.append((character, style, target))
            used += wide(character)
    yield part


def _widths(rows: Sequence[Sequence[Sequence[Word]]], room: int) -> list[int]:
    """Return the column widths: the natural ones if they fit, else the widest shrink."""
    widths = [
        max((sum(sum(wide(text) for text, _, _ in word) + 1 for word in row[n]) - 1 for row in rows), default=0)
        for n in range(len(rows[0]))
    ]
    widths = [max(width, 1) for width in widths]
    longest = [max((sum(wide(part[0]) for part in word) for row in rows for word in row[n]), default=1) for n in range(len(widths))]
    for least in (longest, [min(width, LEAST) for width in widths]):  # words stay whole where that can be
        while sum(widths) + 2 * (len(widths) - 1) > room:
            loose = [n for n in range(len(widths)) if widths[n] > least[n]]
            if not loose:
                break
            widths[max(loose, key=lambda n: widths[n])] -= 1
    return widths


def guide_document(chapter: str, options: Options) -> TextDocument:
    """Return the page of a chapter, or the table of contents for ''. Raises `BadAddress`."""
    if not chapter:
        return _contents(options)
    if chapter not in CHAPTERS:
        near = get_close_matches(chapter, CHAPTERS, 1)
        hint = f"perhaps {near[0]}; " if near else ""
        raise BadAddress(f"unknown chapter: {chapter!r}", f"{hint}chapters: {', '.join(CHAPTERS)}")
    page = _page(f"@guide::{chapter}", f"guide: {title_of(chapter)}", options)
    render(page, text_of(f"guide/{chapter}"), chapter)
    page.blank()
    page.add(("all chapters", tokens.LINK, "@guide"), "  ", ("glossary", tokens.LINK, "@glossary"))
    return page.document()


def glossary_document(term: str, options: Options) -> TextDocument:
    """Return the glossary, or its entries for a term. Raises `BadAddress`."""
    page = _page(f"@glossary::{term}" if term else "@glossary", f"glossary: {term}" if term else "glossary", options)
    if not term:
        render(page, text_of("glossary"))
        return page.document()
    hits = matching_entries(term)
    if not hits:
        near = get_close_matches(term.lower(), [entry.word for entry in entries().values()], 3, 0.5)
        raise BadAddress(f"not in the glossary: {term!r}", f"perhaps {', '.join(near)}" if near else "")
    for entry in hits:
        page.heading(entry.word)
        page.say(entry.heading.replace("`", ""), "  ", tokens.DIM)
        for cell, column in zip(entry.cells, entry.columns, strict=True):
            render(page, cell if len(entry.cells) == 1 else f"{column}: {cell}")
    page.blank()
    page.add(("all words", tokens.LINK, "@glossary"), "  ", ("guide", tokens.LINK, "@guide"))
    return page.document()


def manual_document(target: str, options: Options) -> TextDocument | None:
    """Return the page of a help link; None for targets outside the guide. Raises `BadAddress`."""
    ref = parse_ref(target)
    if ref.view not in ("guide", "glossary"):
        return None
    return (guide_document if ref.view == "guide" else glossary_document)(ref.artifact or "", options)


def _contents(options: Options) -> TextDocument:
    page = _page("@guide", "guide", options)
    page.add(("The guide", tokens.TITLE))
    page.blank()
    for chapter in CHAPTERS:
        command = f"  tltui guide {chapter}" if options.key_of is None else ""
        page.add("  ", (title_of(chapter), tokens.LINK, f"@guide::{chapter}"), command)
        page.say(symptom_of(chapter).replace("`", ""), "      ", tokens.DIM)
    page.blank()
    page.row([("glossary", tokens.LINK, "@glossary"), "  the words that pages use; tltui glossary WORD explains one word"])
    return page.document()


def _page(ref: str, title: str, options: Options) -> Page:
    """Create a page that belongs to no run, without the options of a run."""
    plain = Options(width=options.width, ascii=options.ascii, key_of=options.key_of)
    return Page(ref, title, plain)
