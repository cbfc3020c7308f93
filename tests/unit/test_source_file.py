"""`tltui source FILE`: every finding of a file, by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from real import TRACES, demo, trace

import tltui
from tltui.cli import main
from tltui.model.ref import parse_ref
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.source_lines.page import SourceFile, is_file
from tltui.text.document import Document, Options

BREAKS = TRACES / "torch-2.13" / "breaks"


def whole(run: Run, ref: str, width: int = 100) -> Document:
    document = build(run, ref, Options(width=width))
    while not document.advance():
        pass
    return document


def answer(run: Run, name: str) -> SourceFile:
    data = whole(run, f"@source::{name}").data()
    assert isinstance(data, SourceFile)
    return data


def test_each_line_has_its_findings() -> None:
    [file] = answer(demo(), "train.py").files
    assert file.file == "/home/user/train/train.py"
    kinds = {line.line: [finding.kind for finding in line.findings] for line in file.lines}
    assert list(kinds) == sorted(kinds)
    assert kinds[45] == ["limit", "recompile", "function"]
    assert kinds[68] == ["error", "specialized"]
    assert kinds[52] == ["break", "empty", "function"]
    [line] = [line for line in file.lines if line.line == 45]
    texts = {finding.kind: finding for finding in line.findings}
    assert texts["recompile"].text == "8, 1 refused at the recompile limit" and len(texts["recompile"].compiles) == 8
    assert texts["function"].text == "sample begins here: 9 compiles in 233 ms"
    assert [line.code for line in file.lines if line.line == 39] == ["torch._dynamo.graph_break()"]


def test_problems_with_a_line_are_all_in_their_files() -> None:
    run = trace("torch-2.13/breaks")
    rows = [row for row in tltui.problems(tltui.open(BREAKS)) if row.file and row.line and row.kind != "restart"]
    assert rows
    for row in rows:
        assert row.file is not None
        [file] = answer(run, row.file).files
        findings = [finding for line in file.lines if line.line == row.line for finding in line.findings]
        assert any(finding.kind == row.kind and finding.compiles == row.refs for finding in findings)


def test_the_page_fits_and_leads_to_each_line() -> None:
    for width in (60, 80, 120):
        document = whole(demo(), "@source::train.py", width)
        lines = list(document.text())
        assert lines[0] == "Source file train.py" and all(len(line) <= width for line in lines)
    targets = [link.target for line in document.lines for link in line.links]
    assert "@source::/home/user/train/train.py:45" in targets and "0:4/8" in targets
    assert all(str(parse_ref(target)) == target for target in targets)


def test_no_match_lists_the_files_with_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["source", "--demo", "nowhere.py"]) == 1
    printed = capsys.readouterr().out
    assert "No finding in 25 compiles is in a file of this name." in printed and "/home/user/train/train.py" in printed


def test_an_existing_file_is_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "breaks.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    assert main(["source", str(BREAKS), "breaks.py", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert [line["line"] for line in result["files"][0]["lines"]]


def test_python_has_a_row_for_each_finding() -> None:
    rows = tltui.source(tltui.open(BREAKS), "breaks.py")
    assert ("break", 5) in {(row.kind, row.line) for row in rows}
    assert {row.file for row in rows} == {"/home/user/models/breaks.py"}


def test_what_is_a_file() -> None:
    assert all(map(is_file, ("train.py", "models/block.py", "C:\\work\\train.py")))
    assert not any(map(is_file, ("train.py:3", "train.py:", "")))
