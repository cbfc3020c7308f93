"""A fault of ours, wherever it happens, costs what was being done: it is told, written down, and the program lives."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opened import BREAKS, Driver, opened
from screen import screen_text
from textual import events
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump

from tltui import app as app_module
from tltui.crash import LARGEST, crash_log
from tltui.screens.browser import Browser
from tltui.screens.live_updates import LiveUpdates
from tltui.screens.provenance import ProvenanceScreen
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Builder, Options
from tltui.widgets.document_view import DocumentView
from tltui.work.scheduler import Lane, Place, Steps

pytestmark = pytest.mark.usefixtures("home")


class Poke(Message):
    """Makes a handler fail."""


def fail(*_: object, **__: object) -> None:
    raise ZeroDivisionError("a text of the trace")


async def lives(driver: Driver, home: Path) -> None:
    """It was told and written down, and keys work."""
    await driver.until(lambda: "ZeroDivisionError: internal error in tltui" in driver.message)
    [log] = home.rglob("crash.log")
    assert "ZeroDivisionError" in log.read_text() and "in fail" in log.read_text()
    assert "a text of the trace" not in log.read_text()
    await driver.press("b")
    assert driver.at == "2/0"
    await driver.shown("2/0")


@pytest.mark.parametrize("whose", [Browser, DocumentView])
async def test_in_a_message_handler(whose: type, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whose, "on_poke", fail, raising=False)
    async with opened(BREAKS, faults=True) as driver:
        pump = driver.browser if whose is Browser else driver.browser.document_view
        pump.post_message(Poke())
        await lives(driver, home)
        driver.browser.user_acts()
        pump.post_message(Poke())  # the same loop still takes messages
        await driver.until(lambda: "ZeroDivisionError" in driver.message)


@pytest.mark.parametrize("later", [
    lambda browser: browser.set_timer(0.001, fail), lambda browser: browser.call_later(fail),
    lambda browser: browser.call_next(fail), lambda browser: browser.call_after_refresh(fail),
    lambda browser: browser.set_timer(0.001, lambda: browser.call_next(fail)),
])  # fmt: skip
async def test_in_a_timer_or_callback(later: Callable[[Browser], object], home: Path) -> None:
    async with opened(BREAKS, faults=True) as driver:
        later(driver.browser)
        await lives(driver, home)


@pytest.mark.parametrize("place", Place)
async def test_in_a_task(place: Place, home: Path) -> None:
    def failing() -> Steps:
        yield place
        fail()

    async with opened(BREAKS, faults=True) as driver:
        driver.app.scheduler.do(failing(), lane=Lane.LATER)
        await lives(driver, home)


async def test_in_a_page_that_grows(home: Path) -> None:
    def fill(builder: Builder) -> Steps:
        builder.add("the first line")
        while not go:
            yield None
        fail()

    go: list[bool] = []
    document = GrowingDocument("@x", "x", Options(), fill)
    async with opened(BREAKS, faults=True) as driver:
        driver.browser.document_view.show(document)
        go.append(True)
        await lives(driver, home)


async def test_in_what_a_document_is_made_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deep(*given: object) -> None:
        deep(*given)

    async with opened(BREAKS, faults=True) as driver:
        monkeypatch.setattr("tltui.questions.build.build", deep)
        driver.browser.show_ref("2/0")
        await driver.shown("2/0")
        assert "cannot show this page" in driver.browser.current_document.line(0).text
        assert "RecursionError" in driver.browser.current_document.line(1).text
        [log] = home.rglob("crash.log")
        assert "RecursionError" in log.read_text()


async def test_one_that_comes_again_and_again_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Browser, "on_poke", fail, raising=False)
    monkeypatch.setattr(app_module, "SPAN", 60.0)
    with pytest.raises(ZeroDivisionError):
        async with opened(BREAKS, faults=True) as driver:
            for _ in range(app_module.OFTEN):
                assert driver.app.is_running
                driver.browser.post_message(Poke())
                await driver.pilot.pause()
            await driver.until(lambda: not driver.app.is_running)


async def test_one_that_comes_now_and_then_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Browser, "on_poke", fail, raising=False)
    monkeypatch.setattr(app_module, "SPAN", 0.0)
    async with opened(BREAKS, faults=True) as driver:
        for _ in range(app_module.OFTEN + 5):
            driver.browser.post_message(Poke())
            await driver.pilot.pause()
        await driver.press("b")
        assert driver.app.is_running and driver.at == "2/0"


def test_what_is_overridden_is_as_it_was() -> None:
    """They are private names of Textual: a version that changes them must not be taken unseen."""
    assert str(inspect.signature(app_module.DISPATCH)) == "(self, message: 'Message') -> 'None'"
    assert inspect.iscoroutinefunction(app_module.DISPATCH)
    assert str(inspect.signature(App._handle_exception)) == "(self, error: 'Exception') -> 'None'"
    assert str(inspect.signature(App._fatal_error)) == "(self) -> 'None'"
    assert app_module.DISPATCH.__module__ == "textual.message_pump"


class Plain(App[None]):
    """An app that has nothing of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def _handle_exception(self, error: Exception) -> None:
        self.heard.append("exception")
        self.exit()

    def on_poke(self) -> None:
        fail()


