"""The scanner against a reader so simple that it is right, on real logs, and on logs that were damaged in every way."""

from __future__ import annotations

import itertools
import json
import pickle
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import make_trace as mt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from real import LOGS

from tltui.model.log_model import LogModel
from tltui.model.ref import NO_ID
from tltui.model.status import Status
from tltui.text.payload import MemoryBytes
from tltui.trace.batch import Batch, Damage
from tltui.trace.log import Check, Log
from tltui.trace.scan import BROKEN, FOREIGN, ORPHANS, Scanner

TRACES = Path(__file__).resolve().parents[1] / "traces"
SMALL = mt.small()


# A reader that walks line by line and remembers nothing but the last record.

LINE = re.compile(
    rb"(?:\xef\xbb\xbf)?[ \x00\r]*(?:\[[^\]]{1,40}\]: ?)*"
    rb"[A-Z]\d{4} \d\d:\d\d:\d\d\.\d{6,} (\d+) (.+?):\d+\] ?(?=[{\[\d\"\-tfnNI]|$)(.*)",
    re.DOTALL,
)
TORN = re.compile(rb"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{6,} \d+ [^\"]{1,500}?:\d+\] ?\{", re.DOTALL)
IDS = ("rank", "compiled_autograd_id", "frame_id", "frame_compile_id", "attempt")


@dataclass(frozen=True)
class Rec:
    """A record as any reader must see it."""

    offset: int
    head: int
    start: int
    size: int
    event: str
    ids: tuple[Any, ...] = ()
    declared: bool = False

    @property
    def end(self) -> int:
        return self.start + self.size


def _json(text: bytes) -> Any:
    return json.loads(text.rstrip(b"\x00\r").decode("utf-8", "replace"))


def _number(value: Any) -> Any:
    found = _any_number(value)
    return found if found is not None and found < 2**63 else None


def _any_number(value: Any) -> Any:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() and value >= 0 else None
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() else None
    return value if isinstance(value, int) and value >= 0 else None


def _one(line: bytes, at: int) -> Rec:
    """A line as one record: good, broken or foreign."""
    base = Rec(at, len(line), at + len(line) + 1, 0, FOREIGN)
    match = LINE.fullmatch(line)
    if match is None:
        return base
    try:
        envelope = _json(match[3])
    except (ValueError, RecursionError):
        return replace(base, event=BROKEN)
    if not isinstance(envelope, dict):
        return replace(base, event=BROKEN)
    context = {*IDS, "subgraph_name", "stack", "has_payload"}
    event = next((key for key in envelope if key not in context), "stack" if "stack" in envelope else "")
    value = envelope.get(event)
    name = value.get("name") if event == "artifact" and isinstance(value, dict) else ""
    ids = (int(match[1]), *(_number(envelope.get(key)) for key in IDS), name if isinstance(name, str) else "")
    return replace(base, event=event, ids=ids, declared=envelope.get("has_payload") is not None)


def _records_of(line: bytes, at: int) -> list[Rec]:
    """The records of one line: one, or several whose line ends are lost."""
    whole = _one(line, at)
    if whole.event not in (BROKEN, FOREIGN):
        return [whole]
    own = re.match(rb"(?:\xef\xbb\xbf)?[ \x00\r]*(?:\[[^\]]{1,40}\]: ?)*", line)
    first = own.end() if own and LINE.fullmatch(line) else -1
    cuts = [match.start() for match in TORN.finditer(line, first + 1)]
    found = []
    bounds = [0, *cuts, len(line)]
    for lo, hi in itertools.pairwise(bounds):
        rest = _one(line[lo:], at + lo)
        if lo and rest.event not in (BROKEN, FOREIGN):
            return [*found, rest]
        piece = _one(line[lo:hi], at + lo)
        if piece.event != FOREIGN or line[lo:hi].strip(b"\r \x00"):
            found.append(piece)
    return found


