"""A pool of processes of this machine.

Each has a pipe of its own and a thread that waits for it, so that one which dies takes nothing along but what it was at. (That of
the standard library loses all that was given to it, and waits for ever for a result that a process was killed while writing.)
They are spawned, not forked: a fork takes over whatever is open, and locks that a thread holds. Each ends when its pool is left, in
the middle of its work too, and when the process that started it is gone, however it went.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, ParamSpec, TypeVar

from tltui.work.engines.gather import Engine
from tltui.work.signals import Raising, unheeded

SERIAL_BELOW = 64 << 20
"""Bytes: what is done sooner than processes are there."""
WAITING = 2
"""Parts that wait for each worker, so that it need not wait for us."""
PATIENCE = 2.0
"""Seconds in which a worker that is ended has left what it was at."""
ENDING = (signal.SIGTERM, signal.SIGHUP)
"""They end a worker. Ctrl+c is meant for the process that started it, and that ends it."""

A = ParamSpec("A")
R = TypeVar("R")


class WorkerDiedError(Exception):
    """A worker has ended in the middle of its work."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def process_engine(workers: int) -> Engine:
    """So many processes."""
    return Engine(lambda: _pool(workers), workers * WAITING)


@contextmanager
def _pool(workers: int) -> Iterator[Executor]:
    try:
        pool = _Pool(workers)
    except OSError as error:  # nothing can be started
        raise BrokenExecutor(str(error)) from error
    try:
        yield pool
    finally:
        pool.end()
        pool.shutdown(wait=True, cancel_futures=True)


@dataclass(slots=True)
class _Worker:
    """A process, and our end of its pipe."""

    process: SpawnProcess
    pipe: Connection


class _Pool(ThreadPoolExecutor):
    """Each of its threads has a process do what it is given."""

    def __init__(self, workers: int) -> None:
        # a signal that a thread gets is noticed late, and what it starts inherits which ones it does not get
        super().__init__(workers, initializer=signal.pthread_sigmask, initargs=(signal.SIG_BLOCK, (signal.SIGINT, *ENDING)))
        resource_tracker.ensure_running()  # it lets signals through where it is started, so that must not be in such a thread
        self._own = threading.local()
        self._lock = threading.Lock()
        self._living: list[_Worker] = []
        self._is_left = False

    def submit(self, function: Callable[A, R], /, *args: A.args, **kwargs: A.kwargs) -> Future[R]:
        return super().submit(self._have_done, function, args, kwargs)

    def end(self) -> None:
        """End all processes, whatever they are at."""
        with self._lock:
            self._is_left = True
            living = [worker.process for worker in self._living]
        for process in living:
            process.terminate()
        until, left = time.monotonic() + PATIENCE, {process.sentinel for process in living}
        while left and (now := time.monotonic()) < until:
            left.difference_update(wait(list(left), until - now))
        for process in living:
            process.kill()

    def _have_done(self, function: Callable[..., R], args: Any, kwargs: Any) -> R:
        worker = self._worker()
        try:
            worker.pipe.send((function, args, kwargs))
            is_done, result = worker.pipe.recv()
        except (EOFError, OSError):
            raise WorkerDiedError(self._buried(worker)) from None
        if not is_done:
            raise result
        found: R = result
        return found

    def _worker(self) -> _Worker:
        """The process of this thread."""
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            with self._lock:
                if self._is_left:
                    raise WorkerDiedError("nothing is begun any more")
                worker = _started()
                self._living.append(worker)
            self._own.worker = worker
        return worker

    def _buried(self, worker: _Worker) -> str:
        """How a worker ended. The next piece of work is another one's."""
        self._own.worker = None
        worker.process.kill()
        worker.process.join()
        with self._lock:
            self._living.remove(worker)
        worker.pipe.close()
        code = worker.process.exitcode or 0
        return f"a process was ended by signal {-code}" if code < 0 else f"a process ended with exit code {code}"

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=wait, cancel_futures=cancel_futures)
        if wait:
            for worker in self._living:
                worker.process.join()
                worker.pipe.close()


def _started() -> _Worker:
    context = get_context("spawn")
    ours, its = context.Pipe()
    with its:
        process = context.Process(target=_serve, args=(its,), daemon=True)
        process.start()
    return _Worker(process, ours)


def _serve(pipe: Connection) -> None:
    """In a worker: do what comes, until nothing comes any more. A signal ends it in the middle of its work: what that has in a
    directory of its own goes with it."""
    with Raising(_leave) as raising:
        for number in ENDING:
            signal.signal(number, raising.heard)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        parent = parent_process()
        assert parent is not None
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
        with suppress(EOFError, OSError):
            while True:
                function, args, kwargs = pipe.recv()
                try:
                    answer = (True, function(*args, **kwargs))
                except Exception as error:
                    answer = (False, error)
                try:
                    pipe.send(answer)
                except (TypeError, AttributeError, ValueError) as error:  # what cannot be sent
                    pipe.send((False, TypeError(str(error))))
        _hear_no_more()


def _leave(number: int) -> SystemExit:
    _hear_no_more()
    return SystemExit(128 + number)


def _hear_no_more() -> None:
    """A terminal's signal comes to the worker, and another one from who started it as soon as that has it."""
    for number in ENDING:
        signal.signal(number, unheeded)


def _end_with(parent: int) -> None:
    wait([parent])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)
