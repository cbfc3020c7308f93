"""Autotuning by operation and shape, and the configurations of kernels that it left in Inductor's cache.

An event `NAME_template_autotuning` of a trace has the shapes of the inputs and, from torch 2.8 on, the winner
(`autotune_choices_stats`). A table in the output of the job has all choices with their times (`log_results` in
torch/_inductor/select_algorithm.py of torch 2.4 to 2.13). Tables and events of one operation and shape are paired in their order.

Files `*.best_config` are read as JSON within limits. Source: `AutotuneCache.save` in torch/_inductor/runtime/autotune_cache.py of
torch 2.4 to 2.14. The name of a file is a hash of the kernel and of torch; the kernel's name comes from Triton's cache next to it,
or from the kernel's source in the same directory.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from math import isfinite
from typing import Any

from tltui.inputs.debug_directory import DebugLog
from tltui.inputs.directory_layouts import BEST_CONFIG
from tltui.inputs.vllm_cache import NotParsed, parse_object
from tltui.model.log_model import OTHER_TEXT
from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, number_in, records_of, text_in, whole_in
from tltui.model.run import Run
from tltui.questions.job_failures.job_failures import outputs_of
from tltui.questions.stacks.tracebacks import display_name
from tltui.questions.timing.timing_events import event_in
from tltui.text.frozen import frozen, mutable
from tltui.text.graphs.fx_graph import FxGraph, FxNode, parse
from tltui.text.torch_names import is_framework
from tltui.trace.log import Log

EXTERN = frozenset((
    "mm", "addmm", "bmm", "baddbmm", "_int_mm", "_scaled_mm", "_grouped_mm", "_scaled_grouped_mm", "_sparse_semi_structured_mm",
    "convolution", "_mm_plus_mm", "_mkl_linear", "_linear_pointwise", "_qlinear_pointwise", "qlinear_pointwise", "mm_plus_mm",
    "mm_dtype", "bmm_dtype", "call_aten_dw", "call_aten_dx", "_weight_int8pack_mm", "fallback_mixed_mm",
))  # fmt: skip
"""Kernels outside of Inductor that torch calls without max-autotune too: `ExternKernelChoice` in torch/_inductor/kernel."""
TEMPLATES = ("triton_", "cutlass_", "cpp_", "ck_", "rocm_", "decompose_k", "nv_universal_gemm", "cutedsl_", "tlx_", "subgraph_")
"""Beginnings of the names of kernels that Inductor generates."""
UNCHANGED, CHANGED, UNKNOWN = "unchanged", "changed", "unknown"
_TUNING = re.compile(r"^(?P<op>.+)_template_(?P<step>autotuning|precompiling)$")
_SYMBOL = re.compile(r"[^\dx, ]")
_NUMBER = re.compile(r"_\d+$")
_GROUP = re.compile(r"[\[(]([^\[\]()]*)[\])]")
_SHAPE = re.compile(r"^\w+\[([^\]]*)\]")
_NODES = {
    "packed_linear": ("_mkl_linear",), "linear_unary": ("_linear_pointwise",), "linear_binary": ("_linear_pointwise",),
    "int_mm": ("_int_mm",), "scaled_mm": ("_scaled_mm",), "grouped_mm": ("_grouped_mm",), "conv2d": ("convolution",),
    "addmm": ("addmm", "mm"), "mm": ("mm", "addmm"), "baddbmm": ("baddbmm", "bmm"),
    "convolution_bwd_input": ("convolution_backward",), "convolution_bwd_weight": ("convolution_backward",),
    "flex_decoding": ("flex_attention",),
}  # fmt: skip
"""Tuned operation → operators of its graph nodes, where these differ: torch moves a bias in or out of a matmul."""
CHOICES_SHOWN = 10

NEEDLE = b"AUTOTUNE "
LONGEST_BLOCK = 2000
"""Lines of a table; torch prints ten choices by default."""
_HEAD = re.compile(r"AUTOTUNE (?P<op>[\w.:]{1,100})\((?P<shape>[^()\n]{0,1000})\)\s*$")
_CLOCK = re.compile(r"^\[?\d{4}-\d\d-\d\d[T ] ?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?")
"""The time that a log collector prints before a line; it differs within a table."""
_TENSORS = re.compile(r"(?P<name>strides|dtypes): (?P<value>.{0,2000})$")
_TIME = r"(?P<ms>\d{1,12}\.\d{1,9}|inf|nan) ms (?:\d+(?:\.\d+)?%|nan%|<DIVIDED BY ZERO ERROR>)"
_CHOICE = re.compile(rf"  (?P<name>\S{{1,300}}) {_TIME} ?(?P<description>.*)$")
_END = re.compile(
    r"(?:SubProcess|SingleProcess) AUTOTUNE (?:benchmarking )?takes (?P<benchmark>\d{1,9}\.\d+) seconds"
    r"(?: and (?P<precompile>\d{1,9}\.\d+) seconds precompiling(?: for (?P<choices>\d{1,9}) choices)?)?"
    r"(?: and (?P<prescreen>\d{1,9}\.\d+) seconds prescreening)?"
)

LIMIT = 64 << 10
"""Bytes of a `*.best_config` that is parsed: torch writes a few hundred."""
MOST = 10_000
"""Files `*.best_config` that are parsed."""
PARAMETERS = 40
TEXT_LIMIT = 100
LISTED = 2000
"""Entries of a directory that are looked at."""
SOURCE_LIMIT = 256 << 10
_HASH = re.compile(r"[A-Za-z0-9]{16,128}")
_KERNEL = re.compile(rb"'kernel_name': '(\w{1,300})'")
_NOT_PARAMETERS = frozenset((
    "configs_hash", "found_by_coordesc", "time_taken_ms", "triton_cache_hash", "num_warps", "num_stages", "extra_options",
    "num_consumer_groups", "num_buffers_warp_spec",
))  # fmt: skip
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@frozen
class Choice:
    """An implementation that was benchmarked."""

    name: str
    time_us: float | None
    """Microseconds; None if it failed or timed out (torch prints `inf`)."""
    description: str
    """Its parameters in torch's words."""


