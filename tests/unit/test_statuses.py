"""What became of each compile, against what the scripts of the traces say; the table of statuses; and who is a recompile."""

from __future__ import annotations

import json
import re
from pathlib import Path

import make_trace as mt
import pytest
from made_logs import Log
from pages import page
from real import TRACES, trace
from test_follow import Live, part
from viewed import text as seen

from tltui.commands import Situation
from tltui.config import Config
from tltui.export import to_json
from tltui.model.follow import open_run
from tltui.model.nodes import Compile
from tltui.model.run import Run
from tltui.model.status import TABLE, Eager, Status, Tally, is_visited
from tltui.questions.check.limits import MEASURES, gates, parse_limits
from tltui.screens.palette import help_document
from tltui.sources.discover import discover
from tltui.text import tokens
from tltui.tree.outline import marks

OUTCOMES, SKIPS = "torch-2.13/outcomes", "torch-2.8/skips"
DOCS = Path(__file__).parents[2] / "docs"


def compiles(run: Run) -> dict[str, Compile]:
    return {str(compile_.ref): compile_ for compile_ in run.compiles() if compile_.is_compile}


def of(run: Run, status: Status) -> list[str]:
    return [ref for ref, compile_ in compiles(run).items() if compile_.status is status]


# the table


@pytest.mark.parametrize("page_name", ["design", "glossary", "json"])
def test_the_docs_have_the_table_of_the_code(page_name: str) -> None:
    text = (DOCS / f"{page_name}.md").read_text("utf-8")
    table = text.partition("<!-- statuses: ")[2].partition("<!-- statuses end")[0]
    cells = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("|")]
    names = [re.sub(r"<a id=\S+</a>|`", "", cell) for cell in cells]
    assert names == ["status", "---", *map(str, TABLE)]


def test_every_use_reads_from_the_table() -> None:
    assert set(TABLE) == set(Status)
    assert {row.gate for row in TABLE.values()} - {""} <= set(MEASURES)
    assert {row.colour for row in TABLE.values()} <= set(tokens.ALL)
    assert {row.field for row in TABLE.values()} <= set(Tally._fields)
    for attribute in ("glyph", "ascii"):
        marks_ = [getattr(row, attribute) for row in TABLE.values()]
        assert len(set(marks_)) == len(marks_) and all(len(mark) == 1 for mark in marks_)
    assert all(row.ascii.isascii() for row in TABLE.values())
    text = "\n".join(help_document(False, Config(), 200, Situation(), "tree").text())
    assert all(f"{row.glyph}  {status:<10} {row.meaning}" in text for status, row in TABLE.items())


@pytest.mark.parametrize("name", [OUTCOMES, SKIPS, "torch-2.13/breaks", "torch-2.13/ddp", "torch-2.13/reasons"])
def test_each_compile_is_counted_once(name: str) -> None:
    tally = trace(name).tally
    assert sum(tally.counted(status) for status in Status) == tally.compiles
    shown = {words: count for count, _, words, _ in marks(tally, False)}
    for status, row in TABLE.items():
        if row.keys:
            assert shown.get(row.words, 0) == len(of(trace(name), status)), status


# what became of them


def test_what_reached_the_caller_and_what_ran_on() -> None:
    run = trace(OUTCOMES)
    assert of(run, Status.ERROR) == ["0/0", "0/1", "4/2", "4/3", "5/1", "7/0", "9/0", "10/0"]
    assert {ref: compiles(run)[ref].facts.eager_reason for ref in of(run, Status.EAGER)} == {
        "1/1": Eager.SKIPPED, "3/2": Eager.LIMIT, "8/0": Eager.SUPPRESSED,
    }  # fmt: skip
    assert of(run, Status.BREAK) == ["2/0", "6/0"] and of(run, Status.EMPTY) == ["11/0"]
    assert {ref for ref, c in compiles(run).items() if c.facts.break_not_allowed} == {"7/0", "9/0"}
    assert {ref for ref, c in compiles(run).items() if c.facts.interrupted} == {"0/0", "0/1"}
    assert {c.facts.reached_caller for ref, c in compiles(run).items() if c.status is Status.ERROR} == {True}


