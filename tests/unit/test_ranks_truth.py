"""Jobs of many ranks with planted differences: each is told of exactly the ranks and the compile that have it, nothing else is."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ranked import ranked
from real import fresh
from viewed import lead_somewhere

from tltui import cli
from tltui.documents.scope import scope_of
from tltui.model.ref import ranges
from tltui.model.run import Run
from tltui.questions.ranks.compile_facets import PhasesOf
from tltui.questions.ranks.differences import Differing, differences_of, differing
from tltui.questions.ranks.lanes import read_lanes
from tltui.questions.ranks.pace import Pace
from tltui.questions.ranks.pace_analysis import pace_of
from tltui.questions.ranks.page import document
from tltui.text.document import Options
from tltui.text.steps import run_steps

KINDS = (
    "missing_compile", "extra_recompile", "other_graph", "collective_order", "cache_miss", "tensor_meta", "slow_phase",
    "graph_break", "killed", "restarted", "reordered", "clock", "config", "version", "guards", "late_start",
)  # fmt: skip
OURS = {"presence": "missing", "recompile_reason": "recompile", "place": "missing"}
"""A facet of truth.json as it is called here, where that is another word."""
WIDE = ("version", "settings", "clock")
ALSO = {
    "other_graph": {"guards", "estimates"}, "tensor_meta": {"estimates"}, "extra_recompile": {"executed"},
    "reordered": {"executed"}, "missing_compile": {"executed"}, "killed": {"time"}, "late_start": {"time"}, "slow_phase": {"late"},
}  # fmt: skip
"""What follows from a plant as well."""


def numbers(text: str) -> set[int]:
    """Ranks of a range as truth.json or a page writes it."""
    found: set[int] = set()
    for part in text.replace("–", "-").split(","):
        first, _, last = part.strip().partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


Told = tuple[str, frozenset[int], str]
"""Facet, ranks, function ('' for all that a rank compiled)."""


def told(found: Differing, pace: Pace) -> Iterator[Told]:
    for one in found.divergences:
        assert not one.ranks_in_no_group
        for side in one.groups[1:]:
            for function in ("",) if one.compile_count else (one.function.name, *(other.name for other in one.other_functions)):
                for facet in one.properties:
                    yield facet, frozenset(numbers(str(side.ranks))), function
    for older in found.restarted:
        yield "processes", frozenset(numbers(str(older.ranks))), older.ended_in.partition(" ")[0]
    for clock in pace.clocks:
        yield "clock", frozenset(numbers(str(clock.ranks))), ""
    for late in pace.late:
        yield "late", frozenset(late.ranks), late.compile[0][0]
    for slow in pace.slow:
        yield "time", frozenset(slow.ranks), slow.compile[0][0]


def wrong(run: Run, truth: dict[str, Any]) -> list[str]:
    """Planted differences that are not told, and what is told that nobody planted."""
    lanes = run_steps(read_lanes(run))
    found = differences_of(run)
    assert found is not None and found.ranks == len(numbers(truth["ranks"]))
    said = set(told(found, pace_of(lanes, PhasesOf(run))))
    missed, explained = [], set()
    for plant in truth["plants"]:
        who = frozenset(numbers(plant["ranks"]))
        name = plant.get("function") or ""
        for facet in plant["facets"]:
            facet = OURS.get(facet, facet)
            where = "" if facet in WIDE else name
            if (facet, who, where) not in said:
                missed.append(f"not told: {facet} of {name} on {ranges(who)} ({plant['kind']})")
        may = {OURS.get(f, f) for f in (*plant["facets"], *plant["consequences"])} | ALSO.get(plant["kind"], set())
        names = {name, plant.get("next", name)}
        for facet, ranks, where in said:
            if ranks <= who and facet in may and (where in names or facet in WIDE or facet in ("order", "executed")):
                explained.add((facet, ranks, where))
    return missed + [f"told: {facet} of {where} on {ranges(ranks)}" for facet, ranks, where in said - explained]


@pytest.mark.parametrize("kind", KINDS)
def test_each_difference_is_told_alone(tmp_path: Path, kind: str) -> None:
    made = ("--ranks", 8, "--compiles", 4, "--detail", "tiny", "--seed", KINDS.index(kind))
    truth = ranked(tmp_path / "job", *made, "--plant", kind)
    assert wrong(fresh(tmp_path / "job"), truth) == []


@pytest.mark.parametrize(("rest", "seed"), [
    (("--ranks", 64, "--compiles", 8, "--detail", "tiny"), 5),
    (("--ranks", 64, "--compiles", 8, "--detail", "tiny", "--recompiles", 1), 6),
    (("--ranks", 32, "--compiles", 16, "--detail", "tiny", "--layout", "hosts"), 7),
    (("--ranks", 16, "--compiles", 16, "--detail", "lean"), 8),
])  # fmt: skip
def test_all_differences_at_once(tmp_path: Path, rest: tuple[object, ...], seed: int) -> None:
    truth = ranked(tmp_path / "job", *rest, "--seed", seed, "--plant", "all")
    run = fresh(tmp_path / "job")
    assert wrong(run, truth) == []
    for width in (80, 120):
        page = document(run, scope_of(run), Options(width=width))
        while not page.complete:
            page.advance()
        lead_somewhere(run, page)
        lines = list(page.text())
        assert [line for line in lines if len(line) > width] == [] and len(lines) < 90


def test_differences_in_whole_logs(tmp_path: Path) -> None:
    """Nothing was left out of them to make them smaller."""
    kinds = ("other_graph", "collective_order", "tensor_meta", "guards", "config", "cache_miss")
    plants = [word for kind in kinds for word in ("--plant", kind)]
    truth = ranked(tmp_path / "job", "--ranks", 8, "--compiles", 6, "--detail", "full", "--seed", 9, *plants)
    assert wrong(fresh(tmp_path / "job"), truth) == []


def test_a_clean_job_is_one_line_below_the_title(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    truth = ranked(tmp_path / "job", "--ranks", 24, "--compiles", 4, "--detail", "tiny", "--seed", 3, "--layout", "hosts")
    assert wrong(fresh(tmp_path / "job"), truth) == []
    assert cli.main(["ranks", str(tmp_path / "job")]) == 0
    assert capfd.readouterr().out == "Ranks\nAll 24 ranks agree (4 compiles each).\n"


def test_the_order_of_the_ranks_changes_nothing(tmp_path: Path) -> None:
    ranked(tmp_path / "job", "--ranks", 16, "--compiles", 8, "--detail", "tiny", "--seed", 11, "--plant", "all")
    lanes = list(run_steps(read_lanes(fresh(tmp_path / "job"))))
    expected = differing(lanes)
    assert expected is not None and expected.count
    dice = random.Random(4)
    for _ in range(20):
        dice.shuffle(lanes)
        assert differing(lanes) == expected


def test_a_killed_rank_is_told_with_what_was_open(tmp_path: Path) -> None:
    made = ("--ranks", 8, "--compiles", 4, "--detail", "tiny", "--seed", 2)
    ranked(tmp_path / "job", *made, "--plant", "killed:ranks=5,compile=2,torn=1")
    found = differences_of(fresh(tmp_path / "job"))
    assert found is not None
    (one,) = found.divergences
    assert (one.id, one.function.name, one.properties) == ("2/0", "block2", ("unfinished",))
    assert [(str(s.ranks), s.description, s.ref) for s in one.groups] == [
        ("0–4, 6, 7", "finished", "0:2/0"), ("5", "unfinished, in inductor_compile ▸ fx_codegen_and_compile", "5:2/0"),
    ]  # fmt: skip


def test_a_rank_that_ended_in_a_compile_is_told_of_what_it_had_traced(tmp_path: Path) -> None:
    """The other graph is why it did not end, or at least nobody has to open it to know."""
    ranked(tmp_path, "--ranks", 6, "--compiles", 4, "--detail", "tiny", "--seed", 3, "--plant", "killed:ranks=3,compile=1",
           "--plant", "other_graph:ranks=3,compile=1", "--plant", "other_graph:ranks=5,compile=1")  # fmt: skip
    found = differences_of(fresh(tmp_path))
    assert found is not None
    assert [(one.properties, [(str(side.ranks), side.description) for side in one.groups]) for one in found.divergences] == [
        (("unfinished",), [("0–2, 4, 5", "finished"), ("3", "unfinished, in inductor_compile ▸ fx_codegen_and_compile")]),
        (("graph", "code"), [("0–2, 4", ""), ("3, 5", "gelu instead of relu at test2.py:55")]),
    ]  # fmt: skip


def test_a_function_that_one_rank_lacks_and_another_compiles_more_often(tmp_path: Path) -> None:
    truth = ranked(tmp_path, "--ranks", 8, "--compiles", 4, "--detail", "tiny", "--seed", 32,
                   "--plant", "extra_recompile:ranks=5,compile=1", "--plant", "missing_compile:ranks=3,compile=1")  # fmt: skip
    run = fresh(tmp_path)
    assert wrong(run, truth) == []
    found = differences_of(run)
    assert found is not None
    assert [(one.properties[0], str(one.groups[0].ranks), str(one.groups[1].ranks)) for one in found.divergences] == [
        ("missing", "0–2, 4–7", "3"), ("count", "0–2, 4, 6, 7", "5"),
    ]  # fmt: skip


def test_the_first_difference_in_time_comes_first(tmp_path: Path) -> None:
    plants = ["--plant", "guards:ranks=3,compile=5", "--plant", "other_graph:ranks=6,compile=1", "--plant", "config:ranks=2"]
    ranked(tmp_path / "job", "--ranks", 8, "--compiles", 8, "--detail", "tiny", "--seed", 1, *plants)
    found = differences_of(fresh(tmp_path / "job"))
    assert found is not None
    assert [(d.properties[0], d.id, str(d.groups[1].ranks), d.groups[1].description) for d in found.divergences] == [
        ("settings", "", "2", "recompile_limit 16"), ("graph", "1/0", "6", "gelu instead of relu at test2.py:55"),
        ("guards", "5/0", "3", "NO_HASATTR: hasattr(L['fn'], '_dynamo_marked_static') == False"),
    ]  # fmt: skip
    assert str(found.agreeing_ranks) == "0, 1, 4, 5, 7" and found.agreeing_count == 5


def test_the_order_in_which_graphs_ran_follows_from_what_all_of_its_ranks_have(tmp_path: Path) -> None:
    """Not from a break that one of them happens to have too."""
    truth = ranked(tmp_path / "job", "--ranks", 16, "--compiles", 4, "--detail", "tiny", "--seed", 21,
                   "--plant", "reordered:ranks=12-15,compile=1", "--plant", "graph_break:ranks=10-11+13,compile=3")  # fmt: skip
    run = fresh(tmp_path / "job")
    assert wrong(run, truth) == []
    found = differences_of(run)
    assert found is not None
    assert [(one.properties, str(one.groups[1].ranks)) for one in found.divergences] == [
        (("order", "executed"), "12–15"), (("breaks",), "10, 11, 13"),
    ]  # fmt: skip


def test_the_first_screen_names_who_kept_the_others_waiting(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of what did not finish the rank that is gone, not the one that was started again."""
    monkeypatch.setenv("COLUMNS", "120")
    ranked(tmp_path, "--ranks", 8, "--compiles", 4, "--detail", "tiny", "--seed", 5, "--plant", "restarted:ranks=1,compile=2",
           "--plant", "killed:ranks=6,compile=3", "--plant", "late_start:ranks=4,compile=2,seconds=40",
           "--plant", "slow_phase:ranks=2,compile=1,seconds=9")  # fmt: skip
    assert cli.main(["summary", str(tmp_path)]) == 0
    lines = capfd.readouterr()[0].splitlines()
    hints = " ".join(" ".join(lines[lines.index("Start here") + 1 :][:12]).split())
    assert hints.startswith("[6:3/0] At the end of its log, rank 6 was in block3 [3/0]: ")
    late = "[4:2/0] rank 4 began block2 40.0 s after the others; 7 ranks waited, 4 min 39 s in total; 1 more late or slow"
    assert f"{late} tltui stragglers {tmp_path}" in hints


