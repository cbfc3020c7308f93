"""What provenance says against what Inductor knew: nothing wrong, and how much of it.

`python tests/kit/provenance_truth.py` prints the figures.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import pytest
from provenance_truth import CASES, UnitMeasures, by_kind, cases, line_of, measured, outside_torch
from real import opened

from tltui.questions.provenance.provenance import provenance_of

PRECISION = 0.995


class Least(NamedTuple):
    """The recall that each unit has at least."""

    kernel_node: float
    kernel_line: float
    node_kernel: float
    layer: float = 0
    """Only of traces whose truth has modules."""
    node_line: float = 1


LEAST = {
    ("lazy_backward", "forward"): Least(0.99, 0.98, 0.99),
    ("lazy_backward", "backward"): Least(0.99, 0.98, 0.99),
    ("unrecorded", "forward"): Least(0.99, 0.99, 0.99),
    ("unrecorded", "backward"): Least(0.98, 0.98, 0.98),
    ("llama", "forward"): Least(0.99, 0.98, 0.99),
    ("llama", "backward"): Least(0.99, 0.98, 0.99),
    ("gpt2 1/0", "forward"): Least(0.94, 0.97, 0.94),
    ("gpt2 1/0", "backward"): Least(0.95, 0.99, 0.95),
    ("gpt2 3/0", "forward"): Least(0.99, 0.80, 0.99, node_line=0.95),
    ("gpt2 3/0", "backward"): Least(0.99, 0.99, 0.99),
    ("wrapped", "forward"): Least(0.97, 0.98, 0.97),
    ("wrapped", "backward"): Least(0.99, 0.98, 0.99),
    ("joined 0/0", "forward"): Least(0.99, 0.99, 0.99),
    ("joined 0/0", "backward"): Least(0.86, 0.99, 0.86),
    ("joined 1/0", "forward"): Least(0.95, 0.99, 0.95),
    ("joined 1/0", "backward"): Least(0.97, 0.99, 0.97),
    ("joined 2/0", "forward"): Least(0.99, 0.99, 0.98),
    ("joined 2/0", "backward"): Least(1, 1, 1),
    ("subgraph", "inference"): Least(0.99, 0.99, 0.99),
    ("cond", "forward"): Least(0.99, 0.99, 0.99),
    ("cond", "backward"): Least(1, 1, 1),
    ("dynamic_norm", "forward"): Least(0.99, 0.99, 0.99),
    ("dynamic_norm", "backward"): Least(1, 1, 1),
    ("one_operator", "inference"): Least(1, 1, 1),
    ("one_operator_unrecorded", "inference"): Least(1, 1, 1),
    ("convnet", "forward"): Least(1, 1, 0.92, 1),
    ("convnet", "backward"): Least(1, 1, 1, 1),
    ("cpp_wrapper", "forward"): Least(1, 1, 0.82, 1),
    ("cpp_wrapper", "backward"): Least(1, 1, 1, 1),
    ("cpp_flow 0/0", "forward"): Least(1, 1, 1, 0.9),
    ("cpp_flow 0/0", "backward"): Least(1, 1, 1, 0.93),
    ("cpp_flow 1/0", "inference"): Least(1, 1, 1),
    ("cpp_flow 2/0", "inference"): Least(1, 1, 1),
    ("checkpointed", "forward"): Least(1, 1, 1, 1),
    ("checkpointed", "backward"): Least(1, 1, 1, 1),
    ("checkpointed_unrecorded", "forward"): Least(1, 1, 1, 1),
    ("checkpointed_unrecorded", "backward"): Least(1, 1, 1, 1),
    ("checkpointed_convolutions", "forward"): Least(1, 1, 0.96, 1),
    ("checkpointed_convolutions", "backward"): Least(0.85, 1, 0.85, 0.87),
    ("recomputed", "forward"): Least(1, 1, 1, 0.91),
    ("recomputed", "backward"): Least(0.97, 1, 0.97, 0.92),
    ("elided", "forward"): Least(1, 1, 1),
    ("elided", "backward"): Least(1, 1, 1),
    ("experts", "forward"): Least(1, 1, 1, 0.97),
    ("experts", "backward"): Least(0.97, 1, 0.97, 0.97),
    ("frozen", "inference"): Least(0.93, 0.85, 0.93, 1),
    ("leaf_modules", "forward"): Least(1, 1, 1, 0.88),
    ("leaf_modules", "backward"): Least(1, 1, 1, 0.8),
    ("loops", "inference"): Least(1, 1, 1, 1),
    ("scatters 0/0", "forward"): Least(1, 1, 1),
    ("scatters 0/0", "backward"): Least(1, 1, 1),
    ("scatters 1/0", "inference"): Least(1, 1, 1),
    ("scatters 2/0", "inference"): Least(1, 1, 1),
    ("convolutions", "forward"): Least(1, 1, 1, 1),
    ("convolutions", "backward"): Least(1, 1, 1, 1),
    ("unrolled", "forward"): Least(0.98, 0.96, 0.98, 1),
    ("unrolled", "backward"): Least(1, 1, 1, 1),
    ("shared_input", "forward"): Least(1, 1, 1, 1),
    ("shared_input", "backward"): Least(1, 1, 1, 1),
    ("optimizer 0/0", "inference"): Least(1, 0, 1, node_line=0),
    ("optimizer 0/1", "inference"): Least(1, 1, 1),
    ("optimizer 1/0", "inference"): Least(1, 0, 1, node_line=0),
    ("optimizer 3/0", "inference"): Least(1, 1, 1),
    ("optimizer_recorded 0/0", "inference"): Least(1, 0, 1, node_line=0),
    ("optimizer_recorded 0/1", "inference"): Least(1, 1, 1),
    ("optimizer_recorded 1/0", "inference"): Least(1, 1, 1),
    ("optimizer_recorded 3/0", "inference"): Least(1, 1, 1),
    ("autograd_functions", "forward"): Least(1, 1, 1, 1),
    ("autograd_functions", "backward"): Least(1, 1, 1, 0.9),
    ("adversarial 0/0", "forward"): Least(1, 1, 0.96, 1),
    ("adversarial 0/0", "backward"): Least(1, 1, 1, 1),
    ("adversarial 1/0", "forward"): Least(0.97, 1, 0.94, 1),
    ("adversarial 1/0", "backward"): Least(1, 1, 1, 1),
    ("adversarial 1/1", "forward"): Least(0.97, 1, 0.94, 1),
    ("adversarial 1/1", "backward"): Least(1, 1, 1, 1),
    ("diffusion_block", "forward"): Least(0.91, 0.97, 0.89, 0.95),
    ("diffusion_block", "backward"): Least(0.88, 1, 0.88, 0.92),
    ("functional 0/0", "inference"): Least(0.95, 0.78, 0.95, node_line=0.75),
    ("functional 1/0", "inference"): Least(0.87, 0.37, 0.87, node_line=0.34),
    ("functional 2/0", "inference"): Least(0.95, 0.41, 0.95, node_line=0.2),
    ("vision_transformer", "forward"): Least(0.94, 0.95, 0.93, 0.76),
    ("vision_transformer", "backward"): Least(1, 1, 1, 0.9),
}


@cache
def found(trace: str, unit: str) -> UnitMeasures:
    [one] = [one for one in measured(trace.split()[0]) if (one.trace, one.unit) == (trace, unit)]
    return one


def test_every_case_has_its_figures() -> None:
    assert {(one.trace, one.unit) for name in cases() for one in measured(name)} == set(LEAST)


@pytest.mark.parametrize("trace, unit", LEAST)
def test_what_is_said_is_true(trace: str, unit: str) -> None:
    one = found(trace, unit)
    assert one.kernel_node.precision >= PRECISION
    assert one.node_kernel.precision >= PRECISION
    assert one.kernel_line.precision >= PRECISION
    assert one.node_line.precision >= PRECISION
    assert one.line_kernel.precision >= PRECISION
    assert one.layer.precision >= PRECISION
    assert one.calls[2] == 0, "no call that is none"


EXCEPTIONS = ("optimizer", "optimizer_recorded", "functional")
"""Traces whose nodes are of torch's own code: graphs have only its innermost line, and the parameters belong to no module."""


