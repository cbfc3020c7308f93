"""Artifacts absent from the trace of a compile, and why; for absent code, the nearest compile with some."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from tltui.inputs.forms import DEBUG_DIR
from tltui.model.artifacts import OUTPUT_CODE, Artifact, Unit, artifact_name, artifacts_of, units_of
from tltui.model.derived_cache import Parts
from tltui.model.expected_artifacts import CODE, LOG_TLPARSE, NOT_YET, PLACES, Absent, Outcome, absent, failed_in, present_artifacts
from tltui.model.node_answers import part, reader_of
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, json_in, records_of
from tltui.model.ref import NO_ID
from tltui.model.run import Run, in_order
from tltui.model.status import Status
from tltui.model.torch_version import version_of
from tltui.model.torch_versions import UNKNOWN, TorchVersion, stated_version
from tltui.questions.caches.cache_report import AOT, FX, HIT, OLD_NAMES, answer_of
from tltui.questions.provenance.unit_artifacts import KERNELS, WRAPPER, parts_of
from tltui.text.frozen import frozen
from tltui.text.steps import run_steps
from tltui.trace.grammar import METRICS


def missing_of(
    compile_: Compile,
    artifacts: list[Artifact],
    units: list[Unit],
    metrics: list[tuple[str, dict[str, Any]]],
    version: TorchVersion,
) -> tuple[Absent, ...]:
    """Return the artifacts that a user would expect in this compile and not find."""
    if not compile_.is_compile and compile_.id.autograd is None:
        return ()  # records outside of any compile have no expected artifacts
    return tuple(absent(outcome_of(compile_, artifacts, units, metrics, version)))


def outcome_of(
    compile_: Compile,
    artifacts: list[Artifact],
    units: list[Unit],
    metrics: list[tuple[str, dict[str, Any]]],
    version: TorchVersion,
) -> Outcome:
    """Return the outcome of a compile."""
    log = compile_.process.log
    names = {artifact.name for artifact in artifacts if artifact.is_metrics or log.columns.size[artifact.record]}
    # the timing event fx_graph_cache_disabled means only that this one cache was not used
    disabled = any(
        json_in(fields, config).get("force_disable_caches") is True
        for _, fields in metrics
        for config in ("inductor_config", "compiler_config")
    )
    directions = frozenset(unit.direction for unit in units if unit.direction)
    return outcome_from(compile_, names, directions, disabled, version)


def outcome_from(
    compile_: Compile, names: Iterable[str], directions: frozenset[str], disabled: bool, version: TorchVersion
) -> Outcome:
    """Return the outcome from the names of artifacts with a payload, the directions of units, and disabled caches."""
    facts, counts, log = compile_.facts, compile_.counts, compile_.process.log
    compile_.process.parts.reads(log)
    has = frozenset(names) | ({"dynamo_start"} if compile_.started is not None else frozenset())
    hits = _old_hits(compile_, has)
    return Outcome(
        has,
        failed=facts.failed or facts.eager_reason is not None,
        fail_phase=failed_in(facts.fail_type, has),
        cache_hit=counts["aotautograd_cache_hit"] > 0 or AOT in hits,
        fx_cache_hit=(counts["fx_graph_cache_hit"] > 0 or FX in hits)
        and not counts["fx_graph_cache_miss"]
        and not counts["fx_graph_cache_bypass"],
        caches_disabled=disabled,
        empty=facts.is_empty,
        complete=facts.has_metrics,
        grad=facts.has_backward,
        version=replace(version, stated=None, by=()),
        recompile_limit=facts.recompile_limit_hit,
        recompile=compile_.is_recompile,
        restarted=bool(facts.restarts),
        dynamo=compile_.id.frame is not None,
        compiled_autograd=compile_.id.autograd is not None,
        directions=directions,
        backward_failed=facts.backward_failed,
        waiting=not log.ended,
        debug_dir=DEBUG_DIR in compile_.process.origins,
    )


def _old_hits(compile_: Compile, has: frozenset[str]) -> frozenset[str]:
    """Return the caches with only hits, where torch 2.4 to 2.6 wrote the answer into a record of another name.

    Torch 2.4 writes no answer: the absence of code shows it.
    """
    if has.isdisjoint(OLD_NAMES):
        return frozenset()
    reader = reader_of(compile_)
    states: dict[str, set[str]] = {}
    for record, name in records_of(compile_, OLD_NAMES):
        answer, _ = answer_of(name, record, "", reader)
        states.setdefault(answer.cache, set()).add(answer.state)
    return frozenset(
        cache for cache, of_cache in states.items()
        if of_cache == {HIT} or (of_cache == {"asked"} and cache == FX and has.isdisjoint(CODE))
    )


PRESENT, EMPTY = "present", "empty"
FAILED, CUT, UNEXPLAINED = "failed before", "cut off", "unknown"
PENDING = "not yet"
OPEN, OTHER_TORCH = "not known of this torch", "not written by this torch"
NOT_LOGGED, CACHED, NOTHING = "not logged", "skipped by a cache hit", "nothing to write"
STATES = (FAILED, CUT, UNEXPLAINED, PENDING, EMPTY, OPEN, NOT_LOGGED, CACHED, OTHER_TORCH, NOTHING)
"""States of absent artifacts, most urgent first."""
TINY = 24
"""Stored bytes up to which a payload is read to see whether anything is in it."""
HEAD = 400
"""Stored bytes of an output code that are read: its first line states the direction."""
SLICE = 100
_VOID = frozenset({b"", b"[]", b"{}", b"null", b'""'})
_DISABLED = re.compile(rb'force_disable_caches\\*": ?true')
_BEGINNINGS = (
    ("skipped: the result came", CACHED),
    ("skipped: the code came", CACHED),
    ("not written when the result comes from a cache", CACHED),
    (NOT_YET, PENDING),
    ("the log ends", CUT),
    ("the log has only the end", CUT),
    ("not written: vLLM compiles", CUT),
    ("the compile failed", FAILED),
    ("the backward failed", FAILED),
    ("the recompile limit", FAILED),
    ("provenance was not recorded", NOT_LOGGED),
    ("only written with", NOT_LOGGED),
    ("caches are disabled", NOT_LOGGED),
    ("Inductor did not query the FX graph cache", NOT_LOGGED),
    ("torch did not query the AOTAutograd cache", NOT_LOGGED),
    ("unknown (no reason in the log)", UNEXPLAINED),
    ("not written by ", OTHER_TORCH),
    ("unknown for ", OPEN),
)
_CACHE_NAMES = re.compile(r"^(?:fx_graph|aotautograd)_(?:bundled_)?cache_")
_CODE = "inductor_output_code"
_AOT_ID = re.compile(r"# AOT ID: \['\d+_(forward|backward|inference)'\]")
_TRAINED = frozenset({"aot_joint_graph", "aot_forward_graph", "aot_backward_graph"})


@frozen
class Expected:
    """Expected artifact of a compile."""

    name: str
    title: str
    state: str
    """present, or why not: one of `STATES`."""
    count: int = 0
    """Records that are there, with a payload."""
    reason: str | None = None
    flag: str | None = None
    """The setting that would have brought it."""
    record_name: str | None = None
    """The name of the present record, which may be an equivalent one."""

    @property
    def is_routine(self) -> bool:
        """Return whether the absence is normal: nothing to write, another version of torch, or an extra of tlparse."""
        return self.state in (NOTHING, OTHER_TORCH) or self.flag == LOG_TLPARSE


@frozen
class CompileArtifacts:
    """Present and absent artifacts of one compile, in the order of the compiler."""

    ref: str
    status: str | None
    expected: tuple[Expected, ...]


@frozen
class AbsentGroup:
    """One artifact that is absent from some compiles for one reason."""

    name: str
    title: str
    state: str
    reason: str
    flag: str | None
    is_routine: bool
    refs: tuple[str, ...]
    """The compiles."""


@frozen
class PresentCount:
    """An artifact that is there."""

    name: str
    title: str
    compiles: int
    """The number of compiles with it."""
    possible_compiles: int
    """The number of compiles that can have it."""


@frozen
class Absence:
    """Present and absent artifacts in a part of a run."""

    groups: tuple[AbsentGroup, ...] = ()
    """By state, the most urgent first; in a state, what the most compiles lack first."""
    present: tuple[PresentCount, ...] = ()
    compiles: tuple[CompileArtifacts, ...] = ()


def absence_of(compiles: Iterable[Compile]) -> Absence:
    """Return present and absent artifacts of compiles, without steps."""
    return run_steps(read_absence(compiles))


def read_absence(compiles: Iterable[Compile]) -> Generator[None, None, Absence]:
    """Collect present and absent artifacts of compiles. Yields between steps."""
    versions: dict[int, TorchVersion] = {}
    results: list[CompileArtifacts] = []
    for number, compile_ in enumerate(compiles):
        # records outside of any compile, and compiles without a trace, have no expected artifacts
        if (compile_.is_compile or compile_.id.autograd is not None) and compile_.is_traced:
            status, process = compile_.status, compile_.process
            rows = _sorts(process).rows(_sort_number(compile_), process, versions)
            results.append(CompileArtifacts(str(compile_.ref), str(status) if status else None, rows))
        if number % SLICE == SLICE - 1:
            yield
    yield
    return Absence(_groups(results), _present(results), tuple(results))


def state_of(reason: str) -> str:
    """Return the state of a reason of `tltui.model.expected_artifacts`."""
    return next((state for beginning, state in _BEGINNINGS if reason.startswith(beginning)), NOTHING)


class _Sorts:
    """Sorts of compiles of a run: the result for one holds for all with the same records. Append-only."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Outcome, tuple[tuple[str, int], ...], frozenset[str], bool], int] = {}
        self._sorts: list[tuple[Outcome, dict[str, int], frozenset[str], bool]] = []
        self._rows: dict[tuple[int, TorchVersion], tuple[Expected, ...]] = {}
        self._lock = threading.Lock()

    def number(self, outcome: Outcome, counts: dict[str, int], void: frozenset[str], dated: bool) -> int:
        """Return the number of a sort. `dated`: its own metrics have the version of torch."""
        with self._lock:
            number = self._numbers.setdefault((outcome, tuple(sorted(counts.items())), void, dated), len(self._sorts))
            if number == len(self._sorts):
                self._sorts.append((outcome, counts, void, dated))
            return number

    def rows(self, number: int, process: Process, versions: dict[int, TorchVersion]) -> tuple[Expected, ...]:
        """Return the expected artifacts of a sort of compiles. `versions` caches the versions of processes."""
        outcome, counts, void, dated = self._sorts[number]
        version = UNKNOWN
        if not dated:
            if id(process) not in versions:
                versions[id(process)] = replace(version_of(process), stated=None, by=())
            version = versions[id(process)]
        rows = self._rows.get((number, version))
        if rows is None:
            in_version = outcome if dated else replace(outcome, version=version)
            rows = self._rows[number, version] = _rows(in_version, counts, void)
        return rows


