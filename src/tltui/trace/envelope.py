"""One envelope → what the scanner keeps of it."""

from __future__ import annotations

import sys
from typing import Any

from tltui.trace.batch import Context, Kind, Metrics, Started
from tltui.trace.grammar import ID_KEYS, event_of, number, whole_number

METRICS = frozenset(
    (
        "compilation_metrics",
        "bwd_compilation_metrics",
        "compilation_metrics_runtime",
        "bwd_compilation_metrics_runtime",
        "aot_autograd_backward_compilation_metrics",
    )
)
NOTABLE = frozenset(
    (
        "dynamo_graph_break_reason",
        "dynamo_error",
        "recompile_reasons",
        "torch_version",
        "fx_graph_cache_hit",
        "fx_graph_cache_miss",
        "fx_graph_cache_bypass",
        "aotautograd_cache_hit",
        "aotautograd_cache_miss",
        "aotautograd_cache_bypass",
        "eager_compile_backwards_failure",
        "symbolic_shape_specialization",
        "compiled_autograd_graph",
        "dump_file",
        "fx_graph_runnable",
    )
)
"""Events and artifact names that are counted while scanning: the tree and the overviews ask for them all the time."""

NAMED = frozenset(("artifact", "graph_dump", "dump_file", "link", "optimize_ddp_split_child"))
"""Events that carry the name by which people know them."""

KEPT_TEXT = 2000
"""Characters of a failure reason kept in memory; the whole is in the record."""


def kind_of(envelope: dict[str, Any]) -> Kind:
    """Event and, for events that carry one, the name by which people know the artifact."""
    event = event_of(envelope)
    value = envelope.get(event)
    if isinstance(value, dict) and event in NAMED:
        name, encoding = value.get("name"), value.get("encoding")
        return Kind(event, name if isinstance(name, str) else "", encoding if isinstance(encoding, str) else "")
    return Kind(event, "")


def context_of(envelope: dict[str, Any], pid: int) -> tuple[Context, str | None]:
    """The context and, where an id is no such number, a remark saying so."""
    subgraph = envelope.get("subgraph_name")
    values = [envelope.get(key) for key in ID_KEYS]
    ids = rank, autograd, frame, compile_, attempt = [None if value is None else whole_number(value) for value in values]
    context = Context(
        pid, rank, autograd, frame, compile_, attempt, subgraph if isinstance(subgraph, str) else None, "stack" in envelope
    )
    if ids == values:
        return context, None
    odd = [
        f"{key} is {value!r:.40}"
        for key, value, number_ in zip(ID_KEYS, values, ids, strict=True)
        if value is not None and number_ is None
    ]
    return context, "; ".join(odd) or None


def _text(value: object) -> str | None:
    """A text that is kept. Most are the same in every compile (versions, files): they are kept once."""
    return sys.intern(value[:KEPT_TEXT]) if isinstance(value, str) else None


def _seconds(fields: dict[str, Any]) -> float | None:
    for key, unit in (
        ("duration_us", 1e-6),
        ("entire_frame_compile_time_s", 1.0),
        ("dynamo_cumulative_compile_time_us", 1e-6),
        ("backward_cumulative_compile_time_us", 1e-6),
        ("inductor_compile_time_s", 1.0),
    ):
        if (value := number(fields.get(key))) is not None:
            return value * unit
    return None


def _start_us(fields: dict[str, Any]) -> float | None:
    if (value := number(fields.get("start_time_us"))) is not None:
        return value
    value = number(fields.get("start_time"))
    return None if value is None else value * 1e6


def metrics_of(event: str, fields: object, record: int) -> Metrics | None:
    """The kept fields of a metrics record (trace-format: 99 fields, all nullable). None if it is not an object."""
    if not isinstance(fields, dict):
        return None
    restarts, guarded = fields.get("restart_reasons"), fields.get("has_guarded_code")
    fail_type = _text(fields.get("fail_type"))
    if event == "bwd_compilation_metrics" and fields.get("is_forward", False) is None:
        event = "compilation_metrics"  # torch 2.6 names those of a compile that hit the recompile limit so
    return Metrics(
        record,
        _whose(event, fields),
        fail_type,
        _text(fields.get("fail_reason")),
        tuple(str(reason)[:KEPT_TEXT] for reason in restarts) if isinstance(restarts, list) else None,
        whole_number(fields.get("graph_op_count")),
        _start_us(fields),
        _seconds(fields),
        _text(fields.get("co_name")),
        _text(fields.get("co_filename")),
        whole_number(fields.get("co_firstlineno")),
        whole_number(fields.get("guard_count")),
        whole_number(fields.get("num_graph_breaks")),
        _text(fields.get("cudagraph_skip_reason")),
        _text(fields.get("recompile_reason")),
        _text(fields.get("pytorch_version")),
        event.endswith("_runtime") or fields.get("is_runtime") is True,
        guarded if isinstance(guarded, bool) else None,
        fail_type is not None and _suppresses(fields),
    )


def _whose(event: str, fields: dict[str, Any]) -> str:
    """Torch 2.6 calls the metrics of a compile that it gave up before the first step those of a backward: `is_forward` is null."""
    is_own = event == "bwd_compilation_metrics" and "is_forward" in fields and fields["is_forward"] is None
    return "compilation_metrics" if is_own else event


def _suppresses(fields: dict[str, Any]) -> bool:
    """Whether `suppress_errors` was set: a field of its own since torch 2.6, and in the configuration."""
    config = fields.get("dynamo_config")
    return fields.get("config_suppress_errors") is True or (isinstance(config, str) and '"suppress_errors": true' in config)


def started_of(fields: object, record: int) -> Started:
    """The frame of a `dynamo_start`: the last one of its stack. Odd shapes give an unnamed frame."""
    stack = fields.get("stack") if isinstance(fields, dict) else None
    frame = stack[-1] if isinstance(stack, list) and stack else None
    if not isinstance(frame, dict):
        return Started(record, None, None, None, 0)
    name, filename = frame.get("name"), frame.get("filename")
    return Started(
        record,
        _text(name),
        filename if isinstance(filename, int) else None,
        whole_number(frame.get("line")),
        len(stack) if isinstance(stack, list) else 0,
    )


def is_entry(path: str | None) -> bool:
    """Whether a file is one in which Dynamo takes over from the interpreter. Nothing in it is ever compiled: where a stack of
    `dynamo_start` ends there (torch 2.4 and before), the compiled function is missing behind the caller."""
    return path is not None and path.replace("\\", "/").endswith(("torch/_dynamo/convert_frame.py", "torch/_dynamo/eval_frame.py"))


def string_of(value: object) -> tuple[int, str] | None:
    """(id, string) of a `str` record."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], int):
        return value[1], value[0]
    return None
