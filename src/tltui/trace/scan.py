"""A log → batches of columns, fast.

A record is one first line and the lines after it that begin with a tab. So a region of the log is cut at every line
that does not begin with a tab, with one search: nothing but a real first line can take payload lines, and payloads
are never looked at.

Records of call sites and ids that came before need not be taken apart (`tltui.trace.header_cache`). Everything else goes line
by line through `_line`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from tltui.text.payload import ByteSource, Payload
from tltui.trace.batch import DECLARED, ORPHAN, Batch, Context, Damage, Kind, Tail
from tltui.trace.digest import digest
from tltui.trace.envelope import METRICS, NOTABLE, context_of, kind_of, metrics_of, started_of, string_of
from tltui.trace.grammar import BEGUN, INNER, NO_RECORD, NOT_JSON, PREFIX, parse_line
from tltui.trace.header_cache import AFTER_MD5, DIGITS, HEX, MD5_END, STAMP, TIME, Seen

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
FOREIGN = "(not a record)"
CUT_OFF = "cut off in the middle of its first line"
NO_PAYLOAD = "its payload is missing"
ENDS_IN_LINE = "cut off: the log ends inside its first line"
ENDS_BEFORE_PAYLOAD = "cut off before its payload: the log ends here"
ENDS_IN_PAYLOAD = "cut off: the log ends inside its payload"


class State(NamedTuple):
    """Where a scan has stopped, besides the kinds and contexts that it has found: it can go on from there."""

    reached: int
    """Bytes of whole records."""
    taken: int
    """Records. The others are of the last one, as far as it may take further payload lines (see `Scanner`)."""
    at: int
    last: int
    start: int
    end: int
    declared: bool
    blank: bool
    hungry: int
    hungry_at: int


class Scanner:
    r"""Reads one log in steps, also one that is still being written.

    A record is taken when it is known to be whole: at the next `\nV`, without payload at its newline, with one when its md5 is
    right. What stands after the last record that is whole is the *open tail*: it is looked at again with each step and never
    damage, until the caller knows that the writer has ended (`last`).

    How a log is cut into blocks depends on nothing but the place in the log, so that a scan which begins at a cut
    (`tltui.trace.log_chunks`) finds what one from the beginning finds.
    """

    def __init__(self, source: ByteSource, begin: int = 0) -> None:
        r"""`begin`: 0, or the place behind a `\n` at which a record begins (`tltui.trace.log_chunks`)."""
        self._source = source
        self._until: int | None = None  # a step ends here: a record begins at this place
        self._closed = begin  # up to here lines are taken, or may be
        self._seen = begin  # up to here bytes have been looked at for the next record
        self._ahead: bytes | None = b""  # those from `_closed` to `_seen`; None where these are many
        self._read = begin  # up to here bytes are taken, or in `_carry`
        self._carry = b""  # the incomplete last line before `_read`
        self._final = False  # all of the log may be taken
        self._cut = False  # it does not end at a line end
        self._count = 0  # records found
        self._kinds: dict[Kind, int] = {}
        self._contexts: dict[Context, int] = {}
        self._context_list: list[Context] = []
        self._seen_lines = Seen()
        self._batch = Batch(0)
        # The last record, as far as it may take further payload lines:
        self._at = 0  # where it begins
        self._last = 0  # its context
        self._start = 0  # where its payload begins
        self._end = CLOSED  # where it ends so far (exclusive, without the line end)
        self._declared = False  # its envelope says that there is one
        self._blank = False  # an empty line followed, which is part of it if a payload line comes next
        self._hungry = -1  # the number of a record whose declared payload has not come
        self._hungry_at = 0

    @property
    def reached(self) -> int:
        """Bytes before this place have been taken: they are in the batches."""
        return self._read - len(self._carry)

    @property
    def state(self) -> State:
        """Where it stands at the end of what was taken: after a batch that said `waiting`, or at `until`."""
        return State(
            self.reached, self._count, self._at, self._last, self._start, self._end, self._declared, self._blank,
            self._hungry, self._hungry_at if self._hungry >= 0 else 0,
        )  # fmt: skip

    def resume(self, state: State, kinds: Sequence[Kind], contexts: Sequence[Context]) -> None:
        """Go on where another scan of these bytes stood. `kinds` and `contexts` are what it had found, in that order."""
        self._closed = self._seen = self._read = state.reached
        self._count, self._at, self._last = state.taken, state.at, state.last
        self._start, self._end, self._declared, self._blank = state.start, state.end, state.declared, state.blank
        self._hungry, self._hungry_at = state.hungry, state.hungry_at
        self._kinds = {kind: number for number, kind in enumerate(kinds)}
        self._contexts = {context: number for number, context in enumerate(contexts)}
        self._context_list = list(contexts)

    def step(self, size: int = STEP, last: bool = True, until: int | None = None) -> Batch:
        r"""Scan on; the batch of what was found. Raises OSError.

        With `last` the writer has ended: the end of the log is the end of its last record, and the batch says `finished`. Else it
        says `waiting` when there is nothing more to take for now.
        `until`: no further than this place, at which a record begins behind a `\n`: then `reached` is there.
        """
        self._batch = batch = Batch(self._count)
        self._until = until
        left = size
        try:
            while left > 0 and not (batch.finished or batch.waiting or self._read == until):
                if self._read < self._closed:
                    left -= self._take(min(BLOCK, self._closed - self._read))
                elif self._final:
                    self._flush()
                    self._finish()
                else:
                    left -= self._look(min(BLOCK - self._seen % BLOCK, size), last)
        except OSError:
            if self._count == batch.first:
                raise
            # what was found is handed over first; the next step fails again if the file still does
        batch.scanned = self._read
        if (batch.finished or batch.waiting) and self._count:
            found = CLOCK.search(self._source.read(self._at, 80))
            batch.clock = found[1].decode() if found else ""
        return batch

    def _look(self, size: int, last: bool) -> int:
        """Look for the beginning of the last record in the next `size` bytes: what stands before it can be taken."""
        if self._until is not None:
            size = min(size, self._until - self._seen)
        data = self._source.read(self._seen, size)
        self._seen += len(data)
        if self._seen == self._until:
            if self._ahead is not None:
                self._region(self._ahead + data, self._closed)
                self._read = self._seen
            self._closed, self._ahead = self._seen, b""
            return size
        if len(data) < size and last:
            self._closed, self._final = self._seen, True
            if self._ahead is not None:
                self._carry = self._ahead + data
                self._read = self._seen
            return size
        if self._ahead is not None:
            ahead = self._ahead + data
            cut = ahead.rfind(b"\nV", max(len(self._ahead) - 1, 0)) + 1
            if cut:
                self._region(ahead[:cut], self._closed)
                self._closed += cut
                self._read = self._closed
            self._ahead = ahead[cut:]
            if len(self._ahead) > HELD:
                self._ahead = None
        else:
            joint = self._source.read(self._seen - len(data) - 1, 1) + data
            if cut := joint.rfind(b"\nV") + 1:
                self._closed = self._seen = self._seen - len(joint) + cut
                self._ahead = b""
        if len(data) < size:
            self._wait()
        return size

    def _wait(self) -> None:
        """All that is there for now has been looked at: take the last record if it is whole. The rest is read again next time."""
        size = self._seen - self._closed
        if self._is_whole(size):
            if self._ahead is not None:
                self._region(self._ahead, self._closed)
                self._read = self._seen
            self._closed = self._seen
        elif size:
            self._batch.tail = Tail(self._closed, size)
        self._seen, self._ahead = self._closed, b""
        self._batch.waiting = self._read == self._closed

    def _is_whole(self, size: int) -> bool:
        """Whether the `size` bytes after what was taken are one record that is complete."""
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

    def _take(self, size: int) -> int:
        """Take the next `size` bytes of a long stretch that is known to be closed; the incomplete last line is carried over."""
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
        """A line longer than a block: read on piece by piece, and put it together once.

        Blocks of NULs are what a file that was cut off and written on has in its hole: nothing of them is kept, and a line
        does not go on behind them.
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
        whole = b"".join(parts)
        cut = whole.rfind(b"\n") + 1
        self._region(whole[:cut], first)
        self._carry = whole[cut:]

    def _flush(self) -> None:
        """Take what is left at the end of the log, an incomplete line too."""
        rest, self._carry = self._carry, b""
        self._region(rest, self._read - len(rest))
        self._cut = bool(rest) and rest[-1] != NEWLINE

    def _region(self, region: bytes, begin: int) -> None:
        """Take whole lines; `begin` is the offset of the first one in the log."""
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
        """Take segments: one line that does not begin with a tab, and the tab lines after it."""
        batch, known, familiar, count, waiting = (
            self._batch, self._seen_lines.known, self._seen_lines.familiar, self._count, self._hungry >= 0
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
                hit = known.get(region[at + TIME : eol - AFTER_MD5])
                if hit is None:
                    hit = familiar(region[at:eol], True)
                elif (
                    region[at : at + TIME].translate(DIGITS) != STAMP
                    or region[eol - AFTER_MD5 : eol].translate(HEX) != MD5_END
                ):
                    hit = None
            else:
                eol, declared = last, 0
                hit = familiar(region[at:eol], False)
            if hit is None:
                self._count = count
                self._slowly(region[at:eol], begin + at)
                if eol < last:
                    self._payload(begin + eol + 1, begin + last)
                count, waiting = self._count, self._hungry >= 0
            else:
                if waiting:
                    self._starved()
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

    def _slowly(self, line: bytes, at: int) -> None:
        """A line that does not begin with a tab and is not like an earlier one."""
        if line.strip(b"\r \x00"):
            self._line(line, at)
        elif len(line) <= 1 and self._end == at - 1:
            # part of the payload if a payload line follows (editors trim the lone tab), else nothing
            self._blank = True

    def _payload(self, start: int, end: int) -> None:
        """Payload lines from `start` to `end` (exclusive, without the last line end)."""
        blank, self._blank = self._blank, False
        if self._end == CLOSED or (self._end != start - 1 and not blank):
            self._starved()
            self._append(start, 0, Kind("", ORPHANS), Context(self._pid()), ORPHAN)
            self._damage(start, "payload lines without a record before them")
            self._start, self._declared = start, True
        elif not self._declared:
            self._declared = True
            self._damage(self._at, "payload lines although the envelope declares none")
        if self._hungry == self._count - 1:
            self._hungry = -1
        record = self._count - 1
        index = record - self._batch.first
        if index >= 0:
            self._batch.columns.size[index] = end - self._start
        else:
            self._batch.resized[record] = end - self._start
        self._end = end

    def _line(self, line: bytes, at: int) -> None:
        """A line that is neither payload nor blank: a record, damage, or several records whose line ends are lost."""
        pid, brace, envelope, reason = parse_line(line)
        if envelope is not None:
            self._record(line, at, pid, brace, envelope)
            return
        own = PREFIX.match(line)
        torn = [match.start() for match in INNER.finditer(line, own.start(1) + 1 if own else 0)]
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
                    self._damage(at + lo, "its line end is missing")

    def _record(self, line: bytes, at: int, pid: int, brace: int, envelope: dict[str, object]) -> None:
        """A record with a good envelope."""
        self._starved()
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
            self._hungry, self._hungry_at = record, at
        self._start, self._end = at + len(line) + 1, at + len(line)
        self._declared, self._blank = declared, False
        if odd:
            self._damage(at, f"an id is not a whole number below 2^63: {odd}")
        elif not context.stack and kind.event not in FACTS:
            place = (self._kinds[kind], self._contexts[context], notable)
            self._seen_lines.remember(line, brace, len(envelope), kind, place, declared, pid)

    def _facts(self, event: str, value: object, record: int, pid: int) -> None:
        """What the tree and the statuses need of an envelope."""
        if event == "str":
            if pid and (pair := string_of(value)):  # 0 is that of a broken prefix: nobody's string table
                self._batch.strings.append((pid, *pair))
        elif event == "dynamo_start":
            self._batch.started.append(started_of(value, record))
        elif event in METRICS and (metrics := metrics_of(event, value, record)):
            self._batch.metrics.append(metrics)

    def _bad(self, line: bytes, at: int, pid: int, reason: str) -> None:
        """Keep a line without a usable envelope: with the payload that follows where it has the prefix of a record."""
        self._starved()
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
        """Go on behind what another scanner found, which began where this one has come to, at a good record.

        Its batches, at least one, get the numbers that records, kinds and contexts have here: they are changed in place.
        """
        base, self._batch = self._count, Batch(self._count)
        kinds: list[int] = []
        contexts: list[int] = []
        for batch in batches:
            batch.kinds = _known(self._kinds, batch.kinds, kinds)
            batch.contexts = _known(self._contexts, batch.contexts, contexts)
            self._context_list += batch.contexts
            batch.renumber(base, kinds, contexts)
        self._starved()
        batches[0].damage[:0] = self._batch.damage
        self._count = base + state.taken
        self._closed = self._seen = self._read = state.reached
        self._ahead = self._carry = b""
        self._at, self._start, self._end = state.at, state.start, state.end
        self._last = contexts[state.last] if contexts else 0
        self._declared, self._blank = state.declared, state.blank
        self._hungry, self._hungry_at = state.hungry + base if state.hungry >= 0 else -1, state.hungry_at

    def _starved(self) -> None:
        """The payload that a record declares did not come."""
        if self._hungry >= 0:
            self._batch.damage.append(Damage(self._hungry_at, self._hungry, NO_PAYLOAD))
            self._hungry = -1

    def _finish(self) -> None:
        """The log ends here: what is incomplete now stays so."""
        batch, damage, cut = self._batch, self._batch.damage, self._cut
        if self._hungry >= 0:
            damage.append(Damage(self._hungry_at, self._hungry, ENDS_BEFORE_PAYLOAD))
            self._hungry = -1
        elif cut and self._end > self._start:
            if self._end == self._read and not self._whole():
                damage.append(Damage(self._at, self._count - 1, ENDS_IN_PAYLOAD))
        elif cut and damage and self._torn(damage[-1]):
            damage[-1] = damage[-1]._replace(reason=ENDS_IN_LINE)
        self._seen_lines = Seen()
        batch.finished = True

    def _torn(self, damage: Damage) -> bool:
        """Whether the log ends inside the first line that this is about."""
        if damage.record != self._count - 1 or self._at + self._batch.columns.head[-1] != self._read:
            return False
        line = self._source.read(self._at, 4096)
        return damage.reason.startswith(NOT_JSON) or (damage.reason == NO_RECORD and bool(BEGUN.fullmatch(line)))

    def _whole(self) -> bool:
        """Whether the payload of the last record, at the end of the log, matches its md5. A large one is not read."""
        size = self._end - self._start
        line = self._source.read(self._at, max(self._start - self._at - 1, 0))
        tail = line[-AFTER_MD5:]
        if size > CHECKED_TAIL or tail.translate(HEX) != MD5_END:
            return True
        return digest(Payload(self._source, self._start, size, b"\t")).md5 == tail[:32].decode().lower()

    def _pid(self) -> int:
        """The process that wrote the last record; 0 before the first."""
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


def _known(numbers: dict[T, int], theirs: list[T], table: list[int]) -> list[T]:
    """Those of `theirs` that have no number yet: they get one. The numbers of all go to `table`."""
    new = []
    for own in theirs:
        if own not in numbers:
            numbers[own] = len(numbers)
            new.append(own)
        table.append(numbers[own])
    return new