def reference(data: bytes) -> list[Rec]:
    """All records of a log, one line after the other."""
    records: list[Rec] = []
    end = -2  # where the last record ends; a payload line must stand there
    blank = False
    at = 0
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for line in lines:
        if line.startswith(b"\t"):
            if end == -2 or (at - 1 != end and not blank):
                records.append(Rec(at, 0, at, 0, ORPHANS))
            end = at + len(line)
            records[-1] = replace(records[-1], size=end - records[-1].start)
            blank = False
        elif line.strip(b"\r \x00") == b"":
            blank = blank or (len(line) <= 1 and end == at - 1)
        else:
            records += _records_of(line, at)
            end = -2 if records[-1].event == FOREIGN else at + len(line)
            blank = False
        at += len(line) + 1
    return records


def scan(data: bytes, step: int = 1 << 30) -> Log:
    log, _ = scanned(data, step)
    return log


def scanned(data: bytes, step: int = 1 << 30) -> tuple[Log, LogModel]:
    """The log and the model of some bytes, read in steps."""
    log = Log("memory.log", MemoryBytes(data))
    model = LogModel(log)
    scanner = Scanner(log.source)
    while not log.ended:
        batch = scanner.step(step)
        assert isinstance(batch, Batch)
        model.apply(batch)
    return log, model


def rows(log: Log) -> list[Rec]:
    """What the scanner found, in the words of the reference."""
    columns, found = log.columns, []
    for record in log.records():
        kind, context = log.kind(record), log.context(record)
        start = columns.offset[record] + (columns.head[record] + 1 if kind.name != ORPHANS else 0)
        if kind.event == "" and kind.name:
            event, ids = kind.name, tuple[Any, ...]()
        else:
            event = kind.event
            ids = (context.pid, context.rank, context.autograd, context.frame, context.compile, context.attempt)
            ids += (kind.name if event == "artifact" else "",)
        declared = bool(columns.flags[record] & 1)
        found.append(Rec(columns.offset[record], columns.head[record], start, columns.size[record], event, ids, declared))
    return found


def check_against_reference(data: bytes) -> None:
    log = scan(data)
    found = rows(log)
    assert found == reference(data)
    spans = [(rec.offset, rec.end if rec.size else rec.offset + rec.head) for rec in found]
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans)), "records overlap"
    assert not spans or spans[-1][1] <= len(data)
    for damage in log.damage:
        assert 0 <= damage.record < len(log)
        assert damage.reason
    for record in log.records():  # nothing that reads a damaged record raises
        log.envelope(record)
        log.prefix(record)
        log.check(record)


def everything(log: Log) -> tuple[list[Rec], list[Damage], list[Any]]:
    return rows(log), sorted(log.damage), [list(map(tuple, log.contexts))]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.relative_to(TRACES)))
def test_real_logs_as_the_reference_reads_them(path: Path) -> None:
    if "\n" in path.name or path.name == "LICENSE":
        pytest.skip("no log")
    data = path.read_bytes()
    check_against_reference(data)
    assert not scan(data).damage


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.relative_to(TRACES)))
def test_real_logs_in_steps_of_any_size(path: Path) -> None:
    data = path.read_bytes()
    expected = everything(scan(data))
    for step in (997, 4096, 65536, 262144, 262145):
        assert everything(scan(data, step)) == expected


def test_one_byte_at_a_time() -> None:
    assert everything(scan(SMALL, 1)) == everything(scan(SMALL))


# Lines that a damaged log may hold, between good records.

