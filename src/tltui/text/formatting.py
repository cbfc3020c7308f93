"""Width of text in terminal cells, shortening to fit, ASCII output, and short durations."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

ELLIPSIS = "…"
EIGHTHS, LEVELS = "▏▎▍▌▋▊▉", " ▁▂▃▄▅▆▇█"
"""Glyphs of parts of a cell: from the left, without the full one, and from below, from none to all."""

_NARROW = re.compile(
    "[ -~\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2030-\u205e\u2190-\u2319\u2400-\u25fc\u2691\u2713\u2717]*"
).fullmatch
"""Text of which each character takes one cell: letters of Europe, punctuation, arrows, mathematics, boxes, our own marks."""
_AS_EMOJI = re.compile("(.)\ufe0f", re.DOTALL)


@lru_cache(maxsize=4096)
def _cells(char: str) -> int:
    if _NARROW(char):
        return 1
    from wcwidth import wcwidth  # 25 ms: the first screen does without it

    return abs(wcwidth(char))  # -1 for a control character: sanitised text has none


@lru_cache(maxsize=256)
def _widened(char: str) -> int:
    """By how much U+FE0F widens the character before it."""
    from wcwidth import wcswidth

    return 1 if _cells(char) == 1 and wcswidth(char + "\ufe0f") == 2 else 0


def cells(text: str) -> int:
    """Cells that `text` takes."""
    if text.isascii() or _NARROW(text):
        return len(text)
    return sum(map(_cells, text)) + (sum(map(_widened, _AS_EMOJI.findall(text))) if "\ufe0f" in text else 0)


def fitting(text: str, width: int) -> int:
    """How many characters of `text` fit into a number of cells, accents with their letters."""
    if width <= 0:
        return 0
    if text.isascii():
        return min(len(text), width)
    used = 0
    for n, char in enumerate(text):
        used += _cells(char)
        if char == "\ufe0f" and n:
            used += _widened(text[n - 1])
        if used > width:
            return n
    return len(text)


def crop(text: str, width: int) -> str:
    """Return the longest prefix of `text` of at most `width` cells; combining accents stay with their letters."""
    return text[: fitting(text, width)]


def fit(text: str, width: int, ellipsis: str = ELLIPSIS) -> str:
    """Return `text` in at most `width` cells, with `ellipsis` in place of the cropped end."""
    if len(text) <= width and text.isascii():
        return text
    if cells(text) <= width:
        return text
    room = width - cells(ellipsis)
    return crop(text, room) + ellipsis if room >= 0 else crop(ellipsis, width)


def crop_left(text: str, width: int) -> str:
    """Return the longest suffix of `text` of at most `width` cells; no accent is separated from its letter."""
    if text.isascii():
        return text[max(len(text) - max(width, 0), 0) :]
    first, used = len(text), 0
    while first:
        used += _cells(text[first - 1]) + (_widened(text[first - 1]) if text[first : first + 1] == "\ufe0f" else 0)
        if used > width:
            break
        first -= 1
    while first < len(text) and _cells(text[first]) == 0:
        first += 1
    return text[first:]


_SHAPE = re.compile(r"\w* ?[\[(][su]?\d+[],)* +-].*")
_PATH = re.compile(r"[^\s/]*(?:/[^\s/]+)+")
ROUNDS = 3
AROUND = 2
"""Characters that stay before the part in which texts differ."""


def _marked(text: str, head: str, tail: str) -> str:
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
    """Shorten a path to `width` cells: drop middle directories first, the front of the file name only if that is not enough."""
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
    """Shorten a name, a path or a shape to `width` cells, each by its own rule."""
    if len(text) <= width and text.isascii():
        return text
    if _PATH.fullmatch(text):
        return path(text, width)
    return end(text, width) if _SHAPE.fullmatch(text) else middle(text, width)


def piece(text: str, width: int) -> str:
    """Shorten one cell of a row: a name or a path as `name` does, text of several words at its end. Leading blanks count."""
    body = text.lstrip(" ")
    lead = len(text) - len(body)
    return end(text, width) if " " in body.rstrip(" ") or lead >= width else text[:lead] + name(body, width - lead)


def apart(texts: Sequence[str], width: int, cut: Callable[[str, int], str] = name) -> list[str]:
    """Shorten the texts of a column by `cut`; different texts that would look equal are cut around their first difference."""
    shown = {text: cut(text, width) for text in texts}
    for _ in range(ROUNDS):  # told from its like a text may come to look like another one
        for same in _alike(shown):
            shown.update(_distinguished(same, width))
    used = set(shown.values())
    for same in _alike(shown):
        first = _first(same)
        for text in same[1:]:  # each by itself
            cuts = (way(text, width, first) for way in WAYS)
            shown[text] = next((way for way in cuts if way not in used), shown[text])
            used.add(shown[text])
    return [shown[text] for text in texts]


def _alike(shown: Mapping[str, str]) -> list[list[str]]:
    """Group the different texts that look equal after cutting."""
    groups: dict[str, list[str]] = {}
    for text, cropped in shown.items():
        groups.setdefault(cropped, []).append(text)
    return [texts for texts in groups.values() if len(texts) > 1]


def _distinguished(texts: list[str], width: int) -> dict[str, str]:
    """Cut the texts in the way that distinguishes most of them; recurse on those that still look equal."""
    first = _first(texts)
    candidates = [{text: way(text, width, first) for text in texts} for way in WAYS]
    best = max(candidates, key=lambda way: len(set(way.values())))
    for same in _alike(best):
        if len(same) < len(texts):
            best.update(_distinguished(same, width))
    return best


def _first(texts: Sequence[str]) -> int:
    """Return the first column in which the texts differ."""
    low, high = min(texts), max(texts)
    return next((n for n, (char, other) in enumerate(zip(low, high, strict=False)) if char != other), min(len(low), len(high)))


def _beginning(text: str, width: int, first: int) -> str:
    return end(text, width)


def _ends_of(text: str, width: int, first: int) -> str:
    return middle(text, width)


def _end(text: str, width: int, first: int) -> str:
    return _marked(text, "", crop_left(text, width - 1)) if cells(text) > width > 0 else crop(text, width)


def _around(text: str, width: int, first: int) -> str:
    """Return the beginning of the text and the part around column `first`."""
    if cells(text) <= width or width < 1:
        return crop(text, width)
    head = crop(text, (width - 1) // 3)
    tail = text[max(first - AROUND, len(head)) :]
    return _marked(text, head, end(tail, width - 1 - cells(head)))


WAYS = (_ends_of, _beginning, _end, _around)
"""How texts are told apart, that first which reads best."""


class Apart:
    """An incremental `apart`: a text that would look equal to an earlier one is cut otherwise."""

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
            cuts = (way(text, width, first) for way in WAYS)
            shown = next((way for way in cuts if self._shown.get(way, text) == text), shown)
            self._shown[shown] = text
        return shown


SIGNS = {
    "…": "~", "⋯": "~", "⋮": ":", "·": "-", "•": "*", "–": "-", "—": "-", "−": "-", "×": "x", "µ": "u", "≤": "<", "≥": ">",
    "≈": "~", "±": "~",
    "⊃": ">", "→": "->", "←": "<-", "↑": "^", "↓": "v", "↔": "=", "↻": "r", "↩": "<-", "↳": "`", "‹": "<", "›": ">", "»": ">",
    "▸": ">", "▾": "v", "✓": "+", "✗": "x", "⚑": "!", "∅": "0", "◌": "o", "▁": ".", "▂": ":", "▃": "-",
    "▄": "=", "▅": "+", "▆": "*", "▇": "%", "█": "#", **dict.fromkeys("▏▎▍▌▋▊▉", "."), "│": "|", "├": "+", "└": "`",
    "─": "-", "╌": ".", "┊": "|", "†": "~",
}  # fmt: skip
"""What our own words use → what is drawn for it."""
OWN = str.maketrans(SIGNS)


class _Escapes(dict[int, str]):
    """A lazily filled table from a character to its drawn form."""

    def __missing__(self, code: int) -> str:
        if code < 0x80:
            drawn = chr(code)
        elif 0x2400 <= code < 0x2420:  # a control character, as `sanitize` marks it
            drawn = f"\\x{code - 0x2400:02x}"
        elif code == 0x2421:
            drawn = "\\x7f"
        else:
            drawn = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        self[code] = drawn
        return drawn


class Script:
    """Draws every character as itself."""

    def drawn(self, text: str) -> str:
        """Return the form of a text that the terminal draws."""
        return text

    def cells(self, text: str) -> int:
        """Cells that it takes there."""
        return cells(text)

    def fitting(self, text: str, width: int) -> int:
        """How many characters of a text fit into a number of cells."""
        return fitting(text, width)

    def is_whole(self, text: str) -> bool:
        """Whether each character takes one cell, as far as is known without a look at each."""
        return text.isascii()


class AsciiScript(Script):
    r"""A script that draws `\u00e9` for non-ASCII characters and substitutes for tltui's own signs."""

    def __init__(self, draws_own: bool) -> None:
        self._table = _Escapes(OWN if draws_own else {})

    def drawn(self, text: str) -> str:
        return text if text.isascii() else text.translate(self._table)

    def cells(self, text: str) -> int:
        return len(self.drawn(text))

    def fitting(self, text: str, width: int) -> int:
        if text.isascii():
            return min(len(text), max(width, 0))
        for n, char in enumerate(text):
            width -= len(self._table[ord(char)])
            if width < 0:
                return n
        return len(text)


REAL = Script()
WORDS = AsciiScript(draws_own=True)
"""For what we wrote: pages, labels, titles, bars."""
PAYLOAD = AsciiScript(draws_own=False)
"""For what torch or the user wrote: of it every character can be told."""


def script_for(ascii_only: bool, language: str = "") -> Script:
    """How a text is drawn; `language` is that of a document, '' for one that we wrote."""
    if not ascii_only:
        return REAL
    return PAYLOAD if language else WORDS


def micros(us: float) -> str:
    """Microseconds with three digits: `0 µs`, `4.2 µs`, `690 µs`, `1.82 ms`, `41.2 ms`, `3.20 s`, `125 s`"""
    if not math.isfinite(us):
        return "?"
    if us < 0:
        return f"-{micros(-us)}"
    if us < 0.05:
        return "0 µs" if us == 0 else "<0.1 µs"
    for size, unit in ((1.0, "µs"), (1e3, "ms"), (1e6, "s")):
        value = us / size
        if value < 999.5 or unit == "s":
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{min(digits, 1) if unit == 'µs' else digits}f} {unit}"
    raise AssertionError
