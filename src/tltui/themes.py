"""The colours, each pair once: what `styles.tcss` calls `$tok-ok` or `$cursor-ground` is a row of a table here.

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

TRUE = ("dark", "light", "high-contrast")
ANSI = ("ansi-dark", "ansi-light")
NAMES = (*TRUE, *ANSI, "mono")
PLAIN = "ansi_default"
"""Whatever the terminal writes in."""

_COLUMNS = (*TRUE, *ANSI)
COLOURS: dict[str, tuple[str, str, str, str, str]] = {
    # what text stands on by itself, and what it looks like
    "page": ("#121212", "#ffffff", "#000000", PLAIN, PLAIN),
    "ink": ("#dadada", "#1c1c1c", "#ffffff", PLAIN, PLAIN),
    "dim": ("#a8a8a8", "#585858", "#d0d0d0", PLAIN, PLAIN),
    "accent": ("#87afff", "#005faf", "#5fffff", "ansi_cyan", "ansi_blue"),
    "bar": ("#303030", "#eeeeee", "#303030", PLAIN, PLAIN),
    # lines and signs
    "rule": ("#6c6c6c", "#8a8a8a", "#a8a8a8", PLAIN, PLAIN),
    "rule-focus": ("#5fafff", "#005faf", "#ffff00", "ansi_cyan", "ansi_blue"),
    "number": ("#949494", "#626262", "#c6c6c6", PLAIN, PLAIN),
    "cut": ("#ffd75f", "#875f00", "#ffff5f", "ansi_yellow", "ansi_magenta"),
    # the row of the cursor in the pane that has the focus, and in others; its first cell
    "cursor": ("#3a3a3a", "#d7ffff", "#ffff00", PLAIN, PLAIN),
    "cursor-ink": ("#dadada", "#1c1c1c", "#000000", PLAIN, PLAIN),
    "cursor-away": ("#262626", "#eeeeee", "#303030", PLAIN, PLAIN),
    "edge": ("#87afff", "#005faf", "#ffff00", PLAIN, PLAIN),
    "edge-ink": ("#121212", "#ffffff", "#000000", PLAIN, PLAIN),
    "edge-away": ("#767676", "#767676", "#d0d0d0", PLAIN, PLAIN),
    # what is selected, found, belongs together
    "selection": ("#005f87", "#005f87", "#5fffff", "ansi_blue", "ansi_blue"),
    "selection-ink": ("#ffffff", "#ffffff", "#000000", "ansi_bright_white", "ansi_bright_white"),
    "hit": ("#5fafaf", "#ffd75f", "#ffffff", "ansi_cyan", "ansi_cyan"),
    "hit-current": ("#ffd700", "#ff8700", "#ffaf00", "ansi_yellow", "ansi_yellow"),
    "hit-ink": ("#121212", "#121212", "#000000", "ansi_black", "ansi_black"),
    "match": ("#00005f", "#d7ffd7", "#00005f", PLAIN, PLAIN),
    "pinned": ("#5f0000", "#ffffaf", "#5f0000", PLAIN, PLAIN),
    "band-0": ("#87afff", "#005faf", "#87afff", "ansi_blue", "ansi_blue"),
    "band-1": ("#87d75f", "#005f00", "#5fff5f", "ansi_green", "ansi_green"),
    "band-2": ("#ff8787", "#af0000", "#ff8787", "ansi_red", "ansi_red"),
    "band-3": ("#5fd7d7", "#005f5f", "#5fffff", "ansi_cyan", "ansi_cyan"),
    "band-4": ("#d787ff", "#8700af", "#ff87ff", "ansi_magenta", "ansi_magenta"),
    "band-5": ("#d7af5f", "#875f00", "#ffd75f", "ansi_yellow", "ansi_yellow"),
    "band-ink": ("#121212", "#ffffff", "#000000", "ansi_black", "ansi_bright_white"),
    # what a status is
    "tok-ok": ("#87d787", "#005f00", "#5fff5f", "ansi_green", "ansi_green"),
    "tok-break": ("#ffd75f", "#875f00", "#ffff5f", "ansi_yellow", "ansi_magenta"),
    "tok-error": ("#ff8787", "#af0000", "#ff8787", "ansi_red", "ansi_red"),
    "tok-eager": ("#ffaf5f", "#af005f", "#ffaf5f", "ansi_red", "ansi_red"),
    "tok-running": ("#d7afff", "#5f00af", "#ffafff", "ansi_magenta", "ansi_blue"),
    "tok-recompile": ("#5fd7d7", "#005f87", "#5fffff", "ansi_cyan", "ansi_blue"),
    # what a piece of a page is
    "tok-heading": ("#87afff", "#005faf", "#87d7ff", "ansi_cyan", "ansi_blue"),
    "tok-link": ("#87d7ff", "#0000d7", "#87ffff", "ansi_cyan", "ansi_blue"),
    # what a piece of code is
    "tok-keyword": ("#87afff", "#0000af", "#87d7ff", "ansi_cyan", "ansi_blue"),
    "tok-function": ("#d7d7af", "#5f5f00", "#ffffaf", PLAIN, PLAIN),
    "tok-type": ("#5fd7af", "#005f5f", "#5fffd7", "ansi_cyan", "ansi_blue"),
    "tok-string": ("#afd787", "#005f00", "#afff87", "ansi_green", "ansi_green"),
    "tok-origin": ("#d7af5f", "#875f00", "#ffd75f", "ansi_yellow", "ansi_magenta"),
    "tok-decorator": ("#d7afff", "#8700af", "#ffafff", "ansi_magenta", "ansi_magenta"),
    "tok-key": ("#87d7ff", "#005f87", "#87ffff", "ansi_cyan", "ansi_blue"),
    "tok-constant": ("#d7af87", "#870087", "#ffd7af", "ansi_magenta", "ansi_magenta"),
    # in which phase the time went: on every page the same
    "phase-dynamo": ("#d7d75f", "#5f5f00", "#ffff5f", "ansi_yellow", "ansi_yellow"),
    "phase-autograd": ("#87d75f", "#005f00", "#5fff5f", "ansi_green", "ansi_green"),
    "phase-backend": ("#dadada", "#1c1c1c", "#ffffff", PLAIN, PLAIN),
    "phase-inductor": ("#5fafff", "#005faf", "#87afff", "ansi_blue", "ansi_blue"),
    "phase-cache": ("#5fd7d7", "#005f5f", "#5fffff", "ansi_cyan", "ansi_cyan"),
    "phase-kernels": ("#d787ff", "#8700af", "#ff87ff", "ansi_magenta", "ansi_magenta"),
    "phase-guards": ("#ffaf5f", "#af005f", "#ffaf5f", "ansi_bright_yellow", "ansi_red"),
    "phase-other": ("#a8a8a8", "#626262", "#c6c6c6", PLAIN, PLAIN),
}
"""Name → the colour in `dark`, `light`, `high-contrast`, `ansi-dark`, `ansi-light`; in `mono` all are the terminal's own."""

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
    column = _COLUMNS.index(name) if name in _COLUMNS else -1
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
