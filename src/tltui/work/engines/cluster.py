"""The workers of a dask cluster (dask.distributed, BSD-3-Clause), which is imported when it is asked for.

The scheduler is one that somebody else has started. Its workers have tltui in this version, and see the files under the same paths.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from tltui import __version__
from tltui.work.engines.gather import Engine

if TYPE_CHECKING:
    from distributed import Client

SCHEME = "dask://"
PATIENCE = 10.0
"""Seconds in which a scheduler answers."""
COMING = 60.0
"""Seconds in which there is a worker: some clusters start them when there is something to do."""
WAITING = 4
"""Parts that wait for each worker."""


class NoEngineError(Exception):
    """Why an engine cannot be had."""


@contextmanager
def dask_engine(address: str) -> Iterator[Engine]:
    """The workers of the scheduler at HOST:PORT. Raises `NoEngineError`.

    It is connected to in the way that dask's own configuration says (TLS among others).
    """
    try:
        from distributed import Client
    except ImportError:
        raise NoEngineError(f"{SCHEME} needs dask.distributed: pip install 'tltui[dask]'") from None
    # what becomes of workers is told by us, in our words
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
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
    except TimeoutError:
        raise NoEngineError(f"the dask scheduler has had no worker for {COMING:.0f} s") from None
    for worker, found in sorted(client.run(version).items()):
        if found != __version__:
            has = f"has tltui {found}" if found else "has no tltui"
            raise NoEngineError(f"the dask worker {worker} {has}; this is {__version__}, and all need the same")
    return sum(client.nthreads().values()) or 1


class _Cluster(Executor):
    """What dask calls a client, as an executor. (Its own one tells nothing of a scheduler that is gone.)"""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._own = client.get_executor(pure=False)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._client.status != "running":
            raise BrokenExecutor(f"the dask scheduler is gone ({self._client.status})")
        future: Future[Any] = self._own.submit(function, *args, **kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._own.shutdown(wait=wait)
