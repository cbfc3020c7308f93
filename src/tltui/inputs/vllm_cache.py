"""vLLM's and SGLang's compile cache: recognition of its directories, and its JSON and literals, read within limits.

Nothing in a cache is imported, unpickled or executed. Written by vllm/compilation/backends.py and decorators.py (0.8.0–0.33.0):
`torch_compile_cache/HASH/rank_R_D/[PREFIX/]` and `torch_aot_compile/HASH/rank_R_D/model`. SGLang's has the same layout
(sglang/srt/compilation/backend.py, 0.5.4–0.5.23) and records no factors.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Sequence
from typing import Any

from tltui.text.frozen import frozen
from tltui.text.lazy_pattern import lazy_pattern

FACTORS, GRAPH, AOT_MODEL = "cache_key_factors.json", "computation_graph.py", "model"
ENTRIES = frozenset(("vllm_compile_cache.py", "sglang_compile_cache.py"))
SGLANG_GRAPH = lazy_pattern(r"computation_graph_\d{1,12}(?:\.\d{1,9})?\.py")
MARKS = frozenset((FACTORS, GRAPH, *ENTRIES))
RANK = lazy_pattern(r"rank_\d{1,6}_\d{1,6}")
_HASH = lazy_pattern(r"[0-9a-f]{64}")
PREFIXES = 64
"""Directories of a rank that are looked into."""
RANKS = 1024
SHARED = frozenset(("inductor_cache", "triton_cache"))
"""Caches of Inductor and Triton next to vLLM's, with thousands of files."""


@frozen
class VllmLayout:
    """The units of a cache directory."""

    units: tuple[tuple[str, str], ...]
    """Name and path of each rank and prefix."""
    without: frozenset[str]
    """Paths of directories that belong to another unit or to another cache."""


def vllm_layout(path: str, listing: Sequence[os.DirEntry[str]]) -> VllmLayout | None:
    """Classify a directory HASH, rank_R_D or PREFIX; None outside vLLM's cache. Follows no link."""
    ranks = [entry for entry in listing if RANK.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)][:RANKS]
    name = os.path.basename(os.path.abspath(path))
    units: list[tuple[str, str]] = []
    without: set[str] = set()
    if ranks:
        is_aot = _HASH.fullmatch(name) is not None
        for entry in sorted(ranks, key=lambda entry: [int(number) for number in entry.name.split("_")[1:]]):
            _add_rank(entry.name, entry.path, _listed(entry.path), is_aot, units, without)
    elif RANK.fullmatch(name):
        _add_rank(name, path, listing, False, units, without)
    elif _has_mark(listing):
        units.append((name, path))
    return VllmLayout(tuple(units), frozenset(without)) if units else None


def _add_rank(
    name: str, path: str, listing: Sequence[os.DirEntry[str]], is_aot: bool, units: list[tuple[str, str]], without: set[str]
) -> None:
    directories = [entry for entry in listing if entry.is_dir(follow_symlinks=False)]
    prefixes = [entry for entry in directories if entry.name not in SHARED][:PREFIXES]
    inside = [entry for entry in prefixes if _has_mark(_listed(entry.path))]
    without.update(entry.path for entry in directories if entry.name in SHARED)
    without.update(entry.path for entry in inside)
    has_model = is_aot and any(entry.name == AOT_MODEL for entry in listing)
    if has_model or _has_mark(listing):
        units.append((name, path))
    units += [(f"{name}.{entry.name}", entry.path) for entry in inside]


def _has_mark(listing: Sequence[os.DirEntry[str]]) -> bool:
    return any(entry.name in MARKS for entry in listing)


def _listed(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except OSError:
        return []


def hash_of(path: str) -> str:
    """Return the name of the directory HASH of a file in a cache; '' if unknown."""
    parts = path.split(os.sep)
    place = next((place for place, part in enumerate(parts) if RANK.fullmatch(part)), 0)
    return parts[place - 1] if place else ""


LIMIT = 4 << 20
"""Bytes of a file that is parsed."""
DEEPEST = 32
"""Nested brackets."""
_STRING = r"""(?:"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*')"""
_TOKEN = lazy_pattern(rf"{_STRING}|\d+|True|False|None|[\[\](){{}},:\s]+")
_OUTSIDE = lazy_pattern(rf"""{_STRING}|[^\[\](){{}}"']+""")


class NotParsed(Exception):
    """A file that is not parsed; the message gives the reason."""


def parse_object(data: bytes) -> dict[str, Any]:
    """Parse a file of JSON, such as `cache_key_factors.json`, within limits. Raises `NotParsed`."""
    text = _text(data)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise NotParsed("not JSON") from None
    if not isinstance(value, dict):
        raise NotParsed("not a JSON object")
    return value


def is_graph(name: str) -> bool:
    """Return whether a file has the graph that was compiled."""
    return name == GRAPH or SGLANG_GRAPH.fullmatch(name) is not None


def parse_entries(data: bytes) -> dict[Any, Any]:
    """Parse `vllm_compile_cache.py` or `sglang_compile_cache.py`: a dictionary of literals, never code. Raises `NotParsed`."""
    text = _text(data)
    if _TOKEN.sub("", text):  # operators nest without brackets, names would be code
        raise NotParsed("not a Python literal of strings and numbers")
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise NotParsed("not a Python literal of strings and numbers") from None
    if not isinstance(value, dict):
        raise NotParsed("not a dictionary")
    return value


def _text(data: bytes) -> str:
    if len(data) > LIMIT:
        raise NotParsed(f"larger than {LIMIT >> 20} MiB")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise NotParsed("not text") from None
    depth = 0
    for bracket in _OUTSIDE.sub("", text):
        depth += 1 if bracket in "[({" else -1
        if depth > DEEPEST:
            raise NotParsed(f"brackets nested more than {DEEPEST} deep")
    return text


def is_binary(data: bytes) -> bool:
    """Return whether the beginning of a file is not text."""
    return b"\0" in data or data.decode("utf-8", "replace").count("\ufffd") > 3  # a character may be cut at the end
