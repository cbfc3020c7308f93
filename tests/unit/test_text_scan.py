"""The scanner of TORCH_LOGS text: steps, growth, damage by chance; launchers, writers that tear each other's lines."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from text_inputs import TRUTH, messages, others, scanned, text_log, unpacked

from tltui.inputs.text.batch import TextBatch
from tltui.inputs.text.log import TextLog
from tltui.inputs.text.scan import TEXT, TextScanner
from tltui.model.artifacts import artifact_name
from tltui.trace.batch import Batch, Context
from tltui.trace.files import FileBytes

STEPPED = ["made/ranks_torn.txt.xz", "made/kernel_and_traceback.txt.xz", "crash/stderr.txt", "killed/stderr.txt", "ranks_tee/stderr.txt.xz"]
DAMAGED = ["made/ranks_torn.txt.xz", "killed/stderr.txt", "tty_pty/terminal.txt.xz", "made/slurm_label.txt.xz", "crash/stderr.txt"]
BLANK = b" \t\r\n\x00"


def _told(log: TextLog, batches: list[TextBatch]) -> tuple[object, ...]:
    """All that a scan found."""
    columns = log.columns
    records = [
        (columns.offset[n], columns.head[n], columns.size[n], columns.flags[n], log.kind(n), log.context(n)) for n in log.records()
    ]
    return (
        records, log.damage, [n for batch in batches for n in batch.notable], [n for batch in batches for n in batch.named],
        [n for batch in batches for n in batch.started], [n for batch in batches for n in batch.strings],
        log._mended, log._latency, batches[-1].clock,
    )  # fmt: skip


def _whole(path: Path, size: int = 1 << 20) -> tuple[object, ...]:
    scanner, log, found = TextScanner(FileBytes(str(path))), TextLog("x", FileBytes(str(path))), []
    while not log.ended:
        found.append(scanner.step(size))
        log.apply(found[-1])
    return _told(log, found)


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.parametrize("size", [7, 100, 4096, 65_537])
def test_steps_of_any_size_find_the_same(name: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(unpacked(name).read_bytes()[: 12_000 if size < 100 else 1 << 20])
    assert _whole(path, size) == _whole(path)


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.parametrize("seed", range(3))
def test_a_file_that_grows_ends_as_one_that_was_read_at_once(name: str, seed: int, tmp_path: Path) -> None:
    data, path, chance = unpacked(name).read_bytes(), tmp_path / "x.txt", random.Random(seed)
    path.write_bytes(b"")
    scanner, log, found, at = TextScanner(FileBytes(str(path))), TextLog("x", FileBytes(str(path))), [], 0
    while at < len(data):
        piece = data[at : at + chance.choice([1, 40, 150, 700, 6000, 30_000])]
        with path.open("ab") as file:
            file.write(piece)
        at += len(piece)
        waiting = False
        while not waiting:
            found.append(scanner.step(1 << 16, last=False))
            log.apply(found[-1])
            waiting = found[-1].waiting
            assert not found[-1].finished and scanner.reached <= at
        assert (found[-1].tail is None) == (scanner.reached == at)
    found.append(scanner.step(last=True))
    log.apply(found[-1])
    told, wanted = _told(log, found), _whole(path)
    assert log.ended and told == wanted
    assert [log.md5(n) for n in log.records()] == [other.md5(n) for other in [scanned(path)] for n in other.records()]


def _pieces(log: TextLog) -> Iterator[tuple[int, int]]:
    for record in log.records():
        yield from log.pieces(record)


def _look_at_all(path: Path) -> TextLog:
    """Each byte is in one record or blank, and whatever may be asked of a record is answered."""
    log, data = scanned(path), path.read_bytes()
    at = 0
    for offset, size in sorted(piece for piece in _pieces(log) if piece[1]):
        assert offset >= at, f"twice: {data[offset : offset + 80]!r}"
        assert not data[at:offset].strip(BLANK), f"in no record: {data[at:offset][:200]!r}"
        at = offset + size
    assert not data[at:].strip(BLANK)
    for record in log.records():
        log.head(record), log.payload(record), log.check(record), log.written(record), log.identity(record), log.envelope(record)
        assert b"\x1b" not in log.message(record) and b"\r" not in log.message(record)
    return log


@pytest.mark.parametrize("name", list(TRUTH))
def test_each_byte_is_in_one_record(name: str) -> None:
    _look_at_all(unpacked(name))


NOISE = [b"\n", b"\r", b"\r\n", b"\x00" * 9, b"\x1b[31m", b"\xff\xfe\x80", b" ", b"]", b"[", b":", b"[rank3]:", b"V1121 18:55:22.2", b"\xef\xbb\xbf", b"7"]


def _damaged(data: bytes, chance: random.Random) -> bytes:
    """A text with some damage: cut, torn, doubled, mixed with noise."""
    for _ in range(chance.randint(1, 12)):
        at = chance.randrange(len(data) + 1)
        length = chance.choice([1, 3, 30, 300, 3000])
        act = chance.randrange(5)
        if act == 0:
            data = data[:at] + data[at + length :]
        elif act == 1:
            data = data[:at] + chance.choice(NOISE) + data[at:]
        elif act == 2:
            data = data[:at] + data[at : at + length] * 2 + data[at + length :]
        elif act == 3:
            other = chance.randrange(len(data) + 1)
            data = data[:at] + data[other : other + length] + data[at:]
        else:
            data = data.replace(b"\n", b"\r\n") if chance.random() < 0.1 else data[: max(at, 2000)]
    return data


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_by_chance(name: str, tmp_path: Path) -> None:
    whole, path = unpacked(name).read_bytes(), tmp_path / "x.txt"
    for seed in range(25):
        chance = random.Random(f"{name} {seed}")
        begin = chance.randrange(len(whole))
        path.write_bytes(_damaged(whole[begin : begin + 20_000], chance))
        log = _look_at_all(path)
        assert _whole(path, 997) == _whole(path), seed
        assert len(log) < 2000
