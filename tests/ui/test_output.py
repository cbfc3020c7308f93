"""What a job prints, on the screen: it grows below, who is at its end follows, and who is not sees nothing move."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from opened import BREAKS, Driver
from screen import screen_text

from tltui.app import TltuiApp
from tltui.commands import COMMANDS, Where
from tltui.config import Config
from tltui.model.run import Run
from tltui.questions.records.output_page import OutputDocument
from tltui.sources.discover import awaited
from tltui.sources.job_output import MARK
from tltui.work import reader_threads


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(reader_threads, "EVERY", 0.01)
    yield


class Printing:
    """A directory into which somebody writes as a keeper does."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(exist_ok=True)
        self.path = directory / "output.txt"
        self.path.touch()
        self.become(host="far")

    def write(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)

    def become(self, **says: object) -> None:
        state = {"written_by": MARK, "command": ["/usr/bin/python", "train.py"], "pid": 7, "began": 1.0, "host": "far", "keeper": 1}
        (self.directory / "output.json").write_text(json.dumps(state | says))


@pytest.fixture
def printing(tmp_path: Path) -> Printing:
    return Printing(tmp_path / "trace")


@asynccontextmanager
async def shown(printing: Printing, lines: int = 40) -> AsyncIterator[Driver]:
    """The output of a job without a log, on the screen."""
    app = TltuiApp(Run(awaited([str(printing.directory)])), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=(120, lines)) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.browser.is_mounted and "waiting for the first record" in screen_text(app))
        await driver.shown("@output")
        await driver.until(lambda: app.browser.document_view.has_focus and app.browser.is_at_rest)
        yield driver
    assert app.faults == []


def cursor(driver: Driver) -> int:
    return driver.browser.document_view.cursor[0]


async def test_it_follows_at_its_end(printing: Printing) -> None:
    async with shown(printing, lines=12) as driver:
        await driver.until(lambda: "Nothing has been printed yet." in screen_text(driver.app))
        for n in range(3):
            printing.write("".join(f"step {n * 100 + line}\n" for line in range(100)))
            last = f"step {n * 100 + 99}"
            await driver.until(lambda last=last: last in screen_text(driver.app))
            assert cursor(driver) == n * 100 + 99
        printing.write("\r 10%|#   |")
        await driver.until(lambda: " 10%|#   |" in screen_text(driver.app))
        printing.write("\r 20%|##  |")
        await driver.until(lambda: " 20%|##  |" in screen_text(driver.app))
        assert " 10%" not in screen_text(driver.app)
        printing.become(ended=13.5, code=3)
        await driver.until(lambda: "The job ended with exit code 3" in screen_text(driver.app))
        assert "output of python train.py · exit code 3" in screen_text(driver.app)
        await driver.until(lambda: "waiting" not in screen_text(driver.app))
        await driver.press("1")
        await driver.until(lambda: "No log in" in screen_text(driver.app))
        await driver.press("O")
        await driver.shown("@output")
        assert cursor(driver) == 301


async def test_who_moved_away_sees_nothing_move(printing: Printing) -> None:
    """Until one goes to the end again; also after another page was looked at."""
    printing.write("".join(f"line {n}\n" for n in range(100)))
    async with shown(printing, lines=12) as driver:
        await driver.until(lambda: "line 99" in screen_text(driver.app))  # at its end from the start
        await driver.press("k", "k")
        before = [line.rstrip("▇▅▄▃▂▁█ ") for line in screen_text(driver.app).splitlines() if "line 9" in line]
        printing.write("more\n" * 50)
        await driver.until(lambda: len(driver.browser.document_view.document) == 150)
        await driver.until(lambda: "98/150" in screen_text(driver.app))
        assert [line.rstrip("▇▅▄▃▂▁█ ") for line in screen_text(driver.app).splitlines() if "line 9" in line] == before
        assert cursor(driver) == 97
        await driver.press("1", "O")
        await driver.shown("@output")
        assert cursor(driver) == 97
        await driver.press("G")
        printing.write("the last\n")
        await driver.until(lambda: "the last" in screen_text(driver.app))
        await driver.press("1")
        await driver.shown("")
        printing.write("while away\n" * 20 + "back again\n")
        await driver.press("O")
        await driver.until(lambda: "back again" in screen_text(driver.app))
        assert cursor(driver) == 171


async def test_a_selection_stays(printing: Printing) -> None:
    printing.write("one\ntwo\n")
    async with shown(printing) as driver:
        await driver.until(lambda: "two" in screen_text(driver.app) and cursor(driver) == 1)
        await driver.press("V")
        await driver.until(lambda: driver.browser.document_view.selected_lines() == (1, 2))
        printing.write("three\n")
        await driver.until(lambda: "three" in screen_text(driver.app))
        assert driver.browser.document_view.selected_lines() == (1, 2)
        await driver.pilot.resize_terminal(100, 30)
        await driver.until(lambda: driver.browser.size.width == 100 and driver.browser.is_at_rest)
        assert driver.browser.document_view.selected_lines() == (1, 2)


