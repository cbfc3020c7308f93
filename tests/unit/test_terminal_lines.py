"""What a program printed, as a terminal shows it: last states of lines, growth, search; against the obvious way to do it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tltui.questions.records import output_page
from tltui.questions.records.output_page import OutputDocument
from tltui.text import bytes_document, terminal_lines
from tltui.text.payload import decode
from tltui.text.terminal_lines import shown

pure = settings(deadline=None, derandomize=True, max_examples=200)
PIECES = [
    b"\n", b"\r", b"\r\n", b"a", b"b", b"ab", b" ", "█".encode(), b"\xff", b"\x1b[31m", b"\x1b[K", b"\x1b]0;t\x07", b"\x1b", b"\t",
]  # fmt: skip
printed = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b" 10%|#   |\r 20%|##  |\r100%|####| 5/5", b"100%|####| 5/5"),
        (b"with a line end of Windows\r", b"with a line end of Windows"),
        (b"50%\r\x1b[K\r  ", b"50%"),
        (b"\x1b[1;32mgreen\x1b[0m and \x1b]8;;http://x\x1b\\a link\x1b]8;;\x1b\\", b"green and a link"),
        (b"\x1b[38;5;196mred\x1b(B\x1b[m", b"red"),
        (b"\r\r\r", b""),
    ],
)
def test_a_line_is_what_the_terminal_was_left_with(line: bytes, wanted: bytes) -> None:
    assert shown(line) == wanted


def naive(data: bytes) -> list[str]:
    lines = data.split(b"\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return [decode(shown(line)) for line in lines] if data else []


def lines_of(document: OutputDocument) -> list[str]:
    while not document.advance(7):
        pass
    return [document.line(n).text for n in range(document._printed)]


def grown(path: Path, pieces: list[bytes]) -> OutputDocument:
    """A document that was looked at after each piece."""
    path.write_bytes(b"")
    document = OutputDocument(str(path))
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        document.refresh()
        lines_of(document)
    return document


@pure
@given(pieces=st.lists(printed, max_size=5))
def test_growing_comes_to_the_same(pieces: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "output.txt"
    document = grown(path, pieces)
    whole = naive(b"".join(pieces))
    assert lines_of(document) == whole
    assert list(document.text()) == (whole or [output_page.NO_OUTPUT])
    for text in ("a", "b a", "ab"):
        pattern = re.compile(text)
        wanted = [(n, m.start(), m.end()) for n, line in enumerate(whole) for m in pattern.finditer(line)]
        found = [(hit.line, hit.start, hit.end) for hit in document.find(pattern) if hit is not None and hit.line < len(whole)]
        assert found == wanted
        back = [(hit.line, hit.start, hit.end) for hit in document.find(pattern, len(document), back=True) if hit is not None]
        assert [hit for hit in back if hit[0] < len(whole)] == wanted[::-1]


@pure
@given(data=printed)
def test_long_lines_are_read_from_their_end(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """And show the same as short ones."""
    path = tmp_path_factory.getbasetemp() / "output.txt"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal_lines, "SHORT", 3)
        patch.setattr(terminal_lines, "BACK", 2)
        document = OutputDocument(str(path))
        assert lines_of(document) == naive(data)
        assert list(document.text())[: document._printed] == naive(data)


def test_a_long_job_with_a_progress_bar(tmp_path: Path) -> None:
    """One line of many megabytes: no more is read of it than its end; its bar is no row of marks, and it is found."""
    path = tmp_path / "output.txt"
    bars = b"".join(b"\r%7d|\xe2\x96\x88\xe2\x96\x88| of 300000" % n for n in range(300_000))
    path.write_bytes(b"begin\n" + bars + b"\nend\n")
    document = OutputDocument(str(path))
    while not document.advance():
        pass
    reads: list[int] = []
    source = document._source

    class Counted:
        def size(self) -> int:
            return source.size()

        def read(self, offset: int, size: int) -> bytes:
            reads.append(size)
            return source.read(offset, size)

    document._index.payload = terminal_lines.replace(document._index.payload, source=Counted())
    assert [document.line(n).text for n in range(3)] == ["begin", " 299999|██| of 300000", "end"]
    assert sum(reads) < 200_000
    assert document.width() < 200
    hits = [hit for hit in document.find(re.compile("299999")) if hit]
    assert [(hit.line, hit.start) for hit in hits] == [(1, 1)]
    assert not [hit for hit in document.find(re.compile("299998")) if hit]


def test_raw_is_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "output.txt"
    path.write_bytes(b"1%\r2%\n\x1b[31mred\n")
    document = OutputDocument(str(path), raw=True)
    assert lines_of(document) == ["1%␍2%", "␛[31mred"]


def test_the_last_line_is_never_kept_from_before(tmp_path: Path) -> None:
    path = tmp_path / "output.txt"
    document = grown(path, [b"loss "])
    assert document.line(0).text == "loss "
    for more, wanted in ((b"0.5", "loss 0.5"), (b"\r" + b"x" * 20_000, "x" * 20_000), (b"y", "x" * 20_000 + "y")):
        with path.open("ab") as file:
            file.write(more)
        assert document.refresh()
        document.advance()
        assert document.line(0, 0, None).text[:30_000] == wanted[: bytes_document.CHUNK][:16_384]
        assert document.length(0) == len(wanted)


def test_a_file_that_was_cut_off_is_told(tmp_path: Path) -> None:
    path = tmp_path / "output.txt"
    document = grown(path, [b"one\ntwo\n"])
    path.write_bytes(b"1\n")
    assert document.refresh()
    assert document.line(len(document) - 1).text == output_page.CUT
