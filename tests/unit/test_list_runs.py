"""`tltui list DIR`: a line per run, the change from the run of the same program before, entries that are no runs."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import make_trace as t
import pytest
from indexing import index
from real import TRACES, copy_as_edit

from tltui.cli import main

T213 = TRACES / "torch-2.13"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("breaks", "train"):
        shutil.copytree(T213 / name, tmp_path / "runs" / name)
    copy_as_edit(tmp_path / "runs" / "errors")
    index([T213 / "ddp"], tmp_path / "runs" / "ddp.tlx")
    (tmp_path / "runs" / "notes.txt").write_text("nothing of torch\n", encoding="utf-8")
    (tmp_path / "runs" / "empty").mkdir()
    return tmp_path / "runs"


def listed(directory: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["list", str(directory), "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return result


def test_the_counts_are_those_of_each_run_alone(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = listed(directory, capsys)
    assert [run["name"] for run in result["runs"]] == ["breaks", "errors", "train", "ddp.tlx"]
    assert result["other_entries"] == 2 and result["not_opened"] == []
    for run, source in zip(result["runs"], ("breaks", "errors", "train", "ddp"), strict=True):
        assert main(["summary", str(T213 / source), "--json"]) == 0
        tally = json.loads(capsys.readouterr().out)["result"]["tally"]
        assert {name: run[name] for name in ("compiles", "errors", "breaks", "recompiles")} == {
            name: tally[name] for name in ("compiles", "errors", "breaks", "recompiles")
        }


def test_each_run_has_its_change_from_the_one_of_its_program_before(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever other programs ran between the two."""
    shutil.copytree(T213 / "recompiles", directory / "recompiles")
    runs = {run["name"]: run for run in listed(directory, capsys)["runs"]}
    assert list(runs) == ["breaks", "recompiles", "errors", "train", "ddp.tlx"]
    assert [name for name, run in runs.items() if run["change"] is not None] == ["errors"]
    assert runs["train"]["functions"] == ["train.py:forward"]
    for name, value in runs["errors"]["change"].items():
        assert runs["errors"][name] == pytest.approx(runs["breaks"][name] + value, abs=1e-5)


