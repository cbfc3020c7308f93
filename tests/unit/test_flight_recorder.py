"""Dumps of torch's flight recorder: who has not entered a collective, calls that do not match, and hostile files."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
import tarfile
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from pages import page
from real import ROOT
from replaying import HeldWriters
from test_where import DAY, going_on, job, others
from viewed import text

from tltui.cli.printing import result_of
from tltui.documents.format import clock
from tltui.inputs.flight_recorder import Dump, NotADump, NotPlain, is_dump, plain_value, rank_in, read_dump
from tltui.model.follow import Follower
from tltui.model.run import Run
from tltui.questions.hang.page import WhereReport, collectives_answer, compare_dumps
from tltui.sources.discover import NothingFound, discover

TRACES = ROOT / "tests" / "traces" / "flight_recorder"
START_NS = int(DAY * 1e9)


def entry(sequence: int, operation: str = "nccl:all_reduce", state: str = "completed", group: tuple[str, str] = ("0", "default_pg"),
          sizes: Sequence[Sequence[int]] = ((4,),), **more: Any) -> dict[str, Any]:  # fmt: skip
    return {
        "record_id": sequence, "pg_id": 0, "process_group": list(group), "collective_seq_id": sequence, "p2p_seq_id": 0,
        "op_id": sequence, "profiling_name": operation, "time_created_ns": START_NS + sequence * 10**9, "input_sizes": sizes,
        "input_dtypes": ["Float"] * len(sizes), "output_sizes": sizes, "output_dtypes": ["Float"] * len(sizes), "state": state,
        "retired": state == "completed", "is_p2p": False, "timeout_ms": 600000,
    } | more  # fmt: skip


Result = TypeVar("Result")


def whole(steps: Generator[None, None, Result]) -> Result:
    """What a generator gives at its end."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return cast(Result, stop.value)


def dump_at(path: str, rank: int) -> Dump:
    return whole(read_dump(path, rank))


def written(directory: Path, rank: int, *entries: dict[str, Any], groups: dict[str, str] | None = None) -> Dump:
    """A dump in JSON, as a job with NCCL writes it."""
    config = {name: {"name": name, "desc": "", "ranks": ranks} for name, ranks in (groups or {"0": "[0, 1, 2]"}).items()}
    path = directory / f"nccl_trace_rank_{rank}.json"
    path.write_text(json.dumps({"version": "2.10", "pg_config": config, "pg_status": {}, "entries": entries}))
    return dump_at(str(path), rank)


def said(*dumps: Dump) -> str:
    return collectives_answer(compare_dumps(dumps))


# a real job


@pytest.mark.parametrize("suffix", ["", ".json"])
def test_a_barrier_that_one_rank_has_not_entered(suffix: str) -> None:
    dumps = [dump_at(str(TRACES / f"comm_lib_trace_rank_{rank}{suffix}"), rank) for rank in range(3)]
    found = compare_dumps(dumps)
    [pending] = found.pending
    assert (pending.operation, pending.backend, pending.sequence) == ("barrier", "gloo", 2)
    assert (pending.group.description, str(pending.group.ranks)) == ("default_pg", "0–2")
    assert (str(pending.missing_ranks), str(pending.unknown_ranks), str(found.ranks), found.mismatches) == ("1", "", "0–2", ())
    assert [(str(call.ranks), call.state) for call in pending.waiting_calls] == [("0, 2", "scheduled")]
    assert [(call.operation, call.sequence, call.state) for call in pending.last_calls] == [("all_reduce", 1, "ended")]
    frame = pending.waiting_calls[0].frame
    assert (frame is None) if suffix else (frame is not None and (frame.function, frame.line) == ("step", 40))
    answer = collectives_answer(found)
    assert answer.startswith("Rank 1 has not entered barrier, number 2 of the group of all ranks")
    assert f"in which ranks 0, 2 have waited since {clock(pending.since_at_us)}" in answer


def test_where_finds_the_dumps_beside_the_logs(tmp_path: Path) -> None:
    job(tmp_path, *others(0, 1, 2))
    for path in TRACES.iterdir():
        shutil.copy(path, tmp_path)
    run = going_on(tmp_path)
    document = page(run, "@where", 120)
    lines = text(document).splitlines()
    assert lines[1].startswith("Rank 1 has not entered barrier, number 2 of the group of all ranks (")
    assert "flight_recorder.py:40 in step" in " ".join(lines[:3]), "the pickle is read, as JSON has no stacks"
    assert "Flight recorder of ranks 0–2" in lines
    unwrapped = " ".join(text(document).lower().split())
    assert "on the machine where rank 1 runs" in unwrapped and "py-spy dump --pid 1001" in unwrapped
    report = result_of(document)
    assert isinstance(report, WhereReport) and report.collectives is not None
    assert report.collectives.pending[0].missing_ranks == (1,)
    assert "Flight recorder" not in text(page(run, "@where:1:")), "of one rank alone there is nothing to compare"


