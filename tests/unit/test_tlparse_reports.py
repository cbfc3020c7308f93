"""Reports of tlparse: with raw.log they are the trace, without it what they keep of it, laid out again."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import tarfile
import zipfile
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
from tltui.sources.discover import discover
from tltui.text.document import Options
from tltui.text.steps import run_steps

OUT = TRACES / "inputs" / "tlparse_out"
WITHOUT = OUT / "without_raw"
BREAKS = TRACES / "inputs" / "breaks" / "trace" / "dedicated_log_torch_trace_u0uh4am3.log.xz"
ERRORS = TRACES / "inputs" / "archives" / "dedicated_log_torch_trace_zbaswu8i.log.xz"
PAIRS = [(WITHOUT, ERRORS), (OUT / "breaks_without_raw.tar.xz", BREAKS)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    own = Cache(tmp_path / "cache", Limits(), SETTINGS.report)
    monkeypatch.setattr("tltui.inputs.archives.cache._process_cache", [own])
    yield own.top
    own.remove()


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A whole report, with its raw.log."""
    with zipfile.ZipFile(TRACES / "inputs" / "archives" / "tl_out.zip") as archive:
        archive.extractall(tmp_path / "report")  # one of ours
    return tmp_path / "report" / "tl_out"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A report without raw.log that a test may change."""
    return Path(shutil.copytree(WITHOUT, tmp_path / "small"))


def said(data: bytes) -> Any:
    """What JSON says; torch calls some texts so that are none."""
    try:
        return json.loads(data)
    except ValueError:
        return data


def payloads(run: Run) -> dict[str, Any]:
    """Address → payload; of JSON what it says."""
    found: dict[str, Any] = {}
    for compile_ in run.compiles():
        for artifact in artifacts_of(compile_):
            payload = artifact.log.payload(artifact.record)
            data = payload.read() if payload else b""
            is_json = artifact.log.kind(artifact.record).encoding == "json"
            found[str(artifact.ref)] = said(data) if is_json else data
    return found


def page(run: Run, view: str) -> list[str]:
    return list(lines_of(build(run, Ref(view=view), Options(width=100))))


def rows_changed(report: Path, change: Any) -> None:
    lines = (report / "raw.jsonl").read_text().split("\n")
    table, *rows = lines[:-1]
    changed = [json.dumps(change(json.loads(row)), sort_keys=True) for row in rows]
    (report / "raw.jsonl").write_text("\n".join([table, *changed, ""]))


# with the trace


def test_with_raw_log_it_is_the_trace(whole: Path) -> None:
    for path in (whole, whole.parent):
        found = discover([str(path)])
        [log] = found.logs
        assert (log.path, found.skipped, found.others, found.notes) == (str(whole / "raw.log"), (), 0, ())
    assert Path(log.path).read_bytes() == lzma.decompress(BREAKS.read_bytes())


def test_several_ranks(whole: Path, tmp_path: Path) -> None:
    top = tmp_path / "all"
    for rank in (0, 1):
        shutil.copytree(whole, top / f"rank_{rank}")
    (top / "index.html").write_text("<html>")
    found = discover([str(top)])
    assert [(os.path.relpath(log.path, top), log.rank) for log in found.logs] == [("rank_0/raw.log", 0), ("rank_1/raw.log", 1)]
    assert (found.skipped, found.others) == ((), 1)


def test_a_directory_that_is_no_report_may_hold_a_raw_log(tmp_path: Path) -> None:
    for name in ("raw.log", "other.log"):
        (tmp_path / name).write_bytes(lzma.decompress(ERRORS.read_bytes()))
    assert len(discover([str(tmp_path)]).logs) == 2


# without


@pytest.mark.parametrize(("report", "log"), PAIRS)
def test_without_raw_log_the_same_compiles_and_payloads(report: Path, log: Path) -> None:
    laid, trace = fresh(report), fresh(log)
    assert [(str(c.ref), c.status, c.attempts) for c in laid.compiles()] == [
        (str(c.ref), c.status, c.attempts) for c in trace.compiles()
    ]
    assert payloads(laid) == payloads(trace)
    found = run_steps(read_damage(laid, check=True))
    assert found.damaged == ()
    assert laid.finished


@pytest.mark.parametrize(("report", "log"), PAIRS)
@pytest.mark.parametrize("view", ["timing", "problems", "recompiles", "guards", "stacks", "caches", "shapes", "where"])
def test_pages_are_the_same(report: Path, log: Path, view: str) -> None:
    assert page(fresh(report), view)[1:] == page(fresh(log), view)[1:]


def test_what_is_lost_is_said() -> None:
    found = discover([str(OUT / "breaks_without_raw.tar.xz")])
    assert found.notes == (
        "tl_out is a tlparse report without raw.log. It lacks the attempts of phases and records that tlparse dropped",
        "tl_out: 11 JSON artifacts reformatted by tlparse: equal as JSON, but not byte for byte",
    )
    assert (found.skipped, found.others) == ((), 0)
    [log] = found.logs
    assert log.name == f"{OUT}/breaks_without_raw.tar.xz!tl_out/raw.jsonl"


def test_times_are_those_of_the_trace() -> None:
    """Rows have local time and the year in which tlparse ran."""
    for report, log in PAIRS:
        laid, trace = fresh(report), fresh(log)
        assert laid.clock[:13] == trace.clock[:13]
        assert [process.started for process in laid.processes()] == [process.started for process in trace.processes()]


def test_another_year_and_zone(small: Path) -> None:
    """tlparse ran in another year, and the job two hours ahead of UTC."""

    def change(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "timestamp": row["timestamp"].replace("2026-11-21T18", "2029-11-21T20")}

    rows_changed(small, change)
    laid, trace = fresh(small), fresh(ERRORS)
    assert laid.clock[:13] == trace.clock.replace("1121 18", "1121 20")[:13]
    assert page(laid, "timing")[1:] == page(trace, "timing")[1:]


# what is not to be trusted


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "-_0_0_0/../../secret", "link/secret", "-_0_0_0\0x"])
def test_payloads_outside_are_not_read(small: Path, name: str) -> None:
    (small.parent / "secret").write_text("planted-7f3a")
    (small / "link").symlink_to(small.parent)

    def change(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "payload_filename": name} if row.get("payload_filename", "").endswith("dynamo_error_1.txt") else row

    rows_changed(small, change)
    found = discover([str(small)])
    assert "small: 1 payload outside of the report: not read" in found.notes
    assert b"planted-7f3a" not in Path(found.logs[0].path).read_bytes()


def test_a_payload_that_is_not_there(small: Path) -> None:
    (small / "-_1_0_0" / "dynamo_output_graph_3.txt").unlink()
    found = discover([str(small)])
    assert "small: 1 payload not in the report" in found.notes
    assert run_steps(read_damage(fresh(small), check=True)).damaged == ()


def test_a_payload_that_was_changed_is_damaged(small: Path) -> None:
    path = small / "-_1_0_0" / "dynamo_output_graph_3.txt"
    path.write_text(path.read_text().replace("class", "klass"))
    [place] = run_steps(read_damage(fresh(small), check=True)).damaged
    assert (place.name, place.reason) == ("dynamo_output_graph", "its payload does not match its md5")


def test_rows_that_are_none(small: Path) -> None:
    lines = (small / "raw.jsonl").read_text().split("\n")
    lines[3:3] = ["{broken", "[1, 2]"]
    (small / "raw.jsonl").write_text("\n".join(lines))
    run = fresh(small)
    assert run.damaged >= 1
    assert [str(c.ref) for c in run.compiles()] == [str(c.ref) for c in fresh(ERRORS).compiles()]


def test_events_laid_out_otherwise_and_not_at_all(small: Path) -> None:
    events = json.loads((small / "chromium_events.json").read_text())
    wanted = page(fresh(small), "timing")
    (small / "chromium_events.json").write_text(json.dumps(events))
    assert page(fresh(small), "timing") == wanted
    (small / "chromium_events.json").unlink()
    assert [str(c.ref) for c in fresh(small).compiles()] == [str(c.ref) for c in fresh(ERRORS).compiles()]


def test_names_that_are_not_safe_are_not_used(tmp_path: Path, cache: Path) -> None:
    """In an archive: what the cache has is numbered where a name is not plainly harmless."""
    report = Path(shutil.copytree(WITHOUT, tmp_path / "r"))
    (report / "-_0_0_0" / "dynamo_error_1.txt").rename(report / "-_0_0_0" / "e\x1b[31m.txt")
    path = tmp_path / "r.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(report, "r")
    found = discover([str(path)])
    assert "r: 1 payload not in the report" in found.notes
    names = [name for _, directories, files in os.walk(cache) for name in (*directories, *files)]
    assert not any("\x1b" in name for name in names)
