"""The workers of a dask cluster (dask.distributed, BSD-3-Clause), which is imported when it is asked for.

The scheduler is one that somebody else has started. Its workers have tltui in this version, and see the files under the same paths.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from tltui import __version__
from tltui.work.engines.gather import Engine, NoEngineError

if TYPE_CHECKING:
    from distributed import Client

SCHEME = "dask://"
PATIENCE = 10.0
"""Seconds in which a scheduler answers."""
COMING = 60.0
"""Seconds in which there is a worker: some clusters start them when there is something to do."""
GONE = 30.0
"""Seconds without any worker after which no other one is waited for."""
LOOKING = 1.0
"""Seconds between two looks whether there is one."""
WAITING = 4
"""Parts that wait for each worker."""


@contextmanager
def dask_engine(address: str) -> Iterator[Engine]:
    """The workers of the scheduler at HOST:PORT. Raises `NoEngineError`.

    It is connected to in the way that dask's own configuration says (TLS among others).
    """
    try:
        from distributed import Client
    except ImportError:
        raise NoEngineError(f"{SCHEME} needs dask.distributed: pip install distributed") from None
    # what becomes of workers is told by us, in our words
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except Exception as error:  # dask names none, and its timeout is another class in each Python
        raise NoEngineError(f"no dask scheduler answers at {address}: {error}") from None
    executor = _Cluster(client)
    try:
        workers = _checked(client)
        yield Engine(lambda: nullcontext(executor), in_flight=workers * WAITING)
    finally:
        executor.shutdown(wait=False)
        client.close(timeout=PATIENCE)


def _checked(client: Client) -> int:
    """How many threads the workers have. Raises `NoEngineError` where one of them has another tltui."""

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
        raise NoEngineError(f"the dask scheduler has shown no worker that can be used in {COMING:.0f} s: {why}") from None
    for worker, found in sorted(versions.items()):
        if found != __version__:
            has = f"has tltui {found}" if found else "has no tltui"
            raise NoEngineError(f"the dask worker {worker} {has}; this is {__version__}, and all need the same")
    return sum(client.nthreads().values()) or 1


class _Cluster(Executor):
    """What dask calls a client, as an executor that tells when it is of no use any more: dask's own one waits for ever."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._own = client.get_executor(pure=False)
        self._pending: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._left = threading.Event()
        self._fault = ""
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._client.status != "running":
            raise BrokenExecutor(f"the dask scheduler is gone ({self._client.status})")
        future: Future[Any] = Future()
        with self._lock:
            if self._fault:
                raise BrokenExecutor(self._fault)
            self._pending.add(future)
        self._own.submit(function, *args, **kwargs).add_done_callback(lambda done: self._settle(future, done))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._left.set()
        self._own.shutdown(wait=wait)

    def _settle(self, future: Future[Any], done: Future[Any]) -> None:
        """What became of one, unless it is given up."""
        with self._lock:
            if future not in self._pending:
                return
            self._pending.discard(future)
        if not future.set_running_or_notify_cancel():
            return
        error = CancelledError("the dask scheduler is gone") if done.cancelled() else done.exception()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(done.result())

    def _watch(self) -> None:
        """Give up what nobody is there to do."""
        seen = time.monotonic()
        while not self._left.wait(LOOKING):
            try:
                if self._client.nthreads():
                    seen = time.monotonic()
            except Exception:  # no scheduler: the client tells
                continue
            if time.monotonic() - seen < GONE:
                continue
            with self._lock:
                self._fault = f"the dask cluster has had no worker for {GONE:.0f} s"
                given_up, self._pending = self._pending, set()
            for future in given_up:
                if future.set_running_or_notify_cancel():
                    future.set_exception(BrokenExecutor(self._fault))
