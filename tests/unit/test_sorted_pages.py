"""`--sort` of pages whose content is a table: the same rows, in the order of a column that has an arrow."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from real import DEMO, TRACES

from tltui.cli import main
from tltui.questions.question import question_of

T213 = TRACES / "torch-2.13"
INPUTS = {
    "autotune": TRACES / "inputs" / "autotune" / "output.txt", "caches": DEMO, "guards": T213 / "guards",
    "metrics": T213 / "remedies", "warmup": T213 / "breaks",
}  # fmt: skip
ORDERS = {
    "autotune": ("search", "time", "gain", "choices", "winner", "name"), "caches": ("saved", "compile", "time", "name"),
    "guards": ("compile", "guards", "latency", "name", "failed"),
    "metrics": ("group", "sum", "records", "max", "time", "name"), "warmup": ("began", "time", "name"),
}  # fmt: skip
NUMBERS = [
    ("guards", "guards", r"^  \[[^]]+\] +([\d,]+) "), ("guards", "latency", r" ([\d,]+) µs"),
    ("guards", "failed", r"(\d+) recompiles?$"),
    ("autotune", "time", r"\b(\d+\.\d+ µs) +\d+\.\d\d×"), ("autotune", "gain", r"(\d+\.\d\d)×"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


def printed(capsys: pytest.CaptureFixture[str], page: str, order: str) -> list[str]:
    assert main([page, str(INPUTS[page]), "--sort", order, "--all"]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("page", ORDERS)
def test_each_order_has_the_same_rows_and_its_arrow(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(ORDERS[page]) <= set(question_of(page).sorts)
    results = {order: printed(capsys, page, order) for order in ORDERS[page]}
    rows = [Counter(re.sub(r"[ ↓↑]+", " ", line).strip() for line in lines) for lines in results.values()]
    assert all(each == rows[0] for each in rows)
    first = question_of(page).sorts[0]
    for order, lines in results.items():
        assert order == first or any("↓" in line or "↑" in line for line in lines)


@pytest.mark.parametrize(("page", "order", "cell"), NUMBERS)
def test_the_largest_number_comes_first(page: str, order: str, cell: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, page, order)
    start = next(number for number, line in enumerate(lines) if "↓" in line) + 1
    table = lines[start : next((n for n, line in enumerate(lines[start:], start) if not line), len(lines))]
    numbers = [float(re.sub(r"[^\d.]", "", match[1])) for line in table if (match := re.search(cell, line))]
    assert len(numbers) > 1 and numbers == sorted(numbers, reverse=True)


def test_functions_come_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "guards", "name")
    start = next(number for number, line in enumerate(lines) if "function ↑" in line)
    at = lines[start].index("function ↑")
    names = [line[at:].split("  ")[0] for line in lines[start + 1 : lines.index("", start)]]
    assert len(set(names)) > 5 and names == sorted(names)


@pytest.mark.parametrize(
    ("words", "known"),
    [(["memory", "--demo", "--sort", "layer"], "size, name, forward, backward"),
     (["metrics", str(INPUTS["metrics"]), "1/0", "--sort", "time"], ""),
     (["guards", str(T213 / "guards"), "--sort", "cause"], "compile, guards, latency, name, failed")],
)  # fmt: skip
def test_an_order_that_no_table_has_is_refused(words: list[str], known: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(words)
    error = capsys.readouterr().err
    if known:
        order = words[-1]
        assert (code, error) == (2, f"tltui: no table of this page is sorted by {order}\n  use one of: {known}\n")
    else:
        assert (code, error) == (0, ""), "a page without a table that is sorted"


def test_an_order_by_a_column_without_values_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timing", str(T213 / "breaks")]) == 0
    plain = capsys.readouterr().out
    assert main(["timing", str(T213 / "breaks"), "--sort", "ranks"]) == 0
    out, err = capsys.readouterr()
    assert out.replace("By compile\n", "Slowest compiles\n") == plain and "own ↓" in out
    assert err == (
        "tltui: this run has no values for the column 'ranks', so --sort has no effect\n"
        "  columns with values: own, total, count, longest, phase, name\n"
    )
    assert main(["timing", str(T213 / "breaks"), "--sort", "gain"]) == 2
    assert capsys.readouterr().err.startswith("tltui: invalid value of --sort: 'gain'\n  use one of own, total,")


def test_without_room_for_its_column_an_order_still_applies(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["guards", str(INPUTS["guards"]), "--sort", "failed"]) == 0
    assert capsys.readouterr().out


def test_an_export_has_the_order(tmp_path: Path) -> None:
    assert main(["guards", str(INPUTS["guards"]), "--sort", "latency", "-o", str(tmp_path / "guards.txt")]) == 0
    assert "latency ↓" in (tmp_path / "guards.txt").read_text(encoding="utf-8")


def test_numbers_of_one_kind_stand_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the metrics: times before bytes and counts, whatever their units are."""
    lines = printed(capsys, "metrics", "max")
    start = lines.index("  sizes") + 1
    numbers = [int(line.split()[-2].replace(",", "")) for line in lines[start + 1 : lines.index("  recompiles")]]
    assert "max ↓" in lines[start] and len(numbers) > 1 and numbers == sorted(numbers, reverse=True)
