"""Very large and negative numbers in records: what tltui computes is bounded by the size of the files, not by such numbers."""

from __future__ import annotations

from pathlib import Path

import make_trace as t
import pytest
from large_numbers import IDS, NUMBERS, changed, fields_of, limited, many_ranks, ranked
from real import fresh

from tltui.model.ref import LISTED, gaps, ranges, shortened
from tltui.questions.hang.where import where

PROCESSOR = 60
"""Seconds; the logs of a test below take 3 to 5."""


@pytest.mark.parametrize("number", NUMBERS)
def test_every_page_of_a_log_with_this_number(number: int, tmp_path: Path) -> None:
    data = t.small()
    others = data
    for field in fields_of(data):
        others = others if field in IDS else changed(others, field, number)
    logs = [t.write(tmp_path / field, changed(ranked(data, 1), field, number)) for field in IDS]
    limited(tmp_path / "out", [*logs, t.write(tmp_path / "others", others)], PROCESSOR)


def test_ranks_far_apart(tmp_path: Path) -> None:
    """The first is the log of one rank that took 20 GB of memory."""
    runs = [(2**31,), (0, 1, 2, 3, 10, 20, 10**8), tuple(n * 10**7 for n in range(20)), (0, 2**63 - 1)]
    limited(tmp_path / "out", [many_ranks(tmp_path / str(n), t.small(), ranks) for n, ranks in enumerate(runs)], PROCESSOR)


def test_ranks_without_a_log_are_named(tmp_path: Path) -> None:
    one = where(fresh(many_ranks(tmp_path / "one", t.small(), [2**31])))
    assert one.ranks_without_log == tuple(range(LISTED)) and one.ranks_without_log_count == 2**31
    assert where(fresh(many_ranks(tmp_path / "few", t.small(), [1, 2, 5, 9]))).ranks_without_log == (0, 3, 4, 6, 7, 8)
    assert where(fresh(many_ranks(tmp_path / "all", t.small(), [0, 1, 2]))).ranks_without_log == ()


def test_gaps() -> None:
    assert gaps([]) == [] and gaps([0, 1, 2]) == [] and gaps([2]) == [(0, 1)]
    assert gaps({0, 3, 4, 10**30}) == [(1, 2), (5, 10**30 - 1)]


def test_ranges_of_numbers_far_apart() -> None:
    """20 numbers of an even distance, and the same without one at every place."""
    every = [n * 10**12 for n in range(20)]
    assert ranges(every) == "every 1000000000000th of 0–19000000000000"
    assert ranges([*every[:5], *every[6:]]) == "every 1000000000000th of 0–19000000000000 but 5000000000000"
    assert ranges([*every, 10**30]).endswith("11000000000000 and 9 more")
    assert ranges([*every, *(n + 1 for n in every)]).endswith(" more")


def test_a_long_text_of_ranges_is_cut_behind_a_range() -> None:
    assert shortened("0–2, 4, 5, 9", 12) == "0–2, 4, 5, 9" and shortened("0–2, 4, 5, 9", 9) == "0–2, 4 …"
    even = ranges(n * 10**12 for n in range(20))
    assert shortened(even, 12) == even
