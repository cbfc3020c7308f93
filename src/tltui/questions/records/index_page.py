"""The page `@pages`: the list of pages about a run."""

from __future__ import annotations

from tltui.documents.format import plural, wrap
from tltui.documents.page import Page as Written
from tltui.documents.page import to_page
from tltui.documents.scope import key_hint
from tltui.inputs.forms import TEXT
from tltui.model.nodes import Rank
from tltui.model.ref import ranges
from tltui.model.run import Run
from tltui.questions.index import BY_NAME, QUESTIONS
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument
from tltui.text.frozen import frozen

KEY, TITLE = 4, 12
"""Columns of a page's key and of its name."""
RANKS_SHOWN = 16
"""Ranks up to which each has a line."""


@frozen
class Page:
    """One page: its address, what it answers, the key and the command that show it."""

    ref: str
    title: str
    help: str
    key: str
    command: str


LOG = Page("@log", "log", "the job's output line by line, with links to compiles", "O", "tltui log PATH")
OUTPUT = Page("@output", "output", "the output of the job started by tltui run --view", "O", "tltui show PATH @output")


def has_log_page(run: Run) -> bool:
    """Return whether there is an output that is not on the page `@output` already."""
    return any(log.form == TEXT and log.path not in run.discovered.outputs for log in run.discovered.logs)


def pages(run: Run | None = None) -> tuple[Page, ...]:
    """Return all pages about a run, with that of its output if there is one."""
    return (
        *((OUTPUT,) if run is not None and run.discovered.outputs else ()),
        *(Page(f"@{view.name}", view.name, view.help, view.key, f"tltui {view.name} PATH") for view in QUESTIONS),
        *((LOG,) if run is not None and has_log_page(run) else ()),
        Page("@records", "records", "every record in file order, with time, code location and size", "", "tltui records PATH"),
        Page("@damage", "damage", "damaged records, and files that were not opened", "", "tltui damage PATH"),
    )


def pages_document(run: Run, options: Options) -> TextDocument:
    """Return the page with a link to each page and the command that prints it."""
    builder = Written("@pages", "all pages", options)
    builder.heading("About the run")
    for page in pages(run):
        gap = " " * max(TITLE - len(page.title), 1)
        lead = KEY if options.key_of is not None else 2
        name = f"app.view_{page.title}" if page.title in BY_NAME else f"app.{'output' if page is LOG else page.title}"
        key: Piece = key_hint(options, name, "{}")
        lines: list[tuple[Piece, ...]] = [(line,) for line in wrap(page.help, builder.width - lead - TITLE)]
        fits = len(lines) > 1 and lead + TITLE + len(str(lines[-1][0])) + 2 + len(page.command) <= builder.width
        lines[-1:] = [(*lines[-1], "  ", (page.command, tokens.DIM))] if fits else [lines[-1], ((page.command, tokens.DIM),)]
        gap_after_key = " " * max(lead - 2 - len(key[0]), 1 if key[0] else 0)
        builder.add("  ", key, gap_after_key, (page.title, tokens.LINK, page.ref), gap, *lines[0])
        for line in lines[1:]:
            builder.add(" " * (lead + TITLE), *line)
    builder.heading("About a rank")
    _ranks(builder, run)
    builder.blank()
    builder.say("Compiles, frames and artifacts have their own pages. Go to one in the tree, or type its name.", "", tokens.DIM)
    builder.add(key_hint(options, "app.go_to", instead=f"tltui show {options.path} 0/1"))
    return builder.document(pages(run))


def _ranks(builder: Written, run: Run) -> None:
    """Add a line for all ranks with as many compiles; of few ranks each has its line."""
    together: dict[object, list[Rank]] = {}
    for rank in run.ranks:
        alone = len(run.ranks) <= RANKS_SHOWN or rank.number is None
        together.setdefault((rank.tally.compiles, rank.number if alone else None), []).append(rank)
    for ranks in together.values():
        first, several = ranks[0], len(ranks) > 1
        ref = str(first.ref)
        title = f"ranks {ranges(rank.number or 0 for rank in ranks)}" if several else first.title
        count = f" {plural(first.tally.compiles, 'compile')}{' each' if several else ''}  "
        builder.row([(f"{title:<10}", tokens.LINK, ref), count, to_page("records", f"@records:{ref}"),
                     *([(f" of {first.title}", tokens.DIM)] if several else [])])  # fmt: skip
