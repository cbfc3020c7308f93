"""A file of torch-spyre: a table of what it says of an operation, and the JSON below."""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses.sdsc.files import SpyreFile, files_of, sdsc_of
from tltui.analyses.sdsc.parse import Operation, PerCore, Tensor
from tltui.documents.page import Page
from tltui.model.artifacts import Artifact
from tltui.model.ref import at_line
from tltui.text import tokens
from tltui.text.chain import Chain
from tltui.text.document import Document, Options, Piece
from tltui.text.sanitize import sanitize

GAP = 11


def sdsc_document(artifact: Artifact, below: Document, title: str, options: Options) -> Document:
    """The document of a file. `below`: the JSON as it is. Raises OSError."""
    found = sdsc_of(artifact.owner, artifact.record)
    page = Page(str(artifact.ref), title, options)
    if found.problem:
        page.say(f"This is not what torch-spyre writes: {sanitize(found.problem)}.", "", tokens.WARN)
    file = next((own for own in files_of(artifact.owner) if own.record == artifact.record), None)
    for operation in found.operations:
        _operation(page, operation, file)
    page.blank()
    page.add(("As it was written", tokens.HEADING))
    return Chain(str(artifact.ref), title, [page.document(found), below], below.badge)


def kernel_pieces(file: SpyreFile) -> list[Piece]:
    """`sdsc_fused_add_mul_0, operation 1 of 2`"""
    assert file.of is not None
    target = at_line(file.code, file.of.line) if file.code and file.of.line else ""
    name = sanitize(file.of.kernel)
    pieces: list[Piece] = [(name, tokens.LINK, target) if target else (name, tokens.NAME)]
    pieces.append(f", operation {file.of.place} of {file.of.of}")
    if not file.of.agrees:
        pieces.append((" by order, the names of the operations differ", tokens.WARN))
    return pieces


def _operation(page: Page, own: Operation, file: SpyreFile | None) -> None:
    page.heading(sanitize(own.key))
    if file is not None and file.of is not None:
        page.row([("kernel".ljust(GAP), tokens.LABEL), *kernel_pieces(file)])
    for label, text in (
        ("operation", own.op), ("aten", own.aten), ("nodes", ", ".join(own.nodes)), ("fused from", ", ".join(own.fused)),
        ("id", own.handle),
    ):  # fmt: skip
        if text:
            page.labelled(label, sanitize(text), gap=GAP)
    if own.file:
        page.row([("source".ljust(GAP), tokens.LABEL), page.place(own.file, own.line)])
    else:
        page.labelled("source", "not known", gap=GAP)
    for compute in own.computes:
        reads, writes = ", ".join(compute.inputs), ", ".join(compute.outputs)
        page.labelled("computes", sanitize(f"{compute.function} on {compute.unit}: {reads} → {writes}"), gap=GAP)
    for remark in own.odd:
        page.say(sanitize(remark), "  ", tokens.WARN)
    _dims(page, own)
    _tensors(page, own.tensors)
    for layout in own.layouts:
        sticks = ", ".join(f"{dim} of {size:,}" for dim, size in zip(layout.sticks, layout.sizes, strict=False))
        said = f"{', '.join(layout.dims)}; stick: {sticks or ', '.join(layout.sticks) or 'none'}"
        page.labelled(sanitize(layout.role), sanitize(said), gap=GAP)
    tables = [(f"slice of {dim}", table) for dim, table in own.slice_of]
    tables += [(f"address of {tensor.name}", tensor.addresses) for tensor in own.tensors]
    for what, table in tables:
        if table.values and table.line is None and len(table.values) > 1:
            _each_core(page, what, table)


def _dims(page: Page, own: Operation) -> None:
    page.blank()
    page.add("  ", ("cores".ljust(GAP), tokens.LABEL), "not known" if own.cores is None else f"{own.cores:,}")
    slices, places = dict(own.slices), dict(own.slice_of)
    sizes = dict(own.dims)
    rows: list[list[Piece]] = []
    for dim in dict.fromkeys((*sizes, *slices, *places)):
        rows.append([
            (sanitize(dim), tokens.NAME), f"{sizes[dim]:,}" if dim in sizes else "–", f"{slices[dim]:,}" if dim in slices else "–",
            per_core(places[dim]) if dim in places else "",
        ])  # fmt: skip
    if rows:
        head = ("dimension", "size", "slices", "slice of core c")
        page.grid([[(text, tokens.LABEL) for text in head], *rows])


def _tensors(page: Page, tensors: Sequence[Tensor]) -> None:
    rows: list[list[Piece]] = []
    for own in tensors:
        rows.append([
            (sanitize(own.name), tokens.NAME), sanitize(own.kind), sanitize(own.dtype), sanitize(", ".join(own.memory)) or "–",
            sanitize(", ".join(own.dims)), per_core(own.addresses),
        ])  # fmt: skip
    if rows:
        page.blank()
        head = ("tensor", "role", "dtype", "memory", "layout", "address of core c")
        page.grid([[(text, tokens.LABEL) for text in head], *rows])


def _each_core(page: Page, what: str, table: PerCore) -> None:
    """A table that no rule makes short: a line for each core, folded."""
    title = sanitize(f"{what}, core by core")
    page.blank()
    page.open(title, folded=True)
    page.add("  ", (title, tokens.LABEL))
    for core, value in table.values:
        page.add("    ", (f"{core:>6,}", tokens.LABEL), f"  {_signed(value)}")
    page.close()


def per_core(table: PerCore) -> str:
    """`8,192 × c`, where the values of all cores lie on a line."""
    if table.line is None:
        return _signed(table.values[0][1]) if len(table.values) == 1 else "differs: below" if table.values else ""
    base, step = table.line
    if not step:
        return _signed(base)
    factor = "c" if abs(step) == 1 else f"{abs(step):,} × c"
    if not base:
        return factor if step > 0 else f"−{factor}"
    return f"{_signed(base)} {'+' if step > 0 else '−'} {factor}"


def _signed(number: int) -> str:
    return f"{number:,}".replace("-", "−")
