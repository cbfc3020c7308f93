"""Unpacking of an archive into the private cache."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import IO

from tltui.inputs.archives import BLOCK, COMPRESSED, COMPRESSED_NAME, TAR, ZIP, packing_of
from tltui.inputs.archives.cache import Cache, Full, Member
from tltui.inputs.archives.decompress import HEAD, PIECE, Allowance, CannotUnpack, Counted, Head, Plain, Stream, unpacked
from tltui.inputs.archives.members import Entry, Members, members_of_tar, members_of_zip
from tltui.inputs.directory_layouts import (
    CACHED,
    CODE,
    FILES,
    RAW_LOG,
    RUNNABLE,
    SDSC,
    SHARD,
    SPYRE_CACHE,
    UNIT,
    Report,
    pid_of,
    report_in,
)
from tltui.text.frozen import frozen, mutable
from tltui.text.sanitize import sanitize

Parts = tuple[str, ...]
_SAFE = re.compile(r"(?!\.)[A-Za-z0-9_.+=@,~ ()\[\]-]{1,150}")
"""Names that a file of the cache may have where its form needs them: no separators, nothing hidden, nothing that leads anywhere."""


@frozen
class Tree:
    """A directory of an archive."""

    parts: Parts
    only: str = ""
    """The one file in it that is read, '' where it is not one alone."""
    within: tuple[Parts, ...] = ()
    """The directories below it that belong to it; none where all of it does."""

    def has(self, parts: Parts) -> bool:
        """Whether a member below it belongs to it."""
        return not self.within or any(parts[: len(prefix)] == prefix for prefix in self.within)


def trees_in(names: Iterable[Parts]) -> list[Tree]:
    """Return the directories formed by members with these names: reports of tlparse, and debug output of torch.

    Debug output: the directory of a process, `run_…-pid_N`, and units, also alone or in Inductor's cache.
    """
    listing: dict[Parts, set[str]] = defaultdict(set)
    result: dict[Parts, Tree] = {}
    units: dict[Parts, list[Parts]] = defaultdict(list)
    for parts in names:
        listing[parts[:-1]].add(parts[-1])
        run = next((place for place, part in enumerate(parts[:-1], 1) if pid_of(part)), 0)
        if run:
            result.setdefault(parts[:run], Tree(parts[:run]))
    for parts, inside in listing.items():
        report = report_in(inside)
        if report is not Report.NONE:
            result[parts] = Tree(parts, RAW_LOG if report is Report.WITH_LOG else "")
        elif _is_unit(parts[-1] if parts else "", inside):
            units[_above(parts)].append(parts)
    for parts, members in units.items():
        result.setdefault(parts, Tree(parts, within=tuple(members) if members != [parts] else ()))
    return [tree for parts, tree in result.items() if not any(parts[:length] in result for length in range(len(parts)))]


def _is_unit(name: str, inside: set[str]) -> bool:
    is_called = UNIT.fullmatch(name) is not None or CACHED.fullmatch(name) is not None
    return inside >= {CODE, RUNNABLE} or (is_called and bool(inside & FILES.keys())) or any(map(SDSC.fullmatch, inside))


def _above(unit: Parts) -> Parts:
    """Return the directory to open for a unit: its siblings are of the same process, or in the same cache."""
    if SPYRE_CACHE in unit:
        return unit[: max(unit.index(SPYRE_CACHE), 1)]
    if len(unit) > 2 and CACHED.fullmatch(unit[-1]) and SHARD.fullmatch(unit[-2]):
        return unit[:-2]
    return unit[:-1] if len(unit) > 1 and (UNIT.fullmatch(unit[-1]) or CACHED.fullmatch(unit[-1])) else unit


def tree_of(parts: Parts, trees: dict[Parts, Tree]) -> Tree | None:
    """Return the directory of a member."""
    tree = next((tree for length in range(len(parts)) if (tree := trees.get(parts[:length])) is not None), None)
    return tree if tree is not None and tree.has(parts) else None


def safe_parts(parts: Parts) -> Parts | None:
    """Return the path of a member below a directory for use in the cache; None where a part is unsafe."""
    return parts if len(parts) <= 16 and all(_SAFE.fullmatch(part) for part in parts) else None


FAR = 16 << 20
"""Bytes of a compressed text that are looked at to find out what it is, where it is no archive."""
DEPTH = 2
"""An archive, and one in it."""
TOO_DEEP = "an archive inside of two other archives: unpack it first"
CUT = "cut at the limit: "
_TRACE = re.compile(rb"^V\d{4} [^\n]*\] ?\{", re.MULTILINE)

Judge = Callable[[bytes, str, bool], str]
"""The beginning of a file, its name, and whether somebody asked for this very file → why it is no log, '' for one."""


@frozen
class Copy:
    """A file of the cache."""

    path: str
    label: str
    """What it is called: `job.tar.gz!job/x.log`, sanitised."""
    parts: Parts
    """Its name in the archive, and those of the directories above it."""
    fault: str = ""
    """Why it is not all that there was."""


@frozen
class CopiedTree:
    """A directory of the cache."""

    path: str
    label: str
    parts: Parts
    """Its name in the archive."""


@mutable
class Contents:
    """The supported contents of a packed file."""

    copies: list[Copy] = field(default_factory=list)
    trees: list[CopiedTree] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Label and reason of what was left out and could have been meant."""
    others: int = 0
    """Further members, that are something else."""
    reason: str = ""
    """Why nothing of it was taken: of a compressed file what it is instead."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it can be opened."""
        return not self.copies and not self.trees

    def merge(self, other: Contents) -> None:
        """Add the contents of an archive in this one."""
        self.copies += other.copies
        self.trees += other.trees
        self.refused += other.refused
        self.others += other.others


