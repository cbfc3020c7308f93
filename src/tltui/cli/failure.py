"""What the user can mend, and how the command line says it."""

from __future__ import annotations

import sys

from tltui.text.sanitize import sanitize


class Failure(Exception):
    """Something that the user can mend. Printed on stderr; exit code 2."""


def safe(text: str) -> str:
    """A message without what a terminal would act on: names of files and of the trace are in it."""
    return "\n".join(map(sanitize, text.split("\n")))


def tell(text: str) -> None:
    """Print on stderr, where there is one."""
    if sys.stderr is not None:
        try:
            print(safe(text), file=sys.stderr)
        except OSError:  # nobody listens
            return
