"""What is absent from a compile, and why: the facts of the model put into the words of `tltui.model.expected`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tltui.analyses.caches.caches import AOT, FX, HIT, OLD_NAMES, answer_of
from tltui.analyses.parts import reader_of
from tltui.analyses.records import json_in, named
from tltui.inputs.table import DEBUG_DIR
from tltui.model.artifacts import Artifact, Unit
from tltui.model.expected import CODE, Absent, Outcome, absent, failed_in
from tltui.model.nodes import Compile
from tltui.model.versions.version import TorchVersion


def missing_of(
    compile_: Compile,
    artifacts: list[Artifact],
    units: list[Unit],
    metrics: list[tuple[str, dict[str, Any]]],
    version: TorchVersion,
) -> tuple[Absent, ...]:
    """What somebody would look for in this compile and not find."""
    if not compile_.is_compile and compile_.id.autograd is None:
        return ()  # records outside of any compile: nothing can be said to be expected
    return tuple(absent(outcome_of(compile_, artifacts, units, metrics, version)))


def outcome_of(
    compile_: Compile,
    artifacts: list[Artifact],
    units: list[Unit],
    metrics: list[tuple[str, dict[str, Any]]],
    version: TorchVersion,
) -> Outcome:
    """What is known of a compile."""
    log = compile_.process.log
    names = {artifact.name for artifact in artifacts if artifact.is_metrics or log.columns.size[artifact.record]}
    # the timing event fx_graph_cache_disabled only says that this one cache was not used
    disabled = any(
        json_in(fields, config).get("force_disable_caches") is True
        for _, fields in metrics
        for config in ("inductor_config", "compiler_config")
    )
    directions = frozenset(unit.direction for unit in units if unit.direction)
    return outcome_from(compile_, names, directions, disabled, version)


def outcome_from(
    compile_: Compile, names: Iterable[str], directions: frozenset[str], disabled: bool, version: TorchVersion
) -> Outcome:
    """The same from the names of its artifacts with a payload, the directions of its units, and whether caches are off."""
    facts, counts, log = compile_.facts, compile_.counts, compile_.process.log
    compile_.process.parts.reads(log)
    has = frozenset(names) | ({"dynamo_start"} if compile_.started is not None else frozenset())
    hits = _old_hits(compile_, has)
    return Outcome(
        has,
        failed=facts.failed or facts.eager is not None,
        fail_phase=failed_in(facts.fail_type, has),
        cache_hit=counts["aotautograd_cache_hit"] > 0 or AOT in hits,
        fx_cache_hit=(counts["fx_graph_cache_hit"] > 0 or FX in hits)
        and not counts["fx_graph_cache_miss"]
        and not counts["fx_graph_cache_bypass"],
        caches_disabled=disabled,
        empty=facts.skipped,
        complete=facts.has_metrics,
        grad=facts.has_backward,
        version=replace(version, stated=None, by=()),
        recompile_limit=facts.recompile_limit,
        recompile=compile_.is_recompile,
        restarted=bool(facts.restarts),
        dynamo=compile_.id.frame is not None,
        compiled_autograd=compile_.id.autograd is not None,
        directions=directions,
        backward_failed=facts.backward_failed,
        waiting=not log.ended,
        debug_dir=DEBUG_DIR in compile_.process.origins,
    )


def _old_hits(compile_: Compile, has: frozenset[str]) -> frozenset[str]:
    """The caches that answered with a hit each time, where torch 2.4 to 2.6 wrote the answer into a record of another name.

    Torch 2.4 does not write it at all: that there is no code then shows it.
    """
    if has.isdisjoint(OLD_NAMES):
        return frozenset()
    reader = reader_of(compile_)
    states: dict[str, set[str]] = {}
    for record, name in named(compile_, OLD_NAMES):
        answer, _ = answer_of(name, record, "", reader)
        states.setdefault(answer.cache, set()).add(answer.state)
    return frozenset(
        cache for cache, own in states.items() if own == {HIT} or (own == {"asked"} and cache == FX and has.isdisjoint(CODE))
    )