_SORTS: WeakKeyDictionary[Parts, _Sorts] = WeakKeyDictionary()


def _sorts(process: Process) -> _Sorts:
    return _SORTS.setdefault(process.parts, _Sorts())


@part
def _sort_number(compile_: Compile, reader: Reader) -> int:
    """Return the sort of a compile."""
    counts, void = _counted(compile_, reader)
    directions = _directions(compile_) if not _TRAINED.isdisjoint(counts) else frozenset[str]()
    disabled = _CODE in counts and not any(map(_CACHE_NAMES.match, counts)) and _disabled(compile_, reader)
    version = next((m.pytorch_version for m in compile_.metrics if m.pytorch_version), None)
    stated = UNKNOWN if version is None else stated_version(version)
    outcome = outcome_from(compile_, counts, directions, disabled, stated)
    return _sorts(compile_.process).number(outcome, counts, void, stated.least is not None)


def _counted(compile_: Compile, reader: Reader) -> tuple[dict[str, int], frozenset[str]]:
    """Count records with a payload (or metrics) by name; also return the names with only empty records."""
    log = compile_.process.log
    kinds, sizes = log.columns.kind, log.columns.size
    numbers: Counter[int] = Counter()
    tiny: dict[int, list[int]] = {}
    for record in compile_.records:
        size = sizes[record]
        if size or log.kinds[kinds[record]].event in METRICS:
            numbers[kinds[record]] += 1
            if 0 < size <= TINY:
                tiny.setdefault(kinds[record], []).append(record)
    counts: dict[str, int] = {}
    for number, count in numbers.items():
        kind = log.kinds[number]
        if kind.event != "chromium_event":
            name = artifact_name(kind)
            counts[name] = counts.get(name, 0) + count
    void = set()
    for number, records in tiny.items():
        name = artifact_name(log.kinds[number])
        if len(records) == counts.get(name) and all(_is_void(reader.payload(record)) for record in records):
            void.add(name)
    return counts, frozenset(void)


