"""All that is known of one compile: what its overview shows and JSON gives."""

from __future__ import annotations

from dataclasses import dataclass

from tltui.analyses.caches.caches import CacheAnswer, caches_of
from tltui.analyses.parts import reader_of
from tltui.analyses.problems.breaks import GraphBreak, breaks_of
from tltui.analyses.problems.failures import Failure, failures_of
from tltui.analyses.problems.missing import missing_of
from tltui.analyses.recompiles.reasons import Recompile, recompile_of
from tltui.analyses.records import json_in, metrics_fields, text_in, whole_in
from tltui.analyses.shapes.inputs import Inputs, inputs_of
from tltui.analyses.stacks.known_as import known_as
from tltui.analyses.stacks.stacks import StackFrame, callers_of
from tltui.analyses.timing.events import events_of
from tltui.analyses.timing.phases import Timing, timing_so_far
from tltui.analyses.torch_version import version_of
from tltui.model.artifacts import Artifact, Unit, artifacts_of, units_of
from tltui.model.expected import Absent
from tltui.model.nodes import Compile
from tltui.model.status import Facts
from tltui.model.versions.version import stated_version

BREAKS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Part:
    """An artifact as a list names it."""

    ref: str
    name: str
    title: str
    phase: str
    unit: str | None
    attempt: int
    stored: int
    """Stored bytes: those of the payload, of metrics those of the envelope."""
    help: str


@dataclass(frozen=True, slots=True)
class Study:
    """One compile. Read once, shown in many ways."""

    ref: str
    status: str | None
    facts: Facts
    function: str | None
    file: str | None
    line: int | None
    callers: tuple[StackFrame, ...]
    """Who called the function, outermost first."""
    failures: tuple[Failure, ...]
    breaks: tuple[GraphBreak, ...]
    recompile: Recompile | None
    inputs: Inputs
    timing: Timing
    caches: tuple[CacheAnswer, ...]
    parts: tuple[Part, ...]
    absent: tuple[Absent, ...]
    torch: str | None
    limit: int | None
    """`recompile_limit` as the metrics state it."""
    nodes: int | None
    """Nodes of the graph."""
    graph_inputs: int | None
    guard_latency_us: float | None
    cudagraph_skip_reason: str | None
    known_as: str | None = None
    """What the function is known by, where its own name says little: `Net.forward`."""


def parts_of(compile_: Compile) -> tuple[Part, ...]:
    """The artifacts of a compile as lists name them."""
    artifacts = artifacts_of(compile_)
    return _parts(compile_, artifacts, units_of(artifacts))


def _parts(compile_: Compile, artifacts: list[Artifact], units: list[Unit]) -> tuple[Part, ...]:
    titles = {unit.number: unit.name for unit in units}
    columns = compile_.process.log.columns
    found = []
    for a in artifacts:
        unit = None if a.unit is None else titles.get(a.unit)
        stored = columns.size[a.record] or (columns.head[a.record] if a.is_metrics else 0)
        found.append(Part(str(a.ref), a.name, a.kind.title, a.kind.phase.title, unit, a.attempt, stored, a.kind.help))
    return tuple(found)


def study(compile_: Compile) -> Study:
    """Read what the overview of a compile needs."""
    process = compile_.process
    reader = reader_of(compile_)
    metrics = metrics_fields(compile_, reader)
    forward = next((fields for event, fields in metrics if event == "compilation_metrics"), {})
    events = events_of(compile_, reader)
    artifacts = artifacts_of(compile_)
    units = units_of(artifacts)
    caches = caches_of(artifacts, events, reader)
    function, file, line = compile_.frame.code
    stated = text_in(forward, "pytorch_version")
    version = stated_version(stated) if stated else version_of(process)
    parts = _parts(compile_, artifacts, units)
    timing = timing_so_far(compile_, events, metrics, reader)
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
        float(latency) if isinstance(latency, (int, float)) else None, compile_.facts.cudagraph_skip_reason,
        known_as(compile_.frame),
    )  # fmt: skip
