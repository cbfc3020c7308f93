"""Line index, documents of payloads, search: against the obvious way to do it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tltui.text import bytes_document
from tltui.text import bytes_document as find
from tltui.text import payload as line_index
from tltui.text.bytes_document import BytesDocument
from tltui.text.document import Document, Hit
from tltui.text.payload import LONG, SHORT, LineIndex, Payload, decode
from tltui.text.sanitize import sanitize

pure = settings(deadline=None, derandomize=True, max_examples=300)

# Few letters, so that line ends, prefixes and matches fall together often.
raw = st.lists(
    st.sampled_from(
        [b"\n", b"\t", b"\r", b"a", b"b", b"ab", b" ", "é".encode(), b"\xff", b"\xe2\x82", b"\x1b", b"\x85"]
    ),
    max_size=60,
).map(b"".join)


@dataclass
class Slow:
    """A source that notes what was read, inside of a larger file."""

    data: bytes
    before: bytes = b"header\n"
    reads: int = 0

    def size(self) -> int:
        return len(self.before + self.data)

    def read(self, offset: int, size: int) -> bytes:
        self.reads += size
        return (self.before + self.data + b"\nbehind")[offset : offset + size]

    def payload(self, strip: bytes = b"", crlf: bool = False) -> Payload:
        return Payload(self, len(self.before), len(self.data), strip, crlf)


def naive(data: bytes, strip: bytes = b"", crlf: bool = False) -> list[bytes]:
    lines = data.split(b"\n")
    if crlf:
        lines = [line.removesuffix(b"\r") for line in lines]
    return [line.removeprefix(strip) for line in lines]


def whole(payload: Payload, language: str = "text") -> BytesDocument:
    document = BytesDocument(payload, language)
    while not document.advance(7):
        pass
    return document


@pure
@given(raw, st.sampled_from([b"", b"\t", b"ab"]), st.booleans(), st.integers(1, 9))
@example(b"", b"\t", False, 1)
@example(b"\t", b"\t", False, 1)
@example(b"\r\n\r\n", b"", True, 1)
def test_the_index_is_a_split_at_line_ends(data: bytes, strip: bytes, crlf: bool, step: int) -> None:
    payload = Slow(data).payload(strip, crlf)
    index = LineIndex(payload, step)
    assert len(index) >= 1
    while not index.advance(step):
        assert len(index) >= 1
    lines = naive(data, strip, crlf)
    assert len(index) == len(lines)
    assert [index.stored(n) for n in range(len(index))] == lines
    assert [index.stored(n, 1, 3) for n in range(len(index))] == [line[1:3] for line in lines]
    assert [index.size(n) for n in range(len(index))] == [len(line) for line in lines]
    assert index.block(0, len(index)).split(b"\n") == lines
    assert index.longest >= max(map(len, lines)) - len(strip)
    assert payload.read() == b"\n".join(lines)


@pure
@given(raw, st.integers(1, 20))
def test_chunks_cover_all_lines_in_order(data: bytes, size: int) -> None:
    index = LineIndex(Payload.of(data))
    every = list(range(len(index)))
    assert [n for lo, hi in index.chunks(0, len(index), size) for n in range(lo, hi)] == every
    back = list(index.chunks_back(0, len(index), size))
    assert [n for lo, hi in reversed(back) for n in range(lo, hi)] == every
    for lo, hi in [*index.chunks(0, len(index), size), *back]:
        assert hi == lo + 1 or index.end(hi - 1) - index.start(lo) <= size


@pure
@given(raw.filter(bool), st.integers(0, 60))
def test_a_byte_belongs_to_the_line_it_stands_in(data: bytes, offset: int) -> None:
    offset %= len(data)
    assert LineIndex(Payload.of(data)).line_of(offset) == data[:offset].count(b"\n")


def test_the_index_survives_a_file_that_was_cut() -> None:
    source = Slow(b"one\ntwo\nthree")
    payload = Payload(source, len(source.before), 10_000)
    source_end = LineIndex(payload)
    assert source_end.complete
    assert source_end.stored(0) == b"one"


def test_nothing_is_read_that_nobody_looks_at() -> None:
    source = Slow(b"x" * 99 + b"\n" + b"\n".join(b"line %d" % n for n in range(500_000)))
    document = BytesDocument(source.payload())
    assert len(document) > 1000
    assert not document.complete
    assert source.reads < 400 << 10
    before = document.version
    while not document.advance():
        assert document.version > before
    read = source.reads
    assert document.line(400_000).text == "line 399999"
    assert source.reads - read < 1000


def test_a_document_is_one() -> None:
    document = BytesDocument(Payload.of(b"a"), "python", ref="0/1:x", title="x", badge="md5 ✓", result=5)
    assert isinstance(document, Document)
    assert (document.ref, document.title, document.badge, document.data()) == ("0/1:x", "x", "md5 ✓", 5)
    assert document.where("1") == 0
    assert document.where("2") is None
    assert document.where("x") is None
    assert document.where("9" * 5000) is None
    assert document.anchor(0) == "1"
    with pytest.raises(IndexError):
        document.line(1)


@pure
@given(raw)
def test_text_is_every_line_sanitised(data: bytes) -> None:
    document = whole(Slow(data).payload(b"\t"))
    lines = [sanitize(line.decode("utf-8", "replace")) for line in naive(data, b"\t")]
    assert list(document.text()) == lines
    assert list(document.text(1, 3)) == lines[1:3]
    assert [document.line(n).text for n in range(len(document))] == lines
    assert [document.length(n) for n in range(len(document))] == [len(line) for line in lines]
    assert document.width() >= max(map(len, lines))
    for n, line in enumerate(lines):
        part = document.line(n, 2, 5)
        assert (part.text, part.first) == (line[2:5], 2) or part.text == line[2:5]


PATTERNS = [
    "a", "ab", "A", "a b", r"a.", r"^a", r"b$", r"^$", r"a*", r"[ab]+", r"[^a]", r"\s+", r"\S+b", r"(?=a)a", r"a\Z",
    r"\Aa", "é", r"(a|b)\1", r"\ba", r"a\.b", "\\.", " +", r"\W", "␛", "�", r"a(?:b|$)", r"b\n", "x|", r"(?i:A)b",
    r"\x61",
]  # fmt: skip


@pure
@given(raw, st.sampled_from(PATTERNS), st.booleans(), st.integers(0, 12), st.integers(8, 40))
def test_search_is_finditer_on_each_line(data: bytes, text: str, ignore: bool, start: int, chunk: int) -> None:
    pattern = re.compile(text, re.IGNORECASE if ignore else 0)
    document = whole(Slow(data).payload(b"\t"))
    lines = list(document.text())
    found = [(n, *match.span()) for n, line in enumerate(lines) for match in pattern.finditer(line)]
    hits = [Hit(n, lo, hi) for n, lo, hi in found if hi > lo]
    index = LineIndex.chunks, LineIndex.chunks_back
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LineIndex, "chunks", lambda self, lo, hi, size=0: index[0](self, lo, hi, chunk))
        patch.setattr(LineIndex, "chunks_back", lambda self, lo, hi, size=0: index[1](self, lo, hi, chunk))
        assert [hit for hit in document.find(pattern, start) if hit] == [hit for hit in hits if hit.line >= start]
        back = [hit for hit in document.find(pattern, start, back=True) if hit]
        assert back == [hit for hit in reversed(hits) if hit.line <= start]


def test_search_goes_on_into_lines_that_are_not_known_yet() -> None:
    data = b"\n".join(b"\tline %d" % n for n in range(200_000))
    pattern = re.compile("line 199999")
    document = BytesDocument(Payload(Slow(data), 7, len(data), b"\t"))
    assert not document.complete
    assert list(document.find(pattern)) == [Hit(199_999, 0, 11)]
    document = BytesDocument(Payload(Slow(data), 7, len(data), b"\t"))
    assert next(document.find(pattern, 199_999, back=True)).line == 199_999


def test_a_prefix_is_no_text() -> None:
    document = whole(Slow(b"\ta\tb\n\t\tc").payload(b"\t"))
    assert list(document.text()) == ["a    b", "    c"]
    assert list(document.find(re.compile("^ +"))) == [Hit(1, 0, 4)]
    assert list(document.find(re.compile("\t"))) == []


@pytest.mark.parametrize("unit", [b"x", "é".encode(), b"\t", b"\xff", b"\x1b", "字".encode()])
def test_windows_of_a_long_line_agree_with_the_line(unit: bytes) -> None:
    line = b'"key": ' + unit * (1 << 20) + b" end"
    document = whole(Payload.of(b"first\n" + line + b"\nlast"))
    if len(line) > LONG:
        pytest.skip("beyond the exact lines")
    text = decode(line)
    assert document.length(1) == len(text)
    assert document.line(1).text == text[:SHORT]
    for lo in (0, 1, 5000, len(text) - 10, len(text) + 5):
        part = document.line(1, lo, lo + 200)
        assert part.text == text[lo : lo + 200]
        assert part.first == lo
    assert list(document.text(1, 2)) == [text]
    hit = next(document.find(re.compile("end")))
    assert text[hit.start : hit.end] == "end"
    assert hit.line == 1


def test_a_huge_line_is_one_column_per_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (bytes_document, find):
        monkeypatch.setattr(module, "LONG", 40_000)
    monkeypatch.setattr(find, "CHUNK", 1000)
    monkeypatch.setattr(find, "OVERLAP", 100)
    line = b"ab " + "é\t\x1b".encode() * 20_000 + b"needle" + b"x" * 989 + b"needle needle"
    document = whole(Payload.of(line))
    assert document.length(0) == len(line)
    assert len(document.line(0, 50, 250).text) == 200
    hits = list(document.find(re.compile("needle")))
    assert [line[hit.start : hit.end] for hit in hits] == [b"needle"] * 3
    assert [document.line(0, hit.start, hit.end).text for hit in hits] == ["needle"] * 3
    assert list(document.find(re.compile("needle"), 0, back=True)) == hits[::-1]
    assert list(document.find(re.compile("^x"))) == []
    assert len(list(document.find(re.compile("^a")))) == 1
    assert "".join(document.text()) == decode(line)


def test_budgets() -> None:
    """Generous: a slow machine must not make this fail, a slow algorithm must."""
    line = b"\t        mul_%07d: \"f32[2, 16]\" = torch.ops.aten.mul.Tensor(sub, rsqrt);  sub = None\n"
    data = b"".join(line % n for n in range(200_000))
    document = BytesDocument(Payload(Slow(data), 7, len(data), b"\t"), "fx")
    assert document.line(0).text.endswith("None")
    while not document.advance():
        pass
    assert next(document.find(re.compile("mul_0199999"))).line == 199_999


def test_chunk_size_is_small_enough_to_share_the_interpreter() -> None:
    assert line_index.CHUNK <= 4 << 20


def test_a_search_that_begins_again_at_the_top_comes_from_before_it() -> None:
    document = BytesDocument(Payload.of(b"a\nb\na"))
    assert [hit.line for hit in document.find(re.compile("a"), -1) if hit is not None] == [0, 2]
