"""The page `timing`, and flames: nested events as lines with bars."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.format import part_of_axis
from tltui.documents.page import Column, Page, Table, to_page
from tltui.documents.rank_groups import alike_on_ranks, said_ranks
from tltui.documents.scope import Scope
from tltui.model.input_coverage import Needs
from tltui.model.nodes import Compile
from tltui.model.ref import parse_ref, ranges
from tltui.model.run import Run
from tltui.questions.blocks.page import add_blocks_line
from tltui.questions.caches.cold_start_sections import add_cold_start_line
from tltui.questions.coverage.input_sections import add_not_read
from tltui.questions.coverage.job_inputs import not_read
from tltui.questions.overview.summary_sections import LEAST_SHOWN_S, at_least
from tltui.questions.problems.reason_sections import PHASE_STYLES, add_time
from tltui.questions.question import Keyword, Question
from tltui.questions.ranks.rank_chart import read_chart
from tltui.questions.ranks.rank_chart_sections import add_chart
from tltui.questions.stacks.tracebacks import display_code
from tltui.questions.timing.event_sums import CompileTime, KernelTime, has_open_backward
from tltui.questions.timing.timing_events import AUTOGRAD, BACKEND, MEANING, Phase, count_events, group_of
from tltui.questions.timing.timing_report import (
    Bar,
    Flame,
    FunctionTime,
    NameTime,
    Outlier,
    ProcessTime,
    StillOpen,
    Timing,
    compile_times,
    function_times,
    index_process_times,
    timing_steps,
)
from tltui.questions.vllm.startup import read_startups, startups_of
from tltui.questions.vllm.startup_sections import add_startups
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize

DEEPEST = 40
"""Levels that are drawn as such; what nests deeper is drawn at this one."""
SMALL = 0.01
"""Share of the whole below which neighbours are folded into one line."""
FEW = 3
LEFT_OUT = 4000
"""Bars drawn at most; all of them are in the JSON."""
TIME, SHARE = 8, 5
AXIS = 24
"""Cells from which the bars have an axis of seconds."""


def add_flames(page: Page, timing: Timing) -> None:
    """Add a section per period of compilation."""
    phases = {phase.name for phase in timing.phases}
    before: Flame | None = None
    for flame in timing.flames:
        text = "Backward" if flame.title == "backward" else "Flame graph" if before is None else f"Then {flame.title}"
        least = "≥" if any(bar.is_open for bar in flame.bars) else ""
        page.heading(f"{text}: {least}{fmt.seconds(flame.duration_s)}" if flame.duration_s >= LEAST_SHOWN_S else text)
        if before is not None:
            gap = (flame.start_at_us - before.start_at_us) / 1e6 - before.duration_s
            page.say(f"began {fmt.seconds(max(gap, 0.0))} after the end of the previous one", "  ", tokens.DIM)
        draw_flame(page, flame, _phase_style(phases))
        before = flame


def draw_flame(page: Page, flame: Flame, style: Callable[[str], str], time: Callable[[Bar], str] | None = None) -> None:
    """Draw the bars of a flame.

    `style` returns the style of a bar by name; `time` formats its duration.
    """
    _Drawing(page, flame, style, time or _seconds).draw()


def _phase_style(phases: Collection[str]) -> Callable[[str], str]:
    def style(name: str) -> str:
        phase = group_of(name)
        if phase == AUTOGRAD and AUTOGRAD not in phases:
            phase = BACKEND
        return PHASE_STYLES.get(phase, tokens.PHASE_OTHER)

    return style


class _Drawing:
    def __init__(self, page: Page, flame: Flame, style: Callable[[str], str], time: Callable[[Bar], str]) -> None:
        self.page = page
        self.flame = flame
        self.total_s = max(flame.duration_s, 1e-9)
        self.begin_s, self.end_s = page.window_of(self.total_s)
        self.span_s = self.end_s - self.begin_s
        inside = [bar for bar in flame.bars if self._is_inside(bar)]
        self.outside = len(flame.bars) - len(inside)
        self.bars, self.more = inside[:LEFT_OUT], len(inside[LEFT_OUT:])
        self.style = style
        self.format_time = time
        self.children = _children(self.bars)
        self.step = 2 if page.width >= 100 else 1
        longest = max((min(bar.depth, DEEPEST) * self.step + len(bar.name) for bar in self.bars), default=0)
        self.label = min(longest, max(page.width * 2 // 5, 20), 60)
        self.time = max([TIME, *(len(time(bar)) for bar in self.bars)])
        self.room = max(min(page.width - 2 - self.label - self.time - SHARE - 3, 100), 8)

    def _is_inside(self, bar: Bar) -> bool:
        """Return whether a bar is in the part of the time that is shown."""
        return bar.start_s < self.end_s and (bar.start_s + bar.duration_s > self.begin_s or bar.start_s >= self.begin_s)

    def draw(self) -> None:
        if self.total_s >= LEAST_SHOWN_S and self.room >= AXIS:
            lead = " " * (self.label + self.time + SHARE + 3)
            self.page.add("  ", lead, (part_of_axis(self.begin_s, self.end_s, self.room), tokens.DIM))
        self._siblings(self.children[-1])
        if self.more:
            self.page.add("  ", (f"and {fmt.count(self.more)} more: --json has all of them", tokens.DIM))
        if self.outside:
            self.page.add("  ", (f"before and after: {fmt.plural(self.outside, 'event')}", tokens.DIM))

    def _siblings(self, members: Sequence[int]) -> None:
        """Draw siblings; short neighbors become one folded line."""
        run: list[int] = []
        for number in [*members, None]:
            if number is not None and self._is_small(number):
                run.append(number)
                continue
            self._small(run)
            run = []
            if number is not None:
                self._bar(number)

    def _is_small(self, number: int) -> bool:
        bar = self.bars[number]
        return bar.duration_s < SMALL * self.span_s and not bar.is_open

    def _small(self, run: Sequence[int]) -> None:
        if len(run) < FEW:
            for number in run:
                self._bar(number)
            return
        total = sum(self.bars[number].duration_s for number in run)
        label = self.format_time(replace(self.bars[run[0]], duration_s=total, is_open=False))
        text = f"{fmt.plural(len(run), 'shorter one')}, {label} together"
        indent = "  " + " " * min(self.step * min(self.bars[run[0]].depth, DEEPEST), self.label * 2 // 3)
        self.page.open(text, folded=True)
        self.page.add(indent, (fmt.clip(text, self.page.width - len(indent)), tokens.DIM))
        for number in run:
            self._bar(number)
        self.page.close()

    def _bar(self, number: int) -> None:
        bar, inside = self.bars[number], self.children.get(number, ())
        if inside:
            self.page.open(bar.name, folded=bar.duration_s < SMALL * self.span_s and not bar.is_open)
        self._line(bar)
        if inside:
            self._siblings(inside)
            self.page.close()

    def _line(self, bar: Bar) -> None:
        indent = " " * min(self.step * min(bar.depth, DEEPEST), self.label * 2 // 3)
        name = self.page.clip_middle(sanitize(bar.name), self.label - len(indent))
        pad = " " * (self.label - len(indent) - len(name))
        seconds = self.format_time(bar).rjust(self.time)
        share = ("" if _is_unmeasured(bar) else fmt.percent(bar.duration_s, self.total_s)).rjust(SHARE)
        start = max(bar.start_s - self.begin_s, 0.0)
        seconds_in = max(min(bar.start_s + bar.duration_s, self.end_s) - self.begin_s - start, 0.0)
        lead = min(int(self.room * start / self.span_s), self.room - 1)
        cells = min(self.room * seconds_in / self.span_s, self.room - lead)
        style = tokens.WARN if bar.is_open else self.style(bar.name)
        self.page.add(
            "  ", indent, (name, tokens.LINK if bar.record else tokens.NAME, bar.record), pad, " ", (seconds, tokens.NUMBER), " ",
            (share, tokens.DIM), " ", " " * lead, (fmt.bar(cells), style),
        )  # fmt: skip


def _is_unmeasured(bar: Bar) -> bool:
    """Return whether the log ends where an event began: its time is unknown, not zero."""
    return bar.is_open and bar.duration_s < LEAST_SHOWN_S


def _seconds(bar: Bar) -> str:
    if _is_unmeasured(bar):
        return "open"
    return ("≥" if bar.is_open else "") + fmt.seconds(bar.duration_s)


def _children(bars: Sequence[Bar]) -> dict[int, list[int]]:
    """Map each bar to its direct children, -1 for the outermost.

    Bars below the depth limit count as one level.
    """
    results: dict[int, list[int]] = {-1: []}
    above: list[int] = []
    for number, bar in enumerate(bars):
        depth = min(bar.depth, DEEPEST, len(above))
        del above[depth:]
        results.setdefault(above[-1] if above else -1, []).append(number)
        above.append(number)
    return results


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
"""Share of a rank's additional time from which an event explains all of it."""
ALIKE = 0.8
"""Share of the slowest rank's time that other ranks need to be grouped with it."""


