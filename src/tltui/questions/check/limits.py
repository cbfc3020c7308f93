"""Limits for continuous integration: parsing, evaluation and verdict."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple, Protocol

from tltui.model.artifacts import OUTPUT_CODE, artifact_name
from tltui.model.input_coverage import HOW, TEXT, compiling, title_of
from tltui.model.kind import Kind as Row
from tltui.model.kinds import kind_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import records_of
from tltui.model.ref import NO_ID, Ref, with_noun
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.model.torch_version import version_of
from tltui.questions.job_failures.job_failures import (
    OutputWarning,
    RunFailure,
    failures_outside_trace,
    independent_failures,
    output_warnings,
)
from tltui.questions.job_failures.printed_warnings import LIMIT_REACHED
from tltui.questions.overview.graphs_made import ranks_without_graph
from tltui.questions.overview.run_summary import Code
from tltui.questions.problems.compile_problems import headline_of
from tltui.questions.problems.problem_list import Problems, problems
from tltui.questions.provenance.provenance import provenance_of
from tltui.questions.ranks.differences import Side, differences_of
from tltui.questions.ranks.matching import WORDS
from tltui.questions.recompiles.recompile_reasons import parse_reason
from tltui.questions.runtime.costs import self_us
from tltui.questions.runtime.profile_results import CompileTime, Refused, Runtime, break_times, compile_at, fallback_times
from tltui.questions.runtime.profile_sums import runtimes_of
from tltui.questions.stacks.tracebacks import display_code, display_name
from tltui.questions.timing.timing_events import record_page
from tltui.text.bad_input import BadInput
from tltui.text.formatting import micros
from tltui.text.frozen import frozen
from tltui.text.torch_names import is_framework
from tltui.trace.batch import Kind
from tltui.trace.scan import BROKEN, FOREIGN

REASONS = 50


class Occurrence(NamedTuple):
    """Occurrence of something that a limit counts."""

    ref: str
    """Its address."""
    text: str
    key: str
    """A key that is equal for the same occurrence in another run."""
    file: str | None = None
    """The user's file that it is about, as torch named it; None where that is not known."""
    line: int | None = None


