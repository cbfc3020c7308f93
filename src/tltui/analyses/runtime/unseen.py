"""Kernels of the code that a profile does not show."""

from __future__ import annotations

from tltui.analyses.provenance.provenance import provenance_of
from tltui.analyses.runtime.result import GraphTime
from tltui.model.nodes import Compile

CPP = "cpp_"
"""How the names of Inductor's C++ kernels begin (torch/_inductor/codegen/cpp.py)."""


def unseen(compile_: Compile | None, graph: GraphTime) -> tuple[int, int, bool]:
    """How many calls of kernels in the code of a graph are not in the profile, how many there are, and whether the missing ones are
    C++ kernels, which tell the profiler nothing unless they are made to (`enable_kernel_profile`). (0, 0, False) without code."""
    unit = provenance_of(compile_).unit(graph.unit) if compile_ is not None and graph.unit else None
    if unit is None or unit.unit != graph.unit:
        return 0, 0, False
    measured, all_of = {kernel.key for kernel in graph.kernels}, {kernel.name for kernel in graph.kernels if kernel.nth < 0}
    lacking = [kernel.name for kernel in unit.kernels if kernel.key not in measured and kernel.name not in all_of]
    return len(lacking), len(unit.kernels), bool(lacking) and all(name.startswith(CPP) for name in lacking)