def _timing(ref: str) -> str:
    return str(parse_ref(ref).at("timing"))


def add_open(page: Page, timing: Timing) -> None:
    """Add the events without an end."""
    waiting = _on_ranks(page, [item for item in timing.open if not item.has_metrics])
    cut = _on_ranks(page, [item for item in timing.open if item.has_metrics])
    if waiting:
        page.heading(f"Still open ({fmt.count(sum(map(len, waiting)))})")
        for entry in waiting[:SHOWN]:
            _open(page, entry)
        if len(waiting) > SHOWN:
            page.add("  ", (f"and {fmt.count(sum(map(len, waiting[SHOWN:])))} more", tokens.DIM))
        if page.goes_on:
            page.more()
        else:
            page.say("The log does not show whether the process is still running or ended in the middle.", "  ", tokens.DIM)
    if cut:
        page.heading(page.title_so_far(f"Missing end events ({fmt.count(sum(map(len, cut)))})"))
        for entry in cut[:SHOWN]:
            _open(page, entry)
        text = "These compiles have metrics, so they finished; only their end events are missing."
        page.say(page.so_far(text), "  ", tokens.DIM)


def _on_ranks(page: Page, items: Sequence[StillOpen]) -> list[list[StillOpen]]:
    return alike_on_ranks(items, lambda item: item.ref, page.newest, lambda item: item.names)


