"""Lines without a prefix of torch never change which inputs are one process. A large run is joined in slices."""

from __future__ import annotations

import random
import re
import shutil
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from types import FrameType

import pytest
from jobs import unpacked
from made_logs import Log
from real import TRACES, fresh

from tltui.model import process_evidence
from tltui.model.follow import Follower, open_run
from tltui.model.input_joining import process_records
from tltui.model.nodes import Process
from tltui.model.process_evidence import span
from tltui.model.run import Run, settle, settle_joined
from tltui.sources.discover import discover
from tltui.text.steps import run_steps

JOBS = ["breaks", "cache_hit", "crash", "dyn", "errors", "killed", "mlp", "recompiles", "tty_stdout"]
RANKS = ["ranks_merged", "ranks_tee"]
MESSAGE = re.compile(rb"^(?:\[\w+\]:|\d+: )?(?:\[rank\d+\]:)?[VIWEC]\d{4} ")
PLAIN = (
    b"epoch 1 loss 0.3", b"  0%|          | 0/100 [00:00<?, ?it/s]", b"INFO:root:step 3", b"[default1]: 17", b"", b"\t{}",
    b"2026-11-24 10:00:00,123 INFO worker ready", "größe 3".encode(),
)  # fmt: skip
Facts = tuple[list[tuple[object, ...]], list[str]]


def facts(run: Run) -> Facts:
    """Return all that a run shows of its processes but the plain lines and the place of records."""
    told: list[tuple[object, ...]] = []
    for process in run.processes():
        log = process.log
        told.append((str(process.ref), process.pid, process.rank, sorted(process.origins)))
        for compile_ in process.compiles.values():
            kinds = [log.kind(record) for record in compile_.records]
            texts = [log.md5(record) for record, kind in zip(compile_.records, kinds, strict=True) if kind.event != "text"]
            names = [(kind.event, kind.name) for kind in kinds if kind.event != "text"]
            told.append((str(compile_.ref), str(compile_.status), compile_.frame.code, names, texts, sorted(compile_.attempts)))
    return sorted(told, key=str), [apart.why for apart in run.joining.apart]


def texts_of(job: Path) -> list[Path]:
    return [path for path in job.rglob("*") if path.suffix in (".txt", ".log") and "torch_trace" not in path.name]


def messages(data: bytes) -> list[bytes]:
    """Cut a text at the beginnings of torch's lines: a plain line within a traceback would be part of it."""
    pieces: list[bytes] = []
    for line in data.splitlines(keepends=True):
        if pieces and not MESSAGE.match(line) and not pieces[-1].startswith(b"\0"):
            pieces[-1] += line
        else:
            pieces.append(line)
    return pieces


def mixed(data: bytes, where: str, seed: int) -> bytes:
    chance = random.Random(seed)
    pieces = messages(data)

    def plain(most: int) -> bytes:
        return b"".join(chance.choice(PLAIN) + b"\n" for _ in range(chance.randint(1, most)))

    if where == "start":
        pieces.insert(0, plain(3))
    elif where == "end":
        pieces.append(plain(3))
    elif where == "thousands":
        half = len(pieces) // 2
        pieces = [plain(9000), *pieces[:half], plain(2000), *pieces[half:], plain(9000)]
    else:
        for _ in range(chance.randint(1, 60)):
            pieces.insert(chance.randint(0, len(pieces)), plain(2))
    return b"".join(pieces)


@pytest.mark.parametrize("where", ["start", "end", "between", "thousands"])
@pytest.mark.parametrize("name", [*JOBS, *RANKS])
def test_plain_lines_anywhere_change_nothing(name: str, where: str, tmp_path: Path) -> None:
    job = unpacked(name, tmp_path)
    for directory in ("torch_compile_debug", "tlparse_out"):
        shutil.rmtree(job / directory, ignore_errors=True)
    before = facts(fresh(job))
    texts = {path: path.read_bytes() for path in texts_of(job)}
    assert texts
    for seed in range(3):
        for path, data in texts.items():
            path.write_bytes(mixed(data, where, seed))
        assert facts(fresh(job)) == before, f"{where}, seed {seed}"


def test_one_plain_line_before_and_after_the_warning_of_a_limit(tmp_path: Path) -> None:
    """The only messages are those of one warning: time and pid are all the evidence there is."""
    trace = tmp_path / "trace"
    shutil.copytree(TRACES / "torch-2.13" / "recompiles", trace)
    (process,) = fresh(trace).processes()
    prefix = process.log.prefix(next(iter(process.log.records())))
    assert prefix is not None
    start = f"W{prefix.month:02}{prefix.day:02} {prefix.time} {process.pid} torch/_dynamo/convert_frame.py:1994] [0/0] "
    warning = f"{start}torch._dynamo hit config.recompile_limit (8)\n{start}   function: 'f' (a.py:1)\n"
    out = tmp_path / "out.txt"
    for text in (warning, "epoch 1 loss 0.3\n" + warning, warning + "epoch 1 loss 0.3\n", ("x\n" + warning + "y\n") * 3):
        out.write_text(text)
        run = fresh(trace, out)
        assert [sorted(one.origins) for one in run.processes()] == [["text", "trace"]], text
        assert run.tally.compiles == fresh(trace).tally.compiles


