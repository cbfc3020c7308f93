"""Messages and log file of internal errors."""

from __future__ import annotations

import os
import time
import traceback

from tltui import __version__
from tltui.config import cache_path
from tltui.documents.format import home
from tltui.settings import said_by

CODE = 70
"""Exit code after an internal error (`EX_SOFTWARE` of sysexits.h)."""
LARGEST = 1 << 16
"""Bytes of the log above which it is truncated."""
DEBUG = "TLTUI_DEBUG"
"""Environment variable: 1 prints the traceback of a fatal internal error."""


def wants_traceback() -> bool:
    """Return whether tracebacks are requested."""
    return bool(said_by(os.environ, DEBUG))


def place_of(error: BaseException) -> tuple[str, int]:
    """Return file and line where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return (frames[-1].filename, frames[-1].lineno or 0) if frames else (type(error).__name__, 0)


def fault_line(error: BaseException) -> str:
    """Return the message of an internal error and write its location to a file."""
    path = crash_log(error)
    return f"{type(error).__name__}: internal error in tltui" + (f"; details are in {path}" if path else "")


def last_words(error: BaseException) -> str:
    """Return the message of a fatal internal error: one line, or with `TLTUI_DEBUG=1` the traceback."""
    if wants_traceback():
        return "".join(traceback.format_exception(error)).rstrip("\n")
    return f"tltui: {fault_line(error)} ({DEBUG}=1 prints the traceback)"


def crash_log(error: BaseException) -> str:
    """Write the location of an error, without texts of the trace (users may send the log); return the path, '' on failure.

    Earlier errors stay, up to a size: an error is often the consequence of the one before.
    """
    path = cache_path() / "crash.log"
    frames = "".join(f"{f.filename}:{f.lineno} in {f.name}\n" for f in traceback.extract_tb(error.__traceback__))
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # never waits: the name may be that of a pipe
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600), "a") as file:
            if os.fstat(file.fileno()).st_size > LARGEST:
                file.truncate(0)
            file.write(f"{type(error).__name__}\ntltui {__version__}, {time.strftime('%Y-%m-%d %H:%M:%S')}\n{frames}\n")
    except OSError:
        return ""
    return home(str(path))