def _open(page: Page, items: Sequence[StillOpen]) -> None:
    item = items[0]
    name = fmt.clip_middle(sanitize(item.names[-1]), max(page.width - len(item.ref) - 6, 12))
    page.add("  ", (f"[{item.ref}]", tokens.LINK, item.ref), "  ", (name, tokens.WARN, item.record))
    if len(items) > 1:
        page.say(f"and {fmt.plural(len(items) - 1, 'more rank')}: {said_ranks([e.ref for e in items], page.newest)}", "    ")
    text = f"started at {fmt.clock(item.since_at_us)}"
    if least := at_least(item.duration_s):
        text += f", open {least}"
    if len(item.names) > 1 and (least := at_least(item.innermost_s)):
        text += f"; this step {least}"
    page.say(f"{text}. Its process logged the last event at {fmt.clock(item.last_event_at_us)}.", "    ")
    inside = " > ".join(item.names[:-1])
    if inside:
        page.say(f"inside {inside}", "    ", tokens.DIM)


def add_names(page: Page, timing: Timing, sort: str, folded: bool = False) -> None:
    """Add self and total time by event name."""
    if not timing.names:
        return
    table = names_table(sum(row.self_s for row in timing.names), is_one_compile=bool(timing.flames))
    order = table.applied(sort)
    page.heading(f"By event, sorted by {order}" + (" time" if order in ("own", "total", "longest") else ""), folded)
    page.table(table, timing.names, sort=sort)


def names_table(total_s: float, is_one_compile: bool) -> Table[NameTime]:
    """Return the table by event name; `total_s` is the total of all events in seconds."""

    def time(row: NameTime, seconds: float) -> Piece:
        """Format a time; nothing if the event began at the end of the log."""
        return (fmt.seconds(seconds) if row.total_s else "", tokens.NUMBER, row.record or "")

    return Table((
        Column("own", lambda row: time(row, row.self_s), right=True, sort="own", key=lambda row: (-row.self_s, row.name)),
        Column("", lambda row: (fmt.percent(row.self_s, total_s), tokens.DIM), right=True, drop=3),
        Column("total", lambda row: time(row, row.total_s), right=True, drop=4, sort="total",
               key=lambda row: (-row.total_s, row.name)),
        Column("count", lambda row: (fmt.count(row.count), tokens.NUMBER, row.record or ""), right=True, drop=5, sort="count",
               key=lambda row: (-row.count, row.name)),
        Column("event", lambda row: (row.name, PHASE_STYLES[group_of(row.name)]), sort="name", key=lambda row: row.name),
        Column("longest", lambda row: time(row, row.longest_s), right=True, drop=2, sort="longest",
               key=lambda row: (-row.longest_s, row.name)),
        Column("", lambda row: (f"[{row.longest}]", tokens.LINK, _timing(row.longest)) if row.longest else "", drop=1,
               when=lambda _: not is_one_compile),
    ), "names", NAMES_SHOWN, FOLDED, order="own")  # fmt: skip


