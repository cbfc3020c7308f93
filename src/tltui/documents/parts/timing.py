"""Tables of the timing view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tltui.analyses.ranks.ranges import ranges
from tltui.analyses.timing.phases import MEANING, Phase, group_of
from tltui.analyses.timing.results import (
    CompileTime,
    FunctionTime,
    KernelTime,
    NameTime,
    Outlier,
    ProcessTime,
    StillOpen,
    Timing,
)
from tltui.documents import format as fmt
from tltui.documents.page import Page
from tltui.documents.parts.on_ranks import alike_on_ranks, said_ranks
from tltui.documents.parts.reports import PHASE_STYLES
from tltui.documents.parts.summary import at_least
from tltui.model.ref import parse_ref
from tltui.text import tokens
from tltui.text.document import Piece
from tltui.text.sanitize import sanitize

SHOWN = 8
RANKS_SHOWN = 16
"""Ranks up to which each has a line; of more the slowest, the one in the middle and the fastest."""
SLOWEST, FASTEST = 6, 2
NAMES_SHOWN = 15
FOLDED = 200
ROWS = SHOWN + FOLDED
"""Rows of a table of functions or compiles."""
GAPS_SHOWN = 3
ALL = 0.9
"""Of what a rank took longer, the share that is all of it."""
ALIKE = 0.8
"""Of what the slowest of some ranks took, what the others must have taken to be told with it."""


def _timing(ref: str) -> str:
    return str(parse_ref(ref).at("timing"))


def _table(
    page: Page, head: list[Piece], rows: list[list[Piece]], total: int, shown: int, noun: str, right: Sequence[int]
) -> None:
    """A table whose rows from `shown` on are folded. `total`: with those rows that were left out."""
    what = f"{fmt.count(total - shown)} more {noun}"
    if total > len(rows):
        what += f", {fmt.count(len(rows) - shown)} of them here, all of them with --json"
    page.table([head, *rows], right=right, shown=1 + shown if total > shown + 2 else -1, more=what)


def add_open(page: Page, timing: Timing) -> None:
    """What was not seen to end."""
    waiting = _on_ranks(page, [item for item in timing.open if not item.finished])
    cut = _on_ranks(page, [item for item in timing.open if item.finished])
    if waiting:
        page.heading(f"Still open ({fmt.count(sum(map(len, waiting)))})")
        for own in waiting[:SHOWN]:
            _open(page, own)
        if len(waiting) > SHOWN:
            page.add("  ", (f"and {fmt.count(sum(map(len, waiting[SHOWN:])))} more", tokens.DIM))
        if page.goes_on:
            page.more()
        else:
            page.say("A process is still at it, or it ended in the middle: the log does not tell which.", "  ", tokens.DIM)
    if cut:
        page.heading(page.so_far(f"Without an end ({fmt.count(sum(map(len, cut)))})"))
        for own in cut[:SHOWN]:
            _open(page, own)
        what = "These compiles have metrics, so they did end: only the end events are missing in the log."
        page.say(page.so_far(what), "  ", tokens.DIM)


def _on_ranks(page: Page, items: Sequence[StillOpen]) -> list[list[StillOpen]]:
    return alike_on_ranks(items, lambda item: item.ref, page.newest, lambda item: item.names)


def _open(page: Page, own: Sequence[StillOpen]) -> None:
    item = own[0]
    name = fmt.clip_middle(sanitize(item.names[-1]), max(page.width - len(item.ref) - 6, 12))
    page.add("  ", (f"[{item.ref}]", tokens.LINK, item.ref), "  ", (name, tokens.WARN, item.record))
    if len(own) > 1:
        page.say(f"and {fmt.plural(len(own) - 1, 'more rank')}: {said_ranks([one.ref for one in own], page.newest)}", "    ")
    text = f"open since {fmt.clock(item.since)}"
    if least := at_least(item.seconds):
        text += f", {least}"
    if len(item.names) > 1 and (least := at_least(item.inner_s)):
        text += f"; this step {least}"
    page.say(f"{text}. The last event of its process is of {fmt.clock(item.last)}.", "    ")
    inside = " > ".join(item.names[:-1])
    if inside:
        page.say(f"inside of {inside}", "    ", tokens.DIM)


_ORDERS = {
    "own": lambda row: (-row.self_s, row.name),
    "total": lambda row: (-row.total_s, row.name),
    "count": lambda row: (-row.count, row.name),
    "name": lambda row: (row.name,),
}


def add_names(page: Page, timing: Timing, sort: str, folded: bool = False) -> None:
    """Own and total time by name of the event."""
    if not timing.names:
        return
    title = f"By event, sorted by {sort}" + (" time" if sort in ("own", "total") else "")
    page.heading(title, folded)
    whole = sum(row.self_s for row in timing.names)
    rows = [_name(row, whole) for row in sorted(timing.names, key=_ORDERS[sort])[: NAMES_SHOWN + FOLDED]]
    labels = _labels("own", "", "total", "count", "event", "longest", "")
    if timing.flames:  # all of them are of one compile
        labels, rows = labels[:-1], [row[:-1] for row in rows]
    _table(page, labels, rows, len(timing.names), NAMES_SHOWN, "names", (0, 1, 2, 3, 5))


def _labels(*names: str) -> list[Piece]:
    return [(name, tokens.LABEL) for name in names]


def _name(row: NameTime, whole: float) -> list[Piece]:
    record = row.record or ""

    def told(seconds: float) -> Piece:
        """Nothing where it just began when the log ends."""
        return (fmt.seconds(seconds) if row.total_s else "", tokens.NUMBER, record)

    return [
        told(row.self_s),
        (fmt.percent(row.self_s, whole), tokens.DIM),
        told(row.total_s),
        (fmt.count(row.count), tokens.NUMBER, record),
        (row.name, PHASE_STYLES[group_of(row.name)]),
        told(row.longest_s),
        (f"[{row.longest}]", tokens.LINK, _timing(row.longest)) if row.longest else "",
    ]


def _mostly(phases: Sequence[Phase]) -> Piece:
    """`mostly kernels, 62 %`; the largest part."""
    total = sum(phase.seconds for phase in phases)
    if total <= 0:
        return ""
    most = max(phases, key=lambda phase: phase.seconds)
    return (f"{most.name} {fmt.percent(most.seconds, total)}", PHASE_STYLES[most.name])


def add_functions(page: Page, functions: Sequence[FunctionTime], total: float, sort: str, count: int = 0) -> None:
    """Functions by what all their compiles took; `count` where there are more than are given."""
    if not functions:
        return
    page.heading("By function")
    if sort == "name":
        functions = sorted(functions, key=lambda f: (f.function or "", f.file or ""))
    elif sort == "count":
        functions = sorted(functions, key=lambda f: -f.compiles)
    ranks = any(function.ranks > 1 for function in functions)
    rows: list[list[Piece]] = []
    for function in functions[:ROWS]:
        rows.append([
            (fmt.seconds(function.seconds), tokens.NUMBER, _timing(function.frame)),
            (fmt.percent(function.seconds, total), tokens.DIM),
            (fmt.count(function.compiles), tokens.NUMBER, function.frame),
            *([(fmt.count(function.ranks), tokens.NUMBER)] if ranks else []),
            (fmt.clip_middle(sanitize(function.function or f"frame {function.frame}"), 40), tokens.LINK, function.frame),
            _place(function.file, function.line),
            _mostly(function.phases),
        ])  # fmt: skip
    labels = _labels("total", "", "compiles", *(["ranks"] if ranks else []), "function", "", "mostly")
    _table(page, labels, rows, max(count, len(functions)), SHOWN, "functions", (0, 1, 2, *((3,) if ranks else ())))


def _place(file: str | None, line: int | None) -> Piece:
    return (fmt.place(file, line), tokens.LINK, fmt.place_target(file, line)) if file else ""


@dataclass(frozen=True, slots=True)
class OnAll:
    """A compile that several ranks have: of one it is just that."""

    slowest: CompileTime
    least_s: float
    """The time of the fastest rank."""
    count: int
    """How many ranks have it."""


def on_all(page: Page, compiles: Sequence[CompileTime]) -> list[OnAll]:
    """The same compiles of several ranks together, the slowest first."""
    groups = alike_on_ranks(compiles, lambda c: c.ref, page.newest, lambda c: (c.function, c.file, c.line))
    found = [OnAll(max(own, key=lambda c: c.seconds), min(c.seconds for c in own), len(own)) for own in groups]
    return sorted(found, key=lambda one: -one.slowest.seconds)


def add_compiles(page: Page, compiles: Sequence[OnAll], total: float, sort: str, count: int = 0) -> None:
    """The slowest compiles, of those that several ranks have the slowest rank's; `count` where there are more than are given."""
    if sum(one.count for one in compiles) < 2:
        return
    page.heading("By compile" if sort == "name" else "Slowest compiles")
    if sort == "name":
        compiles = sorted(compiles, key=lambda c: (c.slowest.function or "", c.slowest.file or "", c.slowest.ref))
    several = any(one.count > 1 for one in compiles)
    rows: list[list[Piece]] = []
    for one in compiles[:ROWS]:
        time = one.slowest
        least = "≥" if time.source == "events" and time.status in ("missing", "running") else ""
        rows.append([
            (least + fmt.from_to((one.least_s, time.seconds)), tokens.NUMBER, _timing(time.ref)),
            (fmt.percent(time.seconds, total), tokens.DIM),
            *([(fmt.count(one.count), tokens.NUMBER)] if several else []),
            (f"[{time.ref}]", tokens.LINK, time.ref),
            (fmt.clip_middle(sanitize(time.function or ""), 40), tokens.FUNCTION),
            _place(time.file, time.line),
            _mostly(time.phases),
        ])  # fmt: skip
    labels = _labels("total", "", *(["ranks"] if several else []), "slowest" if several else "compile", "", "", "mostly")
    _table(page, labels, rows, max(count, len(compiles)), SHOWN, "compiles", (0, 1, 2) if several else (0, 1))


