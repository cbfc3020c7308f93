"""Titles say whose a thing is: its rank, process and epoch where there are several."""

from __future__ import annotations

from real import trace

from tltui.export import lines_of
from tltui.model.artifacts import artifacts_of
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.index import QUESTIONS
from tltui.questions.records.records_page import record_ref
from tltui.text.document import Options


def title(run: Run, ref: str) -> str:
    return build(run, ref, Options()).title


def test_a_rank_is_named_in_every_title() -> None:
    run = trace("torch-2.13/ddp")
    assert title(run, "1:0/0").startswith("[1:0/0] ")
    compile_ = next(c for c in run.compiles() if c.process.rank == 1 and len(artifacts_of(c)) > 3 and c.is_compile)
    ref = compile_.ref
    for page in (
        str(ref), *(str(a.ref) for a in artifacts_of(compile_)), f"@attempt:{ref}", f"@phase:{ref}:dynamo", f"@records:{ref}",
        *(f"@{view.name}:{ref}" for view in QUESTIONS),
    ):  # fmt: skip
        assert f"[{ref}]" in title(run, page), page
    for view in QUESTIONS:
        assert "rank 1" in title(run, f"@{view.name}:1:"), view
    assert title(run, "1:") == "rank 1" and title(run, "@records:1:") == "records of rank 1"
    assert title(run, str(record_ref(compile_.process, 4))).startswith("rank 1 · record 5")
    artifact = artifacts_of(compile_)[1].ref
    assert next(lines_of(build(run, str(artifact), Options()), "markdown")).startswith(f"## [{ref}] ")


def test_where_there_is_one_only_it_is_not_named() -> None:
    run = trace("torch-2.13/breaks")
    assert title(run, "0/0") == "[0/0] f"
    assert title(run, "0/0:dynamo_output_graph") == "[0/0] dynamo_output_graph"
    assert title(run, "@record:#5").startswith("record 5 of ")
    assert title(run, "@timing:0/0") == "timing of [0/0]" and title(run, "@timing") == "timing"


def test_epochs_are_named() -> None:
    run = trace("torch-2.13/resets")
    found = next(c for c in run.compiles() if c.id.epoch == 2)
    assert title(run, str(found.ref)).startswith(f"[{found.ref}]") and "~2" in str(found.ref)
