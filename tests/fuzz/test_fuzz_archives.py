"""Archives that are damaged by chance: a message or a log, never a fault of ours, and never without end.

`TLTUI_FUZZ=7/31` is case 31 of seed 7 alone, as in `test_fuzz.py`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import signal
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real import TRACES
from test_fuzz import END, FIRST, FROM

from tltui.export import lines_of
from tltui.inputs.archives import SETTINGS, Limits
from tltui.inputs.archives import cache as module
from tltui.inputs.archives.cache import Cache
from tltui.inputs.tlparse_import import events_in, row_of
from tltui.model.follow import open_run
from tltui.questions.records.records_page import damage_document
from tltui.sources.discover import NothingFound, discover
from tltui.text.document import Options
from tltui.text.sanitize import sanitize

SECONDS = 20
"""No case takes longer: it is far less than a second of work."""
HOSTILE = [path for path in sorted((TRACES / "inputs" / "archives").iterdir()) if path.stat().st_size < 50_000]
ROWS = TRACES / "inputs" / "tlparse_out" / "without_raw"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cache]:
    own = Cache(tmp_path / "cache", Limits(member=4 << 20, total=16 << 20, members=300), SETTINGS.report)
    monkeypatch.setattr(module, "_process_cache", [own])
    yield own
    own.remove()


@pytest.fixture
def in_time() -> Iterator[None]:
    def late(*_: object) -> None:
        raise AssertionError(f"it took longer than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def whole(chance: random.Random) -> bytes:
    """An archive before it is damaged: one of the fixtures, or one made of two of them."""
    data = chance.choice(HOSTILE).read_bytes()
    made = io.BytesIO()
    kind = chance.randrange(6)
    if kind == 0:
        mode: Any = chance.choice(["w", "w:gz", "w:xz", "w:bz2"])
        form = chance.choice([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
        with tarfile.open(fileobj=made, mode=mode, format=form) as archive:
            for name in ("a.log", "x" * chance.choice([5, 90]) + "/b\u20ac.gz"):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return made.getvalue()
    if kind == 1:
        with zipfile.ZipFile(made, "w", chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])) as archive:
            archive.writestr("a.log", data)
            archive.writestr("d/b.gz", gzip.compress(data))
        return made.getvalue()
    if kind == 2:
        return chance.choice([gzip.compress, bz2.compress, lzma.compress])(data)
    return data


def damaged(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5, 40])):
        kind, at = chance.randrange(6), chance.randrange(max(len(found), 1))
        if chance.random() < 0.4:  # headers stand in front, and the list of a zip archive at the end
            at = chance.choice([min(at, 600), max(len(found) - 600 + at % 600, 0)])
        if kind == 0:
            found[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            found[at : at + chance.choice([1, 8, 300])] = b""
        elif kind == 2:
            found[at:at] = bytes(chance.choices(range(256), k=chance.choice([1, 8, 300])))
        elif kind == 3:
            del found[at:]
        elif kind == 4:
            found[at : at + 8] = chance.choice([b"\xff" * 8, bytes(8), b"77777777", b"\x80" + bytes(7)])
        else:
            part = bytes(found[at : at + 512])
            place = chance.randrange(max(len(found), 1))
            found[place:place] = part
    return bytes(found)


@pytest.mark.parametrize("number", range(FIRST, END))
@pytest.mark.usefixtures("in_time")
def test_a_damaged_archive_is_opened_or_refused(number: int, tmp_path: Path, cache: Cache) -> None:
    chance = random.Random(f"{FROM}/{number}")
    path = tmp_path / chance.choice(["x.log.gz", "x.tar", "x.tgz", "x.zip", "x"])
    path.write_bytes(damaged(whole(chance), chance))
    try:
        run = open_run(discover([str(path)]))
    except NothingFound as nothing:
        texts = str(nothing).split("\n")
    else:
        assert run.finished
        texts = list(lines_of(damage_document(run, Options(), check=True)))
        assert all(sanitize(log.label) == log.label for log in run.discovered.logs)
    assert [sanitize(text) for text in texts] == texts
    for directory, _, files in os.walk(cache.top):
        assert all(os.stat(os.path.join(directory, name)).st_mode & 0o777 == 0o600 for name in files)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted({path.name, "cache"} & set(os.listdir(tmp_path)))
    assert cache.written <= cache.limits.total


@pytest.mark.parametrize("number", range(FIRST, END))
@pytest.mark.usefixtures("in_time")
def test_a_damaged_report_of_tlparse_is_opened_or_refused(number: int, tmp_path: Path, cache: Cache) -> None:
    chance = random.Random(f"{FROM}/report/{number}")
    report = tmp_path / "report"
    report.mkdir()
    (report / "compile_directory.json").write_text("{}")
    for name in ("raw.jsonl", "chromium_events.json"):
        data = (ROWS / name).read_bytes()
        (report / name).write_bytes(damaged(data, chance) if chance.random() < 0.8 else data)
    try:
        run = open_run(discover([str(report)]))
    except NothingFound:
        return
    texts = list(lines_of(damage_document(run, Options(), check=True)))
    assert [sanitize(text) for text in texts] == texts


def test_rows_of_any_kind() -> None:
    for line in (b"", b"{}", b"[]", b"null", b'{"thread": -1}', b'{"thread": "x", "timestamp": 3, "lineno": [], "pathname": {}}'):
        assert (row := row_of(line)) is None or row.pid == 0
    assert row_of(b"\xff") is None
    assert list(events_in(io.BytesIO(b"{}"), 1 << 20)) == list(events_in(io.BytesIO(b"[1, 2"), 1 << 20)) == []
