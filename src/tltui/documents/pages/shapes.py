"""The view `shapes`: which sizes are dynamic, which were fixed, by which of the user's lines."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from tltui.analyses.shapes.advice import FIXED, GUARDED, MARKED, PLAIN, SYMBOLS, interest, shapes_in
from tltui.analyses.shapes.shapes import CompileShapes, signature
from tltui.analyses.stacks.known_as import shown_name
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.many import add_named, functions
from tltui.documents.parts.on_ranks import OnRanks, alike_on_ranks, said_ranks
from tltui.documents.parts.shapes import add_compile
from tltui.documents.scope import Scope
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options
from tltui.text.growing import GrowingDocument

BLOCKS = 200
"""Compiles of a run that have a block."""
SHOWN = 40
"""Compiles of a run whose blocks are open at first."""
NAMED = 200
"""Compiles without symbols that are named."""
EVERY = 64


@dataclass(frozen=True, slots=True)
class ShapesReport:
    """The shapes of a part of a run."""

    schema: int
    compiles: tuple[CompileShapes, ...]
    """Those with symbols or with dims that were marked: fixed ones first, then those with conditions."""
    without: tuple[str, ...]
    """The addresses of the compiles that have neither."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The shapes of the scope."""

    def fill(page: Page) -> Generator[None, None, object]:
        return (yield from _fill(page, scope))

    return GrowingDocument(scope.page("shapes"), f"shapes{scope.title}", options, fill, Page)


def _fill(page: Page, scope: Scope) -> Generator[None, None, ShapesReport]:
    with_symbols, marked, plain = yield from _sorted(scope)
    single = len(scope.compiles) == 1
    if not single:
        _head(page, with_symbols, [*marked, *plain])
        yield
    found: list[CompileShapes] = []
    like: list[tuple[str, str]] = []
    more: list[CompileShapes] = []
    seen: dict[tuple[object, ...], str] = {}
    said: set[str] = set()
    lacking: set[int] = set()
    without: list[Compile] = []
    for node in [*with_symbols, *marked, *(plain if single else ())]:
        shapes = shapes_in(node)
        if not (shapes.symbols or shapes.real or shapes.stuck or shapes.guards or single):
            lacking.add(id(node))
            continue
        found.append(shapes)
        first = seen.setdefault(signature(shapes), shapes.ref)
        if first != shapes.ref:
            like.append((shapes.ref, first))
        elif len(seen) > BLOCKS:
            more.append(shapes)
        else:
            add_compile(page, shapes, single, len(seen) > SHOWN, said, shown_name(node.frame) or "")
        yield
    if not single:
        without = [node for node in with_symbols if id(node) in lacking]
        rest = {id(node) for node in plain} | lacking.difference(id(node) for node in with_symbols)
        without += [node for node in scope.compiles if id(node) in rest]
        page.close(0)
        yield from _further(page, more)
        _like(page, like)
        _plain(page, without, bool(found))
    found.sort(key=lambda shapes: shapes.weight, reverse=True)
    return ShapesReport(1, tuple(found), tuple(str(node.ref) for node in without if node.is_compile or single))


def _further(page: Page, more: list[CompileShapes]) -> Generator[None, None, None]:
    """Compiles that are too many for a block each: those above are the most interesting."""
    if not more:
        return
    page.blank()
    what = f"{fmt.plural(len(more), 'more compile')} with symbols"
    named = [(shapes.ref, tokens.LINK, f"@shapes:{shapes.ref}") for shapes in more]
    yield from add_named(page, what, [functions([shapes.function for shapes in more], page.width - len(what) - 4)], named, "")
    page.close(0)


def _like(page: Page, like: list[tuple[str, str]]) -> None:
    """Compiles of the same code to which the same happened, on other ranks as a rule."""
    if not like:
        return
    page.blank()
    what = f"{fmt.plural(len(like), 'more compile')} of the same code with the same sizes and guards as one above"
    page.open(what, folded=True)
    page.add((fmt.clip(what, page.width), tokens.DIM))
    groups = alike_on_ranks(like, lambda pair: pair[0], page.newest, lambda pair: pair[1])
    for own in groups[:NAMED]:
        first = own[0][1]
        refs = OnRanks(tuple(ref for ref, _ in own), said_ranks([ref for ref, _ in own], page.newest))
        page.row([*refs.pieces(), " like ", (f"[{first}]", tokens.LINK, first)])
    if len(groups) > NAMED:
        page.add("  ", (f"and {fmt.count(sum(map(len, groups[NAMED:])))} more", tokens.DIM))
    page.close()


def _sorted(scope: Scope) -> Generator[None, None, tuple[list[Compile], list[Compile], list[Compile]]]:
    """The compiles with shape records, those in which something was fixed first; those with dims that were marked; the others."""
    sorts: tuple[list[Compile], ...] = ([], [], [], [], [])
    for n, node in enumerate(scope.compiles):
        sorts[interest(node)].append(node)
        if n % EVERY == EVERY - 1:
            yield
    return sorts[FIXED] + sorts[GUARDED] + sorts[SYMBOLS], sorts[MARKED], sorts[PLAIN]


def _head(page: Page, with_symbols: list[Compile], plain: list[Compile]) -> None:
    """What there is, in one line."""
    total = sum(node.is_compile for node in with_symbols + plain)
    fixed = sum(bool(node.counts["symbolic_shape_specialization"]) for node in with_symbols)
    what = f"{fmt.plural(total, 'compile')}, {fmt.count(sum(node.is_compile for node in with_symbols))} with symbols"
    page.joined([(what, tokens.STRONG)] + ([(f"{fmt.count(fixed)} in which a size was fixed", tokens.WARN)] if fixed else []))


def _plain(page: Page, plain: list[Compile], some: bool) -> None:
    """The compiles without symbols, folded."""
    if not plain:
        return
    page.close(0)
    page.blank()
    real = [node for node in plain if node.is_compile]
    if not some:
        what = "No compile has a symbol: every size that torch saw was static, or this torch does not log symbols."
        if page.untold:
            what = "No symbol of a dynamic size."
        page.say(page.so_far(what))
        page.say("A dim becomes dynamic when its size varies between calls, or by torch._dynamo.mark_dynamic.", "", tokens.DIM)
    if not real:
        return
    what = page.so_far(f"{fmt.plural(len(real), 'compile')} without symbols{'' if page.untold else ': all sizes static'}")
    page.open(what, folded=True)
    page.add((what, tokens.DIM))
    groups = alike_on_ranks(real, lambda node: str(node.ref), page.newest, lambda node: node.frame.code)
    for own in groups[:NAMED]:
        _, file, line = own[0].frame.code
        name = shown_name(own[0].frame)
        refs = tuple(str(node.ref) for node in own)
        link, *ranks = OnRanks(refs, said_ranks(refs, page.newest)).pieces()
        page.row([link, "  ", (name or "", tokens.FUNCTION), "  ", page.place(file, line), *(["  "] if ranks else []), *ranks])
    if len(groups) > NAMED:
        page.add("  ", (f"and {fmt.count(sum(map(len, groups[NAMED:])))} more", tokens.DIM))
    page.close()

