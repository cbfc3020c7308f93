"""A reason of a recompile leads to the line of the guard that failed."""

from __future__ import annotations

from opened import opened
from real import TRACES

RECOMPILES = TRACES / "torch-2.13" / "recompiles"


async def test_enter_on_a_reason_goes_to_the_guards_line() -> None:
    async with opened(RECOMPILES) as driver:
        driver.browser.go("@recompiles")
        await driver.shown("@recompiles")
        view = driver.browser.document_view
        await driver.until(lambda: view.document.complete)
        targets = [link.target for n in range(len(view.document)) for link in view.document.line(n).links]
        assert "0/0:dynamo_cpp_guards_str@L11" in targets
        driver.browser.go("0/0:dynamo_cpp_guards_str@L11")
        await driver.shown("0/0:dynamo_cpp_guards_str")
        await driver.until(lambda: view.current_line() == 10)
        assert "TENSOR_MATCH" in view.document.line(view.current_line()).text
        await driver.press("backspace")
        await driver.shown("@recompiles")


async def test_the_keys_of_the_views() -> None:
    async with opened(RECOMPILES) as driver:
        await driver.press("3")
        await driver.shown("@recompiles")
        await driver.press("5")
        await driver.shown("@guards")