def unpack(path: str, label: str, cache: Cache, judge: Judge) -> Contents:
    """Everything of ours in a packed file. Raises OSError where it cannot be read, and `CannotUnpack`.

    What was written when it fails is taken away.
    """
    work = _Unpacking(cache, judge, label, os.stat(path))
    try:
        return work.file(path, sanitize(label), Path(label).name, 1)
    except BaseException:
        work.drop()
        raise


class _Unpacking:
    """One packed file on its way into the cache."""

    def __init__(self, cache: Cache, judge: Judge, name: str, status: os.stat_result) -> None:
        self._cache = cache
        self._judge = judge
        self._name = name
        self._changed = status.st_mtime
        self._allowance = Allowance(status.st_size)
        self._progress = (0, 0)
        self._written: list[Member] = []

    def drop(self) -> None:
        """Delete the written files."""
        for member in self._written:
            member.drop()

    def _read_so_far(self, read: int, size: int) -> None:
        self._progress = (read, size)
        self._report()

    def _report(self) -> None:
        self._cache.progress(self._name, *self._progress, self._cache.written)

    # a packed file

    def file(self, path: str, label: str, name: str, depth: int) -> Contents:
        """One that lies in a file; `depth` archives deep."""
        with open(path, "rb") as file:
            packing = packing_of(file.read(BLOCK), name)
            file.seek(0)
            if packing in COMPRESSED:
                stream = self._allowance.limited(unpacked(packing, self._counted(file, depth), path))
                try:
                    begun = Head(stream)
                    if (inside := packing_of(begun.head, name)) != TAR:
                        return self._nested(begun, label, name, depth) if inside else self._alone(begun, label, name)
                finally:
                    stream.close()
        return self._archive(path, label, name, depth)

    def _counted(self, file: IO[bytes], depth: int) -> Stream:
        return Counted(file, os.fstat(file.fileno()).st_size, self._read_so_far) if depth == 1 else Plain(file)

    def _alone(self, stream: Head, label: str, name: str) -> Contents:
        """Unpack a compressed file that is no archive."""
        plain = COMPRESSED_NAME.sub("", name)
        contents = Contents(reason=self._judge(stream.head, plain, True))
        if contents.reason and len(stream.head) >= HEAD and b"\x00" not in stream.head:  # a job may print much before it compiles
            stream.look_on(FAR)
            contents.reason = self._judge(stream.head, plain, True)
        if contents.reason:
            contents.reason = stream.fault if stream.fault and not stream.head else contents.reason
        else:
            self._keep(self._copy(stream, label, (name,), None), contents.copies, contents)
        return contents

    def _nested(self, stream: Head, label: str, name: str, depth: int) -> Contents:
        """Unpack an archive in an archive."""
        if depth >= DEPTH:
            return Contents(refused=[(label, TOO_DEEP)])
        copy = self._new(self._cache.new_file())
        fault = ""
        try:
            try:
                while data := stream.read(PIECE):
                    copy.write(data)
            except Full as full:
                fault = f"{CUT}{full}"
            finally:
                copy.end()
            contents = self.file(str(copy.path), label, name, depth + 1)
        except CannotUnpack as cannot:
            return Contents(refused=[(label, str(cannot))])
        finally:
            copy.drop()
            self._written.remove(copy)
        if contents.reason:
            contents.others += 1
        if fault or stream.fault:
            contents.refused.append((label, fault or stream.fault))
        return contents

    # an archive

    @contextmanager
    def _members(self, path: str, name: str, depth: int) -> Iterator[Members]:
        """Yield the members of an archive, from its beginning."""
        with open(path, "rb") as file:
            packing = packing_of(file.read(BLOCK), name)
            file.seek(0)
            if packing == ZIP:
                members = members_of_zip(file, self._cache.limits)
                members.entries = (replace(each, stream=self._allowance.limited(each.stream)) for each in members.entries)
                yield members
                return
            stream = self._counted(file, depth)
            if packing in COMPRESSED:
                stream = self._allowance.limited(unpacked(packing, stream, path))
            try:
                yield members_of_tar(stream, self._cache.limits)
            finally:
                stream.close()

    def _archive(self, path: str, label: str, name: str, depth: int) -> Contents:
        contents = Contents()
        names: list[Parts] = []
        copies_by_path: dict[Parts, list[Copy]] = {}
        used = self._allowance.used
        with self._members(path, name, depth) as members:
            for entry in members:
                if self._allowance.fault:
                    break
                label_inside = f"{label}!{sanitize(entry.name)}"
                if entry.refused:
                    contents.refused.append((label_inside, entry.refused))
                else:
                    names.append(entry.parts)
                    self._member(entry, label_inside, depth, contents, copies_by_path)
                    self._report()
        faults = [*members.faults, self._allowance.fault]
        contents.refused += [(label, fault) for fault in dict.fromkeys(faults) if fault]
        trees = {tree.parts: tree for tree in trees_in(names)}
        if trees:
            self._without_trees(trees, names, copies_by_path, contents)
            self._allowance.used = used
            with self._members(path, name, depth) as members:
                self._lay_out(label, members, trees, contents)
        contents.copies += _numbered([copy for copies in copies_by_path.values() for copy in copies])
        return contents

    def _member(self, entry: Entry, label: str, depth: int, contents: Contents, copies_by_path: dict[Parts, list[Copy]]) -> None:
        """Look at one member, and write it where it is a log."""
        stream = Head(entry.stream)
        if packing_of(stream.head, entry.name):
            inside = self._nested(stream, label, entry.parts[-1] if entry.parts else "", depth)
            copies = [copy for copy in inside.copies if copy.label == label]
            inside.copies = [copy for copy in inside.copies if copy.label != label]
            if copies:  # a compressed log: in the archive it is what it unpacks to
                copies_by_path.setdefault(entry.parts, []).extend(Copy(c.path, c.label, entry.parts, c.fault) for c in copies)
            contents.merge(inside)
        elif not stream.head and stream.fault:
            contents.refused.append((label, stream.fault))
        elif self._judge(stream.head, entry.name, False):
            contents.others += 1
        else:
            self._keep(self._copy(stream, label, entry.parts, entry.changed), copies_by_path.setdefault(entry.parts, []), contents)

    def _keep(self, copy: Copy, copies: list[Copy], contents: Contents) -> None:
        """Take a file over, unless nothing of it came out."""
        if copy.fault and not os.path.getsize(copy.path):
            self._forget(copy)
            contents.refused.append((copy.label, copy.fault))
        else:
            copies.append(copy)

    def _without_trees(
        self, trees: dict[Parts, Tree], names: list[Parts], copies_by_path: dict[Parts, list[Copy]], contents: Contents
    ) -> None:
        """Drop members of recognised directories from the logs and the unknown files, whatever their contents."""
        for parts in names:
            tree = tree_of(parts, trees)
            if tree is None or (tree.only and parts == (*tree.parts, tree.only) and parts in copies_by_path):
                continue
            if parts in copies_by_path:
                for copy in copies_by_path.pop(parts):
                    self._forget(copy)
            else:
                contents.others = max(contents.others - 1, 0)

    def _forget(self, copy: Copy) -> None:
        for member in self._written:
            if str(member.path) == copy.path:
                member.drop()
                self._written.remove(member)
                return

    def _lay_out(self, label: str, members: Members, trees: dict[Parts, Tree], contents: Contents) -> None:
        """Write the directories."""
        tops: dict[Parts, Path] = {}
        for tree in trees.values():
            if not tree.only:
                top = self._cache.new_directory()
                tops[tree.parts] = top.joinpath(*(safe_parts(tree.parts[-1:]) or ()))
                contents.trees.append(CopiedTree(str(tops[tree.parts]), _below(label, tree.parts), tree.parts))
        if not tops:
            return
        for entry in members:
            owner = tree_of(entry.parts, trees) if not entry.refused else None
            if owner is None or owner.only:
                continue
            top, relative = tops[owner.parts], entry.parts[len(owner.parts) :]
            place = safe_parts(relative)
            path = top.joinpath(*place) if place is not None else top / f"{self._cache.number():06}"
            fault = self._write_in_tree(entry, path)
            if fault:
                contents.refused.append((_below(label, entry.parts), fault))

    def _write_in_tree(self, entry: Entry, path: Path) -> str:
        """Why the file is not all that there was, '' where it is."""
        try:
            self._cache.make_directories(path.parent)
            if path.exists():
                return "a second member with this name"
            return self._copy(Head(entry.stream), "", entry.parts, entry.changed, path).fault
        except (FileExistsError, NotADirectoryError):
            return "its name collides with a directory or another file"

    # a file

    def _new(self, path: Path) -> Member:
        member = Member(self._cache, path)
        self._written.append(member)
        return member

    def _copy(self, stream: Head, label: str, parts: Parts, changed: float | None, path: Path | None = None) -> Copy:
        """Write a file, up to the last complete record where a limit is reached."""
        member = self._new(path or self._cache.new_file())
        ends = _Ends(bool(_TRACE.search(stream.head)))
        fault = ""
        try:
            while data := stream.read(PIECE):
                member.write(data)
                ends.feed(data)
                self._report()
            fault = stream.fault
        except Full as full:
            fault = f"{CUT}{full}"
            member.cut(ends.last or member.size)
        finally:
            member.end(self._changed if changed is None else changed)
        return Copy(str(member.path), label, parts, fault)


class _Ends:
    """A tracker of the offset of the last record written, which may be incomplete."""

    def __init__(self, is_trace: bool) -> None:
        self._mark = b"\nV" if is_trace else b"\n"
        self._edge = b""
        self._size = 0
        self.last = 0

    def feed(self, data: bytes) -> None:
        """Add the next piece."""
        window = self._edge + data
        place = window.rfind(self._mark)
        if place >= 0:
            self.last = self._size - len(self._edge) + place + 1
        self._edge = data[-1:]
        self._size += len(data)


def _numbered(copies: list[Copy]) -> list[Copy]:
    """Members of one name are told apart: `x.log`, `x.log (2)`."""
    count: dict[str, int] = {}
    numbered = []
    for copy in copies:
        number = count[copy.label] = count.get(copy.label, 0) + 1
        label = copy.label if number == 1 else f"{copy.label} ({number})"
        numbered.append(Copy(copy.path, label, copy.parts, copy.fault))
    return numbered


def _below(label: str, parts: Parts) -> str:
    return f"{label}!{sanitize('/'.join(parts))}" if parts else label