PIECES = [
    mt.compiled(0, 0),
    mt.compiled(3, 1, rank=1),
    mt.chromium(frame=0, compile=0, attempt=0),
    mt.chromium(frame=0, compile=0, attempt=0),
    mt.record("describe_storage", {"id": 1, "size": 4}, frame=0, compile=0, attempt=0),
    mt.record("describe_storage", {"id": 2, "size": 8}, frame=0, compile=0, attempt=0),
    mt.record("create_symbol", {"a": "] {\"x"}, frame=0, compile=0, attempt=0),
    mt.string("/a.py", 0),
    mt.artifact("empty", "", frame=0, compile=0),
    mt.artifact("newline", "\n", frame=0, compile=0),
    mt.artifact("blank lines", "a\n\n\nb\n", frame=0, compile=0).replace(b"\t\n", b"\n"),
    mt.artifact("crlf", "a\nb", frame=0, compile=0).replace(b"\n", b"\r\n"),
    mt.artifact("odd md5", "a", frame=0, compile=0, declared="not hexadecimal"),
    mt.artifact("odd md5", "a", frame=0, compile=0, declared=None).replace(b'", "has_payload', b'", "has\\u0050ayload'),
    mt.record("artifact", {"name": "hungry", "encoding": "string"}, "x", frame=0, compile=0).partition(b"\n")[0] + b"\n",
    mt.record("x", {}, "x", frame=0, compile=0, attempt=0).partition(b"\n")[0] + b"\n",
    mt.record("x", {}, "x", frame=0, compile=0, attempt=0),
    mt.record("x", {}, frame=0, compile=0, attempt=0),
    mt.artifact("", "x", frame=0, compile=0),
    mt.artifact(" ", "x", frame=0, compile=0),
    mt.record("artifact", {"name": 5}, frame=0, compile=0),
    mt.record("artifact", {"name": "a"}, frame=0, compile=0),
    mt.record("x", {}, frame=1.0, compile="2", attempt=True),
    mt.record("x", {}, frame=[1], compile=10**30, attempt=-1),
    b"[rank3]:" + mt.chromium(frame=0, compile=0, attempt=0),
    b"\xef\xbb\xbf" + mt.chromium(frame=0, compile=0, attempt=0),
    b"\tan orphan\n",
    b"\t\n",
    b"\n",
    b"\r\n",
    b" \n",
    b"\x00\x00\x00\n",
    b"a print\n",
    b"V1120 09:22\n",
    mt.prefix().encode() + b"\n",
    mt.prefix().encode() + b"[1, 2]\n",
    mt.prefix().encode() + b"null\n",
    mt.prefix().encode() + b'{"x": \n',
    mt.prefix().encode() + b'{"x": NaN, "frame_id": 0, "has_payload": "0"}\n',
    mt.prefix().encode() + b'{"x": {"y": "cut' + mt.chromium(frame=0, compile=0, attempt=0),
    mt.record("x", {}, frame=0)[:-1] + mt.record("y", {}, "z"),
    b"text before " + mt.record("y", {}, "z"),
    mt.prefix(level="D").encode() + b'{"d": {}}\n',
    mt.prefix(time="1120 09:22:46.1234567").encode() + b'{"d": {}, "frame_id": 0}\n',
    mt.record("win", {}, site="C:\\a b\\torch\\x.py:12"),
    mt.prefix(pid=10**30).encode() + b'{"d": {}}\n',
]  # fmt: skip


@settings(deadline=None, derandomize=True, max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=12), st.integers(1, 400), st.booleans())
def test_any_pieces_in_steps_of_any_size(pieces: list[bytes], step: int, whole: bool) -> None:
    data = b"".join(pieces)
    if not whole:
        data = data[:-1]
    check_against_reference(data)
    assert everything(scan(data, step)) == everything(scan(data))


