"""Which rank failed first, and which ones only followed: outputs of torchrun, srun, mp.spawn and MPI, launch by launch."""

from __future__ import annotations

import pytest
from text_runs import read_printed

from tltui.questions.job_failures.failure_order import Overlap, Printed, TracedProcess, number_launches
from tltui.questions.job_failures.job_failures import JobFailure, job_failures
from tltui.questions.job_failures.printed_messages import TextLine

LOST = (
    "RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
    "[127.0.0.1]:44439. This is typically caused by a remote worker crashing. Check the logs of the remote worker before reporting"
)


def raised(error: str, rank: int | None = None, line: int = 7) -> str:
    prefix = "" if rank is None else f"[rank{rank}]: "
    frames = ("Traceback (most recent call last):", f'  File "/home/u/train.py", line {line}, in <module>', "    main()", error)
    return "".join(f"{prefix}{text}\n" for text in frames)


def failed(pid: int, code: int, local: int, agent: int = 90, at: str = "10:00:00") -> str:
    return (
        f"E1123 {at}.000000 {agent} torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {code}) "
        f"local_rank: {local} (pid: {pid}) of binary: /usr/bin/python\n"
    )


def stopped(pid: int, agent: int = 90) -> str:
    return (
        f"W1123 10:00:00.000000 {agent} torch/distributed/elastic/multiprocessing/api.py:1028] "
        f"Sending process {pid} closing signal SIGTERM\n"
    )


def summary(root: tuple[int, int, str], *others: tuple[int, int, str]) -> str:
    def block(number: int, worker: tuple[int, int, str]) -> str:
        rank, pid, code = worker
        return (
            f"[{number}]:\n  time      : 2026-11-23_10:00:00\n  host      : localhost\n  rank      : {rank} (local_rank: {rank})\n"
            f"  exitcode  : {code.replace(' ', f' (pid: {pid}) ')}\n  error_file: <N/A>\n  traceback : none\n"
        )

    rest = "".join(block(n + 1, worker) for n, worker in enumerate(others)) or "  <NO_OTHER_FAILURES>\n"
    return (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\ntrain.py FAILED\n----\nFailures:\n" + rest
        + "----\nRoot Cause (first observed failure):\n" + block(0, root) + "====\n"
    )  # fmt: skip


def read(text: str) -> Printed:
    lines, at = [], 0
    for line in text.split("\n"):
        lines.append(TextLine(at, line.encode()))
        at += len(line) + 1
    return read_printed(lines)


def failures(text: str, *processes: TracedProcess) -> tuple[JobFailure, ...]:
    return job_failures([read(text)], processes)


def sentences(text: str, *processes: TracedProcess) -> list[tuple[int, str, str]]:
    return [(item.launch, item.role, item.sentence.partition("RuntimeError: [/__w")[0]) for item in failures(text, *processes)]


def launch(number: int, *pids: int) -> tuple[TracedProcess, ...]:
    return tuple(TracedProcess(pid, rank, 100.0 * number, 100.0 * number + 50, number) for rank, pid in enumerate(pids))


def test_a_failure_of_a_launch_is_no_failure_of_the_next_one() -> None:
    """Rank 0 of launch 1 lost its connection; the exit code 1 is of another process: rank 0 of launch 2."""
    text = (
        raised(LOST, 0) + stopped(10) + failed(11, 3, 1)
        + raised("ValueError: the checkpoint is incomplete", 0) + raised(LOST, 1) + stopped(21) + failed(20, 1, 0, at="10:01:00")
        + summary((0, 20, "1 "), (1, 21, "-15 (SIGTERM)"))
    )  # fmt: skip
    expected = [
        (1, "first", "rank 1 failed first (exit code 3)"),
        (1, "followed", "rank 0 lost the connection to another rank (SIGTERM): "),
        (2, "first", "rank 0 failed first (exit code 1): ValueError: the checkpoint is incomplete"),
        (2, "followed", "rank 1 lost the connection to another rank (SIGTERM): "),
    ]  # fmt: skip
    assert sentences(text, *launch(1, 10, 11), *launch(2, 20, 21)) == expected
    alone = [(number, role, sentence.replace(" (SIGTERM)", "")) for number, role, sentence in sentences(text)]
    assert alone == [(number, role, sentence.replace(" (SIGTERM)", "")) for number, role, sentence in expected]


def test_who_lost_the_connection_did_not_fail_first_though_torchrun_names_it() -> None:
    """torchrun's times have whole seconds: of two failures in one second it names the lower rank."""
    text = raised(LOST, 0) + failed(10, 1, 0) + summary((0, 10, "1 "), (1, 11, "3 "))
    assert sentences(text)[:2] == [
        (1, "first", "rank 1 failed first (exit code 3)"),
        (1, "followed", "rank 0 lost the connection to another rank (exit code 1): "),
    ]