class Facts:
    """A run as the limits see it. Payloads are read once, and only if a limit needs them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.everything: list[Compile] = list(run.compiles())
        self.compiles = [compile_ for compile_ in self.everything if compile_.is_compile]
        self._problems: Problems | None = None

    @property
    def problems(self) -> Problems:
        """All problems."""
        if self._problems is None:
            self._problems = problems(self.everything)
        return self._problems

    def value_of(self, name: str) -> float:
        """Return the value of a measure."""
        return float(MEASURES[name].value(self))

    def keys_of(self, name: str) -> Callable[[str], bool]:
        """Return whether the occurrences of a measure include one with a key."""
        return {occurrence.key for occurrence in MEASURES[name].reasons(self)}.__contains__

    def most_of(self, name: str) -> float:
        """Return the maximum that a later run may have of a measure by default: the value."""
        return self.value_of(name)


class Baseline(Protocol):
    """Values to compare with: of another run (`Facts`), or kept ones (`running/baselines.py`)."""

    def value_of(self, name: str) -> float:
        """Return the value of a measure."""

    def keys_of(self, name: str) -> Callable[[str], bool]:
        """Return whether the occurrences of a measure include one with a key."""

    def most_of(self, name: str) -> float:
        """Return the maximum that a later run may have of a measure by default."""


@frozen
class Measure:
    """Measure of a limited quantity."""

    title: str
    """The counted quantity, as a phrase."""
    value: Callable[[Facts], float]
    reasons: Callable[[Facts], list[Occurrence]]
    page: str
    """The page with more about it: a name of `questions/index.py`, or `damage`."""
    seconds: bool = False
    share: bool = False
    """Whether the value is a percentage."""


def one_line(text: str) -> str:
    """Return a text as one line for a reason, at most 300 characters."""
    return " ".join(text.split())[:300]


def differences(run: Run) -> int:
    """Return the number of differences."""
    result = differences_of(run)
    return result.count if result is not None else 0


def difference_reasons(run: Run) -> list[Occurrence]:
    """Return each difference with its location and a key that is independent of ranks and runs."""
    result = differences_of(run)
    reasons = []
    for divergence in result.divergences if result is not None else ():
        sides = " | ".join(map(_side, divergence.groups)) + (
            f" | {divergence.ranks_in_no_group} more ranks" if divergence.ranks_in_no_group else ""
        )
        ref = next((side.ref for side in (*divergence.groups[1:], divergence.groups[0]) if side.ref), "@ranks")
        title = WORDS[divergence.properties[0]].difference
        if divergence.compile_count:
            reasons.append(Occurrence(ref, f"{title}: {sides}", f"{divergence.properties[0]}\0{divergence.groups[-1].description}"))
            continue
        for function in (divergence.function, *divergence.other_functions):
            where = f" ({function.file}:{function.line})" if function.file else ""
            of = f", compile {divergence.compile_number}" if divergence.compile_number > 1 else ""
            key = f"{divergence.properties[0]}\0{function.name}\0{divergence.compile_number}"
            text = f"{function.name}{where}{of}: {title}: {sides}"
            reasons.append(Occurrence(ref, text, key, function.file, function.line))
    return reasons


def _side(side: Side) -> str:
    ranks = with_noun(side.ranks)
    return f"{ranks}: {' '.join(side.description.split())[:120]}" if side.description else ranks


def joined(run: Run) -> list[Runtime]:
    """Return the joined profiles."""
    return [item for item in runtimes_of(run) if isinstance(item, Runtime)]


def why_no_profile(run: Run) -> str:
    """Return why nothing measured the run: no profile, or none that fits; '' where one does."""
    runtimes = runtimes_of(run)
    if any(isinstance(item, Runtime) for item in runtimes):
        return ""
    refused = [f"{item.profile} does not match this trace: {item.reason}" for item in runtimes if isinstance(item, Refused)]
    return "; ".join(refused) or "none was found. Add --profile FILE; tltui runtime PATH shows how to record one"


def _most(part: Callable[[Runtime], float], of: Callable[[Runtime], float]) -> Callable[[Facts], float]:
    """Return a measure: the largest share in percent over all profiles."""
    return lambda facts: max((100 * part(runtime) / of(runtime) for runtime in joined(facts.run) if of(runtime) > 0), default=0.0)


def _compiled(runtime: Runtime) -> float:
    share = runtime.share
    return share.kernels_us + share.wrapper_us + share.guards_us + share.overhead_us


def _graphs(runtime: Runtime) -> float:
    return runtime.share.kernels_us + runtime.share.wrapper_us


def _guards(facts: Facts) -> list[Occurrence]:
    def describe(compile_time: CompileTime) -> str:
        lookups = compile_time.lookups
        return f"{micros(lookups.mean_us)} per call, {_percent(lookups.us, self_us(compile_time))} of the time of "

    occurrences = _dearest(facts, lambda compile_time: compile_time.lookups.us, describe)
    fell = [item for runtime in joined(facts.run) for item in runtime.fallbacks]
    us = sum(item.lookup_us for item in fell)
    text = f"{micros(us / len(fell))} per call, before each of the {len(fell)} calls that fell back" if fell else ""
    return [Occurrence(fell[0].ref or "@runtime", text, "fallbacks"), *occurrences] if fell else occurrences


def _wrappers(facts: Facts) -> list[Occurrence]:
    def us(compile_time: CompileTime) -> float:
        return sum(graph.wrapper_us for graph in compile_time.graphs)

    def describe(compile_time: CompileTime) -> str:
        total_us = sum(graph.time.us for graph in compile_time.graphs)
        return f"{_percent(us(compile_time), total_us)} of the time in graphs is spent outside of kernels: "

    return _dearest(facts, us, describe)


def _dearest(facts: Facts, us: Callable[[CompileTime], float], describe: Callable[[CompileTime], str]) -> list[Occurrence]:
    compiles = [compile_time for runtime in joined(facts.run) for compile_time in runtime.compiles if us(compile_time) > 0]
    compiles.sort(key=us, reverse=True)
    return [_of_compile(facts, item.ref, describe(item) + _name(facts, item.ref)) for item in compiles[:REASONS]]


def _of_compile(facts: Facts, ref: str, text: str) -> Occurrence:
    """Return an occurrence in a compile."""
    compile_ = compile_at(facts.run, ref)
    _, file, line = compile_.frame.code if compile_ is not None else (None, None, None)
    return Occurrence(ref or "@runtime", text, _name(facts, ref), file, line)


def _percent(part: float, total: float) -> str:
    return f"{100 * part / total:.0f}%" if total > 0 else "0%"


def _name(facts: Facts, ref: str) -> str:
    compile_ = compile_at(facts.run, ref)
    return (display_name(compile_.frame) if compile_ is not None else None) or ref or "a function"


def _eager_share(facts: Facts) -> list[Occurrence]:
    occurrences = []
    for runtime in joined(facts.run):
        for item in break_times(facts.run, runtime):
            if item.eager_us:
                lead = item.breaks[0].lead if len(item.breaks) == 1 else None
                at = f" at {lead.file}:{lead.line}" if lead is not None else ""
                text = f"breaks{at}: {micros(item.eager_us)} eager in {item.ops[0].op}" + (" and others" if item.ops[1:] else "")
                file, line = (lead.file, lead.line) if lead is not None else (None, None)
                occurrences.append((item.eager_us, Occurrence(item.ref, text, text.partition(":")[0], file, line)))
        outside = [item for item in runtime.eager if item.inside_ref is None]
        if outside:
            us = sum(item.total_us for item in outside)
            most = max(outside, key=lambda item: item.total_us)
            text = f"{micros(us)} outside compiled code, most of it in {most.op}"
            occurrences.append((us, Occurrence("@runtime", text, text)))
    occurrences.sort(key=lambda one: (-one[0], one[1].ref, one[1].text))
    return [one for _, one in occurrences[:REASONS]]


def _fallbacks(facts: Facts) -> Iterator[Occurrence]:
    for runtime in joined(facts.run):
        for item in fallback_times(runtime.fallbacks):
            ops = ", ".join(item.ops[:4]) or "no operator"
            yield _of_compile(facts, item.ref, f"{item.calls} × {_name(facts, item.ref)}: ran {ops}")


def _never(facts: Facts) -> Iterator[Occurrence]:
    for runtime in joined(facts.run):
        for ref in runtime.never_called:
            compile_ = compile_at(facts.run, ref)
            took = f", compiled in {compile_.compile_s:.2f} s" if compile_ is not None and compile_.compile_s else ""
            yield _of_compile(facts, ref, f"{_name(facts, ref)}{took}")


RUNTIME_MEASURES: dict[str, Measure] = {
    "guard_overhead": Measure(
        "time of compiled code spent in guards", _most(lambda runtime: runtime.share.guards_us, _compiled), _guards, "runtime",
        share=True),
    "eager_share": Measure(
        "step time spent in eager operators", _most(lambda runtime: runtime.share.eager_us, lambda runtime: runtime.share.total_us),
        _eager_share, "runtime",
        share=True),
    "wrapper_share": Measure(
        "graph time spent between kernels", _most(lambda runtime: runtime.share.wrapper_us, _graphs), _wrappers, "runtime",
        share=True),
    "fallback_calls": Measure(
        "calls that fell back to eager mode", lambda f: sum(len(runtime.fallbacks) for runtime in joined(f.run)),
        lambda f: list(_fallbacks(f)), "runtime"),
    "never_called": Measure(
        "compiles that were never called", lambda f: sum(len(runtime.never_called) for runtime in joined(f.run)),
        lambda f: list(_never(f)), "runtime"),
}  # fmt: skip
"""Measures that need a profile."""


def _function_name(compile_: Compile) -> str:
    name, file, line = display_code(compile_.frame)
    return f"{name or '?'} ({file}:{line})" if file else name or "?"


def _errors(facts: Facts) -> list[Occurrence]:
    occurrences = []
    for group in (*facts.problems.errors, *facts.problems.backward):
        failure = group.failure
        side = "backward: " if failure.is_backward else ""
        where = f", {failure.file}:{failure.line}" if failure.file else ""
        text = f"{side}{failure.type}: {one_line(headline_of(failure.reason))} (function {group.code.shown or '?'}{where})"
        key = f"{failure.type}\0{failure.reason.partition(chr(10))[0]}\0{group.code.name}"
        location = _user_location(failure.file, failure.line, group.code)
        occurrences += [Occurrence(item.ref, text, key, *location) for item in group.occurrences]
    for item in _printed(facts):
        sentence = one_line(item.sentence)
        occurrences.append(Occurrence(item.compile or "@problems", sentence, f"printed\0{sentence}"))
    return occurrences + _limits(facts, False)


def _user_location(file: str | None, line: int | None, code: Code) -> tuple[str | None, int | None]:
    """Return the user location of an event: where it happened, else the start of the compiled function."""
    if file and (not is_framework(file) or not code.file):
        return file, line
    return code.file, code.line


def _at(compile_: Compile) -> tuple[str | None, int | None]:
    """Return the start of the compiled function."""
    return compile_.frame.code[1:]


def _printed(facts: Facts) -> list[RunFailure]:
    """Return failures that are only in the job output."""
    return independent_failures(failures_outside_trace(facts.run))


def _traced_errors(facts: Facts) -> int:
    return sum(compile_.untimed_tally.errors for compile_ in facts.compiles if compile_.facts.has_trace)


def _eager(facts: Facts) -> list[Occurrence]:
    occurrences = []
    for group in facts.problems.eager:
        where = f", {group.file}:{group.line}" if group.file else ""
        text = f"{group.eager_reason}: {one_line(group.headline)} (function {group.code.shown or '?'}{where})"
        key = f"{group.eager_reason}\0{group.headline}\0{group.code.name}"
        location = _user_location(group.file, group.line, group.code)
        occurrences += [Occurrence(item.ref, text, key, *location) for item in group.occurrences]
    return occurrences + _limits(facts, True)


def _limits(facts: Facts, eager: bool | None = None) -> list[Occurrence]:
    """Return the hits of the recompile limit: all, or only those that are errors or not (`eager`)."""
    hits = [
        Occurrence(item.ref, f"{group.code.shown or '?'} reached the recompile limit", f"limit\0{group.code.name}",
              group.code.file, group.code.line)
        for group in facts.problems.limits
        if eager is None or group.is_eager is eager
        for item in group.occurrences
    ]
    for warning in _printed_limits(facts) if eager is not False else ():
        text = f"the function at {warning.file}:{warning.line} reached the recompile limit"
        key = f"limit\0{warning.file}\0{warning.line}"
        hits += [Occurrence("@problems", text, key, warning.file, warning.line)] * warning.count
    return hits


def _printed_limits(facts: Facts) -> list[OutputWarning]:
    """Return the hits of the recompile limit that only the job output has: the program's own logging printed them."""
    return [warning for warning in output_warnings(facts.run) if warning.title == LIMIT_REACHED]


