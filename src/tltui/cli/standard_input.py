"""Standard input and the terminal: whether the UI can be drawn, how input is read, progress of unpacking."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tltui.cli.exits import Failure
from tltui.inputs.archives.packed_files import SETTINGS, STANDARD_INPUT, Limits
from tltui.text.sanitize import sanitize


def no_terminal() -> str:
    """Why the UI cannot run here; '' when it can."""
    for stream, name in ((sys.stdin, "input"), (sys.stdout, "output"), (sys.stderr, "error")):
        if stream is None or not stream.isatty():
            return f"standard {name} is not a terminal" + (", and the UI is drawn there" if name == "error" else "")
    if os.environ.get("TERM", "dumb") in ("dumb", ""):
        return "TERM=dumb: this terminal cannot draw"
    return ""


PATIENCE = 0.5
"""Seconds after which it is said how far it is."""
EVERY = 0.25
BEGINNING = 0.3
"""Seconds that the UI waits for the first bytes of standard input: what is packed is read to its end before there is a screen."""


@contextmanager
def unpacking_progress(paths: Sequence[str], waits: bool) -> Iterator[None]:
    """While the block runs what is unpacked is told on stderr. With `waits` standard input is read to its end first."""
    SETTINGS.limits, SETTINGS.told = _limits, (told := _ProgressLine())
    try:
        if STANDARD_INPUT in paths:
            _read_standard_input(waits)
        yield
    finally:
        SETTINGS.told = None
        told.end()


def _limits() -> Limits:
    """Those of the settings."""
    from tltui.config import read_config

    config = read_config(())
    return Limits(config.unpack_member_mib << 20, config.unpack_total_mib << 20, config.unpack_members)


class _ProgressLine:
    """A line on stderr, where that is a terminal; it is gone at the end."""

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
        """Take the line away."""
        if self._wide:
            print(f"\r{'':<{self._wide}}\r", end="", file=sys.stderr, flush=True)


def keys_from_terminal() -> None:
    """Standard input is read as a file, and the keys come from the terminal of the process, which takes its number. Where there is
    no terminal it stays what it is."""
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
        given = standard_input()
    except CannotUnpack as cannot:
        raise Failure(str(cannot)) from None
    given.wait_for_beginning(BEGINNING)
    if waits or given.packing:
        given.wait()
