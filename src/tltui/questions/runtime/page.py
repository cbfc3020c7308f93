"""The page `runtime`: findings, window, shares of time, ranks, a flame view of one step; and how to record a profile."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import islice
from statistics import median
from typing import cast

from tltui.documents import format as fmt
from tltui.documents.page import Column, Page, Table
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.node_answers import reader_of
from tltui.model.nodes import Compile
from tltui.model.record_reader import records_of
from tltui.model.ref import ranges
from tltui.model.run import Run
from tltui.questions.layers.layer_kernels import layers_of
from tltui.questions.question import Question
from tltui.questions.runtime import profile_sums
from tltui.questions.runtime.costs import window_us
from tltui.questions.runtime.graph_sections import (
    NARROW,
    SORTS,
    Figures,
    add_breaks,
    add_compile,
    add_compiles,
    add_device,
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
from tltui.questions.runtime.profile_sums import FirstRow, FirstRows, StepFlame, compiling_us, runtimes_of, step_flames
from tltui.questions.runtime.runtime_report import (
    Fact,
    Finding,
    RuntimeJson,
    RuntimesJson,
    Waits,
    findings_of,
    runtimes_json,
    waits_of,
)
from tltui.questions.stacks.tracebacks import StackFrame, callers_of, user_frames
from tltui.questions.timing.page import draw_flame
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.formatting import micros
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

COMPILES_READ = 16
"""Compiles by which the program is judged."""
CODE = ("inductor_output_code", "output_code")
CPP, TRITON = "async_compile.cpp", "async_compile.triton"
"""Functions that generated code calls to compile its kernels."""
KERNEL_PROFILE = "torch._inductor.config.cpp.enable_kernel_profile"


@frozen
class Recording:
    """Lines to add to a program, and facts for remarks on them."""

    lines: tuple[str, ...]
    """Python, to be pasted."""
    loop: StackFrame | None
    """The call of the compiled function in the program, for the loop around it; None if unknown."""
    trains: bool
    """Whether a backward was compiled: a step ends with the optimizer."""
    cpu: bool
    """Whether there are C++ kernels, or may be: they need a setting to be in the profile."""
    gpu: bool
    """Whether there are Triton kernels, which need no setting."""
    ranks: int


def recording_of(run: Run | None) -> Recording:
    """Return how to record a profile of the program of a run; without a run, of any program."""
    compiles = [] if run is None else list(islice(_compiles(run), COMPILES_READ))
    cpu, gpu = _kernels(compiles)
    ranks = 1 if run is None else max(len({process.rank for process in run.processes()}), 1)
    trains = not compiles or any(compile_.facts.has_backward for compile_ in compiles)
    lines = (*_setting(cpu), *_profiler(ranks > 1), *_loop(trains))
    return Recording(lines, _called_at(compiles), trains, cpu, gpu, ranks)


def _compiles(run: Run) -> Iterator[Compile]:
    return (compile_ for process in run.processes() for compile_ in process.ordered() if compile_.is_compile)


def _kernels(compiles: list[Compile]) -> tuple[bool, bool]:
    """Return whether there are C++ kernels, and Triton kernels. Without any code there may be C++ kernels."""
    codes = [reader_of(compile_).text(record) for compile_ in compiles for record, _ in records_of(compile_, CODE)]
    return not codes or any(CPP in code for code in codes), any(TRITON in code for code in codes)


def _called_at(compiles: list[Compile]) -> StackFrame | None:
    """Return the nearest line of user code above the first compiled function."""
    for compile_ in compiles:
        if frames := user_frames(callers_of(compile_)):
            return frames[0]
    return None


def _setting(cpu: bool) -> tuple[str, ...]:
    if not cpu:
        return ("import os", "import torch", "")
    return (
        "import os", "import torch", "import torch._inductor.config", "",
        "# before the first compile: the profile then has C++ kernels",
        f"{KERNEL_PROFILE} = True", "",
    )  # fmt: skip


def _profiler(ranks: bool) -> tuple[str, ...]:
    """Return the lines with the profiler, which write the file beside the log."""
    name = "profile_rank_{rank}.json" if ranks else "profile.json"
    return (
        "def save(profiler):",
        '    directory = os.environ.get("TORCH_TRACE") or "."',
        *(("    rank = torch.distributed.get_rank()",) if ranks else ()),
        f'    profiler.export_chrome_trace(f"{{directory}}/{name}")',
        "",
        "with torch.profiler.profile(",
        "    schedule=torch.profiler.schedule(wait=3, warmup=1, active=6, repeat=1),",
        "    on_trace_ready=save,",
        ") as profiler:",
    )


def _loop(trains: bool) -> tuple[str, ...]:
    if trains:
        return ("    for batch in loader:  # your loop", "        ...", "        optimizer.step()", "        profiler.step()")
    return ("    for batch in batches:  # your loop", "        model(batch)", "        profiler.step()")


WITHOUT_EDITING = "tltui run --record-steps 5:10 -- "
CHANGES_KEY = (
    "This setting is part of the key of Inductor's caches, so the run cannot use caches of runs without it. It adds a small "
    "overhead to kernels. Compile times differ from those of the job without it."
)
TRITON_REMARK = "Profiles have Triton kernels without a setting."


def add_recording(page: Page, recording: Recording) -> None:
    """Add how to record a profile."""
    page.say("Profile a few steps without changing the program (tltui run --help explains a step):", "")
    started = f"torchrun --nproc-per-node {recording.ranks} train.py" if recording.ranks > 1 else "python train.py"
    page.add("  ", (WITHOUT_EDITING + started, tokens.NAME))
    page.blank()
    page.say("Or add this to the program, and run it with TORCH_TRACE:", "")
    add_lines(page, recording)


def recording_document(run: Run | None, options: Options) -> Document:
    """Return a document with the lines to paste alone, for programs where the start-up hook does not run."""
    page = Page("recording", "how to record", options)
    add_lines(page, recording_of(run))
    return page.document()


def add_lines(page: Page, recording: Recording) -> None:
    """Add the lines to paste, and remarks."""
    for line in recording.lines:
        page.add("  ", (line, tokens.NAME)) if line else page.blank()
    page.blank()
    if recording.loop is not None:
        place = page.place(recording.loop.file, recording.loop.line)
        page.row(["Your loop is the one around the call at ", place, "."], "")
    for text in remarks(recording):
        page.say(text, "")


def remarks(recording: Recording) -> tuple[str, ...]:
    """Return the remarks on a recording."""
    sentences = []
    if recording.ranks > 1:
        sentences.append(f"Each of the {fmt.count(recording.ranks)} ranks writes its own file.")
    if recording.cpu:
        sentences.append(CHANGES_KEY)
    if recording.gpu:
        sentences.append(TRITON_REMARK)
    sentences.append("tltui runtime DIR reads a profile next to the log. Add --profile FILE for one that is elsewhere.")
    return tuple(sentences)


FINDINGS_SHOWN = 5
LONGEST_NAME = 60
"""Cells of a kernel's name in a sentence: some libraries write hundreds."""
BAR_MOST = 40
EXPLAINED = 96
"""Width in cells from which on each part is explained beside it; below that a line explains them."""
DOUBTS_SHOWN = 4

