"""Effects of the runs of `tltui try`, beside two unchanged ones, and whether two runs printed the same numbers.

Lines are compared by their words: `epoch 1 loss 0.3` and `epoch 2 loss 0.2` are two lines of one form. Two unchanged
runs show which numbers of a form vary (times, addresses, random values); only the others are compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from tltui.model.run import Run
from tltui.questions.problems.problem_list import problems
from tltui.text.frozen import frozen

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w])|(?<![\w.])[-+]?(?:nan|inf)(?!\w)")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LOG = re.compile(r"(?:\[rank\d+\]:)?[VIWEF]\d{4} \d\d:\d\d:|tltui: ")
"""A line of torch's loggers or of ours."""
_WARNING = re.compile(r"\S.*:\d+: (?:[A-Za-z_]\w*\.)*[A-Za-z]\w*Warning: ")
"""First line of a warning as Python's `warnings.formatwarning` writes it; a second line, indented by two blanks, holds the code."""
EXAMPLES = 3
Series = dict[tuple[str, int], list[float]]
"""Form of the line and place of the number in it → its values in the order of the lines."""
LEAST_NOISE, LEAST_NOISE_S = 0.1, 0.001
"""Share of a duration and seconds below which a difference is noise, however alike the unchanged runs were: there are only two."""

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


@frozen
class Difference:
    """A number that a change altered."""

    line: str
    """The form of its line, with `#` for each number."""
    before: float
    after: float


@frozen
class Numbers:
    """The numbers of a run beside those of the unchanged runs."""

    compared: int
    """Numbers that both unchanged runs printed alike."""
    varying: int
    """Numbers that differ between the two unchanged runs already."""
    missing: int
    """Numbers that the run did not print, or printed another number of times."""
    differing: int
    max_relative: float
    """The largest difference, as a share of the larger of the two values."""
    examples: tuple[Difference, ...]

    @property
    def are_equal(self) -> bool:
        """Return whether each compared number was printed again and is equal."""
        return self.compared > 0 and not self.differing and not self.missing


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


def series_of(lines: Iterable[str]) -> Series:
    """Return the numbers of printed lines; lines of torch's loggers and Python's warnings are left out."""
    series: Series = {}
    is_after_warning = False
    for raw in lines:
        for line in _ESCAPE.sub("", raw).rstrip("\n").split("\r"):
            is_code_of_warning = is_after_warning and line.startswith("  ")
            is_after_warning = _WARNING.match(line) is not None
            if is_after_warning or is_code_of_warning or _LOG.match(line):
                continue
            form = _NUMBER.sub("#", line)
            for place, match in enumerate(_NUMBER.finditer(line)):
                series.setdefault((form, place), []).append(float(match[0]))
    return series


def compare(first: Series, second: Series, changed: Series) -> Numbers:
    """Compare a changed run with two unchanged ones."""
    compared = varying = missing = differing = 0
    largest = 0.0
    examples: list[Difference] = []
    for key, values in first.items():
        if not _alike(values, second.get(key)):
            varying += len(values)
            continue
        compared += len(values)
        others = changed.get(key, [])
        if len(others) != len(values):
            missing += len(values)
            continue
        for before, after in zip(values, others, strict=True):
            if not _same(before, after):
                differing += 1
                largest = max(largest, _relative(before, after))
                if len(examples) < EXAMPLES:
                    examples.append(Difference(key[0], before, after))
    return Numbers(compared, varying, missing, differing, largest, tuple(examples))


def _alike(values: list[float], others: list[float] | None) -> bool:
    return others is not None and len(others) == len(values) and all(map(_same, values, others))


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _relative(one: float, other: float) -> float:
    """Return the difference as a share of the larger value; infinity where one is not finite."""
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return abs(one - other) / max(abs(one), abs(other))
