"""The job as a process: a child that keeps the terminal or one under a terminal of its own, and the end of its output."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tltui.running import keeper
from tltui.sources.job_output import MARK, NAME, JobState, read_state, state_path
from tltui.text.frozen import frozen
from tltui.text.safe_files import replacing

OUTPUT_TAIL_BYTES = 1 << 20
"""Bytes of the end of the output that are stored."""


@frozen
class OutputFile:
    """A regular file that is the standard error or output of this process and of the job."""

    descriptor: int
    begin: int
    """Its size in bytes before the job started."""


def output_file() -> OutputFile | None:
    """Return the file of standard error, else that of standard output; None for a terminal or a pipe."""
    for descriptor in (2, 1):
        try:
            status = os.fstat(descriptor)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            return OutputFile(descriptor, status.st_size)
    return None


def save_output_tail(file: OutputFile, directory: str, words: Sequence[str], began: float, status: int) -> str:
    """Copy the end of a job's output to `output.txt` of its directory, with its state beside it; return the path.

    `status`: the exit code, or the negative number of a signal. Returns an empty text where the output cannot be read again, or the
    directory has such a file. Raises OSError.
    """
    path = os.path.join(directory, f"{NAME}.txt")
    source = f"/proc/self/fd/{file.descriptor}"
    if os.path.exists(path) or not os.path.exists(source):
        return ""
    with open(source, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        begin = max(file.begin, size - OUTPUT_TAIL_BYTES)
        stream.seek(begin)
        data = stream.read(size - begin)
    missing = begin - file.begin
    if missing:
        cut = data.find(b"\n") + 1
        data, missing = data[cut:], missing + cut
    state = {
        "written_by": MARK, "command": list(words), "host": socket.gethostname(), "pid": 0, "began": began, "ended": time.time(),
        "code": status, "held": False, "missing": missing, "why": "tltui keeps only the end of the output" if missing else "",
    }  # fmt: skip
    for target, content in ((state_path(path), json.dumps(state).encode("ascii") + b"\n"), (path, data)):
        with replacing(Path(target), force=False) as out:
            out.write(content)
    return path


TYPED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""The exit status that a shell gives to a command that it cannot start."""
SHELL = "/bin/sh"
_OF_KERNEL = 0x80
"""`si_code` of a signal that no process sent (SI_KERNEL, sigaction(2)): it came from the terminal."""


class NotStarted(Exception):
    """The command does not exist or is not executable; `code` is the exit code of a shell for it."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


@frozen
class Ending:
    """The exit status of the job."""

    status: int
    """Its exit code, or the negative number of the signal that ended it."""

    @property
    def code(self) -> int:
        """Return the exit code of a shell for it."""
        return self.status if self.status >= 0 else 128 - self.status


def startable(program: str) -> None:
    """Check that a program can be started. Raises `NotStarted`."""
    if shutil.which(program) is not None:
        return
    places = [program] if os.path.dirname(program) else [os.path.join(place, program) for place in os.get_exec_path()]
    existing = next((place for place in places if os.path.exists(place)), None)
    if existing is None:
        raise NotStarted(NOT_FOUND, f"{program}: not found")
    raise NotStarted(NOT_EXECUTABLE, f"{existing}: {'a directory' if os.path.isdir(existing) else 'not executable'}")


def run_child(words: Sequence[str], environment: Mapping[str, str]) -> Ending:
    """Start the job and wait for its end, on the main thread. Raises `NotStarted`."""
    with _blocked_signals() as (blocked, mask):
        child = _Child(_start(words, environment, mask))
        while True:
            ending = child.ended()
            if ending is not None:
                return ending
            child.handle(*_wait_for_signal(blocked))


@contextmanager
def _blocked_signals() -> Iterator[tuple[set[signal.Signals], set[int]]]:
    """Block the handled signals within the context; yield them and the previous mask.

    Signals that were ignored at the start (`nohup`) stay ignored, for the child too.
    """
    blocked = {number for number in (*TYPED, *FORWARDED) if signal.getsignal(number) != signal.SIG_IGN} | {signal.SIGCHLD}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    before = signal.signal(signal.SIGCHLD, _ignore)  # where it is ignored a child leaves no status
    try:
        yield blocked, {int(number) for number in mask}
    finally:
        signal.signal(signal.SIGCHLD, before)
        while signal.sigpending() & blocked:  # what came too late for the child
            signal.sigwait(blocked)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing: a signal with a handler stays pending while it is blocked."""


def _start(words: Sequence[str], environment: Mapping[str, str], mask: set[int]) -> int:
    """Start the child with the default SIGPIPE and SIGXFSZ, which Python ignores; return its pid."""
    default = [signal.SIGPIPE, signal.SIGXFSZ]
    try:
        return os.posix_spawnp(words[0], list(words), environment, setsigmask=mask, setsigdef=default)
    except OSError as error:
        if error.errno == errno.ENOEXEC and (script := shutil.which(words[0])):  # a script without #!, as any shell runs it
            return os.posix_spawn(SHELL, [SHELL, script, *words[1:]], environment, setsigmask=mask, setsigdef=default)
        if error.errno == errno.ENOENT and shutil.which(words[0]):
            raise NotStarted(NOT_EXECUTABLE, f"{words[0]}: the interpreter in its first line (#!) does not exist") from None
        code = NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE
        raise NotStarted(code, f"{words[0]}: {error.strerror}") from None


