"""Keys that zoom in the charts of a page and move in them."""

from __future__ import annotations

from opened import BREAKS, opened
from real import DEMO
from screen import screen_text

from tltui.documents.format import seconds


async def test_keys_show_a_part_of_the_time_and_all_of_it_again() -> None:
    async with opened(DEMO, size=(140, 40)) as driver:
        await driver.press("8")
        await driver.shown("@timing")
        await driver.until(lambda: "Ranks over time" in screen_text(driver.app) and driver.browser.is_at_rest)
        whole = [line for line in screen_text(driver.app).splitlines() if " rank " in line]
        [total] = driver.browser.document_view.document.chart_seconds  # type: ignore[attr-defined]
        for key, shown in (
            ("comma", "the chart shows all of the time"), ("underscore", "the chart shows all of the time"),
            ("plus", (0.25, 0.75)), ("full_stop", (0.5, 1.0)), ("full_stop", "the chart shows no more on this side"),
            ("plus", (0.625, 0.875)), ("comma", (0.5, 0.75)), ("underscore", (0.375, 0.875)),
        ):  # fmt: skip
            message = shown if isinstance(shown, str) else " to ".join(seconds(share * total) for share in shown)
            await driver.press(key)
            await driver.until(lambda message=message: driver.message.startswith(message))  # type: ignore[misc]
        await driver.until(lambda: f" {seconds(0.375 * total)} " in screen_text(driver.app) and " 10 s " in screen_text(driver.app))
        await driver.press("Z")
        await driver.until(lambda: driver.message.startswith("all of the time"))
        await driver.until(lambda: [line for line in screen_text(driver.app).splitlines() if " rank " in line] == whole)


async def test_the_cursor_stays_and_another_page_shows_all() -> None:
    async with opened(BREAKS, size=(140, 50)) as driver:
        driver.browser.show_ref("@timing:0/0")
        await driver.shown("@timing:0/0")
        await driver.until(lambda: "Flame graph: 5.93 s" in screen_text(driver.app) and driver.browser.is_at_rest)
        driver.browser.document_view.focus()
        view = driver.browser.document_view
        line = next(n for n in range(len(view.document)) if "create_aot" in view.document.line(n).text)
        view.goto_line(line + 1)
        await driver.press("plus", "plus")
        await driver.until(lambda: "before and after" in screen_text(driver.app) and driver.browser.is_at_rest)
        assert "create_aot" in view.document.line(view.current_line()).text
        await driver.press("1", "plus")
        await driver.until(lambda: driver.message.startswith("this page has no chart over time"))
        assert driver.browser.window == (0.0, 1.0)
        await driver.press("backspace")
        await driver.until(lambda: "Flame graph: 5.93 s" in screen_text(driver.app) and driver.browser.is_at_rest)
        assert "before and after" not in screen_text(driver.app)


async def test_the_footer_names_the_key_where_there_is_a_chart() -> None:
    async with opened(DEMO, size=(140, 40)) as driver:
        driver.browser.document_view.focus()
        await driver.press("8")
        await driver.shown("@timing")
        await driver.press("j")
        await driver.until(lambda: "+ zoom" in screen_text(driver.app).splitlines()[-1])
        await driver.press("5")
        await driver.shown("@guards")
        await driver.press("j")
        await driver.until(lambda: "+ zoom" not in screen_text(driver.app).splitlines()[-1])