def test_a_run_that_a_process_has_open_for_writing_is_marked(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def states() -> dict[str, bool]:
        return {run["name"]: run["has_writer"] for run in listed(directory, capsys)["runs"]}

    assert not any(states().values())
    [log] = (directory / "errors").glob("*.log")
    with log.open("rb"):
        assert not any(states().values()), "reading is no evidence"
    with log.open("ab"):
        assert [name for name, written in states().items() if written] == ["errors"]
        runs = listed(directory, capsys)["runs"]
        place = [run["name"] for run in runs].index("errors")
        assert all(runs[n]["change"] is None for n in (place, place + 1) if n < len(runs)), "its counts are not final"
        assert main(["list", str(directory)]) == 0
        *rows, legend = [line for line in capsys.readouterr().out.splitlines() if "◌" in line]
        assert [row.split()[:2] for row in rows] == [["errors", "◌"]]
        assert legend == "  ◌ being written: a process of this machine has a log open for writing"
    os.utime(log)  # changed now, and nobody has it open
    assert not any(states().values())
    assert main(["list", str(directory)]) == 0
    assert "being written" not in capsys.readouterr().out


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_page(width: int, directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["list", str(directory)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("4 runs in ") and all(len(line) <= max(width, len(lines[0])) for line in lines)
    assert sum(name in " ".join(lines) for name in ("breaks", "errors", "train")) == 3
    assert lines[-1] == "2 other entries without a trace."
    if width == 140:
        assert "−3 breaks" in " ".join(lines) and "2026-11-20 09:22" in " ".join(lines)


def test_the_change_is_readable_at_80_columns(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other columns give way first, and the change repeats most of their numbers."""
    monkeypatch.setenv("COLUMNS", "80")
    shutil.copytree(T213 / "outcomes", directory / "a_run_with_a_very_long_name_of_its_own")
    assert main(["list", str(directory)]) == 0
    lines = capsys.readouterr().out.splitlines()
    head, *rows = [line for line in lines if line.startswith("  ")]
    assert head.split() == ["run", "errors", "breaks", "time", "change"] and len(rows) == 5
    assert any("+3 errors, −3 breaks, −3 compiles" in row for row in rows)
    assert max(map(len, [head, *rows])) <= 80


def test_a_damaged_index_is_named(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = directory / "ddp.tlx"
    saved.write_bytes(saved.read_bytes()[:100])
    result = listed(directory, capsys)
    assert len(result["runs"]) == 3 and len(result["not_opened"]) == 1
    assert result["not_opened"][0].startswith(str(saved))


def test_a_run_without_a_date_is_the_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(T213 / "breaks", tmp_path / "b")
    t.write(tmp_path / "a", t.artifact("a", "text", frame=0, compile=0))
    assert [run["name"] for run in listed(tmp_path, capsys)["runs"]] == ["b", "a"]


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 2
    assert capsys.readouterr().err == "tltui: missing DIR\n  for example: tltui list /shared/traces\n"
    assert main(["list", str(tmp_path / "no")]) == 2
    assert capsys.readouterr().err == f"tltui: No such file or directory: '{tmp_path / 'no'}'\n  give a directory of runs\n"


@pytest.mark.parametrize("options", [[], ["--json"], ["--markdown"], ["--all"]])
def test_a_directory_without_runs_is_an_error(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    advice = "give a directory with a subdirectory for each run"
    assert main(["list", str(tmp_path), *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err == f"tltui: no run in '{tmp_path}'\n  {advice}\n"
    (tmp_path / "notes.txt").write_text("nothing of torch\n", encoding="utf-8")
    index([T213 / "ddp"], tmp_path / "half.tlx")
    (tmp_path / "half.tlx").write_bytes((tmp_path / "half.tlx").read_bytes()[:100])
    assert main(["list", str(tmp_path), *options]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[1].startswith(f"  {tmp_path / 'half.tlx'}: ") and lines[2:] == ["  1 entry without a trace", f"  {advice}"]


@pytest.mark.parametrize("width", [80, 120, 200])
def test_long_names_are_shortened_so_that_they_differ(
    width: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    names = [f"llama3_8b_fsdp_{middle}_seed0_2026_11_29_final" for middle in ("dynamic_shapes", "static_shapes", "static_padded")]
    for name in names:
        shutil.copytree(T213 / "twice_a" if name == names[0] else T213 / "breaks", tmp_path / name)
    assert main(["list", str(tmp_path)]) == 0
    shown = [line.split("  ")[1] for line in capsys.readouterr().out.splitlines() if "llama" in line]
    assert len(set(shown)) == 3 and all("…" in name for name in shown) == (width < 200)


def test_the_orders(directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts go down, names and versions up; a change stays that from the earlier run."""
    monkeypatch.setenv("COLUMNS", "160")
    runs = listed(directory, capsys)["runs"]
    keys = {
        "name": lambda run: run["name"], "errors": lambda run: -run["errors"], "breaks": lambda run: -run["breaks"],
        "time": lambda run: -run["compile_s"], "compiles": lambda run: -run["compiles"], "began": lambda run: run["start_at_us"],
    }  # fmt: skip
    rows: dict[str, dict[str, str]] = {}
    for order, key in keys.items():
        assert main(["list", str(directory), "--sort", order]) == 0
        title, _, head, *lines = capsys.readouterr().out.splitlines()
        assert title.endswith("the oldest first" if order == "began" else f"sorted by {order}")
        assert ("run ↑" if order == "name" else f"{order} {'↑' if order == 'began' else '↓'}") in head
        rows[order] = {line.split()[0]: line.split("  ")[-1] for line in lines if line.startswith("  ")}
        assert list(rows[order]) == [run["name"] for run in sorted(runs, key=key)]
    assert all(changes == rows["name"] for changes in rows.values())


def test_the_column_of_the_order_stays(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for order in ("ranks", "eager", "torch", "compiles"):
        assert main(["list", str(directory), "--sort", order]) == 0
        head = capsys.readouterr().out.splitlines()[2]
        assert f"{order} {'↑' if order == 'torch' else '↓'}" in head and len(head) <= 80


def test_versions_are_sorted_by_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(TRACES / "versions"), "--sort", "torch"]) == 0
    text = capsys.readouterr().out
    assert text.index("torch-2.9") < text.index("torch-2.10")


def test_an_unknown_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", str(tmp_path), "--sort", "size"]) == 2
    assert "invalid value of --sort: 'size'" in capsys.readouterr().err