def _printed_limit_count(facts: Facts) -> int:
    return sum(warning.count for warning in _printed_limits(facts))


def _breaks(facts: Facts) -> list[Occurrence]:
    results = []
    for group in facts.problems.breaks:
        where = f" at {group.user_file}:{group.user_line}" if group.user_file else ""
        text = f"{group.graph_break.gb or ''} {one_line(group.graph_break.headline)}{where}".strip()
        key = (
            f"{group.graph_break.gb or group.graph_break.headline}\0{group.user_file}\0{group.graph_break.code or group.user_line}"
        )
        results += [Occurrence(item.ref, text, key, group.user_file, group.user_line) for item in group.occurrences]
    return results


def _distinct(occurrences: list[Occurrence]) -> list[Occurrence]:
    first: dict[str, Occurrence] = {}
    for item in occurrences:
        first.setdefault(item.text, item)
    return list(first.values())


def _recompiled(facts: Facts) -> list[Occurrence]:
    results = []
    for compile_ in facts.compiles:
        if compile_.is_recompile:
            recorded = next((m.recompile_reason for m in compile_.metrics if m.recompile_reason), None)
            reason = one_line(parse_reason(recorded).text) if recorded else "the metrics give no reason"
            text, key = f"{_function_name(compile_)}: {reason}", f"{compile_.frame.code[0]}\0{reason}"
            results.append(Occurrence(str(compile_.ref), text, key, *_at(compile_)))
    return results


