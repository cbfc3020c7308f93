"""Failures of an export: ours are those of `tlparse --export`, and more where tlparse can't read what torch writes today."""

from __future__ import annotations

import re
import subprocess
from html import unescape
from pathlib import Path

import pytest
from real import opened
from tlparse_pages import BINARY, TRACES

from tltui.documents.scope import scope_of
from tltui.questions.exports.page import ExportFailure, read_exports
from tltui.text.steps import run_steps

KINDS = {
    "Guard Evaluated": "guard_added",
    "Data Dependent Error": "propagate_real_tensors_provenance",
    "Missing Fake Kernel": "missing_fake_kernel",
    "Mismatched Fake Kernel": "mismatched_fake_kernel",
}
_ROW = re.compile(r"<td>([^<]*)</td>\s*<td>(.*?)</td>", re.DOTALL)


def report(path: Path, out: Path) -> Path:
    """What `tlparse --export` writes for a log."""
    if BINARY is None:
        print("tlparse is not installed: nothing is compared with it")
        pytest.skip("tlparse is not installed: nothing is compared with it")
    command = [BINARY, str(path), "--export", "-o", str(out), "--no-browser", "--overwrite"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return out


def rows(html: str) -> list[tuple[str, str]]:
    """(kind, text) of the failures in a report."""
    return [(kind.strip(), unescape(re.sub(r"<[^>]+>", "", said))) for kind, said in _ROW.findall(html) if kind.strip() in KINDS]


def ours(path: Path) -> list[ExportFailure]:
    run = opened(path)
    return [failure for export in run_steps(read_exports(scope_of(run).compiles)).exports for failure in export.failures]


def log(name: str) -> Path:
    found = TRACES / name
    return found if found.is_file() else next(found.glob("*.log"))


def test_failures_of_an_old_log_are_those_of_tlparse(tmp_path: Path) -> None:
    path = log("tlparse/export.log")
    out = report(path, tmp_path / "out")
    theirs = rows((out / "index.html").read_text())
    own = ours(path)
    assert [KINDS[kind] for kind, _ in theirs] == [failure.kind for failure in own for _ in range(failure.count)]
    ((_, said),) = theirs
    assert own[0].expr is not None and own[0].expr in said and f"{own[0].result}," in said
    assert (out / "-_-_-_-" / "exported_program_1.txt").exists()

    # its page of the failure: locals, symbols, and every part of the expression with how it was made
    detail = unescape(re.sub(r"<[^>]+>", "\n", (out / "-_-_-_-" / "symbolic_guard_information_0.html").read_text()))
    lines = [line.strip() for line in detail.split("\n") if line.strip()]
    for item in (*own[0].locals, *own[0].symbols):
        assert f"{item.name}: {item.value}" in detail
    # its order too: after the heading, every part comes before how it was made
    made = [lines[n - 1] for n, line in enumerate(lines) if line == "Method:" or line.startswith("Method:")]
    assert made == [part.text for part in own[0].expressions]
    assert len(own[0].user_stack) == 3 and all(f"{f.file}:{f.line} in {f.name}" in detail for f in own[0].user_stack)


@pytest.mark.parametrize(("name", "theirs", "number"), [
    ("torch-2.13/draft_export", [], 1),
    ("torch-2.13/export_draft", ["Missing Fake Kernel", "Mismatched Fake Kernel"], 4),
])  # fmt: skip
def test_logs_of_today_where_tlparse_sees_less(tmp_path: Path, name: str, theirs: list[str], number: int) -> None:
    """Deliberate difference: since torch 2.9 or so the values of `frame_locals` are lists, and tlparse 0.4.3 drops each
    guard and each guess for it; where nothing else failed it congratulates."""
    path = log(name)
    html = (report(path, tmp_path / "out") / "index.html").read_text()
    assert [kind for kind, _ in rows(html)] == theirs
    assert ("Congratulations! No issues" in html) is (not theirs)
    own = ours(path)
    assert len(own) == number
    assert [failure.kind for failure in own if failure.op] == [KINDS[kind] for kind in theirs]


def test_what_stopped_an_export_is_not_in_tlparse(tmp_path: Path) -> None:
    """Deliberate difference: tlparse does not read `guard_on_data_dependent_error`, and calls the failed export a success."""
    path = log("torch-2.13/export_failed")
    html = (report(path, tmp_path / "out") / "index.html").read_text()
    assert rows(html) == [] and "Congratulations! No issues" in html
    assert [failure.kind for failure in ours(path)] == ["guard_on_data_dependent_error"]