def _is_void(payload: bytes) -> bool:
    return b"".join(payload.split()) in _VOID


def _directions(compile_: Compile) -> frozenset[str]:
    """Return `forward`, `backward` from the first line of each output code: cheaper than working the units out."""
    log = compile_.process.log
    heads = (log.text(record, HEAD) for record, _ in records_of(compile_, (_CODE,)))
    return frozenset(match[1] for head in heads if (match := _AOT_ID.search(head)))


def _disabled(compile_: Compile, reader: Reader) -> bool:
    """Return whether the metrics have all caches off. They are 40 KB of text each: searched, not parsed."""
    return any(_DISABLED.search(reader.head(m.record)) for m in compile_.metrics if m.event == "compilation_metrics")


def _rows(outcome: Outcome, counts: dict[str, int], void: frozenset[str]) -> tuple[Expected, ...]:
    rows: list[Expected] = []
    for name, title, names in present_artifacts(outcome):
        records = [other for other in counts if other in names or (name[0] == "*" and other.endswith(name[1:]))]
        count = sum(counts[other] for other in records)
        if records and void.issuperset(records) and outcome.waiting:
            rows.append(Expected(name, title, PENDING, count, NOT_YET, record_name=records[0]))
        elif records and void.issuperset(records):
            rows.append(Expected(name, title, EMPTY, count, "the record is empty", record_name=records[0]))
        else:
            rows.append(Expected(name, title, PRESENT, max(count, 1), record_name=records[0] if records else None))
    for row in absent(outcome):
        rows.append(Expected(row.name, row.title, state_of(row.reason), 0, row.reason, row.flag))
    return tuple(sorted(rows, key=lambda row: PLACES[row.name]))


