"""The events of one profile as columns: some 35 bytes an event, names once."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# The categories are libkineto's names of activity types (libkineto/src/ActivityType.cpp).
ON_DEVICE = frozenset(("kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "hpu_op", "privateuse1"))
LAUNCHES = frozenset(
    ("cuda_runtime", "cuda_driver", "privateuse1_runtime", "privateuse1_driver", "xpu_runtime", "xpu_driver", "mtia_runtime")
)

Extra = Mapping[str, Any]
"""Arguments of an event that a join needs."""


def _q() -> array[int]:
    return array("q")


@dataclass(slots=True, eq=False)
class Profile:
    """What was read of a profile. Times are ns since `base_ns`; events stand in the order of the file."""

    path: str
    head: dict[str, Any] = field(default_factory=dict)
    """What stands beside the events: `schemaVersion`, `deviceProperties`, `distributedInfo`, …"""
    base_ns: int = 0
    """Since the epoch: `baseTimeNanoseconds`. A round number, the same for all profiles of a season."""
    begin: array[int] = field(default_factory=_q)
    duration: array[int] = field(default_factory=_q)
    name: array[int] = field(default_factory=lambda: array("I"))
    """Numbers of `names`."""
    category: array[int] = field(default_factory=lambda: array("B"))
    """Numbers of `categories`."""
    thread: array[int] = field(default_factory=lambda: array("H"))
    """Numbers of `threads`."""
    order: array[int] = field(default_factory=lambda: array("i"))
    """`Ev Idx`, -1 where there is none."""
    link: array[int] = field(default_factory=_q)
    """`External id` of an operator, `correlation` of a launch and of what ran on a device; -1 where there is none."""
    names: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    threads: list[tuple[str, str]] = field(default_factory=list)
    """pid and tid, as text: devices have none that are numbers."""
    on_device: array[int] = field(default_factory=lambda: array("I"))
    """The events that ran on a device."""
    operator: array[int] = field(default_factory=_q)
    """Of each of these: the `External id` of the operator that launched it, -1."""
    extra: dict[int, Extra] = field(default_factory=dict)
    """Number of an event → those of its arguments that tell which code it is of."""
    flow: array[int] = field(default_factory=_q)
    """Ids of the ends of arrows from a forward to its backward (`fwdbwd`)."""
    flow_time: array[int] = field(default_factory=_q)
    """When the event began that has this end of the arrow."""
    flow_thread: array[int] = field(default_factory=lambda: array("i"))
    """Its thread; -1 - the thread at the end in the backward."""
    pid: int = -1
    """Of the process; -1 where nothing says it."""
    window: tuple[int, int] = (0, 0)
    """From when to when it was recorded. What ends later was not over then."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Events that are counted only: category → how many."""
    damaged: int = 0
    """Events that could not be read."""
    faults: list[str] = field(default_factory=list)
    """Sentences on what is wrong with the file."""

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def rank(self) -> int | None:
        """The rank that `distributedInfo` states."""
        info = self.head.get("distributedInfo")
        rank = info.get("rank") if isinstance(info, dict) else None
        return rank if isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < 1 << 31 else None

    def epoch_us(self, time: int) -> float:
        """A time in µs since the epoch, as the log's events have it."""
        return (self.base_ns + time) / 1000

    def end(self, event: int) -> int:
        """When an event was over."""
        return self.begin[event] + self.duration[event]

    def name_of(self, event: int) -> str:
        """The name of an event."""
        return self.names[self.name[event]]