def test_problems_name_the_first_difference(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ranked(tmp_path, "--ranks", 4, "--compiles", 3, "--detail", "tiny", "--plant", "other_graph:ranks=2,compile=1",
           "--plant", "missing_compile:ranks=1,compile=2")  # fmt: skip
    assert cli.main(["problems", str(tmp_path)]) == 0
    lines = capfd.readouterr()[0].splitlines()
    assert "Ranks that differ (2 differences)" in lines
    assert [line.partition("]")[0].strip() for line in lines if line.startswith("  [")] == ["[1/0"]
    assert cli.main(["problems", str(tmp_path), "--json"]) == 0
    said = json.loads(capfd.readouterr()[0])["result"]["rank_difference"]
    assert said == "ranks diverge at block1: graphs differ (rank 2 differs from the other 3); 1 more difference"
    assert cli.main(["problems", str(tmp_path), "1:"]) == 0
    assert "Ranks that differ" not in capfd.readouterr()[0], "a rank alone differs in nothing"


@pytest.mark.parametrize("seconds", [-500, 500])
def test_a_clock_that_is_off_makes_no_run_longer(
    tmp_path: Path, seconds: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    ranked(tmp_path, "--ranks", 6, "--compiles", 3, "--detail", "tiny", "--plant", f"clock:ranks=4,seconds={seconds}")
    assert cli.main(["summary", str(tmp_path)]) == 0
    lines = capfd.readouterr()[0].splitlines()
    [span] = [line for line in lines if "from the first compile" in line]
    assert span.endswith(" 08:00:00")
    assert float(span.partition(" s ")[0]) < 20
    assert any(line.startswith("Rank 4's clock is 8 min 20 s ") for line in lines)


def test_what_whole_ranks_have_is_told_once_where_one_of_them_ends_early(tmp_path: Path) -> None:
    ranked(tmp_path, "--ranks", 9, "--compiles", 4, "--detail", "tiny", "--plant", "version:ranks=2-4",
           "--plant", "killed:ranks=3,compile=2", "--plant", "config:ranks=7-8", "--plant", "killed:ranks=8,compile=1")  # fmt: skip
    found = differences_of(fresh(tmp_path))
    assert found is not None
    whole = [(one.properties[0], one.compile_count, str(one.groups[1].ranks)) for one in found.divergences if one.compile_count]
    assert whole == [("version", 4, "2–4"), ("settings", 4, "7, 8")]
    assert found.count == 4


def test_differences_have_the_time_of_most_ranks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The first rank, by which they are told, has another clock."""
    ranked(tmp_path, "--ranks", 6, "--compiles", 3, "--detail", "tiny", "--plant", "clock:ranks=0,seconds=3600",
           "--plant", "other_graph:ranks=4,compile=0")  # fmt: skip
    assert cli.main(["ranks", str(tmp_path)]) == 0
    assert "  08:00:00 [0/0] block0" in capfd.readouterr()[0]
