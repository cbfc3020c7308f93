"""Ten journeys over a line of 20 kB/s, at 120×40: what each sends, and how long it takes to the last byte."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from probe import Answer, Probe
from rows import Bench, Row, at_most
from screens import DEMO, KB, go

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "terminal"))

from slow import SlowTerminal

QUIET = 0.6
"""Seconds of silence after which a journey is at its end."""
HELD = 200
"""Times that a held key repeats, 30 a second."""


class SlowProbe(SlowTerminal, Probe):
    """A stop watch at the end of a slow line."""

    def journey(self, *keys: str) -> Answer:
        """Press keys, each after the answer to the previous one."""
        answers = [self.send(key, idle=QUIET) for key in keys]
        first, last = (sum(getattr(answer, figure) for answer in answers) for figure in ("first", "last"))
        count = sum(answer.bytes for answer in answers)
        return Answer(first, last, last, count, count)


def row(label: str, answer: Answer, budget: float) -> Row:
    """Return the row of a journey: its bytes, with the time they took."""
    return at_most(f"slow line, {label}", answer.bytes / KB, budget, "KB", f" ({answer.last:.2f} s)")


def journeys(keep: Path, quick: bool) -> list[Row]:
    """Measure all journeys on the demo."""
    with tempfile.TemporaryDirectory() as home, SlowProbe.tltui(DEMO, home=Path(home)) as probe:
        probe.wait_for("25 compiles")
        probe.wait_gone("reading")
        last = time.perf_counter()
        while probe.pump(QUIET):
            last = time.perf_counter()
        took = last - probe.started
        rows = [row("open", Answer(0.0, took, took, len(probe.raw), len(probe.raw)), 25)]
        rows.append(row("enter on the first screen", probe.journey("enter"), 12))
        rows.append(row("e", probe.journey("e"), 12))
        rows.append(row("8", probe.journey("8"), 12))
        go(probe, "0:0/0", "[0:0/0]")
        probe.journey("tab", "k", "j")
        rows.append(row("enter in the tree", probe.journey("enter"), 12))
        rows.append(row("tab", probe.journey("tab"), 1.5))
        rows.append(row("p", probe.journey("p"), 24))
        probe.journey("escape")
        for keys, budget in (("/", 2), ("o", 8), ("x", 8)):
            rows.append(row(f"{keys} and esc", probe.journey(keys, "escape"), budget))
        probe.journey("d", "j")
        rows.append(row("d", probe.journey("d"), 12))
    return [*rows, *held()]


def held() -> list[Row]:
    """Measure the delay of the last byte after a held key is released, and check its effect."""
    with tempfile.TemporaryDirectory() as home, SlowProbe.tltui(DEMO, home=Path(home)) as probe:
        probe.wait_for("25 compiles")
        probe.wait_gone("reading")
        go(probe, "0/0:inductor_output_code", "inductor_output_code")
        probe.press("g")
        probe.settle()
        for _ in range(HELD):
            probe.press("j")
            end = time.perf_counter() + 1 / 30
            while (left := end - time.perf_counter()) > 0:
                probe.pump(left)
        let_go = last = time.perf_counter()
        while probe.pump(QUIET):
            last = time.perf_counter()
        place = probe.lines()[-1].split()[-1]
        is_there = place.startswith(f"{HELD + 1}/")
    stopped = at_most("slow line, held j: stops after", last - let_go, 1.5, "s", "" if is_there else f", at {place}")
    return [stopped if is_there else Row(stopped.label, stopped.budget, stopped.measured, False)]


BENCHES: dict[str, Bench] = {"slow-line": journeys}
