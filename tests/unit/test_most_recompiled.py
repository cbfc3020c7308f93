"""The frame that the summary names under Recompiles."""

from __future__ import annotations

from pathlib import Path

from made_logs import Log

from tltui.questions.overview.run_summary import MostRecompiled, summarise


def most_recompiled(log: Log) -> MostRecompiled:
    found = summarise(log.open().processes()).most_recompiled
    assert found is not None
    return found


def test_the_reason_of_an_older_recompile_is_not_told_as_that_of_the_last(tmp_path: Path) -> None:
    """Under `error_on_recompile` torch logs no reason with the compile that it refuses."""
    log = Log(tmp_path / "a.log").start().metrics()
    log.start(compile_=1).metrics(compile_=1, recompile_reason="0/0: n == 3")
    log.start(compile_=2).metrics(compile_=2, fail_type="<class 'RecompileError'>")
    found = most_recompiled(log)
    assert (found.newest_ref, found.recompiles, found.reason) == ("0/2", 2, None)


def test_of_frames_that_were_recompiled_as_often_the_dearer_one_is_named(tmp_path: Path) -> None:
    log = Log(tmp_path / "a.log")
    for frame, micros in ((0, 1_000), (1, 2_000)):
        log.start(f"f{frame}", frame=frame).metrics(frame=frame)
        log.start(f"f{frame}", frame=frame, compile_=1)
        log.metrics(frame=frame, compile_=1, duration_us=micros, recompile_reason=f"{frame}/0: n == 3")
    assert most_recompiled(log).code.name == "f1"
