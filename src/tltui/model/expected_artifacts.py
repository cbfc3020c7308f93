"""The artifacts that a compile should have, and the reason why one is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_

from tltui.model.kinds import kind_of
from tltui.model.torch_versions import NEWEST, UNKNOWN, Span, TorchVersion, aot_cache_setting, dotted, limit_name, provenance_way
from tltui.text.frozen import frozen

FRESH = "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1"
CACHES = "TORCHINDUCTOR_FORCE_DISABLE_CACHES=0"
FX_CACHE = "TORCHINDUCTOR_FX_GRAPH_CACHE=1"
LOG_TLPARSE = "LOG_TLPARSE=1"
NOT_YET = "not yet written: the log is still growing"


@frozen
class Outcome:
    """The outcome of one compile, or of one abandoned attempt.

    `has` holds the names of its records **with a payload**, and `dynamo_start`: on a cache hit torch 2.13 writes the
    provenance records without one when provenance was off, and such a record counts as absent.
    """

    has: frozenset[str]
    failed: bool = False
    """The compile itself failed; a failure of a lazily compiled backward is `backward_failed`."""
    fail_phase: str | None = None
    """Where it failed, in words that fit after "failed in": see `failed_in`."""
    cache_hit: bool = False
    """The AOTAutograd cache was hit."""
    fx_cache_hit: bool = False
    """The FX graph cache was hit for every unit."""
    caches_disabled: bool = False
    """`force_disable_caches` is true in `compiler_config` of the metrics. (The timing event `fx_graph_cache_disabled`
    only says that the FX graph cache was not used.)"""
    empty: bool = False
    """No operations were captured: `graph_op_count` is 0 or null, and it did not fail."""
    complete: bool = True
    """`compilation_metrics` has been seen."""
    grad: bool = False
    """It was traced for training; taken from the graphs too."""
    version: TorchVersion = UNKNOWN
    """Of torch: only its bounds matter."""
    recompile_limit: bool = False
    """The recompile limit was reached, so it never started."""
    recompile: bool = False
    """Not the first compile of its frame."""
    restarted: bool = False
    """Its analysis was restarted at least once (`restart_reasons` is not empty)."""
    attempt_restarted: bool = False
    """This is about one attempt, which was given up: a later one took its place."""
    dynamo: bool = True
    """It began with a Python frame. False for records without a frame id: export, AOTInductor, `[!0]`."""
    compiled_autograd: bool = False
    directions: frozenset[str] = frozenset()
    """The units that were lowered: `forward`, `backward`, `inference`. Empty when not known."""
    backward_failed: bool = False
    waiting: bool = False
    """Its log may go on."""
    debug_dir: bool = False
    """Its process left a torch_compile_debug directory, which was opened too."""
    inductor: bool | None = None
    """Whether Inductor ran by the metrics (`inductor_cumulative_compile_time_us`, `inductor_compile_time_s`) or the
    timing events; None when they do not tell."""


@frozen
class Absent:
    """An artifact that a user would look for, and why it is not there.

    `flag` is the setting that would have brought it, if there is one. `name` may be one of several that would do (any
    record of the FX graph cache), or a family (`*_MODIFIED_BYTECODE`).
    """

    name: str
    title: str
    reason: str
    flag: str | None = None


Why = tuple[str, str | None]


@frozen
class _Expected:
    """An expected artifact: its aliases, the condition under which it is expected, and its specific reasons to be absent.

    `core`: looked for after a failure and in an unfinished compile as well.
    """

    name: str
    why: Callable[[Outcome], Why | None]
    wanted: Callable[[Outcome], bool]
    also: frozenset[str] = frozenset()
    core: bool = False


_AOT_GRAPHS = frozenset({"aot_joint_graph", "aot_forward_graph", "aot_backward_graph", "aot_inference_graph"})
CODE = frozenset(
    {"inductor_output_code", "inductor_aot_wrapper_code", "inductor_aot_kernel_code", "inductor_aot_code"}
)  # fmt: skip
"""Names of generated code."""
_INDUCTOR = CODE | {
    "fx_graph_runnable", "before_post_grad_graph", "inductor_post_grad_graph", "after_post_grad_graph",
}  # fmt: skip
_PRE_GRAD = frozenset({"before_pre_grad_graph", "after_pre_grad_graph", "inductor_pre_grad_graph"})
_TRAINING = frozenset({"aot_joint_graph", "aot_backward_graph"})  # older torch wrote aot_forward_graph without grad too
_BACKEND = _INDUCTOR | _AOT_GRAPHS | _PRE_GRAD
_AFTER_CODE = frozenset(
    {
        "runtime_wrapper_orchestration", "compiled_function_forward", "aot_autograd_runtime_wrappers",
        "dynamo_cpp_guards_str",
    }
)  # fmt: skip
_FX_CACHE = frozenset(
    {
        "fx_graph_cache_hit", "fx_graph_cache_miss", "fx_graph_cache_bypass", "fx_graph_cache_hash",
        "fx_graph_bundled_cache_hit",
    }
)  # fmt: skip
_FX_CACHE_OFF, _AOT_CACHE_OFF = Span(until=(2, 4)), Span(until=(2, 6))
"""Versions in which a cache is off unless it is switched on."""
_AOT_CACHE = frozenset(
    {"aotautograd_cache_hit", "aotautograd_cache_miss", "aotautograd_cache_bypass", "aotautograd_cache_hash"}
)  # fmt: skip


def _has(outcome: Outcome, names: frozenset[str]) -> bool:
    return not names.isdisjoint(outcome.has)


def _vllm(outcome: Outcome) -> bool:
    return any(name.startswith("vllm_") for name in outcome.has)


def _trains(outcome: Outcome) -> bool:
    return outcome.grad or _has(outcome, _TRAINING)


def _aot_hit(outcome: Outcome) -> Why | None:
    return ("skipped: the result came from the AOTAutograd cache", FRESH) if outcome.cache_hit else None


def _failed(outcome: Outcome) -> Why:
    where = f", in {outcome.fail_phase}" if outcome.fail_phase else ""
    return f"the compile failed earlier{where}", None


def _no_pre_grad(outcome: Outcome) -> Why | None:
    if outcome.compiled_autograd:
        return "compiled autograd passes its graph on without pre-grad passes", None
    return _aot_hit(outcome)


def _no_gradient(outcome: Outcome) -> Why | None:
    if _trains(outcome):
        return None
    if not _has(outcome, _AOT_GRAPHS):  # then it is not known whether it has one
        return _failed(outcome) if outcome.failed else _aot_hit(outcome)
    return "no backward: no input requires grad, or grad mode was off", None


def _cached_code(outcome: Outcome) -> Why | None:
    if outcome.fx_cache_hit and not outcome.cache_hit:
        return "skipped: the code came from the FX graph cache", FRESH
    return _aot_hit(outcome)


def _not_inductor(outcome: Outcome) -> Why | None:
    if outcome.inductor or _has(outcome, _INDUCTOR | _FX_CACHE | _AOT_CACHE):
        return None
    if _vllm(outcome):
        return "Inductor did not run: vLLM splits the graph and may load the pieces from its own cache", None
    if outcome.inductor is None and outcome.version.least is None:
        return "the backend is not Inductor, or this torch version does not write it", None
    if _has(outcome, _AOT_GRAPHS):
        return "the backend stops after AOTAutograd: aot_eager or a custom backend, not Inductor", None
    return "the backend is not Inductor: eager or a custom backend", None


def _no_provenance(outcome: Outcome) -> Why | None:
    way = provenance_way(outcome.version)
    return f"provenance was not recorded: {way.sentence}", way.setting


def _no_unit(outcome: Outcome) -> Why | None:
    return "skipped: the code came from a cache, so torch_compile_debug has no directory for it", FRESH


def _no_runtime_meta(outcome: Outcome) -> Why | None:
    cached = _cached_code(outcome)
    if cached is not None:
        return f"{cached[0]}, which never contains this artifact; it also needs {LOG_TLPARSE}", LOG_TLPARSE
    return f"only written with {LOG_TLPARSE}", LOG_TLPARSE


def _no_fx_cache(outcome: Outcome) -> Why | None:
    if outcome.cache_hit:
        return _aot_hit(outcome)
    off = outcome.version.has(_FX_CACHE_OFF)
    if outcome.caches_disabled:
        return _disabled("FX graph", off, FX_CACHE)
    if outcome.failed:
        return _failed(outcome)
    if off:
        return f"Inductor did not query the FX graph cache: the cache is off by default in {outcome.version.words}", FX_CACHE
    return "Inductor did not query the FX graph cache: off, bundled with AOTAutograd's, or unsupported device", FX_CACHE


def _no_aot_cache(outcome: Outcome) -> Why | None:
    setting = aot_cache_setting(outcome.version)
    if outcome.caches_disabled:
        return _disabled("AOTAutograd", outcome.version.has(_AOT_CACHE_OFF), setting)
    if outcome.failed:
        return _failed(outcome)
    return "torch did not query the AOTAutograd cache: the cache is off", setting


def _disabled(cache: str, off: bool | None, setting: str | None) -> Why:
    """All caches are disabled; this one may be off by itself too."""
    if off and setting is not None:
        return f"caches are disabled (enable them with {CACHES}), and the {cache} cache needs {setting}", None
    return "caches are disabled", CACHES


def _no_graph(outcome: Outcome) -> Why | None:
    return ("Dynamo captured no operations in this frame, so nothing was compiled", None) if outcome.empty else None


def _no_guards(outcome: Outcome) -> Why | None:
    return ("Dynamo skipped the frame, so it has no guards", None) if outcome.empty else None


def _no_modified_bytecode(outcome: Outcome) -> Why | None:
    return ("Dynamo skipped the frame, so its bytecode is unchanged", None) if outcome.empty else None


def _no_start(outcome: Outcome) -> Why | None:
    return "the log has only the end of this compile: the log starts later, or a record is damaged", None


def _no_break(outcome: Outcome) -> Why | None:
    return "the analysis restarted for a reason other than a graph break: see restart_reasons in the metrics", None


def _no_recompile_reasons(outcome: Outcome) -> Why | None:
    return "no earlier compile of this frame had guards to check: those compiles failed, were skipped or dropped", None


def _no_metrics(outcome: Outcome) -> Why | None:
    if _vllm(outcome):
        return "not written: vLLM compiles can lack it, or the log is truncated", None
    return "the log ends before the compile ends: the job is still running, was killed, or the log is truncated", None


def _dynamo(outcome: Outcome) -> bool:
    return outcome.dynamo


def _graph(outcome: Outcome) -> bool:
    """Something was captured and compiled, so that graphs and code can be looked for."""
    return outcome.dynamo and not outcome.empty


def _backend_seen(outcome: Outcome) -> bool:
    return _graph(outcome) and _has(outcome, _BACKEND)


def _lowered(outcome: Outcome) -> bool:
    return not outcome.empty and _has(outcome, CODE)


def _lowered_frame(outcome: Outcome) -> bool:
    return outcome.dynamo and _lowered(outcome)


def _unit_skipped(outcome: Outcome) -> bool:
    """There is a debug directory, and a cache hit kept a directory of this compile out of it."""
    return outcome.debug_dir and _lowered(outcome) and (outcome.cache_hit or outcome.fx_cache_hit)


def _resume_frame(outcome: Outcome) -> bool:
    return any(name.endswith("_ORIGINAL_BYTECODE") for name in outcome.has)


# In the order of the compiler's work: what comes after the last one present was never reached by a failed compile. The
# metrics close the table, and are written even then.
_TABLE: tuple[_Expected, ...] = (
    _Expected("recompile_reasons", _no_recompile_reasons, lambda o: o.dynamo and o.recompile),
    _Expected("dynamo_start", _no_start, _dynamo),
    _Expected("dynamo_graph_break_reason", _no_break, lambda o: o.dynamo and o.restarted),
    _Expected("dynamo_output_graph", _no_graph, _dynamo, core=True),
    _Expected("aotautograd_cache_hit", _no_aot_cache, _lowered_frame, _AOT_CACHE),
    _Expected("before_pre_grad_graph", _no_pre_grad, _lowered_frame),
    _Expected("after_pre_grad_graph", _no_pre_grad, _lowered_frame),
    _Expected("aot_joint_graph", _no_gradient, _backend_seen),
    _Expected("aot_inference_graph", _not_inductor, _graph, frozenset({"aot_forward_graph"}), core=True),
    _Expected("aot_backward_graph", _no_gradient, _backend_seen),
    _Expected("before_post_grad_graph", _cached_code, _lowered),
    _Expected("inductor_post_grad_graph", _not_inductor, _graph, frozenset({"after_post_grad_graph"}), core=True),
    _Expected("inductor_output_code", _not_inductor, _graph, CODE, core=True),
    _Expected("ir_post_fusion", _no_unit, _unit_skipped),
    _Expected("inductor_provenance_tracking_node_mappings", _no_provenance, _lowered),
    _Expected("inductor_provenance_tracking_kernel_stack_traces", _no_provenance, _lowered),
    _Expected("inductor_runtime_and_tensor_meta", _no_runtime_meta, _lowered),
    _Expected("fx_graph_cache_hit", _no_fx_cache, _lowered_frame, _FX_CACHE),
    _Expected("*_MODIFIED_BYTECODE", _no_modified_bytecode, _resume_frame),
    _Expected("dynamo_cpp_guards_str", _no_guards, _dynamo, frozenset({"dynamo_guards"}), core=True),
    _Expected("compilation_metrics", _no_metrics, _dynamo),
)


def _span(row: _Expected) -> Span:
    """Return the versions of torch that write the artifact or an accepted substitute."""
    return reduce(or_, (kind_of("artifact", name).span for name in sorted(row.also)), kind_of("artifact", row.name).span)


_SPANS = {row.name: _span(row) for row in _TABLE}

PLACES = {row.name: place for place, row in enumerate(_TABLE)}
"""Name → its place in the compiler's work."""
_POST_GRAD = "inductor_post_grad_graph"
_OUTPUT_CODE = next(place for place, row in enumerate(_TABLE) if row.name == "inductor_output_code")

