"""A pool of processes of this machine.

They are spawned, not forked: a fork takes over whatever is open, and locks that a thread holds. Each ends when its pool is left, in
the middle of its work too, and when the process that started it is gone, however it went.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import ParamSpec, TypeVar

from tltui.work.engines.gather import Engine

SERIAL_BELOW = 64 << 20
"""Bytes: what is done sooner than processes are there."""
WAITING = 2
"""Parts that wait for each worker, so that it need not wait for us."""
ENDING = (signal.SIGTERM, signal.SIGHUP)

A = ParamSpec("A")
R = TypeVar("R")


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def process_engine(workers: int) -> Engine:
    """So many processes."""
    return Engine(lambda: _pool(workers), workers * WAITING)


class _Pool(ProcessPoolExecutor):
    """Its processes do not hear ctrl+c: it is meant for the one that started them. No signal ends that one while it starts another:
    it would be left with half of its orders."""

    def submit(self, function: Callable[A, R], /, *args: A.args, **kwargs: A.kwargs) -> Future[R]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *ENDING))  # processes that are started here inherit it
        try:
            return super().submit(function, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _pool(workers: int) -> Iterator[Executor]:
    context = get_context("spawn")
    try:
        stay, leave = context.Pipe(duplex=False)
        pool = _Pool(workers, mp_context=context, initializer=_begin, initargs=(stay,))
    except (OSError, ImportError) as error:  # no file can be opened any more, or this system has no semaphores
        raise BrokenExecutor(str(error)) from error
    try:
        yield pool
    except BaseException:
        leave.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        leave.close()
        stay.close()


def _begin(stay: Connection) -> None:
    """In a worker: end with whoever started it, and when the other end of the pipe is closed."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(stay, parent.sentinel), daemon=True).start()


def _end_with(stay: Connection, parent: int) -> None:
    wait([stay, parent])
    os._exit(1)
