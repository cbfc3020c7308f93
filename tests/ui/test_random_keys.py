"""Thousands of keys, clicks, drags, pastes and resizes by chance, and the program lives.

`TLTUI_RANDOM=7` is what is done for seed 7, `TLTUI_RANDOM=7/4000` so many of them for each trace; `tools/long_run keys` does others
each day. A seed leads to the same keys again, not always to the same screen: pages that are being made come when they come.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from opened import BREAKS, log_of, opened
from random_acts import SIZES, Acts
from real import DEMO, TRACES
from screen import screen_lines, screen_text

from tltui.app import TltuiApp
from tltui.screens.browser import Browser
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Builder, Options
from tltui.work.scheduler import Steps

SEED, COUNT = 1, 640


def wanted() -> tuple[str, int]:
    """The seed, and the acts for each trace."""
    seed, _, count = os.environ.get("TLTUI_RANDOM", f"{SEED}/{COUNT}").partition("/")
    return seed, int(count or COUNT)


NOW, ACTS = wanted()


@pytest.fixture(autouse=True)
def stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the names of commands anything can be chosen: none leaves, or starts another program."""
    for name in ("action_leave", "action_pager", "action_editor", "action_suspend", "action_processes"):
        monkeypatch.setattr(Browser, name, lambda self: None)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is written is written here, and nothing reaches a clipboard."""
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setattr(TltuiApp, "copy_to_clipboard", lambda self, text: None)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return tmp_path


def damaged(directory: Path) -> Path:
    """A real log, cut, flipped and torn in some places."""
    rng = random.Random(NOW)
    data = bytearray(next(BREAKS.glob("*.log")).read_bytes())
    for _ in range(12):
        at = rng.randrange(len(data))
        hurt = rng.choice((b"", b"\x00" * 40, b"\x1b]0;owned\x07", b"\nV1", b"\n\t\n", b"{", b"\xff\xfe", b"\r\n"))
        data[at : at + rng.choice((0, 1, 200))] = hurt
    path = directory / "dedicated_log_torch_trace_hurt.log"
    path.write_bytes(data)
    return path


def of_many_ranks(directory: Path) -> Path:
    """24 ranks; on some a function fails or breaks."""
    for rank in range(24):
        frames = [(0, 1 + rank % 3, "step"), (1, 1, "bad_one" if rank % 7 == 0 else "good"), (2, 2, "break_here")]
        (directory / f"dedicated_log_torch_trace_rank_{rank}_x.log").write_bytes(log_of(frames, rank=rank, pid=rank + 1))
    return directory


@asynccontextmanager
async def growing(directory: Path) -> AsyncIterator[Path]:
    """A log that grows by a few records now and then."""
    path = directory / "dedicated_log_torch_trace_live.log"
    path.write_bytes(log_of([(0, 1, "step")]))

    async def write() -> None:
        frame = 0
        while True:
            await asyncio.sleep(0.1)
            frame += 1
            more = log_of([(frame, 1 + frame % 3, ("step", "bad", "break_it")[frame % 3])])
            with path.open("ab") as file:
                file.write(more[: len(more) // 2])
                file.flush()
                await asyncio.sleep(0.02)
                file.write(more[len(more) // 2 :])

    writing = asyncio.create_task(write())
    yield path
    writing.cancel()
    with suppress(asyncio.CancelledError):
        await writing


async def play(name: str, *paths: Path, size: tuple[int, int]) -> None:
    """All acts of a trace, in windows of four sizes, and the end."""
    async with opened(*paths, size=size, wait=False) as driver:
        acts = Acts(driver.app, driver.pilot, f"{NOW}/{name}")
        try:
            for part in range(4):
                await acts.resize(*SIZES[(SIZES.index(size) + part) % 4])
                for _ in range(4):
                    await acts.do(ACTS // 16)
                    await acts.look()
                await acts.come_back()
            driver.browser.attending.leave()
            await acts.gone()
        except AssertionError as error:
            again = f"TLTUI_RANDOM={NOW}/{ACTS} python -m pytest -n0 tests/ui/test_random_keys.py -k {name}"
            raise AssertionError(f"{error}\n\nagain: {again}") from error.__cause__


MADE: dict[str, Callable[[Path], Path]] = {
    "damaged": damaged, "many_ranks": of_many_ranks, "small": lambda _: TRACES / "torch-2.13" / "train", "demo": lambda _: DEMO,
}  # fmt: skip


@pytest.mark.parametrize(("name", "size"), list(zip(MADE, SIZES, strict=True)))
async def test_random_keys(name: str, size: tuple[int, int], tmp_path: Path) -> None:
    directory = tmp_path / "trace"
    directory.mkdir()
    await play(name, MADE[name](directory), size=size)


async def test_random_keys_while_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.work.reader_threads.TICK", 0.05)
    monkeypatch.setattr("tltui.screens.live_updates.REDRAW", 0.0)  # what is taken over is drawn at once
    directory = tmp_path / "trace"
    directory.mkdir()
    async with growing(directory):
        await play("grows", directory, size=(80, 24))


async def test_a_head_that_was_drawn_before_it_was_one() -> None:
    """Found by chance: the sections of a page that grows are known at its end, and the lines in sight were drawn by then."""

    def fill(builder: Builder) -> Steps:
        builder.open("head")
        for number in range(60):
            builder.add(f"line {number}")
        builder.close()
        while not go:
            yield None
        builder.add("the end")

    go: list[bool] = []
    async with opened(BREAKS) as driver:
        view = driver.browser.document_view
        view.show(GrowingDocument("@x", "x", Options(), fill))
        await driver.until(lambda: "line 3" in screen_text(driver.app))
        go.append(True)
        await driver.until(lambda: view.document.complete and not view.is_at_work)
        await driver.pilot.pause()
        row = screen_lines(driver.app)[view.content_region.y]
        assert "▾ line 0" in row[view.content_region.x :]