def test_the_first_page_leads_to_them(tmp_path: Path) -> None:
    for path in TRACES.iterdir():
        shutil.copy(path, tmp_path)
    shown = " ".join(text(page(going_on(job(tmp_path, *others(0, 1, 2))), "", 100)).split())
    kind = "collectives in which ranks wait, and ranks that have not entered them"
    assert f"torch's flight recorder left dumps of ranks 0–2: {kind}" in shown


def test_a_dump_that_comes_while_the_job_is_followed(tmp_path: Path) -> None:
    """The watchdog of a job writes it when a collective has timed out."""
    run = Run(discover([str(job(tmp_path, *others(0, 1, 2)))]))
    follower = Follower(run, run.discovered.discovery, HeldWriters(), clock=iter(range(1, 10_000)).__next__)
    for event in follower.read():
        run.update(event)
    assert "has not entered" not in text(page(run, "@where"))
    for path in sorted(TRACES.iterdir()):
        shutil.copy(path, tmp_path)
        os.utime(tmp_path / path.name, (time.time() - 60,) * 2)  # nobody writes it any more
    for _ in range(40):
        for event in follower.poll():
            run.update(event)
    assert text(page(run, "@where")).startswith("Where\nRank 1 has not entered barrier")


def test_dumps_in_an_archive(tmp_path: Path) -> None:
    job(tmp_path / "job", *others(0, 1, 2))
    for rank in range(3):
        shutil.copy(TRACES / f"comm_lib_trace_rank_{rank}", tmp_path / "job")
    with tarfile.open(tmp_path / "job.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "job", "job")
    found = discover([str(tmp_path / "job.tar.gz")])
    names = [(dump.rank, dump.label.rpartition("/")[2]) for dump in found.dumps]
    assert names == [(rank, f"comm_lib_trace_rank_{rank}") for rank in range(3)]


def test_dumps_of_an_earlier_job_are_left_out(tmp_path: Path) -> None:
    for rank in range(2):
        written(tmp_path, rank, entry(1, state="started" if rank else "completed", time_created_ns=START_NS - 10**9))
    shown = text(page(going_on(job(tmp_path, *others(0, 1))), "@where", 120))
    assert shown.startswith("Where\nBoth ranks have started no other compile")
    assert "These dumps are older than this run, so they belong to another run." in shown


def test_dumps_alone_are_no_run(tmp_path: Path) -> None:
    shutil.copy(TRACES / "comm_lib_trace_rank_0", tmp_path)
    with pytest.raises(NothingFound, match="a flight recorder dump: put it next to the TORCH_TRACE logs"):
        discover([str(tmp_path)])


def test_a_dump_whose_name_states_no_rank(tmp_path: Path) -> None:
    job(tmp_path, *others(0))
    shutil.copy(TRACES / "comm_lib_trace_rank_0", tmp_path / "dump")
    [skipped] = discover([str(tmp_path)]).skipped
    assert "with no rank in its file name" in skipped.reason


@pytest.mark.parametrize(("name", "rank"), [
    ("nccl_trace_rank_3", 3), ("comm_lib_trace_rank_12.json", 12), ("/a/b4/rank_0", 0), ("fr_2_dump", 2), ("dump", None),
    ("x" + "9" * 30, 9999999),
])  # fmt: skip
def test_ranks_in_names(name: str, rank: int | None) -> None:
    assert rank_in(name) == rank


# made dumps


def test_a_rank_without_a_dump_is_not_accused(tmp_path: Path) -> None:
    waiting = [written(tmp_path, rank, entry(1), entry(2, "nccl:all_gather", "started")) for rank in (0, 2)]
    [pending] = compare_dumps(waiting).pending
    assert (str(pending.missing_ranks), str(pending.unknown_ranks)) == ("", "1")
    assert said(*waiting) == (
        "Ranks 0, 2 wait in all_gather, number 2 of the group of all ranks; no dump of the flight recorder shows whether rank 1 "
        "entered it."
    )


def test_a_dump_that_is_older_than_the_call_proves_nothing(tmp_path: Path) -> None:
    late = written(tmp_path, 1, entry(1))
    os.utime(late.path, (DAY, DAY))
    dumps = [*(written(tmp_path, rank, entry(1), entry(2, state="started")) for rank in (0, 2)), dump_at(late.path, 1)]
    assert (str(compare_dumps(dumps).pending[0].missing_ranks), str(compare_dumps(dumps).pending[0].unknown_ranks)) == ("", "1")


def test_who_is_missing_and_waits_nowhere_comes_first(tmp_path: Path) -> None:
    """Rank 0 waits for rank 1, which waits in another group for rank 2."""
    groups = {"0": "[0, 1]", "7": "[1, 2]"}
    inner = ("7", "tensor parallel")
    dumps = [
        written(tmp_path, 0, entry(1, state="started"), groups=groups),
        written(tmp_path, 1, entry(5, "nccl:broadcast", "started", inner), groups=groups),
        written(tmp_path, 2, entry(4, "nccl:broadcast", "completed", inner), groups=groups),
    ]
    found = compare_dumps(dumps)
    assert [(own.group.name, str(own.missing_ranks)) for own in found.pending] == [("7", "2"), ("0", "1")]
    assert said(*dumps).startswith("Rank 2 has not entered broadcast, number 5 of process group 7 (tensor parallel), in which rank")


def test_a_rank_that_is_further_on_has_entered_it(tmp_path: Path) -> None:
    """Its buffer has not the old calls any more."""
    dumps = [written(tmp_path, rank, entry(9 if rank == 2 else 2, state="started")) for rank in range(3)]
    [pending] = compare_dumps(dumps).pending
    assert str(pending.missing_ranks) == ""


def test_all_have_entered_it(tmp_path: Path) -> None:
    dumps = [written(tmp_path, rank, entry(2, state="started")) for rank in range(3)]
    assert str(compare_dumps(dumps).pending[0].missing_ranks) == "" and said(*dumps) == ""


@pytest.mark.parametrize(("change", "differs", "shown"), [
    ({"profiling_name": "nccl:broadcast"}, "operation", "rank 1: broadcast; ranks 0, 2: all_reduce"),
    ({"input_sizes": [[5]]}, "sizes", "rank 1: all_reduce of [5]; ranks 0, 2: all_reduce of [4]"),
    ({"input_dtypes": ["Half"]}, "dtypes", "rank 1: all_reduce of Half; ranks 0, 2: all_reduce of Float"),
])  # fmt: skip
def test_calls_that_do_not_match(tmp_path: Path, change: dict[str, Any], differs: str, shown: str) -> None:
    dumps = [written(tmp_path, rank, entry(1), entry(2) | (change if rank == 1 else {}), entry(3)) for rank in range(3)]
    [mismatch] = compare_dumps(dumps).mismatches
    assert (mismatch.sequence, mismatch.difference) == (2, differs)
    assert said(*dumps) == f"Call number 2 of the group of all ranks differs between ranks: {shown}."


def test_uneven_lists_and_coalesced_calls_are_no_mismatch(tmp_path: Path) -> None:
    dumps = []
    for rank in range(2):
        uneven = entry(1, "nccl:all_to_all", sizes=[[rank + 1]])
        dumps.append(written(tmp_path, rank, uneven, entry(2, f"nccl:{'ab'[rank]}"), entry(2, "nccl:coalesced")))
    assert compare_dumps(dumps).mismatches == ()


def test_messages_between_two_ranks_are_no_collectives(tmp_path: Path) -> None:
    dumps = [written(tmp_path, rank, entry(1, "nccl:send 0->1", "started", is_p2p=True)) for rank in range(2)]
    assert compare_dumps(dumps).pending == ()


# files that are not to be trusted


class Attack:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (os.environ["TLTUI_ATTACK"],)


PROTO = b"\x80\x02"


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_that_calls_something_is_refused_and_not_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int
) -> None:
    target = tmp_path / "executed"
    monkeypatch.setenv("TLTUI_ATTACK", str(target))
    job(tmp_path, *others(0, 1))
    (tmp_path / "nccl_trace_rank_0").write_bytes(pickle.dumps({"pg_config": {}, "entries": [Attack()]}, protocol))
    monkeypatch.delenv("TLTUI_ATTACK")
    shown = text(page(going_on(tmp_path), "@where", 200))
    assert "tltui executed none of it" in shown and "nccl_trace_rank_0" in shown
    assert "All 2 ranks" in shown or "Both ranks" in shown, "the answer of the logs stays"
    assert not target.exists()


