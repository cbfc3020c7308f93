"""Keys of documents answer on every page: those of the run, those of the screen, and addresses that lead nowhere."""

from __future__ import annotations

import pytest
from opened import BREAKS, Driver, opened
from real import TRACES
from screen import screen_text

from tltui.commands import COMMANDS, Where
from tltui.model.ref import parse_ref
from tltui.questions.build import PLACES
from tltui.questions.index import BY_NAME, QUESTIONS
from tltui.questions.question import SORTED
from tltui.screens.child_processes import PAGE

RECOMPILES = TRACES / "torch-2.13" / "recompiles"
OF_A_COMPILE = ("@attempt:0/1_0", "@phase:0/1:dynamo#1", "@unit:0/1#1")
NO_ADDRESSES = ("no address", "@grep:\x00:#")
PAGES = [
    *(f"@{view.name}" for view in QUESTIONS), *(f"@{view.name}:0/1" for view in QUESTIONS), *OF_A_COMPILE,
    *(f"@{name}" for name in PLACES if name not in ("attempt", "phase", "unit")),
    "", "0/1", "0/", "0/1:dynamo_output_graph", "@record:#1", "@grep::graph", "@grep::(", "@source::main.py:3", "@diff::0/0%200/1",
    "@guide::hang", "@glossary::guard", "@help", "@marks", PAGE, "@nothing", "7/7", "@where:", *NO_ADDRESSES,
]  # fmt: skip


async def show(driver: Driver, ref: str) -> None:
    driver.browser.show_ref(ref)
    await driver.until(lambda: driver.browser.shown_ref == ref and driver.browser.is_at_rest)
    driver.browser.document_view.focus()
    await driver.pilot.pause()


async def test_every_page_is_sorted_or_has_one_order() -> None:
    async with opened(RECOMPILES) as driver:
        for ref in PAGES:
            await show(driver, ref)
            view = None if ref in NO_ADDRESSES else BY_NAME.get(parse_ref(ref).view)
            driver.browser.show_message("")
            await driver.pilot.press("S")
            expected = view.sort_label if view is not None and view.sorts else "this page has only one sort order"
            orders = getattr(driver.browser.document_view.document, "orders", ())
            if expected == SORTED and not orders:
                expected = "this page has no table to sort"
            await driver.until(lambda expected=expected: driver.message.startswith(expected))  # type: ignore[misc]
            assert driver.browser.shown_ref == ref


async def test_tables_are_sorted_by_the_columns_that_they_have() -> None:
    async with opened(BREAKS, size=(140, 50)) as driver:  # one rank: no column of ranks
        await show(driver, "@timing")
        for order, arrow in (
            ("total", "total ↓"), ("count", "count ↓"), ("longest", "longest ↓"),
            ("phase", "top phase ↑"), ("name", "event ↑"), ("own", "own ↓"),
        ):  # fmt: skip
            await driver.press("S")
            await driver.until(lambda order=order: driver.message.startswith(f"sorted by {order} "))  # type: ignore[misc]
            await driver.until(lambda arrow=arrow: arrow in screen_text(driver.app))  # type: ignore[misc]


async def test_memory_is_sorted_by_its_columns() -> None:
    async with opened(BREAKS, size=(140, 50)) as driver:
        await show(driver, "@memory")
        for order, arrow in (("size", "for backward ↓"), ("name", "function ↑"), ("forward", "forward peak ↓")):
            await driver.press("S")
            await driver.until(lambda order=order: driver.message.startswith(f"sorted by {order} "))  # type: ignore[misc]
            await driver.until(lambda arrow=arrow: arrow in screen_text(driver.app))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("page", "orders"),
    [("guards", (("guards", "guards ↓"), ("latency", "latency ↓"), ("name", "function ↑"), ("failed", "failed before ↓"))),
     ("warmup", (("time", "time ↓"), ("name", "function ↑"))),
     ("caches", (("compile", "compile ↑"), ("time", "time ↓"), ("name", "function ↑"))),
     ("metrics", (("sum", "sum ↓"), ("records", "records ↓"), ("max", "max ↓"), ("time", "time ↓"), ("name", "function ↑")))],
)  # fmt: skip
async def test_pages_are_sorted_by_their_columns(page: str, orders: tuple[tuple[str, str], ...]) -> None:
    async with opened(RECOMPILES, size=(140, 80)) as driver:
        await show(driver, f"@{page}")
        await driver.press("equals_sign")
        for order, arrow in orders:
            await driver.press("S")
            await driver.until(lambda order=order: driver.message.startswith(f"sorted by {order} "))  # type: ignore[misc]
            await driver.until(lambda arrow=arrow: arrow in screen_text(driver.app))  # type: ignore[misc]


async def test_the_processes_of_the_job_have_one_order() -> None:
    async with opened(BREAKS) as driver:
        await driver.press("P")
        await driver.shown(PAGE)
        await driver.press("S")
        await driver.until(lambda: driver.message.startswith("this page has only one sort order"))


@pytest.mark.parametrize("ref", [PAGE, "@marks", "@nothing", "no address"])
async def test_each_key_of_documents_answers_on_odd_pages(ref: str) -> None:
    """`opened` raises what a key fails with."""
    async with opened(BREAKS) as driver:
        for command in COMMANDS:
            if command.where is Where.DOCUMENT and command.keys:
                if driver.browser.shown_ref != ref:
                    await show(driver, ref)
                await driver.pilot.press(command.keys[0], "escape")
        await driver.press("b")
        await driver.until(lambda: driver.browser.is_at_rest)
