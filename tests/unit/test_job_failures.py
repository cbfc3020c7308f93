"""What a job's output tells of its end: tracebacks, torchrun's summary, last words of others."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest
from text_runs import read_printed

from tltui.questions.job_failures.failure_order import Printed, may_report, parse_torchrun
from tltui.questions.job_failures.job_failures import JobFailure, job_failures
from tltui.questions.job_failures.printed_messages import ROWS, Report, TextLine, report_of
from tltui.questions.stacks.tracebacks import CAUSE, HANDLING, MEMBER

INPUTS = Path(__file__).parent.parent / "traces" / "inputs"
OTHER = INPUTS / "other"
_RECORD = re.compile(rb"^(?:\[[^\]\n]{1,40}\]: ?|\d: )*(?:\[rank\d+\]:)?[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ ")


def lines_of(data: bytes) -> list[TextLine]:
    """The lines that are no records."""
    found, at = [], 0
    for line in data.split(b"\n"):
        if not _RECORD.match(line):
            found.append(TextLine(at, line))
        at += len(line) + 1
    return found


def printed(name: str) -> Printed:
    path = OTHER / name if (OTHER / name).exists() else INPUTS / name
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return read_printed(lines_of(data))


def failures(name: str) -> tuple[JobFailure, ...]:
    return job_failures([printed(name)])


@pytest.mark.parametrize("name", ["torchrun_recorded.txt", "torchrun_tee.txt"])
def test_torchrun_says_which_rank_died_first_and_which_it_ended_itself(name: str) -> None:
    first, other = failures(name)
    assert first.sentence == "rank 1 failed first (exit code 1): RuntimeError: no settings for rank 1"
    assert (first.is_first, first.is_consequence, first.rank, first.host) == (True, False, 1, "localhost")
    assert first.file is not None and (Path(first.file).name, first.line, first.function) == ("ranks.py", 17, "settings")
    assert other.is_consequence and other.rank == 0
    assert other.sentence == "torchrun ended rank 0 (SIGTERM)"


def test_each_line_of_a_rank_belongs_to_its_traceback_whatever_stands_between() -> None:
    found = printed("torchrun_recorded.txt")
    assert [(item.rank, item.name) for item in found.tracebacks] == [(1, "RuntimeError")]
    assert [(part.link, part.type) for part in found.tracebacks[0].parts] == [("", "KeyError"), (CAUSE, "RuntimeError")]
    root = found.torchrun[0].root
    assert root is not None and root.traceback.startswith("Traceback") and root.error_file.endswith("error.json")


def test_a_fault_and_the_signal_that_torchrun_tells_of_are_one_failure() -> None:
    first, other = failures("torchrun_segfault.txt")
    assert first.sentence == "rank 1 failed first (SIGSEGV): Fatal Python error: Segmentation fault"
    assert (first.line, first.function) == (32, "main")
    assert other.is_consequence


def test_failed_compiles_are_told_from_other_exceptions() -> None:
    unsupported, backend, sizes = printed("printed.txt").tracebacks
    assert [item.is_compile for item in (unsupported, backend, sizes)] == [True, True, True]
    assert unsupported.type == "torch._dynamo.exc.Unsupported"
    assert unsupported.headline == "Unsupported: Call to `torch._dynamo.graph_break()`"
    assert (unsupported.line, unsupported.function) == (18, "whole")  # what was being compiled, not who called it
    assert backend.headline == "BackendCompilerFailed: backend='bad' raised: ValueError: this backend has no"
    assert (sizes.line, sizes.function) == (30, "sizes")
    assert not printed("chained.txt").tracebacks[0].is_compile


def test_a_message_ends_where_the_log_goes_on() -> None:
    backend = printed("printed.txt").tracebacks[1]
    data = (OTHER / "printed.txt").read_bytes()
    assert data[: backend.end].endswith(b'set TORCH_LOGS="+dynamo"\n')
    assert b"TRACED GRAPH" not in data[backend.offset : backend.end]


def test_groups_chains_and_other_forms() -> None:
    (group,) = printed("group.txt").tracebacks
    assert group.headline == "ExceptionGroup: two shards (2 sub-exceptions)"
    assert [(part.link, part.type) for part in group.parts[1:]] == [(MEMBER, "ValueError"), (MEMBER, "OSError")]
    (chained,) = printed("chained.txt").tracebacks
    assert [(part.link, part.type) for part in chained.parts] == [("", "KeyError"), (HANDLING, "RuntimeError")]
    (interrupt,) = printed("interrupt.txt").tracebacks
    assert (interrupt.headline, interrupt.function) == ("KeyboardInterrupt", "interrupt")
    (syntax,) = printed("syntax.txt").tracebacks
    assert (syntax.headline, syntax.line) == ("SyntaxError: '(' was never closed", 1)
    (fatal,) = printed("fatal.txt").tracebacks
    assert (fatal.headline, fatal.line, fatal.function) == ("Fatal Python error: Segmentation fault", 77, "fatal")


def test_an_exception_in_a_thread_ends_no_job() -> None:
    (thread,) = printed("thread.txt").tracebacks
    assert not thread.is_deadly
    assert failures("thread.txt")[0].sentence == "Exception in thread loader: RuntimeError: settings are"


@pytest.mark.parametrize(
    "prefix",
    [
        "[default3]:", "3: ", "[1,3]<stderr>:", "2026-11-21T19:00:43.123456789Z ", "[pod/job-3/worker] ", "[default3]:[rank3]: ",
        "2026-11-21T19:00:43.123456789+00:00 stderr F ",
    ],
)  # fmt: skip
def test_launchers_prefixes_are_taken_off(prefix: str) -> None:
    text = (OTHER / "chained.txt").read_text()
    mixed = "".join(f"{prefix}{line}\nstep {n} of another program\n" for n, line in enumerate(text.splitlines()))
    (found,) = read_printed(lines_of(mixed.encode())).tracebacks
    assert found.headline == "RuntimeError: settings are"
    assert [part.type for part in found.parts] == ["KeyError", "RuntimeError"]


def test_colours_and_progress_bars_are_no_hindrance() -> None:
    text = (OTHER / "chained.txt").read_text()
    coloured = "".join(f"\r 10%|█\r 20%|██\r\x1b[31m{line}\x1b[0m\r\n" if line else "\n" for line in text.splitlines())
    assert [item.headline for item in read_printed(lines_of(coloured.encode())).tracebacks] == ["RuntimeError: settings are"]


def test_two_ranks_that_fail_at_once_have_a_traceback_each() -> None:
    text = (OTHER / "chained.txt").read_text().splitlines()
    mixed = "".join(f"[rank{rank}]: {line}\n" for line in text if line for rank in (0, 1))
    found = read_printed(lines_of(mixed.encode())).tracebacks
    assert [(item.rank, item.headline) for item in found] == [(0, "RuntimeError: settings are"), (1, "RuntimeError: settings are")]
    assert found[0].message == "settings are\nincomplete"


def test_a_traceback_that_is_cut_off_says_so() -> None:
    text = (OTHER / "interrupt.txt").read_text().rpartition("KeyboardInterrupt")[0]
    (failure,) = job_failures([read_printed(lines_of(text.encode()))])
    assert failure.error == "a traceback whose end is missing from the output"
    begun = "ChildFailedError:\n====\ntrain.py FAILED\n----\nFailures:\n  <NO_OTHER_FAILURES>\n----\nRoot Cause"
    assert parse_torchrun(0, begun).root is None


OF_SLURM = "Some of the step tasks have been OOM Killed."
OF_SLURM = "Some of the step tasks have been OOM Killed."
REPORTS: list[tuple[str, tuple[str, str, tuple[int, ...], int | None, str]]] = [
    # as the programs print them, from logs that people have published; (kind, program, ranks, pid, exit)
    ("slurmstepd: error: Detected 1 oom_kill event in StepId=1054.0. " + OF_SLURM, ("out of memory", "Slurm", (), None, "")),
    ("[2026-09-21T10:00:00.123] error: Detected 2 oom_kill events in StepId=7.0. " + OF_SLURM,
     ("out of memory", "Slurm", (), None, "")),
    ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch. Some of your processes may have been killed by the cgroup"
     " out-of-memory handler.", ("out of memory", "Slurm", (), None, "")),
    ("[ 1234.5] Out of memory: Killed process 4711 (python) total-vm:1kB, anon-rss:1kB", ("exit", "the kernel", (), 4711, "")),
    ("[ 9.1] Memory cgroup out of memory: Killed process 99 (python3) total-vm:1kB", ("exit", "the kernel", (), 99, "")),
    ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x", ("out of memory", "the kernel", (), None, "")),
    ("reason: OOMKilled", ("out of memory", "Kubernetes", (), None, "")),
    ("error: *** JOB 42221 ON clr1247 CANCELLED AT 2022-04-14T16:20:46 DUE TO TIME LIMIT ***",
     ("cancelled", "Slurm", (), None, "")),
    ("1: slurmstepd: error: *** STEP 9999 ON hpc CANCELLED DUE TO TIME LIMIT ***", ("cancelled", "Slurm", (), None, "")),
    ("slurmstepd: error: *** STEP 30399.0 ON sn30-r1-h1 CANCELLED AT 2024-04-09T11:02:03 ***",
     ("cancelled", "Slurm", (), None, "")),
    ("[rank0]:[E1218 20:27:21.426415540 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: "
     "WorkNCCL(SeqNum=1, OpType=BROADCAST, NumelIn=131072000, NumelOut=131072000, Timeout(ms)=600000) ran for 600081 "
     "milliseconds before timing out.", ("timeout", "NCCL's watchdog", (0,), None, "")),
    ("RuntimeError: DataLoader worker (pid 24110) is killed by signal: Killed.", ("worker", "DataLoader", (), 24110, "")),
    ("srun: error: node12: task 3: Killed", ("exit", "srun", (3,), None, "SIGKILL")),
    ("srun: error: ana: task 0: Out Of Memory", ("exit", "srun", (0,), None, "SIGKILL")),
    ("srun: error: nid005475: tasks 0-2,5,7: Terminated", ("exit", "srun", (0, 1, 2, 5, 7), None, "SIGTERM")),
    ("srun: error: comput123: tasks 0,4: Bus error (core dumped)", ("exit", "srun", (0, 4), None, "SIGBUS")),
    ("srun: error: node[1-2]: tasks 1,4-7: Exited with exit code 2", ("exit", "srun", (1, 4, 5, 6, 7), None, "exit code 2")),
    ("srun: Terminating StepId=22035605.1", ("ending", "srun", (), None, "")),
    ("srun: Force Terminated StepId=22035606.1", ("ending", "srun", (), None, "")),
    ("mpirun noticed that process rank 1 with PID 90398 on node shannon exited on signal 11 (Segmentation fault).",
     ("exit", "Open MPI", (1,), 90398, "SIGSEGV")),
    ("prterun noticed that process rank 14 with PID 0 on node n exited on signal 9 (Killed).",
     ("exit", "Open MPI", (14,), None, "SIGKILL")),
    ("[2026-05-18 03:37:03,778] [ERROR] [launch.py:341:sigkill_handler] ['python', '-u', 'a.py'] exits with return code = -9",
     ("exit", "DeepSpeed", (), None, "SIGKILL")),
    ("(raylet) A worker died or was killed while executing a task by an unexpected system error. Worker ID: a Node ID: b Worker IP"
     " address: 10.0.2.192 Worker port: 10022 Worker PID: 49383 Worker exit type: SYSTEM_ERROR Worker exit detail: End of file.",
     ("exit", "Ray", (), 49383, "")),
    ("E1122 11:37:10.693000 7252 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 3) local_rank: 1 "
     "(pid: 7255) of binary: /usr/bin/python", ("exit", "torchrun", (), 7255, "exit code 3")),
    ("[2024-01-10 10:10:10,123] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) local_rank: 0 "
     "(pid: 5) of binary: /usr/bin/python", ("exit", "torchrun", (), 5, "SIGKILL")),
    ("W1122 11:37:10.629000 7252 torch/distributed/elastic/multiprocessing/api.py:1028] "
     "Sending process 7254 closing signal SIGTERM",
     ("stopped", "torchrun", (), 7254, "SIGTERM")),
    ("W1122 11:37:10.629000 7252 torch/distributed/elastic/multiprocessing/api.py:871] Closing process 7254 via signal SIGINT",
     ("stopped", "torchrun", (), 7254, "SIGINT")),
    ("W1122 11:37:10.6290 7252 torch/distributed/elastic/agent/server/api.py:753] Received 15 death signal, shutting down workers",
     ("interrupted", "torchrun", (), None, "SIGTERM")),
    ("torch.distributed.elastic.multiprocessing.api.SignalException: Process 3895 got signal: 2",
     ("interrupted", "torchrun", (), None, "SIGINT")),
    ("-- Process 1 terminated with the following error:", ("exit", "torch.multiprocessing", (), None, "")),
    ("torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal SIGKILL",
     ("exit", "torch.multiprocessing", (), None, "SIGKILL")),
    ("Killed", ("exit", "the shell", (), None, "SIGKILL")),
    ("job.sh: line 7: 12773 Killed                  python train.py", ("exit", "the shell", (), 12773, "SIGKILL")),
    ("Segmentation fault (core dumped)", ("exit", "the shell", (), None, "SIGSEGV")),
    ("Aborted (core dumped)", ("exit", "the shell", (), None, "SIGABRT")),
    ("Bus error (core dumped)", ("exit", "the shell", (), None, "SIGBUS")),
]  # fmt: skip


def report(text: str) -> Report | None:
    made = report_of(TextLine(0, text.encode()))
    return made[0] if made else None


@pytest.mark.parametrize(("text", "expected"), REPORTS)
def test_reports_of_launchers_slurm_mpi_the_kernel_and_shells(
    text: str, expected: tuple[str, str, tuple[int, ...], int | None, str]
) -> None:
    made = report(text)
    assert made is not None
    assert (made.kind, made.program, made.ranks, made.pid, made.exit) == expected
    assert may_report(text.encode())


def test_each_row_is_tried() -> None:
    tried = {row.pattern.pattern for row in ROWS for text, _ in REPORTS if row.pattern.search(text)}
    blocks = {row.pattern.pattern for row in ROWS if row.fields is not None}  # test_fields_of_further_lines
    assert tried | blocks == {row.pattern.pattern for row in ROWS}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 28488 RUNNING AT gpu1\n=   EXIT CODE: 9\n"
         "=   CLEANING UP REMAINING PROCESSES\n====\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
         ((), 28488, "SIGKILL", "gpu1")),
        ("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 3 PID 1234 RUNNING AT c001\n"
         "=   KILLED BY SIGNAL: 9 (Killed)\n====", ((3,), 1234, "SIGKILL", "c001")),
        ("mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first"
         " process to do so was:\n\n  Process name: [[42807,1],2]\n  Exit code:    3\n----", ((2,), None, "exit code 3", "")),
    ],
)  # fmt: skip
def test_fields_of_further_lines(text: str, expected: tuple[tuple[int, ...], int | None, str, str]) -> None:
    (made,) = read_printed(lines_of(text.encode())).reports
    assert (made.ranks, made.pid, made.exit, made.host) == expected


def test_bash_reports_children_that_a_signal_ended() -> None:
    assert [(made.program, made.exit, made.pid is not None) for made in printed("signals.txt").reports] == [
        ("the shell", name, True) for name in ("SIGKILL", "SIGSEGV", "SIGBUS", "SIGABRT")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Killed 3 stale workers of the last run", "no Segmentation fault so far", "job CANCELLED by the user interface",
        "loss=0.3 Aborted=False", "Out of memory? lower the batch size", "srun: error: n: tasks 0-99999999: Killed by the user",
        "RuntimeError: DataLoader worker (pid(s) 24110) exited unexpectedly", "-- Process 1 started",
    ],
)  # fmt: skip
def test_words_of_the_program_are_no_reports(text: str) -> None:
    made = report(text)
    assert made is None or made.ranks == ()
