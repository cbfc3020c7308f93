"""The scanner of TORCH_LOGS text: steps, growth, damage by chance; launchers, writers that tear each other's lines."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from text_inputs import TRUTH, messages, others, scanned, text_log, unpacked

from tltui.inputs.text.text_log import TORN, TextBatch, TextLog
from tltui.inputs.text.text_scanner import LONGEST, TORN_BY, TextScanner
from tltui.model.artifacts import artifact_name
from tltui.trace.batch import Kind
from tltui.trace.files import FileBytes

STEPPED = [
    "made/ranks_torn.txt.xz", "made/kernel_and_traceback.txt.xz", "crash/stderr.txt", "killed/stderr.txt",
    "ranks_tee/stderr.txt.xz",
]  # fmt: skip
DAMAGED = ["made/ranks_torn.txt.xz", "killed/stderr.txt", "tty_pty/terminal.txt.xz", "made/slurm_label.txt.xz", "crash/stderr.txt"]
BLANK = b" \t\r\n\x00"


def _told(log: TextLog, batches: list[TextBatch]) -> tuple[object, ...]:
    """All that a scan found."""
    columns = log.columns
    records = [
        (columns.offset[n], columns.head[n], columns.size[n], columns.flags[n], log.kind(n), log.context(n)) for n in log.records()
    ]
    return (
        records, log.damage, [n for batch in batches for n in batch.notable], [n for batch in batches for n in batch.name_sources],
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


NOISE = [
    b"\n", b"\r", b"\r\n", b"\x00" * 9, b"\x1b[31m", b"\xff\xfe\x80", b" ", b"]", b"[", b":", b"[rank3]:", b"V1121 18:55:22.2",
    b"\xef\xbb\xbf", b"7",
]  # fmt: skip


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


# writers that tear each other's lines


def _events(*logs: TextLog) -> Counter[tuple[object, ...]]:
    """Events with their place and content."""
    return Counter(
        (artifact_name(log.kind(record)), log.context(record), log.md5(record) or str(log.event(record)))
        for log in logs for record in messages(log) if log.kind(record).event != "log"
    )  # fmt: skip


def test_torn_lines_are_put_together_and_the_records_flagged() -> None:
    whole = [name for name in TRUTH if name.startswith("ranks_redirect/log/")]
    wanted, log = _events(*map(text_log, whole)), text_log("made/ranks_torn.txt.xz")
    assert len(wanted) == 2 * 14 + 3 and _events(log) == wanted
    assert Counter(damage.reason for damage in log.damage) == {TORN_BY: 7}
    assert {damage.record for damage in log.damage} == {record for record in log.records() if log.columns.flags[record] & TORN}
    assert len(messages(log)) == sum(TRUTH[name]["records"] for name in whole)
    assert len(others(log)) == sum(TRUTH[name]["other_lines"] for name in whole)


def _line(text: str, pid: int = 28216, second: int = 1, ids: str = "0/1", artifact: str = "output_code") -> bytes:
    return f"V1121 19:00:{second:02}.000000 {pid} torch/_inductor/graph.py:12] [{ids}] [__{artifact}] {text}\n".encode()


def _written(tmp_path: Path, *lines: bytes) -> TextLog:
    path = tmp_path / "x.txt"
    path.write_bytes(b"".join(lines))
    return _look_at_all(path)


def test_a_number_that_is_two_cut_ones_is_no_process(tmp_path: Path) -> None:
    """`282` of 28216, and `7 …` of 28217."""
    one, other = _line("Output code: "), _line("Output code: ", pid=28217)
    glued = _line("x = 1", pid=2827)
    log = _written(tmp_path, one, other, glued, _line("y = 2"), _line("z = 3", pid=28217))
    assert {log.context(record).pid for record in log.records()} == {28216, 28217}
    assert [log.kind(damage.record) for damage in log.damage] == [Kind("text", "")]
    assert [log.text(record) for record in messages(log)] == ["y = 2", "z = 3"]


def test_a_new_process_with_such_a_number_is_one(tmp_path: Path) -> None:
    log = _written(tmp_path, _line("a"), _line("b", pid=28217), _line("c", pid=2827), _line("d", pid=2827, second=2))
    assert {log.context(record).pid for record in log.records()} == {28216, 28217, 2827}
    assert not log.damage


def test_a_print_without_a_newline_is_not_part_of_the_message_behind_it(tmp_path: Path) -> None:
    log = _written(tmp_path, _line("a"), b"loss 0.5 ", _line("b", second=2), b"print\n", _line("c", second=3))
    assert [log.message(record) for record in log.records()] == [b"a", b"loss 0.5 ", b"b", b"print", b"c"]
    assert not log.damage


def test_lines_of_two_processes_in_turn(tmp_path: Path) -> None:
    texts = ["Output code: ", *(f"x{n} = {n}" for n in range(40))]
    log = _written(tmp_path, *(_line(text, pid=pid) for text in texts for pid in (28216, 40_000)))
    assert len(messages(log)) == 2
    assert {log.text(record) for record in messages(log)} == {"\n".join(texts[1:])}


def test_the_rest_of_a_torn_line_that_never_came(tmp_path: Path) -> None:
    log = _written(tmp_path, _line("Output code: "), _line("x = 12345")[:-4], _line("Output code: ", pid=77_000), _line("y = 2"))
    assert log.text(0) == "x = 12\ny = 2"
    assert [damage.reason for damage in log.damage] == [TORN_BY]


def test_a_process_that_has_a_line_cut_inside_its_prefix(tmp_path: Path) -> None:
    line = _line("x = 1")
    log = _written(tmp_path, _line("Output code: "), line[:9], _line("Output code: ", pid=77_000), line[9:], _line("y = 2"))
    assert log.text(0) == "x = 1\ny = 2"
    assert log.stored(0).count(b"\n") == 2 and log.is_torn(0)


# what launchers put in front

PLAIN = "ranks_merged/stderr.txt.xz"
LAUNCHERS = {
    "srun --label": lambda n, line: b"%d: " % (n % 2) + line,
    "mpirun --tag-output": lambda n, line: b"[1,%d]<stderr>:" % (n % 2) + line,
    "mpirun 5": lambda n, line: b"[1,%d]<stderr>: " % (n % 2) + line,
    "torchrun --tee": lambda n, line: b"[default%d]:" % (n % 2) + line,
    "kubectl logs --prefix": lambda n, line: b"[pod/train-worker-%d/pytorch] " % (n % 2) + line,
    "kubectl logs --timestamps": lambda n, line: b"2026-11-21T18:55:22.%09dZ " % n + line,
    "kubectl logs --prefix --timestamps": lambda n, line: b"[pod/train-worker-0/pytorch] 2026-11-21T18:55:22.%09dZ " % n + line,
    "docker compose": lambda n, line: b"worker-%d  | " % (n % 2) + line,
    "ray": lambda n, line: b"(RayTrainWorker pid=%d) " % (n % 2) + line,
    "ray, of another node": lambda n, line: b"(RayTrainWorker pid=%d, ip=10.0.0.1) " % (n % 2) + line,
    "log of a container": lambda n, line: b"2026-11-21T18:55:22.%09dZ stderr F " % n + line,
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_launchers(launcher: str, tmp_path: Path) -> None:
    put, plain = LAUNCHERS[launcher], text_log(PLAIN)
    ranks = {8729: 0, 8730: 1, 8725: 0}
    owner, lines = 0, []
    for number, line in enumerate(unpacked(PLAIN).read_bytes().splitlines(keepends=True)):
        owner = next((rank for pid, rank in ranks.items() if b" %d torch/" % pid in line), owner)
        lines.append(put(owner + 2 * number, line))
    log = _written(tmp_path, *lines)
    assert _events(log) == _events(plain)
    assert [log.message(record) for record in messages(log)] == [plain.message(record) for record in messages(plain)]
    assert [log.context(record) for record in messages(log)] == [plain.context(record) for record in messages(plain)]
    assert len(others(log)) == len(others(plain)) and not log.damage


# lines of all kinds


def test_colours_and_carriage_returns_leave_nothing_behind() -> None:
    for name in ("tty_pty/terminal.txt.xz", "tty_stdout/stderr.txt.xz"):
        log, plain = text_log(name), text_log("breaks/stderr.txt.xz")
        own = {record: log.text(record) for record in messages(log) if artifact_name(log.kind(record)) == "dynamo_output_graph"}
        assert all("\x1b" not in log.text(record) and "\r" not in log.text(record) for record in log.records())
        wanted = [plain.text(n) for n in messages(plain) if artifact_name(plain.kind(n)) == "dynamo_output_graph"]
        assert list(own.values()) == wanted


def test_lines_that_an_editor_trimmed(tmp_path: Path) -> None:
    data = unpacked("killed/stderr.txt").read_bytes()
    path = tmp_path / "x.txt"
    path.write_bytes(b"\n".join(line.rstrip() for line in data.split(b"\n")))
    assert _events(_look_at_all(path)) == _events(text_log("killed/stderr.txt"))


def test_line_ends_of_windows_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xef\xbb\xbf" + unpacked("killed/stderr.txt").read_bytes().replace(b"\n", b"\r\n"))
    assert _events(_look_at_all(path)) == _events(text_log("killed/stderr.txt"))


def test_a_line_beyond_all_measure(tmp_path: Path) -> None:
    log = _written(tmp_path, _line("a"), b"x" * (2 * LONGEST + 99) + b"\n", _line("b", second=2))
    assert [log.message(record) for record in messages(log)] == [b"a", b"b"]
    assert sum(log.columns.size) > 2 * LONGEST


def test_names_of_artifacts_without_end_are_not_kinds_without_end(tmp_path: Path) -> None:
    log = _written(tmp_path, *(_line("a", second=n % 60, artifact=f"a{n}") for n in range(5000)))
    assert len(messages(log)) == 5000 and len(log.kinds) <= 4097


def test_torch_2_4_states_the_thread(tmp_path: Path) -> None:
    log = _written(tmp_path, _line("Output code: ", pid=140310110415936), _line("x = 1", pid=140310110415936))
    assert log.context(0).pid == 140310110415936 and log.text(0) == "x = 1"


def test_a_guard_tree_has_its_latency_when_that_has_come(tmp_path: Path) -> None:
    data, path = unpacked("logs_out/logs_out.txt").read_bytes(), tmp_path / "x.txt"
    at = data.index(b"Guard eval latency")
    before = data.rindex(b"\n", 0, at) + 1
    path.write_bytes(data[:before])
    scanner, log = TextScanner(FileBytes(str(path))), TextLog("x", FileBytes(str(path)))
    log.apply(scanner.step(last=False))
    (tree,) = [record for record in log.records() if log.kind(record).event == "dynamo_cpp_guards_str"]
    assert b"Guard latency" not in log.text(tree).encode()
    first = log.md5(tree)
    path.write_bytes(data[: data.index(b"\n", at) + 1])
    batch = scanner.step(last=False)
    log.apply(batch)
    assert list(batch.resized) == [tree] and log.text(tree).splitlines()[-1].startswith("Guard latency = ")
    assert log.md5(tree) != first and log.md5(tree) == text_log("logs_out/logs_out.txt").md5(tree)


def test_what_tells_two_writings_of_a_message_apart_from_two_messages() -> None:
    """TORCH_LOGS_OUT has the same 45 messages as stderr."""
    logs = [text_log(name) for name in ("logs_out/logs_out.txt", "logs_out/stderr.txt")]
    once, again = (Counter(log.identity(record) for record in messages(log)) for log in logs)
    assert once == again and once.total() == 45


def test_functions_have_names_from_the_best_place_that_tells(tmp_path: Path) -> None:
    """A graph names a line of some function; the bytecode the function itself."""
    batch = TextScanner(FileBytes(str(unpacked("breaks/stderr.txt.xz")))).step(1 << 22)
    sure = [(named.name, named.line) for named in batch.name_sources if not named.is_guess]
    assert sure[::2] == sure[1::2] == [
        ("f", 2), ("torch_dynamo_resume_in_f_at_5", 5), ("inner_break", 7), ("g", 9), ("torch_dynamo_resume_in_g_at_11", 11),
        ("torch_dynamo_resume_in_inner_break_at_13", 13),
    ]  # fmt: skip
    assert any(named.is_guess for named in batch.name_sources)
    levels = TextScanner(FileBytes(str(unpacked("levels/stderr.txt")))).step(1 << 22)
    assert [started.name for started in levels.started][:3] == ["f", "torch_dynamo_resume_in_f_at_5", "inner_break"]
    assert {started.filename for started in levels.started} == {number for _, number, _ in levels.strings}
