"""Logs in which a number became very large or negative, and a program that prints all of them in little memory and time.

Run as a program (`python large_numbers.py OUT SECONDS LOG…`) it limits its own memory and processor time, opens each log or
directory, and prints its pages and what the commands print. It names each log on standard error before it opens it: after an end
by the limits the last name is the name of the log that exceeded them.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import make_trace as t

NUMBERS = (2**31, 2**63, -1, 10**30)
IDS = ("rank", "frame_id", "frame_compile_id", "attempt", "compiled_autograd_id")
"""Keys of an envelope that identify its compile."""
MEMORY = 1536 << 20
HEAD = re.compile(rb"V\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ [^\n]*?:(\d+)\] (?=\{)")
TEXT, PID, SITE_LINE = "(digits of a text)", "(pid of the prefix)", "(line of the prefix)"
COMMANDS = (
    ["ls"], ["ls", "--json"], ["summary", "--json"], ["where"], ["where", "--json"], ["ranks", "--json"], ["matrix", "--json"],
    ["timing", "--json"], ["stragglers", "--json"], ["problems", "--json"], ["damage"],
)  # fmt: skip


def records_of(data: bytes) -> list[bytes]:
    """Return the records of a log."""
    return re.split(rb"(?<=\n)(?=V\d{4} )", data)


def parts_of(record: bytes) -> tuple[bytes, Any, bytes | None] | None:
    """Return the prefix of a record, its envelope and its payload; None for what is no record."""
    line, _, body = record.partition(b"\n")
    match = HEAD.match(line)
    if match is None:
        return None
    lines = body.removesuffix(b"\n").split(b"\n")
    payload = b"\n".join(line.removeprefix(b"\t") for line in lines) if body else None
    return match[0], json.loads(line[match.end() :]), payload


def fields_of(data: bytes) -> list[str]:
    """Return the names of all fields of a log that hold a number."""
    names = {PID, SITE_LINE}
    for parts in filter(None, map(parts_of, records_of(data))):
        names.update(_names(parts[1]))
        names.update(_names(_json(parts[2])))
        names.update((TEXT,) if parts[2] and _json(parts[2]) is None else ())
    return sorted(names)


def changed(data: bytes, field: str, number: int) -> bytes:
    """Return the log with this number in all fields of a name; every second record keeps its ids. The md5 are right."""
    out = []
    for n, record in enumerate(records_of(data)):
        parts = parts_of(record)
        if parts is None or (field in IDS and n % 2):
            out.append(record)
            continue
        head, envelope, payload = parts
        if field == PID:
            head = re.sub(rb"(\.\d{6}) \d+", rb"\1 %d" % number, head)
        elif field == SITE_LINE:
            head = re.sub(rb":\d+\] $", b":%d] " % number, head)
        envelope = _with(envelope, field, number)
        if payload is not None and (value := _json(payload)) is not None:
            payload = json.dumps(_with(value, field, number)).encode()
        elif payload is not None and field == TEXT:
            payload = re.sub(rb"(?<![\w.])\d+", b"%d" % number, payload)
        if payload is not None and "has_payload" in envelope:
            envelope["has_payload"] = t.md5(payload)
        out.append(head + json.dumps(envelope).encode() + b"\n" + (b"" if payload is None else t.tabbed(payload)))
    return b"".join(out)


def ranked(data: bytes, rank: int) -> bytes:
    """Return the log as a process of this rank would have written it."""
    return re.sub(rb'(\] \{"(?!str")[^\n]*?)\}(?=\n)', rb'\1, "rank": %d}' % rank, data)


def many_ranks(directory: Path, data: bytes, ranks: Sequence[int]) -> Path:
    """Write a log of each of these ranks, and return their directory."""
    for rank in ranks:
        t.write(directory, ranked(data, rank), f"dedicated_log_torch_trace_rank_{rank}_abcd.log")
    return directory


def limited(out: Path, paths: Sequence[Path], seconds: int) -> None:
    """Print all of these runs in a process of limited memory and processor time; raises AssertionError where that fails."""
    command = [sys.executable, __file__, str(out), str(seconds), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-3000:]}"


def _json(payload: bytes | None) -> Any:
    try:
        value = json.loads(payload or b"")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _names(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _names(item, name if key.isdigit() else key)
    elif isinstance(value, list):
        for item in value:
            yield from _names(item, name)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name


def _with(value: Any, field: str, number: int, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _with(item, field, number, name if key.isdigit() else key) for key, item in value.items()}
    if isinstance(value, list):
        return [_with(item, field, number, name) for item in value]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number if is_number and name == field else value


def _printed(arguments: list[str]) -> None:
    """Carry out a command; raises AssertionError where it fails by a fault of tltui."""
    from tltui.cli import main

    out, errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    before, sys.stdout = sys.stdout, out
    try:
        with redirect_stderr(errors):
            code = main(arguments)
    except SystemExit as error:
        raise AssertionError(f"{arguments}: {errors.getvalue()}") from error
    finally:
        sys.stdout = before
    assert code in (0, 1, 2), f"{arguments}: {code}: {errors.getvalue()}"


def _all_of(path: str, out: str) -> None:
    """Print every page and what the commands print of a run."""
    from tltui.export import lines_of
    from tltui.model.follow import open_run
    from tltui.questions.build import build
    from tltui.questions.index import QUESTIONS
    from tltui.sources.discover import NothingFound, discover
    from tltui.text.document import Options

    for command in COMMANDS:
        _printed([command[0], path, *command[1:]])
    try:
        run = open_run(discover([path]))
    except NothingFound:  # no line begins as records do any more
        return
    nodes = [str(compile_.ref) for compile_ in list(run.compiles())[:3]]
    pages = [f"@{view.name}{node and ':'}{node}" for node in ("", *nodes) for view in QUESTIONS]
    for ref in ["", "@records", "@pages", *nodes, *pages]:
        lines = list(lines_of(build(run, ref, Options())))
        assert not any("tltui cannot show" in line for line in lines[:3]), (path, ref, lines[:3])
    _printed(["report", path, "-o", os.path.join(out, "report.html"), "--force"])
    _printed(["timing", path, "--perfetto", os.path.join(out, "perfetto.json"), "--force"])
    index = os.path.join(out, "run.tlx")
    Path(index).unlink(missing_ok=True)
    _printed(["index", path, "-o", index])
    for name in ("ls", "where", "matrix", "ranks"):
        _printed([name, index])


if __name__ == "__main__":
    target, seconds, *given = sys.argv[1:]
    os.makedirs(target, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    os.environ["TLTUI_WORKERS"] = "0"
    for one in given:
        sys.stderr.write(f"{one}\n")
        _all_of(one, target)
