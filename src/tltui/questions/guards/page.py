"""The page `guards`."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Generator, Hashable, Iterable, Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.documents.rank_groups import ROWS_SHOWN, OnRanks, alike_on_ranks, said_ranks
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.node_answers import Count
from tltui.model.nodes import Compile
from tltui.model.ref import at_line
from tltui.model.run import Run
from tltui.questions.guards.guard_report import (
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
    ordered,
    tree_nodes,
)
from tltui.questions.guards.guard_sections import GuardGroups, TreeWriter, latency_range
from tltui.questions.question import Keyword, Question
from tltui.questions.stacks.tracebacks import display_name
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short

NAME = "guards"
HELP = "A filter is kind:WORD, source:WORD, is:failed, or any other text."
MEANING = (
    "Guards run on every call. If one fails, torch tries the frame's other compiled versions and recompiles only if none matches."
)
NAMED = 400
"""Compiles without guards that are named."""
EVERY = 16


@frozen
class GuardTable:
    """The guards of a run, or of a part with several compiles."""

    ref: str
    compiles: tuple[GuardCounts, ...]
    without_guards: tuple[str, ...]
    """Compiles whose log has no guards."""
    kinds: tuple[Count, ...]
    """The kinds of guards of all compiles together, the most frequent first."""


@frozen
class CompileGuards:
    """The guards of one compile."""

    counts: GuardCounts | None
    filter: str
    guards: tuple[Guard, ...]
    """The guards that match the filter, in the order of the tree."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the guard tree of one compile, or a table of several."""
    compiles = [c for c in scope.compiles if c.is_compile]
    view: _Tree | _Table | _Matches
    if len(compiles) == 1:
        view = _Tree(compiles[0], options.filter)
    else:
        view = _Matches(compiles, options.filter) if options.filter.strip() else _Table(scope, compiles)
    return GrowingDocument(scope.page(NAME), f"guards{scope.title}", options, view.fill, Page)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tltui guards`."""
    help_text = "only guards with this text (a regular expression); kind:WORD, source:WORD and is:failed restrict further"
    parser.add_argument("--filter", metavar="TEXT", default="", help=help_text)


class _Table:
    """The view of several compiles: one line each."""

    def __init__(self, scope: Scope, compiles: list[Compile]) -> None:
        self._scope = scope
        self._compiles = compiles
        self._refs = max((len(str(c.ref)) for c in compiles), default=0) + 2

    def fill(self, page: Page) -> Generator[None, None, object]:
        listed: list[GuardCounts] = []
        without: list[Compile] = []
        page.add((f"Guards{self._scope.title}", tokens.TITLE))
        page.blank()
        rows: list[tuple[Compile, GuardCounts]] = []
        for n, each in enumerate(each_with_failures(self._compiles)):
            if each is None:
                yield
                continue
            compile_, failures = each
            counts = counts_of(compile_, failures)
            if counts is None:
                without.append(compile_)
            else:
                listed.append(counts)
                rows.append((compile_, counts))
            if n % EVERY == EVERY - 1:
                yield
        yield from self._together(page, rows)
        total: Counter[str] = Counter()
        for kinds, times in Counter(counts.kinds for counts in listed).items():
            for kind, number in kinds:
                total[kind] += number * times
        self._rest(page, listed, without, total)
        refs = tuple(str(c.ref) for c in without)
        return GuardTable(str(self._scope.ref), tuple(listed), refs, ordered(total))

    def _together(self, page: Page, rows: Sequence[tuple[Compile, GuardCounts]]) -> Generator[None, None, None]:
        """Add one line for equal guards on several ranks; large tables in groups."""
        groups = alike_on_ranks(rows, lambda row: row[1].ref, page.newest, _same)
        if len(groups) <= ROWS_SHOWN:
            page.table(_guards_table(page.newest), groups)
            return
        many = GuardGroups(page.newest)
        for n, (compile_, counts) in enumerate(rows):
            many.add(compile_, counts)
            if n % EVERY == EVERY - 1:
                yield
        yield from many.write(page)

    def _rest(self, page: Page, counts: list[GuardCounts], without: list[Compile], total: Counter[str]) -> None:
        if without:
            page.blank()
            title = page.title_so_far(f"{fmt.plural(len(without), 'compile')} without guards in the log")
            page.open(title, folded=True)
            page.add(("  " + title, tokens.DIM))
            groups = alike_on_ranks(without, lambda node: str(node.ref), page.newest, _why_none)
            for nodes in groups[:NAMED]:
                refs = [str(compile_.ref) for compile_ in nodes]
                label = OnRanks(tuple(refs), said_ranks(refs, page.newest))
                why = fmt.clip(_why_none(nodes[0]), page.width - self._refs - 6)
                tail: list[Piece] = ["  ", (label.ranks, tokens.DIM)] if label.ranks else []
                page.row([(f"[{label.label}]".ljust(self._refs), tokens.LINK, label.ref), f"  {why}", *tail], "    ")
            if len(groups) > NAMED:
                page.add("    ", (f"and {fmt.count(sum(map(len, groups[NAMED:])))} more", tokens.DIM))
            page.close()
        if not self._compiles:
            where = f" in {self._scope.ref}" if str(self._scope.ref) else ""
            page.say(page.so_far(f"No guards: no compiles{where}."))
        elif counts:
            page.heading(f"By kind: {fmt.plural(total.total(), 'guard')} of {fmt.plural(len(counts), 'compile')}")
            _kinds(page, sorted(total.items(), key=lambda item: (-item[1], item[0])))
            page.blank()
            times = [c.latency_us for c in counts if c.latency_us is not None]
            if times:
                page.say(
                    f"Checking the guards of a compile takes {min(times):,.0f} to {max(times):,.0f} µs (torch measured it once "
                    "after each compile).", "  ", tokens.DIM,
                )  # fmt: skip
            page.say(MEANING, "  ", tokens.DIM)
        page.more()


def _guards_table(newest: Collection[str]) -> Table[Sequence[tuple[Compile, GuardCounts]]]:
    """Return the table of compiles with equal guards on several ranks, `newest`: the newest processes of ranks with several."""
    return Table((
        Column("compile", lambda rows: (f"[{label_of(rows)}]", tokens.LINK, f"@{NAME}:{rows[0][1].ref}"), sort="compile"),
        Column("guards", lambda rows: (fmt.count(rows[0][1].leaf_guard_count), tokens.NUMBER, rows[0][1].artifact), right=True,
               sort="guards", key=lambda rows: -rows[0][1].leaf_guard_count),
        Column("latency", lambda rows: (latency_range(_latencies(rows)), tokens.NUMBER), right=True,
               when=lambda groups: any(map(_latencies, groups)), sort="latency",
               key=lambda rows: -max(_latencies(rows), default=0.0)),
        Column("function", lambda rows: fmt.clip_middle(sanitize(_function_of(rows)), 30), sort="name",
               key=lambda rows: short(_function_of(rows))),
        Column("failed before", _failed_before, right=True, sort="failed",
               when=lambda groups: any(rows[0][1].failed for rows in groups),
               key=lambda rows: -len({failed.ref for failed in rows[0][1].failed})),
        Column("on", lambda rows: (said_ranks([each.ref for _, each in rows], newest) if len(rows) > 1 else "", tokens.DIM),
               when=lambda groups: any(len(rows) > 1 for rows in groups)),
    ), "compiles", order="compile")  # fmt: skip


def _latencies(rows: Sequence[tuple[Compile, GuardCounts]]) -> list[float]:
    return [counts.latency_us for _, counts in rows if counts.latency_us is not None]


def _function_of(rows: Sequence[tuple[Compile, GuardCounts]]) -> str:
    return display_name(rows[0][0].frame) or "?"


def _failed_before(rows: Sequence[tuple[Compile, GuardCounts]]) -> Piece:
    refs = list(dict.fromkeys(failed.ref for failed in rows[0][1].failed))
    each = " each" if len(rows) > 1 else ""
    return (f"{fmt.plural(len(refs), 'recompile')}{each}", tokens.ERROR, f"@recompiles:{refs[0]}") if refs else ""


def _same(row: tuple[Compile, GuardCounts]) -> Hashable:
    """Return the grouping key for guards on several ranks."""
    compile_, counts = row
    return compile_.frame.code, counts.kinds, tuple((failed.cause, failed.tree_line) for failed in counts.failed)


def label_of(rows: Sequence[tuple[Compile, GuardCounts]]) -> str:
    """Return the label of a row: `0/1` of several ranks, `7:0/1` of one."""
    ref = rows[0][1].ref
    return ref.partition(":")[2] if len(rows) > 1 else ref


class _Matches:
    """View of the guards of several compiles that match a filter."""

    def __init__(self, compiles: list[Compile], typed: str) -> None:
        self._compiles = compiles
        self._typed = typed

    def fill(self, page: Page) -> Generator[None, None, object]:
        results: list[CompileGuards] = []
        total = 0
        for each in each_with_failures(self._compiles):
            if each is None or (counts := counts_of(*each)) is None:
                yield
                continue
            compile_ = each[0]
            total += counts.leaf_guard_count
            tree = _Tree(compile_, self._typed)
            guards = yield from tree.body(page, counts, tree.title())
            if guards:
                results.append(CompileGuards(counts, self._typed, guards))
            yield
        page.close(0)
        page.blank()
        here = sum(len(each.guards) for each in results)
        of = f"{fmt.plural(total, 'guard')} of {fmt.plural(len(self._compiles), 'compile')}"
        if here:
            page.say(f"{here:,} of {of}: {self._typed!r}", "", tokens.DIM)
        else:
            _add_no_match(page, of, self._typed, "")
        return tuple(results)


class _Tree:
    """The view of one compile: its tree."""

    def __init__(self, compile_: Compile, typed: str) -> None:
        self._compile = compile_
        self._filter = GuardFilter.of(typed)
        self._typed = typed

    def title(self) -> list[Piece]:
        """Return the heading: `[0/1] f  models/f.py:4`."""
        _, file, line = self._compile.frame.code
        name = display_name(self._compile.frame)
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
            return CompileGuards(None, self._typed, ())
        yield
        title = "Guards by source" + (f", matching {self._typed!r}" if self._filter else "")
        guards = yield from self.body(page, counts, [(title, tokens.HEADING)])
        if self._filter:
            page.blank()
            total = fmt.plural(counts.leaf_guard_count, "guard")
            if guards:
                page.add("  ", (f"{fmt.count(len(guards))} of {total}", tokens.DIM))
            else:
                _add_no_match(page, total, self._typed, "  ")
        return CompileGuards(counts, self._typed, guards)

    def body(self, page: Page, counts: GuardCounts, head: list[Piece]) -> Generator[None, None, tuple[Guard, ...]]:
        """Add the tree; the head is written with the first guard."""
        where = guards_record(self._compile)
        if where is None:
            return ()
        failed: dict[int, list[str]] = {}
        for guard in counts.failed:
            if guard.tree_line is not None:
                failed.setdefault(guard.tree_line, []).append(guard.ref)
        writer = TreeWriter(page, head, counts.artifact, self._compile.frame.code[1], failed, self._filter)
        record, name = where
        yield from writer.write(old_nodes(self._compile, record) if name == OLD else tree_nodes(self._compile, record))
        return tuple(writer.guards)

    def _head(self, page: Page, counts: GuardCounts | None) -> None:
        page.row(self.title(), "")
        if counts is None:
            page.say(page.so_far(f"No guards: {_why_none(self._compile)}."), "  ")
            return
        words: list[Piece] = [(fmt.plural(counts.leaf_guard_count, "guard"), tokens.LINK, counts.artifact)]
        if counts.latency_us is not None:
            words.append(f"{counts.latency_us:,.0f} µs to check them all")
        if counts.failed:
            refs = {failed.ref for failed in counts.failed}
            words.append((f"failed before {fmt.plural(len(refs), 'recompile')}", tokens.ERROR))
        page.joined(words, "  ")
        if counts.failed:
            self._failed(page, counts)
        page.heading("By kind")
        _kinds(page, counts.kinds)

    @staticmethod
    def _failed(page: Page, counts: GuardCounts) -> None:
        """Add the guards that failed later, each once."""
        page.heading("Failed later")
        groups: dict[tuple[str, int | None], list[FailedGuard]] = {}
        for failed in counts.failed:
            groups.setdefault((failed.cause, failed.tree_line), []).append(failed)
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


def _add_no_match(page: Page, of: str, typed: str, indent: str) -> None:
    page.say(f"No matches for {typed!r} in {of}.", indent)
    page.say(HELP, indent, tokens.DIM)


def has_guards(answer: object) -> bool:
    """Return whether the answer of a filtered page has a guard."""
    results = answer if isinstance(answer, tuple) else (answer,)
    return any(isinstance(each, CompileGuards) and each.guards for each in results)


def _kinds(page: Page, kinds: Iterable[tuple[str, int]]) -> None:
    page.table(Table((
        Column("", lambda row: (fmt.count(row[1]), tokens.NUMBER), right=True),
        Column("", lambda row: (row[0], tokens.KEYWORD)),
        Column("", lambda row: (KINDS.get(row[0], ""), tokens.DIM)),
    )), list(kinds))  # fmt: skip


def _why_none(compile_: Compile) -> str:
    """Return why a compile has no guards in the log."""
    facts = compile_.facts
    if not facts.has_trace:
        return "not in the text"
    if facts.is_waiting:
        return "the compile is still running"
    if facts.recompile_limit_hit:
        return "the recompile limit was reached"
    if facts.failed:
        return "the compile failed before the guards were built"
    if facts.is_empty:
        return "nothing to guard: no operation was captured"
    if not facts.has_metrics:
        return "the log ends before they were written"
    return "the log has no dynamo_cpp_guards_str record for it"


@frozen
class GuardRow:
    """A guard, for one compile; for several: the guards of one kind of one compile."""

    ref: str
    """The address of the compile."""
    kind: str
    """The kind of guard: `TENSOR_MATCH` …"""
    count: int
    """The number of guards: 1 where the row is one guard."""
    source: str | None
    """The source that it checks; none where the row is several."""
    expression: str | None
    """The expression; none where the row is several."""
    file: str | None
    """The file of the line that made it."""
    line: int | None
    """The line that made it, from 1."""
    code: str | None
    """The source code of that line."""
    failed_count: int
    """The number of later compiles for which it did not hold; 0 for several guards: `data` has them."""


def guard_rows(data: GuardTable | CompileGuards | tuple[CompileGuards, ...]) -> Iterator[GuardRow]:
    """Yield one row per guard, or per kind of guards."""
    if isinstance(data, GuardTable):
        for counts in data.compiles:
            for kind in counts.kinds:
                yield GuardRow(counts.ref, kind.name, kind.times, None, None, None, None, None, 0)
        return
    for listed in (data,) if isinstance(data, CompileGuards) else data:
        ref = listed.counts.ref if listed.counts is not None else ""
        for guard in listed.guards:
            yield GuardRow(ref, guard.kind, 1, guard.source, guard.expression, guard.user_file, guard.user_line, guard.code,
                           len(guard.failed_in))  # fmt: skip


QUESTION = Question(
    name="guards",
    help="guards by source, their cost, and later failures",
    key="5",
    group="find causes",
    order=50,
    sorts=("compile", "guards", "latency", "name", "failed", "cause", "line"),
    needs=Needs("", ("guards",), "guards"),
    document=document,
    add_arguments=add_arguments,
    answer=GuardTable | CompileGuards | tuple[CompileGuards, ...],
    rows=GuardRow,
    records=guard_rows,
    keywords=(Keyword("filter", "filter"),),
    doc="""
    Guards of compiled code. For one compile a row per guard; for several a row per kind of guard and compile.

    `filter`: only guards with this text, a regular expression; `kind:WORD`, `source:WORD` and `is:failed` restrict further.
    """,
)
