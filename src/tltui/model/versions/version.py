"""Which torch wrote a log, and what it knows: versions, the spans of versions in which something exists, and what is known of both.

Torch 2.10 and later state their version. Of an older log, and of one that was cut, it is only known between which versions it
lies (`tltui.analyses.torch_version` finds that out). So every question has three answers: yes, no, and not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Minor = tuple[int, int]
"""`(2, 13)`"""

OLDEST: Minor = (2, 4)
NEWEST: Minor = (2, 15)
"""The first and the last version of torch of which it is known what they write."""


def minor_of(version: str | None) -> Minor | None:
    """`2.13.0+cpu` → (2, 13)"""
    parts = (version or "").split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]), int(parts[1])


def dotted(minor: Minor) -> str:
    """(2, 13) → `2.13`"""
    return f"{minor[0]}.{minor[1]}"


def _beside(minor: Minor, step: int) -> Minor:
    return minor[0], max(minor[1] + step, 0)


@dataclass(frozen=True, slots=True)
class Span:
    """The versions of torch that have something: from `since` to `until`, both included.

    Without `since` the oldest known version has it already, without `until` the newest known one has it still.
    """

    since: Minor | None = None
    until: Minor | None = None

    def __str__(self) -> str:
        """`torch 2.8 and later`, `torch 2.8 to 2.9`, `torch 2.6 and before`, `every torch`"""
        if self.since is None:
            return "every torch" if self.until is None else f"torch {dotted(self.until)} and before"
        if self.until is None:
            return f"torch {dotted(self.since)} and later"
        return f"torch {dotted(self.since)}" + (f" to {dotted(self.until)}" if self.until != self.since else "")

    def __or__(self, other: Span) -> Span:
        """What has the one or the other."""
        since = None if self.since is None or other.since is None else min(self.since, other.since)
        until = None if self.until is None or other.until is None else max(self.until, other.until)
        return Span(since, until)


ALWAYS = Span()


@dataclass(frozen=True, slots=True)
class TorchVersion:
    """What is known of the version of torch that wrote a log."""

    stated: str | None = None
    """As the log states it."""
    least: Minor | None = None
    """It is at least this one."""
    most: Minor | None = None
    """It is at most this one."""
    by: tuple[str, ...] = ()
    """What shows it, where the log does not state it."""

    def has(self, span: Span) -> bool | None:
        """Whether it has something that these versions have; None where that is not known.

        Unless it is stated, it is taken for one of those that are known: every newer one states it.
        """
        if span.since is not None and self.most is not None and self.most < span.since:
            return False
        if span.until is not None and self.least is not None and self.least > span.until:
            return False
        begun = span.since is None or (self.least is not None and self.least >= span.since)
        ended = self.newer if span.until is None else self.most is None or self.most > span.until
        return True if begun and not ended else None

    @property
    def newer(self) -> bool:
        """Whether it is newer than every version of which it is known what it writes."""
        return self.least is not None and self.least > NEWEST

    @property
    def words(self) -> str:
        """`torch 2.13`, `torch 2.8 to 2.9`, `torch 2.9 or later`, `torch 2.6 or before`, `this torch`"""
        if self.least is None:
            return "this torch" if self.most is None else f"torch {dotted(self.most)} or before"
        if self.most is None:
            return f"torch {dotted(self.least)} or later"
        return f"torch {dotted(self.least)}" + (f" to {dotted(self.most)}" if self.most != self.least else "")

    @property
    def told(self) -> str | None:
        """`torch 2.13.0+cpu`, or `torch 2.8 to 2.9, judging by …`; None where nothing tells."""
        if self.stated is not None:
            return f"torch {self.stated}"
        return f"{self.words}, judging by {', '.join(self.by)}" if self.by else None


UNKNOWN = TorchVersion()


def stated_version(version: str) -> TorchVersion:
    """The version that a log states. A build between two releases has what the older one has, and some of the newer one."""
    minor = minor_of(version)
    if minor is None:
        return TorchVersion(version)
    between = any(mark in version.partition("+")[0] for mark in ("a0", "dev"))
    return TorchVersion(version, _beside(minor, -1) if between else minor, minor)


def judged_version(clues: Iterable[tuple[str, Span]]) -> TorchVersion:
    """The version by what is there: each clue is named, with the versions that write it.

    What excludes each other was written by a build between two releases: it lies between them.
    """
    least: tuple[Minor, str] | None = None
    most: tuple[Minor, str] | None = None
    for name, span in clues:
        if span.since is not None and (least is None or span.since > least[0]):
            least = span.since, name
        if span.until is not None and (most is None or span.until < most[0]):
            most = span.until, name
    by = tuple(dict.fromkeys(clue[1] for clue in (least, most) if clue is not None))
    if least is not None and most is not None and least[0] > most[0]:
        least, most = most, least
    return TorchVersion(None, least[0] if least else None, most[0] if most else None, by)
