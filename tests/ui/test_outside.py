"""What leaves the program: other programs that get the document, and the clipboard."""

from __future__ import annotations

import os
from pathlib import Path

import make_trace as mt
import pytest
from opened import BREAKS, opened

from tltui.config import Config
from tltui.screens.workbench import copy

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(("key", "name"), [("X", "PAGER"), ("v", "EDITOR"), ("ctrl+e", "VISUAL")])
async def test_a_variable_that_is_no_command(key: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "less '")
    async with opened(BREAKS) as driver:
        await driver.press(key)
        await driver.until(lambda: driver.message.startswith(f"${name} is not a valid command: No closing quotation"))


@pytest.mark.parametrize(("key", "name", "default"), [("X", "PAGER", "less -R"), ("v", "EDITOR", "vi +1")])
async def test_a_variable_of_blanks_is_as_none(key: str, name: str, default: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr("tltui.screens.child_processes.ExternalPrograms._run", lambda self, command, lines: ran.append(command))
    monkeypatch.setenv(name, " ")
    async with opened(BREAKS) as driver:
        await driver.press(key)
        await driver.until(lambda: ran)
    assert " ".join(ran[0]).startswith(default)


@pytest.mark.parametrize(("pager", "runs", "has_colours"), [
    ("less", ["less", "-R"], True), ("/usr/bin/less -FX", ["/usr/bin/less", "-FX", "-R"], True), ("less -R", ["less", "-R"], True),
    ("more", ["more"], False), ("/opt/lesson/cat", ["/opt/lesson/cat"], False),
])  # fmt: skip
async def test_a_pager_gets_colours_if_it_shows_them(
    pager: str, runs: list[str], has_colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[list[str], str]] = []
    monkeypatch.setattr(
        "tltui.screens.child_processes.ExternalPrograms._run",
        lambda self, command, lines: ran.append((command, "".join(lines))),
    )
    monkeypatch.setenv("PAGER", pager)
    async with opened(BREAKS) as driver:
        await driver.press("X")
        await driver.until(lambda: ran)
    assert ran[0][0] == runs and ("\x1b[" in ran[0][1]) == has_colours


async def test_a_directory_is_written_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    async with opened(BREAKS) as driver:
        await driver.press("x", "ctrl+u")
        await driver.type("out")
        await driver.press("enter")
        prompt = driver.browser.prompt
        await driver.until(lambda: prompt.is_open and "out is a directory" in prompt.question)
        name = prompt.text
        assert name.startswith("out/") and name.endswith(".txt")
        await driver.press("enter")
        await driver.until(lambda: "wrote" in driver.message)
    assert (tmp_path / name).read_text()


async def test_the_path_that_is_copied_is_a_word_for_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory name with a line end would run what follows when it is pasted."""
    log = mt.write(tmp_path / "a b\nrm -rf x\x1b]0;owned\x07", mt.compiled())
    async with opened(log) as driver:
        sent: list[str] = []
        monkeypatch.setattr(driver.app, "copy_to_clipboard", sent.append)
        await driver.press("Y")
        await driver.until(lambda: sent)
        where = f"{tmp_path}/a b\\x0arm -rf x\\x1b]0;owned\\x07/{log.name}"
        assert sent == [f"$'{where}'" + (f" {driver.at}" if driver.at else "")]


def test_a_pipe_in_place_of_the_copy_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "yank.txt"
    os.mkfifo(file)
    sent: list[str] = []
    assert copy("text", sent.append, file) == "copied 4 characters: to the terminal (if it allows that)"
    assert sent == ["text"]


async def test_ctrl_q_always_quits() -> None:
    async with opened(BREAKS, config=Config(keys={"app.leave": ("j",)})) as driver:
        await driver.press("ctrl+q")
        await driver.until(lambda: not driver.app.is_running)
