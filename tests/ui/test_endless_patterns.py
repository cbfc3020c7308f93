"""A regular expression that would run for ever never stops the program: esc ends it, and work goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from opened import Driver, opened
from screen import screen_text

pytestmark = pytest.mark.usefixtures("home")

BOMB = "(a+)+$"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that match."""
    found: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def heard(*given: Any, **options: Any) -> subprocess.Popen[bytes]:
        found.append(start(*given, **options))
        return found[-1]

    monkeypatch.setattr("tltui.text.search.child_process.subprocess.Popen", heard)
    return found


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    envelope = '{"inductor_output_code": {}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "0"}'
    log = tmp_path / "dedicated_log_torch_trace_x.log"
    body = ["first = 1", "aaa", "a" * 60 + "!", "last = 2", "aaaa"]
    log.write_text(f"V1120 10:00:00.000000 1 x.py:1] {envelope}\n\t" + "\n\t".join(body) + "\n")
    return log


async def ended(driver: Driver, started: list[subprocess.Popen[bytes]]) -> None:
    """Nothing runs any more, and keys do what they do."""
    await driver.until(lambda: started and all(process.poll() is not None for process in started))
    driver.browser.show_ref("@problems")
    await driver.shown("@problems")
    await driver.until(lambda: driver.browser.current_document.complete)
    driver.browser.show_ref("0/0:inductor_output_code")
    await driver.shown("0/0:inductor_output_code")
    driver.browser.document_view.focus()
    await driver.press("g", "slash")
    await driver.type("last")
    await driver.press("enter")
    await driver.until(lambda: driver.browser.document_view.current_line() == 3 and driver.browser.document_view.hits == "1/1")


async def code(driver: Driver) -> None:
    driver.browser.show_ref("0/0:inductor_output_code")
    await driver.shown("0/0:inductor_output_code")
    driver.browser.document_view.focus()


async def test_in_a_document(trace: Path, started: list[subprocess.Popen[bytes]]) -> None:
    async with opened(trace) as driver:
        await code(driver)
        await driver.press("slash")
        await driver.type(BOMB)
        await driver.press("enter")
        await driver.until(lambda: bool(started))
        await driver.press("j", "j")  # also while the line that it hangs at is painted
        assert driver.browser.document_view.current_line() == 2
        await driver.press("escape")
        assert not driver.browser.document_view.hits
        await ended(driver, started)


async def test_a_new_search_ends_the_one_before(trace: Path, started: list[subprocess.Popen[bytes]]) -> None:
    async with opened(trace) as driver:
        await code(driver)
        for pattern in (BOMB, "last"):
            await driver.press("slash")
            await driver.type(pattern)
            await driver.press("enter")
        await driver.until(lambda: driver.browser.document_view.current_line() == 3)
        await ended(driver, started)


async def test_in_a_filter(trace: Path, started: list[subprocess.Popen[bytes]]) -> None:
    async with opened(trace) as driver:
        await code(driver)
        await driver.press("f")
        await driver.type(BOMB)
        await driver.press("enter")
        await driver.until(lambda: bool(started))
        await driver.press("escape")
        assert not driver.browser.document_view.filter_text
        await ended(driver, started)


async def test_everywhere(trace: Path, started: list[subprocess.Popen[bytes]]) -> None:
    async with opened(trace) as driver:
        await driver.press("s")
        await driver.type(BOMB)
        await driver.press("enter")
        await driver.until(lambda: driver.browser.current_document.ref.startswith("@grep"))
        assert not driver.browser.current_document.complete
        await driver.press("escape")
        await driver.until(lambda: driver.browser.current_document.complete)
        await driver.until(lambda: "Stopped. This page is incomplete." in screen_text(driver.app))
        await ended(driver, started)


async def test_everywhere_ends_when_something_else_is_wanted(trace: Path, started: list[subprocess.Popen[bytes]]) -> None:
    async with opened(trace) as driver:
        await driver.press("s")
        await driver.type(BOMB)
        await driver.press("enter")
        await driver.until(lambda: driver.browser.current_document.ref.startswith("@grep"))
        await driver.press("backspace")
        await ended(driver, started)


async def test_nothing_runs_on_when_the_program_is_left(trace: Path, started: list[subprocess.Popen[bytes]]) -> None:
    async with opened(trace) as driver:
        await driver.press("s")
        await driver.type(BOMB)
        await driver.press("enter")
        await driver.until(lambda: bool(started))
        scheduler = driver.app.scheduler
    scheduler.join(20)
    for process in started:  # killed by us, or ended by itself at the end of its input
        process.wait(20)


async def test_hits_of_such_a_pattern_are_marked(trace: Path, started: list[subprocess.Popen[bytes]]) -> None:
    async with opened(trace) as driver:
        await code(driver)
        await driver.press("slash")
        await driver.type("a+$|.*st")
        await driver.press("enter")
        view = driver.browser.document_view
        await driver.until(lambda: view.hits == "1/4")
        assert [line for line in range(5) if view._row_style(view.rows.at(line)).is_hit] == [0, 1, 3, 4]
