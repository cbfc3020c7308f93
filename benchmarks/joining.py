"""Joining of a trace of 500,000 records with an output of as many."""

from __future__ import annotations

import json
import time
from pathlib import Path

from rows import Bench, Row, at_most

RECORDS = 500_000
QUICK = 50_000
HELD = 0.1
"""Seconds that no step may take: the gate is closed for so long."""
EVENT = (
    'V1120 09:22:47.015000 3536 torch/_dynamo/utils.py:1] '
    '{"chromium_event": {}, "frame_id": %d, "frame_compile_id": 0, "attempt": 0}\n'
)
LINE = "W1120 09:22:47.015000 3536 torch/_dynamo/x.py:%d] [%d/0] message %d\n"


def write_job(directory: Path, records: int) -> Path:
    """Write the trace and the output of a job with 500 compiles, if they are not there."""
    job = directory / f"joined-{records}"
    if (job / "out.txt").exists():
        return job
    job.mkdir(parents=True, exist_ok=True)
    with (job / "dedicated_log_torch_trace_1.log").open("w") as trace:
        for frame in range(500):
            start = {"dynamo_start": {"stack": []}, "frame_id": frame, "frame_compile_id": 0, "attempt": 0}
            trace.write(f"V1120 09:22:47.015000 3536 torch/_dynamo/x.py:1] {json.dumps(start)}\n")
        trace.writelines(EVENT % (number % 500) for number in range(records))
    with (job / "out.txt").open("w") as out:
        for number in range(records // 2):
            out.write(LINE % (number % 9 + 1, number % 500, number) + f"epoch {number} loss 0.3\n")
    return job


def joining(keep: Path, quick: bool) -> list[Row]:
    """Measure all steps of a join, and the longest of them."""
    from tltui.model.follow import Follower
    from tltui.model.run import Run
    from tltui.sources.discover import discover

    run = Run(discover([str(write_job(keep, QUICK if quick else RECORDS))]))
    for event in Follower(run).read(8 << 20):
        run.update(event)
    records, steps, longest = sum(len(model.log) for model in run.models), run.join(), 0.0
    begin = last = time.perf_counter()
    for _ in steps:
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    took = time.perf_counter() - begin
    return [
        at_most(f"join {records:,} records: the longest step", longest, HELD, "s"),
        Row(f"join {records:,} records: all steps", "", f"{took:.2f} s", None),
    ]


BENCHES: dict[str, Bench] = {"joining": joining}
