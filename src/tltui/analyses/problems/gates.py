"""Limits for continuous integration: how much of what goes wrong a run may have."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tltui.analyses.job_failures.of_run import RunFailure, own_failures, told_first
from tltui.analyses.problems.measure import REASONS, Facts, Found, Measure, one_line
from tltui.analyses.ranks.gate import difference_reasons, differences
from tltui.analyses.recompiles.reasons import parse_reason
from tltui.analyses.runtime import gate as runtime
from tltui.analyses.told import HOW, compiling, title_of
from tltui.model.artifacts import artifact_name
from tltui.model.kind import Kind as Row
from tltui.model.kinds import kind_of
from tltui.model.nodes import Compile
from tltui.model.ref import NO_ID, Ref
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.trace.batch import Kind
from tltui.trace.scan import BROKEN, FOREIGN

SCHEMA = 2


class BadLimit(ValueError):
    """A gate that does not exist, or a number that is none. Its text says what there is."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a run may have of one thing."""

    name: str
    at_most: float | None = None
    """None: what the baseline has, without a baseline nothing."""
    more: float = 0.0
    """How much more than the baseline is allowed."""
    percent: bool = False
    """Whether `more` is in percent of what the baseline has; of a share it is in points."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One of the things that a gate counts."""

    ref: str
    """Where it is."""
    text: str
    new: bool = False
    """Whether the baseline has nothing like it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One gate, measured."""

    name: str
    title: str
    value: float
    at_most: float
    baseline: float | None
    exceeded: bool
    seconds: bool
    """Whether the numbers are seconds."""
    reasons: tuple[Reason, ...]
    """What was counted, the new and the worst first; where there is more than the limit, and at most `REASONS`."""
    page: str
    """The address of the page with more about it."""
    share: bool = False
    """Whether the numbers are shares, in percent."""


@dataclass(frozen=True, slots=True)
class Gates:
    """All limits of a run."""

    schema: int
    passed: bool
    compiles: int
    limits: tuple[Outcome, ...]


def _named(compile_: Compile) -> str:
    name, file, line = compile_.frame.code
    return f"{name or '?'} ({file}:{line})" if file else name or "?"


def _errors(facts: Facts) -> list[Found]:
    found = []
    for group in (*facts.problems.errors, *facts.problems.backward):
        failure = group.failure
        side = "backward: " if failure.backward else ""
        where = f" at {failure.file}:{failure.line}" if failure.file else ""
        text = f"{side}{failure.type}: {one_line(failure.reason.partition(chr(10))[0])} (in {group.code.name or '?'}{where})"
        key = f"{failure.type}\0{failure.reason.partition(chr(10))[0]}\0{group.code.name}"
        found += [(item.ref, text, key) for item in group.occurrences]
    return found + _limits(facts, False) + [
        (item.compile or "@problems", one_line(item.sentence), f"printed\0{one_line(item.sentence)}") for item in _printed(facts)
    ]


def _printed(facts: Facts) -> list[RunFailure]:
    """Failures that only an output tells of."""
    return own_failures(told_first(facts.run))


def _traced_errors(facts: Facts) -> int:
    return sum(compile_.tally.errors for compile_ in facts.compiles if compile_.facts.traced)


def _eager(facts: Facts) -> list[Found]:
    found = []
    for group in facts.problems.eager:
        where = f" at {group.file}:{group.line}" if group.file else ""
        text = f"{group.eager}: {one_line(group.headline)} (in {group.code.name or '?'}{where})"
        found += [(item.ref, text, f"{group.eager}\0{group.headline}\0{group.code.name}") for item in group.occurrences]
    return found + _limits(facts, True)


def _limits(facts: Facts, eager: bool | None = None) -> list[Found]:
    """Hits of the recompile limit: all, or only those that are no error (`eager`), or that are one."""
    return [
        (item.ref, f"recompile limit reached by {group.code.name or '?'}", f"limit\0{group.code.name}")
        for group in facts.problems.limits
        if eager is None or group.eager is eager
        for item in group.occurrences
    ]


