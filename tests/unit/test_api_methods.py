"""Methods of a run, properties of a compile, and the names of 0.1 that still work."""

from __future__ import annotations

import pytest

import tltui
from tltui.api.renamed import RENAMED
from tltui.questions.index import BY_NAME

METHODS = {"ranks": "rank_differences"}


@pytest.fixture(scope="module")
def run() -> tltui.Run:
    return tltui.demo()


def test_each_view_is_a_method(run: tltui.Run) -> None:
    assert [name for name in BY_NAME if not callable(getattr(tltui.Run, METHODS.get(name, name), None))] == []
    assert run.recompiles(rank=0).to_records() == tltui.recompiles(run, "0:").to_records()
    assert run.timing(rank=0, frame=4, sort="name").ref == "0:4/" and len(run.summary(frame=4, rank=0)) == 1
    assert run.rank_differences().rows == tltui.ranks(run).rows
    with pytest.raises(tltui.BadArgument, match="by its address, or by rank= and frame="):
        run.recompiles("0:", rank=0)


def test_breaks_and_limits(run: tltui.Run) -> None:
    assert {row.kind for row in run.breaks()} == {"break"} and run.breaks().rows == tltui.breaks(run).rows
    assert not run.check(fail_on="error,break") and run.check(fail_on=["recompiles=100"])


def test_a_compile_describes_itself(run: tltui.Run) -> None:
    compile_ = run.compile("0:4/1")
    assert repr(compile_).startswith("<Compile 0:4/1 sample train.py:45 ok ")
    assert (compile_.name, compile_.recompile_reason) == ("sample", "request == 'request 0'")
    assert run.compile("0:0/0").qualified_name == "Model.forward" and len(compile_.guards) > 0
    assert run.compile("0:1/0").breaks and not compile_.breaks


def test_an_artifact_of_a_unit(run: tltui.Run) -> None:
    backward = run.artifact("0:0/0:inductor_output_code", unit="backward")
    assert backward.unit == "backward" and backward.name == "inductor_output_code"


def test_earlier_names_work_with_a_warning(run: tltui.Run) -> None:
    with pytest.deprecated_call(match="Compile.seconds was renamed to duration_s"):
        assert run.compile("0:4/1").seconds == run.compile("0:4/1").duration_s  # type: ignore[attr-defined]
    with pytest.deprecated_call(match="ProblemRow.first was renamed to first_ref"):
        assert run.problems()[0].first == run.problems()[0].first_ref  # type: ignore[attr-defined]
    with pytest.deprecated_call(match="fail_on"):
        assert tltui.check(run, limits="recompiles=100")
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        run.problems()[0].nonsense  # type: ignore[attr-defined]  # noqa: B018
    assert all(old != new for names in RENAMED.values() for old, new in names.items())
