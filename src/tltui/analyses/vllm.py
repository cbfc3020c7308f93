"""vLLM runs: what each compile call was configured with, which pieces it compiled for which sizes, what each pass did.

vLLM cuts the model's graph at its attentions and lowers every piece once for each range of sizes. Most pieces are the
same but for their names: layers of one kind. Whether a pass changed the graph is told by the md5s that the records
declare; only the graph before the first pass may be printed in another way, and is read.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from tltui.analyses.compare.graph_shape import graph_shape, same_graph
from tltui.analyses.parts import parsed, reader_of
from tltui.analyses.records import Reader, named, text_in, whole_in
from tltui.model.artifacts import Artifact, artifact_name, artifacts_of
from tltui.model.nodes import Compile, Process
from tltui.model.parts import MISSING
from tltui.model.vllm import CompileCall, compile_calls, fields_of

START, EVENT, SPLIT = "vllm_piecewise_compile_start", "vllm_compile_event", "vllm_piecewise_split_graph"
CONFIG, BEFORE = "vllm_compilation_config", "before_post_grad_graph"
GRAPH_LIMIT = 8 << 20
_PASS = re.compile(r"^vllm_post_grad\.(?:(?P<number>\d{1,6})\.)?(?P<name>.+)$", re.DOTALL)
_GRAPH = re.compile(r"^vllm_(?P<name>(?:submod|subgraph)_.+)$", re.DOTALL)
_CACHES = {
    "fx_graph_cache_hit": "hit", "fx_graph_cache_miss": "miss", "fx_graph_cache_bypass": "bypass",
    "aotautograd_cache_hit": "hit", "aotautograd_cache_miss": "miss", "aotautograd_cache_bypass": "bypass",
}  # fmt: skip


class SizeRange(NamedTuple):
    """A range of sizes; both -1: not stated."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Named:
    """A name, and the address of its record."""

    name: str
    ref: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of the configuration."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class PassStep:
    """One of vLLM's passes over a piece."""

    number: int | None
    name: str
    ref: str
    """The address of the graph after it."""
    changed: bool | None
    """Whether the graph is another than before it; None where the graph before is not in the log."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A submodule compiled for a range of sizes: a unit of the compile."""

    submodule: str
    start: int | None
    end: int | None
    single: bool
    """For one size."""
    capture: bool
    """For a size at which a CUDA graph is captured."""
    ref: str
    """The address of the unit's page."""
    artifacts: tuple[Named, ...]
    passes: tuple[PassStep, ...]
    code: str | None
    """The address of its output code."""
    cache: str | None
    """What the cache of the lowering answered: hit, miss or bypass."""

    @property
    def range(self) -> SizeRange:
        """To order and compare ranges."""
        start = -1 if self.start is None else self.start
        return SizeRange(start, start if self.single or self.end is None else self.end)


@dataclass(frozen=True, slots=True)
class Submodule:
    """A piece of the split graph, with what it was compiled to."""

    name: str
    graph: str | None
    """The address of its graph, which vLLM writes once."""
    same_as: str | None
    """The first submodule of the call whose graph is the same but for names."""
    statements: int | None
    """Of its graph."""
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class PassTotal:
    """One of vLLM's passes over all pieces of a call."""

    number: int | None
    name: str
    ran: int
    """On how many pieces."""
    changed: int
    """How many of them it changed."""
    patterns: str | None
    """The address of the patterns that it looks for."""


@dataclass(frozen=True, slots=True)
class Call:
    """One compile call of vLLM."""

    number: int
    """In the run, from 1."""
    ref: str
    """The address of the compile that it is part of."""
    function: str | None
    settings: tuple[Setting, ...]
    config: str | None
    """The address of the configuration; None where the log has none for these pieces."""
    event: str | None
    """`fresh_compile` or `aot_cache_hit`, as vLLM says before the call."""
    split: str | None
    """The address of the split graph."""
    patterns: tuple[Named, ...]
    """What each fusion pass looks for."""
    others: tuple[Named, ...]
    """Further artifacts of the call that belong to no piece."""
    ranges: tuple[SizeRange, ...]
    """The ranges of sizes in which anything was compiled, ascending; (-1, -1): not stated."""
    submodules: tuple[Submodule, ...]
    passes: tuple[PassTotal, ...]
    total: int | None
    """How many submodules are to be compiled, as the start records state it."""

    def setting(self, name: str) -> str:
        """The value of a field of the configuration, '' for none."""
        return next((setting.value for setting in self.settings if setting.name == name), "")


