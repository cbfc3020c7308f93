"""A log → batches of columns, fast.

A record is one first line and the lines after it that begin with a tab. So a region of the log is cut at every line
that does not begin with a tab, with one search: only a real first line can have payload lines, and payloads are never
parsed.

Records of call sites and ids that came before need not be taken apart: headers are cached by the bytes that do not vary.
Everything else goes line by line through `_line`. A part of a log is scanned by itself in another process: it is cut where a
record begins (`parts_of`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from tltui.text.json_codec import JSONDecodeError, loads
from tltui.text.payload import ByteSource, Payload, digest
from tltui.trace.batch import DECLARED, ORPHAN, Batch, Context, Damage, Kind, Tail
from tltui.trace.files import FileBytes, Identity
from tltui.trace.grammar import (
    BEGUN,
    IDS,
    INNER,
    METRICS,
    NAMED,
    NO_RECORD,
    NOT_JSON,
    NOTABLE,
    PREFIX,
    context_of,
    kind_of,
    metrics_of,
    parse_line,
    started_of,
    string_of,
)

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

STEP = 1 << 20
"""Bytes read in one step: well below the 20 ms that a step may hold the interpreter."""
BLOCK = 1 << 18
"""Bytes looked at together: they stay in the processor's cache."""
LINE = re.compile(rb"\n(?=[^\t])")
CLOCK = re.compile(rb"[A-Z](\d{4} \d\d:\d\d:\d\d\.\d{6,}) ")
TAB, NEWLINE = ord("\t"), ord("\n")
ZEROS = bytes(BLOCK)
CLOSED = -2
HELD = 1 << 20
"""Bytes of an incomplete record that are kept; of a longer one the bytes are read again when its end is found."""
CHECKED_TAIL = 16 << 20
LONGEST_REST = 8  # how often the rest of a torn line is tried as one record
T = TypeVar("T", Kind, Context)

FACTS = METRICS | {"str", "dynamo_start"}
ORPHANS = "(payload without a record)"
BROKEN = "(broken record)"
FOREIGN = "(other text)"
CUT_OFF = "cut off in the middle of its first line"
NO_PAYLOAD = "its payload is missing"
ENDS_IN_LINE = "cut off: the log ends inside its first line"
ENDS_BEFORE_PAYLOAD = "cut off before its payload: the log ends here"
ENDS_IN_PAYLOAD = "cut off: the log ends inside its payload"

PART = 8 << 20
"""Bytes of a part: little enough to be done again."""
SLICE = 4 << 20
"""Bytes that a batch is made of."""
SIGHT = 64 << 10
"""Bytes read at once to find the beginning of a record."""
LONGEST = 4 << 20
"""Bytes of a first line at a cut that is still checked."""


class State(NamedTuple):
    """Where a scan has stopped, without its kinds and contexts; another scan can resume there."""

    reached: int
    """Bytes of whole records."""
    records: int
    """The number of records. The fields below are of the last one, to which payload lines may still be added (see `Scanner`)."""
    at: int
    last: int
    start: int
    end: int
    declared: bool
    blank: bool
    awaiting: int
    awaiting_at: int


class Part(NamedTuple):
    """A stretch of a log that is scanned by itself."""

    path: str
    identity: Identity
    begin: int
    """0, or where a record begins."""
    end: int
    """Where a record begins; of the last part of a log the size of the log: then the part ends where the last record begins."""
    is_last: bool


class Scanned(NamedTuple):
    """The scan result of a part."""

    batches: list[Batch]
    """Without `members`; their numbers begin with 0 at the part."""
    state: State


class _HeaderCache:
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