@frozen
class SourceLine:
    """A line of the program with a tuned operation."""

    file: str
    line: int
    code: str
    node: str
    """Its node in the post-grad graph."""


@frozen
class Tuning:
    """The search for one operation and shape."""

    ref: str
    """The address of the compile; '' where only the output of the job shows it."""
    function: str | None
    rank: int | None
    op: str
    """The operation as torch names it: `mm`, `addmm`, `convolution`, `flex_attention`."""
    sizes: tuple[tuple[int | str, ...], ...]
    """Sizes of its inputs, one list per input; empty if the log has none."""
    strides: tuple[tuple[int | str, ...], ...]
    dtypes: tuple[str, ...]
    choices: tuple[Choice, ...]
    """The printed choices, the fastest first; empty without a printed table."""
    choice_count: int | None
    winner: str
    """The fastest choice; '' if unknown."""
    winner_us: float | None
    """Its time in microseconds."""
    result: str
    """`unchanged` (the winner is a kernel that torch uses without max-autotune), `changed` (a generated kernel won), `unknown`."""
    speedup: float | None
    """Time of the fastest extern kernel by that of the winner; None without a printed table that has both."""
    benchmark_s: float | None
    """Seconds of benchmarks, with the compilation of C++ kernels."""
    precompile_s: float | None
    lines: tuple[SourceLine, ...]
    """Lines of the program with this operation and these shapes; empty if the graph is not recorded."""

    @property
    def shape(self) -> str:
        """The sizes of its inputs as torch prints them: `16x64, 64x32`."""
        return shape_text(self.sizes)


@frozen
class TuningChange:
    """One operation and shape in two runs."""

    op: str
    sizes: tuple[tuple[int | str, ...], ...]
    old_winner: str
    """'' if the old run did not tune it, or if the winner is unknown."""
    new_winner: str
    old_us: float | None
    new_us: float | None

    @property
    def shape(self) -> str:
        """The sizes of its inputs as torch prints them."""
        return shape_text(self.sizes)


