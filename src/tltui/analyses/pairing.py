"""Which artifact of one compile belongs to which of another, and which compile of one rank or run to which of another.

Ids differ between ranks and runs: compiles are paired by code object and ordinal, artifacts by name, unit and ordinal.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tltui.analyses.comparing import Difference, difference
from tltui.analyses.inputs import inputs_of
from tltui.model.artifacts import Artifact, artifacts_of, units_of
from tltui.model.nodes import Compile, Process

T = TypeVar("T")
K = TypeVar("K")

VARIES = frozenset(
    (
        "compile_id", "frame_key", "start_time", "end_time", "stack_trace", "structured_logging_overhead_s",
        "recompile_user_contexts", "triton_kernel_compile_times_us", "inductor_provenance",
    )
)  # fmt: skip
"""Fields of metrics that are never the same twice; so are all that end in `_us`, `_s` or `_ms`."""


@dataclass(frozen=True, slots=True)
class Pair(Generic[T]):
    """Two things that belong together; None: the other side has no such thing."""

    left: T | None
    right: T | None


def artifact_pairs(left: Compile, right: Compile) -> list[Pair[Artifact]]:
    """The artifacts of two compiles in the order of the left one's, what only the right has after them."""
    return _paired(_keyed(left), _keyed(right))


def _keyed(compile_: Compile) -> dict[tuple[str, str, int], Artifact]:
    artifacts = artifacts_of(compile_)
    units = {unit.number: unit.name for unit in units_of(artifacts)}
    seen: Counter[tuple[str, str]] = Counter()
    keyed = {}
    for artifact in artifacts:
        name = (artifact.name, units.get(artifact.unit, "") if artifact.unit is not None else "")
        seen[name] += 1
        keyed[name[0], name[1], seen[name]] = artifact
    return keyed


def compile_pairs(left: Iterable[Process], right: Iterable[Process]) -> list[Pair[Compile]]:
    """The compiles of two ranks or runs, paired by function, file, line and how often that was compiled before."""
    return _paired(_by_code(left), _by_code(right))


def _by_code(processes: Iterable[Process]) -> dict[tuple[tuple[object, ...], int], Compile]:
    seen: Counter[tuple[object, ...]] = Counter()
    keyed: dict[tuple[tuple[object, ...], int], Compile] = {}
    for process in processes:
        for frame in process.frames.values():
            name, file, line = frame.code
            code = (name, os.path.basename(file) if file else None, line) if name else (str(frame.key),)
            for compile_ in frame.compiles:
                if compile_.is_compile:
                    seen[code] += 1
                    keyed[code, seen[code]] = compile_
    return keyed


def _paired(left: Mapping[K, T], right: Mapping[K, T]) -> list[Pair[T]]:
    pairs = [Pair(thing, right.get(key)) for key, thing in left.items()]
    return pairs + [Pair(None, thing) for key, thing in right.items() if key not in left]


def text_of(artifact: Artifact, raw: bool = False) -> str:
    """What is compared of an artifact: its payload; of metrics the fields, without those that never are the same twice."""
    if artifact.payload is not None:
        checked = artifact.log.check(artifact.record)
        payload = checked.payload if checked is not None else artifact.payload
        return payload.read().decode("utf-8", "replace")
    value = artifact.log.event(artifact.record)
    if isinstance(value, dict) and not raw:
        value = {key: _opened(field) for key, field in value.items() if not _varies(key)}
    return json.dumps(value, default=repr)


def _varies(key: str) -> bool:
    return key in VARIES or key.endswith(("_us", "_s", "_ms"))


def _opened(field: object) -> object:
    """Configs are JSON in a string: compared by key as well."""
    if isinstance(field, str) and field.startswith("{"):
        try:
            return json.loads(field)
        except ValueError:
            return field
    return field


def artifact_difference(left: Artifact, right: Artifact, raw: bool = False) -> Difference:
    """Compare two artifacts; of different languages as plain lines. Raises OSError."""
    language = left.kind.language if left.kind.language == right.kind.language else "text"
    return difference(text_of(left, raw), text_of(right, raw), language, raw)


def input_lines(compile_: Compile) -> Sequence[str]:
    """Inputs and symbols as lines, to be compared."""
    found = inputs_of(compile_)
    lines = [
        f"{tensor.source}  {tensor.dtype} [{', '.join(tensor.size or ())}] stride [{', '.join(tensor.stride or ())}]"
        f" {tensor.device}"
        + (" requires grad" if tensor.requires_grad else "")
        for tensor in found.tensors
    ]
    lines += [f"{symbol.name}  {symbol.source} = {symbol.hint} {symbol.range}" for symbol in found.symbols]
    return sorted(lines)
