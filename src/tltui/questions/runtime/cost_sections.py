"""Run-time costs on pages about compiling."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.questions.problems.compile_problems import GraphBreak
from tltui.questions.runtime.costs import Costs, costs_of, whole_us
from tltui.questions.runtime.eager_code import BreakTime, break_times
from tltui.questions.runtime.profile_results import Refused, Runtime, compile_at, process_of
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.formatting import micros
from tltui.text.sanitize import sanitize


def _place(found: GraphBreak) -> tuple[object, object]:
    return (found.lead.file, found.lead.line) if found.lead is not None else (found.headline, None)


NEVER_SHOWN = 6
Breaks = list[tuple[Runtime, tuple[BreakTime, ...]]]


def breaks_told(run: Run) -> Breaks:
    """The graph breaks that ran, of each profile; read once for a page."""
    costs = costs_of(run)
    return [(runtime, break_times(run, runtime)) for runtime in costs.runtimes] if costs is not None else []


def break_said(ran: Breaks, found: GraphBreak, refs: Collection[str]) -> str:
    """What a graph break of some compiles costs: `this break costs 14 % of a step: 1.8 ms eager, 160 µs for the guards behind it`.
    Of several ranks the one where it costs most. '' where nothing tells."""
    wanted, told = set(refs), []
    for runtime, items in ran:
        own = [item for item in items if item.ref in wanted and _is_known(item, found)]
        if own:
            told.append((sum(item.us for item in own) / max(whole_us(runtime), 1e-9), runtime, own))
    if not told:
        return ""
    share, runtime, own = max(told, key=lambda item: item[0])
    steps = max(len(runtime.steps), 1)
    eager, guards = sum(item.eager_us for item in own) / steps, sum(item.guards_us for item in own) / steps
    parts = [f"{micros(eager)} eager"] * bool(eager) + [f"{micros(guards)} for the guards behind it"] * bool(guards)
    on = f" on rank {runtime.rank}" if len(told) > 1 and runtime.rank is not None else ""
    of = "a step" if runtime.steps else "the profile"
    return f"this break costs {fmt.percent(share, 1)} of {of}{on}: {', '.join(parts) or 'nothing ran eagerly'}"


def _is_known(item: BreakTime, found: GraphBreak) -> bool:
    """Whether it is this break that made the time: the only one that ends the graph."""
    return len(item.breaks) == 1 and _place(item.breaks[0]) == _place(found)


def recompiles_said(run: Run, recompiles: Iterable[Compile]) -> str:
    """`these 7 recompiles cost 41 s of compiling and were called twice`; '' without a profile."""
    costs = costs_of(run)
    own = [compile_ for compile_ in recompiles if not compile_.facts.recompile_limit]
    if costs is None or not own:
        return ""
    measured = [process_of(run, runtime) for runtime in costs.runtimes]
    own = [c for c in own if c.process in measured]
    if not own:
        return ""
    calls = sum(found.regions.calls for c in own if (found := costs.of_compile(str(c.ref))) is not None)
    seconds = sum(c.tally.seconds for c in own)
    who = "this recompile" if len(own) == 1 else f"these {fmt.count(len(own))} recompiles"
    verb = "was" if len(own) == 1 else "were"
    how = {0: "never called", 1: "called once", 2: "called twice"}.get(calls, f"called {fmt.count(calls)} times")
    took = f"cost {fmt.seconds(seconds)} of compiling and " if seconds else ""
    return f"{who} {took}{verb} {how} while the profiler ran"


def limit_said(run: Run, refs: Collection[str]) -> str:
    """How many calls of a function that reached the recompile limit ran eagerly; '' where nothing tells."""
    costs = costs_of(run)
    if costs is None:
        return ""
    own = [item for runtime in costs.runtimes for item in runtime.fallbacks if item.ref and item.ref in refs]
    if not own:
        return ""
    us = sum(item.lookup_us for item in own)
    return f"{fmt.plural(len(own), 'call')} ran in eager mode while the profiler ran, {micros(us)} of guards before them"


def add_ran(page: Page, run: Run, refs: Collection[str]) -> None:
    """What went wrong when compiled code ran: compiles that never did, what in a profile is of no graph of the trace, profiles of
    another run. `refs`: the compiles that the page is about."""
    if not run.profiles.version:
        return
    from tltui.questions.runtime.profile_sums import runtimes_of

    found = runtimes_of(run)
    wanted = set(refs)
    never = [ref for one in found if isinstance(one, Runtime) for ref in one.never_called if ref in wanted]
    unmatched = [(one, count, what) for one in found if isinstance(one, Runtime) for what, count in one.unmatched.items() if count]
    refused = [one for one in found if isinstance(one, Refused)]
    if not (never or unmatched or refused):
        return
    page.heading("At run time")
    if never:
        seconds = {ref: c.tally.seconds for ref in never if (c := compile_at(run, ref)) is not None}
        took = fmt.took(sum(seconds.values()))
        pieces: list[Piece] = [(f"{fmt.plural(len(never), 'compile')} compiled{took} and never called: ", tokens.WARN)]
        for ref in sorted(never, key=lambda ref: -seconds.get(ref, 0.0))[:NEVER_SHOWN]:
            pieces.append((f"[{ref}] ", tokens.LINK, ref))
        page.row([*pieces, (f"and {fmt.count(len(never) - NEVER_SHOWN)} more", tokens.DIM)] if len(never) > NEVER_SHOWN else pieces)
    for one, count, what in unmatched:
        name = sanitize(fmt.file_name(one.profile))
        of: list[Piece] = [" of ", (name, tokens.NAME), ": nothing in the trace is like that"]
        page.row([(f"{fmt.count(count)} {sanitize(what)}", tokens.WARN), *of])
    for item in refused:
        page.row([(sanitize(fmt.file_name(item.profile)), tokens.NAME), (f" was not joined: {sanitize(item.why)}", tokens.WARN)])


def worth_knowing(run: Run) -> tuple[str, str]:
    """(compile or '', sentence): the fact that costs most, of the rank that takes longest. ('', '') without a profile, or where
    nothing stands out."""
    costs = costs_of(run)
    if costs is None:
        return "", ""
    from tltui.questions.runtime.page import sentence
    from tltui.questions.runtime.runtime_report import Fact, findings_of

    slowest = max(costs.runtimes, key=_step)
    # the limit for which calls fell back is told anyway
    found = sorted(findings_of(run, slowest), key=lambda item: item.fact is Fact.FALLBACK)
    first = next((item for item in found if item.fact is not Fact.KERNEL), None)
    return (first.ref, sentence(first, bool(slowest.steps))) if first is not None else ("", "")


def _step(runtime: Runtime) -> float:
    return whole_us(runtime) / max(len(runtime.steps), 1)


def compile_said(costs: Costs, ref: str) -> str:
    """`690 µs a step, 32 % of it, 4 calls; guards 143 µs a call`; '' of a compile that no profile tells of."""
    found, us = costs.of_compile(ref), costs.us_of(ref)
    if found is None or us is None:
        return ""
    guards = f"; guards {micros(found.lookups.mean_us)} a call" if found.lookups.calls else ""
    share = f", {fmt.percent(costs.share_of(ref, us), 1)} of {'a step' if costs.per_step else 'the profile'}"
    return f"{micros(us)} {costs.of}{share}, {fmt.plural(found.regions.calls, 'call')}{guards}"
