"""The recompiles of a frame: their causes with the remedies, their time, and the recompile limit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tltui.model.node_answers import part
from tltui.model.nodes import Compile, Frame
from tltui.model.record_reader import Reader, address, json_in, metrics_fields, number_in, text_in, whole_in
from tltui.model.torch_version import version_by_metrics
from tltui.questions.recompiles.equal_sizes import equal_sizes
from tltui.questions.recompiles.explanations import Explained, Reason, explained_of, reason_for
from tltui.questions.recompiles.guard_comparison import Difference
from tltui.questions.recompiles.guard_grammar import whose
from tltui.questions.recompiles.guard_table import FrameGuards, GuardTable
from tltui.questions.recompiles.predictions import Prediction, Simulation
from tltui.questions.recompiles.recompile_reasons import limit_warning
from tltui.questions.recompiles.remedies import Settings
from tltui.questions.recompiles.variations import RecompileCauses, Variation, Variations, variations_of
from tltui.text.frozen import frozen
from tltui.text.torch_names import PREFIX

UNLIMITED = 100_000
"""Recompile limit from which on it is practically unlimited."""
_SET_TO = re.compile(r"limit \(currently set to (\d{1,9})\)")


@frozen
class FrameRecompiles:
    """The recompiles of a frame."""

    ref: str
    function: str | None
    file: str | None
    line: int | None
    first_ref: str
    """The address of its first compile."""
    compiles: int
    compile_s: float
    recompile_count: int
    recompile_s: float
    limit: int | None
    """`recompile_limit`; None if not in the log, or practically unlimited."""
    compiles_left: int | None
    """The number of further compiles that it allows."""
    limit_ref: str | None
    """The address of the metrics with the limit, or of torch's warning."""
    limit_hit: bool
    recompiles: tuple[Explained, ...]
    """The requested ones."""
    variations: tuple[Variation, ...]
    """Over all recompiles of the frame."""
    together: Prediction | None = None
    """The smallest set of remedies that leaves the fewest recompilations; None if one remedy alone does as much."""
    causes: tuple[RecompileCauses, ...] = ()
    """All causes of each recompile, where guards were compared."""
    guards: GuardTable | None = None
    """The compiled versions and the guards in which they differ; None without guards in the log."""
    all_dynamic: Prediction | None = None
    """torch.compile(dynamic=True), which makes all sizes and numbers dynamic; None if another remedy does as much."""


def frames_of(compiles: Iterable[Compile]) -> list[tuple[Frame, list[Compile]]]:
    """Return the frames with recompiles and these recompiles: frames at the limit first, then by cost."""
    frames: dict[int, tuple[Frame, list[Compile]]] = {}
    for compile_ in compiles:
        if compile_.is_compile and compile_.is_recompile:
            frames.setdefault(id(compile_.frame), (compile_.frame, []))[1].append(compile_)
    def weight(item: tuple[Frame, list[Compile]]) -> tuple[bool, float, int]:
        return any(c.facts.recompile_limit_hit for c in item[1]), sum(c.compile_s for c in item[1]), len(item[1])

    return sorted(frames.values(), key=weight, reverse=True)


def recompiles_of(frame: Frame) -> list[Compile]:
    """Return the recompiles of a frame in order."""
    return sorted((c for c in frame.compiles if c.is_compile and c.is_recompile), key=lambda c: c.id.compile or 0)


def seconds_of(frame: Frame) -> float:
    """Return the total compile time of a frame in seconds."""
    return sum(compile_.compile_s for compile_ in frame.compiles)


@part
def summary_of(frame: Frame, reader: Reader) -> FrameRecompiles:
    """Return a frame with all its recompiles, cached."""
    explained = [explained_of(compile_) for compile_ in recompiles_of(frame)]
    return frame_recompiles(frame, explained, explained)


def frame_recompiles(
    frame: Frame, every: Sequence[Explained], recompiles: Sequence[Explained], guards: FrameGuards | None = None
) -> FrameRecompiles:
    """Summarize all recompiles of a frame and include the requested ones."""
    name, file, line = frame.code
    config = _settings(frame)
    hit = any(c.facts.recompile_limit_hit for c in frame.compiles)
    spent = sum(explained.duration_s or 0.0 for explained in every)
    result = _variations(frame, every, guards)
    return FrameRecompiles(
        str(frame.ref), name, file, line, str(frame.compiles[0].ref), len(frame.compiles), seconds_of(frame), len(every),
        spent, config.limit, 0 if hit else config.left, config.ref, hit, tuple(recompiles),
        result.variations, result.together, result.causes, guards.table if guards is not None else None,
        result.all_dynamic,
    )  # fmt: skip


