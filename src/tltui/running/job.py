"""A job that runs under a terminal of its own (`tltui run --view`), as who started it sees it: its state, signals, its end.

The terminal belongs to `keeper.py`, a process in a session of its own: the job outlives whoever started it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from tltui.running import keeper
from tltui.running.child import NOT_EXECUTABLE, NotStarted
from tltui.sources.kept import NAME, JobState, read_state, state_path


class Job:
    """One job that was started here."""

    def __init__(self, process: subprocess.Popen[bytes], output: str, pid: int, command: tuple[str, ...]) -> None:
        self._process = process
        self.output = output
        """The file that holds what it prints."""
        self.pid = pid
        self.command = command
        self._size = (0, 0)
        self._state: JobState | None = None

    @property
    def state(self) -> JobState | None:
        """What is known of it now; None where that cannot be read."""
        if self._state is None or self._state.ended is None or self._state.held:
            self._state = read_state(self.output) or self._state
        return self._state

    @property
    def has_ended(self) -> bool:
        """Whether it has; what it left behind may go on."""
        return (state := self.state) is not None and state.ended is not None

    @property
    def is_lost(self) -> bool:
        """Whether the process that kept its output is gone, and with it the word on how the job ended."""
        return self._process.poll() is not None and not self.has_ended

    @property
    def runs(self) -> bool:
        """Whether it runs, as far as is known."""
        return not self.has_ended and not self.is_lost

    def interrupt(self) -> None:
        """What ctrl+c does in a terminal."""
        self._order(f"signal {int(signal.SIGINT)}")

    def kill(self) -> None:
        """End it and all that it started, at once."""
        self._order(f"signal {int(signal.SIGKILL)}")

    def resize(self, columns: int, rows: int) -> None:
        """Its terminal has another size now."""
        if (columns, rows) != self._size:
            self._size = (columns, rows)
            self._order(f"size {columns} {rows}")

    def _order(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # the keeper is gone, and the job with it
            self._process.stdin.write(line.encode("ascii") + b"\n")
            self._process.stdin.flush()


def start(command: Sequence[str], environment: Mapping[str, str], directory: str, size: tuple[int, int]) -> Job:
    """Start a job whose output is kept in a directory, in a terminal of `size` columns and rows. Raises `NotStarted`, OSError."""
    os.makedirs(directory, exist_ok=True)
    output = _new_output(directory)
    words = [sys.executable, "-I", "-S", keeper.__file__, output, state_path(output), *map(str, size), *command]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(environment),
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    with process.stdout as said:
        word, _, rest = said.readline().decode("utf-8", "replace").rstrip("\n").partition(" ")
    if word == "pid" and rest.isdigit():
        return Job(process, output, int(rest), tuple(command))
    process.wait()
    code, _, why = rest.partition(" ")
    raise NotStarted(int(code) if code.isdigit() else NOT_EXECUTABLE, f"{command[0]}: {why or 'it could not be started'}")


def _new_output(directory: str) -> str:
    """A file that was not there before: the output of an earlier job stays what it is."""
    number = 1
    while True:
        path = os.path.join(os.path.abspath(directory), f"{NAME}{f'-{number}' if number > 1 else ''}.txt")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            return path
        except FileExistsError:
            number += 1
