"""The job as a child that keeps the terminal: what tltui does until it has ended.

It has our stdin, stdout and stderr, our process group, and the mask and the dispositions of signals that tltui was started with.
So ctrl+c, ctrl+backslash and ctrl+z reach it from the terminal, once, as if tltui were not there. tltui blocks the signals that
concern both and takes them one by one:

* those of the terminal (`TYPED`): the child has them too and decides. tltui stops when the child has stopped. A child that left for
  a process group of its own does not get them from the terminal: it gets them from us.
* those that end or ask something (`FORWARDED`): passed on to the child, each as often as it comes.

Nobody but the child is waited for: what it leaves behind goes on.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

TYPED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""What a shell says of a command that it cannot start."""
SHELL = "/bin/sh"
_OF_KERNEL = 0x80
"""`si_code` of a signal that no process sent (SI_KERNEL, sigaction(2)): it came from the terminal."""


class NotStarted(Exception):
    """There is no such command, or it is no program: `code` is what a shell says of it."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class Ending:
    """How the job ended."""

    status: int
    """Its exit status; where a signal ended it the number of the signal, negative."""

    @property
    def code(self) -> int:
        """What a shell says of it."""
        return self.status if self.status >= 0 else 128 - self.status


def startable(program: str) -> None:
    """See to it that a program can be started, before anything is made for it. Raises `NotStarted`."""
    if shutil.which(program) is not None:
        return
    places = [program] if os.path.dirname(program) else [os.path.join(place, program) for place in os.get_exec_path()]
    there = next((place for place in places if os.path.exists(place)), None)
    if there is None:
        raise NotStarted(NOT_FOUND, f"{program}: not found")
    raise NotStarted(NOT_EXECUTABLE, f"{there}: {'a directory' if os.path.isdir(there) else 'not executable'}")


def run_child(words: Sequence[str], environment: Mapping[str, str]) -> Ending:
    """Start the job and wait until it has ended. On the main thread. Raises `NotStarted`."""
    with _signals_taken() as (taken, mask):
        child = _Child(_start(words, environment, mask))
        while True:
            ending = child.ended()
            if ending is not None:
                return ending
            child.take(*_next(taken))


@contextmanager
def _signals_taken() -> Iterator[tuple[set[signal.Signals], set[int]]]:
    """The signals that are blocked while the block runs, and the mask before. What we were made deaf to (`nohup`) stays so: for the
    child too."""
    taken = {number for number in (*TYPED, *FORWARDED) if signal.getsignal(number) != signal.SIG_IGN} | {signal.SIGCHLD}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, taken)
    before = signal.signal(signal.SIGCHLD, _nothing)  # where it is ignored a child leaves no status
    try:
        yield taken, {int(number) for number in mask}
    finally:
        signal.signal(signal.SIGCHLD, before)
        while signal.sigpending() & taken:  # what came too late for the child
            signal.sigwait(taken)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _nothing(number: int, frame: FrameType | None) -> None:
    """A handler: a signal that has one is not thrown away."""


def _start(words: Sequence[str], environment: Mapping[str, str], mask: set[int]) -> int:
    """The pid of the child. Python ignores SIGPIPE and SIGXFSZ; a program expects what they do by default."""
    default = [signal.SIGPIPE, signal.SIGXFSZ]
    try:
        return os.posix_spawnp(words[0], list(words), environment, setsigmask=mask, setsigdef=default)
    except OSError as error:
        if error.errno == errno.ENOEXEC and (script := shutil.which(words[0])):  # a script without #!, as any shell runs it
            return os.posix_spawn(SHELL, [SHELL, script, *words[1:]], environment, setsigmask=mask, setsigdef=default)
        if error.errno == errno.ENOENT and shutil.which(words[0]):
            raise NotStarted(NOT_EXECUTABLE, f"{words[0]}: the program that its first line (#!) names is not there") from None
        code = NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE
        raise NotStarted(code, f"{words[0]}: {error.strerror}") from None


def _next(taken: set[signal.Signals]) -> tuple[int, bool]:
    """Wait for a signal: which one, and whether it came from the terminal."""
    if hasattr(signal, "sigwaitinfo"):
        found = signal.sigwaitinfo(taken)
        return found.si_signo, found.si_code == _OF_KERNEL
    number = signal.sigwait(taken)  # macOS does not tell who sent it
    return number, number in TYPED


class _Child:
    """The child, until it was waited for: from then on another process may have its number."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._to_continue = False
        """We stopped with it and go on again: so must it, where nobody else continued it."""

    def ended(self) -> Ending | None:
        """How it ended, None while it goes on. Where the terminal has stopped it we stop too, until somebody continues us."""
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

    def take(self, number: int, typed: bool) -> None:
        """Do what a signal to us asks."""
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
        """The process group that the child made for itself, 0 while it is in ours."""
        try:
            group = os.getpgid(self._pid)
        except ProcessLookupError:  # macOS, when it has ended
            return 0
        return group if group != os.getpgrp() else 0

    def _stop(self) -> None:
        """Stop as a terminal stops a program, until somebody continues us."""
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
