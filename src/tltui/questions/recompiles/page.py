"""The page `recompiles`: recompiles of each frame with their causes, remedies, and the guard table of its versions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table, to_page
from tltui.documents.rank_groups import ranks_of, said_ranks
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.node_answers import Count, counts
from tltui.model.nodes import Compile, Frame
from tltui.model.record_reader import record_names
from tltui.model.ref import Ranks
from tltui.model.run import Run
from tltui.model.status import LIMIT
from tltui.questions.guards.guard_report import TREE
from tltui.questions.problems.reason_sections import refused_words
from tltui.questions.question import Question
from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.explanations import Explained, explained_of, name_of
from tltui.questions.recompiles.frame_recompiles import (
    FrameRecompiles,
    frame_recompiles,
    frames_of,
    recompiles_of,
    seconds_of,
    summary_of,
)  # fmt: skip
from tltui.questions.recompiles.guard_grammar import CAUSES, whose
from tltui.questions.recompiles.guard_table import FrameGuards, GuardTable, TableRow, guards_of
from tltui.questions.recompiles.predictions import without_index
from tltui.questions.recompiles.recompile_sections import RecompileLines, add_variations, rows_of
from tltui.questions.runtime.cost_sections import recompiles_sentence
from tltui.questions.stacks.tracebacks import display_name
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.formatting import cells as width
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

NAME = "recompiles"
FRAMES_SHOWN = 50
"""Maximum number of frames in full; of more, frames with the same code and causes are shown once."""
FEW_LEFT = 2
"""Compiles left before the limit, from which on that is a warning."""

UNRECORDED = (
    'calls under torch.compiler.set_stance("force_eager"), or under "eager_on_recompile" if no compiled version matches',
    "calls of the original module or function instead of the object that torch.compile returned (Trainer.evaluate may do this)",
    "calls inside of torch.compiler.disable",
)
MEASURE = "To find them, profile a few steps: tltui runtime explains how. It then lists the operators that ran in eager mode."
BLOCKS = 3
"""Rows of columns below each other; JSON has all versions."""
ROWS_SHOWN = 12
VALUE_WIDTH = 10
"""Maximum cells of a value."""
NAME_SHARE = 2 / 5
"""Part of the page for names."""
NO_GUARD = "-"

Group = list[tuple[Frame, list[Compile]]]
"""Equal frames of several ranks, each with its requested recompiles."""


@frozen
class AlikeFrames:
    """One code object that several ranks compiled again for the same causes."""

    ranks: Ranks
    refs: tuple[str, ...]
    """The frames, one a rank."""


@frozen
class Recompiles:
    """The recompiles of a run, or of a part of it."""

    ref: str
    """The part; '' for the run."""
    compiles: int
    compile_s: float
    """All compiles of the part."""
    recompiles: int
    recompile_s: float
    causes: tuple[Count, ...]
    """(class, recompiles in which it was a reason), the most frequent first."""
    frames: tuple[FrameRecompiles, ...]
    """Frames at the limit first, then by the time of their recompiles."""
    equal_frames: tuple[AlikeFrames, ...] = ()
    """Frames of one code object that were compiled again for the same causes on several ranks; the page has them once."""


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page `recompiles` for the frames of the scope."""
    view = _View(run, scope)
    return GrowingDocument(scope.page(NAME), f"recompiles{scope.title}", options, view.fill, Page)


BY_CAUSE: Table[tuple[str, int]] = Table((
    Column("", lambda row: (fmt.count(row[1]), tokens.NUMBER), right=True),
    Column("", lambda row: (row[0], tokens.KEYWORD)),
    Column("", lambda row: (CAUSES.get(row[0], ""), tokens.DIM)),
))  # fmt: skip


