"""Whether two runs of a program printed the same numbers.

Lines are compared by their words: `epoch 1 loss 0.3` and `epoch 2 loss 0.2` are two lines of one form. Two unchanged runs show
which numbers of a form vary (times, addresses, random values); only the others are compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

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