def _by_frame(facts: Facts) -> list[list[Compile]]:
    frames: dict[int, list[Compile]] = defaultdict(list)
    for compile_ in facts.compiles:
        if compile_.is_recompile:
            frames[id(compile_.frame)].append(compile_)
    return sorted(frames.values(), key=len, reverse=True)


def _most_recompiled(facts: Facts) -> list[Occurrence]:
    return [
        Occurrence(
            str(members[0].frame.ref),
            f"{_function_name(members[0])}: {_recompiles(len(members))}",
            f"{members[0].frame.code[0]}",
            *_at(members[0]),
        )
        for members in _by_frame(facts)
    ]


def _recompiles(count: int) -> str:
    return "1 recompile" if count == 1 else f"{count} recompiles"


MISSES = {"fx_graph_cache_miss": "FX graph cache", "aotautograd_cache_miss": "AOTAutograd cache"}


def _cache_misses(facts: Facts) -> list[Occurrence]:
    return [
        Occurrence(str(c.ref), f"{title} missed: {_function_name(c)}", f"{name}\0{c.frame.code[0]}\0{c.id}", *_at(c))
        for c in facts.everything
        for name, title in MISSES.items()
        for _ in range(c.counts[name])
    ]


def _slowest_rank(facts: Facts) -> float:
    """Return the compile time of the slowest rank, for which the job waits: processes of one rank run after each other."""
    return max((rank.tally.compile_s for rank in facts.run.ranks), default=0.0)


