"""What is around the program: no terminal, a poor one, a log that changes or goes away, a scan that is left."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import SOURCES, Terminal

TRACES = Path(__file__).parents[1] / "traces" / "torch-2.13"
DEMO_LOGS = sorted((Path(__file__).parents[2] / "src" / "tltui" / "demo").glob("*.log"))
LISTED = "6 compiles · 7.97 s of compiling"


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    return {**clean, "PYTHONPATH": str(SOURCES), **more}


def test_without_a_terminal_it_prints_the_summary(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tltui", str(TRACES / "breaks")],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=20, env=environment(tmp_path), text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert LISTED in done.stdout
    assert "standard input is not a terminal: printing the summary" in done.stderr
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(("redirection", "why"), [
    ("< /dev/null", "standard input is not a terminal"),
    ("> {out}", "standard output is not a terminal"),
    ("2> {out}", "standard error is not a terminal"),
    ("| cat > {out}", "standard output is not a terminal"),
])  # fmt: skip
def test_with_one_end_redirected(redirection: str, why: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    line = f"{sys.executable} -m tltui {TRACES / 'breaks'} {redirection.format(out=out)}; echo code $?"
    with Terminal(["/bin/sh", "-c", line], home=tmp_path) as terminal:
        terminal.wait_for("code 0")
        terminal.wait_end()
        shown = bytes(terminal.raw).decode() + (out.read_text() if out.exists() else "")
        assert why in shown
        assert LISTED in re.sub(r"\x1b\[[\d;]*m", "", shown)
        assert "\x1b[?1049h" not in shown


def test_dumb_terminal(tmp_path: Path) -> None:
    with Terminal.tltui(TRACES / "breaks", home=tmp_path, term="dumb") as terminal:
        assert terminal.wait_end() == 0
        assert LISTED in terminal.text()
        assert "TERM=dumb" in terminal.text()
        assert b"\x1b" not in terminal.raw


def test_a_wrong_path(tmp_path: Path) -> None:
    with Terminal.tltui(tmp_path / "none", home=tmp_path) as terminal:
        assert terminal.wait_end() == 2
        assert "No such file or directory: '" in terminal.text().replace("\n", "")


def large_log(path: Path, size: int) -> Path:
    data = DEMO_LOGS[0].read_bytes()
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(data)
    return path


def test_quit_while_reading(tmp_path: Path) -> None:
    log = large_log(tmp_path / "large.log", 120 << 20)
    with Terminal.tltui(log, home=tmp_path) as terminal:
        terminal.wait_for("reading")
        terminal.press("q")
        assert terminal.wait_end() == 0


def test_keys_work_while_reading(tmp_path: Path) -> None:
    log = large_log(tmp_path / "large.log", 120 << 20)
    with Terminal.tltui(log, home=tmp_path) as terminal:
        terminal.wait_for("reading")
        terminal.press("?")
        terminal.wait_for("Keys here")
        terminal.press("q")
        terminal.wait_gone("Keys here")
        terminal.wait_gone("reading")
        terminal.wait_for("compile ids restart")  # the log has the same ids again and again
        terminal.press("q")
        assert terminal.wait_end() == 0


@pytest.mark.parametrize("how", ["truncated", "removed", "replaced"])
def test_a_log_that_goes_away(how: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    shutil.copytree(TRACES / "breaks", trace)
    [log] = trace.iterdir()
    with Terminal.tltui(trace, home=tmp_path) as terminal:
        terminal.wait_for("6 compiles", "3 graph breaks")
        terminal.wait_gone("reading")
        if how == "truncated":
            os.truncate(log, 5000)
        elif how == "removed":
            log.unlink()
        else:
            log.write_bytes(b"something else\n" * 1000)
        for ref in ("0/0:inductor_output_code", "3/0:compilation_metrics", "3/0", "@records:0/0", "@damage", "1/0"):
            terminal.press("o")
            terminal.wait_for("name, file, artifact or address")
            terminal.press(ref, "enter")
            terminal.wait_gone("name, file, artifact or address")
        terminal.wait(lambda: "[1/0]" in terminal.lines()[1], "the overview of [1/0]")
        terminal.press("g", "=", "j", "j", "j", "J", "K", "tab", "G", "/", "x", "enter")
        terminal.press("?")
        terminal.wait_for("Keys here")
        terminal.press("q")
        terminal.wait_gone("Keys here")
        terminal.press("q")
        assert terminal.wait_end() == 0


def test_two_logs_of_which_one_cannot_be_read(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    shutil.copytree(TRACES / "ddp", trace)
    (trace / "dedicated_log_torch_trace_rank_7_x.log").touch()
    (trace / "compressed.log").write_bytes(b"\x1f\x8b123")
    with Terminal.tltui(trace, home=tmp_path, columns=300) as terminal:
        terminal.wait_for("2 ranks", "2 not opened")
        terminal.press("o", "@damage", "enter")
        terminal.wait_for("the compressed data", "the file is empty")
        terminal.press("q")
        assert terminal.wait_end() == 0
