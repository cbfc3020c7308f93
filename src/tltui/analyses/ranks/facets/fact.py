"""A facet of one compile: its digest, and the lines that tell it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from tltui.analyses.ranks.course import DIGEST, SAID

LINE = 240
"""Characters of a line that are kept."""


class Fact(NamedTuple):
    """What is the case, whichever rank it is."""

    digest: bytes
    said: str
    """A fact a line; '' where words can't tell it."""


NONE = Fact(b"", "")
REMEMBERED = 4096
"""Facts that are not made again: most compiles have the same."""


def digest_of(parts: Iterable[bytes]) -> bytes:
    """Of parts in their order."""
    return framed_digest(map(framed, parts))


def framed(part: bytes) -> bytes:
    """A part with its length, so that the next one cannot be taken for a part of it."""
    return b"%d\n%b" % (len(part), part)


def framed_digest(parts: Iterable[bytes]) -> bytes:
    """Of parts that are `framed`, or joined after that."""
    return hashlib.blake2b(b"".join(parts), digest_size=DIGEST).digest()


@lru_cache(maxsize=REMEMBERED)
def plain(*lines: str) -> Fact:
    """What a few lines say that most compiles have in common."""
    return fact(lines)


def fact(lines: Sequence[str], parts: Iterable[bytes] | None = None) -> Fact:
    """What lines say, told by other parts where these are more than the lines; nothing of none."""
    if parts is None:
        if not lines:
            return NONE
        parts = (line.encode("utf-8", "replace") for line in lines)
    return Fact(digest_of(parts), "\n".join(line[:LINE] for line in lines)[:SAID])
