"""Measures of `tltui check`: how each limited quantity is counted, and where each occurrence is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tltui.model.artifacts import artifact_name
from tltui.model.kind import Kind as Row
from tltui.model.kinds import kind_of
from tltui.model.nodes import Compile
from tltui.model.ref import NO_ID
from tltui.model.run import Run
from tltui.model.status import Status
from tltui.questions.job_failures.job_failures import RunFailure, own_failures, told_first
from tltui.questions.overview.run_summary import Code
from tltui.questions.problems.problem_list import Problems, problems
from tltui.questions.ranks.differences import SAID, Side
from tltui.questions.ranks.rank_report import differences_of
from tltui.questions.recompiles.recompile_reasons import parse_reason
from tltui.questions.runtime.costs import self_us
from tltui.questions.runtime.profile_results import CompileTime, Refused, Runtime, break_times, compile_at, fallback_times
from tltui.questions.runtime.profile_sums import runtimes_of
from tltui.text.formatting import micros
from tltui.text.frozen import frozen
from tltui.text.torch_names import is_framework
from tltui.trace.batch import Kind
from tltui.trace.scan import BROKEN, FOREIGN

REASONS = 50


class Found(NamedTuple):
    """One of the things that a gate counts."""

    ref: str
    """Where it is, as an address."""
    text: str
    key: str
    """What makes it the same in another run."""
    file: str | None = None
    """The user's file that it is about, as torch named it; None where that is not known."""
    line: int | None = None


class Facts:
    """A run as the gates see it. Payloads are read once, and only if a gate asks for them."""

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


@frozen
class Measure:
    """Measure of a limited quantity."""

    title: str
    """What is counted, as a phrase."""
    value: Callable[[Facts], float]
    reasons: Callable[[Facts], list[Found]]
    page: str
    """The page with more about it: a name of `questions/index.py`, or `damage`."""
    seconds: bool = False
    share: bool = False
    """Whether it is a share, in percent."""


def one_line(text: str) -> str:
    """Return a text as one line for a reason, at most 300 characters."""
    return " ".join(text.split())[:300]


def differences(run: Run) -> int:
    """Return the number of differences."""
    found = differences_of(run)
    return found.count if found is not None else 0


def difference_reasons(run: Run) -> list[Found]:
    """Return each difference with its location and a key that is independent of ranks and runs."""
    found = differences_of(run)
    reasons = []
    for divergence in found.divergences if found is not None else ():
        sides = " | ".join(map(_side, divergence.sides)) + (f" | {divergence.more} more ranks" if divergence.more else "")
        ref = next((side.ref for side in (*divergence.sides[1:], divergence.sides[0]) if side.ref), "@ranks")
        if divergence.whole:
            reasons.append(
                Found(ref, f"{SAID[divergence.facets[0]]}: {sides}", f"{divergence.facets[0]}\0{divergence.sides[-1].said}")
            )
            continue
        for function in (divergence.function, *divergence.others):
            where = f" ({function.file}:{function.line})" if function.file else ""
            of = f", compile {divergence.number}" if divergence.number > 1 else ""
            key = f"{divergence.facets[0]}\0{function.name}\0{divergence.number}"
            text = f"{function.name}{where}{of}: {SAID[divergence.facets[0]]}: {sides}"
            reasons.append(Found(ref, text, key, function.file, function.line))
    return reasons


def _side(side: Side) -> str:
    ranks = f"{'rank' if side.count == 1 else 'ranks'} {side.ranks}"
    return f"{ranks}: {' '.join(side.said.split())[:120]}" if side.said else ranks


def joined(run: Run) -> list[Runtime]:
    """Return the joined profiles."""
    return [item for item in runtimes_of(run) if isinstance(item, Runtime)]


def why_no_profile(run: Run) -> str:
    """Why nothing measured the run: no profile, or none that fits; '' where one does."""
    runtimes = runtimes_of(run)
    if any(isinstance(item, Runtime) for item in runtimes):
        return ""
    refused = [f"{item.profile} was not joined: {item.why}" for item in runtimes if isinstance(item, Refused)]
    return "; ".join(refused) or "there is none. Name it with --profile FILE; tltui runtime PATH says how to record one"


def _most(part: Callable[[Runtime], float], of: Callable[[Runtime], float]) -> Callable[[Facts], float]:
    """Return a measure: the largest share in percent over all profiles."""
    return lambda facts: max((100 * part(own) / of(own) for own in joined(facts.run) if of(own) > 0), default=0.0)


def _compiled(runtime: Runtime) -> float:
    share = runtime.share
    return share.kernels_us + share.wrapper_us + share.guards_us + share.overhead_us