def _costs(facts: Facts) -> list[Occurrence]:
    slow = max(facts.run.ranks, key=lambda rank: rank.tally.compile_s, default=None)
    compiles = [c for process in slow.processes for c in process.ordered() if c.is_compile] if slow else []
    compiles.sort(key=lambda c: -c.compile_s)
    return [
        Occurrence(str(c.ref), f"{c.compile_s:.2f} s in {_function_name(c)}", f"{c.frame.code[0]}\0{c.id}", *_at(c))
        for c in compiles[:REASONS]
    ]


def _damage(facts: Facts) -> list[Occurrence]:
    return [
        Occurrence("@damage", f"{model.log.path}, byte {item.offset}: {item.reason}", item.reason)
        for model in facts.run.models
        for item in model.log.damage
    ]


def _unfinished(facts: Facts) -> list[Occurrence]:
    items = (*facts.problems.unfinished, *facts.problems.running)
    return [
        Occurrence(item.ref, f"no end{' of the backward' if item.is_backward else ''}: {item.function or '?'}", str(item.function))
        for item in items
    ]


def _without_graph(facts: Facts) -> list[Occurrence]:
    results = []
    for rank in ranks_without_graph(facts.run):
        compiles = [compile_ for process in rank.processes for compile_ in process.ordered() if compile_.is_compile]
        title = f"{rank.title}: " if rank.number is not None else ""
        text = f"{title}none of the {len(compiles)} compiles has a graph with operations"
        results.append(Occurrence(str(compiles[0].ref), text, rank.title, *_at(compiles[0])))
    return results


def _skipped(facts: Facts) -> list[Occurrence]:
    return [
        Occurrence(item.ref, f"no operations: {group.code.shown or '?'}", f"{group.code.name}", group.code.file, group.code.line)
        for group in facts.problems.skipped
        for item in group.occurrences
    ]


def _of(status: Status) -> Callable[[Facts], float]:
    """Return a measure: the number of compiles with a status."""
    return lambda facts: sum(compile_.untimed_tally.counted(status) for compile_ in facts.compiles)


def _row(kind: Kind) -> Row:
    """Return the entry of a kind in the table of kinds."""
    return kind_of(kind.event, kind.name or None, kind.encoding or None)


def _is_unknown(kind: Kind) -> bool:
    """Return whether both the kind and the line format are unknown to tltui."""
    return not kind.event or _row(kind).generic


def _unknown_records(facts: Facts) -> Iterator[tuple[Compile, int, Kind]]:
    for compile_ in facts.everything:
        log = compile_.process.log
        kinds = {number: kind for number, kind in enumerate(log.kinds) if _is_unknown(kind)}
        if kinds:
            column = log.columns.kind
            yield from ((compile_, record, kinds[column[record]]) for record in compile_.records if column[record] in kinds)


def _unknown(facts: Facts) -> list[Occurrence]:
    return [
        Occurrence(record_page(c.process, record), _record_words(kind), f"{kind.event}\0{kind.name}")
        for c, record, kind in _unknown_records(facts)
    ]


def _record_words(kind: Kind) -> str:
    if kind.event:
        return f"a record of unknown kind: {one_line(artifact_name(kind))}"
    words = {BROKEN: "a record without a readable envelope", FOREIGN: "a line that is not a record"}
    return words.get(kind.name, "a record without a kind")


