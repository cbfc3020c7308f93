"""The pages `@guide`, `@guide::CHAPTER`, `@glossary` and `@glossary::WORD`. No run is needed for them."""

from __future__ import annotations

from difflib import get_close_matches

from tltui.documents.manual.rendering import render
from tltui.documents.manual.texts import CHAPTERS, entries, found, symptom_of, text_of, title_of
from tltui.documents.page import Page
from tltui.model.ref import BadAddress
from tltui.text import tokens
from tltui.text.document import Options, TextDocument


def guide_document(chapter: str, options: Options) -> TextDocument:
    """A chapter, '' for the list of all. Raises `BadAddress`."""
    if not chapter:
        return _contents(options)
    if chapter not in CHAPTERS:
        near = get_close_matches(chapter, CHAPTERS, 1)
        hint = f"; perhaps {near[0]}" if near else ""
        raise BadAddress(f"there is no chapter {chapter!r}{hint}. There are: {', '.join(CHAPTERS)}")
    page = _page(f"@guide::{chapter}", f"guide: {title_of(chapter)}", options)
    render(page, text_of(f"guide/{chapter}"), chapter)
    page.blank()
    page.add(("all chapters", tokens.LINK, "@guide"), "  ", ("glossary", tokens.LINK, "@glossary"))
    return page.document()


def glossary_document(term: str, options: Options) -> TextDocument:
    """The glossary, or what it says of a word. Raises `BadAddress`."""
    page = _page(f"@glossary::{term}" if term else "@glossary", f"glossary: {term}" if term else "glossary", options)
    if not term:
        render(page, text_of("glossary"))
        return page.document()
    hits = found(term)
    if not hits:
        near = get_close_matches(term.lower(), [entry.word for entry in entries().values()], 3, 0.5)
        raise BadAddress(f"the glossary has no word {term!r}{'; perhaps ' + ', '.join(near) if near else ''}")
    for entry in hits:
        page.heading(entry.word)
        page.say(entry.heading.replace("`", ""), "  ", tokens.DIM)
        for cell, column in zip(entry.cells, entry.columns, strict=True):
            render(page, cell if len(entry.cells) == 1 else f"{column}: {cell}")
    page.blank()
    page.add(("all words", tokens.LINK, "@glossary"), "  ", ("guide", tokens.LINK, "@guide"))
    return page.document()


def _contents(options: Options) -> TextDocument:
    page = _page("@guide", "guide", options)
    page.add(("The guide", tokens.TITLE))
    page.blank()
    for chapter in CHAPTERS:
        command = f"  tltui guide {chapter}" if options.key_of is None else ""
        page.add("  ", (title_of(chapter), tokens.LINK, f"@guide::{chapter}"), command)
        page.say(symptom_of(chapter).replace("`", ""), "      ", tokens.DIM)
    page.blank()
    page.row([("glossary", tokens.LINK, "@glossary"), "  the words that pages use; tltui glossary WORD explains one"])
    return page.document()


def _page(ref: str, title: str, options: Options) -> Page:
    """A page that is about no run: what is said of the run stands on the others."""
    plain = Options(width=options.width, ascii=options.ascii, key_of=options.key_of)
    return Page(ref, title, plain)
