"""Different by design: stages of a pipeline, functions with nothing in common, one rank that compiles for all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_logs import Log
from pages import flat_text, page
from ranked import ranked
from real import fresh, trace
from viewed import lead_somewhere

from tltui.model.run import Run
from tltui.questions.check.limits import gates, parse_limits
from tltui.questions.ranks.differences import Differing, differences_of
from tltui.questions.ranks.lanes import read_lanes
from tltui.questions.ranks.pace_analysis import pace_of
from tltui.questions.ranks.rank_course import groups_of
from tltui.text.steps import run_steps

STAGES, BLOCKS, LOGGING = "rank_jobs/stages", "rank_jobs/blocks", "rank_jobs/logging"


def found_in(run: Run) -> Differing:
    found = differences_of(run)
    assert found is not None
    return found


def grouped(run: Run) -> list[list[int]]:
    return [[lane.rank for lane in own] for own in groups_of(run_steps(read_lanes(run)))]


@pytest.mark.parametrize("name", [STAGES, BLOCKS])
def test_stages_of_a_pipeline_are_no_difference(name: str) -> None:
    """Each a class of its own, or all of one class: then the parameters tell."""
    run = trace(name)
    found = found_in(run)
    assert grouped(run) == [[0], [1], [2]]
    assert found.count == 0 and [(one.ranks, one.is_pipeline) for one in found.stages] == [((n,), True) for n in range(3)]
    stages = "Pipeline stages, grouped by their compiles: rank 0; rank 1; rank 2."
    assert flat_text(run, "@ranks").startswith(f"Ranks {stages} No difference within stages.")
    assert "diverge" not in flat_text(run, "@run")
    assert "Pipeline stages, grouped by their compiles: rank 0; " in flat_text(run, "@run")
    assert gates(run, parse_limits("diverge=0")).limits[0].value == 0
    assert "No compile was finished by two or more ranks, so their times cannot be compared" in flat_text(run, "@stragglers")
    lead_somewhere(run, page(run, "@ranks"))


def stage(path: Path, layer: int, breaks: bool = False) -> None:
    """A rank of a pipeline: its stage has a layer of its own."""
    log = Log(path).start(name="forward")
    log.add("str", ["/venv/torch/distributed/pipelining/stage.py", 1], frame=None)
    log.add("describe_tensor", {"id": 0, "size": [4], "dtype": "torch.float32", "describer_id": 1})
    log.add("describe_source", {"describer_id": 1, "id": 0, "source": f"L['self'].layers.{layer}"})
    log.add("dynamo_output_graph", {}, f"graph of {layer}")
    if breaks:
        log.artifact("dynamo_graph_break_reason", "Failed to trace builtin operator")
    log.metrics().open()


def test_ranks_of_one_stage_are_compared(tmp_path: Path) -> None:
    """Two stages on two ranks each; rank 3 has a break that rank 2, of the same stage, does not have."""
    for rank in range(4):
        stage(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log", rank // 2, rank == 3)
    run = fresh(tmp_path)
    found = found_in(run)
    assert grouped(run) == [[0, 1], [2, 3]] and found.count == 1
    [one] = found.divergences
    assert one.properties == ("breaks",) and [str(side.ranks) for side in one.groups] == ["2", "3"]
    assert "1 difference within stages" in flat_text(run, "@ranks")
    assert "rank 2 reference of the stage of ranks 2, 3: forward " in flat_text(run, "@matrix", 120)
    assert gates(run, parse_limits("diverge=0")).limits[0].value == 1


def test_stages_of_one_function_are_not_called_one_stage() -> None:
    kinds = flat_text(trace("jobs/pipeline_one_class"), "@matrix", 120)
    for ranks in ("2 ranks: 1, 2", "rank 0", "rank 3"):
        assert f"{ranks} own stage: forward jobs.py:333" in kinds


def test_functions_that_have_nothing_in_common_are_groups(tmp_path: Path) -> None:
    for rank, name in enumerate(("actor", "critic", "critic")):
        Log(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log").start(name=name).metrics().open()
    run = fresh(tmp_path)
    assert grouped(run) == [[0], [1, 2]] and found_in(run).count == 0
    groups = "Different work by design: rank 0; ranks 1, 2."
    assert flat_text(run, "@ranks").startswith(f"Ranks {groups} No difference within groups.")
    kinds = flat_text(run, "@matrix", 120)
    assert "rank 0 group: actor " in kinds and "ranks: 1, 2 group: critic " in kinds, "what they share, no number"


def test_one_function_in_common_and_ranks_are_compared(tmp_path: Path) -> None:
    ranked(tmp_path, "--ranks", 6, "--compiles", 4, "--detail", "tiny", "--plant", "missing_compile:ranks=2,compile=1")
    run = fresh(tmp_path)
    assert len(grouped(run)) == 1 and found_in(run).stages == () and found_in(run).count > 0


def test_the_page_has_the_order_of_the_times_that_it_prints() -> None:
    for name in ("torch-2.13/ddp", "torch-2.13/diverge"):
        data = page(trace(name), "@ranks").data()
        times = [one.start_at_us for one in data.differences.divergences if one.start_at_us is not None]
        assert times == sorted(times) and len(times) > 1


def test_what_rank_0_alone_prints_is_a_break_on_rank_0() -> None:
    """Graphs and guards follow from it, and what goes on after it is no compile that the others lack."""
    run = trace(LOGGING)
    [one] = found_in(run).divergences
    assert one.properties == ("breaks", "graph", "guards")
    assert "a graph break on rank 0 only, in forward: Failed to trace builtin operator, rank_jobs.py:94" in flat_text(run, "@run")
    assert "graph break on rank 0 only" in flat_text(run, "@ranks") and pace_of(run_steps(read_lanes(run))).extra == ()


def test_who_runs_what_one_rank_compiled_lacks_nothing(tmp_path: Path) -> None:
    """The configuration in its metrics tells; without it the function is missing on the others."""
    for setting, count in ((True, 0), (False, 1)):
        directory = tmp_path / str(setting)
        directory.mkdir()
        config = json.dumps({"compile_on_one_rank": setting})
        for rank in range(3):
            log = Log(directory / f"dedicated_log_torch_trace_rank_{rank}_x.log")
            log.start(name="helper").metrics(compiler_config=config, inline="no")
            if rank == 0:
                log.start(name="step", line=9, frame=1).metrics(frame=1, compiler_config=config, inline="no")
            log.open()
        run = fresh(directory)
        found = found_in(run)
        assert found.count == count and str(found.ranks_with_received_code) == ("1, 2" if setting else "")
        assert ("with compile_on_one_rank, all ranks run the code that one rank compiled" in flat_text(run, "@ranks")) is setting