def _without_id(facts: Facts) -> Iterator[tuple[Compile, int, Kind]]:
    """Yield artifacts that belong to no compile. Torch writes the artifact `torch_version` once, before any."""
    for compile_ in facts.everything:
        if compile_.id != NO_ID:
            continue
        log = compile_.process.log
        wanted = {
            number: kind for number, kind in enumerate(log.kinds)
            if kind.event and kind.name != "torch_version" and _row(kind).artifact
        }  # fmt: skip
        column = log.columns.kind
        yield from ((compile_, record, wanted[column[record]]) for record in compile_.records if column[record] in wanted)


def _no_compile_id(facts: Facts) -> list[Occurrence]:
    return [
        Occurrence(record_page(c.process, record), f"{one_line(artifact_name(kind))} without a compile id", artifact_name(kind))
        for c, record, kind in _without_id(facts)
    ]


def _kernel_counts(facts: Facts) -> list[tuple[Compile, int]]:
    """Return the compiles with generated code, with its calls of kernels."""
    coded = (c for c in facts.compiles if next(records_of(c, (OUTPUT_CODE,)), None) is not None)
    return [(c, sum(len(unit.kernels) for unit in provenance_of(c).units)) for c in coded]


def _kernels(facts: Facts) -> list[Occurrence]:
    """Return each compile with its calls: the key has their number, so that a compile with other kernels is new."""
    results = []
    for compile_, count in _kernel_counts(facts):
        text = f"{'1 kernel call' if count == 1 else f'{count} kernel calls'}: {_function_name(compile_)}"
        results.append(Occurrence(str(compile_.ref), text, f"{compile_.frame.code[0]}\0{count}", *_at(compile_)))
    return results


MEASURES: dict[str, Measure] = {
    "error": Measure(
        "compiles that failed", lambda f: _traced_errors(f) + len(_printed(f)), _errors, "problems"),
    "eager": Measure(
        "compiles that fell back to eager mode", lambda f: _of(Status.EAGER)(f) + _printed_limit_count(f), _eager, "problems"),
    "break": Measure(
        "graph breaks", lambda f: sum(c.untimed_tally.breaks for c in f.everything), _breaks, "problems"),
    "distinct_break": Measure(
        "distinct graph breaks", lambda f: len(f.problems.breaks), lambda f: _distinct(_breaks(f)), "problems"),
    "recompiles": Measure(
        "recompiles", lambda f: sum(c.is_recompile for c in f.compiles), _recompiled, "recompiles"),
    "frame_recompiles": Measure(
        "most recompiles of one frame", lambda f: max(map(len, _by_frame(f)), default=0), _most_recompiled, "recompiles"),
    "recompile_limit": Measure(
        "hits of the recompile limit",
        lambda f: sum(c.facts.recompile_limit_hit for c in f.compiles) + _printed_limit_count(f), _limits, "problems"),
    "cache_miss": Measure(
        "cache misses", lambda f: len(_cache_misses(f)), _cache_misses, "caches"),
    "compile_time": Measure(
        "compile time of the slowest rank", _slowest_rank, _costs, "timing", seconds=True),
    "kernels": Measure(
        "kernel calls in the generated code", lambda f: sum(count for _, count in _kernel_counts(f)), _kernels, "provenance"),
    "no_graph": Measure(
        "ranks that passed no graph to a backend", lambda f: len(ranks_without_graph(f.run)), _without_graph, "summary"),
    "empty": Measure(
        "compiles without operations", lambda f: len(_skipped(f)), _skipped, "problems"),
    "unfinished": Measure(
        "compiles that are running or unfinished", lambda f: len(f.problems.unfinished) + len(f.problems.running), _unfinished,
        "problems"),
    "damage": Measure(
        "damaged places in the logs", lambda f: f.run.damaged, _damage, "damage"),
    "unknown": Measure(
        "records of unknown kinds and lines that are not records", lambda f: len(_unknown(f)), _unknown, "records"),
    "no_compile_id": Measure(
        "artifacts that belong to no compile", lambda f: len(_no_compile_id(f)), _no_compile_id, "records"),
    "diverge": Measure(
        "differences between ranks", lambda f: differences(f.run), lambda f: difference_reasons(f.run), "summary"),
    **RUNTIME_MEASURES,
}  # fmt: skip
"""All limits, in the order in which help lists them."""


