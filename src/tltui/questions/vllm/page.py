"""The page `vllm`: compile calls with configuration, pieces by size range, and passes."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from tltui.documents import format as fmt
from tltui.documents.page import Page, to_page
from tltui.documents.scope import Scope
from tltui.model.artifacts import Artifact, CompileCall, artifact_name, artifacts_of, compile_calls, fields_of
from tltui.model.derived_cache import MISSING
from tltui.model.input_coverage import Needs
from tltui.model.node_answers import parsed, reader_of
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, records_of, text_in, whole_in
from tltui.model.run import Run
from tltui.questions.question import Question
from tltui.questions.shapes.shape_env import value_of
from tltui.questions.stacks.tracebacks import display_name
from tltui.questions.vllm.startup import Startup, read_startups
from tltui.questions.vllm.startup_sections import add_startups
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options
from tltui.text.document import Piece as Text
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

_HEAD = re.compile(r"^\s*def forward\(self(?:,\s*)?(?P<inputs>.*)\)(?:\s*->.*)?:\s*$")
_INPUT = re.compile(r"(?P<name>[A-Za-z_]\w*)(?P<type>\s*:\s*\"[^\"]*\")?\s*(?:,|$)")
_ASSIGN = re.compile(r"^(?P<name>[A-Za-z_]\w*)(?P<type>\s*:\s*\"[^\"]*\")?\s*=(?!=)")
_TYPE = re.compile(r"(?P<before>\w)\s*:\s*\"[^\"]*\"")
_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*|(?<=\bself\.)[A-Za-z_]\w*")


@frozen
class GraphShape:
    """A graph without names and comments."""

    inputs: tuple[str, ...]
    """The types of its inputs, '' where none is printed."""
    statements: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Return inputs and statements for comparison."""
        return (", ".join(self.inputs), *self.statements)


def graph_shape(text: str) -> GraphShape:
    """Return the shape of the first graph in a text, without frees (`x = None`)."""
    names: dict[str, str] = {}
    inputs: list[str] = []
    statements: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "class ")):
            continue
        if head := _HEAD.match(line):
            for match in _INPUT.finditer(head["inputs"]):
                names.setdefault(match["name"], f"v{len(names)}")
                inputs.append((match["type"] or "").strip(" :"))
            continue
        statement = stripped.partition(";  ")[0]
        statements.append(_renamed(statement, names))
    return GraphShape(tuple(inputs), tuple(statements))


def _renamed(statement: str, names: dict[str, str]) -> str:
    assignment = _ASSIGN.match(statement)
    if assignment is not None:
        names.setdefault(assignment["name"], f"v{len(names)}")

    def number(match: re.Match[str]) -> str:
        name = match[0]
        if match.start() and statement[match.start() - 1] == ".":  # a parameter or a constant of the module
            return names.setdefault(name, f"v{len(names)}")
        return names.get(name, name)

    return _NAME.sub(number, statement)


def same_graph(before: str, after: str) -> bool:
    """Return whether two texts are the same graph, regardless of how inputs and types are printed."""
    item, two = graph_shape(before), graph_shape(after)
    return [_untyped(s) for s in item.statements] == [_untyped(s) for s in two.statements]


def _untyped(statement: str) -> str:
    return _TYPE.sub(r"\g<before>", statement, count=1)


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


@frozen
class Named:
    """A name, and the address of its record."""

    name: str
    ref: str


@frozen
class Setting:
    """A field of the configuration."""

    name: str
    value: object
    """The value in the log, lists and numbers as such."""


@frozen
class PassStep:
    """One vLLM pass over a piece."""

    pass_number: int | None
    name: str
    ref: str
    """The address of the graph after it."""
    is_changed: bool | None
    """Whether the graph is another than before it; None where the graph before is not in the log."""


@frozen
class Piece:
    """A submodule compiled for a range of sizes: a unit of the compile."""

    submodule: str
    start: int | None
    end: int | None
    is_single_size: bool
    """For one size."""
    is_captured: bool
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
        """Return the sort key of the range."""
        start = -1 if self.start is None else self.start
        return SizeRange(start, start if self.is_single_size or self.end is None else self.end)