def test_an_error_that_all_ranks_share_is_one_failure() -> None:
    error = "AssertionError: buckets differ"
    text = raised(error, 1) + raised(error, 0) + stopped(10) + failed(11, 1, 1) + summary((1, 11, "1 "), (0, 10, "-15 (SIGTERM)"))
    (only,) = failures(text)
    assert (only.sentence, only.rank) == (f"ranks 0, 1 failed the same way, rank 1 first: {error}", 1)


def test_a_worker_that_torchrun_ended_is_no_failure() -> None:
    others = ((0, 10, "-15 (SIGTERM)"), (2, 12, "-15 (SIGTERM)"))
    text = stopped(10) + stopped(12) + failed(11, -9, 1) + summary((1, 11, "-9 (SIGKILL)"), *others)
    assert sentences(text) == [(1, "first", "rank 1 failed first (SIGKILL)"), (1, "ended", "torchrun ended ranks 0, 2 (SIGTERM)")]


def test_a_worker_that_somebody_else_ended_by_sigterm_is_one() -> None:
    text = stopped(10) + failed(11, -15, 1) + summary((1, 11, "-15 (SIGTERM)"), (0, 10, "-15 (SIGTERM)"))
    assert [item for _, _, item in sentences(text)] == ["rank 1 failed first (SIGTERM)", "torchrun ended rank 0 (SIGTERM)"]


def test_where_every_rank_lost_a_connection_no_rank_failed_first() -> None:
    text = raised(LOST, 0) + raised(LOST, 1) + failed(10, 1, 0) + summary((0, 10, "1 "), (1, 11, "1 "))
    (only,) = failures(text)
    assert (only.role, only.is_first, only.is_consequence, only.ranks) == ("followed", False, False, (0, 1))


def test_torchrun_that_was_ended_from_outside_is_the_cause() -> None:
    agent = "W1123 10:00:00.000000 90 torch/distributed/elastic/agent/server/api.py:753] Received 15 death signal, "
    text = agent + "shutting down workers\n" + stopped(10) + raised(LOST, 1) + raised(
        "torch.distributed.elastic.multiprocessing.api.SignalException: Process 90 got signal: 15"
    )
    first, *rest = failures(text)
    assert (first.sentence, first.is_first) == ("torchrun was terminated from outside (SIGTERM)", True)
    assert all(item.is_consequence for item in rest)


def test_two_torchruns_on_two_nodes_fail_in_one_launch() -> None:
    text = failed(11, -9, 1, agent=90) + raised(LOST, 2) + failed(12, 1, 0, agent=91)
    numbered = launch(1, 10, 11, 12)
    assert [(number, role) for number, role, _ in sentences(text, *numbered)] == [(1, "first"), (1, "followed")]
    assert failures(text, *numbered)[0].rank == 1


def test_local_ranks_of_several_nodes_are_no_ranks() -> None:
    text = failed(11, -9, 1, agent=90) + failed(12, -11, 1, agent=91)
    assert [item.who for item in failures(text)] == ["local rank 1 (pid 11)", "local rank 1 (pid 12)"]


def test_srun_names_the_tasks_and_slurm_names_no_rank() -> None:
    text = (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n"
        "srun: error: node01: task 1: Out Of Memory\nsrun: Terminating StepId=7.0\n"
        "slurmstepd: error: *** STEP 7.0 ON node01 CANCELLED AT 2026-11-23T10:00:00 ***\nsrun: error: node01: tasks 0,2: Killed\n"
    )
    first, followed, *remarks = failures(text)
    assert first.sentence == "rank 1 failed first (SIGKILL, out of memory)"
    assert followed.sentence == "srun ended ranks 0, 2 (SIGKILL)"
    assert [(item.role, item.rank) for item in remarks] == [("remark", None), ("remark", None)]


def test_tasks_of_srun_are_no_ranks_where_each_is_a_torchrun() -> None:
    text = failed(11, -9, 3) + "srun: error: node01: task 0: Exited with exit code 1\n"
    assert [item.who for item in failures(text)] == ["rank 3"]


def test_the_time_limit_of_slurm_is_the_cause_of_all_that_follows() -> None:
    text = (
        "slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT 2026-11-23T10:00:00 DUE TO TIME LIMIT ***\n"
        "srun: error: n1: tasks 0-3: Terminated\n" + raised(LOST, 1)
    )
    first, *rest = failures(text)
    assert (first.sentence, first.is_first) == ("Slurm ended the job: time limit", True)
    assert all(item.is_consequence or item.role == "remark" for item in rest)


