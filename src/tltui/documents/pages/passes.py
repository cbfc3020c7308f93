"""The view `passes`: the graphs of a compile step by step, and what each step changed in them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from tltui.analyses.compare.node_changes import ADDED, KINDS, REMOVED, RETARGETED, RETYPED, GraphChange, NodeChange
from tltui.analyses.compare.passes import (
    FULL,
    Alike,
    CompilePasses,
    Outline,
    Passes,
    Step,
    alike_of,
    counts_of,
    outline_of,
    passes_of,
)
from tltui.documents import format as fmt
from tltui.documents.compare.artifacts import diff_ref
from tltui.documents.format import plural
from tltui.documents.page import Page
from tltui.documents.parts.alike import add_alike
from tltui.documents.scope import Scope
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

SHOWN = 8
"""Changed nodes of a step; more are folded."""
NODES_LISTED = 400
AT_ONCE = 64
"""Compiles that are looked at between two moments at which a reader may leave."""
WORDS = {ADDED: "added", REMOVED: "removed", RETARGETED: "call something else", RETYPED: "of another dtype or shape"}
REWIRES = "read something else"


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The steps of the compiles of the scope: each kind of them once."""

    def fill(page: Page) -> Generator[None, None, Passes]:
        page.add((f"From pass to pass{scope.title}", tokens.TITLE))
        page.say("What each step of the compiler changed in the graph. A node is known by its operation, dtype and shape, line of "
                 "source and by what it reads: renumbering is no change.", "", tokens.DIM)  # fmt: skip
        if len(scope.compiles) == 1:
            found = yield from passes_of(scope.compiles[0])
            if found.units:
                _compile(page, found, several=False)
                return Passes(1, (found,), (alike_of(scope.compiles[0], outline_of(scope.compiles[0])),))
        else:
            passes = yield from _several(page, scope)
            if passes.alike:
                return passes
        page.blank()
        page.say(page.so_far(_nothing(scope)))
        return Passes()

    return GrowingDocument(scope.page("passes"), f"passes{scope.title}", options, fill, Page)


def _several(page: Page, scope: Scope) -> Generator[None, None, Passes]:
    """The first compile of each kind in full; of many kinds the sums; then which compiles have the same steps."""
    kinds: dict[Outline, tuple[Alike, list[str]]] = {}
    told: list[CompilePasses] = []
    for number, compile_ in enumerate(scope.compiles):
        outline = outline_of(compile_)
        if number % AT_ONCE == 0:
            yield
        if not outline:
            continue
        known = kinds.get(outline)
        if known is not None:
            known[1].append(str(compile_.ref))
            continue
        kinds[outline] = alike_of(compile_, outline), [str(compile_.ref)]
        if len(kinds) <= FULL:
            told.append((yield from passes_of(compile_)))
            _compile(page, told[-1], several=True)
        else:
            if len(kinds) == FULL + 1:
                page.heading("Further compiles, by the sums of their steps")
            _sums(page, kinds[outline][0])
        yield
    alike = tuple(replace(kind, refs=tuple(refs)) for kind, refs in kinds.values())
    several = [kind for kind in alike if len(kind.refs) > 1]
    what = "The same graphs in the same order, and as many nodes changed by each step. The page of a compile has them all."
    said = [plural(kind.steps, "step") for kind in several]
    yield from add_alike(page, "The same steps", [kind.refs for kind in several], lambda ref: f"@passes:{ref}", what, said)
    return Passes(1, tuple(told), alike)


def _sums(page: Page, kind: Alike) -> None:
    """`[7/0] block7   10 steps   44 → 46 nodes  +3  −1`"""
    pieces: list[Piece] = [(f"[{kind.first}]", tokens.LINK, f"@passes:{kind.first}"), " "]
    name = fmt.clip_middle(sanitize(kind.function or ""), 40)
    pieces += [(name, tokens.FUNCTION), (f"   {plural(kind.steps, 'step')}", tokens.DIM)]
    if any(kind.changes):
        pieces += [f"   {kind.left} → {plural(kind.right, 'node')}", *_counts(kind.changes)]
    page.row(pieces)


