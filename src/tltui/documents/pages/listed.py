"""The list of pages about a run."""

from __future__ import annotations

from dataclasses import dataclass

from tltui.documents.format import plural, wrap
from tltui.documents.page import Page as Written
from tltui.documents.pages.table import VIEWS
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument

KEY, TITLE = 4, 12
"""Columns of a page's key and of its name."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its address, what it answers, the key and the command that show it."""

    ref: str
    title: str
    help: str
    key: str
    command: str


OUTPUT = Page("@output", "output", "what the job printed that tltui run --view started", "O", "tltui show PATH @output")


def pages(run: Run | None = None) -> tuple[Page, ...]:
    """All pages about a run; that of its output where there is one."""
    return (
        *((OUTPUT,) if run is not None and run.found.outputs else ()),
        *(Page(f"@{view.name}", view.name, view.help, view.key, f"tltui {view.name} PATH") for view in VIEWS),
        Page("@records", "records", "every record in file order, with time, site and size", "", "tltui records PATH"),
        Page("@damage", "damage", "what is damaged, and which files were not opened", "", "tltui damage PATH"),
    )


def pages_document(run: Run, options: Options) -> TextDocument:
    """Every page with a link and the command that prints it."""
    builder = Written("@pages", "all pages", options)
    builder.heading("About the run")
    for page in pages(run):
        gap = " " * max(TITLE - len(page.title), 1)
        lines: list[tuple[Piece, ...]] = [(line,) for line in wrap(page.help, builder.width - KEY - TITLE)]
        beside = len(lines) > 1 and KEY + TITLE + len(str(lines[-1][0])) + 2 + len(page.command) <= builder.width
        lines[-1:] = [(*lines[-1], "  ", (page.command, tokens.DIM))] if beside else [lines[-1], ((page.command, tokens.DIM),)]
        builder.add((f"  {page.key or ' '} ", tokens.KEYWORD), (page.title, tokens.LINK, page.ref), gap, *lines[0])
        for line in lines[1:]:
            builder.add(" " * (KEY + TITLE), *line)
    builder.heading("About a rank")
    for rank in run.ranks:
        ref = str(rank.ref)
        said = f" {plural(rank.tally.compiles, 'compile')}  "
        builder.add("  ", (f"{rank.title:<10}", tokens.LINK, ref), said, ("records", tokens.LINK, f"@records:{ref}"))
    builder.blank()
    rest = "A compile, a frame or an artifact has its own page: go to it in the tree, or press o and type its name."
    builder.say(rest, "", tokens.DIM)
    return builder.document(pages(run))
