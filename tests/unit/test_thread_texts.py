"""Texts of the forms that people paste into issues (`tests/traces/inputs/threads`, docs/threads.md): cause, place and next step."""

from __future__ import annotations

from pathlib import Path

import pytest
from real import TRACES, fresh

from tltui.cli import main
from tltui.documents.scope import scope_of
from tltui.model.ref import Ref
from tltui.questions.job_failures.failure_sections import has_torch
from tltui.questions.job_failures.job_failures import output_warnings, run_failures
from tltui.questions.question import question_of
from tltui.text.document import Options

THREADS = TRACES / "inputs" / "threads"
FAILURES: dict[str, tuple[str, str | None, int | None, str]] = {
    # the exception, file and line, words of the next step
    "closed_pool": ("InductorError: RuntimeError: Attempting to use a closed pool", "train.py", 702, "A compile worker died"),
    "worker_exit": ("A compilation subprocess exited unexpectedly", "train.py", 12, "TORCHINDUCTOR_COMPILE_THREADS=1"),
    "worker_exception": ("SubprocException: RuntimeError: Triton Error [CUDA]: out of memory", "server.py", 118, "compile worker"),
    "worker_timeout": ("TimeoutExpired", None, None, "did not stop"),
    "overwritten_backward": ("accessing tensor output of CUDAGraphs", "accumulate.py", 13, "cudagraph_mark_step_begin"),
    "overwritten_output": ("accessing tensor output of CUDAGraphs", "generate.py", 91, "Clone the result"),
    "untracked_pool": ("Detected 6 tensor(s) in the cudagraph pool", "masked_conv.py", 12, "max-autotune-no-cudagraphs"),
    "data_dependent": ("UserError: Could not guard on data-dependent expression", "modules.py", 51, "torch._check"),
    "parameter_size": ("FailOnRecompileLimitHit", "optimizer.py", 610, "Remove the cause of the recompiles"),
}
WARNINGS: dict[str, tuple[str, str]] = {
    "suppressed_backward": ("The backward could not be compiled with the forward", "GuardOnDataDependentSymNode"),
    "cpu_device": ("CUDA graphs are skipped", "cpu device (arg7_1)"),
    "shown_exception": ("Inductor failed on a graph", "CompilationError: at 10:11:"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_exception_has_its_cause_its_line_and_a_next_step(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    sentence, file, line, step = FAILURES[name]
    run = fresh(THREADS / f"{name}.txt")
    (failure,) = run_failures(run)
    assert sentence in failure.sentence and has_torch(run)
    assert (Path(failure.file).name if failure.file else None, failure.line) == (file, line)
    assert main(["problems", str(THREADS / f"{name}.txt")]) == 0
    assert step in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", WARNINGS)
def test_a_message_without_an_exception_is_a_warning(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    title, detail = WARNINGS[name]
    (warning,) = output_warnings(fresh(THREADS / f"{name}.txt"))
    assert warning.title == title and detail in warning.detail
    assert main(["summary", str(THREADS / f"{name}.txt")]) == 0
    assert title in capsys.readouterr().out


def test_both_warnings_about_tensor_float_32() -> None:
    titles = {warning.title for warning in output_warnings(fresh(THREADS / "tf32.txt"))}
    assert titles == {"TensorFloat32 is off", "A setting of TensorFloat32 has a new name"}


def test_an_int_argument_at_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recompiles", str(THREADS / "int_argument.txt")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "scaled" in text and "int value y no longer 7 from job/scaled.py:5" in text and "Pass it as a tensor" in text


def test_messages_of_python_logging_do_not_make_a_text_unreadable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`logging.basicConfig` writes lines like those of TORCH_LOGS_FORMAT=short, which has no ids."""
    (tmp_path / "job.out").write_text(
        "INFO:torch.distributed.elastic:a worker started\n"
        "ERROR:torch._inductor.select_algorithm:Exception No valid triton configs. OutOfMemoryError: out of resource: triton_mm "
        "Required: 262144 Hardware limit:232448 for benchmark choice TritonTemplateCaller(BLOCK_K=64)\n"
    )
    assert main(["problems", str(tmp_path / "job.out")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "No configuration of a Triton kernel fits the GPU" in text and "Required: 262144 Hardware limit:232448 Each one" in text


@pytest.mark.parametrize("form", [
    "WARNING:torch._dynamo.convert_frame:{}", "2026-11-29 13:51:18,987 - torch._dynamo.convert_frame - WARNING - {}",
])  # fmt: skip
def test_the_recompile_limit_in_a_program_s_own_logging(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`logging.basicConfig` prints the warning without the prefix of TORCH_LOGS."""
    warning = (
        "torch._dynamo hit config.recompile_limit (8)\n   function: 'forward' (/home/jane/train.py:12)\n"
        "   last reason: 0/7: tensor 'x' size mismatch at index 0. expected 9, actual 10\n"
        'To log all recompilation reasons, use TORCH_LOGS="recompiles".\n'
    )
    (tmp_path / "job.log").write_text(f"INFO:root:epoch 0\n{form.format(warning)}INFO:root:epoch 1\n")
    (tmp_path / "notes.txt").write_text("# torch._dynamo hit config.recompile_limit (8)\n")
    (limit,) = output_warnings(fresh(tmp_path))
    assert (limit.title, limit.file, limit.line) == ("Recompile limit reached", "/home/jane/train.py", 12)
    assert limit.detail == "tensor 'x' size mismatch at index 0. expected 9, actual 10"
    assert main(["check", "--fail-on", "eager,recompile_limit", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "2 of 2 limits exceeded" in shown and "the function at /home/jane/train.py:12 reached the recompile limit" in shown


def test_a_limit_in_text_of_torch_counts_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--fail-on", "recompile_limit", str(THREADS / "int_argument.txt")]) == 1
    assert "recompile_limit: 1, limit 0" in capsys.readouterr().out


@pytest.mark.parametrize("prefix", ["", "[rank0]: ", "0: "])
def test_skipped_cuda_graphs_have_the_line_of_the_program(prefix: str, tmp_path: Path) -> None:
    text = (THREADS / "cpu_device.txt").read_text()
    (tmp_path / "job.out").write_text("".join(prefix + line for line in text.splitlines(keepends=True)))
    run = fresh(tmp_path / "job.out")
    (warning,) = output_warnings(run)
    assert (Path(str(warning.file)).name, warning.line, warning.detail) == ("ops.py", 50, "cpu device (arg7_1)")
    page = question_of("cudagraphs").document(run, scope_of(run, Ref()), Options(width=100))
    assert "flux/ops.py:50" in "\n".join(page.text()) and page.data().printed == (warning,)


def test_output_after_a_data_dependent_error_is_not_part_of_it(tmp_path: Path) -> None:
    text = (THREADS / "data_dependent.txt").read_text()
    alone = text[: text.index("The above exception")]
    (tmp_path / "job.out").write_text(alone.rstrip() + "\nepoch 2\nloss 0.3\n")
    (failure,) = run_failures(fresh(tmp_path / "job.out"))
    assert "GuardOnDataDependentSymNode" in failure.sentence


@pytest.mark.parametrize("name", ["overwritten_backward", "closed_pool", "worker_timeout", "data_dependent"])
def test_a_directory_with_such_a_text_opens(name: str, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_bytes((THREADS / f"{name}.txt").read_bytes())
    assert run_failures(fresh(tmp_path))
