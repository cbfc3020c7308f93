"""`-`: what comes through a pipe."""

from __future__ import annotations

import gzip
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from real import ROOT, TRACES
from results import result_in

ARCHIVES = TRACES / "inputs" / "archives"
PLAIN = gzip.decompress((ARCHIVES / "dedicated_log_torch_trace_zbaswu8i.log.gz").read_bytes())


def tltui(home: Path, *arguments: str, given: Any) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(home), "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
    environment.pop("TORCH_TRACE", None)
    command = [sys.executable, "-m", "tltui", *arguments]
    how = {"input": given} if isinstance(given, bytes) else {"stdin": given}
    found = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=60, **how)
    top = home / "tltui" / "unpacked"
    assert not top.exists() or os.listdir(top) == [".gate"]
    return found


@pytest.mark.parametrize("name", [None, "job.tar.gz", "job.zip", "dedicated_log_torch_trace_zbaswu8i.log.xz", "two_members.log.gz"])
def test_a_command_reads_it_to_its_end(tmp_path: Path, name: str | None) -> None:
    data = PLAIN if name is None else (ARCHIVES / name).read_bytes()
    found = tltui(tmp_path, "ls", "--json", "-", given=data)
    assert (found.returncode, found.stderr) == (0, b"")
    listed = result_in(found.stdout)
    assert listed["path"] == "-"
    [process] = listed["ranks"][0]["processes"]
    assert process["file"] in ("-", "-!job/dedicated_log_torch_trace_zbaswu8i.log")
    assert [compile_["id"] for compile_ in process["compiles"]] == ["[0/0]", "[-/-]", "[1/0]", "[2/0]"]


def test_it_stands_beside_other_paths(tmp_path: Path) -> None:
    found = tltui(tmp_path, "summary", "-", str(TRACES / "torch-2.13" / "breaks"), given=PLAIN)
    assert found.returncode == 0
    assert b"standard input and 1 more" in found.stdout


def test_pages_and_payloads_of_it(tmp_path: Path) -> None:
    found = tltui(tmp_path, "show", "-", "1/0:dynamo_output_graph", given=PLAIN)
    assert found.returncode == 0
    assert b"class GraphModule" in found.stdout


NO_TRACE = (
    "tltui: not a trace, TORCH_LOGS text, debug directory or tlparse output: '-'\n"
    "  to record a trace: tltui run -- python train.py\n"
)


@pytest.mark.parametrize(("given", "said"), [
    (b"", "tltui: standard input is empty: '-'\n  the command before the pipe printed nothing\n"),
    (b"hello\n", NO_TRACE), (gzip.compress(b"hello", mtime=0), NO_TRACE),
])  # fmt: skip
def test_nothing_of_ours_comes(tmp_path: Path, given: bytes, said: str) -> None:
    found = tltui(tmp_path, "ls", "-", given=given)
    assert (found.returncode, found.stdout, found.stderr.decode()) == (2, b"", said)


def test_it_is_read_once(tmp_path: Path) -> None:
    found = tltui(tmp_path, "ls", "-", "-", given=PLAIN)
    assert (found.returncode, found.stderr) == (2, b"tltui: standard input is given twice: '-'\n  give - once\n")


def test_it_is_not_the_terminal(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    try:
        for command in (["ls", "-"], ["-"]):
            found = tltui(tmp_path, *command, given=slave)
            assert found.returncode == 2
            assert found.stderr.decode().startswith("tltui: standard input is the terminal: '-'\n  pipe a log into it: ")
    finally:
        os.close(master)
        os.close(slave)


def test_the_limit_does_not_end_the_writer(tmp_path: Path) -> None:
    """What comes after the limit is read, and goes nowhere."""
    config = tmp_path / "config.toml"
    config.write_text("unpack_member_mib = 1\n")
    writer = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read() + b'\\t' + b'x' * (8 << 20))"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src"), "TLTUI_CONFIG": str(config)}
    job = subprocess.Popen([sys.executable, "-c", writer], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert job.stdin is not None and job.stdout is not None
    command = [sys.executable, "-m", "tltui", "damage", "-"]
    reader = subprocess.Popen(command, stdin=job.stdout, stdout=subprocess.PIPE, env=environment)
    job.stdout.close()
    job.stdin.write(PLAIN)
    job.stdin.close()
    printed, _ = reader.communicate(timeout=60)
    assert job.wait() == 0
    assert b"cut at the limit: 1 MiB per file" in printed


def test_who_writes_into_a_program_that_has_ended_gets_sigpipe(tmp_path: Path) -> None:
    writer = "import os, signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)\nwhile True: os.write(1, b'x' * 4096)"
    job = subprocess.Popen([sys.executable, "-c", writer], stdout=subprocess.PIPE)
    assert job.stdout is not None
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    reader = subprocess.Popen([sys.executable, "-m", "tltui", "ls", "-"], stdin=job.stdout, env=environment, stderr=subprocess.PIPE)
    job.stdout.close()
    end = time.monotonic() + 20
    while not any(path.stat().st_size > 1 << 20 for path in tmp_path.glob("tltui/unpacked/*/0*")):
        assert time.monotonic() < end
        time.sleep(0.01)
    reader.send_signal(signal.SIGTERM)
    reader.communicate(timeout=20)
    assert reader.returncode == 128 + signal.SIGTERM
    assert job.wait(timeout=20) == -signal.SIGPIPE
