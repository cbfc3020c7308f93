"""Very many keys at once: moves are carried out together and lead where that many lead, no letter is lost, `q` comes soon."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from opened import Driver, opened
from real import TRACES
from textual import events

from tltui.screens.browser import Browser
from tltui.widgets import key_input
from tltui.widgets.document_view import DocumentView
from tltui.widgets.trace_tree import TraceTree

RECOMPILES = TRACES / "torch-2.13" / "recompiles"
CODE = "0/1:inductor_output_code"


def keys(*names: str) -> list[events.Key]:
    return [events.Key(name, name if len(name) == 1 else None) for name in names]


def send(driver: Driver, some: Iterable[events.Key]) -> None:
    """Keys that have all come before the first is taken."""
    for key in some:
        driver.app.post_message(key)


def counted(whose: type, name: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a method is called with from now on."""
    calls: list[Any] = []
    method = getattr(whose, name)

    def called(self: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        return method(self, *arguments, **options)

    monkeypatch.setattr(whose, name, called)
    return calls


async def show(driver: Driver, ref: str) -> DocumentView:
    driver.browser.show_ref(ref)
    await driver.shown(ref)
    await driver.until(lambda: driver.browser.is_at_rest)
    view = driver.browser.document_view
    view.focus()
    await driver.pilot.pause()
    return view


async def test_moves_lead_where_that_many_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(RECOMPILES) as driver:
        view = await show(driver, "@records")
        assert len(view.document) > 700
        calls = counted(DocumentView, "move_rows", monkeypatch)
        send(driver, keys(*"j" * 600, *"k" * 250, "down", *["up"] * 30, *"jk" * 500, "j"))
        await driver.until(lambda: view.current_line() == 600 - 250 + 1 - 30 + 1 and not driver.app.keys_wait)
        assert len(calls) < 1100, "600, 250 and 30 keys are a move each"
        send(driver, keys(*["pagedown"] * 5000, *["pageup"] * 5000, *"j" * 9))
        await driver.until(lambda: view.current_line() == 9 and not driver.app.keys_wait)
        assert driver.browser.shown_ref == "@records"


async def test_moves_in_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(RECOMPILES) as driver:
        tree = driver.browser.tree_view
        await driver.press("g")
        calls = counted(TraceTree, "move_to", monkeypatch)
        send(driver, keys(*"j" * 3000, *"k" * 3))
        await driver.until(lambda: not driver.app.keys_wait and tree._cursor == len(tree.outline) - 4)
        assert len(calls) < 20
        await driver.rest()


async def test_no_letter_of_a_text_is_lost() -> None:
    text = "".join(chr(ord("a") + n * n % 23) for n in range(3000))
    async with opened(RECOMPILES) as driver:
        await show(driver, CODE)
        send(driver, keys("slash", *text[:1500], "left", *text[1500:]))
        await driver.until(lambda: len(driver.prompt.text) == len(text))
        assert driver.prompt.text == text[:1499] + text[1500:] + text[1499]


async def test_the_key_that_opens_a_prompt_may_be_its_text() -> None:
    async with opened(RECOMPILES) as driver:
        await show(driver, CODE)
        send(driver, [events.Key("slash", "/") for _ in range(1000)])
        await driver.until(lambda: driver.prompt.text == "/" * 999)


async def test_too_much_of_one_key_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_input, "EQUAL", 40)
    async with opened(RECOMPILES) as driver:
        calls = counted(Browser, "action_next_recompile", monkeypatch)
        last = counted(Browser, "action_all_views", monkeypatch)
        send(driver, keys(*"r" * 2000, "0"))
        await driver.until(lambda: bool(last))
        assert 40 <= len(calls) <= 42


async def test_quit_is_not_lost_behind_them() -> None:
    async with opened(RECOMPILES) as driver:
        await show(driver, "@records")
        left = driver.app.exit
        ended: list[bool] = []
        driver.app.exit = lambda *_, **__: ended.append(True)  # type: ignore[assignment]
        send(driver, keys(*"j" * 10_000, "q"))
        await driver.until(lambda: bool(ended))
        driver.app.exit = left  # type: ignore[method-assign]
