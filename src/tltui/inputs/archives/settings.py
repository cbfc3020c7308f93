"""How much may be unpacked, and who wants to know how far it is.

Who made an archive says what is in it: a few kilobytes can unpack to any size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[str, int, int, int], object]
"""What is unpacked, bytes of it that were read, bytes that it has (0 where nobody knows), bytes in the cache. What it raises ends
the unpacking."""

RESERVE = 64 << 20
"""Bytes of the file system that stay free."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What counts while unpacking, not what an archive says of itself."""

    member: int = 4 << 30
    """Bytes of one file."""
    total: int = 8 << 30
    """Bytes of all files that are unpacked at one time."""
    members: int = 20_000
    """Members of one archive that are looked at."""


def size_of(count: int) -> str:
    """A limit as it is told: `4 GiB`, `64 MiB`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {name}"
    return f"{count} bytes"


class Settings:
    """Those of this process. They are asked when something is unpacked for the first time."""

    def __init__(self) -> None:
        self.limits: Callable[[], Limits] = Limits
        self.told: Progress | None = None

    def tell(self, name: str, read: int, size: int, written: int) -> None:
        """How far it is, where somebody wants to know."""
        if self.told is not None:
            self.told(name, read, size, written)


SETTINGS = Settings()