_TITLES = {
    "dynamo_start": kind_of("dynamo_start").title,
    "compilation_metrics": kind_of("compilation_metrics").title,
    "aotautograd_cache_hit": "AOTAutograd cache: hit or miss",
    "fx_graph_cache_hit": "FX graph cache: hit or miss",
    "aot_inference_graph": "Graph in ATen operations",
    "*_MODIFIED_BYTECODE": "Modified bytecode",
}


def absent(outcome: Outcome) -> list[Absent]:
    """Return the expected artifacts that this compile lacks, in the order of the compiler's work."""
    if outcome.attempt_restarted:
        return [_row("dynamo_output_graph", "torch discarded this attempt and restarted: see the last attempt", None)]
    if outcome.recompile_limit:
        reason = "the recompile limit was reached: nothing was compiled for these inputs"
        return [_row("dynamo_start", reason, limit_name(outcome.version))]
    reached = max((place for place, row in enumerate(_TABLE[:-1]) if _present(row, outcome)), default=-1)
    if _has(outcome, _AFTER_CODE):
        reached = max(reached, _OUTPUT_CODE)
    missing: list[Absent] = []
    for place, row in enumerate(_TABLE):
        if row.wanted(outcome) and not _present(row, outcome):
            why = _why(row, outcome, beyond=place > reached)
            if why is not None:
                missing.append(_row(row.name, *why))
    missing += _absent_backward(outcome)
    if outcome.waiting and not (outcome.failed and outcome.complete):
        return [_row(row.name, NOT_YET, None) for row in missing]
    return missing


