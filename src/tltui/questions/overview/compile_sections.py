"""Facts and tables of one compile: inputs, symbols, caches, artifacts, absent artifacts, ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.model.artifacts import Artifact, Unit, artifacts_of, units_of
from tltui.model.expected_artifacts import Absent
from tltui.model.kind import Phase
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import json_in, metrics_fields, text_in, whole_in
from tltui.model.status import Facts
from tltui.model.torch_version import version_of
from tltui.model.torch_versions import stated_version
from tltui.questions.caches.cache_report import CacheAnswer, caches_of
from tltui.questions.cudagraphs.cudagraph_report import sentence_of, skip_messages
from tltui.questions.problems.absent_artifacts import missing_of
from tltui.questions.problems.compile_problems import Failure, GraphBreak, breaks_of, failures_of
from tltui.questions.recompiles.guard_grammar import strip_modules
from tltui.questions.recompiles.recompile_reasons import Recompile, recompile_of
from tltui.questions.shapes.shape_env import Inputs, Symbol, TensorInput, inputs_of
from tltui.questions.stacks.tracebacks import StackFrame, callers_of, display_code, qualified_name
from tltui.questions.timing.timing_events import Timing, events_of, timing_so_far, within_metrics
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

BREAKS_SHOWN = 50


@frozen
class Part:
    """A list entry of an artifact."""

    ref: str
    name: str
    title: str
    phase: str
    unit: str | None
    attempt: int
    stored_bytes: int
    """Stored bytes: those of the payload, of metrics those of the envelope."""
    help: str


@frozen
class Study:
    """The facts of one compile, read once for several sections."""

    ref: str
    status: str | None
    facts: Facts
    function: str | None
    file: str | None
    line: int | None
    callers: tuple[StackFrame, ...]
    """The callers of the function, outermost first."""
    failures: tuple[Failure, ...]
    breaks: tuple[GraphBreak, ...]
    recompile: Recompile | None
    inputs: Inputs
    timing: Timing
    caches: tuple[CacheAnswer, ...]
    parts: tuple[Part, ...]
    absent: tuple[Absent, ...]
    torch_version: str | None
    recompile_limit: int | None
    """`recompile_limit` in the metrics."""
    graph_nodes: int | None
    """Nodes of the graph."""
    graph_inputs: int | None
    guard_latency_us: float | None
    cudagraph_skip_reason: str | None
    qualified_name: str | None = None
    """The qualified name, if the function's name is generic: `Net.forward`."""


def parts_of(compile_: Compile) -> tuple[Part, ...]:
    """Return the list entries of a compile's artifacts."""
    artifacts = artifacts_of(compile_)
    return _parts(compile_, artifacts, units_of(artifacts))


def _parts(compile_: Compile, artifacts: list[Artifact], units: list[Unit]) -> tuple[Part, ...]:
    titles = {unit.number: unit.name for unit in units}
    columns = compile_.process.log.columns
    results = []
    for a in artifacts:
        unit = None if a.unit is None else titles.get(a.unit)
        stored = columns.size[a.record] or (columns.head[a.record] if a.is_metrics else 0)
        results.append(Part(str(a.ref), a.name, a.kind.title, a.kind.phase.title, unit, a.attempt, stored, a.kind.help))
    return tuple(results)


def study(compile_: Compile) -> Study:
    """Read the facts for the overview of a compile."""
    process = compile_.process
    reader = reader_of(compile_)
    metrics = metrics_fields(compile_, reader)
    forward = next((fields for event, fields in metrics if event == "compilation_metrics"), {})
    events = events_of(compile_, reader)
    artifacts = artifacts_of(compile_)
    units = units_of(artifacts)
    caches = caches_of(artifacts, events, reader)
    function, file, line = display_code(compile_.frame)
    stated = text_in(forward, "pytorch_version")
    version = stated_version(stated) if stated else version_of(process)
    parts = _parts(compile_, artifacts, units)
    timing = within_metrics(timing_so_far(compile_, events, metrics, reader), compile_.compile_s)
    status = compile_.status
    dynamo = json_in(forward, "dynamo_config")
    limit = whole_in(dynamo, "recompile_limit")
    latency = forward.get("guard_latency_us")
    return Study(
        str(compile_.ref), str(status) if status else None, compile_.all_facts, function, file, line,
        callers_of(compile_, reader), failures_of(compile_, metrics, reader),
        breaks_of(compile_, reader, BREAKS_SHOWN),
        recompile_of(compile_, events, reader), inputs_of(compile_, reader), timing, caches, parts,
        missing_of(compile_, artifacts, units, metrics, version), version.stated,
        whole_in(dynamo, "cache_size_limit") if limit is None else limit,
        whole_in(forward, "graph_node_count"), whole_in(forward, "graph_input_count"),
        float(latency) if isinstance(latency, (int, float)) else None, "; ".join(map(sentence_of, skip_messages(compile_))) or None,
        qualified_name(compile_.frame),
    )  # fmt: skip


