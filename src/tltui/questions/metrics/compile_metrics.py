"""Compilation metrics of a compile: fields, groups and units."""

from __future__ import annotations

from typing import Any, NamedTuple

from tltui.model.artifacts import artifacts_of
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, list_in, records_of, text_in
from tltui.questions.timing.timing_events import record_page
from tltui.text.frozen import frozen
from tltui.trace.grammar import parse_json

IDENTITY, TIME, SIZES, FAILURE, RECOMPILE, CACHES, KERNELS, CONFIG, OTHER = (
    "identity", "time", "sizes", "failure", "recompiles", "caches", "kernels", "configuration", "other fields",
)  # fmt: skip
GROUPS = (IDENTITY, FAILURE, TIME, SIZES, RECOMPILE, CACHES, KERNELS, CONFIG, OTHER)
"""In the order in which they are shown."""

SECONDS, MILLIS, MICROS, NANOS, BYTES, COUNT, EPOCH_S, EPOCH_US, RUNNING, JSON_TEXT = (
    "s", "ms", "us", "ns", "bytes", "count", "epoch s", "epoch us", "running count", "json",
)  # fmt: skip
TO_SECONDS = {SECONDS: 1.0, MILLIS: 1e-3, MICROS: 1e-6, NANOS: 1e-9}
SUMMED = frozenset((SECONDS, MILLIS, MICROS, NANOS, BYTES, COUNT))
"""Units with a meaningful sum over compiles."""


class About(NamedTuple):
    """A field."""

    group: str
    unit: str = ""
    help: str = ""


