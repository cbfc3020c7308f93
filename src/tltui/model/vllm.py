"""vLLM compiles a graph in pieces: which records of a compile belong to which of its compile calls.

A `vllm_compilation_config` starts a call, and each `vllm_piecewise_compile_start` after it a piece of the graph for a
range of sizes: those are the units of the compile. One compile id can hold several calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tltui.model.artifacts import PIECE_STARTS, WHOLE_GRAPH, Artifact
from tltui.model.kind import Phase
from tltui.trace.grammar import parse_json

CONFIG = "vllm_compilation_config"


@dataclass(slots=True)
class CompileCall:
    """One call of vLLM's backend: records of the whole graph, and the units of its pieces."""

    config: Artifact | None
    """None where pieces stand before any configuration."""
    common: list[Artifact] = field(default_factory=list)
    """What vLLM and Inductor wrote that belongs to no piece; the configuration first."""
    units: list[int] = field(default_factory=list)
    """Numbers as in `Artifact.unit`."""


def compile_calls(artifacts: Sequence[Artifact]) -> list[CompileCall]:
    """The calls of a compile in record order; [] for a compile that vLLM has no part in."""
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
    """The JSON object in the payload of one of vLLM's small records; {} where it is none, or can't be read."""
    try:
        value = parse_json(artifact.log.text(artifact.record, 1 << 20).encode("utf-8", "surrogatepass"))
    except (ValueError, OSError):
        return {}
    return value if isinstance(value, dict) else {}


def prefix_of(call: CompileCall) -> str:
    """Which part of the model was compiled, as the configuration names it; '' where it does not."""
    prefix = fields_of(call.config).get("prefix") if call.config is not None else None
    return prefix if isinstance(prefix, str) else ""
