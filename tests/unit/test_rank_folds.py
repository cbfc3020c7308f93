"""Ranks with the same outcomes are one row of the tree; every other rank has its difference."""

from __future__ import annotations

from pathlib import Path

import pytest
from ranked import ranked
from real import fresh

from tltui.model.run import Run
from tltui.text.document import piece_text
from tltui.tree.outline import RankGroup, children, label, path_to, root
from tltui.tree.rows import OutlineRows, groups_of
from tltui.tree.stack_rows import StackOrder

PLANTED = (
    "killed:ranks=2,compile=1", "slow_phase:ranks=3+5+9,compile=0", "missing_compile:ranks=4,compile=2",
    "extra_recompile:ranks=6,compile=1", "graph_break:ranks=7,compile=2",
)  # fmt: skip
REMARKS = {
    2: "[1/0] block1 unfinished, elsewhere ok", 4: "block2: 0 compiles, elsewhere 1", 6: "block1: 2 compiles, elsewhere 1",
    7: "[2/0] block2 break, elsewhere ok",
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    into: Path = tmp_path_factory.mktemp("ranks") / "job"
    plants = [word for plant in PLANTED for word in ("--plant", plant)]
    ranked(into, "--ranks", 12, "--compiles", 3, "--detail", "tiny", "--seed", 5, *plants)
    return fresh(into)


def lines(rows: OutlineRows) -> list[str]:
    """Return the text of the rows, without numbers of compiles and times."""
    shown = [(row.depth, label(row.node)) for row in rows.rows]
    return [f"{'  ' * depth}{''.join(piece_text(piece) for piece in (*one.left, *one.detail))}" for depth, one in shown]


def test_the_rows_of_many_ranks(run: Run) -> None:
    rows = OutlineRows(root(run))
    assert lines(rows)[1:] == [
        "  5 ranks, same outcomes  0, 1, 8, 10, 11",
        f"  rank 2  {REMARKS[2]}",
        "  ranks 3, 5, 9  slow in [0/0] block0",
        *(f"  rank {rank}  {REMARKS[rank]}" for rank in (4, 6, 7)),
    ]
    times = [piece_text(label(row.node).right[-1]).strip() for row in rows.rows[1:]]
    assert "–" in times[0] and all(time.endswith("s") for time in times)


def test_every_rank_and_compile_is_reached_inside_its_fold(run: Run) -> None:
    for order in (None, StackOrder(run)):
        if order is not None:
            while not order.advance(1.0):
                pass
        for rank in run.ranks:
            for target in (rank, next(iter(rank.processes[0].compiles.values()))):
                rows = OutlineRows(root(run))
                rows.set_order(order)
                place = rows.reveal(path_to(run, target))
                assert place is not None and rows.rows[place].node.target is target
                while place:
                    place = rows.parent(place)
                    assert rows.is_open(place)


def test_a_fold_opens_and_closes_and_a_filter_looks_into_it(run: Run) -> None:
    rows = OutlineRows(root(run))
    folded = lines(rows)
    rows.expand(1)
    assert [row.node.ref for row in rows.rows if row.depth == 2] == ["0:", "1:", "8:", "10:", "11:"]
    rows.collapse(1)
    assert lines(rows) == folded
    rows.set_filter("rank 10")
    assert [line.strip() for line in lines(rows)[1:]][1:] == ["rank 10"]


def test_few_ranks_a_growing_run_and_a_list_have_a_row_each(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(children(root(run))) == 12, "the tree of `tltui ls`"
    few = groups_of(run.ranks[:2])
    assert [(len(group.ranks), group.remark) for group in few] == [(2, "")]
    monkeypatch.setattr("tltui.tree.rows.MANY_RANKS", 13)
    assert not [row for row in OutlineRows(root(run)).rows if isinstance(row.node.target, RankGroup)]
    monkeypatch.undo()
    monkeypatch.setattr(type(run), "finished", False)
    assert not [row for row in OutlineRows(root(run)).rows if isinstance(row.node.target, RankGroup)]


def test_the_fold_of_all_ranks_is_open_at_first(tmp_path: Path) -> None:
    ranked(tmp_path / "job", "--ranks", 10, "--compiles", 1, "--detail", "tiny", "--seed", 5)
    run = fresh(tmp_path / "job")
    rows = OutlineRows(root(run))
    assert lines(rows)[1:3] == ["  10 ranks, same outcomes  0–9", "    rank 0"] and len(rows) > 12
    rows.collapse(1)
    rows.refresh()
    assert len(rows) == 2, "it is opened once"
