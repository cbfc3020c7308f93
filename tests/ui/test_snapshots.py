"""How the screens look. Everything here is also tested as text elsewhere; a change of looks must only be meant."""

from __future__ import annotations

import time

import pytest
from opened import BREAKS, DEMO, Driver, opened
from screen import screen_text
from snap import snap


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


async def named(driver: Driver) -> None:
    """Wait until the functions in the tree are called what they are known by."""
    await driver.until(lambda: "Model.forward" in screen_text(driver.app))


async def test_compile_with_a_graph_break() -> None:
    async with opened(DEMO) as driver:
        await driver.press("g", "b")
        await driver.rest()
        await named(driver)
        snap(driver.app, "break-120x40")


async def test_graph() -> None:
    async with opened(DEMO) as driver:
        driver.browser.go("0:0/0:dynamo_output_graph")
        await driver.shown("0:0/0:dynamo_output_graph")
        await driver.press("tab", "j", "j", "j", "l", "l")
        await driver.until(lambda: "md5 ✓" in driver.browser.document_view.document.badge)
        await named(driver)
        snap(driver.app, "graph-120x40")


async def test_tree_on_a_narrow_screen() -> None:
    async with opened(DEMO, size=(80, 24)) as driver:
        await driver.press("j")
        await named(driver)
        snap(driver.app, "tree-80x24")


async def test_help() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("question_mark")
        snap(driver.app, "help-120x40")


async def test_colours_of_the_terminal() -> None:
    async with opened(DEMO, theme="ansi-dark") as driver:
        await driver.press("g")
        await driver.press("e")
        await driver.rest()
        await named(driver)
        snap(driver.app, "ansi-dark-120x40")
