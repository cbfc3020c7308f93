"""A log → batches of columns, fast.

`\\nV` starts a record: an envelope is one line and every payload line begins with a tab, so a region can be cut
with `bytes.split`. That holds for an undamaged log with one writer. A region in which some line begins with neither a tab nor
`V` is walked line by line instead, so that nothing is swallowed into the payload before it.

Most records are chromium events of the same few call sites; what stands between their time and their md5 is looked up in a
dictionary instead of being parsed.
"""

from __future__ import annotations

import re

from tltui.text.payload import ByteSource
from tltui.trace.batch import DECLARED, ORPHAN, Batch, Context, Damage, Kind
from tltui.trace.envelope import METRICS, NOTABLE, context_of, kind_of, metrics_of, started_of, string_of
from tltui.trace.grammar import INNER, PREFIX, only_ids, parse_json

STEP = 1 << 20
"""Bytes read in one step: well below the 20 ms that a step may hold the interpreter."""
LETTER_V, TAB = ord("V"), ord("\t")
MD5 = b', "has_payload": "'
MD5_TAIL = len(MD5) + 34  # with 32 hexadecimal digits, quote and brace
TIME = 21  # `MMDD HH:MM:SS.micros `
CACHED = 700  # longer envelopes do not repeat
SHAPED = 1 << 15  # the longest envelope whose own fields are skipped
CACHE_SIZE = 20_000
CLOSED = -2
ODD_LINE = re.compile(rb"\n[^\tV]")

FACTS = METRICS | {"str", "dynamo_start"}
ORPHANS = "(payload without a record)"
BROKEN = "(broken record)"
FOREIGN = "(not a record)"


