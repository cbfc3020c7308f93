"""The line below: a remark, and the place in the document at its right."""

from __future__ import annotations

from screen import screen_lines
from textual.app import App, ComposeResult

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
