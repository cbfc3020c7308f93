"""tools/corpus.py: one process at a time writes the kept runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


def test_a_second_process_gets_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    import corpus
    import corpus_runs

    monkeypatch.setattr(corpus, "RUNS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["corpus.py", "--kept", "none"])
    with corpus_runs.lock(tmp_path):
        assert corpus.main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"tools/corpus.py: {tmp_path} is in use by process {os.getpid()}"
    corpus_runs.lock(tmp_path).close()