@pytest.mark.parametrize(("data", "fault"), [
    (b"", "truncated"), (PROTO, "truncated"), (PROTO + b".", "no value"), (PROTO + b"X\xff\xff\xff\xffabc", "truncated"),
    (PROTO + b"\x8d" + b"\xff" * 8, "truncated"), (PROTO + b"r\xff\xff\xff\xff.", "no value"), (PROTO + b"h\x07.", "reference"),
    (PROTO + b"}u.", "no value"), (PROTO + b"](K\x01K\x02u.", "without a dictionary"), (PROTO + b"}(K\x01e.", "without a list"),
    (PROTO + b"}](K\x01}u.", "without a dictionary"), (PROTO + b"}}K\x01s.", "neither a string nor a number"),
    (PROTO + b"cos\nsystem\n.", "opcode 0x63"), (PROTO + b"I" + b"9" * 5000 + b"\n.", "opcode 0x49"),
    (PROTO + b"\x8a\xff" + b"1" * 255 + b".", "64 bits"), (PROTO + b"\x8b" + struct.pack("<i", 1 << 30), "opcode 0x8b"),
    (PROTO + b"Pid\n.", "opcode 0x50"), (PROTO + b"\x82\x01.", "opcode 0x82"), (PROTO + b")\x81.", "opcode 0x81"),
])  # fmt: skip
def test_broken_pickles(data: bytes, fault: str) -> None:
    with pytest.raises(NotPlain, match=fault):
        whole(plain_value(data))


