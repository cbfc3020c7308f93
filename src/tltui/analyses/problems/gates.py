"""Bars for continuous integration: how much of what goes wrong a run may have."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tltui.analyses.problems.problems import Problems, problems
from tltui.analyses.ranks.gate import difference_reasons, differences
from tltui.analyses.recompiles.reasons import parse_reason
from tltui.model.nodes import Compile
from tltui.model.run import Run

REASONS = 50


class BadBar(ValueError):
    """A bar that does not exist, or a number that is none. Its text says what there is."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What is allowed of one thing."""

    name: str
    allowed: float | None = None
    """The most that is allowed; None: what the baseline has, without a baseline nothing."""
    more: float = 0.0
    """How much more than the baseline is allowed."""
    percent: bool = False
    """Whether `more` is in percent of what the baseline has."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One of the things that a bar counts."""

    ref: str
    """Where it is."""
    text: str
    new: bool = False
    """Whether the baseline has nothing like it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One bar, measured."""

    name: str
    title: str
    value: float
    allowed: float
    baseline: float | None
    broken: bool
    seconds: bool
    """Whether the numbers are seconds."""
    reasons: tuple[Reason, ...]
    """What was counted, the new and the worst first; of a broken bar only, and at most `REASONS`."""
    page: str
    """The page with more about it."""


@dataclass(frozen=True, slots=True)
class Gates:
    """All bars of a run."""

    schema: int
    passed: bool
    compiles: int
    bars: tuple[Outcome, ...]