def add_processes(page: Page, processes: Sequence[ProcessTime], outliers: Sequence[Outlier] | None) -> None:
    """Totals of ranks and their processes, and who stands out. `outliers` None: that is not known yet."""
    if len(processes) < 2:
        return
    page.heading("By rank")
    several = len({process.rank for process in processes}) < len(processes)
    shown = processes
    if len(processes) > RANKS_SHOWN:
        ordered = sorted(processes, key=lambda process: -process.seconds)
        middle = len(ordered) // 2
        what = f"The slowest and the fastest of {fmt.count(len(ordered))}, and the one in the middle; all of them with --json."
        page.say(what, "  ", tokens.DIM)
        shown = [*ordered[:SLOWEST], ordered[middle], *ordered[-FASTEST:]]
    rows: list[list[Piece]] = []
    is_busy, has_phases = any(p.busy_s is not None and p.span_s for p in shown), any(p.phases for p in shown)
    for process in shown:
        who = "no rank" if process.rank is None else f"rank {process.rank}"
        busy = ""
        if process.busy_s is not None and process.span_s:
            busy = f"{fmt.percent(process.busy_s, process.span_s)} of {fmt.seconds(process.span_s)}"
        rows.append([
            (fmt.seconds(process.seconds), tokens.NUMBER, _timing(process.ref)),
            (who + (f" pid {process.pid}" if several else ""), tokens.LINK, process.ref),
            (fmt.count(process.compiles), tokens.DIM),
            *([(busy, tokens.DIM)] if is_busy else []),
            *([_mostly(process.phases)] if has_phases else []),
        ])  # fmt: skip
    labels = _labels("total", "rank", "compiles", *(["compiling"] if is_busy else []), *(["mostly"] if has_phases else []))
    _table(page, labels, rows, len(shown), RANKS_SHOWN, "ranks", (0, 2))
    if outliers is not None:
        add_outliers(page, processes, outliers)