def test_thousands_of_plain_lines_of_two_ranks_that_alternate(tmp_path: Path) -> None:
    """Each is a record of its own, so that none of the records at the ends has a time."""
    job = unpacked("ranks_tee", tmp_path)
    before = facts(fresh(job))
    (path,) = texts_of(job)
    data = path.read_bytes()
    labels = sorted(set(re.findall(rb"(?m)^(\[\w+\]:)", data)))
    assert len(labels) == 2
    noise = b"".join(label + b"step %d\n" % step for step in range(600) for label in labels)
    path.write_bytes(data + noise)
    assert facts(fresh(job)) == before


@pytest.mark.parametrize("window", [1, 7, 100_000])
def test_records_of_a_process_are_in_file_order(window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.model.input_joining.SLICE", window)
    run = fresh(unpacked("ranks_merged", tmp_path))
    for model in run.models:
        for process in model.processes:
            wanted = sorted(record for compile_ in process.compiles.values() for record in compile_.records)
            for size in (len(process.log), len(process.log) // 2):
                parts = [list(part) for part in process_records(process, size)]
                assert [record for part in parts for record in part] == [record for record in wanted if record < size]
                assert all(0 < len(part) <= window for part in parts)


def test_the_result_does_not_depend_on_the_size_of_a_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mlp", "ranks_merged", "recompiles", "errors"):
        job = unpacked(name, tmp_path)
        before = facts(fresh(job))
        for size in (1, 13):
            for module in ("process_evidence", "input_joining"):
                monkeypatch.setattr(f"tltui.model.{module}.SLICE", size)
            assert facts(fresh(job)) == before, name
        monkeypatch.undo()


def large(into: Path, records: int) -> Path:
    """Write a trace and the output of its job, half of the records each."""
    into.mkdir()
    log = Log(into / "dedicated_log_torch_trace_1.log")
    for number in range(10):
        log.start(f"f{number}", frame=number)
    for number in range(records // 2):
        log.add("chromium_event", {}, "{}", frame=number % 10)
    for number in range(10):
        log.metrics(frame=number)
    log.open()
    line = "W1120 09:22:47.015000 3536 torch/_dynamo/x.py:%d] [%d/0] message %d\n"
    (into / "out.txt").write_text("".join(line % (number % 9 + 1, number % 10, number) for number in range(records // 2)))
    return into


def most_lines(run: Run) -> tuple[int, int]:
    """Return the most lines of Python between two yields of a join, and the number of steps."""
    counts: Counter[int] = Counter()
    step = 0

    def count(frame: FrameType, event: str, argument: object) -> object:
        counts[step] += event == "line"
        return count

    steps = run.joining.join(run.models, True)
    run.joining._states = []
    sys.settrace(count)  # type: ignore[arg-type]
    try:
        for _ in steps:
            step += 1
    finally:
        sys.settrace(None)
    return max(counts.values()), step


def test_no_step_does_more_work_in_a_larger_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("process_evidence", "input_joining"):
        monkeypatch.setattr(f"tltui.model.{module}.SLICE", 200)
    small, steps_of_small = most_lines(fresh(large(tmp_path / "small", 4_000)))
    big, steps_of_big = most_lines(fresh(large(tmp_path / "big", 16_000)))
    assert steps_of_big > 3 * steps_of_small
    assert big < 1.2 * small


def test_a_batch_between_two_steps_is_joined_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tltui.model.input_joining.SLICE", 100)
    paths = discover([str(large(tmp_path / "job", 3000))])
    whole = open_run(paths)
    for begun in range(1, 60, 7):
        run = Run(discover(paths.paths))
        events = list(Follower(run).read(20_000))
        for event in events[: len(events) // 2]:
            run.update(event)
        steps = run.join()
        for _ in islice(steps, begun):
            pass
        for event in events[len(events) // 2 :]:
            run.update(event)
        settle_joined(run, run_steps(steps))
        settle(run)
        assert facts(run) == facts(whole)


def test_the_times_of_a_process_ignore_plain_lines(tmp_path: Path) -> None:
    job = unpacked("ranks_tee", tmp_path)
    (path,) = texts_of(job)

    def spans(run: Run) -> list[object]:
        members: list[Process] = [process for model in run.models for process in model.processes if model.form == "text"]
        return [run_steps(span(process)) for process in members if process.pid]

    before = spans(fresh(path))
    path.write_bytes(b"hello\n" * 5 + path.read_bytes() + b"bye\n" * 5)
    assert spans(fresh(path)) == before
    assert None not in before
    assert process_evidence.SLICE > 0