def _mostly(phases: Sequence[Phase]) -> Piece:
    """Format the longest phase: `kernels 62%`."""
    total = sum(phase.self_s for phase in phases)
    if total <= 0:
        return ""
    most = max(phases, key=lambda phase: phase.self_s)
    return (f"{most.name} {fmt.percent(most.self_s, total)}", PHASE_STYLES[most.name])


def _most(phases: Sequence[Phase]) -> str:
    """Return the name of the largest phase."""
    return max(phases, key=lambda phase: phase.self_s).name if phases else ""


def add_functions(page: Page, functions: Sequence[FunctionTime], total: float, sort: str, count: int = 0) -> None:
    """Add functions by total compile time; `count` is given if `functions` is truncated."""
    if not functions:
        return
    page.heading("By function")
    table = functions_table(total)
    page.table(table, functions, count, sort)


def functions_table(total_s: float) -> Table[FunctionTime]:
    """Return the table by function; `total_s` is the time of all compiles."""
    return Table((
        Column("total", lambda row: (fmt.seconds(row.compile_s), tokens.NUMBER, _timing(row.frame)), right=True,
               sort="total"),
        Column("", lambda row: (fmt.percent(row.compile_s, total_s), tokens.DIM), right=True, drop=3),
        Column("compiles", lambda row: (fmt.count(row.compiles), tokens.NUMBER, row.frame), right=True, drop=5,
               sort="count", key=lambda row: -row.compiles),
        Column("ranks", lambda row: (fmt.count(row.ranks), tokens.NUMBER), right=True, drop=4,
               when=lambda rows: any(row.ranks > 1 for row in rows), sort="ranks", key=lambda row: -row.ranks),
        Column("function", lambda row: (
            fmt.clip_middle(sanitize(row.function or f"frame {row.frame}"), 40), tokens.LINK, row.frame
        ), sort="name", key=lambda row: (row.function or "", row.file or "")),
        Column("", lambda row: _place(row.file, row.line), drop=2),
        Column("top phase", lambda row: _mostly(row.phases), drop=1, sort="phase", key=lambda row: _most(row.phases)),
    ), "functions", SHOWN, FOLDED, order="total")  # fmt: skip


def _place(file: str | None, line: int | None) -> Piece:
    return (fmt.place(file, line), tokens.LINK, fmt.place_target(file, line)) if file else ""


@frozen
class OnAll:
    """A compile on one or several ranks."""

    slowest: CompileTime
    least_s: float
    """The time of the fastest rank."""
    count: int
    """How many ranks have it."""


def on_all(page: Page, compiles: Sequence[CompileTime]) -> list[OnAll]:
    """Group equal compiles of several ranks, slowest first."""
    groups = alike_on_ranks(compiles, lambda c: c.ref, page.newest, lambda c: (c.function, c.file, c.line))
    results = [OnAll(max(group, key=lambda c: c.duration_s), min(c.duration_s for c in group), len(group)) for group in groups]
    return sorted(results, key=lambda item: -item.slowest.duration_s)


def add_compiles(page: Page, compiles: Sequence[OnAll], total: float, sort: str, count: int = 0) -> None:
    """Add the slowest compiles, each with its slowest rank; `count` is given if `compiles` is truncated."""
    if sum(compile_.count for compile_ in compiles) < 2:
        return
    table = compiles_table(total, is_on_ranks=any(compile_.count > 1 for compile_ in compiles))
    page.heading("Slowest compiles" if table.applied(sort) == table.order else "By compile")
    page.table(table, compiles, count, sort)


def compiles_table(total_s: float, is_on_ranks: bool) -> Table[OnAll]:
    """Return the table by compile.

    `total_s` is the time of all compiles; `is_on_ranks` is set if any is on several ranks.
    """

    def time(row: OnAll) -> Piece:
        slowest = row.slowest
        least = "≥" if slowest.source == "events" and slowest.status in ("unfinished", "running") else ""
        return (least + fmt.from_to((row.least_s, slowest.duration_s)), tokens.NUMBER, _timing(slowest.ref))

    return Table((
        Column("total", time, right=True, sort="total"),
        Column("", lambda row: (fmt.percent(row.slowest.duration_s, total_s), tokens.DIM), right=True, drop=4),
        Column("ranks", lambda row: (fmt.count(row.count), tokens.NUMBER), right=True, drop=5, when=lambda _: is_on_ranks,
               sort="ranks", key=lambda row: -row.count),
        Column("slowest" if is_on_ranks else "compile", lambda row: (f"[{row.slowest.ref}]", tokens.LINK, row.slowest.ref)),
        Column("function", lambda row: (fmt.clip_middle(sanitize(row.slowest.function or ""), 40), tokens.FUNCTION), drop=3,
               sort="name", key=lambda row: (row.slowest.function or "", row.slowest.file or "", row.slowest.ref)),
        Column("", lambda row: _place(row.slowest.file, row.slowest.line), drop=2),
        Column("top phase", lambda row: _mostly(row.slowest.phases), drop=1, sort="phase",
               key=lambda row: _most(row.slowest.phases)),
    ), "compiles", SHOWN, FOLDED, order="total")  # fmt: skip


