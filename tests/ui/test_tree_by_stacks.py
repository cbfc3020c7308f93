"""The tree in the order of the stacks: key `t`."""

from __future__ import annotations

from pathlib import Path

import pytest
from opened import BREAKS, Driver, log_of, opened
from real import DEMO
from screen import screen_lines

from tltui.model.nodes import Compile

pytestmark = pytest.mark.usefixtures("home")


def left(driver: Driver) -> list[str]:
    """What the tree says."""
    return [line[:44].rstrip() for line in screen_lines(driver.app)]


async def test_callers_stand_above_what_they_compiled() -> None:
    async with opened(BREAKS) as driver:
        before = driver.at
        await driver.press("t")
        assert driver.at == before
        assert "by stacks" in driver.message
        rows = left(driver)
        place = next(n for n, row in enumerate(rows) if "<module>" in row)
        assert "breaks.py:14" in rows[place]
        assert "⚑ [0/0] f" in rows[place - 1]
        assert [row.split("[")[1][:3] for row in rows[place + 1 : place + 5]] == ["1/0", "3/0", "4/0", "5/0"]
        indent = len(rows[place + 1]) - len(rows[place + 1].lstrip(" │"))
        assert indent > len(rows[place]) - len(rows[place].lstrip(" │"))
        await driver.press("t")
        assert driver.at == before
        assert not any("<module>" in row for row in left(driver))


async def test_a_caller_shows_its_part_of_the_stacks() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("t", "g", "j", "j")
        assert driver.at == "@stacks:#2"
        await driver.shown("@stacks:#2")
        text = "\n".join(driver.browser.document_view.document.text())
        assert "breaks.py:14 <module>" in text
        assert "[4/0]" in text
        assert "[2/0]" not in text


async def test_the_commands_find_their_nodes_in_this_order_too() -> None:
    async with opened(DEMO) as driver:
        await driver.press("t", "g", "e")
        target = driver.browser.tree_view.node.target
        assert isinstance(target, Compile)
        assert str(target.ref) == "0:4/8"
        await driver.press("b")
        assert driver.at == "0:5/0"
        await driver.press("right_square_bracket")
        assert driver.at.startswith("0:5/0:")
        artifact = driver.at
        await driver.press("t")
        assert driver.at == artifact


async def test_the_place_stays_when_rows_are_filtered() -> None:
    async with opened(DEMO) as driver:
        await driver.press("t", "f")
        await driver.type("clip_gradient")
        await driver.press("enter")
        text = "\n".join(left(driver))
        assert "clip_gradient" in text
        assert "perplexity" not in text


async def test_compiles_without_a_stack_are_there_too(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    log.write_bytes(log_of([(0, 1, "f"), (1, 2, "g")]).replace(b'"dynamo_start"', b'"dynamo_begin"'))
    async with opened(log) as driver:
        await driver.press("t", "g")
        shown = [row.node.ref for row in driver.browser.tree_view.outline.rows]
        assert {"0/0", "1/0", "1/1"} <= set(shown)
        await driver.press("r")
        assert driver.at in ("1/1", "1/0")
