"""What a terminal may send: the program lives, the keyboard works, nothing is taken for something else."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import Terminal

TRACE = Path(__file__).parents[1] / "traces" / "torch-2.13" / "breaks"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with Terminal.tltui(TRACE, home=tmp_path) as terminal:
        terminal.wait_for("6 compiles")
        terminal.to_trouble()
        terminal.wait_gone("reading")
        yield terminal


def send(terminal: Terminal, data: bytes) -> None:
    """Send bytes in pieces, taking what comes meanwhile."""
    for at in range(0, len(data), 4050):
        os.write(terminal.descriptor, data[at : at + 4050])
        terminal.pump(0)


def leave(terminal: Terminal) -> None:
    terminal.press("q")
    assert terminal.wait_end() == 0
    assert b"Traceback" not in terminal.raw


def test_what_costs_only_itself(terminal: Terminal) -> None:
    for sent in (
        b"\xe9", b"\xff", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\x9b",  # not UTF-8
        b"\x1b[M \xa0\x30", b"\x1b[M#\xa0\x30",  # an old mouse, right of column 95
        b"\x1b[97;5:3u", b"\x1b[1114112u", b"\x1b[99999999999999999999u",  # kitty
        b"\x1b[" + b"1;" * 2000 + b"m", b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", b"\x00\x00",
    ):  # fmt: skip
        send(terminal, sent + b"?")
        terminal.wait_for("Keys here")
        terminal.press("q")
        terminal.wait_gone("Keys here")
    leave(terminal)


def test_a_window_that_gets_and_loses_the_focus(terminal: Terminal) -> None:
    """Nothing looks otherwise for that, so nothing is drawn."""
    terminal.wait(lambda: terminal.pump(0.5) == 0, "silence")
    before = len(terminal.raw)
    send(terminal, b"\x1b[I\x1b[O" * 100)
    assert terminal.pump(0.5) == 0
    assert len(terminal.raw) == before
    leave(terminal)


def test_a_sequence_of_numbers_is_no_keys(terminal: Terminal) -> None:
    """Each `1` would open the summary."""
    send(terminal, b"\x1b[" + b"1;" * 2000 + b"mb")
    terminal.wait_for("[2/0] inner_break")
    assert "Summary" not in terminal.lines()[1]
    leave(terminal)


@pytest.mark.parametrize("size", [5000, 1_000_000])
def test_a_large_paste(terminal: Terminal, size: int) -> None:
    terminal.press("o")
    terminal.wait_for("name, file, artifact or address")
    send(terminal, b"\x1b[200~" + b"zq" * (size // 2) + b"\x1b[201~")
    terminal.wait_for("zqzqzqzq")
    terminal.press("escape")
    terminal.wait_gone("zqzqzqzq")
    leave(terminal)


def test_a_paste_whose_end_comes_in_two_pieces(terminal: Terminal) -> None:
    terminal.press("o")
    terminal.wait_for("name, file, artifact or address")
    send(terminal, b"\x1b[200~zqzq\x1b")
    for _ in range(12):  # longer than a lone ESC is waited for
        terminal.pump(0.05)
    send(terminal, b"[201~")
    terminal.wait_for("zqzq")
    terminal.press("escape")
    terminal.wait_gone("zqzq")
    leave(terminal)


def test_a_paste_that_never_ends(terminal: Terminal) -> None:
    """Then a key is a key again; nothing of what was pasted was one."""
    send(terminal, b"\x1b[200~q\x1bq\x1b[20~q")
    terminal.wait(lambda: terminal.pump(1.2) == 0, "silence")
    terminal.press("?")
    terminal.wait_for("Keys here")
    terminal.press("q")
    terminal.wait_gone("Keys here")
    leave(terminal)


def test_ctrl_q_always_quits(tmp_path: Path) -> None:
    """Also where the config file took it, and every key that leaves, away; and from whatever is open."""
    config = tmp_path / ".config" / "tltui"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[keys]\n"app.leave" = "j"\n"app.help" = "ctrl+q"\n"app.go_to" = "o"\n')
    for opening, shown in (("", "6 compiles"), ("o", "name, file, artifact or address"), ("x", "write to"), ("ctrl+p", "[0/0] f")):
        with Terminal.tltui(TRACE, home=tmp_path) as terminal:
            terminal.wait_for("6 compiles")
            terminal.to_trouble()
            terminal.press(*filter(None, [opening]))
            terminal.wait_for(shown)
            terminal.press("ctrl+q")
            assert terminal.wait_end() == 0


def test_a_panic_is_no_good_end(tmp_path: Path) -> None:
    text = "from tltui.terminal.driver import TerminalDriver\nimport sys\nfrom tltui.cli import main\n"
    text += "def fail(self):\n    raise ZeroDivisionError\n"
    text += f"TerminalDriver.run_input_thread = fail\nsys.exit(main([{str(TRACE)!r}]))"
    (tmp_path / "fail.py").write_text(text)
    with Terminal([sys.executable, str(tmp_path / "fail.py")], home=tmp_path) as terminal:
        assert terminal.wait_end() == 70


def test_a_fault_in_what_reads_the_terminal(tmp_path: Path) -> None:
    """It costs the bytes that it came with."""
    text = "from tltui.terminal import driver\nimport sys\nfrom tltui.cli import main\nfeed = driver.Decoder.feed\n"
    text += "def failing(self, data):\n    if b'!' in data:\n        raise ZeroDivisionError\n    return feed(self, data)\n"
    text += f"driver.Decoder.feed = failing\nsys.exit(main([{str(TRACE)!r}]))"
    (tmp_path / "fail.py").write_text(text)
    with Terminal([sys.executable, str(tmp_path / "fail.py")], home=tmp_path) as terminal:
        terminal.wait_for("6 compiles")
        terminal.to_trouble()
        terminal.press("!")
        terminal.wait_for("ZeroDivisionError: internal error in tltui")
        terminal.press("q")
        assert terminal.wait_end() == 0


def looks(terminal: Terminal) -> list[list[tuple[object, ...]]]:
    """Every cell; of a blank what can be seen of it."""
    screen = terminal.screen
    cells = [[screen.buffer[y][x] for x in range(screen.columns)] for y in range(screen.lines)]
    blank = [[cell.data == " " and not (cell.reverse or cell.underscore) for cell in row] for row in cells]
    return [[(" ", cell.bg) if blank[y][x] else tuple(cell) for x, cell in enumerate(row)] for y, row in enumerate(cells)]


@pytest.mark.parametrize(("columns", "rows", "theme"), [(120, 40, "dark"), (80, 24, "ansi-light")])
def test_the_screen_is_as_if_drawn_anew(tmp_path: Path, columns: int, rows: int, theme: str) -> None:
    """After keys by chance nothing stands there that is not meant: all of it drawn again looks the same."""
    chance = random.Random(columns)
    keys = [*"jkJKgGhl=-bBrR][12345678dwf#VtzyOP?", "tab", "enter", "escape", "pagedown", "pageup", "left", "right", "backspace"]
    environment = {"COLORTERM": "truecolor"} if theme == "dark" else {}
    with Terminal.tltui(TRACE, "--theme", theme, home=tmp_path, columns=columns, rows=rows, environment=environment) as terminal:
        for y in range(rows):  # pyte erases only cells that were written once
            terminal.draw(f"\x1b[{y + 1}H".encode() + b" " * columns)
        terminal.wait_for("6 compiles")
        terminal.to_trouble()
        for _ in range(3):
            for _ in range(20):
                terminal.press(chance.choice(keys))
                terminal.pump(0.02)
            for _ in range(4):  # out of what is open
                terminal.wait(lambda: terminal.pump(0.15) == 0, "silence")
                terminal.press("escape")
            terminal.press("ctrl+c")
            terminal.wait_for("q quits tltui")  # all keys before it have done their work
            terminal.wait(lambda: terminal.pump(0.5) == 0, "silence")
            before, drawn = looks(terminal), terminal.raw.count(b"\x1b[H\x1b[J")
            terminal.press("ctrl+l")
            terminal.wait(lambda drawn=drawn: terminal.raw.count(b"\x1b[H\x1b[J") > drawn, "all again")  # type: ignore[misc]
            terminal.wait(lambda: terminal.pump(0.3) == 0, "silence")
            after = looks(terminal)
            said = rows - 1  # what the status line says ends with the next key
            assert [(y, before[y], after[y]) for y in range(said) if before[y] != after[y]] == []


@pytest.mark.parametrize("keys", [b"j" * 10_000, b"\x1b[B\x1b[A" * 5_000, b"/" + b"a" * 10_000 + b"\r"], ids=["one", "two", "text"])
def test_quit_behind_very_many_keys(terminal: Terminal, keys: bytes) -> None:
    """One after the other they would take longer than a test waits."""
    terminal.press("enter")
    send(terminal, keys)
    leave(terminal)
