"""Cache lookups, keys and misses of compiles, and of a part of a run; the types of an answer about the next process."""

from __future__ import annotations

import re
import sys
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from tltui.model.artifacts import Artifact
from tltui.model.derived_cache import Parts
from tltui.model.node_answers import Count, counts, part
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import JSON_LIMIT, Reader, json_in, metrics_fields, number_in, records_of, text_in, whole_in
from tltui.questions.caches.vllm_caches import NONE, VllmCaches
from tltui.questions.stacks.tracebacks import display_code
from tltui.questions.timing.timing_events import EVENT_LIMIT, Event
from tltui.text.frozen import frozen, mutable

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
"""Profiles of varying sizes (PGO). A miss leaves no record."""
BYPASSES = {"dynamo_cache_bypass": (PRECOMPILE, BYPASS), "precompile_cache_bypass": (PRECOMPILE, BYPASS)}
DISABLED = "fx_graph_cache_disabled"
ALL_CACHES = "all caches"
"""Beginning of the text about a setting that disables all of them."""
UNKNOWN_SETTING = "the setting is unknown (not in the metrics)"
_KEY = re.compile(rb'"key": ?"([^"\\]{1,200})"')

_COMPONENT = re.compile(r"^\[([A-Za-z0-9_+/=-]{10,})\] (.+?): ?(.*)$", re.DOTALL)
TEXT_LENGTH, TEXT_SHORT = 1 << 16, 2000
"""Maximum characters of a component's text in memory: much at first, little once `ALL_STORED` are used."""
ALL_STORED = 16 << 20
POSTINGS = 512
"""Maximum number of keys to compare for one shared component."""
CANDIDATES = 24
"""Keys that are compared exactly with one that was not found."""
NAMES_LISTED = 200
DIRECTION = "fx_kwargs[is_backward]"
"""The component in which keys have to agree to be compared at all: a forward is no explanation for a backward."""

COUNTED = (
    (AOT, "aotautograd_cache"),
    (FX, "fx_graph_cache"),
)
COMPONENTS_LIMIT = 32 << 20
"""Stored bytes up to which a record of a cache is parsed for the components of its key."""
Code = tuple["str | None", "str | None", "int | None"]
LOWERED = frozenset(("fx_graph_runnable", "inductor_output_code"))
WANTED = frozenset(NAMES.keys() | OLD_NAMES.keys() | PROFILES.keys() | BYPASSES.keys() | {"triton_kernel_info"})
_COUNTS = {
    f"{key}_{where}_cache_{state}_count": (cache, where, state)
    for cache, key in ((AOT, "aotautograd"), (FX, "inductor_fx")) for where in ("local", "remote") for state in (HIT, MISS)
}  # fmt: skip


@frozen
class CacheAnswer:
    """One question to a cache."""

    cache: str
    state: str
    """hit, miss, bypass, or disabled."""
    key: str | None = None
    reason: str | None = None
    """Why it was bypassed."""
    saved_s: float | None = None
    """The time that a hit saved: that of compiling it when it was stored."""
    ref: str | None = None
    """The address of the record."""
    detail: str | None = None
    """Torch's detail on the state: `guard_miss`, `full_miss` …"""
    compile_s: float | None = None
    """The time of compiling after a miss."""
    guards: str | None = None
    """The guards of the entry that was found."""


@frozen
class KeyUse:
    """A compile that looked up a key."""

    compile: str
    state: str
    ref: str
    """The address of the record."""


@frozen
class KeyRecord:
    """A record with a key."""

    record: int
    components: bytes
    """Their numbers in `key_table`, as an array of type I."""


@frozen
class ComponentDifference:
    """A component that two keys do not share."""

    name: str
    missed_value: str | None
    """Its text in the key that was not found; None where that key has no such component. It may be cut."""
    nearest_value: str | None


@frozen
class Nearest:
    """The nearest other key."""

    key: str
    uses: tuple[KeyUse, ...]
    """The first few lookups of it."""
    differing_components: int
    """Components that differ."""
    components: int
    """Components of both keys together."""
    differing_names: tuple[str, ...]
    """The names of those that differ, what matters most first."""
    differences: tuple[ComponentDifference, ...]
    """The first few of them with their texts."""
    is_same_code: bool
    """Whether the same code object looked it up."""
    is_earlier: bool | None
    """Whether it was looked up earlier; None if by another process, which has no common order."""


