"""The ranks of an MPI job (mpi4py, BSD-3-Clause), which is imported when it is asked for.

Every rank runs the same command. One is given the work and writes; the others do what it sends them, until it is done.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tltui.work.engines.gather import Engine, NoEngineError

if TYPE_CHECKING:
    from mpi4py.futures import MPIPoolExecutor

WAITING = 2
"""Parts that wait for each rank."""


@contextmanager
def mpi_engine(host: str = "") -> Iterator[Engine | None]:
    """The other ranks, for rank 0; None for them: they have done their work then.

    With the name of this host the ranks of each host are for themselves, and the first of them is given its work.
    Raises `NoEngineError`.
    """
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPICommExecutor
    except ImportError:
        raise NoEngineError("--engine mpi needs mpi4py: pip install mpi4py") from None
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


def _given(executor: MPIPoolExecutor, others: int) -> Engine:
    """Work for the others. What they have not begun when this one is left in the middle is not done."""

    @contextmanager
    def executors() -> Iterator[Executor]:
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise

    return Engine(executors, in_flight=max(others, 1) * WAITING)
