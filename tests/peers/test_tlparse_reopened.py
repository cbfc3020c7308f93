"""tlparse writes a report, we open the report: it is the trace, also where its raw.log was taken away."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real import TRACES, fresh

from tltui.export import lines_of
from tltui.inputs.archives import SETTINGS, Limits
from tltui.inputs.archives.cache import Cache
from tltui.model.artifacts import artifacts_of
from tltui.model.ref import Ref
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.records.records_page import read_damage
from tltui.text.document import Options
from tltui.text.steps import run_steps

BINARY = shutil.which("tlparse", path=str(Path(sys.executable).parent)) or shutil.which("tlparse")
LOGS = [
    next(path for path in sorted((TRACES / "torch-2.13" / name).iterdir()) if path.suffix == ".log")
    for name in ("breaks", "errors", "recompiles", "train", "ca", "shapes", "cache_hit")
]
pytestmark = pytest.mark.skipif(BINARY is None, reason="tlparse is not installed: nothing is compared with it")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    own = Cache(tmp_path / "cache", Limits(), SETTINGS.report)
    monkeypatch.setattr("tltui.inputs.archives.cache._process_cache", [own])
    yield
    own.remove()


def said(data: bytes) -> Any:
    """What JSON says; torch calls some texts so that are none."""
    try:
        return json.loads(data)
    except ValueError:
        return data


def payloads(run: Run) -> list[tuple[str, Any]]:
    found = []
    for compile_ in run.compiles():
        for artifact in artifacts_of(compile_):
            payload = artifact.log.payload(artifact.record)
            data = payload.read() if payload else b""
            found.append((str(artifact.ref), said(data) if artifact.log.kind(artifact.record).encoding == "json" else data))
    return found


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.parent.name)
def test_a_report_is_its_trace(log: Path, tmp_path: Path) -> None:
    assert BINARY is not None
    report = tmp_path / "report"
    subprocess.run([BINARY, str(log), "-o", str(report), "--no-browser"], check=True, capture_output=True)
    trace, with_log = fresh(log), fresh(report)
    assert payloads(with_log) == payloads(trace)
    assert (with_log.discovered.skipped, with_log.discovered.others) == ((), 0)
    (report / "raw.log").unlink()
    laid = fresh(report)
    assert [(str(c.ref), c.status) for c in laid.compiles()] == [(str(c.ref), c.status) for c in trace.compiles()]
    assert payloads(laid) == payloads(trace)
    assert run_steps(read_damage(laid, check=True)).damaged == ()
    timing = [list(lines_of(build(run, Ref(view="timing"), Options(width=100))))[1:] for run in (trace, laid)]
    assert timing[0] == timing[1]
