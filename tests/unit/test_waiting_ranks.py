"""Ranks that wait for another one in a collective of the compiler: the rank that is not there is the answer."""

from __future__ import annotations

from pathlib import Path

from pages import page
from test_where import DAY, STACK, Rank, ended, going_on, job, others, said, stuck
from viewed import lead_somewhere, text

from tltui.documents.format import clock
from tltui.model.run import Run
from tltui.questions.hang.where import where

WAITING = (*STACK[:3], "bytecode_tracing", "compiler_collective")
SINCE, OPEN_SINCE = clock((DAY + 1) * 1e6), clock((DAY + 2) * 1e6)
THERE = "Ranks 0, 2 wait for it there, in the compiler's own collective (compiler_collective)."


def waiting(number: int, *after: str) -> Rank:
    return stuck(number, after or ["block0"], "block1", WAITING)


def test_the_rank_that_has_not_come_is_named_first_and_is_the_one_to_look_at(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, waiting(0), Rank(1).compiled("block0"), waiting(2)))
    assert said(run) == (
        f"Rank 1 has not reached block1 [1/0] yet (not compiling since {SINCE}, after block0 [0/0]). {THERE}"
    )
    absent, present = where(run).groups
    assert (str(absent.ranks), absent.collective, str(absent.waits_for_ranks)) == ("1", "", "")
    assert (str(present.ranks), present.collective, str(present.waits_for_ranks), str(present.not_begun_ranks)) == (
        "0, 2",
        "compiler_collective",
        "1",
        "1",
    )
    document = page(run, "@where", 200)
    assert "Look at rank 1." in text(document)
    assert "py-spy dump --pid 1001" in text(document), "not that of a rank that waits"
    lead_somewhere(run, document)


def test_a_rank_inside_of_the_same_compile_in_another_phase(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, waiting(0), stuck(1, ["block0"], "block1"), waiting(2)))
    assert said(run) == (
        f"Rank 1 is in block1 [1/0]: inductor_compile ▸ fx_codegen_and_compile since {OPEN_SINCE}. Ranks 0, 2 wait for it in "
        "the compiler's own collective (compiler_collective) of block1 [1/0]."
    )


def test_a_rank_that_has_finished_the_compile_is_not_called_late(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, waiting(0), Rank(1).compiled("block0", "block1"), waiting(2)))
    assert said(run).startswith(
        "Rank 1 has started no other compile since block1 [1/0] so far. Ranks 0, 2 wait for it in the compiler"
    )


def test_several_ranks_at_several_places(tmp_path: Path) -> None:
    absent = Rank(1).compiled("block0"), Rank(3).compiled("extra"), stuck(4, [], "block0")
    run = going_on(job(tmp_path, waiting(0), waiting(2), *absent))
    assert str(where(run).groups[-1].waits_for_ranks) == "1, 3, 4"
    end = "Ranks 0, 2 wait for them in the compiler's own collective (compiler_collective) of block1 [1/0]."
    assert said(run).endswith(f". 1 more rank is elsewhere. {end}")


def test_all_ranks_in_the_collective_wait_for_none_of_them(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *map(waiting, range(3))))
    assert {str(group.waits_for_ranks) for group in where(run).groups} == {""}
    assert said(run).startswith("All 3 ranks are in block1 [1/0]: bytecode_tracing ▸ compiler_collective since ")


def test_guards_that_are_compared_between_ranks(tmp_path: Path) -> None:
    """The collective runs before a call: its timing event has no id of a compile."""
    first, late, third = others(0, 1, 2)
    for rank in (first, third):
        rank.event("B", "guard_collective", frame_id=None, frame_compile_id=None, attempt=None)
    run = going_on(job(tmp_path, first, late, third))
    assert said(run) == (
        "Rank 1 has started no other compile since block1 [1/0] so far. Ranks 0, 2 wait for it in the collective that "
        "compares guards (guard_collective)."
    )


def test_a_job_that_was_killed_there(tmp_path: Path) -> None:
    run = ended(job(tmp_path, waiting(0), Rank(1).compiled("block0"), waiting(2)))
    assert said(run) == (
        f"Rank 1 had not reached block1 [1/0] (not compiling since {SINCE}, after block0 [0/0]). Ranks 0, 2 waited for "
        "it there, in the compiler's own collective (compiler_collective)."
    )


CPP = (*STACK, "code_gen", "compile_file")


def first_page(run: Run) -> str:
    return " ".join(text(page(run, "", 100)).split())


def test_the_first_page_names_the_rank_the_work_and_since_when(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *others(0, 2), stuck(1, ["block0"], "block1", CPP)))
    assert f"rank 1 is compiling C++ for block1 [1/0] since {OPEN_SINCE}; ranks 0, 2 have finished it" in first_page(run)


def test_the_first_page_names_who_has_not_come(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, waiting(0), Rank(1).compiled("block0"), waiting(2)))
    assert "rank 1 has not reached block1 [1/0] yet (not compiling since" in first_page(run)


def test_the_first_page_names_a_backward_that_runs(tmp_path: Path) -> None:
    """Its forward has metrics: none of the compiles counts as running."""
    rank = Rank(1).compiled("block0")
    rank.frame -= 1
    for phase in ("entire_backward_compile", "inductor_compile"):
        rank.event("B", phase)
    run = going_on(job(tmp_path, *others(0, names=["block0"]), rank))
    assert "rank 1 is in the backward of block0 [0/0]: inductor_compile since" in first_page(run)


def test_a_collective_that_was_left_is_over(tmp_path: Path) -> None:
    """`compiler_collective` restarts the analysis: what is open afterwards is not it."""
    again = waiting(0).event("E", "compiler_collective")
    run = going_on(job(tmp_path, again, Rank(1, at=DAY).compiled("block0")))
    assert {str(group.waits_for_ranks) for group in where(run).groups} == {""}
