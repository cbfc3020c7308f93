"""A process that matches one regular expression, so that it can be ended whatever the expression does.

It is started when the first block is given to it. Whoever waits for an answer gets the word in between: `ask` is a generator.
"""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import sys
from array import array
from collections.abc import Generator, Iterable, Iterator
from types import TracebackType
from typing import Any

from tltui.text.search import matcher
from tltui.text.search.pattern import is_simple

BLOCK = 256 << 10
"""Bytes or characters that are given to the process at once."""
WAIT = 0.01
"""Seconds of waiting before the word goes back to whoever asked."""


class ChildEndedError(OSError):
    """The process that matches ended by itself."""


_running: set[subprocess.Popen[bytes]] = set()
"""Those that were started and not ended, by whatever `Child`."""


def end_all() -> None:
    """End all of them: for a program that is left, which may not have got round to closing what it made last."""
    for process in tuple(_running):
        process.kill()


class Child:
    """A process for `pattern`, ended with the `with` block. `whole`: the same for many lines at once, None where it may only
    run line by line."""

    def __init__(self, pattern: re.Pattern[Any], whole: re.Pattern[Any] | None = None) -> None:
        self._pattern = pattern
        self._whole = whole
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End it at once, whatever it does."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        _running.discard(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was not sent is not wanted any more
                    continue

    def ask(self, block: bytes | str, at: int = 0) -> Generator[None, None, array[int]]:
        """The hits in the lines of a block, four numbers each (`matcher.ANSWER`); yields while it waits for them.

        `at` is the column at which the first line is looked at.
        """
        data = block.encode("utf-8", "surrogatepass") if isinstance(block, str) else block
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(matcher.ASK.pack(len(data), at) + data)
            process.stdin.flush()
        except BrokenPipeError:
            raise ChildEndedError("the process that matches the pattern ended") from None
        head = yield from _read(process.stdout.fileno(), matcher.ANSWER.size)
        numbers: array[int] = array("q")
        count = matcher.ANSWER.unpack(head)[0]
        numbers.frombytes((yield from _read(process.stdout.fileno(), count * numbers.itemsize)))
        return numbers

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            command = [sys.executable, "-I", "-S", matcher.__file__]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            _running.add(self._process)
            assert self._process.stdin is not None
            self._process.stdin.write(self._first())
        return self._process

    def _first(self) -> bytes:
        stored, flags = _stored(self._pattern)
        whole, whole_flags = _stored(self._whole) if self._whole is not None else (b"", 0)
        is_bytes = isinstance(self._pattern.pattern, bytes)
        return matcher.FIRST.pack(is_bytes, flags, len(stored), self._whole is not None, whole_flags, len(whole)) + stored + whole


def _stored(pattern: re.Pattern[Any]) -> tuple[bytes, int]:
    source = pattern.pattern
    return source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass"), pattern.flags


def _read(file: int, size: int) -> Generator[None, None, bytes]:
    """So many bytes of a pipe."""
    parts: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(file, selectors.EVENT_READ)
        while size:
            if not selector.select(WAIT):
                yield
                continue
            data = os.read(file, min(size, 1 << 20))
            if not data:
                raise ChildEndedError("the process that matches the pattern ended")
            parts.append(data)
            size -= len(data)
    return b"".join(parts)


def in_lines(pattern: re.Pattern[str], lines: Iterable[tuple[int, str]], back: bool) -> Iterator[tuple[int, int, int] | None]:
    """(line, begin, end) of the hits in numbered lines, in a line from right to left with `back`. None now and then, while
    the process for a pattern that is not simple is at work."""
    if is_simple(pattern):
        for number, text in lines:
            found = [(number, *hit) for hit in matcher.in_line(pattern, text)]
            yield from reversed(found) if back else found
        return
    with Child(pattern) as child:
        for numbers, block in _blocks(lines):
            answer = yield from child.ask(block)
            hits = [(numbers[answer[n]], answer[n + 2], answer[n + 3]) for n in range(0, len(answer), 4)]
            hits.sort(key=lambda hit: (-hit[0], -hit[1]) if back else (hit[0], hit[1]))
            yield from hits


def _blocks(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[list[int], str]]:
    numbers: list[int] = []
    texts: list[str] = []
    size = 0
    for number, text in lines:
        numbers.append(number)
        texts.append(text)
        size += len(text) + 1
        if size >= BLOCK:
            yield numbers, "\n".join(texts)
            numbers, texts, size = [], [], 0
    if numbers:
        yield numbers, "\n".join(texts)
