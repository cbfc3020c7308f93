"""What provenance mode says of a unit, and one line with all that it maps to as a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tltui.analyses.provenance.provenance import PANES, UnitProvenance
from tltui.documents.parts.coverage import coverage_text
from tltui.model.ref import parse_ref
from tltui.text import tokens
from tltui.text.correspondence import LineGroups
from tltui.text.document import Builder, Document, TextDocument

PANE_TITLES = {
    "source": "your source", "pre": "pre-grad graph", "post": "post-grad graph", "py": "generated code",
    "cpp": "C++ wrapper", "kernel": "C++ kernels",
}  # fmt: skip
SOURCE_TITLES = {
    "node_mappings": "node mappings", "kernel_stack_traces": "stacks of kernels", "forward_mappings": "the forward's mappings",
    "kernel_information": "kernel_information.json", "kernel_operations": "operations of kernels", "dataflow": "the flow of data",
    "guards": "guards",
    "comments": "comments in the code", "file_comments": "# File: comments", "kernel_names": "names of kernels",
    "none": "nothing",
}  # fmt: skip
LONGEST = 40
"""Lines of one pane that a page of one correspondence holds."""


def coverage_lines(unit: UnitProvenance) -> tuple[tuple[str, ...], bool]:
    """`41/44 kernels with nodes · 44/44 with lines · 212/230 nodes with kernels (node mappings)`, the longest first, each with less
    than the one before, and whether torch recorded provenance; if not, how it does."""
    counts = coverage_text(unit.coverage)
    sourced = f"{counts} ({SOURCE_TITLES.get(unit.source, unit.source)})"
    known = (sourced, counts, counts.rpartition(" · ")[0] or counts)
    if unit.recorded:
        return known, True
    said = f"{sourced} · provenance was not recorded"
    return (f"{said}: INDUCTOR_PROVENANCE=1 does that (torch 2.9 and later)", said, *known), False


def selection_document(
    unit: UnitProvenance, groups: LineGroups, documents: Mapping[int, Document], pane: int, line: int
) -> TextDocument:
    """One line of a pane and all that it maps to. Lines count from 1."""
    refs = (parse_ref(own.ref) for own in unit.panes if own.ref)
    of = next((f"[{replace(ref, artifact=None, n=None)}] " for ref in refs), "")
    builder = Builder(f"@provenance:{unit.unit}", f"{of}{unit.unit}: {PANE_TITLES[PANES[pane]]}, line {line + 1}")
    for other in sorted(documents):
        lines = [line] if other == pane else []
        lines += [n for first, last in groups.matches(pane, line, other) for n in range(first, last + 1) if n not in lines]
        builder.heading(PANE_TITLES[PANES[other]])
        if not lines:
            builder.add(("  nothing", tokens.DIM))
        for n in sorted(lines)[:LONGEST]:
            text = documents[other].line(n).text if n < len(documents[other]) else ""
            builder.add((f"{n + 1:>7}  ", tokens.DIM), text)
        if len(lines) > LONGEST:
            builder.add((f"         and {len(lines) - LONGEST} more lines", tokens.DIM))
    return builder.document()