def _breaks(facts: Facts) -> list[Found]:
    found = []
    for group in facts.problems.breaks:
        where = f" at {group.user_file}:{group.user_line}" if group.user_file else ""
        text = f"{group.found.gb or ''} {one_line(group.found.headline)}{where}".strip()
        key = f"{group.found.gb or group.found.headline}\0{group.user_file}\0{group.found.code or group.user_line}"
        found += [(item.ref, text, key) for item in group.occurrences]
    return found


def _distinct(found: list[Found]) -> list[Found]:
    first: dict[str, Found] = {}
    for item in found:
        first.setdefault(item[1], item)
    return list(first.values())


def _recompiled(facts: Facts) -> list[Found]:
    found = []
    for compile_ in facts.compiles:
        if compile_.is_recompile:
            said = next((m.recompile_reason for m in compile_.metrics if m.recompile_reason), None)
            reason = one_line(parse_reason(said).text) if said else "the metrics give no reason"
            found.append((str(compile_.ref), f"{_named(compile_)}: {reason}", f"{compile_.frame.code[0]}\0{reason}"))
    return found


def _by_frame(facts: Facts) -> list[list[Compile]]:
    frames: dict[int, list[Compile]] = defaultdict(list)
    for compile_ in facts.compiles:
        if compile_.is_recompile:
            frames[id(compile_.frame)].append(compile_)
    return sorted(frames.values(), key=len, reverse=True)


def _most_recompiled(facts: Facts) -> list[Found]:
    return [
        (str(members[0].frame.ref), f"{_named(members[0])}: {_recompiles(len(members))}", f"{members[0].frame.code[0]}")
        for members in _by_frame(facts)
    ]


def _recompiles(count: int) -> str:
    return "1 recompile" if count == 1 else f"{count} recompiles"


MISSES = {"fx_graph_cache_miss": "FX graph cache", "aotautograd_cache_miss": "AOTAutograd cache"}


def _cache_misses(facts: Facts) -> list[Found]:
    return [
        (str(c.ref), f"{title} missed: {_named(c)}", f"{name}\0{c.frame.code[0]}\0{c.id}")
        for c in facts.everything
        for name, title in MISSES.items()
        for _ in range(c.counts[name])
    ]


def _slowest_rank(facts: Facts) -> float:
    """Ranks compile side by side, processes of a rank after each other: the job waits for the slowest rank."""
    return max((rank.tally.seconds for rank in facts.run.ranks), default=0.0)


def _costs(facts: Facts) -> list[Found]:
    slow = max(facts.run.ranks, key=lambda rank: rank.tally.seconds, default=None)
    own = [c for process in slow.processes for c in process.ordered() if c.is_compile] if slow else []
    own.sort(key=lambda c: -c.tally.seconds)
    return [(str(c.ref), f"{c.tally.seconds:.2f} s in {_named(c)}", f"{c.frame.code[0]}\0{c.id}") for c in own[:REASONS]]


def _damage(facts: Facts) -> list[Found]:
    return [
        ("@damage", f"{model.log.path}, byte {item.offset}: {item.reason}", item.reason)
        for model in facts.run.models
        for item in model.log.damage
    ]


def _unfinished(facts: Facts) -> list[Found]:
    found = (*facts.problems.unfinished, *facts.problems.running)
    return [(item.ref, f"no metrics: {item.function or '?'}", str(item.function)) for item in found]


def _skipped(facts: Facts) -> list[Found]:
    return [
        (item.ref, f"no operations: {group.code.name or '?'}", f"{group.code.name}")
        for group in facts.problems.skipped
        for item in group.occurrences
    ]


def _of(status: Status) -> Callable[[Facts], float]:
    """How many compiles have a status."""
    return lambda facts: sum(compile_.tally.counted(status) for compile_ in facts.compiles)


def _row(kind: Kind) -> Row:
    """The entry of a kind in the table of kinds."""
    return kind_of(kind.event, kind.name or None, kind.encoding or None)


def _is_unknown(kind: Kind) -> bool:
    """Whether tltui knows neither the kind nor what the line is."""
    return not kind.event or _row(kind).generic


def _unknown_records(facts: Facts) -> Iterator[tuple[Compile, int, Kind]]:
    for compile_ in facts.everything:
        log = compile_.process.log
        kinds = {number: kind for number, kind in enumerate(log.kinds) if _is_unknown(kind)}
        if kinds:
            column = log.columns.kind
            yield from ((compile_, record, kinds[column[record]]) for record in compile_.records if column[record] in kinds)


