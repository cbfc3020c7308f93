"""Which logs of a crowd of ranks are read, and which rank stands for which."""

from __future__ import annotations

from tltui.documents.scope import rank_title, stands_for
from tltui.model.nodes import Rank
from tltui.model.run import Run
from tltui.sources.discover import Found
from tltui.sources.discovery_results import FoundLog, Saved
from tltui.sources.saved_indexes import Crowd


def saved(rank: int | None, course: bytes, started: float = 0.0, launch: str = "", compiles: int = 10) -> Saved:
    found = FoundLog(f"/logs/{rank}-{started}-{launch}", 1, rank, launch, started, started)
    return Saved(found, rank, 100 + (rank or 0), "node", launch, started, compiles, course)


def read(crowd: Crowd, *ranks: int, most: int = 25) -> list[str]:
    return [log.path.rpartition("/")[2].partition("-")[0] for log in crowd.to_read(ranks, most)]


USUAL = [saved(rank, b"usual") for rank in range(8)]


def test_ranks_that_did_the_same_are_a_class_and_the_largest_is_first() -> None:
    crowd = Crowd([saved(8, b"other"), *USUAL])
    assert crowd.classes == (tuple(range(8)), (8,))
    assert crowd.like(3) == tuple(range(8)) and crowd.like(8) == (8,) and crowd.like(99) == ()


def test_few_compiles_are_all_read_and_of_many_one_rank_of_each_class() -> None:
    crowd = Crowd([saved(8, b"other"), *USUAL])
    assert read(crowd, most=90) == [*map(str, range(8)), "8"]
    assert read(crowd, most=89) == ["0", "8"]
    assert read(crowd, 5, most=89) == ["0", "5", "8"]


def test_of_too_many_classes_those_of_the_most_ranks_are_read() -> None:
    crowd = Crowd([*USUAL, *(saved(rank, b"%d" % rank) for rank in range(8, 20))])
    assert read(crowd, most=30) == ["0", "8", "9"]
    assert read(crowd, most=1) == ["0"], "something is read, however large"


def test_the_newest_process_of_the_newest_launch_counts() -> None:
    crowd = Crowd([saved(0, b"late", 5.0), saved(0, b"early", 1.0), saved(1, b"late", 2.0)])
    assert crowd.classes == ((0, 1),)
    again = Crowd([saved(0, b"a", 9.0, "attempt_0"), saved(1, b"a", 9.0, "attempt_0"), saved(0, b"b", 1.0, "attempt_1")])
    assert list(again.newest) == [0] and again.newest[0].course == b"b"


def test_one_rank_stands_for_those_that_are_not_read() -> None:
    run = Run(Found((), (), (), is_over=True, crowd=Crowd([*USUAL, saved(8, b"other")])))
    run._ranks = [Rank(0, []), Rank(5, []), Rank(8, [])]
    assert run.crowd is not None
    run._let_stand_for(run.crowd)
    assert [rank_title(rank) for rank in run.ranks] == ["7 ranks: 0–4, 6, 7", "rank 5", "rank 8"]
    assert stands_for(run) == (
        "According to their saved indexes, 9 ranks form 2 groups. Ranks of a group have the same compiles. Each rank "
        "that was read represents its group."
    )
