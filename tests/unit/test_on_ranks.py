"""What is the same on many ranks is said once: every rank is in exactly one range, and what differs has a line of its own."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pages import page
from ranked import ranked
from viewed import lead_somewhere, text

from tltui.documents.rank_groups import alike_on_ranks, on_ranks
from tltui.export import to_json
from tltui.model.follow import open_run
from tltui.model.ref import ranges
from tltui.model.run import Run
from tltui.questions.index import QUESTIONS
from tltui.sources.discover import discover

NAMES = [view.name for view in QUESTIONS if view.name not in ("ranks", "stragglers")]
LINES = 200
"""Of no page more, however many ranks."""
_NAMED = re.compile(r"\[(?:(\d+)(?:\.(\d+))?:)?(\d+/\d+)\]")


def numbers(said: str) -> set[int]:
    """The ranks that `ranges` wrote."""
    if match := re.fullmatch(r"(.*) but (every .*)", said):
        return numbers(match[1]) - numbers(match[2])
    if match := re.fullmatch(r"every (\d+)\w\w of (\d+)–(\d+)(?: but ([\d, ]+))?", said):
        but = {int(n) for n in (match[4] or "").split(", ") if n}
        return set(range(int(match[2]), int(match[3]) + 1, int(match[1]))) - but
    found: set[int] = set()
    for part in filter(None, said.split(", ")):
        first, _, last = part.partition("–")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def members(line: str, newest: dict[int, int]) -> list[tuple[int, int, str]]:
    """(rank, process, id) of the compiles that a line names."""
    match = _NAMED.search(line)
    if match is None:
        return []
    if match[1] is not None:
        rank = int(match[1])
        return [(rank, int(match[2] or newest[rank]), match[3])]
    said = re.search(r"  ranks? (.*?)$", line)
    assert said is not None, line
    return [(rank, newest[rank], match[3]) for rank in numbers(said[1])]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Any]]:
    into = tmp_path_factory.mktemp("ranks") / "r64"
    truth = ranked(into, "--ranks", 64, "--compiles", 8, "--recompiles", 1, "--detail", "tiny", "--seed", 5, "--plant", "all")
    return open_run(discover([str(into)])), truth


@pytest.fixture(scope="module")
def run(made: tuple[Run, dict[str, Any]]) -> Run:
    return made[0]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Run]:
    """Jobs without a difference, by how many ranks they have."""
    runs = {}
    for ranks in (8, 48):
        into = tmp_path_factory.mktemp("clean") / f"r{ranks}"
        ranked(into, "--ranks", ranks, "--compiles", 4, "--recompiles", 1, "--detail", "tiny", "--seed", 2)
        runs[ranks] = open_run(discover([str(into)]))
    return runs


def test_ranges_name_each_rank_once() -> None:
    rng = random.Random(7)
    for _ in range(400):
        some = {rank for rank in range(64) if rng.random() < rng.choice((0.1, 0.5, 0.95))}
        said = ranges(some)
        if " more" not in said:
            assert numbers(said) == some, said
    for step in (2, 3, 8, 21):
        for start in (0, 5):
            every = set(range(start, 400, step))
            for own in (every, set(range(start, 400)) - every, every - {start + 6 * step, start + 9 * step}):
                assert numbers(ranges(own)) == own, ranges(own)


def test_addresses_that_differ_in_the_rank_are_one() -> None:
    found = on_ranks(["0:0/0", "1:0/0", "3:0/0", "1:0/1", "norank:0/0", "norank.2:0/0", "2/0"])
    said = [(own.label, own.ranks, own.ref) for own in found]
    assert said == [
        ("0/0", "ranks 0, 1, 3", "0:0/0"), ("1:0/1", "", "1:0/1"), ("norank:0/0", "", "norank:0/0"),
        ("norank.2:0/0", "", "norank.2:0/0"), ("2/0", "", "2/0"),
    ]  # fmt: skip


def test_an_older_process_stands_apart() -> None:
    refs = ["0:0/0", "1.1:0/0", "1.2:0/0", "2.1:0/0", "2.2:0/0"]
    found = [(own.label, own.ranks) for own in on_ranks(refs, {"1.2", "2.2"})]
    assert found == [("0/0", "ranks 0–2"), ("0/0", "earlier processes of ranks 1, 2")]


def test_what_is_not_the_same_stands_apart() -> None:
    items = [("0:0/0", "a"), ("1:0/0", "b"), ("2:0/0", "a")]
    found = alike_on_ranks(items, lambda item: item[0], (), lambda item: item[1])
    assert found == [[("0:0/0", "a"), ("2:0/0", "a")], [("1:0/0", "b")]]


@pytest.mark.parametrize("view", NAMES)
def test_no_page_has_a_line_a_rank(run: Run, view: str) -> None:
    for width in (60, 100):
        lines = text(page(run, f"@{view}", width)).split("\n")
        assert len(lines) <= LINES, (view, len(lines))
    if view == "recompiles":
        lead_somewhere(run, page(run, "@recompiles"))


@pytest.mark.parametrize("view", NAMES)
def test_six_times_as_many_ranks_are_no_more_lines(clean: dict[int, Run], view: str) -> None:
    few, many = (text(page(clean[ranks], f"@{view}", 100)).count("\n") for ranks in (8, 48))
    assert many <= few + 3, view


@pytest.mark.parametrize("where", ["@pages", ""])
def test_pages_without_a_name_have_no_line_a_rank_either(run: Run, where: str) -> None:
    assert text(page(run, where, 100)).count("\n") < 96


def as_json(result: object) -> Any:
    """A result as it is printed."""
    return json.loads(to_json(result))


def compiles_of(run: Run) -> Counter[tuple[int, int, str]]:
    """(rank, process, id) of all compiles."""
    return Counter(
        (process.rank or 0, process.number, str(compile_.id.of(0)))
        for process in run.processes() for compile_ in process.ordered() if compile_.is_compile
    )  # fmt: skip


@pytest.mark.parametrize(("view", "heading"), [("shapes", "compiles without symbols"), ("guards", "")])
def test_each_compile_of_each_rank_is_named_once(run: Run, view: str, heading: str) -> None:
    newest = {rank.number or 0: rank.processes[-1].number for rank in run.ranks}
    lines = text(page(run, f"@{view}", 400)).split("\n")
    start = next(n for n, line in enumerate(lines) if heading in line)
    assert Counter(own for line in lines[start:] for own in members(line, newest)) == compiles_of(run)


def test_recompiles_name_each_frame_once(made: tuple[Run, dict[str, Any]]) -> None:
    run, truth = made
    document = page(run, "@recompiles", 100)
    found = as_json(document.data())
    every = {frame["ref"] for frame in found["frames"]}
    grouped = [ref for own in found["equal_frames"] for ref in own["refs"]]
    assert len(grouped) == len(set(grouped)) and set(grouped) <= every
    for own in found["equal_frames"]:
        assert set(own["ranks"]) == {int(re.split(r"[.:]", ref)[0]) for ref in own["refs"]}
    more = next(plant for plant in truth["plants"] if plant["kind"] == "extra_recompile")
    alone = f"{more['ranks']}:{more['id_of_majority'].split('/')[0]}/"
    assert alone in every - set(grouped), "what only one rank has keeps a block of its own"
    blocks = [line for line in text(document).split("\n") if re.match(r"\d+(\.\d+)?:\d+/ ", line)]
    assert len(blocks) == len(found["equal_frames"]) + len(every - set(grouped))


def test_what_differs_on_a_rank_has_a_line_of_its_own(made: tuple[Run, dict[str, Any]]) -> None:
    run, truth = made
    plant = next(plant for plant in truth["plants"] if plant["kind"] == "guards")
    rank, own = plant["ranks"], plant["id_of_majority"]
    lines = [line for line in text(page(run, "@guards", 300)).split("\n") if f"[{rank}:{own}]" in line]
    assert len(lines) == 1 and lines[0].split()[1] == "7"
    others = [line for line in text(page(run, "@guards", 300)).split("\n") if line.lstrip().startswith(f"[{own}]")]
    assert len(others) == 1 and others[0].split()[1] == "6" and int(rank) not in numbers(others[0].rpartition("  ranks ")[2])


@pytest.mark.parametrize("view", ["recompiles", "guards", "caches", "absent", "shapes", "metrics", "timing"])
def test_the_page_of_a_rank_is_about_that_rank(run: Run, view: str) -> None:
    found = text(page(run, f"@{view}:7:", 100))
    assert not re.search(r"\branks \d", found), found
    assert view == "caches" or not re.search(r"\[(?!7:)\d+:", found), found  # keys are compared with those of other ranks


def test_a_miss_names_few_of_those_who_asked_too(clean: dict[int, Run]) -> None:
    found = as_json(page(clean[48], "@caches").data())
    assert found["misses"] and all(0 < len(miss["same_key_uses"]) <= 64 for miss in found["misses"])
    assert not any(other["ref"] == miss["answer"]["ref"] for miss in found["misses"] for other in miss["same_key_uses"])


def test_a_directory_that_was_made_is_whole(made: tuple[Run, dict[str, Any]]) -> None:
    run, truth = made
    assert len(run.ranks) == 64 and len(truth["plants"]) >= 16
    assert all(Path(log.path).exists() for log in run.discovered.logs)
