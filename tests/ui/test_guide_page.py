"""The guide inside of the program: from `?` to a chapter, from there to the glossary, and back."""

from __future__ import annotations

from opened import BREAKS, Driver, opened
from real import TRACES

from tltui.widgets.document_view import DocumentView


async def to_link(driver: Driver, target: str) -> None:
    """The caret on a link of the page that is shown."""
    view = driver.browser.document_view
    line = next(n for n in range(len(view.document)) if any(link.target == target for link in view.document.line(n).links))
    view.focus()
    await driver.pilot.press("g", *["j"] * line)
    for _ in range(20):
        if any(link.target == target and link.start <= view._caret_column < link.end for link in view.document.line(line).links):
            return
        await driver.pilot.press("l")


async def test_help_leads_to_the_guide_and_its_words() -> None:
    async with opened(BREAKS) as driver:
        await driver.pilot.press("question_mark")
        await driver.shown("@help")
        await to_link(driver, "@guide")
        await driver.pilot.press("enter")
        await driver.shown("@guide")
        await to_link(driver, "@guide::graph-breaks")
        await driver.pilot.press("enter")
        await driver.shown("@guide::graph-breaks")
        assert "graph break" in "\n".join(driver.browser.document_view.document.text())
        await to_link(driver, "@glossary::graph-break")
        await driver.pilot.press("enter")
        await driver.shown("@glossary::graph-break")
        await driver.pilot.press("backspace")
        await driver.shown("@guide::graph-breaks")


async def test_in_provenance_mode_the_guide_opens_where_help_is() -> None:
    async with opened(TRACES / "torch-2.13" / "train") as driver:
        driver.browser.go("0/0")
        await driver.shown("0/0")
        await driver.pilot.press("p")
        await driver.until(lambda: driver.app.screen is not driver.browser)
        await driver.pilot.press("question_mark")
        view = driver.app.screen.query_one("#help", DocumentView)
        await driver.until(lambda: view.document.ref == "@help")
        view.move_to(next(n for n in range(len(view.document)) if view.document.line(n).links), 0)
        await driver.pilot.press("enter")
        await driver.until(lambda: view.document.ref == "@guide")
        await driver.pilot.press("escape")
        await driver.until(lambda: not driver.app.screen.is_helping)
