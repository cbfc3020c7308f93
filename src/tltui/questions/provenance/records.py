"""Provenance records of a compile, and their JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from tltui.text.frozen import frozen
from tltui.text.line_correspondence import Group, LineGroups, Range, of_lines
from tltui.text.torch_names import WORDS, owner_of

SOURCE, PRE, POST, PY, CPP, KERNEL = range(6)
PANES = ("source", "pre", "post", "py", "cpp", "kernel")
"""User source, pre-grad graph, post-grad graph, Python wrapper with its kernels; of AOTInductor the C++ wrapper and its
kernels."""

NODE_MAPPINGS = "node_mappings"
KERNEL_STACK_TRACES = "kernel_stack_traces"
FORWARD_MAPPINGS = "forward_mappings"
KERNEL_INFORMATION = "kernel_information"
KERNEL_OPERATIONS = "kernel_operations"
DATAFLOW = "dataflow"
GUARDS = "guards"
CALL_SITE = "call_site"
COMMENTS = "comments"
FILE_COMMENTS = "file_comments"
KERNEL_NAMES = "kernel_names"
NONE = "none"
SOURCES = (
    NODE_MAPPINGS, KERNEL_INFORMATION, KERNEL_OPERATIONS, KERNEL_STACK_TRACES, FORWARD_MAPPINGS, COMMENTS, FILE_COMMENTS, DATAFLOW,
    GUARDS, CALL_SITE, KERNEL_NAMES,
)  # fmt: skip
"""Where a link comes from, the best first: the mapping that torch wrote; what a job left of its kernels
(`kernel_information.json`, a list of the operations of each); the stacks of kernels; of a backward the mapping of its forward, for
what is computed again; the comments in the generated code (`Source Nodes`, `Graph fragment`); the `# File:` comments in the graphs;
the flow of data through code and graph; the guards of the compile, which name the own line that calls a model of a library; the
stack of the compile, which has the line that calls a compiled function of torch; the operators in the name of a kernel."""
WRITTEN = (NODE_MAPPINGS, KERNEL_INFORMATION, KERNEL_OPERATIONS)
"""Those that say all nodes of a kernel, as Inductor knew them."""
DERIVED = (DATAFLOW, GUARDS, CALL_SITE, KERNEL_NAMES)
"""Those that torch did not write: shown with `≈`."""

Lines = tuple[int, ...]
LineMap = dict[int, Lines]


@frozen
class Place:
    """A line of somebody's source."""

    file: str
    line: int
    function: str = ""
    code: str = ""
    framework: bool = False
    """Whether it is in torch or another package, not in the user's own code."""

    @property
    def owner(self) -> str:
        """The owner, a word of `tltui.text.torch_names.WORDS`."""
        return owner_of(self.file).word

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@frozen
class Pane:
    """One text. `ref` is '' where there is none; `why` says so then, or that another text stands in."""

    kind: str
    ref: str = ""
    lines: int = 0
    why: str = ""


@frozen
class Kernel:
    """One kernel: a call of it."""

    name: str
    handle: int | None
    """The number torch gave to this call, unique in the compile; None in older traces."""
    call_lines: Lines
    definition: tuple[int, int] | None
    """First and last line of its code."""
    call_pane: int
    definition_pane: int
    post_nodes: tuple[str, ...]
    pre_nodes: tuple[str, ...]
    user_lines: tuple[str, ...]
    """`FILE:LINE` of the operations in it."""
    nodes_from: str
    """Where its nodes come from: one of `SOURCES`, 'none'."""
    lines_from: str
    """Where its user lines come from; where they are those of nodes that are derived, the word for that."""
    key: str
    """As torch names it: `NAME:HANDLE`, or `NAME`; `NAME@LINE` of several calls without a handle. Unique in the unit."""
    function: str = ""
    """The function of the code that the call stands in, where that runs a graph inside of the graph: its post-grad nodes are
    those of that graph, and the node that runs that graph, with what Inductor counts to it. '' in what runs the whole graph."""
    times: int = 1
    """How often it runs in a run of the whole graph: as often as its function is called, at most so often where that is a branch
    or a loop."""
    operations: tuple[str, ...] = ()
    """What runs in it, in order, in Inductor's words (load, exp, store), where the job left a list of that."""
    again: tuple[str, ...] = ()
    """Those of its operations that are computed again instead of loaded."""

    @property
    def mapped(self) -> bool:
        """Whether the kernel has a node or a user line."""
        return bool(self.post_nodes or self.pre_nodes or self.user_lines)