def present_artifacts(outcome: Outcome) -> list[tuple[str, str, frozenset[str]]]:
    """Return the expected artifacts that this compile has: name, title, and all accepted names."""
    rows = (row for row in _TABLE if row.wanted(outcome) and _present(row, outcome))
    return [(row.name, _title(row.name), row.also | {row.name}) for row in rows]


def failed_in(fail_type: str | None, has: frozenset[str]) -> str | None:
    """Return the phase of the failure, for `Outcome.fail_phase`; None without a failure or if the log does not record it."""
    if fail_type is None:
        return None
    if fail_type == "ConstraintViolationError":
        return "guard building"
    if "dynamo_output_graph" not in has:
        return "Dynamo"
    if fail_type == "InductorError":
        return "Inductor"
    if fail_type == "BackendCompilerFailed":
        if has.isdisjoint(_PRE_GRAD | _INDUCTOR):
            return "the backend"
        return "AOTAutograd" if has.isdisjoint(_AOT_GRAPHS) else "Inductor"
    return None


def _absent_backward(outcome: Outcome) -> list[Absent]:
    """Return the code of a backward that was traced and never compiled."""
    if "forward" not in outcome.directions or "backward" in outcome.directions or outcome.failed:
        return []
    reason = "not compiled yet: torch compiles it when backward() first runs, or compiled autograd handles it"
    if outcome.backward_failed:
        reason = "the backward failed to compile"
    return [Absent("inductor_output_code", "Output code of the backward", reason)]


