"""Limits for continuous integration: parsing, evaluation and verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tltui.model.input_coverage import HOW, compiling, title_of
from tltui.model.ref import Ref
from tltui.model.run import Run
from tltui.questions.check import measures as runtime
from tltui.questions.check.measures import MEASURES, REASONS, Facts
from tltui.text.frozen import frozen

SCHEMA = 2


class BadLimit(ValueError):
    """Unknown gate or invalid number. Its text lists the gates."""


@frozen
class Limit:
    """The most that a run may have of one thing."""

    name: str
    at_most: float | None = None
    """None: what the baseline has, without a baseline nothing."""
    more: float = 0.0
    """How much more than the baseline is allowed."""
    percent: bool = False
    """Whether `more` is in percent of what the baseline has; of a share it is in points."""


@frozen
class Reason:
    """One of the things that a gate counts."""

    ref: str
    """Where it is."""
    text: str
    new: bool = False
    """Whether the baseline has nothing like it."""
    file: str | None = None
    """The file of the user's that it is about, as torch named it: the line of a graph break, of an error, or where the function
    begins; null where none is known."""
    line: int | None = None


@frozen
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


@frozen
class Gates:
    """All limits of a run."""

    schema: int
    passed: bool
    compiles: int
    limits: tuple[Outcome, ...]


DEFAULT = "error,eager"


def parse_limits(text: str, baseline: bool = False) -> tuple[Limit, ...]:
    """Parse limits: `error,recompiles=2,compile_time=+10%`. Raises `BadLimit`.

    A number is the maximum, for a share in percent. With a baseline, a gate without a number allows the baseline's value, `+N`
    or `+N%` that much more, for a share that many points.
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
"""Limits that only a trace can measure."""


def needing_a_trace(run: Run, limits: Sequence[Limit]) -> tuple[str, ...]:
    """Return the names of limits that no input of the run can measure: neither passed nor exceeded."""
    processes = compiling(list(run.processes()))
    if not processes or any(process.is_traced for process in processes):
        return ()
    return tuple(limit.name for limit in limits if limit.name in NEED_A_TRACE)


def needing_a_profile(limits: Sequence[Limit]) -> tuple[str, ...]:
    """Return the names of limits that need a profile."""
    return tuple(limit.name for limit in limits if limit.name in runtime.RUNTIME_MEASURES)


def why_a_profile(run: Run, names: Sequence[str]) -> str:
    """Why these limits cannot be checked, '' where they can."""
    why = runtime.why_no_profile(run) if names else ""
    return f"{', '.join(names)}: {'needs' if len(names) == 1 else 'need'} a profile, and {why}" if why else ""


def why_a_trace(run: Run, names: Sequence[str]) -> str:
    """Why these limits cannot be checked."""
    verb = "needs" if len(names) == 1 else "need"
    return f"{', '.join(names)}: {verb} a trace. {title_of(run.processes())} does not tell of it: {HOW}"


def gates(run: Run, limits: Sequence[Limit], baseline: Run | None = None) -> Gates:
    """Measure the limited quantities."""
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
        known = {found.key for found in measure.reasons(before)} if before is not None and compared else set()
        listed = [
            Reason(found.ref, found.text, compared and found.key not in known, found.file, found.line)
            for found in measure.reasons(facts)
        ]
        reasons = tuple(sorted(listed, key=lambda reason: not reason.new)[:REASONS])
    page = str(Ref(view=measure.page))
    return Outcome(limit.name, measure.title, value, at_most, had, exceeded, measure.seconds, reasons, page, measure.share)
