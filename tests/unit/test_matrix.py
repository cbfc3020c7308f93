"""The matrix: what was planted stands in the cells of its ranks and compiles, and nothing else does; at any size."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from pages import page
from ranked import ranked
from viewed import lead_somewhere, opened, targets, text

from tltui.documents.page import Page
from tltui.export import to_json
from tltui.model.follow import open_run
from tltui.model.ref import Ranks
from tltui.model.run import Run
from tltui.questions.ranks.lanes import read_lanes
from tltui.questions.ranks.matrix import MARKS, Column, Matrix, Row, matrix_of, merged
from tltui.questions.ranks.matrix_page import ASPECTS, Grid, matrix_report
from tltui.questions.ranks.rank_course import FACETS, Course, Lane, Step, Times
from tltui.sources.discover import discover
from tltui.text.document import Document, Options
from tltui.text.formatting import WORDS
from tltui.text.steps import run_steps
from tltui.text.tokens import ALL

SIGNS = {
    "other_graph": "graph", "collective_order": "collectives", "tensor_meta": "inputs", "graph_break": "breaks", "guards": "guards",
    "cache_miss": "cache", "reordered": "order",
}  # fmt: skip
"""Plant → the facet that its cell has."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Any]]:
    into = tmp_path_factory.mktemp("matrix") / "r40"
    truth = ranked(into, "--ranks", 40, "--compiles", 8, "--detail", "tiny", "--seed", 5, "--plant", "all")
    return open_run(discover([str(into)])), truth


def lane(rank: int, steps: Sequence[Step], seconds: Sequence[float] = (), ended: bool = True) -> Lane:
    took = array("f", seconds or [1.0] * len(steps))
    times = Times(array("d", [0.0] * len(steps)), took, {})
    course = COURSES.setdefault(tuple(map(id, steps)), Course(tuple(steps)))
    return Lane(rank, f"p{rank}", str(rank), "", rank, ended, True, 0.0, course, times)


def step(number: int, status: str = "ok", **facets: str) -> Step:
    known = {"end": "finished", "graph": "g", "code": "c", **facets}
    digests = tuple(blake2b(known[name].encode(), digest_size=8).digest() if known.get(name) else b"" for name in FACETS)
    return Step((f"f{number}", "f.py", number), 1, f"{number}/0", status, digests)


def steps(count: int, changed: dict[int, Step] | None = None) -> list[Step]:
    return [(changed or {}).get(number, STEPS[number]) for number in range(count)]


STEPS = [step(number) for number in range(400)]
COURSES: dict[tuple[int, ...], Course] = {}
"""Equal courses are one object, as those of a run."""


def row_of(matrix: Matrix, rank: int) -> Row:
    found = [row for row in matrix.rows if rank in row.ranks]
    assert len(found) == 1, "a rank is in one row"
    return found[0]


def written(matrix: Matrix, width: int, aspect: str = "difference", ascii_: bool = False) -> list[str]:
    """The lines of the cells."""
    made_page = Page("@matrix", "matrix", Options(width=width, ascii=ascii_))
    for _ in Grid(made_page, matrix, ASPECTS[aspect]).write():
        pass
    return list(made_page.document(None).text())


def test_each_plant_is_in_its_cell_and_no_other(made: tuple[Run, dict[str, Any]]) -> None:
    run, truth = made
    matrix = matrix_of(run_steps(read_lanes(run)))
    places = {(column.function, column.compile_number): n for n, column in enumerate(matrix.columns)}
    expected: dict[tuple[int, int], str] = {}
    whole: dict[int, str] = {}
    for plant in truth["plants"]:
        rank = int(plant["ranks"])
        if plant["kind"] in ("version", "config"):
            whole[rank] = plant["facets"][0]
        elif plant["kind"] in SIGNS:
            expected[rank, places[plant["function"], 1]] = MARKS[SIGNS[plant["kind"]]]
        elif plant["kind"] == "extra_recompile":
            expected[rank, places[plant["function"], 2]] = "+"
        elif plant["kind"] == "missing_compile":
            expected[rank, places[plant["function"], 1]] = " "
        elif plant["kind"] == "killed":
            died = places[plant["function"], 1]
            expected[rank, died] = "?"
            expected |= {(rank, n): "~" for n in range(died + 1, len(matrix.columns))}
    more = next(n for n, column in enumerate(matrix.columns) if column.compile_number == 2)
    for rank in range(40):
        row = row_of(matrix, rank)
        for n, sign in enumerate(row.differs):
            usual = " " if n == more else "="
            assert sign == expected.get((rank, n), usual), (rank, matrix.columns[n], sign)
        assert row.properties_of_all == ((whole[rank],) if rank in whole else ()), rank
    assert len(expected) >= 10 and len(whole) == 2
    assert sum(len(row.ranks) for row in matrix.rows) == matrix.rank_count == 40


