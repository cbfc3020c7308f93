"""Descriptions of inputs keep their sizes in a narrow pane: names, strides and devices give way."""

from __future__ import annotations

import pytest
from pages import page
from real import demo, trace
from viewed import text

from tltui.model.run import Run


@pytest.fixture(scope="module")
def llama() -> Run:
    return trace("profiler/llama")


@pytest.mark.parametrize("width", [40, 50, 60, 80])
def test_inputs_of_a_compile(width: int, llama: Run) -> None:
    shown = text(page(llama, "0/0", width))
    for sizes in ("int64 [2, 32]", "float32 [256, 64]", "float32 [128, 64]"):
        assert sizes in shown
    assert max(len(line) for line in shown.split("\n") if "float32 [" in line) <= width
    assert ("stride [64, 1]" in shown) is (width >= 60)


def test_arguments_of_recorded_calls() -> None:
    shown = text(page(demo(), "@warmup", 60))
    assert "x float32[8, 16]\n" in shown and "gradient float32[10, 16], lim…" in shown and "no_grad" not in shown


def test_inputs_of_compared_kernels() -> None:
    shown = " ".join(text(page(demo(), "@diff::0:0/0%201:0/1", 60)).split())
    assert "input L['x']: float32 [8, 16] stride [16, 1] cpu → float32 [s77, 16] stride [16, 1] cpu symbol" in shown
