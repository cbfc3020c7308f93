"""Completions in the real shells: what is typed, with tabs, is what a command gets."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from tltui.cli.registry import COMMANDS

pytest.importorskip("shtab")
STARTS = {
    "bash": (
        ["--norc", "--noprofile", "-i"],
        "PS1='READY> '; source {script}; tltui() {{ printf 'GOT[%s]\\n' \"$*\"; }}",
    ),
    "zsh": (
        ["-f", "-i"],
        "PS1='READY> '; fpath+=($PWD/functions); autoload -Uz compinit; compinit -D; tltui() {{ printf 'GOT[%s]\\n' \"$*\" }}",
    ),
    "fish": (
        ["--no-config", "-i"],
        "function fish_prompt; echo 'READY> '; end; source {script}; function tltui; printf 'GOT[%s]\\n' \"$argv\"; end",
    ),
}
TYPED = {
    "tltui summ\t": "summary",
    "tltui prob\ttrac\t": "problems tracedir",
    "tltui trac\t": "tracedir",
    "tltui ls trac\t": "ls tracedir",
    "tltui ls tracedir/ded\t": "ls tracedir/dedicated_log.log",
    "tltui ls --lat\ttrac\t": "ls --latest tracedir",
    "tltui timing --sort tot\t": "timing --sort total",
    "tltui timing --perfetto oth\t": "timing --perfetto other.json",
    "tltui diff tracedir oth\t": "diff tracedir other.json",
    "tltui completions fi\t": "completions fish",
    "tltui --theme mono trac\t": "--theme mono tracedir",
}


@cache
def script(shell: str) -> bytes:
    source = str(Path(__file__).parents[2] / "src")
    arguments = [sys.executable, "-m", "tltui", "completions", shell]
    return subprocess.run(arguments, env=os.environ | {"PYTHONPATH": source}, capture_output=True, check=True).stdout


class Shell:
    """A shell in a terminal, in which somebody types."""

    def __init__(self, name: str, directory: Path) -> None:
        options, start = STARTS[name]
        (directory / "functions").mkdir()
        place = directory / "functions" / "_tltui"  # as zsh wants to have it
        place.write_bytes(script(name))
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "TERM": "dumb", "LANG": "C.UTF-8"}
            os.execve(shutil.which(name) or "", [name, *options], environment)
        self.read(0.5, "")
        self.type(start.format(script=place) + "\r")
        self.read(10.0, "READY> ")

    def type(self, text: str) -> None:
        os.write(self.file, text.encode())

    def read(self, seconds: float, until: str) -> str:
        """What comes, up to that; without it until nothing has come for a moment."""
        said, end = "", time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not (until and until in said):
            if not select.select([self.file], [], [], left if until or not said else min(left, 0.12))[0]:
                break
            try:
                said += os.read(self.file, 65536).decode("utf-8", "replace")
            except OSError:
                break
        return said

    def got(self, text: str) -> str:
        """What the command gets that is typed."""
        for piece in re.findall(r"[^\t]+|\t", text):
            self.type(piece)
            self.read(1.5, "")
        self.type("\r")
        found = re.search(r"GOT\[(.*?)\]", said := self.read(5.0, "]"))
        return found[1].strip().rstrip("/") if found else f"nothing: {said!r}"

    def close(self) -> None:
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.file)


@pytest.mark.parametrize("name", STARTS)
def test_a_shell_completes(name: str, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    (tmp_path / "tracedir").mkdir()
    (tmp_path / "tracedir" / "dedicated_log.log").touch()
    (tmp_path / "other.json").touch()
    shell = Shell(name, tmp_path)
    try:
        got = {text: shell.got(text) for text in TYPED}
    finally:
        shell.close()
    assert got == TYPED


@pytest.mark.parametrize("name", STARTS)
def test_every_command_and_its_options_are_in_the_script(name: str) -> None:
    words = set(re.findall(r"[\w-]+", script(name).decode()))
    assert set(COMMANDS) <= words
    assert {"perfetto", "fail-on", "node-local"} <= {word.lstrip("-") for word in words}
