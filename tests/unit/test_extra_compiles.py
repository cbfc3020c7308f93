"""Compiles that only some ranks have: told with what they took and why; nobody else is behind when the job is over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pages import flat_text, page
from ranked import ranked
from real import fresh, trace
from viewed import lead_somewhere

from tltui.model.run import Run
from tltui.questions.hang.where import where
from tltui.questions.ranks.compile_facets import PhasesOf
from tltui.questions.ranks.lanes import read_lanes
from tltui.questions.ranks.pace import Pace
from tltui.questions.ranks.pace_analysis import pace_of
from tltui.text.steps import run_steps

UNEVEN, LOGGING = "rank_jobs/uneven", "rank_jobs/logging"


def pace(run: Run) -> Pace:
    return pace_of(run_steps(read_lanes(run)), PhasesOf(run))


def test_one_batch_of_another_size() -> None:
    run = trace(UNEVEN)
    [one] = pace(run).extra
    assert one.ranks == (2,) and [(c.ref, c.is_recompile) for c in one.compiles] == [("2:0/1", True)]
    assert 2 < one.compile_s < 3 and one.median_s == 0
    document = page(run, "@stragglers")
    assert "Rank 2 took 2.08 s in 1 recompile that no other rank has, x dim 0: 8 → 5." in flat_text(run, "@stragglers")
    assert [(str(row.ranks), row.compiles[0].reason) for row in document.data().extra_compiles] == [("2", "x dim 0: 8 → 5")]
    assert "rank 2 took 2.08 s in 1 recompile that no other rank has" in flat_text(run, "@run")
    lead_somewhere(run, document)


@pytest.mark.parametrize("name", [UNEVEN, LOGGING])
def test_nobody_is_behind_a_rank_that_compiled_more(name: str) -> None:
    found = where(trace(name))
    assert not found.goes_on and not found.ranks_behind and not any(group.is_behind for group in found.groups)
    assert "behind" not in flat_text(trace(name), "@where")


def test_who_lacks_what_most_ranks_have_is_behind(tmp_path: Path) -> None:
    ranked(tmp_path, "--ranks", 4, "--compiles", 4, "--detail", "tiny")
    [log] = tmp_path.glob("*rank_2_*")
    records = log.read_bytes().split(b"\nV")
    ends = [n for n, record in enumerate(records) if b'"compilation_metrics"' in record]
    log.write_bytes(b"\nV".join(records[: ends[1] + 2]) + b"\n")
    assert where(fresh(tmp_path)).ranks_behind == (2,)


def test_what_only_a_break_splits_takes_no_longer() -> None:
    assert pace(trace(LOGGING)).extra == ()


def test_planted_recompiles_are_found_by_what_they_take(tmp_path: Path) -> None:
    """One of 40 ranks recompiles; one lacks a compile, which is nothing that the others have more."""
    ranked(tmp_path, "--ranks", 40, "--compiles", 4, "--detail", "tiny", "--seed", 3,
           "--plant", "extra_recompile:ranks=7,compile=2", "--plant", "missing_compile:ranks=9,compile=1")  # fmt: skip
    assert [(one.ranks, [c.is_recompile for c in one.compiles]) for one in pace(fresh(tmp_path)).extra] == [((7,), [True])]


def test_of_two_ranks_one_can_have_more(tmp_path: Path) -> None:
    ranked(tmp_path, "--ranks", 2, "--compiles", 4, "--detail", "tiny", "--seed", 3, "--plant", "extra_recompile:ranks=1,compile=2")
    assert [one.ranks for one in pace(fresh(tmp_path)).extra] == [(1,)]


def test_a_job_that_goes_on_tells_nothing_yet(tmp_path: Path) -> None:
    """The others may come to the same recompile."""
    lanes = [replace(lane, ended=lane.rank == 2) for lane in run_steps(read_lanes(trace(UNEVEN)))]
    assert pace_of(lanes).extra == () and pace_of([replace(lane, ended=True) for lane in lanes]).extra
