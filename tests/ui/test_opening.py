"""The first screen: what happened in the run, the caret on the worst of it, and nothing that moves after the first key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from growing import Live, growing
from opened import Driver, log_of, opened
from real import DEMO, TRACES
from screen import screen_lines, screen_text

SIZES = [(80, 24), (120, 40), (200, 60)]


def write(directory: Path, *logs: bytes) -> Path:
    directory.mkdir(exist_ok=True)
    for number, data in enumerate(logs):
        (directory / f"{number}.log").write_bytes(data)
    return directory


def caret(driver: Driver) -> str:
    view = driver.browser.document_view
    return view.document.line(view.current_line()).text.strip()


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_first_screen_is_what_happened_and_enter_goes_to_the_worst(size: tuple[int, int]) -> None:
    async with opened(DEMO, size=size, untouched=True) as driver:
        browser = driver.browser
        assert browser.shown_ref == "" and browser.document_view.has_focus and driver.at == ""
        text = screen_text(driver.app)
        assert "Start here" in text and "2 compiles failed" in text
        assert caret(driver).startswith("[0:9/0]")
        assert screen_lines(driver.app)[-1].startswith(" enter open") and "? help" in screen_lines(driver.app)[-1]
        await driver.press("enter")
        await driver.shown("0:9/0")
        assert driver.at == "0:9/0" and browser.document_view.has_focus
        assert "ConstraintViolationError" in screen_text(driver.app)
        await driver.press("backspace")
        await driver.shown("")
        assert caret(driver).startswith("[0:9/0]") and driver.at == ""


@pytest.mark.parametrize(("size", "trail"), [
    ((120, 40), "demo ▸ [0:0/0] ▸ dynamo_output_graph"), ((80, 24), "demo ▸ [0:0/0] ▸ dynamo_output_graph"),
    ((57, 24), "━tab: tree · [0:0/0] ▸ dynamo_output_graph"),
])  # fmt: skip
async def test_the_title_is_the_trail_to_the_page(size: tuple[int, int], trail: str) -> None:
    async with opened(DEMO, size=size, untouched=True) as driver:
        driver.browser.go("0:0/0:dynamo_output_graph")
        await driver.shown("0:0/0:dynamo_output_graph")
        await driver.until(lambda: trail in screen_lines(driver.app)[1])


UNRELATED = [TRACES / "torch-2.13" / name for name in ("breaks", "recompiles", "diverge", "resets")]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("paths", [[DEMO], UNRELATED], ids=["demo", "unrelated"])
async def test_the_first_screen_has_all_findings(paths: list[Path], size: tuple[int, int]) -> None:
    async with opened(*paths, size=size, untouched=True) as driver:
        document = driver.browser.document_view.document
        [section] = [section for section in document.sections() if section.title == "Start here"]
        screen = screen_text(driver.app)
        findings = [document.line(line).text for line in range(section.first, section.last + 1)]
        assert len(findings) > 4 and [line for line in findings if line.strip() not in screen] == []


async def test_a_section_that_is_higher_than_the_screen_begins_at_its_top() -> None:
    async with opened(DEMO, size=(80, 9), untouched=True) as driver:
        lines = screen_lines(driver.app)
        assert "Start here" in lines[2] and "[0:9/0]" in lines[3]


@pytest.mark.parametrize(("frames", "begins", "says"), [
    ([(0, 1, "f"), (1, 2, "break_"), (2, 2, "bad")], "2/1", "failed with Error in bad"),
    ([(0, 1, "f"), (1, 3, "g"), (2, 2, "break_")], "2/0", "2 graph breaks, Graph break"),
    ([(0, 1, "f"), (1, 3, "g")], "1/2", "g was recompiled twice"),
    ([(0, 1, "f"), (1, 1, "g")], "0/0", "No error, graph break or recompile."),
])  # fmt: skip
async def test_the_first_line_is_the_worst(frames: Any, begins: str, says: str, tmp_path: Path) -> None:
    async with opened(write(tmp_path / "t", log_of(frames)), untouched=True) as driver:
        assert says in caret(driver)
        await driver.press("enter")
        await driver.shown(begins)
        assert driver.at == begins


async def test_a_run_without_problems_leads_to_what_took_longest() -> None:
    async with opened(TRACES / "torch-2.13" / "cache_hit", untouched=True) as driver:
        assert "No error, graph break or recompile." in caret(driver)
        said = " ".join(" ".join(driver.browser.document_view.document.text()).split())
        assert "Most expensive: Sequential.__call__" in said
        await driver.press("enter")
        await driver.shown("0/0")


async def test_the_caret_goes_to_what_is_worst_until_the_first_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = write(tmp_path / "t", log_of([(0, 1, "f")])) / "0.log"

    def add(live: Live, *frames: tuple[int, int, str]) -> None:
        with log.open("ab") as file:
            file.write(log_of(frames))

    async with growing(tmp_path / "t", monkeypatch, untouched=True) as live:
        assert live.view.has_focus and "So far, no error" in caret(live)
        add(live, (1, 1, "break_it"))
        await live.poll()
        assert caret(live).startswith("[1/0]  1 graph break")
        assert live.view.scroll_offset.y == 0
        add(live, (2, 1, "bad"))
        await live.poll()
        assert caret(live).startswith("[2/0]") and "failed with Error in bad" in caret(live)
        assert live.view.scroll_offset.y == 0, "all that happened is in sight"
        await live.press("j")
        assert caret(live).startswith("[1/0]  1 graph break")
        row = live.row()
        add(live, (3, 1, "bad_too"))
        await live.poll()
        assert "2 compiles failed" in "".join(live.view.document.text())
        assert caret(live).startswith("[1/0]  1 graph break") and live.row() == row, "nothing moves after the first key"
        assert live.at == ""


async def test_the_summary_by_its_key_begins_there_too() -> None:
    async with opened(DEMO) as driver:
        await driver.press("1")
        await driver.shown("")
        assert caret(driver).startswith("[0:9/0]") and driver.at == ""
        for ref in ("@summary", "@run"):
            driver.browser.go("0:0/0")
            driver.browser.go(ref)
            await driver.shown("")
            assert driver.at == "", "the keys of the page are about the run"