class Scanner:
    """Reads one log in steps. `step` may be called until the batch says `finished`."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._read = 0  # bytes read
        self._carry = b""  # the incomplete last line
        self._count = 0  # records found
        self._kinds: dict[Kind, int] = {}
        self._contexts: dict[Context, int] = {}
        self._known: dict[bytes, tuple[int, int, bool]] = {}
        self._shapes: dict[tuple[bytes, bytes], tuple[int, int, bool]] = {}
        self._batch = Batch(0)
        self._pid = 0
        # The last record, as far as it may take further payload lines:
        self._start = 0  # where its payload begins
        self._end = CLOSED  # where it ends so far (exclusive, without the line end)
        self._declared = False  # its envelope says that there is one
        self._blank = False  # an empty line followed, which is part of it if a payload line comes next
        self._hungry = -1  # the number of a record whose declared payload has not come

    def step(self, size: int = STEP) -> Batch:
        """Scan on; the batch of what was found. Raises OSError."""
        self._batch = batch = Batch(self._count)
        data = self._source.read(self._read, size)
        begin = self._read - len(self._carry)
        self._read += len(data)
        if len(data) < size:
            self._region(self._carry + data, begin)
            self._carry = b""
            self._check_end()
            batch.finished = True
        elif cut := data.rfind(b"\n") + 1:
            region, self._carry = self._carry + data[:cut], data[cut:]
            self._region(region, begin)
        else:
            self._carry = self._long_line(data)
        batch.scanned = self._read
        return batch

    def _long_line(self, data: bytes) -> bytes:
        """A line longer than a step: read on in growing pieces, so that it is not copied with every step."""
        parts, size = [self._carry, data], len(data)
        while True:
            size *= 2
            more = self._source.read(self._read, size)
            self._read += len(more)
            parts.append(more)
            if len(more) < size or b"\n" in more:
                break
        whole = b"".join(parts)
        begin = self._read - len(whole)
        cut = whole.rfind(b"\n") + 1
        if cut:
            self._region(whole[:cut], begin)
        return whole[cut:]

    def _region(self, region: bytes, begin: int) -> None:
        """Take whole lines; `begin` is the offset of the first one in the log."""
        if not region:
            return
        body = region[:-1] if region.endswith(b"\n") else region
        goes_on = region[0] == TAB and self._end != CLOSED and self._declared and not self._blank
        if not (goes_on or region[0] == LETTER_V) or ODD_LINE.search(body):
            self._careful(body, begin)
            return
        pieces = body.split(b"\nV")
        if goes_on:
            at = begin + len(pieces[0])
            self._hungry = -1
            self._grow(at)
            at += 1
            del pieces[0]
        else:
            at = begin
            pieces[0] = pieces[0][1:]
        if pieces:
            self._records(pieces, at)

    def _records(self, pieces: list[bytes], at: int) -> None:
        """Take records that begin with `V` (not in the pieces) and hold only tab lines after their first line."""
        batch, known, count = self._batch, self._known, self._count
        columns, members, notable = batch.columns, batch.members, batch.notable
        offsets, heads, sizes = columns.offset.append, columns.head.append, columns.size.append
        kinds, contexts, flags = columns.kind.append, columns.context.append, columns.flags.append
        for piece in pieces:
            length = len(piece)
            eol = piece.find(b"\n")
            if eol < 0:
                eol = length
            tail = eol - MD5_TAIL
            declared = tail > 0 and piece.startswith(MD5, tail)
            if declared != (eol < length):
                hit = None
            elif declared and eol < CACHED:
                hit = known.get(piece[TIME:tail]) or self._familiar(piece, eol, tail)
            else:
                hit = self._familiar(piece, eol, tail if declared else eol)
            if hit is not None:
                kind, context, counted = hit
                offsets(at)
                heads(eol + 1)
                sizes(length - eol - 1 if declared else 0)
                kinds(kind)
                contexts(context)
                flags(DECLARED if declared else 0)
                if context in members:
                    members[context].append(count)
                else:
                    members[context] = [count]
                if counted:
                    notable.append((count, kind))
                count += 1
            else:
                self._count = count
                self._careful(b"V" + piece, at)
                count = self._count
            at += length + 2
        self._count = count
        if hit is not None:
            self._start, self._end = at - length + eol, at - 1
            self._declared, self._blank = declared, False

    def _familiar(self, piece: bytes, eol: int, end: int) -> tuple[int, int, bool] | None:
        """What `_shape` remembered of an earlier record with the same site, event and ids, None for none.

        The event's own fields are not parsed then. A second record inside of the line (a writer that was cut off) is noticed.
        """
        if eol > SHAPED:
            return None
        head = piece.find(b'": ', TIME, CACHED)
        ids = piece.rfind(b'}, "', head, end)
        if head < 0 or ids < 0 or end - ids > CACHED or piece.count(b'] {"', 0, eol) != 1:
            return None
        return self._shapes.get((piece[TIME:head], piece[ids:end]))

    def _careful(self, body: bytes, begin: int) -> None:
        """Take lines one by one. A line is payload, blank, a record, or damage."""
        newline = body.find(b"\n")
        if newline > 0 and body[0] == LETTER_V and body.count(b"\n") == body.count(b"\n\t"):
            # one first line with nothing but payload lines after it: they need not be walked
            self._line(body[:newline], begin)
            self._payload(begin + newline + 1, begin + len(body))
            return
        at = begin
        for line in body.split(b"\n"):
            if line.startswith(b"\t"):
                self._payload(at, at + len(line))
            elif line.strip(b"\r \x00"):
                self._line(line, at)
            elif len(line) <= 1 and self._end == at - 1:
                # part of the payload if a payload line follows (editors trim the lone tab), else nothing
                self._blank = True
            at += len(line) + 1

    def _payload(self, start: int, end: int) -> None:
        """Payload lines from `start` to `end` (exclusive, without the last line end)."""
        blank, self._blank = self._blank, False
        if self._end == CLOSED or (self._end != start - 1 and not blank):
            self._append(start, 0, Kind("", ORPHANS), Context(self._pid), ORPHAN)
            self._damage(start, "payload lines without a record before them")
            self._start, self._declared = start, True
        elif not self._declared:
            self._declared = True
            self._damage(start, "payload lines although the envelope declares none")
        if self._hungry == self._count - 1:
            self._hungry = -1
        self._grow(end)

    def _grow(self, end: int) -> None:
        """The payload of the last record reaches to `end`."""
        record = self._count - 1
        index = record - self._batch.first
        if index >= 0:
            self._batch.columns.size[index] = end - self._start
        else:
            self._batch.resized[record] = end - self._start
        self._end = end

    def _line(self, line: bytes, at: int) -> None:
        """A line that is neither payload nor blank."""
        self._starved()
        self._end, self._blank = CLOSED, False
        match = PREFIX.match(line)
        if match is None:
            if inner := INNER.search(line):
                self._foreign(line[: inner.start()], at)
                self._line(line[inner.start() :], at + inner.start())
            else:
                self._foreign(line, at)
            return
        pid = int(match[8])
        try:
            envelope = parse_json(line[match.end() :].rstrip(b"\x00\r"))
        except ValueError as error:
            if inner := INNER.search(line, match.start(1) + 1):
                self._broken(line[: inner.start()], at, pid, "cut off in the middle of its first line")
                self._line(line[inner.start() :], at + inner.start())
            else:
                self._broken(line, at, pid, f"its envelope is not JSON: {error}"[:160])
            return
        if isinstance(envelope, dict):
            self._record(line, at, pid, envelope)
        else:
            self._broken(line, at, pid, "its envelope is JSON, but not an object")

    def _record(self, line: bytes, at: int, pid: int, envelope: dict[str, object]) -> None:
        """A record with a good envelope."""
        kind = kind_of(envelope)
        context, odd = context_of(envelope, pid)
        self._pid = pid
        declared = "has_payload" in envelope
        record = self._count
        notable = kind.name in NOTABLE or kind.event in NOTABLE
        self._append(at, len(line), kind, context, DECLARED if declared else 0)
        if notable:
            self._batch.notable.append((record, self._kinds[kind]))
        if odd:
            self._damage(at, f"an id is not a whole number: {odd}")
        self._facts(kind.event, envelope.get(kind.event), record, pid)
        if declared:
            self._hungry = record
        self._remember(line, kind, context, notable)
        self._start, self._end, self._declared = at + len(line) + 1, at + len(line), declared

    def _facts(self, event: str, value: object, record: int, pid: int) -> None:
        """What the tree and the statuses need of an envelope."""
        if event == "str":
            if pair := string_of(value):
                self._batch.strings.append((pid, *pair))
        elif event == "dynamo_start":
            self._batch.started.append(started_of(value, record))
        elif event in METRICS and (metrics := metrics_of(event, value, record)):
            self._batch.metrics.append(metrics)

    def _remember(self, line: bytes, kind: Kind, context: Context, notable: bool) -> None:
        """The next record of this site with the same ids need not be parsed."""
        if line[0] != LETTER_V or context.stack or kind.event in FACTS or len(self._known) > CACHE_SIZE:
            return
        tail = len(line) - MD5_TAIL
        declared = line.startswith(MD5, tail)
        place = (self._kinds[kind], self._contexts[context], notable)
        if declared and len(line) < CACHED:
            self._known[line[1 + TIME : tail]] = place
        end = tail if declared else len(line)
        head = line.find(b'": ', TIME, CACHED)
        ids = line.rfind(b'}, "', head, end)
        if not kind.name and 0 < head < ids and end - ids < CACHED and only_ids(line[ids + 3 : end]):
            self._shapes[line[1 + TIME : head], line[ids:end]] = place

    def _broken(self, line: bytes, at: int, pid: int, reason: str) -> None:
        """A line with the prefix of a record and no usable envelope: kept, with the payload that follows."""
        self._append(at, len(line), Kind("", BROKEN), Context(pid), 0)
        self._damage(at, reason)
        self._start, self._end, self._declared = at + len(line) + 1, at + len(line), True

    def _foreign(self, line: bytes, at: int) -> None:
        if line.strip(b"\r \x00"):
            self._append(at, len(line), Kind("", FOREIGN), Context(self._pid), 0)
            self._damage(at, "a line that is no record")

    def _starved(self) -> None:
        """The payload that a record declares did not come."""
        if self._hungry >= 0:
            index = self._hungry - self._batch.first
            at = self._batch.columns.offset[index] if index >= 0 else self._start
            self._batch.damage.append(Damage(at, self._hungry, "its payload is missing"))
            self._hungry = -1

    def _check_end(self) -> None:
        """A job that was killed ends inside its last record."""
        cut_off = self._hungry >= 0
        self._starved()
        if cut_off:
            last = self._batch.damage.pop()
            self._batch.damage.append(last._replace(reason="cut off before its payload: the log ends here"))

    def _append(self, at: int, head: int, kind: Kind, context: Context, flags: int) -> None:
        batch, columns = self._batch, self._batch.columns
        number = self._kinds.get(kind)
        if number is None:
            number = self._kinds[kind] = len(self._kinds)
            batch.kinds.append(kind)
        place = self._contexts.get(context)
        if place is None:
            place = self._contexts[context] = len(self._contexts)
            batch.contexts.append(context)
        columns.offset.append(at)
        columns.head.append(head)
        columns.size.append(0)
        columns.kind.append(number)
        columns.context.append(place)
        columns.flags.append(flags)
        batch.members.setdefault(place, []).append(self._count)
        self._count += 1

    def _damage(self, at: int, reason: str) -> None:
        """Note that something is wrong with the last record."""
        self._batch.damage.append(Damage(at, self._count - 1, reason))
