"""Work off the UI thread: in turn, cancelled when nobody wants it, and every fault in one place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import make_trace as mt
import pytest

from tltui.model.follow import Follower
from tltui.model.run import Event, Failed, Read, Run
from tltui.sources.discover import discover
from tltui.trace.scan import Scanner
from tltui.work.reader_threads import Scan
from tltui.work.scheduler import Gate, Lane, Place, Scheduler, Steps

LONG = 20.0


class Bench:
    """A scheduler, what it said, and a way to keep its thread busy."""

    def __init__(self) -> None:
        self.faults: list[BaseException] = []
        self.lock = threading.RLock()
        self.scheduler = Scheduler(Gate(self.lock), self.faults.append)
        self.done: list[str] = []

    def says(self, *words: str) -> Steps:
        for word in words:
            self.done.append(word)
            yield None

    def held(self) -> threading.Event:
        """Keep the thread in a step until the event is set."""
        inside, go = threading.Event(), threading.Event()

        def steps() -> Steps:
            inside.set()
            assert go.wait(LONG)
            yield None

        self.scheduler.do(steps(), lane=Lane.LATER)
        assert inside.wait(LONG)
        return go


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.scheduler.stop()
    made.scheduler.join(LONG)


def test_lanes_go_first_in_their_order(bench: Bench) -> None:
    go = bench.held()
    tasks = [bench.scheduler.do(bench.says(lane.name), lane=lane) for lane in (Lane.LATER, Lane.GROW, Lane.WISH)]
    go.set()
    assert all(task.ended.wait(LONG) for task in tasks)
    assert bench.done == ["WISH", "GROW", "LATER"]


def test_the_newest_wish_closes_the_older_ones(bench: Bench) -> None:
    closed = threading.Event()
    begun = threading.Event()

    def endless() -> Steps:
        try:
            while True:
                begun.set()
                yield None
        finally:
            closed.set()

    first = bench.scheduler.do(endless(), lane=Lane.WISH)
    assert begun.wait(LONG)
    second = bench.scheduler.do(bench.says("second"), lane=Lane.WISH)
    assert first.ended.wait(LONG) and closed.is_set()
    assert second.ended.wait(LONG) and bench.done == ["second"]
    assert bench.faults == []


def test_what_an_owner_asked_for_is_dropped_and_nothing_else(bench: Bench) -> None:
    go = bench.held()
    owner = object()
    dropped = [bench.scheduler.do(bench.says("dropped"), owner=owner) for _ in range(3)]
    kept = bench.scheduler.do(bench.says("kept"))
    bench.scheduler.drop(owner)
    go.set()
    assert kept.ended.wait(LONG) and all(task.ended.wait(LONG) for task in dropped)
    assert bench.done == ["kept"]


def test_tasks_of_one_lane_take_turns(bench: Bench) -> None:
    stopped = threading.Event()

    def endless() -> Steps:
        while not stopped.is_set():
            yield None

    bench.scheduler.do(endless(), lane=Lane.GROW)
    other = bench.scheduler.do(bench.says("other"), lane=Lane.GROW)
    assert other.ended.wait(LONG)
    stopped.set()


def test_a_wish_does_not_wait_for_what_grows(bench: Bench) -> None:
    stopped = threading.Event()

    def endless() -> Steps:
        while not stopped.is_set():
            yield None

    for _ in range(3):
        bench.scheduler.do(endless(), lane=Lane.GROW)
    assert bench.scheduler.do(bench.says("wish"), lane=Lane.WISH).ended.wait(LONG)
    stopped.set()


def test_only_the_thread_of_nodes_holds_the_gate(bench: Bench) -> None:
    seen: list[tuple[str, bool]] = []

    def is_free() -> bool:
        found: list[bool] = []

        def look() -> None:
            if bench.lock.acquire(blocking=False):
                bench.lock.release()
                found.append(True)

        looking = threading.Thread(target=look)
        looking.start()
        looking.join(LONG)
        return bool(found)

    def steps() -> Steps:
        for place in (Place.BYTES, Place.LONG, Place.NODES):
            yield place
            seen.append((threading.current_thread().name, is_free()))

    assert bench.scheduler.do(steps()).ended.wait(LONG)
    assert seen == [("tltui bytes", True), ("tltui long", True), ("tltui nodes", False)]


@pytest.mark.parametrize("kind", [ValueError, MemoryError, RecursionError, GeneratorExit, type("Odd", (BaseException,), {})])
def test_whatever_a_task_raises_ends_in_one_place(bench: Bench, kind: type[BaseException]) -> None:
    def failing() -> Steps:
        yield None
        raise kind("ours")

    own: list[BaseException] = []
    tasks = [bench.scheduler.do(failing()), bench.scheduler.do(failing(), fault=own.append)]
    assert all(task.ended.wait(LONG) for task in tasks)
    assert bench.scheduler.do(bench.says("lives")).ended.wait(LONG)
    assert [type(error) for error in bench.faults] == [kind] and [type(error) for error in own] == [kind]
    assert bench.done == ["lives"]


def test_a_recursion_without_end(bench: Bench) -> None:
    def deep(n: int) -> int:
        return deep(n + 1)

    def failing() -> Steps:
        deep(0)
        yield None

    assert bench.scheduler.do(failing()).ended.wait(LONG)
    assert bench.scheduler.do(bench.says("lives")).ended.wait(LONG)
    assert [type(error) for error in bench.faults] == [RecursionError]


def test_a_fault_in_telling_of_a_fault(bench: Bench) -> None:
    def failing() -> Steps:
        yield None
        raise ValueError("first")

    def tell(error: BaseException) -> None:
        raise KeyError("second")

    assert bench.scheduler.do(failing(), fault=tell).ended.wait(LONG)
    assert bench.scheduler.do(bench.says("lives")).ended.wait(LONG)
    assert [type(error) for error in bench.faults] == [KeyError]


def test_the_ui_thread_gets_the_gate_though_there_is_always_work(bench: Bench) -> None:
    """A lock that is taken again at once by whoever let it go would starve the other one."""
    stopped = threading.Event()

    def endless() -> Steps:
        while not stopped.is_set():
            time.sleep(0.002)
            yield None

    for _ in range(3):
        bench.scheduler.do(endless(), lane=Lane.GROW)
    tries: list[int] = []
    for _ in range(20):
        for turn in range(200):
            time.sleep(0.002)  # the other thread is in a slice again
            if _may(bench):
                tries.append(turn)
                break
    stopped.set()
    assert len(tries) == 20, tries


def test_the_ui_thread_never_waits_for_the_gate(bench: Bench) -> None:
    go = bench.held()
    with bench.scheduler.gate.at_once() as may:
        assert not may
    go.set()
    assert _comes(lambda: _may(bench))


def test_a_ui_thread_that_does_not_come_back_stops_nobody(bench: Bench) -> None:
    go = bench.held()
    with bench.scheduler.gate.at_once() as may:
        assert not may
    go.set()
    assert bench.scheduler.do(bench.says("goes on")).ended.wait(LONG)


def test_after_the_end_nothing_is_begun_and_what_was_begun_is_closed() -> None:
    bench = Bench()
    closed: list[str] = []

    def endless(place: Place) -> Steps:
        try:
            while True:
                yield place
        finally:
            closed.append(place.value)

    tasks = [bench.scheduler.do(endless(place), place=place) for place in Place]
    bench.scheduler.do(bench.says("begun")).ended.wait(LONG)
    bench.scheduler.stop()
    bench.scheduler.join(LONG)
    assert all(task.ended.is_set() for task in tasks)
    assert set(closed) <= {"nodes", "bytes", "long"} and "nodes" in closed
    assert bench.scheduler.do(bench.says("too late")).ended.is_set()
    assert bench.done == ["begun"]


def test_a_scanner_that_fails_costs_its_log_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.log").write_bytes(mt.compiled())
    step = Scanner.step

    def fails(self: Scanner, size: int, last: bool) -> Any:
        if str(getattr(self._source, "path", "")).endswith("a.log"):
            raise RecursionError("ours")
        return step(self, size, last)

    monkeypatch.setattr(Scanner, "step", fails)
    run = Run(discover([str(tmp_path)]))
    events: list[Event] = []
    faults: list[BaseException] = []
    scan = Scan(Follower(run, faulted=faults.append), events.extend, faults.append)
    scan.start()
    assert _comes(lambda: len(events) >= 2 and any(isinstance(event, Read) and event.batch.finished for event in events))
    failed = [event for event in events if isinstance(event, Failed)]
    assert len(failed) == 1 and "internal error in tltui" in str(failed[0].error)
    assert [type(fault) for fault in faults] == [RecursionError]
    scan.stop()


def _may(bench: Bench) -> bool:
    with bench.scheduler.gate.at_once() as may:
        return may


def _comes(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.001)
    return False
