"""`torchrun … 2>&1 | tltui -`: the screen is there before anything has come, and grows; the keys come from the terminal. Unpacking
says how far it is."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

from real import TRACES
from terminal import Gone, Terminal

LOG = TRACES / "inputs" / "archives" / "dedicated_log_torch_trace_zbaswu8i.log.gz"
PLAIN = gzip.decompress(LOG.read_bytes())
FEED = """
import os, sys
with open(sys.argv[1], "rb") as fifo:
    while data := fifo.read1(65536):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
"""
"""A job that prints what a test gives it."""


def piped(home: Path, command: str) -> Terminal:
    shell = f"{command} | {sys.executable} -m tltui -; echo left with $?"
    return Terminal(["sh", "-c", shell], home=home)


def fed(home: Path) -> tuple[Terminal, int]:
    """tltui behind a job, and what the job prints from."""
    fifo = home / "fifo"
    os.mkfifo(fifo)
    feed = home / "feed.py"
    feed.write_text(FEED)
    terminal = piped(home, f"{sys.executable} {feed} {fifo}")
    return terminal, os.open(fifo, os.O_WRONLY)


def unpacked(home: Path) -> list[str]:
    return [name for name in os.listdir(home / ".cache" / "tltui" / "unpacked") if name != ".gate"]


def leave(terminal: Terminal) -> None:
    terminal.press("q")
    try:
        terminal.wait_for("left with 0")
    except Gone:
        assert "left with 0" in terminal.text()


def test_it_grows(tmp_path: Path) -> None:
    terminal, job = fed(tmp_path)
    with terminal:
        terminal.wait_for("standard input")
        cut = PLAIN.index(b"\nV", 90_000) + 1
        os.write(job, PLAIN[:cut])
        terminal.wait_for("2 compiles", "live")
        terminal.press("2")
        terminal.wait_for("▸ problems")
        os.write(job, PLAIN[cut:])
        terminal.wait_for("3 compiles", "[2/0]")
        os.close(job)
        terminal.wait_for("· ended ·")
        assert len(unpacked(tmp_path)) == 1
        leave(terminal)
    assert unpacked(tmp_path) == []


def test_it_is_what_a_job_printed(tmp_path: Path) -> None:
    terminal, job = fed(tmp_path)
    with terminal:
        terminal.wait_for("standard input")
        os.write(job, b"Traceback (most recent call last):\nImportError: no module named torch\n")
        os.close(job)
        terminal.wait_for("ImportError: no module named torch")
        leave(terminal)


def test_packed(tmp_path: Path) -> None:
    with piped(tmp_path, f"cat {LOG.with_name('job.tar.gz')}") as terminal:
        terminal.wait_for("3 compiles", "Start here")
        assert "live" not in terminal.text()
        leave(terminal)
    assert unpacked(tmp_path) == []


def long_one(directory: Path) -> Path:
    """What takes longer to unpack than nothing is said of it: 2 GiB, of several streams of xz as `cat` makes them."""
    path = directory / "long.log.xz"
    path.write_bytes(LOG.with_name("bomb_512M.log.xz").read_bytes() * 4)
    return path


def test_unpacking_says_how_far_it_is_and_ctrl_c_stops_it(tmp_path: Path) -> None:
    with Terminal.tltui("ls", long_one(tmp_path), home=tmp_path) as terminal:
        terminal.wait_for("tltui: unpacking long.log.xz: ", " MiB (ctrl+c stops)")
        terminal.press("ctrl+c")
        terminal.wait_end()
        assert terminal.code == 130
        assert "Traceback" not in terminal.text()
    assert unpacked(tmp_path) == []


def test_the_line_is_gone_at_the_end(tmp_path: Path) -> None:
    with Terminal.tltui("ls", long_one(tmp_path), home=tmp_path) as terminal:
        terminal.wait_for("tltui: unpacking")
        terminal.wait_for("1 compile")
        assert "unpacking" not in terminal.text()
