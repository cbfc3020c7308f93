"""Cold start: seconds that kept caches save, seconds that each process repeats, the rest; sizes compiled at their first use."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table, by_numbers
from tltui.documents.rank_groups import alike_on_ranks, on_ranks
from tltui.documents.scope import Scope
from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, records_of, text_in
from tltui.questions.autotune.autotune_report import events_in
from tltui.questions.caches.cache_report import (
    ALL_CACHES,
    AOT,
    BYPASS,
    FX,
    HIT,
    MISS,
    ColdStart,
    CompileCaches,
    KeptCache,
    NewSize,
    RemainingTime,
    SizeChange,
    caches_in,
)
from tltui.questions.recompiles import guard_grammar
from tltui.questions.recompiles.explanations import Explained, explained_of, name_of
from tltui.questions.timing.event_sums import CompileTime, stretches_of, time_of
from tltui.questions.timing.timing_events import AUTOGRAD, DYNAMO, GUARDS, INDUCTOR, KERNELS
from tltui.text import tokens
from tltui.text.document import Piece, piece_text
from tltui.text.safe_files import quoted
from tltui.text.sanitize import sanitize
from tltui.text.torch_names import short

COMPILED = "compiled kernels"
"""Of Triton and C++."""
FILES = {AOT: "aotautograd/", FX: "fxgraph/", COMPILED: "triton/, *.so"}
"""Cache → its files below the cache directory of Inductor (torch 2.4 to 2.13)."""
CACHED_PHASES = {AUTOGRAD: AOT, INDUCTOR: FX, KERNELS: COMPILED}
"""Phase → the cache that makes it unnecessary."""
LOADING, BYPASSED, DISABLED = "loading from caches", "a cache was bypassed", "a cache was disabled"
UNASKED, OTHER = "no lookup was logged", "everything else"
AUTOTUNED_IN = 300
"""Compiles up to which their searches of autotuning are looked for in all timing events."""
_SIZES = frozenset((guard_grammar.SIZE, guard_grammar.CONDITION, guard_grammar.INT))
_CODE_DIRECTORY = re.compile(r"[a-z0-9]{2}", re.ASCII)
_OUTPUT_CODE = "inductor_output_code"

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
SizeRow = tuple[Sequence[NewSize], list[Piece]]


class ColdStartSums:
    """Sums over compiles."""

    def __init__(self) -> None:
        self._compile_s = self._repeated_s = 0.0
        self._saved: dict[str, float] = defaultdict(float)
        self._rest: dict[str, float] = defaultdict(float)
        self._compiles: Counter[str] = Counter()

    def add(self, time: CompileTime, caches: CompileCaches | None) -> None:
        """Add a compile with its cache lookups."""
        self._compile_s += time.duration_s
        seconds = {phase.name: phase.self_s for phase in time.phases}
        repeated = min(seconds.pop(DYNAMO, 0.0) + seconds.pop(GUARDS, 0.0), time.duration_s)
        self._repeated_s += repeated
        saved = saved_by_keeping(seconds, caches)
        left = max(time.duration_s - repeated, 0.0)
        if (total := sum(saved.values())) > left:  # a lazy backward has events that the duration does not count
            saved = {cache: amount * left / total for cache, amount in saved.items()}
        rest = left - sum(saved.values())
        for cache, amount in saved.items():
            self._saved[cache] += amount
            self._compiles[cache] += 1
        reason = reason_of_rest(caches)
        of_reason = min(rest, sum(seconds.values()) - sum(saved.values())) if reason != OTHER else 0.0
        for name, amount in ((reason, of_reason), (OTHER, rest - of_reason)):
            if amount > 0:
                self._rest[name] += amount
                self._compiles[name] += 1

    def result(self, saved_s: float, directories: Iterable[str], new_sizes: Iterable[NewSize]) -> ColdStart:
        """Return the report; `saved_s` are the seconds that hits saved."""
        caches = tuple(
            KeptCache(cache, FILES[cache], self._saved[cache], self._compiles[cache])
            for cache in CACHED_PHASES.values() if self._saved[cache] > 0
        )  # fmt: skip
        ordered = sorted(self._rest.items(), key=lambda item: -item[1])
        rest = tuple(RemainingTime(name, amount, self._compiles[name]) for name, amount in ordered)
        cached_s = sum(cache.saved_s for cache in caches)
        return ColdStart(
            self._compile_s, cached_s, self._repeated_s, sum(one.duration_s for one in rest), saved_s, caches, rest,
            tuple(dict.fromkeys(directories))[:8], tuple(sorted(new_sizes, key=lambda one: -one.duration_s)),
        )  # fmt: skip


def saved_by_keeping(seconds: Mapping[str, float], caches: CompileCaches | None) -> dict[str, float]:
    """Return cache → seconds that its new entries save the next process, of the seconds of each phase.

    A graph has an entry after a miss, and none after a bypass. An AOTAutograd entry needs the entries of its FX graphs. Compiled
    kernels are found by their source, also by a graph without an entry.
    """
    if caches is None or any(text.startswith(ALL_CACHES) for text in caches.disabled):
        return {}
    aot, fx = ({answer.state for answer in caches.answers if answer.cache == cache} for cache in (AOT, FX))
    if fx == {HIT} or not (caches.disabled or fx & {MISS, BYPASS}):
        return {}
    shares = {KERNELS: 1.0}
    if fx == {MISS}:
        shares[INDUCTOR] = 1.0
        if aot == {MISS}:
            shares[AUTOGRAD] = 1.0
    elif MISS in fx:  # the time of a phase is that of all graphs, those without an entry too
        total = seconds.get(INDUCTOR, 0.0) + seconds.get(KERNELS, 0.0)
        shares[INDUCTOR] = min((caches.compile_s or 0.0) / total, 1.0) if total else 0.0
    saved = {cache: seconds.get(phase, 0.0) * shares.get(phase, 0.0) for phase, cache in CACHED_PHASES.items()}
    return {cache: amount for cache, amount in saved.items() if amount > 0}


def reason_of_rest(caches: CompileCaches | None) -> str:
    """Return why a cache does not save the rest of the work of a compile."""
    if caches is None or not (caches.is_lowered or caches.answers):
        return OTHER
    if caches.disabled:
        return DISABLED
    states = {answer.state for answer in caches.answers if answer.cache in (AOT, FX)}
    return next((reason for state, reason in ((BYPASS, BYPASSED), (HIT, LOADING), (MISS, OTHER)) if state in states), UNASKED)


def cold_start_steps(
    compiles: Sequence[Compile], caches: Sequence[CompileCaches], saved_s: float
) -> Generator[None, None, ColdStart]:
    """Compute the cold start of some compiles, yielding after each block of them."""
    by_ref = {one.ref: one for one in caches}
    sums = ColdStartSums()
    durations: dict[int, float] = {}
    for stretch in stretches_of([compile_ for compile_ in compiles if compile_.is_compile]):
        for compile_, row in zip(stretch.members, stretch.block().rows, strict=True):
            if (time := time_of(compile_, row)) is not None:
                durations[id(compile_)] = time.duration_s
                sums.add(time, by_ref.get(time.ref))
        yield
    directories: list[str] = []
    new_sizes: list[NewSize] = []
    for compile_ in compiles:
        if compile_.is_compile:
            directories += code_directories(compile_)
        if compile_.is_compile and compile_.is_recompile and (changes := size_changes(explained_of(compile_, with_guards=False))):
            caches_of_it = by_ref.get(str(compile_.ref))
            function = caches_of_it.function if caches_of_it is not None else compile_.frame.code[0]
            new_sizes.append(NewSize(str(compile_.ref), function, durations.get(id(compile_), 0.0), changes))
            yield
    autotuned_s = 0.0
    for compile_ in compiles if len(compiles) <= AUTOTUNED_IN else ():
        autotuned_s += sum((event.benchmark_s or 0.0) + (event.precompile_s or 0.0) for event in events_in(compile_))
        yield
    return replace(sums.result(saved_s, directories, new_sizes), autotuned_s=autotuned_s)


def size_changes(recompile: Explained) -> tuple[SizeChange, ...]:
    """Return the sizes for which a function was compiled again; () if anything else differed from every version."""
    by_size = next((reason for reason in recompile.reasons if reason.cause != guard_grammar.INT), None)
    if by_size is None or any(reason.cause not in _SIZES for reason in recompile.reasons):
        return ()
    reasons = [reason for reason in recompile.reasons if reason.earlier == by_size.earlier]
    changes = (SizeChange(one.source or one.text, one.dim, _size(one.expected), _size(one.actual)) for one in reasons)
    return tuple(dict.fromkeys(changes))


def _size(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


@part
def code_directories(compile_: Compile, reader: Reader) -> tuple[str, ...]:
    """Return the cache directories that contain the generated code of a compile.

    Inductor writes the code to DIRECTORY/ab/cab….py: the directory `ab` has the first letters of the hash.
    """
    directories: list[str] = []
    for record, _ in records_of(compile_, (_OUTPUT_CODE,)):
        path = (text_in(reader.event(record), "filename") or "").replace("\\", "/")
        directory, name = posixpath.split(posixpath.dirname(path))
        if directory and _CODE_DIRECTORY.fullmatch(name) and posixpath.basename(path)[1:3] == name:
            directories.append(directory)
    return tuple(dict.fromkeys(directories))


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
