"""The pages of a phase and of a unit: their artifacts, with what each is good for."""

from __future__ import annotations

from tltui.analyses.study import Part, parts_of
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.compiles import part_name
from tltui.documents.titles import called
from tltui.model.artifacts import artifacts_of, units_of
from tltui.model.kind import Phase
from tltui.model.nodes import Compile
from tltui.model.ref import BadAddress
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Options, TextDocument


def phase_document(run: Run, node: Compile, phase: str, unit: int | None, options: Options) -> TextDocument:
    """The artifacts of one phase (its key), of one unit (its number from 1) or of all. Raises `BadAddress`."""
    found = next((p for p in Phase if p.key == phase), None)
    if found is None:
        raise BadAddress(f"there is no phase {phase!r}. There are: {', '.join(p.key for p in Phase)}")
    name = None
    if unit is not None:
        name = next((u.name for u in units_of(artifacts_of(node)) if u.number == unit - 1), None)
        if name is None:
            raise BadAddress(f"{node.ref} has no unit {unit}")
    parts = [part for part in parts_of(node) if part.phase == found.title and (unit is None or part.unit == name)]
    title = f"{called(node)} {found.title}" + (f" {name}" if name else "")
    page = Page(f"@phase:{node.ref}:{phase}" + (f"#{unit}" if unit else ""), title, options)
    page.add((found.title, tokens.TITLE), (f" of the {name}" if name else "", tokens.DIM), " of ",
             (f"[{node.ref}]", tokens.LINK, str(node.ref)))  # fmt: skip
    _parts(page, parts)
    return page.document()


def unit_document(run: Run, node: Compile, n: int, options: Options) -> TextDocument:
    """The artifacts of one unit, numbered from 1. Raises `BadAddress`."""
    units = units_of(artifacts_of(node))
    unit = next((u for u in units if u.number == n - 1), None)
    if unit is None:
        names = ", ".join(f"{u.number + 1} {u.name}" for u in units) or "none"
        raise BadAddress(f"{node.ref} has no unit {n}. It has: {names}")
    parts = [part for part in parts_of(node) if part.unit == unit.name]
    page = Page(f"@unit:{node.ref}#{n}", f"{called(node)} {unit.name}", options)
    owner = (f"[{node.ref}]", tokens.LINK, str(node.ref))
    page.add((unit.name, tokens.TITLE), f", unit {n} of {len(units)} of ", owner)
    page.say("A unit is one lowering: a graph that Inductor turned into code by itself.", "", tokens.DIM)
    _parts(page, parts, phases=True)
    return page.document()


def _parts(page: Page, parts: list[Part], phases: bool = False) -> None:
    if not parts:
        page.blank()
        page.say("It has no artifacts.", "", tokens.DIM)
        return
    stored = sum(part.stored for part in parts)
    page.add((f"{fmt.plural(len(parts), 'artifact')}, {fmt.size_of(stored)}", tokens.DIM))
    last = ""
    for part in parts:
        if phases and part.phase != last:
            page.heading(part.phase)
            last = part.phase
        page.blank()
        size = fmt.size_of(part.stored)
        name = fmt.clip_middle(part_name(part), page.width - len(size) - 4)
        gap = " " * max(page.width - 2 - len(name) - len(size), 2)
        page.add("  ", (name, tokens.LINK, part.ref), gap if page.width <= 100 else "  ", (size, tokens.NUMBER))
        if part.title and part.title != part.name:
            page.add("    ", (fmt.clip(part.title, page.width - 4), tokens.STRONG))
        page.say(part.help, "    ", tokens.DIM)