@frozen
class Parameter:
    """A parameter of a kernel."""

    name: str
    """Its name, such as `XBLOCK`."""
    value: int | str


@frozen
class Configuration:
    """The chosen configuration of one Triton kernel."""

    kernel: str
    """Its name; '' if the cache does not show it."""
    candidates: tuple[str, ...]
    """Kernels in its directory, if `kernel` is unknown: one of them has this configuration."""
    parameters: tuple[Parameter, ...]
    """Its parameters, without warps and stages."""
    num_warps: int | None
    num_stages: int | None
    search_s: float | None
    """Seconds of the search; torch rounds them down to milliseconds."""
    by_coordinate_descent: bool | None
    """Whether coordinate descent found it; None if not recorded."""
    file: str
    """The path of the file."""

    @property
    def text(self) -> str:
        """Return it as `XBLOCK=128 num_warps=4 num_stages=1`."""
        more = (("num_warps", self.num_warps), ("num_stages", self.num_stages))
        texts = [f"{item.name}={item.value}" for item in self.parameters]
        return " ".join((*texts, *(f"{name}={value}" for name, value in more if value is not None)))


@frozen
class Configurations:
    """The files `*.best_config` of a run."""

    configurations: tuple[Configuration, ...]
    """The longest search first."""
    refused: tuple[str, ...]
    """Files that were not parsed, with reasons."""


@frozen
class ConfigurationChange:
    """A kernel with another configuration than in the baseline."""

    kernel: str
    old: str
    """`XBLOCK=128 num_warps=4 num_stages=1`."""
    new: str

    @property
    def text(self) -> str:
        """Return the parameters that differ: `XBLOCK 128 → 256, num_warps 4 → 8`."""
        old, new = (dict(item.split("=", 1) for item in side.split(" ") if "=" in item) for side in (self.old, self.new))
        names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
        return ", ".join(f"{name} {old.get(name, '–')} → {new.get(name, '–')}" for name in names)


NO_CONFIGURATIONS = Configurations((), ())


@frozen
class AutotuneReport:
    """All searches of a part of a run."""

    tunings: tuple[Tuning, ...]
    """The most expensive first."""
    search_s: float
    """Seconds of all searches."""
    unchanged: int
    """Searches that an extern kernel won."""
    changed: int
    unknown: int
    differences: tuple[TuningChange, ...] = ()
    """Operations and shapes with another winner than in the run of `--baseline`, or tuned in one run only."""
    baseline_search_s: float | None = None
    """Seconds of all searches of that run; None without one."""
    configurations: tuple[Configuration, ...] = ()
    """Configurations of Triton kernels in Inductor's cache, the longest search first."""
    refused: tuple[str, ...] = ()
    """Files of that cache that were not read, with reasons."""
    configured: tuple[ConfigurationChange, ...] = ()
    """Kernels with another configuration than in the run of `--baseline`."""


@frozen
class PrintedTable:
    """One table in the output of the job."""

    op: str
    shape: str
    """Sizes of the inputs: `16x64, 64x32`."""
    strides: str
    dtypes: str
    choices: tuple[Choice, ...]
    """As printed, the fastest first: torch prints ten at most by default."""
    benchmark_s: float | None
    """None where the table is cut before its last line."""
    precompile_s: float | None
    choice_count: int | None
    offset: int
    """Bytes from the beginning of the file."""


@frozen
class _Event:
    """One search in a trace."""

    op: str
    fields: dict[str, Any]
    benchmark_s: float | None
    precompile_s: float | None


@mutable
class _Block:
    op: str
    shape: str
    offset: int
    tensors: dict[str, str] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)
    lines: int = 0

    def done(self, end: re.Match[str] | None = None) -> PrintedTable:
        """Return the table; `end`: its last line."""
        fields = end.groupdict() if end is not None else {}
        benchmark, precompile, count = (fields.get(name) for name in ("benchmark", "precompile", "choices"))
        return PrintedTable(
            self.op, self.shape, self.tensors.get("strides", ""), self.tensors.get("dtypes", ""), tuple(self.choices),
            float(benchmark) if benchmark else None, float(precompile) if precompile else None, int(count) if count else None,
            self.offset,
        )  # fmt: skip