PARTS: tuple[tuple[str, str, str, str], ...] = (
    ("kernels", "kernels_us", tokens.PHASE_KERNELS, "in kernels of compiled graphs"),
    ("wrapper", "wrapper_us", tokens.PHASE_INDUCTOR, "in graphs, outside kernels: calls, allocations, launches"),
    ("guards", "guards_us", tokens.PHASE_GUARDS, "checking guards before compiled code runs"),
    ("around", "overhead_us", tokens.PHASE_DYNAMO, "bytecode and prologues around graphs"),
    ("eager", "eager_us", tokens.PHASE_CACHE, "operators outside of compiled graphs"),
    ("collect", "collectives_us", tokens.PHASE_OTHER, "in collectives, while no thread computes"),
    ("idle", "idle_us", tokens.DIM, "none of these: other Python, data, waiting"),
)
"""Name, field of `Share`, style, meaning."""
COMPILING = ("compile", "", tokens.PHASE_DYNAMO, "torch compiled while the profiler ran")
NAMED_STEP = re.compile(r"step|iter|batch|token", re.IGNORECASE)
"""Names of annotations that are steps by their names."""
ROOMY = 64
"""Width in cells from which on a heading has room for more than its figure."""
APART = 0.95
"""Share of the steps in the window, below which a heading notes that a step includes the time between steps."""
UNCLEAR = ("wrapper", "around", "collect", "idle")
"""Parts whose names need an explanation."""
COLLECT_EXPLAINED = "; collect: in collectives, while no thread computes"
UNCLEAR_EXPLAINED = "wrapper: in graphs, between kernels; around: bytecode around graphs; idle: none of these"


