"""The tests marked `long`, chosen from the CPU time that each took in a recorded run.

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


def long_tests(recorded: Shares) -> frozenset[str]:
    """Choose the tests to mark: of each function the cheapest cases stay quick, as many as its budget has room for."""
    chosen = set()
    for file, functions in recorded.items():
        for function, cases in functions.items():
            spent_ppm = 0
            for case, share_ppm in sorted(cases.items(), key=lambda item: (item[1], item[0])):
                spent_ppm += share_ppm
                if spent_ppm > FUNCTION_BUDGET_PPM:
                    chosen.add(f"{file}::{function}{case}")
    return frozenset(chosen)


def write(recorded: Shares) -> None:
    """Write the record, one line a function."""
    lines = []
    for file, functions in sorted(recorded.items()):
        rows = (f"{json.dumps(function)}: {json.dumps(cases, ensure_ascii=False)}" for function, cases in sorted(functions.items()))
        lines.append(f"{json.dumps(file)}: {{\n" + ",\n".join(rows) + "\n}")
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def recorded_long_tests() -> frozenset[str]:
    """Read the record and choose; without a record every test is quick."""
    return long_tests(json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.exists() else frozenset()