class _View:
    def __init__(self, run: Run, scope: Scope) -> None:
        self._run = run
        self._scope = scope
        self._causes: Counter[str] = Counter()

    def fill(self, page: Page) -> Generator[None, None, object]:
        compiles = [c for c in self._scope.compiles if c.is_compile]
        frames = frames_of(compiles)
        recompiles = [c for _, members in frames for c in members]
        seconds, spent = sum(c.compile_s for c in compiles), sum(c.compile_s for c in recompiles)
        page.add((f"Recompiles{self._scope.title}", tokens.TITLE))
        self._head(page, compiles, frames, seconds, spent)
        yield
        summaries: dict[int, FrameRecompiles] = {}
        by_code: dict[tuple[object, ...], Group] = {}
        kinds: dict[tuple[object, ...], str] = {}
        groups = yield from _on_ranks(frames, page.newest)
        for group in groups:
            frame, _ = group[0]
            like = (yield from _like(frame, kinds)) if len(groups) > FRAMES_SHOWN else None
            if like is None:
                summaries[id(frame)] = yield from self._frame(page, group, by_code)
            else:
                _add_alike(page, group, like)
            for frame, members in group[1 if like is None else 0 :]:
                summaries[id(frame)] = self._summary(frame, members)
                yield
        if self._causes:
            self._by_cause(page)
        several = [group for group in groups if len(group) > 1]
        alike = tuple(AlikeFrames(ranks_of(str(f.ref) for f, _ in group), tuple(str(f.ref) for f, _ in group)) for group in several)
        return Recompiles(
            str(self._scope.ref), len(compiles), seconds, len(recompiles), spent, counts(self._ordered()),
            tuple(summaries[id(frame)] for frame, _ in frames), alike,
        )  # fmt: skip

    def _head(
        self, page: Page, compiles: list[Compile], frames: list[tuple[Frame, list[Compile]]], seconds: float, spent: float
    ) -> None:
        if not frames:
            _add_no_recompiles(page, self._scope, compiles)
            return
        total = sum(len(members) for _, members in frames)
        count = f"{fmt.plural(total, 'recompile')} of {fmt.plural(len(frames), 'frame')}"
        words: list[Piece] = [(f"{count}{_refused(c for _, members in frames for c in members)}", tokens.RECOMPILE)]
        if seconds:
            words.append(f"{fmt.seconds(spent)} of {fmt.seconds(seconds)} compile time")
        page.joined(words)
        hit = [members for _, members in frames if any(c.facts.recompile_limit_hit for c in members)]
        if hit:
            raised = sum(any(c.facts.recompile_limit_hit and not c.facts.eager_reason for c in members) for members in hit)
            for number, consequence in ((raised, "are errors"), (len(hit) - raised, "run in eager mode")):
                if number:
                    sentence = f"{fmt.plural(number, 'frame')} hit the recompile limit"
                    page.say(f"{sentence}: calls that match no compiled version {consequence}.", "", tokens.WARN)
        if not any(TREE in record_names(process.log) for process in dict.fromkeys(frame.process for frame, _ in frames)):
            page.say(page.so_far("The log has no guards: these are only the causes that torch named first."), "", tokens.DIM)
        if len(frames) > 1:
            first = "most expensive frames" if seconds else "frames with the most recompiles"
            order = f"Frames at the recompile limit come first, then the {first}." if hit else f"The {first} come first."
            page.say(order, "", tokens.DIM)

    def _frame(
        self, page: Page, group: Group, by_code: dict[tuple[object, ...], Group]
    ) -> Generator[None, None, FrameRecompiles]:
        frame, members = group[0]
        code = frame.code
        twin = by_code.get(code) if code[1] is not None else None
        by_code.setdefault(code, group)
        name = sanitize(display_name(frame) or f"frame {frame.key.frame}")
        page.close(0)
        page.blank()
        page.open(f"{frame.ref} {name}", folded=twin is not None and _is_of_a_rank(twin, group))
        self._frame_head(page, group, name, str(twin[0][0].ref) if twin else None)
        if ran := recompiles_sentence(self._run, (c for frame, _ in group for c in recompiles_of(frame))):
            page.say(ran, "  ", tokens.STRONG)
        every = recompiles_of(frame)
        explained: list[Explained] = []
        for compile_ in every:
            explained.append(explained_of(compile_))
            yield
        guards = yield from guards_of(frame, explained)
        summary = self._summary(frame, members, guards, explained)
        self._limit(page, summary)
        if guards is None and TREE in record_names(frame.process.log) and any(recompile.reasons for recompile in explained):
            page.say(page.so_far("The log has no guards of this function: torch named these causes first."), "  ", tokens.DIM)
        if guards is not None and all(recompile.reasons for recompile in summary.recompiles):
            _add_callees(page, frame, guards.table.callees)
        page.blank()
        lines = RecompileLines(page, summary.recompiles, summary.variations, len(members) == 1, guards=guards)
        for row in rows_of(summary.recompiles):
            if len(row) == 1:
                lines.add(row[0])
            else:
                yield from lines.add_row(row)
            yield
        lines.add_folded()
        if summary.variations:
            page.blank()
            add_variations(page, summary.variations, len(every), together=summary.together, all_dynamic=summary.all_dynamic)
        if guards is not None:
            _add_guard_table(page, guards.table)
        yield
        return summary

    def _summary(
        self, frame: Frame, compiles: list[Compile], guards: FrameGuards | None = None, explained: Sequence[Explained] = ()
    ) -> FrameRecompiles:
        """Summarize a frame; variations also count its recompiles outside the scope."""
        every = recompiles_of(frame)
        if guards is None and len(compiles) == len(every):
            summary = summary_of(frame)
        else:
            wanted = set(map(id, compiles))
            explained = explained or [explained_of(compile_) for compile_ in every]
            in_scope = [item for compile_, item in zip(every, explained, strict=True) if id(compile_) in wanted]
            summary = frame_recompiles(frame, explained, in_scope, guards)
        for recompile in summary.recompiles:
            self._causes.update({reason.cause for reason in recompile.reasons})
        return summary

    def _frame_head(self, page: Page, group: Group, name: str, twin: str | None) -> None:
        frame = group[0][0]
        ref = str(frame.ref)
        pieces: list[Piece] = [(ref, tokens.LINK, ref), " ", (fmt.clip_middle(name, page.width // 2), tokens.FUNCTION)]
        if frame.code[1] is not None:
            pieces += ["  ", page.place(frame.code[1], frame.code[2])]
        if twin is not None:
            pieces.append(f"  the same code as {twin}")
        page.row(pieces, "")
        each = ""
        if len(group) > 1:
            page.row([("the same on ", tokens.DIM), (_ranks(group, page.newest), tokens.STRONG)])
            each = " each"
        every = recompiles_of(frame)
        spent = [sum(c.compile_s for c in recompiles_of(member)) for member, _ in group]
        took = fmt.took_from_to([seconds_of(member) for member, _ in group])
        words: list[Piece] = [fmt.plural(len(frame.compiles), "compile") + each + took]
        count = f"{fmt.plural(len(every), 'recompile')}{each}{fmt.took_from_to(spent, ' (', ')')}{_refused(every)}"
        words.append((count, tokens.RECOMPILE))
        if each:
            words.append((f"shown: those of rank {ref.partition(':')[0]}", tokens.DIM))
        page.joined(words, "  ")

    @staticmethod
    def _limit(page: Page, frame: FrameRecompiles) -> None:
        limit = f" of {frame.limit}" if frame.limit is not None else ""
        title = "warning" if (frame.limit_ref or "").endswith(f":{LIMIT}") else "metrics"
        link: list[Piece] = ["  ", to_page(title, frame.limit_ref)] if frame.limit_ref else []
        if frame.limit_hit:
            page.row([(f"the recompile limit{limit} was reached", tokens.WARN), *link])
        elif frame.compiles_left is not None:
            left = fmt.plural(frame.compiles_left, "more compile") if frame.compiles_left else "no further compile"
            style = tokens.WARN if frame.compiles_left <= FEW_LEFT else tokens.DIM
            page.row([(f"{left} before the recompile limit{limit}", style), *link])

    def _ordered(self) -> list[tuple[str, int]]:
        return sorted(self._causes.items(), key=lambda item: (-item[1], item[0]))

    def _by_cause(self, page: Page) -> None:
        page.heading("Reasons by class")
        page.table(BY_CAUSE, self._ordered())
        page.add("  ", ("recompiles with this reason; a recompile can have several", tokens.DIM))


def _refused(recompiles: Iterable[Compile]) -> str:
    """Return the number of recompiles that torch refused, in words; '' for none."""
    return refused_words(sum(compile_.facts.recompile_limit_hit for compile_ in recompiles))


def _add_callees(page: Page, frame: Frame, callees: Sequence[str]) -> None:
    """Name the objects that share a wrapper of torch or a library."""
    owner = whose(frame.code[1] or "")
    if not callees or not owner:
        return
    names = [fmt.one_line(sanitize(name)) for name in callees[:CALLEES_SHOWN]]
    more = f" and {len(callees) - CALLEES_SHOWN} more" if len(callees) > CALLEES_SHOWN else ""
    page.say(f"{', '.join(names)}{more} share this wrapper of {owner} and its recompile limit.", "  ", tokens.STRONG)
    page.say("isolate_recompiles=True (torch 2.13 or later) gives each torch.compile call a limit of its own.", "  ", tokens.DIM)


CALLEES_SHOWN = 6


def _on_ranks(
    frames: Sequence[tuple[Frame, list[Compile]]], newest: Collection[str]
) -> Generator[None, None, list[Group]]:
    """Group frames of one code object that several ranks compiled again for the same causes, the lowest rank first."""
    if not any(frame.process.ranks_differ for frame, _ in frames):
        return [[item] for item in frames]
    groups: dict[tuple[object, ...], Group] = {}
    counts_by_kind: Counter[tuple[object, ...]] = Counter()
    for frame, recompiles in frames:
        causes = yield from _causes(frame)
        process = frame.process
        is_older = not process.alone and str(process.ref).rstrip(":") not in newest
        kind = (frame.code, len(recompiles), process.number if is_older else 0, *causes)
        counts_by_kind[process.key, kind] += 1  # the number among equal frames of this rank
        alone = frame.code[1] is None or process.rank is None
        groups.setdefault((*kind, counts_by_kind[process.key, kind], id(frame) if alone else 0), []).append((frame, recompiles))
    return [sorted(group, key=lambda item: item[0].process.rank or 0) for group in groups.values()]


def _ranks(group: Group, newest: Collection[str]) -> str:
    return said_ranks([str(frame.ref) for frame, _ in group], newest)


def _is_of_a_rank(twin: Group, group: Group) -> bool:
    """Return whether they are several frames with one code of one rank, not what ranks differ in."""
    return not {id(frame.process) for frame, _ in twin}.isdisjoint(id(frame.process) for frame, _ in group)


def _causes(frame: Frame) -> Generator[None, None, list[object]]:
    """Return the causes of a frame's recompiles for comparison with other frames."""
    causes: list[object] = []
    for compile_ in recompiles_of(frame):
        recompile = explained_of(compile_)
        causes.append((recompile.limit_hit, *((r.cause, r.source, r.dim, r.expected, r.actual) for r in recompile.reasons)))
        yield
    return causes


def _like(frame: Frame, kinds: dict[tuple[object, ...], str]) -> Generator[None, None, str | None]:
    """Return the address of the first frame with the same code and causes; None for the first itself."""
    causes = yield from _causes(frame)
    if frame.code[1] is None:
        return None
    first = kinds.setdefault((frame.code, *causes), str(frame.ref))
    return None if first == str(frame.ref) else first


def _add_alike(page: Page, group: Group, like: str) -> None:
    """Add a one-line reference to a frame with the same recompiles."""
    frame = group[0][0]
    ref, name = str(frame.ref), fmt.clip_middle(sanitize(display_name(frame) or ""), page.width // 2)
    page.close(0)
    several: list[Piece] = [("  " + _ranks(group, page.newest), tokens.DIM)] if len(group) > 1 else []
    page.row([
        (ref, tokens.LINK, f"@{NAME}:{ref}"), " ", (name, tokens.FUNCTION), f"  the same causes as {like}",
        (f"  {fmt.plural(len(frame.compiles), 'compile')}{fmt.took(seconds_of(frame))}", tokens.DIM), *several,
    ], "")  # fmt: skip


def _add_no_recompiles(page: Page, scope: Scope, compiles: list[Compile]) -> None:
    """Explain why there are no recompiles."""
    if not compiles:
        where = f" in {scope.ref}" if str(scope.ref) else ""
        page.say(page.so_far(f"No recompilations: no compiles{where}."), "", tokens.STRONG)
        page.say("Only torch.compile recompiles; exports and AOTInductor do not.", "  ", tokens.DIM)
    elif len(compiles) == 1:
        text = f"Torch recorded no recompilation; [{compiles[0].ref}] is the first compile of its frame."
        page.say(page.so_far(text), "", tokens.STRONG)
        frame = compiles[0].frame
        if further := len(frame.compiles) - 1:
            text = f"The frame has {fmt.plural(further, 'further compile')}: "
            page.row([text, (str(frame.ref), tokens.LINK, f"@{NAME}:{frame.ref}")], "")
    else:
        text = f"Torch recorded no recompilation; each of the {fmt.plural(len(compiles), 'frame')} was compiled once."
        page.say(page.so_far(text), "", tokens.STRONG)
    if scope.ref.id is None and compiles and not page.goes_on:
        _add_unrecorded(page)
    page.more()


def _add_unrecorded(page: Page) -> None:
    """Add the calls that a trace cannot show, and how to find them."""
    page.say("A trace records compiles, not calls. These calls run in eager mode without a record:", "  ", tokens.DIM)
    for item in UNRECORDED:
        page.say(f"- {item}", "    ", tokens.DIM, "      ")
    page.say(MEASURE, "  ", tokens.DIM)


def _add_guard_table(page: Page, table: GuardTable, indent: str = "  ") -> None:
    """Add the guards that differ between the compiled versions of a frame."""
    if len(table.versions) < 2 or not table.rows or len(table.versions) == len(table.rows) + 1 == 2:
        return  # one value of two versions: the recompilation has it
    page.blank()
    page.open("Guards by version")
    page.add(indent, ("Guards that differ, by compiled version", tokens.LABEL))
    rows = _alike_rows(table.rows)
    names = [_name(row, count) for row, count in rows[:ROWS_SHOWN]]
    room = int(page.width * NAME_SHARE)
    left = min(max(map(width, names)), room)
    columns = [_id(ref) for ref in table.versions]
    cells = [[_cell(value) for value in row.values] for row, _ in rows[:ROWS_SHOWN]]
    widths = [max(width(columns[n]), *(width(row[n]) for row in cells)) for n in range(len(columns))]
    start = blocks = 0
    while start < len(columns) and blocks < BLOCKS:
        end = start + _fitting(widths[start:], page.width - len(indent) - 2 - left)
        _block(page, table, names, cells, widths, range(start, end), left, indent + "  ")
        start, blocks = end, blocks + 1
    _rest(page, table, len(rows) - ROWS_SHOWN, len(columns) - start, indent + "  ")
    page.close()


def _alike_rows(rows: Sequence[TableRow]) -> list[tuple[TableRow, int]]:
    """Group rows of equal values whose sources differ only in an index: the first of each group and how many there are."""
    groups: dict[tuple[str, str, int | None, tuple[str, ...]], list[TableRow]] = defaultdict(list)
    for row in rows:
        cause = guard_grammar.INT if row.cause in guard_grammar.NUMBERS else row.cause  # one value may be an int and a float
        groups[(cause, without_index(row.source), row.dim, row.values)].append(row)
    return [(members[0], len({row.source for row in members})) for members in groups.values()]


def _name(row: TableRow, count: int) -> str:
    name = name_of(without_index(row.source) if count > 1 else row.source, row.dim)
    number = f" ({count} guards)" if count > 1 else ""
    return fmt.one_line(sanitize(f"{row.cause} {name}{number}"))


def _id(ref: str) -> str:
    return f"[{ref.rpartition(':')[2]}]"


def _cell(value: str) -> str:
    return fmt.clip(fmt.one_line(sanitize(value)), VALUE_WIDTH) or NO_GUARD


def _fitting(widths: Sequence[int], room: int) -> int:
    """Return how many columns fit; at least one."""
    count = 0
    for column in widths:
        room -= column + 2
        if room < 0:
            break
        count += 1
    return max(count, 1)


def _block(
    page: Page, table: GuardTable, names: Sequence[str], cells: Sequence[Sequence[str]], widths: Sequence[int], shown: range,
    left: int, indent: str,
) -> None:  # fmt: skip
    """Add the rows of some versions; a value that differs from that of the version before is highlighted."""
    head: list[Piece] = [indent, " " * left]
    for n in shown:
        ref = table.versions[n]
        head += [f"  {' ' * (widths[n] - width(_id(ref)))}", (_id(ref), tokens.LINK, ref)]
    page.add(*head)
    for name, row in zip(names, cells, strict=True):
        text = fmt.clip_middle(name, left)
        pieces: list[Piece] = [indent, (text, tokens.NAME), " " * (left - width(text))]
        for n in shown:
            changed = n > 0 and row[n] != row[n - 1]
            pieces += [f"  {' ' * (widths[n] - width(row[n]))}", (row[n], tokens.CHANGED if changed else tokens.DIM)]
        page.add(*pieces)


def _rest(page: Page, table: GuardTable, rows: int, hidden: int, indent: str) -> None:
    parts = []
    if hidden > 0 or table.different > len(table.versions):
        parts.append(f"{fmt.plural(max(hidden, 0) + table.different - len(table.versions), 'more version')}")
    if rows > 0:
        parts.append(fmt.plural(rows, "more guard"))
    if parts:
        page.add(indent, (f"{' and '.join(parts)} in --json", tokens.DIM))
    if table.limit:
        page.say(f"Some calls were compared with only {table.limit} older versions.", indent, tokens.DIM)
    if table.without_guards:
        refs = " ".join(map(_id, table.without_guards[:4]))
        more = f" and {len(table.without_guards) - 4} more" if len(table.without_guards) > 4 else ""
        text = f"No guards in the log for {refs}{more}: other causes of these compiles are unknown."
        page.say(page.so_far(text), indent, tokens.DIM)


@frozen
class RecompileRow:
    """One reason of one recompile: a guard of an earlier compile that failed. A recompile without a reason has one row too."""

    ref: str
    """The address of the recompile."""
    frame: str
    """The address of its frame."""
    function: str | None
    """The function."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    status: str | None
    """The status of the recompile."""
    duration_s: float | None
    """The time of the recompile in seconds: the same in each row of one recompile, never to be added over its reasons."""
    cause: str
    """The cause, as in docs/recompiles.md: `tensor size`, `int value`, `type` …; empty where no reason is known."""
    source: str
    """The source that the guard checks: `L['x']`."""
    dim: int | None
    """The dimension, of a size or stride."""
    expected: str
    """The expected value."""
    actual: str
    """The actual value."""
    guard: str
    """The reason in torch's words."""
    earlier: str | None
    """The address of the earlier compile whose guard failed."""
    user_file: str | None
    """The file of the line that made the guard."""
    user_line: int | None
    """The line that made the guard, from 1."""
    code: str | None
    """The source code of that line."""
    limit_hit: bool
    """Whether the recompile limit was hit."""


def recompile_rows(data: Recompiles) -> Iterator[RecompileRow]:
    """Yield one row per reason, in the order of compiles."""
    for frame in data.frames:
        for recompile in frame.recompiles:
            head = (recompile.ref, frame.ref, frame.function, frame.file, frame.line, recompile.status, recompile.duration_s)
            if not recompile.reasons:
                yield RecompileRow(*head, "", "", None, "", "", recompile.reasons_from, None, None, None, None, recompile.limit_hit)
            for reason in recompile.reasons:
                yield RecompileRow(*head, reason.cause, reason.source, reason.dim, reason.expected, reason.actual, reason.text,
                                   reason.earlier, reason.file, reason.line, reason.code, recompile.limit_hit)  # fmt: skip


QUESTION = Question(
    name="recompiles",
    help="why functions were recompiled: the guard that failed, the changed values, and the fix",
    key="3",
    group="find causes",
    order=30,
    needs=Needs("has no times", ("recompiles",), "the reasons for recompiles"),
    document=document,
    answer=Recompiles,
    rows=RecompileRow,
    records=recompile_rows,
    doc="""
    The failed guards of earlier compiles, with the changed values: one row per reason. The page and
    `data.frames[…].variations` show how to fix them.

    >>> import tltui
    >>> found = tltui.recompiles(tltui.open("tests/traces/torch-2.13/recompiles"))
    >>> [(row.ref, row.cause, row.source, row.expected, row.actual) for row in found[:2]]
    [('0/1', 'tensor size', 'x', '3', '5'), ('0/2', 'int value', 'n', '2', '1')]
    """,
)