def test_many_references_to_one_list_stay_small() -> None:
    """Forty lists, each twice in the next one: 2^40 items for who would copy them."""
    data = PROTO + b"]q\x00" + b"".join(b"](h%ch%ceq%c" % (n, n, n + 1) for n in range(40)) + b"."
    value = whole(plain_value(data))
    assert isinstance(value, list) and value[0] is value[1]


def test_a_large_pickle_is_read_in_pieces() -> None:
    """Whoever waits for the screen meanwhile gets it."""
    values = list(range(100_000))
    assert sum(1 for _ in plain_value(pickle.dumps(values, 2))) >= 5
    assert whole(plain_value(pickle.dumps(values, 2))) == values


def test_what_the_pickler_of_python_writes_is_read_too() -> None:
    values = 1, -2, 3.5, None, True, False, "é", [], {}, 2**40, (), (1,), (1, 2), (1, 2, 3, 4)
    value = {"entries": [{"a": values}], "long": "x" * 300}
    for protocol in (2, 3, 4, 5):
        assert whole(plain_value(pickle.dumps(value, protocol))) == value


@pytest.mark.parametrize("content", [
    '{"pg_config": 3, "entries": 4}', '{"pg_config": {}, "entries": []}', '{"pg_config"', '[1]', '{"entries": {"pg_config": 1}}',
])  # fmt: skip
def test_json_that_is_no_dump(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rank_0.json"
    path.write_text(content)
    with pytest.raises(NotADump):
        dump_at(str(path), 0)


def test_values_of_the_wrong_kind_cost_themselves(tmp_path: Path) -> None:
    bad: dict[str, Any] = {
        "profiling_name": 7, "process_group": "x", "collective_seq_id": "a", "input_sizes": {"a": 1}, "frames": [3],
        "input_dtypes": [None], "time_created_ns": 10**30, "pg_id": [], "state": None,
    }  # fmt: skip
    dump = written(tmp_path, 0, entry(1), bad, entry(2, state="started"), {}, entry(2**70))
    assert [own.sequence for own in dump.entries] == [1, 0, 2, 0]
    assert compare_dumps([dump]).pending[0].sequence in (0, 2)


def test_a_rank_and_a_number_of_a_billion_cost_no_memory(tmp_path: Path) -> None:
    dumps = [written(tmp_path, rank, entry(2**40, state="started"), groups={"0": "[0, 9999999]"}) for rank in (0, 9_999_999)]
    assert str(compare_dumps(dumps).pending[0].group.ranks) == "0, 9999999"


def test_names_are_hostile_text(tmp_path: Path) -> None:
    frames = [{"name": "\x1b[31mf", "filename": "/home/user/\x1b]0;x\x07.py", "line": 3}]
    for rank in range(2):
        name = "nccl:\x1b[1mall_reduce"
        written(tmp_path, rank, entry(1, name, "started" if rank else "completed", ("\x1b", "\x1b[2J"), frames=frames))
    shown = text(page(going_on(job(tmp_path, *others(0, 1))), "@where", 200))
    assert "Flight recorder of ranks 0, 1" in shown and "\x1b" not in shown


def test_a_fifo_and_a_large_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rank_0")
    with pytest.raises(NotADump, match="regular"):
        dump_at(str(tmp_path / "rank_0"), 0)
    with (tmp_path / "rank_1").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(NotADump, match="more than 64 MB"):
        dump_at(str(tmp_path / "rank_1"), 1)


def test_other_pickles_and_profiles_are_no_dumps() -> None:
    assert not is_dump(pickle.dumps({"model": [1, 2]}))
    assert not is_dump(b'{"schemaVersion": 1, "traceEvents": []}')
    assert is_dump((TRACES / "comm_lib_trace_rank_0").read_bytes()[:4096])
