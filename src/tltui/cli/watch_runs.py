"""`tltui watch`: a line for each run of a directory that ends, and a program to start for it."""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure, print_error
from tltui.cli.list_runs import run_names
from tltui.cli.options import add_json, add_text, count
from tltui.cli.parser import Command, argument
from tltui.cli.printing import as_text, layout

if TYPE_CHECKING:
    from tltui.questions.compare.run_list_page import RunRow

EXAMPLES = """\
A run is what tltui list counts as one. It ended if no process has its logs open any more, or if nothing was written for
--until-idle seconds: the line states which. Runs that ended before watch began are only compared with. A run that is written
again is printed again.

The program of --exec is started for each run, without a shell, and watch waits for it. It gets the variables RUN_PATH, RUN_NAME,
RUN_COMPILES, RUN_ERRORS, RUN_EAGER, RUN_BREAKS, RUN_RECOMPILES, RUN_COMPILE_S, and RUN_JSON: a file with the object of --json.

examples:
  tltui watch /shared/traces
  tltui watch /shared/traces --count 1 --json | jq .errors
  tltui watch /shared/traces --exec python notify.py --channel nightly
"""
SECONDS = 60.0
"""Default of `--until-idle`: a job may compile one graph for that long without a record."""
FACTS = ("path", "name", "compiles", "errors", "eager", "breaks", "recompiles", "compile_s")
"""Fields of a row in the variables `RUN_…` of the program."""

Signature = tuple[int, int]
"""Latest modification in nanoseconds and total bytes of the files of an entry."""


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise Failure(f"invalid number of seconds: {text!r}", "use a number above 0, such as 60")
    return value


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield a line per run that ends. Raises `Failure` for what is no directory."""
    from tltui.questions.compare.run_list_page import in_order

    if options.directory is None:
        raise Failure("missing DIR", "for example: tltui watch /shared/traces")
    if options.program == []:
        raise Failure("missing program after --exec", "for example: --exec python notify.py")
    watch = Watch(options.directory, options.until_idle)
    earlier = watch.start()
    print_error(f"tltui: watching {options.directory}; {earlier} {'run' if earlier == 1 else 'runs'} ended before")
    reported = 0
    while options.count is None or reported < options.count:
        for row, reason in watch.ended():
            watch.rows[row.path] = row
            row = next(one for one in in_order(watch.rows.values()) if one.path == row.path)
            yield from _line(row, reason, options)
            sys.stdout.buffer.flush()
            if options.program:
                _start(options.program, row)
            reported += 1
            if reported == options.count:
                return
        time.sleep(min(options.until_idle, options.interval))


def _line(row: RunRow, reason: str, options: argparse.Namespace) -> Iterator[bytes]:
    from tltui.export import to_json
    from tltui.questions.compare.run_list_page import ended_document

    if options.json:
        yield to_json(row, indent=False) + b"\n"
    else:
        options.paths = [row.path]
        yield from as_text(ended_document(row, reason, layout(options)), options)


class Watch:
    """The entries of a directory between two looks."""

    def __init__(self, directory: str, until_idle: float) -> None:
        self.directory = directory
        self.until_idle = until_idle
        self.rows: dict[str, RunRow] = {}
        """The runs that ended, by path."""
        self._reported: dict[str, Signature] = {}
        self._changed: dict[str, tuple[Signature, float]] = {}

    def start(self) -> int:
        """Remember the runs that have ended; return their number."""
        from tltui.questions.compare.run_list_page import open_entry

        now = time.time()
        for name in run_names(self.directory):
            signature = self._signature(name)
            opened = open_entry(self.directory, name)
            if opened is None or isinstance(opened, str):
                continue
            row, is_finished = opened
            if is_finished or now - signature[0] / 1e9 >= self.until_idle:
                self._reported[name] = signature
                self.rows[row.path] = row
        return len(self.rows)

    def ended(self) -> Iterator[tuple[RunRow, str]]:
        """Yield each run that ended since the last look, and how that is known."""
        from tltui.questions.compare.run_list_page import open_entry

        now = time.monotonic()
        for name in run_names(self.directory):
            signature = self._signature(name)
            if self._reported.get(name) == signature:
                continue
            last, since = self._changed.get(name, (None, now))
            if last != signature:
                self._changed[name] = signature, now
                continue
            opened = open_entry(self.directory, name)
            if opened is None or isinstance(opened, str):
                continue
            row, is_finished = opened
            if not is_finished and now - since < self.until_idle:
                continue
            self._reported[name] = signature
            yield row, "ended" if is_finished else f"nothing was written for {self.until_idle:g} s"

    def _signature(self, name: str) -> Signature:
        """Look at the files of an entry; those that vanish meanwhile count as absent."""
        path = os.path.join(os.path.expanduser(self.directory), name)
        latest, size = _of_file(path)
        if os.path.isdir(path):
            for directory, _, files in os.walk(path):
                for file in files:
                    changed, length = _of_file(os.path.join(directory, file))
                    latest, size = max(latest, changed), size + length
        return latest, size


def _of_file(path: str) -> Signature:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _start(program: list[str], row: RunRow) -> None:
    """Start the program for a run and wait for it; a failure is one line on stderr."""
    from tltui.export import to_json

    with tempfile.NamedTemporaryFile("wb", prefix="tltui-run-", suffix=".json") as file:
        file.write(to_json(row) + b"\n")
        file.flush()
        facts = {f"RUN_{name.upper()}": str(getattr(row, name)) for name in FACTS}
        try:
            code = subprocess.run(program, env={**os.environ, **facts, "RUN_JSON": file.name}, check=False).returncode
        except (OSError, ValueError) as error:
            print_error(f"tltui: {program[0]} cannot be started: {error}")
            return
    if code:
        print_error(f"tltui: {program[0]} ended with exit code {code} for {row.name}")


COMMANDS = {
    "watch": Command(run, (
        argument("directory", nargs="?", metavar="DIR", help="a directory with a subdirectory for each run"),
        argument("--until-idle", metavar="SECONDS", type=_seconds, default=SECONDS,
                 help="a run ended if nothing was written for this long (default: 60)"),
        argument("--interval", metavar="SECONDS", type=_seconds, default=5.0, help="time between two looks at DIR (default: 5)"),
        argument("--count", metavar="N", type=count, help="end after N runs (default: never)"),
        partial(add_text, folds=False), add_json,
        argument("--exec", dest="program", nargs=argparse.REMAINDER, metavar="PROGRAM",
                 help="start this program with its arguments, the rest of the command line, for each run"),
    ), EXAMPLES),
}  # fmt: skip
