"""Names of 0.1 that still work, with a DeprecationWarning, during 0.2."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

T = TypeVar("T")
RENAMED: dict[str, dict[str, str]] = {
    "AbsentRow": {
        "routine": "is_routine", "first": "first_ref",
    },
    "CacheRow": {
        "seconds_saved": "saved_s", "seconds_taken": "compile_s",
    },
    "CellRow": {
        "number": "compile_number", "differs": "difference", "time": "time_factor",
    },
    "Compile": {
        "seconds": "duration_s",
    },
    "CompileRow": {
        "seconds": "duration_s", "graph_ops": "graph_op_count", "guards": "guard_count",
    },
    "DamageRow": {
        "offset": "offset_bytes",
    },
    "DiffRow": {
        "what": "kind",
    },
    "DifferenceRow": {
        "number": "compile_number", "facets": "properties", "said": "description",
    },
    "FailureRow": {
        "offset": "offset_bytes",
    },
    "FrameRow": {
        "seconds": "compile_s",
    },
    "GuardRow": {
        "failed": "failed_count",
    },
    "LayerRow": {
        "bytes": "moved_bytes", "us": "measured_us",
    },
    "LimitRow": {
        "at_most": "limit", "share": "is_percent", "first": "first_ref",
    },
    "MetricRow": {
        "least": "min", "most": "max",
    },
    "PassRow": {
        "unchanged": "is_unchanged",
    },
    "ProblemRow": {
        "first": "first_ref",
    },
    "ProcessRow": {
        "seconds": "compile_s",
    },
    "RankRow": {
        "seconds": "compile_s",
    },
    "RecompileRow": {
        "seconds": "duration_s",
    },
    "RecordRow": {
        "offset": "offset_bytes",
    },
    "RuntimeRow": {
        "us": "total_us",
    },
    "ShapeRow": {
        "unbacked": "is_unbacked", "guards": "symbol_guard_count",
    },
    "StackRow": {
        "number": "frame_number", "framework": "is_framework", "count": "compile_count",
    },
    "StragglerRow": {
        "number": "compile_number", "seconds": "duration_s", "typical_s": "median_s",
    },
    "SummaryRow": {
        "broken": "with_breaks", "seen": "without_outcome", "seconds": "compile_s", "torch": "torch_versions",
    },
    "TimingRow": {
        "compile_seconds": "compile_s", "seconds": "self_s",
    },
    "VllmRow": {
        "single": "is_single_size", "capture": "is_captured", "passes": "pass_count", "changed": "changed_passes",
    },
    "WhereRow": {
        "over": "has_ended", "what": "activity", "trail": "phase_path", "done": "finished_compiles", "behind": "is_behind",
    },
}  # fmt: skip
"""Class → earlier name of an attribute → its name; docs/json-names.md has those of JSON too."""


def with_earlier_names(kind: type[T]) -> type[T]:
    """Let instances of a class have the attributes that 0.1 called otherwise."""
    names = RENAMED.get(kind.__name__, {})

    def __getattr__(self: Any, name: str) -> Any:
        if name not in names:
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=self)
        warnings.warn(f"{kind.__name__}.{name} was renamed to {names[name]}", DeprecationWarning, stacklevel=2)
        return getattr(self, names[name])

    if names and "__getattr__" not in vars(kind):
        kind.__getattr__ = __getattr__  # type: ignore[attr-defined]
    return kind
