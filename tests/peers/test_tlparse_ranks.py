"""Against the report that tlparse 0.4.3 makes of many ranks (`--all-ranks-html`): each of its statements is ours too, or follows
from a difference that is told here by its name, for the reason that stands below (docs/ranks.md has them as a table)."""

from __future__ import annotations

import json
import lzma
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from ranked import ranked
from real import TRACES, fresh
from tlparse_pages import BINARY

from tltui.questions.ranks import matching as m
from tltui.questions.ranks.compile_facets import PhasesOf
from tltui.questions.ranks.differences import Differing, differing
from tltui.questions.ranks.lanes import read_lanes
from tltui.questions.ranks.pace import Pace
from tltui.questions.ranks.pace_analysis import pace_of
from tltui.text.steps import run_steps

ABSENT = frozenset((m.MISSING, m.COUNT, m.UNFINISHED, m.STOPPED))
SAME = {
    "ids": ABSENT, "number of graphs": ABSENT, "cache": {m.CACHE}, "collectives": {m.COLLECTIVES}, "schedule": {m.COLLECTIVES},
    "tensors": {m.INPUTS, m.ESTIMATES}, "order": {m.EXECUTED}, "parity": {m.PARITY},
}  # fmt: skip
"""What tlparse says → what is told here that says the same."""
JOINED = "it joins what all compiles of a rank have in a row: one more, one less or another order, and all of the row differs"
BY_PLACE = "it compares what stands at the same place of two rows, whichever graphs these are of"
UNWRITTEN = "the rank that stopped wrote no schedule and no code of which it could be said"
OLDER = "it reads the older process of a rank that was started again together with the newest one"
REASONS = {
    **dict.fromkeys((("cache", JOINED), ("collectives", JOINED), ("tensors", JOINED)), ABSENT | {m.ORDER}),
    ("parity", UNWRITTEN): {m.UNFINISHED, m.STOPPED},
    **dict.fromkeys((("schedule", BY_PLACE), ("order", BY_PLACE), ("deltas", BY_PLACE)), ABSENT | {m.ORDER}),
}
"""(what tlparse says, why it says so) → the differences that it follows from."""
EXPECTED: dict[str, dict[str, str]] = {
    "missing_compile": {
        "ids": "", "cache": JOINED, "collectives": JOINED, "number of graphs": "", "order": BY_PLACE, "schedule": BY_PLACE,
        "tensors": JOINED,
    },
    "extra_recompile": {
        "ids": "", "cache": JOINED, "collectives": JOINED, "number of graphs": "", "order": BY_PLACE,
        "schedule": BY_PLACE, "tensors": JOINED,
    },
    "killed": {"ids": "", "cache": JOINED, "collectives": JOINED, "number of graphs": "", "tensors": JOINED, "parity": UNWRITTEN},
    "reordered": {"collectives": JOINED, "schedule": BY_PLACE, "tensors": JOINED, "deltas": BY_PLACE},
    "restarted": {"collectives": OLDER, "number of graphs": OLDER, "schedule": OLDER, "tensors": OLDER},
    "collective_order": {"collectives": "", "schedule": ""},
    "cache_miss": {"cache": ""},
    "tensor_meta": {"tensors": ""},
    **{kind: {} for kind in ("other_graph", "slow_phase", "graph_break", "clock", "config", "version", "guards", "late_start")},
}  # fmt: skip
"""What is planted on rank 3 of five → what tlparse says of it, '' where that is told here too, else why it says so."""


@dataclass(frozen=True)
class Said:
    """What tlparse says: ranks that are alike together; () where it names none."""

    what: str
    groups: tuple[frozenset[int], ...] = ()


