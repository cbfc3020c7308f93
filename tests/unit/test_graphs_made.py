"""A run in which no compile handed a graph to a backend, and calls that a trace cannot show."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from made_logs import Log
from pages import page
from real import TRACES, fresh, trace
from viewed import text

from tltui.cli import main
from tltui.questions.check.limits import gates, parse_limits
from tltui.questions.overview.graphs_made import ranks_without_graph
from tltui.text.document import piece_text
from tltui.tree.header import Live, header

SENTENCE = "passed a graph with operations to a backend, so no operation runs in compiled code."


def uncompiled(path: Path) -> Log:
    """A log of two compiles: a break before the first operation, and no operations."""
    log = Log(path).start().metrics(graph_op_count=0, has_guarded_code=True)
    return log.start("g", frame=1).metrics(frame=1, graph_op_count=0, has_guarded_code=True)


def test_the_first_line_of_the_summary_is_that_no_graph_was_handed_over() -> None:
    run = trace("torch-2.13/transforms")
    assert [rank.number for rank in ranks_without_graph(run)] == [None]
    lines = text(page(run, "", 160)).splitlines()
    assert lines[:2] == ["transforms", f"No compile {SENTENCE}"]
    left, _ = header(run, "2.13.0", Live(), 160, False)
    assert "  no graph" in [piece_text(piece) for piece in left]
    assert "no graph" not in str(header(trace("torch-2.13/breaks"), "2.13.0", Live(), 160, False))


def test_it_is_said_of_the_ranks_that_it_is_true_of(tmp_path: Path) -> None:
    uncompiled(tmp_path / "dedicated_log_torch_trace_rank_0_aaaaaaaa.log").open()
    Log(tmp_path / "dedicated_log_torch_trace_rank_1_bbbbbbbb.log").start().metrics().open()
    run = fresh(tmp_path)
    assert f"No compile on rank 0 {SENTENCE}" in text(page(run, "", 160))
    outcome = gates(run, parse_limits("no_graph")).limits[0]
    assert (outcome.value, outcome.exceeded) == (1, True)
    (reason,) = outcome.reasons
    assert (reason.ref, reason.text) == ("0:0/0", "rank 0: none of the 2 compiles has a graph with operations")


@pytest.mark.parametrize("fields", [{"graph_op_count": 3}, {"fail_type": "BackendCompilerFailed", "graph_op_count": None}])
def test_one_graph_is_enough(tmp_path: Path, fields: dict[str, object]) -> None:
    log = uncompiled(tmp_path / "x.log").start(frame=2).add("dynamo_output_graph", {}, "graph()", frame=2)
    assert ranks_without_graph(log.metrics(frame=2, **fields).open()) == ()


def test_a_compile_without_an_end_is_unknown(tmp_path: Path) -> None:
    assert ranks_without_graph(uncompiled(tmp_path / "x.log").start(frame=2).open()) == ()


def test_the_page_without_recompilations_lists_calls_that_a_trace_cannot_show() -> None:
    shown = " ".join(text(page(trace("torch-2.13/breaks"), "@recompiles")).split())
    assert shown.startswith("Recompiles Torch recorded no recompilation; each of the 6 frames was compiled once.")
    for words in ('set_stance("force_eager")', "Trainer.evaluate", "torch.compiler.disable", "profile a few steps"):
        assert words in shown
    assert "No recompil" not in shown


def test_a_limit_that_torch_does_not_log_is_unknown(capfd: pytest.CaptureFixture[str]) -> None:
    old = str(TRACES / "versions" / "torch-2.4_limit")
    assert main(["check", old, "--fail-on", "error,recompile_limit"]) == 2
    shown = " ".join(capfd.readouterr().out.split())
    assert shown.startswith("NOT CHECKED: 1 of 2 limits is unknown")
    assert "? recompile_limit unknown (limit 0)" in shown
    assert "recompile_limit: unknown (torch 2.4 does not log hits of the recompile limit; torch 2.5 and later do)" in shown
    assert main(["check", old, "--fail-on", "recompile_limit", "--format", "junit"]) == 2
    suite = ElementTree.fromstring(capfd.readouterr().out)[0]
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("0", "1") and suite.find("testcase/error") is not None
    assert main(["check", str(TRACES / "versions" / "torch-2.5"), "--fail-on", "recompile_limit"]) == 1, "this torch logs its hit"
    capfd.readouterr()
