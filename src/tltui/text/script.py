r"""With which characters a text is drawn: its own, or with `--ascii` none above U+007F.

Only the drawing differs. Documents, copies and exports have the real characters, and a column stays one character of the text: one
that is drawn as `\u00e9` takes six cells, as a Chinese one takes two. What our own words use has a sign, of one cell but for `<-`.
"""

from __future__ import annotations

from tltui.text.width import cells, fitting

SIGNS = {
    "…": "~", "⋯": "~", "⋮": ":", "·": "-", "•": "*", "–": "-", "—": "-", "−": "-", "×": "x", "µ": "u", "≤": "<", "≥": ">",
    "≈": "~",
    "⊃": ">", "→": ">", "←": "<", "↑": "^", "↓": "v", "↔": "=", "↻": "r", "↩": "<-", "↳": "`", "‹": "<", "›": ">", "»": ">",
    "▸": ">", "▾": "v", "✓": "+", "✗": "x", "⚑": "!", "∅": "0", "◌": "o", "▇": "#", "▏": "|", "▁": ".", "▂": ":", "▃": "-",
    "▄": "=", "▅": "+", "▆": "*", "█": "%", "│": "|", "├": "+", "└": "`",
    "─": "-", "╌": ".", "†": "~",
}  # fmt: skip
"""What our own words use → what is drawn for it."""
OWN = str.maketrans(SIGNS)


class _Escapes(dict[int, str]):
    """Character → what is drawn for it, made when it is first asked for."""

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
        """What stands on the screen for a text."""
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
    r"""Draws `\u00e9` for what is not ASCII, but for the signs of our own words where a text may have them."""

    def __init__(self, own: bool) -> None:
        self._table = _Escapes(OWN if own else {})

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
WORDS = AsciiScript(own=True)
"""For what we wrote: pages, labels, titles, bars."""
PAYLOAD = AsciiScript(own=False)
"""For what torch or the user wrote: of it every character can be told."""


def script_for(ascii_only: bool, language: str = "") -> Script:
    """How a text is drawn; `language` is that of a document, '' for one that we wrote."""
    if not ascii_only:
        return REAL
    return PAYLOAD if language else WORDS
