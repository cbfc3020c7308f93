"""A line of the table of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One promise and what was measured."""

    what: str
    budget: str
    measured: str
    ok: bool | None
    """None: not a promise, only good to know."""


Bench = Callable[[Path, bool], list[Row]]
"""Directory of the logs, whether to be quick → rows."""


def at_most(what: str, value: float, budget: float, unit: str, more: str = "") -> Row:
    """A promise that is kept by staying below."""
    return Row(what, f"≤ {budget:g} {unit}", f"{_number(value)} {unit}{more}", value <= budget)


def at_least(what: str, value: float, budget: float, unit: str, more: str = "") -> Row:
    """A promise that is kept by reaching."""
    return Row(what, f"≥ {budget:,g} {unit}", f"{_number(value)} {unit}{more}", value >= budget)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.3f}"


def printed(row: Row) -> str:
    """The line."""
    verdict = {True: "ok", False: "MISSED", None: ""}[row.ok]
    return f"{row.what:<58} {row.budget:>18}  {row.measured:<44} {verdict}".rstrip()