def _record(compile_: Compile, record: int) -> str:
    return f"@record:{compile_.process.ref}#{record + 1}"


def _unknown(facts: Facts) -> list[Found]:
    return [(_record(c, record), _what(kind), f"{kind.event}\0{kind.name}") for c, record, kind in _unknown_records(facts)]


def _what(kind: Kind) -> str:
    if kind.event:
        return f"a record of a kind that tltui does not know: {one_line(artifact_name(kind))}"
    words = {BROKEN: "a record without a readable envelope", FOREIGN: "a line that is no record"}
    return words.get(kind.name, "a record that does not say what it is")


def _without_id(facts: Facts) -> Iterator[tuple[Compile, int, Kind]]:
    """Artifacts that belong to no compile. Torch writes the artifact `torch_version` once, before any."""
    for compile_ in facts.everything:
        if compile_.id != NO_ID:
            continue
        log = compile_.process.log
        wanted = {
            number: kind for number, kind in enumerate(log.kinds)
            if kind.event and kind.name != "torch_version" and _row(kind).artifact
        }  # fmt: skip
        column = log.columns.kind
        yield from ((compile_, record, wanted[column[record]]) for record in compile_.records if column[record] in wanted)


def _no_compile_id(facts: Facts) -> list[Found]:
    return [
        (_record(c, record), f"{one_line(artifact_name(kind))} without a compile id", artifact_name(kind))
        for c, record, kind in _without_id(facts)
    ]


MEASURES: dict[str, Measure] = {
    "error": Measure(
        "compiles that failed", lambda f: _traced_errors(f) + len(_printed(f)), _errors, "problems"),
    "eager": Measure(
        "compiles that were given up: the function runs in eager mode", _of(Status.EAGER), _eager, "problems"),
    "break": Measure(
        "graph breaks", lambda f: sum(c.tally.breaks for c in f.everything), _breaks, "problems"),
    "distinct_break": Measure(
        "distinct graph breaks", lambda f: len(f.problems.breaks), lambda f: _distinct(_breaks(f)), "problems"),
    "recompiles": Measure(
        "recompiles", lambda f: sum(c.is_recompile for c in f.compiles), _recompiled, "recompiles"),
    "frame_recompiles": Measure(
        "recompiles of one frame, at most", lambda f: max(map(len, _by_frame(f)), default=0), _most_recompiled, "recompiles"),
    "recompile_limit": Measure(
        "hits of the recompile limit", lambda f: sum(c.facts.recompile_limit for c in f.compiles), _limits, "problems"),
    "cache_miss": Measure(
        "cache misses", lambda f: len(_cache_misses(f)), _cache_misses, "caches"),
    "compile_time": Measure(
        "compile time of the slowest rank", _slowest_rank, _costs, "timing", seconds=True),
    "empty": Measure(
        "compiles without operations", lambda f: len(_skipped(f)), _skipped, "problems"),
    "unfinished": Measure(
        "compiles without metrics", lambda f: len(f.problems.unfinished) + len(f.problems.running), _unfinished, "problems"),
    "damage": Measure(
        "damaged places of the logs", lambda f: f.run.damaged, _damage, "damage"),
    "unknown": Measure(
        "records of unknown kinds, and lines that are no records", lambda f: len(_unknown(f)), _unknown, "records"),
    "no_compile_id": Measure(
        "artifacts that belong to no compile", lambda f: len(_no_compile_id(f)), _no_compile_id, "records"),
    "diverge": Measure(
        "differences between ranks", lambda f: differences(f.run), lambda f: difference_reasons(f.run), "summary"),
    **runtime.MEASURES,
}  # fmt: skip
"""All gates, in the order in which help lists them."""


DEFAULT = "error,eager"


