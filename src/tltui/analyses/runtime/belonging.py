"""Which process of the run a profile is of, or why of none.

Ids prove nothing: `[0/0]` is in every run. A profile belongs where a cache key of it is in the trace, or the kernels of its
graphs are those of the code there, or where it is of the same pid and was recorded after the process began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tltui.analyses.runtime.nesting import Nested
from tltui.analyses.runtime.result import Refused, Runtime
from tltui.analyses.runtime.sums import Sums
from tltui.analyses.runtime.words import CALL, REGION
from tltui.inputs.profile.columns import Profile
from tltui.model.nodes import Process

BEFORE = 5.0
"""Seconds by which a profile may have begun before the first record of its process."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A process that a profile may be of."""

    sums: Sums
    process: Process
    same_pid: bool
    in_time: bool

    @property
    def is_proven(self) -> bool:
        """Whether graphs are the same."""
        joined = self.sums.joined
        return joined.same_key > 0 or (joined.other_key == 0 and joined.same_names > 0 and joined.other_names == 0)

    @property
    def is_disproven(self) -> bool:
        """Whether graphs are others."""
        joined = self.sums.joined
        return not joined.same_key and (joined.other_key > 0 or (joined.other_names > 0 and not joined.same_names))

    @property
    def rank(self) -> tuple[bool, bool, bool, int, int]:
        """The better one is larger."""
        joined = self.sums.joined
        names = joined.same_names - joined.other_names
        return self.same_pid and self.in_time, self.is_proven, self.same_pid, joined.same_key, names


def belonging(profile: Profile, nested: Nested, processes: Sequence[Process]) -> Runtime | Refused:
    """What a profile says of the process that it is of."""
    if not len(profile):
        return Refused(profile.path, "nothing is recorded in it: it has no events")
    candidates = [process for process in processes if process.compiles]
    if profile.rank is not None and any(process.rank is not None for process in candidates):
        candidates = [process for process in candidates if process.rank in (profile.rank, None)]
        if not candidates:
            return Refused(profile.path, f"it is of rank {profile.rank}, of which there is no trace")
    # another process of the same rank or pid is looked at last: joining reads the code
    candidates.sort(key=lambda process: (process.pid != profile.pid, process.rank != profile.rank))
    own = [process for process in candidates if process.pid == profile.pid] or candidates
    cases = [
        _Case(Sums(profile, nested, process), process, process.pid == profile.pid, _in_time(profile, process)) for process in own
    ]
    case = max(cases, key=lambda one: one.rank, default=None)
    if case is None:
        return Refused(profile.path, "the trace has no compile")
    if case.is_disproven or not (case.is_proven or (case.same_pid and case.in_time)):
        return Refused(profile.path, _why(profile, nested, case))
    return case.sums.runtime(_doubts(profile, case))


def _in_time(profile: Profile, process: Process) -> bool:
    """Whether the window ends after the process began to write."""
    return not process.is_dated or profile.epoch_us(profile.window[1]) / 1e6 >= process.started - BEFORE


def _doubts(profile: Profile, case: _Case) -> tuple[str, ...]:
    """What speaks against it."""
    found = []
    if not case.same_pid:
        found.append(f"it is of process {profile.pid}, the trace of process {case.process.pid}: their graphs are the same")
    elif not case.in_time:
        found.append("it was recorded before the trace began: their graphs are the same")
    return tuple(found)


def _why(profile: Profile, nested: Nested, case: _Case) -> str:
    """Why it is of another run."""
    joined = case.sums.joined
    calls = sum(kind == CALL for kind in nested.kind)
    if joined.other_key:
        graphs = len({profile.name[nested.event[span]] for span, kind in enumerate(nested.kind) if kind == CALL})
        return f"it is of another run: none of its {graphs} graph{'s' * (graphs != 1)} is in the trace"
    if joined.other_names:
        return f"it is of another run: the kernels of its {calls} calls of graphs are not in the code of the trace"
    who = "it was recorded before the trace began"
    if not case.same_pid:
        who = f"it is of process {profile.pid}, which is not in the trace"
    if any(kind in (CALL, REGION) for kind in nested.kind):
        return f"{who}, and nothing shows that its graphs are those of the trace"
    return f"{who}, and nothing compiled ran in it"
