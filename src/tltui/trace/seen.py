"""First lines like earlier ones: their kind and ids are looked up instead of parsed.

Most records of a log are chromium events of the same few call sites. What stands between their time and their md5 is a
key of `known`. Other events differ in their own fields (`describe_tensor`); of those that came before with the same
site, event and ids only the syntax is checked.
"""

from __future__ import annotations

import orjson

from tltui.trace.batch import Kind
from tltui.trace.envelope import NAMED
from tltui.trace.grammar import IDS

STAMP = b"V0000 00:00:00.000000 "
"""The beginning of a first line with all `DIGITS` as 0."""
TIME = len(STAMP)
DIGITS = bytes(ord("0") if chr(code) in "0123456789" else code for code in range(256))
HEX = bytes(ord("0") if chr(code) in "0123456789abcdefABCDEF" else code for code in range(256))
MD5 = b', "has_payload": "'
MD5_END = b"0" * 32 + b'"}'
"""The end of a first line with all `HEX` as 0."""
AFTER_MD5 = len(MD5_END)
MD5_TAIL = len(MD5) + AFTER_MD5
CACHED = 700  # longer envelopes do not repeat
SHAPED = 1 << 15  # the longest envelope of which only the syntax is checked
CACHE_SIZE = 8192

Place = tuple[int, int, bool]
"""Kind, context, whether the record is notable."""


class Seen:
    """What earlier first lines were. A scanner looks into `known` itself, since most of its time passes there."""

    __slots__ = ("_shapes", "known")

    def __init__(self) -> None:
        self.known: dict[bytes, Place] = {}
        """First lines with a payload, without their time and md5."""
        self._shapes: dict[tuple[bytes, bytes], tuple[Place, int, int]] = {}
        """(site and event, ids) → what it was, where its envelope begins, how many keys that has."""

    def familiar(self, line: bytes, declared: bool) -> Place | None:
        """What a line is if one with the same site, event and ids was remembered; None for anything else.

        The event's own fields are not looked at, but the line must be well-formed and hold nothing else. `declared`:
        whether a payload follows, which it must declare then.
        """
        end = len(line)
        if end > SHAPED or line[:TIME].translate(DIGITS) != STAMP:
            return None
        if declared:
            end -= MD5_TAIL
            if not _declares(line, end):
                return None
        head = line.find(b'": ', TIME, CACHED)
        ids = line.rfind(b'}, "', head, end)
        shape = self._shapes.get((line[TIME:head], line[ids:end]))
        if shape is None:
            return None
        place, brace, keys = shape
        try:
            envelope = orjson.loads(line[brace:])
        except orjson.JSONDecodeError:
            return None
        return place if len(envelope) == keys + declared else None

    def remember(self, line: bytes, brace: int, keys: int, kind: Kind, place: Place, declared: bool) -> None:
        """The next line of this site with the same ids need not be taken apart.

        Its envelope begins at `brace` and has `keys` keys.
        """
        if line[:TIME].translate(DIGITS) != STAMP:
            return
        end = len(line)
        if declared:
            end -= MD5_TAIL
            if not _declares(line, end):
                return
            if len(line) < CACHED:
                if len(self.known) >= CACHE_SIZE:
                    self.known.clear()
                self.known[line[TIME:-AFTER_MD5]] = place
        head = line.find(b'": ', TIME, CACHED)
        ids = line.rfind(b'}, "', head, end)
        if kind.event not in NAMED and brace < head < ids and IDS.fullmatch(line, ids, end):
            plain = 1 + line.count(b'": ', ids, end)
            if keys != plain + declared:
                return
            if len(self._shapes) >= CACHE_SIZE:
                self._shapes.clear()
            self._shapes[line[TIME:head], line[ids:end]] = (place, brace, plain)


def _declares(line: bytes, end: int) -> bool:
    """Whether the line ends with an md5 from `end` on."""
    return line.startswith(MD5, end) and line[-AFTER_MD5:].translate(HEX) == MD5_END
