"""Python stacks of ranks that hang: equal ones are one, and the rank that is not where the others wait comes first.

The stacks are those that py-spy 0.4.3 printed of real jobs (torch 2.13, gloo), with other paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from test_where import going_on, job, others
from viewed import text

from tltui.cli.printing import result_of
from tltui.documents.page import Page
from tltui.documents.scope import scope_of
from tltui.questions.hang.page import WhereReport, where_document
from tltui.questions.hang.process_sections import (
    Here,
    ProcessStacks,
    SampledStack,
    StackGroup,
    add_stacks,
    group_stacks,
    main_thread,
    stacks_answer,
)
from tltui.sources.local_processes import Child, LogProcess, LogProcesses, Stacks
from tltui.text.document import Options

TORCH = "/env/lib/python3.11/site-packages/torch"
MAIN = ("Process 7: python job.py", "Python v3.11.7 (/usr/bin/python3.11)", 'Thread 7 (idle): "MainThread"')
JOB = "/home/user/job.py"
BARRIER = (
    f"    barrier ({TORCH}/distributed/distributed_c10d.py:5356)",
    f"    _exception_logger.<locals>.wrapper ({TORCH}/distributed/c10d_logger.py:83)",
)
COMPILE = (f"    compile_frame ({TORCH}/_dynamo/convert_frame.py:1584)", f"    wrapper ({TORCH}/_dynamo/eval_frame.py:1166)")
BACKWARD = (f"    _engine_run_backward ({TORCH}/autograd/graph.py:865)", f"    Tensor.backward ({TORCH}/_tensor.py:630)")


def user(function: str, line: int) -> str:
    return f"    {function} ({JOB}:{line})"


def stack(rank: int | None, *frames: str, pid: int = 0) -> SampledStack:
    return SampledStack(rank, pid or 100 + (rank or 0), (*MAIN, *frames, user("<module>", 310)))


def waiting(*ranks: int) -> list[SampledStack]:
    return [stack(rank, *BARRIER, user("sync", 288)) for rank in ranks]


def shown(groups: Sequence[StackGroup], width: int = 100) -> str:
    page = Page("", "", Options(width=width))
    add_stacks(page, groups, "Python stacks")
    return text(page.document(None))


def test_the_rank_that_has_not_come_to_the_barrier_comes_first() -> None:
    groups = group_stacks([*waiting(0, 2), stack(1, user("sync", 287))])
    assert [(str(group.ranks), group.state, group.collective) for group in groups] == [
        ("1", "elsewhere", ""), ("0, 2", "collective", "barrier"),
    ]  # fmt: skip
    assert stacks_answer(groups) == (
        "Rank 1 has not reached the barrier at user/job.py:288, in which ranks 0, 2 wait. It is at user/job.py:287 in sync."
    )
    lines = shown(groups).splitlines()
    assert lines[1:3] == ["  rank 1: user/job.py:287 sync", "  ranks 0, 2: user/job.py:288 sync ▸ barrier"]
    heads = [line for line in lines if line.startswith("  Stack of")]
    assert heads == ["  Stack of rank 1  pid 101", "  Stack of ranks 0, 2  pid 100"]


def test_a_large_group_outside_of_the_collective_is_who_has_not_come() -> None:
    """The smallest group alone would name the rank that waits."""
    groups = group_stacks([*waiting(3), *(stack(rank, user("load", 20)) for rank in range(3))])
    start = "Ranks 0–2 have not reached the barrier at user/job.py:288, in which rank 3 waits. They are at user/job.py:20 in load"
    assert stacks_answer(groups).startswith(start)


def test_a_barrier_inside_of_a_compile_and_a_backward_blame_nobody() -> None:
    """A real job: a pass of rank 1 waits in a barrier, the others in DDP's allreduce, of which Python shows the backward alone."""
    inside = stack(1, *BARRIER, user("wait_for_all", 204), *COMPILE, user("train", 69))
    groups = group_stacks([stack(0, *BACKWARD, user("train", 71)), inside, stack(2, *BACKWARD, user("train", 71))])
    assert stacks_answer(groups) == (
        "Rank 1 is in the barrier at user/job.py:204, inside of torch.compile; ranks 0, 2 are in the backward at user/job.py:71. "
        "A backward pass may be waiting in a collective, which Python stacks do not show."
    )