@pytest.mark.parametrize("number", range(len(PIECES)))
def test_each_piece_by_itself_and_between_good_ones(number: int) -> None:
    for data in (PIECES[number], mt.compiled() + PIECES[number] + mt.compiled(), PIECES[number] * 3):
        check_against_reference(data)
        for step in range(1, 60):
            assert everything(scan(data, step)) == everything(scan(data))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A log in which bytes or lines were flipped, put in, taken out or doubled."""
    data = bytearray(SMALL if draw(st.booleans()) else b"".join(draw(st.lists(st.sampled_from(PIECES), max_size=8))))
    for _ in range(draw(st.integers(1, 6))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        how = draw(st.integers(0, 4))
        if how == 0:
            data[at] = draw(st.integers(0, 255))
        elif how == 1:
            data[at:at] = draw(st.sampled_from([b"\n", b"\t", b"V", b"\n\t", b"\nV", b'"', b"}", b"\x00", b"\xff", b"] {"]))
        elif how == 2:
            del data[at : at + draw(st.integers(1, 40))]
        else:
            lines = bytes(data).splitlines(keepends=True)
            line = draw(st.integers(0, len(lines) - 1))
            lines[line : line + 1] = [] if how == 3 else [lines[line], lines[line]]
            data = bytearray(b"".join(lines))
    return bytes(data)


@settings(deadline=None, derandomize=True, max_examples=600, suppress_health_check=list(HealthCheck))
@given(mutated(), st.integers(1, 3000))
def test_mutated_bytes(data: bytes, step: int) -> None:
    check_against_reference(data)
    assert everything(scan(data, step)) == everything(scan(data))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    check_against_reference(data)


# Truncation.


@pytest.mark.parametrize("name", ["built", "draft_export"])
def test_truncation_at_every_byte(name: str) -> None:
    """Of the real log: at every byte near a line end, where what is read changes, and at some of those between."""
    data = SMALL if name == "built" else next(TRACES.glob("torch-2.13/draft_export/*.log")).read_bytes()
    cuts: Iterable[int] = range(len(data) + 1)
    if name != "built":
        near = {at + by for at, byte in enumerate(data) if byte == 10 for by in range(-12, 45)}
        cuts = sorted({*range(0, len(data) + 1, 13), *(cut for cut in near if cut <= len(data))})
    whole = rows(scan(data))
    ends = [rec.end if rec.size else rec.offset + rec.head for rec in whole]
    complete = 0
    for cut in cuts:
        log, model = scanned(data[:cut])
        while complete < len(ends) and ends[complete] <= cut:
            complete += 1
        found = rows(log)
        assert found[:complete] == whole[:complete]
        assert len(found) <= complete + 1
        clean = cut == 0 or data[cut - 1 : cut] == b"\n" or cut in ends
        assert bool(log.damage) == _is_torn(data, cut, whole, ends), cut
        assert not (clean and cut in (0, len(data)) and log.damage)
        for process in model.processes:
            for compile_ in process.compiles.values():
                assert compile_.status in (None, Status.OK, Status.UNFINISHED, Status.BREAK)


def _is_torn(data: bytes, cut: int, whole: list[Rec], ends: list[int]) -> bool:
    """Whether the scan itself must notice that the log was cut there: not at a line end inside of a payload."""
    for rec, end in zip(whole, ends, strict=True):
        if rec.offset < cut < end:
            in_payload = rec.size and cut > rec.start
            return not (in_payload and data[cut - 1 : cut] == b"\n")
    return False


def test_a_log_cut_at_a_line_end_inside_a_payload_fails_its_md5() -> None:
    data = mt.artifact("a", "one\ntwo")
    log = scan(data[: data.index(b"\ttwo")])
    checked = log.check(0)
    assert checked is not None
    assert checked.check is Check.BAD


# A log that is still being written.


class Growing:
    """The bytes that are written by now."""

    def __init__(self, data: bytes) -> None:
        self.data, self.upto = data, 0

    def size(self) -> int:
        return self.upto

    def read(self, offset: int, size: int) -> bytes:
        return self.data[offset : min(offset + size, self.upto)]


@pytest.mark.parametrize("by", [1, 7, 400])
def test_a_record_is_taken_as_soon_as_it_is_whole(by: int) -> None:
    """Without payload at its newline, with one when its md5 says so: nobody waits for the next one, and nothing is damage."""
    whole = rows(scan(SMALL))
    ends = [rec.end + 1 if rec.size else rec.offset + rec.head + 1 for rec in whole]
    source = Growing(SMALL)
    log = Log("memory.log", source)  # type: ignore[arg-type]
    model, scanner = LogModel(log), Scanner(source)  # type: ignore[arg-type]
    for upto in (*range(0, len(SMALL), by), len(SMALL)):
        source.upto = upto
        batch = scanner.step(1 << 20, last=False)
        model.apply(batch)
        count = sum(end <= upto for end in ends)
        assert len(log) == count and rows(log) == whole[:count], upto
        taken = ends[count - 1] if count else 0
        assert batch.waiting and not batch.finished and not log.damage
        assert (batch.tail.offset, batch.tail.size) == (taken, upto - taken) if batch.tail else taken == upto
    model.apply(scanner.step(1 << 20, last=True))
    assert log.ended and everything(log) == everything(scan(SMALL))


@pytest.mark.parametrize("off", [-2, -1, 0, 1, 2])
def test_a_record_after_a_long_one_begins_where_it_begins(off: int) -> None:
    """What is too long to be held is passed over; wherever a look at the file ends, the next record is found."""
    first, second = mt.artifact("long", "x" * (3 << 20), frame=0, compile=0), mt.artifact("next", "y", frame=0, compile=0)
    source = Growing(first + second + mt.artifact("last", "z"))
    source.upto = len(source.data)
    log = Log("memory.log", source)  # type: ignore[arg-type]
    model, scanner = LogModel(log), Scanner(source)  # type: ignore[arg-type]
    model.apply(scanner.step((1 << 20) + 100, last=False))
    model.apply(scanner.step(len(first) + off - (1 << 20) - 100, last=False))
    model.apply(scanner.step(100, last=False))
    while not log.ended:
        model.apply(scanner.step(1 << 20))
    assert everything(log) == everything(scan(source.data)) and len(log) == 3
    assert log.columns.offset[1] == len(first)


# Single cases.


def test_a_process_may_have_no_pid() -> None:
    _, model = scanned(mt.compiled(0, 0, pid=0) + mt.compiled(1, 0, pid=0))
    (only,) = model.processes
    assert [compile_.label.strip("[]") for compile_ in only.compiles.values()] == ["0/0", "1/0"]


def test_lines_that_are_no_records_make_no_process_of_their_own() -> None:
    """What somebody printed belongs to the process that wrote before it, at the head of the log to the one that writes after it."""
    data = b"a print\n" + mt.compiled(0, 0, pid=7) + mt.compiled(1, 0, pid=8) + b"another\n" + mt.compiled(2, 0, pid=7)
    log, model = scanned(data)
    first, second = model.processes
    assert (first.pid, second.pid) == (7, 8)
    assert [compile_.label.strip("[]") for compile_ in first.compiles.values()] == ["-/-", "0/0", "2/0"]
    assert [compile_.label.strip("[]") for compile_ in second.compiles.values()] == ["1/0", "-/-"]
    assert [log.kind(record).name for process in (first, second) for record in process.compiles[NO_ID].records] == [FOREIGN] * 2


def test_two_pids_in_one_file_are_two_processes() -> None:
    data = mt.string("/parent.py", 0, pid=1) + mt.compiled(0, 0, pid=1) + mt.compiled(0, 0, pid=2) + mt.compiled(1, 0, pid=1)
    _, model = scanned(data)
    first, second = model.processes
    assert (first.pid, second.pid) == (1, 2)
    assert [compile_.label.strip("[]") for compile_ in first.compiles.values()] == ["-/-", "0/0", "1/0"]
    assert [compile_.label.strip("[]") for compile_ in second.compiles.values()] == ["0/0"]
    assert next(iter(second.frames.values())).code == ("f", "/parent.py", 2), "the child looks into its parent's table"


@pytest.mark.parametrize("order", ["first comes first", "second comes first"])
def test_interleaved_writers_are_regrouped_by_their_md5s(order: str) -> None:
    first, second = mt.artifact("a", "from\nparent\n", pid=1), mt.artifact("b", "from child", pid=2)
    (one, _, a), (two, _, b) = first.partition(b"\n"), second.partition(b"\n")
    log = scan(one + b"\n" + two + b"\n" + (a + b if order == "first comes first" else b + a))
    texts = []
    for record in (0, 1):
        checked = log.check(record)
        assert checked is not None
        assert checked.check is Check.GOOD
        texts.append(checked.payload.read())
    assert texts == [b"from\nparent\n", b"from child"]


def test_a_file_converted_to_crlf() -> None:
    log = scan(SMALL.replace(b"\n", b"\r\n"))
    assert not log.damage
    assert [kind.event for kind in map(log.kind, log.records())] == [k.event for k in map(scan(SMALL).kind, log.records())]
    for record in log.records():
        checked = log.check(record)
        assert checked is None or checked.check is Check.GOOD


@pytest.mark.parametrize("payload", ["a\n\nb", "\na", "a\n", "a\n\n\n", "", "\n", "\n\n", "a\n\n\nb\n\n"])
def test_an_editor_trimmed_the_tabs_of_blank_lines(payload: str) -> None:
    data = mt.artifact("a", payload).replace(b"\t\n", b"\n") + mt.artifact("b", "good")
    log = scan(data)
    assert len(log) == 2
    checked = log.check(0)
    assert checked is not None
    assert (checked.check, checked.payload.read().decode()) == (Check.GOOD, payload)
    assert (checked.size, checked.lines) == (len(payload), payload.count("\n") + 1)


def test_blank_lines_that_a_tool_put_in() -> None:
    log = scan(mt.small().replace(b"\n", b"\n\n"))
    assert not log.damage
    assert [rec.event for rec in rows(log)] == [rec.event for rec in rows(scan(SMALL))]
    for record in log.records():
        checked = log.check(record)
        assert checked is None or checked.check is Check.GOOD


def test_a_payload_that_holds_carriage_returns() -> None:
    payload = "a\r\nb\rc\x0bd\x0ce\x1cf\x85g\u2028h\x00\t\n\r\n"
    checked = scan(mt.artifact("a", payload)).check(0)
    assert checked is not None
    assert checked.check is Check.GOOD
    assert checked.payload.read() == payload.encode()


@pytest.mark.parametrize("before", [b"[rank0]:", b"[rank0]: ", b"[default1]: [rank1]:", b"\xef\xbb\xbf", b"  ", b"\x00" * 9])
def test_what_may_stand_before_a_record(before: bytes) -> None:
    data = mt.artifact("a", "x") + before + mt.artifact("b", "y", rank=1) + mt.artifact("c", "z")
    log = scan(data)
    assert not log.damage
    assert [log.kind(record).name for record in log.records()] == ["a", "b", "c"]
    assert [log.text(record) for record in log.records()] == ["x", "y", "z"]
    assert log.prefix(1) is not None


def test_ten_megabytes_of_envelope_and_of_line() -> None:
    big = "x" * (10 << 20)
    data = mt.record("artifact", {"name": "big", "encoding": "string", "more": big}, big, frame=0, compile=0) + SMALL
    log = scan(data, 1 << 20)
    assert not log.damage
    assert log.columns.size[0] == len(big) + 1
    assert log.envelope(0)["artifact"]["more"] == big
    assert len(log) == len(scan(SMALL)) + 1


@pytest.mark.parametrize("odd", [1.0, "1", 2**53 + 1, 2**63 - 1])
def test_ids_that_can_be_understood(odd: Any) -> None:
    log = scan(mt.record("x", {}, frame=odd, compile=0) * 2)
    assert not log.damage
    assert {log.context(record).frame for record in log.records()} == {int(odd)}


@pytest.mark.parametrize("odd", [1.5, "one", -1, True, [1], {"a": 1}, "٣", "9" * 5000, 2**63, 10**30, 1e300])
def test_ids_that_can_not(odd: Any) -> None:
    log = scan(mt.record("x", {}, frame=odd, compile=0) * 2)
    assert [damage.record for damage in log.damage] == [0, 1], "each of them is told"
    assert all("frame_id" in damage.reason for damage in log.damage)
    assert log.context(0).frame is None


def test_many_records_on_one_line_cost_no_recursion() -> None:
    torn = mt.prefix().encode() + b'{"x": "'
    log = scan(torn * 3000 + mt.artifact("good", "x"))
    assert len(log) == 3001
    assert log.kind(3000).name == "good"
    assert log.text(3000) == "x"


def test_a_line_that_almost_begins_a_record_many_times_is_fast() -> None:
    scan(b"V1120 09:22:46.123000 1 " * 50_000 + b"\n" + SMALL)


def test_a_record_that_looks_familiar_but_is_damaged_is_noticed() -> None:
    good = mt.record("describe_storage", {"id": 1, "size": 4}, frame=0, compile=0, attempt=0)
    event = mt.chromium(frame=0, compile=0, attempt=0)
    for bad in (
        good.replace(b'"size": 4', b'"size": '),
        good.replace(b"09:22", b"0x:22"),
        good.replace(b'"size": 4}', b'"size": 4}, "rank": "zero"'),
        event.replace(b"1120", b"112o"),
        event.replace(b'"}\n\t', b'"\n\t'),
    ):
        log = scan(good * 3 + event * 3 + bad)
        assert log.damage, bad
        assert {damage.record for damage in log.damage} <= {6, 7}


def test_what_the_scanner_hands_over_can_be_pickled() -> None:
    batch = Scanner(MemoryBytes(SMALL)).step()
    again = pickle.loads(pickle.dumps(batch))
    assert (again.columns.offset, again.kinds, again.members) == (batch.columns.offset, batch.kinds, batch.members)