def parse_limits(text: str, baseline: bool = False) -> tuple[Limit, ...]:
    """`error,recompiles=2,compile_time=+10%` → limits. Raises `BadLimit`.

    A number is the most that is allowed, of a share a percentage. With a baseline a gate without a number allows what the baseline
    has, and `+N` or `+N%` that much more, of a share that many points.
    """
    limits: dict[str, Limit] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, given, number = part.partition("=")
        name = name.strip().replace("-", "_")
        if name not in MEASURES:
            raise BadLimit(f"there is no {name!r}. There are: {', '.join(MEASURES)}")
        limit = _limit(name, number.strip()) if given else Limit(name)
        measure = MEASURES[name]
        if not baseline and limit.at_most is None and (given or measure.seconds or measure.share):
            number = "a percentage" if measure.share else "a number of seconds"
            needs = f"{part}: a number after + needs --baseline" if given else f"{name} needs {number}, or --baseline"
            raise BadLimit(needs)
        limits[name] = limit
    if not limits:
        raise BadLimit(f"no limit is named. There are: {', '.join(MEASURES)}")
    return tuple(limits.values())


def _limit(name: str, number: str) -> Limit:
    more, percent = number.startswith("+"), number.endswith("%")
    try:
        value = float(number.removeprefix("+").removesuffix("%"))
    except ValueError:
        value = math.nan
    if MEASURES[name].share:
        if not math.isfinite(value) or not 0 <= value <= 100 or not percent:
            raise BadLimit(f"{name}={number}: it is a share. Write {name}=5%, or with --baseline {name}=+2% for two points more")
    elif not math.isfinite(value) or value < 0 or (percent and not more):
        what = "not a share" if percent and math.isfinite(value) else "not a number"
        raise BadLimit(f"{name}={number}: {what}. Write {name}=2, or with --baseline {name}=+2 or {name}=+10%")
    return Limit(name, more=value, percent=percent) if more else Limit(name, value)


NEED_A_TRACE = ("eager", "recompile_limit", "cache_miss", "compile_time", "empty", "unfinished")
"""What no other input tells of."""


def needing_a_trace(run: Run, limits: Sequence[Limit]) -> tuple[str, ...]:
    """The names of the limits that nothing in a run tells of: they are neither passed nor exceeded."""
    processes = compiling(list(run.processes()))
    if not processes or any(process.is_traced for process in processes):
        return ()
    return tuple(limit.name for limit in limits if limit.name in NEED_A_TRACE)


def needing_a_profile(limits: Sequence[Limit]) -> tuple[str, ...]:
    """The names of the limits that only a profile tells of."""
    return tuple(limit.name for limit in limits if limit.name in runtime.MEASURES)


def why_a_profile(run: Run, names: Sequence[str]) -> str:
    """Why these limits cannot be checked, '' where they can."""
    why = runtime.why_no_profile(run) if names else ""
    return f"{', '.join(names)}: {'needs' if len(names) == 1 else 'need'} a profile, and {why}" if why else ""


def why_a_trace(run: Run, names: Sequence[str]) -> str:
    """Why these limits cannot be checked."""
    verb = "needs" if len(names) == 1 else "need"
    return f"{', '.join(names)}: {verb} a trace. {title_of(run.processes())} does not tell of it: {HOW}"


def gates(run: Run, limits: Sequence[Limit], baseline: Run | None = None) -> Gates:
    """Measure what is limited."""
    facts = Facts(run)
    before = None if baseline is None else Facts(baseline)
    found = tuple(_measured(limit, facts, before) for limit in limits)
    return Gates(SCHEMA, not any(outcome.exceeded for outcome in found), len(facts.compiles), found)


def _measured(limit: Limit, facts: Facts, before: Facts | None) -> Outcome:
    measure = MEASURES[limit.name]
    value = float(measure.value(facts))
    had = None if before is None else float(measure.value(before))
    at_most = limit.at_most
    if at_most is None:
        relative = limit.percent and not measure.share
        at_most = (had or 0.0) + (limit.more / 100 * (had or 0.0) if relative else limit.more)
    exceeded = value > at_most + 1e-9
    reasons: tuple[Reason, ...] = ()
    if exceeded:
        compared = before is not None and not measure.seconds
        known = {key for _, _, key in measure.reasons(before)} if before is not None and compared else set()
        listed = [Reason(ref, text, compared and key not in known) for ref, text, key in measure.reasons(facts)]
        reasons = tuple(sorted(listed, key=lambda reason: not reason.new)[:REASONS])
    page = str(Ref(view=measure.page))
    return Outcome(limit.name, measure.title, value, at_most, had, exceeded, measure.seconds, reasons, page, measure.share)
