"""The steps of a profile: `ProfilerStep#5`, else an annotation of the user that repeats."""

from __future__ import annotations

import re
from collections import defaultdict

from tltui.analyses.runtime.nesting import Nested
from tltui.analyses.runtime.result import Step
from tltui.inputs.profile.columns import Profile

_PROFILER = re.compile(r"^ProfilerStep#\d+$")
_NUMBER = re.compile(r"\d+")
_OTHERS = re.compile(
    r"^(?:Optimizer\.|DistributedDataParallel\.|FullyShardedDataParallel\.|FSDP::|enumerate\(DataLoader\)|[a-z0-9_]+:\w+$|## )"
)
"""What torch annotates itself: optimizers, wrappers, loaders, `gloo:all_reduce`."""


MOST = 0.5
"""Of the time from the first to the last that annotations take where they may be the steps."""


def steps_of(profile: Profile, nested: Nested) -> tuple[Step, ...]:
    """The steps, in order. Of annotations that repeat the outermost ones are taken, those that take the most time together."""
    named = [(event, profile.name_of(event)) for event in nested.annotations]
    own = [event for event, name in named if _PROFILER.match(name)]
    if not own:
        families: dict[str, list[int]] = defaultdict(list)
        for event, name in named:
            if not _OTHERS.match(name):
                families[_NUMBER.sub("#", name)].append(event)
        several = [events for events in families.values() if len(events) > 1 and _cover(profile, events)]
        own = max(several, key=lambda events: sum(profile.duration[event] for event in events), default=[])
    own.sort(key=lambda event: profile.begin[event])
    return tuple(
        Step(profile.name_of(event), profile.epoch_us(profile.begin[event]), profile.duration[event] / 1000) for event in own
    )  # fmt: skip


def _cover(profile: Profile, events: list[int]) -> bool:
    """Whether annotations are most of the time that they span: what happens now and then is no step."""
    first, last = min(profile.begin[event] for event in events), max(profile.end(event) for event in events)
    return sum(profile.duration[event] for event in events) >= MOST * (last - first)
