"""The scheduler of work off the UI thread, and the gate that orders access to the run."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum, IntEnum
from typing import Protocol

PATIENCE = 0.1
"""Seconds that the scheduler leaves the gate open for a UI thread that wants it and does not come."""


class Lock(Protocol):
    """`Run.reading`."""

    def acquire(self, blocking: bool = True) -> bool:
        """Take it; False where it is taken and `blocking` is off."""

    def release(self) -> None:
        """Let it go."""


class Gate:
    """The lock of a run, taken in turn."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._free = threading.Event()
        self._free.set()

    @contextmanager
    def slice(self) -> Iterator[None]:
        """Lock the run for a slice of reading, on a thread of the scheduler."""
        self._free.wait(PATIENCE)
        self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def at_once(self) -> Iterator[bool]:
        """Yield on the UI thread whether it may change the run now; else it shall try again soon, as the gate will be free."""
        if not self._lock.acquire(blocking=False):
            self._free.clear()
            yield False
            return
        try:
            yield True
        finally:
            self._free.set()
            self._lock.release()


SLICE = 0.02
"""Seconds of work after which the gate is opened, and the next task has its turn."""


class Lane(IntEnum):
    """The priority of a task."""

    WISH = 0
    """The document that the user wants. Only the newest wish counts."""
    GROW = 1
    """Tasks for a shown page that is not complete."""
    LATER = 2
    """Tasks that nobody waits for: names, checks, files."""


class Place(Enum):
    """The worker thread that resumes a task."""

    NODES = "nodes"
    BYTES = "bytes"
    LONG = "long"


Steps = Generator[Place | None, None, None]
Fault = Callable[[BaseException], object]


class Task:
    """Work that was asked for."""

    def __init__(self, steps: Steps, lane: Lane, place: Place, owner: object, fault: Fault) -> None:
        self.steps = steps
        self.lane = lane
        self.place = place
        self.owner = owner
        self.fault = fault
        self.is_cancelled = False
        self.ended = threading.Event()


class Scheduler:
    """A cooperative scheduler of tasks. `faulted` is called, from any thread, with the unhandled exception of a task."""

    def __init__(self, gate: Gate, faulted: Fault) -> None:
        self.gate = gate
        self._faulted = faulted
        self._lock = threading.Lock()
        self._tasks: set[Task] = set()
        self._workers = {place: _Worker(self, place) for place in Place}
        self._is_stopped = False

    def do(
        self,
        steps: Steps,
        *,
        lane: Lane = Lane.LATER,
        place: Place = Place.NODES,
        owner: object = None,
        fault: Fault | None = None,
    ) -> Task:
        """Do something. A wish ends the wishes before it."""
        task = Task(steps, lane, place, owner, fault or self._faulted)
        if lane is Lane.WISH:
            self.drop_wish()
        with self._lock:
            if self._is_stopped:
                task.is_cancelled = True
                task.ended.set()
                return task
            self._tasks.add(task)
        self._workers[place].put(task)
        return task

    def drop_wish(self) -> None:
        """Nobody wants the document any more that is being made."""
        self._cancel(lambda task: task.lane is Lane.WISH)

    def drop(self, owner: object) -> None:
        """Cancel all that an owner asked for."""
        self._cancel(lambda task: task.owner is owner)

    def cancel(self, task: Task) -> None:
        """Cancel one task."""
        self._cancel(lambda other: other is task)

    def _cancel(self, is_cancelled: Callable[[Task], bool]) -> None:
        with self._lock:
            tasks = [task for task in self._tasks if not task.is_cancelled and is_cancelled(task)]
            for task in tasks:
                task.is_cancelled = True
        for place in {task.place for task in tasks}:
            self._workers[place].wake()

    def stop(self) -> None:
        """Accept no more tasks and end the current ones at their next step."""
        with self._lock:
            self._is_stopped = True
        self._cancel(lambda task: True)
        for worker in self._workers.values():
            worker.stop()

    def join(self, seconds: float) -> None:
        """Wait, after `stop`, until the started tasks have released their resources."""
        for worker in self._workers.values():
            worker.join(seconds)

    def ended(self, task: Task) -> None:
        """Record the end of a task, normal or not."""
        with self._lock:
            self._tasks.discard(task)
        task.ended.set()

    def moved(self, task: Task, place: Place) -> None:
        """Resume a task on another thread."""
        task.place = place
        self._workers[place].put(task)

    def failed(self, task: Task, error: BaseException) -> None:
        """Report the fault of a task; all faults of tasks end here."""
        try:
            task.fault(error)
        except Exception as again:  # what was to tell it failed as well
            self._faulted(again)


class _Worker:
    """One thread, which is started when there is something to do."""

    def __init__(self, scheduler: Scheduler, place: Place) -> None:
        self._scheduler = scheduler
        self._place = place
        self._lanes: tuple[deque[Task], ...] = tuple(deque() for _ in Lane)
        self._changed = threading.Condition()
        self._is_stopped = False
        self._thread: threading.Thread | None = None

    def put(self, task: Task) -> None:
        with self._changed:
            self._lanes[task.lane].append(task)
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"tltui {self._place.value}", daemon=True)
                self._thread.start()

    def wake(self) -> None:
        """Wake the worker after a cancellation, so that the cancelled task is closed first and its children end."""
        with self._changed:
            for lane in self._lanes:
                lane.extendleft([task for task in lane if task.is_cancelled])
                remaining = dict.fromkeys(lane)
                lane.clear()
                lane.extend(remaining)
            self._changed.notify()

    def stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify()

    def join(self, seconds: float) -> None:
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _run(self) -> None:
        while (task := self._next()) is not None:
            if self._step(task):
                with self._changed:
                    self._lanes[task.lane].append(task)

    def _next(self) -> Task | None:
        with self._changed:
            while True:
                for lane in self._lanes:
                    if lane and lane[0].is_cancelled:
                        return lane.popleft()
                for lane in self._lanes:
                    if lane:
                        return lane.popleft()
                if self._is_stopped:
                    return None
                self._changed.wait()

    def _is_wanted(self, task: Task) -> bool:
        """Return whether a task of higher priority waits."""
        return any(self._lanes[lane] for lane in range(task.lane))

    def _step(self, task: Task) -> bool:
        """Run one slice of a task, or its end; return True if it continues on this thread."""
        gate: AbstractContextManager[object] = nullcontext()
        if self._place is Place.NODES:
            gate = self._scheduler.gate.slice()
        try:
            with gate:
                place = self._slice(task)
        except StopIteration:
            self._scheduler.ended(task)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # one task must not end the others: MemoryError, RecursionError, whatever it is
            self._scheduler.ended(task)
            if not task.is_cancelled:
                self._scheduler.failed(task, error)
        else:
            if place is self._place:
                return True
            self._scheduler.moved(task, place)
        return False

    def _slice(self, task: Task) -> Place:
        end = time.monotonic() + SLICE
        while not task.is_cancelled:
            place = next(task.steps)
            if place is not None and place is not self._place:
                return place
            if time.monotonic() > end or self._is_wanted(task):
                return self._place
        task.steps.close()
        raise StopIteration