def add_processes(page: Page, processes: Sequence[ProcessTime], outliers: Sequence[Outlier] | None) -> None:
    """Add totals of ranks and processes, and the outliers; None while these are not computed."""
    if len(processes) < 2:
        return
    page.heading("By rank")
    several = len({process.rank for process in processes}) < len(processes)
    shown = processes
    if len(processes) > RANKS_SHOWN:
        ordered = sorted(processes, key=lambda process: -process.compile_s)
        middle = len(ordered) // 2
        text = f"Slowest, median and fastest of {fmt.plural(len(ordered), 'process', 'processes')}. Use --json to list all."
        page.say(text, "  ", tokens.DIM)
        shown = [*ordered[:SLOWEST], ordered[middle], *ordered[-FASTEST:]]
    page.table(processes_table(several), shown)
    if outliers is not None:
        add_outliers(page, processes, outliers)


def processes_table(has_pids: bool) -> Table[ProcessTime]:
    """Return the table by rank, with process ids where a rank has several processes."""

    def name(row: ProcessTime) -> Piece:
        rank = "no rank" if row.rank is None else f"rank {row.rank}"
        return (rank + (f" pid {row.pid}" if has_pids else ""), tokens.LINK, row.ref)

    def share(row: ProcessTime) -> Piece:
        if row.busy_s is None or not row.span_s:
            return ""
        return (f"{fmt.percent(row.busy_s, row.span_s)} of {fmt.seconds(row.span_s)}", tokens.DIM)

    return Table((
        Column("total", lambda row: (fmt.seconds(row.compile_s), tokens.NUMBER, _timing(row.ref)), right=True),
        Column("rank", name),
        Column("compiles", lambda row: (fmt.count(row.compiles), tokens.DIM), right=True, drop=3),
        Column("compiling", share, drop=2, when=lambda rows: any(row.busy_s is not None and row.span_s for row in rows)),
        Column("top phase", lambda row: _mostly(row.phases), drop=1, when=lambda rows: any(row.phases for row in rows)),
    ), "ranks", RANKS_SHOWN)  # fmt: skip


def add_outliers(page: Page, processes: Sequence[ProcessTime], outliers: Sequence[Outlier]) -> None:
    """Add slow ranks and their phases; without any, the time of all ranks."""
    seconds: dict[int, float] = {}
    for process in processes:
        if process.rank is not None:
            seconds[process.rank] = seconds.get(process.rank, 0.0) + process.compile_s
    if len(seconds) < 2:
        return
    groups: list[list[Outlier]] = []
    for outlier in outliers:  # the slowest first
        if groups and outlier.event == groups[-1][0].event and outlier.compile_s > ALIKE * groups[-1][0].compile_s:
            groups[-1].append(outlier)
        else:
            groups.append([outlier])
    for item in groups[:GAPS_SHOWN]:
        _outliers(page, item, len(seconds))
    slow = {outlier.rank for outlier in outliers}
    remaining = [item for rank, item in seconds.items() if rank not in slow]
    count = len(remaining)
    who = f"the other {fmt.plural(count, 'rank')}" if slow else "both ranks" if count == 2 else f"all {count:,} ranks"
    page.say(f"{who[:1].upper()}{who[1:]} took {fmt.from_to(remaining)}.", "  ", tokens.DIM)
    page.row([to_page("stragglers", "@stragglers"), ": late, slow and waiting ranks by compile and phase"])


def _outliers(page: Page, outliers: Sequence[Outlier], ranks: int) -> None:
    """Add `ranks 300–303 took 16.0 s, twice the median (7.80 s), the difference in async_compile.wait`."""
    first = outliers[0]
    typical = "the other rank" if ranks == 2 else "the median"
    times = f", {_times(first.compile_s / first.median_s)} {typical} ({fmt.seconds(first.median_s)})" if first.median_s > 0 else ""
    text = f"took {fmt.from_to([outlier.compile_s for outlier in outliers])}{times}"
    more = first.compile_s - first.median_s
    if first.event:
        share = "the difference is" if first.event_s >= ALL * more else f"{fmt.seconds(first.event_s)} more"
        text += f"; {share} in {sanitize(first.event)}"
    elif first.phase is not None:
        text += f"; {first.phase} took {fmt.seconds(first.phase_s)} more"
    who = f"rank {first.rank}" if len(outliers) == 1 else f"ranks {ranges(outlier.rank for outlier in outliers)}"
    lines = fmt.wrap(text, page.width - len(who) - 4)
    for n, line in enumerate(lines):
        head: Piece = (who, tokens.WARN, first.ref) if n == 0 else " " * len(who)
        page.add("  ", head, " ", line)


