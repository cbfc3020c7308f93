"""Executors by name: processes of this machine, a dask cluster, the ranks of an MPI job."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tltui import __version__
from tltui.text.frozen import frozen, mutable
from tltui.work.engines.gather import Engine, NoEngineError
from tltui.work.signals import Raising, ignore_signal

if TYPE_CHECKING:
    from distributed import Client

if TYPE_CHECKING:
    from mpi4py.futures import MPIPoolExecutor


SCHEME = "dask://"
CLUSTER_PATIENCE = 10.0
"""Seconds in which a scheduler answers."""
COMING = 60.0
"""Seconds in which there is a worker: some clusters start them when there is something to do."""
GONE = 30.0
"""Seconds without any worker after which no other one is waited for."""
LOOKING = 1.0
"""Seconds between two looks whether there is one."""
CLUSTER_WAITING = 4
"""Parts that wait for each worker."""


@contextmanager
def dask_engine(address: str) -> Iterator[Engine]:
    """Yield the workers of the scheduler at HOST:PORT. Raises `NoEngineError`.

    The connection follows dask's own configuration (TLS among others).
    """
    try:
        from distributed import Client
    except ImportError:
        raise NoEngineError(f"{SCHEME} needs dask.distributed", "to install it: pip install distributed") from None
    # what becomes of workers is told by us, in our words
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=CLUSTER_PATIENCE, set_as_default=False)
    except Exception as error:  # dask names none, and its timeout is another class in each Python
        raise NoEngineError(f"no dask scheduler at {address}: {error}") from None
    executor = _Cluster(client)
    try:
        workers = _count_threads(client)
        yield Engine(lambda: nullcontext(executor), in_flight=workers * CLUSTER_WAITING)
    finally:
        executor.shutdown(wait=False)
        client.close(timeout=CLUSTER_PATIENCE)


def _count_threads(client: Client) -> int:
    """Count the threads of the workers. Raises `NoEngineError` if one of them has another tltui."""

    def version() -> str:  # sent as code: tltui may not be there
        try:
            import tltui
        except ImportError:
            return ""
        return tltui.__version__

    try:
        client.submit(version, pure=False).result(timeout=COMING)
        versions = client.run(version)
    except Exception as error:  # of no worker in time it is a timeout
        why = str(error) or type(error).__name__
        raise NoEngineError(f"no usable dask worker after {COMING:.0f} s: {why}") from None
    for worker, worker_version in sorted(versions.items()):
        if worker_version != __version__:
            has = f"has tltui {worker_version}" if worker_version else "has no tltui"
            problem = f"the dask worker {worker} {has}, but this is tltui {__version__}"
            raise NoEngineError(problem, "install the same version everywhere")
    return sum(client.nthreads().values()) or 1


class _Cluster(Executor):
    """A dask client as an executor that fails when the cluster is lost: dask's own one waits for ever."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._pending: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._left = threading.Event()
        self._fault = ""
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._client.status != "running":
            raise BrokenExecutor(f"the dask scheduler has stopped ({self._client.status})")
        future: Future[Any] = Future()
        with self._lock:
            if self._fault:
                raise BrokenExecutor(self._fault)
            self._pending.add(future)
        self._executor.submit(function, *args, **kwargs).add_done_callback(lambda done: self._settle(future, done))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._left.set()
        self._executor.shutdown(wait=wait)

    def _settle(self, future: Future[Any], done: Future[Any]) -> None:
        """Pass the result of a task on, unless it is abandoned."""
        with self._lock:
            if future not in self._pending:
                return
            self._pending.discard(future)
        if not future.set_running_or_notify_cancel():
            return
        error = CancelledError("the dask scheduler has stopped") if done.cancelled() else done.exception()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(done.result())

    def _watch(self) -> None:
        """Abandon tasks without a worker."""
        last_seen = time.monotonic()
        while not self._left.wait(LOOKING):
            try:
                if self._client.nthreads():
                    last_seen = time.monotonic()
            except Exception:  # no scheduler: the client tells
                continue
            if time.monotonic() - last_seen < GONE:
                continue
            with self._lock:
                self._fault = f"the dask cluster had no worker for {GONE:.0f} s"
                given_up, self._pending = self._pending, set()
            for future in given_up:
                if future.set_running_or_notify_cancel():
                    future.set_exception(BrokenExecutor(self._fault))


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
    """Count the processors that this process may use."""
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


@mutable
class _Worker:
    """A process, and our end of its pipe."""

    process: SpawnProcess
    pipe: Connection