_TABLE: dict[str, dict[str, tuple[str, str]]] = {
    IDENTITY: {
        "compile_id": ("", ""),
        "frame_key": ("", "a running count of frames; not the frame of the compile id"),
        "co_name": ("", "the function"),
        "co_filename": ("", ""),
        "co_firstlineno": ("", ""),
        "stack_trace": ("", "who called it, outermost first"),
        "is_forward": ("", ""),
        "is_runtime": ("", "measured when the compiled code ran"),
        "has_guarded_code": ("", "whether there is compiled code to run"),
        "log_format_version": ("", ""),
        "pytorch_version": ("", ""),
        "python_version": ("", ""),
        "cuda_version": ("", ""),
        "triton_version": ("", ""),
    },
    FAILURE: {
        "fail_type": ("", ""),
        "fail_reason": ("", ""),
        "fail_user_frame_filename": ("", ""),
        "fail_user_frame_lineno": ("", ""),
        "exception_stack_trace": ("", "outermost first"),
        "restart_reasons": ("", "why the analysis started again; torch empties it when the compile failed"),
        "non_compliant_ops": ("", "custom operators that break the rules"),
        "compliant_custom_ops": ("", "custom operators that keep the rules"),
        "num_graph_breaks": (RUNNING, "of the whole process so far, not of this compile"),
    },
    TIME: {
        "start_time_us": (EPOCH_US, ""),
        "end_time_us": (EPOCH_US, ""),
        "start_time": (EPOCH_S, "copy of start_time_us"),
        "duration_us": (MICROS, "the whole compile"),
        "dynamo_cumulative_compile_time_us": (MICROS, "the whole frame; holds the next four"),
        "aot_autograd_cumulative_compile_time_us": (MICROS, "the backend; holds the next three"),
        "inductor_cumulative_compile_time_us": (MICROS, "Inductor; holds the next two"),
        "inductor_code_gen_cumulative_compile_time_us": (MICROS, "code generation; holds the next one"),
        "triton_compile_time_us": (MICROS, "compiling kernels or waiting for them; on a CPU C++"),
        "backward_cumulative_compile_time_us": (MICROS, "the whole backward, compiled later"),
        "pre_grad_pass_time_us": (MICROS, ""),
        "joint_graph_pass_time_us": (MICROS, ""),
        "post_grad_pass_time_us": (MICROS, ""),
        "gc_time_us": (MICROS, "Python's garbage collection"),
        "guard_latency_us": (MICROS, "checking the guards once"),
        "dynamo_compile_time_before_restart_us": (MICROS, "lost by restarts; all of it if the compile failed"),
        "structured_logging_overhead_us": (MICROS, "writing this trace"),
        "compile_time_autotune_time_us": (MICROS, ""),
        "runtime_triton_autotune_time_us": (MICROS, "at the first call"),
        "runtime_cudagraphify_time_us": (MICROS, "recording CUDA graphs at run time"),
        "distributed_ephemeral_timeout_us": (MICROS, "by which collectives may take longer, for caches"),
        "pgo_get_remote_code_state_time_us": (MICROS, ""),
        "pgo_put_remote_code_state_time_us": (MICROS, ""),
        "remote_fx_graph_cache_get_time_us": (MICROS, ""),
        "remote_fx_graph_cache_put_time_us": (MICROS, ""),
        "remote_fx_graph_cache_get_time_ms": (MILLIS, "older copy"),
        "remote_fx_graph_cache_put_time_ms": (MILLIS, "older copy"),
        "entire_frame_compile_time_s": (SECONDS, "copy of dynamo_cumulative_compile_time_us"),
        "backend_compile_time_s": (SECONDS, "copy of aot_autograd_cumulative_compile_time_us"),
        "inductor_compile_time_s": (SECONDS, "copy of inductor_cumulative_compile_time_us"),
        "code_gen_time_s": (SECONDS, "copy of inductor_code_gen_cumulative_compile_time_us"),
        "dynamo_time_before_restart_s": (SECONDS, "copy of dynamo_compile_time_before_restart_us"),
        "structured_logging_overhead_s": (SECONDS, "copy of structured_logging_overhead_us"),
        "remote_cache_time_saved_s": (SECONDS, "really copy of distributed_ephemeral_timeout_us"),
    },
    SIZES: {
        "graph_op_count": (COUNT, "calls in the graph"),
        "graph_node_count": (COUNT, ""),
        "graph_input_count": (COUNT, ""),
        "graph_node_shapes": ("", ""),
        "guard_count": (COUNT, ""),
        "shape_env_guard_count": (COUNT, "guards on symbols"),
        "ir_count": (COUNT, "bytecode instructions traced"),
        "param_count": (COUNT, "parameters"),
        "param_numel": (COUNT, "elements of the parameters"),
        "param_bytes": (BYTES, ""),
    },
    RECOMPILE: {
        "recompile_reason": ("", "that of the newest earlier compile only"),
        "recompile_user_contexts": ("", ""),
        "cache_size": (RUNNING, "earlier compiles of this code with the same objects"),
        "accumulated_cache_size": (RUNNING, "earlier compiles of this code"),
        "specialize_float": ("", ""),
        "tensorify_float_attempt": ("", ""),
        "tensorify_float_success": ("", ""),
        "tensorify_float_failure": ("", ""),
    },
    CACHES: {
        "aotautograd_local_cache_hit_count": (COUNT, ""),
        "aotautograd_local_cache_miss_count": (COUNT, ""),
        "aotautograd_remote_cache_hit_count": (COUNT, ""),
        "aotautograd_remote_cache_miss_count": (COUNT, ""),
        "inductor_fx_local_cache_hit_count": (COUNT, ""),
        "inductor_fx_local_cache_miss_count": (COUNT, ""),
        "inductor_fx_remote_cache_hit_count": (COUNT, ""),
        "inductor_fx_remote_cache_miss_count": (COUNT, ""),
        "inductor_fx_remote_cache_hit_keys": ("", ""),
        "inductor_fx_remote_cache_miss_keys": ("", ""),
        "inductor_fx_remote_cache_backend_type": ("", ""),
        "remote_cache_version": ("", ""),
        "feature_usage": ("", ""),
    },
    KERNELS: {
        "triton_kernel_compile_times_us": (JSON_TEXT, "kernel and microseconds"),
        "num_triton_bundles": (COUNT, ""),
        "cudagraph_skip_reason": ("", ""),
        "inductor_provenance": (JSON_TEXT, "stack traces of the kernels"),
    },
    CONFIG: {
        "dynamo_config": (JSON_TEXT, "torch._dynamo.config"),
        "inductor_config": (JSON_TEXT, "torch._inductor.config"),
        "functorch_config": (JSON_TEXT, "torch._functorch.config"),
        "compiler_config": (JSON_TEXT, "torch.compiler.config"),
        "config_suppress_errors": ("", ""),
        "config_inline_inbuilt_nn_modules": ("", ""),
        "inline_inbuilt_nn_modules_candidate": ("", ""),
    },
}
KNOWN: dict[str, About] = {
    name: About(group, *rest) for group, fields in _TABLE.items() for name, rest in fields.items()
}
ORDER = {name: number for number, name in enumerate(KNOWN)}
CONFIGS = ("dynamo_config", "inductor_config", "functorch_config", "compiler_config")
"""Whole configurations, JSON in a string."""
OF_ONE = frozenset((
    "compile_id", "frame_key", "co_name", "co_filename", "co_firstlineno", "stack_trace", "exception_stack_trace",
    "fail_user_frame_filename", "fail_user_frame_lineno", "graph_node_shapes", "inductor_provenance",
    "recompile_reason", "recompile_user_contexts", "triton_kernel_compile_times_us", "log_format_version",
))  # fmt: skip
"""Fields that describe one compile only."""
COPIES = frozenset(name for name, known in KNOWN.items() if "copy of" in known.help or "older copy" in known.help)
"""Fields that repeat another one in another unit."""
VERSIONS = ("pytorch_version", "python_version", "cuda_version", "triton_version")
_SUFFIXES = (("_us", MICROS), ("_ms", MILLIS), ("_ns", NANOS), ("_time_s", SECONDS), ("_seconds", SECONDS),
             ("_bytes", BYTES), ("_count", COUNT))  # fmt: skip


def about(name: str) -> About:
    """Return the description of a field, or derive it from its name."""
    results = KNOWN.get(name)
    if results is not None:
        return results
    unit = next((unit for suffix, unit in _SUFFIXES if name.endswith(suffix)), "")
    if unit == MICROS and name.endswith("start_time_us"):
        unit = EPOCH_US
    return About(CONFIG if name.endswith("_config") else OTHER, unit)


