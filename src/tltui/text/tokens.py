"""Names of styles and their colours."""

from __future__ import annotations

# What a status is: drawn with a glyph as well, never by colour alone.
OK = "ok"
BREAK = "break"
ERROR = "error"
EAGER = "eager"
EMPTY = "empty"
UNFINISHED = "unfinished"
RUNNING = "running"
SEEN = "seen"
WARN = "warn"
RECOMPILE = "recompile"

# What a piece of a page is.
TITLE = "title"
HEADING = "heading"
LABEL = "label"
VALUE = "value"
DIM = "dim"
STRONG = "strong"
LINK = "link"
CONTROL = "control"  # the visible mark of a character that must not reach a terminal

# What a piece of code is.
KEYWORD = "keyword"
NAME = "name"
DEFINITION = "definition"
FUNCTION = "function"
TYPE = "type"  # dtype and shape annotations of FX graphs, C++ types
STRING = "string"
NUMBER = "number"
OPERATOR = "operator"
COMMENT = "comment"
ORIGIN = "origin"  # a `# File: …` comment: where the user wrote it
DECORATOR = "decorator"
KEY = "key"  # a key of a JSON object
CONSTANT = "constant"  # true, false, null, None
EXCEPTION = "exception"

# What a piece of a difference is.
ADDED = "added"
REMOVED = "removed"
CHANGED = "changed"

# In which phase time went: on every page a phase has the same colour.
PHASE_DYNAMO = "phase-dynamo"
PHASE_AUTOGRAD = "phase-autograd"
PHASE_BACKEND = "phase-backend"
PHASE_INDUCTOR = "phase-inductor"
PHASE_CACHE = "phase-cache"
PHASE_KERNELS = "phase-kernels"
PHASE_GUARDS = "phase-guards"
PHASE_OTHER = "phase-other"

PHASES: tuple[str, ...] = (
    PHASE_DYNAMO, PHASE_AUTOGRAD, PHASE_BACKEND, PHASE_INDUCTOR, PHASE_CACHE, PHASE_KERNELS, PHASE_GUARDS, PHASE_OTHER,
)  # fmt: skip

ALL: tuple[str, ...] = (
    OK, BREAK, ERROR, EAGER, EMPTY, UNFINISHED, RUNNING, SEEN, WARN, RECOMPILE,
    TITLE, HEADING, LABEL, VALUE, DIM, STRONG, LINK, CONTROL,
    KEYWORD, NAME, DEFINITION, FUNCTION, TYPE, STRING, NUMBER, OPERATOR, COMMENT, ORIGIN, DECORATOR,
    KEY, CONSTANT, EXCEPTION,
    ADDED, REMOVED, CHANGED,
    *PHASES,
)  # fmt: skip


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
