"""How the screens look. Everything here is also tested as text elsewhere; a change of looks must only be meant.

Three sizes, and the themes in turn: with colours of our own, with those of the terminal, with none.
"""

from __future__ import annotations

import pytest
from opened import Driver, opened
from real import DEMO, TRACES
from screen import screen_text
from snap import snap

from tltui.widgets.linked_views import MarkedView

pytestmark = pytest.mark.usefixtures("utc")

GRAPH = "0:0/0:dynamo_output_graph"


async def named(driver: Driver) -> None:
    """Wait until the functions in the tree are called what they are known by."""
    await driver.until(lambda: "Model.forward" in screen_text(driver.app) or driver.app.size.width < 100)


async def graph(driver: Driver) -> None:
    """A graph with the cursor in it."""
    driver.browser.go(GRAPH)
    await driver.shown(GRAPH)
    driver.browser.document_view.focus()
    await driver.until(lambda: driver.browser.document_view.has_focus)
    await driver.until(lambda: "md5 ✓" in driver.browser.document_view.document.badge)
    await named(driver)


@pytest.mark.parametrize("theme", ["dark", "high-contrast"])
async def test_compile_with_a_graph_break(theme: str) -> None:
    async with opened(DEMO, theme=theme) as driver:
        await driver.press("g", "b")
        await driver.rest()
        await named(driver)
        snap(driver.app, f"break-120x40-{theme}")


@pytest.mark.parametrize("theme", ["dark", "mono"])
async def test_tree_on_a_narrow_screen(theme: str) -> None:
    async with opened(DEMO, size=(80, 24), theme=theme) as driver:
        await driver.press("j")
        await driver.until(lambda: "Model.forward" in screen_text(driver.app))
        snap(driver.app, f"tree-80x24-{theme}")


async def test_selected_lines() -> None:
    async with opened(DEMO, size=(80, 24), theme="ansi-dark") as driver:
        await graph(driver)
        await driver.press("j", "j", "V", "j", "j", "j")
        snap(driver.app, "selection-80x24-ansi-dark")


@pytest.mark.parametrize("theme", ["light", "mono"])
async def test_search(theme: str) -> None:
    async with opened(DEMO, theme=theme) as driver:
        await graph(driver)
        await driver.press("slash")
        await driver.type("linear")
        await driver.press("enter")
        await driver.until(lambda: driver.browser.document_view.hits == "1/11")
        snap(driver.app, f"search-120x40-{theme}")


async def test_timing() -> None:
    async with opened(DEMO, theme="ansi-dark") as driver:
        await driver.press("8")
        await driver.until(lambda: "By event" in screen_text(driver.app))
        await named(driver)
        snap(driver.app, "timing-120x40-ansi-dark")


async def test_provenance() -> None:
    async with opened(TRACES / "torch-2.13" / "train", size=(200, 60)) as driver:
        driver.browser.go("0/0")
        await driver.shown("0/0")
        await driver.press("p")
        await driver.until(lambda: all(text in screen_text(driver.app) for text in ("nodes → kernels", "─generated code …")))
        await driver.until(lambda: "  240" in screen_text(driver.app))  # the panes have come to what corresponds
        await driver.press("full_stop")
        views = [view for view in driver.app.screen.query(MarkedView) if view.display]
        await driver.until(lambda: any(view.matches for view in views) and all(view.document.complete for view in views))
        await driver.pilot.pause()
        snap(driver.app, "provenance-200x60-dark")


async def test_the_first_screen() -> None:
    async with opened(DEMO, size=(80, 24), theme="light", untouched=True) as driver:
        snap(driver.app, "first-80x24-light")


async def test_the_first_screen_with_its_panel() -> None:
    async with opened(DEMO, size=(200, 50), untouched=True) as driver:
        await driver.until(lambda: driver.browser.details_view.document.ref == "0:9/0")
        await driver.until(lambda: "failed after 34 ms" in screen_text(driver.app))
        await named(driver)
        snap(driver.app, "first-200x50-dark")


async def test_go_to() -> None:
    async with opened(DEMO) as driver:
        await driver.press("o")
        await driver.type("sample")
        await driver.until(lambda: driver.prompt.rows and "sample" in driver.prompt.rows[0])
        await driver.until(lambda: "0:4/" in screen_text(driver.app))
        snap(driver.app, "goto-120x40-dark")
