"""Blocks of a job's output give the messages that its single lines give, however the output is cut into blocks."""

from __future__ import annotations

import lzma
import random
from collections.abc import Iterator

import pytest
from cluster_texts import KINDS, cluster_texts
from real import TRACES
from text_runs import read_printed

from tltui.questions.job_failures import failure_order
from tltui.questions.job_failures.failure_order import LinePlaces, Printed, PrintedReader
from tltui.questions.job_failures.printed_messages import TextLine

FILES = [path for part in ("inputs/printed", "jobs") for path in (TRACES / part).rglob("*.txt*")]
TEXTS = sorted(path for path in FILES if path.suffix in (".txt", ".xz"))


def lines_of(data: bytes) -> Iterator[TextLine]:
    at = 0
    for line in data.removesuffix(b"\n").split(b"\n"):
        yield TextLine(at, line, 7, None)
        at += len(line) + 1


def in_blocks(data: bytes, blocks: int, seed: int) -> Printed:
    ends = [at + 1 for at in range(len(data) - 1) if data[at] == 10]
    chosen = sorted(random.Random(seed).sample(ends, min(blocks, len(ends))))
    reader = PrintedReader()
    for begin, end in zip([0, *chosen], [*chosen, len(data)], strict=True):
        reader.read_block(data[begin:end], begin, 7, None)
        reader.printed()  # reading goes on afterwards
    return reader.printed()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_blocks_give_the_messages_of_lines(path) -> None:  # type: ignore[no-untyped-def]
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    data = data[: 1 << 18]
    for text in (data, data.replace(b"\n", b"\r\n"), data.replace(b"Error", b"\x1b[31mError\x1b[0m"), data[: len(data) // 2]):
        whole = read_printed(lines_of(text))
        for blocks in (0, 1, 5):
            assert in_blocks(text, blocks, blocks) == whole


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_other_programs_give_the_messages_of_lines(kind: str) -> None:
    text = "".join(cluster_texts(kind)).encode()
    assert in_blocks(text, 3, 1) == read_printed(lines_of(text))


def test_tracebacks_are_read_in_runs_of_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log with many different tracebacks makes an object for few of its lines."""
    frames = b"".join(b'  File "/x/torch/_dynamo/a.py", line %d, in f\n    g(%d)\n    ^^^^\n' % (n, n) for n in range(300))
    text = b"Traceback (most recent call last):\n" + frames + b"ValueError: no\nepoch 1\n" + b"loss 0.3\n" * 400
    made = []
    monkeypatch.setattr(failure_order, "TextLine", lambda *fields: made.append(fields) or TextLine(*fields))
    (traceback,) = in_blocks(text, 0, 0).tracebacks
    assert len(traceback.parts[0].frames) == 300 and len(made) < 100


def test_line_places() -> None:
    places = LinePlaces(b"a\nxy x\n\nzx\n", [b"x", b"z"])
    assert [places.after(at) for at in (0, 2, 3, 8, 9)] == [2, 2, 8, 8, 12]
