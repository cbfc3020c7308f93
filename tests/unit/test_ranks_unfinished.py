"""Ranks of a job that died are compared as far as each of them came; every side of a difference has words of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from made_logs import Log
from pages import page
from real import TRACES, fresh, trace
from viewed import text

from tltui.model.run import Run
from tltui.questions.ranks.differences import Differing, Divergence, differences_of
from tltui.questions.ranks.matching import words

KILLED, RACE, CUT = "rank_jobs/backward", "rank_jobs/cache", b"\nV"


def found_in(run: Run) -> Differing:
    found = differences_of(run)
    assert found is not None
    return found


def said(one: Divergence) -> list[tuple[str, str]]:
    return [(str(side.ranks), side.description) for side in one.groups]


def records(path: Path) -> list[bytes]:
    first, *rest = path.read_bytes().split(CUT)
    return [first + b"\n", *(b"V" + record + b"\n" for record in rest)]


def cut_copies(name: str, into: Path, rank: int, pieces: int) -> Iterator[Run]:
    """A job of which one rank's log ends early: after each of some of its records."""
    logs = sorted((TRACES / name).glob("*.log"))
    for path in logs:
        (into / path.name).write_bytes(path.read_bytes())
    own = next(path for path in logs if f"_rank_{rank}_" in path.name)
    whole = records(own)
    for end in range(max(len(whole) // pieces, 1), len(whole), max(len(whole) // pieces, 1)):
        (into / own.name).write_bytes(b"".join(whole[:end]))
        yield fresh(into)


def test_the_rank_that_died_in_its_backward_is_the_one_that_did_not_finish() -> None:
    run = trace(KILLED)
    [one] = found_in(run).divergences
    assert one.properties == ("unfinished",)
    assert said(one) == [("0, 2", "finished"), ("1", "unfinished, in inductor_compile ▸ fx_codegen_and_compile")]
    assert [str(c.status) for c in run.compiles() if c.is_compile] == ["ok", "unfinished", "ok"]


def test_what_a_rank_had_not_written_yet_is_no_difference(tmp_path: Path) -> None:
    """Wherever the log of rank 2 ends: it is unfinished, or lacks what comes later, and nothing of what it has differs."""
    facets = set()
    for run in cut_copies(KILLED, tmp_path, 2, 40):
        facets |= {facet for one in found_in(run).divergences for facet in one.properties}
    assert facets == {"unfinished", "missing"}, "missing: of a log that ends before its compile"


def test_inputs_that_differ_are_told_of_a_cut_log_too(tmp_path: Path) -> None:
    """Of inputs that both sides describe; those that only one side has count for ranks that finished."""

    def inputs(log: Log, **sizes: int) -> None:
        log.start()
        for number, (source, size) in enumerate(sizes.items()):
            about = {"id": number, "describer_id": 1, "size": [size], "dtype": "torch.float32"}
            log.add("describe_tensor", dict(sorted(about.items(), key=lambda item: item[0] == "describer_id")))
            log.add("describe_source", {"describer_id": 1, "id": number, "source": source})
        log.add("dynamo_output_graph", {}, "graph")

    def of(*sizes: dict[str, int]) -> list[tuple[str, list[tuple[str, str]]]]:
        directory = tmp_path / str(len(list(tmp_path.iterdir())))
        directory.mkdir()
        for rank, own in enumerate(sizes):
            log = Log(directory / f"dedicated_log_torch_trace_rank_{rank}_x.log")
            inputs(log, **own)
            if rank != 1:
                log.metrics()
            log.open()
        return [
            (one.properties[0], said(one)) for one in found_in(fresh(directory)).divergences if one.properties[0] != "unfinished"
        ]

    assert of({"x": 4, "y": 2}, {"x": 4}, {"x": 4, "y": 2}) == []
    assert of({"x": 4}, {"x": 4, "y": 2}, {"x": 4}) == []
    assert of({"x": 4, "y": 2}, {"x": 8}, {"x": 4, "y": 2}) == [("inputs", [("0, 2", "[4] of x"), ("1", "[8] of x")])]


def test_a_cache_race_has_values_on_both_sides_and_never_leads() -> None:
    run = trace(RACE)
    found = found_in(run)
    [one] = found.divergences
    assert one.properties == ("cache",) and found.leading is None and found.count == 1
    assert said(one) == [
        ("1, 2", "AOTAutograd cache: 1 hit; FX graph cache: 1 hit"), ("0", "AOTAutograd cache: 1 miss; FX graph cache: 1 miss"),
    ]  # fmt: skip
    assert "diverge" not in text(page(run, "@run")) and "Ranks that differ" not in text(page(run, "@problems"))
    assert "cache results differ" in text(page(run, "@ranks"))


def test_answers_are_counted() -> None:
    cache = "FX graph cache"
    several = {1: [f"{cache} hit"] * 3 + [f"{cache} miss"], 2: [f"{cache} miss"] * 4, 3: []}
    assert words("cache", several) == {1: "3 hits, 1 miss", 2: "4 misses", 3: "no result logged"}


def test_a_side_without_words_gets_some() -> None:
    assert words("guards", {1: ["a", "b"], 2: ["a"]}) == {1: "b", 2: "without that"}
    assert words("code", {1: ["aa", "bb"], 2: ["aa"]}) == {1: "code of 2 graphs", 2: "code of 1 graph"}
    other = {1: ["aa", "b" * 16], 2: ["aa", "c" * 16]}
    assert words("code", other) == {1: "code bbbbbbbb of graph 2", 2: "code cccccccc of graph 2"}


def test_a_path_that_is_left_out_is_printed_where_it_differs(tmp_path: Path) -> None:
    """A compiler in a temporary directory, beside the usual one: masked alike it would say nothing."""
    for rank, compiler in enumerate(('[null, "g++"]', '[null, "/tmp/made/slow_g++"]', '[null, "g++"]')):
        log = Log(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log").start()
        config = json.dumps({"cpp.cxx": json.loads(compiler), "debug_dir": f"/tmp/rank_{rank}/debug"})
        log.metrics(inductor_config=config, inline="no").open()
    [one] = found_in(fresh(tmp_path)).divergences
    assert one.properties == ("settings",)
    assert said(one) == [("0, 2", 'cpp.cxx [null, "g++"]'), ("1", 'cpp.cxx [null, "/tmp/made/slow_g++"]')]


def test_code_alone_is_told_by_its_first_line_that_differs(tmp_path: Path) -> None:
    for rank, call in enumerate(("tl.load(a)", "tl.load(b)")):
        log = Log(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log").start()
        log.add("inductor_output_code", {"filename": "x.py"}, f"# a comment\nx = {call}").metrics().open()
    [one] = found_in(fresh(tmp_path)).divergences
    assert one.properties == ("code",)
    assert said(one) == [("0", "line 2: x = tl.load(a)"), ("1", "line 2: x = tl.load(b)")]
