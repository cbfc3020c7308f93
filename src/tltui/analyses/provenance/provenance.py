"""Provenance: from the line that the user wrote to the kernel that runs, and back.

    found = provenance_of(compile_)              # reads and parses; some tenths of a second for 10,000 lines of graph
    for unit in found.units:                     # forward, backward, a DDP submodule, …
        unit.source, unit.coverage               # where the links come from, how much is mapped
        unit.panes[PRE].ref                      # address of the text of a pane, '' (and `why`) where there is none
        unit.places                              # the lines of the pane `source`, see documents/parts/source_lines.py
        groups = correspondence(unit, source_lines)      # text/correspondence.py: which lines light up together
        groups.matches(POST, line, PY)           # what corresponds to a line: ranges of lines of another pane
        groups.bands(POST, first, last)          # for painting; `letters(band)` is the gutter index
    graph = graph_at(compile_, unit.panes[POST].ref)     # a parsed graph, for a status line:
    facts_at(graph, line)                        # name, op, type, producers, users, line of source

Lines of documents and of correspondences count from 0, those in results and JSON (`provenance_json`) from 1. Nothing
here raises on damaged data; what could not be read is not linked, and the coverage says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tltui.analyses.content import content_key
from tltui.analyses.parts import digest_of, part, reader_of, shared
from tltui.analyses.provenance import information, mapping, result
from tltui.analyses.provenance.callers import GUARDS, callers_of_lines, guards_of
from tltui.analyses.provenance.code import CodeText, parse_code
from tltui.analyses.provenance.coverage import coverage_of
from tltui.analyses.provenance.graph import GraphText, NodeFacts, bare, facts_at, facts_of, parse_graph
from tltui.analyses.provenance.groups import Woven, born_of, groups_of, maps_of, weave
from tltui.analyses.provenance.information import INFORMATION, OPERATIONS, Left, Operations, left_of, parsed_beside
from tltui.analyses.provenance.links import KernelLink, Links, Texts, links_of
from tltui.analyses.provenance.parts import KERNELS, TEXTS, WRAPPER, Parts, parts_of
from tltui.analyses.provenance.places import Places, places_of
from tltui.analyses.provenance.result import (
    CPP,
    KERNEL,
    PANES,
    POST,
    PRE,
    PY,
    SOURCE,
    Born,
    Coverage,
    Kernel,
    Pane,
    Place,
    Provenance,
    UnitProvenance,
    correspondence,
    provenance_json,
)  # fmt: skip
from tltui.analyses.records import Reader
from tltui.model.artifacts import OUTPUT_CODE, Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile
from tltui.sources.beside import beside
from tltui.text.owner import Owner, owner_of

__all__ = [
    "CPP",
    "KERNEL",
    "PANES",
    "POST",
    "PRE",
    "PY",
    "SOURCE",
    "Born",
    "Coverage",
    "Covered",
    "Kernel",
    "NodeFacts",
    "Pane",
    "Place",
    "Provenance",
    "UnitProvenance",
    "content_of",
    "correspondence",
    "covered_by",
    "facts_at",
    "facts_of",
    "graph_at",
    "provenance_json",
    "provenance_of",
]  # fmt: skip

LIMIT = 256 << 20
"""Stored bytes of a graph or of code that are read."""


class _Loader:
    """Reads and parses every text once: units share the pre-grad graph, a backward needs its forward's."""

    def __init__(self, compile_: Compile) -> None:
        self.reader = reader_of(compile_)
        self.log = compile_.process.log.path
        self._graphs: dict[int, GraphText] = {}
        self.callers: dict[int, dict[tuple[str, int], Place]] = {}
        """Record of a pre-grad graph → line of a library in it → the own line that calls it."""

    def lines(self, artifact: Artifact) -> list[str]:
        """The lines of a payload."""
        text = self.reader.text(artifact.record, LIMIT)
        return (text.replace("\r\n", "\n") if "\r\n" in text else text).split("\n")

    def graph(self, artifact: Artifact | None) -> GraphText | None:
        """A parsed graph."""
        if artifact is None:
            return None
        if artifact.record not in self._graphs:
            self._graphs[artifact.record] = parse_graph(self.lines(artifact))
        return self._graphs[artifact.record]

    def json(self, parts: Parts, name: str) -> object:
        """A parsed JSON artifact of a unit."""
        return mapping.read_json(self.reader, parts.record(name))

    def left(self, parts: Parts, code: CodeText, post: GraphText | None) -> Left:
        """What the job left of the kernels of a unit: in the trace, else in files beside the log that are about this unit."""
        kinds = (INFORMATION, OPERATIONS)
        texts = [next((self.json(parts, name) for name in names if name in parts.members), None) for names in kinds]
        if any(text is not None for text in texts):
            return left_of(*texts)
        found = left_of(*(parsed_beside(self.log, names[-1]) for names in kinds))
        keys = {call.key for call in code.calls}
        return found if found.is_of(keys, lambda name: post is None or post.find(name) is not None) else Left()

    def mapping(self, parts: Parts, graph_id: int | None) -> mapping.NodeMapping:
        """The node mapping of a unit, of any version."""
        if mapping.NODE_MAPPINGS in parts.members:
            found = mapping.node_mapping(self.json(parts, mapping.NODE_MAPPINGS))
            if found.version:
                return found
        kernels, nodes = self.json(parts, mapping.KERNEL_NODES), self.json(parts, mapping.POST_NODES)
        return mapping.older_mapping(kernels, nodes, graph_id)


