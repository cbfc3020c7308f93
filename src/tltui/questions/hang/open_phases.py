"""Open phases of a process: compiles and nested timing events that began and did not end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from tltui.model.derived_cache import MISSING
from tltui.model.id_epochs import INNER, OUTERMOST
from tltui.model.node_answers import part, part_of, reads
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, addresses, number_in, records_of, text_in
from tltui.model.ref import NO_ID
from tltui.model.status import BACKWARD
from tltui.questions.stacks.tracebacks import display_code, display_name
from tltui.text.frozen import frozen
from tltui.trace.grammar import PREFIX

EVENT = "chromium_event"
EVENT_LIMIT = 32 << 20
"""Stored bytes above which an event is not read."""
BLOCK = 64
"""Compiles that are asked together: a batch touches few of them."""
BACK = 4096
"""Records that are looked through for a time before the last one."""
DAY_US = 86_400e6
COMPILE, AGAIN, BACKWARD_OF, RUNTIME, CAPTURE, OUTSIDE = "compile", "again", "backward", "runtime", "capture", "outside"
INTERRUPTED = "interrupted"
WRAPPERS = frozenset((
    *OUTERMOST, *INNER, *BACKWARD, "backend_compile", "OutputGraph.call_user_compiler", "compile_fx.<locals>.fw_compiler_base",
    "compile_fx.<locals>.bw_compiler",
))  # fmt: skip
"""Phases that hold others and say little beside them."""
LOWERING = "inductor_compile"
SHOWN = 4
"""Phases that a line has room for."""


@frozen
class Phase:
    """An open phase: begun and not ended."""

    name: str
    """Torch's name for it."""
    since_at_us: float
    """Microseconds since the epoch, by the clock of the process."""


@frozen
class Inside:
    """The open phases of a process, from its log."""

    ref: str
    """The address of the compile; of records without an id theirs."""
    id: str
    """`[2/0]`"""
    activity: str
    """`compile`; `again`: another compile that has this id, of which the log does not tell the function yet; `backward`: of a
    compile whose forward has ended; `runtime`: while its code runs; `capture`: of a backward, by compiled autograd; `outside`: of
    any compile; `interrupted`: of a compile that Ctrl-C ended, which is not open any more."""
    function: str | None
    """None: the log does not tell it."""
    file: str | None
    line: int | None
    phases: tuple[Phase, ...]
    """The outermost first. Empty where the log has no timing events."""
    artifact: str
    """The last thing that it wrote beside timing events, by name; '' where there is none."""
    graph: str
    """The address of the last graph that it wrote; '' where there is none."""

    @property
    def since(self) -> float | None:
        """The begin of the innermost phase."""
        return self.phases[-1].since_at_us if self.phases else None

    @property
    def trail(self) -> str:
        """The most specific phases: `inductor_compile ▸ fx_codegen_and_compile`."""
        return trail([phase.name for phase in self.phases])


def specific_phases(names: Sequence[str]) -> tuple[str, ...]:
    """Return nested phases without mere containers, the outermost first."""
    specific = [name for name in names if name not in WRAPPERS and not name.startswith("compile_attempt_")] or list(names[-1:])
    if LOWERING in specific:
        specific = specific[len(specific) - 1 - specific[::-1].index(LOWERING) :]
    return tuple(specific)


def trail(names: Sequence[str]) -> str:
    """Write the specific phases of nested ones; the same phase on several threads once."""
    merged: list[str] = []
    for name in specific_phases(names):  # threads share one stack
        if not merged or merged[-1].partition(" ×")[0] != name:
            merged.append(name)
        else:
            merged[-1] = f"{name} ×{int(merged[-1].partition(' ×')[2] or 1) + 1}"
    if len(merged) > SHOWN:
        merged = [*merged[: SHOWN - 2], "…", *merged[2 - SHOWN :]]
    return " ▸ ".join(merged)


@frozen
class _Fold:
    """The state of incremental reading of a compile's events."""

    start: int
    count: int
    last: int
    """The record at which the reading stands: records of an id with several epochs may be given to another."""
    open: tuple[Phase, ...]
    events: int
    """Events that were read."""


