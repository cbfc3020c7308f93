"""The flame view: nested events as lines with bars."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from tltui.documents import format as fmt
from tltui.documents.page import BAR, Page
from tltui.questions.overview.summary_sections import LEAST_SHOWN_S
from tltui.questions.problems.reason_sections import PHASE_STYLES
from tltui.questions.timing.timing_events import AUTOGRAD, BACKEND, group_of
from tltui.questions.timing.timing_results import Bar, Flame, Timing
from tltui.text import tokens
from tltui.text.sanitize import sanitize

DEEPEST = 40
"""Levels that are drawn as such; what nests deeper is drawn at this one."""
SMALL = 0.01
"""Share of the whole below which neighbours are folded into one line."""
FEW = 3
LEFT_OUT = 4000
"""Bars drawn at most; all of them are in the JSON."""
TIME, SHARE = 8, 5


def add_flames(page: Page, timing: Timing) -> None:
    """Add a section per period of compilation."""
    phases = {phase.name for phase in timing.phases}
    before: Flame | None = None
    for flame in timing.flames:
        text = "Backward" if flame.title == "backward" else "Flame" if before is None else f"Then {flame.title}"
        page.heading(f"{text}: {fmt.seconds(flame.seconds)}" if flame.seconds >= LEAST_SHOWN_S else text)
        if before is not None:
            gap = (flame.start - before.start) / 1e6 - before.seconds
            page.say(f"began {fmt.seconds(max(gap, 0.0))} after the end of the one before", "  ", tokens.DIM)
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
        self.bars = flame.bars[:LEFT_OUT]
        self.style = style
        self.said = time
        self.whole = max(flame.seconds, 1e-9)
        self.children = _children(self.bars)
        self.step = 2 if page.width >= 100 else 1
        longest = max((min(bar.depth, DEEPEST) * self.step + len(bar.name) for bar in self.bars), default=0)
        self.label = min(longest, max(page.width * 2 // 5, 20), 60)
        self.time = max([TIME, *(len(time(bar)) for bar in self.bars)])
        self.room = max(min(page.width - 2 - self.label - self.time - SHARE - 3, 100), 8)

    def draw(self) -> None:
        self._siblings(self.children[-1])
        remaining = len(self.flame.bars) - len(self.bars)
        if remaining:
            self.page.add("  ", (f"and {fmt.count(remaining)} more: --json has all of them", tokens.DIM))

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
        return bar.seconds < SMALL * self.whole and not bar.open

    def _small(self, run: Sequence[int]) -> None:
        if len(run) < FEW:
            for number in run:
                self._bar(number)
            return
        total = sum(self.bars[number].seconds for number in run)
        label = self.said(replace(self.bars[run[0]], seconds=total, open=False))
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
            self.page.open(bar.name, folded=bar.seconds < SMALL * self.whole and not bar.open)
        self._line(bar)
        if inside:
            self._siblings(inside)
            self.page.close()

    def _line(self, bar: Bar) -> None:
        indent = " " * min(self.step * min(bar.depth, DEEPEST), self.label * 2 // 3)
        name = self.page.clip_middle(sanitize(bar.name), self.label - len(indent))
        pad = " " * (self.label - len(indent) - len(name))
        seconds = self.said(bar).rjust(self.time)
        share = fmt.percent(bar.seconds, self.whole).rjust(SHARE)
        cells = max(round(self.room * bar.seconds / self.whole), 1)
        lead = min(int(self.room * bar.start_s / self.whole), self.room - 1)
        cells = min(cells, self.room - lead)
        style = tokens.WARN if bar.open else self.style(bar.name)
        self.page.add(
            "  ", indent, (name, tokens.LINK if bar.record else tokens.NAME, bar.record), pad, " ", (seconds, tokens.NUMBER), " ",
            (share, tokens.DIM), " ", " " * lead, (BAR * cells, style),
        )  # fmt: skip


def _seconds(bar: Bar) -> str:
    if bar.open and bar.seconds < LEAST_SHOWN_S:  # the log ends where it began
        return "open"
    return ("≥" if bar.open else "") + fmt.seconds(bar.seconds)


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