def test_a_collective_of_the_compiler_is_called_so() -> None:
    gather = (f"    all_gather ({TORCH}/distributed/distributed_c10d.py:4100)",
              f"    all_gather_object ({TORCH}/distributed/distributed_c10d.py:3300)",
              f"    OutputGraph.run_compiler_collective ({TORCH}/_dynamo/output_graph.py:2588)")  # fmt: skip
    present = [stack(rank, *gather, *COMPILE, user("step", 264)) for rank in (0, 2)]
    assert stacks_answer(group_stacks([*present, stack(1, user("hang", 119))])) == (
        "Rank 1 has not reached the compiler's own all_gather_object at user/job.py:264, in which ranks 0, 2 wait. It is at "
        "user/job.py:119 in hang."
    )


def test_different_collectives() -> None:
    reduce = stack(1, f"    all_reduce ({TORCH}/distributed/distributed_c10d.py:3245)", user("sync", 290))
    said = stacks_answer(group_stacks([*waiting(0, 2), reduce]))
    assert said.startswith("Rank 1 is in the all_reduce at user/job.py:290; ranks 0, 2 are in the barrier at user/job.py:288. ")
    assert "has not come" not in said


def test_code_of_the_user_below_a_collective_does_something_else() -> None:
    """A hook that a collective calls: who is in it does not wait there."""
    [group] = group_stacks([stack(0, user("hook", 5), *BARRIER, user("sync", 288))])
    assert group.state == "elsewhere"


def test_functions_of_torch_distributed_that_wait_for_nobody() -> None:
    [group] = group_stacks([stack(0, f"    get_rank ({TORCH}/distributed/distributed_c10d.py:2500)", user("sync", 288))])
    assert (group.state, group.callee) == ("elsewhere", "get_rank")


def test_generated_code_is_not_the_users() -> None:
    generated = f"    <module> (/cache/tg/c{'a2' * 25}b.py:33)"
    [group] = group_stacks([stack(0, generated, *COMPILE, user("train", 69))])
    assert [frame.line for frame in group.frames] == [69, 310] and group.is_compiling


def test_stacks_that_differ_in_torch_alone_are_one_group_with_two_stacks() -> None:
    odd = stack(5, f"    poll ({TORCH}/distributed/c10d_logger.py:90)", *BARRIER, user("sync", 288))
    [group] = group_stacks([*waiting(*range(5)), odd])
    assert [(str(variant.ranks), len(variant.pids)) for variant in group.variants] == [("5", 1), ("0–4", 5)]


def test_64_ranks_stay_short() -> None:
    groups = group_stacks([*waiting(*(rank for rank in range(64) if rank != 17)), stack(17, user("sync", 287))])
    lines = shown(groups).splitlines()
    assert "  ranks 0–16, 18–63: user/job.py:288 sync ▸ barrier" in lines
    assert len(lines) < 20


def test_places_that_look_alike_show_what_they_differ_in() -> None:
    groups = group_stacks([stack(0, user("sync", 9), user("first", 20)), stack(1, user("sync", 9), user("second", 30))])
    assert "rank 0: user/job.py:20 first ▸ user/job.py:9 sync" in shown(groups)


def test_only_the_main_thread_counts() -> None:
    other = ('Thread 9 (active): "Dummy-3"', f"    wait ({TORCH}/x.py:1)")
    lines = (*MAIN[:2], *other, MAIN[2], user("sync", 287))
    assert [(frame.function, frame.line) for frame in main_thread(lines)] == [("sync", 287)]
    assert [frame.function for frame in main_thread((*MAIN[:2], *other))] == ["wait"], "no thread has that name"
    assert main_thread(("Error: nothing", "    f (a.py:1)")) == ()


