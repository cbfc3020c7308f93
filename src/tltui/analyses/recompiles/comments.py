"""The grammar of what torch writes behind a guard: `# return x * n  # models/f.py:4 in f (nn/functional.py:1491 in dropout)`.

A comment has one origin, or two for the two bounds of a range. An origin is the user's line (its code, then its place), who in
torch asked for the guard (a place in parentheses), or a sentence of torch. What is none of these is kept whole as a note.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_BESIDE = re.compile(r"\s{2,}# ")
_TOKEN = re.compile(r"""\s{2,}# |'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
"""What begins a comment, or stands in quotes."""
_ORIGIN = re.compile(
    r"^(?:(?P<code>.*?)# ?)?(?P<file>[^\s#()][^\n#()]*?):(?P<line>\d{1,9}) in (?P<name>\S+)(?:\s*\((?P<rest>.*)\))?$", re.DOTALL
)
_PLACE = re.compile(r"^(?P<file>[^\s#()][^\n#()]*?):(?P<line>\d{1,9}) in (?P<name>\S+)$")
_HINT = "HINT: "
LONGEST = 4_000
"""Characters of a comment that are read as more than a note."""
SPLITS = 20
"""Places at which a comment may be two origins."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file. Torch leaves out what the path has in common with its own."""

    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.name}"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a guard comes from."""

    place: Place | None = None
    """The line that was being traced."""
    code: str | None = None
    by: Place | None = None
    """The line of torch that asked."""
    note: str = ""
    """A sentence of torch about the guard."""


@dataclass(frozen=True, slots=True)
class Comment:
    """What stands behind a guard."""

    origins: tuple[Origin, ...] = ()
    """One; of a range with two bounds that of the lower and that of the upper one."""

    @property
    def first(self) -> Origin:
        """The origin; of a range that of its lower bound."""
        return self.origins[0] if self.origins else Origin()

    @property
    def note(self) -> str:
        """All that torch says in words."""
        return "; ".join(dict.fromkeys(origin.note for origin in self.origins if origin.note))

    @property
    def traced(self) -> Origin:
        """The first origin with a line that was being traced."""
        return next((origin for origin in self.origins if origin.place is not None), self.first)


NO_COMMENT = Comment()


def split_comment(text: str) -> tuple[str, str]:
    """A guard and the comment behind it. What stands in quotes is part of the guard; a quote without another is none."""
    if "  # " not in text:
        return text.strip(), ""
    for match in (_TOKEN if len(text) <= LONGEST else _BESIDE).finditer(text):
        if match[0][0].isspace():
            return text[: match.start()].strip(), text[match.end() :].strip()
    return text.strip(), ""


@lru_cache(maxsize=2048)
def comment_of(text: str) -> Comment:
    """The origins that a comment names."""
    text = text.strip()
    if not text:
        return Comment()
    if len(text) > LONGEST:
        return Comment((Origin(note=text),))
    if (found := _origin(text)) is not None and " and " not in text:
        return Comment((found,))
    at = text.find(" and ")
    for _ in range(SPLITS):  # code and notes may have an ` and ` of their own: both sides have to read as an origin with a place
        if at < 0:
            break
        one, other = _origin(text[:at]), _origin(text[at + 5 :])
        if one is not None and other is not None and text[:at].endswith(")") and text.endswith(")"):
            return Comment((one, other))
        at = text.find(" and ", at + 1)
    return Comment((found or Origin(note=_plain(text)),))


def _origin(text: str) -> Origin | None:
    """One origin; None for a text that names no place."""
    if text.startswith("(") and text.endswith(")"):
        inner = text[1:-1]
        by = _place(inner)
        return Origin(by=by) if by is not None else Origin(note=_plain(inner))
    match = _ORIGIN.match(text)
    if match is None:
        return None
    place = Place(match["file"], int(match["line"]), match["name"])
    rest = (match["rest"] or "").strip()
    by = _place(rest)
    return Origin(place, (match["code"] or "").strip() or None, by, "" if by is not None else _plain(rest))


def _place(text: str) -> Place | None:
    match = _PLACE.match(text)
    return Place(match["file"], int(match["line"]), match["name"]) if match else None


def _plain(text: str) -> str:
    text = text.strip()
    return text.removeprefix(_HINT)