class Scanner:
    r"""Reads one log in steps, also one that is still being written.

    A record is scanned when it is whole: at the next `\nV`, without payload at its newline, with one when its md5 is right. The
    bytes after the last whole record are the *open tail*: they are read again with each step and never damage, until the caller
    knows that the writer has ended (`last`).

    How a log is cut into blocks depends on nothing but the place in the log, so that a scan which begins at a cut
    (`scan_part`) finds what one from the beginning finds.
    """

    def __init__(self, source: ByteSource, begin: int = 0) -> None:
        r"""`begin`: 0, or the place behind a `\n` at which a record begins (`scan_part`)."""
        self._source = source
        self._until: int | None = None  # a step ends here: a record begins at this place
        self._closed = begin  # up to here lines are scanned, or may be
        self._searched = begin  # up to here bytes were searched for the next record
        self._ahead: bytes | None = b""  # those from `_closed` to `_seen`; None where these are many
        self._read = begin  # up to here bytes are scanned, or in `_carry`
        self._carry = b""  # the incomplete last line before `_read`
        self._final = False  # all of the log may be scanned
        self._cut = False  # it does not end at a line end
        self._count = 0  # records so far
        self._kinds: dict[Kind, int] = {}
        self._contexts: dict[Context, int] = {}
        self._context_list: list[Context] = []
        self._headers = _HeaderCache()
        self._batch = Batch(0)
        # The last record, as far as it may take further payload lines:
        self._at = 0  # where it begins
        self._last = 0  # its context
        self._start = 0  # where its payload begins
        self._end = CLOSED  # where it ends so far (exclusive, without the line end)
        self._declared = False  # its envelope says that there is one
        self._blank = False  # an empty line followed, which is part of it if a payload line comes next
        self._awaiting = -1  # the number of a record whose declared payload has not come
        self._awaiting_at = 0

    @property
    def reached(self) -> int:
        """The offset up to which all bytes are in the batches."""
        return self._read - len(self._carry)

    @property
    def state(self) -> State:
        """The state at `reached`, to resume from: after a batch with `waiting`, or at `until`."""
        return State(
            self.reached, self._count, self._at, self._last, self._start, self._end, self._declared, self._blank,
            self._awaiting, self._awaiting_at if self._awaiting >= 0 else 0,
        )  # fmt: skip

    def resume(self, state: State, kinds: Sequence[Kind], contexts: Sequence[Context]) -> None:
        """Resume another scan of these bytes. `kinds` and `contexts` are those of that scan, in its order."""
        self._closed = self._searched = self._read = state.reached
        self._count, self._at, self._last = state.records, state.at, state.last
        self._start, self._end, self._declared, self._blank = state.start, state.end, state.declared, state.blank
        self._awaiting, self._awaiting_at = state.awaiting, state.awaiting_at
        self._kinds = {kind: number for number, kind in enumerate(kinds)}
        self._contexts = {context: number for number, context in enumerate(contexts)}
        self._context_list = list(contexts)

    def step(self, size: int = STEP, last: bool = True, until: int | None = None) -> Batch:
        r"""Scan further and return the batch. Raises OSError.

        With `last` the writer has ended: the end of the log is the end of its last record, and the batch says `finished`. Else it
        says `waiting` when there is nothing more to take for now.
        `until`: no further than this place, at which a record begins behind a `\n`: then `reached` is there.
        """
        self._batch = batch = Batch(self._count)
        self._until = until
        remaining = size
        try:
            while remaining > 0 and not (batch.finished or batch.waiting or self._read == until):
                if self._read < self._closed:
                    remaining -= self._scan_closed(min(BLOCK, self._closed - self._read))
                elif self._final:
                    self._flush()
                    self._finish()
                else:
                    remaining -= self._search(min(BLOCK - self._searched % BLOCK, size), last)
        except OSError:
            if self._count == batch.first:
                raise
            # the records before the error are handed over first; the next step fails again if the file still does
        batch.scanned = self._read
        if (batch.finished or batch.waiting) and self._count:
            match = CLOCK.search(self._source.read(self._at, 80))
            batch.clock = match[1].decode() if match else ""
        return batch

    def _search(self, size: int, last: bool) -> int:
        """Search the next `size` bytes for the beginning of the last record: all before it can be scanned."""
        if self._until is not None:
            size = min(size, self._until - self._searched)
        data = self._source.read(self._searched, size)
        self._searched += len(data)
        if self._searched == self._until:
            if self._ahead is not None:
                self._region(self._ahead + data, self._closed)
                self._read = self._searched
            self._closed, self._ahead = self._searched, b""
            return size
        if len(data) < size and last:
            self._closed, self._final = self._searched, True
            if self._ahead is not None:
                self._carry = self._ahead + data
                self._read = self._searched
            return size
        if self._ahead is not None:
            ahead = self._ahead
            cut = data.rfind(b"\nV") + 1
            if cut or (ahead.endswith(b"\n") and data.startswith(b"V")):
                # joined in one piece: most of the time of a log with large payloads is that of copies
                region = b"".join((ahead, memoryview(data)[:cut])) if cut else ahead
                self._region(region, self._closed)
                self._closed += len(region)
                self._read, self._ahead = self._closed, data[cut:]
            else:
                self._ahead = ahead + data
            if len(self._ahead) > HELD:
                self._ahead = None
        else:
            joint = self._source.read(self._searched - len(data) - 1, 1) + data
            if cut := joint.rfind(b"\nV") + 1:
                self._closed = self._searched = self._searched - len(joint) + cut
                self._ahead = b""
        if len(data) < size:
            self._wait()
        return size

    def _wait(self) -> None:
        """Scan the last record if it is whole. The rest of the open tail is read again in the next step."""
        size = self._searched - self._closed
        if self._is_whole(size):
            if self._ahead is not None:
                self._region(self._ahead, self._closed)
                self._read = self._searched
            self._closed = self._searched
        elif size:
            self._batch.tail = Tail(self._closed, size)
        self._searched, self._ahead = self._closed, b""
        self._batch.waiting = self._read == self._closed

    def _is_whole(self, size: int) -> bool:
        """Return whether the `size` bytes from `_closed` on are one complete record."""
        head = self._source.read(self._closed, min(size, 1 << 16)) if self._ahead is None else self._ahead
        eol = head.find(b"\n")
        if eol < 0 or not head.startswith(b"V"):
            return False
        if eol + 1 == size:
            return b', "has_payload": ' not in head[:eol] and parse_line(head[:eol])[2] is not None
        if self._source.read(self._closed + size - 1, 1) != b"\n" or head[eol - AFTER_MD5 : eol].translate(HEX) != MD5_END:
            return False
        payload = Payload(self._source, self._closed + eol + 1, size - eol - 2, b"\t")
        return digest(payload).md5 == head[eol - AFTER_MD5 : eol - 2].decode().lower()

    def _scan_closed(self, size: int) -> int:
        """Scan the next `size` bytes before `_closed`; the incomplete last line is carried over."""
        data = self._source.read(self._read, size)
        if len(data) < size:  # it has become shorter: whoever follows the log will find out
            self._closed = self._read + len(data)
        begin = self._read - len(self._carry)
        self._read += len(data)
        if cut := data.rfind(b"\n") + 1:
            region, self._carry = self._carry + data[:cut], data[cut:]
            self._region(region, begin)
        else:
            self._long_line(data)
        return size

    def _long_line(self, data: bytes) -> None:
        """Read a line longer than a block piece by piece, and join it once.

        A file that was cut off and written on has blocks of NULs in its hole: they are dropped, and end a line.
        """
        parts, first = [self._carry, data], self._read - len(data) - len(self._carry)
        while self._read < self._closed:
            if parts[-1] == ZEROS[: len(parts[-1])]:
                self._region(b"".join(parts[:-1]), first)
                parts, first = [], self._read
            more = self._source.read(self._read, min(BLOCK, self._closed - self._read))
            if not more:
                break
            self._read += len(more)
            parts.append(more)
            if b"\n" in more:
                break
        lines = b"".join(parts)
        cut = lines.rfind(b"\n") + 1
        self._region(lines[:cut], first)
        self._carry = lines[cut:]

    def _flush(self) -> None:
        """Scan the last line of the log, which may be incomplete."""
        rest, self._carry = self._carry, b""
        self._region(rest, self._read - len(rest))
        self._cut = bool(rest) and rest[-1] != NEWLINE

    def _region(self, region: bytes, begin: int) -> None:
        """Scan whole lines; `begin` is the offset of the first one in the log."""
        if not region:
            return
        size = len(region) - (region[-1] == NEWLINE)
        starts = [match.end() for match in LINE.finditer(region)]
        if region[0] == TAB:
            self._payload(begin, begin + (starts[0] - 1 if starts else size))
        else:
            starts.insert(0, 0)
        if starts:
            starts.append(size + 1)
            self._segments(region, starts, begin)

    def _segments(self, region: bytes, starts: list[int], begin: int) -> None:
        """Scan segments: one line that does not begin with a tab, and the tab lines after it."""
        batch, places, lookup, count, waiting = (
            self._batch, self._headers.places, self._headers.lookup, self._count, self._awaiting >= 0
        )  # fmt: skip
        columns, members, notable = batch.columns, batch.members, batch.notable
        offsets, heads, sizes = columns.offset.append, columns.head.append, columns.size.append
        kinds, contexts, flags = columns.kind.append, columns.context.append, columns.flags.append
        at = starts[0]
        for stop in islice(starts, 1, None):
            last = stop - 1
            eol = region.find(b"\n", at, last)
            if eol >= 0:
                declared = DECLARED
                hit = places.get(region[at + TIME : eol - AFTER_MD5])
                if hit is None:
                    hit = lookup(region[at:eol], True)
                elif (
                    region[at : at + TIME].translate(DIGITS) != STAMP
                    or region[eol - AFTER_MD5 : eol].translate(HEX) != MD5_END
                ):
                    hit = None
            else:
                eol, declared = last, 0
                hit = lookup(region[at:eol], False)
            if hit is None:
                self._count = count
                self._scan_line(region[at:eol], begin + at)
                if eol < last:
                    self._payload(begin + eol + 1, begin + last)
                count, waiting = self._count, self._awaiting >= 0
            else:
                if waiting:
                    self._end_awaiting()
                    waiting = False
                kind, context, counted = hit
                offsets(begin + at)
                heads(eol - at)
                sizes(last - eol - declared)
                kinds(kind)
                contexts(context)
                flags(declared)
                members[context].append(count)
                if counted:
                    notable.append((count, kind))
                count += 1
                self._at, self._start, self._end = begin + at, begin + eol + 1, begin + last
                self._last, self._declared, self._blank = context, declared == DECLARED, False
            at = stop
        self._count = count

    def _scan_line(self, line: bytes, at: int) -> None:
        """Scan a line that does not begin with a tab and whose header is not cached."""
        if line.strip(b"\r \x00"):
            self._line(line, at)
        elif len(line) <= 1 and self._end == at - 1:
            # part of the payload if a payload line follows (editors trim the lone tab), else nothing
            self._blank = True

    def _payload(self, start: int, end: int) -> None:
        """Add payload lines from `start` to `end` (exclusive, without the last line end) to the last record."""
        blank, self._blank = self._blank, False
        if self._end == CLOSED or (self._end != start - 1 and not blank):
            self._end_awaiting()
            self._append(start, 0, Kind("", ORPHANS), Context(self._pid()), ORPHAN)
            self._damage(start, "payload text without a record before it")
            self._start, self._declared = start, True
        elif not self._declared:
            self._declared = True
            self._damage(self._at, "payload text, but the envelope declares no payload")
        if self._awaiting == self._count - 1:
            self._awaiting = -1
        record = self._count - 1
        index = record - self._batch.first
        if index >= 0:
            self._batch.columns.size[index] = end - self._start
        else:
            self._batch.resized[record] = end - self._start
        self._end = end

    def _line(self, line: bytes, at: int) -> None:
        """Parse a line that is neither payload nor blank: a record, damage, or several records whose line ends are lost."""
        pid, brace, envelope, reason = parse_line(line)
        if envelope is not None:
            self._record(line, at, pid, brace, envelope)
            return
        prefix = PREFIX.match(line)
        torn = [match.start() for match in INNER.finditer(line, prefix.start(1) + 1 if prefix else 0)]
        if not torn:
            self._bad(line, at, pid, reason)
            return
        tries = 0
        for lo, hi in zip([0, *torn], [*torn, len(line)], strict=True):
            piece = line[lo:hi]
            pid, brace, envelope, reason = parse_line(piece)
            if envelope is None and lo and hi < len(line) and tries < LONGEST_REST:
                tries += 1
                rest = parse_line(line[lo:])
                if rest[2] is not None:
                    self._record(line[lo:], at + lo, rest[0], rest[1], rest[2])
                    return
            if envelope is None:
                self._bad(piece, at + lo, pid, reason if hi == len(line) or reason == NO_RECORD else CUT_OFF)
            else:
                self._record(piece, at + lo, pid, brace, envelope)
                if hi < len(line):
                    self._damage(at + lo, "its newline is missing")

    def _record(self, line: bytes, at: int, pid: int, brace: int, envelope: dict[str, object]) -> None:
        """Add a record with a good envelope."""
        self._end_awaiting()
        kind = kind_of(envelope)
        context, odd = context_of(envelope, pid)
        declared = envelope.get("has_payload") is not None
        record = self._count
        notable = kind.name in NOTABLE or kind.event in NOTABLE
        self._append(at, len(line), kind, context, DECLARED if declared else 0)
        if notable:
            self._batch.notable.append((record, self._kinds[kind]))
        self._facts(kind.event, envelope.get(kind.event), record, pid)
        if declared:
            self._awaiting, self._awaiting_at = record, at
        self._start, self._end = at + len(line) + 1, at + len(line)
        self._declared, self._blank = declared, False
        if odd:
            self._damage(at, f"an id is not a whole number below 2^63: {odd}")
        elif not context.stack and kind.event not in FACTS:
            place = (self._kinds[kind], self._contexts[context], notable)
            self._headers.put(line, brace, len(envelope), kind, place, declared, pid)

    def _facts(self, event: str, value: object, record: int, pid: int) -> None:
        """Add the fields of an envelope that the tree and the statuses need."""
        if event == "str":
            if pid and (pair := string_of(value)):  # 0 is that of a broken prefix: nobody's string table
                self._batch.strings.append((pid, *pair))
        elif event == "dynamo_start":
            self._batch.started.append(started_of(value, record))
        elif event in METRICS and (metrics := metrics_of(event, value, record)):
            self._batch.metrics.append(metrics)

    def _bad(self, line: bytes, at: int, pid: int, reason: str) -> None:
        """Keep a line without a usable envelope: with the payload that follows where it has the prefix of a record."""
        self._end_awaiting()
        self._end, self._blank = CLOSED, False
        if reason != NO_RECORD:
            self._append(at, len(line), Kind("", BROKEN), Context(pid), 0)
            self._start, self._end, self._declared = at + len(line) + 1, at + len(line), True
        elif line.strip(b"\r \x00"):
            self._append(at, len(line), Kind("", FOREIGN), Context(self._pid()), 0)
        else:
            return
        self._damage(at, reason)

    def take_over(self, batches: list[Batch], state: State) -> None:
        """Continue behind the batches of another scanner, which began where this one ends, at a good record.

        These batches, at least one, are renumbered in place: they get the numbers that records, kinds and contexts have here.
        """
        base, self._batch = self._count, Batch(self._count)
        kinds: list[int] = []
        contexts: list[int] = []
        for batch in batches:
            batch.kinds = _numbered(self._kinds, batch.kinds, kinds)
            batch.contexts = _numbered(self._contexts, batch.contexts, contexts)
            self._context_list += batch.contexts
            batch.renumber(base, kinds, contexts)
        self._end_awaiting()
        batches[0].damage[:0] = self._batch.damage
        self._count = base + state.records
        self._closed = self._searched = self._read = state.reached
        self._ahead = self._carry = b""
        self._at, self._start, self._end = state.at, state.start, state.end
        self._last = contexts[state.last] if contexts else 0
        self._declared, self._blank = state.declared, state.blank
        self._awaiting, self._awaiting_at = state.awaiting + base if state.awaiting >= 0 else -1, state.awaiting_at

    def _end_awaiting(self) -> None:
        """Note that a record lacks the payload that it declares."""
        if self._awaiting >= 0:
            self._batch.damage.append(Damage(self._awaiting_at, self._awaiting, NO_PAYLOAD))
            self._awaiting = -1

    def _finish(self) -> None:
        """End the log: a record that is incomplete now stays so."""
        batch, damage, cut = self._batch, self._batch.damage, self._cut
        if self._awaiting >= 0:
            damage.append(Damage(self._awaiting_at, self._awaiting, ENDS_BEFORE_PAYLOAD))
            self._awaiting = -1
        elif cut and self._end > self._start:
            if self._end == self._read and not self._matches_md5():
                damage.append(Damage(self._at, self._count - 1, ENDS_IN_PAYLOAD))
        elif cut and damage and self._torn(damage[-1]):
            damage[-1] = damage[-1]._replace(reason=ENDS_IN_LINE)
        self._headers = _HeaderCache()
        batch.finished = True

    def _torn(self, damage: Damage) -> bool:
        """Return whether the log ends inside the damaged first line."""
        if damage.record != self._count - 1 or self._at + self._batch.columns.head[-1] != self._read:
            return False
        line = self._source.read(self._at, 4096)
        return damage.reason.startswith(NOT_JSON) or (damage.reason == NO_RECORD and bool(BEGUN.fullmatch(line)))

    def _matches_md5(self) -> bool:
        """Return whether the payload of the last record, at the end of the log, matches its md5. A large one is not read."""
        size = self._end - self._start
        line = self._source.read(self._at, max(self._start - self._at - 1, 0))
        tail = line[-AFTER_MD5:]
        if size > CHECKED_TAIL or tail.translate(HEX) != MD5_END:
            return True
        return digest(Payload(self._source, self._start, size, b"\t")).md5 == tail[:32].decode().lower()

    def _pid(self) -> int:
        """Return the process that wrote the last record; 0 before the first."""
        return self._context_list[self._last].pid if self._context_list else 0

    def _append(self, at: int, head: int, kind: Kind, context: Context, flags: int) -> None:
        batch, columns = self._batch, self._batch.columns
        number = self._kinds.get(kind)
        if number is None:
            number = self._kinds[kind] = len(self._kinds)
            batch.kinds.append(kind)
        place = self._contexts.get(context)
        if place is None:
            place = self._contexts[context] = len(self._contexts)
            self._context_list.append(context)
            batch.contexts.append(context)
        columns.offset.append(at)
        columns.head.append(head)
        columns.size.append(0)
        columns.kind.append(number)
        columns.context.append(place)
        columns.flags.append(flags)
        batch.members[place].append(self._count)
        self._at, self._last = at, place
        self._count += 1

    def _damage(self, at: int, reason: str) -> None:
        """Note that something is wrong with the last record."""
        self._batch.damage.append(Damage(at, self._count - 1, reason))


