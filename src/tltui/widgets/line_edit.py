"""One line of text that is being typed, with the keys that a shell's line has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class LineEdit:
    """A text and where in it one types: `at` counts characters from 0."""

    text: str = ""
    at: int = 0

    def replace(self, text: str) -> None:
        """Another text; one types at its end."""
        self.text, self.at = text, len(text)

    def insert(self, text: str) -> None:
        """Type."""
        self.text = self.text[: self.at] + text + self.text[self.at :]
        self.at += len(text)

    def key(self, key: str) -> bool:
        """Do what a key, by Textual's name, does in a line. Whether it does anything there."""
        edit = _KEYS.get(key)
        if edit is not None:
            edit(self)
        return edit is not None

    def word_before(self) -> int:
        """Where the word before the place begins."""
        return len(self.text[: self.at].rstrip().rpartition(" ")[0]) + 1 if " " in self.text[: self.at].rstrip() else 0

    def word_behind(self) -> int:
        """Where the word behind the place ends."""
        blank = self.text.find(" ", len(self.text) - len(self.text[self.at :].lstrip()))
        return len(self.text) if blank < 0 else blank

    def move(self, to: int) -> None:
        """Go to a place."""
        self.at = min(max(to, 0), len(self.text))

    def cut(self, lo: int, hi: int) -> None:
        """Take characters `lo` to `hi` (exclusive) away, and type there."""
        lo = max(lo, 0)
        self.text = self.text[:lo] + self.text[hi:]
        self.at = lo


_KEYS: dict[str, Callable[[LineEdit], None]] = {
    "left": lambda line: line.move(line.at - 1),
    "right": lambda line: line.move(line.at + 1),
    "home": lambda line: line.move(0),
    "end": lambda line: line.move(len(line.text)),
    "ctrl+left": lambda line: line.move(line.word_before()),
    "ctrl+right": lambda line: line.move(line.word_behind()),
    "backspace": lambda line: line.cut(line.at - 1, line.at),
    "delete": lambda line: line.cut(line.at, line.at + 1),
    "ctrl+w": lambda line: line.cut(line.word_before(), line.at),
    "ctrl+u": lambda line: line.cut(0, line.at),
    "ctrl+k": lambda line: line.cut(line.at, len(line.text)),
}
_KEYS |= {
    "ctrl+a": _KEYS["home"], "ctrl+e": _KEYS["end"], "ctrl+b": _KEYS["left"], "ctrl+f": _KEYS["right"],
    "ctrl+h": _KEYS["backspace"], "ctrl+d": _KEYS["delete"], "alt+b": _KEYS["ctrl+left"], "alt+f": _KEYS["ctrl+right"],
    "ctrl+backspace": _KEYS["ctrl+w"],
}  # fmt: skip
