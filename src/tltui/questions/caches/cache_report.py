"""Cache hits, misses and bypasses in a part of a run, with their reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from tltui.model.derived_cache import Parts
from tltui.model.node_answers import Count, counts, part
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, json_in, metrics_fields, records_of, text_in, whole_in
from tltui.questions.caches.cache_lookups import (
    AOT,
    BYPASS,
    BYPASSES,
    DISABLED,
    FX,
    HIT,
    MISS,
    NAMES,
    OLD_NAMES,
    PROFILES,
    CacheAnswer,
    KeyTable,
    KeyUse,
    Nearest,
    answer_of,
)  # fmt: skip
from tltui.questions.timing.timing_events import EVENT_LIMIT
from tltui.text.frozen import frozen

COUNTED = (
    (AOT, "aotautograd_cache"),
    (FX, "fx_graph_cache"),
)
COMPONENTS_LIMIT = 32 << 20
"""Stored bytes up to which a record of a cache is parsed for the components of its key."""
Code = tuple["str | None", "str | None", "int | None"]
LOWERED = frozenset(("fx_graph_runnable", "inductor_output_code"))
WANTED = frozenset(NAMES.keys() | OLD_NAMES.keys() | PROFILES.keys() | BYPASSES.keys() | {"triton_kernel_info"})


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
    where: str
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
    profiles: tuple[CacheAnswer, ...]
    """Profiles of dynamic sizes that were read or stored (PGO)."""
    saved_s: float | None
    """Seconds that hits saved; those of an FX graph hit inside of an AOTAutograd hit are not counted twice."""
    taken_s: float | None
    """Seconds that compiling took after a miss of the FX graph cache."""
    off: tuple[str, ...]
    """Caches that were switched off, and by what."""
    lowered: bool
    """Whether Inductor compiled a graph, or took one from a cache: without that there is no question to a cache."""
    backends: tuple[Backend, ...]
    triton: tuple[Count, ...]
    """How the autotuning of Triton kernels went: (`hit`, `miss`, `only 1 config`) → kernels."""
    bundles: int | None
    """Triton kernels that came with a cached graph."""


@frozen
class CacheMiss:
    """A key that was not found."""

    compile: str
    function: str | None
    answer: CacheAnswer
    others: tuple[KeyUse, ...]
    """Other compiles that asked for the very same key, the first 64, those that found it before the others."""
    nearest: Nearest | None
    components: int
    """How many components torch wrote of the key; without them there is nothing to compare."""


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
    ordinal: int
    """Which compile of that code it was on its rank, from 1."""
    answers: tuple[RankAnswer, ...]


@frozen
class CachesReport:
    """The caches of a part of a run."""

    schema: int
    totals: tuple[CacheTotal, ...]
    saved_s: float
    taken_s: float
    divergences: tuple[Divergence, ...]
    misses: tuple[CacheMiss, ...]
    compiles: tuple[CompileCaches, ...]
    """Compiles that asked a cache, or for which one was switched off."""
    silent: tuple[str, ...]
    """Compiles in which nothing was lowered, so that no cache was asked."""


def totals_of(compiles: Iterable[Compile]) -> tuple[CacheTotal, ...]:
    """Return hits, misses and bypasses from the index, without reading records."""
    total: Counter[str] = Counter()
    for node in compiles:
        if node.counts:
            total.update(node.counts)
    rows = [CacheTotal(title, total[f"{k}_hit"], total[f"{k}_miss"], total[f"{k}_bypass"]) for title, k in COUNTED]
    return tuple(row for row in rows if row.hits or row.misses or row.bypassed)


def divergences_of(processes: Iterable[Process]) -> tuple[Divergence, ...]:
    """Compiles that some ranks found in a cache and others did not; of each rank its newest process counts."""
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
    """Each compile with its code object, and which one of that code it is."""
    seen: Counter[object] = Counter()
    for frame in process.frames.values():
        code = frame.code
        for node in frame.compiles:
            if node.is_compile and code[0] is not None:
                seen[code] += 1
                yield code, seen[code], node


def _state(node: Compile, key: str) -> str:
    """Return the worst answer of a compile: after any miss it had to compile."""
    return next((state for state in (MISS, BYPASS, HIT) if node.counts[f"{key}_{state}"]), "")


_TABLES: WeakKeyDictionary[Parts, KeyTable] = WeakKeyDictionary()


def key_table(process: Process) -> KeyTable:
    """Return the table of interned key components for the run of a process."""
    return _TABLES.setdefault(process.parts, KeyTable())


@frozen
class KeyRecord:
    """A record with a key."""

    record: int
    components: bytes
    """Their numbers in `key_table`, as an array of type I."""


@part
def caches_in(node: Compile, reader: Reader) -> tuple[CompileCaches, dict[str, KeyRecord]]:
    """Return the caches of a compile, and the key components by record address."""
    found = list(records_of(node, WANTED | LOWERED))
    records = _records(node, [(record, name) for record, name in found if name in WANTED])
    answers: list[CacheAnswer] = []
    profiles: list[CacheAnswer] = []
    components: dict[str, KeyRecord] = {}
    triton: Counter[str] = Counter()
    table = key_table(node.process)
    for record, name, ref in records:
        if name in NAMES or name in OLD_NAMES:
            answer, written = answer_of(name, record, ref, reader, COMPONENTS_LIMIT)
            answers.append(answer)
            components[ref] = KeyRecord(record, table.take(written).tobytes())
        elif name in PROFILES:
            profiles.append(CacheAnswer(*PROFILES[name], ref=ref))
        elif name in BYPASSES:
            answers.append(_precompile(name, record, ref, reader))
        elif name == "triton_kernel_info":
            triton.update(_autotuned(reader.json(record)))
    metrics = [fields for _, fields in metrics_fields(node, reader)]
    lowered = bool(node.counts["fx_graph_runnable"]) or any(name in LOWERED for _, name in found)
    function, file, line = node.frame.code
    taken = [answer.seconds_taken for answer in answers if answer.seconds_taken is not None]
    bundles = [count for fields in metrics if (count := whole_in(fields, "num_triton_bundles"))]
    return CompileCaches(
        str(node.ref), function, file, line, tuple(answers), tuple(profiles), saved_by(answers),
        sum(taken) if taken else None, _off(node, answers, metrics, lowered, reader), lowered, _backends(metrics),
        counts(triton.most_common()), sum(bundles) or None,
    ), components  # fmt: skip


def _records(node: Compile, written: list[tuple[int, str]]) -> list[tuple[int, str, str]]:
    """(record, name, address) of the artifacts that caches wrote."""
    log = node.process.log
    found = [(record, name) for record, name in written if log.has_payload(record)]
    if not found:
        return []
    ref, total, seen = str(node.ref), Counter(name for _, name in found), Counter[str]()
    records = []
    for record, name in found:
        seen[name] += 1
        records.append((record, name, f"{ref}:{name}" if total[name] == 1 else f"{ref}:{name}#{seen[name]}"))
    return records


def saved_by(answers: Iterable[CacheAnswer]) -> float | None:
    """Return the seconds saved. An AOTAutograd hit includes the time of its FX graphs, whose hits precede it."""
    saved = inside = 0.0
    for answer in answers:
        seconds = answer.seconds_saved or 0.0
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
        reason = f"the compiled graph {missing} is not in the package"
    cache, state = BYPASSES[name]
    return CacheAnswer(cache, state, reason=reason, ref=ref)


def _autotuned(fields: object) -> Iterator[str]:
    for item in fields.values() if isinstance(fields, dict) else ():
        if state := text_in(item, "autotune_cache_state"):
            yield state


_COUNTS = {
    f"{key}_{where}_cache_{state}_count": (cache, where, state)
    for cache, key in ((AOT, "aotautograd"), (FX, "inductor_fx")) for where in ("local", "remote") for state in (HIT, MISS)
}  # fmt: skip


def _backends(metrics: list[dict[str, Any]]) -> tuple[Backend, ...]:
    """Count answers by backend. Local answers repeat the records, so they count only next to remote ones."""
    total: Counter[tuple[str, str, str]] = Counter()
    for fields in metrics:
        for key in _COUNTS.keys() & fields.keys():
            total[_COUNTS[key]] += whole_in(fields, key) or 0
    if not any(total.values()):
        return ()
    found = []
    for cache in (AOT, FX):
        for where in ("local", "remote"):
            hits, misses = total[cache, where, HIT], total[cache, where, MISS]
            if hits or misses:
                found.append(Backend(cache, where, hits, misses))
    return tuple(found)


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
                return (f"all caches: force_disable_caches is True in {config}",)
    found = []
    if FX not in asked:
        by = [f for f in metrics if json_in(f, "inductor_config").get("fx_graph_cache") is False]
        if by:
            found.append(f"{FX}: fx_graph_cache is False in inductor_config")
        elif any(DISABLED.encode() in reader.payload(n, EVENT_LIMIT) for n, _ in records_of(node, ("chromium_event",))):
            found.append(f"{FX}: torch noted {DISABLED}; the configuration in the metrics does not say by what")
    if AOT not in asked and any(json_in(f, "functorch_config").get("enable_autograd_cache") is False for f in metrics):
        found.append(f"{AOT}: enable_autograd_cache is False in functorch_config")
    return tuple(found)
