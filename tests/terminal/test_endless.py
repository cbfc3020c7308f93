"""A regular expression that would run for ever, typed into a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Terminal

BOMB = "(a+)+$"
ENVELOPE = '{"inductor_output_code": {}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "0"}'


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    log = tmp_path / "dedicated_log_torch_trace_x.log"
    body = ["first = 1", "aaa", "a" * 60 + "!", "last = 2"]
    log.write_text(f"V1120 10:00:00.000000 1 x.py:1] {ENVELOPE}\n\t" + "\n\t".join(body) + "\n")
    return log


def matching(terminal: Terminal) -> bool:
    """Whether tltui has a process at work."""
    return any(file.read_text() for file in Path(f"/proc/{terminal.pid}/task").glob("*/children"))


def test_everywhere_in_a_document_and_in_a_filter(trace: Path, tmp_path: Path) -> None:
    with Terminal.tltui(trace, home=tmp_path) as terminal:
        terminal.wait_for("1 compile", "[0/0]")
        terminal.press("s")
        terminal.wait_for("search everywhere")
        terminal.press(*BOMB, "enter")
        terminal.wait_for("search: (a+)+$")
        terminal.press("escape")
        terminal.wait_for("Stopped. This page is incomplete.")
        terminal.wait(lambda: not matching(terminal), "the end of the process that matched")
        terminal.press("o")
        terminal.wait_for("name, file, artifact or address")
        terminal.press(*"0/0:inductor_output_code", "enter")
        terminal.wait_for("first = 1", "last = 2")
        for key in "/f":
            terminal.press(key, *BOMB)
            terminal.wait_for(BOMB)
            terminal.press("enter")
            terminal.wait(lambda: matching(terminal), "a process that matches")
            terminal.press("j")
            terminal.wait_for("/4")
            terminal.press("escape")
            terminal.wait(lambda: not matching(terminal), "the end of that process")
        terminal.press("/", *"last", "enter")
        terminal.wait_for("1/1  4/4")
        terminal.press("q")
        assert terminal.wait_end() == 0


def test_leaving_while_it_runs(trace: Path, tmp_path: Path) -> None:
    with Terminal.tltui(trace, home=tmp_path) as terminal:
        terminal.wait_for("1 compile", "[0/0]")
        terminal.press("s")
        terminal.wait_for("search everywhere")
        terminal.press(*BOMB, "enter")
        terminal.wait_for("search: (a+)+$")
        terminal.press("q")
        assert terminal.wait_end() == 0
