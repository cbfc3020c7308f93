"""The members of an archive in their order, each read once.

No name of a member ever becomes a name of a file; those that could lead out of a directory are refused all the same, since they
show that the archive is malicious or not of the assumed format.
"""

from __future__ import annotations

import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import field
from itertools import pairwise
from typing import IO, cast

from tltui.inputs.archives import Limits
from tltui.inputs.archives.decompress import PIECE, RAW, CannotUnpack, Deflated, ForwardFile, Oversized, Stream, Unpacked
from tltui.text.frozen import mutable

LINK, HARD_LINK, DEVICE, FIFO, SPECIAL = "a symbolic link", "a hard link", "a device", "a named pipe", "a special file"
ABSOLUTE, UPWARDS = "its name is an absolute path", "its name points outside of the archive"
ENCRYPTED = "encrypted; unpack it first"
TOO_MANY = "more than {:,} members: the rest was not read"
OVERLAPPING = "{:,} of its {:,} members overlap the members after them and were not unpacked"
WRONG_SUM = "its checksum is wrong"
_DRIVE = re.compile(r"[A-Za-z]:")
_TAR_KINDS = {
    tarfile.SYMTYPE: LINK, tarfile.LNKTYPE: HARD_LINK, tarfile.CHRTYPE: DEVICE, tarfile.BLKTYPE: DEVICE, tarfile.FIFOTYPE: FIFO,
}  # fmt: skip
_ZIP_KINDS = {
    stat.S_IFLNK: LINK, stat.S_IFCHR: DEVICE, stat.S_IFBLK: DEVICE, stat.S_IFIFO: FIFO, stat.S_IFSOCK: SPECIAL,
}  # fmt: skip
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
PASSED = 4
"""How many times what may be written may be unpacked to get past what is not."""
LONGEST = 4096
"""Bytes of a name: no file system has longer ones."""
LOCAL = struct.Struct("<4s22xHH")
"""The header in front of a member: its signature, and the lengths of the name and of the further fields behind it."""
LIST = 16 << 20
"""Bytes of the list at the end of a zip archive that are read: it is held in memory. 20,000 members with long names need 5 MiB."""


class Empty:
    """A stream of nothing."""

    fault = ""

    def read(self, size: int) -> bytes:
        return b""

    def close(self) -> None:
        return


@mutable
class Entry:
    """A member of an archive, a directory left out."""

    name: str
    """As the archive has it: a label."""
    refused: str = ""
    """Why it is not read; '' for one that is."""
    changed: float | None = None
    """Seconds since the epoch; None where nobody knows: zip has local time of a place that it does not tell."""
    stream: Stream = field(default_factory=Empty)
    """Its bytes. Only to be read before the next member is asked for."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of its name."""
        return tuple(part for part in self.name.replace("\\", "/").split("/") if part not in ("", "."))


@mutable
class Members:
    """The members of an archive, and its faults. Iterate once."""

    entries: Iterator[Entry]
    faults: list[str]
    """Filled while the members are read: the archive ends too early, it has more than are looked at."""

    def __iter__(self) -> Iterator[Entry]:
        return self.entries


def members_of_tar(stream: Stream, limits: Limits) -> Members:
    """Those of a tar archive that comes as a stream."""
    faults: list[str] = []
    return Members(_tar(ForwardFile(stream, PASSED * limits.total), limits.members, faults), faults)


def _tar(file: ForwardFile, most: int, faults: list[str]) -> Iterator[Entry]:
    count = 0
    try:
        with tarfile.open(fileobj=file, mode="r:", format=tarfile.PAX_FORMAT, errorlevel=0, errors="surrogateescape") as archive:
            has_any = archive.__dict__["firstmember"] is not None  # else Python 3.10 looks for the next one before its beginning
            while has_any:
                file.allow()
                info = archive.next()
                if info is None:
                    break
                archive.__dict__["members"] = []  # it would keep all of them
                if info.isdir():
                    continue
                count += 1
                if count > most:
                    faults.append(TOO_MANY.format(most))
                    return
                yield _tar_entry(info, file)
    except (tarfile.TarError, Oversized, EOFError, ValueError, OverflowError, IndexError, UnicodeError, zlib.error) as error:
        is_empty = count == 0 and isinstance(error, tarfile.ReadError) and str(error) == "empty file"
        if not is_empty and not file.stream.fault:  # where the stream ends too early that is the reason
            faults.append(f"a damaged tar archive: {error}")
    if file.stream.fault:
        faults.append(file.stream.fault)
    elif file.is_cut and not faults:
        faults.append("the archive is truncated inside of a member")


def _tar_entry(info: tarfile.TarInfo, file: ForwardFile) -> Entry:
    refused = refused_name(info.name) or _TAR_KINDS.get(info.type, "")
    if not refused and not info.isreg():
        refused = SPECIAL
    if not refused and info.sparse is not None:
        refused = "a sparse file: unpack it first"
    stream = Empty() if refused else _TarData(file, info.offset_data, info.size)
    return Entry(info.name, refused, float(info.mtime) + 1, stream)  # whole seconds, cut off