async def test_textual_calls_what_is_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Plain()

    async def dispatch(self: MessagePump, message: Message) -> None:
        app.heard.append(type(message).__name__)
        await app_module.DISPATCH(self, message)

    monkeypatch.setattr(MessagePump, "_dispatch_message", dispatch)
    async with app.run_test() as pilot:
        app.set_timer(0.001, fail)
        while "exception" not in app.heard:
            await pilot.pause(0.01)
    assert events.Mount.__name__ in app.heard


async def test_another_app_is_left_alone() -> None:
    async with opened(BREAKS):
        pass
    app = Plain()
    async with app.run_test():
        app.post_message(Poke())
        while "exception" not in app.heard:
            await asyncio.sleep(0.01)


async def test_what_fails_while_it_is_left_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Browser, "on_unmount", fail)
    monkeypatch.setattr(Browser, "on_poke", fail, raising=False)
    async with opened(BREAKS) as driver:
        driver.app.exit()
        driver.browser.post_message(Poke())
    assert driver.app.return_code == 0


async def test_what_fails_before_it_has_begun_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Browser, "on_mount", fail)
    with pytest.raises(ZeroDivisionError):
        async with opened(BREAKS, wait=False, faults=True):
            pass


# planted in our own code, wherever it runs

PRESS = {
    "tltui.screens.compile_navigation.CompileWalk.error": ("e",),
    "tltui.screens.browser.BrowserCommands.action_view": ("2",),
    "tltui.widgets.document_view.DocumentView.action_cursor_down": ("tab", "j"),
    "tltui.widgets.trace_tree.TraceTree.move_to": ("j",),
    "tltui.screens.main_screen.MainScreen.show": ("2",),
    "tltui.screens.main_screen.MainScreen._ready": ("2",),
    "tltui.screens.main_screen.MainScreen.follow": ("j",),
    "tltui.widgets.bars.StatusBar.place": ("tab", "j"),
    "tltui.screens.marks.MarkCommands.mark": ("m",),
    "tltui.screens.palette.GoTo.listed": ("o",),
    "tltui.screens.palette.GoTo.entered": ("o", "2", "enter"),
    "tltui.screens.palette.Palette.listed": ("ctrl+p",),
    "tltui.screens.palette.Palette.entered": ("ctrl+p", "enter"),
    "tltui.screens.prompts.Question.typed": ("f", "x"),
    "tltui.widgets.trace_tree.TraceTree.set_filter": ("f", "x", "enter"),
    "tltui.screens.workbench.copy": ("y",),
    "tltui.screens.provenance.ProvenanceScreen.compose_panes": ("p",),
    "tltui.screens.provenance.ProvenanceScreen.on_mount": ("p",),
    "tltui.screens.provenance.ProvenanceScreen._show": ("p",),
    "tltui.screens.provenance.ProvenanceScreen._follow": ("p",),
    "tltui.screens.palette.help_document": ("question_mark",),
}  # fmt: skip
"""What fails → the keys that lead there."""


@pytest.mark.parametrize("name", PRESS)
async def test_in_what_a_key_does(name: str, home: Path) -> None:
    async with opened(BREAKS, faults=True) as driver:
        with pytest.MonkeyPatch.context() as planted:
            planted.setattr(name, fail)
            await driver.press(*PRESS[name])
            await driver.until(lambda: driver.app.faults or "cannot show" in driver.browser.current_document.line(0).text)
            await driver.press("escape", "escape", "escape")
            await driver.until(lambda: driver.app.screen is driver.browser)
        await driver.press("g", "1", "b")
        assert driver.at == "2/0" or driver.at == "0/0"
        await driver.rest()
        await driver.press("2")
        await driver.shown("@problems")
        [log] = home.rglob("crash.log")
        assert "ZeroDivisionError" in log.read_text() and "a text of the trace" not in log.read_text()


