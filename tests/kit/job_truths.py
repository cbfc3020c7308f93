"""The truth about each job of tests/live/programs/jobs.py, written before the job ran.

`job_judge.py` derives from it what tltui must report, live and for the captures in tests/traces/jobs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Failure:
    """A process that ended its job, or one launch of it, and was not a consequence of another."""

    rank: int
    ending: str
    """`SIGKILL`, `exit code 3` or `exception`."""
    error: str = ""
    """The last line of the exception."""
    function: str = ""
    """The function that the rank was compiling; empty if it compiled nothing."""
    phase: str = "outside"
    """`forward`, `backward` or `outside`."""
    launch: int = 1


@dataclass(frozen=True)
class Wait:
    """Ranks that wait, and the one that has not arrived."""

    waiting: tuple[int, ...]
    missing: int
    place: str
    """Where they wait: `allreduce`, `barrier` or `compiler_collective`."""
    function: str = ""
    """The function that the missing rank compiles; empty if it compiles nothing."""
    phase: str = "outside"


@dataclass(frozen=True)
class Truth:
    """A job in a few sentences, and the parts of it that a test can look for."""

    story: str
    ranks: int = 3
    failures: tuple[Failure, ...] = ()
    """The causes, the first one first."""
    consequences: tuple[int, ...] = ()
    """Ranks that ended only because another one had failed, or because the launcher ended them."""
    wait: Wait | None = None
    """For a job that hangs, while it is alive."""
    stops: str = ""
    """The signal to torchrun that ends a job that does not end by itself."""
    launches: int = 1
    logged_launches: int = 1
    """Those that left logs."""
    exit_code: int = 0
    """Of torchrun, or of the program where there is no torchrun."""
    extra: tuple[tuple[int, str], ...] = ()
    """A compile that the other ranks do not have: its rank and function."""
    never: tuple[str, ...] = ()
    """Patterns of statements that are false about this job."""


_DIFFERENT_CODE = (r"inputs differ", r"code differs", r"graph differs", r"another order")
_DIVERGE = (r"diverge", *_DIFFERENT_CODE)
"""All ranks computed the same, as far as they got."""
_VICTIMS = (r"rank [02] (died|failed) first", r"✗ rank [02]\b")
_DEAD_IS_FINE = (r"rank 1 \[[^\]]*\]: finished", r"ok \[?1:")
_BEHIND = r"\bbehind\b(?! the others)"
"""A rank of a job that ended well lacks nothing."""
_OPEN = (r"[Uu]nfinished(?! compiles, and functions)", r"did not finish")
_IN_FORWARD = (Failure(1, "SIGKILL", function="forward", phase="forward"),)
_IN_BACKWARD = (Failure(1, "SIGKILL", function="forward", phase="backward"),)
_WAIT_IN_ALLREDUCE = Wait((0, 2), 1, "allreduce", "forward", "forward")

TRUTHS = {
    "killed_forward": Truth(
        "Rank 1 is killed (SIGKILL) in its compile of the model's forward. Ranks 0 and 2 have compiled forward and backward and "
        "wait for it in DDP's allreduce.",
        failures=_IN_FORWARD, consequences=(0, 2), exit_code=1, never=(*_DIFFERENT_CODE, *_VICTIMS, *_DEAD_IS_FINE),
    ),
    "killed_backward": Truth(
        "Rank 1 is killed (SIGKILL) in its compile of the model's backward. Ranks 0 and 2 have compiled theirs and wait for it in "
        "DDP's allreduce.",
        failures=_IN_BACKWARD, consequences=(0, 2), exit_code=1, never=(*_DIFFERENT_CODE, *_VICTIMS, *_DEAD_IS_FINE),
    ),
    "killed_backward_early": Truth(
        "Rank 1 is killed (SIGKILL) as soon as it compiles the model's backward. torchrun ends ranks 0 and 2 while they "
        "compile too.",
        failures=_IN_BACKWARD, consequences=(0, 2), exit_code=1, never=(*_DIFFERENT_CODE, *_VICTIMS, *_DEAD_IS_FINE),
    ),
    "killed_outside": Truth(
        "Rank 1 is killed (SIGKILL) before its step 2, when everything is compiled. Ranks 0 and 2 wait for it in a collective.",
        failures=(Failure(1, "SIGKILL"),), consequences=(0, 2), exit_code=1, never=(*_DIVERGE, *_VICTIMS, *_OPEN),
    ),
    "backward_error": Truth(
        "The compile of the model's backward raises RuntimeError on rank 1. Ranks 0 and 2 have compiled theirs and wait for it in "
        "DDP's allreduce.",
        failures=(Failure(1, "exception", "RuntimeError: planted: no kernel for this backward", "forward", "backward"),),
        consequences=(0, 2), exit_code=1, never=(*_DIFFERENT_CODE, *_VICTIMS, r"probably"),
    ),
    "restart_works": Truth(
        "In launch 1 rank 1 exits with code 3 before its step 3. torchrun starts all ranks again, and launch 2 ends well.",
        failures=(Failure(1, "exit code 3"),), consequences=(0, 2), launches=2, logged_launches=2,
        never=(*_DIVERGE, *_VICTIMS),
    ),
    "restart_fails": Truth(
        "In launch 1 rank 1 exits with code 3 before its step 3. torchrun starts all ranks again, and in launch 2 rank 0 raises "
        "ValueError before its step 1.",
        failures=(
            Failure(1, "exit code 3"),
            Failure(0, "exception", "ValueError: planted: the checkpoint of step 2 is incomplete", launch=2),
        ),
        consequences=(0, 1, 2), launches=2, logged_launches=2, exit_code=1,
        never=(*_DIVERGE, r"rank 2 (died|failed) first", r"✗ rank 2\b", r"✗ rank \d[^✗]{0,80}Connection closed"),
    ),
    "compiler_hangs": Truth(
        "g++ hangs while rank 1 compiles the C++ of the model's forward. Ranks 0 and 2 have compiled forward and backward and wait "
        "for it in DDP's allreduce.",
        wait=_WAIT_IN_ALLREDUCE, stops="SIGTERM", exit_code=1, never=(*_DIFFERENT_CODE, *_VICTIMS, *_DEAD_IS_FINE),
    ),
    "barrier_inside": Truth(
        "Rank 1 waits in a barrier inside of its compile of the model's forward, in a pass of the user's. Ranks 0 and 2 have "
        "compiled forward and backward and wait for it in DDP's allreduce.",
        wait=_WAIT_IN_ALLREDUCE, stops="SIGTERM", exit_code=1, never=(*_DIFFERENT_CODE, *_VICTIMS, *_DEAD_IS_FINE),
    ),
    "barrier_outside": Truth(
        "Rank 1 reads a file for ever between two compiled functions. Ranks 0 and 2 wait for it in a barrier. No rank compiles.",
        wait=Wait((0, 2), 1, "barrier"), stops="SIGTERM", exit_code=1, never=(*_DIVERGE, *_VICTIMS, *_OPEN),
    ),
    "flight_recorder": Truth(
        "barrier_outside, with dumps of torch's flight recorder: ranks 0 and 2 are in a barrier that rank 1 has not entered.",
        wait=Wait((0, 2), 1, "barrier"), stops="SIGTERM", exit_code=1, never=(*_DIVERGE, *_VICTIMS, *_OPEN),
    ),
    "flight_recorder_allreduce": Truth(
        "barrier_inside, with dumps of torch's flight recorder: ranks 0 and 2 are in an allreduce that rank 1 has not entered.",
        wait=_WAIT_IN_ALLREDUCE, stops="SIGTERM", exit_code=1, never=(*_DIFFERENT_CODE, *_VICTIMS, *_DEAD_IS_FINE),
    ),
    "compiler_collective": Truth(
        "With compiler collectives on, ranks 0 and 2 compile `expert` again and wait in the compiler's own all_gather for rank 1, "
        "which reads a file for ever outside of any compile.",
        wait=Wait((0, 2), 1, "compiler_collective"), stops="SIGTERM", exit_code=1, never=(*_DIVERGE, *_VICTIMS),
    ),
    "uneven_batch": Truth(
        "In the last step rank 2 has 5 of 8 rows and compiles the model again (forward and backward), while ranks 0 and 1 wait for "
        "it in DDP's allreduce. The job ends well.",
        extra=((2, "forward"),), never=(r"No rank was late", _BEHIND, r"✗ rank"),
    ),
    "pipeline_classes": Truth(
        "A pipeline of three stages, each of a class of its own: each rank compiles other functions, by design. The job ends well.",
        never=(*_DIVERGE, _BEHIND, r"✗ rank"),
    ),
    "pipeline_one_class": Truth(
        "A pipeline of four stages of one class, 1F1B: stage 0 embeds, stage 3 has the head, stages 1 and 2 are alike. The job "
        "ends well.",
        ranks=4, never=(*_DIVERGE, _BEHIND, r"✗ rank", r"stage 2: rank 3", r"3 stages"),
    ),
    "rank0_logging": Truth(
        "The model's forward prints on rank 0 only: a graph break and a resume function on rank 0, by design. The job ends well.",
        extra=((0, "forward"),), never=(_BEHIND, r"✗ rank"),
    ),
    "two_jobs": Truth(
        "Two jobs of two ranks each run at once and write into one directory: training, and an evaluation. Both end well.",
        ranks=2, never=(r"older process", r"earlier process", r"Both ranks compiled the same", r"started again"),
    ),
    "oom_exception": Truth(
        "Rank 1 asks for more memory than there is before its step 1, outside of any compile: RuntimeError of the allocator. "
        "Ranks 0 and 2 wait for it in a collective.",
        failures=(Failure(1, "exception", "RuntimeError: [enforce fail at alloc_cpu.cpp"),), consequences=(0, 2), exit_code=1,
        never=(*_DIVERGE, *_VICTIMS),
    ),
    "oom_signal": Truth(
        "The kernel's OOM killer ends rank 1 (SIGKILL) before its step 2, outside of any compile. Ranks 0 and 2 wait for it in a "
        "collective.",
        failures=(Failure(1, "SIGKILL"),), consequences=(0, 2), exit_code=1, never=(*_DIVERGE, *_VICTIMS, *_OPEN),
    ),
    "launcher_ended": Truth(
        "torchrun is ended from outside (SIGTERM) while all ranks train; it ends all of them. No rank failed.",
        consequences=(0, 1, 2), stops="SIGTERM", exit_code=1,
        never=(*_DIVERGE, r"rank \d (died|failed) first", r"✗ rank \d"),
    ),
    "all_fail_alike": Truth(
        "All ranks raise the same AssertionError before their step 1.",
        failures=tuple(Failure(rank, "exception", "AssertionError: planted: 8 rows, 16 expected") for rank in range(3)),
        exit_code=1, never=(*_DIVERGE, r"was ended, as another", r"ended by the launcher"),
    ),
    "spawn_error": Truth(
        "Three processes of mp.spawn; rank 1 raises ValueError before its step 1. Ranks 0 and 2 wait for it in a collective.",
        failures=(Failure(1, "exception", "ValueError: planted: no labels for rank 1"),), consequences=(0, 2), exit_code=1,
        never=(*_DIVERGE, *_VICTIMS),
    ),
    "cache_race": Truth(
        "One cache for all ranks, and rank 0 compiles first: ranks 1 and 2 get its code from the cache. The job ends well.",
        never=(*_DIVERGE, _BEHIND, r"✗ rank", r"began normalize"),
    ),
    "moe_tokens": Truth(
        "Rank 1 has 8, 5 and 3 tokens, the others always 8: one recompile on rank 1, by design. The job ends well.",
        extra=((1, "expert"),), never=(_BEHIND, r"✗ rank"),
    ),
}  # fmt: skip

ACCIDENTS = {
    "restart_unconnected": Truth(
        "In launch 1 rank 1 exits with code 3 before its step 3. In launch 2 no rank can connect to the others, as gloo reads "
        "addresses of launch 1: all three raise RuntimeError. Launch 2 left no logs.",
        failures=(Failure(1, "exit code 3"),), consequences=(0, 2), launches=2, exit_code=1, never=(*_DIVERGE, r"✗ rank 2\b"),
    ),
    "edited_source": Truth(
        "backward_error, whose program was edited while it ran: the last line of source in the traceback is empty.",
        failures=(Failure(1, "exception", "RuntimeError: planted: no kernel for this backward", "forward", "backward"),),
        consequences=(0, 2), exit_code=1, never=(*_DIFFERENT_CODE, *_VICTIMS, r"probably", r"InductorError: \^"),
    ),
}  # fmt: skip
"""What happened once and is not made again: only their captures are judged. Their truth was written after the run."""
