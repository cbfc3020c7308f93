"""TORCH_LOGS text scanned into batches of columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tltui.inputs.text.events import FROM_CACHE, Fact, Logger, Row, logger_of
from tltui.inputs.text.line_grammar import BEGUN, CANDIDATE, CR, SHAPES, clean, core_of, head_of, label_of, next_part
from tltui.inputs.text.text_log import BLANK, IRREGULAR, TORN, UNCLEAN, Between, Key, Piece, TextBatch
from tltui.text.frozen import mutable
from tltui.text.payload import ByteSource
from tltui.trace.batch import DECLARED, Named, Started, Tail
from tltui.trace.grammar import NOTABLE

STEP = 1 << 20
BLOCK = 1 << 18
"""Bytes looked at together."""
PEEK = 1 << 16
"""Bytes behind a line within which its next line is looked for."""
LONGEST = 4 << 20
"""Bytes of a line; what is longer counts as several."""
HELD = 1 << 20
"""Bytes within which the rest of a torn line must come."""
MOST_OPEN = 1024
MOST_LOGGERS = 4096
GUESSED = 1 << 14
"""Bytes at the end of a record in which the last frame is looked for."""
TORN_BY = "interleaved with another process"
NOBODY = "mixed with the output of another process: the owner of this line is unknown"
OTHERS = Logger("(other loggers)", [])
IN_GRAPH = re.compile(rb"# File: ([^\n]+?):(\d{1,9}) in ([^\s,]+)")
LATER = (Fact.GRAPH, Fact.BREAK, Fact.TREE, Fact.ALONE)
"""What is known when a message is whole, or where it stands."""
IN_STACK = re.compile(rb'  File "([^"\n]+)", line (\d{1,9}), in (\S+)')



class _Open:
    """The last record of a process: further lines may follow."""

    __slots__ = ("bare", "blank", "context", "core", "end", "flags", "key", "launcher", "logger", "record", "row", "text_at")

    def __init__(self, record: int, key: Key, core: bytes, launcher: bytes, logger: Logger, row: Row, context: int) -> None:
        self.record, self.key, self.core, self.launcher = record, key, core, launcher
        self.logger, self.row, self.context = logger, row, context
        self.bare = b"] [__" not in core  # a longer prefix may begin like this one
        self.blank = False  # all its lines are empty so far
        self.text_at = 0  # what its size counts from
        self.end = 0  # where its last line ends
        self.flags = 0


class _Start(NamedTuple):
    """The beginning of a message."""

    logger: Logger
    row: Row
    context: int
    second: bytes
    """The second line where its row depends on that; else empty."""


@mutable
class _Held:
    """The left part of a torn line, until its rest comes."""

    data: bytes
    pieces: list[Piece]
    pid: bytes | None
    """None where the cut is before it."""


class TextScanner(Between):
    """An incremental scanner of one text log, also one that is still being written.

    A message is read line by line, so the last one of each process may grow later. Bytes after the last newline are the open
    tail, and so is the last line where its kind depends on the next one.
    """

    def __init__(self, source: ByteSource) -> None:
        super().__init__()
        self._source = source
        self._at = 0  # up to here lines are taken
        self._data = b""  # what was read behind that
        self._shape = b""  # it with SHAPES replaced, while its lines are scanned
        self._loggers: dict[bytes, Logger] = {}
        self._open: dict[Key, _Open] = {}
        self._current: _Open | None = None  # whose the last line was
        self._prefix = b""  # its prefix, without the blank
        self._day = b""  # MMDD of that, and a blank
        self._held: _Held | None = None
        self._begun: set[Key] = set()  # those of which Dynamo says when it begins
        self._trees: dict[Key, tuple[int, int, int]] = {}  # context, record, size of the last guard tree
        self._joint: dict[Key, int] = {}  # context of the last joint graph
        self._clock = ""

    @property
    def reached(self) -> int:
        """Bytes before this place have been taken: they are in the batches."""
        return self._at

    def step(self, size: int = STEP, last: bool = True) -> TextBatch:
        """Scan further and return the batch. Raises OSError.

        With `last` the writer has ended, the data is complete, and the final batch has `finished` set. Else the batch has `waiting`
        set when no further data is available for now.
        """
        self._batch = batch = TextBatch(self._count)
        remaining, block = size, min(size, BLOCK)
        try:
            while remaining > 0 and not (batch.finished or batch.waiting):
                more = self._source.read(self._at + len(self._data), block)
                remaining -= block
                is_end = len(more) < block
                self._data += more
                self._scan_lines(is_end and last)
                if is_end and last:
                    self._finish()
                elif is_end:
                    if self._data:
                        batch.tail = Tail(self._at, len(self._data))
                    self._data, batch.waiting = b"", True  # read again next time: it may have changed
        except OSError:
            self._data = b""
            if self._count == batch.first:
                raise
            # what was found is handed over first; the next step fails again if the file still does
        batch.scanned = self._at
        if batch.finished or batch.waiting:
            batch.clock = self._clock
        return batch

    def _scan_lines(self, final: bool) -> None:
        """Scan the complete lines of the buffer; with `final` the last one too."""
        data, base, size, at = self._data, self._at, len(self._data), 0
        self._shape = data.translate(SHAPES)
        find, startswith = data.find, data.startswith
        dirty = b"\r" in data or b"\x1b" in data
        current, prefix, length, day, begins, reach = self._fast()
        while at < size:
            end = find(b"\n", at)
            newline = 1
            if end < 0 or end - at > LONGEST:
                if size - at > LONGEST:
                    end = at + LONGEST
                elif final:
                    end = size
                else:
                    break
                newline = 0
            if (
                current is not None and startswith(prefix, at) and find(day, text := at + length, end) < 0
                and data[text - 1 : text] == b" " and not (begins is not None and begins(data, text, end))
                and not (current.bare and data[text : text + 1] == b"[")
            ):  # fmt: skip
                if dirty and (find(b"\r", at, end) >= 0 or find(b"\x1b", at, end) >= 0):
                    current.flags |= UNCLEAN
                reach = end
                at = end + newline
                continue
            if current is not None and reach >= 0:
                self._grow(current, base + reach)
            then = self._stretch(at) or self._part(at, end, newline, final)
            current, prefix, length, day, begins, reach = self._fast()
            if then < 0:
                break
            at = then
        if current is not None and reach >= 0:
            self._grow(current, base + reach)
        self._at, self._data, self._shape = base + at, data[at:], b""

    def _fast(self) -> tuple[_Open | None, bytes, int, bytes, Callable[..., re.Match[bytes] | None] | None, int]:
        """Return the state with which a line is compared.

        It is the open record, its prefix, the length of that with the blank, its day, the pattern of a line that begins another
        message, and -1: no equal line yet.
        """
        current = self._current
        if current is None or current.blank:
            return None, b"", 0, b"", None, -1
        begins = current.logger.begins
        return current, self._prefix, len(self._prefix) + 1, self._day, begins.match if begins else None, -1

    def _stretch(self, at: int) -> int:
        """Scan consecutive lines without a logger and with one owner; return their end, 0 for none."""
        if self._held is not None or self._launchers:
            return 0
        data = self._data
        candidate = self._shape.find(CANDIDATE, at)
        end = data.rfind(b"\n", at, candidate if candidate >= 0 else len(data)) + 1
        if end <= at or (self._ranks and data.find(b"[rank", at, end) >= 0):
            return 0
        begin = at
        if self._run[0] < 0 or self._run[1] != self._at + at:
            begin = end - len(data[at:end].lstrip(BLANK))
            begin = max(data.rfind(b"\n", at, begin) + 1, at)
        self._current = None  # blank lines, too, part the lines of a message
        if begin < end:
            self._other(data, begin, end - 1, self._at + begin, 1)
        return end

    def _part(self, at: int, end: int, newline: int, final: bool) -> int:
        """Take the next part of a line; where the one after it begins. -1 where more must be read first."""
        data, base = self._data, self._at
        head = head_of(data, at, end)
        stop = next_part(data, at, end, head)
        then = stop if stop < end else end + newline
        is_torn = stop < end and data[stop - 1] != CR
        held = self._held
        if held is not None and (base + at - held.pieces[0][0] > HELD or (head is not None and head["pid"] == held.pid)):
            self._let_go()
            held = None
        piece = (base + at, stop - at)
        if is_torn and (head is not None or held is not None or BEGUN.fullmatch(data, at, stop)):
            self._current = None
            if held is None or head is not None:
                self._let_go()
                self._held = _Held(data[at:stop], [piece], head["pid"] if head is not None else None)
            else:
                held.data += data[at:stop]
                held.pieces.append(piece)
        elif head is not None:
            if not self._message(data, head, stop, [piece], then, final):
                return -1
        elif held is not None and not is_torn:
            self._held = None
            self._mend(held.data + data[at:stop], [*held.pieces, piece])
        else:
            self._other(data, at, stop, base + at, then - stop)
        return then

    def _mend(self, line: bytes, pieces: list[Piece]) -> None:
        """Take a line that was torn, with its rest."""
        self._current = None
        head = head_of(line, 0, len(line))
        if head is not None and (head["pid"] in self._pids or not self._pids):
            self._message(line, head, len(line), pieces, -1, True)
            self._current = None
            return
        at = 0
        for offset, size in pieces:
            self._other(line, at, at + size, offset, 1, NOBODY)
            at += size

    def _let_go(self) -> None:
        """Close a torn line whose remainder did not come."""
        held, self._held = self._held, None
        if held is not None:
            self._mend(held.data, held.pieces)

    def _message(self, data: bytes, head: re.Match[bytes], end: int, pieces: list[Piece], after: int, final: bool) -> bool:
        """Take a line of a message. False where more must be read first: `after` is where the next line begins, -1 if unknown."""
        core, pid, launcher = core_of(head), head["pid"], head["launcher"]
        key = (label_of(head), head["rank"], pid)
        message = data[head.end() : end]
        is_clean = b"\r" not in message and b"\x1b" not in message
        if not is_clean:
            message = clean(message)
        is_torn = after < 0
        flags = (0 if is_clean and data[head.end() - 1] == 32 else UNCLEAN) | (TORN | IRREGULAR if is_torn else 0)
        open_ = self._open.get(key)
        begin, stop = pieces[0][0], pieces[-1][0] + pieces[-1][1]
        if open_ is None or open_.core != core or (not open_.blank and open_.logger.begins and open_.logger.begins.match(message)):
            if pid not in self._pids:
                is_process = self._is_known(pid, after, final)
                if is_process is None:
                    return False
                if not is_process:
                    self._other(data, head.start(), end, begin, 1, NOBODY)
                    return True
            start = self._begin(head, key, message, after, final)
            if start is None:
                return False
            if open_ is not None:
                self._leave(open_)
            open_ = self._new(start, key, head, core, message, begin, min(pieces[0][1], head.end() - head.start()), stop, flags)
        else:
            if begin != open_.end + 1 or launcher != open_.launcher:
                flags |= IRREGULAR
            open_.blank = open_.blank and not message
            if flags & ~open_.flags:
                open_.flags |= flags
            self._grow(open_, stop)
        if is_torn:
            self._damage(begin, open_.record, TORN_BY)
            if len(pieces) > 1:
                self._batch.mended.setdefault(open_.record, []).append(pieces)
        self._current, self._prefix, self._day = open_, data[head.start() : head.end()].removesuffix(b" "), head["day"] + b" "
        self._clock = (self._day + head["time"]).decode()
        return True

    def _is_known(self, pid: bytes, after: int, final: bool) -> bool | None:
        """Return whether a new number is a process; None where more must be read to decide.

        Two lines, each cut inside its pid, may follow one another and look like one of a third process. So a number
        that may be composed of earlier ones must come again.
        """
        ends = {len(pid) - n for n in range(1, len(pid)) if any(number.endswith(pid[-n:]) for number in self._pids)}
        if after >= 0 and not any(number.startswith(pid[:n]) for n in ends for number in self._pids):
            self._pids.add(pid)
            return True
        if after < 0:
            return False
        if self._data.find(b" " + pid + b" ", after, after + PEEK) >= 0:
            self._pids.add(pid)
            return True
        return None if not final and len(self._data) - after < PEEK else False

    def _begin(self, head: re.Match[bytes], key: Key, message: bytes, after: int, final: bool) -> _Start | None:
        """Classify a message at its first line; None where more must be read first."""
        artifact, path = head["artifact"], head["path"]
        name = path if artifact is None else artifact
        logger = self._loggers.get(name)
        if logger is None:
            logger = logger_of(artifact, path) if len(self._loggers) < MOST_LOGGERS else OTHERS
            if logger is not OTHERS:
                self._loggers[name] = logger
        row, second = logger.row(message, path), b""
        if row is None:
            below = self._second(core_of(head), after, final)
            if below is None:
                return None
            second = below
            row = logger.row(message, path, second)
            assert row is not None
        return _Start(logger, row, self._context(head["rank"], head["pid"], head["ids"]), second)

    def _second(self, core: bytes, after: int, final: bool) -> bytes | None:
        """Return the second line of a message whose first one ends at `after`; None where it may yet be read."""
        if after < 0:
            return b""
        data = self._data
        at = data.find(core, after, after + PEEK)
        if at < 0:
            return b"" if final or len(data) - after >= PEEK else None
        end = data.find(b"\n", at)
        if end < 0 and not final and len(data) - at <= PEEK:
            return None
        return clean(data[at + len(core) + 1 : end if end >= 0 else len(data)])

    def _new(
        self, start: _Start, key: Key, head: re.Match[bytes], core: bytes, message: bytes, begin: int, size: int,
        stop: int, flags: int,
    ) -> _Open:
        """Append the record of a message. Its first prefix has `size` bytes."""
        logger, context = start.logger, start.context
        row = self._in_its_place(start.row, key, context, logger)
        open_ = _Open(self._count, key, core, head["launcher"], logger, row, context)
        open_.flags = flags | (DECLARED if row.payload is not None else 0)
        open_.blank = not message
        kind = row.kind or logger.other.kind
        assert kind is not None
        if row.payload is None:
            size = stop - begin
        open_.text_at, open_.end = begin + size, stop
        number = self._append(begin, size, stop - begin - size, kind, context, open_.flags)
        if kind.name in NOTABLE or kind.event in NOTABLE:
            self._batch.notable.append((open_.record, number))
        self._open.pop(key, None)
        self._open[key] = open_
        if len(self._open) > MOST_OPEN:
            self._leave(self._open.pop(next(iter(self._open))))
        self._of(key, head)
        self._add_fact(open_, start, key, message)
        return open_

    def _in_its_place(self, row: Row, key: Key, context: int, logger: Logger) -> Row:
        """Return the row of a message whose kind depends on those before it."""
        if row.fact is Fact.STEPS and (key in self._begun or self._context_list[context].attempt):
            return logger.other
        if row.fact is Fact.ALONE and self._joint.get(key) != context:
            return FROM_CACHE
        return row

    def _add_fact(self, open_: _Open, start: _Start, key: Key, message: bytes) -> None:
        """Record the facts in a message besides its own content."""
        row, record, batch = start.row, open_.record, self._batch
        fact = row.fact
        if fact is None or fact in LATER:
            return
        if fact is Fact.LATENCY:
            tree = self._trees.pop(key, (-1, 0, 0))
            if tree[0] == open_.context:
                batch.latency[tree[1]] = record
                if tree[1] < batch.first:
                    batch.resized.setdefault(tree[1], tree[2])
        elif fact is Fact.JOINT:
            self._joint[key] = open_.context
        elif match := row.next_line.match(start.second) if fact is Fact.NAMES_BELOW else row.pattern.match(message):
            if fact is Fact.STARTS:
                self._begun.add(key)
            name, file, line = (match[group].decode("utf-8", "replace") for group in ("name", "file", "line"))
            if open_.row is row and fact in (Fact.STARTS, Fact.STEPS):
                batch.started.append(Started(record, name, self._string(int(key[2]), file), int(line), 1))
            batch.name_sources.append(Named(record, name, file, int(line)))

    def _leave(self, open_: _Open) -> None:
        """Close a record: no line will be added, so the facts in its last lines are final."""
        if open_.row.fact is Fact.TREE:
            self._trees[open_.key] = (open_.context, open_.record, open_.end - open_.text_at)
        pattern = IN_GRAPH if open_.row.fact is Fact.GRAPH else IN_STACK if open_.row.fact is Fact.BREAK else None
        if pattern is None:
            return
        begin = max(open_.text_at, open_.end - GUESSED)
        try:
            matches = pattern.findall(self._source.read(begin, open_.end - begin))
        except OSError:  # whoever reads on will find out
            return
        if matches:
            file, line, name = (group.decode("utf-8", "replace") for group in matches[-1])
            self._batch.name_sources.append(Named(open_.record, name, file, int(line), is_guess=True))

    def _other(self, data: bytes, at: int, end: int, offset: int, newline: int, damage: str = "") -> None:
        self._current = None
        super()._other(data, at, end, offset, newline, damage)

    def _grow(self, open_: _Open, stop: int) -> None:
        """Extend the last line of a record to `stop`."""
        open_.end = stop
        self._resize(open_.record, stop - open_.text_at)
        self._flag(open_.record, open_.flags)

    def _finish(self) -> None:
        """Close all records at the end of the log."""
        self._let_go()
        for open_ in self._open.values():
            self._leave(open_)
        self._open.clear()
        self._batch.finished = True