def provenance_of(compile_: Compile) -> Provenance:
    """The provenance of all units of a compile."""
    artifacts = artifacts_of(compile_)
    loader = _Loader(compile_)
    found = parts_of(artifacts, units_of(artifacts), loader.reader)
    inside = inside_of(compile_)
    forwards: dict[int, Texts] = {}
    units = []
    for parts in found:
        texts, panes = _texts(loader, parts, forwards)
        forwards[parts.unit.number] = texts
        lines = _own_callers(loader, compile_, artifacts, parts, texts) if inside is Owner.USER else {}
        units.append(_unit(parts, texts, panes, inside, lines))
    return Provenance(1, str(compile_.ref), tuple(units))


def _own_callers(
    loader: _Loader, compile_: Compile, artifacts: Sequence[Artifact], parts: Parts, texts: Texts
) -> dict[tuple[str, int], Place]:  # fmt: skip
    """Lines of libraries → the own line that calls them, where torch recorded no stacks of a unit."""
    if parts.pre is None or texts.pre is None or texts.stacks.frames or texts.left.stacks.frames:
        return {}
    pre = texts.pre
    if parts.pre.record not in loader.callers:
        same = [a for a in artifacts if a.name == GUARDS and a.attempt == parts.pre.attempt]
        guards = guards_of(loader.reader.text(same[-1].record, LIMIT)) if same else ()
        loader.callers[parts.pre.record] = callers_of_lines(pre, guards, compile_.frame.code[1] or "")
    return loader.callers[parts.pre.record]


def inside_of(compile_: Compile) -> Owner:
    """Whose the compiled function is; torch's where it is not known."""
    file = compile_.frame.code[1]
    return owner_of(file) if file else Owner.TORCH


@dataclass(frozen=True, slots=True)
class Covered:
    """How much is known of one unit."""

    unit: str
    source: str
    recorded: bool
    coverage: Coverage


def covered_by(compile_: Compile) -> tuple[Covered, ...]:
    """How much is known of each unit of a compile. Made once for compiles with the same texts."""
    if not (content := content_of(compile_)):
        return ()
    content += inside_of(compile_).word.encode()  # the same texts are read in another way
    return shared(compile_, covered_by, content, lambda: _covered(provenance_of(compile_)))


def _covered(found: Provenance) -> tuple[Covered, ...]:
    return tuple(Covered(unit.unit, unit.source, unit.recorded, unit.coverage) for unit in found.units)


@part
def content_of(compile_: Compile, reader: Reader) -> bytes:
    """What the provenance of a compile rests on: its artifacts in their order, the texts of graphs, code and mappings, what guards
    tell of calls of modules, and the files of a job beside the log. Where it is the same, all but the address of the compile is."""
    content = content_key(compile_, reader, TEXTS, LIMIT)
    if not content:
        return b""
    log = compile_.process.log.path
    left = (beside(log, names[-1], information.LIMIT) for names in (INFORMATION, OPERATIONS))
    said: list[bytes] = []
    if inside_of(compile_) is Owner.USER:  # not the text of the guards: addresses stand in it
        artifacts = (a for a in artifacts_of(compile_) if a.name == GUARDS)
        said = [repr((a.attempt, guards_of(reader.text(a.record, LIMIT)))).encode("utf-8", "replace") for a in artifacts]
        said.append((compile_.frame.code[1] or "").encode("utf-8", "replace"))
    return content + digest_of(*left, *said)


def graph_at(compile_: Compile, ref: str) -> GraphText | None:
    """The parsed graph of a pane, by its address."""
    artifact = next((artifact for artifact in artifacts_of(compile_) if str(artifact.ref) == ref), None)
    return _Loader(compile_).graph(artifact)