def test_times_and_caches_of_the_plants(made: tuple[Run, dict[str, Any]]) -> None:
    run, truth = made
    matrix = matrix_of(run_steps(read_lanes(run)))
    places = {(column.function, column.compile_number): n for n, column in enumerate(matrix.columns)}
    slow, missed = (next(p for p in truth["plants"] if p["kind"] == kind) for kind in ("slow_phase", "cache_miss"))
    strange = {(rank, n) for rank in range(40) for n, sign in enumerate(row_of(matrix, rank).times) if sign not in "= ?~"}
    assert strange == {(int(slow["ranks"]), places[slow["function"], 1])}
    assert row_of(matrix, int(slow["ranks"])).times[places[slow["function"], 1]] in "3456789+"
    n = places[missed["function"], 1]
    assert row_of(matrix, int(missed["ranks"])).caches[n] == "m" != row_of(matrix, matrix.reference_rank).caches[n]


def test_one_sign_for_what_comes_after_the_end_of_a_log(made: tuple[Run, dict[str, Any]]) -> None:
    """In each aspect and line, whether or not another rank lacks the same compile; a fold names who had ended."""
    run, truth = made
    matrix = matrix_of(run_steps(read_lanes(run)))
    rank = int(next(p for p in truth["plants"] if p["kind"] == "killed")["ranks"])
    row = row_of(matrix, rank)
    died = row.differs.index("?")
    for cells in (row.differs, row.statuses, row.graphs, row.times, row.caches):
        assert set(cells[died + 1 :]) == {"~"} and "~" not in cells[:died]
    assert all("~" not in other.differs for other in matrix.rows if other is not row)
    assert "† ended before this" in text(shown(run, "difference"))


def test_ranks_that_finished_did_not_end_before_a_compile_of_one_rank(tmp_path: Path) -> None:
    """A rank was killed, and another one has an extra compile after all others: no rank but the killed one ended before it."""
    plants = ("--plant", "killed:ranks=4,compile=1", "--plant", "extra_recompile:ranks=2,compile=2")
    ranked(tmp_path, "--ranks", 6, "--compiles", 3, "--detail", "tiny", *plants)
    matrix = matrix_of(run_steps(read_lanes(open_run(discover([str(tmp_path)])))))
    assert [row_of(matrix, rank).differs[-1] for rank in range(6)] == [" ", " ", "+", " ", "~", " "]


def test_a_fold_names_who_had_ended_before(tmp_path: Path) -> None:
    ranked(tmp_path, "--ranks", 6, "--compiles", 4, "--recompiles", 1, "--detail", "tiny", "--plant", "killed:ranks=4,compile=1")
    lines = text(shown(open_run(discover([str(tmp_path)])), "difference")).split("\n")
    assert any("equal compiles" in line and line.endswith("(rank 4 ended before)") for line in lines)


def test_kinds_of_ranks_are_told_by_what_separates_them() -> None:
    """Rank 0 has what rank 2 has, and a break of its own: that is what it is told by."""
    usual = ("=====", "b=+==", "  +==")
    rows = [
        Row(Ranks((n,)), f"{n}", next((at for at, sign in enumerate(cells) if sign != "="), -1), "", (), cells, "", "", "", "",
            ("0/0",) * 5, 0)
        for n, cells in enumerate(usual)
    ]  # fmt: skip
    columns = [Column(f"{n}/0", f"0:{n}/0", f"f{n}", "f.py", n, 1, 3, None) for n in range(5)]
    told = [
        [text_ for text_, _ in ASPECTS["difference"].descriptions(row, columns, rows[0], [own for own in rows if own is not row])]
        for row in rows
    ]
    assert told == [[], ["[0/0] f0: graph breaks", "1 more compile differs"], ["[0/0] f0: not compiled", "2 more compiles differ"]]


def test_the_most_ranks_come_first_then_who_parts_first(made: tuple[Run, dict[str, Any]]) -> None:
    matrix = matrix_of(run_steps(read_lanes(made[0])))
    assert matrix.reference_rank in matrix.rows[0].ranks and matrix.rows[0].first_difference == -1
    assert len(matrix.rows[0].ranks) == max(len(row.ranks) for row in matrix.rows)
    firsts = [row.first_difference for row in matrix.rows if len(row.ranks) == 1]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize("aspect", ASPECTS)
