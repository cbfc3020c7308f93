"""Over a slow line there is one frame under way, and keys are taken together."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from slow import SlowTerminal
from terminal import Terminal

TRACE = Path(__file__).parents[1] / "traces" / "torch-2.13" / "breaks"
PLACE = "0/0:inductor_output_code"
Opening = Callable[[type[SlowTerminal]], SlowTerminal]


class Never(SlowTerminal):
    late = None


class Late(SlowTerminal):
    late = 3.0


class Owing(SlowTerminal):
    late = 0.8


class Placing(SlowTerminal):
    """Does not say how it is, only where the cursor is."""

    def answer(self, asked: bytes, mode: bytes | None) -> bytes | None:
        return None if asked == b"\x1b[5n" else super().answer(asked, mode)


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Opening]:
    """Opens a page of hundreds of lines, and goes to its first one."""
    open_ones = []

    def opened(kind: type[SlowTerminal]) -> SlowTerminal:
        terminal = kind.tltui(TRACE, home=tmp_path)
        open_ones.append(terminal)
        terminal.wait_for("6 compiles")
        terminal.to_trouble()
        terminal.wait_gone("reading")
        terminal.press(f"o{PLACE}\r")
        terminal.wait_for("inductor_output_code")
        terminal.wait(lambda: "inductor_output_code" in terminal.lines()[1], "the page")
        terminal.press("tab", "g")
        terminal.wait(lambda: line(terminal) == 1, "its first line")
        return terminal

    yield opened
    for terminal in open_ones:
        terminal.close()


def line(terminal: Terminal) -> int:
    """The line that the cursor is on, as the status line tells it."""
    words = terminal.lines()[-1].split()
    number = words[-1].partition("/")[0] if words else ""
    return int(number) if number.isdecimal() else 0


def leave(terminal: Terminal) -> None:
    terminal.press("q")
    assert terminal.wait_end() == 0


def test_keys_at_once(opening: Opening) -> None:
    """100 lines further in a few frames, exactly there."""
    terminal = opening(SlowTerminal)
    before = terminal.frames
    terminal.press("j" * 100)
    terminal.wait(lambda: line(terminal) == 101, "line 101")
    assert terminal.frames - before <= 12
    leave(terminal)


def test_a_held_key(opening: Opening) -> None:
    """When it is let go at most the frame under way and one more come."""
    terminal = opening(SlowTerminal)
    for _ in range(90):
        terminal.press("j")
        end = time.monotonic() + 1 / 30
        while (left := end - time.monotonic()) > 0:
            terminal.pump(left)
    before = terminal.frames
    terminal.wait(lambda: line(terminal) == 91, "line 91")
    terminal.wait(lambda: terminal.pump(0.5) == 0, "silence")
    assert terminal.frames - before <= 3
    assert line(terminal) == 91
    leave(terminal)


def test_one_that_tells_only_where_the_cursor_is(opening: Opening) -> None:
    terminal = opening(Placing)
    before = terminal.raw.count(b"\x1b[6n")
    terminal.press("j" * 30)
    terminal.wait(lambda: line(terminal) == 31, "line 31")
    assert terminal.frames == 1 and terminal.raw.count(b"\x1b[6n") > before
    leave(terminal)


def test_one_that_never_answers(opening: Opening) -> None:
    """It is asked once and never waited for."""
    terminal = opening(Never)
    terminal.press("j" * 30)
    terminal.wait(lambda: line(terminal) == 31, "line 31")
    assert terminal.frames == 1
    leave(terminal)


def test_one_that_answers_late(opening: Opening) -> None:
    """More than two seconds are not waited."""
    terminal = opening(Late)
    begin = time.monotonic()
    terminal.press("j" * 30)
    terminal.wait(lambda: line(terminal) == 31, "line 31")
    assert time.monotonic() - begin < 10
    leave(terminal)


def test_nothing_is_sent_while_nothing_happens(opening: Opening) -> None:
    terminal = opening(SlowTerminal)
    terminal.wait(lambda: terminal.pump(0.5) == 0, "silence")
    before = len(terminal.raw)
    assert terminal.pump(1.0) == 0
    assert len(terminal.raw) == before
    leave(terminal)


READS = """
import os, tty
before = tty.tcgetattr(2)
tty.setraw(2)
os.write(2, b"listening")
os.write(2, b"got " + ascii(os.read(2, 100)).encode())
tty.tcsetattr(2, tty.TCSANOW, before)
"""
"""A program that says what it is typed."""


def test_no_answer_is_for_anybody_else(tmp_path: Path) -> None:
    """Neither for a pager nor for the shell, though a frame is under way when they begin."""
    reads = tmp_path / "reads.py"
    reads.write_text(READS)
    command = f"{sys.executable} -m tltui {TRACE}; {sys.executable} {reads}"
    with Owing(["/bin/sh", "-c", command], home=tmp_path, environment={"PAGER": f"{sys.executable} {reads}"}) as terminal:
        terminal.wait_for("6 compiles")
        terminal.to_trouble()
        terminal.wait_gone("reading")
        for turn, key in enumerate("Xq", 1):
            terminal.wait(lambda: terminal.pump(1.0) == 0, "silence")
            asked = terminal.frames
            terminal.press(str(turn))
            terminal.wait(lambda asked=asked: terminal.frames > asked, "a frame")  # type: ignore[misc]
            terminal.press(key)
            terminal.wait(lambda turn=turn: terminal.raw.count(b"listening") == turn, "who listens")  # type: ignore[misc]
            for _ in range(20):  # longer than an answer takes
                terminal.pump(0.05)
            terminal.press("typed")
            terminal.wait(lambda turn=turn: terminal.raw.count(b"got b'typed'") == turn, "what was typed")  # type: ignore[misc]
            if turn == 1:
                terminal.wait(lambda: "6 compiles" in terminal.text(), "the screen again")
        assert terminal.wait_end() == 0


def test_tmux_answers(tmp_path: Path) -> None:
    """Where there is tmux, it is one that is waited for, and its keys are keys."""
    if subprocess.run(["/bin/sh", "-c", "command -v tmux"], capture_output=True, check=False).returncode:
        pytest.skip("no tmux here")
    asked = "import os, tty; tty.setraw(0); os.write(1, b'\\x1b[5n'); print(ascii(os.read(0, 100)), flush=True); os.read(0, 1)"
    name = f"tltui-{os.getpid()}"
    own = ["tmux", "-L", name, "-f", os.devnull]
    subprocess.run([*own, "new-session", "-d", "-x", "80", "-y", "24", sys.executable, "-c", asked], check=True)
    try:
        end = time.monotonic() + 20
        said = ""
        while "b'\\x1b[0n'" not in said:
            assert time.monotonic() < end, said
            said = subprocess.run([*own, "capture-pane", "-p"], capture_output=True, text=True, check=False).stdout
            time.sleep(0.05)
    finally:
        subprocess.run([*own, "kill-server"], check=False)


def test_ctrl_z_and_back(tmp_path: Path) -> None:
    """The shell gets no answer, and the screen is all there again."""
    with Owing(["/bin/bash", "--norc", "-i"], home=tmp_path, environment={"PS1": "shell> ", "HISTFILE": ""}) as terminal:
        terminal.wait_for("shell>")
        terminal.press(f"{sys.executable} -m tltui {TRACE}\r")
        for turn in range(2):
            terminal.wait_for("6 compiles")
            terminal.to_trouble()
            terminal.wait(lambda: terminal.pump(1.0) == 0, "silence")
            asked, before = terminal.frames, terminal.lines()
            terminal.press(str(turn + 1))
            terminal.wait(lambda asked=asked: terminal.frames > asked, "a frame")  # type: ignore[misc]
            terminal.press("ctrl+z")
            terminal.wait(lambda turn=turn: terminal.raw.count(b"Stopped") == turn + 1, "the shell")  # type: ignore[misc]
            for _ in range(20):  # longer than an answer takes
                terminal.pump(0.05)
            assert b"0n" not in terminal.raw.rpartition(b"Stopped")[2]
            terminal.screen.reset()
            terminal.press("fg\r")
            terminal.wait(lambda before=before: terminal.lines()[0] == before[0], "the screen")  # type: ignore[misc]
        terminal.press("q")
        terminal.wait(lambda: terminal.raw.endswith(b"shell> "), "the shell")
        terminal.press("echo code $?\r")
        terminal.wait_for("code 0")
