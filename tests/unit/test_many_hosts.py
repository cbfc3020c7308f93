"""Each node indexes what only it sees; the files together open as all logs together do."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from index_runs import command, environment
from ranked import ranked

from tltui.cli import main

NODES = ("node0000", "node0001", "node0002")
PAGES = ["ls", "summary", "problems", "ranks", "timing", "where", "matrix"]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The logs of three nodes, a directory each, and the directory of their indexes, made at the same time."""
    top = tmp_path_factory.mktemp("nodes")
    logs, indexes = top / "logs" / "nodes", top / "indexes" / "nodes"
    plants = ["--plant", "other_graph:ranks=3", "--plant", "graph_break:ranks=1", "--plant", "killed:ranks=4"]
    wanted = ["--ranks", "6", "--compiles", "4", "--per-node", "2", "--layout", "hosts", "--detail", "tiny", "--seed", "3"]
    ranked(logs, *wanted, *plants)
    indexes.mkdir(parents=True)
    given = {node: command(logs / node, "-o", indexes / "%h.tlx") for node in NODES}
    running = [subprocess.Popen(own, stdout=subprocess.DEVNULL, env=environment(node)) for node, own in given.items()]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert sorted(path.name for path in indexes.iterdir()) == [f"{node}.tlx" for node in NODES]
    return logs, indexes


def printed(capsys: pytest.CaptureFixture[str], page: str, path: Path) -> str:
    assert main([page, str(path)]) == 0
    return " ".join(capsys.readouterr().out.replace(str(path), "PATH").split())  # lines break by the length of the path


@pytest.mark.parametrize("page", PAGES)
def test_indexes_of_all_nodes_open_as_all_logs_do(page: str, nodes: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    logs, indexes = nodes
    assert printed(capsys, page, indexes) == printed(capsys, page, logs)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """`tltui index` in this process, on a host of any name."""

    def run(path: Path, target: Path, host: str = "here") -> int:
        monkeypatch.setenv("TLTUI_HOST", host)
        return main(["index", str(path), "-o", str(target)])

    return run


def test_nodes_with_equal_paths(
    nodes: tuple[Path, Path], tmp_path: Path, index: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """As `/tmp/trace` is on all of them: another directory each time, when its turn comes."""
    logs, _ = nodes
    trace, indexes = tmp_path / "trace", tmp_path / "indexes"
    indexes.mkdir()
    for node in NODES:
        shutil.copytree(logs / node, trace)
        assert index(trace, indexes / "%h.tlx", node) == 0
        shutil.rmtree(trace)
    capsys.readouterr()
    assert printed(capsys, "ranks", indexes) == printed(capsys, "ranks", logs)


def test_an_index_is_brought_up_to_date(nodes: tuple[Path, Path], tmp_path: Path, index: Callable[..., int]) -> None:
    logs, _ = nodes
    here, target = tmp_path / "trace", tmp_path / "run.tlx"
    here.mkdir()
    [first, *_] = sorted((logs / NODES[0]).iterdir())
    data = first.read_bytes()
    (here / first.name).write_bytes(data[: len(data) // 2])
    assert index(here, target) == 0
    with (here / first.name).open("ab") as file:
        file.write(data[len(data) // 2 :])
    os.utime(here / first.name, ns=(first.stat().st_atime_ns, first.stat().st_mtime_ns))
    assert index(here, target) == 0
    assert index(here, tmp_path / "anew.tlx") == 0
    assert target.read_bytes() == (tmp_path / "anew.tlx").read_bytes()


def test_hosts_that_write_the_same_file(
    nodes: tuple[Path, Path], tmp_path: Path, index: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """The second one takes nothing from the first."""
    logs, _ = nodes
    target = tmp_path / "run.tlx"
    assert index(logs / NODES[0], target, NODES[0]) == 0
    before = target.read_bytes()
    assert index(logs / NODES[1], target, NODES[1]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"tltui: {target}: has logs of node0000 that are not on this host\n  use %h in FILE for one index")
    assert target.read_bytes() == before


def test_redacted_by_workers(nodes: tuple[Path, Path], tmp_path: Path) -> None:
    logs, _ = nodes
    scratch, target = tmp_path / "scratch", tmp_path / "%h.tlx"
    scratch.mkdir()
    given = command(logs / NODES[0], "-o", target, "--redact", "--workers", "2")
    own = environment("secrethost") | {"TMPDIR": str(scratch)}
    done = subprocess.run(given, env=own, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    [written] = tmp_path.glob("*.tlx")
    assert b"secrethost" not in written.read_bytes()
    assert list(scratch.iterdir()) == []