def sentence(finding: Finding, per_step: bool) -> str:
    """Return a finding as a sentence without a full stop."""
    of, share = " per step" if per_step else "", fmt.percent(finding.share, 1)
    ref = f"[{finding.ref}]"
    if finding.fact is Fact.GUARDS:
        return f"guards cost {share} of the compiled time of {ref}: {micros(finding.mean_us)} per call"
    if finding.fact is Fact.BREAK:
        lead = finding.broke.lead if finding.broke is not None else None
        at = f" at {fmt.place(lead.file, lead.line)}" if lead is not None else ""
        return f"{ref} breaks{at}: {micros(finding.us)} eager{of or ' in total'}, {share} of the time"
    if finding.fact is Fact.EAGER and finding.unit:
        most = sanitize(finding.name)
        return f"{share} of the device's work is from operators outside of compiled code: {micros(finding.us)}{of}, most in {most}"
    if finding.fact is Fact.COLLECTIVES:
        calls = fmt.plural(finding.calls, "call")
        name = sanitize(finding.name)
        return f"{share} of the time is in collectives while no thread computes: {micros(finding.us)}{of}, most in {name} ({calls})"
    if finding.fact is Fact.OUTLIER:
        calls, lines = fmt.count(finding.calls), f", {_lines(finding.lines)}" if finding.lines else ""
        subject = f"one of {calls} calls of {_kernel_name(finding)} in {_unit(finding)}"
        return f"{subject} took {micros(finding.most_us)}; the median is {micros(finding.mean_us)}{lines}"
    if finding.fact is Fact.EAGER:
        most = sanitize(finding.name)
        return f"{share} of the time operators run outside of compiled code: {micros(finding.us)}{of}, most in {most}"
    if finding.fact is Fact.FALLBACK:
        who = f" of {sanitize(finding.name)} {ref}" if finding.ref else ""
        return f"{fmt.plural(finding.calls, 'call')}{who} fell back to eager mode: no compiled version matched"
    if finding.fact is Fact.LAUNCHES:
        if finding.name:
            busy = fmt.percent(1 - finding.share, 1)
            return f"launch-bound: kernels of {_unit(finding)} run for {busy} of their launch time"
        gap = f", {micros(finding.mean_us)} each time" if finding.mean_us else ""
        return f"launch-bound: {share} of the time of {_unit(finding)} is between kernels{gap}"
    if finding.fact is Fact.IDLE and finding.name:
        return f"{share} of the time the device ran nothing: {micros(finding.us)}{of}"
    if finding.fact is Fact.IDLE:
        return f"{share} of the time no torch code ran: untraced Python, data loading, waiting"
    if finding.fact is Fact.COMPILING:
        rest = f" and {fmt.plural(finding.count - 1, 'other')}" if finding.count > 1 else ""
        verb = "were" if finding.count > 1 else "was"
        subject = f"{ref}{rest} {verb} compiled" if finding.ref else "torch compiled"
        return f"{subject} while the profiler ran: {micros(finding.seconds * 1e6)}, {share} of the time"
    if finding.fact is Fact.NEVER:
        took = fmt.took(finding.seconds)
        if finding.count == 1:
            return f"{ref} was compiled{took} and never called while the profiler ran"
        return f"{fmt.count(finding.count)} compiles were never called while the profiler ran; {ref} alone was compiled{took}"
    lines = f", {_lines(finding.lines)}" if finding.lines else ""
    subject = "one kernel takes" if finding.count == 1 else f"{fmt.plural(finding.calls, 'call')} of one kernel name take"
    return f"{subject} {share} of the time: {_kernel_name(finding)} in {_unit(finding)}, {micros(finding.us)}{of}{lines}"


def _kernel_name(finding: Finding) -> str:
    return fmt.clip_middle(sanitize(finding.name), LONGEST_NAME)


