"""The process that owns the terminal of a job and keeps what it prints. A program of its own: `python -I -S keeper.py …`.

It has a session of its own, so that nothing that ends tltui, or the connection that tltui is used over, ends the job: the job has a
pseudo-terminal, and who closes the other end of that hangs up on it. So this process holds it until nobody has it open any more.

Whatever the job prints is appended to a file, byte by byte, as fast as it comes: nobody who looks at it can make the job wait. Of
a full disk the state says how many bytes are missing, and the job goes on.

Standard input are orders, a line each: `signal N`, `size COLUMNS ROWS`. Its end means that nobody gives orders any more. Standard
output gets one line when the job has begun, or could not.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from types import FrameType
from typing import Any

MARK = "tltui run"
SHELL = "/bin/sh"
BLOCK = 1 << 16
LAST = 4 << 20
"""Maximum bytes read between the end of the job and its report: its descendants may print forever."""
AGAIN = 1.0
"""Seconds between checks of a terminal that no process has open: one may open it by its name."""
TELL = 0.5
"""Seconds between two reports of lost bytes."""
ROOM = 4096
"""Minimum bytes of the state file, allocated at the start so that a full disk cannot prevent an update."""
KEPT_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTTOU, signal.SIGPIPE)


class State:
    """The state file of the job, rewritten in place."""

    def __init__(self, path: str, command: list[str]) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self.values: dict[str, Any] = {
            "written_by": MARK, "command": command, "directory": os.getcwd(), "host": socket.gethostname(),
            "keeper": os.getpid(), "keeper_began": _began(), "pid": 0, "began": time.time(), "ended": None, "code": None,
            "held": False, "missing": 0, "why": "",
        }  # fmt: skip
        self._room = max(ROOM, len(json.dumps(self.values)) + ROOM // 2)
        self.write()

    def write(self) -> None:
        """Write the state; on failure the job goes on with a stale state."""
        text = json.dumps(self.values).encode("ascii").ljust(self._room - 1) + b"\n"
        with contextlib.suppress(OSError):
            os.pwrite(self._file, text, 0)


class Keeper:
    """A job and its pseudo-terminal."""

    def __init__(self, output: str, state: str, columns: int, rows: int, command: list[str]) -> None:
        self._command = command
        self._output = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._state = State(state, command)
        self._master, self._slave = os.openpty()
        self._name = os.ttyname(self._slave)
        _as_written(self._slave)
        self.resize(columns, rows)
        self._select = selectors.DefaultSelector()
        self._job: subprocess.Popen[bytes] | None = None
        self._orders = b""
        self._last_report_s = 0.0
        self._is_new = False  # the state has something that is not written yet

    # the job

    def begin(self) -> str:
        """Start the job; return the line for the waiting parent."""
        # this process is the leader of the session: were it the job, its end would hang up on all that it left behind
        fcntl.ioctl(self._slave, termios.TIOCSCTTY, 0)
        try:
            self._job = self._started()
        except OSError as error:
            code = 127 if error.errno == errno.ENOENT else 126
            self._state.values.update(ended=time.time(), code=code, why=error.strerror or str(error))
            self._state.write()
            return f"failed {code} {error.strerror or error}"
        except ValueError as error:  # a NUL in a word
            return f"failed 126 {error}"
        finally:
            os.close(self._slave)
        self._state.values["pid"] = self._job.pid
        self._state.write()
        return f"pid {self._job.pid}"

    def _started(self) -> subprocess.Popen[bytes]:
        command = self._command
        for _ in range(2):
            try:
                return subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=self._slave, stderr=self._slave,
                    preexec_fn=self._in_front,  # noqa: PLW1509  (there are no threads here)
                )  # fmt: skip
            except OSError as error:
                script = shutil.which(command[0])
                if error.errno != errno.ENOEXEC or script is None:
                    raise
                command = [SHELL, script, *command[1:]]  # a script without #!, as any shell runs it
        raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC))

    def _in_front(self) -> None:
        """Set up the child before exec: a process group in the foreground of the terminal, default signal handlers."""
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(self._slave, os.getpid())
        for number in KEPT_SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    def keep(self) -> None:
        """Copy the output until the job has ended and no process has its terminal open."""
        wake, woken = os.pipe()
        for file in (wake, woken):
            os.set_blocking(file, False)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._pass_on)
        os.set_blocking(self._master, False)
        select = self._select
        select.register(wake, selectors.EVENT_READ, "wake")
        select.register(self._master, selectors.EVENT_READ, "output")
        select.register(0, selectors.EVENT_READ, "orders")
        is_open = True
        while True:
            ready = [key.data for key, _ in select.select(AGAIN if self._is_new or not is_open else None)]
            if "wake" in ready:
                _drain(wake)
            if "orders" in ready:
                self._take_orders()
            if "output" in ready or not is_open:
                was_open, is_open = is_open, self._read_output(BLOCK) >= 0
                if was_open and not is_open:
                    select.unregister(self._master)
                elif is_open and not was_open:
                    select.register(self._master, selectors.EVENT_READ, "output")
            if self._has_ended() and not is_open:
                break
            self._report_missing()
        self._end()

    def _has_ended(self) -> bool:
        """Return whether the job has ended; the first time, read its remaining output and report the end."""
        assert self._job is not None
        if self._job.returncode is not None:
            return True
        if self._job.poll() is None:
            return False
        total = 0
        while total < LAST and (size := self._read_output(BLOCK)) > 0:
            total += size
        self._state.values.update(ended=time.time(), code=self._job.returncode, held=size >= 0)
        self._state.write()
        return True

    def _end(self) -> None:
        """Shut down after the last process closed the terminal, without SIGHUP to the remaining group."""
        self._state.values["held"] = False
        self._state.write()
        with contextlib.suppress(OSError):
            os.tcsetpgrp(os.open(self._name, os.O_RDWR | os.O_NOCTTY), os.getpgrp())

    # what it prints

    def _read_output(self, size: int) -> int:
        """Copy at most `size` bytes of pending output; return their number, -1 if no process has the terminal open."""
        try:
            data = os.read(self._master, size)
        except BlockingIOError:
            return 0
        except OSError:  # how Linux says that the last one has closed it
            return -1
        if not data:
            return -1
        self._write(data)
        return len(data)

    def _write(self, data: bytes) -> None:
        remaining = memoryview(data)
        while remaining:
            try:
                remaining = remaining[os.write(self._output, remaining) :]
            except OSError as error:
                self._state.values["missing"] += len(remaining)
                self._state.values["why"] = error.strerror or str(error)
                self._is_new = True
                return

    def _report_missing(self) -> None:
        now = time.monotonic()
        if self._is_new and now - self._last_report_s >= TELL:
            self._last_report_s, self._is_new = now, False
            self._state.write()

    # orders

    def _take_orders(self) -> None:
        try:
            data = os.read(0, 4096)
        except OSError:
            data = b""
        if not data:
            self._select.unregister(0)
            return
        *lines, self._orders = (self._orders + data).split(b"\n")
        for line in lines:
            word, *numbers = line.split()
            if word == b"signal":
                self.signal(int(numbers[0]))
            elif word == b"size":
                self.resize(int(numbers[0]), int(numbers[1]))

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal, which sends SIGWINCH to the job."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: int) -> None:
        """Send a signal to the foreground process group and that of the job, as a terminal does.

        SIGKILL goes to all descendants that can be found.
        """
        assert self._job is not None
        groups = {self._job.pid}
        with contextlib.suppress(OSError):
            groups.add(os.tcgetpgrp(self._master))
        descendants = _descendants(self._job.pid) if number == signal.SIGKILL else []
        for group in groups - {os.getpgrp(), 0}:
            with contextlib.suppress(OSError):
                os.killpg(group, number)
        for pid in descendants:
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        """Forward a signal for this process to the job."""
        self.signal(number)


def _as_written(terminal: int) -> None:
    """Disable output processing (no carriage return before line ends) and echo."""
    modes = termios.tcgetattr(terminal)
    modes[1] &= ~termios.OPOST
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, modes)


def _drain(pipe: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(pipe, 4096):
            continue


def _fields(pid: int | str) -> list[str]:
    """Return the fields of /proc/PID/stat after the name: state, parent …"""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode("ascii", "replace").split()
    except OSError:
        return []


def _began() -> str:
    fields = _fields("self")
    return fields[19] if len(fields) > 19 else ""


def _descendants(pid: int) -> list[int]:
    """Return all descendants of a process."""
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    children: dict[int, list[int]] = {}
    for number in numbers:
        fields = _fields(number)
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(number)
    descendants, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(), [])
        descendants += below
        queue += below
    return descendants


def main() -> int:
    """Run `keeper.py OUTPUT STATE COLUMNS ROWS COMMAND…`."""
    for number in KEPT_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    output, state, columns, rows, *command = sys.argv[1:]
    keeper = Keeper(output, state, int(columns), int(rows), command)
    reply = keeper.begin()
    with contextlib.suppress(OSError):
        os.write(1, reply.encode("utf-8", "replace") + b"\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if not reply.startswith("pid "):
        return 1
    keeper.keep()
    return 0


if __name__ == "__main__":
    sys.exit(main())
