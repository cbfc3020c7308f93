"""One run of a job with changes that need no edit: its environment, its processes, what it left."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tltui.model.follow import open_run
from tltui.model.run import Run
from tltui.questions.problems.problem_list import problems
from tltui.questions.recompiles.equal_sizes import equal_sizes
from tltui.questions.recompiles.explanations import explained_of
from tltui.questions.recompiles.frame_recompiles import frame_recompiles, frames_of, may_end, recompiles_of, settings_of
from tltui.questions.recompiles.guard_table import guards_of
from tltui.questions.trials.changes import Change, FrameCauses, Predictor, changes
from tltui.running.job import Job, start
from tltui.running.job_trace import DTRACE, TRACE, TraceOptions, add_hook, logs_in, prepare, tracing_pids
from tltui.sources.job_output import NAME
from tltui.text.frozen import frozen
from tltui.text.steps import run_steps

CHANGES, DIRECTORY, UNTIL = "TLTUI_TRIAL_CHANGES", "TLTUI_TRIAL_DIRECTORY", "TLTUI_TRIAL_UNTIL_STEP"
"""Variables with the options of `hook/_tltui_trial.py`."""
CACHES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
"""Variables of torch's caches → directory of a run's own."""
TERMINAL = (200, 50)
POLL_S = 0.05
GRACE_S = 5.0
"""Seconds between SIGINT and SIGKILL, and for processes that end by themselves after the job."""


@frozen
class Surroundings:
    """What all runs have in common."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str
    """Its subdirectories are one per run."""
    cwd: str = ""
    until_step: int = 0
    """The step after which each process ends; 0: when the program does."""
    keeps_caches: bool = False


@frozen
class TrialRun:
    """What a run left."""

    directory: str
    trace: str
    """The directory of its trace."""
    output: str
    """The file with its output."""
    code: int
    """Exit code as a shell has it."""
    seconds: float
    """From start to end, by the clock."""
    step_s: float | None
    """Median seconds of its later steps; None if it has fewer than `MIN_STEPS`."""
    unsupported: tuple[str, ...]
    """Settings that its torch lacks."""
    timed_out: bool = False


MIN_STEPS = 4
WARM_UP = 0.5
"""Share of the steps that are left out: compilation and warm-up happen in the first ones."""


def run_trial(shared: Surroundings, number: int, change: Change, limit_s: float) -> TrialRun:
    """Run the job once with a change and wait for its end.

    No process of it is left afterwards, also when this is interrupted. `limit_s`: the seconds after which it is ended.
    Raises `NotStarted`, `Refused`, OSError.
    """
    place = Path(shared.directory) / f"run-{number}"
    place.mkdir(parents=True)
    environment, trace = _environment(shared, place, change)
    began, timed_out = time.monotonic(), False
    job = start(_in_directory(shared), environment, str(place), TERMINAL)
    try:
        while job.runs:
            if time.monotonic() - began > limit_s:
                timed_out = True
                break
            time.sleep(POLL_S)
        seconds = time.monotonic() - began
    finally:
        end(job, trace)
        for name in CACHES.values():
            shutil.rmtree(place / name, ignore_errors=True)
    step_s, unsupported = _steps(place)
    code = job.state.exit_code if job.state is not None else 0
    return TrialRun(str(place), trace, str(place / f"{NAME}.txt"), code, seconds, step_s, unsupported, timed_out)


def _in_directory(shared: Surroundings) -> Sequence[str]:
    """Return the command; a shell changes the directory first, since the keeper has none to give."""
    if not shared.cwd:
        return shared.words
    return ("/bin/sh", "-c", 'cd "$0" && exec "$@"', shared.cwd, *shared.words)


def _environment(shared: Surroundings, place: Path, change: Change) -> tuple[dict[str, str], str]:
    """Return the environment of a run and the directory of its trace."""
    inherited = {name: value for name, value in shared.environment.items() if name not in (TRACE, DTRACE)}
    prepared = prepare(TraceOptions(str(place / "trace")), inherited)
    environment = prepared.environment
    if not shared.keeps_caches:
        environment.update({name: str(place / directory) for name, directory in CACHES.items()})
    environment.update(change.environment)
    changes = {"arguments": dict(change.arguments), "config": dict(change.config)}
    environment.update({CHANGES: json.dumps(changes), DIRECTORY: str(place), UNTIL: str(shared.until_step)})
    add_hook(environment)
    return environment, prepared.directory


def end(job: Job, trace: str) -> None:
    """End a job with all its processes: SIGINT first, SIGKILL after `GRACE_S` seconds. `trace`: the directory of its trace."""
    if job.runs:
        job.interrupt()
        _await(lambda: job.runs)
    if job.runs:
        job.kill()
        _await(lambda: job.runs)
    _await(lambda: bool(tracing_pids(trace)))
    for pid in tracing_pids(trace):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:  # it has ended
            continue


def _await(condition: Callable[[], bool]) -> None:
    """Wait while a condition holds, at most `GRACE_S` seconds."""
    until = time.monotonic() + GRACE_S
    while condition() and time.monotonic() < until:
        time.sleep(POLL_S)


def _steps(place: Path) -> tuple[float | None, tuple[str, ...]]:
    """Return the seconds of a step and the settings that this torch lacks, from the files of the hook."""
    medians: list[float] = []
    unsupported: set[str] = set()
    for path in sorted(place.glob("steps_*.json")):
        try:
            stored = json.loads(path.read_bytes())
            times, lacking = [float(value) for value in stored["times"]], stored["unsupported"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        unsupported.update(str(name) for name in lacking)
        steps = [after - before for before, after in itertools.pairwise(times)]
        if len(steps) >= MIN_STEPS:
            medians.append(statistics.median(steps[int(len(steps) * WARM_UP) :]))
    return (statistics.median(medians) if medians else None), tuple(sorted(unsupported))


def changes_of(run: Run) -> tuple[tuple[Change, ...], Predictor]:
    """Return the changes worth a trial after an unchanged run, and what predicts sets of them."""
    compiles = [compile_ for compile_ in run.compiles() if compile_.is_compile]
    frames = []
    for frame, _ in frames_of(compiles):
        explained = [explained_of(compile_) for compile_ in recompiles_of(frame)]
        guards = run_steps(guards_of(frame, explained))
        summary = frame_recompiles(frame, explained, explained, guards)
        if guards is None:
            frames.append(FrameCauses(summary.variations, None))
            continue
        is_static = settings_of(frame).automatic_dynamic is False
        frames.append(FrameCauses(summary.variations, guards.calls, equal_sizes(frame, guards), is_static, may_end(frame),
                                  guards.constant_floats, guards.parameters))  # fmt: skip
    predictor = Predictor(frames)
    return changes(frames, problems(compiles), predictor), predictor


def run_of(ended: TrialRun) -> Run | None:
    """Open the trace of a run; None if it left no log."""
    discovered, _ = logs_in(ended.trace, frozenset())
    return open_run(discovered) if discovered is not None else None
