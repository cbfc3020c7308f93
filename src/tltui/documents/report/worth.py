"""What a compile, and each of its artifacts, is worth to somebody who looks for what is wrong: from 0 to about 1.

What failed comes first, then what runs in eager mode, graph breaks, recompiles and what is slow, each with the code that it
leads to. Of many of one kind the first tell most: each further one is worth less, so that a run with 5,000 recompiles of one
function shows its other functions too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from tltui.model.artifacts import Artifact
from tltui.model.kind import Phase
from tltui.model.nodes import Compile
from tltui.model.status import Status

BY_STATUS = {
    Status.ERROR: 1.0, Status.EAGER: 0.9, Status.BREAK: 0.75, Status.MISSING: 0.6, Status.RUNNING: 0.6, Status.EMPTY: 0.3,
}  # fmt: skip
RECOMPILE, RECOMPILED, SLOWEST, LEAST = 0.6, 0.55, 0.7, 0.1
"""Of a recompile; of what it would have liked to use; of the compile that took longest, others in proportion; of any compile."""
HALF, HALF_OF_STATUS = 8.0, 24.0
"""The so-many-th further one of one function, and of one status, is worth half as much."""
BY_NAME = {
    "dynamo_graph_break_reason": 1.0, "recompile_reasons": 1.0, "inductor_output_code": 0.85, "dynamo_output_graph": 0.9,
    "inductor_post_grad_graph": 0.7, "dynamo_cpp_guards_str": 0.6, "dynamo_guards": 0.55, "aot_forward_graph": 0.6,
    "aot_backward_graph": 0.6, "aot_inference_graph": 0.6, "aot_joint_graph": 0.5, "compiled_autograd_graph": 0.6,
    "inductor_pre_grad_graph": 0.4, "compilation_metrics": 0.35, "bwd_compilation_metrics": 0.2,
    "aot_autograd_backward_compilation_metrics": 0.2, "fx_graph_runnable": 0.1, "fx_graph_cache_hash": 0.05,
    "aotautograd_cache_hash": 0.05,
}  # fmt: skip
BY_PHASE = {
    Phase.EXPORT: 0.8, Phase.SYMBOLS: 0.4, Phase.DISTRIBUTED: 0.4, Phase.CACHE: 0.15, Phase.METRICS: 0.2, Phase.INPUTS: 0.3,
    Phase.TRACE: 0.05, Phase.OTHER: 0.2,
}  # fmt: skip
BY_LANGUAGE = {"fx": 0.35, "cpp": 0.4, "traceback": 1.0, "guards": 0.5, "bytecode": 0.1, "ir": 0.2, "output_code": 0.6}
OTHER = 0.25
LARGE = 400_000
"""Bytes that halve what an artifact is worth."""


def worth_of_compiles(compiles: Iterable[Compile]) -> dict[str, float]:
    """Address → what the compile is worth, those that are worth more first."""
    everything = [own for own in compiles if own.is_compile]
    longest = max((own.tally.seconds for own in everything), default=0.0) or 1.0
    plain = [(_alone(own, longest), own) for own in everything]
    seen: Counter[Hashable] = Counter()
    found: dict[str, float] = {}
    for worth, own in sorted(plain, key=lambda pair: -pair[0]):
        kind, status = _kind(own), (own.status, own.is_recompile)
        found[str(own.ref)] = worth * HALF / (HALF + seen[kind]) * HALF_OF_STATUS / (HALF_OF_STATUS + seen[status])
        seen.update((kind, status))
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def _alone(compile_: Compile, longest: float) -> float:
    status = compile_.status
    worth = BY_STATUS.get(status, LEAST) if status is not None else LEAST
    if compile_.is_recompile:
        worth = max(worth, RECOMPILE)
    elif len(compile_.frame.compiles) > 1:
        worth = max(worth, RECOMPILED)
    return max(worth, SLOWEST * compile_.tally.seconds / longest) + LEAST * compile_.tally.seconds / longest


def _kind(compile_: Compile) -> Hashable:
    """What the compile is one more of."""
    facts = compile_.facts
    return compile_.status, compile_.is_recompile, facts.fail_type, compile_.frame.code[:2]


def worth_of_artifact(artifact: Artifact, size: int) -> float:
    """What an artifact is worth of what its compile is. `size`: its bytes."""
    kind = artifact.kind
    worth = BY_NAME.get(artifact.name)
    if worth is None:
        worth = BY_PHASE.get(kind.phase) or BY_LANGUAGE.get(kind.language, OTHER)
    return worth * LARGE / (LARGE + size)
