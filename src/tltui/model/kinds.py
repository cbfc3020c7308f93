"""The table of record kinds: names, compiler phases, languages and hints when to read them.

`kind_of` never fails: names come from files and any program may add any. Exact names win, then the families of names that
torch and vLLM make with f-strings, then a generic kind that can still be read as JSON or text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import translate
from functools import lru_cache

from tltui.model import kinds_aot, kinds_dynamo, kinds_inductor, kinds_other
from tltui.model.kind import LANGUAGES, Kind, Phase

__all__ = ["LANGUAGES", "Kind", "Phase", "all_kinds", "kind_of"]

# Events whose kind is the name in their metadata rather than their key.
_NAMED_EVENTS = frozenset({"artifact", "graph_dump"})

# Keys that never are names of artifacts: an artifact that calls itself `str` is somebody's own, shown like any other.
_EVENT_KEYS_ONLY = frozenset(
    {
        "str", "log", "text", "link", "dump_file", "chromium_event", "dynamo_start", "export", "optimize_ddp_split_child",
        "describe_storage", "describe_tensor", "describe_source",
        "create_symbol", "create_unbacked_symbol", "guard_added", "guard_added_fast", "symbolic_shape_specialization",
        "propagate_real_tensors", "propagate_real_tensors_provenance", "guard_on_data_dependent_error",
        "expression_created", "missing_fake_kernel", "mismatched_fake_kernel",
        "compilation_metrics", "bwd_compilation_metrics", "aot_autograd_backward_compilation_metrics",
        "compilation_metrics_runtime", "bwd_compilation_metrics_runtime",
    }
)  # fmt: skip

_ALL: tuple[Kind, ...] = tuple(
    sorted(
        kinds_dynamo.ALL + kinds_aot.ALL + kinds_inductor.ALL + kinds_other.ALL,
        key=lambda kind: (kind.phase.order, kind.order),
    )
)

_EXACT: dict[str, Kind] = {kind.name: kind for kind in _ALL if "*" not in kind.name}

# Longest pattern first: `vllm_post_grad.*` before `vllm_*`. Case matters and newlines are ordinary characters.
_FAMILIES: tuple[tuple[re.Pattern[str], Kind], ...] = tuple(
    (re.compile(translate(kind.name)), kind)
    for kind in sorted((kind for kind in _ALL if "*" in kind.name), key=lambda kind: -len(kind.name))
)

_GENERIC_HELP = "A kind without a description in this version of tltui, shown unchanged."


def kind_of(event: str, name: str | None = None, encoding: str | None = None) -> Kind:
    """Return the kind of a record with this event key; `name` and `encoding` are those of an `artifact` or `graph_dump`.

    The `type` of a `graph_dump` may be passed as its encoding.
    """
    if event in _NAMED_EVENTS:
        if name is None:
            return _unknown(event, encoding)
        kind = _EXACT.get(name)
        if kind is not None and name not in _EVENT_KEYS_ONLY:
            return kind
        return _unknown(name, encoding) if kind is not None else _family(name, encoding)
    return _EXACT.get(event) or _family(event, encoding)


def all_kinds() -> Sequence[Kind]:
    """Every known kind in the order of the compiler's work. Families have a glob as their name."""
    return _ALL


@lru_cache(maxsize=4096)
def _family(name: str, encoding: str | None) -> Kind:
    """Return the kind of the family of this name, under the name itself; else a generic one."""
    for pattern, kind in _FAMILIES:
        if pattern.match(name):
            return replace(kind, name=name)
    return _unknown(name, encoding)


def _unknown(name: str, encoding: str | None) -> Kind:
    """Return a kind for an unknown name: an artifact, so that the record is displayed."""
    language = encoding if encoding in {"json", "cpp"} else "text"
    return Kind(name, name, Phase.OTHER, language, 0, True, _GENERIC_HELP, False)
