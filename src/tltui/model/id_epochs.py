"""Epochs of compile ids: the compile that a record belongs to when ids begin again."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator

from tltui.model.nodes import Compile, Process, frame_key
from tltui.model.ref import CompileId
from tltui.model.status import BACKWARD
from tltui.text.json_codec import JSONDecodeError, loads
from tltui.trace.batch import Metrics, Started
from tltui.trace.grammar import NOTABLE
from tltui.trace.log import Log

EVENT = "chromium_event"
CAPTURED = "compiled_autograd_graph"
"""What `[!A]` begins with as far as it has a beginning: it has neither `dynamo_start` nor metrics."""
OUTERMOST = frozenset(("dynamo", "compiled_autograd"))
"""The events with which the compile of a frame, or the capture of a backward, begins."""
INNER = frozenset(("entire_frame_compile", "_compile.compile_inner"))
"""The next ones; the first ones of an older torch."""
LONGEST = 1 << 18
"""Stored bytes that are read of an event (the end of a compile repeats its metrics)."""
SHORT = 4096
"""Of an output code: its graph id stands at the beginning."""
AOT_ID = re.compile(r"^# AOT ID: \['(\d+)_(\w+)'\]", re.MULTILINE)


def begins_again(compile_: Compile, record: int, fact: Started | Metrics | None) -> bool:
    """Return whether a record begins another compile with the id of `compile_`.

    The attempts of one compile count up, and it ends with its metrics.
    """
    log = compile_.process.log
    if isinstance(fact, Started):
        return compile_.is_closed or (compile_.started is not None and log.context(record).attempt == 0)
    if isinstance(fact, Metrics):
        return fact.ends_compile and compile_.is_closed
    return not compile_.is_compile and compile_.is_closed and log.kind(record).event == CAPTURED


def is_numbered(process: Process, compile_id: CompileId) -> bool:
    """Return whether the current epoch has a compile of this frame with this number, whatever its id of compiled autograd.

    Torch gives a frame and a number once in an epoch. Numbers of a frame count up.
    """
    frame = process.frames.get(frame_key(compile_id.of(process.epochs)))
    if frame is None or compile_id.frame is None or compile_id.compile is None:
        return False
    for compile_ in reversed(frame.compiles):
        number = compile_.id.compile or 0
        if number <= compile_id.compile:
            return number == compile_id.compile
    return False


def is_other_code(compile_: Compile, started: Started) -> bool:
    """Return whether a compile that begins is of another code object than the earlier compiles of its frame: a frame id has one.

    Undecided where `dynamo_start` ends in the caller instead of the function, as before torch 2.5.
    """
    first = compile_.frame.compiles[0]
    if first is compile_ or compile_.metrics or first.started is None:
        return False
    code, metrics = (first.started.name, first.started.line), next(iter(first.metrics), None)
    return metrics is not None and (metrics.co_name, metrics.co_firstlineno) == code != (started.name, started.line)


class Epochs:
    """The compiles with one id in one process, in the order in which they began."""

    def __init__(self, first: Compile) -> None:
        self.compiles = [first]
        self._stretch = list(first.records[bisect_left(first.records, _open_since(first)) :])
        """Records since the newest one was compiled: those of a backward, or the first of another compile."""
        self._goes_to = first
        """Whose the records of the stretch are, as far as known."""
        self.changed: list[Compile] = []
        """Compiles that gained or lost records since somebody looked, beside the owner of the record taken last."""
        self._forward: dict[str, list[Compile]] = {}
        """Graph id → the compiles whose forward code states it."""
        self._waiting: list[Compile] = []
        """Compiles with a backward that has not been compiled, as far as known."""
        self._indexed = 0

    @property
    def newest(self) -> Compile:
        """The compile that began last."""
        return self.compiles[-1]

    @property
    def log(self) -> Log:
        """The log that they are in."""
        return self.newest.process.log

    def owner(self, record: int) -> Compile:
        """Return the compile of a record."""
        return next((compile_ for compile_ in reversed(self.compiles) if compile_.holds(record)), self.newest)

    def begin(self, new: Compile) -> None:
        """Begin the compile `new`, which owns the last opening events."""
        head = self._head()
        self.compiles.append(new)
        self._move(self._stretch[head:], self._goes_to, new)
        self._stretch, self._goes_to = [], new

    def assign(self, record: int, fact: Started | Metrics | None) -> Compile:
        """Assign a further record and return its compile."""
        if isinstance(fact, Metrics) and not fact.ends_compile and not fact.is_runtime:
            owner = self._backward(record)
        elif not self.newest.is_closed:
            owner = self._goes_to
        else:
            self._stretch.append(record)
            if self.log.kind(record).event == "inductor_output_code":
                self._follow(self._by_code([record]))
            owner = self._goes_to
        self._give(record, owner)
        if isinstance(fact, Started) and owner.started is None:
            owner.started, owner.started_attempt = fact, self.log.context(record).attempt
        if isinstance(fact, Metrics):
            owner.metrics.append(fact)
            if not fact.ends_compile and owner in self._waiting:
                self._waiting.remove(owner)
        return owner

    def _index(self) -> None:
        """Look once at each compile that was closed since: which graphs it has, and whether a backward is to come."""
        for compile_ in self.compiles[self._indexed :]:
            if not compile_.is_closed:
                break
            self._indexed += 1
            for number, direction in self._graph_ids(compile_.records):
                if direction == "forward":
                    self._forward.setdefault(number, []).append(compile_)
            has_backward = any(self.log.kind(record).event == "aot_backward_graph" for record in compile_.records)
            if has_backward and all(metrics.ends_compile for metrics in compile_.metrics):
                self._waiting.append(compile_)

    def _backward(self, record: int) -> Compile:
        """Metrics of a backward end its stretch. Those within the compile of a frame are another thread's."""
        self._index()
        waiting = self._waiting
        if not self.newest.is_closed:
            self._doubt(self._goes_to, *waiting, records=1)
            return waiting[0] if len(waiting) == 1 else self._goes_to
        match = self._by_code(self._stretch)
        if match is None and self._goes_to is self.newest:
            if len(waiting) > 1:
                self._doubt(*waiting, records=len(self._stretch) + 1)
            elif waiting:
                match = waiting[0]
        self._follow(match)
        owner, self._stretch, self._goes_to = self._goes_to, [], self.newest
        return owner

    def _follow(self, match: Compile | None) -> None:
        """Assign the records of the stretch to `known`."""
        if match is not None and match is not self._goes_to:
            self._move(self._stretch[self._opening() :], self._goes_to, match)
            self._goes_to = match

    def _by_code(self, records: list[int]) -> Compile | None:
        """Return the unique compile whose forward code has the graph id of the backward code among these records.

        Code from a cache has the ids of the process that stored it: then several may have the same.
        """
        self._index()
        numbers = {number for number, direction in self._graph_ids(records) if direction == "backward"}
        matches = {id(compile_): compile_ for number in numbers for compile_ in self._forward.get(number, ())}
        only = next(iter(matches.values())) if len(matches) == 1 else None
        return only if only is not None and not only.counts["fx_graph_cache_hit"] else None

    def _graph_ids(self, records: Iterable[int]) -> Iterator[tuple[str, str]]:
        for record in records:
            if self.log.kind(record).event == "inductor_output_code":
                match = AOT_ID.search(self._text(record, SHORT))
                if match is not None:
                    yield match[1], match[2]

    def _head(self) -> int:
        """Where in the stretch the records of the compile that begins now begin."""
        count = len(self._stretch)
        for place in range(len(self._stretch) - 1, -1, -1):
            phase, name = self._event(self._stretch[place])
            if phase == "B" and name in BACKWARD:
                break
            if phase == "B" and name in INNER:
                count = place
            if phase == "B" and name in OUTERMOST:
                return place
            if self.log.kind(self._stretch[place]).name == "recompile_reasons":
                count = place
        return count

    def _opening(self) -> int:
        """Return the index in the stretch at which a backward begins.

        Events that end after the metrics of the earlier compile belong to that one.
        """
        for place, record in enumerate(self._stretch):
            if self._event(record)[0] not in ("E", "i"):
                return place
        return 0

    def _event(self, record: int) -> tuple[str, str]:
        """Phase and name of a chromium event; '' for any other record."""
        if self.log.kind(record).event != EVENT:
            return "", ""
        try:
            value = loads(self._text(record, LONGEST))
        except JSONDecodeError:
            return "", ""
        return (str(value.get("ph")), str(value.get("name"))) if isinstance(value, dict) else ("", "")

    def _text(self, record: int, size: int) -> str:
        try:
            return self.log.text(record, size)
        except OSError:
            return ""

    def _give(self, record: int, owner: Compile) -> None:
        if owner.holds(record):
            return
        owner.add_records([record])
        owner.process.records += 1
        attempt = self.log.context(record).attempt
        if attempt is not None:
            owner.attempts |= {attempt}
        self._count(record, owner, 1)

    def _move(self, records: list[int], source: Compile, target: Compile) -> None:
        if source is target or not records:
            return
        for record in records:
            place = bisect_left(source.records, record)
            if place < len(source.records) and source.records[place] == record:
                del source.records[place]
                source.process.records -= 1
                self._count(record, source, -1)
            self._give(record, target)
        self.changed += (source, target)

    def _count(self, record: int, owner: Compile, n: int) -> None:
        kind = self.log.kind(record)
        for name in (kind.name, kind.event):
            if name in NOTABLE:
                counts = Counter(owner.counts)
                counts[kind.name or kind.event] += n
                owner.counts = +counts
                return

    def _doubt(self, *compiles: Compile, records: int) -> None:
        for compile_ in compiles:
            compile_.process.doubtful[compile_.id] = compile_.doubtful + records
        self.changed += compiles


def _open_since(compile_: Compile) -> int:
    """From which record on a record need not be its own: its last metrics, else its beginning."""
    if compile_.metrics:
        return max(metrics.record for metrics in compile_.metrics) + 1
    if compile_.started is not None:
        return compile_.started.record + 1
    log = compile_.process.log
    return next((record + 1 for record in reversed(compile_.records) if log.kind(record).event == CAPTURED), 0)
