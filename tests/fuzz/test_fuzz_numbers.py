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
TOGETHER = 6
"""Fields that change in one log: printing it is most of the cost."""


EVERYWHERE = (*IDS, TEXT)
"""Fields that are changed in every log that has them."""


def numbers_of_turn(field: str, turn: int) -> tuple[int, ...]:
    """Return the number for a field that many logs have: they take turns, so that each number is in several of them."""
    return (NUMBERS[(turn + EVERYWHERE.index(field)) % len(NUMBERS)],)


def apart(fields: list[str]) -> list[tuple[str, ...]]:
    """Divide fields into sets that change together. Neighbors in the alphabet, often of one record, are in different sets."""
    count = -(-len(fields) // TOGETHER)
    return [tuple(fields[n::count]) for n in range(count)]


def changed_all(data: bytes, fields: tuple[str, ...], number: int) -> bytes:
    """Return the log with this number in each of the fields."""
    for field in fields:
        data = changed(data, field, number)
    return data


def first_with_each_field() -> dict[Path, list[str]]:
    """Logs → fields that no log before has; ids and digits of texts in every log."""
    known: set[str] = set()
    chosen = {}
    for log in LOGS:
        if log.stat().st_size <= LARGEST:
            fields = fields_of(log.read_bytes())
            if set(fields) - known:
                chosen[log] = [field for field in fields if field not in known or field in EVERYWHERE]
            known.update(fields)
    return chosen


CHOSEN = first_with_each_field()


def test_the_turns_give_every_number_to_every_field() -> None:
    for field in EVERYWHERE:
        turns = [turn for turn, log in enumerate(CHOSEN) if field in CHOSEN[log]]
        assert len(turns) < len(NUMBERS) or {n for turn in turns for n in numbers_of_turn(field, turn)} == set(NUMBERS)


@pytest.mark.parametrize("log", CHOSEN, ids=lambda log: str(log.parent.relative_to(TRACES)))
def test_numbers_of_every_field(log: Path, tmp_path: Path) -> None:
    data = log.read_bytes()
    turn = list(CHOSEN).index(log)
    sets = [((field,), n) for field in CHOSEN[log] if field in EVERYWHERE for n in numbers_of_turn(field, turn)]
    sets += [(fields, n) for fields in apart([field for field in CHOSEN[log] if field not in EVERYWHERE]) for n in NUMBERS]
    paths = [write(tmp_path / f"{'+'.join(fields)[:200]}={n}", changed_all(data, fields, n)) for fields, n in sets]
    limited(tmp_path / "out", [*paths, many_ranks(tmp_path / "ranks", data, (0, 1, 2, 3, 10, 20, 10**8, 2**31))], PROCESSOR)