def _groups(results: list[CompileArtifacts]) -> tuple[AbsentGroup, ...]:
    refs: dict[Expected, list[str]] = {}
    lists: dict[int, list[list[str]]] = {}  # compiles of one sort share their rows
    for compile_ in results:
        members = lists.get(id(compile_.expected))
        if members is None:
            members = [refs.setdefault(row, []) for row in compile_.expected if row.state != PRESENT]
            lists[id(compile_.expected)] = members
        for each in members:
            each.append(compile_.ref)
    groups = [
        AbsentGroup(row.name, row.title, row.state, row.reason or "", row.flag, row.is_routine, tuple(members))
        for row, members in refs.items()
    ]
    return tuple(sorted(groups, key=lambda group: (group.is_routine, STATES.index(group.state), -len(group.refs))))


def _present(results: list[CompileArtifacts]) -> tuple[PresentCount, ...]:
    has: Counter[tuple[str, str]] = Counter()
    wanted: Counter[tuple[str, str]] = Counter()
    sorts = {id(compile_.expected): compile_.expected for compile_ in results}
    for sort, count in Counter(id(compile_.expected) for compile_ in results).items():
        for row in sorts[sort]:
            wanted[row.name, row.title] += count
            has[row.name, row.title] += count if row.state == PRESENT else 0
    ordered = sorted(wanted.items(), key=lambda item: PLACES[item[0][0]])
    return tuple(PresentCount(*key, has[key], number) for key, number in ordered if has[key])


