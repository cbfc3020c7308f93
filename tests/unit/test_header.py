"""The line above the panes: what it says of a run that goes on, and what goes first where there is no room for all."""

from __future__ import annotations

from pathlib import Path

import pytest
from real import ROOT, demo
from replaying import HeldWriters

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.sources.discover import Found, discover
from tltui.text.document import Options
from tltui.text.formatting import cells
from tltui.tree.header import SILENT, Live, Silent, header, silence, state, trail

DEMO = ROOT / "src" / "tltui" / "demo"
LIVE = {
    "live · last record": Live(follows=True),
    "quiet since": Live(follows=True, quiet=True),
    "may grow · F to follow": Live(),
    "has new records · F to follow": Live(grown=True),
    "rank 3: no record for 5 min, inside inductor_compile": Live(follows=True, silent=Silent("rank 3", 300.0, "inductor_compile")),
    "no record for 2 h, inside backend_compile": Live(silent=Silent("", 7200.0, "backend_compile")),
}


def going_on(path: Path = DEMO) -> Run:
    return open_run(discover([str(path)]), HeldWriters())


def said(run: Run, live: Live, width: int, ascii_only: bool = False) -> str:
    left, right = header(run, "2.13.0+cpu", live, width, ascii_only)
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in (*left, " ", *right))


@pytest.mark.parametrize("words", LIVE)
@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_whether_it_goes_on_is_said_at_every_width(words: str, width: int) -> None:
    text = said(going_on(), LIVE[words], width)
    assert words in text
    assert cells(text) <= width


@pytest.mark.parametrize(
    ("width", "inside"), [(60, "inside code_gen"), (80, "inside code_gen"), (120, "inside inductor_compile ▸ … ▸ code_gen")]
)
def test_of_a_deep_phase_the_innermost_stays_and_what_the_run_is(width: int, inside: str) -> None:
    trail = "inductor_compile ▸ fx_codegen_and_compile ▸ GraphLowering.compile_to_fn ▸ code_gen"
    live = Live(follows=True, silent=Silent("rank 2", 300.0, trail))
    text = said(going_on(), live, width)
    assert f"rank 2: no record for 5 min, {inside} " in text
    assert "demo" in text
    assert cells(text) <= width
    assert trail in said(going_on(), live, 200)


@pytest.mark.parametrize("width", range(40, 140, 7))
def test_what_went_wrong_goes_last(width: int) -> None:
    text = said(going_on(), Live(), width)
    assert cells(text) <= width
    if "torch 2.13" in text:
        assert "✗" in text and "25 compiles" in text
    if "✗" in text:
        assert "25 compiles" in text


def test_there_is_room_for_all_on_a_wide_screen() -> None:
    text = said(going_on(), Live(follows=True), 200)
    for part in ("demo", "torch 2.13.0+cpu", "2 ranks", "25 compiles", "✗ 2 failed", "compiling · live · last record"):
        assert part in text


def test_of_a_log_that_has_ended_nothing_is_said_unless_it_was_seen_to_go_on() -> None:
    run = open_run(discover([str(DEMO)]))
    run.discovered = Found(run.discovered.paths, run.discovered.logs, (), is_over=True)
    for model in run.models:
        model.end()
    assert state(run, Live()) is None
    ended = state(run, Live(was_live=True))
    assert ended is not None and ended[0].startswith("ended · last record ")


def test_no_record_yet() -> None:
    run = Run(Found(("/tmp/trace",), (), ()))
    found = state(run, Live(follows=True))
    assert found is not None and found[0] == "waiting for the first record"


def test_how_long_is_said_in_few_steps() -> None:
    assert [silence(seconds) for seconds in (0, 299, 300, 599, 601, 3599, 90_000)] == [0, 0, 300, 300, 600, 1800, 86_400]
    assert len(SILENT) < 12, "each of them is a change of the line"


@pytest.mark.parametrize("trouble", ["lost", "unreadable"])
def test_what_happened_to_a_file_is_said_with_the_key_that_helps(trouble: str) -> None:
    run = going_on()
    if trouble == "lost":
        run.lost.append(("a.log", "no longer in the file: the file was truncated after it was read"))
    else:
        run.unreadable["a.log"] = "the file was deleted"
    assert "ctrl+r" in said(run, Live(follows=True), 80)


@pytest.mark.parametrize(("ref", "parts"), [
    ("", "demo"),
    ("0:4/8", "demo ▸ [0:4/8] sample"),
    ("0:0/0:dynamo_output_graph", "demo ▸ [0:0/0] ▸ dynamo_output_graph"),
    ("@timing", "demo ▸ timing"),
    ("@timing:0:4/8", "demo ▸ [0:4/8] ▸ timing"),
    ("@timing:1:", "demo ▸ rank 1 ▸ timing"),
    ("@phase:0:4/8:dynamo", "demo ▸ [0:4/8] ▸ Dynamo"),
    ("@record:0:#4", "demo ▸ rank 0 ▸ record 4 of 1,018 records · str"),
    ("@glossary", "glossary"),
])  # fmt: skip
def test_the_trail_leads_from_the_run_to_the_page(ref: str, parts: str) -> None:
    document = build(demo(), ref, Options())
    assert " ▸ ".join(trail(demo(), document.ref, document.title)) == parts


def test_a_page_with_an_address_outside_the_run_has_its_title() -> None:
    assert trail(demo(), "@grep:[", "search") == ("search",)
    assert trail(demo(), "77/0:dynamo_output_graph", "nothing here") == ("nothing here",)
