"""Attempts, units and artifacts of a compile, and the compile calls of vLLM, derived from its records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace

from tltui.model.kind import Kind, Phase
from tltui.model.kinds import kind_of
from tltui.model.nodes import Compile
from tltui.model.ref import Ref
from tltui.text.frozen import frozen, mutable
from tltui.text.payload import Payload
from tltui.trace.batch import Kind as LogKind
from tltui.trace.grammar import METRICS, parse_json
from tltui.trace.log import Log

UNIT_STARTS = "fx_graph_runnable"
PIECE_STARTS = "vllm_piecewise_compile_start"
WHOLE_GRAPH = frozenset((Phase.DYNAMO, Phase.INPUTS, Phase.SYMBOLS, Phase.GUARDS, Phase.METRICS, Phase.TRACE))
OUTPUT_CODE = "inductor_output_code"
GUARDS = "dynamo_cpp_guards_str"
BEFORE_FUSION = "ir_pre_fusion"
NEVER = frozenset(("chromium_event", "log", "text"))
"""Events that are no artifacts, whatever payload they have."""
_AOT_ID = re.compile(rb"# AOT ID: \['(\d+)_(forward|backward|inference)'\]")


@frozen
class Artifact:
    """A record that people look at: one with a payload that is no chromium event, or one with metrics."""

    owner: Compile
    record: int
    name: str
    n: int
    """Which of the records of that name in the compile, from 1."""
    alone: bool
    """Whether it is the only one of its name."""
    attempt: int
    subgraph: str | None
    kind: Kind
    unit: int | None = None
    """Number of its unit in `units_of`, None: belongs to the compile."""

    @property
    def log(self) -> Log:
        """The log that it is in."""
        return self.owner.process.log

    @property
    def ref(self) -> Ref:
        """Its address."""
        base = self.owner.ref
        return replace(base, artifact=self.name, n=None if self.alone else self.n)

    @property
    def payload(self) -> Payload | None:
        """Its payload; None for metrics."""
        return self.log.payload(self.record)

    @property
    def is_metrics(self) -> bool:
        """Whether its content is in the envelope."""
        return self.log.kind(self.record).event in METRICS


@frozen
class Unit:
    """One lowering: forward, backward, inference, a DDP submodule, a regional subgraph, a vLLM subgraph and range."""

    number: int
    name: str
    """Unique in the compile: `forward`, `backward 2`, `__marked_inductor_submod0 inference`."""
    direction: str
    """forward, backward, inference, or '' where the log does not tell."""
    attempt: int
    subgraph: str | None


def artifact_name(kind: LogKind) -> str:
    """Return the name of an artifact in addresses: its own for `artifact` and `graph_dump` records, else the event."""
    has_name = kind.name and (kind.event in ("artifact", "graph_dump") or not kind.event)
    return (kind.name if has_name else kind.event) or "(no event)"


def is_artifact(kind: LogKind, has_payload: bool) -> bool:
    """Whether a record of this kind is listed as an artifact."""
    if kind.event in METRICS:
        return True
    return has_payload and kind.event not in NEVER


def artifacts_of(compile_: Compile) -> list[Artifact]:
    """All artifacts of a compile in record order, each with the unit that it belongs to."""
    return list(compile_.process.parts.lately("artifacts", compile_, lambda: _derived(compile_)))


def _derived(compile_: Compile) -> tuple[Artifact, ...]:
    units = _plain(compile_)
    return tuple(
        artifact if unit is None else replace(artifact, unit=unit)
        for artifact, unit in zip(units, _assign(units), strict=True)
    )  # fmt: skip


def _plain(compile_: Compile) -> list[Artifact]:
    log = compile_.process.log
    kinds, contexts, listed = log.columns.kind, log.columns.context, {}
    records: list[tuple[int, str, LogKind]] = []
    for record in sorted(compile_.records):
        number = kinds[record]
        if number not in listed:
            listed[number] = log.kinds[number].event not in NEVER
        if listed[number] and is_artifact(log.kinds[number], log.has_payload(record)):
            records.append((record, artifact_name(log.kinds[number]), log.kinds[number]))
    total = Counter(name for _, name, _ in records)
    counts: Counter[str] = Counter()
    artifacts = []
    for record, name, kind in records:
        counts[name] += 1
        context = log.contexts[contexts[record]]
        artifacts.append(
            Artifact(
                compile_, record, name, counts[name], total[name] == 1,
                context.attempt or 0, context.subgraph, kind_of(*kind),
            )
        )  # fmt: skip
    return artifacts


def _assign(artifacts: list[Artifact]) -> list[int | None]:
    """Assign each artifact to a unit; None: it belongs to the compile.

    Units and the runs of AOTAutograd are counted within one attempt and subgraph_name.
    """
    if any(artifact.name == PIECE_STARTS for artifact in artifacts):
        return _assign_pieces(artifacts)
    units: list[int | None] = [None] * len(artifacts)
    groups: dict[tuple[int, str | None], list[int]] = {}
    for index, artifact in enumerate(artifacts):
        groups.setdefault((artifact.attempt, artifact.subgraph), []).append(index)
    _cut_units(artifacts, units)
    for members in groups.values():
        _give_autograd(artifacts, units, members)
    return units


def _assign_pieces(artifacts: list[Artifact]) -> list[int | None]:
    """Assign artifacts to the units of vLLM, which compiles one graph in pieces and for ranges of sizes.

    Records after a start record, up to the next, belong to that piece and range, except Dynamo's records of the full graph.
    A new configuration starts the next call.
    """
    units: list[int | None] = []
    count, current = 0, None
    for artifact in artifacts:
        if artifact.name == PIECE_STARTS:
            count, current = count + 1, count
        elif artifact.name == "vllm_compilation_config":
            current = None
        units.append(None if artifact.kind.phase in WHOLE_GRAPH else current)
    return units


def _cut_units(artifacts: list[Artifact], units: list[int | None]) -> None:
    """Extend each unit from one `fx_graph_runnable` to the next of its attempt and subgraph_name.

    Logs of 2024 and TORCH_LOGS text have no such record: there, from one graph, or IR, after an output code to the next.
    """
    current: dict[tuple[int, str | None], int] = {}
    coded: set[tuple[int, str | None]] = set()
    runnable = {(a.attempt, a.subgraph) for a in artifacts if a.name == UNIT_STARTS}
    count = 0
    for index, artifact in enumerate(artifacts):
        group = (artifact.attempt, artifact.subgraph)
        if not artifact.kind.per_unit:
            continue
        if group in runnable:
            starts = artifact.name == UNIT_STARTS
        else:
            starts = group not in current or (group in coded and _is_before_code(artifact.name))
        if starts:
            current[group] = count
            coded.discard(group)
            count += 1
        if artifact.name == "inductor_output_code":
            coded.add(group)
        units[index] = current.get(group)


def _is_before_code(name: str) -> bool:
    """Return whether an artifact of this name precedes the code of its unit, among the first."""
    return "graph" in name or name == BEFORE_FUSION


@mutable
class _AotRun:
    """A run of AOTAutograd; its records precede the units that it lowers."""

    records: list[int]
    units: list[int]


def _give_autograd(artifacts: list[Artifact], units: list[int | None], members: list[int]) -> None:
    """Give the records of AOTAutograd to the units that follow them, up to its next run.

    What several units share belongs to the compile.
    """
    runs: list[_AotRun] = []
    heads: dict[int, Artifact] = {}
    for index in members:
        artifact, unit = artifacts[index], units[index]
        if artifact.kind.phase is Phase.AUTOGRAD:
            if not runs or runs[-1].units:
                runs.append(_AotRun([], []))
            runs[-1].records.append(index)
        elif unit is not None:
            if artifact.name == OUTPUT_CODE:
                heads.setdefault(unit, artifact)
            if runs and unit not in runs[-1].units:
                runs[-1].units.append(unit)
    if len(runs) > 1:
        _sort_late_units(runs, heads)
    for run in runs:
        trained = any(artifacts[index].name == "aot_backward_graph" for index in run.records)
        for index in run.records:
            unit = _unit_for(artifacts[index].name, run.units, trained)
            # of several runs, nobody could tell which one a record of the compile belongs to
            units[index] = run.units[0] if unit is None and run.units and len(runs) > 1 else unit


def _sort_late_units(runs: list[_AotRun], heads: dict[int, Artifact]) -> None:
    """Assign backwards that are compiled after the last run to their runs, by their code."""
    ids = {unit: _aot_id(artifact) for unit, artifact in heads.items()}
    first = {ids[run.units[0]][0]: run for run in reversed(runs) if run.units and run.units[0] in ids}
    for run in runs:
        for unit in run.units[1:]:
            number = ids.get(unit, ("", ""))[0]
            if number and first.get(number, run) is not run:
                run.units.remove(unit)
                first[number].units.append(unit)


def _unit_for(name: str, following: list[int], trained: bool) -> int | None:
    """Choose the unit of a record of AOTAutograd among the units of its run."""
    if not following:
        return None
    if trained and name == "aot_backward_graph":
        return following[-1] if len(following) > 1 else None  # its unit may still come
    if len(following) == 1 or name == "aot_forward_graph":
        return following[0]
    return None


def units_of(artifacts: list[Artifact]) -> list[Unit]:
    """Return the units of a compile from its artifacts.

    Reads the first line of each output code, which has the direction, and the start records of vLLM's pieces.
    """
    if not any(artifact.unit is not None for artifact in artifacts):
        return []
    owner = artifacts[0].owner
    key = ("units", tuple(artifact.record for artifact in artifacts))
    return list(owner.process.parts.lately(key, owner, lambda: tuple(_units(artifacts))))


def _units(artifacts: list[Artifact]) -> list[Unit]:
    members: dict[int, list[Artifact]] = {}
    for artifact in artifacts:
        if artifact.unit is not None:
            members.setdefault(artifact.unit, []).append(artifact)
    trained = sum(artifact.name == "aot_backward_graph" for artifact in artifacts) == 1
    directions = {number: _direction(records, trained) for number, records in members.items()}
    plain = {
        number: _piece_name(members[number][0])
        or " ".join(part for part in (members[number][-1].subgraph, directions[number] or "graph") if part)
        for number in sorted(members)
    }
    total, counts = Counter(plain.values()), Counter[str]()
    units = []
    for number, name in plain.items():
        counts[name] += 1
        first = members[number][-1]
        mark = "#" if members[number][0].name == PIECE_STARTS else ""  # its name may end in a number
        unique = name if total[name] == 1 else f"{name} {mark}{counts[name]}"
        units.append(Unit(number, unique, directions[number], first.attempt, first.subgraph))
    return units


def _direction(artifacts: list[Artifact], trained: bool) -> str:
    """Return the direction of a unit by its code, else by its AOT graph: code of C++ has no `AOT ID`.

    `trained`: the compile has one backward graph. Older torch writes `aot_forward_graph` of an inference too, and of several
    runs of AOTAutograd it is not certain to which a graph belongs.
    """
    for artifact in artifacts:
        if artifact.name == OUTPUT_CODE and (direction := _aot_id(artifact)[1]):
            return direction
    names = {artifact.name for artifact in artifacts}
    if "aot_inference_graph" in names:
        return "inference"
    lowered = trained and OUTPUT_CODE in names
    return next((word for word in ("forward", "backward") if lowered and f"aot_{word}_graph" in names), "")


def _piece_name(artifact: Artifact) -> str:
    """`submod_0 1-2048`: subgraph and range of sizes as vLLM's start record states them, '' for any other record."""
    if artifact.name != PIECE_STARTS:
        return ""
    try:
        fields = parse_json(artifact.log.text(artifact.record).encode())
    except (ValueError, OSError):
        return "piece"
    if not isinstance(fields, dict):
        return "piece"
    name = fields.get("submod_name") or f"subgraph_{fields.get('piecewise_index', '?')}"
    start, end = fields.get("compile_range_start"), fields.get("compile_range_end")
    if start is None:
        return f"{name}"
    return f"{name} {start}" if fields.get("is_single_size") or start == end else f"{name} {start}-{end}"


