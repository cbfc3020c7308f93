"""How much of a unit's provenance is known, in words: three counts, where each comes from, and why the rest is not known."""

from __future__ import annotations

from collections.abc import Iterator

from tltui.analyses.provenance.coverage import KERNEL_LINES, KERNEL_NODES
from tltui.analyses.provenance.result import DERIVED, Coverage, Known, Unknown
from tltui.documents import format as fmt

SAID = {
    "node_mappings": "torch's node mappings",
    "kernel_information": "kernel_information.json",
    "kernel_operations": "the list of operations of each kernel",
    "kernel_stack_traces": "stacks of the kernels",
    "forward_mappings": "node mappings of the forward",
    "comments": "comments in the generated code",
    "file_comments": "# File: comments",
    "dataflow": "the flow of data",
    "guards": "guards, and the order of the graph",
    "kernel_names": "operators in the names of kernels",
}
"""What a source is called."""
DERIVED_MARK = "≈"
LEGEND = f"{DERIVED_MARK} worked out here from code and graph, not told by torch"


def marked(source: str) -> str:
    """`≈ ` where what comes from a source was not written by torch."""
    return f"{DERIVED_MARK} " if source in DERIVED else ""


def coverage_text(coverage: Coverage) -> str:
    """`20/39 kernels with nodes (19 ≈) · 39/39 with lines · 100/173 nodes with kernels`"""
    if not coverage.kernels and not coverage.nodes:
        return "no kernels, no nodes"
    counts = (
        (coverage.kernels_with_nodes, coverage.kernels, "kernels with nodes", coverage.kernel_nodes_from),
        (coverage.kernels_with_lines, coverage.kernels, "with lines", coverage.kernel_lines_from),
        (coverage.nodes_with_kernel, coverage.nodes, "nodes with kernels", coverage.node_kernels_from),
    )
    return " · ".join(f"{known}/{all_} {what}{_derived(found)}" for known, all_, what, found in counts)


def _derived(found: tuple[Known, ...]) -> str:
    count = sum(known.count for known in found if known.source in DERIVED)
    return f" ({count} {DERIVED_MARK})" if count else ""


def counts_of(coverage: Coverage) -> Iterator[tuple[str, str]]:
    """Label and text of each of the three counts: `20 of 39: 3 from torch's node mappings, ≈ 17 from the flow of data`."""
    counts = (
        ("kernels with nodes", coverage.kernels_with_nodes, coverage.kernels, coverage.kernel_nodes_from),
        ("kernels with lines", coverage.kernels_with_lines, coverage.kernels, coverage.kernel_lines_from),
        ("nodes with kernels", coverage.nodes_with_kernel, coverage.nodes, coverage.node_kernels_from),
    )
    for label, known, all_, found in counts:
        yield label, f"{known} of {all_}" + (f": {_sources(found, known)}" if found else "")


def _sources(found: tuple[Known, ...], known: int) -> str:
    if len(found) == 1 and found[0].count == known:
        return f"{marked(found[0].source)}from {SAID[found[0].source]}"
    return ", ".join(f"{marked(one.source)}{one.count} from {SAID.get(one.source, one.source)}" for one in found)


def unknown_text(unknown: Unknown) -> str:
    """`nodes of 19 kernels: torch writes no mapping of …`"""
    count = len(unknown.names)
    if unknown.what == KERNEL_NODES:
        of = f"nodes of {fmt.plural(count, 'kernel')}"
    elif unknown.what == KERNEL_LINES:
        of = f"lines of {fmt.plural(count, 'kernel')}"
    else:
        of = f"kernels of {fmt.plural(count, 'node')}"
    return f"{of}: {unknown.why}"