@part
def begun(compile_: Compile, reader: Reader) -> tuple[tuple[Phase, ...], int]:
    """Return a compile's open phases since its last metrics, and the event count since then.

    Reads only records added since the previous call.
    """
    parts, records, log = compile_.process.parts, compile_.records, reader.log
    start = _start(compile_)
    fold = parts.get(_Fold, compile_)
    if fold is MISSING or fold.start != start or not _holds(fold, records):
        fold = _Fold(start, start, records[start - 1] if start else -1, (), 0)
    kinds = {number for number, kind in enumerate(log.kinds) if kind.event == EVENT}
    column = log.columns.kind
    stack, event_count, readable = list(fold.open), fold.events, True
    for place in range(fold.count, len(records)):
        record = records[place]
        if column[record] not in kinds:
            continue
        event_count += 1
        value = reader.json(record, EVENT_LIMIT)
        name, sign, at = text_in(value, "name"), text_in(value, "ph"), number_in(value, "ts")
        if name is None or sign is None or at is None:
            readable = False
        elif sign == "B":
            stack.append(Phase(name, at))
        elif sign == "E":
            end_phase(stack, name)
    if readable and len(records) and (stack or not compile_.is_closed):  # unreadable records may become readable
        parts.put(_Fold, compile_, (), _Fold(start, len(records), records[-1], tuple(stack), event_count))
    return tuple(stack), event_count


def _holds(fold: _Fold, records: Sequence[int]) -> bool:
    """Return whether previously read records are unchanged."""
    return fold.count <= len(records) and (not fold.count or records[fold.count - 1] == fold.last)


def _start(compile_: Compile) -> int:
    """Return the first record that can open a phase: the one after the last metrics."""
    ends = [metrics.record for metrics in compile_.metrics if not metrics.is_runtime]
    return bisect_left(compile_.records, max(ends) + 1) if ends else 0


def end_phase(stack: list[Phase], name: str) -> None:
    """Remove the innermost open phase of a name, if there is one."""
    for place in range(len(stack) - 1, -1, -1):
        if stack[place].name == name:
            del stack[place]
            return


@part
def inside_of(compile_: Compile, reader: Reader) -> Inside | None:
    """Return the open phases of a compile; None for none."""
    phases, events = begun(compile_)
    closed = compile_.is_closed
    if not phases and (closed or events or not compile_.is_compile):
        return None
    if not compile_.is_compile and closed:
        phases = tuple(phase for phase in phases if phase.name != "compiled_autograd")  # its end event follows immediately
        if not phases:
            return None
    text = _kind(compile_, phases, closed)
    ref, label, code = str(compile_.ref), compile_.label, display_code(compile_.frame)
    if text in (AGAIN, CAPTURE, OUTSIDE):
        label, code = compile_.id.of(0).bracketed, (None, None, None)
    elif text == BACKWARD_OF and len(candidates := _without_backward(compile_)) > 1:
        names = dict.fromkeys(display_name(item.frame) or item.label for item in candidates)
        label, code = compile_.id.of(0).bracketed, (" or ".join(names), None, None)
    return Inside(ref, label, text, *code, phases, *(("", "") if text == AGAIN else written(compile_)))


def _without_backward(compile_: Compile) -> list[Compile]:
    """Return compiles with the same id and without a compiled backward.

    Until its code is written, the backward may belong to any of them.
    """
    same = compile_.process.epochs_of(compile_.id.of(0))
    reads(compile_, *same)
    return [candidate for candidate in same if candidate.is_closed and _waits_for_backward(candidate)]


def _waits_for_backward(compile_: Compile) -> bool:
    if not all(metrics.ends_compile or metrics.is_runtime for metrics in compile_.metrics):
        return False
    return next(records_of(compile_, ("aot_backward_graph",)), None) is not None