def _graphs(runtime: Runtime) -> float:
    return runtime.share.kernels_us + runtime.share.wrapper_us


def _guards(facts: Facts) -> list[Found]:
    found = _dearest(facts, lambda own: own.lookups.us, lambda own: (
        f"{micros(own.lookups.mean_us)} a call, {_percent(own.lookups.us, self_us(own))} of the time of "))  # fmt: skip
    fell = [item for runtime in joined(facts.run) for item in runtime.fallbacks]
    us = sum(item.lookup_us for item in fell)
    text = f"{micros(us / len(fell))} a call, before each of the {len(fell)} calls that fell back" if fell else ""
    return [Found(fell[0].ref or "@runtime", text, "fallbacks"), *found] if fell else found


def _wrappers(facts: Facts) -> list[Found]:
    def us(compile_time: CompileTime) -> float:
        return sum(graph.wrapper_us for graph in compile_time.graphs)

    def said(compile_time: CompileTime) -> str:
        total_us = sum(graph.time.us for graph in compile_time.graphs)
        return f"{_percent(us(compile_time), total_us)} of the graphs' time is in no kernel: "

    return _dearest(facts, us, said)


def _dearest(facts: Facts, us: Callable[[CompileTime], float], said: Callable[[CompileTime], str]) -> list[Found]:
    compiles = [own for runtime in joined(facts.run) for own in runtime.compiles if us(own) > 0]
    compiles.sort(key=lambda own: -us(own))
    return [_finding(facts, own.ref, said(own) + _name(facts, own.ref)) for own in compiles[:REASONS]]


def _finding(facts: Facts, ref: str, text: str) -> Found:
    """Return a finding about a compile."""
    compile_ = compile_at(facts.run, ref)
    _, file, line = compile_.frame.code if compile_ is not None else (None, None, None)
    return Found(ref or "@runtime", text, _name(facts, ref), file, line)


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole > 0 else "0 %"


def _name(facts: Facts, ref: str) -> str:
    compile_ = compile_at(facts.run, ref)
    return (compile_.frame.code[0] if compile_ is not None else None) or ref or "a function"


def _eager_share(facts: Facts) -> list[Found]:
    found = []
    for runtime in joined(facts.run):
        for item in break_times(facts.run, runtime):
            if item.eager_us:
                lead = item.breaks[0].lead if len(item.breaks) == 1 else None
                at = f" at {lead.file}:{lead.line}" if lead is not None else ""
                text = f"breaks{at}: {micros(item.eager_us)} eager in {item.ops[0].op}" + (" and others" if item.ops[1:] else "")
                file, line = (lead.file, lead.line) if lead is not None else (None, None)
                found.append((item.eager_us, Found(item.ref, text, text.partition(":")[0], file, line)))
        outside = [item for item in runtime.eager if item.inside is None]
        if outside:
            us = sum(item.us for item in outside)
            most = max(outside, key=lambda item: item.us)
            text = f"{micros(us)} outside of all compiled code, most of it in {most.op}"
            found.append((us, Found("@runtime", text, text)))
    found.sort(key=lambda one: (-one[0], one[1].ref, one[1].text))
    return [one for _, one in found[:REASONS]]


def _fallbacks(facts: Facts) -> Iterator[Found]:
    for runtime in joined(facts.run):
        for item in fallback_times(runtime.fallbacks):
            ops = ", ".join(item.ops[:4]) or "no operator"
            yield _finding(facts, item.ref, f"{item.calls} × {_name(facts, item.ref)}: then ran {ops}")


def _never(facts: Facts) -> Iterator[Found]:
    for runtime in joined(facts.run):
        for ref in runtime.never_called:
            compile_ = compile_at(facts.run, ref)
            took = f", compiled in {compile_.tally.seconds:.2f} s" if compile_ is not None and compile_.tally.seconds else ""
            yield _finding(facts, ref, f"{_name(facts, ref)}{took}")


RUNTIME_MEASURES: dict[str, Measure] = {
    "guard_overhead": Measure(
        "guards, of the time of compiled code", _most(lambda own: own.share.guards_us, _compiled), _guards, "runtime", share=True),
    "eager_share": Measure(
        "eager operators, of a step", _most(lambda own: own.share.eager_us, lambda own: own.share.whole_us),
        _eager_share, "runtime",
        share=True),
    "wrapper_share": Measure(
        "between kernels, of the time of graphs", _most(lambda own: own.share.wrapper_us, _graphs), _wrappers, "runtime",
        share=True),
    "fallback_calls": Measure(
        "calls that fell back to eager mode", lambda f: sum(len(own.fallbacks) for own in joined(f.run)),
        lambda f: list(_fallbacks(f)), "runtime"),
    "never_called": Measure(
        "compiles that were never called", lambda f: sum(len(own.never_called) for own in joined(f.run)),
        lambda f: list(_never(f)), "runtime"),
}  # fmt: skip
"""Measures that need a profile."""