@frozen
class Known:
    """How many are known from one source."""

    source: str
    """One of `SOURCES`."""
    count: int


@frozen
class Unknown:
    """Kernels or nodes of which something is not known, and why it is not."""

    kind: str
    """`kernel nodes`, `kernel lines`, `node kernels`."""
    reason: str
    names: tuple[str, ...]
    """Keys of kernels, names of nodes."""


@frozen
class Coverage:
    """How much is known, from where, and why not more. Nodes are those of the post-grad graph that compute something.

    Three things are counted, and never one for another: kernels with their nodes, kernels with their lines, nodes with a kernel.
    """

    kernels: int
    kernels_mapped: int
    """Kernels that lead to a node or to a line."""
    kernels_unmapped: tuple[str, ...]
    nodes: int
    nodes_mapped: int
    """Nodes that lead to a kernel or to a pre-grad node."""
    nodes_unmapped: tuple[str, ...]
    nodes_with_kernel: int
    nodes_with_line: int
    """Nodes of which a line of source is known."""
    kernels_with_nodes: int
    """Kernels whose nodes are known, of either graph."""
    kernels_with_lines: int
    kernel_nodes_from: tuple[Known, ...]
    """Of the kernels with nodes how many from which source, the best first."""
    kernel_lines_from: tuple[Known, ...]
    node_kernels_from: tuple[Known, ...]
    unknown: tuple[Unknown, ...]


@frozen
class Node:
    """A node of a graph, and its line in the text, from 1."""

    name: str
    line: int


@frozen
class Born:
    """A line of source and all that was born of it in this unit; without a file, what no line of source is known of."""

    file: str
    line: int
    function: str
    code: str
    is_framework: bool
    owner: str
    """Whose line it is: `own`, `library`, `python`, `torch`; '' without a file."""
    pre_nodes: tuple[Node, ...]
    post_nodes: tuple[Node, ...]
    kernels: tuple[str, ...]
    """Keys of kernels, in the order of the code."""


@frozen
class UnitProvenance:
    """One lowering."""

    unit: str
    number: int
    """As `tltui.model.artifacts.units_of` counts them."""
    direction: str
    source: str
    """The best of `SOURCES` that there was, 'none'."""
    sources: tuple[str, ...]
    """All that were used, the best first."""
    recorded: bool
    """Whether torch recorded provenance; how it is made to: `provenance_way`."""
    coverage: Coverage
    panes: tuple[Pane, ...]
    """Always all of `PANES`."""
    places: tuple[Place, ...]
    """The lines of the pane `source`: the user's own first, by file and line."""
    kernels: tuple[Kernel, ...]
    lines: tuple[Born, ...]
    """Line by line of the source what became of it, as `places`; at the end, without a file, what has no known line."""
    maps: dict[str, LineMap]
    """pre_to_post, post_to_pre, py_code_to_post, post_to_py_code, cpp_code_to_post, post_to_cpp_code: line → lines. Of a kernel the
    lines of the call and the first line of its definition stand here."""
    groups: tuple[Group, ...]
    """What `correspondence` is made of."""


@frozen
class Provenance:
    """The provenance of a compile."""

    ref: str
    units: tuple[UnitProvenance, ...]

    def unit(self, name: str) -> UnitProvenance | None:
        """Return the unit of a name, or of an unambiguous prefix of one."""
        exact = next((unit for unit in self.units if unit.unit == name), None)
        near = [unit for unit in self.units if unit.unit.startswith(name)]
        return exact or (near[0] if len(near) == 1 else None)


def correspondence(unit: UnitProvenance, source: tuple[int, ...] | list[int] | None = None) -> LineGroups:
    """Return the correspondence of a unit's panes.

    `source` gives the line of each place in the source document (-1: absent); without it, lines of that pane are
    numbers of places.
    """
    if source is None:
        return LineGroups.of(len(PANES), unit.groups)
    placed = (Group((_placed(group.ranges[SOURCE], source), *group.ranges[1:])) for group in unit.groups)
    return LineGroups.of(len(PANES), placed)


def _placed(ranges: tuple[Range, ...], source: tuple[int, ...] | list[int]) -> tuple[Range, ...]:
    places = (n for first, last in ranges for n in range(first, last + 1) if n < len(source))
    return of_lines(source[n] for n in places if source[n] >= 0)


class PaneJson(TypedDict):
    """One of the texts side by side."""

    pane: str
    ref: str
    """Its address, '' where there is none."""
    lines: int
    reason: str
    """Why there is none, or what stands in for it."""


