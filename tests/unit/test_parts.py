"""A log that is scanned in parts, by other processes, gives what one scan gives: record by record, in the same order."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from real import LOGS, TRACES

from tltui.export import to_json
from tltui.model import follow
from tltui.model.follow import Follower
from tltui.model.run import Run, settle
from tltui.sources.discover import discover
from tltui.trace import scan, scan_workers
from tltui.trace.batch import Batch
from tltui.trace.files import FileBytes, identity_of
from tltui.trace.log import Log
from tltui.trace.scan import Part, Scanner
from tltui.trace.scan_workers import Workers
from tltui.tree.listing import listing_data

SMALL = [path for path in LOGS if path.suffix == ".log" and 2_000 < path.stat().st_size < 600_000]
BLOCK = 4096
"""Bytes of a block in some tests, so that small logs have many."""


class Whole:
    """All that batches tell of a log."""

    def __init__(self, path: Path) -> None:
        self.source = FileBytes(str(path))
        self.scanner = Scanner(self.source)
        self.log = Log(str(path), self.source)
        self.members: dict[int, list[int]] = {}
        self.facts: list[list[Any]] = [[], [], [], [], []]

    def take(self, batch: Batch) -> None:
        self.log.apply(batch)
        for context, records in batch.members.items():
            self.members.setdefault(context, []).extend(records)
        told = (batch.notable, batch.strings, batch.started, batch.name_sources, batch.metrics)
        for mine, theirs in zip(self.facts, told, strict=True):
            mine.extend(theirs)

    def read_on(self) -> None:
        while not self.log.ended:
            self.take(self.scanner.step())

    def told(self) -> tuple[object, ...]:
        own, log = self.log.columns, self.log
        columns = [column.tolist() for column in (own.offset, own.head, own.size, own.kind, own.context, own.flags)]
        return columns, log.kinds, log.contexts, log.damage, log.clock, log.scanned, self.facts, self.members


def at_once(path: Path) -> tuple[object, ...]:
    whole = Whole(path)
    whole.read_on()
    return whole.told()


def in_parts(path: Path, places: list[int]) -> tuple[tuple[object, ...], int]:
    """What a log gives that is cut at these places, and how many of its parts were scanned by themselves."""
    whole, size, alone = Whole(path), path.stat().st_size, 0
    identity = identity_of(path.stat())
    begin = 0
    for end in (*places, size):
        found = scan.scan_part(Part(str(path), identity, begin, end, end == size))
        if found is not None:
            alone += 1
            whole.scanner.take_over(*found)
            for batch in found.batches:
                whole.take(batch)
        while end != size and whole.scanner.reached < end:
            whole.take(whole.scanner.step(until=end))
        begin = end
    whole.read_on()
    return whole.told(), alone


def places_in(data: bytes) -> list[int]:
    """Where a log may be cut."""
    found, at = [], data.find(b"\nV")
    while at >= 0:
        found.append(at + 1)
        at = data.find(b"\nV", at + 1)
    return found


def test_any_cut_of_a_real_log_changes_nothing(tmp_path: Path) -> None:
    chance = random.Random(1)
    alone = 0
    for path in SMALL:
        places = places_in(path.read_bytes())
        for count in (1, 9):
            cut = sorted(chance.sample(places, min(count, len(places))))
            told, own = in_parts(path, cut)
            assert told == at_once(path), (path, cut)
            alone += own
    assert alone > 2 * len(SMALL), "nearly all parts are scanned by themselves"


def _deleted(data: bytearray, at: int, size: int) -> None:
    del data[at : at + size]


def _inserted(*texts: bytes) -> Callable[[bytearray, int, int], None]:
    def insert(data: bytearray, at: int, size: int) -> None:
        data[at:at] = texts[size % len(texts)]

    return insert


def _without_payload(data: bytearray, at: int, size: int) -> None:
    begin = data.find(b"\n\t", at)
    end = data.find(b"\nV", begin) if begin >= 0 else -1
    if end >= 0:
        del data[begin:end]


def _windows(data: bytearray, at: int, size: int) -> None:
    data[at : at + size] = data[at : at + size].replace(b"\n", b"\r\n")


def _zeros(data: bytearray, at: int, size: int) -> None:
    data[at : at + size // 2] = bytes(size)


DAMAGE = (
    _deleted, _without_payload, _windows, _zeros,
    _inserted(b"\n", b"\n\n", b"\nV", b"\t", b"\n\tlines of nobody", b"}", b"V0101 ", b"\xff\xfe"),
    _inserted(bytes(BLOCK * 3), bytes(BLOCK * 9), bytes(100)),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_any_cut_of_a_damaged_log_changes_nothing(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        monkeypatch.setattr("tltui.trace.scan.BLOCK", BLOCK)
        monkeypatch.setattr("tltui.trace.scan.HELD", 4 * BLOCK)
        monkeypatch.setattr("tltui.trace.scan.ZEROS", bytes(BLOCK))
    chance, path = random.Random(seed), tmp_path / "damaged.log"
    for _ in range(20):
        data = bytearray(chance.choice(SMALL[:40]).read_bytes()[:200_000])
        for _ in range(chance.randrange(1, 12)):
            chance.choice(DAMAGE)(data, chance.randrange(len(data)), chance.choice((1, 40, 400, 5000)))
        path.write_bytes(data)
        places = places_in(bytes(data))
        cut = sorted(chance.sample(places, min(12, len(places))))
        assert in_parts(path, cut)[0] == at_once(path), cut


def test_where_a_log_may_be_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SIGHT", 16)
    data = b"V one\n\tpayload\nV two\n" + b"\t" + b"x" * 200 + b"\nV three\n"
    path = tmp_path / "a.log"
    path.write_bytes(data)
    source = FileBytes(str(path))
    second, third = data.index(b"V two"), data.index(b"V three")
    for place in range(len(data)):
        found = scan.next_record(source, place, len(data))
        assert found == next((at for at in (second, third) if at > place), None), place
        assert scan.last_record(source, place, len(data)) == next((at for at in (third, second) if at > place), None), place
    assert list(scan.cuts(source, len(data), 60)) == [third], "a payload that is longer than a part is in one"
    assert list(scan.cuts(source, len(data), 10)) == [second, third]


def test_a_part_that_begins_with_a_torn_line_is_not_decided(tmp_path: Path) -> None:
    path = tmp_path / "torn.log"
    good = TRACES.joinpath("torch-2.13/breaks").glob("*.log").__next__().read_bytes()
    torn = b'V0101 00:00:00.000000 7 torch/x.py:1] {"dynamo_st\n'
    path.write_bytes(good + torn + good)
    identity, place = identity_of(path.stat()), len(good)
    assert scan.scan_part(Part(str(path), identity, place, path.stat().st_size, True)) is None
    assert scan.scan_part(Part(str(path), identity, place + len(torn), path.stat().st_size, True)) is not None
    assert in_parts(path, [place, place + len(torn)])[0] == at_once(path)
    with pytest.raises(OSError, match="another file replaced it"):
        scan.scan_part(Part(str(path), (identity[0], identity[1] + 1), 0, place, False))


# other processes


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "WORTH", 0)
    monkeypatch.setattr(scan, "PART", 60_000)


def told_by(run: Run) -> tuple[bytes, list[object]]:
    logs = [(m.log.path, m.log.columns.offset.tolist(), m.log.damage, m.log.kinds, m.log.contexts) for m in run.models]
    return to_json(listing_data(run)), [*logs, run.tally, run.damaged, run.clock]


def read_by(path: Path, count: int, meanwhile: Callable[[int], None] = lambda _: None) -> Run:
    """The run, read by so many processes."""
    run = Run(discover([str(path)]))
    for number, event in enumerate(Follower(run, workers=count).read()):
        meanwhile(number)
        run.update(event)
    settle(run)
    return run


def children() -> list[int]:
    """The processes that scan for this one."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                stat = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
                command = Path("/proc", name, "cmdline").read_bytes()
            except OSError:
                continue
            if stat[1] == str(os.getpid()) and stat[0] != "Z" and b"trace/worker.py" in command:
                found.append(int(name))
    return found


