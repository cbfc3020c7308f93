"""Which caches a compile asked, and what they answered."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tltui.analyses.events import Event
from tltui.analyses.records import JSON_LIMIT, Reader, number_in, text_in
from tltui.model.artifacts import Artifact

FX, AOT = "FX graph cache", "AOTAutograd cache"
NAMES = {
    f"{prefix}_{state}": (cache, state)
    for prefix, cache in (("fx_graph_cache", FX), ("aotautograd_cache", AOT))
    for state in ("hit", "miss", "bypass")
} | {"fx_graph_bundled_cache_hit": ("bundled FX graph cache", "hit")}
DISABLED = "fx_graph_cache_disabled"
_KEY = re.compile(rb'"key": ?"([^"\\]{1,200})"')


@dataclass(frozen=True, slots=True)
class CacheAnswer:
    """One question to a cache."""

    cache: str
    state: str
    """hit, miss, bypass, or disabled."""
    key: str | None = None
    reason: str | None = None
    """Why it was bypassed."""
    seconds_saved: float | None = None
    ref: str | None = None
    """The address of the record."""
    detail: str | None = None
    """What torch says beside the state, where that is more: `guard_miss`, `full_miss` …"""


def caches_of(artifacts: list[Artifact], events: list[Event], reader: Reader) -> tuple[CacheAnswer, ...]:
    """The answers in record order, then the caches that were switched off."""
    found = [_answer(artifact, reader) for artifact in artifacts if artifact.name in NAMES]
    if any(event.name == DISABLED for event in events):
        found.append(CacheAnswer(FX, "disabled"))
    return tuple(found)


def _answer(artifact: Artifact, reader: Reader) -> CacheAnswer:
    cache, state = NAMES[artifact.name]
    record = artifact.record
    fields = reader.json(record)
    if not isinstance(fields, dict):
        # too large to be parsed for a line of an overview (`components` holds whole graphs), or cut off
        match = _KEY.search(reader.payload(record, JSON_LIMIT))
        return CacheAnswer(cache, state, match[1].decode("ascii", "replace") if match else None, ref=str(artifact.ref))
    saved = number_in(fields, "time_saved_ms")
    detail = text_in(fields, "cache_status_detailed")
    return CacheAnswer(
        cache,
        state,
        text_in(fields, "key"),
        text_in(fields, "cache_bypass_reason"),
        saved / 1000 if saved else None,
        str(artifact.ref),
        detail if detail != state else None,
    )