def _function_name(compile_: Compile) -> str:
    name, file, line = compile_.frame.code
    return f"{name or '?'} ({file}:{line})" if file else name or "?"


def _errors(facts: Facts) -> list[Found]:
    found = []
    for group in (*facts.problems.errors, *facts.problems.backward):
        failure = group.failure
        side = "backward: " if failure.backward else ""
        where = f" at {failure.file}:{failure.line}" if failure.file else ""
        text = f"{side}{failure.type}: {one_line(failure.reason.partition(chr(10))[0])} (in {group.code.name or '?'}{where})"
        key = f"{failure.type}\0{failure.reason.partition(chr(10))[0]}\0{group.code.name}"
        found += [Found(item.ref, text, key, *_user_location(failure.file, failure.line, group.code)) for item in group.occurrences]
    for item in _printed(facts):
        said = one_line(item.sentence)
        found.append(Found(item.compile or "@problems", said, f"printed\0{said}"))
    return found + _limits(facts, False)


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
    return own_failures(told_first(facts.run))


def _traced_errors(facts: Facts) -> int:
    return sum(compile_.tally.errors for compile_ in facts.compiles if compile_.facts.traced)


def _eager(facts: Facts) -> list[Found]:
    found = []
    for group in facts.problems.eager:
        where = f" at {group.file}:{group.line}" if group.file else ""
        text = f"{group.eager}: {one_line(group.headline)} (in {group.code.name or '?'}{where})"
        key = f"{group.eager}\0{group.headline}\0{group.code.name}"
        found += [Found(item.ref, text, key, *_user_location(group.file, group.line, group.code)) for item in group.occurrences]
    return found + _limits(facts, True)


def _limits(facts: Facts, eager: bool | None = None) -> list[Found]:
    """Hits of the recompile limit: all, or only those that are no error (`eager`), or that are one."""
    return [
        Found(item.ref, f"recompile limit reached by {group.code.name or '?'}", f"limit\0{group.code.name}",
              group.code.file, group.code.line)
        for group in facts.problems.limits
        if eager is None or group.eager is eager
        for item in group.occurrences
    ]


def _breaks(facts: Facts) -> list[Found]:
    results = []
    for group in facts.problems.breaks:
        where = f" at {group.user_file}:{group.user_line}" if group.user_file else ""
        text = f"{group.found.gb or ''} {one_line(group.found.headline)}{where}".strip()
        key = f"{group.found.gb or group.found.headline}\0{group.user_file}\0{group.found.code or group.user_line}"
        results += [Found(item.ref, text, key, group.user_file, group.user_line) for item in group.occurrences]
    return results


def _distinct(found: list[Found]) -> list[Found]:
    first: dict[str, Found] = {}
    for item in found:
        first.setdefault(item.text, item)
    return list(first.values())


def _recompiled(facts: Facts) -> list[Found]:
    results = []
    for compile_ in facts.compiles:
        if compile_.is_recompile:
            said = next((m.recompile_reason for m in compile_.metrics if m.recompile_reason), None)
            reason = one_line(parse_reason(said).text) if said else "the metrics give no reason"
            text, key = f"{_function_name(compile_)}: {reason}", f"{compile_.frame.code[0]}\0{reason}"
            results.append(Found(str(compile_.ref), text, key, *_at(compile_)))
    return results


def _by_frame(facts: Facts) -> list[list[Compile]]:
    frames: dict[int, list[Compile]] = defaultdict(list)
    for compile_ in facts.compiles:
        if compile_.is_recompile:
            frames[id(compile_.frame)].append(compile_)
    return sorted(frames.values(), key=len, reverse=True)