@pytest.mark.parametrize("name", ["torch-2.13/ddp", "torch-2.13/diverge", "torch-2.13/train", "tlparse/multi_rank_logs"])
@pytest.mark.usefixtures("small_parts")
def test_a_run_that_processes_read_is_that_which_one_reads(name: str) -> None:
    if not TRACES.joinpath(name).exists():
        pytest.skip("not among the traces")
    ours = read_by(TRACES / name, 2)
    assert told_by(ours) == told_by(read_by(TRACES / name, 0))
    assert children() == []


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A log of many parts."""
    data = next(TRACES.joinpath("torch-2.13/train").glob("*.log")).read_bytes()
    path = tmp_path / "large"
    path.mkdir()
    (path / "a.log").write_bytes(data * 8)
    (path / "b.log").write_bytes(data * 8)
    return path


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_dies_or_hangs_changes_nothing(large: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hit: list[int] = []

    def meanwhile(event: int) -> None:
        if event == 3:
            hit.append(children()[0])
            os.kill(hit[0], number)
            monkeypatch.setattr(scan_workers, "PATIENCE", 0.3)  # not before: to start takes longer where much else goes on

    assert told_by(read_by(large, 2, meanwhile)) == told_by(read_by(large, 0))
    assert len(hit) == 1 and children() == []


@pytest.mark.usefixtures("small_parts")
def test_when_all_processes_die_the_rest_is_read_here(large: Path) -> None:
    def meanwhile(event: int) -> None:
        for pid in children() if event == 2 else ():
            os.kill(pid, signal.SIGKILL)

    assert told_by(read_by(large, 2, meanwhile)) == told_by(read_by(large, 0))


@pytest.mark.usefixtures("small_parts")
def test_who_reads_no_further_leaves_no_process(large: Path) -> None:
    events = Follower(Run(discover([str(large)])), workers=2).read()
    assert next(events) and len(children()) == 2
    events.close()  # type: ignore[attr-defined]
    assert children() == []


def test_pieces_come_in_turn(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "WORTH", 0)
    monkeypatch.setattr(scan, "PART", 60_000)
    for count in (0, 2):
        run = Run(discover([str(large)]))
        numbers = [event.log for event in Follower(run, workers=count).read(50_000) if isinstance(event, follow.Read)]
        assert {*numbers[:12]} == {0, 1}, "all logs are there soon"


def test_small_logs_start_no_process(large: Path) -> None:
    for _ in Follower(Run(discover([str(large)])), workers=2).read():
        assert children() == []


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLTUI_WORKERS", "0")
    assert scan_workers.how_many() == 0
    monkeypatch.setenv("TLTUI_WORKERS", "3")
    assert scan_workers.how_many() == 3
    monkeypatch.setenv("TLTUI_WORKERS", "many")
    assert 0 <= scan_workers.how_many() <= scan_workers.MOST != 1


PARENT = """
import sys, time
from tltui.trace.scan_workers import Workers
workers = Workers(2)
print(*(own.process.pid for own in workers._workers), flush=True)
time.sleep(60)
"""


def test_processes_end_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2 and all(map(_runs, pids))
        parent.kill()
    until = time.monotonic() + 10
    while any(map(_runs, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(map(_runs, pids))


def _runs(pid: int) -> bool:
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_processes_import_is_little_and_they_are_small(large: Path) -> None:
    path = large / "a.log"

    def asked() -> Iterator[tuple[int, Part]]:
        for number in range(4):
            yield number, Part(str(path), identity_of(path.stat()), 0, path.stat().st_size, True)

    pool: Workers[int] = Workers(1)
    try:
        for number, _, found in pool.scan(asked()):
            assert found is not None and len(found.batches[0].columns) > 0, number
            maps = Path("/proc", str(pool._workers[0].process.pid), "status").read_text()
        peak = next(int(line.split()[1]) for line in maps.splitlines() if line.startswith("VmHWM"))
        assert peak < 60 << 10, "KB"
    finally:
        pool.close()
    code = "import sys, tltui.trace.scan; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    others = ("tltui.model", "tltui.analyses", "tltui.documents", "tltui.inputs", "textual", "rich", "asyncio", "multiprocessing")
    assert [name for name in loaded if name.startswith(others)] == []
