"""Every field of real traces that holds a number, each with numbers that no job writes: in little memory and time."""

from __future__ import annotations

from pathlib import Path

import pytest
from large_numbers import IDS, NUMBERS, TEXT, changed, fields_of, limited, many_ranks
from make_trace import write
from real import LOGS, TRACES

LARGEST = 60_000
"""Bytes of a log: each is printed once for each of its fields."""
PROCESSOR = 1200


def first_with_each_field() -> dict[Path, list[str]]:
    """Logs → fields that no log before has; ids and digits of texts in every log."""
    known: set[str] = set()
    chosen = {}
    for log in LOGS:
        if log.stat().st_size <= LARGEST:
            fields = fields_of(log.read_bytes())
            if set(fields) - known:
                chosen[log] = [field for field in fields if field not in known or field in (*IDS, TEXT)]
            known.update(fields)
    return chosen


CHOSEN = first_with_each_field()


@pytest.mark.parametrize("log", CHOSEN, ids=lambda log: str(log.parent.relative_to(TRACES)))
def test_numbers_of_every_field(log: Path, tmp_path: Path) -> None:
    data = log.read_bytes()
    paths = [write(tmp_path / f"{field}={n}", changed(data, field, n)) for field in CHOSEN[log] for n in NUMBERS]
    limited(tmp_path / "out", [*paths, many_ranks(tmp_path / "ranks", data, (0, 1, 2, 3, 10, 20, 10**8, 2**31))], PROCESSOR)
