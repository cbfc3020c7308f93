"""What torch estimated the guards of a compile to take, beside what a profile measured."""

from __future__ import annotations

from tltui.analyses.parts import part
from tltui.analyses.records import Reader, metrics_fields
from tltui.model.nodes import Compile


@part
def estimated_us(compile_: Compile, reader: Reader) -> float | None:
    """`guard_latency_us` of the metrics: torch runs the guards once, warmed up, right after it has made them. None where it is not
    logged."""
    fields = next((fields for event, fields in metrics_fields(compile_, reader) if event == "compilation_metrics"), {})
    value = fields.get("guard_latency_us")
    return float(value) if isinstance(value, (int, float)) else None