def _wait_for_signal(blocked: set[signal.Signals]) -> tuple[int, bool]:
    """Wait for a signal; return its number, and whether it came from the terminal."""
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(blocked)
        return info.si_signo, info.si_code == _OF_KERNEL
    number = signal.sigwait(blocked)  # macOS does not tell who sent it
    return number, number in TYPED


class _Child:
    """The child until it is waited for; after that its pid may be reused."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._to_continue = False
        """We stopped with it and go on again: so must it, where nobody else continued it."""

    def ended(self) -> Ending | None:
        """Return how it ended, None while it runs. If the terminal stopped it, stop too until continued."""
        while True:
            pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if not pid:
                if self._to_continue:
                    self._continue()
                return None
            if os.WIFCONTINUED(status):
                self._to_continue = False
            elif not os.WIFSTOPPED(status):
                return Ending(os.waitstatus_to_exitcode(status))
            elif os.WSTOPSIG(status) == signal.SIGTSTP:
                self._stop()

    def handle(self, number: int, typed: bool) -> None:
        """Handle a signal to this process."""
        if number == signal.SIGCHLD:
            return
        if number in TYPED and (group := self._own_group()):
            # what is typed is for a whole group; the kernel throws a SIGTSTP away for one that nobody there can continue
            if number != signal.SIGTSTP:
                os.killpg(group, number)
            else:
                os.killpg(group, signal.SIGSTOP)
                self._stop()
        elif number in FORWARDED:
            # a terminal that goes tells it the leader of its session, and when that has ended the group that it served
            if not typed or self._own_group() or os.getsid(0) == os.getpid():
                os.kill(self._pid, number)
        elif number == signal.SIGTSTP and not typed:
            os.kill(self._pid, number)

    def _own_group(self) -> int:
        """Return the process group that the child created, 0 while it is in ours."""
        try:
            group = os.getpgid(self._pid)
        except ProcessLookupError:  # macOS, when it has ended
            return 0
        return group if group != os.getpgrp() else 0

    def _stop(self) -> None:
        """Stop this process as a terminal does, until it is continued."""
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # still blocked: together with one of the terminal it is one
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
        signal.signal(signal.SIGTSTP, before)
        self._to_continue = True

    def _continue(self) -> None:
        self._to_continue = False
        group = self._own_group()
        (os.killpg if group else os.kill)(group or self._pid, signal.SIGCONT)


class Job:
    """A job that was started here."""

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
        """Return its current state; None if it cannot be read."""
        if self._state is None or self._state.ended is None or self._state.held:
            self._state = read_state(self.output) or self._state
        return self._state

    @property
    def has_ended(self) -> bool:
        """Return whether it has ended; its child processes may go on."""
        return (state := self.state) is not None and state.ended is not None

    @property
    def is_lost(self) -> bool:
        """Return whether the process that stored its output is gone, so that its exit status is unknown."""
        return self._process.poll() is not None and not self.has_ended

    @property
    def runs(self) -> bool:
        """Return whether it runs, as far as is known."""
        return not self.has_ended and not self.is_lost

    def interrupt(self) -> None:
        """Send SIGINT, as ctrl+c does in a terminal."""
        self._order(f"signal {int(signal.SIGINT)}")

    def kill(self) -> None:
        """Kill it and all its descendants at once."""
        self._order(f"signal {int(signal.SIGKILL)}")

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of its terminal."""
        if (columns, rows) != self._size:
            self._size = (columns, rows)
            self._order(f"size {columns} {rows}")

    def _order(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # the keeper is gone, and the job with it
            self._process.stdin.write(line.encode("ascii") + b"\n")
            self._process.stdin.flush()


def start(command: Sequence[str], environment: Mapping[str, str], directory: str, size: tuple[int, int]) -> Job:
    """Start a job in a terminal of `size` (columns, rows), with its output stored in `directory`. Raises `NotStarted`, OSError."""
    os.makedirs(directory, exist_ok=True)
    output = _new_output(directory)
    words = [sys.executable, "-I", "-S", keeper.__file__, output, state_path(output), *map(str, size), *command]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(environment),
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    with process.stdout as stream:
        word, _, detail = stream.readline().decode("utf-8", "replace").rstrip("\n").partition(" ")
    if word == "pid" and detail.isdigit():
        return Job(process, output, int(detail), tuple(command))
    process.wait()
    code, _, why = detail.partition(" ")
    raise NotStarted(int(code) if code.isdigit() else NOT_EXECUTABLE, f"{command[0]}: {why or 'it could not be started'}")


def _new_output(directory: str) -> str:
    """Create a new output file; the output of an earlier job is not overwritten."""
    number = 1
    while True:
        path = os.path.join(os.path.abspath(directory), f"{NAME}{f'-{number}' if number > 1 else ''}.txt")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            return path
        except FileExistsError:
            number += 1
