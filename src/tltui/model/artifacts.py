"""The records of a compile → attempts, units, artifacts. Derived when somebody looks, never stored."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from tltui.model.kind import Kind, Phase
from tltui.model.kinds import kind_of
from tltui.model.nodes import Compile
from tltui.model.ref import Ref
from tltui.text.payload import Payload
from tltui.trace.batch import Kind as LogKind
from tltui.trace.envelope import METRICS
from tltui.trace.log import Log

AOT_RUN_STARTS = frozenset(("aot_joint_graph", "aot_forward_graph_fw_metadata", "aot_inference_graph"))
UNIT_STARTS = "fx_graph_runnable"
_AOT_ID = re.compile(rb"# AOT ID: \['(\d+)_(\w+)'\]")
_DIRECTIONS = {"forward": "forward", "backward": "backward", "inference": "inference"}


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
    """The name of an artifact in addresses: its own for `artifact` and `graph_dump` records, else the event."""
    return kind.name if kind.name and (kind.event in ("artifact", "graph_dump") or not kind.event) else kind.event


def is_artifact(kind: LogKind, has_payload: bool) -> bool:
    """Whether a record of this kind is listed as an artifact."""
    return kind_of(*kind).artifact and (has_payload or kind.event in METRICS) or (
        has_payload and kind.event != "chromium_event"
    )


def artifacts_of(compile_: Compile) -> list[Artifact]:
    """All artifacts of a compile in record order, each with the unit that it belongs to."""
    found = _plain(compile_)
    return [replace(artifact, unit=unit) for artifact, unit in zip(found, _assign(found), strict=True)]


def _plain(compile_: Compile) -> list[Artifact]:
    log = compile_.process.log
    kinds, contexts, listed = log.columns.kind, log.columns.context, {}
    found: list[tuple[int, str, LogKind]] = []
    for record in sorted(compile_.records):
        number = kinds[record]
        if number not in listed:
            listed[number] = log.kinds[number].event != "chromium_event"
        if listed[number] and is_artifact(log.kinds[number], log.has_payload(record)):
            found.append((record, artifact_name(log.kinds[number]), log.kinds[number]))
    total = Counter(name for _, name, _ in found)
    seen: Counter[str] = Counter()
    artifacts = []
    for record, name, kind in found:
        seen[name] += 1
        context = log.contexts[contexts[record]]
        artifacts.append(
            Artifact(
                compile_, record, name, seen[name], total[name] == 1,
                context.attempt or 0, context.subgraph, kind_of(*kind),
            )
        )  # fmt: skip
    return artifacts


def _assign(artifacts: list[Artifact]) -> list[int | None]:
    """The unit of each artifact.

    A unit goes from one `fx_graph_runnable` to the next with the same attempt and subgraph_name (logs of 2024 have none: there,
    from one post-grad graph after an output code). AOT records stand before the units that they belong to: those of the same subgraph that
    follow, up to the next AOT run. A record that several units share belongs to the compile, unless its name tells the direction.
    """
    units: list[int | None] = [None] * len(artifacts)
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
            starts = group not in current or (group in coded and "graph" in artifact.name)
        if starts:
            current[group] = count
            coded.discard(group)
            count += 1
        if artifact.name == "inductor_output_code":
            coded.add(group)
        units[index] = current.get(group)
    _assign_autograd(artifacts, units)
    return units


def _assign_autograd(artifacts: list[Artifact], units: list[int | None]) -> None:
    """Give the records of AOTAutograd to the units that follow them."""
    groups = {(a.attempt, a.subgraph) for a in artifacts}
    for group in groups:
        members = [i for i, a in enumerate(artifacts) if (a.attempt, a.subgraph) == group]
        runs: list[tuple[list[int], list[int]]] = []  # (AOT records, units after them)
        for index in members:
            artifact, unit = artifacts[index], units[index]
            if artifact.kind.phase is Phase.AUTOGRAD:
                if not runs or runs[-1][1]:
                    runs.append(([], []))
                runs[-1][0].append(index)
            elif unit is not None and runs and unit not in runs[-1][1]:
                runs[-1][1].append(unit)
        for records, following in runs:
            for index in records:
                units[index] = _unit_for(artifacts[index].name, following, len(runs))


def _unit_for(name: str, following: list[int], runs: int) -> int | None:
    if len(following) == 1:
        return following[0]
    if not following:
        return None
    if name == "aot_forward_graph":
        return following[0]
    if name == "aot_backward_graph":
        return following[-1]
    return following[0] if runs > 1 else None


def units_of(artifacts: list[Artifact]) -> list[Unit]:
    """The units of a compile, given its artifacts. Reads the first line of each output code, which states the direction."""
    members: dict[int, list[Artifact]] = {}
    for artifact in artifacts:
        if artifact.unit is not None:
            members.setdefault(artifact.unit, []).append(artifact)
    directions = {number: _direction(found) for number, found in members.items()}
    plain = {
        number: " ".join(part for part in (members[number][-1].subgraph, directions[number] or "graph") if part)
        for number in sorted(members)
    }
    total, seen = Counter(plain.values()), Counter[str]()
    units = []
    for number, name in plain.items():
        seen[name] += 1
        first = members[number][-1]
        unique = name if total[name] == 1 else f"{name} {seen[name]}"
        units.append(Unit(number, unique, directions[number], first.attempt, first.subgraph))
    return units


def _direction(artifacts: list[Artifact]) -> str:
    for artifact in artifacts:
        if artifact.name != "inductor_output_code" or artifact.payload is None:
            continue
        try:
            head = artifact.payload.source.read(artifact.payload.offset, 400)
        except OSError:
            return ""
        if match := _AOT_ID.search(head):
            return _DIRECTIONS.get(match[2].decode(), "")
    names = {artifact.name for artifact in artifacts}
    if "aot_inference_graph" in names:
        return "inference"
    return ""
