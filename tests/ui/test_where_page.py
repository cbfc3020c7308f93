"""The page where, by its key."""

from __future__ import annotations

from opened import TRACES, opened


async def test_the_key_shows_where_it_hangs_and_enter_goes_there() -> None:
    async with opened(TRACES / "hangs" / "ranks") as driver:
        await driver.pilot.press("W")
        await driver.shown("@where")
        view = driver.browser.document_view
        await driver.until(lambda: view.document.complete)
        lines = list(view.document.text())
        assert lines[0].startswith("At the end of its log rank 2 was in block1 [2/0]: backend_compile")
        view.focus()
        for _ in range(next(n for n, line in enumerate(lines) if "rank 2  block1" in line)):
            await driver.pilot.press("j")
        await driver.pilot.press("enter")
        await driver.shown("2:2/0")
