"""A log that grows while it is looked at through a real terminal: no false word on the way, at the end what a fresh start shows."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from replaying import HeldWriters, Replay
from terminal import Terminal

from tltui.model.follow import open_run
from tltui.sources.discover import discover

TRACES = Path(__file__).parents[1] / "traces"
NEW, OLD = ("breaks", "errors", "recompiles", "ddp", "resets"), ("torch-2.6",)
NAMES = tuple(f"torch-2.13/{name}" for name in NEW) + tuple(f"versions/{name}" for name in OLD)
FALSE = re.compile(
    r"\d damaged|missing|cut off|not finished|no longer|\blost\b|killed|could not show|fault of tltui|Traceback|\? \["
)
"""What is not to be said of a log that is only not there yet."""
PAGES = ("2", "3", "8", "0", "4", "1")


class Session:
    """tltui on a directory that a job writes into, and all that was on its screen."""

    def __init__(self, terminal: Terminal, directory: Path) -> None:
        self.terminal = terminal
        self.directory = directory
        self.seen: list[str] = []

    def clock(self) -> str:
        """The time of the last record that is whole, as a fresh start reads it."""
        return open_run(discover([str(self.directory)]), HeldWriters()).clock[5:13]

    def catch_up(self) -> None:
        """Wait until the screen shows what is written; remember it."""
        self.terminal.wait_for(f"last record {self.clock()}")
        self.terminal.wait_gone("reading")
        self.note()

    def note(self) -> None:
        self.seen.append(self.terminal.text())

    def check(self, final: str) -> None:
        """Nothing was said on the way that is not said at the end."""
        for screen in self.seen:
            assert set(FALSE.findall(screen)) <= set(FALSE.findall(final)), screen


@contextmanager
def session(directory: Path, home: Path, columns: int = 120, rows: int = 40) -> Iterator[Session]:
    with Terminal.tltui(directory, home=home, columns=columns, rows=rows) as terminal:
        terminal.wait_for("last record")
        yield Session(terminal, directory)


def compare(one: Terminal, other: Terminal) -> str:
    """Both show the same on all pages, and the same tree: what they show, without the two lines that say how one got there."""
    texts = []
    for terminal in (one, other):
        terminal.press("g", "5")
    for page in PAGES:
        for terminal in (one, other):
            terminal.press(page)
        one.wait(lambda: other.pump(0) or one.lines()[1:-1] == other.lines()[1:-1], f"page {page} as a fresh start shows it")
        texts.append(one.text())
    return "\n".join(texts)


@pytest.mark.parametrize("name", NAMES)
def test_a_live_job_from_its_first_record_to_its_end(name: str, tmp_path: Path) -> None:
    target = tmp_path / "trace"
    replay = Replay(sorted((TRACES / name).glob("*.log")), target, seed=3, steps=10)
    steps = replay.play()
    next(steps)
    while not any(path.stat().st_size > 200 for path in target.glob("*.log")):
        next(steps)
    held = [path.open("ab") for path in target.glob("*.log")]
    with session(target, tmp_path) as own:
        for number, _ in enumerate(steps):
            held += [path.open("ab") for path in target.glob("*.log") if path.name not in {Path(file.name).name for file in held}]
            own.terminal.press(PAGES[number % len(PAGES)])
            own.catch_up()
        for file in held:
            file.close()
        own.terminal.wait_for("ended · last record")
        with Terminal.tltui(target, home=tmp_path) as fresh:
            fresh.wait_for("trace")
            fresh.wait_gone("reading")
            final = compare(own.terminal, fresh)
        own.check(final)


def truncated(path: Path, rest: bytes) -> None:
    path.write_bytes(b"")
    path.write_bytes(rest)


def replaced(path: Path, rest: bytes) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(rest)
    other.rename(path)


def rewritten(path: Path, rest: bytes) -> None:
    with path.open("r+b") as file:
        file.write(rest[: path.stat().st_size].replace(b"V", b"W", 1))


def deleted(path: Path, rest: bytes) -> None:
    path.unlink()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (truncated, ("cut off after it was read", "written anew after it was read")),
        (replaced, ("another one has its name now",)),
        (rewritten, ("written anew after it was read",)),
        (deleted, ("the file was deleted",)),
    ],
)
@pytest.mark.parametrize(("columns", "rows"), [(120, 40), (80, 24)])
def test_what_happens_to_the_file_is_said_in_one_line(
    change: Callable[[Path, bytes], None], said: tuple[str, ...], columns: int, rows: int, tmp_path: Path
) -> None:
    (source,) = (TRACES / "torch-2.13" / "recompiles").glob("*.log")
    data = source.read_bytes()
    cut = data.find(b"\nV", len(data) // 2) + 1
    target = tmp_path / "trace"
    target.mkdir()
    path = target / source.name
    path.write_bytes(data[:cut])
    with path.open("ab"), session(target, tmp_path, columns, rows) as own:
        own.terminal.wait_for("[0/0]")
        change(path, data[cut:])
        if columns > 100:
            own.terminal.wait(lambda: any(each in own.terminal.text() for each in said), f"{said}")
        own.terminal.wait_for("ctrl+r reads it again")
        assert "[0/0]" in own.terminal.text() and "md5 ✗" not in own.terminal.text()
        shutil.copy(source, path)
        own.terminal.press("ctrl+r")
        own.terminal.wait_for("read again")
        own.terminal.wait_gone("changed")
        own.terminal.wait_gone("out of reach")
        own.terminal.press("1")
        own.terminal.wait_for("5 compiles")
