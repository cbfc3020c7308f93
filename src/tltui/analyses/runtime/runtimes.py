"""What the profiles of a run say of it.

    run.profiles.read()                  # reads the files that were found, or named by --profile; seconds for large ones
    for one in runtimes_of(run):         # one for each file that was read
        if isinstance(one, Refused): ... # it is of another run: why
        one.compiles, one.eager, ...     # tltui.analyses.runtime.result.Runtime

Kept until the run or its profiles change. () while no profile is read. Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from tltui.analyses.runtime.belonging import belonging
from tltui.analyses.runtime.nesting import Nested, Walk, nested
from tltui.analyses.runtime.result import Refused, Runtime
from tltui.inputs.profile.columns import Profile
from tltui.model.run import Run

__all__ = ["Refused", "Runtime", "nested_of", "preparing", "runtimes_of"]


def runtimes_of(run: Run) -> tuple[Runtime | Refused, ...]:
    """What each profile that was read says of the run, or why it is not of this run."""
    profiles = run.profiles
    if not profiles.version:
        return ()
    with profiles.lock:
        if profiles.kept_for == (run.version, profiles.version):
            return cast("tuple[Runtime | Refused, ...]", profiles.kept[1])
        state = profiles.version, _stamps(run)
        profiles.kept_for = run.version, profiles.version
        if profiles.kept[0] != state:
            found: list[Runtime | Refused] = []
            for file in profiles.files:
                if file.profile is not None:
                    found.append(belonging(file.profile, nested_of(run, file.profile), list(run.processes())))
                elif file.fault:
                    found.append(Refused(file.found.name, file.fault))
            profiles.kept = state, tuple(found)
        return cast("tuple[Runtime | Refused, ...]", profiles.kept[1])


def _stamps(run: Run) -> list[object]:
    """What a change of the run that matters changes: compiles that began after the windows do not."""
    last = max((own.epoch_us(own.window[1]) for own in run.profiles.profiles), default=0.0)
    found: list[object] = [process.naming.stamp for process in run.processes()]
    found += [
        (own.key, own.stamp) for process in run.processes() for own in process.ordered() if (own.start_us or 0.0) <= last
    ]
    return found


def preparing(run: Run) -> Iterator[None]:
    """Nest the profiles of a run that were read, in steps: what `runtimes_of` then asks for. Touches no node."""
    for profile in run.profiles.profiles:
        if not run.profiles.is_derived(profile):
            walk = Walk(profile)
            yield from walk.steps()
            run.profiles.derived(profile, lambda _, walk=walk: walk.found)  # type: ignore[misc]


def nested_of(run: Run, profile: Profile) -> Nested:
    """The nested events of a profile of the run; made once."""
    return cast(Nested, run.profiles.derived(profile, nested))
