"""Workers that die, fail, are left: what comes is what one process alone would have made of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine_parts import Part, digest, imported, who
from real import TRACES

from tltui.work.engines.executors import check_engine, opened_engine, process_engine
from tltui.work.engines.gather import TRIES, Engine, Failure, NoEngineError, Progress, gather

LOGS = sorted(str(path) for path in (TRACES / "torch-2.13").rglob("*.log"))[:12]
HOW = Callable[[], AbstractContextManager[Executor]]


def parts(fatal: Path | None = None, deaths: int = 0, at: int = 3) -> list[Part]:
    """A part for each log; so many workers die of one of them."""
    if fatal is None:
        return [Part(path) for path in LOGS]
    return [Part(path, str(fatal) if n == at else "", deaths, parent=os.getpid()) for n, path in enumerate(LOGS)]


def in_order(engine: Engine | None, function: Callable[[Part], Any], given: Sequence[Part]) -> list[Any]:
    found = list(gather(engine, function, given))
    assert sorted(done.number for done in found) == list(range(len(given))), "each part once"
    assert all(done.part is given[done.number] for done in found)
    return [done.result for done in sorted(found, key=lambda done: done.number)]


SERIAL = in_order(None, digest, parts())


def test_one_process_does_them_in_order() -> None:
    assert [done.number for done in gather(None, digest, parts())] == list(range(len(LOGS)))
    assert len(set(SERIAL)) > 5


def test_a_pool_of_processes() -> None:
    assert in_order(process_engine(2), digest, parts()) == SERIAL
    workers = in_order(process_engine(2), who, parts())
    assert os.getpid() not in workers


def test_any_executor() -> None:
    assert in_order(Engine(lambda: ThreadPoolExecutor(3), 5), digest, parts()) == SERIAL


def test_workers_import_nothing_of_the_user_interface() -> None:
    program = "import engine_parts as e\nfrom tltui.work.engines.gather import gather\nfrom tltui.work.engines.executors import *\n"
    program += "if __name__ == '__main__': print([d.result for d in gather(process_engine(1), e.imported, [e.Part('')])])"
    paths = os.pathsep.join(sys.path)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths},
                          timeout=60, check=True)  # fmt: skip
    assert done.stdout == "['']\n"
    import textual  # noqa: F401

    assert "textual" in imported(Part("")), "the test would see it"


@pytest.mark.parametrize("deaths", [1, TRIES - 1])
def test_a_worker_that_dies(deaths: int, tmp_path: Path) -> None:
    given = parts(tmp_path / "fatal", deaths)
    found = sorted(gather(process_engine(2), digest, given), key=lambda done: done.number)
    assert [done.result for done in found] == SERIAL
    assert found[3].lost == deaths
    assert found[3].fault is None, "another worker did it"
    assert (tmp_path / "fatal").stat().st_size == deaths


def test_workers_that_die_every_time(tmp_path: Path) -> None:
    given = parts(tmp_path / "fatal", 1000)
    found = sorted(gather(process_engine(2), digest, given), key=lambda done: done.number)
    assert [done.result for done in found] == SERIAL
    assert found[3].fault is not None and found[3].lost == TRIES
    assert (tmp_path / "fatal").stat().st_size == TRIES
    assert sum(done.fault is not None for done in found) <= 4, "only what was in flight with it"


def test_where_no_worker_lives(tmp_path: Path) -> None:
    given = [Part(path, str(tmp_path / "fatal"), 1000, parent=os.getpid()) for path in LOGS]
    found = sorted(gather(process_engine(2), digest, given), key=lambda done: done.number)
    assert [done.result for done in found] == SERIAL
    assert all(done.fault is not None for done in found)
    assert (tmp_path / "fatal").stat().st_size <= 3 * (4 + 4), "three pools of which four die, with four parts in flight"


def test_what_the_function_raises_is_a_value() -> None:
    given = [*parts()[:2], Part(LOGS[0], fails=True), *parts()[2:]]
    for engine in (None, process_engine(2)):
        found = in_order(engine, digest, given)
        assert found[2] == Failure(given[2], "ValueError: no log at all")
        assert [*found[:2], *found[3:]] == SERIAL


class Dying(ThreadPoolExecutor):
    """Loses each third part once, as a cluster does whose workers go; the others it does."""

    def __init__(self) -> None:
        super().__init__(2)
        self.seen: set[Any] = set()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        part = args[-1]
        if len(self.seen) % 3 == 1 and part not in self.seen:
            self.seen.add(part)
            lost: Future[Any] = Future()
            lost.set_exception(KeyError("KilledWorker"))
            return lost
        self.seen.add(part)
        return super().submit(function, *args, **kwargs)


def test_an_executor_that_lives_on_without_a_worker() -> None:
    found = list(gather(Engine(Dying, 4), digest, parts()))
    assert [done.result for done in sorted(found, key=lambda done: done.number)] == SERIAL
    assert sum(done.lost for done in found) >= 3
    assert not any(done.fault is not None for done in found)


@contextmanager
def none_at_all() -> Iterator[Executor]:
    raise BrokenExecutor("no more processes")
    yield


def test_where_nobody_can_be_started() -> None:
    found = list(gather(Engine(none_at_all, 4), digest, parts()))
    assert [done.result for done in found] == SERIAL and all(done.fault is not None for done in found)


def test_so_many_in_flight_and_no_more() -> None:
    inside: list[int] = []

    class Counting(ThreadPoolExecutor):
        waiting = 0

        def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = super().submit(function, *args, **kwargs)
            Counting.waiting += 1
            inside.append(Counting.waiting)
            future.add_done_callback(lambda _: setattr(Counting, "waiting", Counting.waiting - 1))
            return future

    in_order(Engine(lambda: Counting(2), 3), digest, parts())
    assert 1 <= max(inside) <= 3


def test_it_is_told_how_far_it_is() -> None:
    told: list[Progress] = []
    given = [Part(path, seconds=0.3 * (n == 0)) for n, path in enumerate(LOGS[:4])]
    list(gather(process_engine(2), digest, given, [10, 20, 30, 40], told.append))
    assert told[-1] == Progress(4, 4, 100, 100)
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert told[0].done < 4


def test_it_can_be_left() -> None:
    given = [Part(path, seconds=30.0 * (n > 0)) for n, path in enumerate(LOGS)]
    workers = children()
    began = time.monotonic()
    with closing(gather(process_engine(2), digest, given)) as coming:
        next(coming)
        assert len(children() - workers) >= 2
    assert time.monotonic() - began < 15
    left = {pid for pid in children() - workers if "resource_tracker" not in command(pid)}
    assert left == set()


def test_workers_end_with_who_started_them(tmp_path: Path) -> None:
    """Killed in the middle: nobody is left to tell them."""
    program = f"""