def _texts(loader: _Loader, parts: Parts, forwards: dict[int, Texts]) -> tuple[Texts, dict[int, Pane]]:
    """Read the texts of a unit; the panes that there are."""
    pre, post = loader.graph(parts.pre), loader.graph(parts.post)
    panes = {
        result.PRE: _pane(result.PRE, parts.pre, pre.lines if pre else 0, parts.pre_why),
        result.POST: _pane(result.POST, parts.post, post.lines if post else 0, "torch wrote no post-grad graph"),
    }
    names = mapping.node_mapping(None) if not parts.members else loader.mapping(parts, pre.graph_id if pre else None)
    known = {mapping.split_key(key)[0] for key in names.kernel_to_post}
    kernels = CodeText()
    if KERNELS in parts.members:
        lines = loader.lines(parts.members[KERNELS])
        kernels = parse_code(lines)
        panes[result.KERNEL] = _pane(result.KERNEL, parts.members[KERNELS], len(lines))
    code, pane = CodeText(), result.PY
    for name, number in ((OUTPUT_CODE, result.PY), (WRAPPER, result.CPP)):
        if name in parts.members:
            lines = loader.lines(parts.members[name])
            code, pane = parse_code(lines, (*known, *(own.name for own in kernels.definitions))), number
            panes[number] = _pane(number, parts.members[name], len(lines))
    forward = forwards.get(parts.forward) if parts.forward is not None else None
    texts = Texts(
        parts.unit.direction, pre, post, code, pane, kernels, names,
        mapping.kernel_stacks(loader.json(parts, mapping.KERNEL_STACKS)),
        forward.mapping if forward else mapping.NodeMapping(), forward.post if forward else None,
        loader.left(parts, code, post),
    )  # fmt: skip
    return texts, panes


def _pane(kind: int, artifact: Artifact | None, lines: int, why: str = "") -> Pane:
    if artifact is None:
        return Pane(PANES[kind], why=why)
    return Pane(PANES[kind], str(artifact.ref), lines, why if kind == result.PRE else "")


def _unit(
    parts: Parts, texts: Texts, panes: dict[int, Pane], inside: Owner, lines: dict[tuple[str, int], Place]
) -> UnitProvenance:  # fmt: skip
    links = links_of(texts)
    places = places_of(texts, links, inside, lines)
    woven = weave(texts, links, places)
    times = Counter(kernel.key for kernel in links.kernels)
    kernels = tuple(_kernel(woven, n, kernel, times[kernel.key] == 1) for n, kernel in enumerate(links.kernels))
    sources = _sources(links, places, kernels)
    ordered = places.ordered()
    panes[result.SOURCE] = Pane(PANES[result.SOURCE], "", len(ordered), "" if ordered else "torch names no line of source")
    recorded = texts.code.handles or any(name in parts.members for name in (mapping.NODE_MAPPINGS, mapping.KERNEL_NODES))
    return UnitProvenance(
        parts.unit.name, parts.unit.number, parts.unit.direction, sources[0] if sources else result.NONE, sources, recorded,
        coverage_of(woven, kernels, recorded),
        tuple(panes.get(n, Pane(kind, why=_no_code(n, panes))) for n, kind in enumerate(PANES)), ordered, kernels,
        tuple(born_of(woven, ordered, [kernel.key for kernel in kernels])), maps_of(woven), groups_of(woven),
    )  # fmt: skip


def _no_code(pane: int, panes: dict[int, Pane]) -> str:
    if pane == result.PY:
        return "AOTInductor generates C++" if result.CPP in panes else "torch wrote no generated code"
    return "only AOTInductor generates a C++ wrapper" if result.PY in panes else "torch wrote none"


def _kernel(woven: Woven, number: int, kernel: KernelLink, alone: bool) -> Kernel:
    before = [name for node in kernel.post for name in woven.links.post_to_pre.get(node, ())]
    told = woven.texts.left.operations.get(kernel.key, Operations())
    key = kernel.key if alone or not kernel.calls else f"{kernel.key}@{kernel.calls[0].last + 1}"
    places = woven.places.kernels[number]
    own = kernel.definition
    lines_from = result.NONE
    if woven.places.from_stacks[number]:
        traced = kernel.key in woven.texts.stacks.frames or kernel.name in woven.texts.stacks.frames
        lines_from = result.KERNEL_STACK_TRACES if traced else result.KERNEL_INFORMATION
    elif places:
        known = result.GUARDS if woven.places.derived[number] else result.FILE_COMMENTS
        lines_from = kernel.nodes_from if kernel.nodes_from in result.DERIVED else known
    return Kernel(
        kernel.name, kernel.handle, tuple(line + 1 for call in kernel.calls for line in call.lines),
        None if own is None else (own.first + 1, own.last + 1), kernel.call_pane, kernel.definition_pane,
        tuple(map(bare, kernel.post)), tuple(dict.fromkeys((*before, *kernel.pre))),
        tuple(f"{file}:{line}" for file, line in places),
        kernel.nodes_from, lines_from, key, kernel.function, kernel.times, told.targets, told.again,
    )  # fmt: skip


def _sources(links: Links, places: Places, kernels: Iterable[Kernel]) -> tuple[str, ...]:
    used = set(links.pre_from) | {kernel.nodes_from for kernel in kernels} | {kernel.lines_from for kernel in kernels}
    if places.post or places.pre:
        used.add(result.FILE_COMMENTS)
    return tuple(source for source in result.SOURCES if source in used)
