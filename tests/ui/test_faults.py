"""A fault of ours, wherever it happens, costs what was being done: it is told, written down, and the program lives."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from opened import BREAKS, Driver, opened
from textual import events
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump

from tltui.screens import faults
from tltui.screens.browser import Browser
from tltui.text.document import Builder, Options
from tltui.text.growing import GrowingDocument
from tltui.widgets.document_view import DocumentView
from tltui.work.scheduler import Lane, Place, Steps


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


class Poke(Message):
    """Makes a handler fail."""


def fail(*_: object) -> None:
    raise ZeroDivisionError("a text of the trace")


async def lives(driver: Driver, home: Path) -> None:
    """It was told and written down, and keys work."""
    await driver.until(lambda: "ZeroDivisionError: this is a fault of tltui" in driver.said)
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
        await driver.until(lambda: "ZeroDivisionError" in driver.said)


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
        monkeypatch.setattr("tltui.documents.build.build", deep)
        driver.browser.show_ref("2/0")
        await driver.shown("2/0")
        assert "could not show this" in driver.browser.current_document.line(0).text
        assert "RecursionError" in driver.browser.current_document.line(1).text
        [log] = home.rglob("crash.log")
        assert "RecursionError" in log.read_text()


async def test_one_that_comes_again_and_again_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Browser, "on_poke", fail, raising=False)
    monkeypatch.setattr(faults, "SPAN", 60.0)
    with pytest.raises(ZeroDivisionError):
        async with opened(BREAKS, faults=True) as driver:
            for _ in range(faults.OFTEN):
                assert driver.app.is_running
                driver.browser.post_message(Poke())
                await driver.pilot.pause()
            await driver.until(lambda: not driver.app.is_running)


async def test_one_that_comes_now_and_then_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Browser, "on_poke", fail, raising=False)
    monkeypatch.setattr(faults, "SPAN", 0.0)
    async with opened(BREAKS, faults=True) as driver:
        for _ in range(faults.OFTEN + 5):
            driver.browser.post_message(Poke())
            await driver.pilot.pause()
        await driver.press("b")
        assert driver.app.is_running and driver.at == "2/0"


def test_what_is_overridden_is_as_it_was() -> None:
    """They are private names of Textual: a version that changes them must not be taken unseen."""
    assert str(inspect.signature(faults.DISPATCH)) == "(self, message: 'Message') -> 'None'"
    assert inspect.iscoroutinefunction(faults.DISPATCH)
    assert str(inspect.signature(App._handle_exception)) == "(self, error: 'Exception') -> 'None'"
    assert str(inspect.signature(App._fatal_error)) == "(self) -> 'None'"
    assert faults.DISPATCH.__module__ == "textual.message_pump"


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
        await faults.DISPATCH(self, message)

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
