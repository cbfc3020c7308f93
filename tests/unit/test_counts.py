"""Counts with one name are equal on all pages, for every real trace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest
from pages import complete
from real import LOGS, TRACES, fresh, opened

from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.model.status import Status, counts_of
from tltui.questions.build import build
from tltui.questions.overview.compile_sections import study
from tltui.questions.overview.run_summary import Summary
from tltui.questions.problems.problem_list import Problems
from tltui.questions.ranks.differences import differences_of
from tltui.questions.ranks.matrix import Matrix
from tltui.questions.recompiles.page import Recompiles
from tltui.questions.timing.timing_report import Timing as TimingResult
from tltui.text.document import Document, Options

RUNS = sorted({path.parent for path in LOGS})
PHASES_COMPARED = 4
"""Compiles of each run whose phases are compared."""
CLOCK_S = 0.02
"""Seconds by which the phases of two pages may differ: events of one microsecond that overlap."""


def page(run: Run, ref: str) -> Document:
    return complete(build(run, ref, Options()))


def compiles(run: Run) -> list[Compile]:
    return [compile_ for compile_ in run.compiles() if compile_.is_compile]


@pytest.mark.parametrize("path", RUNS, ids=lambda path: str(path.relative_to(TRACES)))
def test_pages_count_alike(path: Path) -> None:
    run = fresh(path)
    tally, every = run.tally, compiles(run)
    assert tally.compiles == len(every) == sum(tally.counted(status) for status in Status)
    summary = page(run, "@summary").data()
    if isinstance(summary, Summary):
        assert summary.tally == tally
    recompiles = cast(Recompiles, page(run, "@recompiles").data())
    assert (recompiles.compiles, recompiles.recompiles) == (tally.compiles, tally.recompiles)
    problems = cast(Problems, page(run, "@problems").data())
    raised = sum(len(group.occurrences) for group in problems.limits if not group.is_eager)
    failed = sum(len(group.occurrences) for group in (*problems.errors, *problems.backward))
    assert failed + raised == tally.errors
    assert sum(len(group.occurrences) for group in problems.breaks) == tally.breaks
    matrix = page(run, "@matrix").data()
    processes = [process for process in run.processes() if process.tally.compiles]
    if isinstance(matrix, Matrix) and matrix.columns and len(processes) == matrix.rank_count:
        assert sum(column.rank_count for column in matrix.columns) == tally.compiles


@pytest.mark.parametrize("path", RUNS, ids=lambda path: str(path.relative_to(TRACES)))
def test_phases_are_those_of_the_timing_page(path: Path) -> None:
    run = fresh(path)
    for compile_ in compiles(run)[:PHASES_COMPARED]:
        timing = study(compile_).timing
        rows = cast(TimingResult, page(run, f"@timing:{compile_.ref}").data()).compiles
        if timing.source != "events" or timing.open or not rows or rows[0].source != "metrics":
            continue
        seconds = {phase.name: phase.self_s for phase in timing.phases}
        for phase in timing.backward:
            seconds[phase.name] = seconds.get(phase.name, 0.0) + phase.self_s
        for phase in rows[0].phases:
            assert seconds.pop(phase.name) == pytest.approx(phase.self_s, abs=CLOCK_S), (compile_.ref, phase.name)
        assert sum(seconds.values()) < CLOCK_S


def test_every_number_of_the_demo_has_one_name() -> None:
    run = opened("src/tltui/demo")
    head = "\n".join(page(run, "").text())
    assert "2 ranks · 25 compiles" in head and "↻ 9 recompiles, 1 refused at the recompile limit" in head
    assert any(line.startswith("2 ranks × 23 rows, 25 compiles") for line in page(run, "@matrix").text())
    assert any(line.startswith("25 compiles · ") for line in page(run, "@timing").text())
    differences = differences_of(run)
    assert differences is not None and differences.compiles_per_rank == 22
    assert [rank.tally.compiles for rank in run.ranks] == [22, 3]
    guards = next(line for line in page(run, "@guards").text() if "[0:0/0]" in line)
    assert guards.split()[1] == "94", "lines of the guard tree"
    for ref in ("0:0/0", "@diff::0:0/0%201:0/1"):
        text = "\n".join(page(run, ref).text())
        assert re.search(r"guard_count +86\b", text) and not re.search(r"\b86 guards", text), "what torch's metrics count"


def test_a_refused_recompile_is_counted_as_one() -> None:
    refused = [compile_ for compile_ in compiles(opened("src/tltui/demo")) if compile_.facts.recompile_limit_hit]
    assert [str(compile_.ref) for compile_ in refused] == ["0:4/8"]
    tally, _ = counts_of(refused[0])
    assert (tally.compiles, tally.recompiles, tally.refused) == (1, 1, 1)
