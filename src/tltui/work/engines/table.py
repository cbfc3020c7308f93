"""The engines by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tltui.work.engines.cluster import SCHEME, dask_engine
from tltui.work.engines.gather import Engine, NoEngineError
from tltui.work.engines.processes import SERIAL_BELOW, process_engine, processors
from tltui.work.engines.ranks import mpi_engine

PROCESS, SERIAL, MPI = "process", "serial", "mpi"


@dataclass(frozen=True, slots=True)
class Opened:
    """An engine that can be had."""

    engine: Callable[[int, int], Engine | None]
    """The engine for so many parts and bytes; None where this process does all of it."""
    is_remote: bool = False
    """Whether its workers may be on other machines."""


def check_engine(name: str) -> None:
    """Raises `NoEngineError` for what is no engine's name."""
    if name in (PROCESS, SERIAL, MPI):
        return
    host, colon, port = name.removeprefix(SCHEME).rpartition(":")
    if not (name.startswith(SCHEME) and host and colon and port.isdecimal() and port.isascii() and 0 < int(port) < 1 << 16):
        raise NoEngineError(f"--engine {name}: there are {PROCESS}, {SERIAL}, {SCHEME}HOST:PORT and {MPI}")


@contextmanager
def opened_engine(name: str, workers: int = 0, host: str = "") -> Iterator[Opened | None]:
    """The engine of a name; None for a rank of an MPI job that has done what another one gave it.

    `workers`: how many processes; 0 for as many as there are processors. `host`: with MPI the ranks of each host are for
    themselves. Raises `NoEngineError`.
    """
    check_engine(name)
    if name == MPI:
        with mpi_engine(host) as given:
            yield None if given is None else Opened(lambda parts, size: given, is_remote=True)
    elif name.startswith(SCHEME):
        with dask_engine(name.removeprefix(SCHEME)) as cluster:
            yield Opened(lambda parts, size: cluster, is_remote=True)
    elif name == SERIAL:
        yield Opened(lambda parts, size: None)
    else:
        yield Opened(lambda parts, size: _processes(parts, size, workers))


def _processes(parts: int, size: int, workers: int) -> Engine | None:
    """A pool takes a moment to be there; for little it is not worth it, unless it was asked for."""
    count = min(workers or processors(), parts)
    return process_engine(count) if count > 1 and (workers or size >= SERIAL_BELOW) else None
