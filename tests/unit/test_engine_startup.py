"""The start-up budget from vLLM's and SGLang's own logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from real import TRACES, fresh

from tltui.cli import main
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.timing.timing_events import OTHER, group_of
from tltui.questions.vllm.startup import ROWS, Startup, engine_times, read_startups, startups_of
from tltui.text.document import Options

ENGINES = TRACES / "inputs" / "engines"


def startup(*paths: Path) -> Startup:
    run = fresh(*paths)
    for _ in read_startups(run):
        pass
    (only,) = startups_of(run)
    return only


def steps(of: Startup) -> list[list[tuple[str, str, float | None]]]:
    return [[(one.step, one.subject, one.duration_s) for one in process.steps] for process in of.processes]


def page_of(run: Run, ref: str) -> str:
    page = build(run, ref, Options(width=100))
    while not page.advance():
        pass
    return "\n".join(page.line(number).text for number in range(len(page)))


def test_vllm_without_prefixes_of_processes() -> None:
    of = startup(ENGINES / "vllm-0.8.5.log")
    assert steps(of) == [[
        ("weight loading", "", 2.1), ("model loading", "", 3.112), ("Dynamo", "", 4.0), ("compile", "all sizes", 12.5),
        ("compile", "size 8", 2.5), ("CUDA graph capture", "", 13.0),
    ]]  # fmt: skip
    (process,) = of.processes
    assert (process.writer, process.torch_compile_s, process.compile_rest_s) == ("", 19.0, 0.0)
    assert (of.total_s, of.rest_s) == (35.0, 3.0)


def test_workers_of_vllm_are_told_apart_and_the_slowest_counts() -> None:
    of = startup(ENGINES / "vllm-0.17.0-tp2.log")
    assert [process.writer for process in of.processes] == ["Worker_TP0 pid=50", "Worker_TP1 pid=51"]
    assert [process.torch_compile_s for process in of.processes] == [7.6, 36.5]
    assert ("cache load", "sizes 1 to 8192", 1.25) in steps(of)[0]
    assert ("compile", "sizes 1 to 8192", 30.0) in steps(of)[1]
    assert [(one.start, one.end) for one in of.processes[1].steps if one.step == "compile"] == [(1, 8192)]
    assert of.rest_s == pytest.approx(48.0 - 36.5)
    assert of.processes[0].cache_directory.endswith("0123456789/rank_0_0/backbone")


def test_each_compile_range_of_a_tagged_log() -> None:
    of = startup(ENGINES / "vllm-0.33.0.log")
    ranges = [(subject, seconds) for step, subject, seconds in steps(of)[0] if step == "compile"]
    assert ranges == [("sizes 1 to 512", 11.0), ("sizes 513 to 8192", 12.0)]
    assert of.processes[0].compile_rest_s == pytest.approx(0.75)
    assert of.rest_s == pytest.approx(45.0 - 30.0 - 1.5 - 7.0)


def test_sglang_compiles_while_it_captures() -> None:
    of = startup(ENGINES / "sglang-0.5.23.log")
    assert of.total_s == 40.0
    assert of.rest_s == pytest.approx(40.0 - 9.8 - 24.5)


def test_pages_show_the_budget_of_a_log_alone() -> None:
    run = fresh(ENGINES / "vllm-0.10.2.log")
    for ref in ("@vllm", "@timing"):
        text = page_of(run, ref)
        assert "Start-up of vLLM  42.1 s" in text
        assert "5.10 s  12%  Dynamo" in text
        assert "20.4 s  48%  compile all sizes" in text
        assert "Rest: 1.60 s" in text
        assert "No timing data" not in text


@pytest.mark.parametrize(("name", "advised"), [("vllm-0.33.0", 1), ("vllm-0.17.0-tp2", 0), ("sglang-0.5.23", 0)])
def test_a_start_without_a_load_names_the_directory_to_keep(name: str, advised: int) -> None:
    assert page_of(fresh(ENGINES / f"{name}.log"), "@vllm").count("Keep this directory between starts.") == advised


def test_a_warning_of_torch_in_the_log_changes_nothing(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    warning = b"W1120 10:00:00.000000 123 torch/_inductor/utils.py:1137] [0/0] Not enough SMs to use max_autotune_gemm mode\n"
    path = tmp_path / "vllm.log"
    path.write_bytes((ENGINES / "vllm-0.10.2.log").read_bytes() + warning)
    for command in ("vllm", "timing"):
        assert main([command, str(path)]) == 0
        text = capsysbinary.readouterr().out.decode()
        assert "Start-up of vLLM  42.1 s" in text
        assert "has no" not in text


def test_commands_and_summary_of_a_log_alone(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = str(ENGINES / "vllm-0.33.0.log")
    for command in ("vllm", "timing", "summary"):
        assert main([command, path]) == 0
        assert "Start-up of vLLM" in capsysbinary.readouterr().out.decode()
    assert main(["vllm", path, "--json"]) == 0
    (found,) = json.loads(capsysbinary.readouterr().out)["result"]["startups"]
    assert (found["engine"], found["total_s"], len(found["processes"][0]["steps"])) == ("vLLM", 45.0, 6)
    assert main(["recompiles", path]) == 2


def test_a_trace_shows_nothing_of_it() -> None:
    assert "Start-up" not in page_of(fresh(TRACES / "torch-2.13" / "vllm_like"), "@vllm")


def test_two_starts_in_one_output_have_no_common_total(tmp_path: Path) -> None:
    data = (ENGINES / "vllm-0.8.5.log").read_bytes()
    (tmp_path / "job.log").write_bytes(data + data)
    of = startup(tmp_path / "job.log")
    assert (of.total_s, of.rest_s) == (None, None)
    assert of.unknown == "this output has 2 engine starts"


def test_prefixes_of_launchers_colours_and_cut_ends() -> None:
    line = b"INFO 04-12 10:00:09 [backends.py:430] Dynamo bytecode transform time: 4.00 s"
    for around in (b"%s", b"%s\r", b"[default0]:%s", b"\x1b[32m%s\x1b[0m", b"2026-01-01T10:00:00Z stderr F %s"):
        assert [one.seconds for one in engine_times(around % line)] == [4.0], around
    for cut in range(len(line)):
        assert all(one.seconds == 4.0 for one in engine_times(line[:cut]))


@pytest.mark.parametrize("head", [
    "2026-06-10 11:30:42 | backends | 139623526012736 | INFO : ", "2026-06-10T11:30:42.123Z vllm.compilation.backends INFO: ",
    "[2026-06-10 11:30:42,123] [INFO] [backends.py:431] ", "2026-06-10 11:30:42,123 INFO vllm.compilation.backends ",
])  # fmt: skip
def test_other_formatters_of_vllm_loggers(head: str) -> None:
    lines = f"{head}Dynamo bytecode transform time: 14.33 s\n{head}torch.compile took 16.2 s in total\n"
    assert [(one.engine, one.step, one.seconds) for one in engine_times(lines.encode())] == [
        ("vLLM", "Dynamo", 14.33), ("vLLM", "torch.compile", 16.2),
    ]  # fmt: skip


def test_other_text_is_not_taken_for_a_message() -> None:
    for line in (
        b"2026-06-10 11:30:42 | x | INFO : I saw Dynamo bytecode transform time: 4.00 s",
        b"2026-06-10 11:30:42 | x | INFO : Dynamo bytecode transform time: 4.00 s or so",
        b"print: Dynamo bytecode transform time: 4.00 s",
        b"Compiling a graph for " * 100_000,
        b"(" * 5000 + b" pid=1) INFO 04-12 10:00:09 [a.py:1] Dynamo bytecode transform time: x s",
    ):
        assert list(engine_times(line)) == []


def test_each_row_names_versions_and_source() -> None:
    assert all(row.versions and row.source.endswith(".py") and row.needle.strip() for row in ROWS)


@pytest.mark.parametrize("name", [
    "vllm_backend", "vllm_print_readable", "vllm.generate_execution_code", "vllm.compile_execution_fn", "CompiledArtifact.save",
    "vllm_log_compile_start_torch_trace_only", "vllm_split_graph",
])  # fmt: skip
def test_durations_that_vllm_names_have_a_phase(name: str) -> None:
    assert group_of(name) != OTHER