def test_an_older_torch_logs_less() -> None:
    run = trace(SKIPS)
    assert of(run, Status.EAGER) == ["0/0"], "a break in a loop is no failure there"
    assert of(run, Status.BREAK) == ["1/0"] and of(run, Status.EMPTY) == ["5/0"]
    assert of(run, Status.ERROR) == ["3/0", "4/0", "6/0"]
    assert [compiles(run)[ref].facts.reached_caller for ref in ("3/0", "4/0", "6/0")] == [None, None, True]
    assert "Torch before 2.11 does not log whether the error was raised to the caller" in " ".join(seen(page(run, "3/0")).split())
    assert "does not log" in " ".join(seen(page(run, "@problems")).split())


def test_a_failure_before_tracing_is_no_error_of_fullgraph() -> None:
    run = trace("torch-2.13/transforms")
    assert of(run, Status.EAGER) == ["2/0", "3/0"] and not of(run, Status.ERROR)
    facts = [compiles(run)[ref].facts for ref in ("2/0", "3/0")]
    alike = (Eager.UNTRACED, None, False)
    read = [(fact.eager_reason, fact.reached_caller, fact.break_not_allowed) for fact in facts]
    assert read == [alike, alike], "torch logs both alike"
    problems = " ".join(seen(page(run, "@problems")).split())
    assert "Dynamo failed before it traced the function" in problems and "fullgraph=True (or" not in problems
    assert "fell back to eager mode at" in seen(page(run, "2/")), "the page of the frame"
    assert gates(run, parse_limits("error")).passed and not gates(run, parse_limits("eager")).passed


def test_a_recompile_needs_compiled_code_before_it() -> None:
    run = trace(OUTCOMES)
    again = [ref for ref, compile_ in compiles(run).items() if compile_.is_recompile]
    assert again == ["1/1", "3/1", "3/2", "4/1", "4/2", "4/3", "5/1", "10/2"]
    assert run.tally.recompiles == len(again) == gates(run, parse_limits("recompiles=0")).limits[0].value
    assert "recompile" not in seen(page(run, "10/1")) and "Why it recompiled" in seen(page(run, "10/2"))
    text = seen(page(run, "@recompiles"))
    assert "[10/2]" in text and "stopped" not in text


def test_a_late_failure_makes_a_recompile_none(tmp_path: Path) -> None:
    """Two threads compile one function: the first fails after the second has begun."""
    log = Log(tmp_path / "a.log").start().start(compile_=1).metrics(compile_=1)
    early = log.open()
    assert [c.is_recompile for c in compiles(early).values()] == [False, True], "the log does not tell how the first one ended"
    run = log.metrics(fail_type="InternalTorchDynamoError", graph_op_count=None).open()
    assert [c.is_recompile for c in compiles(run).values()] == [False, False] and run.tally.recompiles == 0


def test_a_followed_run_learns_it_too(tmp_path: Path) -> None:
    failed = {"graph_op_count": None, "fail_type": "InternalTorchDynamoError"}
    live = Live(tmp_path, part(0, ended=False) + part(1))
    assert live.run.tally.recompiles == 1
    live.write(mt.record("compilation_metrics", failed, frame=0, compile=0, attempt=0))
    live.write(mt.record("str", ["x", 0]))
    assert live.run.tally.recompiles == 0 and sum(process.tally.recompiles for process in live.processes()) == 0


def test_the_limit_of_torch_2_6_is_no_backward(tmp_path: Path) -> None:
    """It calls these metrics those of a backward: `is_forward` is null."""
    fields = {"fail_type": "RecompileLimitExceeded", "fail_reason": "cache_size_limit reached", "is_forward": None}
    log = Log(tmp_path / "a.log").start().metrics().metrics("bwd_compilation_metrics", compile_=1, **fields)
    last = compiles(log.open())["0/1"]
    assert last.status is Status.EAGER and last.facts.recompile_limit_hit and not last.facts.backward_failed


# how it is said


def test_pages_say_who_was_reached() -> None:
    run = trace(OUTCOMES)
    text = seen(page(run, "", 120))
    assert "✗ 8 failed · » 3 fell back to eager · ⚑ 2 with breaks · ∅ 1 empty · ✓ 8 ok" in text
    assert "3 graph breaks, 1 with a fallback to eager" in text
    text = seen(page(run, "@problems", 120))
    assert "✗ 8 compiles failed · » 3 fell back to eager" in text and "Fell back to eager mode (2)" in text
    assert text.count("is an error because fullgraph=True") == 2 and "error_on_recompile is set" in text
    assert "even for calls that match an earlier compiled version" in " ".join(seen(page(run, "1/")).split())
    assert "functions called from those are not newly compiled either" in " ".join(seen(page(run, "3/2")).split())
    assert "interrupted after" in seen(page(run, "0/0"))
    assert "nothing lost" not in seen(page(run, "11/0"))
    assert "Torch skips this function from now on, also for calls that have operations." in seen(page(run, "11/0"))