@frozen
class Submodule:
    """A piece of the split graph with its compiled artifacts."""

    name: str
    graph: str | None
    """The address of its graph, which vLLM writes once."""
    same_as: str | None
    """The first submodule of the call whose graph is the same but for names."""
    statement_count: int | None
    """Of its graph."""
    pieces: tuple[Piece, ...]


@frozen
class PassTotal:
    """One vLLM pass over all pieces of a call."""

    pass_number: int | None
    name: str
    pieces: int
    """On how many pieces."""
    changed_pieces: int
    """How many of them it changed."""
    patterns: str | None
    """The address of the patterns that it looks for."""


@frozen
class Call:
    """One compile call of vLLM."""

    call_number: int
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
    other_artifacts: tuple[Named, ...]
    """Further artifacts of the call that belong to no piece."""
    ranges: tuple[SizeRange, ...]
    """The ranges of sizes in which anything was compiled, ascending; (-1, -1): not stated."""
    submodules: tuple[Submodule, ...]
    passes: tuple[PassTotal, ...]
    expected_submodules: int | None
    """How many submodules are to be compiled, as the start records state it."""

    def setting(self, name: str) -> str:
        """Return the value of a configuration field, '' for none."""
        return next((_shown(setting.value) for setting in self.settings if setting.name == name), "")


@frozen
class Vllm:
    """The compile calls of a part of a run."""

    calls: tuple[Call, ...] = ()
    startups: tuple[Startup, ...] = ()
    """Start-up of each engine, from the log that vLLM or SGLang prints."""


def read_calls(compiles: Iterable[Compile]) -> Generator[Call | None, None, None]:
    """Yield compile calls in order, and None in between so that reading can be cancelled."""
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
    """Return (compile calls, pieces) from the record kinds, without reading payloads."""
    calls = pieces = 0
    for compile_ in _of_vllm(compiles):
        for _, name in records_of(compile_, (CONFIG, START)):
            calls += name == CONFIG
            pieces += name == START
    return calls, pieces


def _of_vllm(compiles: Iterable[Compile]) -> Iterator[Compile]:
    """Yield the compiles with vLLM records of a compile call."""
    contexts_by_log: dict[int, set[int]] = {}
    for compile_ in compiles:
        log = compile_.process.log
        contexts = contexts_by_log.get(id(log))
        if contexts is None:
            names = [artifact_name(kind) for kind in log.kinds]
            contexts = contexts_by_log[id(log)] = {n for n, name in enumerate(names) if name.startswith("vllm_") and name != EVENT}
        if contexts and any(log.columns.kind[record] in contexts for record in compile_.records):
            yield compile_


def _events(process: Process) -> dict[int, str]:
    """Map configuration records to vLLM's preceding message, which is logged outside of any compile."""
    if not any(kind.name == EVENT for kind in process.log.kinds):
        return {}
    reader = reader_of(process)
    results: dict[int, str] = {}
    waiting = None
    records = ((r, name) for c in process.compiles.values() for r, name in records_of(c, (EVENT, CONFIG)))
    for record, name in sorted(records):
        if name == EVENT:
            waiting = text_in(reader.json(record), "type")
        elif waiting is not None:
            results[record], waiting = waiting, None
    return results


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
        for part in parts:
            if match := _GRAPH.match(part.name):
                graphs.setdefault(match["name"], part)
    message = yield from _submodules(submodules, graphs, reader)
    common = [artifact for artifact in call.common if artifact is not call.config]
    split = next((str(artifact.ref) for artifact in common if artifact.name == SPLIT), None)
    patterns = [a for a in common if a.name.startswith("vllm_patterns.")]
    looked_for = tuple(Named(a.name.partition(".")[2], str(a.ref)) for a in patterns)
    return Call(
        number,
        str(compile_.ref),
        display_name(compile_.frame),
        tuple(Setting(key, value_of(value) if isinstance(value, str) else value) for key, value in config.items()),
        str(call.config.ref) if call.config else None,
        event,
        split,
        looked_for,
        tuple(Named(a.name, str(a.ref)) for a in common if a.name != SPLIT and a not in patterns),
        tuple(sorted({piece.range for pieces in submodules.values() for piece in pieces})),
        message,
        _totals(message, looked_for),
        next((total for total in totals if total is not None), None),
    )