CODE_ARTIFACTS = (OUTPUT_CODE, WRAPPER, KERNELS)
AT_ONCE = 64
"""Compiles examined between two yields."""


@frozen
class Nearest:
    """A compile with generated code."""

    ref: str
    relation: str
    """Its relation to the other compile: `the nearest compile of f with code`."""


@frozen
class NoCode:
    """Explanation of a compile without generated code."""

    why: str
    """A sentence without its end: `it failed in Dynamo`."""
    nearest: Nearest | None
    """None if no compile of the run has any."""


def has_lowered(compile_: Compile) -> bool:
    """Return whether there is a graph, code or mapping to show side by side."""
    artifacts = artifacts_of(compile_)
    return bool(parts_of(artifacts, units_of(artifacts), reader_of(compile_)))


def has_code(compile_: Compile) -> bool:
    """Return whether torch wrote generated code for it."""
    return any(True for _ in records_of(compile_, CODE_ARTIFACTS))


def no_code(run: Run, compile_: Compile | None) -> Generator[None, None, NoCode]:
    """Explain why a compile has no code, and find the nearest one with code. Yields between steps.

    Nearest: of the same function, else on its rank, else any. Without a compile, the first one with code.
    """
    order = [*in_order(run), *(node for node in run.compiles() if node.id == NO_ID)]
    if compile_ is None:
        first = yield from _first(order)
        return NoCode("", None if first is None else Nearest(str(first.ref), "the first compile that has code"))
    place = order.index(compile_) if compile_ in order else 0
    near = sorted(range(len(order)), key=lambda number: abs(number - place))
    code, name = compile_.frame.code, compile_.frame.code[0]
    rank = compile_.process.rank
    steps: list[tuple[str, Callable[[Compile], bool]]] = [
        (f"the nearest compile of {name} that has code", lambda node: name is not None and node.frame.code == code),
        (f"the nearest compile on rank {rank} that has code", lambda node: rank is not None and node.process.rank == rank),
        ("the nearest compile that has code", lambda node: True),
    ]
    for description, wanted in steps:
        first = yield from _first([order[number] for number in near if wanted(order[number])])
        if first is not None:
            return NoCode(why_none(compile_), Nearest(str(first.ref), description))
    return NoCode(why_none(compile_), None)


def _first(compiles: list[Compile]) -> Generator[None, None, Compile | None]:
    for number, compile_ in enumerate(compiles):
        if has_code(compile_):
            return compile_
        if number % AT_ONCE == AT_ONCE - 1:
            yield
    return None


def why_none(compile_: Compile) -> str:
    """Return why a compile has no generated code."""
    if compile_.id == NO_ID:
        return "these records belong to no compile"
    if not compile_.is_compile:
        return "compiled autograd captured a backward; its graph has a different compile id"
    facts, status = compile_.facts, compile_.status
    if facts.recompile_limit_hit:
        return "the recompile limit was reached, so nothing was compiled"
    if status is Status.EAGER:
        return "the function fell back to eager mode"
    if facts.interrupted:
        return "it was interrupted"
    if status is Status.RUNNING:
        return "it is still running"
    rows = (row for artifacts in absence_of([compile_]).compiles for row in artifacts.expected)
    reason = next((row.reason for row in rows if row.name == OUTPUT_CODE and row.state != PRESENT), None)
    if reason is not None:
        text = reason.replace("the compile failed earlier, ", "it failed ").replace("the compile failed", "it failed")
        return text.replace("the log ends earlier", "the log ends before any code existed")
    if facts.has_metrics and not facts.graph_op_count:
        return "no operations were captured" + (" before the graph break" if facts.breaks else "")
    return "torch wrote none"
