"""Where a process stood when Ctrl-C ended its compile.

The exception leaves all phases in order: each has its end, and the metrics are written. But these ends stand close together, and
what was open before the first of them is where it stood: who interrupts a job has waited longer than that takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tltui.analyses.hang.open_work import INTERRUPTED, Inside, Phase, written
from tltui.analyses.parts import part
from tltui.analyses.records import Reader
from tltui.analyses.timing.events import Event, events_of
from tltui.model.nodes import Compile

TOGETHER_US = 500_000
"""Between two ends that an exception leaves one after the other."""
AFTERWARDS = "gc"
"""What torch does at the end of each compile, also of an interrupted one."""


@part
def stood_in(compile_: Compile, reader: Reader) -> Inside | None:
    """What an interrupted compile was in the middle of; None for one that was not interrupted."""
    if not compile_.facts.interrupted:
        return None
    phases = before_the_ends([event for event in events_of(compile_, reader) if event.phase in "BE" and event.name != AFTERWARDS])
    return Inside(str(compile_.ref), compile_.label, INTERRUPTED, *compile_.frame.code, phases, *written(compile_))


def before_the_ends(events: Sequence[Event]) -> tuple[Phase, ...]:
    """What was open before the ends that stand together at the end."""
    first = len(events)
    while first and events[first - 1].phase == "E" and (first == len(events) or _close(events[first - 1], events[first])):
        first -= 1
    stack: list[Phase] = []
    for event in events[:first]:
        if event.phase == "B":
            stack.append(Phase(event.name, event.at))
            continue
        place = next((n for n in range(len(stack) - 1, -1, -1) if stack[n].name == event.name), None)
        if place is not None:
            del stack[place]
    return tuple(stack)


def _close(one: Event, following: Event) -> bool:
    return following.at - one.at < TOGETHER_US
