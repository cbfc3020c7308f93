"""The view `guards`: of one compile its guard tree, of many a table."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import dataclass

from tltui.analyses.counted import Count
from tltui.analyses.guards.guards import (
    KINDS,
    OLD,
    FailedGuard,
    Guard,
    GuardCounts,
    GuardFilter,
    counts_of,
    each_with_failures,
    failures_in,
    guards_record,
    old_nodes,
)
from tltui.analyses.guards.trees import ordered, tree_nodes
from tltui.analyses.stacks.known_as import shown_name
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.guard_groups import GuardGroups
from tltui.documents.parts.guards import TreeWriter
from tltui.documents.parts.many import ROWS_SHOWN
from tltui.documents.scope import Scope
from tltui.model.nodes import Compile
from tltui.model.ref import at_line
from tltui.model.run import Run
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece
from tltui.text.growing import GrowingDocument
from tltui.text.sanitize import sanitize

NAME = "guards"
HELP = "a filter has kind:WORD, source:WORD, is:failed and any other text"
NAMED = 400
"""Compiles without guards that are named."""
EVERY = 16
SCHEMA = 2


@dataclass(frozen=True, slots=True)
class GuardTable:
    """The guards of a run, or of a part with several compiles."""

    schema: int
    ref: str
    compiles: tuple[GuardCounts, ...]
    without: tuple[str, ...]
    """Compiles whose log has no guards."""
    kinds: tuple[Count, ...]
    """Of all compiles together, the most frequent first."""


@dataclass(frozen=True, slots=True)
class CompileGuards:
    """The guards of one compile."""

    schema: int
    counts: GuardCounts | None
    filter: str
    guards: tuple[Guard, ...]
    """Those that the filter leaves, in the order of the tree."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The guard tree of one compile; of several a table."""
    compiles = [c for c in scope.compiles if c.is_compile]
    view: _Tree | _Table | _Found
    if len(compiles) == 1:
        view = _Tree(compiles[0], options.filter)
    else:
        view = (_Found if options.filter.strip() else _Table)(run, scope, compiles, options.filter)
    return GrowingDocument(scope.page(NAME), f"guards{scope.title}", options, view.fill, Page)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tltui guards`."""
    what = "only guards with this text (a regular expression); kind:WORD, source:WORD and is:failed restrict further"
    parser.add_argument("--filter", metavar="TEXT", default="", help=what)


class _Table:
    """One line a compile."""

    def __init__(self, run: Run, scope: Scope, compiles: list[Compile], typed: str) -> None:
        self._run = run
        self._scope = scope
        self._compiles = compiles
        self._refs = max((len(str(c.ref)) for c in compiles), default=0) + 2

    def fill(self, page: Page) -> Generator[None, None, object]:
        found: list[GuardCounts] = []
        without: list[Compile] = []
        if self._compiles:
            page.say("Guards are checked at each call: when one fails, the next compile of the frame is tried.", "", tokens.DIM)
            page.add()
        groups = GuardGroups() if len(self._compiles) > ROWS_SHOWN else None
        for n, each in enumerate(each_with_failures(self._compiles)):
            if each is None:
                yield
                continue
            compile_, failures = each
            counts = counts_of(compile_, failures)
            if counts is None:
                without.append(compile_)
            else:
                found.append(counts)
                if groups is None:
                    self._row(page, compile_, counts)
                else:
                    groups.take(compile_, counts)
            if n % EVERY == EVERY - 1:
                yield
        if groups is not None:
            yield from groups.write(page)
        total: Counter[str] = Counter()
        for kinds, times in Counter(counts.kinds for counts in found).items():
            for kind, number in kinds:
                total[kind] += number * times
        self._rest(page, found, without, total)
        refs = tuple(str(c.ref) for c in without)
        return GuardTable(SCHEMA, str(self._scope.ref), tuple(found), refs, ordered(total))

    def _row(self, page: Page, compile_: Compile, counts: GuardCounts) -> None:
        ref = counts.ref
        name = fmt.clip_middle(sanitize(shown_name(compile_.frame) or "?"), 20)
        latency = f"{counts.latency_us:,.0f} µs" if counts.latency_us is not None else ""
        pieces: list[Piece] = [
            "  ", (f"[{ref}]".ljust(self._refs), tokens.LINK, f"@{NAME}:{ref}"), "  ",
            (f"{fmt.plural(counts.guards, 'guard'):>12}", tokens.NUMBER, counts.artifact), "  ",
            (f"{latency:>9}", tokens.NUMBER), f"  {name:<20}",
        ]  # fmt: skip
        if counts.failed:
            refs = list(dict.fromkeys(failed.ref for failed in counts.failed))
            pieces += ["  ", (f"failed for {fmt.plural(len(refs), 'recompile')}", tokens.ERROR, f"@recompiles:{refs[0]}")]
        page.row(pieces, "")

    def _rest(self, page: Page, found: list[GuardCounts], without: list[Compile], total: Counter[str]) -> None:
        if without:
            page.blank()
            what = page.so_far(f"{fmt.plural(len(without), 'compile')} without guards in the log")
            page.open(what, folded=True)
            page.add(("  " + what, tokens.DIM))
            for compile_ in without[:NAMED]:
                ref = str(compile_.ref)
                why = fmt.clip(_why_none(compile_), page.width - self._refs - 6)
                page.add("    ", (f"[{ref}]".ljust(self._refs), tokens.LINK, ref), f"  {why}")
            if len(without) > NAMED:
                page.add("    ", (f"and {fmt.count(len(without) - NAMED)} more", tokens.DIM))
            page.close()
        if not self._compiles:
            where = f" in {self._scope.ref}" if str(self._scope.ref) else ""
            page.say(page.so_far(f"No guards: there are no compiles{where}."))
        elif found:
            page.heading(f"By kind: {fmt.plural(total.total(), 'guard')} of {fmt.plural(len(found), 'compile')}")
            _kinds(page, sorted(total.items(), key=lambda item: (-item[1], item[0])))
            times = [c.latency_us for c in found if c.latency_us is not None]
            if times:
                page.blank()
                page.say(
                    f"To check the guards of a compile takes {min(times):,.0f} to {max(times):,.0f} µs, as torch measured it once "
                    "after each compile.", "  ", tokens.DIM,
                )  # fmt: skip
        page.more()


class _Found:
    """What a filter leaves of the guards of several compiles."""

    def __init__(self, run: Run, scope: Scope, compiles: list[Compile], typed: str) -> None:
        self._compiles = compiles
        self._typed = typed

    def fill(self, page: Page) -> Generator[None, None, object]:
        found: list[CompileGuards] = []
        total = 0
        for each in each_with_failures(self._compiles):
            if each is None or (counts := counts_of(*each)) is None:
                yield
                continue
            compile_ = each[0]
            total += counts.guards
            tree = _Tree(compile_, self._typed)
            guards = yield from tree.body(page, counts, tree.title())
            if guards:
                found.append(CompileGuards(SCHEMA, counts, self._typed, guards))
            yield
        page.close(0)
        page.blank()
        here = sum(len(each.guards) for each in found)
        of = f"{fmt.plural(total, 'guard')} of {fmt.plural(len(self._compiles), 'compile')}"
        page.say(f"{here:,} of {of}: {self._typed!r}", "", tokens.DIM)
        if not here:
            page.say(HELP, "", tokens.DIM)
        return tuple(found)


class _Tree:
    """The tree of one compile."""

    def __init__(self, compile_: Compile, typed: str) -> None:
        self._compile = compile_
        self._filter = GuardFilter.of(typed)
        self._typed = typed

    def title(self) -> list[Piece]:
        """`[0/1] f  models/f.py:4`"""
        _, file, line = self._compile.frame.code
        name = shown_name(self._compile.frame)
        ref = str(self._compile.ref)
        pieces: list[Piece] = [(f"[{ref}]", tokens.LINK, ref), " ", (fmt.clip_middle(sanitize(name or "?"), 40), tokens.FUNCTION)]
        if file is not None:
            pieces += ["  ", (fmt.place(file, line), tokens.LINK, fmt.place_target(file, line))]
        return pieces

    def fill(self, page: Page) -> Generator[None, None, object]:
        compile_ = self._compile
        failures = failures_in(compile_.frame).get(str(compile_.ref), ()) if len(compile_.frame.compiles) > 1 else ()
        counts = counts_of(compile_, failures)
        self._head(page, counts)
        if counts is None:
            return CompileGuards(SCHEMA, None, self._typed, ())
        yield
        what = "Guards by source" + (f", only those with {self._typed!r}" if self._filter else "")
        guards = yield from self.body(page, counts, [(what, tokens.HEADING)])
        if self._filter:
            page.blank()
            page.add("  ", (f"{fmt.count(len(guards))} of {fmt.plural(counts.guards, 'guard')}", tokens.DIM))
            if not guards:
                page.say(HELP, "  ", tokens.DIM)
        return CompileGuards(SCHEMA, counts, self._typed, guards)

    def body(self, page: Page, counts: GuardCounts, head: list[Piece]) -> Generator[None, None, tuple[Guard, ...]]:
        """The tree, below a head that is written with the first guard."""
        where = guards_record(self._compile)
        if where is None:
            return ()
        failed: dict[int, list[str]] = {}
        for guard in counts.failed:
            if guard.line is not None:
                failed.setdefault(guard.line, []).append(guard.ref)
        writer = TreeWriter(page, head, counts.artifact, self._compile.frame.code[1], failed, self._filter)
        record, name = where
        yield from writer.write(old_nodes(self._compile, record) if name == OLD else tree_nodes(self._compile, record))
        return tuple(writer.guards)

    def _head(self, page: Page, counts: GuardCounts | None) -> None:
        page.row(self.title(), "")
        if counts is None:
            page.say(page.so_far(f"No guards: {_why_none(self._compile)}."), "  ")
            return
        words: list[Piece] = [(fmt.plural(counts.guards, "guard"), tokens.LINK, counts.artifact)]
        if counts.latency_us is not None:
            words.append(f"{counts.latency_us:,.1f} µs to check them all")
        if counts.failed:
            refs = {failed.ref for failed in counts.failed}
            words.append((f"failed for {fmt.plural(len(refs), 'recompile')}", tokens.ERROR))
        page.joined(words, "  ")
        if counts.failed:
            self._failed(page, counts)
        page.heading("By kind")
        _kinds(page, counts.kinds)

    @staticmethod
    def _failed(page: Page, counts: GuardCounts) -> None:
        """The guards that failed later, each once."""
        page.heading("Failed later")
        groups: dict[tuple[str, int | None], list[FailedGuard]] = {}
        for failed in counts.failed:
            groups.setdefault((failed.cause, failed.line), []).append(failed)
        for (cause, line), group in groups.items():
            target = at_line(counts.artifact, line) if line is not None else ""
            pieces: list[Piece] = [(f"{cause:<16} ", tokens.KEYWORD)]
            if target:
                pieces += [("guard", tokens.LINK, target), "  "]
            pieces += [piece for failed in group[:6] for piece in ((f"[{failed.ref}]", tokens.LINK, failed.ref), " ")]
            if len(group) > 6:
                pieces.append((f"and {len(group) - 6} more", tokens.DIM))
            page.row(pieces)
            page.say(fmt.clip(fmt.one_line(sanitize(group[0].text)), 3 * page.width), "    ", tokens.VALUE)


def _kinds(page: Page, kinds: Iterable[tuple[str, int]]) -> None:
    rows: list[list[Piece]] = [
        [(fmt.count(count), tokens.NUMBER), (kind, tokens.KEYWORD), (KINDS.get(kind, ""), tokens.DIM)]
        for kind, count in kinds
    ]
    page.table(rows, right=(0,))


def _why_none(compile_: Compile) -> str:
    """Why a compile has no guards in the log."""
    facts = compile_.facts
    if not facts.traced:
        return "none are in the text"
    if facts.waiting:
        return "the compile is still running"
    if facts.recompile_limit:
        return "the recompile limit was reached"
    if facts.failed:
        return "the compile failed before the guards were built"
    if facts.skipped:
        return "nothing to guard: no operation was captured"
    if not facts.has_metrics:
        return "the log ends before they were written"
    return "the log has no dynamo_cpp_guards_str record for it"
