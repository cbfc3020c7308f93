"""Regular expressions: smart case, linearity, and matching in a child process that can be ended."""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import sys
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any

from tltui.text.search import matcher
from tltui.text.torch_names import either

_SYNTAX = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{[^}]*\}|.)|\(\?P[<=>][^<=>()]*[>)]", re.DOTALL)


def heeds_case(pattern: str) -> bool:
    """Return whether a pattern is case-sensitive: whether its text has a capital."""
    return any(letter.isupper() for letter in _SYNTAX.sub(_character, pattern))


def _character(match: re.Match[str]) -> str:
    number = match[1] or match[2] or match[3]
    return chr(int(number, 16)) if number and int(number, 16) <= 0x10FFFF else ""


def flags_of(pattern: str) -> int:
    """Return the flags of a pattern for `re.compile`."""
    return 0 if heeds_case(pattern) else re.IGNORECASE


@lru_cache(maxsize=64)
def compiled(text: str) -> re.Pattern[str]:
    """Compile a regular expression; an invalid one is matched literally.

    The name of a resume function after a graph break matches both of its names.
    """
    try:
        re.compile(text)  # as it was typed: what is wrong in it is not mended
        return re.compile(either(text), flags_of(text))
    except (re.error, OverflowError, RecursionError):
        return re.compile(re.escape(text), 0 if any(letter.isupper() for letter in text) else re.IGNORECASE)


if sys.version_info >= (3, 11):
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_parse as parser

CHOICES = 64
"""Ways to match at one place that a simple expression may have at most."""
_BY_LINE = re.compile(r"\(\?[=!<>(]|\(\?[aiLmux-]*[sx]|\\[AZzWDNsx0-7nrtfvuU]|\[\^|[*+?}]\+|\[[^\]]*[\\\x00-\x1f]|\n")
"""What may behave otherwise, or run on and on, when more than one line is in sight."""
_ONE = frozenset(("LITERAL", "NOT_LITERAL", "IN", "ANY", "RANGE", "CATEGORY"))
"""What stands for one character."""


class _NotSimpleError(Exception):
    """The expression may try more ways than it is worth to count."""


def is_by_line(source: str) -> bool:
    """Whether an expression must see one line at a time."""
    return _BY_LINE.search(source) is not None


@lru_cache(maxsize=64)
def is_simple(pattern: re.Pattern[Any]) -> bool:
    """Whether the time that it takes is sure to grow with the text only, at most `CHOICES` times its length.

    A repeat without end is simple where nothing follows that could fail. Everything else (`.*x`, `(a+)+$`, references back)
    may need the square of a line's length or far more, and while it runs no other thread does.
    """
    try:
        _choices(parser.parse(pattern.pattern, pattern.flags).data, True)
    except (_NotSimpleError, re.error, RecursionError, ValueError):
        return False
    return True


def _choices(parts: Sequence[Any], is_last: bool) -> int:
    """Ways in which a sequence can match at one place. Raises `_NotSimpleError`."""
    paths = 1
    for place, (code, argument) in enumerate(parts):
        name = str(code)
        ends = is_last and place == len(parts) - 1
        if name in _ONE or name == "AT":
            continue
        if name == "SUBPATTERN":
            paths *= _choices(argument[-1].data, ends)
        elif name == "BRANCH":
            paths *= sum(_choices(branch.data, ends) for branch in argument[1])
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, inside = argument
            paths *= _repeated(least, most, inside.data, ends)
        else:
            raise _NotSimpleError
        if paths > CHOICES:
            raise _NotSimpleError
    return paths


def _repeated(least: int, most: int, parts: Sequence[Any], is_last: bool) -> int:
    if len(parts) == 1 and str(parts[0][0]) in _ONE:
        return 1 if is_last or least == most else int(most) - int(least) + 1
    if int(most) == 1:
        return 1 + _choices(parts, False)
    raise _NotSimpleError


BLOCK = 256 << 10
"""Bytes or characters that are given to the process at once."""
WAIT = 0.01
"""Seconds of waiting before the word goes back to whoever asked."""


class ChildEndedError(OSError):
    """The process that matches ended by itself."""


_running: set[subprocess.Popen[bytes]] = set()
"""Those that were started and not ended, by whatever `Child`."""


def end_all() -> None:
    """End all children at program exit, also those that have not been closed."""
    for process in tuple(_running):
        process.kill()


class Child:
    """A process for `pattern`, ended with the `with` block.

    `multiline`: the same for many lines at once, None where it may only run line by line.
    """

    def __init__(self, pattern: re.Pattern[Any], multiline: re.Pattern[Any] | None = None) -> None:
        self._pattern = pattern
        self._multiline = multiline
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
        """Return the hits in the lines of a block, four numbers each (`matcher.ANSWER`); yield while waiting for them.

        `at` is the start column of the search in the first line.
        """
        data = block.encode("utf-8", "surrogatepass") if isinstance(block, str) else block
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(matcher.ASK.pack(len(data), at) + data)
            process.stdin.flush()
        except BrokenPipeError:
            raise ChildEndedError("the search process died while it matched the pattern") from None
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
        many, many_flags = _stored(self._multiline) if self._multiline is not None else (b"", 0)
        is_bytes = isinstance(self._pattern.pattern, bytes)
        return matcher.FIRST.pack(is_bytes, flags, len(stored), self._multiline is not None, many_flags, len(many)) + stored + many


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
                raise ChildEndedError("the search process died while it matched the pattern")
            parts.append(data)
            size -= len(data)
    return b"".join(parts)


def in_lines(pattern: re.Pattern[str], lines: Iterable[tuple[int, str]], back: bool) -> Iterator[tuple[int, int, int] | None]:
    """Yield (line, begin, end) of the hits in numbered lines, in a line from right to left with `back`.

    None now and then, while the process for a pattern that is not simple is at work.
    """
    if is_simple(pattern):
        for number, text in lines:
            in_line = [(number, *hit) for hit in matcher.in_line(pattern, text)]
            yield from reversed(in_line) if back else in_line
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
