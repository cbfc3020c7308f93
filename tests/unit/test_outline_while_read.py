"""A tree that is opened while its log is read is the tree that is opened after that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tltui.model.follow import Follower
from tltui.model.run import Run
from tltui.sources.discover import discover
from tltui.tree.outline import root
from tltui.tree.rows import OutlineRows

RECOMPILES = Path(__file__).parents[1] / "traces" / "torch-2.13" / "recompiles"
KEYS = {
    "opened": ["all"], "one closed": ["all", "close 1"], "closed again": ["all", "none"],
    "closed and opened": ["all", "close 1", "open 1"],
}  # fmt: skip


def press(rows: OutlineRows, keys: list[str]) -> None:
    for key in keys:
        name, _, place = key.partition(" ")
        if name == "all":
            assert rows.expand_all()
        elif name == "none":
            rows.collapse_all()
        else:
            (rows.collapse if name == "close" else rows.expand)(int(place))


def seen(rows: OutlineRows) -> list[tuple[int, str]]:
    return [(row.depth, row.node.ref) for row in rows.rows]


@pytest.mark.parametrize("name", KEYS)
def test_keys_while_it_is_read(name: str) -> None:
    run = Run(discover([str(RECOMPILES)]))
    early: OutlineRows | None = None
    for event in Follower(run).read(1 << 16):
        run.update(event)
        if early is None and sum(len(c.records) for c in run.compiles()) > 300 and not run.is_read:
            early = OutlineRows(root(run))
            press(early, KEYS[name])
        elif early is not None:
            early.refresh()
    assert early is not None and run.is_read, "the keys were pressed while it was read"
    late = OutlineRows(root(run))
    press(late, KEYS[name])
    assert seen(early) == seen(late)
    early.refresh()
    assert seen(early) == seen(late), "what comes later is closed, as in any tree"
