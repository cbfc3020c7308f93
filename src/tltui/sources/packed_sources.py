"""Logs in packed files, tlparse reports and standard input, unpacked into the private cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tltui.inputs.archives.cache import Cache, own_cache, standard_input
from tltui.inputs.archives.decompress import CannotUnpack
from tltui.inputs.archives.members import ENCRYPTED
from tltui.inputs.archives.packed_files import BLOCK, COMPRESSED, STANDARD_INPUT, is_named_packed, packing_of, size_of
from tltui.inputs.archives.unpack import Contents, Judge, unpack
from tltui.inputs.flight_recorder import rank_in
from tltui.inputs.tlparse_import import lay_out_once
from tltui.sources.discovery_results import MEMBER, NO_RANK, OTHER, FoundDump, FoundLog, FoundProfile, Opened, Skipped, labels

LARGEST = 64 << 20
"""Bytes of a packed file in a directory that is looked into without being named."""
TOO_LARGE = "a packed file of {}: name it to have it opened"
FOREIGN = "no log in it"

Look = Callable[[str], Opened]
"""A file → what it is."""
Walk = Callable[[str, list[str]], Iterator[tuple[str, Opened]]]
"""A directory → its files and what they are; notes are added."""


@dataclass(slots=True)
class _Inside:
    """What a packed file gave."""

    contents: Contents = field(default_factory=Contents)
    reason: str = ""
    """Why nothing of it can be opened; '' where something can."""
    is_foreign: bool = False
    """Nothing in it is like anything of ours."""


class Packed:
    """Looks into what is packed. Each file is unpacked once, as long as it stays what it is."""

    def __init__(self, look: Look, walk: Walk, judge: Judge) -> None:
        self._look = look
        self._walk = walk
        self._judge = judge

    def inside(self, path: str, label: str, is_named: bool, notes: list[str]) -> Iterator[Opened]:
        """What is in a packed file. `is_named`: it was given by its name, not found in a directory."""
        try:
            inside = self._inside(path, label, is_named)
        except OSError as error:
            yield Skipped(label, error.strerror or str(error))
            return
        if inside.reason:
            yield Skipped(label, OTHER if inside.is_foreign and not is_named else inside.reason)
            return
        for copy in inside.contents.copies:
            yield _called(self._look(copy.path), copy.label, list(copy.parts), copy.fault)
        for tree in inside.contents.trees:
            for file, found in self._walk(tree.path, notes):
                name = file[len(tree.path) :]
                if not isinstance(found, Skipped):
                    yield _called(found, tree.label + name, [*tree.parts, *name.split(os.sep)], getattr(found, "fault", ""))
                else:
                    yield Skipped(tree.label + name, found.reason if found.reason != OTHER else MEMBER)
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
        if key not in cache.known:
            cache.known[key] = _unpacked(path, label, cache, self._judge)
        return cache.known[key]  # type: ignore[no-any-return]

    def report(self, path: str, notes: list[str]) -> Opened:
        """The rows of a report of tlparse, laid out again as a trace."""
        try:
            laid = lay_out_once(path)
        except CannotUnpack as cannot:
            return Skipped(path, str(cannot))
        except OSError as error:
            return Skipped(path, error.strerror or str(error))
        notes += [note for note in laid.notes if note not in notes]
        return _called(self._look(laid.path), path, path.split(os.sep), laid.fault)

    def come(self, notes: list[str]) -> Iterator[Opened]:
        """What has come through standard input. What is packed is read to its end first."""
        try:
            given = standard_input()
        except CannotUnpack as cannot:
            yield Skipped(STANDARD_INPUT, str(cannot))
            return
        has_ended = given.has_ended
        found = self._look(given.path)
        if isinstance(found, FoundLog):
            yield replace(found, rank=None, label=STANDARD_INPUT, is_final=has_ended, fault=given.fault if has_ended else "")
        elif has_ended and given.packing:
            yield from self.inside(given.path, STANDARD_INPUT, True, notes)
        elif has_ended and isinstance(found, (FoundProfile, FoundDump)):
            yield replace(found, label=STANDARD_INPUT)
        elif has_ended and isinstance(found, Skipped):
            yield Skipped(STANDARD_INPUT, found.reason)


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


def _called(found: Opened, label: str, parts: list[str], fault: str) -> Opened:
    """What a file of the cache is, under the name that it has for the user."""
    if isinstance(found, Skipped):
        return Skipped(label, found.reason)
    if isinstance(found, FoundDump):  # the cache calls its copies by numbers: the rank is in the name that the user knows
        rank = rank_in(label)
        return Skipped(label, NO_RANK) if rank is None else replace(found, label=label, rank=rank)
    if isinstance(found, FoundProfile):
        return replace(found, label=label)
    rank, launch = labels(parts)
    return replace(found, label=label, rank=rank, launch=launch, is_final=True, fault=fault)