MOUSE = {
    "tltui.widgets.trace_tree.TraceTree.on_click": [events.MouseDown, events.MouseUp, events.Click],
    "tltui.widgets.document_search.SelectingCanvas.on_mouse_down": [events.MouseDown, events.MouseUp],
    "tltui.widgets.document_search.SelectingCanvas.on_mouse_up": [events.MouseDown, events.MouseUp],
    "tltui.widgets.document_search.SelectingCanvas.on_mouse_move": [events.MouseMove],
    "tltui.widgets.document_search.SelectingCanvas.wheel": [events.MouseScrollDown],
    "tltui.widgets.document_canvas.DocumentCanvas.watch_scroll_y": [events.MouseScrollDown],
}


@pytest.mark.parametrize("name", MOUSE)
async def test_in_what_the_mouse_does(name: str) -> None:
    async with opened(BREAKS, faults=True) as driver:
        pane = driver.browser.tree_view if "tree" in name else driver.browser.document_view
        x, y = pane.content_region.x + 8, pane.content_region.y + 3
        with pytest.MonkeyPatch.context() as planted:
            planted.setattr(name, fail)
            for kind in MOUSE[name]:
                await driver.pilot._post_mouse_events([kind], offset=(x, y), button=1)
            await driver.until(lambda: driver.app.faults)
        await driver.pilot._post_mouse_events([events.MouseUp], offset=(x, y), button=1)
        assert driver.app.mouse_captured is None
        await driver.press("g", "b", "2")
        await driver.shown("@problems")


DRAWN = {
    "tltui.widgets.document_canvas.DrawnDocument._fragment": "document",
    "tltui.widgets.trace_tree.TreeCanvas._segments": "tree",
    "tltui.widgets.bars.Bar._segment": "run-bar",
}


@pytest.mark.parametrize("name", DRAWN)
async def test_in_drawing(name: str) -> None:
    """The rows say it, however often they are drawn; it is told once, and the rest of the screen goes on."""
    async with opened(BREAKS, faults=True) as driver:
        with pytest.MonkeyPatch.context() as planted:
            planted.setattr(name, fail)
            for key in ("2", "tab", "j", "k", "g", "0"):
                await driver.press(key)
                driver.browser.query_one(f"#{DRAWN[name]}").refresh()
                await driver.pilot.pause()
            await driver.until(lambda: "cannot draw this: ZeroDiv" in screen_text(driver.app))
            await driver.until(lambda: driver.app.faults)
            assert driver.app.is_running and len(driver.app.faults) == 1, driver.app.faults
        driver.app.screen.refresh(layout=True)
        for widget in driver.browser.query("*"):
            widget.refresh()
        await driver.pilot.pause()
        assert "cannot draw" not in screen_text(driver.app)
        await driver.press("2")
        await driver.shown("@problems")


async def test_in_taking_over_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs the batch: reading goes on, to its end."""
    plain, calls = LiveUpdates._apply, []

    def now_and_then(self: LiveUpdates, event: Any) -> None:
        calls.append(event)
        if len(calls) < 7:
            fail()
        plain(self, event)

    monkeypatch.setattr(LiveUpdates, "_apply", now_and_then)
    paths = [BREAKS, BREAKS.parent / "train", BREAKS.parent / "recompiles", BREAKS.parent / "shapes", BREAKS.parent / "errors"]
    async with opened(*paths, wait=False, faults=True) as driver:
        await driver.until(lambda: driver.app.faults and driver.browser.following._is_read)
        await driver.press("0")
        await driver.shown("@pages")


async def test_what_cannot_leave_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.screens.child_processes.JobControl.leave", fail)
    for key in ("q", "ctrl+q"):
        async with opened(BREAKS, faults=True) as driver:
            await driver.press(key)
            await driver.until(lambda: not driver.app.is_running)


async def test_a_mode_that_cannot_close_itself_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.screens.provenance.ProvenanceScreen.action_close", fail)
    async with opened(BREAKS, faults=True) as driver:
        await driver.press("p")
        await driver.until(lambda: isinstance(driver.app.screen, ProvenanceScreen))
        await driver.press("escape")
        await driver.until(lambda: driver.app.screen is driver.browser)
        await driver.press("2")
        await driver.shown("@problems")


def test_the_cause_stays_beside_its_consequences(home: Path) -> None:
    for error in (ZeroDivisionError("a text"), KeyError("another")):
        path = crash_log(error)
    assert path.endswith("crash.log")
    [log] = home.rglob("crash.log")
    assert [line for line in log.read_text().splitlines() if "Error" in line] == ["ZeroDivisionError", "KeyError"]
    assert "tltui" in log.read_text() and "a text" not in log.read_text() and log.stat().st_mode & 0o777 == 0o600
    with log.open("a") as file:
        file.write("x" * LARGEST)
    crash_log(ValueError())
    assert log.read_text().startswith("ValueError\n") and len(log.read_text()) < 200
