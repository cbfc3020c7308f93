"""The page `runtime`: findings, window, shares of time, ranks and a flame view of one step."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from statistics import median
from typing import cast

from tltui.documents import format as fmt
from tltui.documents.format import joined
from tltui.documents.page import BAR, Page
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.ref import ranges
from tltui.model.run import Run
from tltui.questions.layers.layer_kernels import layers_of
from tltui.questions.question import Question
from tltui.questions.runtime import profile_sums
from tltui.questions.runtime.costs import whole_us
from tltui.questions.runtime.graph_sections import (
    NARROW,
    SORTS,
    Told,
    add_breaks,
    add_compile,
    add_compiles,
    add_fallbacks,
    add_never,
    add_outside,
    by_cost,
)
from tltui.questions.runtime.profile_results import (
    CompileTime,
    RankKernel,
    Refused,
    Runtime,
    Share,
    compile_at,
    process_of,
    rank_kernels,
)
from tltui.questions.runtime.profile_sums import StepFlame, compiling_us, runtimes_of, step_flames
from tltui.questions.runtime.recording_sections import add_recording, recording_of
from tltui.questions.runtime.runtime_report import Fact, Finding, RuntimeJson, RuntimesJson, findings_of, runtimes_json
from tltui.questions.timing.flame_sections import draw_flame
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.formatting import micros
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

FINDINGS_SHOWN = 4
BAR_MOST = 40
EXPLAINED = 96
"""Columns from which on each part says what it is; on fewer they are explained below."""
DOUBTS_SHOWN = 4

PARTS: tuple[tuple[str, str, str, str], ...] = (
    ("kernels", "kernels_us", tokens.PHASE_KERNELS, "in kernels of compiled graphs"),
    ("wrapper", "wrapper_us", tokens.PHASE_INDUCTOR, "in graphs, in no kernel: calls, allocations, launches"),
    ("guards", "guards_us", tokens.PHASE_GUARDS, "trying guards before compiled code runs"),
    ("around", "overhead_us", tokens.PHASE_DYNAMO, "bytecode and prologues around graphs"),
    ("eager", "eager_us", tokens.PHASE_CACHE, "operators outside of compiled graphs"),
    ("idle", "idle_us", tokens.DIM, "none of these: other Python, data, waiting"),
)
"""Name, field of `Share`, style, what it is."""
COMPILING = ("compile", "", tokens.PHASE_DYNAMO, "torch compiled while the profiler ran")
NAMED_STEP = re.compile(r"step|iter|batch|token", re.IGNORECASE)
"""Annotations that say themselves that they are steps."""
ROOMY = 64
"""Columns from which on a heading has room for more than its figure."""
APART = 0.95
"""Of the window that steps take, from which on down it is said that the rest is in the figures of a step."""
UNCLEAR = ("wrapper", "around", "idle")
"""Names that alone do not say what they are."""
UNCLEAR_SAID = "wrapper: in graphs, between kernels; around: bytecode around graphs; idle: none of these"


def sentence(finding: Finding, per_step: bool) -> str:
    """A fact in a sentence without its end."""
    of, share = " a step" if per_step else "", fmt.percent(finding.share, 1)
    ref = f"[{finding.ref}]"
    if finding.fact is Fact.GUARDS:
        return f"guards cost {share} of the compiled time of {ref}: {micros(finding.mean_us)} a call"
    if finding.fact is Fact.BREAK:
        lead = finding.broke.lead if finding.broke is not None else None
        at = f" at {fmt.place(lead.file, lead.line)}" if lead is not None else ""
        return f"{ref} breaks{at}: {micros(finding.us)} eager{of or ' in all'}, {share} of the time"
    if finding.fact is Fact.EAGER:
        return f"{share} of the time operators run in no compiled code: {micros(finding.us)}{of}, most in {sanitize(finding.name)}"
    if finding.fact is Fact.FALLBACK:
        who = f" of {sanitize(finding.name)} {ref}" if finding.ref else ""
        return f"{fmt.plural(finding.calls, 'call')}{who} fell back to eager mode: guards were tried, and no compile fitted"
    if finding.fact is Fact.LAUNCHES:
        if finding.name:
            busy = fmt.percent(1 - finding.share, 1)
            return f"launch-bound: kernels of {_unit(finding)} run {busy} of the time that it takes to launch them"
        gap = f", {micros(finding.mean_us)} each time" if finding.mean_us else ""
        return f"launch-bound: {share} of the time of {_unit(finding)} is between kernels{gap}"
    if finding.fact is Fact.IDLE and finding.name:
        return f"{share} of the time the host ran nothing of torch: waiting for the device, other Python, loading of data"
    if finding.fact is Fact.IDLE:
        return f"{share} of the time nothing of torch ran: other Python, loading of data, waiting"
    if finding.fact is Fact.COMPILING:
        rest = f" and {fmt.plural(finding.count - 1, 'other')}" if finding.count > 1 else ""
        verb = "were" if finding.count > 1 else "was"
        what = f"{ref}{rest} {verb} compiled" if finding.ref else "torch compiled"
        return f"{what} while the profiler ran: {micros(finding.seconds * 1e6)}, {share} of the time"
    if finding.fact is Fact.NEVER:
        took = fmt.took(finding.seconds)
        if finding.count == 1:
            return f"{ref} was compiled{took} and never called while the profiler ran"
        return f"{fmt.count(finding.count)} compiles were never called while the profiler ran; {ref} alone was compiled{took}"
    lines = f", {_lines(finding.lines)}" if finding.lines else ""
    return f"one kernel takes {share} of the time: {sanitize(finding.name)} in {_unit(finding)}, {micros(finding.us)}{of}{lines}"


def _unit(finding: Finding) -> str:
    return f"the {sanitize(finding.unit)} of [{finding.ref}]" if finding.unit else f"[{finding.ref}]"


def _lines(lines: Sequence[str]) -> str:
    file, _, line = lines[0].rpartition(":")
    more = f" and {fmt.plural(len(lines) - 1, 'more line')}" if len(lines) > 1 else ""
    return f"from {fmt.place(file, int(line))}{more}" if line.isdecimal() else sanitize(lines[0])


def add_findings(page: Page, found: Sequence[Finding], runtime: Runtime) -> None:
    """What is worth knowing, the dearest first."""
    if not found:
        share = fmt.percent(runtime.share.kernels_us, runtime.share.whole_us)
        page.say(f"nothing stands out: {share} of the time is in kernels of compiled graphs", "", tokens.STRONG)
    for number, finding in enumerate(found[:FINDINGS_SHOWN]):
        said = sentence(finding, bool(runtime.steps))
        page.row(list(_linked(said, finding.ref, "" if number else tokens.STRONG)), "")


def _linked(said: str, ref: str, style: str) -> list[Piece]:
    """Words, the address in them as a link."""
    before, label, behind = said.partition(f"[{ref}]") if ref else (said, "", "")
    words: list[Piece] = [(word, style) for word in _words(before)]
    return words + ([(label, tokens.LINK, ref)] if label else []) + [(word, style) for word in _words(behind)]


def _words(text: str) -> list[str]:
    """Words with the blanks behind them: `row` breaks lines between them."""
    return re.findall(r"\S+\s*|^\s+", text)


def add_window(page: Page, runtime: Runtime) -> None:
    """The profile, its steps, and what is not certain of it."""
    whole = runtime.share.whole_us
    words: list[Piece] = [(fmt.clip_middle(sanitize(fmt.file_name(runtime.profile)), page.width), tokens.NAME)]
    if runtime.rank is not None:
        words.append(f"rank {runtime.rank}")
    words += [(fmt.pid(runtime.pid), tokens.DIM), f"{micros(whole)} from {fmt.clock(runtime.begin_us)}"]
    if runtime.steps:
        times = [step.us for step in runtime.steps]
        middle = f", median {micros(median(times))}" if len(times) > 2 else ""
        words.append(f"{fmt.plural(len(times), 'step')} of {micros(sum(times) / len(times))}{middle}")
        if not NAMED_STEP.search(name := runtime.steps[0].name):
            words.append(f"a step is what is annotated as {fmt.clip_middle(sanitize(name), 40)}")
    else:
        words.append("no steps are marked: what follows is of the whole window")
    words.append(("with the profiler on, which makes short things longer", tokens.DIM))
    page.joined(words)
    for doubt in runtime.doubts[:DOUBTS_SHOWN]:
        page.say(sanitize(doubt), "", tokens.WARN)
    if more := runtime.doubts[DOUBTS_SHOWN:]:
        what = fmt.plural(len(more), "more doubt")
        page.open(what, folded=True)
        page.add((what, tokens.DIM))
        for doubt in more:
            page.say(sanitize(doubt), "  ", tokens.WARN)
        page.close()


def add_share(page: Page, runtime: Runtime, compiling_us: float = 0.0) -> None:
    """Where the time went: disjoint parts that are the whole. `compiling_us`: what compiling took of the window."""
    share, steps = runtime.share, max(len(runtime.steps), 1)
    whole = share.whole_us / steps
    is_apart = runtime.steps and sum(step.us for step in runtime.steps) < APART * share.whole_us
    rest = ", with what is between steps" if is_apart and page.width >= ROOMY else ""
    page.heading(f"Where {'a step' if runtime.steps else 'the time'} goes: {micros(whole)}{rest}")
    rows = [(name, _us(share, field) / steps, style, told) for name, field, style, told in PARTS]
    if compiling := min(compiling_us, share.idle_us) / steps:
        name, us, style, told = rows[-1]
        rows[-1:] = [(COMPILING[0], compiling, *COMPILING[2:]), (name, us - compiling, style, told)]
    widest = max(len(micros(us)) for _, us, _, _ in rows)
    room = min(page.width - 2 - 8 - 2 - widest - 2 - 5 - 2, BAR_MOST)
    explained = max(len(told) for *_, told in rows) if page.width >= EXPLAINED else 0
    room = min(room, page.width - 21 - widest - explained - 2) if explained else room
    for name, us, style, told in rows:
        cells = round(room * us / whole) if whole > 0 else 0
        bar = BAR * max(cells, 1 if us > 0 else 0)
        beside: list[Piece] = [(" " * (room - len(bar) + 2), ""), (told, tokens.DIM)] if explained else []
        page.add(
            "  ", (name.ljust(8), tokens.LABEL), "  ", (micros(us).rjust(widest), tokens.NUMBER), "  ",
            (fmt.percent(us, whole).rjust(5), tokens.DIM), "  ", (bar, style), *beside,
        )  # fmt: skip
    if device := sum(graph.device_us for own in runtime.compiles for graph in own.graphs):
        said = f"Times of the host, which launches kernels: on the device they take {micros(device / steps)}"
        page.say(f"{said}{' a step' if runtime.steps else ''}.", "  ", tokens.WARN)
    if not explained:
        page.say(UNCLEAR_SAID, "  ", tokens.DIM)


def _us(share: Share, field: str) -> float:
    return float(getattr(share, field))


STYLES = {
    profile_sums.GUARDS: tokens.PHASE_GUARDS, profile_sums.GRAPH: tokens.PHASE_INDUCTOR, profile_sums.KERNEL: tokens.PHASE_KERNELS,
    profile_sums.EAGER: tokens.PHASE_CACHE, profile_sums.AROUND: tokens.PHASE_DYNAMO, profile_sums.REGIONS: tokens.PHASE_DYNAMO,
}  # fmt: skip
THREADS_SHOWN = 4


def add_step(page: Page, flames: tuple[StepFlame, ...], folded: bool = True) -> None:
    """The step in the middle, thread by thread."""
    for number, found in enumerate(flames[:THREADS_SHOWN]):
        which = f" on thread {number + 1}" if len(flames) > 1 else ""
        what = f"One step, {sanitize(found.step)}" if found.step else "The window"
        page.heading(f"{what}{which}: {micros(found.flame.seconds * 1e6)}", folded)
        draw_flame(page, found.flame, _style_of(found), lambda bar: micros(bar.seconds * 1e6))
        if found.cut:
            page.say("Only its beginning is drawn: it has too many events.", "  ", tokens.DIM)
    if len(flames) > THREADS_SHOWN:
        page.add("  ", (f"and {fmt.plural(len(flames) - THREADS_SHOWN, 'more thread')}", tokens.DIM))


def _style_of(found: StepFlame) -> Callable[[str], str]:
    return lambda name: STYLES.get(found.kinds.get(name, ""), tokens.PHASE_OTHER)


RANKS_SHOWN = 16
KERNELS_SHOWN = 12
FOLDED = 400
ALL_PARTS = 62
"""Columns from which on all parts of the time have a column."""
SLOW = 1.2
"""Times what the rank in the middle takes, from which on a rank is named as slow."""


def step_us(runtime: Runtime) -> float:
    """A step on average; without steps the window."""
    return whole_us(runtime) / max(len(runtime.steps), 1)


def _ranges(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(set(ranks)) == 1 else 'ranks'} {ranges(ranks)}"


def add_ranks(page: Page, runtimes: Sequence[Runtime]) -> None:
    """A row a profile, the slowest first."""
    of = "a step" if all(runtime.steps for runtime in runtimes) else "the window"
    ordered = sorted(runtimes, key=lambda runtime: -step_us(runtime))
    slowest, middle = ordered[0], median(step_us(runtime) for runtime in runtimes)
    _slowest(page, slowest, middle, of)
    numbers = sorted({runtime.rank for runtime in runtimes if runtime.rank is not None})
    page.heading(f"{fmt.plural(len(runtimes), 'profile')}{f' of {_ranges(numbers)}' if numbers else ''}")
    hidden = () if page.width >= ALL_PARTS else ("wrapper", "around") if page.width > NARROW else ("guards", *UNCLEAR)
    parts = [part for part in PARTS if part[0] not in hidden]
    names = [name for name, *_ in parts]
    rows: list[list[Piece]] = [[(name, tokens.LABEL) for name in ("rank", of, *names)]]
    for runtime in ordered:
        share = runtime.share
        rows.append([
            _who(runtime), (micros(step_us(runtime)), tokens.NUMBER),
            *((fmt.percent(float(getattr(share, field)), share.whole_us), style) for _, field, style, _ in parts),
        ])  # fmt: skip
    shown = 1 + RANKS_SHOWN if len(ordered) > RANKS_SHOWN + 2 else -1
    page.grid(rows, right=range(1, len(rows[0])), shown=shown, more=f"{fmt.count(len(ordered) - RANKS_SHOWN)} more ranks")


def _who(runtime: Runtime) -> Piece:
    if runtime.rank is None:
        return (fmt.pid(runtime.pid), tokens.NAME)
    return (str(runtime.rank), tokens.LINK, f"@runtime:{runtime.rank}:")


def _slowest(page: Page, slowest: Runtime, middle: float, of: str) -> None:
    us = step_us(slowest)
    who = f"rank {slowest.rank}" if slowest.rank is not None else fmt.pid(slowest.pid)
    if middle > 0 and us >= SLOW * middle:
        more = fmt.percent(us - middle, middle)
        said = f"{who} is the slowest: {micros(us)} {of}, {more} more than the rank in the middle"
    else:
        said = f"the ranks take about the same time: {micros(middle)} {of} in the middle, {micros(us)} on {who}"
    page.say(said, "", tokens.STRONG)


def add_rank_kernels(page: Page, runtimes: Sequence[Runtime]) -> None:
    """Kernels that take longer on some rank than on the one in the middle, by how much."""
    found = [item for item in rank_kernels(runtimes) if item.lost_us > 0]
    if not found:
        return
    page.heading("Kernels across ranks")
    rows: list[list[Piece]] = [[(name, tokens.LABEL) for name in ("middle", "slowest", "on", "kernel")]]
    for item in found[: KERNELS_SHOWN + FOLDED]:
        means = dict(item.means)
        rows.append([
            (micros(item.median_us), tokens.NUMBER),
            (micros(means[item.slowest]), tokens.WARN if means[item.slowest] >= SLOW * item.median_us else tokens.NUMBER),
            (_slow(item), tokens.LABEL),
            (sanitize(item.kernel.key or item.kernel.name), tokens.LINK, f"@runtime:{item.ref}"),
        ])  # fmt: skip
    shown = 1 + KERNELS_SHOWN if len(found) > KERNELS_SHOWN + 2 else -1
    page.grid(rows, right=(0, 1), shown=shown, more=f"{fmt.count(len(found) - KERNELS_SHOWN)} more kernels")
    said = "A call on average, on the rank in the middle and on the slowest; which ranks are slow. Those first that differ most."
    page.say(said, "  ", tokens.DIM)


def _slow(item: RankKernel) -> str:
    """The ranks that are slow for a kernel; else the one that is slowest."""
    slow = [rank for rank, us in item.means if us >= SLOW * item.median_us]
    return _ranges(slow or [item.slowest])


FULL = 12
"""Compiles that are told with their graphs; the table has a link to each of the others."""
FLAME = "flame"
"""As `Options.filter`: the flame alone."""
TOLD = 4
"""Profiles of one process that are told, one after the other."""
Made = Generator[None, None, RuntimeJson | RuntimesJson]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command has beside the options of every view."""
    parser.add_argument("--flame", action="store_const", dest="filter", const=FLAME, default="",
                        help="one step as a flame: what ran in what, and when")  # fmt: skip
    parser.add_argument("--sort", choices=SORTS, default="time", help="the order of the tables (default: time)")


