"""The phase of a compile at each moment, from its timing events."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tltui.model.node_answers import part
from tltui.model.nodes import Compile
from tltui.model.record_reader import Reader
from tltui.questions.timing.timing_events import (
    AUTOGRAD,
    BACKEND,
    PRIORITY,
    Phase,
    ReadStats,
    group_of,
    is_aot,
    ordered,
    read_groups,
    without_metrics_writing,
)
from tltui.text.frozen import frozen

FINEST = 2000
"""Spans shorter than this fraction of a compile belong to the span before them."""


class PhaseSpan(NamedTuple):
    """A time during which a compile was in one phase, in microseconds since the epoch."""

    phase: str
    start_us: float
    end_us: float


@frozen
class PhaseSpans:
    """The phases of a compile, forward and backward."""

    spans: tuple[PhaseSpan, ...]
    """In the order of time; () without timing events."""
    phases: tuple[Phase, ...]
    """Seconds by phase."""


@part
def phase_spans(compile_: Compile, reader: Reader) -> PhaseSpans:
    """Return the phases of a compile over time, and their sums as the page `timing` has them."""
    events = [span for groups in read_groups((compile_,), ReadStats()) for group in groups for span in group.spans]
    has_aot = any(is_aot(name) for *_, name in events)
    spans = list(phases_over_time((group_of(name), start, end) for start, _, end, name in events))
    micros: dict[str, float] = defaultdict(float)
    for span in spans:
        micros[span.phase] += span.end_us - span.start_us
    phases, total_s = ordered(micros, has_aot), compile_.compile_s
    if total_s:
        phases = without_metrics_writing(phases, sum(phase.self_s for phase in phases) - total_s)
    backend = AUTOGRAD if has_aot else BACKEND
    merged = _merged(spans, sum(micros.values()) / FINEST)
    return PhaseSpans(tuple(span._replace(phase=backend) if span.phase == AUTOGRAD else span for span in merged), phases)


def phases_over_time(events: Iterable[tuple[str, float, float]]) -> Iterator[PhaseSpan]:
    """Yield spans of (phase, start, end): each moment counts for the most specific phase that covers it."""
    changes = sorted(
        (at, change, phase) for phase, start, end in events if end > start for at, change in ((start, 1), (end, -1))
    )
    active: Counter[str] = Counter()
    before = 0.0
    for at, change, phase in changes:
        if at > before and (current := next((one for one in PRIORITY if active[one]), "")):
            yield PhaseSpan(current, before, at)
        active[phase] += change
        before = at


def _merged(spans: Sequence[PhaseSpan], finest: float) -> Iterator[PhaseSpan]:
    """Yield spans in which equal neighbors, and those too short to be seen, are one."""
    last: PhaseSpan | None = None
    for span in spans:
        if last is not None and last.end_us == span.start_us and (
            span.phase == last.phase or span.end_us - span.start_us < finest
        ):  # fmt: skip
            last = last._replace(end_us=span.end_us)
        else:
            if last is not None:
                yield last
            last = span
    if last is not None:
        yield last