def _totals(submodules: tuple[Submodule, ...], patterns: tuple[Named, ...]) -> tuple[PassTotal, ...]:
    """Return the passes in numerical order with their effects on all pieces."""
    steps = [step for submodule in submodules for piece in submodule.pieces for step in piece.passes]
    looked_for = {pattern.name: pattern.ref for pattern in patterns}
    keys = dict.fromkeys((step.pass_number, step.name) for step in steps)
    ran, changed = Counter((s.pass_number, s.name) for s in steps), Counter((s.pass_number, s.name) for s in steps if s.is_changed)
    ordered = sorted(keys, key=lambda key: (key[0] is None, key[0] or 0))
    return tuple(PassTotal(*key, ran[key], changed[key], looked_for.get(key[1])) for key in ordered)


def _shown(value: object) -> str:
    """Format a configuration value; most are strings already."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return str(value)


def _piece(compile_: Compile, unit: int, start: dict[str, object], parts: list[Artifact], reader: Reader) -> Piece:
    index = whole_in(start, "piecewise_index")
    name = text_in(start, "submod_name") or ("?" if index is None else f"subgraph_{index}")
    low, high = whole_in(start, "compile_range_start"), whole_in(start, "compile_range_end")
    remaining_parts = [part for part in parts if part.name != START]
    states = [_CACHES[part.name] for part in remaining_parts if part.name in _CACHES]
    return Piece(
        name,
        low,
        high,
        start.get("is_single_size") is True or (low is not None and low == high),
        start.get("is_cudagraph_capture_size") is True,
        str(replace(compile_.ref, view="unit", n=unit + 1)),
        tuple(Named(part.name, str(part.ref)) for part in remaining_parts if not _PASS.match(part.name)),
        tuple(_passes(remaining_parts, reader)),
        next((str(part.ref) for part in remaining_parts if part.name == "inductor_output_code"), None),
        next((state for state in ("miss", "bypass", "hit") if state in states), None),
    )


def _passes(parts: list[Artifact], reader: Reader) -> Iterator[PassStep]:
    """Yield passes in execution order, each compared with the graph before it."""
    before: Artifact | None = None
    first = True
    for part in parts:
        match = _PASS.match(part.name)
        if match is None:
            if part.name == BEFORE:
                before, first = part, True
            continue
        number = int(match["number"]) if match["number"] else None
        yield PassStep(number, match["name"], str(part.ref), _changed(before, part, first, reader))
        before, first = part, False


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
    digests = tuple(hashlib.md5(text, usedforsecurity=False).digest() for text in texts)
    changed = parts.get(_changed, digests)
    if changed is MISSING:
        changed = not same_graph(*(text.decode("utf-8", "replace") for text in texts))
        parts.put(_changed, digests, (), changed)
    return bool(changed)


@parsed
def _shape(text: bytes) -> tuple[int, str]:
    """Return a graph's number of statements and a hash without names."""
    shape = graph_shape(text.decode("utf-8", "replace"))
    everything = "\n".join(shape.all).encode("utf-8", "replace")
    return len(shape.statements), hashlib.md5(everything, usedforsecurity=False).hexdigest()


def _submodules(
    pieces: dict[str, list[Piece]], graphs: dict[str, Artifact], reader: Reader
) -> Generator[None, None, tuple[Submodule, ...]]:
    """Return the submodules in order of their first piece, with equal graphs marked."""
    firsts: dict[str, str] = {}
    results = []
    for name, parts in pieces.items():
        graph = graphs.get(name)
        same = statements = None
        if graph is not None and reader.log.columns.size[graph.record] <= GRAPH_LIMIT:
            yield
            statements, digest = _shape(graph.owner, reader.payload(graph.record, GRAPH_LIMIT))
            same = firsts.setdefault(digest, name) if statements else None
        ordered = tuple(sorted(parts, key=lambda piece: piece.range))
        results.append(Submodule(name, str(graph.ref) if graph else None, same if same != name else None, statements, ordered))
    return tuple(results)


