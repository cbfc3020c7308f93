"""Metrics of compiles, and their sums over a part of a run."""

from __future__ import annotations

import hashlib
import threading
from array import array
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tltui.model.artifacts import artifacts_of
from tltui.model.derived_cache import Parts
from tltui.model.node_answers import part, reader_of
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, list_in, records_of, text_in
from tltui.questions.shapes.shape_env import Value, value_of
from tltui.questions.timing.timing_events import record_page
from tltui.text.frozen import frozen, mutable
from tltui.trace.grammar import number, parse_json

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
        "stack_trace": ("", "callers of the function, outermost first"),
        "is_forward": ("", ""),
        "is_runtime": ("", "measured when the compiled code ran"),
        "has_guarded_code": ("", "whether the compile produced code to run"),
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
        "restart_reasons": ("", "restart reasons; torch empties the field when the compile failed"),
        "non_compliant_ops": ("", "custom operators that are not PT2 compliant"),
        "compliant_custom_ops": ("", "custom operators that are PT2 compliant"),
        "num_graph_breaks": (RUNNING, "running total of the process, not of this compile"),
    },
    TIME: {
        "start_time_us": (EPOCH_US, ""),
        "end_time_us": (EPOCH_US, ""),
        "start_time": (EPOCH_S, "copy of start_time_us"),
        "duration_us": (MICROS, "the whole compile"),
        "dynamo_cumulative_compile_time_us": (MICROS, "the entire frame, including the next four fields"),
        "aot_autograd_cumulative_compile_time_us": (MICROS, "the backend, including the next three fields"),
        "inductor_cumulative_compile_time_us": (MICROS, "Inductor, including the next two fields"),
        "inductor_code_gen_cumulative_compile_time_us": (MICROS, "code generation, including the next field"),
        "triton_compile_time_us": (MICROS, "compiling kernels (on a CPU, C++) or waiting for them"),
        "backward_cumulative_compile_time_us": (MICROS, "the whole backward, compiled later"),
        "pre_grad_pass_time_us": (MICROS, ""),
        "joint_graph_pass_time_us": (MICROS, ""),
        "post_grad_pass_time_us": (MICROS, ""),
        "gc_time_us": (MICROS, "Python's garbage collection"),
        "guard_latency_us": (MICROS, "checking the guards once"),
        "dynamo_compile_time_before_restart_us": (MICROS, "lost to restarts; the entire time if the compile failed"),
        "structured_logging_overhead_us": (MICROS, "writing this trace"),
        "compile_time_autotune_time_us": (MICROS, ""),
        "runtime_triton_autotune_time_us": (MICROS, "at the first call"),
        "runtime_cudagraphify_time_us": (MICROS, "recording CUDA graphs at run time"),
        "distributed_ephemeral_timeout_us": (MICROS, "time added to the timeout of collectives after cache hits"),
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
        "remote_cache_time_saved_s": (SECONDS, "in fact a copy of distributed_ephemeral_timeout_us"),
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
        "recompile_reason": ("", "only the failed guard of the newest earlier compile"),
        "recompile_user_contexts": ("", ""),
        "cache_size": (RUNNING, "earlier compiles of this code for the same objects"),
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
FIELDS: dict[str, About] = {
    name: About(group, *rest) for group, fields in _TABLE.items() for name, rest in fields.items()
}
ORDER = {name: number for number, name in enumerate(FIELDS)}
CONFIGS = ("dynamo_config", "inductor_config", "functorch_config", "compiler_config")
"""Complete configurations, JSON in a string."""
OF_ONE = frozenset((
    "compile_id", "frame_key", "co_name", "co_filename", "co_firstlineno", "stack_trace", "exception_stack_trace",
    "fail_user_frame_filename", "fail_user_frame_lineno", "graph_node_shapes", "inductor_provenance",
    "recompile_reason", "recompile_user_contexts", "triton_kernel_compile_times_us", "log_format_version",
))  # fmt: skip
"""Fields that describe one compile only."""
COPIES = frozenset(name for name, field in FIELDS.items() if "copy of" in field.help or "older copy" in field.help)
"""Fields that repeat another one in another unit."""
VERSIONS = ("pytorch_version", "python_version", "cuda_version", "triton_version")
_SUFFIXES = (("_us", MICROS), ("_ms", MILLIS), ("_ns", NANOS), ("_time_s", SECONDS), ("_seconds", SECONDS),
             ("_bytes", BYTES), ("_count", COUNT))  # fmt: skip


def about(name: str) -> About:
    """Return the description of a field, or derive it from its name."""
    results = FIELDS.get(name)
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
    value: Value
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

    ref: str
    records: tuple[MetricsRecord, ...]
    first_ref: str | None
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
        str(compile_.ref), records, str(other.ref) if other is not None else None, same,
        _specialized(compile_, reader), _guards(compile_, reader),
    )  # fmt: skip