def _most_recompiled(facts: Facts) -> list[Found]:
    return [
        Found(
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


def _cache_misses(facts: Facts) -> list[Found]:
    return [
        Found(str(c.ref), f"{title} missed: {_function_name(c)}", f"{name}\0{c.frame.code[0]}\0{c.id}", *_at(c))
        for c in facts.everything
        for name, title in MISSES.items()
        for _ in range(c.counts[name])
    ]


def _slowest_rank(facts: Facts) -> float:
    """Ranks compile side by side, processes of a rank after each other: the job waits for the slowest rank."""
    return max((rank.tally.seconds for rank in facts.run.ranks), default=0.0)


def _costs(facts: Facts) -> list[Found]:
    slow = max(facts.run.ranks, key=lambda rank: rank.tally.seconds, default=None)
    own = [c for process in slow.processes for c in process.ordered() if c.is_compile] if slow else []
    own.sort(key=lambda c: -c.tally.seconds)
    return [
        Found(str(c.ref), f"{c.tally.seconds:.2f} s in {_function_name(c)}", f"{c.frame.code[0]}\0{c.id}", *_at(c))
        for c in own[:REASONS]
    ]


def _damage(facts: Facts) -> list[Found]:
    return [
        Found("@damage", f"{model.log.path}, byte {item.offset}: {item.reason}", item.reason)
        for model in facts.run.models
        for item in model.log.damage
    ]


def _unfinished(facts: Facts) -> list[Found]:
    found = (*facts.problems.unfinished, *facts.problems.running)
    return [
        Found(item.ref, f"no end{' of the backward' if item.backward else ''}: {item.function or '?'}", str(item.function))
        for item in found
    ]


def _skipped(facts: Facts) -> list[Found]:
    return [
        Found(item.ref, f"no operations: {group.code.name or '?'}", f"{group.code.name}", group.code.file, group.code.line)
        for group in facts.problems.skipped
        for item in group.occurrences
    ]


def _of(status: Status) -> Callable[[Facts], float]:
    """Return a measure: the number of compiles with a status."""
    return lambda facts: sum(compile_.tally.counted(status) for compile_ in facts.compiles)


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


def _record(compile_: Compile, record: int) -> str:
    return f"@record:{compile_.process.ref}#{record + 1}"


def _unknown(facts: Facts) -> list[Found]:
    return [Found(_record(c, record), _what(kind), f"{kind.event}\0{kind.name}") for c, record, kind in _unknown_records(facts)]


def _what(kind: Kind) -> str:
    if kind.event:
        return f"a record of a kind that tltui does not know: {one_line(artifact_name(kind))}"
    words = {BROKEN: "a record without a readable envelope", FOREIGN: "a line that is no record"}
    return words.get(kind.name, "a record that does not say what it is")


def _without_id(facts: Facts) -> Iterator[tuple[Compile, int, Kind]]:
    """Artifacts that belong to no compile. Torch writes the artifact `torch_version` once, before any."""
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


def _no_compile_id(facts: Facts) -> list[Found]:
    return [
        Found(_record(c, record), f"{one_line(artifact_name(kind))} without a compile id", artifact_name(kind))
        for c, record, kind in _without_id(facts)
    ]


MEASURES: dict[str, Measure] = {
    "error": Measure(
        "compiles that failed", lambda f: _traced_errors(f) + len(_printed(f)), _errors, "problems"),
    "eager": Measure(
        "compiles that were given up: the function runs in eager mode", _of(Status.EAGER), _eager, "problems"),
    "break": Measure(
        "graph breaks", lambda f: sum(c.tally.breaks for c in f.everything), _breaks, "problems"),
    "distinct_break": Measure(
        "distinct graph breaks", lambda f: len(f.problems.breaks), lambda f: _distinct(_breaks(f)), "problems"),
    "recompiles": Measure(
        "recompiles", lambda f: sum(c.is_recompile for c in f.compiles), _recompiled, "recompiles"),
    "frame_recompiles": Measure(
        "recompiles of one frame, at most", lambda f: max(map(len, _by_frame(f)), default=0), _most_recompiled, "recompiles"),
    "recompile_limit": Measure(
        "hits of the recompile limit", lambda f: sum(c.facts.recompile_limit for c in f.compiles), _limits, "problems"),
    "cache_miss": Measure(
        "cache misses", lambda f: len(_cache_misses(f)), _cache_misses, "caches"),
    "compile_time": Measure(
        "compile time of the slowest rank", _slowest_rank, _costs, "timing", seconds=True),
    "empty": Measure(
        "compiles without operations", lambda f: len(_skipped(f)), _skipped, "problems"),
    "unfinished": Measure(
        "compiles that did not finish", lambda f: len(f.problems.unfinished) + len(f.problems.running), _unfinished, "problems"),
    "damage": Measure(
        "damaged places of the logs", lambda f: f.run.damaged, _damage, "damage"),
    "unknown": Measure(
        "records of unknown kinds, and lines that are no records", lambda f: len(_unknown(f)), _unknown, "records"),
    "no_compile_id": Measure(
        "artifacts that belong to no compile", lambda f: len(_no_compile_id(f)), _no_compile_id, "records"),
    "diverge": Measure(
        "differences between ranks", lambda f: differences(f.run), lambda f: difference_reasons(f.run), "summary"),
    **RUNTIME_MEASURES,
}  # fmt: skip
"""All gates, in the order in which help lists them."""