INPUTS_SHOWN = 8
SYMBOLS_SHOWN = 8
_PHASES = {phase.title: phase.order for phase in Phase}


def add_inputs(page: Page, inputs: Inputs, graph_inputs: int | None) -> None:
    """Add tensors and numbers; parameters, which are many, are folded."""
    if not inputs.tensors and not inputs.numbers:
        return
    page.heading("Inputs")
    plain = [tensor for tensor in inputs.tensors if not tensor.is_parameter]
    parameters = [tensor for tensor in inputs.tensors if tensor.is_parameter]
    _tensors(page, plain[:INPUTS_SHOWN])
    for symbol in inputs.numbers[:INPUTS_SHOWN]:
        page.row([(symbol.source or symbol.name, tokens.NAME), "  number  ", (_number(symbol), tokens.TYPE)])
    _folded(page, plain[INPUTS_SHOWN:], "more tensor")
    _folded(page, parameters, "parameter")
    if len(inputs.numbers) > INPUTS_SHOWN:
        page.add("  ", (f"and {len(inputs.numbers) - INPUTS_SHOWN} more numbers: see Symbols", tokens.DIM))
    if graph_inputs is not None and graph_inputs != len(inputs.tensors) + len(inputs.numbers):
        page.say(f"The final graph has {fmt.plural(graph_inputs, 'input')}.", "  ", tokens.DIM)


def _folded(page: Page, tensors: Sequence[TensorInput], noun: str) -> None:
    if not tensors:
        return
    text = fmt.plural(len(tensors), noun)
    sizes = [tensor.storage_bytes for tensor in tensors if tensor.storage_bytes is not None]
    if sizes and len(sizes) == len(tensors):
        text += f", {fmt.size_of(sum(sizes))}"
    with page.fold(text):
        _tensors(page, tensors, "    ")