class KernelAlways(TypedDict):
    """A kernel, and what it was made from."""

    key: str
    """Its name, unique in the unit."""
    name: str
    handle: int | None
    """Torch's number of the call."""
    call_lines: list[int]
    call_pane: str
    definition: list[int] | None
    """First and last line."""
    definition_pane: str
    post_nodes: list[str]
    pre_nodes: list[str]
    user_lines: list[str]
    line_owners: list[str]
    """Whose each of these lines is: `own`, `library`, `python`, `torch`."""
    nodes_from: str
    """Where that is known from: a word of `source`."""
    lines_from: str


class KernelJson(KernelAlways, total=False):
    """What is only said where there is something to say."""

    function: str
    """The function of the code that the call stands in, where that runs a graph inside of the graph, whose nodes are meant then."""
    call_count: int
    """How often that function is called."""
    operations: list[str]
    """What runs in it, in order, in Inductor's words, where the job left a list of that."""
    recomputed: list[str]
    """Those of its operations that are computed again instead of loaded."""


class UnitJson(TypedDict):
    """One lowering. Lines are those of the payloads as they are, from 1."""

    unit: str
    source: str
    """The best source of the mapping that there was, `none`."""
    sources: list[str]
    """All that were used, the best first."""
    is_recorded: bool
    """Whether torch recorded provenance (INDUCTOR_PROVENANCE=1)."""
    coverage: Coverage
    panes: list[PaneJson]
    pre_to_post: dict[str, list[int]]
    post_to_pre: dict[str, list[int]]
    py_code_to_post: dict[str, list[int]]
    post_to_py_code: dict[str, list[int]]
    cpp_code_to_post: dict[str, list[int]]
    post_to_cpp_code: dict[str, list[int]]
    kernels: list[KernelJson]
    lines: list[Born]


class ProvenanceJson(TypedDict):
    """Which line became which nodes and kernels of a compile."""

    ref: str
    units: list[UnitJson]


def provenance_json(provenance: Provenance) -> ProvenanceJson:
    """Return the documented JSON shape (docs/json.md)."""
    return {"ref": provenance.ref, "units": [unit_json(unit) for unit in provenance.units]}


def unit_json(unit: UnitProvenance) -> UnitJson:
    """Return one unit as JSON. Lines are those of the unmodified payloads, from 1."""
    return {
        "unit": unit.unit,
        "source": unit.source,
        "sources": list(unit.sources),
        "is_recorded": unit.recorded,
        "coverage": unit.coverage,
        "panes": [{"pane": pane.kind, "ref": pane.ref, "lines": pane.lines, "reason": pane.why} for pane in unit.panes],
        **{name: {str(line): list(lines) for line, lines in line_map.items()} for name, line_map in unit.maps.items()},  # type: ignore[typeddict-item]
        "kernels": [_kernel_json(kernel) for kernel in unit.kernels],
        "lines": [_line_json(unit, line) for line in unit.lines],
    }


def _line_json(unit: UnitProvenance, line: Born) -> Born:
    """Return a line as JSON; one outside of user code without the kernels that do not name it.

    Their entries already list its nodes.
    """
    if line.owner in ("", WORDS[0]):
        return line
    place = f"{line.file}:{line.line}"
    on_line = {kernel.key for kernel in unit.kernels if place in kernel.user_lines}
    return replace(line, kernels=tuple(key for key in line.kernels if key in on_line))


def _kernel_json(kernel: Kernel) -> KernelJson:
    kernel_json: KernelJson = {
        "key": kernel.key,
        "name": kernel.name,
        "handle": kernel.handle,
        "call_lines": list(kernel.call_lines),
        "call_pane": PANES[kernel.call_pane],
        "definition": None if kernel.definition is None else list(kernel.definition),
        "definition_pane": PANES[kernel.definition_pane],
        "post_nodes": list(kernel.post_nodes),
        "pre_nodes": list(kernel.pre_nodes),
        "user_lines": list(kernel.user_lines),
        "line_owners": [owner_of(line.rpartition(":")[0]).word for line in kernel.user_lines],
        "nodes_from": kernel.nodes_from,
        "lines_from": kernel.lines_from,
    }
    if kernel.function:
        kernel_json |= {"function": kernel.function, "call_count": kernel.times}
    if kernel.operations:
        kernel_json |= {"operations": list(kernel.operations), "recomputed": list(kernel.again)}
    return kernel_json