def report_of(run: Run, compiles: Sequence[Compile], with_output: bool = True) -> AutotuneReport:
    """Return the searches of compiles. `with_output`: also those in the output of the job, whose compile is unknown."""
    tables = list(printed_tables(run)) if with_output else []
    by_key: dict[tuple[str, str], list[PrintedTable]] = defaultdict(list)
    for table in tables:
        by_key[table.op, shape_text(sizes_in(table.shape))].append(table)
    tunings: list[Tuning] = []
    for compile_ in compiles:
        for event, lines in zip(events_in(compile_), lines_of(compile_), strict=True):
            shape = text_in(event.fields, "autotune_shape_hinted") or text_in(event.fields, "autotune_shape") or ""
            matching = by_key.get((event.op, shape_text(sizes_in(shape))), [])
            tunings.append(_of_event(compile_, event, shape, matching.pop(0) if matching else None, lines))
    tunings += [_of_table(table) for rest in by_key.values() for table in rest]
    tunings.sort(key=lambda tuning: -(tuning.benchmark_s or 0.0))
    seconds = sum((tuning.benchmark_s or 0.0) + (tuning.precompile_s or 0.0) for tuning in tunings)
    counts = Counter(tuning.result for tuning in tunings)
    cached = configurations_of(run) if with_output else NO_CONFIGURATIONS
    return AutotuneReport(
        tuple(tunings), seconds, counts[UNCHANGED], counts[CHANGED], counts[UNKNOWN], configurations=cached.configurations,
        refused=cached.refused,
    )  # fmt: skip


def compared_with(report: AutotuneReport, old: AutotuneReport) -> AutotuneReport:
    """Return a report with its differences from an older one. Several searches of one operation and shape are one."""
    before, after = ({(tuning.op, tuning.sizes): tuning for tuning in side.tunings} for side in (old, report))
    differences = []
    for key in dict.fromkeys((*after, *before)):
        left, right = before.get(key), after.get(key)
        names = (left.winner if left else "", right.winner if right else "")
        if left is None or right is None or without_number(names[0]) != without_number(names[1]):
            times = (left.winner_us if left else None, right.winner_us if right else None)
            differences.append(TuningChange(*key, *names, *times))
    configured = configuration_changes(old.configurations, report.configurations)
    return replace(report, differences=tuple(differences), baseline_search_s=old.search_s, configured=configured)


