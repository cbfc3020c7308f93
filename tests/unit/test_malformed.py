"""The table of malformed input of the trace format's reference (§8), row by row.

Each test is named after its row. What must hold: records around the damage are kept, the damage is listed with its place
and reason, nothing is swallowed into the payload before it, the rest opens.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import make_trace as mt
import pytest

from tltui.cli import main
from tltui.documents.scope import scope_of
from tltui.export import lines_of, to_json
from tltui.model.artifacts import Artifact, artifacts_of
from tltui.model.follow import open_run
from tltui.model.nodes import Process
from tltui.model.run import Run
from tltui.questions.artifacts.page import extract
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.questions.records.records_page import read_damage, record_ref
from tltui.sources.discover import NothingFound, discover
from tltui.text.document import Document, Options
from tltui.text.steps import run_steps
from tltui.trace.log import Check, Checked, Log

BEFORE = mt.artifact("before", "one\ntwo", frame=0, compile=0, attempt=0)
AFTER = mt.artifact("after", "three\nfour", frame=0, compile=0, attempt=0)


def opened(directory: Path, data: bytes) -> Run:
    return open_run(discover([str(mt.write(directory, data))]))


def log_of(run: Run) -> Log:
    (model,) = run.models
    return model.log


def damage(run: Run, check: bool = False) -> list[tuple[int | None, str]]:
    """(number of the record, reason) of every damaged place; each must have an offset and an address that opens."""
    found = run_steps(read_damage(run, check)).damaged
    for item in found:
        assert 0 <= item.offset_bytes <= log_of(run).scanned
        assert item.file == log_of(run).path
        assert build(run, item.ref, Options()).title
    return [(item.record, item.reason) for item in found]


def checked(log: Log, record: int) -> Checked:
    found = log.check(record)
    assert found is not None
    return found


def texts(log: Log) -> list[str]:
    return [log.text(record) for record in log.records()]


def neighbours_are_whole(log: Log) -> None:
    """The records around the damage are there, with payloads that match."""
    for name, text in (("before", "one\ntwo"), ("after", "three\nfour")):
        (record,) = [number for number in log.records() if log.kind(number).name == name]
        assert log.text(record) == text
        assert checked(log, record).check is Check.GOOD


def printed(document: Document) -> str:
    return "\n".join(lines_of(document))


# truncated in JSON / after header / in payload


def test_truncated_in_json(tmp_path: Path) -> None:
    run = opened(tmp_path, BEFORE + mt.metrics(frame=0, compile=0)[:200])
    assert damage(run) == [(2, "cut off: the log ends inside its first line")]
    assert texts(log_of(run)) == ["one\ntwo", ""]


def test_truncated_in_the_prefix(tmp_path: Path) -> None:
    for size in (1, 4, 9, 20, 23, 30, 60):
        run = opened(tmp_path, BEFORE + mt.metrics()[:size])
        assert damage(run) == [(2, "cut off: the log ends inside its first line")], size


def test_truncated_after_header(tmp_path: Path) -> None:
    run = opened(tmp_path, BEFORE + AFTER[: AFTER.index(b"\n") + 1])
    assert damage(run) == [(2, "cut off before its payload: the log ends here")]
    assert checked(log_of(run), 1).check is Check.BAD


def test_truncated_in_payload(tmp_path: Path) -> None:
    run = opened(tmp_path, BEFORE + AFTER[:-3])
    assert damage(run) == [(2, "cut off: the log ends inside its payload")]
    assert texts(log_of(run)) == ["one\ntwo", "three\nfo"]
    run = opened(tmp_path, BEFORE + AFTER[: AFTER.index(b"\tfour")])
    assert damage(run) == []
    assert damage(run, check=True) == [(2, "its payload does not match its md5: the log may end in the middle of it")]


# no final newline, BOM, leading blanks, `[rank0]:` before prefix


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"  ", b"[rank0]:", b"[default3]:[rank7]: "])
def test_what_stands_before_the_prefix_and_no_final_newline(tmp_path: Path, before: bytes) -> None:
    run = opened(tmp_path, before + BEFORE + before + AFTER[:-1])
    assert damage(run, check=True) == []
    neighbours_are_whole(log_of(run))


# md5 wrong, non-hex, upper-case hex


def test_md5_wrong_or_non_hex(tmp_path: Path) -> None:
    wrong = mt.artifact("a", "x", declared="0" * 32) + mt.artifact("a", "x", declared="no md5") + mt.artifact("a", "x", declared=5)
    run = opened(tmp_path, BEFORE + wrong + AFTER)
    reason = "its payload does not match its md5"
    assert damage(run, check=True) == [(2, reason), (3, reason), (4, reason)]
    assert damage(run) == []
    assert "✗" in build(run, "none:a#1", Options()).badge
    neighbours_are_whole(log_of(run))


def test_md5_in_upper_case(tmp_path: Path) -> None:
    run = opened(tmp_path, mt.artifact("a", "x", declared=mt.md5("x").upper()))
    assert damage(run, check=True) == []


# payload line missing


def test_payload_line_missing(tmp_path: Path) -> None:
    run = opened(tmp_path, BEFORE + mt.artifact("a", "x\ny\nz").replace(b"\ty\n", b"") + AFTER)
    assert damage(run, check=True) == [(2, "its payload does not match its md5")]
    assert build(run, "none:a", Options()).badge == "md5 ✗ damaged"
    neighbours_are_whole(log_of(run))


def test_payload_missing_altogether(tmp_path: Path) -> None:
    run = opened(tmp_path, BEFORE + mt.artifact("a", "x").partition(b"\t")[0] + AFTER)
    assert damage(run, check=True) == [(2, "its payload is missing")]
    assert "missing" in printed(build(run, "none:a", Options()))
    neighbours_are_whole(log_of(run))


# header lost, orphan tab lines


def test_header_lost(tmp_path: Path) -> None:
    looks_like_one = mt.tabbed(mt.artifact("not one", "x").decode())
    run = opened(tmp_path, looks_like_one + BEFORE)
    log = log_of(run)
    assert damage(run, check=True) == [(1, "payload text without a record before it")]
    assert len(log) == 2, "text that looks like a record is never one behind a tab"
    assert log.text(0) == mt.artifact("not one", "x").decode()
    run = opened(tmp_path, BEFORE + b"something else\n" + mt.tabbed("an orphan\nof two lines") + AFTER)
    log = log_of(run)
    assert [reason for _, reason in damage(run)] == [
        "a line that belongs to no record",
        "payload text without a record before it",
    ]
    assert texts(log) == ["one\ntwo", "", "an orphan\nof two lines", "three\nfour"]
    neighbours_are_whole(log)


def test_header_of_a_large_payload_lost(tmp_path: Path) -> None:
    run = opened(tmp_path, mt.tabbed("x" * (3 << 20)) + BEFORE)
    assert len(log_of(run)) == 2


# tab lines but no has_payload


def test_tab_lines_but_no_has_payload(tmp_path: Path) -> None:
    run = opened(tmp_path, BEFORE + mt.record("artifact", {"name": "a", "encoding": "string"}) + b"\tx\n\ty\n" + AFTER)
    assert damage(run, check=True) == [(2, "payload text, but the envelope declares no payload")]
    assert log_of(run).text(1) == "x\ny"
    assert printed(build(run, "none:a", Options())) == "x\ny"
    neighbours_are_whole(log_of(run))


# two writers interleaved by record


@pytest.mark.parametrize("swapped", [False, True])
def test_two_writers_interleaved_by_record(tmp_path: Path, swapped: bool) -> None:
    ours, theirs = mt.artifact("ours", "a\nb", pid=1), mt.artifact("theirs", "c\nd\n", pid=2)
    (one, _, first), (two, _, second) = ours.partition(b"\n"), theirs.partition(b"\n")
    payloads = second + first if swapped else first + second
    run = opened(tmp_path, mt.string("/a.py", 0, pid=1) + one + b"\n" + two + b"\n" + payloads + AFTER)
    log = log_of(run)
    assert [(checked(log, r).check, checked(log, r).payload.read()) for r in (1, 2)] == [
        (Check.GOOD, b"a\nb"),
        (Check.GOOD, b"c\nd\n"),
    ]
    assert [number for number, reason in damage(run, check=True) if "two writers" in reason] == [2]
    assert printed(build(run, "norank.1:none:ours", Options())) == "a\nb"
    (last,) = [number for number in log.records() if log.kind(number).name == "after"]
    assert checked(log, last).check is Check.GOOD


# writer cut in mid-line


def test_writer_cut_in_mid_line(tmp_path: Path) -> None:
    torn = mt.metrics(frame=3, compile=0)[:150] + AFTER
    run = opened(tmp_path, BEFORE + torn)
    assert damage(run, check=True) == [(2, "cut off in the middle of its first line")]
    neighbours_are_whole(log_of(run))
    run = opened(tmp_path, BEFORE + mt.metrics()[:150] + b"\n" + AFTER)
    assert [number for number, _ in damage(run, check=True)] == [2]
    neighbours_are_whole(log_of(run))


def test_a_record_torn_in_its_prefix(tmp_path: Path) -> None:
    run = opened(tmp_path, BEFORE + AFTER[5:40] + AFTER)
    assert damage(run, check=True) == [(2, "a line that belongs to no record")]
    neighbours_are_whole(log_of(run))


def test_line_ends_between_records_lost(tmp_path: Path) -> None:
    run = opened(tmp_path, BEFORE + mt.record("describe_source", {"a": 1})[:-1] + mt.string("/a.py", 0)[:-1] + AFTER)
    assert damage(run, check=True) == [(2, "its newline is missing"), (3, "its newline is missing")]
    assert [log_of(run).kind(record).event for record in (1, 2)] == ["describe_source", "str"]
    neighbours_are_whole(log_of(run))


# invalid UTF-8 anywhere


def test_invalid_utf_8_anywhere(tmp_path: Path) -> None:
    bad = mt.artifact("bad", b"caf\xe9 \xff\xfe")
    name = mt.artifact("name", "x").replace(b'"name"', b'"name"', 1).replace(b": \"name\"", b": \"n\xffme\"")
    site = mt.artifact("site", "x", site="caf:1").replace(b"caf:1", b"caf\xe9:1")
    run = opened(tmp_path, BEFORE + bad + name + site + b"\xff\xfe\n" + AFTER)
    log = log_of(run)
    assert checked(log, 1).check is Check.GOOD, "the md5 is that of the bytes"
    assert checked(log, 1).payload.read() == b"caf\xe9 \xff\xfe"
    assert printed(build(run, "none:bad", Options())).startswith("caf")
    assert [reason for _, reason in damage(run, check=True)] == ["a line that belongs to no record"]
    assert log.kind(2).name == "n\ufffdme"
    neighbours_are_whole(log)


# NUL in payload / NUL tail


def test_nul_in_payload_and_nul_tail(tmp_path: Path) -> None:
    run = opened(tmp_path, BEFORE + mt.artifact("nul", "a\x00b") + AFTER + b"\x00" * 5000)
    assert damage(run, check=True) == []
    assert printed(build(run, "none:nul", Options())) == "a␀b"
    neighbours_are_whole(log_of(run))
    run = opened(tmp_path, BEFORE + b"\x00" * 100_000 + AFTER)
    assert damage(run, check=True) == []
    assert len(log_of(run)) == 2
    run = opened(tmp_path, b"\x00" * 3_000_000 + BEFORE)
    assert texts(log_of(run)) == ["one\ntwo"]


# 10 MB payload line, 10 MB envelope


def test_ten_megabytes_in_one_line(tmp_path: Path) -> None:
    big = "x" * (10 << 20)
    envelope = mt.record("artifact", {"name": "envelope", "encoding": "string", "more": big}, "small")
    run = opened(tmp_path, BEFORE + mt.artifact("payload", big) + envelope + AFTER)
    assert damage(run, check=True) == []
    assert log_of(run).envelope(2)["artifact"]["more"] == big
    document = build(run, "none:payload", Options())
    assert document.length(0) == len(big)
    assert len(document.line(0).text) < 1 << 20, "never handed out whole"
    neighbours_are_whole(log_of(run))


# empty file, only newlines


@pytest.mark.parametrize(("data", "reason"), [(b"", "the file is empty"), (b"\n\n\r\n\n", "no records")])
def test_empty_file_or_only_newlines(tmp_path: Path, data: bytes, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = mt.write(tmp_path, data)
    assert main(["ls", str(path)]) == 2
    assert capsys.readouterr().err == f"tltui: {reason}: '{path}'\n  to record a trace: tltui run -- python train.py\n"
    mt.write(tmp_path, BEFORE, "good.log")
    found = discover([str(tmp_path)])
    assert [(item.path, item.reason) for item in found.skipped] == [(str(path), reason)]


# other text, UTF-16, `.gz`, `.zip`


def other_inputs() -> dict[str, bytes]:
    no_ids = "DEBUG:torch._dynamo.guards.__guards:GUARDS:\n" * 50
    old = "[2023-11-20 09:22:46,123] [0/0] torch._dynamo.guards.__guards: [DEBUG] GUARDS:\n" * 50
    return {
        "the compressed data is truncated": gzip.compress(b"")[:-4],
        "a damaged zip archive": b"PK\x03\x04" + b"\x00" * 100,
        "the compressed data is damaged": b"\x28\xb5\x2f\xfd" + b"\x01" * 50,
        "a damaged tar archive": b"a.log".ljust(257, b"\x00") + b"ustar" + b"\x00" * 300,
        "UTF-16 ": BEFORE.decode().encode("utf-16-be"),
        "UTF-16  ": BEFORE.decode().encode("utf-16-le"),
        "TORCH_LOGS text of torch 2.2 or older": old.encode(),
        "TORCH_LOGS_FORMAT=short": no_ids.encode(),
        "not a trace, TORCH_LOGS text": b"\x7fELF" + bytes(range(256)) * 9,
    }


@pytest.mark.parametrize("reason", list(other_inputs()))
def test_other_text_utf_16_gz_zip(tmp_path: Path, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = mt.write(tmp_path / "x", other_inputs()[reason], "some file")
    for command in ([], ["ls"], ["damage"]):
        assert main([*command, str(path)]) == 2
        error = capsys.readouterr().err
        assert str(path) in error
        assert reason.strip() in error
    with pytest.raises(NothingFound, match="no trace, TORCH_LOGS text, debug directory or tlparse output found"):
        discover([str(path.parent)])


# directory


def test_directory(tmp_path: Path) -> None:
    for rank in (1, 0):
        name = f"dedicated_log_torch_trace_rank_{rank}_abc.log"
        mt.write(tmp_path, mt.compiled(rank=rank, pid=10 + rank), name)
    mt.write(tmp_path, b"hello\n", "readme.txt")
    run = open_run(discover([str(tmp_path)]))
    assert [rank.number for rank in run.ranks] == [0, 1]
    assert run.discovered.others == 1


def test_directory_without_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mt.write(tmp_path, b"hello\n", "readme.txt")
    mt.write(tmp_path, b"", "dedicated_log_torch_trace_empty.log")
    mt.write(tmp_path, b"", "empty.log")
    assert main(["ls", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "no trace, TORCH_LOGS text, debug directory or tlparse output found" in error
    assert "empty.log: the file is empty" in error
    assert "2 files of other kinds" in error


def test_missing_path_and_fifo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", str(tmp_path / "nowhere")]) == 2
    advice = "give a file or a directory that exists, or --demo"
    assert capsys.readouterr().err == f"tltui: No such file or directory: '{tmp_path / 'nowhere'}'\n  {advice}\n"
    os.mkfifo(tmp_path / "pipe")
    assert main(["ls", str(tmp_path / "pipe")]) == 2, "and it does not hang"
    assert "not a regular file" in capsys.readouterr().err


def test_unreadable_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = mt.write(tmp_path, BEFORE)
    real = os.open

    def refuse(name: Any, *more: Any, **others: Any) -> int:
        if os.fspath(name) == str(path):
            raise PermissionError(13, "Permission denied", str(name))
        return real(name, *more, **others)

    monkeypatch.setattr(os, "open", refuse)
    assert main(["ls", str(path)]) == 2
    assert capsys.readouterr().err == f"tltui: Permission denied: '{path}'\n  to record a trace: tltui run -- python train.py\n"
    good = mt.write(tmp_path, AFTER, "good.log")
    found = discover([str(tmp_path)])
    assert [log.path for log in found.logs] == [str(good)]
    assert [(item.path, item.reason) for item in found.skipped] == [(str(path), "Permission denied")]


# JSON array/number, bad types, duplicate key, depth >128, NaN, lone surrogate


@pytest.mark.parametrize("envelope", ["[1, 2]", "5", "-5", '"text"', "null", "true", "NaN", "[" * 100_000, '{"a": 1} x', "{"])
def test_json_that_is_no_envelope(tmp_path: Path, envelope: str) -> None:
    run = opened(tmp_path, BEFORE + mt.prefix().encode() + envelope.encode() + b"\n\tits payload\n" + AFTER)
    ((number, reason),) = damage(run)
    assert number == 2
    assert reason.startswith("its envelope is ")
    assert texts(log_of(run)) == ["one\ntwo", "its payload", "three\nfour"]
    neighbours_are_whole(log_of(run))


def test_bad_types_and_duplicate_keys(tmp_path: Path) -> None:
    odd = b"".join(
        mt.record(event, value, frame=0, compile=0, attempt=0)
        for event in ("artifact", "graph_dump", "str", "dynamo_start", "compilation_metrics", "chromium_event", "dump_file", "link")
        for value in (None, 5, "text", [], [[]], {"name": 5}, {"stack": 5}, {"stack": [5]}, [1, 2], ["a", "b"], True)
    )
    fields = {
        "fail_type": 5, "fail_reason": [], "restart_reasons": "text", "graph_op_count": "many", "start_time": "now",
        "start_time_us": 1e999, "duration_us": -1e308, "co_name": [], "co_filename": {}, "co_firstlineno": "x",
        "guard_count": 1.5, "num_graph_breaks": None, "cudagraph_skip_reason": 5, "pytorch_version": 2, "is_runtime": "no",
    }  # fmt: skip
    odd += mt.metrics(fields=fields, frame=0, compile=0)
    odd += mt.metrics(fields={"restart_reasons": [1, None, ["a"]]}, frame=0, compile=1)
    odd += mt.record("x", {"a": 1}).replace(b'{"a": 1}', b'{"a": 1}, "x": {"a": 2}')
    run = opened(tmp_path, BEFORE + odd + AFTER)
    assert damage(run) == []
    assert log_of(run).event(len(log_of(run)) - 2) == {"a": 2}
    everything_opens(run)
    neighbours_are_whole(log_of(run))


def test_deep_nan_and_lone_surrogates(tmp_path: Path) -> None:
    deep = mt.record("deep", "D", "x").replace(b'"D"', b"[" * 500 + b"]" * 500)
    nan = mt.record("nan", {"a": float("nan"), "b": float("inf")}, "x")
    lone = mt.record("artifact", {"name": "lone \ud800", "encoding": "string"}, "x", frame=0, compile=0, attempt=0)
    key = mt.record("event \udfff", {}, "x")
    run = opened(tmp_path, BEFORE + deep + nan + lone + key + mt.metrics(fields={"co_name": "\ud800"}, frame=0, compile=0) + AFTER)
    assert damage(run, check=True) == []
    log = log_of(run)
    assert [log.kind(record).event for record in (1, 2)] == ["deep", "nan"]
    assert log.kind(3).name == "lone \ud800"
    assert run.resolve(str(next(a for a in all_artifacts(run) if a.record == 3).ref)) is not None
    everything_opens(run)
    neighbours_are_whole(log)


def all_artifacts(run: Run) -> list[Artifact]:
    return [artifact for compile_ in run.compiles() for artifact in artifacts_of(compile_)]


def everything_opens(run: Run) -> str:
    """Build and print every page of a run, in text and as JSON; the text of all of them."""
    refs = ["", "@damage", "@records"]
    for compile_ in run.compiles():
        refs += [str(compile_.ref), str(compile_.frame.ref)]
        refs += [str(artifact.ref) for artifact in artifacts_of(compile_)]
    for process in run.processes():
        refs += [str(record_ref(process, record)) for record in range(min(len(process.log), 50))]
        refs.append(str(process.ref))
    shown = []
    for ref in refs:
        shown.append(opens(run, ref))
    return "\n".join(shown)


def opens(run: Run, ref: str) -> str:
    """Build and print a page, and open all that it links to; its text."""
    document = build(run, ref, Options())
    text = "\n".join([document.title, *lines_of(document)])
    to_json(document.data())
    assert not HARMFUL.search(text), ref
    for target in {link.target for n in range(len(document)) for link in document.line(n).links}:
        if not target.startswith(("file:", "line:", "http")):
            assert build(run, target, Options()).title
    return text


HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


# what pages link to


@pytest.mark.parametrize("data", [
    mt.record("exported_program", {}), mt.artifact("dynamo_cpp_guards_str", "x", frame=0, compile=0).partition(b"\n")[0] + b"\n",
    mt.metrics(frame=0, compile=1, fields={"restart_reasons": ["why"]}) * 2,
    mt.artifact("recompile_reasons", "0/0: n == 2", "json", frame=0, compile=1),
    mt.artifact("dynamo_graph_break_reason", "why", frame=0, compile=0).replace(b"\n\twhy", b""),
    mt.record("dump_file", {"name": "<eval_with_key>.1"}, frame=0, compile=0),
], ids=["no program", "no payload", "two metrics", "an earlier compile that is not there", "no reason", "no file"])  # fmt: skip
def test_every_link_opens(data: bytes, tmp_path: Path) -> None:
    run = opened(tmp_path, data)
    everything_opens(run)
    for view in QUESTIONS:
        opens(run, f"@{view.name}")
        for compile_ in run.compiles():
            opens(run, f"@{view.name}:{compile_.ref}")


def test_a_string_of_pid_0(tmp_path: Path) -> None:
    """A line that is no record has no pid either: it goes to the first process, which does not take the string for its own."""
    run = opened(tmp_path, BEFORE + mt.string("/a.py", 0, pid=0) + mt.start(frame=0, compile=0) + AFTER)
    assert [process.string(0) for process in run.processes()] == ["‹str#0›"]
    everything_opens(run)
    neighbours_are_whole(log_of(run))


# numbers that no float holds


@pytest.mark.parametrize("huge", [10**400, -(10**400), 10**308, 2**63, 2**64], ids=lambda value: str(value)[:9])
def test_times_that_no_float_holds(huge: int, tmp_path: Path) -> None:
    event = json.dumps({"name": "dynamo", "ts": huge, "ph": "B", "args": {}, "tid": 0, "pid": 0})
    ids = {"frame": 0, "compile": 0, "attempt": 0}
    fields = {"inductor_compile_time_s": huge, "duration_us": huge, "start_time_us": huge, "graph_node_count": huge}
    odd = mt.record("chromium_event", {}, event, **ids) + mt.chromium("dynamo", "E", **ids) + mt.metrics(fields=fields, **ids)
    run = opened(tmp_path, BEFORE + odd + AFTER)
    assert damage(run) == []
    for view in QUESTIONS:
        for ref in ("", ":0/0"):
            document = build(run, f"@{view.name}{ref}", Options())
            assert list(lines_of(document))
            assert json.loads(to_json(document.data()), parse_constant=pytest.fail) is not None
    everything_opens(run)
    neighbours_are_whole(log_of(run))


# key `timestamp`, `thread`, `pathname`, `lineno` in envelope


def test_reserved_keys_in_the_envelope(tmp_path: Path) -> None:
    envelope = {"x": {}, "timestamp": 1, "thread": 2, "pathname": "p", "lineno": 3, "frame_id": 0, "frame_compile_id": 0}
    run = opened(tmp_path, BEFORE + (mt.prefix() + json.dumps(envelope)).encode() + b"\n" + AFTER)
    assert damage(run, check=True) == []
    assert log_of(run).envelope(1) == envelope
    assert log_of(run).kind(1).event == "x"
    neighbours_are_whole(log_of(run))


# ids float/str/huge; only frame_id


def test_ids_float_str_huge(tmp_path: Path) -> None:
    most = 2**63 - 1
    run = opened(tmp_path, b"".join(mt.artifact("a", "x", frame=frame, compile=0) for frame in (1.0, "2", most, str(most - 1))))
    assert damage(run) == []
    assert [compile_.label.strip("[]") for compile_ in run.compiles()] == ["1/0", "2/0", f"{most}/0", f"{most - 1}/0"]
    for compile_ in run.compiles():
        assert run.resolve(str(compile_.ref)) is compile_
    run = opened(tmp_path, BEFORE + mt.artifact("a", "x", frame="first", compile=1.5) + AFTER)
    assert damage(run) == [(2, "an id is not a whole number below 2^63: frame_id is 'first'; frame_compile_id is 1.5")]


@pytest.mark.parametrize("huge", [2**63, 10**30, 1e300, 10**399, str(2**63)], ids=lambda value: str(value)[:20])
def test_numbers_beyond_64_bit_are_no_ids(huge: Any, tmp_path: Path) -> None:
    """An address of hundreds of digits could not be typed, nor be the name of a directory."""
    odd = mt.artifact("a", "x", frame=huge, compile=huge) + mt.artifact("b", "y", rank=huge, frame=0, compile=0, attempt=huge)
    run = opened(tmp_path, BEFORE + odd + AFTER)
    assert [number for number, _ in damage(run)] == [2, 3]
    assert [str(compile_.ref) for compile_ in run.compiles()] == ["0/0", "none"]
    everything_opens(run)
    written = [Path(path).name for path, _ in extract(run, (), str(tmp_path / "out"))]
    assert written == ["before.txt", "b.txt", "after.txt", "a.txt"]
    neighbours_are_whole(log_of(run))


def test_only_frame_id(tmp_path: Path) -> None:
    run = opened(tmp_path, BEFORE + mt.artifact("a", "x", frame=3) + mt.artifact("b", "y", compile=4) + AFTER)
    assert damage(run, check=True) == []
    assert [compile_.label for compile_ in run.compiles()] == ["[0/0]", "[3/-]", "[-/4]"]
    for compile_ in run.compiles():
        assert run.resolve(str(compile_.ref)) is compile_
        for artifact in artifacts_of(compile_):
            assert run.resolve(str(artifact.ref)) == artifact
    everything_opens(run)
    for page in ("@records:3/-", "@summary:3/-", "@provenance:3/-", "@unit:3/-#1"):
        assert run.resolve("3/-") is run.resolve(scope_of(run, page).ref)
    assert build(run, "@source:3/-:f.py:2", Options()).ref == "@source:3/-:f.py:2"


# filename −1, line null, unknown str id


def test_filename_minus_one_line_null_unknown_string(tmp_path: Path) -> None:
    data = (
        mt.string("/a.py", 0)
        + mt.start("known", frame=0, compile=0)
        + mt.start("minus", filename=-1, frame=1, compile=0)
        + mt.start("no_line", line=None, frame=2, compile=0)
        + mt.start("unknown", filename=77, frame=3, compile=0)
    )
    run = opened(tmp_path, data + AFTER)
    assert damage(run) == []
    assert [compile_.frame.code for compile_ in run.compiles() if compile_.started] == [
        ("known", "/a.py", 2),
        ("minus", "‹str#-1›", 2),
        ("no_line", "/a.py", None),
        ("unknown", "‹str#77›", 2),
    ]
    assert "‹str#77›" in everything_opens(run)


# PID or LINE > u64; export fields missing; fail_type w/o fail_reason


def test_pid_or_line_beyond_64_bit(tmp_path: Path) -> None:
    run = opened(tmp_path, mt.artifact("a", "x", pid=10**25, site=f"a.py:{10**30}") + mt.artifact("b", "y", pid="9" * 5000))
    log = log_of(run)
    prefix = log.prefix(0)
    assert prefix is not None
    assert (prefix.pid, prefix.line) == (10**25, 10**30)
    assert len(damage(run)) == 2, "a line whose pid no program can count to is no record, its payload an orphan"


def test_export_fields_missing(tmp_path: Path) -> None:
    events = ("guard_added", "missing_fake_kernel", "mismatched_fake_kernel", "expression_created", "create_unbacked_symbol")
    run = opened(tmp_path, b"".join(mt.record(event, {}, stack=[]) for event in events) + AFTER)
    assert damage(run) == []
    everything_opens(run)


def test_fail_type_without_fail_reason(tmp_path: Path) -> None:
    run = opened(tmp_path, mt.compiled(fields={"fail_type": "Boom"}))
    (compile_,) = run.compiles()
    assert (str(compile_.status), compile_.facts.fail_type, compile_.facts.fail_reason) == ("error", "Boom", None)
    everything_opens(run)


# `{"str":["a",4294967295]}`


def test_a_string_id_of_four_billion(tmp_path: Path) -> None:
    run = opened(tmp_path, mt.string("a", 4294967295) + mt.string("b", 2**80) + mt.string("c", -5) + mt.compiled(name="f"))
    (process,) = run.processes()
    assert process.strings[4294967295] == "a"
    mt.write(tmp_path, mt.string("a", 4294967295, pid=2) + mt.compiled(pid=2), "another.log")
    assert len(list(open_run(discover([str(tmp_path)])).processes())) == 2


# level D, 7-digit µs, Windows path


def test_level_d_seven_digits_windows_path(tmp_path: Path) -> None:
    odd = (
        mt.artifact("level", "x", level="D")
        + mt.artifact("digits", "x", time="1120 09:22:46.1234567")
        + mt.artifact("windows", "x", site="C:\\Program Files\\torch\\_dynamo\\utils.py:12")
        + mt.artifact("blank", "x", site="/home/a user/my [rank0]: dir/x.py:12")
    )
    run = opened(tmp_path, BEFORE + odd + AFTER)
    assert damage(run, check=True) == []
    prefixes = [log_of(run).prefix(record) for record in (1, 2, 3, 4)]
    assert [prefix.level for prefix in prefixes if prefix] == ["D", "V", "V", "V"]
    assert [prefix.time for prefix in prefixes if prefix][1] == "09:22:46.1234567"
    assert [(prefix.path, prefix.line) for prefix in prefixes if prefix][2:] == [
        ("C:\\Program Files\\torch\\_dynamo\\utils.py", 12),
        ("/home/a user/my [rank0]: dir/x.py", 12),
    ]
    neighbours_are_whole(log_of(run))


# unknown artifact encoding


def test_unknown_artifact_encoding(tmp_path: Path) -> None:
    run = opened(tmp_path, mt.artifact("a", "some text", encoding="base65") + mt.artifact("b", "{}", encoding="toml"))
    assert damage(run, check=True) == []
    assert printed(build(run, "none:a", Options())) == "some text"


# json artifact not JSON (`recompile_reasons`!)


def test_json_artifact_not_json(tmp_path: Path) -> None:
    text = "0/0: n == 2\nUser stack trace:"
    reasons = mt.artifact("recompile_reasons", text, "json", frame=0, compile=1, attempt=0)
    run = opened(tmp_path, reasons + mt.artifact("z", "", "json"))
    assert printed(build(run, "0/1:recompile_reasons", Options())) == text
    assert printed(build(run, "none:z", Options())) == ""


# artifact name `../../x`, `/abs/x`, 300 chars, NUL


def test_artifact_names_that_are_paths(tmp_path: Path) -> None:
    names = ["../../x", "/abs/x", "y" * 300, "nul\x00name", "..", ".", "a/b", "a_b", "A_B", "con\\x", "#3", "a#2"]
    names += ["", " ", "%2e", "\n", "lone \ud800"]
    data = b"".join(mt.artifact(name, f"text {number}", frame=0, compile=0) for number, name in enumerate(names))
    run = opened(tmp_path / "in", data)
    found = all_artifacts(run)
    assert [artifact.name for artifact in found] == [name or "artifact" for name in names]
    for artifact in found:
        assert run.resolve(str(artifact.ref)) == artifact, artifact.name
    out = tmp_path / "deep" / "er" / "out"
    written = dict(extract(run, [], str(out)))
    assert len(written) == len(names)
    assert {Path(path).read_text() for path in written} == {f"text {number}" for number in range(len(names))}
    assert all(path.parent == out / "norank" / "0_0" for path in map(Path, written))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "in"]
    assert all(len(os.path.basename(path)) < 200 for path in written)


# record of other rank


def test_records_of_another_rank(tmp_path: Path) -> None:
    data = (
        mt.string("/a.py", 0)
        + mt.artifact("torch_version", "{}", "json")
        + mt.compiled(0, 0, rank=0)
        + mt.compiled(0, 0, rank=1, name="g")
        + mt.compiled(1, 0, rank=0)
        + mt.record("compilation_metrics_runtime", {}, frame=1, compile=0)
    )
    run = opened(tmp_path, data)
    assert damage(run, check=True) == []
    assert [rank.number for rank in run.ranks] == [0, 1]
    first, second = run.processes()
    assert [compile_.label.strip("[]") for compile_ in first.compiles.values()] == ["-/-", "0/0", "1/0"]
    assert [compile_.label.strip("[]") for compile_ in second.compiles.values()] == ["0/0"]
    assert next(iter(second.frames.values())).code == ("g", "/a.py", 2), "one string table for the process"
    assert first.key != second.key
    everything_opens(run)


def test_rank_from_records_not_from_the_name(tmp_path: Path) -> None:
    path = mt.write(tmp_path, mt.string("/a.py", 0) + mt.compiled(rank=1), "dedicated_log_torch_trace_rank_5_abc.log")
    run = open_run(discover([str(path)]))
    assert [rank.number for rank in run.ranks] == [1]
    path = mt.write(tmp_path, mt.compiled(), "dedicated_log_torch_trace_rank_5_abc.log")
    assert [rank.number for rank in open_run(discover([str(path)])).ranks] == [5]


# `[red]…[/red]`, ESC sequences, BiDi in any text

HOSTILE = "[red]x[/red] \x1b[31mESC\x1b]0;title\x07 \x9b31m C1 \u202ebidi\u202c \u2066iso\u2069 \r\x08\x7f [s0, 4]"


def test_markup_escapes_and_bidi_in_any_text(tmp_path: Path) -> None:
    h = HOSTILE
    texts_of_metrics = ("fail_type", "fail_reason", "co_name", "co_filename", "recompile_reason", "cudagraph_skip_reason")
    data = (
        mt.string(h, 0)
        + mt.start(h, frame=0, compile=0)
        + mt.artifact(h, h, frame=0, compile=0, attempt=0)
        + mt.artifact("dynamo_graph_break_reason", h, frame=0, compile=0, attempt=0)
        + mt.artifact("dynamo_error", h, frame=0, compile=0, attempt=0)
        + mt.artifact("recompile_reasons", json.dumps([h]), "json", frame=0, compile=1, attempt=0)
        + mt.record(h, {h: h}, h, frame=0, compile=0, attempt=0, subgraph=h)
        + mt.record("describe_source", {"describer_id": 0, "id": 0, "source": h}, frame=0, compile=0, attempt=0)
        + mt.metrics(fields=dict.fromkeys(texts_of_metrics, h) | {"restart_reasons": [h]}, frame=0, compile=1, site=f"{h}:12")
    )
    run = opened(tmp_path, data)
    text = everything_opens(run)
    assert "[red]x[/red]" in text
    assert "[s0, 4]" in text


def test_the_processes_of_a_run_have_keys_of_their_own(tmp_path: Path) -> None:
    data = mt.compiled(pid=1, rank=0) + mt.compiled(pid=1, rank=1) + mt.compiled(pid=2, rank=0)
    processes: list[Process] = list(opened(tmp_path, data).processes())
    assert len({process.key for process in processes}) == len(processes) == 3
