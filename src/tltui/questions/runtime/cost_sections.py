"""Run-time costs on pages about compiling."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.problems.compile_problems import GraphBreak
from tltui.questions.runtime.costs import Costs, costs_of, window_us
from tltui.questions.runtime.profile_results import BreakTime, Refused, Runtime, break_times, compile_at, process_of
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.formatting import micros
from tltui.text.sanitize import sanitize


def _place(graph_break: GraphBreak) -> tuple[object, object]:
    return (graph_break.lead.file, graph_break.lead.line) if graph_break.lead is not None else (graph_break.headline, None)


NEVER_SHOWN = 6
Breaks = list[tuple[Runtime, tuple[BreakTime, ...]]]


def break_costs(run: Run) -> Breaks:
    """Return the graph breaks that ran, by profile; computed once for a page."""
    costs = costs_of(run)
    return [(runtime, break_times(run, runtime)) for runtime in costs.runtimes] if costs is not None else []


def break_sentence(breaks: Breaks, graph_break: GraphBreak, refs: Collection[str]) -> str:
    """Return the cost of a graph break of some compiles, on the rank where it costs most; '' if unknown.

    `this break costs 14% of a step: 1.8 ms eager, 160 µs for the guards after it`.
    """
    wanted, costs = set(refs), []
    for runtime, items in breaks:
        matches = [item for item in items if item.ref in wanted and _is_only_break(item, graph_break)]
        if matches:
            costs.append((sum(item.us for item in matches) / max(window_us(runtime), 1e-9), runtime, matches))
    if not costs:
        return ""
    share, runtime, matches = max(costs, key=lambda item: item[0])
    steps = max(len(runtime.steps), 1)
    eager, guards = sum(item.eager_us for item in matches) / steps, sum(item.guards_us for item in matches) / steps
    parts = [f"{micros(eager)} eager"] * bool(eager) + [f"{micros(guards)} for guards after the break"] * bool(guards)
    on = f" on rank {runtime.rank}" if len(costs) > 1 and runtime.rank is not None else ""
    of = "a step" if runtime.steps else "the profile"
    return f"this break costs {fmt.percent(share, 1)} of {of}{on}: {', '.join(parts) or 'nothing ran eagerly'}"


def _is_only_break(item: BreakTime, graph_break: GraphBreak) -> bool:
    """Return whether this break is the cause: the only one that ends the graph."""
    return len(item.breaks) == 1 and _place(item.breaks[0]) == _place(graph_break)


def recompiles_sentence(run: Run, recompiles: Iterable[Compile]) -> str:
    """Return the cost of recompiles: `these 7 recompiles cost 41 s of compiling and were called twice`; '' without a profile."""
    costs = costs_of(run)
    counted = [compile_ for compile_ in recompiles if not compile_.facts.recompile_limit_hit]
    if costs is None or not counted:
        return ""
    measured = [process_of(run, runtime) for runtime in costs.runtimes]
    counted = [c for c in counted if c.process in measured]
    if not counted:
        return ""
    calls = sum(times.regions.calls for c in counted if (times := costs.of_compile(str(c.ref))) is not None)
    seconds = sum(c.compile_s for c in counted)
    who = "this recompile" if len(counted) == 1 else f"these {fmt.count(len(counted))} recompiles"
    verb = "was" if len(counted) == 1 else "were"
    how = {0: "never called", 1: "called once", 2: "called twice"}.get(calls, f"called {fmt.count(calls)} times")
    took = f"cost {fmt.seconds(seconds)} of compile time and " if seconds else ""
    return f"{who} {took}{verb} {how} while the profiler ran"


def fallbacks_sentence(run: Run, refs: Collection[str]) -> str:
    """Return how many calls of a function that reached the recompile limit ran eagerly; '' if unknown."""
    costs = costs_of(run)
    if costs is None:
        return ""
    fallbacks = [item for runtime in costs.runtimes for item in runtime.fallbacks if item.ref and item.ref in refs]
    if not fallbacks:
        return ""
    us = sum(item.lookup_us for item in fallbacks)
    return f"{fmt.plural(len(fallbacks), 'call')} ran in eager mode while the profiler ran, after {micros(us)} of guard checks"


def add_ran(page: Page, run: Run, refs: Collection[str]) -> None:
    """Add what went wrong at run time: compiles that never ran, events of no graph in the trace, profiles of another run.

    `refs` are the compiles that the page is about.
    """
    if not run.profiles.version:
        return
    from tltui.questions.runtime.profile_sums import runtimes_of

    results = runtimes_of(run)
    wanted = set(refs)
    joined = [result for result in results if isinstance(result, Runtime)]
    unmatched = [(result, count, kind) for result in joined for kind, count in result.unmatched.items() if count]
    never = [ref for result in joined for ref in result.never_called if ref in wanted]
    refused = [result for result in results if isinstance(result, Refused)]
    if not (never or unmatched or refused):
        return
    page.heading("At run time")
    if never:
        seconds = {ref: c.compile_s for ref in never if (c := compile_at(run, ref)) is not None}
        took = fmt.took(sum(seconds.values()))
        pieces: list[Piece] = [(f"{fmt.plural(len(never), 'compile')} compiled{took} and never called: ", tokens.WARN)]
        for ref in sorted(never, key=lambda ref: -seconds.get(ref, 0.0))[:NEVER_SHOWN]:
            pieces.append((f"[{ref}] ", tokens.LINK, ref))
        page.row([*pieces, (f"and {fmt.count(len(never) - NEVER_SHOWN)} more", tokens.DIM)] if len(never) > NEVER_SHOWN else pieces)
    for result, count, kind in unmatched:
        name = sanitize(fmt.file_name(result.profile))
        of: list[Piece] = [" of ", (name, tokens.NAME), ": no match in the trace"]
        page.row([(f"{fmt.count(count)} {sanitize(kind)}", tokens.WARN), *of])
    for item in refused:
        name = sanitize(fmt.file_name(item.profile))
        page.row([(name, tokens.NAME), (f" does not match this trace: {sanitize(item.reason)}", tokens.WARN)])


def costliest_finding(run: Run) -> tuple[str, str]:
    """Return the compile and a sentence of the finding that costs most, on the slowest rank; ('', '') if there is none."""
    costs = costs_of(run)
    if costs is None:
        return "", ""
    from tltui.questions.runtime.page import sentence
    from tltui.questions.runtime.runtime_report import Fact, findings_of

    slowest = max(costs.runtimes, key=_step)
    # the page has the limit for which calls fell back anyway
    findings = sorted(findings_of(run, slowest), key=lambda item: item.fact is Fact.FALLBACK)
    first = next((item for item in findings if item.fact is not Fact.KERNEL), None)
    return (first.ref, sentence(first, bool(slowest.steps))) if first is not None else ("", "")


def _step(runtime: Runtime) -> float:
    return window_us(runtime) / max(len(runtime.steps), 1)


def compile_sentence(costs: Costs, ref: str) -> str:
    """Return the cost of a compile: `690 µs per step, 32% of it, 4 calls; guards 143 µs per call`; '' if it is in no profile."""
    times, us = costs.of_compile(ref), costs.us_of(ref)
    if times is None or us is None:
        return ""
    guards = f"; guards {micros(times.lookups.mean_us)} per call" if times.lookups.calls else ""
    share = f", {fmt.percent(costs.share_of(ref, us), 1)} of {'a step' if costs.per_step else 'the profile'}"
    return f"{micros(us)} {costs.of}{share}, {fmt.plural(times.regions.calls, 'call')}{guards}"
