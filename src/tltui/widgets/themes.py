"""Themes, and the look of each part of the screen: colours of a theme as styles of Rich.

A row whose ground brings its own ink, or that is in reverse video, is drawn without the colours of its text.

These are not component classes of Textual, which resolves each of them for each widget again whenever a class or the focus changes:
with the hundred parts that there are, that took half of the time between the start and the first frame.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.theme import Theme
from textual.widget import Widget

from tltui.text.tokens import ANSI, COLOURS, COLUMNS, PLAIN, TRUE
from tltui.text.torch_names import is_graph_break_page

NAMES = (*TRUE, *ANSI, "mono")

LOOKS: dict[str, tuple[str, str, str]] = {
    "bar-look": ("none", "reverse", "reverse"),
    "cursor-look": ("none", "reverse", "reverse"),
    "cursor-away-look": ("none", "underline", "underline"),
    "number-cursor-look": ("bold", "bold", "bold"),
    "dim-look": ("none", "dim", "dim"),
    "focus-look": ("bold", "bold reverse", "bold reverse"),
    "selection-look": ("none", "none", "bold reverse"),
    "hit-look": ("none", "not reverse", "bold underline"),
    "hit-current-look": ("bold", "bold not reverse", "bold reverse underline"),
    "match-look": ("none", "bold", "bold"),
    "pinned-look": ("none", "bold underline", "bold underline"),
    "band-look": ("none", "none", "bold"),
    "match-mark-look": ("bold", "bold", "bold"),
    "keyword-look": ("none", "none", "bold"),
    "function-look": ("none", "bold", "none"),
    "link-look": ("none", "none", "bold"),  # an underline would hide the underscores of names
    "other-look": ("none", "dim", "dim"),
}
"""Name → the `text-style` in the first three, in the `ansi` ones, in `mono`."""

_SHADED = ("primary", "secondary", "background", "primary-background", "secondary-background", "foreground", "panel", "boost",
           "surface", "warning", "error", "success", "accent")  # fmt: skip
_SHADES = ("darken-1", "darken-2", "darken-3", "lighten-1", "lighten-2", "lighten-3", "muted")
_TEXTUAL = {
    "text": "ink", "text-muted": "dim", "text-disabled": "dim", "text-primary": "accent", "text-secondary": "accent",
    "text-accent": "accent", "text-success": "tok-ok", "text-warning": "tok-break", "text-error": "tok-error",
    "primary": "accent", "secondary": "accent", "accent": "accent", "success": "tok-ok", "warning": "tok-break",
    "error": "tok-error", "foreground": "ink", "foreground-muted": "dim", "foreground-disabled": "dim", "background": "page",
    "surface": "page", "surface-active": "cursor-away", "panel": "bar", "boost": "page", "primary-background": "page",
    "secondary-background": "page", "border": "rule-focus", "border-blurred": "rule",
    "block-cursor-foreground": "cursor-ink", "block-cursor-background": "cursor", "block-cursor-blurred-foreground": "cursor-ink",
    "block-cursor-blurred-background": "cursor", "block-hover-background": "cursor-away",
    "input-cursor-background": "ink", "input-cursor-foreground": "page",
    "input-selection-background": "selection", "input-selection-foreground": "selection-ink",
    "screen-selection-background": "selection", "screen-selection-foreground": "selection-ink",
    "scrollbar": "rule", "scrollbar-hover": "rule", "scrollbar-active": "rule", "scrollbar-background": "page",
    "scrollbar-background-hover": "page", "scrollbar-background-active": "page", "scrollbar-corner-color": "page",
    "link-background": "page", "link-background-hover": "page", "link-color": "tok-link", "link-color-hover": "tok-link",
    "footer-foreground": "ink", "footer-background": "bar", "footer-key-foreground": "accent", "footer-key-background": "bar",
    "footer-description-foreground": "ink", "footer-description-background": "bar", "footer-item-background": "bar",
    "button-foreground": "ink", "button-color-foreground": "ink", "ansi-background": "page", "ansi-foreground": "ink",
    **{f"markdown-h{level}-color": "tok-heading" for level in range(1, 7)},
    **{f"markdown-h{level}-background": "page" for level in range(1, 7)},
}  # fmt: skip
"""What Textual and its own widgets call what we have a name for."""
_TEXTUAL_LOOKS = {
    "block-cursor-text-style": "cursor-look", "block-cursor-blurred-text-style": "cursor-look",
}  # fmt: skip
_TEXTUAL_FIXED = {
    "link-style": "underline", "link-style-hover": "bold", "button-focus-text-style": "bold reverse",
    **{f"markdown-h{level}-text-style": "bold" for level in range(1, 7)},
}  # fmt: skip


@lru_cache
def variables(name: str) -> dict[str, str]:
    """Return the value of every `$name` of the style sheets, ours and Textual's, in a theme."""
    column = COLUMNS.index(name) if name in COLUMNS else -1
    ours = {key: row[column] if column >= 0 else PLAIN for key, row in COLOURS.items()}
    kind = 0 if name in TRUE else 1 if name in ANSI else 2
    looks = {key: row[kind] for key, row in LOOKS.items()}
    textual = {key: ours[source] for key, source in _TEXTUAL.items()}
    shades = {f"{key}-{shade}": textual[key] for key in _SHADED for shade in _SHADES if f"{key}-{shade}" not in textual}
    shades |= {f"{key}-muted": ours["cursor-away"] for key in ("primary", "secondary", "accent", "warning", "error", "success")}
    cursor = {"input-cursor-text-style": "none" if kind == 0 else "reverse"}
    more = {key: looks[source] for key, source in _TEXTUAL_LOOKS.items()}
    return {**shades, **textual, **ours, **looks, **more, **cursor, **_TEXTUAL_FIXED}


def theme(name: str) -> Theme:
    """Return one of the themes in `NAMES`."""
    values = variables(name)
    return Theme(
        name, primary=values["primary"], secondary=values["secondary"], warning=values["warning"], error=values["error"],
        success=values["success"], accent=values["accent"], foreground=values["foreground"], background=values["background"],
        surface=values["surface"], panel=values["panel"], boost=values["boost"], dark="light" not in name, variables=values,
        ansi=name not in TRUE,
    )  # fmt: skip


def wear(app: App[Any], name: str) -> None:
    """Let an app look like a theme from its first frame on: called before it runs, its style sheets are read once."""
    for each in NAMES:
        app.register_theme(theme(each))
    app.set_reactive(App.theme, name)
    app.stylesheet.set_variables(app.get_css_variables())


class Paint(NamedTuple):
    """The look of a part, by names of `variables`; '' leaves what is below it."""

    color: str = ""
    background: str = ""
    style: str = ""
    """One of `LOOKS`, or words that Rich knows."""


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
    # lines that belong together: the letters of kernels in turn, and what the cursor's line corresponds to
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
    "tok-unfinished": Paint("tok-running"),
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
    "tok-link": Paint("tok-link", style="link-look"),
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
    """Return what a part of the screen, or the address of a hyperlink, adds to the style below it in a theme."""
    if is_graph_break_page(part):
        return Style(link=part) if theme != "mono" else Style.null()
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
        """Drop cached styles: colours may have changed."""
        super().notify_style_update()
        self._ground = None

    @property
    def ground(self) -> Style:
        """What the text of the widget is drawn over, with the colour of text that has none of its own."""
        if self._ground is None:
            self._ground = self.rich_style
        return self._ground
