"""The colours, each once: what the style sheet of the UI calls `$tok-ok`, and an HTML file `var(--tok-ok)`, is a row of this table.

`dark`, `light` and `high-contrast` are made for this program, of the colours of the 256-colour palette: a terminal that has more
shows the same ones, and what `tests/ui/test_colours.py` computes of them (text 4.5 : 1 on every ground that it can stand on, marks
3 : 1) holds everywhere, in a browser too.
"""

from __future__ import annotations

TRUE = ("dark", "light", "high-contrast")
ANSI = ("ansi-dark", "ansi-light")
PLAIN = "ansi_default"
"""Whatever the terminal writes in."""

COLUMNS = (*TRUE, *ANSI)
"""The columns of the table."""
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