def _unit(finding: Finding) -> str:
    return f"the {sanitize(fmt.graph_title(finding.unit))} of [{finding.ref}]" if finding.unit else f"[{finding.ref}]"


def _lines(lines: Sequence[str]) -> str:
    file, _, line = lines[0].rpartition(":")
    more = f" and {fmt.plural(len(lines) - 1, 'more line')}" if len(lines) > 1 else ""
    return f"from {fmt.place(file, int(line))}{more}" if line.isdecimal() else sanitize(lines[0])


def add_findings(page: Page, findings: Sequence[Finding], runtime: Runtime) -> None:
    """Add the findings, the most expensive first."""
    if not findings and runtime.device is not None:
        busy = fmt.percent(runtime.device.busy_us, runtime.device.window_us * runtime.device.devices)
        page.say(f"no large cost: the device is busy {busy} of the time", "", tokens.STRONG)
    elif not findings:
        share = fmt.percent(runtime.share.kernels_us, runtime.share.total_us)
        page.say(f"no large cost: {share} of the time is in kernels of compiled graphs", "", tokens.STRONG)
    for number, finding in enumerate(findings[:FINDINGS_SHOWN]):
        text = sentence(finding, bool(runtime.steps))
        page.row(list(_linked(text, finding.ref, "" if number else tokens.STRONG)), "")


def _linked(text: str, ref: str, style: str) -> list[Piece]:
    """Split into words, with the address as a link."""
    before, label, behind = text.partition(f"[{ref}]") if ref else (text, "", "")
    words: list[Piece] = [(word, style) for word in _words(before)]
    return words + ([(label, tokens.LINK, ref)] if label else []) + [(word, style) for word in _words(behind)]


def _words(text: str) -> list[str]:
    """Split into words with the blanks behind them: `row` breaks lines between them."""
    return re.findall(r"\S+\s*|^\s+", text)


def add_window(page: Page, runtime: Runtime) -> None:
    """Add the profile, its steps, and doubts."""
    total = runtime.share.total_us
    words: list[Piece] = [(fmt.clip_middle(sanitize(fmt.file_name(runtime.profile)), page.width), tokens.NAME)]
    if runtime.rank is not None:
        words.append(f"rank {runtime.rank}")
    words += [(fmt.pid(runtime.pid), tokens.DIM), f"{micros(total)} from {fmt.clock(runtime.begin_us)}"]
    if runtime.steps:
        times = [step.duration_us for step in runtime.steps]
        middle = f", median {micros(median(times))}" if len(times) > 2 else ""
        words.append(f"{fmt.plural(len(times), 'step')} of {micros(sum(times) / len(times))}{middle}")
        if not NAMED_STEP.search(name := runtime.steps[0].name):
            words.append(f"a step is a profiler range named {fmt.clip_middle(sanitize(name), 40)}")
    else:
        words.append("no steps marked: numbers are for the whole window")
    words.append(("measured with the profiler on, which lengthens short events", tokens.DIM))
    page.joined(words)
    for doubt in runtime.doubts[:DOUBTS_SHOWN]:
        page.say(sanitize(doubt), "", tokens.WARN)
    if more := runtime.doubts[DOUBTS_SHOWN:]:
        with page.fold(fmt.plural(len(more), "more caveat"), ""):
            for doubt in more:
                page.say(sanitize(doubt), "  ", tokens.WARN)


