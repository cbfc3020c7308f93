"""vLLM's compile caches among the inputs: their contents, and the factors by which two hashes differ."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from tltui.inputs.debug_directory import DebugLog
from tltui.inputs.vllm_cache import ENTRIES, FACTORS, LIMIT, NotParsed, hash_of, is_binary, is_graph, parse_entries, parse_object
from tltui.model.run import Run
from tltui.text.formatting import end
from tltui.text.frozen import frozen

ENVIRONMENT, CONFIGURATION, CODE, COMPILER, COMPONENTS = "environment", "configuration", "code", "compiler", "recorded factors"
HASHES = {"config_hash": CONFIGURATION, "code_hash": CODE, "compiler_hash": COMPILER}
"""Keys of `cache_key_factors.json` that are hashes of what vLLM does not record (vllm/compilation/backends.py, 0.14.0–0.33.0)."""
VALUE_LIMIT, SHOWN, COMPARED = 400, 40, 16
SNIFFED = 512
_CODE_LINE = re.compile(r"# File: ([^\n:]{1,400}):\d{1,9} in ([^\n,]{1,200}), code: ([^\n]{0,400})")


@frozen
class CacheFile:
    """A file of a cache."""

    name: str
    """Name below the directory of the rank or prefix."""
    size_bytes: int
    """Size."""
    is_binary: bool
    """Whether the file is not text; it is only listed."""


@frozen
class CacheFactor:
    """A recorded factor of the hash."""

    kind: str
    """`environment`, `configuration`, `code` or `compiler`."""
    name: str
    """The variable, or the name of the hash."""
    value: str
    """The value as JSON text; a long one is shortened, with its md5."""


@frozen
class VllmCache:
    """The cache of one rank, or of one prefix of a rank."""

    path: str
    """The directory that was opened."""
    cache_hash: str
    """Name of the directory of the cache; empty if the opened directory is below it."""
    unit: str
    """Rank and prefix: `rank_0_0.backbone`."""
    factors: tuple[CacheFactor, ...]
    """Factors from `cache_key_factors.json`."""
    ranges: tuple[str, ...]
    """Compile ranges with a compiled graph, from `vllm_compile_cache.py`."""
    graphs: int
    """Compiled graphs in `vllm_compile_cache.py`."""
    files: tuple[CacheFile, ...]
    """Files, binaries included."""
    refused: tuple[str, ...]
    """Files that were not parsed, with reasons."""


@frozen
class FactorDifference:
    """A factor by which two hashes differ."""

    unit: str
    """Rank and prefix."""
    kind: str
    """`environment`, `configuration`, `code`, `compiler`, or `recorded factors` if a side has no record of them."""
    name: str
    """The variable, or the file of your code or vLLM's whose lines differ in the graph; empty if unknown."""
    new: str
    """The value of the new cache; empty if not set."""
    old: str
    """The value of the old cache; empty if not set."""
    note: str
    """The part that the cache does not record; empty for none."""


@frozen
class VllmCaches:
    """vLLM's caches of a run."""

    caches: tuple[VllmCache, ...]
    """In the order of the paths; of one path the newest first."""
    differences: tuple[FactorDifference, ...]
    """The first cache against each other one of the same rank and prefix."""


NONE = VllmCaches((), ())


def read_caches(run: Run) -> Generator[None, None, VllmCaches]:
    """Read the caches among the inputs of a run, file by file."""
    read: list[tuple[tuple[int, float], VllmCache, set[tuple[str, str, str]]]] = []
    for model in run.models:
        log = model.log
        if not isinstance(log, DebugLog) or not log.is_vllm_cache:
            continue
        units: dict[str, list[int]] = defaultdict(list)
        for record in log.records():
            units[log.context(record).name].append(record)
        for unit, records in units.items():
            cache, lines = yield from _read_unit(log, unit, records)
            read.append(((_place(run, log.path), -_changed(log, records)), cache, lines))
    if not read:
        return NONE
    read.sort(key=lambda item: item[0])
    first_of: dict[str, tuple[VllmCache, set[tuple[str, str, str]]]] = {}
    differences: list[FactorDifference] = []
    for _, cache, lines in read[: COMPARED * COMPARED]:
        if cache.unit not in first_of:
            first_of[cache.unit] = cache, lines
        elif cache.cache_hash != first_of[cache.unit][0].cache_hash or cache.path != first_of[cache.unit][0].path:
            differences += _differences(*first_of[cache.unit], cache, lines)
        yield
    return VllmCaches(tuple(cache for _, cache, _ in read), tuple(differences))


