"""In each place the help lists the keys that work there, and all of them."""

from __future__ import annotations

from typing import Any

import pytest
from opened import Driver, opened
from real import DEMO, TRACES
from screen import screen_text, until
from textual.app import App

from tltui.app import UiSettings
from tltui.commands import BY_ID, Where, commands_for, commands_here, commands_of
from tltui.config import Config
from tltui.list_app import RunListApp
from tltui.questions.compare import run_list_page
from tltui.screens.compare import CompareScreen
from tltui.screens.palette import help_document
from tltui.screens.provenance import ProvenanceScreen
from tltui.screens.run_list import RunChoice
from tltui.screens.workbench import Workbench

pytestmark = pytest.mark.usefixtures("home")

OF_PANE = {
    "provenance.follow": "document.follow", "compare.fold": "document.fold", "compare.next_change": "document.next_section",
    "compare.previous_change": "document.previous_section", "compare.unfold_all": "document.unfold_all",
    "compare.fold_all": "document.fold_all",
}  # fmt: skip
"""Command of a mode → the command of its panes that has the same key and does it."""


def active_keys(app: App[Any]) -> dict[str, str]:
    """Return the commands that keys run now, by key."""
    bindings = ((key, active.binding.id) for key, active in app.screen.active_bindings.items() if active.enabled)
    return {key: name for key, name in bindings if name in BY_ID}


def check(app: App[Any], where: Where) -> None:
    """Compare the listed keys of the screen in front with those that work."""
    screen = app.screen
    assert isinstance(screen, Workbench)
    now = screen.situation()
    assert now.where is where
    here, active = commands_here(now), active_keys(app)
    for command in here:
        for key in command.keys[:1]:
            assert active[key] in (command.id, OF_PANE.get(command.id)), (command.id, key)
    listed = {*(command.id for command in here), *OF_PANE.values()}
    available = {command.id for command in commands_for(now)}
    unlisted = {name for name in active.values() if name in available and name not in listed}
    assert not unlisted, "a key works and is not listed"
    lines = list(help_document(False, Config(), 100, now, "here").text())
    assert "Keys: everywhere" not in lines and f"Keys: {where.value}" in lines


async def show(driver: Driver, ref: str) -> None:
    driver.browser.go(ref)
    await driver.until(lambda: driver.browser.shown_ref == ref and driver.browser.is_at_rest)
    driver.browser.document_view.focus()
    await driver.pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_main_screen(size: tuple[int, int]) -> None:
    async with opened(DEMO, size=size) as driver:
        check(driver.app, Where.TREE)
        for ref in ("@timing", "@guards", "0:0/0", "0:0/0:inductor_output_code#1", "@grep::clamp", "@pages"):
            await show(driver, ref)
            check(driver.app, Where.DOCUMENT)
        await driver.press("question_mark")
        await driver.shown("@help")
        check(driver.app, Where.DOCUMENT)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_provenance_mode(size: tuple[int, int]) -> None:
    async with opened(DEMO, size=size) as driver:
        await show(driver, "0:0/0")
        await driver.press("p")
        await driver.until(lambda: isinstance(driver.app.screen, ProvenanceScreen) and driver.app.screen.unit is not None)
        await driver.pilot.pause()
        check(driver.app, Where.PROVENANCE)
        for key in ("o", "s", "b", "1", "ctrl+r"):
            await driver.press(key)
            assert f"No command on {key} here." in screen_text(driver.app)


async def test_comparing() -> None:
    async with opened(TRACES / "torch-2.13" / "recompiles", size=(160, 30)) as driver:
        await show(driver, "0/1:inductor_output_code")
        await driver.press("D")
        await driver.until(lambda: isinstance(driver.app.screen, CompareScreen) and driver.app.screen.sides is not None)
        await driver.pilot.pause()
        check(driver.app, Where.COMPARE)


async def test_the_list_of_runs() -> None:
    directory = str(TRACES / "recompiled")
    app_settings = UiSettings(Config(), "dark", False, True)
    app = RunListApp(RunChoice(directory, run_list_page.entry_names(directory)[:3], "began"), app_settings)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.list_screen.choice.has_runs and not app.list_screen.choice.unread)
        await pilot.pause()
        check(app, Where.LIST)


def test_each_place_has_keys_of_its_own() -> None:
    for where in Where:
        keys = [key for command in commands_of(where) for key in command.keys]
        assert len(keys) == len(set(keys)), where


async def test_c_leads_to_generated_code_from_anywhere() -> None:
    async with opened(DEMO, untouched=True) as driver:
        await driver.press("c")
        await driver.until(lambda: driver.browser.shown_ref == "0:0/0:inductor_output_code#1")
        await driver.press("c")
        await driver.until(lambda: driver.browser.shown_ref == "0:0/0:inductor_output_code#2")
    async with opened(TRACES / "torch-2.13" / "errors", untouched=True) as driver:
        await driver.press("c")
        await driver.until(lambda: "no compile in this run has generated code" in driver.message)


async def test_raw_text_is_offered_for_artifacts_only() -> None:
    async with opened(DEMO) as driver:
        await show(driver, "@guards")
        await driver.press("i")
        assert "only artifacts and the output of the job have a stored text" in driver.message
        assert BY_ID["app.raw"] not in commands_here(driver.browser.situation())
        await show(driver, "0:4/1:recompile_reasons")
        assert BY_ID["app.raw"] in commands_here(driver.browser.situation())
        await driver.press("i")
        await driver.until(lambda: "as it was stored" in driver.message)