def _kind(compile_: Compile, phases: Sequence[Phase], closed: bool) -> str:
    if compile_.id == NO_ID:
        return OUTSIDE
    if not compile_.is_compile:
        return CAPTURE
    if not closed:
        return COMPILE
    first = phases[0].name
    return AGAIN if first in OUTERMOST or first in INNER else BACKWARD_OF if first in BACKWARD else RUNTIME


def written(compile_: Compile) -> tuple[str, str]:
    """Return the name of the last record that is no event or description, and the last graph's address."""
    log = compile_.process.log
    last = ""
    for record in islice(reversed(compile_.records), BACK):
        kind = log.kind(record)
        name = kind.name or kind.event
        if kind.event != EVENT and not kind.event.startswith("describe_"):
            last = last or name
            if name.endswith("_graph") and log.has_payload(record):
                return last, addresses(compile_, (name,)).get(record, "")
    return last, ""


def _open_among(compiles: Sequence[Compile]) -> tuple[tuple[int, Inside], ...]:
    """Return the open phases of some compiles, each with the compile's index."""
    return tuple((n, position) for n, compile_ in enumerate(compiles) if (position := inside_of(compile_)) is not None)


def _blocks(compiles: Sequence[Compile]) -> Iterator[Sequence[Compile]]:
    return (compiles[at : at + BLOCK] for at in range(0, len(compiles), BLOCK))


def _open_in(block: Sequence[Compile]) -> tuple[tuple[int, Inside], ...]:
    return part_of(_open_among, block, partial(_open_among, block))


def read_inside(process: Process) -> Iterator[None]:
    """Read the records for `all_inside`, with a pause after each piece."""
    for block in _blocks(list(process.ordered())):
        _open_in(block)
        yield


@part
def all_inside(process: Process, reader: Reader) -> tuple[Inside, ...]:
    """Return everything open in a process, current phases first.

    Only compiles changed by a batch are evaluated again.
    """
    compiles = list(process.ordered())
    pairs = [(block[n], position) for block in _blocks(compiles) for n, position in _open_in(block)]
    if not pairs:
        return ()
    newest = next((compile_.records[0] for compile_ in reversed(compiles) if compile_.is_compile and compile_.records), -1)
    current = [position for compile_, position in pairs if not _is_abandoned(position, compile_, newest)]
    return tuple(sorted(current, key=lambda position: (position.activity == OUTSIDE, -(position.since or 0.0))))


def _is_abandoned(position: Inside, compile_: Compile, newest: int) -> bool:
    """Return whether the process has begun another compile although this one has no end.

    An exception leaves a captured backward without an end, and a compile without timing events may lack its metrics.
    """
    return (position.activity == CAPTURE or not position.phases) and newest > compile_.records[-1]


def inside(process: Process) -> Inside | None:
    """Return the open phases of a process, from its log; None for none."""
    positions = all_inside(process)
    return positions[0] if positions else None


@part
def last_record(process: Process, reader: Reader) -> float | None:
    """Return the time of a process's last record, in microseconds since the epoch.

    The time of the last event before it, plus the difference of their times of day. None without an event near it.
    """
    last = max((compile_.records[-1] for compile_ in process.ordered() if compile_.records), default=-1)
    log = reader.log
    for record in range(last, max(last - BACK, -1), -1):
        if log.kind(record).event != EVENT:
            continue
        at = number_in(reader.json(record, EVENT_LIMIT), "ts")
        if at is None:
            continue
        passed = _micros(reader.head(last)) - _micros(reader.head(record))
        return at + max(passed + DAY_US if passed < -DAY_US / 2 else passed, 0.0)
    return None


def launch_number(process: Process) -> int:
    """Return the number of a process's launch in the path of its log (`attempt_1` → 1); -1 for none."""
    number = process.launch.rpartition("_")[2]
    return int(number) if number.isdigit() and len(number) < 10 else -1


def _micros(line: bytes) -> float:
    """Parse the time of day of a record."""
    match = PREFIX.match(line)
    if match is None:
        return 0.0
    return (int(match[4]) * 3600 + int(match[5]) * 60 + float(match[6] + b"." + match[7])) * 1e6
