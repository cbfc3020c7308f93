"""The answer of `tltui mcp` about a kernel: its nodes, source lines, layers, and time in a profile."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tltui.api.errors import BadArgument, safe
from tltui.documents.format import percent, plural
from tltui.model.artifacts import Artifact
from tltui.model.nodes import Compile
from tltui.model.ref import at_line
from tltui.model.run import Run
from tltui.questions.layers.layer_costs import UnitLayers
from tltui.questions.layers.layer_kernels import layers_of
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.provenance.records import DERIVED, PANES, Born, Kernel, UnitProvenance
from tltui.questions.runtime.costs import Costs, costs_of
from tltui.text.formatting import micros

NAMED = 12
"""Kernels that an error names."""
_LINE = re.compile(r"(?:(?P<ref>\S+)@)?L?(?P<number>\d{1,7})")


@dataclass(frozen=True)
class _Call:
    """A call of a kernel, with what is known about its graph."""

    compile_: Compile
    unit: UnitProvenance
    kernel: Kernel
    layers: UnitLayers | None
    costs: Costs | None


def kernel_lines(run: Run, compile_: Compile, place: str, code: Artifact | None = None) -> list[str]:
    """Return the lines about the kernels at a place of the generated code. Raises `BadArgument` if it has none.

    `place`: the name of a kernel, `NAME:HANDLE` for one of its calls, or a line of the code, also as `ADDRESS@L275`.
    `code`: the generated code of one graph, where the compile has several.
    """
    provenance = provenance_of(compile_)
    units = [unit for unit in provenance.units if code is None or any(pane.ref == str(code.ref) for pane in unit.panes)]
    layers, costs = layers_of(compile_, provenance), costs_of(run)
    calls = [
        _Call(compile_, unit, kernel, layers.unit(unit.unit), costs)
        for unit in units for kernel in unit.kernels if _is_at(unit, kernel, place)
    ]  # fmt: skip
    if not calls:
        text = f"no kernel at {place!r} of {compile_.ref}; kernels: {_names(units)}, or a line number of the generated code"
        raise BadArgument(safe(text))
    return [line for call in calls for line in _lines(call)]


def _is_at(unit: UnitProvenance, kernel: Kernel, place: str) -> bool:
    if (match := _LINE.fullmatch(place)) is None:
        return place in (kernel.name, kernel.key)
    if match["ref"] and all(pane.ref != match["ref"] for pane in unit.panes):
        return False
    line = int(match["number"])
    is_in_definition = kernel.definition is not None and kernel.definition[0] <= line <= kernel.definition[1]
    in_code = _is_code(unit, kernel.call_pane) and line in kernel.call_lines
    return in_code or (is_in_definition and _is_code(unit, kernel.definition_pane))


def _is_code(unit: UnitProvenance, pane: int) -> bool:
    """Return whether a text is the generated Python code."""
    return PANES[pane] == "py" and bool(unit.panes[pane].ref)


def _names(units: Iterable[UnitProvenance]) -> str:
    names = list(dict.fromkeys(kernel.name for unit in units for kernel in unit.kernels))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more if names else "none"


def _lines(call: _Call) -> Iterator[str]:
    unit, kernel = call.unit, call.kernel
    yield f"kernel {kernel.key} in the {unit.unit} graph of {call.compile_.ref}"
    yield from (f"  {word}: {text}" for word, text in _places(unit, kernel))
    for word, kind, names in (("post-grad nodes", "post", kernel.post_nodes), ("pre-grad nodes", "pre", kernel.pre_nodes)):
        if names:
            graph = unit.panes[PANES.index(kind)].ref
            yield f"  {word}: {', '.join(names)}" + (f" in {graph}" if graph else "")
    if kernel.operations:
        yield f"  operations: {', '.join(kernel.operations)}"
    born = [line for line in unit.lines if line.file and kernel.key in line.kernels]
    yield from (f"  source: {_source(line)}" for line in born)
    if call.layers is not None and (paths := call.layers.of_kernel.get(kernel.key)):
        yield f"  layers: {', '.join(path or '(the model)' for path in paths)}"
    if not born and not kernel.post_nodes:
        yield "  nodes and source lines: unknown"
    if derived := [source for source in dict.fromkeys((kernel.nodes_from, kernel.lines_from)) if source in DERIVED]:
        yield f"  derived, not recorded by torch: {', '.join(derived)}"
    yield from _time(call)


def _places(unit: UnitProvenance, kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Yield the addresses of the calls and of the definition."""
    if kernel.call_lines and (ref := unit.panes[kernel.call_pane].ref):
        yield "called at", at_line(ref, kernel.call_lines[0])
    if kernel.definition is not None and (ref := unit.panes[kernel.definition_pane].ref):
        yield "defined at", at_line(ref, kernel.definition[0])


def _source(line: Born) -> str:
    return f"{line.file}:{line.line} in {line.function or '?'}" + (f": {line.code.strip()}" if line.code else "")


def _time(call: _Call) -> Iterator[str]:
    """Yield the time in a profile; nothing without one."""
    if call.costs is None:
        return
    ref = str(call.compile_.ref)
    time = call.costs.of_kernels(ref, call.unit.unit).get(call.kernel.key)
    if time is None:
        yield "  run time: unknown (the kernel is not in the profile)"
        return
    us = call.costs.scaled(ref, time.time.us)
    share = percent(call.costs.share_of(ref, us), 1.0)
    calls = plural(time.time.calls, "call")
    yield f"  run time: {micros(us)} {call.costs.of}, {share} of it, {calls} in the profile, on {time.device}"
