"""The lines of source that a compile came from, as a document: the pane of provenance that the user knows best.

A trace holds single lines: those of stacks and of `# File:` comments. Where the file itself can be read on this machine and
still has the recorded code at that line, the lines around are shown as well. Where not, the recorded lines stand
alone, and it is said why: code that has changed since, or that another machine has, must never be taken for what ran.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from tltui.analyses.provenance.result import Place
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.text import tokens
from tltui.text.document import Options, TextDocument
from tltui.text.small_file import read_small_file

AROUND = 5
"""Lines shown before and behind a recorded one."""
MAX_FILE = 8 << 20
MAX_FILES = 200
ReadFile = Callable[[str], "list[str] | None"]


@dataclass(frozen=True, slots=True)
class SourceLines:
    """The document, and for each place its line there."""

    document: TextDocument
    lines: tuple[int, ...]
    places: dict[int, int]
    """The other way round: line of the document → number of the place."""


def read_file(path: str) -> list[str] | None:
    """The lines of a source file of this machine; None where there is none. Paths come from a trace: only regular files of
    a sensible size are opened."""
    if not os.path.isabs(path):
        return None
    try:
        return [line.rstrip("\r") for line in read_small_file(path, MAX_FILE).decode("utf-8", "replace").split("\n")]
    except (OSError, ValueError):
        return None


def source_lines(
    ref: str, title: str, places: Sequence[Place], options: Options, read: ReadFile = read_file
) -> SourceLines:
    """The document of some places, in the order in which they come (of one file they stand together)."""
    page = Page(ref, title, options)
    lines = [-1] * len(places)
    if not places:
        page.say("torch recorded no line of source for this.", "", tokens.DIM)
    numbered = list(enumerate(places))
    for count, (file, members) in enumerate(groupby(numbered, key=lambda item: item[1].file)):
        _file(page, file, list(members), read(file) if count < MAX_FILES else None, lines)
    document = page.document()
    return SourceLines(document, tuple(lines), {line: n for n, line in enumerate(lines) if line >= 0})


def _file(page: Page, file: str, members: list[tuple[int, Place]], text: list[str] | None, lines: list[int]) -> None:
    """One file: its name, why there is no more of it, and its lines."""
    page.heading(fmt.home(file))
    kept = {place.line for _, place in members if text is not None and _same(text, place)}
    if note := _note(file, members, text, kept):
        page.say(note, "  ", tokens.DIM)
    recorded = {place.line: (n, place) for n, place in members}
    shown = _around(kept, len(text or ())) | recorded.keys()
    pad = len(str(max(shown)))
    before = 0
    for number in sorted(shown):
        if before and number > before + 1:
            page.add((f"{'⋮':>{pad}}", tokens.DIM))
        before = number
        if number not in recorded:
            page.add((f"{number:>{pad}}  {text[number - 1] if text else ''}", tokens.DIM), anchor=f"{file}:{number}")
            continue
        n, place = recorded[number]
        code = text[number - 1] if text is not None and number in kept else place.code
        lines[n] = len(page.growing().lines)
        target = fmt.place_target(file, number)
        said = (code, tokens.NAME) if code else ("(torch recorded no code)", tokens.DIM)
        page.add((f"{number:>{pad}}", tokens.LINK if target else tokens.NUMBER, target), "  ", said, anchor=f"{file}:{number}")


def _same(text: list[str], place: Place) -> bool:
    """Whether the file still has the recorded code there. Torch cuts blanks off, and joins nothing."""
    code = place.code.split("\n")[0].strip()
    return bool(code) and 0 < place.line <= len(text) and text[place.line - 1].strip() == code


def _around(numbers: Iterable[int], count: int) -> set[int]:
    found: set[int] = set()
    for number in numbers:
        found.update(range(max(number - AROUND, 1), min(number + AROUND, count) + 1))
    return found


def _note(file: str, members: list[tuple[int, Place]], text: list[str] | None, kept: set[int]) -> str:
    """What somebody who reads these lines must know; '' where the file is as it was."""
    if file.startswith("<"):
        return "generated code: these are the lines that torch recorded"
    if text is None:
        return "not readable on this machine: these are the lines that torch recorded"
    changed = sum(place.line not in kept and bool(place.code) for _, place in members)
    if not changed:
        return ""
    if not kept:
        return "the file on this machine has other code now: these are the lines that torch recorded"
    return f"the file on this machine has other code now at {changed} of {fmt.plural(len(members), 'line')}, shown as recorded"