class _Pool(ThreadPoolExecutor):
    """A pool of threads that each forward tasks to a process."""

    def __init__(self, workers: int) -> None:
        # a signal that a thread gets is noticed late, and what it starts inherits which ones it does not get
        super().__init__(workers, initializer=signal.pthread_sigmask, initargs=(signal.SIG_BLOCK, (signal.SIGINT, *ENDING)))
        resource_tracker.ensure_running()  # it lets signals through where it is started, so that must not be in such a thread
        self._local = threading.local()
        self._lock = threading.Lock()
        self._living: list[_Worker] = []
        self._is_left = False

    def submit(self, function: Callable[A, R], /, *args: A.args, **kwargs: A.kwargs) -> Future[R]:
        return super().submit(self._run_task, function, args, kwargs)

    def end(self) -> None:
        """End all processes, whatever they are at."""
        with self._lock:
            self._is_left = True
            living = [worker.process for worker in self._living]
        for process in living:
            process.terminate()
        until, sentinels = time.monotonic() + PATIENCE, {process.sentinel for process in living}
        while sentinels and (now := time.monotonic()) < until:
            sentinels.difference_update(wait(list(sentinels), until - now))
        for process in living:
            process.kill()

    def _run_task(self, function: Callable[..., R], args: Any, kwargs: Any) -> R:
        worker = self._worker()
        try:
            worker.pipe.send((function, args, kwargs))
            is_done, result = worker.pipe.recv()
        except (EOFError, OSError):
            raise WorkerDiedError(self._remove_dead(worker)) from None
        if not is_done:
            raise result
        value: R = result
        return value

    def _worker(self) -> _Worker:
        """Return the process of this thread."""
        worker: _Worker | None = getattr(self._local, "worker", None)
        if worker is None:
            with self._lock:
                if self._is_left:
                    raise WorkerDiedError("the executor accepts no new work")
                worker = _started()
                self._living.append(worker)
            self._local.worker = worker
        return worker

    def _remove_dead(self, worker: _Worker) -> str:
        """Remove a dead worker of this thread; return how it ended."""
        self._local.worker = None
        worker.process.kill()
        worker.process.join()
        with self._lock:
            self._living.remove(worker)
        worker.pipe.close()
        code = worker.process.exitcode or 0
        return f"a process was killed by signal {-code}" if code < 0 else f"a process ended with exit code {code}"

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
    """Run tasks in a worker until the pipe ends.

    A signal ends it in the middle of a task, and removes the temporary directory of that.
    """
    with Raising(_leave) as raising:
        for number in ENDING:
            signal.signal(number, raising.handle)
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
        _ignore_signals()


def _leave(number: int) -> SystemExit:
    _ignore_signals()
    return SystemExit(128 + number)


def _ignore_signals() -> None:
    """Ignore further signals: the terminal and the parent both send one to the worker."""
    for number in ENDING:
        signal.signal(number, ignore_signal)


def _end_with(parent: int) -> None:
    wait([parent])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)


MPI_WAITING = 2
"""Parts that wait for each rank."""


@contextmanager
def mpi_engine(host: str = "") -> Iterator[Engine | None]:
    """Yield the other ranks, for rank 0; None for them, after they have done their work.

    With the name of this host the ranks of each host form a group, and the first of them gets its work. Raises `NoEngineError`.
    """
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPICommExecutor
    except ImportError:
        raise NoEngineError("--engine mpi needs mpi4py", "to install it: pip install mpi4py") from None
    except RuntimeError as error:  # mpi4py is there, and no MPI
        raise NoEngineError(f"--engine mpi: {' '.join(str(error).split())}") from None
    world = MPI.COMM_WORLD
    comm = world.Split(world.allgather(host).index(host), world.rank) if host else world
    executor: MPIPoolExecutor | None = None
    try:
        with MPICommExecutor(comm, root=0) as executor:  # the others are at work in it
            if executor is not None:
                yield _given(executor, comm.size - 1)
    except BaseException as error:
        if executor is None:  # who waits for this rank would wait for ever
            print(f"tltui: rank {world.rank} ends: {error!r}", file=sys.stderr)
            world.Abort(getattr(error, "code", 1))
        raise
    if executor is None:
        yield None


def _given(executor: MPIPoolExecutor, rank_count: int) -> Engine:
    """Work for the others. What they have not begun when this one is left in the middle is not done."""

    @contextmanager
    def executors() -> Iterator[Executor]:
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise

    return Engine(executors, in_flight=max(rank_count, 1) * MPI_WAITING)


PROCESS, SERIAL, MPI = "process", "serial", "mpi"


@frozen
class Opened:
    """An engine that can be had."""

    engine: Callable[[int, int], Engine | None]
    """The engine for so many parts and bytes; None where this process does all of it."""
    is_remote: bool = False
    """Whether its workers may be on other machines."""


def check_engine(name: str) -> None:
    """Check the name of an engine. Raises `NoEngineError`."""
    if name in (PROCESS, SERIAL, MPI):
        return
    host, colon, port = name.removeprefix(SCHEME).rpartition(":")
    if not (name.startswith(SCHEME) and host and colon and port.isdecimal() and port.isascii() and 0 < int(port) < 1 << 16):
        raise NoEngineError(f"unknown engine: '{name}'", f"engines: {PROCESS}, {SERIAL}, {SCHEME}HOST:PORT, {MPI}")


@contextmanager
def opened_engine(name: str, workers: int = 0, host: str = "") -> Iterator[Opened | None]:
    """Yield the engine of a name; None for a rank of an MPI job after it has done its tasks.

    `workers`: number of processes; 0 for the number of CPUs. `host`: with MPI the ranks of each host form a group.
    Raises `NoEngineError`.
    """
    check_engine(name)
    if name == MPI:
        with mpi_engine(host) as engine:
            yield None if engine is None else Opened(lambda parts, size: engine, is_remote=True)
    elif name.startswith(SCHEME):
        with dask_engine(name.removeprefix(SCHEME)) as cluster:
            yield Opened(lambda parts, size: cluster, is_remote=True)
    elif name == SERIAL:
        yield Opened(lambda parts, size: None)
    else:
        yield Opened(lambda parts, size: _processes(parts, size, workers))


def _processes(parts: int, size: int, workers: int) -> Engine | None:
    """Return a pool; None for little work, unless requested, as its start takes a moment."""
    count = min(workers or processors(), parts)
    return process_engine(count) if count > 1 and (workers or size >= SERIAL_BELOW) else None
