"""Which files are TORCH_LOGS text, and what the command line shows of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from results import result_in
from text_inputs import TRUTH, traces_of, unpacked

from tltui.cli import main
from tltui.inputs.forms import TEXT, TRACE
from tltui.inputs.text.line_grammar import FAR, NEAR, OLD, SHORT, in_text, may_become, recognise
from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.sources.discover import Discovery, NothingFound, discover
from tltui.text.payload import MemoryBytes

LINE = b"V1121 18:55:22.307000 5303 torch/_dynamo/guards.py:2835] [0/0] [__guards] GUARDS:\n"
NONE, PLAIN = {"short/stderr.txt", "made/empty.txt"}, "made/plain_text.txt"


def put(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("name", TRUTH)
def test_real_text(name: str) -> None:
    if name in NONE:
        with pytest.raises(NothingFound):
            discover([str(unpacked(name))])
        return
    (log,) = discover([str(unpacked(name))]).logs
    assert (log.form, log.rank, log.is_output) == (TEXT, None, name == PLAIN)
    assert log.is_output or (log.clock is not None and log.clock <= log.ended)


@pytest.mark.parametrize("name", [name for name in TRUTH if traces_of(name)])
def test_a_trace_is_no_text(name: str) -> None:
    assert {log.form for path in traces_of(name) for log in discover([str(path)]).logs} == {TRACE}


def test_a_case_of_trace_and_text_has_both() -> None:
    found = discover([str(unpacked("breaks/stderr.txt.xz").parent), *map(str, traces_of("breaks/stderr.txt.xz"))])
    assert sorted(log.form for log in found.logs) == [TEXT, TRACE]


@pytest.mark.parametrize("before", [
    b"", b"step 1 of 9\n" * 50_000, b"\xef\xbb\xbf", b"100%\r", b"\n\n", b"\tpayload\n", b"\x00" * 70_000,
])  # fmt: skip
@pytest.mark.parametrize("put_before", [b"", b"[rank0]:", b"0: ", b"[default3]:[rank3]:", b"2026-11-21T18:55:22.1Z "])
def test_a_message_wherever_it_stands(before: bytes, put_before: bytes, tmp_path: Path) -> None:
    (log,) = discover([put(tmp_path / "job.err", before + put_before + LINE + b"more\n")]).logs
    assert log.form == TEXT


def test_how_far_is_searched() -> None:
    far = MemoryBytes(b"x" * 99 + b"\n" * (NEAR + 5) + LINE)
    assert recognise(far, "job.err", is_named=True, changed=0.0).certainty
    assert not recognise(far, "job.err", is_named=False, changed=0.0).certainty
    near = MemoryBytes(b"print\n" * 50_000 + LINE)
    assert recognise(near, "slurm-123.out", is_named=False, changed=0.0).certainty
    assert not recognise(near, "weights.bin", is_named=False, changed=0.0).certainty
    assert FAR > NEAR


@pytest.mark.parametrize(("data", "reason"), [
    (b"DEBUG:torch._dynamo.symbolic_convert.__graph_breaks:Graph break in user code\n", SHORT),
    (b"[2023-11-20 09:22:46,123] [0/0] torch._dynamo.guards.__guards: [DEBUG] GUARDS:\n", OLD),
    (b"E1121 not a record\nVersion 2.13 of something\n", ""),
    (b"[W1121 19:01:22.123456789 ProcessGroupNCCL.cpp:12] what the C++ side says\n", ""),
    (b"E0000 00:00:1700000000.123456 1234 cuda_dnn.cc:8579] of another program\n", ""),
    (b"", ""),
])  # fmt: skip
def test_what_is_no_text(data: bytes, reason: str) -> None:
    found = in_text(data, 0.0)
    assert (found.certainty, found.reason) == (0.0, reason)


def test_what_torchrun_says_in_the_end_is_text_by_itself() -> None:
    assert in_text(b"Root Cause (first observed failure):\n[0]:\n", 0.0).certainty


def test_the_year_is_that_of_the_last_change() -> None:
    line = b"V1231 23:59:59.000000 5303 torch/_dynamo/guards.py:2835] [0/0] x\n"
    changed = 1798761600.0 + 43_200  # noon on January 1st, 2027
    clock = in_text(line, changed).clock
    assert clock is not None and 0 < changed - clock < 2 * 86_400
    assert in_text(b"V0230 23:59:59.000000 5303 torch/a.py:1] x\n", changed).clock is None


def test_a_job_that_prints_before_it_compiles(tmp_path: Path) -> None:
    path = put(tmp_path / "job.err", b"loading\n" * 900)
    put(tmp_path / "other.err", LINE)
    discovery = Discovery([str(tmp_path)])
    assert [log.path for log in discovery.discover().logs] == [str(tmp_path / "other.err")]
    assert not discovery.is_settled(path) and discovery.is_settled(str(tmp_path / "other.err"))
    with open(path, "ab") as file:
        file.write(LINE)
    assert {log.path for log in discovery.discover().logs} == {path, str(tmp_path / "other.err")}
    assert may_become("stderr", 5) and not may_become("stderr", NEAR) and not may_become("c.py", 5)


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_a_byte_order_mark_opens(mark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PowerShell writes it with `>`."""
    text = unpacked("killed/stderr.txt").read_text()
    plain = put(tmp_path / "plain" / "job.err", text.encode())
    wide = put(tmp_path / "wide" / "job.err", ("\ufeff" + text).encode(mark))
    outputs = []
    for path in (plain, wide):
        assert main(["ls", path]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_wrong_encoding_is_refused_in_a_line(encoding: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(tmp_path / "job.err", unpacked("killed/stderr.txt").read_text().encode(encoding))
    assert main(["ls", path]) == 2
    assert capsys.readouterr().err == f"tltui: UTF-16 text without a byte order mark: '{path}'\n  convert it to UTF-8 first\n"


@pytest.mark.parametrize("name", ["short/stderr.txt", "made/empty.txt"])
def test_what_cannot_be_read_is_refused_in_a_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", str(unpacked(name))]) == 2
    error = capsys.readouterr().err
    problem, remedy = SHORT.split("; ")
    assert error.count("\n") == 2 and (f"{problem}: '" in error and f"\n  {remedy}\n" in error) == name.startswith("short")


# what is known of the ranks


def _listed(path: Path | str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["ls", "--json", str(path)]) == 0
    return result_in(capsys.readouterr().out)


def _compiles(run: Run) -> dict[int | None, list[tuple[str, str]]]:
    """Rank → its compiles: id and status."""
    found: dict[int | None, list[tuple[str, str]]] = {}
    for process in run.processes():
        own = [(str(compile_.id), str(compile_.status.name)) for compile_ in process.compiles.values() if compile_.is_compile]
        if own:
            found.setdefault(process.rank, []).extend(sorted(own))
    return found


def test_two_ranks_by_any_way_of_writing_them(tmp_path: Path) -> None:
    """The same program each time: two logs of torchrun's directories, one stderr, one with labels."""
    for name in TRUTH:
        if name.startswith("ranks_redirect/log/"):
            local = name.split("/")[-2]
            put(tmp_path / "attempt_0" / local / "stderr.log", unpacked(name).read_bytes())
    wanted = _compiles(open_run(discover([str(tmp_path)])))
    assert sorted(wanted, key=str) == [0, 1] and [len(wanted[rank]) for rank in (0, 1)] == [7, 8]
    for name in ("ranks_merged/stderr.txt.xz", "ranks_tee/stderr.txt.xz", "made/slurm_label.txt.xz", "made/ranks_torn.txt.xz"):
        assert _compiles(open_run(discover([str(unpacked(name))]))) == wanted


def test_a_number_below_an_attempt_is_no_rank(tmp_path: Path) -> None:
    """Both nodes have `attempt_0/0`; the second one's is rank 1."""
    for number, name in enumerate(name for name in TRUTH if name.startswith("nodes/")):
        put(tmp_path / f"node_{number}" / "attempt_0" / "0" / "stderr.log", unpacked(name).read_bytes())
    assert sorted(_compiles(open_run(discover([str(tmp_path)]))), key=str) == [0, 1]


def test_text_of_colours_gives_the_documents_of_one_without(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for name in ("breaks/stderr.txt.xz", "tty_pty/terminal.txt.xz", "tty_stdout/stderr.txt.xz"):
        assert main(["show", "0/0:dynamo_output_graph#1", str(unpacked(name))]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] == shown[2] and "class GraphModule" in shown[0]


def test_what_is_listed_is_seen_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    ((process,),) = (rank["processes"] for rank in _listed(unpacked("breaks/stderr.txt.xz"), capsys)["ranks"])
    assert [compile_["status"] for compile_ in process["compiles"] if compile_["id"] != "[-/-]"] == [
        "break", "seen", "break", "break", "seen", "seen"
    ]  # fmt: skip