def add_outliers(page: Page, processes: Sequence[ProcessTime], outliers: Sequence[Outlier]) -> None:
    """Which ranks took longer than the others, and in what; what all took where none did."""
    seconds: dict[int, float] = {}
    for process in processes:
        if process.rank is not None:
            seconds[process.rank] = seconds.get(process.rank, 0.0) + process.seconds
    if len(seconds) < 2:
        return
    groups: list[list[Outlier]] = []
    for outlier in outliers:  # the slowest first
        if groups and outlier.event == groups[-1][0].event and outlier.seconds > ALIKE * groups[-1][0].seconds:
            groups[-1].append(outlier)
        else:
            groups.append([outlier])
    for own in groups[:GAPS_SHOWN]:
        _outliers(page, own, len(seconds))
    slow = {outlier.rank for outlier in outliers}
    rest = [own for rank, own in seconds.items() if rank not in slow]
    who = f"the other {fmt.plural(len(rest), 'rank')}" if slow else "both ranks" if len(rest) == 2 else f"all {len(rest):,} ranks"
    page.say(f"{who[:1].upper()}{who[1:]} took {fmt.from_to(rest)}.", "  ", tokens.DIM)
    page.row([("stragglers", tokens.LINK, "@stragglers"), ": by compile and phase, who was late, who waited"])