def _specialized(compile_: Compile, reader: Reader) -> tuple[Specialized, ...]:
    specialized = []
    for record, _ in records_of(compile_, ("symbolic_shape_specialization",)):
        fields = reader.event(record)
        sources = tuple(source for source in list_in(fields, "sources") if isinstance(source, str))
        specialized.append(Specialized(
            text_in(fields, "symbol") or "?", sources, value_of(fields.get("value", "?")), text_in(fields, "reason"),
            record_page(compile_.process, record),
        ))  # fmt: skip
    return tuple(specialized)


def _guards(compile_: Compile, reader: Reader) -> tuple[GuardAdded, ...]:
    return tuple(
        GuardAdded(text_in(reader.event(record), "expr") or "?", record_page(compile_.process, record))
        for record, _ in records_of(compile_, ("guard_added_fast",))
    )


def fields_of(values: dict[str, Any]) -> tuple[Field, ...]:
    """Return the fields by group, in table order; unknown ones last in their written order."""
    fields = []
    for name, value in values.items():
        meaning = about(name)
        if meaning.unit == JSON_TEXT or meaning.group == CONFIG:
            value = parsed(value)
            if isinstance(value, list):
                value = [parsed(item) for item in value]
        fields.append(Field(name, meaning.group, meaning.unit, meaning.help, value))
    return tuple(sorted(fields, key=lambda f: (GROUPS.index(f.group), ORDER.get(f.name, len(ORDER)))))


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
    first_ref: str
    """The address of the first compile with it."""


@frozen
class Setting:
    """An entry of a configuration, or another field, that is not the same everywhere: the most frequent value first."""

    config: str
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
    """None if a sum has no meaning."""
    min: float
    max: float
    max_ref: str
    """The address of the first compile with the most."""


@frozen
class Config:
    """A complete configuration, as the first record has it."""

    name: str
    ref: str
    variants: int
    """Different ones in the run."""
    values: Any


@frozen
class RunMetrics:
    """The metrics of a part of the run."""

    ref: str
    compiles: int
    """The number of compiles with metrics."""
    records: int
    unreadable: int
    settings: tuple[Setting, ...]
    """Differences between compiles: entries of configurations, versions."""
    texts: tuple[Setting, ...]
    """Fields that are no numbers, with their values."""
    totals: tuple[Total, ...]
    configs: tuple[Config, ...]
    empty: tuple[str, ...]
    """Fields that are null in every record."""


AT_ONCE = 32
"""Compiles between two yields."""
VALUES_COUNTED = 8
"""Maximum number of distinct values per field."""
TEXT_LIMIT = 300
SETTINGS_LISTED = 400
MISSING = "(not there)"
OTHERS = "(other values)"


@frozen
class _Form:
    """Field names shared by most records."""

    numbers: tuple[str, ...]
    empty: tuple[str, ...]
    """Fields that are null."""
    filled: tuple[str, ...]
    """All others."""


@frozen
class _Record:
    """One metrics record."""

    form: int
    """Number of its form in the `_Table` of the run."""
    numbers: bytes
    """An array of type d, in the order of the form."""
    texts: bytes
    """An array of type I: numbers of texts in the table."""
    configs: tuple[tuple[str, bytes], ...]
    """Its configurations, with the md5 of each."""


class _Table:
    """Forms and texts of the records of a run, each once. It only grows."""

    def __init__(self) -> None:
        self.forms: list[_Form] = []
        self.texts: list[tuple[str, str, Any]] = []
        """Field, text as which a value counts, and the value."""
        self._forms: dict[_Form, int] = {}
        self._texts: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def record(self, values: dict[str, Any]) -> _Record:
        """Return the compact form of a record."""
        numbers: dict[str, float] = {}
        texts: list[int] = []
        configs: list[tuple[str, bytes]] = []
        empty: list[str] = []
        filled: list[str] = []
        with self._lock:
            for name, value in values.items():
                (empty if value is None else filled).append(name)
                if value is None or value == [] or value == {} or name in OF_ONE:
                    continue
                if name.endswith("_config") and isinstance(value, str):
                    configs.append((name, _digest(value)))
                elif (amount := number(value)) is not None:
                    numbers[name] = amount
                elif isinstance(value, list):
                    texts += [self._text(name, item) for item in value[:VALUES_COUNTED]]
                else:
                    texts.append(self._text(name, value))
            form = _Form(tuple(numbers), tuple(empty), tuple(filled))
            place = self._forms.setdefault(form, len(self.forms))
            if place == len(self.forms):
                self.forms.append(form)
        return _Record(place, array("d", numbers.values()).tobytes(), array("I", texts).tobytes(), tuple(configs))

    def _text(self, name: str, value: Any) -> int:
        text = repr(value)[:TEXT_LIMIT]
        place = self._texts.setdefault((name, text), len(self.texts))
        if place == len(self.texts):
            self.texts.append((name, text, value))
        return place