def test_how_much_of_each_kind_of_unit_is_known() -> None:
    kinds = by_kind(row for name in cases() if name not in EXCEPTIONS for row in measured(name))
    assert set(kinds) == {(kind, unit) for kind in ("recorded", "unrecorded") for unit in ("forward", "backward", "inference")} - {
        ("recorded", "backward")
    }
    for (kind, unit), sums in kinds.items():
        for name, one in sums.items():
            assert one.recall >= (0.95 if kind == "recorded" else 0.85), (kind, unit, name, str(one))


@pytest.mark.parametrize("trace, unit", LEAST)
def test_what_is_true_is_said(trace: str, unit: str) -> None:
    one, least = found(trace, unit), LEAST[trace, unit]
    assert one.calls[0] == one.calls[1]
    assert one.kernel_node.recall >= least.kernel_node
    assert one.kernel_line.recall >= least.kernel_line
    assert one.node_kernel.recall >= least.node_kernel
    assert one.layer.recall >= least.layer
    assert one.node_line.recall >= least.node_line


def test_a_profiled_wrapper_of_cpp_calls_each_kernel_once() -> None:
    """Its code has no `AOT ID`, and a raw string with a stack between the handle of a kernel and its call."""
    [log] = (CASES / "cpp_wrapper").glob("*.log*")
    [compile_] = [compile_ for compile_ in opened(log).compiles() if compile_.is_compile]
    units = provenance_of(compile_).units
    assert [(unit.unit, len(unit.kernels)) for unit in units] == [("forward", 8), ("backward", 10)]
    assert all(kernel.handle is not None and len(kernel.call_lines) == 1 for unit in units for kernel in unit.kernels)


def test_which_line_of_a_node_is_meant() -> None:
    own, library, torch = "/home/user/a.py:1", "/opt/venv/site-packages/b/c.py:2", "/opt/venv/site-packages/torch/nn/d.py:3"
    assert outside_torch([own, library, torch]) == library and outside_torch([torch]) == torch


def test_which_line_of_a_stack_is_meant() -> None:
    own, library, torch = "/home/user/a.py:1", "/opt/venv/site-packages/b/c.py:2", "/opt/venv/site-packages/torch/nn/d.py:3"
    assert line_of([own, library, torch]) == own
    assert line_of([own, "/home/user/a.py:9", library]) == "/home/user/a.py:9", "the innermost own frame"
    assert line_of([torch, library, "/opt/venv/site-packages/e.py:4", torch]) == "/opt/venv/site-packages/e.py:4"
    assert line_of([torch]) == torch
