"""The texts that the program's hooks gave at a recompilation (`torch._dynamo.register_hook_for_recompile_user_context`)."""

from __future__ import annotations

from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, list_in, metrics_fields

FIELD = "recompile_user_contexts"


def user_contexts_of(compile_: Compile, reader: Reader) -> tuple[str, ...]:
    """Return the texts in the metrics of a compile, sorted: torch writes a set."""
    texts = {text for _, fields in metrics_fields(compile_, reader) for text in list_in(fields, FIELD) if isinstance(text, str)}
    return tuple(sorted(texts))