def names_in(text: str) -> tuple[str, ...]:
    """Return the items of a list that torch joined with commas."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


def sizes_in(shape: str) -> tuple[tuple[int | str, ...], ...]:
    """Return the sizes of `16x64, s0x32`, one tuple per input."""
    return tuple(tuple(map(_number, item.split("x"))) for item in names_in(shape))


def shape_text(sizes: Sequence[Sequence[int | str]]) -> str:
    """Return sizes as torch prints them."""
    return ", ".join("x".join(map(str, item)) for item in sizes)


def strides_in(text: str) -> tuple[tuple[int | str, ...], ...]:
    """Return the strides of `(64, 1), (32, 1)` or `[64, 1], [32, 1]`, one tuple per input."""
    return tuple(tuple(map(_number, names_in(item))) for item in _GROUP.findall(text))


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text


def without_number(name: str) -> str:
    """Return the name of a kernel without its number, which depends on the order of the searches."""
    return _NUMBER.sub("", name)


def result_of(winner: str) -> str:
    """Return whether a winner is a kernel that torch would use without max-autotune."""
    if winner in EXTERN:
        return UNCHANGED
    return CHANGED if winner.startswith(TEMPLATES) else UNKNOWN


def _of_event(
    compile_: Compile, event: _Event, shape: str, table: PrintedTable | None, lines: tuple[SourceLine, ...]
) -> Tuning:
    stats = _stats(event.fields)
    choices = table.choices if table is not None else ()
    winner = text_in(stats, "best_kernel") or (choices[0].name if choices else "")
    best = number_in(stats, "best_time")
    winner_us = best * 1e3 if best is not None else choices[0].time_us if choices else None
    count = whole_in(stats, "num_choices")
    return Tuning(
        str(compile_.ref), display_name(compile_.frame), compile_.process.rank, event.op, sizes_in(shape),
        strides_in(text_in(event.fields, "autotune_strides_hinted") or text_in(event.fields, "autotune_strides") or ""),
        names_in(text_in(event.fields, "autotune_dtypes") or ""), choices,
        count if count is not None or table is None else table.choice_count, winner, winner_us, result_of(winner),
        _speedup(choices), event.benchmark_s, event.precompile_s, lines,
    )  # fmt: skip


def _of_table(table: PrintedTable) -> Tuning:
    first = table.choices[0] if table.choices else None
    return Tuning(
        "", None, None, table.op, sizes_in(table.shape), strides_in(table.strides), names_in(table.dtypes), table.choices,
        table.choice_count, first.name if first else "", first.time_us if first else None, result_of(first.name if first else ""),
        _speedup(table.choices), table.benchmark_s, table.precompile_s, (),
    )  # fmt: skip


def _speedup(choices: Sequence[Choice]) -> float | None:
    extern = [choice.time_us for choice in choices if choice.name in EXTERN and choice.time_us is not None]
    best = choices[0].time_us if choices else None
    return min(extern) / best if extern and best else None


def _stats(fields: dict[str, Any]) -> dict[str, Any]:
    """Parse `autotune_choices_stats`, which is JSON in a string."""
    try:
        stats = json.loads(text_in(fields, "autotune_choices_stats") or "{}")
    except (ValueError, RecursionError):
        return {}
    return stats if isinstance(stats, dict) else {}


@part
def events_in(compile_: Compile, reader: Reader) -> tuple[_Event, ...]:
    """Return the searches that the timing events of a compile show, in their order."""
    begins: dict[str, list[float]] = defaultdict(list)
    results: list[_Event] = []
    precompiled: dict[str, float] = {}
    for record, _ in records_of(compile_, ("chromium_event",)):
        data = reader.payload(record)
        if b"_template_" not in data or (event := event_in(data)) is None:
            continue
        match, at = _TUNING.match(text_in(event, "name") or ""), number_in(event, "ts")
        if match is None or at is None:
            continue
        name = match[0]
        if event.get("ph") == "B":
            begins[name].append(at)
        elif event.get("ph") == "E" and begins[name]:
            seconds = (at - begins[name].pop()) / 1e6
            if match["step"] == "precompiling":
                precompiled[match["op"]] = seconds
                continue
            fields = event.get("args")
            results.append(_Event(
                match["op"], fields if isinstance(fields, dict) else {}, seconds, precompiled.pop(match["op"], None)
            ))  # fmt: skip
    return tuple(results)


@part
def lines_of(compile_: Compile, reader: Reader) -> tuple[tuple[SourceLine, ...], ...]:
    """Return for each search of a compile the lines of the program with that operation and these shapes."""
    events = events_in(compile_)
    if not events:
        return ()
    texts = [reader.text(record) for record, _ in records_of(compile_, ("inductor_post_grad_graph",))]
    graphs = [parse(text.split("\n")) for text in texts]
    return tuple(_lines(event, graphs) for event in events)


def _lines(event: _Event, graphs: Iterable[FxGraph]) -> tuple[SourceLine, ...]:
    shape = text_in(event.fields, "autotune_shape") or ""
    sizes = shape.split(", ")
    if not shape or _SYMBOL.search(shape):
        return ()
    operators = _NODES.get(event.op, (event.op,))
    lines = []
    for graph in graphs:
        types = {node.name: _size(node) for node in graph.nodes}
        for node in graph.nodes:
            operator = node.target.removesuffix(".default").rpartition(".")[2]
            if operator in operators and node.origin >= 0 and _is_in(sizes, [types.get(name, "") for name in node.args]):
                origin = graph.origins[node.origin]
                if not is_framework(origin.path):
                    lines.append(SourceLine(origin.path, origin.place, origin.code.strip(), node.name))
    return tuple(dict.fromkeys(lines))


def _size(node: FxNode) -> str:
    """Return the sizes of a node as torch writes those of a search: `16x64`."""
    match = _SHAPE.match(node.type)
    return "x".join(size.strip() for size in match[1].split(",")) if match else ""


def _is_in(sizes: Sequence[str], arguments: Sequence[str]) -> bool:
    """Return whether the sizes are those of arguments in this order. The first may be a bias, which torch expands."""
    for wanted in (sizes, sizes[1:] if len(sizes) > 2 else []):
        rest = iter(arguments)
        if wanted and all(size in rest for size in wanted):
            return True
    return False


def printed_tables(run: Run) -> Iterable[PrintedTable]:
    """Yield the tables in the outputs of the job."""
    for model in outputs_of(run):
        yield from _tables_of(model.log)


def _tables_of(log: Log) -> Iterable[PrintedTable]:
    """Yield the tables of an output. A table may be cut by log records: its lines are read on after them."""
    reader, columns = TableReader(), log.columns
    wanted = {number for number, kind in enumerate(log.kinds) if kind == OTHER_TEXT}
    for record in range(len(log)):
        if columns.kind[record] in wanted:
            for begin, data in log.line_blocks(record):
                if reader.is_open or NEEDLE in data:
                    at = begin
                    for line in data.split(b"\n"):
                        reader.read(at, line.decode("utf-8", "replace"))
                        at += len(line) + 1
    return reader.tables()


class TableReader:
    """Collects the tables of lines in file order. Lines of other writers may be in between; a prefix belongs to its writer."""

    def __init__(self) -> None:
        self._tables: list[PrintedTable] = []
        self._open: dict[str, _Block] = {}

    @property
    def is_open(self) -> bool:
        """Whether a table may go on with the next line."""
        return bool(self._open)

    def read(self, offset: int, line: str) -> None:
        """Read the next line."""
        line = _CLOCK.sub("", line.rstrip("\r\n"))
        at = line.find("AUTOTUNE ")
        if at >= 0 and (head := _HEAD.match(line, at)):
            prefix = line[:at]
            if (block := self._open.pop(prefix, None)) is not None:
                self._tables.append(block.done())
            self._open[prefix] = _Block(head["op"], head["shape"], offset)
            return
        for prefix, block in list(self._open.items()):
            if line.startswith(prefix) and self._goes_on(prefix, block, line[len(prefix) :]):
                return

    def tables(self) -> tuple[PrintedTable, ...]:
        """Return the tables so far, those without an end last."""
        return (*self._tables, *(block.done() for block in self._open.values() if block.choices))

    def _goes_on(self, prefix: str, block: _Block, line: str) -> bool:
        block.lines += 1
        if match := _CHOICE.match(line):
            time_ms = float(match["ms"])
            block.choices.append(Choice(match["name"], time_ms * 1e3 if isfinite(time_ms) else None, match["description"].strip()))
        elif match := _TENSORS.match(line):
            block.tensors[match["name"]] = match["value"].strip()
        elif (end := _END.match(line)) or block.lines > LONGEST_BLOCK:
            self._tables.append(block.done(end))
            del self._open[prefix]
        else:
            return False
        return True


def configurations_of(run: Run) -> Configurations:
    """Read the configurations in the caches among the inputs of a run."""
    read: list[Configuration] = []
    refused: list[str] = []
    for log, record in _configuration_records(run):
        path = log.path_of(record)
        try:
            if len(read) >= MOST:
                raise NotParsed(f"more than {MOST:,} files")
            if log.columns.size[record] > LIMIT:
                raise NotParsed(f"larger than {LIMIT >> 10} KiB")
            fields = parse_object(log.source_of(record).read(0, LIMIT))
            read.append(_configuration(fields, path))
        except OSError as error:
            refused.append(f"{path}: {error.strerror or error}")
        except NotParsed as error:
            refused.append(f"{path}: {error}")
    read.sort(key=lambda item: (-(item.search_s or 0.0), item.kernel, item.file))
    return Configurations(tuple(read), tuple(refused))


def _configuration_records(run: Run) -> Iterator[tuple[DebugLog, int]]:
    for model in run.models:
        if isinstance(model.log, DebugLog) and any(kind.name == BEST_CONFIG for kind in model.log.kinds):
            yield from ((model.log, record) for record in model.log.records() if model.log.kind(record).name == BEST_CONFIG)


def _configuration(fields: dict[str, Any], path: str) -> Configuration:
    warps, stages = _count(fields.get("num_warps")), _count(fields.get("num_stages"))
    parameters = tuple(
        Parameter(str(name)[:TEXT_LIMIT], value[:TEXT_LIMIT] if isinstance(value, str) else int(value))
        for name, value in list(fields.items())[:PARAMETERS]
        if name not in _NOT_PARAMETERS and isinstance(value, (int, str))
    )
    if warps is None and not parameters:
        raise NotParsed("no configuration of a kernel")
    search = fields.get("time_taken_ms")
    is_time = isinstance(search, (int, float)) and not isinstance(search, bool) and 0 <= search < 1e12
    by_descent = fields.get("found_by_coordesc")
    names = _named_by_triton(path, fields.get("triton_cache_hash")) or _named_by_source(path)
    return Configuration(
        names[0] if len(names) == 1 else "", () if len(names) == 1 else names, parameters, warps, stages,
        float(search) / 1e3 if is_time and search is not None else None, by_descent if isinstance(by_descent, bool) else None, path,
    )  # fmt: skip


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else None


def _named_by_triton(path: str, cache_hash: object) -> tuple[str, ...]:
    """Return the kernel in the directory of that hash in Triton's cache: `CACHE/triton/DEVICE/HASH/NAME.json`."""
    if not isinstance(cache_hash, str) or not _HASH.fullmatch(cache_hash):
        return ()
    top = os.path.join(os.path.dirname(os.path.dirname(path)), "triton")
    for device in _names(top):
        files = _names(os.path.join(top, device, cache_hash))
        names = {name.removesuffix(".json") for name in files if name.endswith(".json") and not name.startswith("__grp__")}
        if len(names) == 1:
            return tuple(names)
    return ()