def add_share(page: Page, runtime: Runtime, compiling_us: float = 0.0) -> None:
    """Add the disjoint parts of the window. `compiling_us` is the part of it in which torch compiled."""
    share, steps = runtime.share, max(len(runtime.steps), 1)
    total = share.total_us / steps
    is_apart = runtime.steps and sum(step.duration_us for step in runtime.steps) < APART * share.total_us
    rest = ", including time between steps" if is_apart and page.width >= ROOMY else ""
    of_host = " on the host" if runtime.device is not None else ""
    page.heading(f"Where {'a step' if runtime.steps else 'the time'} goes{of_host}: {micros(total)}{rest}")
    rows = [(name, _us(share, field) / steps, style, meaning) for name, field, style, meaning in _parts((runtime,))]
    if compiling := min(compiling_us, share.idle_us) / steps:
        name, us, style, meaning = rows[-1]
        rows[-1:] = [(COMPILING[0], compiling, *COMPILING[2:]), (name, us - compiling, style, meaning)]
    widest = max(len(micros(us)) for _, us, _, _ in rows)
    room = min(page.width - 2 - 8 - 2 - widest - 2 - 5 - 2, BAR_MOST)
    explained = max(len(meaning) for *_, meaning in rows) if page.width >= EXPLAINED else 0
    room = min(room, page.width - 21 - widest - explained - 2) if explained else room
    for name, us, style, meaning in rows:
        bar = fmt.bar(room * us / total) if total > 0 else ""
        legend: list[Piece] = [(" " * (room - len(bar) + 2), ""), (meaning, tokens.DIM)] if explained else []
        page.add(
            "  ", (name.ljust(8), tokens.LABEL), "  ", (micros(us).rjust(widest), tokens.NUMBER), "  ",
            (fmt.percent(us, total).rjust(5), tokens.DIM), "  ", (bar, style), *legend,
        )  # fmt: skip
    if not explained:
        page.say(UNCLEAR_EXPLAINED + (COLLECT_EXPLAINED if runtime.collectives else ""), "  ", tokens.DIM)


def _parts(runtimes: Sequence[Runtime]) -> list[tuple[str, str, str, str]]:
    """Return the parts of the time; collectives only where some profile has them."""
    has_collectives = any(runtime.collectives for runtime in runtimes)
    return [part for part in PARTS if part[1] != "collectives_us" or has_collectives]


def _us(share: Share, field: str) -> float:
    return float(getattr(share, field))


STYLES = {
    profile_sums.GUARDS: tokens.PHASE_GUARDS, profile_sums.GRAPH: tokens.PHASE_INDUCTOR, profile_sums.KERNEL: tokens.PHASE_KERNELS,
    profile_sums.EAGER: tokens.PHASE_CACHE, profile_sums.AROUND: tokens.PHASE_DYNAMO, profile_sums.REGIONS: tokens.PHASE_DYNAMO,
}  # fmt: skip
THREADS_SHOWN = 4


def add_step(page: Page, flames: tuple[StepFlame, ...], folded: bool = True) -> None:
    """Add the median step, thread by thread."""
    for number, flame in enumerate(flames[:THREADS_SHOWN]):
        on = f" on thread {number + 1}" if len(flames) > 1 else ""
        scope = f"One step, {sanitize(flame.step)}" if flame.step else "The window"
        page.heading(f"{scope}{on}: {micros(flame.flame.duration_s * 1e6)}", folded)
        draw_flame(page, flame.flame, _style_of(flame), lambda bar: micros(bar.duration_s * 1e6))
        if flame.cut:
            page.say("Only the beginning is drawn (too many events).", "  ", tokens.DIM)
    if len(flames) > THREADS_SHOWN:
        page.add("  ", (f"and {fmt.plural(len(flames) - THREADS_SHOWN, 'more thread')}", tokens.DIM))


def _style_of(flame: StepFlame) -> Callable[[str], str]:
    return lambda name: STYLES.get(flame.kinds.get(name, ""), tokens.PHASE_OTHER)


RANKS_SHOWN = 16
KERNELS_SHOWN = 12
FOLDED = 400
ALL_PARTS = 62
"""Width in cells from which on all parts of the time have a column."""
SLOW = 1.2
"""Times what the rank in the middle takes, from which on a rank is named as slow."""


def step_us(runtime: Runtime) -> float:
    """Return the mean time of a step in µs; without steps that of the window."""
    return window_us(runtime) / max(len(runtime.steps), 1)


def _ranges(ranks: Sequence[int]) -> str:
    return f"{'rank' if len(set(ranks)) == 1 else 'ranks'} {ranges(ranks)}"


def add_ranks(page: Page, runtimes: Sequence[Runtime]) -> None:
    """Add one row a profile, the slowest first."""
    of = "per step" if all(runtime.steps for runtime in runtimes) else "the window"
    ordered = sorted(runtimes, key=lambda runtime: -step_us(runtime))
    slowest, middle = ordered[0], median(step_us(runtime) for runtime in runtimes)
    _slowest(page, slowest, middle, of)
    if (waits := waits_of(runtimes)) is not None:
        page.say(_waited(waits), "", tokens.STRONG)
    numbers = sorted({runtime.rank for runtime in runtimes if runtime.rank is not None})
    page.heading(f"{fmt.plural(len(runtimes), 'profile')}{f' of {_ranges(numbers)}' if numbers else ''}")
    hidden = () if page.width >= ALL_PARTS else ("wrapper", "around") if page.width > NARROW else ("guards", *UNCLEAR)
    page.table(Table((
        Column("rank", _who),
        Column(of, lambda runtime: (micros(step_us(runtime)), tokens.NUMBER), right=True),
        *(_part_column(*part) for part in _parts(runtimes) if part[0] not in hidden),
    ), "ranks", RANKS_SHOWN), ordered)  # fmt: skip


