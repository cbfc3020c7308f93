"""Damaged logs, made by chance, always the same ones: `TLTUI_FUZZ=7/31` is case 31 of seed 7 alone, `TLTUI_FUZZ=7/0-5000` many.

`tools/long_run fuzz` runs thousands.
"""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest
from judge import judge
from mutations import made

SEED, CASES, AT_ONCE = 1, 200, 20


def wanted() -> tuple[int, int, int]:
    """Seed, first case, and the one behind the last."""
    seed, _, cases = os.environ.get("TLTUI_FUZZ", f"{SEED}/0-{CASES}").partition("/")
    first, dash, end = cases.partition("-")
    return int(seed), int(first), int(end) if dash else int(first) + 1


FROM, FIRST, END = wanted()


def complaint(number: int, directory: Path) -> str:
    """What is wrong with a case, and how to look at it alone; '' when nothing is."""
    case = made(FROM, number)
    try:
        judge(case, number, directory)
    except Exception:
        alone = f"TLTUI_FUZZ={FROM}/{number} python -m pytest -n0 tests/fuzz"
        return f"{alone}\ndone to it: {', '.join(case.notes)}\n{traceback.format_exc()}"
    return ""


@pytest.mark.parametrize("first", range(FIRST, END, AT_ONCE))
def test_damaged_logs(first: int, tmp_path: Path) -> None:
    cases = range(first, min(first + AT_ONCE, END))
    failed = [said for number in cases if (said := complaint(number, tmp_path / str(number)))]
    assert not failed, "\n\n".join(failed)
