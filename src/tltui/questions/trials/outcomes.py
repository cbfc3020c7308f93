"""What the runs of `tltui try` did, beside two unchanged ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tltui.model.run import Run
from tltui.questions.problems.problem_list import problems
from tltui.questions.trials.printed_numbers import Numbers
from tltui.text.frozen import frozen

LEAST_NOISE, LEAST_NOISE_S = 0.1, 0.001
"""Share of a duration and seconds below which a difference is noise, however alike the unchanged runs were: there are only two."""


@frozen
class Counts:
    """What the trace of one run has."""

    compiles: int
    recompilations: int
    graph_breaks: int
    eager_fallbacks: int
    """Compiles after which a function runs in eager mode."""
    limit_hits: int
    """Functions that reached the recompile limit."""
    errors: int
    compile_s: float


NO_COUNTS = Counts(0, 0, 0, 0, 0, 0, 0.0)


@frozen
class Outcome:
    """One run of the job."""

    label: str
    """`unchanged`, or a letter."""
    change: str
    """As a user would write it, '' for none."""
    reason: str
    """The finding that the change is for."""
    exit_code: int
    timed_out: bool
    """Whether it was ended because the budget was used up."""
    counts: Counts
    wall_s: float
    step_s: float | None
    """Median seconds of a later step; None where no steps are known."""
    numbers: Numbers | None
    """The numbers that it printed beside those of the unchanged runs; None for these."""
    unsupported: tuple[str, ...]
    """Settings of the change that this torch lacks."""
    predicted: tuple[int, ...]
    """The fewest and the most recompilations that the guards of the unchanged run predict; empty without a prediction."""
    directory: str
    expected: int | None = None
    """The probable one of the predicted numbers; None without a prediction."""
    condition: str = ""
    """The condition under which it is another one: a key of `questions.recompiles.predictions.DOUBTS`; '' for none, or several."""

    @property
    def failed(self) -> bool:
        """Return whether the run did not end well."""
        return self.exit_code != 0 or self.timed_out


@frozen
class TrialReport:
    """All runs of a job."""

    schema_version: int
    command: tuple[str, ...]
    keeps_caches: bool
    """Whether the runs shared the user's caches; else each began with empty ones."""
    unchanged: tuple[Outcome, ...]
    """Two; one if the job failed by itself."""
    changed: tuple[Outcome, ...]
    """In the order of the trials; the last one may combine several."""
    skipped: tuple[str, ...]
    """Changes for which the budget had no time left."""


def counts_of(run: Run | None) -> Counts:
    """Count what a trace has; None for a job that left no log."""
    if run is None:
        return NO_COUNTS
    compiles = [compile_ for compile_ in run.compiles() if compile_.is_compile]
    tally = run.tally
    limit_hits = len(problems(compiles).limits)
    return Counts(tally.compiles, tally.recompiles, tally.breaks, tally.eager, limit_hits, tally.errors, tally.compile_s)


class Noise:
    """The range of a duration in unchanged runs."""

    def __init__(self, values: Sequence[float]) -> None:
        spread = max(max(values) - min(values), LEAST_NOISE * max(values), LEAST_NOISE_S)
        self.low, self.high = min(values) - spread, max(values) + spread
        self.middle = sum(values) / len(values)

    def has(self, value: float) -> bool:
        """Return whether a value is no different."""
        return self.low <= value <= self.high


DURATIONS: dict[str, Callable[[Outcome], float | None]] = {
    "compile time": lambda outcome: outcome.counts.compile_s,
    "time per step": lambda outcome: outcome.step_s,
}
COUNTED: dict[str, Callable[[Counts], int]] = {
    "recompilations": lambda counts: counts.recompilations,
    "graph breaks": lambda counts: counts.graph_breaks,
    "eager fallbacks": lambda counts: counts.eager_fallbacks,
    "functions at the recompile limit": lambda counts: counts.limit_hits,
    "errors": lambda counts: counts.errors,
}


def noise_of(report: TrialReport, duration: Callable[[Outcome], float | None]) -> Noise | None:
    """Return the range of a duration in the unchanged runs; None where they do not have it."""
    values = [value for outcome in report.unchanged if (value := duration(outcome)) is not None]
    return Noise(values) if len(values) == len(report.unchanged) else None


def helps(report: TrialReport, outcome: Outcome) -> bool:
    """Return whether a change removed recompilations, graph breaks or fallbacks, added no other of them, and the job ended well."""
    if outcome.failed or outcome.unsupported:
        return False
    pairs = [(count(report.unchanged[0].counts), count(outcome.counts)) for count in COUNTED.values()]
    return any(after < before for before, after in pairs) and all(after <= before for before, after in pairs)
