"""Which caches a compile asked, and what they answered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tltui.analyses.records import JSON_LIMIT, Reader, number_in, text_in
from tltui.analyses.timing.events import Event
from tltui.model.artifacts import Artifact

FX, AOT, BUNDLED = "FX graph cache", "AOTAutograd cache", "bundled FX graph cache"
PGO_LOCAL, PGO_REMOTE, PRECOMPILE = "PGO profile, local", "PGO profile, remote", "precompile cache"
HIT, MISS, BYPASS, DISABLED_STATE, STORED = "hit", "miss", "bypass", "disabled", "stored"
NAMES = {
    f"{prefix}_{state}": (cache, state)
    for prefix, cache in (("fx_graph_cache", FX), ("aotautograd_cache", AOT))
    for state in (HIT, MISS, BYPASS)
} | {"fx_graph_bundled_cache_hit": (BUNDLED, HIT)}
OLD_NAMES = {"fx_graph_cache_hash": (FX, "asked"), "aotautograd_cache_hash": (AOT, "asked")}
"""Torch 2.5 and before: the state is in the payload, or nowhere."""
PROFILES = {
    "get_local_code_state": (PGO_LOCAL, HIT), "get_remote_code_state": (PGO_REMOTE, HIT),
    "get_extra_remote_code_state": (PGO_REMOTE, HIT), "put_local_code_state": (PGO_LOCAL, STORED),
    "put_remote_code_state": (PGO_REMOTE, STORED), "put_extra_remote_code_state": (PGO_REMOTE, STORED),
}  # fmt: skip
"""Profiles of which sizes vary (PGO). One that is not found leaves no record."""
BYPASSES = {"dynamo_cache_bypass": (PRECOMPILE, BYPASS), "precompile_cache_bypass": (PRECOMPILE, BYPASS)}
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
    """Of a hit: what compiling it had taken when it was stored."""
    ref: str | None = None
    """The address of the record."""
    detail: str | None = None
    """What torch says beside the state, where that is more: `guard_miss`, `full_miss` …"""
    seconds_taken: float | None = None
    """Of a miss: what compiling it took."""
    guards: str | None = None
    """The guards of the entry that was found."""


def caches_of(artifacts: list[Artifact], events: list[Event], reader: Reader) -> tuple[CacheAnswer, ...]:
    """The answers in record order, then the caches that were switched off."""
    found = [answer_of(a.name, a.record, str(a.ref), reader)[0] for a in artifacts if a.name in NAMES]
    if any(event.name == DISABLED for event in events):
        found.append(CacheAnswer(FX, DISABLED_STATE))
    return tuple(found)


def answer_of(name: str, record: int, ref: str, reader: Reader, limit: int = JSON_LIMIT) -> tuple[CacheAnswer, list[Any]]:
    """What a record of a cache says, and the components of its key ([] where it has none, or is larger than `limit`)."""
    cache, state = NAMES[name] if name in NAMES else OLD_NAMES[name]
    fields = reader.json(record, limit)
    if not isinstance(fields, dict):
        # too large to be parsed for a line of an overview (`components` holds whole graphs), or cut off
        match = _KEY.search(reader.payload(record, JSON_LIMIT))
        key = match[1].decode("ascii", "replace") if match else None
        return CacheAnswer(cache, state, key, ref=ref), []
    if name in OLD_NAMES:
        state = text_in(fields, "cache_state") or state
    detail = text_in(fields, "cache_status_detailed")
    components = fields.get("components")
    return CacheAnswer(
        cache,
        state,
        text_in(fields, "key"),
        text_in(fields, "cache_bypass_reason"),
        _seconds(fields, "time_saved"),
        ref,
        detail if detail != state else None,
        _seconds(fields, "time_taken"),
        text_in(fields, "cache_status_guard_expr"),
    ), components if isinstance(components, list) else []


def _seconds(fields: dict[str, Any], key: str) -> float | None:
    """Torch writes times of the FX graph cache in ns, those of the AOTAutograd cache in ms."""
    ms, ns = number_in(fields, f"{key}_ms"), number_in(fields, f"{key}_ns")
    seconds = ms / 1000 if ms else ns / 1e9 if ns else None
    return seconds if seconds is not None and seconds > 0 else None