def _times(ratio: float) -> str:
    return "twice" if 1.9 < ratio < 2.2 else f"{ratio:.1f} times" if ratio < 9.95 else f"{ratio:.0f} times"


def add_kernels(page: Page, timing: Timing) -> None:
    """Add Triton by kernel, C++ by file, and the waiting time."""
    kernels = timing.kernels
    if not kernels.triton and not kernels.file_count and not kernels.wait_s and not kernels.tuning:
        return
    page.heading("Kernels")
    wait = next((row for row in timing.names if row.name == "async_compile.wait"), None)
    if wait is not None:
        text = f"waiting for compiled kernels ({fmt.plural(wait.count, 'async_compile.wait')})"
        _add_stated_time(page, kernels.wait_s, wait.record, text)
    if kernels.file_count:
        files = f"compiling {fmt.plural(kernels.file_count, 'file')} (compile_file)"
        _add_stated_time(page, kernels.files_s, kernels.longest_file, f"{files}, the longest {fmt.seconds(kernels.longest_file_s)}")
    for label, seconds, ref in kernels.tuning:
        _add_stated_time(page, seconds, ref, label)
    if kernels.triton:
        label = f"compiling {fmt.plural(len(kernels.triton), 'Triton kernel')} in total"
        _add_stated_time(page, kernels.triton_s, kernels.triton[0].ref, label)
        page.table(KERNELS, kernels.triton)


def _add_stated_time(page: Page, seconds: float, ref: str | None, text: str) -> None:
    """Add `2.33 s compiling 3 Triton kernels in total`."""
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


KERNELS: Table[KernelTime] = Table((
    Column("compile", lambda row: (fmt.seconds(row.duration_s), tokens.NUMBER, row.ref), right=True),
    Column("kernel", lambda row: (row.name, tokens.FUNCTION)),
    Column("", lambda row: (_tuned(row), tokens.DIM), drop=1),
), "kernels", SHOWN)  # fmt: skip


def add_workers(page: Page, timing: Timing) -> None:
    """Add the work of worker threads during compiles."""
    if not timing.outside_compiles:
        return
    page.heading("Worker threads", folded=True)
    text = (
        "Compiling and tuning of kernels, without a compile id. If a compile waits for this work, the wait is already above, as "
        "async_compile.wait. Tuning at the first call is not in the times above."
    )
    page.say(text, "  ", tokens.DIM)
    page.table(WORKERS, timing.outside_compiles)


WORKERS: Table[NameTime] = Table((
    Column("summed", lambda row: (fmt.seconds(row.work_s), tokens.NUMBER, row.record or ""), right=True),
    Column("wall", lambda row: (fmt.seconds(row.total_s), tokens.NUMBER, row.record or ""), right=True, drop=1),
    Column("count", lambda row: (fmt.count(row.count), tokens.NUMBER, row.record or ""), right=True, drop=2),
    Column("event", lambda row: (row.name, tokens.FUNCTION)),
))  # fmt: skip


def add_gaps(page: Page, timing: Timing) -> None:
    """Add the periods without compilation."""
    if not timing.gaps:
        return
    page.heading("Longest times without compilation")
    for gap in timing.gaps[:GAPS_SHOWN]:
        page.row([
            (fmt.seconds(gap.duration_s), tokens.NUMBER, gap.before_ref), "  from ", fmt.clock(gap.start_at_us), ", between ",
            (f"[{gap.after_ref}]", tokens.LINK, gap.after_ref), " and ", (f"[{gap.before_ref}]", tokens.LINK, gap.before_ref),
        ])  # fmt: skip


