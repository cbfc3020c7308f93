"""Problems of a run, each kind once, with torch's registry of graph breaks where torch is installed."""

from __future__ import annotations

import importlib.util
import re
from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader, address, json_in, metrics_fields, whole_in
from tltui.model.status import Eager, Status
from tltui.questions.cudagraphs.cudagraph_report import reasons_of, sentence_of, skip_messages
from tltui.questions.job_failures.job_failures import OutputWarning, RunFailure
from tltui.questions.overview.run_summary import Code, code_of, is_unfinished, may_go_on
from tltui.questions.problems.compile_problems import NAME as BREAK
from tltui.questions.problems.compile_problems import (
    Failure,
    GraphBreak,
    cached_breaks,
    cached_failures,
    compiled_nothing_below,
    from_restart,
    headline_of,
)
from tltui.questions.recompiles.recompile_reasons import cached_recompile, limit_warning
from tltui.questions.stacks.tracebacks import display_name
from tltui.text.frozen import frozen
from tltui.text.steps import run_steps
from tltui.trace.grammar import parse_json

FILE = "_dynamo/graph_break_registry.json"
LIMIT = 16 << 20
_VERSION = re.compile(r"""^__version__(?:\s*:[^=]*)?\s*=\s*['"]([^'"\n]{1,80})['"]""", re.MULTILINE)
_HOLE = re.compile(r"\{[^{}]*\}")


@frozen
class Registered:
    """Registry entry of the installed torch. `{…}` are placeholders that only a trace fills in."""

    gb: str
    title: str
    context: str
    explanation: str
    hints: tuple[str, ...]
    torch_version: str
    """The version of the installed torch, '' if unknown. It may differ from that of the trace."""


def installed_torch() -> Path | None:
    """Locate the directory of an installed torch without importing it."""
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, AttributeError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


@lru_cache(maxsize=4)
def registry(directory: Path | None) -> dict[str, Registered]:
    """Read the graph break registry of the torch in this directory; empty if absent or unreadable."""
    if directory is None:
        return {}
    try:
        with open(directory / FILE, "rb") as file:
            entries = parse_json(file.read(LIMIT))
    except (OSError, ValueError):
        return {}
    version = _version(directory)
    results = {}
    for name, versions in entries.items() if isinstance(entries, dict) else ():
        entry = next((item for item in versions if isinstance(item, dict)), None) if isinstance(versions, list) else None
        if entry is not None:
            results[name.lower()] = _entry(name.lower(), entry, version)
    return results


def registered(gb: str | None) -> Registered | None:
    """Return the entry of the installed torch for a graph break id."""
    return registry(installed_torch()).get(gb.lower()) if gb else None


