"""Compressed files, archives and standard input; supported contents are unpacked once into a private cache."""

from __future__ import annotations

import re
from collections.abc import Callable

from tltui.text.frozen import frozen

GZIP, XZ, BZIP2, ZSTD, ZIP, TAR, UTF_16 = "gzip", "xz", "bzip2", "zstd", "zip", "tar", "UTF-16"
COMPRESSED = frozenset((GZIP, XZ, BZIP2, ZSTD, UTF_16))
"""One stream of bytes, which may be a log or a tar archive. UTF-16 text is unpacked to UTF-8: PowerShell writes it with `>`."""
STANDARD_INPUT = "-"
"""What stands for it among the paths."""
INSIDE = "!"
"""What stands between an archive and the name of a member."""
BLOCK = 512
"""Bytes of a block of a tar archive, and what `packing_of` wants to see."""

_MAGIC = (
    (b"\x1f\x8b", GZIP),  # RFC 1952
    (b"\xfd7zXZ\x00", XZ),  # xz-file-format.txt
    (b"BZh", BZIP2),
    (b"\x28\xb5\x2f\xfd", ZSTD),  # RFC 8878
    (b"PK\x03\x04", ZIP),  # APPNOTE.TXT 4.3.7
    (b"PK\x05\x06", ZIP),  # an empty one: 4.3.16
    (b"\xff\xfe", UTF_16),  # the byte order marks of RFC 2781
    (b"\xfe\xff", UTF_16),
)
_USTAR = slice(257, 262)
_CHECKSUM = slice(148, 156)
_NAMED = re.compile(r"\.(?:gz|xz|bz2|zst|zip|tar|tgz|txz|tbz2?|tzst)$", re.IGNORECASE)
COMPRESSED_NAME = re.compile(r"\.(?:gz|xz|bz2|zst)$", re.IGNORECASE)
"""What a compressed log has behind its name."""
_NAMED_TAR = re.compile(r"\.(?:tar(?:\.\w+)?|tgz|txz|tbz2?|tzst)$", re.IGNORECASE)


def packing_of(head: bytes, name: str = "") -> str:
    """Detect the packing of a file from its beginning `head`, '' for an unpacked one.

    An archive without members is NULs alone, and only its name identifies it.
    """
    for magic, packing in _MAGIC:
        if head.startswith(magic):
            return packing
    if head[_USTAR] == b"ustar" or _is_old_tar(head[:BLOCK]):
        return TAR
    is_blank = len(head) >= BLOCK and not head.strip(b"\x00")
    return TAR if is_blank and _NAMED_TAR.search(name) else ""


def _is_old_tar(block: bytes) -> bool:
    """Return whether a block is a header of a tar archive from before ustar.

    Only its checksum identifies it, the sum of all bytes of the header with blanks in place of the sum itself (tar.h,
    POSIX.1-1988).
    """
    digits = block[_CHECKSUM].strip(b"\x00 ")
    if len(block) < BLOCK or not digits or digits.strip(b"01234567") or not block[:1].strip(b"\x00"):
        return False
    return int(digits, 8) == sum(block) - sum(block[_CHECKSUM]) + 8 * 0x20


def is_named_packed(name: str) -> bool:
    """Return whether a file name has a suffix of packed files."""
    return _NAMED.search(name) is not None


Progress = Callable[[str, int, int, int], object]
"""What is unpacked, bytes of it that were read, bytes that it has (0 where nobody knows), bytes in the cache. What it raises ends
the unpacking."""

RESERVE = 64 << 20
"""Bytes of the file system that stay free."""


@frozen
class Limits:
    """The limits of unpacking; actual sizes count, not those declared in an archive."""

    member: int = 4 << 30
    """Bytes of one file."""
    total: int = 8 << 30
    """Bytes of all files that are unpacked at one time."""
    members: int = 20_000
    """Members of one archive that are looked at."""


def size_of(count: int) -> str:
    """Format a limit for messages: `4 GiB`, `64 MiB`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {name}"
    return f"{count} bytes"


class Settings:
    """Those of this process. They are asked when something is unpacked for the first time."""

    def __init__(self) -> None:
        self.limits: Callable[[], Limits] = Limits
        self.progress: Progress | None = None

    def report(self, name: str, read: int, size: int, written: int) -> None:
        """How far it is, where somebody wants to know."""
        if self.progress is not None:
            self.progress(name, read, size, written)


SETTINGS = Settings()
