"""What a start costs: CPU seconds, as multiples of what a trivial Textual app takes to its first frame in the same run.

Seconds of the clock depend on what else the machine does; the CPU time of a process divided by that of another one, a moment later,
depends on it little.
"""

from __future__ import annotations

import os
import resource
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from probe import Probe
from rows import Bench, Row

TRIVIAL = """
from textual.app import App
from textual.widgets import Static

class Trivial(App):
    def compose(self):
        yield Static("hello there")

Trivial().run()
"""
TLTUI = [sys.executable, "-m", "tltui"]
LIMIT = 60.0
"""Seconds that a text on the screen is waited for."""
UI = {"the tree": (b"clip_gradient", 2.0), "the summary": (b"Start here", 3.0)}
"""What is on the screen → a text of it that nothing else has before, and the most that it may cost."""
COMMANDS = {"summary": 3.0, "ls": 1.0}


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of all threads of a process so far."""
    return time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3)


def shown(command: Sequence[str], texts: Sequence[bytes]) -> list[float]:
    """Return the CPU seconds of a program in a terminal until it has sent each text."""
    took: dict[bytes, float] = {}
    with tempfile.TemporaryDirectory() as home, Probe(command, home=Path(home)) as probe:
        end = time.monotonic() + LIMIT
        while len(took) < len(texts):
            if time.monotonic() > end:
                raise TimeoutError(f"{texts} did not come")
            if select.select([probe.descriptor], [], [], 0.02)[0]:
                probe.read()
            for text in texts:
                if text not in took and text in probe.raw:
                    took[text] = cpu_of(probe.pid)
    return [took[text] for text in texts]


def ran(command: Sequence[str]) -> float:
    """Return the CPU seconds of a whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def starting(keep: Path, quick: bool) -> list[Row]:
    """Measure the UI and two commands on the demo, each the best of several."""
    times = 5 if quick else 11
    measured: dict[str, list[float]] = {}
    for _ in range(times):
        measured.setdefault("app", []).extend(shown([sys.executable, "-c", TRIVIAL], [b"hello there"]))
        for label, seconds in zip(UI, shown([*TLTUI, "--demo"], [text for text, _ in UI.values()]), strict=True):
            measured.setdefault(label, []).append(seconds)
        for name in COMMANDS:
            measured.setdefault(name, []).append(ran([*TLTUI, name, "--demo"]))
    best = {label: min(seconds) for label, seconds in measured.items()}
    rows = [Row("a trivial Textual app on the screen", "", f"{best['app']:.3f} s of CPU", None)]
    budgets = {**{f"{label} of --demo on the screen": (label, most) for label, (_, most) in UI.items()},
               **{f"tltui {name} --demo": (name, most) for name, most in COMMANDS.items()}}  # fmt: skip
    for title, (label, most) in budgets.items():
        ratio = best[label] / best["app"]
        rows.append(Row(title, f"≤ {most:g} × that", f"{ratio:.2f} × ({best[label]:.3f} s)", ratio <= most))
    return rows


BENCHES: dict[str, Bench] = {"starting": starting}
