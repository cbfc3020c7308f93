"""Files that `torch.profiler` exported: which they are, and whether they changed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from tltui.sources.found import FoundProfile

MOST = 4096
"""Profiles of a directory that was named."""


class NoProfileThere(Exception):
    """What was named is no profile. Its text says why."""


def profile_at(path: str) -> FoundProfile | None:
    """The profile that a file is, by its beginning; None for every other file. Raises `OSError`."""
    from tltui.inputs.profile.reading import reason_against

    if reason_against(path):
        return None
    status = os.stat(path)
    return FoundProfile(path, status.st_size, status.st_mtime_ns)


def again(found: FoundProfile) -> FoundProfile:
    """A profile as it is now."""
    try:
        status = os.stat(found.path)
    except OSError:
        return found
    return replace(found, size=status.st_size, changed=status.st_mtime_ns)


def named(paths: Iterable[str]) -> tuple[FoundProfile, ...]:
    """The profiles that were named, and those in directories that were. Raises `NoProfileThere`."""
    from tltui.inputs.profile.reading import reason_against

    found: list[FoundProfile] = []
    for name in paths:
        path = os.path.expanduser(name)
        try:
            if os.path.isdir(path):
                found += _inside(path)
            elif reason := reason_against(path):
                raise NoProfileThere(f"{name}: {reason}")
            else:
                found.append(again(FoundProfile(path, 0, is_named=True)))
        except OSError as error:
            raise NoProfileThere(f"{name}: {error.strerror or error}") from None
    return tuple({own.path: own for own in found}.values())


def _inside(directory: str) -> list[FoundProfile]:
    """The profiles in a directory."""
    with os.scandir(directory) as entries:
        files = sorted(entry.path for entry in entries if entry.is_file())[:MOST]
    found = [replace(own, is_named=True) for path in files if (own := profile_at(path)) is not None]
    if not found:
        raise NoProfileThere(f"{directory}: there is no profile of torch.profiler in it")
    return found
