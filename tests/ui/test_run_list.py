"""The list of the runs of a directory as a screen: what it reads while it is shown, its orders, its cursor, its choice."""

from __future__ import annotations

import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import make_trace as t
import pytest
from real import TRACES, copy_as_edit
from screen import screen_lines, screen_text, until
from snap import snap
from textual.pilot import Pilot

from tltui.app import UiSettings
from tltui.config import Config
from tltui.list_app import RunListApp
from tltui.questions.compare import run_list_page
from tltui.questions.compare.run_list_page import ORDERS
from tltui.screens import run_list as run_list_screen
from tltui.screens.run_list import RunChoice
from tltui.widgets.bars import RunBar

T213 = TRACES / "torch-2.13"
RUNS = ("breaks", "errors", "train")
BEGAN = 1763630566123456.0
"""Microseconds since the epoch of the time of records of `make_trace`."""

pytestmark = pytest.mark.usefixtures("utc")


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory of three runs; the path to it on the screen is always the same."""
    for name in ("breaks", "train"):
        shutil.copytree(T213 / name, tmp_path / "runs" / name)
    copy_as_edit(tmp_path / "runs" / "errors")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


class Gates:
    """Lets a test decide when each entry is read."""

    def __init__(self) -> None:
        self.gates: dict[str, threading.Event] = {}

    def open(self, *names: str) -> None:
        for name in names:
            self.gates.setdefault(name, threading.Event()).set()

    def wait(self, name: str) -> None:
        assert self.gates.setdefault(name, threading.Event()).wait(20)


@pytest.fixture
def gates(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gates]:
    gates, read = Gates(), run_list_page.open_entry

    def open_entry(directory: str, name: str) -> run_list_page.Entry:
        gates.wait(name)
        return read(directory, name)

    monkeypatch.setattr(run_list_page, "open_entry", open_entry)
    yield gates
    gates.open(*gates.gates)


class Shown:
    """The list on a screen."""

    def __init__(self, app: RunListApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def rows(self) -> list[str]:
        """The rows of the table, the titles first."""
        return [line.strip() for line in screen_lines(self.app) if line.startswith("     ") and line.strip()]

    @property
    def at(self) -> str:
        """The line of the cursor."""
        view = self.app.list_screen.view
        return view.document.line(view.current_line()).text.strip()

    @property
    def names(self) -> list[str]:
        """The names in the table."""
        return [row.split()[0] for row in self.rows[1:]]

    @property
    def bar(self) -> str:
        """The line above."""
        return self.app.list_screen.query_one(RunBar).plain_text()

    async def until(self, condition: Any) -> None:
        await until(self.pilot, condition)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


@asynccontextmanager
async def shown(
    directory: Path | str, size: tuple[int, int] = (120, 40), choice: RunChoice | None = None, theme: str = "dark"
) -> AsyncIterator[Shown]:
    choice = choice or RunChoice(str(directory), run_list_page.entry_names(str(directory)), "began")
    app = RunListApp(choice, UiSettings(Config(), theme, False, True))
    async with app.run_test(size=size) as pilot:
        yield Shown(app, pilot)
    assert app.faults == []


async def test_the_screen_is_there_before_the_runs_are_read_and_the_cursor_stays_on_its_run(directory: Path, gates: Gates) -> None:
    async with shown(directory) as screen:
        await screen.until(lambda: "reading 0 of 3 entries" in screen.bar)
        gates.open("breaks")
        await screen.until(lambda: "reading 1 of 3 entries" in screen.bar)
        gates.open("errors")
        await screen.until(lambda: screen.names == ["breaks", "errors"])
        assert "Reading 2 of 3 entries." in screen_text(screen.app)
        assert screen.at.startswith("breaks")
        await screen.press("j")
        await screen.until(lambda: screen.at.startswith("errors"))
        gates.open("train")
        await screen.until(lambda: screen.names == list(RUNS))
        await screen.until(lambda: "reading" not in screen_text(screen.app).lower())
        assert screen.at.startswith("errors")


def many(directory: Path, count: int) -> list[str]:
    """Fill a directory with runs; the later its name, the earlier a run began."""
    names = [f"run{n:02}" for n in range(count)]
    for n, name in enumerate(names):
        (directory / name).mkdir()
        start = t.chromium(ts=BEGAN - n * 60e6, frame=0, compile=0)
        t.write(directory / name, start + t.compiled(frame=0, compile=0))
    return names


async def test_a_list_higher_than_the_screen_stays_at_its_top_until_the_first_key(directory: Path, gates: Gates) -> None:
    shutil.rmtree(directory)
    directory.mkdir()
    names = many(directory, 30)
    async with shown(directory, size=(120, 24)) as screen:
        for name in names[:20]:
            gates.open(name)
        await screen.until(lambda: "reading 20 of 30" in screen.bar)
        await screen.until(lambda: "20 runs in" in screen_text(screen.app))
        await screen.until(lambda: screen.at.startswith("run19"))
        assert screen.rows[0].startswith("run "), "the titles are in sight"
        await screen.press("j")
        before = screen_lines(screen.app).index(next(line for line in screen_lines(screen.app) if "run18" in line))
        assert screen.at.startswith("run18")
        gates.open(*names)
        await screen.until(lambda: "reading" not in screen.bar and "30 runs" not in screen.bar)
        await screen.until(lambda: screen.at.startswith("run18") and "run20" in screen_text(screen.app))
        assert "run18" in screen_lines(screen.app)[before], "the row of the cursor stays"


async def test_coming_back_shows_the_same_rows(directory: Path) -> None:
    shutil.rmtree(directory)
    directory.mkdir()
    choice = RunChoice(str(directory), many(directory, 30), "began")
    async with shown(directory, size=(120, 24), choice=choice) as screen:
        await screen.until(lambda: "reading" not in screen.bar and len(screen.app.list_screen.view.document) > 30)
        await screen.press("G", "k", "k", "k")
        before, at = screen.rows, screen.at
        await screen.press("enter")
        await screen.until(lambda: not screen.app.is_running)
    async with shown(directory, size=(120, 24), choice=choice) as screen:
        await screen.until(lambda: screen.at == at)
        await screen.until(lambda: screen.rows == before)


async def test_the_mark_of_a_run_that_is_written_goes_with_its_writer(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_list_screen, "AGAIN", 0.05)
    [log] = (directory / "errors").glob("*.log")
    with log.open("ab") as file:
        async with shown(directory) as screen:
            await screen.until(lambda: "◌ being written" in screen_text(screen.app) and "reading" not in screen.bar)
            assert [row.split()[0] for row in screen.rows if "◌" in row] == ["errors", "◌"]
            before = screen_lines(screen.app)
            await screen.pilot.pause(0.3)
            assert screen_lines(screen.app) == before
            file.close()
            await screen.until(lambda: "being written" not in screen_text(screen.app))


async def test_the_orders_keep_the_cursor_on_its_run(directory: Path) -> None:
    async with shown(directory, size=(160, 40)) as screen:
        await screen.until(lambda: len(screen.names) == 3 and "reading" not in screen.bar)
        await screen.press("j")
        assert screen.at.startswith("errors")
        seen = {}
        for _ in ORDERS:
            await screen.press("S")
            order = screen.app.list_screen.choice.sort
            heading = "the oldest first" if order == "began" else f"sorted by {order}"
            await screen.until(lambda heading=heading: heading in screen_lines(screen.app)[2])
            seen[order] = screen.names
            assert screen.at.startswith("errors")
        assert seen["time"] == ["train", "breaks", "errors"] and seen["errors"] == ["errors", "breaks", "train"]
        assert seen["began"] == list(RUNS) and "the oldest first" in screen_text(screen.app)


async def test_only_columns_that_fit_are_sorted_by(directory: Path) -> None:
    async with shown(directory, size=(80, 24)) as screen:
        await screen.until(lambda: len(screen.names) == 3 and "reading" not in screen.bar)
        orders = []
        for _ in range(5):
            await screen.press("S")
            order = screen.app.list_screen.choice.sort
            heading = "the oldest first" if order == "began" else f"sorted by {order}"
            await screen.until(lambda heading=heading: heading in screen_lines(screen.app)[2])
            orders.append(order)
        assert orders == ["name", "compiles", "errors", "breaks", "time"]


async def test_read_again_finds_new_runs_and_drops_those_that_are_gone(directory: Path) -> None:
    async with shown(directory) as screen:
        await screen.until(lambda: len(screen.names) == 3)
        await screen.press("j")
        shutil.copytree(T213 / "outcomes", directory / "outcomes")
        shutil.rmtree(directory / "breaks")
        await screen.press("ctrl+r")
        await screen.until(lambda: sorted(screen.names) == ["errors", "outcomes", "train"])
        assert screen.at.startswith("errors")
        shutil.rmtree(directory)
        await screen.press("ctrl+r")
        await screen.until(lambda: "No such file or directory" in screen_text(screen.app))
        assert len(screen.names) == 3, "what was read stays"


async def test_renamed_and_new_runs_are_noticed(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_list_screen, "AGAIN", 0.05)
    async with shown(directory) as screen:
        await screen.until(lambda: screen.names == ["breaks", "errors", "train"])
        await screen.press("j")
        (directory / "breaks").rename(directory / "first_run")
        await screen.until(lambda: screen.names == ["first_run", "errors", "train"])
        assert screen.at.startswith("errors")
        shutil.copytree(T213 / "recompiles", directory / "more")
        await screen.until(lambda: "more" in screen.names)
        shutil.rmtree(directory / "train")
        await screen.until(lambda: "train" not in screen.names)


async def test_enter_ends_the_app_with_the_choice_and_the_list_comes_back_to_it(directory: Path) -> None:
    choice = RunChoice(str(directory), run_list_page.entry_names(str(directory)), "began")
    async with shown(directory, choice=choice) as screen:
        await screen.until(lambda: len(screen.names) == 3)
        await screen.press("j", "S", "enter")
        await screen.until(lambda: not screen.app.is_running)
    assert choice.is_made and choice.chosen == "errors" and choice.sort == "name"
    async with shown(directory, choice=choice) as screen:
        await screen.until(lambda: len(screen.names) == 3)
        assert screen.at.startswith("errors") and "sorted by name" in screen_text(screen.app)


async def test_find_help_and_leaving(directory: Path) -> None:
    async with shown(directory) as screen:
        await screen.until(lambda: len(screen.names) == 3)
        await screen.press("slash", *"train", "enter")
        await screen.until(lambda: screen.at.startswith("train"))
        await screen.press("escape", "question_mark")
        await screen.until(lambda: "Keys here: list of runs" in screen_text(screen.app))
        await screen.press("q")
        await screen.until(lambda: len(screen.names) == 3)
        await screen.press("Z")
        await screen.until(lambda: "No command on Z here." in screen_text(screen.app))
        await screen.press("q")
        await screen.until(lambda: not screen.app.is_running)
        assert not screen.app.list_screen.choice.is_made


@pytest.mark.parametrize("suffix", ["txt", "json"])
async def test_the_list_is_exported(suffix: str, directory: Path) -> None:
    async with shown(directory) as screen:
        await screen.until(lambda: len(screen.names) == 3 and "reading" not in screen.bar)
        await screen.press("x", "ctrl+u", *f"out.{suffix}", "enter")
        await screen.until((directory.parent / f"out.{suffix}").exists)
    text = (directory.parent / f"out.{suffix}").read_text("utf-8")
    assert all(name in text for name in RUNS)


@pytest.mark.parametrize(("size", "theme"), [((80, 24), "light"), ((120, 40), "dark")], ids=["80x24", "120x40"])
async def test_how_it_looks(size: tuple[int, int], theme: str, directory: Path) -> None:
    """All columns fit; of the changes only the end of a long one may be cut."""
    async with shown("runs", size, theme=theme) as screen:
        await screen.until(lambda: len(screen.names) == 3 and "reading" not in screen.bar)
        await screen.press("j")
        head, *rows = screen.rows
        start = head.index("change")
        assert head.endswith("change") and "…" not in "".join(row[:start] for row in rows)
        assert any("+3 errors, −3 breaks, −3 compil" in row for row in rows)
        snap(screen.app, f"list-{size[0]}x{size[1]}-{theme}")