def _numbered(numbers: dict[T, int], theirs: list[T], table: list[int]) -> list[T]:
    """Add a number for each of `theirs` that has none yet; return these. The numbers of all go to `table`."""
    new = []
    for key in theirs:
        if key not in numbers:
            numbers[key] = len(numbers)
            new.append(key)
        table.append(numbers[key])
    return new


def parts_of(source: FileBytes, size: int) -> Iterator[Part]:
    """Yield the parts of a log that has `size` bytes so far. Ends where the log cannot be read."""
    assert source.identity is not None
    begin = 0
    try:
        for cut in cuts(source, size, PART):
            yield Part(source.path, source.identity, begin, cut, False)
            begin = cut
    except OSError:
        return
    yield Part(source.path, source.identity, begin, size, True)


def cuts(source: ByteSource, size: int, part: int) -> Iterator[int]:
    r"""Yield cuts of a log: behind the first `\n` before a `V` in every `part` bytes. Reads only near each. Raises OSError."""
    for edge in range(part, size, part):
        at = next_record(source, edge, min(edge + part, size))
        if at is not None:
            yield at


def next_record(source: ByteSource, begin: int, end: int) -> int | None:
    r"""Return the first offset after `begin` at which a line begins with `V`, up to the byte before `end`. Raises OSError."""
    at = begin
    while at + 1 < end:
        data = source.read(at, min(SIGHT, end - at))
        at_v = data.find(b"\nV")
        if at_v >= 0:
            return at + at_v + 1
        if len(data) < min(SIGHT, end - at):
            return None
        at += len(data) - 1
    return None


