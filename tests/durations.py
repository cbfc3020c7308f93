"""The tests marked `long` and `exhaustive`, chosen from the CPU time that each took in a recorded run.

`tools/record_durations.py` writes `durations.json`. It lists the parametrized cases of the test functions that exceed the
budget of a function; a test without a record is quick.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

RECORD = Path(__file__).with_name("durations.json")
FUNCTION_BUDGET_PPM = 350
"""Share of the CPU time of a run, in millionths: quick cases of one test function take at most this, 0.5 s of 1,500."""
LONG_FUNCTION_BUDGET_PPM = 800
"""The same of the long cases of one test function, 1.2 s of 1,500; the further ones, the most expensive, are exhaustive."""
EXPENSIVE_PPM = 2500
"""A test that takes more begins before the others, so that no process works on it alone at the end of a run."""

Shares = dict[str, dict[str, dict[str, int]]]
"""File, function and case in brackets (empty without parameters): millionths of the CPU time of a run."""


def split(test: str) -> tuple[str, str, str]:
    """Split the id of a test into file, function and case."""
    file, _, name = test.partition("::")
    function, bracket, case = name.partition("[")
    return file, function, bracket + case


def shares(seconds: Mapping[str, float]) -> Shares:
    """Compute the shares of the functions that exceed the budget, from the CPU seconds of every test of a run."""
    total_s = sum(seconds.values())
    functions: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for test, cpu_s in sorted(seconds.items()):
        file, function, case = split(test)
        functions[file, function][case] = round(1e6 * cpu_s / total_s)
    result: Shares = defaultdict(dict)
    for (file, function), cases in functions.items():
        if sum(cases.values()) > FUNCTION_BUDGET_PPM:
            result[file][function] = cases
    return dict(result)


def long_tests(recorded: Shares) -> dict[str, str]:
    """Choose the tests to mark, and their mark: `long` or `exhaustive`.

    Of each function the cheapest cases stay quick, as many as its budget has room for. The cheapest of the others are long, at
    least one of them.
    """
    chosen = {}
    for file, functions in recorded.items():
        for function, cases in functions.items():
            quick_ppm = long_ppm = 0
            for case, share_ppm in sorted(cases.items(), key=lambda item: (item[1], item[0])):
                quick_ppm += share_ppm
                if quick_ppm <= FUNCTION_BUDGET_PPM:
                    continue
                is_further = long_ppm > 0 and long_ppm + share_ppm > LONG_FUNCTION_BUDGET_PPM
                long_ppm += share_ppm
                chosen[f"{file}::{function}{case}"] = "exhaustive" if is_further else "long"
    return chosen


def expensive_tests(recorded: Shares) -> set[str]:
    """Choose the tests that are to begin first."""
    return {
        f"{file}::{function}{case}"
        for file, functions in recorded.items()
        for function, cases in functions.items()
        for case, share_ppm in cases.items()
        if share_ppm > EXPENSIVE_PPM
    }


def write(recorded: Shares) -> None:
    """Write the record, one line a function."""
    lines = []
    for file, functions in sorted(recorded.items()):
        rows = (f"{json.dumps(function)}: {json.dumps(cases, ensure_ascii=False)}" for function, cases in sorted(functions.items()))
        lines.append(f"{json.dumps(file)}: {{\n" + ",\n".join(rows) + "\n}")
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read() -> Shares:
    """Read the record; {} without one: every test is quick."""
    recorded: Shares = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return recorded