EVENTS = {"fresh_compile": "freshly compiled", "aot_cache_hit": "taken from vLLM's ahead-of-time cache"}
UNSTATED = (-1, -1)


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the compile calls of the scope, growing call by call.

    A large model has hundreds of pieces.
    """

    def fill(page: Page) -> Generator[None, None, Vllm]:
        page.add((f"vLLM{scope.title}", tokens.TITLE))
        startups: tuple[Startup, ...] = ()
        if not str(scope.ref):
            yield from read_startups(run)
            startups = add_startups(page, run)
        call_count, pieces = counts_of(scope.compiles)
        if call_count > 1:
            page.add((f"{fmt.plural(call_count, 'compile call')}, {fmt.plural(pieces, 'piece')} compiled", tokens.STRONG))
        calls: list[Call] = []
        for call in read_calls(scope.compiles):
            if call is not None:
                _add_call(page, call, calls[0] if calls else None)
                calls.append(call)
            yield
        if not calls:
            _no_calls(page, run.finished, bool(str(scope.ref)), bool(startups))
        return Vllm(tuple(calls), startups)

    return GrowingDocument(scope.page("vllm"), f"vllm{scope.title}", options, fill, Page)


def _no_calls(page: Page, finished: bool, part: bool, has_startup: bool) -> None:
    page.blank()
    if has_startup:
        page.say("To list pieces and passes, set TORCH_TRACE=DIR for the engine, and open DIR with this log.", "", tokens.DIM)
        return
    where = "this part of the trace" if part else "this trace"
    page.say(f"No vLLM records in {where}{'' if finished else ' yet'}.", "", tokens.DIM)
    page.say(
        "This page needs the records that vLLM's worker processes write (vllm_compilation_config, "
        "vllm_piecewise_compile_start).", "", tokens.DIM,
    )  # fmt: skip


def _add_call(page: Page, call: Call, first: Call | None) -> None:
    prefix = call.setting("prefix")
    page.close(0)
    page.blank()
    page.open(f"Call {call.call_number}{f' {prefix}' if prefix else ''}")
    head: list[Text] = [(f"Call {call.call_number}", tokens.HEADING)]
    if prefix:
        head.append((f"  {fmt.clip_middle(sanitize(prefix), 40)}", tokens.STRONG))
    head += ["  in ", (f"[{call.ref}]", tokens.LINK, call.ref)]
    if call.function:
        head.append((f" {fmt.clip_middle(sanitize(call.function), 40)}", tokens.FUNCTION))
    page.row(head, "")
    _extent(page, call)
    _records(page, call)
    _settings(page, call, first)
    _table(page, call)
    _add_passes(page, call)
    _add_submodules(page, call)


def _extent(page: Page, call: Call) -> None:
    words = []
    if call.event:
        words.append(EVENTS.get(call.event, call.event))
    pieces = sum(len(submodule.pieces) for submodule in call.submodules)
    if pieces:
        distinct = sum(submodule.same_as is None for submodule in call.submodules)
        different = f" ({fmt.count(distinct)} different)" if distinct < len(call.submodules) else ""
        words.append(
            f"{fmt.plural(len(call.submodules), 'submodule')}{different} by "
            f"{fmt.plural(len(call.ranges), 'compile range')}: {fmt.plural(pieces, 'piece')} compiled"
        )
    else:
        text = "no piece was compiled: vLLM may have loaded pieces from its own cache, or the log ends too early"
        words.append(page.so_far(text))
    page.say(" · ".join(words), "  ")
    if call.expected_submodules is not None and call.expected_submodules > len(call.submodules) > 0:
        expected = call.expected_submodules
        lost = expected - len(call.submodules)
        page.say(f"{lost} of {fmt.plural(expected, 'submodule')} not begun: the log ends too early, or a cache had the rest",
                 "  ", tokens.WARN)  # fmt: skip


def _records(page: Page, call: Call) -> None:
    links: list[Text] = []
    if call.config:
        links.append(to_page("configuration", call.config))
    else:
        links.append(("no configuration in the log for these pieces", tokens.WARN))
    if call.split:
        links.append(to_page("split graph", call.split))
    patterns = {total.patterns for total in call.passes}
    links += [(f"patterns of {fmt.clip_middle(p.name, 40)}", tokens.LINK, p.ref) for p in call.patterns if p.ref not in patterns]
    links += [(fmt.clip_middle(other.name, 40), tokens.LINK, other.ref) for other in call.other_artifacts]
    page.joined(links, "  ")


def _settings(page: Page, call: Call, first: Call | None) -> None:
    """Add the configuration; for later calls only differences from the first one."""
    before = {setting.name: setting.value for setting in first.settings} if first else {}
    shown = [setting for setting in call.settings if setting.value != before.get(setting.name)]
    if before and len(shown) < len(call.settings):
        page.add("  ", ("same configuration as call 1" + (", except" if shown else ""), tokens.LABEL))
    gap = min(max((len(setting.name) for setting in shown), default=0) + 2, page.width // 2)
    for setting in shown:
        name = fmt.clip(setting.name, gap - 2)
        value = _shown(setting.value)
        page.labelled(name, value or "-", "  ", gap, tokens.VALUE if value else tokens.DIM)


def range_name(bounds: tuple[int, int]) -> str:
    """Format a range: `1–8192`, `size 4`."""
    low, high = bounds
    if bounds == UNSTATED:
        return "no range"
    return f"size {low}" if low == high else f"{low}–{high}"


def _table(page: Page, call: Call) -> None:
    """Add a table of artifact counts by submodule and range; equal graphs share a row."""
    if not call.submodules:
        return
    page.blank()
    page.say("artifacts per piece: submodules by compile range", "  ", tokens.LABEL)
    capture = {piece.range for submodule in call.submodules for piece in submodule.pieces if piece.is_captured}
    groups = _groups(call)
    labels = [_alike(s.name, same) for s, same in groups]
    room = page.width - min(max(map(len, labels)), page.width // 2) - 4
    shown = max(room // (max(len(range_name(r)) for r in call.ranges) + 3), 1)
    for n in range(0, len(call.ranges), shown):
        ranges = call.ranges[n : n + shown]
        rows: list[list[Text]] = [["", *((range_name(r) + ("*" if r in capture else ""), tokens.LABEL) for r in ranges)]]
        for (submodule, _), label in zip(groups, labels, strict=True):
            cells = {piece.range: _cell(piece) for piece in submodule.pieces}
            rows.append([(label, tokens.NAME), *(cells.get(r, ("", tokens.DIM)) for r in ranges)])
        page.grid(rows)
    if capture:
        page.say("* a CUDA graph is captured at this size", "  ", tokens.DIM)
    if any(piece.code is None for submodule in call.submodules for piece in submodule.pieces):
        text = page.so_far("no output code")
        page.add("  ", (f"! {text}: ", tokens.DIM), to_page("absent artifacts", f"@absent:{call.ref}"))


def _groups(call: Call) -> list[tuple[Submodule, list[Submodule]]]:
    """Group submodules with equal graphs under their first one."""
    same: dict[str, list[Submodule]] = {}
    for submodule in call.submodules:
        if submodule.same_as is not None:
            same.setdefault(submodule.same_as, []).append(submodule)
    return [(s, same.get(s.name, [])) for s in call.submodules if s.same_as is None]


def _alike(name: str, same: list[Submodule]) -> str:
    """Format `submod_2 and 2 identical`."""
    return f"{name} and {len(same)} identical" if same else name


def _cell(piece: Piece) -> Text:
    count = len(piece.artifacts) + len(piece.passes)
    text = f"{count}{'!' if piece.code is None else ''}{f' {piece.cache}' if piece.cache else ''}"
    return (text, tokens.LINK, piece.ref)


def _add_passes(page: Page, call: Call) -> None:
    if not call.passes:
        return
    page.blank()
    page.say("vLLM's passes in order, and how many pieces each changed", "  ", tokens.LABEL)
    rows: list[list[Text]] = []
    for total in call.passes:
        text = f"{fmt.count(total.changed_pieces)} of {fmt.count(total.pieces)}"
        patterns: Text = to_page("its patterns", total.patterns) if total.patterns else ""
        number = "" if total.pass_number is None else str(total.pass_number)
        style = tokens.VALUE if total.changed_pieces else tokens.DIM
        rows.append([(number, tokens.DIM), (total.name, tokens.FUNCTION), (text, style), patterns])
    page.grid(rows, right=(0, 2))


def _add_submodules(page: Page, call: Call) -> None:
    """Add each submodule with its pieces; those with an earlier graph are folded below it."""
    for submodule, same in _groups(call):
        page.blank()
        page.open(_alike(submodule.name, same))
        _submodule(page, submodule, "  ")
        if same:
            names = ", ".join(other.name for other in same)
            text = f"same graph except for names: {names}"
            page.open(text, folded=True)
            page.add("    ", (fmt.clip(sanitize(text), page.width - 4), tokens.DIM))
            for other in same:
                _submodule(page, other, "      ")
            page.close()
        page.close()


def _submodule(page: Page, submodule: Submodule, indent: str) -> None:
    head: list[Text] = [(fmt.clip_middle(sanitize(submodule.name), 40), tokens.NAME)]
    if submodule.graph:
        size = f" of {fmt.plural(submodule.statement_count, 'statement')}" if submodule.statement_count else ""
        head += ["  ", (f"graph{size}", tokens.LINK, submodule.graph)]
    else:
        head.append((f"  {page.so_far('its graph is not in the log')}", tokens.DIM))
    page.add(indent, *head)
    for piece in submodule.pieces:
        _add_piece(page, piece, indent + "  ")


def _add_piece(page: Page, piece: Piece, indent: str) -> None:
    page.open(f"{piece.submodule} {range_name(piece.range)}", folded=True)
    words = [fmt.plural(len(piece.artifacts) + len(piece.passes), "artifact")]
    if piece.passes:
        changed = sum(step.is_changed is True for step in piece.passes)
        words.append(f"{changed} of {fmt.plural(len(piece.passes), 'pass', 'passes')} changed it")
    head: list[Text] = [(range_name(piece.range), tokens.LINK, piece.ref), (f"  {', '.join(words)}", tokens.DIM)]
    if piece.code is None:
        head.append((f"  {page.so_far('no output code')}", tokens.WARN))
    page.row(head, indent)
    page.joined([_artifact(artifact) for artifact in piece.artifacts], indent + "  ")
    if piece.passes:
        page.joined([("passes", tokens.LABEL), *(_step(step) for step in piece.passes)], indent + "  ")
    page.close()


def _artifact(artifact: Named) -> Text:
    return (fmt.clip_middle(sanitize(artifact.name), 44), tokens.LINK, artifact.ref)


def _step(step: PassStep) -> Text:
    """Format `0 NoOpEliminationPass: changed`."""
    did = {True: ": changed", False: ": no change", None: ""}[step.is_changed]
    number = "" if step.pass_number is None else f"{step.pass_number} "
    return (f"{number}{fmt.clip_middle(sanitize(step.name), 40)}{did}", tokens.LINK, step.ref)


@frozen
class VllmRow:
    """One piece of one compile call of vLLM: a submodule, compiled for a range of sizes."""

    call: int
    """The number of the call, from 1."""
    ref: str
    """The address of the piece."""
    compile: str
    """The address of the compile."""
    submodule: str
    """What the piece is called."""
    start: int | None
    """The least size that it is for; none where that is not stated."""
    end: int | None
    """The largest size."""
    is_single_size: bool
    """Whether it is for one size."""
    is_captured: bool
    """Whether a CUDA graph of it is captured."""
    pass_count: int
    """Passes that ran over it."""
    changed_passes: int
    """Passes that changed it."""
    code: str | None
    """The address of its code."""
    cache: str | None
    """How the cache answered."""


def vllm_rows(data: Vllm) -> Iterator[VllmRow]:
    """Yield a row per piece."""
    for call in data.calls:
        for submodule in call.submodules:
            for piece in submodule.pieces:
                changed = sum(step.is_changed is True for step in piece.passes)
                yield VllmRow(call.call_number, piece.ref, call.ref, piece.submodule, piece.start, piece.end, piece.is_single_size,
                              piece.is_captured,
                              len(piece.passes), changed, piece.code, piece.cache)  # fmt: skip


QUESTION = Question(
    name="vllm",
    help="vLLM: compile calls, piecewise graphs by compile range, and changes by each pass",
    group="find causes",
    order=710,
    needs=Needs("has no vLLM records", reads_engine_log=True),
    document=document,
    answer=Vllm,
    rows=VllmRow,
    records=vllm_rows,
    doc="""
    Compile calls of vLLM, piecewise graphs by compile range, and changes by each pass. One row per piece.
    """,
)
