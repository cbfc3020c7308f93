"""Cache of parsed envelope headers, keyed by the bytes that do not vary."""

from __future__ import annotations

from tltui.text.json_codec import JSONDecodeError, loads
from tltui.trace.batch import Kind
from tltui.trace.grammar import IDS, NAMED

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


class HeaderCache:
    """A cache of parsed first lines. A scanner reads `places` directly, since most of its time passes there.

    A line is a front (site, event and the event's own fields) and ids. Fronts and ids repeat more often than full lines: each
    compile has new ids, but its records have fronts that came before.
    """

    __slots__ = ("_fronts", "_heads", "_ids", "places")

    def __init__(self) -> None:
        self.places: dict[bytes, Place] = {}
        """First lines with a payload, without their time and md5."""
        self._fronts: dict[bytes, tuple[int, bool, int]] = {}
        """Site, event and its fields → kind, whether notable, process."""
        self._heads: dict[bytes, tuple[int, bool, int, int]] = {}
        """Site and event → kind, whether notable, process, where the envelope begins; of events whose fields differ."""
        self._ids: dict[tuple[int, bool, bytes], tuple[int, int]] = {}
        """Process, whether a payload follows, ids → context, and how many keys the ids have."""

    def lookup(self, line: bytes, declared: bool) -> Place | None:
        """Return the place of a line with cached site, event and ids; None for anything else.

        Where only site and event are cached, its own fields are not inspected, but the line must be well-formed and hold nothing
        else. `declared`: whether a payload follows, which it must declare then.
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
        if head < 0 or ids < 0:
            return None
        front = self._fronts.get(line[TIME:ids]) if ids < CACHED else None
        if front is not None:
            kind, notable, pid = front
            id_place = self._ids.get((pid, declared, line[ids:end]))
            if id_place is None:
                return None
            place = (kind, id_place[0], notable)
            if declared and len(line) < CACHED:
                self._put_line(line, place)
            return place
        heads = self._heads.get(line[TIME:head])
        id_place = self._ids.get((heads[2], declared, line[ids:end])) if heads is not None else None
        if heads is None or id_place is None:
            return None
        try:
            envelope = loads(line[heads[3] :])
        except JSONDecodeError:
            return None
        return (heads[0], id_place[0], heads[1]) if len(envelope) == 1 + id_place[1] + declared else None

    def put(self, line: bytes, brace: int, keys: int, kind: Kind, place: Place, declared: bool, pid: int) -> None:
        """Cache the site with these fields, and these ids, so that the next such line need not be parsed.

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
                self._put_line(line, place)
        head = line.find(b'": ', TIME, CACHED)
        ids = line.rfind(b'}, "', head, end)
        if not brace < head < ids or not IDS.fullmatch(line, ids, end):
            return
        plain = line.count(b'": ', ids, end)
        if keys != 1 + plain + declared:
            return
        for table in (self._fronts, self._heads, self._ids):
            if len(table) >= CACHE_SIZE:
                table.clear()
        self._ids[pid, declared, line[ids:end]] = (place[1], plain)
        if ids < CACHED:
            self._fronts[line[TIME:ids]] = (place[0], place[2], pid)
        if kind.event not in NAMED:
            self._heads[line[TIME:head]] = (place[0], place[2], pid, brace)

    def _put_line(self, line: bytes, place: Place) -> None:
        if len(self.places) >= CACHE_SIZE:
            self.places.clear()
        self.places[line[TIME:-AFTER_MD5]] = place


def _declares(line: bytes, end: int) -> bool:
    """Whether the line ends with an md5 from `end` on."""
    return line.startswith(MD5, end) and line[-AFTER_MD5:].translate(HEX) == MD5_END