class Facts:
    """A run as the gates see it. Payloads are read once, and only if a bar asks for them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.everything: list[Compile] = list(run.compiles())
        self.compiles = [compile_ for compile_ in self.everything if compile_.is_compile]
        self._problems: Problems | None = None

    @property
    def problems(self) -> Problems:
        """All problems."""
        if self._problems is None:
            self._problems = problems(self.everything)
        return self._problems


@dataclass(frozen=True, slots=True)
class Measure:
    """How a bar is measured."""

    title: str
    """What is counted, as a phrase."""
    value: Callable[[Facts], float]
    reasons: Callable[[Facts], list[tuple[str, str, str]]]
    """(address, text, what makes it the same in another run)"""
    page: str
    seconds: bool = False


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def _named(compile_: Compile) -> str:
    name, file, line = compile_.frame.code
    return f"{name or '?'} ({file}:{line})" if file else name or "?"


def _errors(facts: Facts) -> list[tuple[str, str, str]]:
    found = []
    for group in (*facts.problems.errors, *facts.problems.backward):
        failure = group.failure
        side = "backward: " if failure.backward else ""
        where = f" at {failure.file}:{failure.line}" if failure.file else ""
        text = f"{side}{failure.type}: {_line(failure.reason.partition(chr(10))[0])} (in {group.code.name or '?'}{where})"
        key = f"{failure.type}\0{failure.reason.partition(chr(10))[0]}\0{group.code.name}"
        found += [(item.ref, text, key) for item in group.occurrences]
    return found + _limits(facts)


def _limits(facts: Facts) -> list[tuple[str, str, str]]:
    return [
        (item.ref, f"recompile limit reached by {group.code.name or '?'}", f"limit\0{group.code.name}")
        for group in facts.problems.limits
        for item in group.occurrences
    ]


def _breaks(facts: Facts) -> list[tuple[str, str, str]]:
    found = []
    for group in facts.problems.breaks:
        where = f" at {group.user_file}:{group.user_line}" if group.user_file else ""
        text = f"{group.found.gb or ''} {_line(group.found.headline)}{where}".strip()
        key = f"{group.found.gb or group.found.headline}\0{group.user_file}\0{group.found.code or group.user_line}"
        found += [(item.ref, text, key) for item in group.occurrences]
    return found


def _distinct(found: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    first: dict[str, tuple[str, str, str]] = {}
    for item in found:
        first.setdefault(item[1], item)
    return list(first.values())


def _recompiled(facts: Facts) -> list[tuple[str, str, str]]:
    found = []
    for compile_ in facts.compiles:
        if compile_.is_recompile:
            said = next((m.recompile_reason for m in compile_.metrics if m.recompile_reason), None)
            reason = _line(parse_reason(said).text) if said else "the metrics give no reason"
            found.append((str(compile_.ref), f"{_named(compile_)}: {reason}", f"{compile_.frame.code[0]}\0{reason}"))
    return found


def _by_frame(facts: Facts) -> list[list[Compile]]:
    frames: dict[int, list[Compile]] = defaultdict(list)
    for compile_ in facts.compiles:
        if compile_.is_recompile:
            frames[id(compile_.frame)].append(compile_)
    return sorted(frames.values(), key=len, reverse=True)


def _most_recompiled(facts: Facts) -> list[tuple[str, str, str]]:
    return [
        (str(members[0].frame.ref), f"{_named(members[0])}: {_recompiles(len(members))}", f"{members[0].frame.code[0]}")
        for members in _by_frame(facts)
    ]


def _recompiles(count: int) -> str:
    return "1 recompile" if count == 1 else f"{count} recompiles"


MISSES = {"fx_graph_cache_miss": "FX graph cache", "aotautograd_cache_miss": "AOTAutograd cache"}


def _cache_misses(facts: Facts) -> list[tuple[str, str, str]]:
    return [
        (str(c.ref), f"{title} missed: {_named(c)}", f"{name}\0{c.frame.code[0]}\0{c.id}")
        for c in facts.everything
        for name, title in MISSES.items()
        for _ in range(c.counts[name])
    ]


def _slowest_rank(facts: Facts) -> float:
    """Ranks compile side by side, processes of a rank after each other: the job waits for the slowest rank."""
    return max((rank.tally.seconds for rank in facts.run.ranks), default=0.0)


def _costs(facts: Facts) -> list[tuple[str, str, str]]:
    slow = max(facts.run.ranks, key=lambda rank: rank.tally.seconds, default=None)
    own = [c for process in slow.processes for c in process.ordered() if c.is_compile] if slow else []
    own.sort(key=lambda c: -c.tally.seconds)
    return [(str(c.ref), f"{c.tally.seconds:.2f} s in {_named(c)}", f"{c.frame.code[0]}\0{c.id}") for c in own[:REASONS]]


def _damage(facts: Facts) -> list[tuple[str, str, str]]:
    return [
        ("@damage", f"{model.log.path}, byte {item.offset}: {item.reason}", item.reason)
        for model in facts.run.models
        for item in model.log.damage
    ]


def _unfinished(facts: Facts) -> list[tuple[str, str, str]]:
    found = (*facts.problems.unfinished, *facts.problems.running)
    return [(item.ref, f"no metrics: {item.function or '?'}", str(item.function)) for item in found]


def _skipped(facts: Facts) -> list[tuple[str, str, str]]:
    return [
        (item.ref, f"no operations: {group.code.name or '?'}", f"{group.code.name}")
        for group in facts.problems.skipped
        for item in group.occurrences
    ]


MEASURES: dict[str, Measure] = {
    "error": Measure(
        "compiles that failed", lambda f: sum(c.tally.errors for c in f.compiles), _errors, "problems"),
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
    "diverge": Measure(
        "differences between ranks", lambda f: differences(f.run), lambda f: difference_reasons(f.run), "summary"),
}  # fmt: skip
"""All bars, in the order in which help lists them."""


def parse_bars(text: str, baseline: bool = False) -> tuple[Bar, ...]:
    """`error,recompiles=2,compile_time=+10%` → bars. Raises `BadBar`.

    A number is the most that is allowed. With a baseline a bar without a number allows what the baseline has, and
    `+N` or `+N%` that much more.
    """
    bars: dict[str, Bar] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, given, number = part.partition("=")
        name = name.strip().replace("-", "_")
        if name not in MEASURES:
            raise BadBar(f"there is no bar {name!r}. There are: {', '.join(MEASURES)}")
        bar = _bar(name, number.strip()) if given else Bar(name)
        if not baseline and bar.allowed is None and (given or MEASURES[name].seconds):
            needs = f"{part}: a number after + needs --baseline" if given else f"{name} needs a number of seconds, or --baseline"
            raise BadBar(needs)
        bars[name] = bar
    if not bars:
        raise BadBar(f"no bar is named. There are: {', '.join(MEASURES)}")
    return tuple(bars.values())


def _bar(name: str, number: str) -> Bar:
    more, percent = number.startswith("+"), number.endswith("%")
    try:
        value = float(number.removeprefix("+").removesuffix("%"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (percent and not more):
        raise BadBar(f"{name}={number}: not a number. Write {name}=2, or with --baseline {name}=+2 or {name}=+10%")
    return Bar(name, more=value, percent=percent) if more else Bar(name, value)


def gates(run: Run, bars: Sequence[Bar], baseline: Run | None = None) -> Gates:
    """Measure the bars."""
    facts = Facts(run)
    before = None if baseline is None else Facts(baseline)
    found = tuple(_measured(bar, facts, before) for bar in bars)
    return Gates(1, not any(outcome.broken for outcome in found), len(facts.compiles), found)


def _measured(bar: Bar, facts: Facts, before: Facts | None) -> Outcome:
    measure = MEASURES[bar.name]
    value = float(measure.value(facts))
    had = None if before is None else float(measure.value(before))
    allowed = bar.allowed
    if allowed is None:
        allowed = (had or 0.0) + (bar.more / 100 * (had or 0.0) if bar.percent else bar.more)
    broken = value > allowed + 1e-9
    reasons: tuple[Reason, ...] = ()
    if broken:
        compared = before is not None and not measure.seconds
        known = {key for _, _, key in measure.reasons(before)} if before is not None and compared else set()
        listed = [Reason(ref, text, compared and key not in known) for ref, text, key in measure.reasons(facts)]
        reasons = tuple(sorted(listed, key=lambda reason: not reason.new)[:REASONS])
    return Outcome(bar.name, measure.title, value, allowed, had, broken, measure.seconds, reasons, measure.page)
