"""The next step that a summary gives for each form of what torch prints, from the text alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tltui.cli import main
from tltui.questions.job_failures.failure_sections import ROWS, AdviceRow, next_step

LIBRARY = "/v/lib/python3.12/site-packages"


def traceback(*frames: str, raised: str) -> str:
    lines = "".join(f'  File "{place.rpartition(":")[0]}", line {place.rpartition(":")[2]}, in f\n    call()\n' for place in frames)
    return f"Traceback (most recent call last):\n{lines}{raised}\n"


def vllm(text: str) -> str:
    """The same lines as vLLM's engine prints them."""
    return "".join(f"(EngineCore_DP0 pid=12) ERROR 08-12 10:00:00 [core.py:700] {line}\n" for line in text.splitlines())


EAGER_FRAME, DYNAMO_FRAME = "/w/train.py:30", f"{LIBRARY}/torch/_dynamo/eval_frame.py:929"
GRAPHS = "W0520 21:10:01.123000 144 site-packages/torch/_inductor/cudagraph_utils.py:390] [0/0] [__cudagraphs] "
FORMS = {
    "memory": (traceback(EAGER_FRAME, raised="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
               "Reduce the batch"),
    "backend": (traceback(EAGER_FRAME, DYNAMO_FRAME,
                          raised="torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nRuntimeError: no"),
                'Compile with backend="aot_eager"'),
    "export": (traceback("/w/export.py:3", f"{LIBRARY}/torch/_inductor/codecache.py:9", raised="TypeError: '<' not supported"),
               'Compile with backend="aot_eager", then'),
    "unsupported": (traceback(EAGER_FRAME, DYNAMO_FRAME, raised="torch._dynamo.exc.Unsupported: torch.* op returned non-Tensor"),
                    "Change the line as torch's hints describe"),
    "stale_cache": (vllm(traceback(f"{LIBRARY}/vllm/v1/engine/core.py:9", f"{LIBRARY}/torch/_inductor/output_code.py:613",
                                   raised="AssertionError: expected size 7==9, stride 4096==4096 at dim=0")),
                    "delete the compile cache"),
    "watchdog": ("[rank3]:[E424 10:00:00.123456789 ProcessGroupNCCL.cpp:685] [Rank 3] Watchdog caught collective operation "
                 "timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000)\n",
                 "Record TORCH_TRACE on all ranks"),
    "torchrun": ("E0520 21:10:01.123000 144 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) "
                 "local_rank: 0 (pid: 150) of binary: /usr/bin/python\n", "start torchrun with --tee 3"),
    "skipped_graph": (GRAPHS + 'skipping cudagraphs due to mutated inputs (1 instances). Found from : \n'
                      + GRAPHS + '   File "model.py", line 5, in f\n', "CUDA graphs are not used as intended: mutated inputs"),
    "sizes": (GRAPHS + "CUDAGraph supports dynamic shapes by recording a new graph for each distinct input size. Recording too "
              "many CUDAGraphs may lead to extra overhead. We have observed 51 distinct sizes. Please consider these options\n",
              "recorded for each of 51 distinct sizes"),
    "autotune": ("AUTOTUNE mm(512x64, 64x32)\n  mm 0.0061 ms 100.0% \n  triton_mm_4 0.0072 ms 84.7% BLOCK_K=32\n"
                 "SingleProcess AUTOTUNE benchmarking takes 3.0000 seconds and 0.5000 seconds precompiling for 2 choices\n",
                 "max-autotune changed nothing for 1 of 1 shape"),
    "start_up": ("(EngineCore_DP0 pid=12) INFO 02-12 10:00:02 [backends.py:703] Dynamo bytecode transform time: 25.30 s\n"
                 "(EngineCore_DP0 pid=12) INFO 02-12 10:40:02 [backends.py:278] Compiling a graph for compile range (1, 8000) "
                 "takes 2219.31 s\n", "the longest step of the start-up is compile sizes 1 to 8000"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_summary_begins_with_a_next_step(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, step = FORMS[form]
    path = tmp_path / "job.out"
    path.write_text(content)
    assert main(["summary", str(path)]) == 0
    _, heading, start = capsys.readouterr().out.partition("Start here\n")
    assert heading and step in " ".join(start.split())


def test_the_user_stack_of_a_violated_constraint_is_the_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.out"
    path.write_text(traceback("/w/r4.py:12", DYNAMO_FRAME, raised=(
        "torch.fx.experimental.symbolic_shapes.ConstraintViolationError: Constraints violated (L['x'].size()[0])!\n"
        "  - You marked L['x'].size()[0] as dynamic but your code specialized it to be a constant (5).\n\nUser stack:\n"
        '  File "/w/r4.py", line 4, in f\n    if x.size(0) == 5:'
    )))  # fmt: skip
    for page in ("summary", "problems"):
        assert main([page, str(path)]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "r4.py:4" in out and "use maybe_mark_dynamic" in out


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.pattern.pattern[:20])
def test_no_row_matches_ordinary_words(row: AdviceRow) -> None:
    assert row.next_step.endswith(".")
    assert not row.pattern.search("ValueError: no such file: train.csv") and not re.search(r"\S {2,}", row.next_step)


def test_an_error_outside_of_the_compiler_has_no_advice() -> None:
    assert next_step("rank 0 failed: ValueError: no", in_compiler=False) == ""