@mutable
class _Entry:
    """One distinct key of one cache."""

    cache: str
    key: str
    code: object
    components: array[int]
    uses: list[KeyUse]
    place: int
    process: object
    record: int
    direction: int | None
    """Its component `DIRECTION`."""


@frozen
class CacheTotal:
    """One cache over all compiles of the part."""

    cache: str
    hits: int
    misses: int
    bypassed: int


@frozen
class Backend:
    """Local and remote answers as the metrics count them."""

    cache: str
    location: str
    """local or remote."""
    hits: int
    misses: int


@frozen
class CompileCaches:
    """The caches of one compile."""

    ref: str
    function: str | None
    file: str | None
    line: int | None
    answers: tuple[CacheAnswer, ...]
    pgo_profiles: tuple[CacheAnswer, ...]
    """Profiles of dynamic sizes that were read or stored (PGO)."""
    saved_s: float | None
    """Seconds that hits saved; those of an FX graph hit inside of an AOTAutograd hit are not counted twice."""
    compile_s: float | None
    """Seconds that compiling took after a miss of the FX graph cache."""
    disabled: tuple[str, ...]
    """Caches that were switched off, and by what."""
    is_lowered: bool
    """Whether Inductor compiled a graph, or took one from a cache: without that there is no question to a cache."""
    backends: tuple[Backend, ...]
    triton_autotuning: tuple[Count, ...]
    """Autotuning of Triton kernels: (`hit`, `miss`, `only 1 config`) → kernels."""
    bundled_kernels: int | None
    """Triton kernels that came with a cached graph."""


@frozen
class CacheMiss:
    """A key that was not found."""

    compile: str
    function: str | None
    answer: CacheAnswer
    same_key_uses: tuple[KeyUse, ...]
    """Other compiles that looked up the same key, the first 64, hits first."""
    nearest: Nearest | None
    components: int
    """The number of components of the key; 0 if torch wrote none, and nothing can be compared."""


@frozen
class RankAnswer:
    """Answer of a cache to one rank for a compile of a code object."""

    rank: int | None
    compile: str
    state: str


@frozen
class Divergence:
    """The same compile of the same code: found on some ranks, not found on others."""

    cache: str
    function: str | None
    file: str | None
    line: int | None
    compile_number: int
    """Its number among the compiles of that code on its rank, from 1."""
    answers: tuple[RankAnswer, ...]


@frozen
class KeptCache:
    """A cache that the next process can use."""

    cache: str
    files: str
    """Its files below the cache directory."""
    saved_s: float
    """Seconds of work that its entries make unnecessary, at most: loading them takes time."""
    compiles: int


@frozen
class RemainingTime:
    """Compile time that neither kept caches nor the repeated work of each process explains."""

    reason: str
    duration_s: float
    compiles: int


@frozen
class SizeChange:
    """A size that differed from the compile before."""

    source: str
    dim: int | None
    before: int | str
    """A text if it is an expression, '' if torch does not log it."""
    now: int | str


@frozen
class NewSize:
    """A recompilation for a size that was not compiled before."""

    ref: str
    function: str | None
    duration_s: float
    changes: tuple[SizeChange, ...]


@frozen
class ColdStart:
    """Compile time of the run, split by the work that the next process repeats."""

    compile_s: float
    """Seconds of all compiles; the next three add up to it."""
    cached_s: float
    """Seconds that kept caches save, at most."""
    repeated_s: float
    """Seconds of Dynamo and guards: only ahead-of-time compilation saves them."""
    rest_s: float
    saved_s: float
    """Seconds that hits of this run saved already, as torch estimates them."""
    caches: tuple[KeptCache, ...]
    rest: tuple[RemainingTime, ...]
    directories: tuple[str, ...]
    """Directories of Inductor's generated code, which are its cache directories; at most 8."""
    new_sizes: tuple[NewSize, ...]
    """The slowest first."""
    autotuned_s: float = 0.0
    """Seconds of the compiles in searches of autotuning; 0 for more compiles than are looked through."""


