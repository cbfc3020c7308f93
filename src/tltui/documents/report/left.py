"""What is not in a report, and how to have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tltui.documents.format import plural
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Options, Piece, TextDocument

REF = "@left-out"
NAMES = 100
"""Names of artifacts that have a line."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Something of which only the first lines are in the file."""

    ref: str
    title: str
    lines: int
    of: int
    way: str
    """The command that prints all of it."""


@dataclass(frozen=True, slots=True)
class Left:
    """What a report has and has not."""

    compiles: tuple[int, int]
    """Compiles that have a section of their own, and how many there are."""
    kinds: Mapping[str, tuple[int, int]]
    """Name of an artifact → how many are in the file, and how many there are."""
    cut: Sequence[Cut]
    silent: Sequence[tuple[str, str]]
    """Pages that have nothing to tell of the run, and what they say."""
    missing: Sequence[tuple[str, str]]
    """Pages that did not fit, and the command that prints each."""


def left_document(left: Left, path: str, options: Options) -> TextDocument:
    """What is not in the file."""
    page = Page(REF, "what is not in this file", options)
    page.say("What tells most is in this file: what failed, graph breaks, recompiles and slow compiles, with the code that they "
             "lead to. All else is in the trace, and tltui prints it:")  # fmt: skip
    page.say(f"PATH in the commands here is the trace: {path}" if path else "PATH in the commands here is the trace, before it was "
             "redacted.", "  ", tokens.DIM)  # fmt: skip
    if left.missing:
        page.heading("Pages that did not fit")
        page.grid([[(name, tokens.VALUE), (way, tokens.DIM)] for name, way in left.missing])
    if left.cut:
        page.heading("Only the first lines are here")
        rows: list[list[Piece]] = [
            [(one.title, tokens.LINK, one.ref), f"{one.lines:,} of {plural(one.of, 'line')}", (one.way, tokens.DIM)]
            for one in left.cut
        ]
        page.grid(rows)
    _kinds(page, left)
    page.heading("Never in a report")
    page.grid([
        ["every record, timing events too", ("tltui records PATH", tokens.DIM)],
        ["the time line, for ui.perfetto.dev", ("tltui timing PATH --perfetto FILE", tokens.DIM)],
        ["everything as JSON", ("tltui ls PATH --json", tokens.DIM)],
        ["payloads as files, byte for byte", ("tltui extract PATH -o DIR", tokens.DIM)],
        ["what several compiles differ in", ("tltui diff PATH 0/0 0/1", tokens.DIM)],
        ["a graph as a script that runs", ("tltui repro PATH 0/0 -o FILE", tokens.DIM)],
    ])  # fmt: skip
    if left.silent:
        page.heading("Pages that have nothing to tell of this run")
        for name, said in left.silent:
            page.labelled(name, said, gap=max(len(name) for name, _ in left.silent) + 2)
    return page.document()


def _kinds(page: Page, left: Left) -> None:
    rows: list[list[Piece]] = []
    here, there = left.compiles
    if here < there:
        rows.append(["overviews of compiles", f"{here:,} of {there:,}"])
    short = [(name, own, of) for name, (own, of) in left.kinds.items() if own < of]
    rows += [[(name, tokens.NAME), f"{own:,} of {of:,}"] for name, own, of in short[:NAMES]]
    if rows:
        page.heading("Not all of them are here")
        page.say("Equal ones of several ranks count once. tltui show PATH 0/0:NAME prints one, tltui show PATH 0/0 an overview.",
                 "  ", tokens.DIM)  # fmt: skip
        page.grid(rows, right=(1,))
    if len(short) > NAMES:
        page.say(f"and artifacts of {len(short) - NAMES:,} more names: tltui ls PATH --json", "  ", tokens.DIM)