def add_meaning(page: Page, timing: Timing) -> None:
    """Add the definitions of the terms."""
    page.heading("Definitions", folded=True)
    page.say("own: excluding nested events; total: wall time while any event of that name was active.", "  ")
    if any(process.busy_s is not None for process in timing.processes) and len(timing.processes) > 1:
        page.say("compiling: share of the time between the first and the last event of a process.", "  ")
    if timing.source != "events":
        page.say("Times of compiles without events come from their metrics.", "  ")
    for phase in timing.phases:
        page.labelled(phase.name, MEANING.get(phase.name, ""), "  ", 14)
    for count, text in (
        (timing.unmatched_ends, "end event has no begin event in the log, so it is not counted"),
        (timing.unreadable_events, "event could not be read"),
    ):
        if count:
            page.say(f"{fmt.count(count)} {text}" if count == 1 else f"{fmt.count(count)} × {text}", "  ", tokens.WARN)


AT_ONCE = 40_000
"""Events up to which the page begins with what they say; with more, it begins with what the index knows."""
COMPILES_AT_ONCE = 300
"""Compiles up to which this holds without events: their metrics are read."""
SORTS = ("own", "total", "count", "longest", "ranks", "phase", "name")


def document(run: Run, scope: Scope, options: Options) -> Document:
    """Return the timing of the scope."""

    def fill(page: Page) -> Generator[None, None, Timing]:
        timing = yield from _fill(page, run, scope, options.sort if options.sort in SORTS else "own")
        return timing if str(scope.ref) else replace(timing, startups=startups_of(run))

    return GrowingDocument(scope.page("timing"), f"timing{scope.title}", options, fill, Page)


def _fill(page: Page, run: Run, scope: Scope, sort: str) -> Generator[None, None, Timing]:
    compiles = scope.compiles
    events = count_events(compiles)
    _head(page, run, scope, events)
    yield
    is_started = False
    if not str(scope.ref):
        yield from read_startups(run)
        is_started = bool(add_startups(page, run))
    if events > AT_ONCE or (not events and len(compiles) > COMPILES_AT_ONCE):
        return (yield from _large(page, run, scope, sort))
    timing = yield from timing_steps(str(scope.ref), compiles)
    if not timing.source and not timing.compiles:
        if not is_started:
            _no_timing(page, events)
        return timing
    if not timing.events:
        page.say("This log has no timing events (chromium_event). Times come from the metrics.", "", tokens.DIM)
    add_time(page, timing.phases, "")
    add_open(page, timing)
    yield from add_cold_start_line(page, scope)
    yield from add_blocks_line(page, scope)
    if not str(scope.ref):
        add_chart(page, (yield from read_chart(run)))
    if timing.flames:
        add_flames(page, timing)
        add_names(page, timing, sort, folded=len(compiles) == 1)
    else:
        add_names(page, timing, sort)
        add_functions(page, timing.functions, timing.compile_s, sort)
        add_compiles(page, on_all(page, timing.compiles), timing.compile_s, sort)
        add_processes(page, timing.processes, timing.outliers)
    _add_remaining(page, timing)
    return timing


def _large(page: Page, run: Run, scope: Scope, sort: str) -> Generator[None, None, Timing]:
    """Add the index's facts immediately, then read the events."""
    times = yield from _index_tables(page, scope.compiles, sort)
    if not str(scope.ref):
        add_chart(page, (yield from read_chart(run)))
    timing = yield from timing_steps(str(scope.ref), scope.compiles)
    if len(timing.processes) > 1 and times:
        page.heading("Between ranks")
        add_outliers(page, timing.processes, timing.outliers)
    page.heading("By phase")
    add_time(page, timing.phases, "  ")
    add_open(page, timing)
    yield from add_cold_start_line(page, scope)
    add_names(page, timing, sort)
    if timing.flames:
        add_flames(page, timing)
    elif not times:  # no metrics at all: every compile was cut off, or none has an id
        add_compiles(page, on_all(page, timing.compiles), timing.compile_s, sort)
        add_processes(page, timing.processes, timing.outliers)
    _add_remaining(page, timing)
    return timing


def _index_tables(page: Page, compiles: Sequence[Compile], sort: str) -> Generator[None, None, bool]:
    """Add the tables by function, compile and rank from the index; return whether there are any.

    Only visible rows are computed, unless another sort order requires all.
    """
    timed = [compile_ for compile_ in compiles if compile_.compile_s > 0]
    total, most = sum(compile_.compile_s for compile_ in timed), ROWS if sort in ("own", "total") else len(timed)
    codes: dict[int, tuple[object, ...]] = {}
    groups: dict[object, list[Compile]] = defaultdict(list)
    for compile_ in timed:
        if compile_.is_compile:
            frame = compile_.frame
            code = codes.get(id(frame)) or codes.setdefault(id(frame), frame.code)
            groups[code if code[0] else id(frame)].append(compile_)
    yield
    dear = heapq.nlargest(most, groups.values(), key=lambda item: sum(c.compile_s for c in item))
    members = [compile_ for item in dear for compile_ in item]
    functions = yield from function_times(members, compile_times(members))
    add_functions(page, functions, total, sort, len(groups))
    alike = alike_on_ranks(timed, lambda c: str(c.ref), page.newest, lambda c: codes.get(id(c.frame)))
    slow = heapq.nlargest(most, alike, key=lambda item: max(c.compile_s for c in item))
    add_compiles(page, list(_spreads(slow)), total, sort, len(alike))
    yield
    if timed:
        add_processes(page, index_process_times(timed), None)
    yield
    return bool(timed)


