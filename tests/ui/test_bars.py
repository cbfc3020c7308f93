"""The line below: a remark, and the place in the document at its right."""

from __future__ import annotations

import pytest
from opened import opened
from real import DEMO
from screen import screen_lines
from textual.app import App, ComposeResult

from tltui.text import tokens
from tltui.widgets.bars import Hint, StatusBar


class Alone(App[None]):
    """The line, and nothing that would have it drawn again."""

    CSS = "StatusBar { height: 1; } Remark { width: 1fr; height: 1; } Position { height: 1; }"

    def compose(self) -> ComposeResult:
        yield StatusBar([Hint("q", "quit", "app.leave")])


async def test_a_remark_that_loses_its_room_goes_on_where_the_place_was() -> None:
    app = Alone()
    async with app.run_test(size=(78, 10)) as pilot:
        status, remark = app.query_one(StatusBar), "x" * 60
        status.place(["1/46"])
        status.show_message(remark)
        for width, said in ((78, [remark, "1/46"]), (70, [remark]), (78, [remark, "1/46"])):
            await pilot.resize_terminal(width, 10)
            await pilot.pause()
            assert screen_lines(app)[0].split() == said
            assert status.remark.is_long == (width == 70)


async def test_a_description_stays_until_the_cursor_moves() -> None:
    app = Alone()
    async with app.run_test(size=(78, 10)) as pilot:
        status = app.query_one(StatusBar)

        async def shown() -> str:
            await pilot.pause()
            return screen_lines(app)[0].strip()

        status.describe("x: an input")
        status.quiet()
        assert await shown() == "x: an input"
        status.describe("y: read by add")
        assert await shown() == "y: read by add"
        status.describe("")
        assert await shown() == "q quit"


async def test_a_remark_takes_the_place_of_a_description_and_goes_with_the_next_key() -> None:
    app = Alone()
    async with app.run_test(size=(78, 10)) as pilot:
        status = app.query_one(StatusBar)
        status.describe("x: an input")
        status.show_message("no such line", tokens.WARN)
        status.describe("y: read by add")
        await pilot.pause()
        assert screen_lines(app)[0].strip() == "no such line", "nobody can have read it"
        status.quiet()
        await pilot.pause()
        assert screen_lines(app)[0].strip() == "q quit"


async def test_the_keys_are_not_drawn_between_two_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    async with opened(DEMO) as driver:
        driver.browser.go("0:0/0:dynamo_output_graph", at=1)
        await driver.shown("0:0/0:dynamo_output_graph")
        driver.browser.document_view.focus()
        await driver.press("j")
        await driver.until(lambda: "read by" in driver.message)
        remark = driver.browser.status.remark
        set_ = remark.set
        monkeypatch.setattr(remark, "set", lambda left: (drawn.append(driver.message), set_(left)))
        await driver.press("j", "j")
        await driver.until(lambda: driver.message.startswith("l_x_ "))
        assert len(drawn) == 2 and all("read by" in text for text in drawn)
        monkeypatch.undo()
        await driver.press("tab")
        await driver.until(lambda: "read by" not in driver.message)