def test_a_compile_cut_off_after_its_graph_break_is_listed_as_unfinished(tmp_path: Path) -> None:
    """Its status is that of the break: the count of the status and the first finding state the other."""
    log = next((TRACES / "torch-2.13/breaks").glob("*.log")).read_bytes()
    end = log.index(b"\nV", log.index(b"dynamo_graph_break_reason")) + 1
    (tmp_path / "cut.log").write_bytes(log[:end])
    run = open_run(discover([str(tmp_path)]))
    assert of(run, Status.BREAK) == ["0/0"]
    text = seen(page(run, "", 120))
    assert "⚑ 1 with breaks (1 unfinished)" in text and "⚑ 1 with breaks (1 unfinished)" in seen(page(run, "0/"))
    assert "f did not finish compiling; it was in bytecode_tracing" in text and "Unfinished (1)" in text
    result = json.loads(to_json(page(run, "").data()))
    assert result["tally"]["unfinished"] == 0 and [item["ref"] for item in result["unfinished"]] == ["0/0"]
    assert "unfinished)" not in seen(page(trace("torch-2.13/breaks"), "", 120))


def test_e_and_b_stop_at_both() -> None:
    run = trace(OUTCOMES)
    found = compiles(run).values()
    assert [str(c.ref) for c in found if is_visited(c, "e")] == [
        "0/0", "0/1", "1/1", "3/2", "4/2", "4/3", "5/1", "7/0", "8/0", "9/0", "10/0",
    ]  # fmt: skip
    assert [str(c.ref) for c in found if is_visited(c, "b")] == ["1/1", "2/0", "6/0"]


# limits


def test_limits_on_what_runs_in_eager_mode() -> None:
    found = {item.name: item for item in gates(trace(OUTCOMES), parse_limits("error,eager,break,recompile_limit")).limits}
    assert {name: item.value for name, item in found.items()} == {"error": 8, "eager": 3, "break": 3, "recompile_limit": 3}
    assert {reason.ref for reason in found["eager"].reasons} == {"1/1", "3/2", "8/0"}
    assert {reason.ref for reason in found["error"].reasons} == {"0/0", "0/1", "4/2", "4/3", "5/1", "7/0", "9/0", "10/0"}
    assert {item.page for item in found.values()} == {"@problems"}, "an address"
    assert b'"page": "@problems"' in to_json(gates(trace(OUTCOMES), parse_limits("eager")))


def test_limits_on_what_is_not_understood(tmp_path: Path) -> None:
    def values(run: Run) -> list[float]:
        return [item.value for item in gates(run, parse_limits("unknown,no_compile_id")).limits]

    assert values(trace(OUTCOMES)) == [0, 0]
    assert values(trace("torch-2.13/export_draft")) == [0, 1], "the exported program belongs to no compile"
    path = tmp_path / "a.log"
    log = Log(path).start().metrics().artifact("a_kind_of_tomorrow", "x").artifact("aot_joint_graph", "y", frame=None)
    log.open()
    path.write_bytes(path.read_bytes() + b"a line of the program\n")
    run = open_run(discover([str(path)]))
    assert values(run) == [2, 1]
    found = gates(run, parse_limits("unknown,no_compile_id")).limits
    assert {reason.text for reason in found[0].reasons} == {
        "a record of unknown kind: a_kind_of_tomorrow", "a line that is not a record",
    }  # fmt: skip
    assert found[1].reasons[0].text == "aot_joint_graph without a compile id"
    assert "aot_joint_graph" in seen(page(run, found[1].reasons[0].ref))


# where an unfinished compile stood


def test_what_is_not_known_is_not_told_as_nothing(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log").start().event("dynamo", "B", 0).event("bytecode_tracing", "B", 0)
    run = log.open()
    for ref in ("", "0/0", "@problems", "@timing"):
        text = " ".join(seen(page(run, ref, 200)).split())
        assert "bytecode_tracing" in text and "0 ms" not in text and "at least" not in text, ref
    run = log.event("x", "B", 3).event("x", "E", 3.2).open()
    for ref in ("", "0/0", "@problems", "@timing"):
        assert "for at least 3.20 s" in " ".join(seen(page(run, ref, 200)).split()), ref