class BadLimit(BadInput):
    """Unknown limit or invalid number."""


@frozen
class Limit:
    """The most that a run may have of one thing."""

    name: str
    at_most: float | None = None
    """None: what the baseline has, without a baseline nothing."""
    more: float = 0.0
    """How much more than the baseline is allowed."""
    percent: bool = False
    """Whether `more` is in percent of what the baseline has; of a share it is in points."""


@frozen
class Reason:
    """One occurrence that a limit counts."""

    ref: str
    """Where it is."""
    text: str
    is_new: bool = False
    """Whether the baseline has nothing like it."""
    file: str | None = None
    """The file of the user's that it is about, as torch named it: the line of a graph break, of an error, or where the function
    begins; null where none is known."""
    line: int | None = None


@frozen
class Outcome:
    """One limit, measured."""

    name: str
    title: str
    value: float
    limit: float
    baseline: float | None
    exceeded: bool
    is_seconds: bool
    """Whether the numbers are seconds."""
    reasons: tuple[Reason, ...]
    """What was counted, the new and the worst first; where there is more than the limit, and at most `REASONS`."""
    page: str
    """The address of the page with more about it."""
    is_percent: bool = False
    """Whether the numbers are shares, in percent."""
    unknown: str = ""
    """Why the value is unknown: the limit is then neither passed nor exceeded. '' if it is known."""


@frozen
class Gates:
    """All limits of a run."""

    passed: bool
    """Whether no limit is exceeded and none is unknown."""
    compiles: int
    limits: tuple[Outcome, ...]

    @property
    def exit_code(self) -> int:
        """The exit code of `tltui check`: 1 if a limit is exceeded, 2 if one is unknown."""
        return 0 if self.passed else 1 if any(outcome.exceeded for outcome in self.limits) else 2


DEFAULT = "error,eager"


def parse_limits(text: str, baseline: bool = False) -> tuple[Limit, ...]:
    """Parse limits: `error,recompiles=2,compile_time=+10%`. Raises `BadLimit`.

    A number is the maximum, for a share in percent. With a baseline, a limit without a number allows the baseline's value, `+N`
    or `+N%` that much more, for a share that many points.
    """
    limits: dict[str, Limit] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, given, number = part.partition("=")
        name = name.strip().replace("-", "_")
        if name not in MEASURES:
            raise unknown_limit(name, MEASURES)
        limit = _limit(name, number.strip()) if given else Limit(name)
        measure = MEASURES[name]
        if not baseline and limit.at_most is None and (given or measure.seconds or measure.share):
            number, example = ("percentage", "5%") if measure.share else ("number of seconds", "60")
            if given:
                raise BadLimit(f"a number after + needs --baseline: {part!r}", "add --baseline OLD, or leave out the +")
            raise BadLimit(f"missing {number}: {name!r}", f"for example {name}={example}, or add --baseline OLD")
        limits[name] = limit
    if not limits:
        raise BadLimit("no limit given", f"for example error,break; {LISTED}")
    return tuple(limits.values())


LISTED = "tltui check --help lists the limits"
"""Advice of errors about the name of a limit."""


def unknown_limit(name: str, names: Collection[str]) -> BadLimit:
    """Return the error for an unknown limit, with the nearest of the names and the command that lists all."""
    near = get_close_matches(name, names, 1)
    return BadLimit(f"unknown limit: {name!r}", f"{f'did you mean {near[0]}? ' if near else ''}{LISTED}")


def _limit(name: str, number: str) -> Limit:
    more, percent = number.startswith("+"), number.endswith("%")
    try:
        value = float(number.removeprefix("+").removesuffix("%"))
    except ValueError:
        value = math.nan
    if MEASURES[name].share:
        if not math.isfinite(value) or not 0 <= value <= 100 or not percent:
            advice = f"use {name}=5%, or with --baseline {name}=+2% for two points more"
            raise BadLimit(f"not a percentage from 0% to 100%: '{name}={number}'", advice)
    elif not math.isfinite(value) or value < 0 or (percent and not more):
        fault = "a percentage needs + and --baseline" if percent and math.isfinite(value) else "not a number"
        raise BadLimit(f"{fault}: '{name}={number}'", f"use {name}=2, or with --baseline {name}=+2 or {name}=+10%")
    return Limit(name, more=value, percent=percent) if more else Limit(name, value)


