"""Regular expression search over many lines, and its worker program.

An expression that backtracks holds the interpreter: no other thread runs, and no key is handled. So an expression that is not
simple (`byte_search.py`) runs in a child (`child_process.py`), which is this file, started by its path: it imports the standard
library only. The child ends when its standard input does, also in the middle of a match.
"""

from __future__ import annotations

import os
import re
import select
import signal
import struct
import sys
from array import array
from collections.abc import Iterator
from typing import Any, BinaryIO

FIRST = struct.Struct(">?iI?iI")
"""Whether of bytes; flags and size of the pattern; whether there is one for whole blocks; its flags and size."""
ASK = struct.Struct(">QI")
"""Size of a block; the column at which its first line is looked at."""
ANSWER = struct.Struct(">Q")
"""How many numbers follow: four for each hit. Number of the line, its offset in the block, begin and end in the line."""
LOOK = 0.2
"""Seconds between two looks at whether the parent is still there."""


def in_bytes(text: bytes, pattern: re.Pattern[bytes], is_whole: bool) -> Iterator[tuple[int, int, int, int]]:
    """Yield (begin of line, its end, begin of hit, its end): the first hit of each matching line.

    `is_whole`: the expression may run over all lines at once, which is quicker, but one that runs on over line ends would do so
    from each line.
    """
    at = 0
    while at <= len(text):
        match = pattern.search(text, at) if is_whole else None
        if is_whole and match is None:
            return
        start = match.start() if match is not None else at
        line = text.rfind(b"\n", 0, start) + 1
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        if match is None or not match.start() < match.end() <= end:
            # what runs over the end of a line, or is empty, may still be a hit within the line
            match = first_in(pattern, text, line, end)
        if match is not None:
            yield line, end, match.start(), match.end()
        at = end + 1


def first_in(pattern: re.Pattern[bytes], text: bytes, start: int, end: int) -> re.Match[bytes] | None:
    """Return the first non-empty hit in a part of a text."""
    return next((match for match in pattern.finditer(text, start, end) if match.end() > match.start()), None)


def in_line(pattern: re.Pattern[str], line: str, at: int = 0) -> Iterator[tuple[int, int]]:
    """All hits in a line."""
    return ((m.start(), m.end()) for m in pattern.finditer(line, at) if m.end() > m.start())


def in_text(text: str, pattern: re.Pattern[str], multiline: re.Pattern[str] | None, at: int = 0) -> Iterator[tuple[int, int, int]]:
    """Yield (line, begin, end) of all hits in the lines of a text.

    `whole` is the same expression for many lines at once: its matches only select lines; the hits are those of the line by itself.
    """
    if multiline is None:
        for n, line in enumerate(text.split("\n")):
            for start, stop in in_line(pattern, line, 0 if n else at):
                yield n, start, stop
        return
    position, counted, n = at, 0, 0
    while match := multiline.search(text, position):
        n += text.count("\n", counted, match.start())
        counted = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.start())
        end = len(text) if end < 0 else end
        for start, stop in in_line(pattern, text[counted:end], 0 if n else at):
            yield n, start, stop
        if end == len(text):
            return
        n, position, counted = n + 1, end + 1, end + 1


def serve(source: BinaryIO, out: BinaryIO) -> None:
    """Answer until there is nothing more to read."""
    is_bytes, flags, size, has_whole, whole_flags, whole_size = FIRST.unpack(source.read(FIRST.size))
    stored, stored_whole = source.read(size), source.read(whole_size)
    pattern = _pattern(is_bytes, stored, flags)
    multiline = _pattern(is_bytes, stored_whole, whole_flags) if has_whole else None
    while len(head := source.read(ASK.size)) == ASK.size:
        size, at = ASK.unpack(head)
        block = source.read(size)
        hits: array[int] = array("q")
        if is_bytes:
            number = counted = 0
            for line, _, start, stop in in_bytes(block, pattern, multiline is not None):
                number += block.count(b"\n", counted, line)
                counted = line
                hits.extend((number, line, start - line, stop - line))
        else:
            for number, start, stop in in_text(block.decode("utf-8", "surrogatepass"), pattern, multiline, at):
                hits.extend((number, 0, start, stop))
        out.write(ANSWER.pack(len(hits)) + hits.tobytes())
        out.flush()


def _pattern(is_bytes: bool, stored: bytes, flags: int) -> re.Pattern[Any]:
    return re.compile(stored, flags) if is_bytes else re.compile(stored.decode("utf-8", "surrogatepass"), flags)


def _watch(source: int) -> None:
    """End with the parent: `re` looks for signals while it backtracks, and for nothing else."""
    poll = select.poll()
    poll.register(source, 0)  # whether nobody can write to us any more

    def check(number: int, frame: object) -> None:
        if poll.poll(0):
            os._exit(0)

    signal.signal(signal.SIGALRM, check)
    signal.setitimer(signal.ITIMER_REAL, LOOK, LOOK)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _watch(sys.stdin.fileno())
    serve(sys.stdin.buffer, sys.stdout.buffer)