def adds(entry: Registered | None, explanation: str, hints: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the explanation and the hints that the registry adds to the trace."""
    if entry is None:
        return "", ()
    more = tuple(hint for hint in entry.hints if not any(_matches(hint, written) for written in hints))
    return ("" if explanation else entry.explanation), more


def _matches(template: str, text: str) -> bool:
    """Return whether `text` matches `template` with placeholders: the registry cuts some hints into pieces."""
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in _HOLE.split(template))
    return re.search(pattern.replace(r"\ ", " *"), " ".join(text.split())) is not None


def _entry(gb: str, entry: dict[str, object], version: str) -> Registered:
    def text(key: str) -> str:
        value = entry.get(key)
        return value.strip() if isinstance(value, str) else ""

    hints = entry.get("Hints")
    texts = tuple(hint.strip() for hint in hints if isinstance(hint, str)) if isinstance(hints, list) else ()
    return Registered(gb, text("Gb_type"), text("Context"), text("Explanation"), tuple(filter(None, texts)), version)


def _version(directory: Path) -> str:
    try:
        with open(directory / "version.py", encoding="utf-8", errors="replace") as file:
            match = _VERSION.search(file.read(1 << 16))
    except OSError:
        return ""
    return match[1] if match else ""


VARIANTS = 8
Steps = Generator[None, None, "tuple[T, ...]"]
T = TypeVar("T")


@frozen
class Occurrence:
    """A compile that has a problem."""

    ref: str
    function: str | None
    rank: int | None
    attempt: int = 0
    record: str | None = None
    """The address of its record."""
    is_backward: bool = False
    """Whether only the backward of an unfinished compile has no end."""


@frozen
class FailedGroup:
    """Compiles of one code object that failed with the same error at the same line."""

    failure: Failure
    """The failure of the first one."""
    code: Code
    """The code object that was being compiled."""
    graph_break: GraphBreak | None
    """Torch's message on the graph break, if the error is one that was not allowed."""
    registry_entry: Registered | None
    occurrences: tuple[Occurrence, ...]
    break_not_allowed: bool = False
    """Whether it is an error because a graph break was not allowed: `fullgraph=True`, `error_on_graph_break`."""
    reached_caller: bool | None = None
    """Whether the exception reached the caller; None: this torch does not log it."""


@frozen
class EagerGroup:
    """A code object that fell back to eager mode for one reason. Hits of the recompile limit: `LimitGroup`."""

    code: Code
    eager_reason: Eager
    headline: str
    """The graph break that torch could not resume from, or the error that `suppress_errors` kept from the caller."""
    file: str | None
    line: int | None
    record: str | None
    """The address of its record."""
    failure: Failure | None
    """None where a graph break is no failure: in a loop, up to torch 2.10."""
    occurrences: tuple[Occurrence, ...]


@frozen
class LimitGroup:
    """A code object that was compiled as often as `recompile_limit` allows. It runs in eager mode where no compile fits."""

    code: Code
    frame: str
    """The address of the frame, on the first rank that has it."""
    failure: Failure
    limit: int | None
    """The limit as the metrics state it."""
    last_reason: str
    """The first guard that failed the last time, '' if no reason was logged."""
    occurrences: tuple[Occurrence, ...]
    is_eager: bool = False
    """Whether calls that fit no compile run in eager mode; else the limit is an error for them."""
    callees_eager: bool = False
    """Whether no later compile came from such a call, as far as the stacks show."""


@frozen
class BreakGroup:
    """Graph breaks of one kind at one line of the user's."""

    graph_break: GraphBreak
    """The first of them."""
    user_file: str | None
    """The nearest line of the user's own code: where the break is, or what led there; else a library's, else torch's."""
    user_line: int | None
    functions: tuple[str, ...]
    """The functions that were being compiled."""
    registry_entry: Registered | None
    variants: tuple[GraphBreak, ...]
    """The first of each further wording; at most `VARIANTS`."""
    occurrences: tuple[Occurrence, ...]


@frozen
class RestartGroup:
    """Restarts of the analysis with one reason and no graph break record."""

    reason: str
    occurrences: tuple[Occurrence, ...]


@frozen
class SkippedGroup:
    """A code object in which no operation was captured."""

    code: Code
    compile_s: float
    """The time of the attempts to compile it."""
    occurrences: tuple[Occurrence, ...]


@frozen
class CudagraphGroup:
    """Compiles for which no CUDA graph was made, or one for each of many sizes, with one reason."""

    reason: str
    """Torch's reason without its stack."""
    occurrences: tuple[Occurrence, ...]
    file: str | None = None
    line: int | None = None
    code: str | None = None
    """The line of the program; None where torch does not give it."""


@frozen
class Problems:
    """All problems of a part of a run."""

    errors: tuple[FailedGroup, ...]
    backward: tuple[FailedGroup, ...]
    """Failures of the backward compile."""
    limits: tuple[LimitGroup, ...]
    unfinished: tuple[Occurrence, ...]
    """Compiles without an end, or with a backward without one, of logs that have ended: killed, or cut off."""
    breaks: tuple[BreakGroup, ...]
    """The most frequent first."""
    restarts: tuple[RestartGroup, ...]
    skipped: tuple[SkippedGroup, ...]
    """The slowest first."""
    cudagraph_skips: tuple[CudagraphGroup, ...]
    breaks_logged: bool
    """False where torch was too old to write records of graph breaks: then they are the restart reasons."""
    running: tuple[Occurrence, ...] = ()
    """The same of logs that may go on."""
    eager: tuple[EagerGroup, ...] = ()
    """Functions that run in eager mode."""
    output_failures: tuple[RunFailure, ...] = ()
    """Failures in the outputs of the job, the first one first."""
    rank_difference: str = ""
    """The first difference between ranks in a sentence; '' if they do not differ, or there is only one."""
    output_warnings: tuple[OutputWarning, ...] = ()
    """Warnings of torch in the outputs of the job."""


def problems(compiles: Sequence[Compile]) -> Problems:
    """All problems at once."""
    errors, backward = run_steps(failed_groups(compiles))
    eager = run_steps(eager_groups(compiles))
    limits = run_steps(limit_groups(compiles))
    breaks, restarts = run_steps(break_groups(compiles))
    return Problems(
        errors, backward, limits, unfinished_of(compiles), breaks, restarts, skipped_groups(compiles),
        cudagraph_groups(compiles), breaks_logged(compiles), unfinished_of(compiles, waiting=True),
        eager,
    )  # fmt: skip


def _occurrence(compile_: Compile, attempt: int = 0, record: str | None = None) -> Occurrence:
    return Occurrence(str(compile_.ref), display_name(compile_.frame), compile_.process.rank, attempt, record)


def failed_groups(
    compiles: Sequence[Compile],
) -> Generator[None, None, tuple[tuple[FailedGroup, ...], tuple[FailedGroup, ...]]]:
    """Group failures of forward and backward compiles, in the order of first occurrence.

    Excluded: hits of the recompile limit (`limit_groups`) and eager fallbacks (`eager_groups`).
    """
    groups: dict[tuple[Any, ...], list[tuple[Compile, Failure]]] = defaultdict(list)
    for compile_ in compiles:
        facts = compile_.facts
        if not (facts.failed or facts.backward_failed or compile_.counts["eager_compile_backwards_failure"]):
            continue
        for failure in cached_failures(compile_):
            if (facts.recompile_limit_hit or facts.eager_reason) and not failure.is_backward:
                continue
            first = failure.reason.partition("\n")[0]
            place = (failure.file, failure.line)
            groups[failure.is_backward, failure.type, first, place, compile_.frame.code].append((compile_, failure))
        yield
    failed = [_failed(members) for members in groups.values()]
    return tuple(g for g in failed if not g.failure.is_backward), tuple(g for g in failed if g.failure.is_backward)


def _code_key(compile_: Compile) -> tuple[Any, ...]:
    """Return the grouping key of a code object; unnamed frames stay separate."""
    code = compile_.frame.code
    return code if code[0] is not None else (id(compile_.frame),)


def _failed(members: list[tuple[Compile, Failure]]) -> FailedGroup:
    compile_, failure = members[0]
    explained = from_restart(failure.reason) if "Explanation:" in failure.reason else None
    return FailedGroup(
        failure, code_of(compile_), explained, registered(explained.gb) if explained else None,
        tuple(_occurrence(c, record=f.ref) for c, f in members), compile_.facts.break_not_allowed and not failure.is_backward,
        True if failure.is_backward else compile_.facts.reached_caller,
    )  # fmt: skip


def eager_groups(compiles: Sequence[Compile]) -> Steps[EagerGroup]:
    """Return the functions that fell back to eager mode, in the order of the first of each."""
    groups: dict[tuple[Any, ...], list[tuple[Compile, EagerGroup]]] = defaultdict(list)
    for compile_ in compiles:
        eager = compile_.facts.eager_reason
        if eager is None or eager is Eager.LIMIT:
            continue
        group = _eager(compile_, eager)
        groups[_code_key(compile_), eager, group.headline, group.file, group.line].append((compile_, group))
        yield
    return tuple(
        replace(members[0][1], occurrences=tuple(_occurrence(c, record=group.record) for c, group in members))
        for members in groups.values()
    )


def _eager(compile_: Compile, eager: Eager) -> EagerGroup:
    failure = next((failure for failure in cached_failures(compile_) if not failure.is_backward), None)
    broke = cached_breaks(compile_) if eager is Eager.SKIPPED else ()
    record = broke[-1].ref if broke else failure.ref if failure else None
    if failure is not None:
        kind = f"{failure.type}: " if eager is Eager.SUPPRESSED else ""
        headline, file, line = kind + headline_of(failure.reason), failure.file, failure.line
    else:  # up to torch 2.10 a graph break in a loop is no failure
        headline, file, line = (broke[-1].headline, broke[-1].file, broke[-1].line) if broke else ("", None, None)
    return EagerGroup(code_of(compile_), eager, headline, file, line, record, failure, ())


def limit_groups(compiles: Sequence[Compile]) -> Steps[LimitGroup]:
    """Hits of the recompile limit by code object."""
    groups: dict[tuple[Any, ...], list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        if compile_.facts.recompile_limit_hit:
            groups[_code_key(compile_)].append(compile_)
    results = []
    for members in groups.values():
        results.append(_limit(members))
        yield
    return tuple(results)


def _limit(members: list[Compile]) -> LimitGroup:
    first, last = members[0], members[-1]
    failure = next(iter(cached_failures(first)), Failure("", ""))
    recompile = cached_recompile(last)
    reason = recompile.reasons[0].text if recompile is not None and recompile.reasons else ""
    return LimitGroup(
        code_of(first), str(first.frame.ref), failure, limit_stated(first), reason, tuple(_occurrence(c) for c in members),
        first.facts.eager_reason is Eager.LIMIT, all(map(compiled_nothing_below, members)),
    )  # fmt: skip


@part
def limit_stated(compile_: Compile, reader: Reader) -> int | None:
    """Return the recompile limit in the metrics of a compile, or in torch's warning."""
    fields = next((f for event, f in metrics_fields(compile_, reader) if event == "compilation_metrics"), None)
    dynamo = json_in(fields, "dynamo_config")
    limits = (whole_in(dynamo, "recompile_limit"), whole_in(dynamo, "cache_size_limit"))
    stated = next((limit for limit in limits if limit is not None), None)
    warning = limit_warning(compile_) if stated is None else None
    return stated if warning is None else warning.limit


def break_groups(
    compiles: Sequence[Compile],
) -> Generator[None, None, tuple[tuple[BreakGroup, ...], tuple[RestartGroup, ...]]]:
    """Return graph breaks by kind and user line, the most frequent first; and restarts without a record of a break."""
    groups: dict[tuple[Any, ...], list[tuple[Compile, GraphBreak]]] = defaultdict(list)
    restarts: dict[str, list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        if not compile_.untimed_tally.breaks and not compile_.facts.restarts:
            continue
        kinds = set()
        for graph_break in cached_breaks(compile_):
            later = tuple(reason.gb or reason.headline for reason in graph_break.while_handling)
            place = _user_place(graph_break)
            title = graph_break.gb or graph_break.headline
            key = (title, graph_break.file, graph_break.line, place, graph_break.skips_frame, graph_break.is_unresumable, later)
            groups[key].append((compile_, graph_break))
            kinds |= {graph_break.gb, graph_break.headline}
        for reason in compile_.facts.restarts if compile_.process.logs_breaks or not compile_.untimed_tally.breaks else ():
            restart = from_restart(reason)
            if restart.headline not in kinds and (restart.gb is None or restart.gb not in kinds):
                restarts[reason.strip()].append(compile_)
        yield
    results = [_break(members) for members in groups.values()]
    results.sort(key=lambda group: -len(group.occurrences))
    listed = [RestartGroup(reason, tuple(_occurrence(c) for c in members)) for reason, members in restarts.items()]
    return tuple(results), tuple(sorted(listed, key=lambda group: -len(group.occurrences)))


def _user_place(graph_break: GraphBreak) -> tuple[str | None, int | None]:
    lead = graph_break.lead
    return (lead.file, lead.line) if lead is not None else (graph_break.file, graph_break.line)


def _break(members: list[tuple[Compile, GraphBreak]]) -> BreakGroup:
    _, first = members[0]
    wordings: dict[tuple[Any, ...], GraphBreak] = {}
    for _, graph_break in members:
        wordings.setdefault((graph_break.headline, graph_break.explanation, graph_break.hints, graph_break.context), graph_break)
    file, line = _user_place(first)
    names = dict.fromkeys(name for compile_, _ in members if (name := display_name(compile_.frame)))
    return BreakGroup(
        first, file, line, tuple(names), registered(first.gb), tuple(wordings.values())[1 : VARIANTS + 1],
        tuple(_occurrence(c, graph_break.attempt, graph_break.ref or _restarted(c)) for c, graph_break in members),
    )  # fmt: skip


def _restarted(compile_: Compile) -> str:
    """Return the address of the metrics with the restart reason."""
    metrics = next((m for m in compile_.metrics if m.restart_reasons), None)
    return str(compile_.ref) if metrics is None else address(compile_, metrics.record, metrics.event)


def unfinished_of(compiles: Sequence[Compile], waiting: bool = False) -> tuple[Occurrence, ...]:
    """Return compiles without an end in the log, forward or backward; `waiting`: those of live logs."""
    return tuple(
        replace(_occurrence(c), is_backward=c.facts.backward_running or c.facts.backward_unfinished) for c in compiles
        if is_unfinished(c) and may_go_on(c) == waiting
    )  # fmt: skip


def skipped_groups(compiles: Sequence[Compile]) -> tuple[SkippedGroup, ...]:
    """Return code objects without operations, the slowest first. A break before the first operation is a graph break."""
    groups: dict[tuple[Any, ...], list[Compile]] = defaultdict(list)
    for compile_ in compiles:
        if compile_.status is Status.EMPTY:
            groups[_code_key(compile_)].append(compile_)
    results = [
        SkippedGroup(
            code_of(members[0]), sum(c.compile_s for c in members), tuple(_occurrence(c) for c in members),
        )
        for members in groups.values()
    ]  # fmt: skip
    return tuple(sorted(results, key=lambda group: -group.compile_s))


def cudagraph_groups(compiles: Sequence[Compile]) -> tuple[CudagraphGroup, ...]:
    """Return the reasons for which CUDA graphs were skipped or recorded many times, the most frequent first."""
    members = {str(compile_.ref): compile_ for compile_ in compiles if skip_messages(compile_)}
    results = []
    for reason in reasons_of(members.values()):
        place = reason.place
        where = (place.file, place.line, place.code) if place is not None else (None, None, None)
        occurrences = tuple(_occurrence(members[ref]) for ref in reason.refs if ref in members)
        results.append(CudagraphGroup(sentence_of(reason), occurrences, *where))
    return tuple(results)


def breaks_logged(compiles: Sequence[Compile]) -> bool:
    """Return whether all processes with restarts write records of graph breaks."""
    return all(c.process.logs_breaks or c.counts[BREAK] for c in compiles if c.facts.restarts)