class _TarData:
    """The bytes of a member of a tar archive."""

    def __init__(self, file: ForwardFile, offset: int, size: int) -> None:
        self._file = file
        self._offset = offset
        self._left = size
        self._begun = False
        self.fault = ""

    def read(self, size: int) -> bytes:
        if not self._begun:
            self._begun = True
            self._file.seek(self._offset)
        if self._left <= 0:
            return b""
        data = self._file.read_some(min(size, self._left))
        self._left -= len(data)
        if not data:
            self.fault, self._left = self._file.stream.fault or "the archive is truncated inside of this member", 0
        return data

    def close(self) -> None:
        return


class _Bounded:
    """A file that never gives more at once than a list of members may have: `zipfile` reads all of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size > LIST:
            raise zipfile.BadZipFile(f"its list of members is larger than {LIST >> 20} MiB")
        return self._file.read(size if size >= 0 else LIST)


def members_of_zip(file: IO[bytes], limits: Limits) -> Members:
    """Those of a zip archive. Raises `CannotUnpack` where its list of members cannot be read."""
    faults: list[str] = []
    try:
        archive = zipfile.ZipFile(cast("IO[bytes]", _Bounded(file)))  # it reads, seeks and tells
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, OverflowError, EOFError, IndexError) as error:
        raise CannotUnpack(f"a damaged zip archive: {error}") from None
    return Members(_zip(archive, file, limits.members, faults), faults)


def _zip(archive: zipfile.ZipFile, file: IO[bytes], most: int, faults: list[str]) -> Iterator[Entry]:
    count = 0
    with archive:
        members = archive.infolist()
        overlapping = _overlapping(file, members)
        if overlapping:
            faults.append(OVERLAPPING.format(len(overlapping), len(members)))
        for info in members:
            if info.is_dir() or id(info) in overlapping:
                continue
            count += 1
            if count > most:
                faults.append(TOO_MANY.format(most))
                return
            yield _zip_entry(file, info)


def _overlapping(file: IO[bytes], members: list[zipfile.ZipInfo]) -> set[int]:
    """Return the `id` of each member whose bytes reach into the next one.

    An archive of some kilobytes can so hold one body thousands of times. No program that packs files writes this, and Python
    refuses to read it since 3.13 (`zipfile.ZipFile.open`).
    """
    overlaps = set()
    ordered = sorted(members, key=lambda info: info.header_offset)
    for info, following in pairwise(ordered):
        begin = info.header_offset + LOCAL.size
        if begin > following.header_offset or _begin_of(file, info) + info.compress_size > following.header_offset:
            overlaps.add(id(info))
    return overlaps


def _begin_of(file: IO[bytes], info: zipfile.ZipInfo) -> int:
    """Return where the bytes of a member begin: behind the header that is repeated in front of them (APPNOTE.TXT 4.3.7)."""
    file.seek(max(info.header_offset, 0))
    header = file.read(LOCAL.size)
    if len(header) < LOCAL.size:
        return info.header_offset
    signature, name, extra = LOCAL.unpack(header)
    return int(info.header_offset + LOCAL.size + (name + extra) * (signature == b"PK\x03\x04"))


def _zip_entry(file: IO[bytes], info: zipfile.ZipInfo) -> Entry:
    name = info.orig_filename.partition("\0")[0]
    refused = refused_name(name) or _ZIP_KINDS.get(stat.S_IFMT(info.external_attr >> 16), "")
    if not refused and info.flag_bits & 1:
        refused = ENCRYPTED
    if not refused and info.compress_type not in _METHODS:
        refused = f"compressed by method {info.compress_type}: unpack it first"
    return Entry(name, refused, None, Empty() if refused else _ZipData(file, info))


class _Part:
    """The stored bytes of a member."""

    def __init__(self, file: IO[bytes], at: int, size: int) -> None:
        self._file = file
        self._at = at
        self._left = size
        self.fault = ""

    def read(self, size: int) -> bytes:
        self._file.seek(self._at)
        data = self._file.read(min(size, self._left))
        self._at += len(data)
        self._left -= len(data)
        if not data and self._left > 0:
            self.fault = "the archive is truncated inside of this member"
        return data

    def close(self) -> None:
        return


class _ZipData:
    """The bytes of a member of a zip archive, and its checksum behind them.

    `zipfile` would not do: it finds a wrong checksum when all is unpacked, and its error takes the last piece along, which in a
    small member is all of it.
    """

    def __init__(self, file: IO[bytes], info: zipfile.ZipInfo) -> None:
        part = _Part(file, _begin_of(file, info), info.compress_size)
        self._stream: Stream = part if info.compress_type == zipfile.ZIP_STORED else Unpacked(part, lambda: Deflated(RAW))
        self._wanted = info.CRC
        self._crc = 0
        self.fault = ""

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, PIECE))
        self._crc = zlib.crc32(data, self._crc)
        if not data and not self.fault:
            self.fault = self._stream.fault or (WRONG_SUM if self._crc != self._wanted else "")
        return data

    def close(self) -> None:
        return


def refused_name(name: str) -> str:
    """Why no member may have this name, '' for a name that is one."""
    if len(name) > LONGEST:
        return "its name is too long"
    parts = name.replace("\\", "/").split("/")
    if not any(part not in ("", ".") for part in parts):
        return "it has no name"
    if parts[0] == "" or _DRIVE.match(name):
        return ABSOLUTE
    return UPWARDS if ".." in parts else ""