async def test_search_and_filter_go_on(printing: Printing) -> None:
    printing.write("loss 3\nstep\nloss 2\nstep")
    async with shown(printing) as driver:
        await driver.press("slash")
        await driver.type("loss")
        await driver.press("enter")
        await driver.until(lambda: "1/2" in screen_text(driver.app) or "2/2" in screen_text(driver.app))
        printing.write(" of loss\nloss 1\n")
        await driver.until(lambda: "/4" in screen_text(driver.app))
        await driver.press("f")
        await driver.type("loss")
        await driver.press("enter")
        await driver.until(lambda: "step of loss" in screen_text(driver.app) and len(driver.browser.document_view.rows) == 4)
        await driver.press("G")
        printing.write("no\nloss 0\n")
        await driver.until(lambda: "loss 0" in screen_text(driver.app))
        assert len(driver.browser.document_view.rows) == 5
        assert cursor(driver) == 6


async def test_a_bar_that_is_wrapped(printing: Printing) -> None:
    printing.write("short")
    async with shown(printing) as driver:
        await driver.press("w")
        printing.write("\r" + "x" * 150 + " end")
        await driver.until(lambda: "x end" in screen_text(driver.app))
        assert len(driver.browser.document_view.rows) > 1


async def test_raw_shows_what_was_written(printing: Printing) -> None:
    printing.write("1%\r\x1b[32m2%\n")
    async with shown(printing) as driver:
        await driver.until(lambda: "2%" in screen_text(driver.app) and "1%" not in screen_text(driver.app))
        await driver.press("i")
        await driver.until(lambda: "1%␍␛[32m2%" in screen_text(driver.app))
        printing.write("3%\n")
        await driver.until(lambda: "3%" in screen_text(driver.app))


async def test_it_is_where_one_looks_for_it(printing: Printing) -> None:
    """On the list of pages, in what can be gone to, on the page of a run that has no log; and it can be written to a file."""
    printing.write("hello\n")
    async with shown(printing) as driver:
        await driver.press("0")
        await driver.until(lambda: "tltui show PATH @output" in screen_text(driver.app))
        await driver.press("o")
        await driver.type("output")
        await driver.until(lambda: "output of the job" in screen_text(driver.app))
        await driver.press("enter")
        await driver.shown("@output")
        await driver.press("x")
        await driver.until(lambda: "write to" in screen_text(driver.app))
        await driver.press("ctrl+u")
        await driver.type(str(printing.directory / "copy.txt"))
        await driver.press("enter")
        await driver.until(lambda: "wrote 1 lines" in driver.message)
        assert (printing.directory / "copy.txt").read_text() == "hello\n"


async def test_the_tree_fills_while_the_output_stays(printing: Printing) -> None:
    printing.write("hello\n")
    async with shown(printing) as driver:
        for log in BREAKS.iterdir():
            shutil.copy(log, printing.directory)
        await driver.until(lambda: "6 compiles" in screen_text(driver.app) and "[4/0]" in screen_text(driver.app))
        assert "hello" in screen_text(driver.app)


async def test_where_there_is_none(tmp_path: Path) -> None:
    from opened import opened

    async with opened(BREAKS) as driver:
        await driver.press("O")
        assert "no job output" in driver.message
        await driver.press("0")
        await driver.until(lambda: "tltui summary PATH" in screen_text(driver.app))
        assert "@output" not in screen_text(driver.app)


async def test_a_file_that_goes_away_is_told(printing: Printing) -> None:
    printing.write("hello\n")
    async with shown(printing) as driver:
        assert isinstance(driver.browser.document_view.document, OutputDocument)
        printing.path.unlink()
        await driver.until(lambda: "output.txt: No such file or directory" in driver.message)
        assert "hello" in screen_text(driver.app)


async def test_every_key_before_the_first_record(printing: Printing) -> None:
    """Nothing fails where there is no compile, no rank, no log yet: `shown` sees to it that there was no fault."""
    printing.write("hello\n")
    leaving = {"q", "ctrl+z", "ctrl+q", "v", "X", "ctrl+e"}
    keys = [key for command in COMMANDS if command.where in (Where.EVERYWHERE, Where.TREE, Where.DOCUMENT) for key in command.keys]
    async with shown(printing) as driver:
        for pane in ("tree", "document"):
            for key in dict.fromkeys(keys):
                if key not in leaving:
                    driver.browser.query_one(f"#{pane}").focus()
                    await driver.press(key)
                    driver.prompt.leave()
                    while len(driver.app.screen_stack) > 2:
                        await driver.press("escape")
        await driver.press("O")
        await driver.shown("@output")


async def test_the_output_is_there_after_all_was_read_again(printing: Printing) -> None:
    printing.write("hello\n")
    for log in BREAKS.iterdir():
        shutil.copy(log, printing.directory)
    app = TltuiApp(Run(awaited([str(printing.directory)])), Config(), theme="dark", ascii_only=False, mouse=True)
    async with app.run_test(size=(120, 40)) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.browser.is_mounted and "6 compiles" in screen_text(app))
        await driver.press("O")
        await driver.until(lambda: "hello" in screen_text(app))
        await driver.press("ctrl+r")
        await driver.until(lambda: driver.message.startswith("read again"))
        await driver.shown("@output")
        printing.write("and on\n")
        await driver.until(lambda: "and on" in screen_text(app))
    assert app.faults == []