def test_links_lead_somewhere_and_to_comparisons(made: tuple[Run, dict[str, Any]], aspect: str) -> None:
    run, truth = made
    document = shown(run, aspect)
    lead_somewhere(run, document)
    if aspect == "difference":
        plant = next(p for p in truth["plants"] if p["kind"] == "other_graph")
        own = plant["id_on_rank"][plant["ranks"]]
        usual = document.data().reference_rank
        assert f"@diff::{usual}:{plant['id_of_majority']}%20{plant['ranks']}:{own}" in targets(document)


def shown(run: Run, aspect: str, width: int = 80, ascii_: bool = False) -> Document:
    from tltui.questions.build import build

    document = build(run, "@matrix", Options(width=width, sort=aspect, ascii=ascii_))
    while not document.advance():
        pass
    return document


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("aspect", ASPECTS)
def test_it_fits(made: tuple[Run, dict[str, Any]], aspect: str, width: int) -> None:
    run = made[0]
    for ascii_ in (False, True):
        lines = text(shown(run, aspect, width, ascii_)).split("\n")
        drawn = [WORDS.drawn(line) if ascii_ else line for line in lines]
        assert max(map(len, drawn)) <= width and (not ascii_ or "\n".join(drawn).isascii())


@pytest.mark.parametrize("aspect", ASPECTS)
def test_signs_are_told_apart_without_colours(aspect: str) -> None:
    """Each sign that is drawn means one thing, in ASCII too; and each style exists."""
    own = ASPECTS[aspect]
    signs = {" ", "?", "o", "=", "+", *own.meanings} | ({"x", ">", "!", "0"} if aspect == "status" else set())
    drawn = {WORDS.drawn(own.drawn(sign)) for sign in signs}
    assert len(drawn) == len(signs)
    assert {own.style(sign) for sign in signs} <= set(ALL)
    assert all(own.meaning(sign) for sign in signs if sign != "=" or aspect in ("difference", "time"))


def test_marks_are_clear() -> None:
    assert len(set(MARKS.values())) == len(MARKS) and not set(MARKS.values()) & set("=+ ?o")
    assert set(FACETS) - {"end", "version", "settings"} <= set(MARKS)


def test_two_thousand_ranks_by_two_hundred_compiles() -> None:
    changed = {kind: {kind * 16: step(kind * 16, graph=f"other{kind}")} for kind in range(1, 12)}
    kinds = [steps(200), *(steps(200, own) for own in changed.values())]
    matrix = matrix_of([lane(rank, kinds[max(rank - 2036, 0)]) for rank in range(2048)])
    assert len(matrix.rows) == 12 and len(matrix.columns) == 200
    lines = written(matrix, 80)
    at = next(n for n, line in enumerate(lines) if line.startswith("  [16/0]"))
    unfolded = [line for line in lines if re.match(r"  (\[|= \d)", line)]
    assert len(unfolded) <= 11 + 12 and at < 40 and len(lines) < 250
    assert lines[at].split()[-12:] == ["=", "g", *["="] * 10]
    assert sum(map(len, unfolded)) < 2_000
    names = next(n for n, line in enumerate(lines) if re.match(r" +A B C", line))
    assert lines[names + 1].startswith("  = 16 equal compiles"), "no fold begins where the section does"


def test_three_hundred_kinds_of_ranks() -> None:
    lanes = [lane(rank, steps(200)) for rank in range(1700)]
    lanes += [lane(1700 + n, steps(200, {n % 200: step(n % 200, graph=f"o{n}")})) for n in range(300)]
    matrix = matrix_of(lanes)
    assert len(matrix.rows) == 301
    for width in (60, 80, 120):
        lines = written(matrix, width)
        assert max(map(len, lines)) <= width and len(lines) < 600
        names = next(line for line in lines if re.match(r" +A ?B ?C", line)).split()[0]
        assert len(names) <= 52
        cells = [line for line in lines if line.startswith("  [")]
        assert len(cells) == 200 and "g" in cells[0][-len(names) :]
    assert any(line.strip() == "295 more" for line in lines), "the others are folded"


def test_half_against_half_and_no_majority() -> None:
    other = steps(3, {1: step(1, graph="other")})
    matrix = matrix_of([lane(rank, steps(3) if rank < 2 else other) for rank in range(4)])
    assert [(str(row.ranks), row.differs, row.graphs) for row in matrix.rows] == [("0, 1", "===", "aaa"), ("2, 3", "=g=", "aba")]


