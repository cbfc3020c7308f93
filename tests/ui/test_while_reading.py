"""The same keys lead to the same place while a log is read and after that: cursor, folds, what is shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from growing import Live, growing
from real import TRACES

WHOLE = next((TRACES / "torch-2.13" / "recompiles").glob("*.log")).read_bytes()
SEQUENCES = {
    "a compile by its name, opened": ["o:0/0", "l", "o:none"],
    "a compile by its name only": ["o:0/0", "o:none"],
    "all opened and closed again": ["equals_sign", "minus", "g"],
    "an artifact": ["o:0/0:dynamo_output_graph", "tab", "tab"],
    "a page, and back": ["2", "escape", "backspace"],
    "a filter": ["g", "tab", "f:none"],
    "walking in the artifacts": ["o:0/0:dynamo_output_graph", *["right_square_bracket"] * 2, "left_square_bracket"],
}


def pieces() -> list[bytes]:
    """The log, cut where compiles begin."""
    starts = [match.start() for match in re.finditer(rb'(?m)^V.*\{"dynamo_start"', WHOLE)]
    ends = [*(WHOLE.rindex(b"V", 0, start + 1) for start in starts[1:]), len(WHOLE)]
    return [WHOLE[first:last] for first, last in zip([0, *ends], ends, strict=False)]


async def press(live: Live, keys: list[str]) -> None:
    for key in keys:
        name, _, text = key.partition(":")
        await live.press(name)
        if text:
            await live.type(text)
            await live.press("enter")
        await live.until(lambda: live.browser.is_at_rest)


def state(live: Live) -> dict[str, Any]:
    tree, view = live.tree, live.view
    node = tree.node
    return {
        "cursor": node.ref, "shown": live.browser.shown_ref, "document": view.document.ref, "filter": tree.outline.filter,
        "rows": [(row.depth, row.node.ref, row.node.key in tree.outline.open) for row in tree.outline.rows],
        "text": list(view.document.text()), "in front": "document" if view.has_focus else "tree",
    }  # fmt: skip


async def played(directory: Path, monkeypatch: pytest.MonkeyPatch, keys: list[str], while_reading: bool) -> dict[str, Any]:
    """The state in the end, the keys being pressed after the first piece or after the last one."""
    directory.mkdir()
    log = directory / "0.log"
    first, *rest = pieces()
    log.write_bytes(first if while_reading else WHOLE)
    async with growing(directory, monkeypatch, untouched=True) as live:
        live.browser.tree_view.focus()
        await press(live, keys)
        if while_reading:
            for piece in rest:
                with log.open("ab") as file:
                    file.write(piece)
                await live.poll()
        await live.end()
        await live.until(lambda: live.browser.is_at_rest)
        return state(live)


@pytest.mark.parametrize("name", SEQUENCES)
async def test_the_same_keys_lead_to_the_same_place(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = SEQUENCES[name]
    during = await played(tmp_path / "t", monkeypatch, keys, while_reading=True)
    (tmp_path / "t" / "0.log").unlink()
    (tmp_path / "t").rmdir()
    assert during == await played(tmp_path / "t", monkeypatch, keys, while_reading=False)
