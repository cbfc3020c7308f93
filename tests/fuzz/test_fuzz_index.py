"""Indexes that somebody has made up: every checksum is right, and what it stands for is not what a scan gives."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import pytest
from indexing import index
from real import TRACES

from tltui.inputs.index.format import LARGEST, MAGIC, BadIndex, dump_json, load_json, pack, unpack, write_directory
from tltui.inputs.index.indexed_log import EXTENTS, RECORDS, STREAM, IndexFile, opened
from tltui.model.follow import open_run
from tltui.questions.build import build
from tltui.questions.ranks.lanes import read_lanes, times_of_saved
from tltui.sources.discover import NothingFound, discover
from tltui.text.document import Options
from tltui.text.steps import run_steps
from tltui.tree.listing import listing_data, listing_document

CASES, AT_ONCE = 180, 30
ODD: tuple[Any, ...] = (
    None, -1, 0, 1, 2**31, 2**62, 2**64, 10**400, 1e308, "", "x", "\ud800", "\x1b[2J", "/etc/passwd", [], {}, [[]], True,
)  # fmt: skip
PAGES = ("@summary", "@problems", "@guards", "@timing", "@records")


def changed(value: Any, rng: random.Random) -> Any:
    """The value with something in it that is another thing."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(sorted(value))
        return {**value, key: changed(value[key], rng)} if rng.random() < 0.97 else {k: v for k, v in value.items() if k != key}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        return [*value[:place], changed(value[place], rng), *value[place + 1 :]]
    return rng.choice(ODD)


def columns_changed(data: bytes, rng: random.Random) -> bytes:
    """Some bytes are others, or gone."""
    own = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        own[rng.randrange(len(own))] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
    return bytes(own[: rng.randrange(len(own))] if rng.random() < 0.1 else own)


def made(good: IndexFile, rng: random.Random) -> bytes:
    """The index with one of its parts changed, and all checksums right."""
    parts, at = [MAGIC], len(MAGIC)
    log, [process] = good.logs[0], good.saved[:1]
    what = rng.choice((RECORDS, RECORDS, "columns", EXTENTS, "directory", "directory", "course", "times", "phases"))

    def put(data: bytes) -> list[int]:
        nonlocal at
        stored, chunk = pack(data, at)
        parts.append(stored)
        at += len(stored)
        return list(chunk)

    records = good.section(0, RECORDS)
    size = int.from_bytes(records[:4], "little")
    head, columns = records[4 : 4 + size], records[4 + size :]
    if what == RECORDS:
        head = dump_json(changed(load_json(head), rng))
    elif what == "columns":
        columns = columns_changed(columns, rng)
    extents = good.section(0, EXTENTS)
    stream = log.sections[STREAM]
    fact = dict(good.facts[0])
    fact["sections"] = {
        RECORDS: put(len(head).to_bytes(4, "little") + head + columns),
        EXTENTS: put(columns_changed(extents, rng) if what == EXTENTS else extents),
        STREAM: [at, stream.stored],
    }
    parts.append(good.source.read(stream.offset, stream.stored))
    at += stream.stored
    row = dict(fact["processes"][0])
    for name, data in (("times", process.times_bytes()), ("phases", process.phases_bytes())):
        row[name] = put(columns_changed(data, rng) if what == name else data)
    course = process.course_bytes()
    courses = {process.course.hex(): put(columns_changed(course, rng) if what == "course" else course)}
    pool = [
        digest + b"".join(n.to_bytes(size, "little") for n, size in zip(put(unpack(good.source, chunk)), (8, 4, 4, 4), strict=True))
        for digest, chunk in sorted(good.pool.items())
    ]
    fact["processes"] = [row]
    directory: Any = {"format": 1, "tltui": "x", "logs": [fact], "courses": courses, "pool": put(b"".join(pool)) if pool else None}
    if what == "directory":
        other = changed(directory, rng)
        directory = {**other, "format": 1} if isinstance(other, dict) else other
    parts.append(write_directory(directory, at))
    return b"".join(parts)


def look_at(path: Path) -> None:
    """Open an index, and everything that is in it."""
    try:
        run = open_run(discover([str(path)]))
    except NothingFound as nothing:
        assert str(nothing).isprintable()
        return
    for ask in (
        lambda: listing_data(run), lambda: run_steps(read_lanes(run)), lambda: list(listing_document(run, Options()).text()),
        *(lambda page=page: texts(build(run, page, Options())) for page in PAGES),
        lambda: [own.times.phases for own in run_steps(read_lanes(run))],
        lambda: [dict(times_of_saved(own).phases) for own in opened(str(path)).saved],
    ):  # fmt: skip
        try:
            ask()  # type: ignore[no-untyped-call]
        except OSError as error:
            assert "damaged" in str(error) or "payload is on" in str(error), error


def texts(document: Any) -> None:
    while not document.advance():
        pass
    for line in document.text():
        assert "\x1b" not in line


@pytest.mark.parametrize("first", range(0, CASES, AT_ONCE))
def test_indexes_that_were_made_up(first: int, tmp_path: Path) -> None:
    good = IndexFile(str(index([TRACES / "torch-2.13" / "resets"], tmp_path / "good.tlx")))
    for number in range(first, first + AT_ONCE):
        path = tmp_path / f"{number}.tlx"
        path.write_bytes(made(good, random.Random(number)))
        look_at(path)


def test_nothing_is_unpacked_beyond_what_is_announced(tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(1 << 24), 9)
    crc = zlib.crc32(bomb)
    for size in (100, 1 << 24, LARGEST + 1, 1 << 61):
        path = tmp_path / f"{size}.tlx"
        fact = {"sections": {RECORDS: [len(MAGIC), len(bomb), size, crc]}}
        directory = {"format": 1, "tltui": "x", "logs": [fact], "courses": {}}
        path.write_bytes(MAGIC + bomb + write_directory(directory, len(MAGIC) + len(bomb)))
        with pytest.raises(BadIndex):
            IndexFile(str(path)).section(0, RECORDS)