def _digest(text: str) -> bytes:
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()


_TABLES: WeakKeyDictionary[Parts, _Table] = WeakKeyDictionary()


def _table(process: Process) -> _Table:
    return _TABLES.setdefault(process.parts, _Table())


@part
def _records(compile_: Compile, reader: Reader) -> tuple[_Record, ...]:
    """Return the metrics records of a compile."""
    table = _table(compile_.process)
    return tuple(table.record(reader.event(metrics.record)) for metrics in compile_.metrics)


def run_metrics(ref: str, compiles: Sequence[Compile]) -> Generator[None, None, RunMetrics]:
    """Return the metrics of many compiles. Yields now and then: every record holds complete configurations."""
    sums: _Sums | None = None
    measured = [compile_ for compile_ in compiles if compile_.metrics]
    for n, compile_ in enumerate(measured):
        if sums is None:
            sums = _Sums(_table(compile_.process))
        for place, record in enumerate(_records(compile_)):
            sums.add(record, compile_, place)
        if n % AT_ONCE == AT_ONCE - 1:
            yield
    if sums is None:
        return RunMetrics(ref, 0, 0, 0, (), (), (), (), ())
    yield
    return sums.result(ref, len(measured))


@mutable(eq=False)
class _ValueCount:
    value: Any
    first: str
    ranks: dict[int | None, int] = field(default_factory=dict)
    """Rank → records."""

    def add(self, rank: int | None, count: int = 1) -> None:
        if count > 0:
            self.ranks[rank] = self.ranks.get(rank, 0) + count

    def variant(self) -> Variant:
        ranks = tuple(sorted(self.ranks, key=lambda rank: (rank is None, rank or 0)))
        return Variant(self.value, sum(self.ranks.values()), ranks, self.first)


def _count(counts: dict[str, _ValueCount], text: str, value: Any, where: Compile, rank: int | None, count: int) -> None:
    """Count a value; at most `TEXTS_KEPT` different ones, the rest together."""
    if text not in counts and len(counts) >= VALUES_COUNTED:
        text, value = "…", OTHERS
    if text not in counts:
        counts[text] = _ValueCount(value, str(where.ref))
    counts[text].add(rank, count)


def _by_count(counts: Iterable[_ValueCount]) -> tuple[Variant, ...]:
    return tuple(sorted((item.variant() for item in counts if item.ranks), key=lambda variant: -variant.count))


@mutable(eq=False)
class _Number:
    count: int = 0
    sum: float = 0.0
    least: float = float("inf")
    most: float = float("-inf")
    most_at: Compile | None = None

    def add(self, amounts: Sequence[float], compiles: Sequence[Compile]) -> None:
        """Add a column of numbers with their compiles."""
        self.count += len(amounts)
        self.sum += sum(amounts)
        if (least := min(amounts)) < self.least:
            self.least = least
        if (most := max(amounts)) > self.most:
            self.most, self.most_at = most, compiles[amounts.index(most)]


class _Config:
    """Variants of one configuration: the first one complete, of others the differences."""

    def __init__(self, text: str, where: str) -> None:
        self.first = where
        self.values = _entries(text)
        self.variants = 0
        self._total: dict[int | None, int] = {}
        self._counts: dict[str, dict[str, _ValueCount]] = {}
        """Entry → value as text → its records; only values that are not those of the first."""

    def add(self, text: str, where: Compile, ranks: dict[int | None, int]) -> None:
        """Add a variant with its number of records per rank."""
        self.variants += 1
        values = _entries(text)
        keys = [*self.values, *(key for key in values if key not in self.values)]
        apart = [(key, values.get(key, MISSING)) for key in keys if values.get(key, MISSING) != self.values.get(key, MISSING)]
        for rank, count in ranks.items():
            self._total[rank] = self._total.get(rank, 0) + count
            for key, value in apart:
                _count(self._counts.setdefault(key, {}), repr(value)[:TEXT_LIMIT], value, where, rank, count)

    def settings(self, name: str) -> Iterator[Setting]:
        """Yield the entries that differ."""
        for key, others in list(self._counts.items())[:SETTINGS_LISTED]:
            first = _ValueCount(self.values.get(key, MISSING), self.first)
            for rank, count in self._total.items():
                first.add(rank, count - sum(other.ranks.get(rank, 0) for other in others.values()))
            yield Setting(name, key, _by_count([first, *others.values()]))