def document(run: Run, scope: Scope, options: Options) -> Document:
    """The run time of the scope."""

    def fill(page: Page) -> Made:
        return (yield from _fill(page, run, scope, options.sort if options.sort in SORTS else "time"))

    return GrowingDocument(scope.page("runtime"), f"run time{scope.title}", options, fill, Page)


def _fill(page: Page, run: Run, scope: Scope, sort: str) -> Made:
    page.add((f"Run time{scope.title}", tokens.TITLE))
    found = runtimes_of(run)
    yield
    refused = [item for item in found if isinstance(item, Refused)]
    runtimes = [item for item in found if isinstance(item, Runtime) and _is_of(run, item, scope)]
    refs = {str(compile_.ref) for compile_ in scope.compiles} if scope.ref.id is not None else None
    _refused(page, refused)
    if not runtimes:
        _nothing(page, run, scope, bool(found))
    elif len({runtime.rank if runtime.rank is not None else -1 - runtime.pid for runtime in runtimes}) > 1 and refs is None:
        add_ranks(page, runtimes)
        yield
        add_rank_kernels(page, runtimes)
    else:
        for number, runtime in enumerate(runtimes[:TOLD]):
            if number:
                page.close(0)
                page.blank()
            yield from _one(page, Told(run, runtime, sort), refs)
        if len(runtimes) > TOLD:
            page.say(f"and {fmt.plural(len(runtimes) - TOLD, 'more profile')}: --json has all of them", "", tokens.DIM)
    return runtimes_json(runtimes, refused, refs)


