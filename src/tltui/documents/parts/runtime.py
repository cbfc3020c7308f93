"""The head of the page `runtime`: what is worth knowing in sentences, the window, and where its time went."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from tltui.analyses.runtime.findings import Fact, Finding
from tltui.analyses.runtime.result import Runtime, Share
from tltui.documents import format as fmt
from tltui.documents.page import BAR, Page
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize
from tltui.text.times import micros

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
