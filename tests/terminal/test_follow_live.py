"""A log that grows while it is looked at through a real terminal: no false word on the way, at the end what a fresh start shows."""

from __future__ import annotations

import os
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
    r"\d damaged|missing|cut off|unfinished|no longer|\blost\b|killed|could not show|fault of tltui|Traceback|\? \["
)
"""What is not to be said of a log that is only not there yet."""
PAGES = ("2", "3", "8", "W", "4", "1")
"""Not the list of pages, which says of each what it may tell."""


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
        said = {word.lstrip(" 0123456789") for word in FALSE.findall(final)}
        for screen in self.seen:
            assert {word.lstrip(" 0123456789") for word in FALSE.findall(screen)} <= said, screen


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


def rotated(own: Session, path: Path) -> None:
    """As logrotate does: what comes now is in a new file of the name."""
    path.rename(path.with_name(path.name + ".1"))


def shrunk(own: Session, path: Path) -> None:
    """Some file systems take bytes back for a moment."""
    data = path.read_bytes()
    path.write_bytes(data[:-300])
    path.write_bytes(data)


def with_a_hole(own: Session, path: Path) -> None:
    """As a file system that crashed leaves it; then it is written over."""
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"\0" * 500)
    own.catch_up()
    os.truncate(path, size)


def started_again(own: Session, path: Path) -> None:
    """A process that writes a log of its own, from its first record on."""
    data = path.read_bytes()
    pid = re.match(rb"V\d{4} \S+ (\d+) ", data)
    assert pid is not None
    data = re.sub(rb"(?m)^(V\d{4} \S+ )%b " % pid[1], rb"\g<1>%d " % (int(pid[1]) + 4711), data)
    path.with_name("dedicated_log_torch_trace_again.log").write_bytes(data[: data.rfind(b"\nV") + 1])


EVENTS = (rotated, shrunk, with_a_hole, started_again)


@pytest.mark.parametrize(("name", "event"), [(name, EVENTS[number % len(EVENTS)]) for number, name in enumerate(NAMES)])
def test_a_live_job_from_its_first_record_to_its_end(
    name: str, event: Callable[[Session, Path], None], tmp_path: Path
) -> None:
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
            if number == 4:
                event(own, max(target.glob("*.log"), key=lambda path: path.stat().st_size))
                held += [path.open("ab") for path in target.glob("*_again.log")]
        for file in held:
            file.close()
        own.terminal.wait(lambda: "live · " not in own.terminal.lines()[0], "the end of the job")
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
        (truncated, ("truncated after it was read", "rewritten after it was read")),
        (replaced, ("another file replaced it",)),
        (rewritten, ("rewritten after it was read",)),
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
        own.terminal.wait_for("[0/2]")
        change(path, data[cut:])
        if columns > 100:
            own.terminal.wait(lambda: any(each in own.terminal.text() for each in said), f"{said}")
        own.terminal.wait_for("press ctrl+r to read it again")
        assert "[0/2]" in own.terminal.text() and "md5 ✗" not in own.terminal.text()
        shutil.copy(source, path)
        own.terminal.press("ctrl+r")
        # the remark passes by where the run is read at once: then its result is there
        own.terminal.wait(lambda: any(text in own.terminal.text() for text in ("read again", "5 compiles")), "it is read again")
        own.terminal.wait_gone("changed")
        own.terminal.wait_gone("unreadable")
        own.terminal.press("1")
        own.terminal.wait_for("5 compiles")
