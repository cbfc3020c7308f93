"""At the recompile limit: functions called from there, and failures that follow from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_logs import Log
from pages import page
from real import TRACES, compile_at, fresh
from viewed import text

from tltui.questions.problems.compile_problems import compiled_nothing_below

CALLEES = "functions called from those are not newly compiled either"
FILE = {"line": 8, "name": "<module>", "filename": 0}


def at_limit(path: Path) -> Log:
    """A log whose function `f` hits the recompile limit."""
    log = Log(path)
    for number in range(2):
        log.start(compile_=number).metrics(compile_=number, co_name="f", co_filename="/home/user/f.py", co_firstlineno=4)
    log.artifact("recompile_reasons", '["0/1: n == 1"]', compile_=2)
    return log.metrics(compile_=2, graph_op_count=None, fail_type="Unsupported", fail_reason="Dynamo recompile limit exceeded")


def started(log: Log, *callers: str) -> Log:
    """Add a compile of `g` that these functions call."""
    log.add("str", ["/opt/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", 1], frame=None)
    stack = [{"line": 6, "name": name, "filename": int(name == "compile_wrapper"), "loc": "g(x)"} for name in callers]
    return log.add("dynamo_start", {"stack": [*stack, {"line": 20, "name": "g", "filename": 0}]}, frame=1).metrics(frame=1)


@pytest.mark.parametrize(("callers", "proven"), [
    ((), True), (("<module>",), True), (("<module>", "f"), False), (("<module>", "compile_wrapper"), False),
])
def test_calls_below_are_not_compiled_only_where_no_later_compile_contradicts(
    tmp_path: Path, callers: tuple[str, ...], proven: bool
) -> None:
    run = started(at_limit(tmp_path / "x.log"), *callers).open()
    assert compiled_nothing_below(compile_at(run, "0/2")) is proven
    for ref in ("0/2", "0/", "@problems", ""):
        shown = " ".join(text(page(run, ref)).split())
        assert "all others run in eager mode" in shown and (CALLEES in shown) is proven, ref


def test_nothing_later_was_compiled(tmp_path: Path) -> None:
    assert compiled_nothing_below(compile_at(at_limit(tmp_path / "x.log").open(), "0/2"))


PID = 25489
PRINTED = f"""\
W1124 12:57:08.497000 {PID} torch/_dynamo/convert_frame.py:1994] [0/1] torch._dynamo hit config.recompile_limit (1)
Traceback (most recent call last):
  File "/home/user/models/checkpoint_limit.py", line 39, in <module>
    y.sum().backward()
  File "/opt/venv/lib/python3.11/site-packages/torch/utils/checkpoint.py", line 918, in check_recomputed_tensors_match
    raise CheckpointError(
torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors have other metadata.
"""
LIMIT = "[0/1] forward reached the recompile limit inside of torch.utils.checkpoint before this failure."


@pytest.mark.parametrize(("error", "named"), [("CheckpointError", True), ("ValueError", False)])
def test_a_checkpoint_error_after_the_limit_in_its_region_names_the_limit(tmp_path: Path, error: str, named: bool) -> None:
    """The truth stands in tests/traces/scripts/checkpoint_limit.py."""
    (log,) = (TRACES / "torch-2.13" / "checkpoint_limit").iterdir()
    (tmp_path / log.name).write_bytes(log.read_bytes())
    (tmp_path / "out.txt").write_text(PRINTED.replace("CheckpointError", error))
    shown = " ".join(text(page(fresh(tmp_path / log.name, tmp_path / "out.txt"), "@problems", 160)).split())
    assert error in shown and (LIMIT in shown) is named and ("Raise torch._dynamo.config.recompile_limit" in shown) is named


def test_a_limit_outside_of_checkpointing_is_not_named(tmp_path: Path) -> None:
    log = at_limit(tmp_path / "dedicated_log_torch_trace_aaaaaaaa.log")
    log.open()
    (tmp_path / "out.txt").write_text(PRINTED.replace(str(PID), "3536"))
    assert "inside of torch.utils.checkpoint" not in text(page(fresh(log.path, tmp_path / "out.txt"), "@problems", 160))