import engine_parts as e
from tltui.work.engines.gather import gather
from tltui.work.engines.executors import process_engine
if __name__ == "__main__":
    for done in gather(process_engine(2), e.digest, [e.Part({LOGS[0]!r}, seconds=n and 60.0) for n in range(3)]):
        print("one", flush=True)
"""
    paths = os.pathsep.join(sys.path)
    environment = os.environ | {"PYTHONPATH": paths}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"one\n"
        workers = children(process.pid)
        assert len(workers) >= 2
        process.kill()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() and state(pid) != "Z" for pid in workers))


NONE = ["", "dask", "dask://", "dask://h", "dask://:1", "dask://h:0", "dask://h:99999", "processes", "mpi:3"]


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_engine(name: str) -> None:
    with pytest.raises(NoEngineError, match="engines: process, serial, dask://HOST:PORT, mpi"):
        check_engine(name)


def test_little_is_done_at_once() -> None:
    with opened_engine("process") as opened:
        assert opened is not None and not opened.is_remote
        assert opened.engine(100, 1 << 20) is None
    with opened_engine("process", 3) as opened:
        assert opened is not None
        wanted = opened.engine(100, 1 << 20)
        assert wanted is not None and wanted.in_flight == 6
        assert opened.engine(1, 1 << 30) is None, "one part is not shared"
    with opened_engine("serial", 3) as opened:
        assert opened is not None and opened.engine(100, 1 << 30) is None


def children(pid: int | None = None) -> set[int]:
    """What was started by any thread of a process."""
    tasks = Path(f"/proc/{pid or os.getpid()}/task").glob("*/children")
    return {int(text) for task in tasks for text in task.read_text().split()}


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)
