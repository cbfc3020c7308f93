"""Regular expressions that could run for ever run in a process that can be ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tltui.model.follow import open_run
from tltui.questions.records.grep_page import Query, grep_document
from tltui.sources.discover import discover
from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Builder, Options
from tltui.text.payload import Payload
from tltui.text.search import child_process as children
from tltui.text.search.byte_search import child_for, finder, first_hits
from tltui.text.search.child_process import Child, ChildEndedError, in_lines, is_simple

BOMB = "(a+)+$"
VICTIM = "a" * 60 + "!"
SOURCES = str(Path(children.__file__).parents[3])
SIMPLE = [
    "gemm", r"buf\d+", r"\bsin\b", "foo|bar", "(?:buf)?[0-9]", "x{3}", "a{0,5}b", "[a-z_]+", "(?i)Add", r"^\s*", r"\.",
]  # fmt: skip
RISKY = [
    BOMB, "(a|aa)+$", ".*x", "a+b", r"\w+\.\w+", r"(.)\1", "(?=a)b", "(?<!a)b", "x+$", "(ab)*", "a{0,90}b", "a+|b+c",
    "(?:a?){30}", "(ab|cd|ef)(ab|cd|ef)(ab|cd|ef)(ab|cd|ef)",
]  # fmt: skip


@pytest.mark.parametrize("source", SIMPLE)
def test_what_is_sure_to_be_quick(source: str) -> None:
    assert is_simple(re.compile(source)) and is_simple(re.compile(source.encode()))


@pytest.mark.parametrize("source", RISKY)
def test_what_is_not(source: str) -> None:
    assert not is_simple(re.compile(source)) and not is_simple(re.compile(source.encode()))


LINES = ["", "aab", "xaaab ab", "é aab b", "a" * 9, "\udcff aab", "no", "b"]


@pytest.mark.parametrize("source", ["a+b", "(a+)+$", ".*b", "(a)(?:a|b)*", "^.*$", r"\w+ \w+", "(?i)A+B"])
@pytest.mark.parametrize("back", [False, True])
def test_hits_are_those_of_finditer(source: str, back: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "BLOCK", 12)
    pattern = re.compile(source)
    order = range(len(LINES))[::-1] if back else range(len(LINES))
    expected = []
    for n in order:
        found = [(n, m.start(), m.end()) for m in pattern.finditer(LINES[n]) if m.end() > m.start()]
        expected += found[::-1] if back else found
    assert [hit for hit in in_lines(pattern, ((n, LINES[n]) for n in order), back) if hit] == expected and expected


@pytest.mark.parametrize("source", ["a+b", r"\s*b", ".*a.b", "[^x]+b", "^a+b", "ab.*b", r"(a|b)\1", r"a\s+b"])
def test_first_hits_in_bytes_are_those_of_each_line(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.text.search.byte_search.BLOCK", 16)
    text = b"\n".join(line.encode("utf-8", "surrogateescape") for line in LINES) + b"\nabxab\n\naa bb"
    expression = re.compile(source.encode(), re.MULTILINE)
    expected, at = [], 0
    for line in text.split(b"\n"):
        match = next((m for m in expression.finditer(line) if m.end() > m.start()), None)
        if match is not None:
            expected.append((at, at + len(line), at + match.start(), at + match.end()))
        at += len(line) + 1
    wanted = finder(source)
    with child_for(wanted) or pytest.fail("it is not simple") as child:
        assert [found for found in first_hits(text, wanted, child) if found] == expected and expected


def test_a_payload_is_searched_to_its_end_in_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.text.bytes_document.BLOCK", 100)
    document = BytesDocument(Payload.of("".join(f"line {n} {'x' * (n % 7)}y\n" for n in range(500)).encode()))
    pattern = re.compile(r"x+y")
    expected = [n for n in range(500) if n % 7]
    assert [hit.line for hit in document.find(pattern) if hit] == expected
    assert [hit.line for hit in document.find(pattern, 499, back=True) if hit] == expected[::-1]


def bombed() -> list[Any]:
    """Searches that would never end."""
    builder = Builder("x", "x")
    builder.add(VICTIM)
    stored = BytesDocument(Payload.of(VICTIM.encode()))
    pattern = re.compile(BOMB)
    return [builder.document().find(pattern), stored.find(pattern), stored.find(pattern, 0, back=True)]


@pytest.mark.parametrize("number", range(3))
def test_a_search_that_does_not_end_can_be_closed_and_takes_its_process_along(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = processes(monkeypatch)
    hits = bombed()[number]
    assert [next(hits) for _ in range(3)] == [None, None, None]
    [process] = started
    assert process.poll() is None
    hits.close()
    assert process.poll() == -signal.SIGKILL


def test_a_page_of_hits_that_does_not_end_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = processes(monkeypatch)
    run = open_run(discover([str(bombed_log(tmp_path))]))
    document = grep_document(run, Query(BOMB), Options())
    for _ in range(3):
        assert not document.advance()
    document.stop()  # type: ignore[attr-defined]
    assert document.complete and "Stopped. This page" in list(document.text())[-1]
    assert [process.poll() for process in started] == [-signal.SIGKILL]


def test_a_process_that_ends_by_itself_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    started = processes(monkeypatch)
    with Child(re.compile(BOMB)) as child, pytest.raises(ChildEndedError):
        for _ in child.ask(VICTIM):
            started[0].kill()


def test_the_process_ends_with_a_parent_that_is_killed() -> None:
    """Also in the middle of a match."""
    program = f"""
import re, sys
from tltui.text.search.child_process import Child
child = Child(re.compile({BOMB!r}))
waiting = child.ask({VICTIM!r})
next(waiting)
print(child._process.pid, flush=True)
while True:
    next(waiting)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": SOURCES})
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert is_alive(pid)
    parent.kill()
    parent.wait()
    end = time.monotonic() + 20
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_alive(pid)


def test_on_the_command_line_ctrl_c_ends_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tltui", "grep", BOMB, str(bombed_log(tmp_path))]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": SOURCES}, start_new_session=True
    )
    end = time.monotonic() + 20
    while not (below := children_of(running.pid)) and time.monotonic() < end:
        time.sleep(0.01)
    assert below, "it is matching"
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(20) == 130
    assert running.stderr is not None and running.stderr.read() == b""
    assert not any(map(is_alive, below))


def test_nothing_is_started_for_what_is_simple(monkeypatch: pytest.MonkeyPatch) -> None:
    started = processes(monkeypatch)
    document = BytesDocument(Payload.of(b"buf12\n"))
    assert len([*document.find(re.compile(r"buf\d+"))]) == 1
    assert len([*first_hits(b"buf12\n", finder(r"buf\d+"), child_for(finder(r"buf\d+")))]) == 1
    with child_for(finder(r"no\d+such\w+thing")) or pytest.fail("it is not simple") as child:
        assert not [*first_hits(b"buf12\n" * 500, finder(r"no\d+such\w+thing"), child)]
    assert started == []


def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def heard(*given: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(start(*given, **options))
        return started[-1]

    monkeypatch.setattr("tltui.text.search.child_process.subprocess.Popen", heard)
    return started


def bombed_log(directory: Path) -> Path:
    envelope = '{"inductor_output_code": {}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "0"}'
    log = directory / "dedicated_log_torch_trace_x.log"
    log.write_text(f"V1120 10:00:00.000000 1 x.py:1] {envelope}\n\t{VICTIM}\n")
    return log


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