@frozen
class CachesReport:
    """The caches of a part of a run."""

    totals: tuple[CacheTotal, ...]
    saved_s: float
    compile_s: float
    divergences: tuple[Divergence, ...]
    misses: tuple[CacheMiss, ...]
    compiles: tuple[CompileCaches, ...]
    """Compiles with a cache lookup, or with a disabled cache."""
    not_lowered: tuple[str, ...]
    """Compiles without a lowered graph, and so without a cache lookup."""
    vllm: VllmCaches = NONE
    """vLLM's compile caches among the inputs, and the factors by which their hashes differ."""
    cold_start: ColdStart | None = None
    """Compile time, split by the work that the next process repeats; null without a trace."""


def caches_of(artifacts: list[Artifact], events: list[Event], reader: Reader) -> tuple[CacheAnswer, ...]:
    """Return the cache answers in record order, then the disabled caches."""
    answers = [answer_of(a.name, a.record, str(a.ref), reader)[0] for a in artifacts if a.name in NAMES]
    if any(event.name == DISABLED for event in events):
        answers.append(CacheAnswer(FX, DISABLED_STATE))
    return tuple(answers)


def answer_of(name: str, record: int, ref: str, reader: Reader, limit: int = JSON_LIMIT) -> tuple[CacheAnswer, list[Any]]:
    """Parse a cache record: the answer and the components of its key ([] if absent or larger than `limit`)."""
    cache, state = NAMES[name] if name in NAMES else OLD_NAMES[name]
    fields = reader.json(record, limit)
    if not isinstance(fields, dict):
        # too large to be parsed for a line of an overview (`components` has entire graphs), or cut off
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
    """Convert a time to seconds: torch writes ns for the FX graph cache, ms for the AOTAutograd cache."""
    ms, ns = number_in(fields, f"{key}_ms"), number_in(fields, f"{key}_ns")
    seconds = ms / 1000 if ms else ns / 1e9 if ns else None
    return seconds if seconds is not None and seconds > 0 else None


def parse_components(raw: Iterable[Any]) -> list[tuple[str, str, str]]:
    """(name, hash, text) of each component. Older torch broke them at line ends: such pieces are put together again."""
    results: list[tuple[str, str, str]] = []
    for item in raw:
        if not isinstance(item, str):
            continue
        match = _COMPONENT.match(item)
        if match is not None:
            results.append((match[2], match[1], match[3]))
        elif results:
            name, digest, text = results[-1]
            if len(text) < TEXT_LENGTH:
                results[-1] = (name, digest, f"{text}\n{item}")
    return results