def _named_by_source(path: str) -> tuple[str, ...]:
    """Return the Triton kernels whose source is in the directory of a file."""
    directory = os.path.dirname(path)
    names: set[str] = set()
    for name in _names(directory):
        if name.endswith(".py"):
            names.update(match.decode() for match in _KERNEL.findall(_beginning(os.path.join(directory, name)))[:1])
    return tuple(sorted(names))


def _names(path: str) -> list[str]:
    """Return the names in a directory that is no link."""
    try:
        if os.path.islink(path):
            return []
        with os.scandir(path) as entries:
            return sorted(entry.name for _, entry in zip(range(LISTED), entries, strict=False))
    except OSError:
        return []


def _beginning(path: str) -> bytes:
    try:
        file = os.open(path, _FLAGS)
    except OSError:
        return b""
    try:
        return os.read(file, SOURCE_LIMIT)
    except OSError:
        return b""
    finally:
        os.close(file)


def configuration_changes(old: Sequence[Configuration], new: Sequence[Configuration]) -> tuple[ConfigurationChange, ...]:
    """Return the kernels whose configurations differ, paired by file name, else by a name that each side has once."""
    by_file = {os.path.basename(item.file): item for item in old}
    by_name, names = _once(old), _once(new)
    differing = []
    for item in new:
        before = by_file.get(os.path.basename(item.file))
        if before is None and names.get(item.kernel) is item:
            before = by_name.get(item.kernel)
        if before is not None and before.text != item.text:
            differing.append(ConfigurationChange(item.kernel or " or ".join(item.candidates), before.text, item.text))
    return tuple(differing)


def _once(items: Sequence[Configuration]) -> dict[str, Configuration]:
    """Return the configurations of the kernels with only one."""
    by_kernel: dict[str, list[Configuration]] = {}
    for item in items:
        by_kernel.setdefault(item.kernel, []).append(item)
    return {name: each[0] for name, each in by_kernel.items() if name and len(each) == 1}
