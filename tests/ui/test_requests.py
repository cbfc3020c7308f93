"""What is shown can be made again, whatever made it: after a resize, while the run grows, in another layout."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from opened import BREAKS, Driver, log_of, opened
from screen import screen_text

from tltui.model.ref import parse_ref
from tltui.model.run import Run
from tltui.questions.build import build, module_of
from tltui.questions.index import QUESTIONS
from tltui.screens.requests import has_grown
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Builder, Document, Options, TextDocument
from tltui.work.reader_threads import Scan

pytestmark = pytest.mark.usefixtures("home")


async def marked(driver: Driver) -> None:
    """The page of marks, with one mark."""
    await driver.press("m")
    await driver.type("look here")
    await driver.press("enter", "apostrophe")
    await driver.until(lambda: driver.title == "marks")


async def is_made_again(driver: Driver, before: Any) -> None:
    await driver.until(lambda: driver.browser.current_document is not before)
    assert driver.title == "marks" and driver.browser.shown_ref == "@marks"
    assert "look here" in screen_text(driver.app) and "cannot show" not in screen_text(driver.app)


async def test_marks_after_a_resize() -> None:
    async with opened(BREAKS) as driver:
        await marked(driver)
        before = driver.browser.current_document
        await driver.pilot.resize_terminal(110, 30)
        await is_made_again(driver, before)


async def test_marks_laid_out_again() -> None:
    async with opened(BREAKS) as driver:
        await marked(driver)
        before = driver.browser.current_document
        driver.browser.reload()
        await is_made_again(driver, before)


async def test_marks_have_no_stored_text() -> None:
    async with opened(BREAKS) as driver:
        await marked(driver)
        await driver.press("i")
        await driver.until(lambda: "only artifacts and the output of the job have a stored text" in driver.message)
        assert driver.title == "marks" and "look here" in screen_text(driver.app)


async def test_marks_at_the_end_of_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = Scan.start
    held: list[Scan] = []

    def hold(scan: Scan) -> None:
        held.append(scan)

    monkeypatch.setattr(Scan, "start", hold)
    trace = tmp_path / "dedicated_log_torch_trace_x.log"
    trace.write_bytes(log_of([(0, 3, "f"), (1, 2, "bad")]))
    async with opened(trace, wait=False) as driver:
        await driver.until(lambda: bool(held))
        await marked(driver)
        before = driver.browser.current_document
        start(held[0])
        await driver.until(lambda: driver.browser.trace.finished)
        await is_made_again(driver, before)


async def test_marks_are_come_back_to() -> None:
    async with opened(BREAKS) as driver:
        await marked(driver)
        driver.browser.go("0/0")
        await driver.shown("0/0")
        await driver.press("backspace")
        await driver.until(lambda: driver.title == "marks")
        assert "look here" in screen_text(driver.app)
        await driver.press("alt+right")
        await driver.shown("0/0")


async def test_a_page_that_was_left_before_it_was_complete_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(builder: Builder) -> Iterator[None]:
        for number in range(1000):
            builder.add(f"line {number}")
            if not hasty:
                time.sleep(0.005)
            yield

    def slow(run: Run, ref: str, options: Options) -> Document:
        return GrowingDocument(ref, ref, options, fill) if ref == "@slow" else build(run, ref, options)

    hasty: list[bool] = []
    async with opened(BREAKS) as driver:
        monkeypatch.setattr("tltui.questions.build.build", slow)
        driver.browser.show_ref("@slow")
        await driver.shown("@slow")
        left, begun = driver.browser.current_document, len(driver.browser.current_document)
        await driver.until(lambda: len(left) > begun)
        driver.browser.show_ref("2/0")
        await driver.shown("2/0")
        await driver.until(lambda: left.complete)
        assert "Stopped. This page" in list(left.text())[-1]
        hasty.append(True)
        await driver.press("backspace")
        await driver.shown("@slow")
        await driver.until(lambda: driver.browser.current_document.complete)
        assert [*driver.browser.current_document.text()] == [f"line {number}" for number in range(1000)]


async def test_a_page_is_made_once_while_the_run_stays_as_it_is() -> None:
    async with opened(BREAKS) as driver:
        seen = []
        for ref in ("@recompiles", "@timing", "@recompiles"):
            driver.browser.show_ref(ref)
            await driver.shown(ref)
            await driver.until(lambda: driver.browser.current_document.complete)
            seen.append(driver.browser.current_document)
        assert seen[0] is seen[2] and seen[0] is not seen[1]


async def test_another_width_takes_nothing_away() -> None:
    """The filter, the lines that were selected and the line under the cursor."""
    async with opened(BREAKS) as driver:
        view = driver.browser.document_view
        await driver.press("1", "tab")
        await driver.until(lambda: driver.browser.shown_ref == "" and view.has_focus and driver.browser.is_at_rest)
        await driver.press("f")
        await driver.type("Graph breaks")
        await driver.press("enter")
        await driver.until(lambda: view.filter_text == "Graph breaks" and driver.browser.is_at_rest)
        await driver.press("G", "V")
        await driver.until(lambda: view.selected_lines() is not None)
        document, said = view.document, view.document.line(view.cursor[0]).text
        await driver.pilot.resize_terminal(104, 40)
        await driver.until(lambda: view.document is not document and driver.browser.is_at_rest)
        line = view.cursor[0]
        assert view.document.line(line).text == said
        assert view.filter_text == "Graph breaks" and view.selected_lines() is not None
        assert (view.selected_lines() or (0,))[0] == line


async def test_a_line_that_was_asked_for_is_gone_to_also_when_the_width_changes_meanwhile() -> None:
    async with opened(BREAKS) as driver:
        browser = driver.browser
        browser.show_ref("@problems", at=4)
        browser.lay_out_again()
        await driver.until(lambda: browser.document_view.document.ref == "@problems" and browser.is_at_rest)
        assert browser.document_view.cursor[0] == 4


def test_a_page_does_not_grow_while_the_module_that_makes_such_pages_is_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "tltui.questions.records.log_page"
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert not has_grown(TextDocument("", "a page", []))


def test_the_modules_of_pages_are_there() -> None:
    refs = ("", "@run", "@summary", "@log", "0/0", *(f"@{view.name}" for view in QUESTIONS))
    modules = {module_of(parse_ref(ref)) for ref in refs}
    assert len(modules) == len(QUESTIONS) + 1  # one for the overview, '' for two
    assert all(find_spec(module) for module in modules if module)