def _outliers(page: Page, own: Sequence[Outlier], ranks: int) -> None:
    """`ranks 300–303 took 16.0 s, twice the median (7.80 s), all of it in async_compile.wait`"""
    first = own[0]
    typical = "what the other took" if ranks == 2 else "the median"
    times = f", {_times(first.seconds / first.typical_s)} {typical} ({fmt.seconds(first.typical_s)})" if first.typical_s > 0 else ""
    text = f"took {fmt.from_to([outlier.seconds for outlier in own])}{times}"
    more = first.seconds - first.typical_s
    if first.event:
        share = "all of it" if first.event_s >= ALL * more else f"{fmt.seconds(first.event_s)} more"
        text += f", {share} in {sanitize(first.event)}"
    elif first.phase is not None:
        text += f"; {first.phase} took {fmt.seconds(first.phase_s)} more"
    who = f"rank {first.rank}" if len(own) == 1 else f"ranks {ranges(outlier.rank for outlier in own)}"
    lines = fmt.wrap(text, page.width - len(who) - 4)
    for n, line in enumerate(lines):
        head: Piece = (who, tokens.WARN, first.ref) if n == 0 else " " * len(who)
        page.add("  ", head, " ", line)


def _times(ratio: float) -> str:
    return "twice" if 1.9 < ratio < 2.2 else f"{ratio:.1f} times" if ratio < 9.95 else f"{ratio:.0f} times"