def _why(row: _Expected, outcome: Outcome, *, beyond: bool) -> Why | None:
    """Why an expected artifact is not there; None when it is not worth a word.

    `beyond`: nothing that comes after it is there either.
    """
    if row.name == "compilation_metrics":
        return row.why(outcome)
    if beyond and outcome.failed:
        unknown_backend = outcome.fail_phase == "the backend" and row.name in {"aot_inference_graph", _POST_GRAD}
        if not row.core or unknown_backend:
            return None
        return _failed(outcome)
    if beyond and not outcome.complete:
        return ("the log ends earlier", None) if row.core else None
    version, span = outcome.version, _SPANS[row.name]
    written = version.has(span)
    if written is False:
        return f"not written by {version.words}, only by {span}", None
    if written is None and not version.newer:
        return f"unknown for {version.words}: {span} writes it", None
    why = row.why(outcome)
    if why is not None and (written or why[1] is None):
        return why
    if outcome.cache_hit or outcome.fx_cache_hit:
        return "not written when the result comes from a cache", FRESH
    if not written:
        return f"unknown for {version.words}: this tltui supports torch up to {dotted(NEWEST)}", None
    if outcome.failed:
        return "the compile failed; the log gives no other reason", None
    return "unknown (no reason in the log): its record may be missing or damaged", None


def _present(row: _Expected, outcome: Outcome) -> bool:
    if row.name.startswith("*"):
        return any(name.endswith(row.name[1:]) for name in outcome.has)
    return row.name in outcome.has or _has(outcome, row.also)


def _row(name: str, reason: str, flag: str | None) -> Absent:
    return Absent(name, _title(name), reason, flag)


def _title(name: str) -> str:
    return _TITLES.get(name) or kind_of("artifact", name).title
