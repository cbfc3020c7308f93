"""The rows of a tree that grew with its run are those of a tree that is opened afresh."""

from __future__ import annotations

from pathlib import Path

import pytest
from replaying import HeldWriters, Replay, read

from tltui.model.follow import Follower
from tltui.model.run import Run
from tltui.sources.discover import Discovery, NothingFound
from tltui.tree.outline import label, root
from tltui.tree.rows import OutlineRows
from tltui.tree.stack_rows import StackOrder

TRACES = Path(__file__).parents[1] / "traces" / "torch-2.13"


def rows_of(outline: OutlineRows) -> list[tuple[int, str, str, object]]:
    return [(row.depth, row.node.key, row.node.ref, label(row.node)) for row in outline.rows]


def by_stacks(run: Run) -> StackOrder:
    order = StackOrder(run)
    while not order.advance():
        pass
    return order


@pytest.mark.parametrize("trace", ["breaks", "recompiles", "ddp", "resets", "ca"])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("how", ["frames", "ok", "!0/", "\\.py", "stacks", "stacks ok"])
def test_what_is_kept_is_what_would_be_made(trace: str, seed: int, how: str, tmp_path: Path) -> None:
    replay = Replay(sorted((TRACES / trace).rglob("*.log")), tmp_path / "run", seed)
    discovery, writers = Discovery([str(replay.target)]), HeldWriters()
    run: Run | None = None
    seen = 0
    for _ in replay.play():
        if run is None:
            try:
                run = Run(discovery.discover())
            except NothingFound:
                continue
            follower = Follower(run, discovery, writers)
            kept, order = OutlineRows(root(run)), StackOrder(run)
            kept.set_filter(how.removeprefix("stacks").strip() if how != "frames" else "")
        read(run, follower)
        if how.startswith("stacks"):
            while not order.advance():
                pass
            kept.set_order(order) if kept.order is None else kept.refresh()
        else:
            kept.refresh()
        fresh = OutlineRows(root(run))
        fresh.open = kept.open
        fresh.set_filter(kept.filter)
        if how.startswith("stacks"):
            fresh.set_order(by_stacks(run))
            # frames are numbered in the order in which their compiles were read
            assert [row[0] for row in rows_of(kept)] == [row[0] for row in rows_of(fresh)]
            assert sorted(str(row[3]) for row in rows_of(kept)) == sorted(str(row[3]) for row in rows_of(fresh))
        else:
            fresh.refresh()
            assert rows_of(kept) == rows_of(fresh)
            assert kept.filter_counts == fresh.filter_counts
        seen = max(seen, len(kept))
        kept.open.update(row.node.key for row in kept.rows[:8])
    assert seen > 1