@pytest.mark.parametrize("line", ["    f (a.py)", "    f (a b).g (/x (1)/a.py:3)", "    arg: 3", "        x (y:1)", "    (", ""])
def test_lines_of_other_forms(line: str) -> None:
    frames = main_thread((MAIN[2], line, user("sync", 287)))
    assert frames[-1].line == 287


def test_names_are_hostile_text() -> None:
    [group] = group_stacks([stack(0, "    \x1b[31mf (/home/user/\x1b]0;x\x07.py:3)")])
    assert "\x1b" not in shown([group])
    assert "\x1b" not in stacks_answer(group_stacks([stack(0, "    \x1bf (\x1b.py:3)"), *waiting(1)]))


def test_one_process_and_none_have_no_answer() -> None:
    assert stacks_answer(group_stacks([stack(0, user("f", 1))])) == stacks_answer(()) == ""


def test_processes_without_a_rank_are_named_by_their_numbers() -> None:
    groups = group_stacks([stack(None, user("f", 1), pid=11), stack(None, *BARRIER, user("g", 2), pid=12)])
    assert stacks_answer(groups).startswith("Process 11 has not reached the barrier at user/job.py:2, in which process 12 waits")


def test_the_page_and_json_have_them(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *others(0, 1, 2)))
    stacks = {own.pid: own.lines for own in [*waiting(0, 2), stack(1, user("sync", 287))]}
    logs = tuple(
        LogProcesses(process.log.path, (LogProcess(100 + (process.rank or 0), "python job.py", "S", 1.0, 0.0, 1, (), 7),))
        for process in run.processes()
    )
    here = Here(logs, tuple(ProcessStacks(pid, Stacks(lines)) for pid, lines in stacks.items()), "14:25:02")
    document = where_document(run, scope_of(run), Options(width=120), here)
    while not document.advance():
        pass
    report = result_of(document)
    answer = "Rank 1 has not reached the barrier at user/job.py:288, in which ranks 0, 2 wait. It is at user/job.py:287 in sync."
    assert isinstance(report, WhereReport) and report.answer == answer
    assert [str(group.ranks) for group in report.stacks] == ["1", "0, 2"]
    lines = text(document).splitlines()
    assert lines[:2] == ["Where", answer]
    assert "Python stacks at 14:25:02" in lines
    assert sum("_exception_logger" in line for line in lines) == 1, "one stack of each kind"


def test_many_processes_that_do_the_same_are_one_line(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *others(*range(12))))
    compiler = Child(900, "g++", "S", 0.0, "g++ … cpu_fused.cpp")
    logs = []
    for process in run.processes():
        rank = process.rank or 0
        children = (compiler,) if rank == 5 else ()
        logs.append(LogProcesses(process.log.path, (LogProcess(100 + rank, "python job.py", "S", rank, 0.1, 1, children, 7),)))
    document = where_document(run, scope_of(run), Options(width=120), Here(tuple(logs)))
    while not document.advance():
        pass
    lines = text(document).splitlines()
    assert "  rank 5: sleeping; child processes: g++ … cpu_fused.cpp, sleeping  pid 105" in lines
    assert "  ranks 0–4, 6–11: sleeping  pid 100 and 10 more" in lines


def test_a_reason_why_there_are_no_stacks_is_given_once(tmp_path: Path) -> None:
    run = going_on(job(tmp_path, *others(0, 1)))
    faults = tuple(ProcessStacks(pid, Stacks((), "py-spy is not installed. To install it: pip install py-spy")) for pid in (1, 2))
    document = where_document(run, scope_of(run), Options(width=120), Here((), faults))
    while not document.advance():
        pass
    assert text(document).count("pip install py-spy") == 1
