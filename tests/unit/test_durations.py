"""Which cases of a test function are quick, long and exhaustive."""

from __future__ import annotations

from durations import FUNCTION_BUDGET_PPM, LONG_FUNCTION_BUDGET_PPM, long_tests, shares


def test_the_cheapest_cases_are_quick_the_next_long_and_the_others_exhaustive() -> None:
    costs = (FUNCTION_BUDGET_PPM, FUNCTION_BUDGET_PPM + 1, LONG_FUNCTION_BUDGET_PPM - FUNCTION_BUDGET_PPM - 1, 3000, 3001)
    cases = {f"[{n}]": ppm for n, ppm in enumerate(costs)}
    assert long_tests({"a.py": {"test_a": cases}}) == {
        "a.py::test_a[1]": "long", "a.py::test_a[2]": "long", "a.py::test_a[3]": "exhaustive", "a.py::test_a[4]": "exhaustive",
    }  # fmt: skip


def test_an_expensive_test_without_cases_is_long() -> None:
    assert long_tests({"a.py": {"test_a": {"": 100 * LONG_FUNCTION_BUDGET_PPM}}}) == {"a.py::test_a": "long"}


def test_functions_within_the_budget_of_quick_tests_are_not_recorded() -> None:
    seconds = {"a.py::test_a[1]": 999.0, "a.py::test_a[2]": 0.9, "b.py::test_b": 0.1}
    assert shares(seconds) == {"a.py": {"test_a": {"[1]": 999000, "[2]": 900}}}