def add_kernels(page: Page, timing: Timing) -> None:
    """Triton by kernel, C++ by file, and the waiting."""
    kernels = timing.kernels
    if not kernels.triton and not kernels.files and not kernels.wait_s and not kernels.tuning:
        return
    page.heading("Kernels")
    wait = next((row for row in timing.names if row.name == "async_compile.wait"), None)
    if wait is not None:
        text = f"of waiting for compiled kernels ({fmt.plural(wait.count, 'async_compile.wait')})"
        _told(page, kernels.wait_s, wait.record, text)
    if kernels.files:
        files = f"of compiling {fmt.plural(kernels.files, 'file')}, added up (compile_file)"
        _told(page, kernels.files_s, kernels.longest_file, f"{files}, the longest {fmt.seconds(kernels.longest_file_s)}")
    for what, seconds, ref in kernels.tuning:
        _told(page, seconds, ref, what)
    if kernels.triton:
        what = f"of compiling {fmt.plural(len(kernels.triton), 'Triton kernel')}, added up"
        _told(page, kernels.triton_s, kernels.triton[0].ref, what)
        rows: list[list[Piece]] = [
            [
                (fmt.seconds(kernel.seconds), tokens.NUMBER, kernel.ref), (kernel.name, tokens.FUNCTION),
                (_tuned(kernel), tokens.DIM),
            ]
            for kernel in kernels.triton
        ]  # fmt: skip
        _table(page, _labels("compile", "kernel", ""), rows, len(rows), SHOWN, "kernels", (0,))


def _told(page: Page, seconds: float, ref: str | None, text: str) -> None:
    """`2.33 s of compiling 3 Triton kernels, added up`"""
    number = fmt.seconds(seconds)
    for n, line in enumerate(fmt.wrap(text, page.width - len(number) - 3)):
        page.add("  ", (number, tokens.NUMBER, ref or "") if n == 0 else " " * len(number), " ", line)


def _tuned(kernel: KernelTime) -> str:
    words = []
    if kernel.cache:
        words.append(f"autotune cache: {kernel.cache}")
    if kernel.configs is not None:
        words.append(fmt.plural(kernel.configs, "configuration"))
    return ", ".join(words)


def add_beside(page: Page, timing: Timing) -> None:
    """What worker threads did while a compile waited."""
    if not timing.beside:
        return
    page.heading("Beside the compiles", folded=True)
    what = (
        "Compiling and tuning kernels, without a compile id. What worker threads do while a compile waits is in the times "
        "above already, as async_compile.wait; what is tuned at the first call is not."
    )
    page.say(what, "  ", tokens.DIM)
    rows: list[list[Piece]] = [
        [
            (fmt.seconds(row.work_s), tokens.NUMBER, row.record or ""), (fmt.seconds(row.total_s), tokens.NUMBER, row.record or ""),
            (fmt.count(row.count), tokens.NUMBER, row.record or ""), (row.name, tokens.FUNCTION),
        ]
        for row in timing.beside
    ]  # fmt: skip
    page.table([_labels("added up", "at once", "count", "event"), *rows], right=(0, 1, 2))


def add_gaps(page: Page, timing: Timing) -> None:
    """When nothing was compiled."""
    if not timing.gaps:
        return
    page.heading("Longest times without a compile")
    for gap in timing.gaps[:GAPS_SHOWN]:
        page.row([
            (fmt.seconds(gap.seconds), tokens.NUMBER, gap.before), "  from ", fmt.clock(gap.start), " on, between ",
            (f"[{gap.after}]", tokens.LINK, gap.after), " and ", (f"[{gap.before}]", tokens.LINK, gap.before),
        ])  # fmt: skip


def add_meaning(page: Page, timing: Timing) -> None:
    """What the words stand for."""
    page.heading("What the words mean", folded=True)
    page.say("own: without what began inside of it; total: while it was active, nested and parallel ones of a name once.", "  ")
    if any(process.busy_s is not None for process in timing.processes) and len(timing.processes) > 1:
        page.say("compiling: the share of the time from the first event of a process to its last.", "  ")
    if timing.source != "events":
        page.say("Times of compiles without events are those of their metrics.", "  ")
    for phase in timing.phases:
        page.labelled(phase.name, MEANING.get(phase.name, ""), "  ", 14)
    for count, what in (
        (timing.lone_ends, "end event has no begin in the log and is not counted"),
        (timing.unreadable, "event could not be read"),
    ):
        if count:
            page.say(f"{fmt.count(count)} {what}" if count == 1 else f"{fmt.count(count)} × {what}", "  ", tokens.WARN)