def _tensors(page: Page, tensors: Sequence[TensorInput], indent: str = "  ") -> None:
    room = max(page.width * 2 // 5, 16)
    page.table(Table((
        Column("", lambda tensor: (fmt.clip_middle(strip_modules(sanitize(tensor.source)), room), tokens.NAME)),
        Column("", lambda tensor: (f"{tensor.dtype} {_shape(tensor.size)}", tokens.TYPE), least=page.width // 2),
        Column("", lambda tensor: (f"stride {_shape(tensor.stride)}" if tensor.stride is not None else "", tokens.DIM), drop=1,
               least=page.width // 3),
        Column("", lambda tensor: tensor.device, drop=2),
        Column("", lambda tensor: (_remarks(tensor), tokens.DIM)),
    ), indent=indent), tensors)  # fmt: skip


def _shape(numbers: Sequence[object] | None) -> str:
    return "[?]" if numbers is None else "[" + ", ".join(map(str, numbers)) + "]"


def _remarks(tensor: TensorInput) -> str:
    words = [f"{each.symbol}={each.value}" for each in tensor.hints]
    if tensor.requires_grad and not tensor.is_parameter:
        words.append("requires grad")
    if tensor.dynamic:
        words.append("marked dynamic: dim " + ", ".join(map(str, tensor.dynamic)))
    if tensor.note:
        words.append(tensor.note)
    return "  ".join(words)


def _number(symbol: Symbol) -> str:
    return symbol.name if symbol.hint is None else f"{symbol.name}={symbol.hint}"


def add_symbols(page: Page, symbols: Sequence[Symbol]) -> None:
    """Add symbols with source, hint and range, and with their fixed value."""
    if not symbols:
        return
    page.heading(f"Symbols ({fmt.count(len(symbols))})")
    _symbols(page, symbols[:SYMBOLS_SHOWN], "  ")
    if len(symbols) > SYMBOLS_SHOWN:
        with page.fold(f"{len(symbols) - SYMBOLS_SHOWN} more symbols"):
            _symbols(page, symbols[SYMBOLS_SHOWN:], "    ")
    for symbol in symbols:
        if symbol.specialized is not None:
            why = f" ({symbol.specialized_reason})" if symbol.specialized_reason else ""
            text = f"{symbol.name} was specialized to {symbol.specialized}{why}: it is no longer dynamic"
            page.say(text, "  ", tokens.WARN)


def _symbols(page: Page, symbols: Sequence[Symbol], indent: str) -> None:
    page.table(replace(SYMBOLS, indent=indent), symbols)


def _created_at(symbol: Symbol) -> Piece:
    where = symbol.user_frame
    return "" if where is None else (fmt.place(where.file, where.line), tokens.LINK, fmt.place_target(where.file, where.line))


SYMBOLS: Table[Symbol] = Table((
    Column("", lambda symbol: (symbol.name, tokens.STRONG)),
    Column("", lambda symbol: (symbol.source or "", tokens.NAME)),
    Column("", lambda symbol: "data-dependent" if symbol.unbacked else f"hint {symbol.hint}"),
    Column("", lambda symbol: (f"range {symbol.range}" if symbol.range else "", tokens.DIM)),
    Column("", _created_at),
))  # fmt: skip
CACHE_STYLES = {"hit": tokens.OK, "miss": tokens.WARN, "bypass": tokens.WARN, "disabled": tokens.DIM}
CACHES: Table[CacheAnswer] = Table((
    Column("", lambda answer: answer.cache),
    Column("", lambda answer: (answer.state, CACHE_STYLES.get(answer.state, ""), answer.ref or "")),
    Column("", lambda answer: (" · ".join(_notes(answer)), tokens.DIM)),
))  # fmt: skip


def add_caches(page: Page, caches: Sequence[CacheAnswer]) -> None:
    """Add the cache lookups and their results."""
    if caches:
        page.heading("Caches")
        page.table(CACHES, caches)


def _notes(answer: CacheAnswer) -> Iterator[str]:
    if answer.detail and answer.detail != "full_miss":
        yield answer.detail
    if answer.saved_s is not None:
        yield f"saved {fmt.seconds(answer.saved_s)}"
    if answer.reason:
        yield fmt.one_line(answer.reason)
    if answer.key:
        yield f"key {fmt.clip(answer.key, 12)}"


def add_artifacts(page: Page, parts: Sequence[Part]) -> None:
    """Add all artifacts by phase, with their units where there are several."""
    if not parts:
        return
    page.heading(f"Artifacts ({fmt.count(len(parts))})")
    several = len({part.unit for part in parts if part.unit}) > 1
    groups: dict[tuple[str, str], list[Part]] = {}
    for part in parts:
        groups.setdefault((part.phase, part.unit or "" if several else ""), []).append(part)
    for (phase, unit), members in sorted(groups.items(), key=lambda item: _PHASES.get(item[0][0], 0)):
        page.add("  ", (phase, tokens.LABEL), (f" · {fmt.graph_title(unit)}" if unit else "", tokens.DIM))
        add_parts(page, members, "    ")


def add_parts(page: Page, parts: Sequence[Part], indent: str) -> None:
    """Add a line per artifact: name, stored size, purpose."""
    names = [part_name(part) for part in parts]
    room = page.width - len(indent) - 11
    pad = min(max(len(name) for name in names), 32)
    for part, name in zip(parts, names, strict=True):
        shown = fmt.clip_middle(name, room)
        size = (f"{fmt.size_of(part.stored_bytes):>9}", tokens.NUMBER)
        pieces: list[Piece] = [indent, size, "  ", (shown, tokens.LINK, part.ref)]
        remaining = room - max(len(shown), pad) - 2
        if remaining >= 20:
            pieces += [" " * (pad - len(shown)), "  ", (fmt.clip(part.help, remaining), tokens.DIM)]
        page.add(*pieces)


def part_name(part: Part) -> str:
    """Return the name, numbered if there are several of it."""
    number = part.ref.rpartition("#")[2] if "#" in part.ref else ""
    return sanitize(f"{part.name}#{number}" if number.isdigit() else part.name)


def add_absent(page: Page, absent: Sequence[Absent]) -> None:
    """Add the absent artifacts with reasons."""
    if not absent:
        return
    page.heading("Absent artifacts")
    groups: dict[tuple[str, str | None], list[Absent]] = {}
    for item in absent:
        groups.setdefault((item.reason, item.flag), []).append(item)
    for (reason, flag), items in groups.items():
        for item in items:
            title = fmt.clip(item.title, page.width - 4)
            name = fmt.clip_middle(item.name, max(page.width - len(title) - 4, 8))
            page.add("  ", (title, tokens.LABEL), "  ", (name, tokens.DIM))
        if flag and flag not in reason:
            reason += f" (set {flag} to record {'it' if len(items) == 1 else 'them'})"
        page.say(reason, "    ")


def add_ids(page: Page, node: Compile, study: Study) -> None:
    """Add host, time and ids for a bug report."""
    process = node.process
    page.heading("Where and when")
    if (start := node.start_us) is not None:
        page.labelled("started", fmt.when(start))
    elif study.timing.start_at_us is not None:
        page.labelled("started", fmt.when(study.timing.start_at_us))
    if process.rank is not None:
        page.labelled("rank", str(process.rank))
    place = "" if process.alone else f", process {process.number} of this rank"
    page.labelled("process", f"{fmt.pid(process.pid)}{place}")
    version = version_of(process).description or f"unknown (not in the log{' so far' if page.goes_on else ''})"
    page.labelled("torch", study.torch_version or version.removeprefix("torch "))
    page.file(process.log.path)
    page.add("  ", ("records".ljust(9), tokens.LABEL), (fmt.plural(len(node.records), "record"), tokens.LINK,
             f"@records:{node.ref}"))  # fmt: skip
