"""The page `@source:[REF]:FILE:LINE`: what became of a line of source, in all compiles or in one."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from itertools import groupby

from tltui.analyses.provenance.source_line import BadPlace, CompileTrails, SourceLine, Trail, parse_place, source_line_steps
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.alike import add_alike
from tltui.documents.scope import place_of, scope_of
from tltui.model.ref import BadAddress, Ref
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

HEADINGS = {
    "function": "functions", "called": "called from here", "failure": "failures", "graph break": "graph breaks",
    "recompile": "recompiles", "fixed": "sizes fixed here", "condition": "conditions on sizes", "node": "nodes",
    "kernel": "kernels", "guard": "guards", "symbol": "symbols",
}  # fmt: skip
SHOWN = 12
LISTED = 200
"""Compiles up to which each is told by itself; of more, those that are alike are told once."""
STYLES = {"failure": tokens.ERROR, "graph break": tokens.BREAK, "recompile": tokens.RECOMPILE, "fixed": tokens.WARN}


def source_document(run: Run, ref: Ref, options: Options) -> Document:
    """What became of the line that `ref.artifact` names. Grows: compile after compile. Raises `BadAddress`."""
    try:
        file, line = parse_place(ref.artifact or "")
    except BadPlace as bad:
        raise BadAddress(str(bad)) from None
    scope = scope_of(run, ref)

    def fill(page: Page) -> Generator[None, None, SourceLine]:
        page.add(("What became of ", tokens.TITLE), (f"{file}:{line}", tokens.TITLE), (scope.title, tokens.TITLE))
        steps = source_line_steps(scope.compiles, file, line)
        kinds: dict[tuple[object, ...], list[str]] = {}
        while True:
            try:
                found = next(steps)
            except StopIteration as stop:
                answer: SourceLine = stop.value
                break
            if found is not None:
                same = kinds.setdefault(_kind(found) if len(scope.compiles) > LISTED else (found.ref,), [])
                same.append(found.ref)
                if len(same) == 1:
                    _compile(page, found)
            yield
        several = [refs for refs in kinds.values() if len(refs) > 1]
        yield from add_alike(page, "The same", several, lambda ref: f"@source:{ref}:{file}:{line}")
        _end(page, answer)
        return answer

    address = str(replace(place_of(ref), artifact=ref.artifact, view="source"))
    return GrowingDocument(address, f"{fmt.file_name(file)}:{line}", options, fill, Page)


def _kind(found: CompileTrails) -> tuple[object, ...]:
    """What compiles share of which the page says the same."""
    return found.function, *(replace(trail, ref=trail.ref.removeprefix(found.ref)) for trail in found.trails)


def _compile(page: Page, found: CompileTrails) -> None:
    page.heading(f"[{found.ref}] {found.function}".rstrip())
    page.row([("compile ", tokens.LABEL), (f"[{found.ref}]", tokens.LINK, found.ref), "  ",
              ("provenance", tokens.LINK, f"@provenance:{found.ref}")])  # fmt: skip
    for (kind, unit), members in groupby(found.trails, key=lambda trail: (trail.kind, trail.unit)):
        _trails(page, kind, unit, list(members))


def _trails(page: Page, kind: str, unit: str, trails: list[Trail]) -> None:
    page.add("  ", (HEADINGS.get(kind, kind), tokens.LABEL), (f" of {sanitize(unit)}" if unit else "", tokens.DIM))
    if kind == "node":
        for graph, members in groupby(trails, key=lambda trail: trail.detail):
            _names(page, graph, members)
        return
    for trail in trails[:SHOWN]:
        _one(page, trail)
    if len(trails) > SHOWN:
        what = f"{fmt.count(len(trails) - SHOWN)} more"
        page.open(what, folded=True)
        page.add("    ", (what, tokens.DIM))
        for trail in trails[SHOWN:]:
            _one(page, trail)
        page.close()


def _names(page: Page, graph: str, trails: Iterable[Trail]) -> None:
    names: list[Piece] = [(f"{graph}  ", tokens.DIM)]
    names += [(sanitize(trail.text) + " ", tokens.LINK, trail.ref) for trail in trails]
    page.row(names, "    ")


def _one(page: Page, trail: Trail) -> None:
    text = fmt.clip(sanitize(fmt.one_line(trail.text)), page.width - 4)
    page.add("    ", (text, tokens.LINK if trail.ref else STYLES.get(trail.kind, ""), trail.ref))
    if trail.detail and trail.kind != "guard":  # the hints of guards say the same of each, and stand where they link
        page.say(sanitize(fmt.clip(fmt.one_line(trail.detail), 400)), "      ", tokens.DIM)


def _end(page: Page, answer: SourceLine) -> None:
    """Which files were meant, and what the line was; that nothing was found, and what that means."""
    page.heading("The line")
    if answer.code:
        page.code(answer.code, "  ")
    for file in answer.files:
        page.row([page.place(file, answer.line), (f"  {fmt.home(file)}", tokens.DIM)])
    looked = fmt.plural(answer.looked_at, "compile")
    if not answer.compiles:
        page.say(f"Nothing in {looked} names this line: no node, kernel, guard, graph break, recompile, failure or symbol.", "  ")
        page.say("torch names the line where a statement begins; the lines around may be known.", "  ", tokens.DIM)
    elif answer.looked_at > 1:
        names = "names" if len(answer.compiles) == 1 else "name"
        page.say(f"{fmt.count(len(answer.compiles))} of {looked} {names} it.", "  ", tokens.DIM)
    if len(answer.files) > 1:
        page.say("More than one file ends with this name. A longer path means one of them.", "  ", tokens.WARN)