def _is_of(run: Run, runtime: Runtime, scope: Scope) -> bool:
    """Whether a profile is of a process of the scope."""
    return not str(scope.ref) or process_of(run, runtime) in scope.processes


def _refused(page: Page, refused: Sequence[Refused]) -> None:
    for item in refused:
        name = fmt.clip_middle(sanitize(fmt.file_name(item.profile)), page.width)
        page.row([(name, tokens.NAME), (" was not joined to this trace:", tokens.WARN)], "")
        page.say(f"{sanitize(item.why)}.", "  ")


def _nothing(page: Page, run: Run, scope: Scope, has_profiles: bool) -> None:
    """Why there is nothing to tell, and how to record a profile."""
    if has_profiles:
        page.say(f"No profile here tells of {scope.title.removeprefix(' of ') or 'this run'}.", "", tokens.STRONG)
        return
    page.say(page.so_far("There is no profile: what is compiled is known, and not how long it takes to run."), "", tokens.STRONG)
    page.blank()
    add_recording(page, recording_of(run))


def _one(page: Page, told: Told, refs: set[str] | None) -> Generator[None, None, None]:
    """One profile, of one process."""
    runtime = told.runtime
    found = findings_of(told.run, runtime)
    add_findings(page, [item for item in found if refs is None or item.ref in refs], runtime)
    add_window(page, runtime)
    if page.options.filter == FLAME:
        yield from _flame(page, told, folded=False)
        return
    if refs is None:
        add_share(page, runtime, compiling_us(told.run, runtime))
    yield
    compiles = by_cost([own for own in runtime.compiles if refs is None or own.ref in refs], told.sort)
    if refs is not None and not compiles:
        page.say("It did not run while the profiler did.", "", tokens.STRONG)
    if len(compiles) > 1 or refs is None:
        add_compiles(page, told, compiles)
    yield
    add_breaks(page, told, refs)
    add_fallbacks(page, told, refs)
    if refs is None:
        add_outside(page, told)
    yield
    for own in compiles[:FULL]:
        yield from add_compile(page, told, own, _layers(told.run, own))
    if len(compiles) > FULL:
        page.close(0)
        page.blank()
        what = f"and {fmt.plural(len(compiles) - FULL, 'more compile')}: the table above has a link to each"
        page.say(what, "", tokens.DIM)
    add_never(page, told, refs)
    yield
    if refs is None:
        if page.options.key_of is not None:
            yield from _flame(page, told, folded=True)
        page.blank()
        on_screen = page.options.key_of is not None
        what = "for ui.perfetto.dev, with compiling: " if on_screen else "one step as a flame: "
        page.row([(what, tokens.DIM), "tltui timing PATH --perfetto FILE" if on_screen else "tltui runtime PATH --flame"], "")


