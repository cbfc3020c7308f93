"""A line of the table of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """A promise and its measured value."""

    label: str
    budget: str
    measured: str
    ok: bool | None
    """None: for information, no promise."""


Bench = Callable[[Path, bool], list[Row]]
"""Directory of the logs, whether to be quick → rows."""


def at_most(label: str, value: float, budget: float, unit: str, more: str = "") -> Row:
    """Return the row of an upper limit."""
    return Row(label, f"≤ {budget:g} {unit}", f"{_number(value)} {unit}{more}", value <= budget)


def at_least(label: str, value: float, budget: float, unit: str, more: str = "") -> Row:
    """Return the row of a lower limit."""
    return Row(label, f"≥ {budget:,g} {unit}", f"{_number(value)} {unit}{more}", value >= budget)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.3f}"


def printed(row: Row) -> str:
    """Return the line of a row."""
    verdict = {True: "ok", False: "MISSED", None: ""}[row.ok]
    return f"{row.label:<58} {row.budget:>18}  {row.measured:<44} {verdict}".rstrip()
