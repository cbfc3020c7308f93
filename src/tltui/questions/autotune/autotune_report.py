"""Autotuning by operation and shape, from timing events of a trace and from tables in the output of the job.

An event `NAME_template_autotuning` has the shapes of the inputs and, from torch 2.8 on, the winner (`autotune_choices_stats`). A
printed table has all choices with their times. Tables and events of one operation and shape are paired in their order.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tltui.model.log_model import OTHER_TEXT
from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, number_in, records_of, text_in, whole_in
from tltui.model.run import Run
from tltui.questions.autotune.best_configs import (
    NO_CONFIGURATIONS,
    Configuration,
    ConfigurationChange,
    changes,
    configurations_of,
)
from tltui.questions.autotune.printed_tables import NEEDLE, Choice, PrintedTable, TableReader
from tltui.questions.job_failures.job_failures import outputs_of
from tltui.questions.stacks.tracebacks import display_name
from tltui.questions.timing.timing_events import event_in
from tltui.text.frozen import frozen
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
class _Event:
    """One search in a trace."""

    op: str
    fields: dict[str, Any]
    benchmark_s: float | None
    precompile_s: float | None


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
    configured = changes(old.configurations, report.configurations)
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