def test_kinds_that_look_alike_in_what_is_shown_are_one() -> None:
    slow = [1.0, 9.0, 1.0]
    matrix = matrix_of([lane(0, steps(3)), lane(1, steps(3)), lane(2, steps(3)), lane(3, steps(3), slow)])
    assert [(str(row.ranks), row.times) for row in matrix.rows] == [("0–2", "==="), ("3", "=9=")]
    together = merged(matrix.rows, ASPECTS["difference"].key)
    assert [str(row.ranks) for row in together] == ["0–3"]
    assert "All ranks are the same in every row" in written(matrix, 80) and "2 kinds of ranks" in written(matrix, 80, "time")


def test_of_a_rank_that_may_only_be_behind_nothing_is_said() -> None:
    matrix = matrix_of([lane(rank, steps(6)) for rank in range(5)] + [lane(5, steps(2), ended=False)])
    assert row_of(matrix, 5).differs == "==    " and row_of(matrix, 5).first_difference == -1 and str(matrix.ranks_behind) == "5"
    dead = matrix_of([lane(rank, steps(6)) for rank in range(5)] + [lane(5, steps(2))])
    assert row_of(dead, 5).first_difference == 2 and row_of(dead, 5).property == "missing"


def test_a_rank_that_ended_hides_no_likeness() -> None:
    """What it lacks after that is no difference of the compiles: they are folded."""
    lanes = [lane(rank, steps(50)) for rank in range(9)]
    lanes.append(lane(9, [*steps(20), step(20, "unfinished", end="", graph="", code="")], [1.0] * 20 + [float("nan")]))
    matrix = matrix_of(lanes)
    assert row_of(matrix, 9).differs == "=" * 20 + "?" + "~" * 29
    lines = [line for line in written(matrix, 80) if line.startswith("  [")]
    assert [line.split()[0] for line in lines] == ["[20/0]"]


def test_no_ranks_and_one() -> None:
    empty = matrix_of([])
    assert empty.rank_count == 0 and not empty.rows and not empty.columns
    assert matrix_of([lane(3, steps(2))]).rows[0].ranks == (3,)
    said = text(page(opened("tests/traces/torch-2.13/breaks"), "@matrix"))
    assert said.startswith("Matrix\nNothing to compare: fewer than two ranks have compiles")


def test_the_command(made: tuple[Run, dict[str, Any]], capfd: pytest.CaptureFixture[str]) -> None:
    from tltui import cli

    path = made[0].discovered.paths[0]
    assert cli.main(["matrix", path, "--json"]) == 0
    found = json.loads(capfd.readouterr()[0])["result"]
    assert found == json.loads(to_json(matrix_report(matrix_of(run_steps(read_lanes(made[0]))))))
    assert cli.main(["matrix", path, "--show", "cache"]) == 0
    assert "cache results" in capfd.readouterr()[0]
    assert cli.main(["matrix", path, "--show", "nothing"]) == 2


def test_real_ranks_that_diverge() -> None:
    matrix = matrix_of(run_steps(read_lanes(opened("tests/traces/torch-2.13/diverge"))))
    assert [(str(row.ranks), row.property) for row in matrix.rows] == [("0", ""), ("2", "graph"), ("1", "breaks")]
    assert len(matrix_of(run_steps(read_lanes(opened("tests/traces/torch-2.13/mesh")))).rows) == 1


def test_files_of_folded_compiles_stand_beside_their_functions() -> None:
    usual = steps(6)
    lines = written(matrix_of([lane(0, usual), lane(1, usual), lane(2, steps(6, {3: step(3, graph="h")}))]), 100)
    folded = [line.rstrip() for line in lines if line.startswith("  = [")]
    assert folded == [f"  = [{n}/0]   f{n}  f.py:{n}" for n in (0, 1, 2, 4, 5)]


def test_where_all_differ_the_one_most_like_the_others_is_compared_with() -> None:
    """The first of eight kinds of ranks ended early: that the others went on is not the exception."""
    lanes = [lane(0, steps(2)), *(lane(rank, steps(6, {2: step(2, graph=f"g{rank}")})) for rank in range(1, 4))]
    lanes.append(lane(4, steps(6)))
    matrix = matrix_of(lanes)
    assert matrix.reference_rank == 1
    assert row_of(matrix, 0).differs == "==~~~~"
    assert {rank: row_of(matrix, rank).differs for rank in (1, 2, 4)} == {1: "======", 2: "==g===", 4: "==g==="}
    assert matrix_of([*lanes, *(lane(rank, steps(6)) for rank in (5, 6))]).reference_rank == 4