class KeyTable:
    """Numbers of the components of keys, one table for a run; it only grows."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.texts: list[str] = []
        self.directions: set[int] = set()
        """The numbers of `DIRECTION`."""
        self._numbers: dict[tuple[str, str], int] = {}
        self._stored = 0
        self._lock = threading.Lock()

    def intern(self, components: Iterable[Any]) -> array[int]:
        """Intern the components of a key; return their ids, each once."""
        with self._lock:
            return array("I", dict.fromkeys(self._number(*item) for item in parse_components(components)))

    def _number(self, name: str, digest: str, text: str) -> int:
        number = self._numbers.get((name, digest))
        if number is None:
            name = sys.intern(name)
            number = self._numbers[name, digest] = len(self.names)
            self.names.append(name)
            if name == DIRECTION:
                self.directions.add(number)
            stored = text[: TEXT_LENGTH if self._stored < ALL_STORED else TEXT_SHORT]
            self._stored += len(stored)
            self.texts.append(stored)
        return number


class KeyIndex:
    """All keys of a run."""

    def __init__(self, table: KeyTable | None = None) -> None:
        self._table = table or KeyTable()
        self._names, self._texts = self._table.names, self._table.texts
        self._entries: list[_Entry] = []
        self._by_key: dict[tuple[str, str], _Entry] = {}
        self._postings: dict[int, array[int]] = defaultdict(lambda: array("I"))

    def add(
        self, cache: str, key: str, use: KeyUse, code: object, components: Iterable[Any] | array[int],
        process: object = None, record: int = 0,
    ) -> None:  # fmt: skip
        """Record that a compile of a code object looked up a key, in a record of a process.

        `components` are torch's text or ids of the table.
        """
        entry = self._by_key.get((cache, key))
        if entry is None:
            numbers = components if isinstance(components, array) else self._table.intern(components)
            entry = self._by_key[cache, key] = _Entry(
                cache, key, code, numbers, [], len(self._entries), process, record, self._direction(numbers)
            )
            for number in numbers:
                self._postings[number].append(len(self._entries))
            self._entries.append(entry)
        entry.uses.append(use)

    def _direction(self, numbers: array[int]) -> int | None:
        directions = self._table.directions
        return None if directions.isdisjoint(numbers) else next(number for number in numbers if number in directions)

    def uses(self, cache: str, key: str) -> tuple[KeyUse, ...]:
        """Return the lookups of a key in run order."""
        entry = self._by_key.get((cache, key))
        return tuple(entry.uses) if entry is not None else ()

    def components(self, cache: str, key: str) -> int:
        """Return the number of components that torch wrote for a key."""
        entry = self._by_key.get((cache, key))
        return len(entry.components) if entry is not None else 0

    def nearest(self, cache: str, key: str) -> Nearest | None:
        """Return the key with the most components in common; None without another key that has components."""
        entry = self._by_key.get((cache, key))
        if entry is None or not entry.components:
            return None
        components = self._by_name(entry)
        best: tuple[tuple[int, bool, bool, int], _Entry, list[str]] | None = None
        for number in self._candidates(entry):
            other = self._entries[number]
            names = _differing(components, self._by_name(other))
            rank = (len(names), other.code != entry.code, _before(entry, other) is False, abs(number - entry.place))
            if best is None or rank < best[0]:
                best = rank, other, names
        return self._result(entry, best[1], best[2]) if best is not None else None

    def _candidates(self, entry: _Entry) -> list[int]:
        """Return the keys with the most shared rare components; else the nearest in run order."""
        shared: Counter[int] = Counter()
        place, everyone = entry.place, len(self._entries)
        for number in entry.components:
            posting = self._postings[number]
            if 1 < len(posting) < everyone:
                shared.update(posting[-POSTINGS:])
        shared.pop(place, None)
        candidates = [number for number, _ in shared.most_common(CANDIDATES * 4) if self._fits(entry, number)][:CANDIDATES]
        near = sorted(range(max(place - CANDIDATES, 0), min(place + CANDIDATES, everyone)), key=lambda n: abs(n - place))
        candidates += [number for number in near if number != place and number not in candidates and self._fits(entry, number)]
        return candidates[: CANDIDATES * 2]

    def _fits(self, entry: _Entry, number: int) -> bool:
        other = self._entries[number]
        if other.cache != entry.cache or not other.components:
            return False
        return entry.direction == other.direction

    def _by_name(self, entry: _Entry) -> dict[str, int]:
        return {self._names[number]: number for number in entry.components}

    def _result(self, entry: _Entry, other: _Entry, names: list[str]) -> Nearest:
        here, other_numbers = self._by_name(entry), self._by_name(other)
        names.sort(key=importance)
        differences = tuple(
            ComponentDifference(
                name,
                self._texts[here[name]] if name in here else None,
                self._texts[other_numbers[name]] if name in other_numbers else None,
            )
            for name in names[:8]
        )
        union = len(here.keys() | other_numbers.keys())
        return Nearest(
            other.key, tuple(other.uses[:4]), len(names), union, tuple(names[:NAMES_LISTED]), differences,
            other.code == entry.code, _before(entry, other),
        )  # fmt: skip


def _before(entry: _Entry, other: _Entry) -> bool | None:
    """Return whether the other key was looked up before this one."""
    return other.record < entry.record if other.process == entry.process else None


def _differing(left: dict[str, int], right: dict[str, int]) -> list[str]:
    return [name for name, number in left.items() if right.get(name) != number] + [n for n in right if n not in left]


def importance(name: str) -> tuple[int, str, int]:
    """Return a sort key: the graph, then other components, then inputs; numbers ascending."""
    order = 0 if name == "gm" else 2 if name.startswith("example_inputs") else 1
    stem, _, rest = name.partition("[")
    number = rest.removesuffix("]")
    return order, stem if number.isdigit() else name, int(number[:9]) if number.isdigit() else 0


def grouped_names(names: Sequence[str]) -> list[str]:
    """Join numbers: `example_inputs[0]`, `example_inputs[2]`, `example_inputs[3]` to `example_inputs[0, 2-3]`."""
    stems: dict[str, list[int]] = {}
    for name in names:
        stem, _, rest = name.partition("[")
        number = rest.removesuffix("]")
        if number.isdigit():
            stems.setdefault(stem, []).append(int(number[:9]))
        else:
            stems[name] = []
    return [f"{stem}[{_ranges(numbers)}]" if numbers else stem for stem, numbers in stems.items()]


def _ranges(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def totals_of(compiles: Iterable[Compile]) -> tuple[CacheTotal, ...]:
    """Return hits, misses and bypasses from the index, without reading records."""
    total: Counter[str] = Counter()
    for node in compiles:
        if node.counts:
            total.update(node.counts)
    rows = [CacheTotal(title, total[f"{k}_hit"], total[f"{k}_miss"], total[f"{k}_bypass"]) for title, k in COUNTED]
    return tuple(row for row in rows if row.hits or row.misses or row.bypassed)


def divergences_of(processes: Iterable[Process]) -> tuple[Divergence, ...]:
    """Return compiles that hit a cache on some ranks and missed it on others; of each rank the newest process counts."""
    newest: dict[int | None, Process] = {process.rank: process for process in processes}
    if len(newest) < 2:
        return ()
    divergences: list[Divergence] = []
    for title, key in COUNTED:
        groups: dict[tuple[Code, int], list[RankAnswer]] = defaultdict(list)
        for rank, process in newest.items():
            for code, ordinal, node in _numbered(process):
                if state := _state(node, key):
                    groups[code, ordinal].append(RankAnswer(rank, str(node.ref), state))
        for ((name, file, line), ordinal), answers in groups.items():
            if {HIT, MISS} <= {answer.state for answer in answers}:
                divergences.append(Divergence(title, name, file, line, ordinal, tuple(answers)))
    return tuple(divergences)


def _numbered(process: Process) -> Iterator[tuple[Code, int, Compile]]:
    """Yield each compile with its code object and its number among those of that code."""
    counts_by_code: Counter[object] = Counter()
    for frame in process.frames.values():
        code = frame.code
        for node in frame.compiles:
            if node.is_compile and code[0] is not None:
                counts_by_code[code] += 1
                yield code, counts_by_code[code], node


def _state(node: Compile, key: str) -> str:
    """Return the worst answer of a compile: after any miss it had to compile."""
    return next((state for state in (MISS, BYPASS, HIT) if node.counts[f"{key}_{state}"]), "")


_TABLES: WeakKeyDictionary[Parts, KeyTable] = WeakKeyDictionary()


def key_table(process: Process) -> KeyTable:
    """Return the table of interned key components for the run of a process."""
    return _TABLES.setdefault(process.parts, KeyTable())


@part
def caches_in(node: Compile, reader: Reader) -> tuple[CompileCaches, dict[str, KeyRecord]]:
    """Return the caches of a compile, and the key components by record address."""
    listed = list(records_of(node, WANTED | LOWERED))
    records = _records(node, [(record, name) for record, name in listed if name in WANTED])
    answers: list[CacheAnswer] = []
    profiles: list[CacheAnswer] = []
    components: dict[str, KeyRecord] = {}
    triton: Counter[str] = Counter()
    table = key_table(node.process)
    for record, name, ref in records:
        if name in NAMES or name in OLD_NAMES:
            answer, written = answer_of(name, record, ref, reader, COMPONENTS_LIMIT)
            answers.append(answer)
            components[ref] = KeyRecord(record, table.intern(written).tobytes())
        elif name in PROFILES:
            profiles.append(CacheAnswer(*PROFILES[name], ref=ref))
        elif name in BYPASSES:
            answers.append(_precompile(name, record, ref, reader))
        elif name == "triton_kernel_info":
            triton.update(_autotuned(reader.json(record)))
    metrics = [fields for _, fields in metrics_fields(node, reader)]
    lowered = bool(node.counts["fx_graph_runnable"]) or any(name in LOWERED for _, name in listed)
    function, file, line = display_code(node.frame)
    seconds = [answer.compile_s for answer in answers if answer.compile_s is not None]
    bundles = [count for fields in metrics if (count := whole_in(fields, "num_triton_bundles"))]
    return CompileCaches(
        str(node.ref), function, file, line, tuple(answers), tuple(profiles), saved_by(answers),
        sum(seconds) if seconds else None, _off(node, answers, metrics, lowered, reader), lowered, _backends(metrics),
        counts(triton.most_common()), sum(bundles) or None,
    ), components  # fmt: skip


def _records(node: Compile, written: list[tuple[int, str]]) -> list[tuple[int, str, str]]:
    """Return (record, name, address) of the artifacts that caches wrote."""
    log = node.process.log
    payloads = [(record, name) for record, name in written if log.has_payload(record)]
    if not payloads:
        return []
    ref, total, counted = str(node.ref), Counter(name for _, name in payloads), Counter[str]()
    records = []
    for record, name in payloads:
        counted[name] += 1
        records.append((record, name, f"{ref}:{name}" if total[name] == 1 else f"{ref}:{name}#{counted[name]}"))
    return records


def saved_by(answers: Iterable[CacheAnswer]) -> float | None:
    """Return the seconds saved. An AOTAutograd hit includes the time of its FX graphs, whose hits precede it."""
    saved = inside = 0.0
    for answer in answers:
        seconds = answer.saved_s or 0.0
        if answer.cache != AOT:
            inside += seconds if answer.state == HIT else 0.0
        else:
            saved += seconds if answer.state == HIT else inside
            inside = 0.0
    return saved + inside or None


def _precompile(name: str, record: int, ref: str, reader: Reader) -> CacheAnswer:
    fields = reader.json(record)
    reason = text_in(fields, "_reason")
    if reason is None and (missing := text_in(fields, "missing_backend")):
        reason = f"the precompile package lacks the compiled graph {missing}"
    cache, state = BYPASSES[name]
    return CacheAnswer(cache, state, reason=reason, ref=ref)


def _autotuned(fields: object) -> Iterator[str]:
    for item in fields.values() if isinstance(fields, dict) else ():
        if state := text_in(item, "autotune_cache_state"):
            yield state


def _backends(metrics: list[dict[str, Any]]) -> tuple[Backend, ...]:
    """Count answers by backend. Local answers repeat the records, so they count only next to remote ones."""
    total: Counter[tuple[str, str, str]] = Counter()
    for fields in metrics:
        for key in _COUNTS.keys() & fields.keys():
            total[_COUNTS[key]] += whole_in(fields, key) or 0
    if not any(total.values()):
        return ()
    backends = []
    for cache in (AOT, FX):
        for where in ("local", "remote"):
            hits, misses = total[cache, where, HIT], total[cache, where, MISS]
            if hits or misses:
                backends.append(Backend(cache, where, hits, misses))
    return tuple(backends)


def _off(
    node: Compile, answers: list[CacheAnswer], metrics: list[dict[str, Any]], lowered: bool, reader: Reader
) -> tuple[str, ...]:
    """Return the settings that disabled a cache which a lowered graph could have used."""
    asked = {answer.cache for answer in answers}
    if not lowered or {FX, AOT} <= asked:
        return ()
    for fields in metrics:
        for config in ("compiler_config", "inductor_config"):
            if json_in(fields, config).get("force_disable_caches") is True:
                return (f"{ALL_CACHES}: force_disable_caches is True in {config}",)
    settings = []
    if FX not in asked:
        by = [f for f in metrics if json_in(f, "inductor_config").get("fx_graph_cache") is False]
        if by:
            settings.append(f"{FX}: fx_graph_cache is False in inductor_config")
        elif any(DISABLED.encode() in reader.payload(n, EVENT_LIMIT) for n, _ in records_of(node, ("chromium_event",))):
            settings.append(f"{FX}: torch logged {DISABLED}; {UNKNOWN_SETTING}")
    if AOT not in asked and any(json_in(f, "functorch_config").get("enable_autograd_cache") is False for f in metrics):
        settings.append(f"{AOT}: enable_autograd_cache is False in functorch_config")
    return tuple(settings)