def last_record(source: ByteSource, begin: int, end: int) -> int | None:
    r"""Return the last such offset. Raises OSError."""
    stop = end
    while stop > begin + 1:
        start = max(stop - SIGHT, begin)
        at_v = source.read(start, stop - start).rfind(b"\nV")
        if at_v >= 0:
            return start + at_v + 1
        if start == begin:
            return None
        stop = start + 1
    return None


def scan_part(part: Part) -> Scanned | None:
    """Scan a part; None where the scan depends on the bytes before it. Raises OSError."""
    source = FileBytes(part.path)
    source.identity = part.identity
    end = last_record(source, part.begin, part.end) if part.is_last else part.end
    if end is None or (part.begin and not _begins_well(source, part.begin, end)):
        return None
    scanner = Scanner(source, part.begin)
    batches: list[Batch] = []
    while scanner.reached < end:
        batch = scanner.step(SLICE, False, end)
        if batch.waiting:
            return None  # it has become shorter
        batch.members.clear()
        batches.append(batch)
    return Scanned(batches, scanner.state) if batches else None


def _begins_well(source: ByteSource, begin: int, end: int) -> bool:
    """Return whether the line at a cut is a record as torch writes it. The end of a line with NULs is known to the scanner only."""
    line, at = b"", begin
    while at < min(end, begin + LONGEST):
        data = source.read(at, min(SIGHT, end - at))
        eol = data.find(b"\n")
        line += data if eol < 0 else data[:eol]
        if eol >= 0:
            return b"\x00" not in line and parse_line(line)[2] is not None
        if not data:
            return False
        at += len(data)
    return False