def _entries(text: str) -> dict[str, Any]:
    value = parsed(text)
    return value if isinstance(value, dict) else {"": value}


@mutable(eq=False)
class _Variant:
    """Text of a configuration: its first occurrence, and its records per rank."""

    compile: Compile
    place: int
    ranks: dict[int | None, int] = field(default_factory=dict)


class _Sums:
    """The sums of records; those with the same form and texts are counted together."""

    def __init__(self, table: _Table) -> None:
        self._table = table
        self._records = 0
        self._columns: dict[int, tuple[list[bytes], list[Compile]]] = {}
        self._texts: dict[tuple[int | None, bytes], tuple[Compile, list[int]]] = {}
        self._configs: dict[str, dict[bytes, _Variant]] = {}

    def add(self, record: _Record, compile_: Compile, place: int) -> None:
        """Add the `place`-th metrics record of a compile."""
        self._records += 1
        rank = compile_.process.rank
        column = self._columns.get(record.form)
        if column is None:
            column = self._columns[record.form] = [], []
        column[0].append(record.numbers)
        column[1].append(compile_)
        key = rank, record.texts
        counted = self._texts.get(key)
        if counted is None:
            self._texts[key] = compile_, [1]
        else:
            counted[1][0] += 1
        for name, digest in record.configs:
            variants = self._configs.setdefault(name, {})
            variant = variants.get(digest)
            if variant is None:
                variant = variants[digest] = _Variant(compile_, place)
            variant.ranks[rank] = variant.ranks.get(rank, 0) + 1

    def result(self, ref: str, compiles: int) -> RunMetrics:
        """Return the sums."""
        configs = {name: _config(name, variants) for name, variants in self._configs.items()}
        settings = tuple(setting for name, config in configs.items() for setting in config.settings(name))
        empty: dict[str, bool] = {}
        unreadable = 0
        for number_, (_, members) in self._columns.items():
            form = self._table.forms[number_]
            empty.update((name, False) for name in form.filled)
            for name in form.empty:
                empty.setdefault(name, True)
            unreadable += 0 if form.filled or form.empty else len(members)
        return RunMetrics(
            ref, compiles, self._records, unreadable, settings, self._values(), self._totals(),
            tuple(Config(name, config.first, config.variants, config.values) for name, config in configs.items()),
            tuple(name for name, is_empty in empty.items() if is_empty),
        )  # fmt: skip

    def _values(self) -> tuple[Setting, ...]:
        counts: dict[str, dict[str, _ValueCount]] = {}
        for (rank, texts), (compile_, (count,)) in self._texts.items():
            for place, times in Counter(array("I", texts)).items():
                name, text, value = self._table.texts[place]
                _count(counts.setdefault(name, {}), text, value, compile_, rank, count * times)
        settings = [Setting("", name, _by_count(values.values())) for name, values in counts.items()]
        return tuple(sorted(settings, key=lambda setting: _place(setting.name)))

    def _totals(self) -> tuple[Total, ...]:
        numbers: dict[str, _Number] = {}
        for form, (rows, compiles) in self._columns.items():
            names = self._table.forms[form].numbers
            amounts = array("d", b"".join(rows))
            for n, name in enumerate(names):
                numbers.setdefault(name, _Number()).add(amounts[n :: len(names)], compiles)
        totals = []
        for name, amount in numbers.items():
            meaning = about(name)
            total = amount.sum if meaning.unit in SUMMED else None
            totals.append(Total(
                name, meaning.group, meaning.unit, meaning.help, amount.count, total, amount.least, amount.most,
                str(amount.most_at.ref) if amount.most_at is not None else "",
            ))  # fmt: skip
        return tuple(sorted(totals, key=lambda total: _place(total.name)))


def _config(name: str, variants: dict[bytes, _Variant]) -> _Config:
    """Read the variants of a configuration again, one of each: it may have 40 KB, and every compile has it."""
    config: _Config | None = None
    for variant in variants.values():
        compile_ = variant.compile
        text = reader_of(compile_).event(compile_.metrics[variant.place].record).get(name)
        if not isinstance(text, str):
            text = ""
        if config is None:
            config = _Config(text, str(compile_.ref))
        config.add(text, compile_, variant.ranks)
    assert config is not None
    return config


def _place(name: str) -> tuple[int, int]:
    return GROUPS.index(about(name).group), ORDER.get(name, len(ORDER))