def _variations(frame: Frame, every: Sequence[Explained], guards: FrameGuards | None) -> Variations:
    """Return the causes of all recompiles of a frame, with their remedies."""
    name, file, _ = frame.code
    by_ref = {compile_.address: compile_ for compile_ in frame.compiles} if guards is not None else {}

    def reason_of(ref: str, earlier: str, difference: Difference) -> Reason | None:
        return reason_for(by_ref[ref], earlier, difference.text) if difference.text else None

    resumed, is_foreign = (name or "").startswith(PREFIX), file is not None and bool(whose(file))
    equal = equal_sizes(frame, guards) if guards is not None else {}
    return variations_of(every, _settings(frame).settings, resumed, is_foreign, _break_line(name), guards, reason_of, equal,
                         may_end(frame))  # fmt: skip


def prediction_for(
    frame: Frame, every: Sequence[Explained], guards: FrameGuards, chosen: Sequence[Variation]
) -> Prediction:
    """Return the prediction for the remedies of several causes of a frame, as its page makes it for one and for the best set."""
    result = _variations(frame, every, guards)
    candidates = dict.fromkeys(
        candidate for variation, candidate in zip(result.variations, result.candidates, strict=True)
        if candidate is not None and variation in chosen
    )  # fmt: skip
    return Simulation(guards.calls, equal_sizes(frame, guards)).predict(list(candidates))


def may_end(frame: Frame) -> bool:
    """Return whether a frame continues after a graph break, and torch skipped a function of this process.

    A remedy may change where the graph breaks. Torch may then skip the function before it compiles this frame.
    """
    others = frame.process.frames.values() if (frame.code[0] or "").startswith(PREFIX) else ()
    return any(compile_.facts.eager_reason is not None for other in others for compile_ in other.compiles)


_RESUMED_AT = re.compile(r"_at_(\d{1,7})(?:_\d+)?$")


def _break_line(name: str | None) -> int | None:
    """Return the line of the graph break from the name of a resume function; None for another function."""
    match = _RESUMED_AT.search(name) if name is not None and name.startswith(PREFIX) else None
    return int(match[1]) if match is not None else None


@frozen
class DynamoConfig:
    """Configuration in the metrics of a compile."""

    settings: Settings
    limit: int | None
    left: int | None
    ref: str | None
    """The address of the metrics, or of torch's warning."""


def settings_of(frame: Frame) -> Settings:
    """Return the switches of Dynamo in the newest metrics."""
    return _settings(frame).settings


def _settings(frame: Frame) -> DynamoConfig:
    """Return the configuration in the newest metrics."""
    for compile_ in sorted(frame.compiles, key=lambda c: c.id.compile or 0, reverse=True):
        if compile_.metrics and (config := config_of(compile_)) is not None:
            return config
    settings = Settings(traced=any(compile_.is_traced for compile_ in frame.compiles))
    warning = next((warning for compile_ in frame.compiles if (warning := limit_warning(compile_)) is not None), None)
    return DynamoConfig(settings, None, None, None) if warning is None else DynamoConfig(settings, warning.limit, 0, warning.ref)


@part
def config_of(compile_: Compile, reader: Reader) -> DynamoConfig | None:
    """Return the configuration in the metrics of a compile; None with metrics of its backward only."""
    fields = next((f for event, f in metrics_fields(compile_, reader) if event == "compilation_metrics"), None)
    if fields is None:
        return None
    config = json_in(fields, "dynamo_config")
    limit = next((n for k in ("recompile_limit", "cache_size_limit") if (n := whole_in(config, k)) is not None), None)
    if limit is None and (match := _SET_TO.search(text_in(fields, "fail_reason") or "")):
        limit = int(match[1])
    limit = None if limit is None or limit >= UNLIMITED else limit
    entries = number_in(fields, "cache_size")
    left = None
    if limit is not None and entries is not None:
        left = max(limit - int(entries) - int(compile_.facts.has_guarded_code is not False), 0)
    record = next(m.record for m in compile_.metrics if m.event == "compilation_metrics" and not m.is_runtime)
    settings = Settings.of(config, version_by_metrics(compile_, reader))
    return DynamoConfig(settings, limit, left, address(compile_, record, "compilation_metrics"))