@dataclass(frozen=True, slots=True)
class Vllm:
    """The compile calls of a part of a run."""

    schema: int = 2
    calls: tuple[Call, ...] = ()


def vllm_of(compiles: Iterable[Compile]) -> Vllm:
    """The compile calls, all at once."""
    return Vllm(2, tuple(call for call in read_calls(compiles) if call is not None))


def read_calls(compiles: Iterable[Compile]) -> Generator[Call | None, None, None]:
    """The compile calls one by one in the order of the compiles; None in between, so that reading can be left."""
    number = 0
    events: dict[int, dict[int, str]] = {}
    for compile_ in _of_vllm(compiles):
        process = compile_.process
        if id(process) not in events:
            events[id(process)] = _events(process)
        artifacts = artifacts_of(compile_)
        reader = reader_of(compile_)
        for call in compile_calls(artifacts):
            number += 1
            event = events[id(process)].get(call.config.record) if call.config else None
            yield (yield from _call(number, compile_, call, artifacts, event, reader))


def counts_of(compiles: Iterable[Compile]) -> tuple[int, int]:
    """(compile calls, pieces), as far as the kinds of the records tell: nothing is read."""
    calls = pieces = 0
    for compile_ in _of_vllm(compiles):
        for _, name in named(compile_, (CONFIG, START)):
            calls += name == CONFIG
            pieces += name == START
    return calls, pieces


def _of_vllm(compiles: Iterable[Compile]) -> Iterator[Compile]:
    """The compiles into which vLLM wrote anything that belongs to a call."""
    known: dict[int, set[int]] = {}
    for compile_ in compiles:
        log = compile_.process.log
        own = known.get(id(log))
        if own is None:
            names = [artifact_name(kind) for kind in log.kinds]
            own = known[id(log)] = {n for n, name in enumerate(names) if name.startswith("vllm_") and name != EVENT}
        if own and any(log.columns.kind[record] in own for record in compile_.records):
            yield compile_


def _events(process: Process) -> dict[int, str]:
    """The record of a configuration → what vLLM said just before it. It says so outside of any compile."""
    if not any(kind.name == EVENT for kind in process.log.kinds):
        return {}
    reader = reader_of(process)
    found: dict[int, str] = {}
    waiting = None
    records = ((r, name) for c in process.compiles.values() for r, name in named(c, (EVENT, CONFIG)))
    for record, name in sorted(records):
        if name == EVENT:
            waiting = text_in(reader.json(record), "type")
        elif waiting is not None:
            found[record], waiting = waiting, None
    return found


def _call(
    number: int, compile_: Compile, call: CompileCall, artifacts: list[Artifact], event: str | None, reader: Reader
) -> Generator[None, None, Call]:
    config = fields_of(call.config) if call.config else {}
    members: dict[int, list[Artifact]] = {unit: [] for unit in call.units}
    for artifact in artifacts:
        if artifact.unit in members:
            members[artifact.unit].append(artifact)
    submodules: dict[str, list[Piece]] = {}
    graphs: dict[str, Artifact] = {}
    totals = []
    for unit, parts in members.items():
        yield
        start = fields_of(parts[0]) if parts[0].name == START else {}
        piece = _piece(compile_, unit, start, parts, reader)
        submodules.setdefault(piece.submodule, []).append(piece)
        totals.append(whole_in(start, "total_piecewise_compiles"))
        for own in parts:
            if match := _GRAPH.match(own.name):
                graphs.setdefault(match["name"], own)
    told = yield from _submodules(submodules, graphs, reader)
    common = [artifact for artifact in call.common if artifact is not call.config]
    split = next((str(artifact.ref) for artifact in common if artifact.name == SPLIT), None)
    patterns = [a for a in common if a.name.startswith("vllm_patterns.")]
    looked_for = tuple(Named(a.name.partition(".")[2], str(a.ref)) for a in patterns)
    return Call(
        number,
        str(compile_.ref),
        compile_.frame.code[0],
        tuple(Setting(key, _shown(value)) for key, value in config.items()),
        str(call.config.ref) if call.config else None,
        event,
        split,
        looked_for,
        tuple(Named(a.name, str(a.ref)) for a in common if a.name != SPLIT and a not in patterns),
        tuple(sorted({piece.range for pieces in submodules.values() for piece in pieces})),
        told,
        _totals(told, looked_for),
        next((total for total in totals if total is not None), None),
    )


