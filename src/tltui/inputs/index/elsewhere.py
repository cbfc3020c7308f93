"""Bytes that are on another machine: what is said of them, and the command that gets them."""

from __future__ import annotations

import errno
import re

from tltui.text.sanitize import sanitize
from tltui.text.shell import quoted

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})?")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Elsewhere(OSError):
    """Bytes of a log that an index tells of, which are neither in the index nor in a log that was opened with it."""

    def __init__(self, host: str, path: str, is_named: bool = True) -> None:
        """`is_named`: host and path are names, not what stands for them in a redacted index."""
        place = sanitize(f"{host}:{path}")
        super().__init__(errno.EREMOTE, f"payload is on {place}, and not in the index")
        self.host = host
        self.path = path
        self._is_named = is_named

    def command(self, ref: str = "", view: str = "show") -> str:
        """What one would type to see it, or the page that needs it (`view`); '' where the index says something for a host or a path
        that is no plain name.

        Host and path come from the index, which anybody may have written: a host is letters, digits, dots and dashes, a path is
        absolute, and both stand behind `--`, quoted for the shell here and once more for the one there.
        """
        if not self._is_named or not _HOST.fullmatch(self.host) or not self.path.startswith("/") or _UNSAFE.search(self.path):
            return ""
        if sanitize(self.path) != self.path:
            return ""
        there = " ".join(("tltui", view, *map(quoted, (self.path, *([ref] if ref else ())))))
        return f"ssh -- {quoted(self.host)} {quoted(there)}"

    def __str__(self) -> str:
        command = self.command()
        return f"{self.strerror}; to have it: {command}" if command else str(self.strerror)
