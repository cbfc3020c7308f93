"""The look of each part of the screen: colours of the theme as styles of Rich.

A row whose ground brings its own ink, or that is in reverse video, is drawn without the colours of its text.

These are not component classes of Textual, which resolves each of them for each widget again whenever a class or the focus changes:
with the hundred parts that there are, that took half of the time between the start and the first frame.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rich.style import Style
from textual.color import Color
from textual.widget import Widget

from tltui.themes import variables


class Paint(NamedTuple):
    """The look of a part, by names of `tltui.themes.variables`; '' leaves what is below it."""

    color: str = ""
    background: str = ""
    style: str = ""
    """One of `LOOKS` of `tltui.themes`, or words that Rich knows."""


_DIM = Paint("dim", style="dim-look")
_BOLD = Paint(style="bold")

PARTS: dict[str, Paint] = {
    # the row of the cursor, its first cell, the caret, what is selected
    "cursor": Paint("cursor-ink", "cursor", "cursor-look"),
    "cursor-away": Paint("", "cursor-away", "cursor-away-look"),
    "edge": Paint("edge-ink", "edge"),
    "edge-away": Paint("page", "edge-away"),
    "caret": Paint(style="reverse"),
    "caret-in-reverse": Paint(style="not reverse bold"),
    "selection": Paint("selection-ink", "selection", "selection-look"),
    # at the edges of the text
    "gutter": Paint("number", style="dim-look"),
    "gutter-cursor": Paint("accent", style="number-cursor-look"),
    "fold": _DIM,
    "rule": _DIM,
    "mark": Paint("cut"),
    # search
    "hit": Paint("hit-ink", "hit", "hit-look"),
    "hit-current": Paint("hit-ink", "hit-current", "hit-current-look"),
    "hit-mark": Paint("cut", style="bold"),
    # lines that belong together: a cell of the gutter for each group in turn, and what the cursor's line corresponds to
    **{f"band-{number}": Paint("band-ink", f"band-{number}", "band-look") for number in range(6)},
    "match": Paint("", "match", "match-look"),
    "match-mark": Paint(style="match-mark-look"),
    "pinned": Paint("", "pinned", "pinned-look"),
    # a status: never shown by colour alone
    "tok-ok": Paint("tok-ok"),
    "tok-break": Paint("tok-break"),
    "tok-warn": Paint("tok-break"),
    "tok-error": Paint("tok-error", style="bold"),
    "tok-eager": Paint("tok-eager"),
    "tok-missing": Paint("tok-running"),
    "tok-running": Paint("tok-running"),
    "tok-seen": Paint("tok-running"),
    "tok-recompile": Paint("tok-recompile"),
    # a piece of a page
    "tok-title": _BOLD,
    "tok-strong": _BOLD,
    "tok-definition": _BOLD,
    "tok-heading": Paint("tok-heading", style="bold"),
    "tok-empty": _DIM,
    "tok-label": _DIM,
    "tok-dim": _DIM,
    "tok-link": Paint("tok-link", style="underline"),
    "tok-control": Paint("tok-error", style="reverse"),
    # a piece of code: names, numbers and operators have the colour of text, since each change of colour costs 26 bytes
    "tok-keyword": Paint("tok-keyword", style="keyword-look"),
    "tok-function": Paint("tok-function", style="function-look"),
    "tok-type": Paint("tok-type"),
    "tok-string": Paint("tok-string"),
    "tok-origin": Paint("tok-origin"),
    "tok-decorator": Paint("tok-decorator"),
    "tok-key": Paint("tok-key"),
    "tok-constant": Paint("tok-constant"),
    "tok-comment": _DIM,
    "tok-exception": Paint("tok-error", style="bold"),
    # a difference: its line begins with - + ~ as well
    "tok-added": Paint("tok-ok"),
    "tok-removed": Paint("tok-error"),
    "tok-changed": Paint("tok-break"),
    # a phase
    "tok-phase-dynamo": Paint("phase-dynamo"),
    "tok-phase-autograd": Paint("phase-autograd"),
    "tok-phase-backend": Paint("phase-backend"),
    "tok-phase-inductor": Paint("phase-inductor"),
    "tok-phase-cache": Paint("phase-cache"),
    "tok-phase-kernels": Paint("phase-kernels"),
    "tok-phase-guards": Paint("phase-guards"),
    "tok-phase-other": Paint("phase-other", style="other-look"),
    # in bars and in the line where something is asked
    "hint-key": Paint("accent", style="bold"),
    "question": _BOLD,
    "question-cursor": Paint(style="reverse"),
    "question-hint": _DIM,
}
"""Part → its look; a part that is not here looks like the text around it."""


@lru_cache(maxsize=1024)
def part_style(theme: str, part: str) -> Style:
    """Return what a part of the screen adds to the style below it in a theme."""
    paint = PARTS.get(part)
    if paint is None:
        return Style.null()
    values = variables(theme)
    color, background = (Color.parse(values[name]).rich_color if name else None for name in (paint.color, paint.background))
    return Style(color=color, bgcolor=background) + Style.parse(values.get(paint.style, paint.style) or "none")


class Grounded(Widget):
    """A widget that asks Textual for the style of its ground once, not for each row: each time all its ancestors are asked too."""

    _ground: Style | None = None

    def notify_style_update(self) -> None:
        """Textual calls this when colours may have changed."""
        super().notify_style_update()
        self._ground = None

    @property
    def ground(self) -> Style:
        """What the text of the widget is drawn over, with the colour of text that has none of its own."""
        if self._ground is None:
            self._ground = self.rich_style
        return self._ground
