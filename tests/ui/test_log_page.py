"""What a job printed, on the screen: from a line to its compile, from an artifact to its lines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from opened import Driver
from screen import screen_text
from text_runs import found_text

from tltui.app import TltuiApp
from tltui.config import Config
from tltui.model.run import Run
from tltui.questions.records.log_page import LogDocument

RANKS = "ranks_merged/stderr.txt.xz"


@asynccontextmanager
async def shown(name: str) -> AsyncIterator[Driver]:
    app = TltuiApp(Run(found_text(name)), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=(120, 40)) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.browser.is_mounted and app.browser.trace.finished and app.browser.is_at_rest)
        yield driver
    assert app.faults == []


async def test_a_line_leads_to_its_artifact_and_the_artifact_to_its_lines() -> None:
    async with shown(RANKS) as driver:
        await driver.press("O")
        await driver.shown("@log")
        document = driver.browser.document_view.document
        assert isinstance(document, LogDocument)
        line = next(n for n in range(len(document)) if "[__recompiles] Recompiling function" in document.line(n).text)
        driver.browser.go("@log", at=line)
        await driver.until(lambda: driver.browser.document_view.cursor[0] == line)
        await driver.press("enter")
        await driver.shown("1:1/1:recompile_reasons")
        await driver.press("O")
        await driver.until(lambda: driver.browser.shown_ref.startswith("@log:1"))
        await driver.until(lambda: driver.browser.document_view.cursor[0] == line)
        assert "[rank1]:V1121 19:00:36.593000 8730" in screen_text(driver.app)


async def test_the_list_of_pages_names_it_with_its_key() -> None:
    async with shown(RANKS) as driver:
        await driver.press("0")
        await driver.shown("@pages")
        line = next(line for line in driver.browser.document_view.document.text() if " log " in line)
        assert line.split()[:2] == ["O", "log"]


async def test_the_first_screen_says_who_died_first() -> None:
    async with shown(RANKS) as driver:
        await driver.until(lambda: "rank 1 failed first (exit code 1): RuntimeError: rank 1 gives up" in screen_text(driver.app))
        assert "killed" not in screen_text(driver.app) and "missing" not in screen_text(driver.app)


async def test_sections_of_the_log_are_compiles_and_failures() -> None:
    async with shown("crash/stderr.txt.xz") as driver:
        await driver.press("O")
        await driver.shown("@log")
        await driver.until(lambda: driver.browser.document_view.document.complete)
        for _ in range(5):
            await driver.press("}")
        line = driver.browser.document_view.document.line(driver.browser.document_view.cursor[0]).text
        assert line.startswith("Traceback (most recent call last):")