def _waited(waits: Waits) -> str:
    """Return which rank the others waited for, as a sentence without a full stop."""
    calls = f"{fmt.count(waits.last)} of {fmt.plural(waits.calls, 'collective')}"
    times = f"{micros(waits.own_us)}, {micros(waits.others_us)} on {waits.whom}"
    verb = "waited" if waits.is_in_order else "seem to have waited"
    return f"the others {verb} for rank {waits.rank}: {calls} are shortest on that rank ({times})"


def _part_column(name: str, field: str, style: str, _: str) -> Column[Runtime]:
    return Column(name, lambda runtime: (fmt.percent(_us(runtime.share, field), runtime.share.total_us), style), right=True)


def _who(runtime: Runtime) -> Piece:
    if runtime.rank is None:
        return (fmt.pid(runtime.pid), tokens.NAME)
    return (str(runtime.rank), tokens.LINK, f"@runtime:{runtime.rank}:")


def _slowest(page: Page, slowest: Runtime, middle: float, of: str) -> None:
    us = step_us(slowest)
    who = f"rank {slowest.rank}" if slowest.rank is not None else fmt.pid(slowest.pid)
    if middle > 0 and us >= SLOW * middle:
        more = fmt.percent(us - middle, middle)
        text = f"{who} is the slowest: {micros(us)} {of}, {more} more than the median rank"
    else:
        text = f"the ranks take about the same time: median {micros(middle)} {of}, {micros(us)} on {who}"
    page.say(text, "", tokens.STRONG)


def add_rank_kernels(page: Page, runtimes: Sequence[Runtime]) -> None:
    """Add kernels that take longer on some rank than on the median one."""
    kernels = [item for item in rank_kernels(runtimes) if item.lost_us > 0]
    if not kernels:
        return
    page.heading("Kernels across ranks")
    page.table(RANK_KERNELS, kernels)
    text = "Mean per call on the median rank and on the slowest; then the slow ranks. Largest differences first."
    page.say(text, "  ", tokens.DIM)


def _slow(item: RankKernel) -> str:
    """Return the ranks that are slow for a kernel; else the slowest one."""
    slow = [rank for rank, us in item.means if us >= SLOW * item.median_us]
    return _ranges(slow or [item.slowest])


def _slowest_mean(item: RankKernel) -> Piece:
    us = dict(item.means)[item.slowest]
    return (micros(us), tokens.WARN if us >= SLOW * item.median_us else tokens.NUMBER)


RANK_KERNELS: Table[RankKernel] = Table((
    Column("median", lambda item: (micros(item.median_us), tokens.NUMBER), right=True, sort="median",
           key=lambda item: -item.median_us),
    Column("slowest", _slowest_mean, right=True, sort="mean", key=lambda item: -dict(item.means)[item.slowest]),
    Column("on", lambda item: (_slow(item), tokens.LABEL)),
    Column("kernel", lambda item: (sanitize(item.kernel.key or item.kernel.name), tokens.LINK, f"@runtime:{item.ref}"), sort="name",
           key=lambda item: item.kernel.key or item.kernel.name),
), "kernels", KERNELS_SHOWN, FOLDED, order="time")  # fmt: skip


