"""Graphs that want more than to compute are refused, or their scripts have checked forms. `tests/live` runs these scripts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from repro_attacks import HARMLESS, OF_THE_REVIEW, REFUSED, graph, trace_with

from tltui.cli import main


def test_there_are_as_many_attempts_as_promised() -> None:
    assert len(OF_THE_REVIEW) == 50
    assert len({*REFUSED, *HARMLESS}) >= 110


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line[:60])
def test_the_command_refuses_it_with_a_sentence(line: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    script = tmp_path / "repro.py"
    assert main(["repro", str(trace_with(graph(line), tmp_path)), "0/0", "-o", str(script)]) == 2
    printed = capsysbinary.readouterr().err.decode()
    assert "0/0 cannot become a script: " in printed
    assert printed.count("\n") == 2 and printed.endswith(" lists all compiles\n")
    assert not script.exists()


@pytest.mark.parametrize("line", HARMLESS, ids=lambda line: line[:60])
def test_the_script_has_the_checked_form(line: str, tmp_path: Path) -> None:
    script = tmp_path / "repro.py"
    assert main(["repro", str(trace_with(graph(line), tmp_path)), "0/0", "-o", str(script)]) == 0
    classes = [node for node in ast.parse(script.read_text()).body if isinstance(node, ast.ClassDef) and node.name == "Graph"]
    assert "_unsafe" not in ast.unparse(classes[0])
    assert "torch.as_strided" not in ast.unparse(classes[0])


def test_more_bytes_may_be_allowed(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    log = str(trace_with(graph("y = torch.zeros(50000, 50000)"), tmp_path))
    assert main(["repro", log, "0/0", "-o", "-"]) == 2
    refused = capsysbinary.readouterr().err.decode()
    assert "the graph's tensors take 10000000048 bytes, more than the limit of 4294967296. Raise it with --max-bytes" in refused
    assert main(["repro", log, "0/0", "-o", "-", "--max-bytes", "11G"]) == 0
    assert b"default=11000000000" in capsysbinary.readouterr().out
    assert main(["repro", log, "0/0", "-o", "-", "--max-bytes", "9G"]) == 2