def _spreads(groups: Sequence[Sequence[Compile]]) -> Iterator[OnAll]:
    """Yield the times of compiles on several ranks."""
    for group in groups:
        slowest = max(group, key=lambda c: c.compile_s)
        if (time := compile_times([slowest]).get(id(slowest))) is not None:
            yield OnAll(time, min(c.compile_s for c in group), len(group))


def _add_remaining(page: Page, timing: Timing) -> None:
    add_kernels(page, timing)
    add_workers(page, timing)
    add_gaps(page, timing)
    add_meaning(page, timing)


def _head(page: Page, run: Run, scope: Scope, events: int) -> None:
    seconds, compiles = sum(c.compile_s for c in scope.compiles), sum(c.untimed_tally.compiles for c in scope.compiles)
    page.add(("Timing", tokens.TITLE), *_of(scope))
    words: list[Piece] = []
    if len(scope.compiles) == 1 and (code := display_code(scope.compiles[0].frame))[0]:
        words += [(fmt.clip_middle(sanitize(code[0]), 40), tokens.FUNCTION), page.place(code[1], code[2])]
    elif compiles:
        words.append((fmt.plural(compiles, "compile"), tokens.LINK, str(scope.ref) or "@run"))
    if seconds:
        least = "≥" if any(map(has_open_backward, scope.compiles)) else ""
        words.append(f"{least}{fmt.seconds(seconds)} of compiling")
    words.append((fmt.plural(events, "timing event"), tokens.LINK, scope.page("records")))
    page.joined(words)
    if not str(scope.ref):
        add_not_read(page, not_read(run))
    page.more("all times below are preliminary")


def _of(scope: Scope) -> list[Piece]:
    return [" of ", (f"[{scope.ref}]", tokens.LINK, str(scope.ref))] if str(scope.ref) else []


def _no_timing(page: Page, events: int) -> None:
    page.blank()
    if events:
        page.say(page.so_far("No timing data. None of the timing events could be read, and no metrics contain times."))
    else:
        text = "No timing data: this log has neither timing events (chromium_event) nor compilation metrics."
        page.say(page.so_far(text))


@frozen
class TimingRow:
    """Own time of one phase of one compile. A compile without phases has one row with an empty `phase`."""

    ref: str
    """The address of the compile."""
    function: str | None
    """The function."""
    file: str | None
    """The file of the function."""
    line: int | None
    """The first line of the function, from 1."""
    status: str | None
    """The status of the compile."""
    compile_s: float
    """What all of the compile took, in seconds: the same in each of its rows."""
    source: str
    """The source of the time: `metrics` or `events`."""
    phase: str
    """The phase; empty if the log has no phases."""
    self_s: float
    """Own time of the phase in seconds; these add up."""


def timing_rows(data: Timing) -> Iterator[TimingRow]:
    """Yield a row per phase."""
    for compile_ in data.compiles:
        head = (
            compile_.ref,
            compile_.function,
            compile_.file,
            compile_.line,
            compile_.status,
            compile_.duration_s,
            compile_.source,
        )
        if not compile_.phases:
            yield TimingRow(*head, "", compile_.duration_s)
        for phase in compile_.phases:
            yield TimingRow(*head, phase.name, phase.self_s)


QUESTION = Question(
    name="timing",
    help="compile time by phase, function, compile and rank; a flame graph of each compile",
    key="8",
    group="find causes",
    order=80,
    sorts=SORTS,
    needs=Needs("has no times", reads_engine_log=True),
    document=document,
    answer=Timing,
    rows=TimingRow,
    records=timing_rows,
    keywords=(Keyword("sort", "sort", "order", SORTS),),
    doc="""
    Compile time: one row per phase of each compile, in own seconds, which add up.

    `sort`: order of the page's tables: own, total, count, longest, ranks, phase, name. `data` also has functions, ranks, kernels,
    gaps.
    """,
)