FIRST: Table[FirstRow] = Table((
    Column("name", lambda row: (sanitize(row.name), tokens.NAME)),
    Column("calls", lambda row: (fmt.count(row.calls), tokens.NUMBER), right=True),
    Column("time", lambda row: (micros(row.us), tokens.NUMBER), right=True),
), indent="  ")  # fmt: skip
FULL = 12
"""Compiles whose graphs are shown; the table has links to the others."""
FLAME = "flame"
"""As `Options.filter`: the flame alone."""
PROFILES_SHOWN = 4
"""Profiles of one process that are shown, one after the other."""
_Result = Generator[None, None, RuntimeJson | RuntimesJson]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--flame", action="store_const", dest="filter", const=FLAME, default="",
                        help="one step as a flame graph")  # fmt: skip


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the page about the scope."""

    def fill(page: Page) -> _Result:
        return (yield from _fill(page, run, scope, options.sort if options.sort in SORTS else "time"))

    return GrowingDocument(scope.page("runtime"), f"runtime{scope.title}", options, fill, Page)


def _fill(page: Page, run: Run, scope: Scope, sort: str) -> _Result:
    page.add((f"Runtime{scope.title}", tokens.TITLE))
    results = runtimes_of(run)
    yield
    refused = [item for item in results if isinstance(item, Refused)]
    runtimes = [item for item in results if isinstance(item, Runtime) and _is_of(run, item, scope)]
    refs = {str(compile_.ref) for compile_ in scope.compiles} if scope.ref.id is not None else None
    _refused(page, refused)
    if not runtimes:
        _add_no_profile(page, run, scope, bool(results))
    elif len({runtime.rank if runtime.rank is not None else -1 - runtime.pid for runtime in runtimes}) > 1 and refs is None:
        add_ranks(page, runtimes)
        yield
        add_rank_kernels(page, runtimes)
    else:
        for number, runtime in enumerate(runtimes[:PROFILES_SHOWN]):
            if number:
                page.close(0)
                page.blank()
            yield from _one(page, Figures(run, runtime, sort), refs)
        if len(runtimes) > PROFILES_SHOWN:
            page.say(f"and {fmt.plural(len(runtimes) - PROFILES_SHOWN, 'more profile')}: --json has all of them", "", tokens.DIM)
    return runtimes_json(runtimes, refused, refs)


def _is_of(run: Run, runtime: Runtime, scope: Scope) -> bool:
    """Return whether a profile is of a process of the scope."""
    return not str(scope.ref) or process_of(run, runtime) in scope.processes


def _refused(page: Page, refused: Sequence[Refused]) -> None:
    for item in refused:
        name = fmt.clip_middle(sanitize(fmt.file_name(item.profile)), page.width)
        page.row([(name, tokens.NAME), (" does not match this trace:", tokens.WARN)], "")
        page.say(f"{sanitize(item.reason)}.", "  ")


def _add_no_profile(page: Page, run: Run, scope: Scope, has_profiles: bool) -> None:
    """Add why there are no times, and how to record a profile."""
    if has_profiles:
        page.say(f"None of the profiles covers {scope.title.removeprefix(' of ') or 'this run'}.", "", tokens.STRONG)
        return
    if unread := run.profiles.unread:
        size = fmt.size_of(sum(file.export.size for file in unread))
        first = sanitize(fmt.file_name(unread[0].export.name))
        subject = f"{first} ({size}) is" if len(unread) == 1 else f"{fmt.plural(len(unread), 'profile')} ({size}) are"
        page.say(f"{subject} not read yet. The run times appear here as soon as they are known.", "", tokens.STRONG)
        if isinstance(early := run.profiles.first, FirstRows) and early.rows:
            page.heading(f"First {fmt.percent(early.share, 1.0)} of {first}")
            page.say("Times include the calls inside. Shares and the join with the trace follow at the end.", "", tokens.DIM)
            page.table(FIRST, early.rows)
        return
    page.say(page.so_far("No profile, so run times are unknown."), "", tokens.STRONG)
    page.blank()
    add_recording(page, recording_of(run))


def _one(page: Page, figures: Figures, refs: set[str] | None) -> Generator[None, None, None]:
    """Add one profile, of one process."""
    runtime = figures.runtime
    findings = findings_of(figures.run, runtime)
    add_findings(page, [item for item in findings if refs is None or item.ref in refs], runtime)
    add_window(page, runtime)
    if page.options.filter == FLAME:
        yield from _flame(page, figures, folded=False)
        return
    if refs is None and runtime.device is not None:
        add_device(page, figures, runtime.device)
    if refs is None:
        add_share(page, runtime, compiling_us(figures.run, runtime))
    yield
    compiles = by_cost([compile_ for compile_ in runtime.compiles if refs is None or compile_.ref in refs], figures.sort)
    if refs is not None and not compiles:
        page.say("No calls while the profiler ran.", "", tokens.STRONG)
    if len(compiles) > 1 or refs is None:
        add_compiles(page, figures, compiles)
    yield
    add_breaks(page, figures, refs)
    add_fallbacks(page, figures, refs)
    if refs is None:
        add_outside(page, figures)
    yield
    for compile_ in compiles[:FULL]:
        yield from add_compile(page, figures, compile_, _layers(figures.run, compile_))
    if len(compiles) > FULL:
        page.close(0)
        page.blank()
        text = f"and {fmt.plural(len(compiles) - FULL, 'more compile')}: see the table above"
        page.say(text, "", tokens.DIM)
    add_never(page, figures, refs)
    yield
    if refs is None:
        if page.options.key_of is not None:
            yield from _flame(page, figures, folded=True)
        page.blank()
        on_screen = page.options.key_of is not None
        text = "for ui.perfetto.dev, with compiling: " if on_screen else "one step as a flame graph: "
        path = page.options.path
        page.row([(text, tokens.DIM), f"tltui timing {path} --perfetto FILE" if on_screen else f"tltui runtime {path} --flame"], "")


def _flame(page: Page, figures: Figures, folded: bool) -> Generator[None, None, None]:
    flames = yield from step_flames(figures.run, figures.runtime)
    add_step(page, flames, folded)


def _layers(run: Run, compile_time: CompileTime) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return the layers of kernels: unit → key of a kernel → paths."""
    compile_ = compile_at(run, compile_time.ref)
    return {unit.unit: unit.of_kernel for unit in layers_of(compile_).units} if compile_ is not None else {}