def _place(run: Run, path: str) -> int:
    """Return the position of the path of the run that a log is below."""
    tops = [os.path.abspath(os.path.expanduser(top)) for top in run.discovered.paths]
    below = [n for n, top in enumerate(tops) if (os.path.abspath(path) + os.sep).startswith(top.rstrip(os.sep) + os.sep)]
    return below[-1] if below else len(tops)


def _changed(log: DebugLog, records: Sequence[int]) -> float:
    times = []
    for record in records:
        try:
            times.append(os.lstat(log.path_of(record)).st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)


def _read_unit(
    log: DebugLog, unit: str, records: Sequence[int]
) -> Generator[None, None, tuple[VllmCache, set[tuple[str, str, str]]]]:
    factors: tuple[CacheFactor, ...] = ()
    entries: dict[Any, Any] = {}
    lines: set[tuple[str, str, str]] = set()
    files, refused = [], []
    for record in records:
        yield
        name, size = log.kind(record).name, log.columns.size[record]
        try:
            data = log.source_of(record).read(0, LIMIT + 1 if name == FACTORS or name in ENTRIES or is_graph(name) else SNIFFED)
        except OSError as error:
            refused.append(f"{name}: {error.strerror or error}")
            continue
        files.append(CacheFile(name, size, is_binary(data[:SNIFFED])))
        try:
            if name == FACTORS:
                factors = _factors(parse_object(data))
            elif name in ENTRIES:
                entries = parse_entries(data)
            elif is_graph(name):
                lines |= set(_CODE_LINE.findall(data[:LIMIT].decode("utf-8", "replace")))
        except NotParsed as error:
            refused.append(f"{name}: {error}")
    ranges = tuple(sorted({_range(key) for key in entries}))
    path = log.path_of(records[0]) if records else log.path
    cache = VllmCache(log.path, hash_of(os.path.abspath(path)), unit, factors, ranges, len(entries), tuple(files), tuple(refused))
    return cache, lines


def _factors(value: dict[str, Any]) -> tuple[CacheFactor, ...]:
    environment = value.get("env")
    environment = environment if isinstance(environment, dict) else {}
    recorded = [CacheFactor(ENVIRONMENT, name, _value(environment[name])) for name in sorted(environment)]
    recorded += [CacheFactor(kind, name, _value(value[name])) for name, kind in HASHES.items() if name in value]
    return tuple(recorded)


def _value(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    if len(text) <= VALUE_LIMIT:
        return text
    return f"{end(text, VALUE_LIMIT)} (md5 {hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()})"


def _range(key: Any) -> str:
    bounds = key[0] if isinstance(key, tuple) and key else None
    if isinstance(bounds, tuple) and len(bounds) == 2:
        return f"size {bounds[0]}" if bounds[0] == bounds[1] else f"{bounds[0]}–{bounds[1]}"
    return "all sizes" if bounds is None else f"size {bounds}"


def _differences(
    new: VllmCache, new_lines: set[tuple[str, str, str]], old: VllmCache, old_lines: set[tuple[str, str, str]]
) -> Iterator[FactorDifference]:
    missing = [side for side, cache in (("new", new), ("old", old)) if not cache.factors]
    if missing:
        note = f"the {' and the '.join(missing)} cache has no readable {FACTORS} (vLLM writes it since 0.14, SGLang never)"
        yield FactorDifference(new.unit, COMPONENTS, "", "", "", note)
        return
    values = [{(one.kind, one.name): one.value for one in cache.factors} for cache in (new, old)]
    for key in sorted(values[0].keys() | values[1].keys()):
        a, b = values[0].get(key, ""), values[1].get(key, "")
        if a == b:
            continue
        kind, name = key
        if kind == CODE:
            yield from _code_differences(new.unit, a, b, new_lines, old_lines)
        else:
            note = "" if kind == ENVIRONMENT else "vLLM records only the hash"
            yield FactorDifference(new.unit, kind, name, a, b, note)


def _code_differences(
    unit: str, new: str, old: str, new_lines: set[tuple[str, str, str]], old_lines: set[tuple[str, str, str]]
) -> Iterator[FactorDifference]:
    """Yield the code files whose lines differ in the two graphs; one difference without a name if the graphs show none."""
    files = sorted({file for file, _, _ in new_lines ^ old_lines})
    for file in files[:SHOWN]:
        note = "lines of this file differ between the two graphs"
        yield FactorDifference(unit, CODE, file, new, old, note)
    if not files:
        yield FactorDifference(unit, CODE, "", new, old, "file unknown (vLLM records one hash of all traced files)")
