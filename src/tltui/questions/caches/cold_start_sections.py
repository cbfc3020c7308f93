"""Cold start as sections of a page: the time that the next process saves, and sizes that were compiled at their first use."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from tltui.documents import format as fmt
from tltui.documents.columns import Column, Table, by_numbers
from tltui.documents.page import Page
from tltui.documents.rank_groups import alike_on_ranks, on_ranks
from tltui.documents.scope import Scope
from tltui.questions.caches.cache_report import CompileCaches, caches_in
from tltui.questions.caches.cold_start import cold_start_steps
from tltui.questions.caches.cold_start_report import ColdStart, NewSize
from tltui.questions.recompiles.explanations import name_of
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.safe_files import quoted
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short

SIZES_SHOWN, SIZES_LISTED = 10, 200
DIRECTORIES_SHOWN = 2
KEPT, REPEATED, REST = "saved at most by keeping the caches", "repeated in every process", "remaining time"
ENTRIES = "Loading entries takes part of the saved time."
AGAIN = "Dynamo and the building of guards run again even on a cache hit. Only ahead-of-time compilation saves that time."
KEEP = "Keep it, and set TORCHINDUCTOR_CACHE_DIR to it in the next process. The log does not record its size: du -sh prints it."
KEEP_ONE = "The compiles used different directories. Set TORCHINDUCTOR_CACHE_DIR to one that is kept, in this and the next process."
FIRST_CALL = "The first call with a new size waits for a compilation."
MOVED = "To compile earlier, call the function with these sizes when the process starts."
SHORTEST_S = 0.001
"""Seconds of a row, at least."""
AT_ONCE = 300
"""Compiles up to which the page `timing` has the sums."""


Line = tuple[float, str, str, str]
"""Seconds, share, label, note."""
LINES: Table[Line] = Table((
    Column("", lambda line: (fmt.seconds(line[0]), tokens.NUMBER), right=True),
    Column("", lambda line: line[1], right=True, drop=2),
    Column("", lambda line: (line[2], tokens.STRONG if line[1] else ""), shrinks=False),
    Column("", lambda line: (line[3], tokens.DIM), drop=1),
))  # fmt: skip


def add_cold_start(page: Page, cold: ColdStart, processes: int, autotune: str) -> None:
    """Add the sections: `processes` compiled, and `autotune` is the address of that page.

    While a job runs, later records can show a lookup of any compile.
    """
    if not cold.compile_s or page.goes_on:
        return
    page.heading(f"Cold start of a new process (this run compiled for {fmt.seconds(cold.compile_s)})")
    page.table(LINES, list(_lines(cold)))
    added = f"The seconds of {fmt.count(processes)} processes are added up. " if processes > 1 else ""
    notes = [note for note, amount in ((ENTRIES, cold.cached_s), (AGAIN, cold.repeated_s)) if amount]
    page.say(added + " ".join(notes), "  ", tokens.DIM)
    if cold.autotuned_s >= SHORTEST_S:
        took = (fmt.seconds(cold.autotuned_s), tokens.NUMBER)
        page.row(["Autotuning took ", took, " of it  ", ("→ autotune", tokens.LINK, autotune)], "  ")
    if cold.cached_s and cold.directories:
        _directories(page, cold)
    _new_sizes(page, cold.new_sizes)


def _lines(cold: ColdStart) -> Iterator[Line]:
    if cold.cached_s:
        yield cold.cached_s, fmt.percent(cold.cached_s, cold.compile_s), KEPT, ""
    for cache in cold.caches:
        yield cache.saved_s, "", f"  {cache.cache}", cache.files
    if cold.repeated_s:
        yield cold.repeated_s, fmt.percent(cold.repeated_s, cold.compile_s), REPEATED, "Dynamo and guards"
    rest = [one for one in cold.rest if one.duration_s >= SHORTEST_S]
    reasons = [(one.duration_s, one.reason, f"in {fmt.plural(one.compiles, 'compile')}") for one in rest]
    note = f"{reasons[0][1]}, {reasons[0][2]}" if len(reasons) == 1 else ""
    if cold.rest_s >= SHORTEST_S:
        yield cold.rest_s, fmt.percent(cold.rest_s, cold.compile_s), REST, note
    for amount, reason, members in reasons if len(reasons) > 1 else ():
        yield amount, "", f"  {reason}", members


def _directories(page: Page, cold: ColdStart) -> None:
    shown = [quoted(sanitize(one)) for one in cold.directories[:DIRECTORIES_SHOWN]]
    more = len(cold.directories) - len(shown)
    rest = f" and {fmt.plural(more, 'more directory', 'more directories')}" if more else ""
    label = "Cache directory" if len(cold.directories) == 1 else "Cache directories"
    page.say(f"{label}: {', '.join(shown)}{rest}", "  ")
    page.say(KEEP if len(cold.directories) == 1 else KEEP_ONE, "  ", tokens.DIM)


SizeRow = tuple[Sequence[NewSize], list[Piece]]
SIZES: Table[SizeRow] = Table((
    Column("compile", lambda row: row[1][0], sort="compile", key=lambda row: by_numbers(row[0][0].ref)),
    Column("time", lambda row: (fmt.from_to([one.duration_s for one in row[0]]), tokens.NUMBER), right=True, sort="time"),
    Column("function", lambda row: (fmt.clip_middle(sanitize(row[0][0].function or "?"), 30), tokens.FUNCTION), sort="name",
           key=lambda row: short(row[0][0].function or "")),
    Column("new size", lambda row: _changes(row[0][0])),
    Column("", lambda row: ("  ".join(map(piece_text, row[1][1:])), tokens.DIM), when=lambda rows: any(row[1][1:] for row in rows)),
), "compiles", SIZES_SHOWN, SIZES_LISTED, order="time")  # fmt: skip


def _changes(one: NewSize) -> str:
    texts = []
    for change in one.changes:
        name = name_of(change.source, change.dim)
        before, now = ("?" if value == "" else value for value in (change.before, change.now))
        texts.append(f"{name}: {before} → {now}" if change.dim is not None or now != "?" else name)
    return sanitize(fmt.one_line(", ".join(texts)))


def _new_sizes(page: Page, sizes: Sequence[NewSize]) -> None:
    if not sizes:
        return
    page.heading(f"Compiled when a size was first used ({fmt.plural(len(sizes), 'compile')}, "
                 f"{fmt.seconds(sum(one.duration_s for one in sizes))})")  # fmt: skip
    page.say(f"{FIRST_CALL} {MOVED}", "  ", tokens.DIM)
    groups = alike_on_ranks(sizes, lambda one: one.ref, page.newest, lambda one: (one.function, one.changes))
    rows = []
    for group in groups:
        pieces = [piece for ranks in on_ranks((one.ref for one in group), page.newest) for piece in ranks.pieces()]
        rows.append((group, pieces))
    page.table(SIZES, rows)


def add_cold_start_line(page: Page, scope: Scope) -> Generator[None, None, None]:
    """Add a line with the sums of a job that has ended; with many compiles the link alone.

    The sums of a running job are computed too: its last batch then needs only what it touched.
    """
    link: Piece = ("→ caches", tokens.LINK, scope.page("caches"))
    compiles = [compile_ for compile_ in scope.compiles if compile_.is_compile]
    if not compiles:
        return
    if len(compiles) > AT_ONCE:
        page.blank()
        page.row([("Cold start of a new process", tokens.STRONG), "  ", link], "")
        return
    caches: list[CompileCaches] = []
    for compile_ in compiles:
        caches.append(caches_in(compile_)[0])
        yield
    cold = yield from cold_start_steps(compiles, caches, 0.0)
    if not cold.compile_s or page.goes_on:
        return
    amounts = ((KEPT, cold.cached_s), (REPEATED, cold.repeated_s), (REST, cold.rest_s))
    words = " · ".join(f"{label}: {fmt.seconds(amount)}" for label, amount in amounts if amount)
    page.blank()
    page.row([("Cold start of a new process", tokens.STRONG), f"  {words}  ", link], "")
