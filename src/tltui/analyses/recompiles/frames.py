"""The recompiles of a frame: which guard of which earlier compile failed, for what, and what it cost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tltui.analyses.parts import part
from tltui.analyses.recompiles.advice import Settings
from tltui.analyses.recompiles.explained import Explained, explained_of
from tltui.analyses.recompiles.variations import Variation, variations_of
from tltui.analyses.records import Reader, address, json_in, metrics_fields, number_in, text_in, whole_in
from tltui.model.nodes import Compile, Frame

UNLIMITED = 100_000
"""A limit from which on there is practically none."""
_SET_TO = re.compile(r"limit \(currently set to (\d{1,9})\)")

RESUMED = "torch_dynamo_resume_in_"
"""How the names of functions begin that go on after a graph break."""


@dataclass(frozen=True, slots=True)
class FrameRecompiles:
    """The recompiles of a frame."""

    ref: str
    function: str | None
    file: str | None
    line: int | None
    first: str
    """The address of its first compile."""
    compiles: int
    seconds: float
    recompile_count: int
    recompile_seconds: float
    limit: int | None
    """`recompile_limit`, as far as the log tells; None also where it is practically unlimited."""
    left: int | None
    """How many more compiles it allows."""
    limit_ref: str | None
    """The address of the metrics that tell."""
    limit_hit: bool
    recompiles: tuple[Explained, ...]
    """Those that were asked for."""
    variations: tuple[Variation, ...]
    """Over all recompiles of the frame."""


def frames_of(compiles: Iterable[Compile]) -> list[tuple[Frame, list[Compile]]]:
    """The frames with recompiles among some compiles, and those: frames at the limit first, then the most expensive."""
    found: dict[int, tuple[Frame, list[Compile]]] = {}
    for compile_ in compiles:
        if compile_.is_compile and compile_.is_recompile:
            found.setdefault(id(compile_.frame), (compile_.frame, []))[1].append(compile_)
    def weight(item: tuple[Frame, list[Compile]]) -> tuple[bool, float, int]:
        return any(c.facts.recompile_limit for c in item[1]), sum(c.tally.seconds for c in item[1]), len(item[1])

    return sorted(found.values(), key=weight, reverse=True)


def recompiles_of(frame: Frame) -> list[Compile]:
    """The recompiles of a frame, in their order."""
    return sorted((c for c in frame.compiles if c.is_compile and c.is_recompile), key=lambda c: c.id.compile or 0)


def seconds_of(frame: Frame) -> float:
    """What all compiles of a frame took."""
    return sum(compile_.tally.seconds for compile_ in frame.compiles)


@part
def whole_frame(frame: Frame, reader: Reader) -> FrameRecompiles:
    """A frame with all its recompiles, kept."""
    found = [explained_of(compile_) for compile_ in recompiles_of(frame)]
    return frame_recompiles(frame, found, found)


def frame_recompiles(frame: Frame, every: Sequence[Explained], asked: Sequence[Explained]) -> FrameRecompiles:
    """What all recompiles of a frame amount to, and those of them that were asked for."""
    name, file, line = frame.code
    told = _settings(frame)
    hit = any(c.facts.recompile_limit for c in frame.compiles)
    spent = sum(found.seconds or 0.0 for found in every)
    return FrameRecompiles(
        str(frame.ref), name, file, line, str(frame.compiles[0].ref), len(frame.compiles), seconds_of(frame), len(every),
        spent, told.limit, 0 if hit else told.left, told.ref, hit, tuple(asked),
        variations_of(every, told.settings, (name or "").startswith(RESUMED)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """What the metrics of a compile say of the configuration."""

    settings: Settings
    limit: int | None
    left: int | None
    ref: str | None
    """The address of the metrics."""


def _settings(frame: Frame) -> Told:
    """What the newest metrics say of the configuration."""
    for compile_ in sorted(frame.compiles, key=lambda c: c.id.compile or 0, reverse=True):
        if compile_.metrics and (told := told_by(compile_)) is not None:
            return told
    return Told(Settings(traced=any(compile_.is_traced for compile_ in frame.compiles)), None, None, None)


@part
def told_by(compile_: Compile, reader: Reader) -> Told | None:
    """What the metrics of a compile say; None where only those of its backward are there."""
    fields = next((f for event, f in metrics_fields(compile_, reader) if event == "compilation_metrics"), None)
    if fields is None:
        return None
    config = json_in(fields, "dynamo_config")
    limit = next((n for k in ("recompile_limit", "cache_size_limit") if (n := whole_in(config, k)) is not None), None)
    if limit is None and (said := _SET_TO.search(text_in(fields, "fail_reason") or "")):
        limit = int(said[1])
    limit = None if limit is None or limit >= UNLIMITED else limit
    entries = number_in(fields, "cache_size")
    left = None
    if limit is not None and entries is not None:
        facts = compile_.facts
        left = max(limit - int(entries) - int(not facts.failed and not facts.skipped), 0)
    record = next(m.record for m in compile_.metrics if m.event == "compilation_metrics" and not m.is_runtime)
    return Told(Settings.of(config), limit, left, address(compile_, record, "compilation_metrics"))
