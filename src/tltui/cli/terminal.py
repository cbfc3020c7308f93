"""Whether there is a terminal for the UI."""

from __future__ import annotations

import os
import sys


def no_terminal() -> str:
    """Why the UI cannot run here; '' when it can."""
    for stream, name in ((sys.stdin, "input"), (sys.stdout, "output"), (sys.stderr, "error")):
        if stream is None or not stream.isatty():
            return f"standard {name} is not a terminal" + (", and the UI is drawn there" if name == "error" else "")
    if os.environ.get("TERM", "dumb") in ("dumb", ""):
        return "TERM=dumb: this terminal cannot draw"
    return ""
