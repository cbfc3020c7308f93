r"""What a text must hold for a regular expression to match: found with `find`, ten times as fast as the expression itself.

`extern_kernels\\.(addmm|mm)_\\d+` matches only where `extern_kernels.` stands. Conservative: what is not understood gives
nothing, and then the expression runs over the whole text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SHORTEST = 2
MOST = 8
"""Alternatives that are looked for one by one."""
_CLASSES = "dDwWsSbBAZ0123456789nrtfvxuUNaz"
"""Letters that are no letters behind a backslash."""


@dataclass(slots=True)
class _Branch:
    """One alternative: the sets of texts one of which it must hold."""

    sets: list[list[str]] = field(default_factory=list)
    run: str = ""

    def end(self) -> None:
        if self.run:
            self.sets.append([self.run])
        self.run = ""

    def drop(self) -> None:
        """The last letter may be missing or come again."""
        self.run = self.run[:-1]
        self.end()

    def best(self) -> list[str] | None:
        self.end()
        return max(self.sets, key=lambda texts: min(map(len, texts)), default=None)


def needles(pattern: str) -> list[str] | None:
    """Texts of which every match holds one; None when there are none that help."""
    try:
        found, at = _alternatives(pattern, 0)
    except IndexError:
        return None
    if found is None or at != len(pattern) or len(found) > MOST or min(map(len, found)) < SHORTEST:
        return None
    return sorted(set(found))


def _alternatives(pattern: str, at: int) -> tuple[list[str] | None, int]:
    """What the alternatives from `at` to the end of the group hold, and where the group ends."""
    branch, found, known = _Branch(), list[str](), True
    while at < len(pattern) and pattern[at] != ")":
        letter = pattern[at]
        at += 1
        if letter == "|":
            best = branch.best()
            known = known and best is not None
            found += best or []
            branch = _Branch()
        elif letter == "(":
            at = _group(pattern, at, branch)
        elif letter == "[":
            branch.end()
            at = _behind_class(pattern, at)
        elif letter in "*?{":
            branch.drop()
            at = pattern.index("}", at) + 1 if letter == "{" and "}" in pattern[at:] else at
        elif letter in ".^$+":
            branch.end()
        elif letter == "\\":
            escaped = pattern[at]
            at += 1
            if escaped in _CLASSES:
                branch.end()
                if escaped in "xuUN":  # digits or a name follow, which are no text
                    raise IndexError
            elif escaped.isalnum():
                raise IndexError
            else:
                branch.run += escaped
        else:
            branch.run += letter
    best = branch.best()
    known = known and best is not None
    return ([*found, *(best or [])] if known else None), at


def _group(pattern: str, at: int, branch: _Branch) -> int:
    """Take over what a group holds, unless it may be missing. Where it ends."""
    branch.end()
    if pattern[at] == "?":
        if pattern[at + 1] != ":":
            raise IndexError  # flags, looks ahead and behind, names: not worth it
        at += 2
    inside, at = _alternatives(pattern, at)
    if pattern[at] != ")":
        raise IndexError
    at += 1
    if inside is not None and (at >= len(pattern) or pattern[at] not in "*?{"):
        branch.sets.append(inside)
    return at


def _behind_class(pattern: str, at: int) -> int:
    """Where a `[…]` ends."""
    at += pattern[at] == "^"
    at += pattern[at] == "]"
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1
