"""What of a job of many ranks is not here is named: ranks without a log, as far as that is proven, and files that are damaged."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from index_runs import command, environment
from ranked import ranked
from real import TRACES, fresh

from tltui.cli import main
from tltui.inputs.index.format import Chunk
from tltui.inputs.index.indexed_log import IndexFile
from tltui.model.follow import open_run
from tltui.model.ref import gaps
from tltui.questions.coverage.job_inputs import missing_ranks, world_size
from tltui.sources.discover import discover
from tltui.sources.saved_indexes import Crowd

PAGES = ("ranks", "where", "timing", "stragglers", "matrix", "summary")


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The indexes of four nodes with two ranks each."""
    top = tmp_path_factory.mktemp("four")
    ranked(top / "logs", "--ranks", 8, "--compiles", 2, "--per-node", 2, "--layout", "hosts", "--detail", "tiny", "--seed", 3)
    (top / "indexes").mkdir()
    for node in sorted((top / "logs").glob("node*")):
        given = command(node, "-o", top / "indexes" / "%h.tlx", "--engine", "serial")
        subprocess.run(given, check=True, capture_output=True, env=environment(node.name))
    return top / "indexes"


@pytest.fixture
def copied(indexes: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(indexes, tmp_path / "indexes"))


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What a command prints, and its exit code is 0."""
    monkeypatch.setenv("COLUMNS", "300")  # paths of temporary files are long

    def run(*arguments: object) -> str:
        assert main([*map(str, arguments)]) == 0, capsys.readouterr().err
        return " ".join(capsys.readouterr().out.split())

    return run


def damage(path: Path, chunk: Chunk) -> None:
    data = bytearray(path.read_bytes())
    data[chunk.offset + chunk.stored // 2] ^= 0xFF
    path.write_bytes(data)


# files that are damaged


@pytest.mark.parametrize("section", ["records", "extents", "stream"])
def test_a_damaged_index_costs_its_logs_and_no_page(section: str, copied: Path, printed: Callable[..., str]) -> None:
    path = copied / "node0002.tlx"
    damage(path, IndexFile(str(path)).logs[1].sections[section])
    for page in PAGES:
        said = printed(page, copied)
        assert f"{path}: damaged index: a checksum is wrong (rank 5)" in said, page
        assert said.count("damaged index") == 1
    assert "7 ranks" in printed("where", copied) and "All 8 ranks agree" in printed("ranks", copied)


def test_times_that_are_damaged_cost_what_only_the_index_has(copied: Path, printed: Callable[..., str]) -> None:
    path = copied / "node0002.tlx"
    damage(path, IndexFile(str(path)).logs[1].processes[0].times)
    assert f"Not read: {path}: damaged index" in printed("ranks", copied)
    assert "All 8 ranks agree" in printed("ranks", copied)


def test_an_index_that_was_cut_off_is_named_beside_what_is_missing(copied: Path, printed: Callable[..., str]) -> None:
    path = copied / "node0001.tlx"
    path.write_bytes(path.read_bytes()[:-100])
    for page in PAGES:
        assert f"{path}: truncated, or still being written" in printed(page, copied)
    assert "Ranks 2, 3 are missing, although there is a log of rank 7." in printed("ranks", copied)


def test_a_log_that_is_damaged_in_its_index_is_not_copied_into_another(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copied / "node0002.tlx"
    damage(path, IndexFile(str(path)).logs[1].sections["stream"])
    assert main(["index", str(copied), "-o", str(copied.parent / "all.tlx"), "--engine", "serial"]) == 1
    assert f"rank_5_8xhy9et7.log: in {path}: damaged index: a checksum is wrong" in capsys.readouterr().err
    assert len(IndexFile(str(copied.parent / "all.tlx")).logs) == 7


# ranks that are missing


def test_the_node_that_is_missing_is_told_by_its_ranks(copied: Path, printed: Callable[..., str]) -> None:
    (copied / "node0001.tlx").unlink()
    told = (
        "Ranks 2, 3 are missing, although there is a log of rank 7. Each of the 3 nodes here has 2 ranks: one more node of that "
        "size would contain the missing ranks."
    )
    assert told in printed("ranks", copied)
    assert told in printed("summary", copied)
    assert json.loads(printed("ranks", copied, "--json"))["result"]["missing_ranks"] == {
        "ranks": [2, 3], "count": 2, "highest_rank": 7, "world_size": None, "ref": "", "ranks_per_node": 2, "node_count": 3,
    }  # fmt: skip


def test_nothing_is_said_of_ranks_that_may_not_exist(copied: Path, printed: Callable[..., str]) -> None:
    (copied / "node0003.tlx").unlink()
    assert "not here" not in printed("ranks", copied) + printed("summary", copied)


def test_a_part_of_a_node_is_no_node(tmp_path: Path) -> None:
    ranked(tmp_path / "job", "--ranks", 5, "--compiles", 1, "--detail", "tiny", "--seed", 3)
    next((tmp_path / "job").glob("*rank_2_*.log")).unlink()
    missing = missing_ranks(fresh(tmp_path / "job"))
    assert missing is not None
    assert (str(missing.ranks), missing.highest_rank, missing.world_size, missing.ranks_per_node) == ("2", 4, None, 0)


def test_logs_that_were_chosen_one_by_one_lack_nothing(tmp_path: Path) -> None:
    ranked(tmp_path / "job", "--ranks", 3, "--compiles", 1, "--detail", "tiny", "--seed", 3)
    chosen = [str(path) for path in sorted((tmp_path / "job").glob("*.log")) if "rank_1_" not in path.name]
    assert len(chosen) == 2 and missing_ranks(open_run(discover(chosen))) is None


def test_a_record_that_states_the_world_size_proves_the_highest_ranks(tmp_path: Path, printed: Callable[..., str]) -> None:
    """torch 2.13 writes the process groups into `fx_graph_runnable`; the group 0 has all ranks."""
    [first, _] = sorted((TRACES / "torch-2.13" / "ddp").glob("*.log"))
    shutil.copy(first, tmp_path)
    size, ref = world_size(fresh(tmp_path))
    assert size == 2
    assert f"Rank 1 is missing: the job has 2 ranks, as [{ref}] states." in printed("summary", tmp_path)
    assert missing_ranks(fresh(TRACES / "torch-2.13" / "ddp")) is None


def test_a_group_of_some_ranks_states_no_world_size() -> None:
    assert world_size(fresh(TRACES / "torch-2.13" / "mesh")) == (None, "")


def test_ranks_that_were_not_read_are_not_missing(
    copied: Path, printed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many ranks that did the same one is read."""
    monkeypatch.setattr(Crowd, "to_read", lambda crowd, *_: crowd.logs_of([0, 5]))
    assert len(open_run(discover([str(copied)])).discovered.logs) == 2
    for page in ("where", "ranks", "summary"):
        said = printed(page, copied)
        assert "no log of" not in said and "not here" not in said, page


