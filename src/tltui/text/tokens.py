"""Names of styles.

A document says *what* a piece of text is (`keyword`, `error`, `added`), never how it looks. The widgets
map these names to colours in `widgets/looks.py`, the command line to ANSI codes in `export/`.
"""

from __future__ import annotations

# What a status is: drawn with a glyph as well, never by colour alone.
OK = "ok"
BREAK = "break"
ERROR = "error"
EAGER = "eager"
EMPTY = "empty"
MISSING = "missing"
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
    OK, BREAK, ERROR, EAGER, EMPTY, MISSING, RUNNING, SEEN, WARN, RECOMPILE,
    TITLE, HEADING, LABEL, VALUE, DIM, STRONG, LINK, CONTROL,
    KEYWORD, NAME, DEFINITION, FUNCTION, TYPE, STRING, NUMBER, OPERATOR, COMMENT, ORIGIN, DECORATOR,
    KEY, CONSTANT, EXCEPTION,
    ADDED, REMOVED, CHANGED,
    *PHASES,
)  # fmt: skip