@frozen
class Field:
    """One field of a metrics record. Configurations are parsed."""

    name: str
    group: str
    unit: str
    help: str
    value: Any


@frozen
class MetricsRecord:
    """One metrics record."""

    ref: str
    event: str
    fields: tuple[Field, ...]
    """Grouped, in the order in which they are shown."""


@frozen
class Specialized:
    """A symbol that was fixed to a value. It has a record of its own."""

    symbol: str
    sources: tuple[str, ...]
    value: str
    reason: str | None
    record: str


@frozen
class GuardAdded:
    """A guard on symbols. It has a record of its own."""

    expression: str
    record: str


@frozen
class CompileMetrics:
    """The metrics of one compile."""

    schema: int
    ref: str
    records: tuple[MetricsRecord, ...]
    first: str | None
    """The address of the first compile of the run with metrics, to which the configurations were compared; None for itself."""
    same_configs: tuple[str, ...]
    """Configurations that are the same as there."""
    specializations: tuple[Specialized, ...]
    guards_added: tuple[GuardAdded, ...]
    """Guards on symbols as they were added."""


def metrics_of(compile_: Compile, first: Compile | None = None) -> CompileMetrics:
    """Return all metrics of a compile. `first`: a compile to compare configurations with."""
    reader = reader_of(compile_)
    refs = {a.record: str(a.ref) for a in artifacts_of(compile_) if a.is_metrics}
    raw = [(m, reader.event(m.record)) for m in sorted(compile_.metrics, key=lambda m: m.record)]
    records = tuple(MetricsRecord(refs.get(m.record, str(compile_.ref)), m.event, fields_of(values)) for m, values in raw)
    same: tuple[str, ...] = ()
    other = first if first is not compile_ else None
    if other is not None and raw:
        theirs = reader_of(other).event(other.metrics[0].record)
        same = tuple(name for name in CONFIGS if raw[0][1].get(name) and raw[0][1].get(name) == theirs.get(name))
    return CompileMetrics(
        1, str(compile_.ref), records, str(other.ref) if other is not None else None, same,
        _specialized(compile_, reader), _guards(compile_, reader),
    )  # fmt: skip


def _specialized(compile_: Compile, reader: Reader) -> tuple[Specialized, ...]:
    found = []
    for record, _ in records_of(compile_, ("symbolic_shape_specialization",)):
        fields = reader.event(record)
        sources = tuple(source for source in list_in(fields, "sources") if isinstance(source, str))
        found.append(Specialized(
            text_in(fields, "symbol") or "?", sources, str(fields.get("value", "?")), text_in(fields, "reason"),
            record_page(compile_.process, record),
        ))  # fmt: skip
    return tuple(found)


def _guards(compile_: Compile, reader: Reader) -> tuple[GuardAdded, ...]:
    return tuple(
        GuardAdded(text_in(reader.event(record), "expr") or "?", record_page(compile_.process, record))
        for record, _ in records_of(compile_, ("guard_added_fast",))
    )


def fields_of(values: dict[str, Any]) -> tuple[Field, ...]:
    """Return the fields by group, in table order; unknown ones last in their written order."""
    found = []
    for name, value in values.items():
        known = about(name)
        if known.unit == JSON_TEXT or known.group == CONFIG:
            value = parsed(value)
            if isinstance(value, list):
                value = [parsed(item) for item in value]
        found.append(Field(name, known.group, known.unit, known.help, value))
    return tuple(sorted(found, key=lambda f: (GROUPS.index(f.group), ORDER.get(f.name, len(ORDER)))))


def parsed(value: Any) -> Any:
    """Parse JSON in a string; return any other value unchanged."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse_json(value.encode("utf-8", "surrogatepass"))
    except ValueError:
        return value


@frozen
class Variant:
    """A value that some of the records have."""

    value: Any
    count: int
    ranks: tuple[int | None, ...]
    first: str
    """The address of the first compile with it."""


@frozen
class Setting:
    """An entry of a configuration, or another field, that is not the same everywhere: the most frequent value first."""

    where: str
    """The configuration, '' for a field of its own."""
    name: str
    values: tuple[Variant, ...]


@frozen
class Total:
    """A number over all records that have it."""

    name: str
    group: str
    unit: str
    help: str
    count: int
    sum: float | None
    """None where a sum would mean nothing."""
    least: float
    most: float
    most_ref: str
    """The address of the first compile with the most."""


@frozen
class Config:
    """A whole configuration, as the first record has it."""

    name: str
    ref: str
    variants: int
    """Different ones in the run."""
    values: Any


@frozen
class RunMetrics:
    """The metrics of a part of the run."""

    schema: int
    ref: str
    compiles: int
    """Those with metrics."""
    records: int
    unreadable: int
    settings: tuple[Setting, ...]
    """What differs between compiles: entries of configurations, versions."""
    texts: tuple[Setting, ...]
    """Fields that are no numbers, with their values."""
    totals: tuple[Total, ...]
    configs: tuple[Config, ...]
    empty: tuple[str, ...]
    """Fields that are null in every record."""
