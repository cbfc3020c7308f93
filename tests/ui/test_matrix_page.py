"""The page matrix on the screen: what its cells tell is changed by a key, and enter on a cell compares."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from opened import opened
from ranked import ranked
from screen import screen_lines, screen_text
from snap import snap

from tltui.model.ref import parse_ref

pytestmark = pytest.mark.usefixtures("utc")


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of 40 ranks that ended yesterday."""
    into = tmp_path_factory.mktemp("matrix") / "job40"
    ranked(into, "--ranks", 40, "--compiles", 12, "--detail", "tiny", "--seed", 5, "--plant", "all")
    yesterday = time.time() - 86_400
    for path in into.iterdir():
        os.utime(path, (yesterday, yesterday))
    return into


@pytest.mark.parametrize(("size", "theme"), [((120, 40), "dark"), ((80, 24), "mono")])
async def test_the_picture(job: Path, size: tuple[int, int], theme: str) -> None:
    async with opened(job, size=size, theme=theme, untouched=True) as driver:
        view = driver.browser.document_view
        if size[0] > 100:  # which ranks of the tree are open is another matter
            view.focus()
            await driver.until(lambda: view.has_focus)
            await driver.press("z")
            await driver.until(lambda: not driver.browser.tree_view.display)
        await driver.press("M")
        await driver.until(lambda: "kinds of ranks" in screen_text(driver.app) and view.document.complete)
        await driver.until(lambda: driver.browser.is_at_rest)
        text = screen_text(driver.app)
        assert "A B C D" in text and "differences from the reference ranks" in text
        snap(driver.app, f"matrix-{size[0]}x{size[1]}-{theme}")


async def test_a_key_changes_what_the_cells_tell(job: Path) -> None:
    async with opened(job) as driver:
        await driver.press("M")
        await driver.until(lambda: "differences from the reference ranks" in screen_text(driver.app))
        for said in (
            "outcome of each compile", "graphs, one letter per distinct graph", "compile time relative to", "cache results",
            "differences from the reference ranks",
        ):  # fmt: skip
            await driver.press("S")
            await driver.until(lambda said=said: said in screen_text(driver.app))
        assert "the cells show: difference" in driver.message


async def test_enter_on_a_cell_compares(job: Path) -> None:
    async with opened(job) as driver:
        await driver.press("M")
        view = driver.browser.document_view
        await driver.until(lambda: "A B C D" in screen_text(driver.app) and view.document.complete)
        document = view.document
        cells = [n for n, text in enumerate(document.text()) if text.startswith("  [")]
        line = next(n for n in cells if document.line(n).links[-1].target.startswith("@diff"))
        links = [link.target for link in document.line(line).links]
        view.focus()
        view.goto_line(line + 1)
        for _ in range(len(links) + 1):  # the name of the function is a stop too
            await driver.press("l")
        await driver.press("enter")
        await driver.until(lambda: parse_ref(driver.browser.shown_ref).view == "diff")
        assert driver.browser.shown_ref == links[-1]


async def test_ascii(job: Path) -> None:
    async with opened(job, ascii_only=True) as driver:
        await driver.press("M")
        await driver.until(lambda: "A B C D" in screen_text(driver.app))
        assert all(line.isascii() for line in screen_lines(driver.app))
