"""Summary of a run, rank or process, and the cost of `torch._dynamo.reset()`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from tltui.model.node_answers import Count, counts, part
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader
from tltui.model.status import SOFT, Eager, Status, Tally, error_name
from tltui.questions.coverage.job_inputs import Missing
from tltui.questions.cudagraphs.cudagraph_report import sentence_of, skip_messages
from tltui.questions.problems.compile_problems import GraphBreak, cached_breaks, cached_failures, compiled_nothing_below, message_of
from tltui.questions.ranks.differences import Differing
from tltui.questions.ranks.pace import Offset
from tltui.questions.recompiles.recompile_reasons import cached_recompile, parse_reason
from tltui.questions.stacks.tracebacks import display_name, qualified_name
from tltui.questions.timing.timing_events import Open, events_of, timing_so_far
from tltui.text.frozen import frozen


@frozen
class Forgotten:
    """The compiles discarded by `torch._dynamo.reset()`, after which ids restart."""

    epochs: int
    """The epochs of the process with the most."""
    compiles: int
    """Compiles of functions that had been compiled as often in an earlier epoch of their process: the first of an epoch, and its
    recompiles as far as there had been as many before."""
    compile_s: float
    """The time of these compiles."""
    functions: int
    newest_ref: str
    """The address of the newest of them, '' for none."""


def forgotten(processes: Iterable[Process]) -> Forgotten | None:
    """Sum up the epochs of some processes; None if no ids restarted."""
    several = [process for process in processes if process.epochs > 1]
    if not several:
        return None
    again = []
    for process in several:
        before: Counter[tuple[str | None, str | None, int | None]] = Counter()
        frames = [frame for frame in process.frames.values() if frame.code[0] is not None]
        frames.sort(key=lambda frame: frame.key.epoch)
        for _, in_epoch in groupby(frames, key=lambda frame: frame.key.epoch):
            compiled: dict[tuple[str | None, str | None, int | None], list[Compile]] = defaultdict(list)
            for frame in in_epoch:  # several have one code: a line may have several resume functions
                compiled[frame.code] += [compile_ for compile_ in frame.compiles if compile_.is_compile]
            for code, compiles in compiled.items():
                again += compiles[: before[code]]
                before[code] = max(before[code], len(compiles))
    return Forgotten(
        max(process.epochs for process in several),
        len(again),
        sum(compile_.compile_s for compile_ in again),
        len({compile_.frame.code for compile_ in again}),
        str(again[-1].ref) if again else "",
    )


BREAKS_READ = 50
ERRORS_READ = 8
UNFINISHED_READ = 4
COMPILES_SHOWN = 8
Ranks = dict[int, "int | None"]
"""Process (its `id`) → rank: a process works its rank out anew each time."""
CACHE_COUNTS = (
    ("AOTAutograd cache", "aotautograd_cache"),
    ("FX graph cache", "fx_graph_cache"),
)


@frozen
class Code:
    """A code object, the same in all ranks."""

    name: str | None
    file: str | None
    line: int | None
    qualified_name: str | None = None
    """The qualified name, if its name is generic: `Net.forward`."""

    @property
    def shown(self) -> str | None:
        """The display name."""
        return self.qualified_name or self.name


class Slowest(NamedTuple):
    """A slow compile."""

    ref: str
    duration_s: float
    code: Code


class CacheUse(NamedTuple):
    """Hits and misses of a cache."""

    cache: str
    hits: int
    misses: int
    bypassed: int


@frozen
class CodeCost:
    """The total cost of all compiles of a code object."""

    code: Code
    compile_s: float
    compiles: int
    recompiles: int
    ranks: int
    slowest_ref: str
    """The address of its slowest compile."""
    slowest_s: float
    frame: str
    """The address of the frame, on the rank where it took longest."""


@frozen
class ErrorLine:
    """Compiles that failed with the same error, or run in eager mode for the same reason; of one function if that is a break."""

    ref: str
    """The address of the first."""
    type: str
    reason: str
    file: str | None = None
    line: int | None = None
    function: str | None = None
    recompile_limit_hit: bool = False
    count: int = 1
    ranks: int = 1
    eager_reason: Eager | None = None
    """Why all of the function runs in eager mode."""
    reached_caller: bool | None = None
    """Whether the exception reached the caller; None: this torch does not log it."""
    break_not_allowed: bool = False
    """Whether it failed because a graph break was not allowed: `fullgraph=True`, `error_on_graph_break`."""
    functions: int = 1
    """The number of code objects."""


@frozen
class BreakPlace:
    """Graph breaks of one kind at one line."""

    gb: str | None
    headline: str
    file: str | None
    line: int | None
    user_file: str | None
    """The user's line that led there, where the break is in the framework's code."""
    user_line: int | None
    count: int
    ranks: int
    first_ref: str
    """The address of the first compile with it."""
    ref: str | None
    """The address of its record."""


@frozen
class MostRecompiled:
    """The frame that was recompiled most often."""

    code: Code
    frame: str
    recompiles: int
    recompile_s: float
    """The time of the recompiles."""
    newest_ref: str
    """The address of its newest compile."""
    reason: str | None
    limit_hit: bool
    is_eager: bool = False
    """Whether calls that fit none of its compiles run in eager mode since the limit was hit."""
    torch_logs_no_reason: bool = False
    """This torch does not write why it recompiles."""
    callees_eager: bool = False
    """Whether no later compile came from a call at the limit, as far as the stacks show."""


@frozen
class Unfinished:
    """A compile without an end, or with an unfinished backward: still running, killed, or truncated."""

    ref: str
    code: Code
    open_phase: Open | None
    """The innermost open phase."""
    is_backward: bool = False
    """Whether its forward is finished, and its backward is not."""


@frozen
class Summary:
    """The summary of a run, a rank or a process."""

    tally: Tally
    start_at_us: float | None
    """Microseconds since the epoch: of the first compile. Of a run clocks that are off are put right."""
    end_at_us: float | None
    """When the last compile ended."""
    costs: tuple[CodeCost, ...]
    """The most expensive first."""
    slowest: tuple[Slowest, ...]
    """The slowest compiles."""
    errors: tuple[ErrorLine, ...]
    eager: tuple[ErrorLine, ...]
    """Functions that fell back to eager mode."""
    breaks: tuple[BreakPlace, ...]
    breaks_read: int
    most_recompiled: MostRecompiled | None
    caches: tuple[CacheUse, ...]
    """The caches with lookups."""
    from_cache: int
    """Compiles that came from a cache."""
    partly_from_cache: int
    """The number of those that came from a cache in part: the forward, not the backward."""
    unfinished: tuple[Unfinished, ...]
    """The newest of each process; those of processes that were started again last. At most `UNFINISHED_READ`."""
    cudagraph_skips: tuple[Count, ...]
    """Why there is no CUDA graph; the most frequent first."""
    versions: tuple[str, ...]
    recompiled_after_reset: Forgotten | None
    """Recompilation after ids began again; None if they did not."""
    unfinished_count: int = 0
    """Compiles of which the log has no end, or none of their backward."""
    rank_differences: Differing | None = None
    """The differences between the ranks of a run with two or more."""
    missing_ranks: Missing | None = None
    """Ranks of the job without any log here; None if none is missing."""
    without_graph: tuple[int | None, ...] = ()
    """Ranks on which no compile handed a graph with operations to a backend."""


def summarise(processes: Iterable[Process], ahead: Mapping[int, Offset] | None = None) -> Summary:
    """Sum up some processes.

    `ahead`: rank → offset of its clock against the others', only for wrong clocks.
    """
    everything = list(processes)
    compiles = [c for process in everything for c in process.ordered()]
    real = [c for c in compiles if c.is_compile]
    timed = [(c.compile_s, c) for c in real]
    rank = {id(process): process.rank for process in everything}
    starts = [(c.start_us, c) for c in real if c.start_us is not None]
    if ahead:
        offsets = [(at, ahead.get(number), c) for at, c in starts if (number := rank[id(c.process)]) is not None]
        starts = [(at if offset is None else at - offset.at(at), c) for at, offset, c in offsets]
    slow = sorted(timed, key=lambda pair: -pair[0])[:COMPILES_SHOWN]
    by_code = _by_code(real)
    breaks, read = _break_places(compiles, rank)
    return Summary(
        sum((process.tally for process in everything), Tally()),
        min((start for start, _ in starts), default=None),
        max((start + c.compile_s * 1e6 for start, c in starts), default=None),
        tuple(_cost(code, members, rank) for code, members in _most_expensive(by_code)),
        tuple(Slowest(str(c.ref), seconds, code_of(c)) for seconds, c in slow if seconds > 0),
        _errors(real, rank, Status.ERROR),
        _errors(real, rank, Status.EAGER),
        breaks,
        read,
        _most_recompiled(real),
        _caches(compiles),
        *_cached(real),
        _unfinished(real, _replaced(everything)),
        counts(Counter(sentence_of(m) for c in compiles for m in skip_messages(c)).most_common(5)),
        versions_of(everything),
        forgotten(everything),
        sum(is_cut(c) for c in real),
    )


def code_of(compile_: Compile) -> Code:
    """Return the code object of a compile."""
    return Code(*compile_.frame.code, qualified_name(compile_.frame))


def versions_of(processes: list[Process]) -> tuple[str, ...]:
    """Return the versions of torch in the metrics, in order of occurrence."""
    return tuple(dict.fromkeys(version for process in processes if (version := process.torch_version())))


def _by_code(compiles: list[Compile]) -> dict[tuple[Any, ...], list[Compile]]:
    """Group compiles by code object over all ranks; unnamed frames stay separate."""
    keys: dict[int, tuple[Any, ...]] = {}
    results: dict[tuple[Any, ...], list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        frame = compile_.frame
        key = keys.get(id(frame))
        if key is None:
            code = frame.code
            key = keys[id(frame)] = code if code[0] is not None else (None, id(frame))
        results[key].append(compile_)
    return results


def _most_expensive(by_code: dict[tuple[Any, ...], list[Compile]]) -> list[tuple[tuple[Any, ...], list[Compile]]]:
    costs = sorted(by_code.items(), key=lambda item: -sum(c.compile_s for c in item[1]))
    return [(code, members) for code, members in costs[:COMPILES_SHOWN] if any(c.compile_s for c in members)]


def _cost(key: tuple[Any, ...], members: list[Compile], rank: Ranks) -> CodeCost:
    slowest = max(members, key=lambda c: c.compile_s)
    return CodeCost(
        code_of(slowest) if len(key) == 3 else Code(None, None, None),
        sum(c.compile_s for c in members),
        len(members),
        sum(c.is_recompile for c in members),
        len({rank[id(c.process)] for c in members}),
        str(slowest.ref),
        slowest.compile_s,
        str(slowest.frame.ref),
    )


def _errors(compiles: list[Compile], rank: Ranks, status: Status) -> tuple[ErrorLine, ...]:
    """Group the compiles of a status by kind, in order of occurrence; recompile limit hits last."""
    groups: dict[tuple[Any, ...], list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        facts = compile_.facts
        # without a trace the reason is in the output
        if compile_.untimed_tally.counted(status) and (facts.has_trace or facts.recompile_limit_hit):
            reason = message_of(facts.fail_reason or facts.backward_fail_reason or "")
            is_break = error_name(facts.fail_type) in SOFT and facts.eager_reason is not Eager.UNTRACED
            code = compile_.frame.code if facts.recompile_limit_hit or is_break or not reason else None
            groups[facts.recompile_limit_hit, facts.eager_reason, facts.fail_type, reason, code].append(compile_)
    results = []
    for number, members in enumerate(groups.values()):
        first = members[0]
        facts, name = first.facts, display_name(first.frame)
        ranks = len({rank[id(c.process)] for c in members})
        failure = None
        if number < ERRORS_READ:
            failure = next(iter(cached_failures(first)), None)
        kind, reason = facts.fail_type or "failure", facts.fail_reason or facts.backward_fail_reason or ""
        file = line = None
        functions = len({compile_.frame.code for compile_ in members})
        if failure is not None:
            kind, reason = failure.type, failure.reason
            if functions == 1 or failure.is_raise_location:
                file, line = failure.file, failure.line
        limit = facts.recompile_limit_hit
        results.append(ErrorLine(
            str(first.ref), kind, reason, file, line, name, limit, len(members), ranks,
            facts.eager_reason, facts.reached_caller, facts.break_not_allowed, functions,
        ))  # fmt: skip
    return tuple(sorted(results, key=lambda error: error.recompile_limit_hit))


def _break_places(compiles: list[Compile], rank: Ranks) -> tuple[tuple[BreakPlace, ...], int]:
    """Group breaks by kind and line, most frequent first; also return the number read."""
    groups: dict[tuple[Any, ...], list[tuple[Compile, GraphBreak]]] = defaultdict(list)
    read = 0
    for compile_ in compiles:
        if not compile_.untimed_tally.breaks:
            continue
        for graph_break in cached_breaks(compile_, BREAKS_READ)[: BREAKS_READ - read]:
            groups[graph_break.gb or graph_break.headline, graph_break.file, graph_break.line].append((compile_, graph_break))
            read += 1
        if read >= BREAKS_READ:
            break
    places = [_place(members, rank) for members in groups.values()]
    return tuple(sorted(places, key=lambda place: -place.count)), read


def _place(members: list[tuple[Compile, GraphBreak]], rank: Ranks) -> BreakPlace:
    compile_, result = members[0]
    lead = result.lead
    caller = lead if lead is not None and (lead.file, lead.line) != (result.file, result.line) else None
    return BreakPlace(
        result.gb, result.headline, result.file, result.line, caller.file if caller else None, caller.line if caller else None,
        len(members), len({rank[id(c.process)] for c, _ in members}), str(compile_.ref), result.ref,
    )  # fmt: skip


def _most_recompiled(compiles: list[Compile]) -> MostRecompiled | None:
    frames: dict[int, list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        if compile_.is_recompile:
            frames[id(compile_.frame)].append(compile_)
    if not frames:
        return None
    members = max(frames.values(), key=lambda item: (len(item), sum(c.compile_s for c in item)))
    last = members[-1]
    texts = [m.recompile_reason for m in last.metrics if m.recompile_reason]
    result = None if texts else cached_recompile(last)
    reason = parse_reason(texts[0]).text if texts else result.reasons[0].text if result is not None and result.reasons else None
    never = result is not None and result.reasons_from == "never"
    return MostRecompiled(
        code_of(last), str(last.frame.ref), len(members), sum(c.compile_s for c in members), str(last.ref), reason,
        any(c.facts.recompile_limit_hit for c in members), any(c.facts.eager_reason is Eager.LIMIT for c in members), never,
        all(compiled_nothing_below(c) for c in members if c.facts.recompile_limit_hit),
    )  # fmt: skip


def _cached(compiles: list[Compile]) -> tuple[int, int]:
    """Count compiles from a cache, and those only partly from one.

    A miss in one cache may be a hit in the one below it.
    """
    counts = [had for c in compiles if (had := c.counts) and (had["fx_graph_cache_hit"] or had["aotautograd_cache_hit"])]
    return len(counts), sum(bool(had["fx_graph_cache_miss"] or had["fx_graph_cache_bypass"]) for had in counts)


def _replaced(processes: Sequence[Process]) -> set[int]:
    """Return processes that a later one of their rank replaced; their state is outdated."""
    results: set[int] = set()
    newest: dict[int, int] = {}
    for process in processes:
        if process.rank is not None and process.parent is None and process.is_traced:
            if process.rank in newest:
                results.add(newest[process.rank])
            newest[process.rank] = id(process)
    return results


def is_unfinished(compile_: Compile) -> bool:
    """Return whether the log has no end of a compile, or of its backward, whatever its status is."""
    facts = compile_.facts
    if facts.backward_running or facts.backward_unfinished:
        return compile_.is_compile
    return compile_.is_compile and facts.has_trace and not facts.has_metrics and not facts.failed


def may_go_on(compile_: Compile) -> bool:
    """Return whether the log of an unfinished compile may still get its end."""
    return compile_.facts.is_waiting or compile_.facts.backward_running


def is_cut(compile_: Compile) -> bool:
    """Return whether the log has ended without the end of a compile, or of its backward."""
    return is_unfinished(compile_) and not may_go_on(compile_)


def _unfinished(compiles: list[Compile], replaced: set[int]) -> tuple[Unfinished, ...]:
    newest: dict[int, list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        if is_cut(compile_):
            newest[id(compile_.process)].append(compile_)
    results = []
    for members in sorted(newest.values(), key=lambda item: id(item[0].process) in replaced)[:UNFINISHED_READ]:
        last = max(members, key=lambda c: c.records[-1] if c.records else 0)
        results.append(Unfinished(str(last.ref), code_of(last), doing(last), last.facts.backward_unfinished))
    return tuple(results)


@part
def doing(compile_: Compile, reader: Reader) -> Open | None:
    """Return the innermost open phase of a compile."""
    waiting = timing_so_far(compile_, events_of(compile_, reader), [], reader).open
    return waiting[-1] if waiting else None


def _caches(compiles: list[Compile]) -> tuple[CacheUse, ...]:
    total: Counter[str] = Counter()
    for compile_ in compiles:
        if compile_.counts:
            total.update(compile_.counts)
    rows = [CacheUse(title, total[f"{k}_hit"], total[f"{k}_miss"], total[f"{k}_bypass"]) for title, k in CACHE_COUNTS]
    return tuple(row for row in rows if any(row[1:]))