def _flame(page: Page, told: Told, folded: bool) -> Generator[None, None, None]:
    flames = yield from step_flames(told.run, told.runtime)
    add_step(page, flames, folded)


def _layers(run: Run, own: CompileTime) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Unit → key of a kernel → the layers that it is in."""
    compile_ = compile_at(run, own.ref)
    return {unit.unit: unit.of_kernel for unit in layers_of(compile_).units} if compile_ is not None else {}


@frozen
class RuntimeRow:
    """One call of a kernel in the code of a graph. Times are wall clock, with the profiler on, of a step where the profile has
    steps."""

    profile: str
    """The profile."""
    rank: int | None
    """The rank."""
    pid: int
    """The process."""
    ref: str
    """The address of the compile."""
    unit: str
    """The lowering."""
    kernel: str
    """What the kernel is called."""
    key: str
    """As in provenance: `NAME:HANDLE`; empty where the code is not in the trace."""
    device: str
    """Where it ran."""
    calls: int
    """How often it was called."""
    us: float
    """All calls together, in microseconds."""
    mean_us: float
    """The mean of a call."""
    median_us: float
    """The median of a call."""
    min_us: float
    """The shortest call."""
    max_us: float
    """The longest call."""
    nodes: str
    """The post-grad nodes that it computes."""
    lines: str
    """The lines of source, `FILE:LINE`. Each has the whole time of the kernel: never to be added over lines."""


def runtime_rows(data: RuntimeJson | RuntimesJson) -> Iterator[RuntimeRow]:
    """A row a kernel."""
    several = cast(dict[str, list[RuntimeJson]], data).get("runtimes")
    for run in [cast(RuntimeJson, data)] if several is None else several:
        for compile_ in run["compiles"]:
            for graph in compile_["graphs"]:
                for own in graph["kernels"]:
                    yield RuntimeRow(
                        run["profile"], run["rank"], run["pid"], compile_["ref"], graph["unit"], own["name"], own["key"],
                        own["device"], own["calls"], own["us"], own["mean_us"], own["median_us"], own["min_us"], own["max_us"],
                        joined(own["nodes"]), joined(own["lines"]),
                    )  # fmt: skip


QUESTION = Question(
    name="runtime",
    help="where run time goes, by a profile: compiles, kernels, lines, guards, eager code",
    key="T",
    group="why is it so",
    order=90,
    sorts=("time", "mean", "calls", "name", "code"),
    needs=Needs("has no keys by which a profile names graphs", ("output_code",), "generated code"),
    document=document,
    add_arguments=add_arguments,
    answer=None,
    alone=RuntimeJson | RuntimesJson,
    rows=RuntimeRow,
    records=runtime_rows,
    doc="""
    Where run time goes, by profiles of `torch.profiler`: a row a kernel, in microseconds. `data` has shares, eager code, guards.

    Profiles are those that `tltui.open` was given, or that lie beside the logs; without any there is no row, and the page says
    how to record one. From then on `layers` and `ls` of this run tell measured times too. `sort`: the order of the page's tables:
    time, mean, calls, name, code. Raises `ProfileError` where none
    fits the trace.
    """,
)
