"""Searching a trace and comparing two graphs: the speed of the work itself, without a terminal."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from make import ensure_log
from rows import Bench, Row, at_least, at_most

LINES = 50_000
EDITS = 0.05


def search(keep: Path, quick: bool) -> list[Row]:
    """Measure the search of every payload and envelope for a literal and a regex without a match."""
    from tltui.model.follow import open_run
    from tltui.questions.records.grep_page import Query, grep_document
    from tltui.sources.discover import discover
    from tltui.text.document import Options

    log = ensure_log(keep, "cut")
    run = open_run(discover([str(log.path)]))
    rows = []
    for label, pattern, budget in (
        ("a literal", "NoSuchThing", 500),
        ("a literal of small letters", "no such thing", 500),
        ("a regex", r"no\d+such\w+thing", 200),
    ):

        def search_all(pattern: str = pattern) -> None:
            document = grep_document(run, Query(pattern), Options())
            while not document.advance():
                pass

        rows.append(at_least(f"search {label}", log.size / 1e6 / _median(search_all, 1 if quick else 3), budget, "MB/s"))
    return rows


def diff(keep: Path, quick: bool) -> list[Row]:
    """Measure the comparison of two graphs of 50,000 lines, one line in twenty edited."""
    from tltui.questions.compare.comparable_lines import difference

    left, right = graphs()
    times = 1 if quick else 3
    label = f"{LINES:,} lines, {EDITS:.0%} edited"
    return [
        at_most(f"diff as stored, {label}", _median(lambda: difference(left, right, "fx", raw=True), times), 0.5, "s"),
        at_most(f"diff by structure, {label}", _median(lambda: difference(left, right, "fx"), times), 4, "s"),
    ]


def _median(work: Callable[[], object], times: int) -> float:
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)
    return statistics.median(took)


def graphs() -> tuple[str, str]:
    """Return a long graph of repeated layers, and a copy with nodes added, removed and of another dtype."""
    chance = random.Random(3)
    left = ["class GraphModule(torch.nn.Module):", '    def forward(self, arg0_1: "f32[8, 16]", arg1_1: "f32[16]"):']
    before, number = "arg0_1", 0
    while len(left) < LINES:
        if number % 3 == 0:
            place = number % 700
            left.append(f"        # File: /home/user/net.py:{place} in forward, code: x = self.layer{place % 50}(x)")
        operation = chance.choice(["add.Tensor", "mul.Tensor", "relu.default", "mm.default"])
        name = f"{operation.partition('.')[0]}_{number}"
        left.append(f'        {name}: "f32[8, 16]" = torch.ops.aten.{operation}({before}, arg1_1);  {before} = None')
        before, number = name, number + 1
    left.append(f"        return ({before},)")
    right = []
    for line in left:
        kind = chance.random() / EDITS * 3 if '" = ' in line else 9.0
        if kind >= 3:
            right.append(line)
        elif kind < 1:
            right.append(line.replace("f32", "bf16"))
        elif kind < 2:
            right += [line, f'        sin_{len(right)}: "f32[16]" = torch.ops.aten.sin.default(arg1_1)']
    return "\n".join(left), "\n".join(right)


BENCHES: dict[str, Bench] = {"search": search, "diff": diff}