def _aot_id(artifact: Artifact) -> tuple[str, str]:
    """Parse (number, direction) of a lowering from the first line of its output code: `# AOT ID: ['0_forward']`."""
    payload = artifact.payload
    if payload is None:
        return "", ""
    try:
        match = _AOT_ID.search(payload.source.read(payload.offset, min(payload.size, 400)))
    except OSError:
        return "", ""
    return (match[1].decode(), match[2].decode()) if match else ("", "")


CONFIG = "vllm_compilation_config"


@mutable
class CompileCall:
    """One call of vLLM's backend: records of the full graph, and the units of its pieces."""

    config: Artifact | None
    """None where pieces stand before any configuration."""
    common: list[Artifact] = field(default_factory=list)
    """What vLLM and Inductor wrote that belongs to no piece; the configuration first."""
    units: list[int] = field(default_factory=list)
    """Numbers as in `Artifact.unit`."""


def compile_calls(artifacts: Sequence[Artifact]) -> list[CompileCall]:
    """Return the calls of a compile in record order; [] for a compile without vLLM."""
    calls: list[CompileCall] = []
    early: list[Artifact] = []
    for artifact in artifacts:
        if artifact.kind.phase in WHOLE_GRAPH:
            continue
        if artifact.name == CONFIG:
            calls.append(CompileCall(artifact, [artifact]))
            if len(calls) == 1:
                calls[0].common += early
        elif artifact.name == PIECE_STARTS and not calls:
            calls.append(CompileCall(None, early))
        elif not calls:
            if artifact.kind.phase is Phase.VLLM:
                early.append(artifact)
            continue
        call = calls[-1]
        if artifact.unit is None:
            if artifact.name != CONFIG:
                call.common.append(artifact)
        elif call.units[-1:] != [artifact.unit]:  # the records of a piece stand together
            call.units.append(artifact.unit)
    if not calls and early:
        calls.append(CompileCall(None, early))
    return calls


def fields_of(artifact: Artifact) -> dict[str, object]:
    """Parse the JSON object in the payload of one of vLLM's small records; {} if it is invalid or unreadable."""
    try:
        value = parse_json(artifact.log.text(artifact.record, 1 << 20).encode("utf-8", "surrogatepass"))
    except (ValueError, OSError):
        return {}
    return value if isinstance(value, dict) else {}


def prefix_of(call: CompileCall) -> str:
    """Which part of the model was compiled, as the configuration names it; '' where it does not."""
    prefix = fields_of(call.config).get("prefix") if call.config is not None else None
    return prefix if isinstance(prefix, str) else ""