def _nothing(scope: Scope) -> str:
    if not scope.compiles:
        return "There are no compiles here."
    return "No graph was logged here: the compiles failed before there was one, found no operation, or their backend logs none."


def _compile(page: Page, passes: CompilePasses, several: bool) -> None:
    if several:
        page.heading(f"{passes.ref} {passes.function or ''}".rstrip())
    level = 1 if several else 0
    for unit in passes.units:
        page.close(level)
        page.blank()
        label = unit.unit or "whole compile"
        page.open(label)
        page.add((label, tokens.HEADING))
        for step in unit.steps:
            _step(page, step)
            page.close(level + 1)
    page.close(level)


def _step(page: Page, step: Step) -> None:
    """A line of what came out, and below it the nodes."""
    page.open(step.name)
    page.row([(step.name, tokens.LINK, step.ref), *_said(step)])
    if step.change is None or not step.change.changes:
        return
    assert step.before_ref is not None
    page.add("      ", (f"compare with {step.before}", tokens.LINK, diff_ref(step.before_ref, step.ref)))
    shown = step.change.changes
    fold_at = 0 if step.made_anew and len(shown) > SHOWN else SHOWN
    for number, change in enumerate(shown[:NODES_LISTED]):
        if number == fold_at and len(shown) > fold_at:
            more = f"{plural(len(shown) - fold_at, 'node')}" + (" more" if fold_at else "")
            page.open(more, folded=True)
            page.add((f"      {more}", tokens.LABEL))
        _node(page, change, step)
    if len(shown) > NODES_LISTED:
        page.add((f"      and {len(shown) - NODES_LISTED} further ones: the comparison shows them", tokens.DIM))


def _said(step: Step) -> list[Piece]:
    if step.before is None:
        return [("   nothing before it to compare with", tokens.DIM)]
    if step.unchanged:
        return [(f"   the same as {step.before}", tokens.DIM)]
    if step.problem:
        return [(f"   {step.problem}", tokens.WARN)]
    change = step.change
    if change is None:
        return []
    if not change.changes:
        what = _quiet(change)
        return [(f"   no node changed{what}", tokens.DIM)]
    pieces: list[Piece] = [f"   {change.left} → {plural(change.right, 'node')}", *_counts(counts_of(change))]
    if step.made_anew:
        pieces.append(("  traced anew", tokens.DIM))
    return pieces


def _counts(counts: Sequence[int]) -> list[Piece]:
    """`+3  −1  2 read something else`"""
    pieces: list[Piece] = []
    for kind, count in zip(KINDS, counts, strict=True):
        if count:
            style = {ADDED: tokens.ADDED, REMOVED: tokens.REMOVED}.get(kind, tokens.CHANGED)
            sign = {ADDED: "+", REMOVED: "−"}.get(kind, "")
            word = "" if sign else f" {WORDS.get(kind, REWIRES)}"
            pieces += ["  ", (f"{sign}{count}{word}", style)]
    return pieces


def _quiet(change: GraphChange) -> str:
    parts = [f"{change.renamed} renamed"] if change.renamed else []
    if change.moved:
        parts.append(f"{change.moved} moved")
    return f" ({', '.join(parts)})" if parts else ", only how it is printed"


def _node(page: Page, change: NodeChange, step: Step) -> None:
    room = page.width - 8
    if change.before:
        target = f"{step.before_ref}@L{change.left_line}"
        page.add("      ", ("- ", tokens.REMOVED), *_text(page, change.before, change.name, room, tokens.REMOVED, target))
    if change.after:
        target = f"{step.ref}@L{change.right_line}"
        page.add("      ", ("+ ", tokens.ADDED), *_text(page, change.after, change.name, room, tokens.ADDED, target))


def _text(page: Page, text: str, name: str, room: int, style: str, target: str) -> list[Piece]:
    """The node; its name leads to its line."""
    text = page.clip(text, room)
    head = text[: len(name)] if text.startswith(name) else text[:12]
    return [(head, style, target), (text[len(head) :], style)]