NEED_A_TRACE = ("eager", "recompile_limit", "cache_miss", "compile_time", "kernels", "no_graph", "empty", "unfinished")
"""Limits that other inputs than a trace do not measure, with these exceptions: torch prints hits of the recompile limit by default,
and such a hit is a function in eager mode."""


def needing_a_trace(run: Run, limits: Sequence[Limit]) -> tuple[str, ...]:
    """Return the names of limits that no input of the run can measure: neither passed nor exceeded."""
    processes = compiling(list(run.processes()))
    if not processes or any(process.is_traced for process in processes):
        return ()
    printed = set()
    if all(TEXT in process.origins for process in processes):
        printed.add("recompile_limit")
    if any(compile_.status is Status.EAGER for process in processes for compile_ in process.ordered()):
        printed.add("eager")
    return tuple(limit.name for limit in limits if limit.name in NEED_A_TRACE and limit.name not in printed)


def needing_a_profile(limits: Sequence[Limit]) -> tuple[str, ...]:
    """Return the names of limits that need a profile."""
    return tuple(limit.name for limit in limits if limit.name in RUNTIME_MEASURES)


def why_a_profile(run: Run, names: Sequence[str]) -> str:
    """Return why these limits cannot be checked without a profile; '' if they can."""
    why = why_no_profile(run) if names else ""
    return f"{', '.join(names)}: {'needs' if len(names) == 1 else 'need'} a profile; {why}" if why else ""


def why_a_trace(run: Run, names: Sequence[str]) -> str:
    """Return why these limits cannot be checked without a trace."""
    verb = "needs" if len(names) == 1 else "need"
    return f"{', '.join(names)}: {verb} a trace. {title_of(run.processes())} does not record it. {HOW}"


def gates(run: Run, limits: Sequence[Limit], baseline: Run | Baseline | None = None) -> Gates:
    """Measure the limited quantities, and compare them with the limits."""
    facts = Facts(run)
    before = Facts(baseline) if isinstance(baseline, Run) else baseline
    outcomes = tuple(_measured(limit, facts, before) for limit in limits)
    passed = not any(outcome.exceeded or outcome.unknown for outcome in outcomes)
    return Gates(passed, len(facts.compiles), outcomes)


def _why_unknown(limit: Limit, facts: Facts) -> str:
    """Return why a torch of the run does not log the limited quantity; '' if all do."""
    if limit.name != "recompile_limit" or (limit.at_most is not None and limit.at_most >= len(facts.compiles)):
        return ""
    span = kind_of("artifact", "recompile_reasons").span
    versions = (version_of(process) for process in compiling(list(facts.run.processes())) if process.is_traced)
    unlogged = next((version for version in versions if version.has(span) is False), None)
    return f"{unlogged.words} does not log hits of the recompile limit; torch 2.5 and later do" if unlogged is not None else ""


def _measured(limit: Limit, facts: Facts, before: Baseline | None) -> Outcome:
    measure = MEASURES[limit.name]
    value = facts.value_of(limit.name)
    had = None if before is None else before.value_of(limit.name)
    at_most = limit.at_most
    if at_most is None and before is not None and not limit.more:
        at_most = before.most_of(limit.name)
    elif at_most is None:
        relative = limit.percent and not measure.share
        at_most = (had or 0.0) + (limit.more / 100 * (had or 0.0) if relative else limit.more)
    exceeded = value > at_most + 1e-9
    unknown = "" if exceeded else _why_unknown(limit, facts)
    reasons: tuple[Reason, ...] = ()
    if exceeded:
        compared = before is not None and not measure.seconds
        has_key = before.keys_of(limit.name) if before is not None and compared else None
        listed = [
            Reason(item.ref, item.text, has_key is not None and not has_key(item.key), item.file, item.line)
            for item in measure.reasons(facts)
        ]
        reasons = tuple(sorted(listed, key=lambda reason: not reason.is_new)[:REASONS])
    page = str(Ref(view=measure.page))
    return Outcome(limit.name, measure.title, value, at_most, had, exceeded, measure.seconds, reasons, page, measure.share, unknown)
