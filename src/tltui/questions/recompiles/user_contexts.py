"""The texts that the program's hooks gave at a recompilation (`torch._dynamo.register_hook_for_recompile_user_context`)."""

from __future__ import annotations

import re

from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, list_in

FIELD = "recompile_user_contexts"
_LIST = re.compile(rb'"recompile_user_contexts":\s*\[')


def user_contexts_of(compile_: Compile, reader: Reader) -> tuple[str, ...]:
    """Return the texts in the metrics of a compile, sorted: torch writes a set."""
    texts: set[str] = set()
    for metrics in compile_.metrics:
        if not metrics.is_runtime and _LIST.search(reader.head(metrics.record)):  # most have none, and are not parsed
            texts.update(text for text in list_in(reader.event(metrics.record), FIELD) if isinstance(text, str))
    return tuple(sorted(texts))