def test_a_process_of_mp_spawn_has_the_error_that_its_parent_prints() -> None:
    text = (
        raised("torch.multiprocessing.spawn.ProcessRaisedException: ")
        + "\n-- Process 1 terminated with the following error:\n" + raised("ValueError: planted", line=9)
    )  # fmt: skip
    (only,) = failures(text)
    assert (only.error, only.line, only.rank) == ("ValueError: planted", 9, 1)


def test_a_signal_ends_a_process_of_mp_spawn() -> None:
    text = raised("torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGKILL")
    (only,) = failures(text)
    assert (only.exit, only.rank) == ("SIGKILL", 2)


def test_a_pid_of_the_kernel_is_a_rank_where_a_log_has_it() -> None:
    text = "[ 1234.5] Out of memory: Killed process 11 (python) total-vm:1kB\n"
    assert failures(text, *launch(1, 10, 11))[0].rank == 1
    assert failures(text)[0].who == "process 11"


def test_a_rank_whose_watchdog_timed_out_waited() -> None:
    text = (
        "[rank0]:[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: Work\n"
        + failed(10, -6, 0) + summary((0, 10, "-6 (SIGABRT)"), (1, 11, "-9 (SIGKILL)"))
    )  # fmt: skip
    assert [(item.role, item.rank) for item in failures(text)] == [("first", 1), ("followed", 0)]


def test_the_watchdog_names_the_collective_that_the_exception_of_its_rank_does_not() -> None:
    text = (
        "[rank0]:[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=7, OpType=ALLREDUCE) ran for 600013 milliseconds before timing out.\n"
        + raised("RuntimeError: NCCL communicator was aborted on rank 0", 0)
    )
    (failure,) = failures(text)
    assert failure.sentence == (
        "rank 0 failed while waiting for another rank: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
        "OpType=ALLREDUCE) ran for 600013 milliseconds before timing out."
    )
    assert failure.line == 7


def test_ranks_that_wait_in_different_collectives_stay_apart() -> None:
    def timed_out(rank: int, collective: str) -> str:
        return (
            f"[rank{rank}]:[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective operation "
            f"timeout: WorkNCCL({collective}, NumelIn=4) ran for {600000 + rank} milliseconds before timing out.\n"
        )

    text = timed_out(0, "SeqNum=143, OpType=_ALLGATHER_BASE") + timed_out(2, "SeqNum=142, OpType=ALLREDUCE")
    text += timed_out(3, "SeqNum=142, OpType=ALLREDUCE")
    assert [(item.ranks, "ALLREDUCE" in item.sentence) for item in failures(text)] == [((0,), False), ((2, 3), True)]


def test_errors_without_a_rank_belong_to_the_workers_that_exited_with_1() -> None:
    error = "RuntimeError: connectFullMesh failed with [/__w/gloo/transport/tcp/pair.cc:152] timed out connecting, remote=:%d"
    text = "".join(raised(error % port) for port in (1001, 1002)) + failed(10, 1, 0) + summary((0, 10, "1 "), (1, 11, "1 "))
    (only,) = failures(text)
    assert (only.who, only.role) == ("ranks 0, 1", "followed")


def test_an_unknown_process_is_never_given_a_rank() -> None:
    text = raised("ValueError: a") + raised("KeyError: 'b'") + failed(10, 1, 0)
    assert sorted(item.who for item in failures(text)) == ["", "", "rank 0"]


@pytest.mark.parametrize(
    ("spans", "launches", "overlaps"),
    [
        ([(10, 0, 0, 50), (11, 1, 1, 40), (20, 0, 60, 90), (21, 1, 61, 95)], [1, 1, 2, 2], []),
        (
            [(10, 0, 0, 50), (11, 1, 1, 40), (20, 0, 5, 55), (21, 1, 6, 45)], [1, 1, 1, 1],
            [Overlap(0, (10, 20)), Overlap(1, (11, 21))],
        ),
        ([(10, 0, 0, 50), (11, 1, 1, 20), (21, 1, 30, 45)], [1, 1, 1], []),  # rank 1 alone started again
        ([(10, None, 0, 50), (11, None, 60, 70)], [1, 1], []),
    ],
)  # fmt: skip
def test_launches_by_times(spans: list[tuple[int, int | None, int, int]], launches: list[int], overlaps: list[Overlap]) -> None:
    numbered, both = number_launches(TracedProcess(pid, rank, begin, end) for pid, rank, begin, end in spans)
    assert [item.launch for item in sorted(numbered, key=lambda item: item.pid)] == launches
    assert both == overlaps
