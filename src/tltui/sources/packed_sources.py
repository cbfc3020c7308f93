"""Logs in packed files, tlparse reports and standard input, unpacked into the private cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import field, replace

from tltui.inputs.archives import BLOCK, COMPRESSED, STANDARD_INPUT, is_named_packed, packing_of, size_of
from tltui.inputs.archives.cache import Cache, own_cache, standard_input
from tltui.inputs.archives.decompress import CannotUnpack
from tltui.inputs.archives.members import ENCRYPTED
from tltui.inputs.archives.unpack import Contents, Judge, unpack
from tltui.inputs.flight_recorder import rank_in
from tltui.inputs.tlparse_import import lay_out_once
from tltui.sources.discovery_results import MEMBER, NO_RANK, OTHER, FoundDump, FoundLog, FoundProfile, Opened, Skipped, labels
from tltui.text.frozen import mutable

LARGEST = 64 << 20
"""Bytes of a packed file in a directory that is looked into without being named."""
TOO_LARGE = "a packed file of {}. To open it, give its path"
FOREIGN = "contains no log"

Look = Callable[[str], Opened]
"""A file → what it is."""
Walk = Callable[[str, list[str]], Iterator[tuple[str, Opened]]]
"""A directory → its files and what they are; notes are added."""


@mutable
class _Inside:
    """The contents of a packed file."""

    contents: Contents = field(default_factory=Contents)
    reason: str = ""
    """Why nothing of it can be opened; '' where something can."""
    is_foreign: bool = False
    """Nothing in it is like anything of ours."""


class Packed:
    """A reader of packed files. Each file is unpacked once while it is unchanged."""

    def __init__(self, detect: Look, walk: Walk, judge: Judge) -> None:
        self._detect = detect
        self._walk = walk
        self._judge = judge

    def inside(self, path: str, label: str, is_named: bool, notes: list[str]) -> Iterator[Opened]:
        """Yield the contents of a packed file. `is_named`: the user named it, it was not discovered in a directory."""
        try:
            inside = self._inside(path, label, is_named)
        except OSError as error:
            yield Skipped(label, error.strerror or str(error))
            return
        if inside.reason:
            yield Skipped(label, OTHER if inside.is_foreign and not is_named else inside.reason)
            return
        for copy in inside.contents.copies:
            yield _called(self._detect(copy.path), copy.label, list(copy.parts), copy.fault)
        for tree in inside.contents.trees:
            for file, entry in self._walk(tree.path, notes):
                name = file[len(tree.path) :]
                if not isinstance(entry, Skipped):
                    yield _called(entry, tree.label + name, [*tree.parts, *name.split(os.sep)], getattr(entry, "fault", ""))
                else:
                    yield Skipped(tree.label + name, entry.reason if entry.reason != OTHER else MEMBER)
        yield from (Skipped(*item) for item in inside.contents.refused)
        yield from [Skipped(label, MEMBER)] * inside.contents.others

    def _inside(self, path: str, label: str, is_named: bool) -> _Inside:
        status = os.stat(path)
        if not is_named and not is_named_packed(path) and not _is_compressed(path):
            return _Inside(reason=FOREIGN, is_foreign=True)
        if not is_named and status.st_size > LARGEST:
            return _Inside(reason=TOO_LARGE.format(size_of(status.st_size)))
        cache = own_cache()
        key = (os.path.realpath(path), status.st_ino, status.st_size, status.st_mtime_ns)
        if key not in cache.results:
            cache.results[key] = _unpacked(path, label, cache, self._judge)
        return cache.results[key]  # type: ignore[no-any-return]

    def report(self, path: str, notes: list[str]) -> Opened:
        """Convert the rows of a report of tlparse to a trace."""
        try:
            laid = lay_out_once(path)
        except CannotUnpack as cannot:
            return Skipped(path, str(cannot))
        except OSError as error:
            return Skipped(path, error.strerror or str(error))
        notes += [note for note in laid.notes if note not in notes]
        return _called(self._detect(laid.path), path, path.split(os.sep), laid.fault)

    def come(self, notes: list[str]) -> Iterator[Opened]:
        """Yield the files received through standard input. Packed input is read to its end first."""
        try:
            stream = standard_input()
        except CannotUnpack as cannot:
            yield Skipped(STANDARD_INPUT, str(cannot))
            return
        has_ended = stream.has_ended
        entry = self._detect(stream.path)
        if isinstance(entry, FoundLog):
            yield replace(entry, rank=None, label=STANDARD_INPUT, is_final=has_ended, fault=stream.fault if has_ended else "")
        elif has_ended and stream.packing:
            yield from self.inside(stream.path, STANDARD_INPUT, True, notes)
        elif has_ended and isinstance(entry, (FoundProfile, FoundDump)):
            yield replace(entry, label=STANDARD_INPUT)
        elif has_ended and isinstance(entry, Skipped):
            yield Skipped(STANDARD_INPUT, entry.reason)


def _is_compressed(path: str) -> bool:
    with open(path, "rb") as file:
        return packing_of(file.read(BLOCK)) in COMPRESSED


def _unpacked(path: str, label: str, cache: Cache, judge: Judge) -> _Inside:
    try:
        contents = unpack(path, label, cache, judge)
    except CannotUnpack as cannot:
        return _Inside(reason=str(cannot))
    if not contents.is_empty:
        return _Inside(contents)
    if contents.reason:
        return _Inside(contents, contents.reason)
    if contents.refused and all(reason == ENCRYPTED for _, reason in contents.refused):
        return _Inside(reason=ENCRYPTED)
    if faults := [reason for place, reason in contents.refused if place == label]:
        return _Inside(reason=faults[0])
    files = contents.others + len(contents.refused)
    return _Inside(contents, f"{FOREIGN} ({files:,} file{'s' * (files != 1)})", is_foreign=True)


def _called(entry: Opened, label: str, parts: list[str], fault: str) -> Opened:
    """Return a file of the cache with its detected type, under its name for the user."""
    if isinstance(entry, Skipped):
        return Skipped(label, entry.reason)
    if isinstance(entry, FoundDump):  # the cache calls its copies by numbers: the rank is in the name that the user knows
        rank = rank_in(label)
        return Skipped(label, NO_RANK) if rank is None else replace(entry, label=label, rank=rank)
    if isinstance(entry, FoundProfile):
        return replace(entry, label=label)
    rank, launch = labels(parts)
    return replace(entry, label=label, rank=rank, launch=launch, is_final=True, fault=fault)
