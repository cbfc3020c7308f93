"""A case in one file: it opens to the same pages; with redaction nothing of the user's is in it."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from pathlib import Path

import pytest
from jobs import unpacked
from real import fresh
from results import result_in
from test_redact import WORDS

from tltui.cli import main
from tltui.model.artifacts import artifacts_of
from tltui.model.run import Run
from tltui.text.document import Options
from tltui.tree.listing import listing_document
from tltui.writers.case import INDEX, Case


def extracted(archive: Path, into: Path) -> Path:
    with zipfile.ZipFile(archive) as zipped:
        zipped.extractall(into)
    return into


def texts(run: Run) -> dict[str, bytes]:
    """Address → text of every artifact."""
    found = {}
    for compile_ in run.compiles():
        for artifact in artifacts_of(compile_):
            payload = artifact.payload
            found[str(artifact.ref)] = b"" if payload is None else payload.read()
    return found


def listed(run: Run) -> list[str]:
    page = listing_document(run, Options(width=100))
    while not page.advance():
        pass
    return [page.line(n).text for n in range(1, len(page)) if not page.line(n).text.startswith("not opened")]


@pytest.mark.parametrize("name", ["mlp", "recompiles", "ranks_redirect", "logs_out"])
def test_it_opens_to_the_same(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = unpacked(name, tmp_path / "job")
    assert main(["case", str(job), "-o", str(tmp_path / "case.zip")]) == 0
    before, after = fresh(job), fresh(extracted(tmp_path / "case.zip", tmp_path / "out"))
    assert listed(after) == listed(before)
    assert texts(after) == texts(before)
    assert [process.origins for process in after.processes()] == [process.origins for process in before.processes()]


def test_the_archive_itself_opens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = unpacked("mlp", tmp_path)
    assert main(["case", str(job), "-o", str(tmp_path / "case.zip")]) == 0
    capsys.readouterr()
    printed = []
    for path in (job, tmp_path / "case.zip"):
        assert main(["problems", str(path), "--json"]) == 0
        printed.append(result_in(capsys.readouterr().out))
    assert printed[0] == printed[1]


def test_its_index_says_what_is_in_it(tmp_path: Path) -> None:
    job = unpacked("mlp", tmp_path / "job")
    result = Case(fresh(job)).write(str(tmp_path / "case.zip"))
    with zipfile.ZipFile(tmp_path / "case.zip") as archive:
        index = result_in(archive.read(INDEX))
        assert {file["name"] for file in index["files"]} | {INDEX} == set(archive.namelist())
        for file in index["files"]:
            data = archive.read(file["name"])
            assert (len(data), hashlib.md5(data, usedforsecurity=False).hexdigest()) == (file["size_bytes"], file["md5"])
    assert {file.form for file in result.files} == {"trace", "text", "debug_dir"}
    assert stat.S_IMODE((tmp_path / "case.zip").stat().st_mode) == 0o600
    again = Case(fresh(job)).write(str(tmp_path / "again.zip"))
    assert again == result
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "case.zip").read_bytes()


def test_nothing_that_was_planted_survives(tmp_path: Path) -> None:
    """Every kind of input of one program, with words of the user's wherever they can stand."""
    job = unpacked("planted", tmp_path / "job")
    run = fresh(job)
    assert [process.origins for process in run.processes()] == [{"trace", "text", "debug_dir"}]
    plain = Case(run).write(str(tmp_path / "plain.zip"))
    redacted = Case(run, redact=True).write(str(tmp_path / "redacted.zip"))

    def found(archive: str) -> set[str]:
        with zipfile.ZipFile(tmp_path / archive) as zipped:
            everything = [(name, zipped.read(name).decode("utf-8", "surrogateescape")) for name in zipped.namelist()]
        return {word for word in ("zq", *WORDS) for name, text in everything if word in name or word in text.lower()}

    assert {"zq", "codename", "walrus", "project-"} <= found("plain.zip"), "else this could not fail"
    assert found("redacted.zip") == set()
    left = {item.reason: item.count for item in redacted.left_out}
    assert left["lines not written by a torch logger"] >= 2
    assert left["logs of debug directories"] == 1
    assert left["bytecode listings"] > 0
    assert {file.form for file in redacted.files} == {file.form for file in plain.files}


def test_what_others_write_to_a_logger_of_torch_is_left_out(tmp_path: Path) -> None:
    """Its words may all be words of torch, and the sentence the user's."""
    text = unpacked("mlp", tmp_path / "job") / "stderr.txt"
    lines = [line for line in text.read_bytes().splitlines() if b"[__fusion] cannot fuse op" in line]
    place = lines[0].split(b" ")[3]
    said = lines[0].replace(place, b"rules.py:21]").partition(b": ")[0] + b": no model for the red device"
    assert place.startswith(b"torch/_inductor/")
    text.write_bytes(text.read_bytes() + said + b"\n")
    Case(fresh(text), redact=True).write(str(tmp_path / "case.zip"))
    with zipfile.ZipFile(tmp_path / "case.zip") as zipped:
        redacted = zipped.read("text/0000.txt")
    assert redacted.count(b"cannot fuse op") == len(lines) and b"red device" not in redacted


def test_redacted_it_still_is_one_run(tmp_path: Path) -> None:
    job = unpacked("mlp", tmp_path / "job")
    before = fresh(job)
    Case(before, redact=True).write(str(tmp_path / "case.zip"))
    after = fresh(extracted(tmp_path / "case.zip", tmp_path / "out"))
    assert [process.origins for process in after.processes()] == [{"trace", "text", "debug_dir"}]
    names = [[a.name for a in artifacts_of(c) if "bytecode" not in a.name and a.name != "debug_log"] for c in before.compiles()]
    assert [[a.name for a in artifacts_of(c)] for c in after.compiles()] == names


def test_redacted_the_fusion_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of the scheduler (`op0_op2`) are torch's, and what its log says a node is made of has its names one by one."""
    job = unpacked("mlp", tmp_path / "job")
    Case(fresh(job), redact=True).write(str(tmp_path / "case.zip"))

    def fused(path: Path) -> list[object]:
        assert main(["fusion", str(path), "--json"]) == 0
        units = [unit for own in json.loads(capsys.readouterr().out)["result"]["compiles"] for unit in own["units"]]
        return [
            (
                unit["log_agrees_with_ir"],
                [(node["operations"], node["kind"], node["writes"], len(node["origins"])) for node in unit["nodes"]],
            )
            for unit in units
        ]

    before = fused(job)
    assert any(len(operations) > 1 for _, nodes in before for operations, *_ in nodes)  # type: ignore[misc]
    assert fused(tmp_path / "case.zip") == before


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = unpacked("killed", tmp_path / "job")
    (tmp_path / "case.zip").write_text("mine")
    assert main(["case", str(job), "-o", str(tmp_path / "case.zip")]) == 2
    assert (tmp_path / "case.zip").read_text() == "mine"
    assert "--force replaces it" in capsys.readouterr().err
    assert main(["case", str(job)]) == 2
    assert "missing -o FILE" in capsys.readouterr().err
    assert main(["case", str(job), "-o", str(tmp_path / "no" / "case.zip")]) == 2
    assert "no such directory" in capsys.readouterr().err
