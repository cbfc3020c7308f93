"""The panel at the right of a wide screen: what enter opens for the finding under the cursor of the first page."""

from __future__ import annotations

import pytest
from opened import Driver, opened
from real import DEMO, demo
from screen import screen_text

from tltui.questions.build import build
from tltui.screens.details import NO_PAGE, DetailsView, finding_at
from tltui.text.document import Options
from tltui.widgets.document_view import DocumentView


def panel(driver: Driver) -> DetailsView:
    return driver.browser.query_one(DetailsView)


def line_with(document: object, text: str) -> int:
    lines = document.text(0, len(document))  # type: ignore[attr-defined,arg-type]
    return next(number for number, line in enumerate(lines) if text in line)


COMPARED = "@diff::0:0/0%201:0/1"
SCHEDULES = "@diff::0:13/0:inductor_collective_schedule%201:1/0:inductor_collective_schedule"
FINDINGS = {
    "2 compiles failed": "0:9/0", "torch's hint: If you're": "0:9/0", "sample hit the recompile limit": "0:4/8",
    "fix: Pass a value": "0:4/8", "ranks diverge at": COMPARED, "17.8 s from the first compile": "0:9/0",
    "[0:10/0] UserError": "0:10/0", "[0/0] Model.forward": COMPARED, "[1/0] clip_gradient": "0:1/0",
    "compiled on some ranks only": "0:1/0", "[13/0] reduce_metrics": SCHEDULES, "The recompile limit was reached": "",
}  # fmt: skip
"""Text of the first page → the page that the panel shows for its line."""


async def test_a_finding_leads_to_its_page_from_each_of_its_lines() -> None:
    async with opened(DEMO, untouched=True) as driver:
        document = driver.browser.document_view.document
        assert {text: finding_at(document, line_with(document, text)) for text in FINDINGS} == FINDINGS


def test_without_a_finding_there_is_no_page() -> None:
    document = build(demo(), "0:0/0:dynamo_output_graph", Options(width=80))
    assert finding_at(document, 3) == ""


async def test_the_panel_follows_the_cursor_and_leaves_with_the_page() -> None:
    async with opened(DEMO, size=(180, 40), untouched=True) as driver:
        view, shown = driver.browser.document_view, panel(driver)
        await driver.until(lambda: shown.document.ref == "0:9/0")
        await driver.until(lambda: "✗ failed after 34 ms" in screen_text(driver.app))
        narrow = view.size.width
        assert narrow + shown.size.width < 180
        assert driver.browser.options.width == view.text_width, "the page is made for the room left"
        assert view.has_focus and not shown.can_focus
        line = line_with(view.document, "sample hit the recompile limit")
        while view.current_line() < line:
            await driver.press("j")
        await driver.until(lambda: shown.document.ref == "0:4/8")
        await driver.press("enter")
        await driver.shown("0:4/8")
        assert not shown.display and view.size.width > narrow
        await driver.press("backspace")
        await driver.shown("")
        await driver.until(lambda: shown.display and shown.document.ref == "0:4/8" and view.size.width == narrow)
        await driver.press("3")
        await driver.shown("@recompiles")
        assert not shown.display and driver.browser.options.width == view.text_width
        wide = build(demo(), "@recompiles", driver.browser.options)
        while not wide.advance():
            pass
        assert [*view.document.text(0, 30)] == [*wide.text(0, 30)], "the page is made for the room without the panel"


async def test_a_comparison_of_ranks_is_the_one_that_enter_opens() -> None:
    async with opened(DEMO, size=(180, 40), untouched=True) as driver:
        view, shown = driver.browser.document_view, panel(driver)
        line = line_with(view.document, "ranks diverge at")
        while view.current_line() < line:
            await driver.press("j")
        await driver.until(lambda: shown.document.ref == COMPARED)
        await driver.until(lambda: "Recorded differences that may be the cau" in screen_text(driver.app))
        await driver.press("enter")
        await driver.shown(COMPARED)


async def test_a_line_without_a_page_has_none_of_another_finding() -> None:
    async with opened(DEMO, size=(180, 40), untouched=True) as driver:
        view, shown = driver.browser.document_view, panel(driver)
        view.goto_line(line_with(view.document, "most often: sample") + 1)
        await driver.until(lambda: shown.document.ref == "0:4/")
        await driver.press("j")
        await driver.until(lambda: [*shown.document.text(0, 1)] == [NO_PAGE])
        await driver.press("k")
        await driver.until(lambda: shown.document.ref == "0:4/")


@pytest.mark.parametrize(("size", "key"), [((159, 40), ""), ((90, 30), ""), ((180, 40), "z")])
async def test_without_the_room_there_is_none(size: tuple[int, int], key: str) -> None:
    async with opened(DEMO, size=size, untouched=True) as driver:
        if key:
            await driver.until(lambda: panel(driver).display)
            await driver.press(key)
        assert not panel(driver).display
        assert [view for view in driver.app.screen.query(DocumentView) if view.display] == [driver.browser.document_view]


async def test_the_panel_comes_and_goes_with_the_size() -> None:
    async with opened(DEMO, size=(150, 40), untouched=True) as driver:
        view, shown = driver.browser.document_view, panel(driver)
        before = view.size.width
        await driver.pilot.resize_terminal(190, 40)
        await driver.until(lambda: shown.display and shown.document.ref == "0:9/0")
        await driver.until(lambda: driver.browser.is_at_rest and view.size.width < before)
        await driver.pilot.resize_terminal(150, 40)
        await driver.until(lambda: not shown.display and view.size.width == before)
