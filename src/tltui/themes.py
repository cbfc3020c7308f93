"""The colours of `text/palette.py` in each theme, as `styles.tcss` and `widgets/looks.py` call them: `cursor`, `cursor-look`.

`dark`, `light` and `high-contrast` are made for this program, of the colours of the 256-colour palette: a terminal that has more
shows the same ones, and what `tests/ui/test_colours.py` computes of them (text 4.5 : 1 on every ground that it can stand on, marks
3 : 1) holds everywhere. `ansi-dark` and `ansi-light` use the colours that the user gave the terminal, `mono` none: there the row of
the cursor is in reverse video, and what a ground or a colour would say is said by bold, underlined and glyphs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from textual.app import App
from textual.theme import Theme

from tltui.text.palette import ANSI, COLOURS, COLUMNS, PLAIN, TRUE

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
    "match-mark-look": ("bold", "bold", "reverse"),
    "keyword-look": ("none", "none", "bold"),
    "function-look": ("none", "bold", "none"),
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
    """What every `$name` of the style sheets, ours and Textual's, is in a theme."""
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
    """One of `NAMES`."""
    known = variables(name)
    return Theme(
        name, primary=known["primary"], secondary=known["secondary"], warning=known["warning"], error=known["error"],
        success=known["success"], accent=known["accent"], foreground=known["foreground"], background=known["background"],
        surface=known["surface"], panel=known["panel"], boost=known["boost"], dark="light" not in name, variables=known,
        ansi=name not in TRUE,
    )  # fmt: skip


def wear(app: App[Any], name: str) -> None:
    """Let an app look like a theme from its first frame on: called before it runs, its style sheets are read once."""
    for each in NAMES:
        app.register_theme(theme(each))
    app.set_reactive(App.theme, name)
    app.stylesheet.set_variables(app.get_css_variables())
