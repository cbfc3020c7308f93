"""Standard input and the terminal: terminal support, reading of input, progress of unpacking."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tltui.cli.exits import Failure
from tltui.inputs.archives import SETTINGS, STANDARD_INPUT, Limits
from tltui.text.sanitize import sanitize


def no_terminal() -> str:
    """Return why the UI cannot run here; '' if it can."""
    for stream, name in ((sys.stdin, "input"), (sys.stdout, "output"), (sys.stderr, "error")):
        if stream is None or not stream.isatty():
            return f"standard {name} is not a terminal" + (", and the UI is drawn there" if name == "error" else "")
    if os.environ.get("TERM", "dumb") in ("dumb", ""):
        return "TERM=dumb: this terminal cannot draw"
    return ""


PATIENCE = 0.5
"""Seconds after which progress is shown."""
EVERY = 0.25
BEGINNING = 0.3
"""Seconds that the UI waits for the first bytes of standard input: archives are read completely before the UI starts."""


@contextmanager
def unpacking_progress(paths: Sequence[str], waits: bool) -> Iterator[None]:
    """Report unpacking on stderr within the context. With `waits` standard input is read to its end first."""
    SETTINGS.limits, SETTINGS.progress = _limits, (progress := _ProgressLine())
    try:
        if STANDARD_INPUT in paths:
            _read_standard_input(waits)
        yield
    finally:
        SETTINGS.progress = None
        progress.end()


def _limits() -> Limits:
    """Return the unpacking limits of the settings."""
    from tltui.config import read_config

    config = read_config(())
    return Limits(config.unpack_member_mib << 20, config.unpack_total_mib << 20, config.unpack_members)


class _ProgressLine:
    """Progress line on stderr if that is a terminal; removed at the end."""

    def __init__(self) -> None:
        self._next = time.monotonic() + PATIENCE
        self._wide = 0

    def __call__(self, name: str, read: int, size: int, written: int) -> None:
        now = time.monotonic()
        if now < self._next or sys.stderr is None or not sys.stderr.isatty():
            return
        self._next = now + EVERY
        if name == STANDARD_INPUT:
            text = f"tltui: reading standard input to its end: {read >> 20:,} MiB"
        else:
            part = f"{100 * read // size} %, " if size else ""
            text = f"tltui: unpacking {sanitize(os.path.basename(name))}: {part}{written >> 20:,} MiB (ctrl+c stops)"
        print(f"\r{text:<{self._wide}}", end="", file=sys.stderr, flush=True)
        self._wide = len(text)

    def end(self) -> None:
        """Remove the line."""
        if self._wide:
            print(f"\r{'':<{self._wide}}\r", end="", file=sys.stderr, flush=True)


def keys_from_terminal() -> None:
    """Read standard input as a file, and keys from the controlling terminal, which becomes descriptor 0.

    Without a terminal nothing changes.
    """
    from tltui.inputs.archives.cache import standard_input

    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return
    standard_input(os.dup(0))
    os.dup2(terminal, 0)
    os.close(terminal)


def _read_standard_input(waits: bool) -> None:
    from tltui.inputs.archives.cache import standard_input
    from tltui.inputs.archives.decompress import CannotUnpack

    try:
        stream = standard_input()
    except CannotUnpack as cannot:
        raise Failure(str(cannot)) from None
    stream.wait_for_beginning(BEGINNING)
    if waits or stream.packing:
        stream.wait()