@frozen
class RuntimeRow:
    """One call of a kernel in the code of a graph.

    Times are wall clock, with the profiler on, of a step where the profile has steps.
    """

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
    """The name of the kernel."""
    key: str
    """As in provenance: `NAME:HANDLE`; empty where the code is not in the trace."""
    device: str
    """The device that it ran on."""
    calls: int
    """The number of its calls."""
    total_us: float
    """All calls together, in microseconds."""
    mean_us: float
    """The mean of a call."""
    median_us: float
    """The median of a call."""
    min_us: float
    """The shortest call."""
    max_us: float
    """The longest call."""
    nodes: tuple[str, ...]
    """The post-grad nodes that it computes."""
    lines: tuple[str, ...]
    """The lines of source, `FILE:LINE`. Each has the full time of the kernel: never to be added over lines."""


def runtime_rows(data: RuntimeJson | RuntimesJson) -> Iterator[RuntimeRow]:
    """Yield one row a kernel."""
    several = cast(dict[str, list[RuntimeJson]], data).get("runtimes")
    for run in [cast(RuntimeJson, data)] if several is None else several:
        for compile_ in run["compiles"]:
            for graph in compile_["graphs"]:
                for kernel in graph["kernels"]:
                    yield RuntimeRow(
                        run["profile"], run["rank"], run["pid"], compile_["ref"], graph["unit"],
                        kernel["name"], kernel["key"], kernel["device"], kernel["calls"],
                        kernel["total_us"], kernel["mean_us"], kernel["median_us"], kernel["min_us"], kernel["max_us"],
                        tuple(kernel["nodes"]), tuple(kernel["lines"]),
                    )  # fmt: skip


QUESTION = Question(
    name="runtime",
    help="run time from a profile: compiles, kernels, lines, guards, eager code",
    key="T",
    group="find causes",
    order=90,
    sorts=SORTS,
    needs=Needs("has no graph keys to match with a profile", ("output_code",), "generated code"),
    document=document,
    add_arguments=add_arguments,
    answer=RuntimeJson | RuntimesJson,
    rows=RuntimeRow,
    records=runtime_rows,
    doc="""
    Run time from profiles of `torch.profiler`: a row per kernel, in microseconds. `data` has shares, eager code, guards.

    It reads the profiles given to `tltui.open` or next to the logs; without a profile there is no row, and the page shows
    how to record one. From then on `layers` and `ls` of this run show measured times too. `sort`: the order of the page's tables:
    time, mean, median, calls, alone, kernels, line, name, code. Raises `ProfileError` if none matches the trace.
    """,
)
