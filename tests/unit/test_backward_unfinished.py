"""A compile whose backward has begun and has no end is not finished: in the tree, the counts, the problems, the news."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pages import page
from real import TRACES, compile_at, fresh, trace
from test_follow import Live
from test_news import Followed
from viewed import text as seen

from tltui.export import to_json
from tltui.model.status import Status
from tltui.questions.check.limits import gates, parse_limits
from tltui.questions.hang.open_phases import inside
from tltui.questions.news.run_news import NewsKind
from tltui.questions.problems.problem_list import problems
from tltui.text.document import Options
from tltui.tree.listing import listing_document

BACKWARD, LATER = "hangs/backward", "hangs/epoch_backward"


@pytest.mark.parametrize(("name", "ref"), [(BACKWARD, "0/0"), (LATER, "0/0~2")])
def test_it_is_no_finished_compile(name: str, ref: str) -> None:
    compile_ = compile_at(trace(name), ref)
    assert compile_.is_closed and compile_.status is Status.UNFINISHED and compile_.facts.backward_unfinished
    assert compile_.process.tally.unfinished == 1


def test_every_page_has_it() -> None:
    run = trace(BACKWARD)
    assert "? [0/0]" in "\n".join(line for line in listing_document(run, Options()).text())
    first = " ".join(seen(page(run, "@run")).split())
    assert "? 1 unfinished" in first and "f its backward in GraphLowering.run" in first
    assert "[0/0]  f  its backward in GraphLowering.run" in seen(page(run, "@problems"))
    assert "but its backward is unfinished when the log ends, in GraphLowering.run" in " ".join(seen(page(run, "0/0")).split())
    assert "its backward is unfinished" in seen(page(run, "0/"))
    assert [item.ref for item in problems([compile_at(run, "0/0")]).unfinished if item.is_backward] == ["0/0"]
    assert gates(run, parse_limits("unfinished=0")).limits[0].value == 1
    assert json.loads(to_json(page(run, "0/0").data()))["facts"]["backward_unfinished"] is True


def test_timing_lists_it_as_open() -> None:
    run = trace(BACKWARD)
    [item] = json.loads(to_json(page(run, "@timing").data()))["open"]
    assert item["names"][0] == "entire_backward_compile" and item["has_metrics"] is False
    shown = " ".join(seen(page(run, "@timing:0/0")).split())
    assert "Still open (1)" in shown and "inside entire_backward_compile > " in shown and "Backward: ≥14 ms" in shown
    assert "Missing end events" not in shown


@pytest.mark.parametrize("ref", ["@timing", "@timing:0/0"])
def test_its_phases_are_part_of_the_total(ref: str, tmp_path: Path) -> None:
    """The metrics count the forward only, the events the backward up to the end of the log."""
    [log] = (TRACES / "torch-2.13/train").glob("*.log")
    data = log.read_bytes()
    middle = data.index(b"compile_file", data.index(b'"name": "entire_backward_compile"'))
    (tmp_path / log.name).write_bytes(data[: data.index(b"\nV", middle) + 1])
    run = fresh(tmp_path)
    shown, result = seen(page(run, ref)), json.loads(to_json(page(run, ref).data()))
    assert "≥8.99 s of compiling" in shown
    assert result["compiles"][0]["source"] == "events" and result["compile_s"] > 9
    assert sum(phase["self_s"] for phase in result["phases"]) <= result["compile_s"] + 1e-6
    assert "≥" not in seen(page(trace("torch-2.13/train"), ref)).split("\n")[1]


def test_a_backward_that_begins_where_the_log_ends_has_no_time(tmp_path: Path) -> None:
    """Not 0 seconds, and not 0% of its part of the flame."""
    [log] = (TRACES / BACKWARD).iterdir()
    lines = log.read_bytes().split(b"\nV")
    begun = next(n for n, line in enumerate(lines) if b'"name": "entire_backward_compile"' in line)
    (tmp_path / log.name).write_bytes(b"\nV".join(lines[: begun + 1]) + b"\n")
    shown = seen(page(fresh(tmp_path), "@timing:0/0")).split("\n")
    heading = shown.index("Backward")
    assert [line.split() for line in shown[heading + 2 : heading + 4]] == [["entire_backward_compile", "open"], []]
    (tmp_path / log.name).write_bytes(b"\nV".join(lines[: begun + 3]) + b"\n")
    assert "backward, compiled later: 2 ms so far" in seen(page(fresh(tmp_path), "0/0"))


@pytest.mark.parametrize("name", ["torch-2.13/train", "torch-2.13/resets", "torch-2.13/ddp_split", "torch-2.13/errors"])
def test_a_backward_that_ended_changes_nothing(name: str) -> None:
    facts = [c.facts for c in trace(name).compiles() if c.is_compile]
    assert not any(own.backward_running or own.backward_unfinished for own in facts)


def test_where_and_status_agree_on_all_real_logs() -> None:
    """Whatever `where` finds in the middle of a backward has no end in the tree either."""
    for directory in sorted((TRACES / "hangs").iterdir()):
        run = fresh(directory)
        for process in run.processes():
            stands = inside(process)
            unfinished = [str(c.ref) for c in process.ordered() if c.facts.backward_unfinished]
            assert unfinished == ([stands.ref] if stands is not None and stands.activity == "backward" else []), directory


def test_it_runs_while_the_log_goes_on(tmp_path: Path) -> None:
    """Record by record: compiled, running from the first event of the backward on, not finished when nobody writes any more."""
    [log] = (TRACES / BACKWARD).iterdir()
    lines = log.read_bytes().split(b"\nV")
    records = [lines[0] + b"\n", *(b"V" + line + b"\n" for line in lines[1:])]
    begun = next(n for n, record in enumerate(records) if b'"name": "entire_backward_compile"' in record)
    metrics = next(n for n, record in enumerate(records) if b'"compilation_metrics"' in record)
    directory = tmp_path / "trace"
    directory.mkdir()
    live = Live(directory, b"".join(records[: metrics + 1]))
    seen_: list[str] = []
    for record in records[metrics + 1 :]:
        live.write(record.removesuffix(b"\n") if record is records[-1] else record)
        seen_.append(live.statuses()["0/0"])
    assert seen_[: begun - metrics - 1] == ["ok"] * (begun - metrics - 1)
    assert set(seen_[begun - metrics - 1 :]) == {"running"}
    assert (live.run.tally.running, live.run.tally.unfinished) == (1, 0)
    live.writers.over = True
    live.look()
    assert live.statuses()["0/0"] == "unfinished" and (live.run.tally.running, live.run.tally.unfinished) == (0, 1)


def test_the_news_has_it_once() -> None:
    followed = Followed(TRACES / BACKWARD, size=300)
    followed.look()
    followed.writers.over = True
    followed.look()
    last = [news for news in followed.news if news.kind is NewsKind.UNFINISHED]
    assert [(news.label, news.text, news.status) for news in last] == [
        ("[0/0]", "its backward is unfinished when the log ends", Status.UNFINISHED)
    ]
    assert [news.status for news in followed.news if news.kind is NewsKind.ENDED] == [Status.OK], "its forward did end"
