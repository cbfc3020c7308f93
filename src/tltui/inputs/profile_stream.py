"""The bytes of a profile as a stream of events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Protocol

from tltui.text.json_codec import JSONDecodeError, loads

BLOCK = 1 << 20
"""Bytes that are read at a time."""
LONGEST = 16 << 20
"""Bytes of one event, or of what stands beside the events, that are looked at."""
GUESSES = 6
_BETWEEN = re.compile(rb"\}\s*,\s*\{")
_AGAIN = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts)"\s*:)')
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}"]', re.DOTALL)
"""A string, a bracket, or the beginning of a string that goes on."""
_KEY = re.compile(rb"\s*:\s*")
_BLANK = b" \t\r\n"
_SCALAR = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,\[\]{}"]+', re.DOTALL)
_SKIP = re.compile(rb"[\s,]*")


_LONG = re.compile(rb'"ts"\s*:\s*\d{14,}\.\d')
_TIME = re.compile(rb'("(?:ts|dur)"\s*:\s*)(\d{1,18}\.\d{1,3})(?=\s*[,}])')


class Source(Protocol):
    """Bytes that are read from front to end."""

    def read(self, size: int, /) -> bytes:
        """At most so many, none at the end."""


class Events:
    """The events of an open file. Not to be used twice."""

    def __init__(self, file: Source, block: int = BLOCK) -> None:
        self._file, self._block = file, block
        self._rest = b""
        self._is_over = False
        """Whether the file has come to its end."""
        self.head: dict[str, Any] = {}
        """What stands beside the events, as far as it is read."""
        self.damaged = 0
        self.is_cut = False
        """Whether the file ends before it is whole."""
        self.taken = 0
        """Bytes that were read, unpacked."""
        self._is_long: bool | None = None
        """Whether times have more digits than a float: those since the epoch, of torch 2.3 and before. They are made text."""
        self._depth = 0
        """Brackets that are open around what is read."""

    def blocks(self) -> Iterator[list[Any]]:
        """Yield the events, some thousands at a time; [] for a piece of the file without a complete event."""
        while self._to_list():
            yield from self._list()

    # beside the events

    def _more(self) -> bool:
        """Read on; False at the end of the file."""
        data = self._file.read(self._block)
        self._is_over = not data
        self.taken += len(data)
        self._rest += data
        return bool(data)

    def _to_list(self) -> bool:
        """Seek to the beginning of the next list of events and keep the text before it; return False if there is none."""
        depth, at = self._depth, 0
        while True:
            for match in _TOKEN.finditer(self._rest, at):
                token = match[0]
                if token == b'"':
                    break  # a string that goes on
                if token in (b"{", b"["):
                    depth += 1
                elif token in (b"}", b"]"):
                    depth -= 1
                elif depth <= 1 and token == b'"traceEvents"':
                    colon = _KEY.match(self._rest, match.end())
                    if colon is None and not self._rest[match.end() :].strip(_BLANK):
                        break
                    if colon is not None and colon.end() >= len(self._rest):
                        break
                    if colon is not None and self._rest[colon.end() : colon.end() + 1] == b"[":
                        self._keep(self._rest[: match.start()])
                        self._rest, self._depth = self._rest[colon.end() + 1 :], 1
                        return True
                at = match.end()
            if len(self._rest) > LONGEST:
                self._rest, at, depth = b"", 0, 1  # nobody's profile: what it is does not matter
            if not self._more():
                self._keep(self._rest)
                self.is_cut |= depth > 0
                self._rest = b""
                return False

    def _keep(self, text: bytes) -> None:
        """Keys and values of the object around the events."""
        text = text.removeprefix(b"\xef\xbb\xbf").strip(_BLANK + b",")
        text = text if text.startswith(b"{") else b"{" + text
        for end in (b"", b"}"):
            value = _parsed(text + end)
            if isinstance(value, dict):
                self.head.update(value)
                return

    # the events

    def _list(self) -> Iterator[list[Any]]:
        """Events up to the end of the list."""
        while True:
            block = self._guessed()
            if block is None:
                block, is_end = self._walked()
                yield block
                if is_end:
                    return
            else:
                yield block
            if not self._more():
                block, is_end = self._walked()
                yield block
                self.is_cut |= not is_end
                self._rest = self._rest if is_end else b""
                return

    def _guessed(self) -> list[Any] | None:
        """Parse complete events up to the last probable boundary between two events; None if no boundary fits."""
        end = len(self._rest)
        for _ in range(GUESSES):
            at = max(end - (1 << 16), 0)
            places = [match.start() for match in _BETWEEN.finditer(self._rest, at, end)]
            if not places:
                return None
            for place in reversed(places[-2:]):
                try:
                    events = loads(b"[" + self._timed(self._rest[: place + 1]).lstrip(_BLANK + b",") + b"]")
                except JSONDecodeError:
                    continue
                self._rest = self._rest[place + 1 :]
                return events  # type: ignore[no-any-return]
            end = places[0] + 1
        return None

    def _timed(self, text: bytes) -> bytes:
        if self._is_long is None:
            self._is_long = _LONG.search(text, 0, 1 << 16) is not None
        return _TIME.sub(rb'\1"\2"', text) if self._is_long else text

    def _walked(self) -> tuple[list[Any], bool]:
        """Parse complete events one by one; return them and whether the list has ended."""
        events: list[Any] = []
        at = 0
        while True:
            at = _SKIP.match(self._rest, at).end()  # type: ignore[union-attr]
            sign = self._rest[at : at + 1]
            if sign == b"]":
                self._rest = self._rest[at + 1 :]
                return events, True
            end = _end(self._rest, at) if sign in (b"{", b"[") else -1
            event = _parsed(self._timed(self._rest[at:end])) if end > 0 else None
            if event is not None:
                events.append(event)
                at = end
                continue
            scalar = _SCALAR.match(self._rest, at) if end < 0 and sign not in (b"{", b"[") else None
            if scalar is not None and scalar.end() < len(self._rest):
                events.append(None)  # no object, so no event
                at = scalar.end()
                continue
            again = _AGAIN.search(self._rest, at) if sign else None
            if again is None:
                break
            self.damaged += 1
            at = again.end()
        if len(self._rest) - at > LONGEST:
            self.damaged += 1
            at = len(self._rest)
        self._rest = self._rest[at:]
        return events, False


def _end(text: bytes, at: int) -> int:
    """Return the end of the value that begins at a bracket; -1 where the text ends before."""
    depth = 0
    for match in _TOKEN.finditer(text, at):
        token = match[0]
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return match.end()
        elif token == b'"':
            return -1
    return -1


def _parsed(text: bytes) -> Any:
    """Parse a value; None if it is invalid. NaN, control characters and bytes that are not UTF-8 are accepted."""
    try:
        return loads(text)
    except JSONDecodeError:
        pass
    try:
        return json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
