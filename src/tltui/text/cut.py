"""How a text is cut where there is no room for all of it: what tells it from its like is kept.

* A path keeps its file and line, then its first directories: `/home/me/…/models/attn.py:88`.
* A name is cut in the middle, since names of a kind begin alike and often end alike as well.
* A shape, a sentence, code and a value keep their front.
* Of texts below each other that would look the same when cut so, that part is kept in which they differ (`apart`).
* An address is never cut.

Widths are cells of the terminal. The mark of what is left out, `…`, counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tltui.text.width import ELLIPSIS, cells, crop, crop_left

_SHAPE = re.compile(r"\w* ?[\[(][su]?\d+[],)* +-].*")
_PATH = re.compile(r"[^\s/]*(?:/[^\s/]+)+")
ROUNDS = 3
AROUND = 2
"""Characters that stay before the part in which texts differ."""


def _marked(whole: str, head: str, tail: str) -> str:
    """All that is cut is put together here."""
    return f"{head}{ELLIPSIS}{tail}"


def end(text: str, width: int) -> str:
    """`text` without its end where it is wider."""
    if len(text) <= width and text.isascii():
        return text
    if cells(text) <= width:
        return text
    return _marked(text, crop(text, width - 1).rstrip(), "") if width > 0 else ""


def middle(text: str, width: int) -> str:
    """`text` without its middle where it is wider."""
    if len(text) <= width and text.isascii():
        return text
    if cells(text) <= width:
        return text
    if width < 2:
        return _marked(text, "", "") if width > 0 else ""
    right = (width - 1) * 3 // 5
    return _marked(text, crop(text, width - 1 - right), crop_left(text, right))


def path(text: str, width: int) -> str:
    """A path without directories in its middle where it is wider; without the front of its file's name only where that is."""
    if cells(text) <= width:
        return text
    parts = text.split("/")
    if cells(parts[-1]) + 2 > width:
        return _marked(text, "", parts[-1]) if cells(parts[-1]) + 1 == width else middle(text, width)
    head, tail = 0, 1
    while head + tail < len(parts):
        wider = [(head, tail + 1), (head + 1, tail)] if tail == 1 else [(head + 1, tail), (head, tail + 1)]
        fitting = next((each for each in wider if cells(_path(parts, *each)) <= width), None)
        if fitting is None:
            break
        head, tail = fitting
    return _marked(text, *_ends(parts, head, tail))


def _ends(parts: Sequence[str], head: int, tail: int) -> tuple[str, str]:
    return "".join(f"{part}/" for part in parts[:head]), "".join(f"/{part}" for part in parts[len(parts) - tail :])


def _path(parts: Sequence[str], head: int, tail: int) -> str:
    return ELLIPSIS.join(_ends(parts, head, tail))


def name(text: str, width: int) -> str:
    """A name, a path or a shape, each as becomes it."""
    if len(text) <= width and text.isascii():
        return text
    if _PATH.fullmatch(text):
        return path(text, width)
    return end(text, width) if _SHAPE.fullmatch(text) else middle(text, width)


def piece(text: str, width: int) -> str:
    """A part of a row: a name or a place as `name`, of several words the front. Blanks before it count."""
    body = text.lstrip(" ")
    lead = len(text) - len(body)
    return end(text, width) if " " in body.rstrip(" ") or lead >= width else text[:lead] + name(body, width - lead)


def apart(texts: Sequence[str], width: int, cut: Callable[[str, int], str] = name) -> list[str]:
    """Texts that stand below each other, cut by `cut`; those that would look alike and are not, by what tells most apart."""
    shown = {text: cut(text, width) for text in texts}
    for _ in range(ROUNDS):  # told from its like a text may come to look like another one
        for same in _alike(shown):
            shown.update(_told_apart(same, width))
    taken = set(shown.values())
    for same in _alike(shown):
        first = _first(same)
        for text in same[1:]:  # each by itself
            ways = (way(text, width, first) for way in WAYS)
            shown[text] = next((way for way in ways if way not in taken), shown[text])
            taken.add(shown[text])
    return [shown[text] for text in texts]


def _alike(shown: Mapping[str, str]) -> list[list[str]]:
    """The texts of which several look the same."""
    found: dict[str, list[str]] = {}
    for text, said in shown.items():
        found.setdefault(said, []).append(text)
    return [texts for texts in found.values() if len(texts) > 1]


def _told_apart(texts: list[str], width: int) -> dict[str, str]:
    """The same texts, cut in that way of which most of them differ; those of which it does not tell are looked at by themselves."""
    first = _first(texts)
    ways = [{text: way(text, width, first) for text in texts} for way in WAYS]
    told = max(ways, key=lambda way: len(set(way.values())))
    for same in _alike(told):
        if len(same) < len(texts):
            told.update(_told_apart(same, width))
    return told


def _first(texts: Sequence[str]) -> int:
    """The first column in which texts differ."""
    low, high = min(texts), max(texts)
    return next((n for n, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), min(len(low), len(high)))


def _beginning(text: str, width: int, first: int) -> str:
    return end(text, width)


def _ends_of(text: str, width: int, first: int) -> str:
    return middle(text, width)


def _end(text: str, width: int, first: int) -> str:
    return _marked(text, "", crop_left(text, width - 1)) if cells(text) > width > 0 else crop(text, width)


def _around(text: str, width: int, first: int) -> str:
    """The beginning, and what stands around the column in which it differs from its like."""
    if cells(text) <= width or width < 1:
        return crop(text, width)
    head = crop(text, (width - 1) // 3)
    rest = text[max(first - AROUND, len(head)) :]
    return _marked(text, head, end(rest, width - 1 - cells(head)))


WAYS = (_ends_of, _beginning, _end, _around)
"""How texts are told apart, that first which reads best."""


class Apart:
    """The same for texts that come one by one: what would look like another one before is cut otherwise."""

    def __init__(self) -> None:
        self._shown: dict[str, str] = {}

    def cut(self, text: str, width: int, cut: Callable[[str, int], str] = end) -> str:
        """`text`, cut by `cut` or so that it is told from its like."""
        shown = cut(text, width)
        if shown == text:
            return text
        other = self._shown.setdefault(shown, text)
        if other != text:
            first = _first((other, text))
            ways = (way(text, width, first) for way in WAYS)
            shown = next((way for way in ways if self._shown.get(way, text) == text), shown)
            self._shown[shown] = text
        return shown