def said_by_tlparse(directory: Path, out: Path) -> list[Said]:
    if BINARY is None:
        pytest.skip("tlparse is not installed: nothing is compared with it")
    command = [BINARY, str(directory), "--all-ranks-html", "-o", str(out), "--no-browser", "--overwrite"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [*_in_page((out / "index.html").read_text()), *_parity(out)]


def _in_page(page: str) -> Iterator[Said]:
    page = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    for what, words in (
        ("cache", "Cache hit/miss pattern groups:"), ("collectives", "Collective operation sequence groups:"),
        ("tensors", "Groups with identical signatures:"),
    ):  # fmt: skip
        if (found := re.search(re.escape(words) + r"\s*</p>\s*<ul>(.*?)</ul>", page, re.DOTALL)) is not None:
            lists = re.findall(r"<li>Ranks: ([\d, ]+)</li>", found[1])
            yield Said(what, tuple(frozenset(map(int, ranks.split(", "))) for ranks in lists))
    for what, words in (
        ("ids", "Diverging Compilation IDs"), ("number of graphs", "Ranks have different numbers of compiled graphs"),
        ("order", "Graph execution order differs"), ("schedule", "Schedule mismatch across ranks"),
    ):  # fmt: skip
        if words in page:
            yield Said(what)
    assert "Cache hit/miss sequence" not in page or "Cache hit/miss sequence: Consistent" in page
    if any(float(delta) > 0 for delta in re.findall(r"([\d.]+) ms delta", page)):
        yield Said("deltas")


def _parity(out: Path) -> Iterator[Said]:
    found = {}
    for path in out.glob("rank_*/collectives_parity.json"):
        found[int(path.parent.name.removeprefix("rank_"))] = json.loads(path.read_text())["graphs"]
    apart = frozenset(rank for rank, graphs in found.items() if graphs)
    if apart and apart != frozenset(found):  # what all ranks have in common is no difference between them
        yield Said("parity", (apart, frozenset(found) - apart))


@dataclass(frozen=True)
class Ours:
    differing: Differing | None
    pace: Pace


def ours(directory: Path) -> Ours:
    run = fresh(directory)
    lanes = run_steps(read_lanes(run))
    return Ours(differing(lanes), pace_of(lanes, PhasesOf(run)))


def why(said: Said, found: Ours) -> str | None:
    """'' where the same is told here, else why tlparse says it; None where nothing here accounts for it."""
    assert found.differing is not None
    if _told(said, SAME.get(said.what, frozenset()), found.differing):
        return ""
    for (what, reason), facets in REASONS.items():
        if what == said.what and _told(said, facets, found.differing):
            return reason
    if found.differing.restarted:
        assert not said.groups or frozenset(found.differing.restarted[0].ranks) in said.groups
        return OLDER
    if found.differing.stages:
        return OTHER_WORK
    return None


def _told(said: Said, facets: frozenset[str] | set[str], found: Differing) -> bool:
    """Whether such a difference is told, of the same ranks as far as tlparse names them."""
    for one in found.divergences:
        sides = {frozenset(side.ranks) for side in one.groups}
        if not facets.isdisjoint(one.properties) and (not said.groups or not sides.isdisjoint(said.groups)):
            return True
    return False


@pytest.mark.parametrize("kind", EXPECTED)
def test_planted_differences(tmp_path: Path, kind: str) -> None:
    where = "" if kind in ("clock", "config", "version") else ",compile=1"
    ranked(tmp_path / "in", "--ranks", 5, "--compiles", 4, "--detail", "tiny", "--seed", 9, "--plant", f"{kind}:ranks=3{where}")
    theirs = said_by_tlparse(tmp_path / "in", tmp_path / "out")
    found = ours(tmp_path / "in")
    assert {said.what: why(said, found) for said in theirs} == EXPECTED[kind]
    assert found.differing is not None
    told = found.differing.divergences or found.differing.restarted or found.pace.clocks or found.pace.late or found.pace.slow
    assert told, "what is planted is told here, whatever tlparse says"


def test_a_job_in_which_nothing_differs(tmp_path: Path) -> None:
    ranked(tmp_path / "in", "--ranks", 5, "--compiles", 4, "--detail", "tiny")
    assert said_by_tlparse(tmp_path / "in", tmp_path / "out") == []
    found = ours(tmp_path / "in")
    assert found.differing is not None and found.differing.count == 0 and not found.pace.late and not found.pace.slow


def sample(name: str, into: Path) -> Path:
    """One of tlparse's own samples of several ranks."""
    into.mkdir()
    for path in (*(TRACES / "tlparse" / name).glob("*.log"), *(TRACES / "ranks" / "tlparse" / name).glob("*.xz")):
        if path.suffix == ".xz":
            (into / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
        else:
            shutil.copy(path, into)
    return into


OTHER_WORK = "ranks without a function in common do other work: they are compared within their group"
SAMPLES: dict[str, dict[str, str]] = {
    "two_gpus": {"collectives": "", "parity": "", "order": "", "schedule": ""},
    "multi_rank_logs": {"ids": OTHER_WORK, "cache": OTHER_WORK},
}


@pytest.mark.parametrize("name", SAMPLES)
def test_its_own_samples(tmp_path: Path, name: str) -> None:
    directory = sample(name, tmp_path / "in")
    found = ours(directory)
    assert {said.what: why(said, found) for said in said_by_tlparse(directory, tmp_path / "out")} == SAMPLES[name]


def test_its_sample_of_schedules_is_of_one_rank(tmp_path: Path) -> None:
    """Three files named after ranks 0 to 2; all of their records state rank 0, two files are the same, and the schedule of the
    third was changed by hand: its md5 is wrong."""
    directory = sample("multi_rank_schedule", tmp_path / "in")
    theirs = said_by_tlparse(directory, tmp_path / "out")
    assert {said.what: {*said.groups} for said in theirs} == {  # it takes ranks from the names of files
        "collectives": {frozenset((0, 2)), frozenset((1,))}, "parity": {frozenset((0, 2)), frozenset((1,))},
    }  # fmt: skip
    run = fresh(directory)
    assert [(rank.number, len(rank.processes)) for rank in run.ranks] == [(0, 3)]
    assert {process.rank_by_name for process in run.processes()} == {0, 1, 2}
    assert ours(directory).differing is None


@pytest.mark.parametrize("name", ["ddp", "diverge", "mesh"])
def test_real_jobs(tmp_path: Path, name: str) -> None:
    """Where functions are missing or more on some ranks tlparse says that ids differ, not which; of the rest it says nothing."""
    directory = TRACES / "torch-2.13" / name
    found = ours(directory)
    theirs = {said.what: why(said, found) for said in said_by_tlparse(directory, tmp_path / "out")}
    assert theirs == ({} if name == "mesh" else {"ids": ""})