def _totals(submodules: tuple[Submodule, ...], patterns: tuple[Named, ...]) -> tuple[PassTotal, ...]:
    """The passes in the order of their numbers, with what each did in the whole call."""
    steps = [step for submodule in submodules for piece in submodule.pieces for step in piece.passes]
    looked_for = {pattern.name: pattern.ref for pattern in patterns}
    keys = dict.fromkeys((step.number, step.name) for step in steps)
    ran, changed = Counter((s.number, s.name) for s in steps), Counter((s.number, s.name) for s in steps if s.changed)
    ordered = sorted(keys, key=lambda key: (key[0] is None, key[0] or 0))
    return tuple(PassTotal(*key, ran[key], changed[key], looked_for.get(key[1])) for key in ordered)


def _shown(value: object) -> str:
    """A value of the configuration: most are texts already."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return str(value)


def _piece(compile_: Compile, unit: int, start: dict[str, object], parts: list[Artifact], reader: Reader) -> Piece:
    index = whole_in(start, "piecewise_index")
    name = text_in(start, "submod_name") or ("?" if index is None else f"subgraph_{index}")
    low, high = whole_in(start, "compile_range_start"), whole_in(start, "compile_range_end")
    rest = [part for part in parts if part.name != START]
    states = [_CACHES[part.name] for part in rest if part.name in _CACHES]
    return Piece(
        name,
        low,
        high,
        start.get("is_single_size") is True or (low is not None and low == high),
        start.get("is_cudagraph_capture_size") is True,
        str(replace(compile_.ref, view="unit", n=unit + 1)),
        tuple(Named(part.name, str(part.ref)) for part in rest if not _PASS.match(part.name)),
        tuple(_passes(rest, reader)),
        next((str(part.ref) for part in rest if part.name == "inductor_output_code"), None),
        next((state for state in ("miss", "bypass", "hit") if state in states), None),
    )


def _passes(parts: list[Artifact], reader: Reader) -> Iterator[PassStep]:
    """The passes in the order in which they ran, each compared with the graph before it."""
    before: Artifact | None = None
    first = True
    for own in parts:
        match = _PASS.match(own.name)
        if match is None:
            if own.name == BEFORE:
                before, first = own, True
            continue
        number = int(match["number"]) if match["number"] else None
        yield PassStep(number, match["name"], str(own.ref), _changed(before, own, first, reader))
        before, first = own, False


def _changed(before: Artifact | None, after: Artifact, first: bool, reader: Reader) -> bool | None:
    if before is None:
        return None
    log = reader.log
    old, new = log.md5(before.record), log.md5(after.record)
    if old is not None and old == new:
        return False
    if not first and old is not None and new is not None:
        return True
    parts = before.owner.process.parts
    texts = [reader.payload(part.record, GRAPH_LIMIT) for part in (before, after)]
    asked = tuple(hashlib.md5(text, usedforsecurity=False).digest() for text in texts)
    changed = parts.get(_changed, asked)
    if changed is MISSING:
        changed = not same_graph(*(text.decode("utf-8", "replace") for text in texts))
        parts.put(_changed, asked, (), changed)
    return bool(changed)


@parsed
def _shape(text: bytes) -> tuple[int, str]:
    """Of a graph: its statements, and a hash of all but its names."""
    shape = graph_shape(text.decode("utf-8", "replace"))
    everything = "\n".join(shape.all).encode("utf-8", "replace")
    return len(shape.statements), hashlib.md5(everything, usedforsecurity=False).hexdigest()


def _submodules(
    pieces: dict[str, list[Piece]], graphs: dict[str, Artifact], reader: Reader
) -> Generator[None, None, tuple[Submodule, ...]]:
    """The submodules in the order of their first piece; those with the same graph are told."""
    firsts: dict[str, str] = {}
    found = []
    for name, own in pieces.items():
        graph = graphs.get(name)
        same = statements = None
        if graph is not None and reader.log.columns.size[graph.record] <= GRAPH_LIMIT:
            yield
            statements, digest = _shape(graph.owner, reader.payload(graph.record, GRAPH_LIMIT))
            same = firsts.setdefault(digest, name) if statements else None
        ordered = tuple(sorted(own, key=lambda piece: piece.range))
        found.append(
            Submodule(name, str(graph.ref) if graph else None, same if same != name else None, statements, ordered)
        )
    return tuple(found)