def test_a_huge_rank_costs_nothing(tmp_path: Path, printed: Callable[..., str]) -> None:
    ranked(tmp_path / "job", "--ranks", 3, "--compiles", 1, "--detail", "tiny", "--seed", 3)
    path = next((tmp_path / "job").glob("*rank_2_*.log"))
    path.write_bytes(re.sub(rb'"rank": 2\b', b'"rank": 2147483648', path.read_bytes()))
    assert "Ranks 2–65537 and 2,147,418,110 more are missing" in printed("ranks", tmp_path / "job")
    assert gaps({0, 1 << 62}) == [(1, (1 << 62) - 1)]


# two jobs in one directory


def test_two_jobs_in_one_directory_are_said_in_one_sentence(tmp_path: Path, printed: Callable[..., str]) -> None:
    ranked(tmp_path / "job", "--ranks", 2, "--compiles", 1, "--detail", "tiny", "--seed", 24)
    for path in list((tmp_path / "job").glob("*rank_*.log")):
        twin = re.sub(rb"(?m)^(V\d{4} \S+ )\d+", rb"\g<1>77", path.read_bytes())
        path.with_name(path.name.replace(".log", "twin.log")).write_bytes(twin)
    said = printed("ranks", tmp_path / "job")
    assert "ranks 0, 1: two processes ran at once as each of these ranks: two jobs wrote into one directory" in said
    for width in range(40, 120, 7):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", str(width))
            main(["ranks", str(tmp_path / "job"), "-o", str(tmp_path / f"{width}.txt")])
        assert not re.search(r"(?m)^\s*:", (tmp_path / f"{width}.txt").read_text())


def _later(seconds: int, match: re.Match[bytes]) -> bytes:
    return b'"ts": %d' % (int(match[1]) + seconds * 1_000_000)


def test_the_newest_of_several_jobs_is_known_by_the_directories_of_the_indexes(tmp_path: Path) -> None:
    """`$SHARED/4242`, `$SHARED/4243`: two jobs at once, on the same nodes."""
    for job, seconds in (("4242", 0), ("4243", 20)):
        logs = tmp_path / f"trace-{job}"
        ranked(logs, "--ranks", 4, "--compiles", 1, "--per-node", 2, "--layout", "hosts", "--detail", "tiny", "--seed", 3)
        for path in logs.rglob("*.log"):
            shift = partial(_later, seconds)
            path.write_bytes(re.sub(rb'"ts": (\d{16})', shift, path.read_bytes()))
        for node in sorted(logs.glob("node*")):
            (tmp_path / job).mkdir(exist_ok=True)
            given = command(node, "-o", tmp_path / job / "%h.tlx", "--engine", "serial")
            subprocess.run(given, check=True, capture_output=True, env=environment(node.name))
        shutil.rmtree(logs)
    found = discover([str(tmp_path)], latest=True)
    assert {Path(log.index).parent.name for log in found.logs} == {"4243"} and len(found.logs) == 4
    [note] = found.notes
    assert f"opened only {tmp_path}/4243:" in note and f"{tmp_path}/4242" in note
