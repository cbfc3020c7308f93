"""Many functions that fail for one cause are one problem, with its functions below."""

from __future__ import annotations

from pathlib import Path

from made_logs import Log
from pages import page
from viewed import text

from tltui.model.run import Run
from tltui.questions.problems.page import causes_of
from tltui.questions.problems.problem_list import problems

TRACEBACK = """Traceback (most recent call last):
{frames}  File "/opt/venv/lib/python3.11/site-packages/torch/_dynamo/guards.py", line {line}, in check
    hook(guards)
torch._dynamo.exc.InternalTorchDynamoError: TypeError: hook() takes 0 positional arguments but 1 was given
"""
FRAMES = "".join(f'  File "/opt/venv/site-packages/torch/_dynamo/x.py", line {n}, in inner\n    inner()\n' for n in range(20))
REASON = "TypeError: hook() takes 0 positional arguments but 1 was given"
SUPPRESSED = '{"suppress_errors": true}'


def failing(path: Path, functions: int, line: int = 4506, others: int = 0, suppressed: bool = False) -> Run:
    """A run in which each function fails; `others` of them at another line of torch."""
    log = Log(path)
    for number in range(functions):
        name, raised_at = f"f{number}", line if number >= others else line + 1
        log.start(name, 10 + number, frame=number)
        log.artifact("dynamo_error", TRACEBACK.format(frames=FRAMES, line=raised_at), frame=number)
        reason = f'{REASON}\n\nfrom user code:\n   File "/home/user/f.py", line {number}, in {name}\n    x + 1\n'
        log.metrics(
            frame=number, co_name=name, co_filename="/home/user/f.py", co_firstlineno=10 + number, graph_op_count=None,
            fail_type="InternalTorchDynamoError", fail_reason=reason, dynamo_config=SUPPRESSED if suppressed else "{}",
        )  # fmt: skip
    return log.open()


def test_a_hundred_functions_that_fail_for_one_cause_are_one_problem(tmp_path: Path) -> None:
    run = failing(tmp_path / "x.log", 100)
    lines = text(page(run, "@problems")).splitlines()
    assert len(lines) <= 60 and "Errors (100 of 1 kind)" in lines
    assert any("f0" in line and "and 99 other functions with the same cause" in line for line in lines)
    assert sum(REASON in line for line in lines) == 1 and not any("from user code" in line for line in lines)
    summary = text(page(run, "")).splitlines()
    start = summary.index("Errors (100)")
    assert summary[start + 1].startswith("  [0/0] InternalTorchDynamoError  f0 and 99 other functions")
    assert summary.index("", start) - start <= 3
    sentence = "100 compiles failed, all with the same InternalTorchDynamoError in 100 functions"
    assert sentence in " ".join(" ".join(summary).split())
    assert len(problems(list(run.compiles())).errors) == 100, "the rows are still one per function"


def test_another_raising_line_is_another_cause(tmp_path: Path) -> None:
    run = failing(tmp_path / "x.log", 10, others=4)
    assert [cause.functions for cause in causes_of(problems(list(run.compiles())).errors)] == [4, 6]
    assert "and 3 other functions with the same cause" in text(page(run, "@problems"))


def test_functions_in_eager_mode_for_one_cause_are_one_problem(tmp_path: Path) -> None:
    run = failing(tmp_path / "x.log", 100, suppressed=True)
    lines = text(page(run, "@problems")).splitlines()
    assert len(lines) <= 60 and "Fell back to eager mode (100)" in lines
    assert "100 functions fell back to eager mode" in text(page(run, ""))
