"""Sentences about open work: each kind of open phase has its own, and many places are cut with their number."""

from __future__ import annotations

from dataclasses import replace

import pytest
from real import ROOT, demo, opened

from tltui.documents.page import Page
from tltui.questions.hang.open_phases import Inside, Phase
from tltui.questions.hang.process_sections import STACKS_SHOWN, StackGroup, StackVariant, add_stacks
from tltui.questions.hang.where import where
from tltui.questions.hang.where_sections import others_inside
from tltui.questions.job_failures.failure_sections import open_work
from tltui.questions.timing.timing_report import index_process_times
from tltui.text.document import Options

PHASES = (Phase("dynamo", 1.0), Phase("bytecode_tracing", 2.0))
INSIDE = Inside("0:2/0", "[2/0]", "compile", "Net.forward", "net.py", 3, PHASES, "", "")


@pytest.mark.parametrize(("what", "sentence"), [
    ("compile", "the compile of Net.forward, phase bytecode_tracing"),
    ("backward", "the backward of Net.forward, phase bytecode_tracing"),
    ("capture", "compiled autograd's capture of a backward pass, phase bytecode_tracing"),
    ("outside", "work without a compile id, phase bytecode_tracing"),
])  # fmt: skip
def test_each_kind_of_open_phase_has_its_sentence(what: str, sentence: str) -> None:
    assert open_work(replace(INSIDE, activity=what)) == sentence


def test_a_process_without_timing_events_has_no_phase() -> None:
    assert open_work(replace(INSIDE, phases=())) == "the compile of Net.forward"


def test_ranks_in_the_same_compile_and_in_others_are_counted_apart() -> None:
    places = where(opened(ROOT / "tests" / "traces" / "hangs" / "ranks"))
    first = replace(places.groups[0], ranks="0", count=1)
    same = replace(first, ranks="1-2", count=2, artifact="another")
    different = replace(first, ranks="3-5", count=3, function="another", ids=(), file="another.py", compile_number=7)
    assert others_inside([first], places) == ""
    text = others_inside([first, same, different], places)
    assert "; 2 more ranks were also in it" in text and "; 3 more ranks were in other" in text
    assert others_inside([first, same, same], places).startswith("; 4 more ranks were also in it")


def test_places_beyond_those_shown_are_counted() -> None:
    def drawn(count: int) -> list[str]:
        groups = [
            StackGroup(str(n), 1, (n,), "elsewhere", "", False, False, (), "", (StackVariant(str(n), (n,), ("main",)),))
            for n in range(count)
        ]  # fmt: skip
        page = Page("@where", "where", Options(width=80))
        add_stacks(page, groups, "Stacks")
        return list(page.document().text())

    assert not [line for line in drawn(STACKS_SHOWN) if "more place" in line]
    assert [line.strip() for line in drawn(STACKS_SHOWN + 3) if "more place" in line] == ["and 3 more places"]


def test_compiles_of_each_process_are_counted() -> None:
    run = demo()
    times = index_process_times(run.compiles())
    assert [time.compiles for time in times] == [sum(c.is_compile for c in process.ordered()) for process in run.processes()]
    assert all(time.compiles > 1 for time in times)
