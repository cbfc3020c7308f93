"""Which logs are those of the newest run: by the times of their records, which copies keep, unlike the times of files.

Times are those of events (`"ts"` in microseconds since the epoch), and in TORCH_LOGS text those of messages. A log without any has
the time of its last change.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from tltui.inputs.archives.magic import INSIDE
from tltui.inputs.table import TEXT
from tltui.inputs.text.recognise import last_clock
from tltui.sources.found import FoundLog
from tltui.trace.files import FileBytes

TOGETHER = 60.0
"""Seconds by which a rank may have ended before the others began, and still belong to their run."""
NAMED = 3
"""Directories that a remark names."""
ENDS = (1 << 16, 1 << 20)
"""Bytes at the end of a log in which its last event is looked for; the second number where the first has none."""
CLOCK = re.compile(rb'"ts": ?(\d{15,17}(?:\.\d+)?)')
_RANK = re.compile(rb'"rank": ?(\d{1,9})[,}]')


def age(log: FoundLog) -> tuple[float, str]:
    """The order of logs."""
    return log.started, log.path if log.is_here else log.label


def latest_run(logs: Sequence[FoundLog]) -> tuple[list[FoundLog], list[str]]:
    """Choose the logs of the newest run, and what jobs printed meanwhile. Also returns remarks on what could not be told apart."""
    timed = [_timed(log) for log in logs if not log.is_output]
    run = newest(timed)
    chosen, notes = _one_job(run)
    began, ended = min(log.started for log in chosen), max(log.ended for log in chosen)
    dropped = {_directory(log) for log in run} - {_directory(log) for log in chosen}
    outputs = [
        log for log in logs
        if log.is_output and log.ended >= began and (log.clock is None or log.clock <= ended) and _directory(log) not in dropped
    ]  # fmt: skip
    wanted = {log.name for log in (*chosen, *outputs)}
    return [log for log in logs if log.name in wanted], notes


def newest(logs: Sequence[FoundLog]) -> list[FoundLog]:
    """The logs of the newest run: the last one to start and all that belong to it.

    Those are logs whose times overlap with the run's, its other launches (`attempt_K` beside `attempt_K`), and ranks
    that it lacks and that ended just before: ranks do not compile at the same time.
    """
    ordered = sorted(logs, key=lambda log: log.started, reverse=True)
    run, since = ordered[:1], ordered[0].started
    for log in ordered[1:]:
        lacking = log.rank is not None and all(other.rank not in (log.rank, None) for other in run)
        relaunched = log.launch != "" and any(other.launch != "" and _job(other) == _job(log) for other in run)
        if log.ended >= since or relaunched or (lacking and log.ended >= since - TOGETHER):
            run.append(log)
            since = min(since, log.started)
    return sorted(run, key=age)


def _timed(log: FoundLog) -> FoundLog:
    """Return the log with the time of its last event as its end. A log that only an index has keeps its times."""
    if not log.is_here or log.clock is None:
        return log
    source = FileBytes(log.path)
    try:
        ends = (_last_time(source.read(max(log.size - size, 0), size), log) for size in ENDS)
        last = next((end for end in ends if end is not None), log.ended)
        rank = log.rank if log.rank is not None else _stated_rank(source)
    except OSError:  # whoever reads it will say so
        return log
    return replace(log, rank=rank, ended=min(last, log.ended))  # a copy is changed later than its last record, never before


def _last_time(data: bytes, log: FoundLog) -> float | None:
    """Return when the last event or message in these bytes was written; None where there is none."""
    if log.form == TEXT:
        return last_clock(data, log.ended)
    return max((float(time_us) / 1e6 for time_us in CLOCK.findall(data)), default=None)


def _stated_rank(source: FileBytes) -> int | None:
    """Return the rank that the first records with a rank state."""
    match = _RANK.search(source.read(0, ENDS[0]))
    return int(match[1]) if match else None


def _one_job(run: list[FoundLog]) -> tuple[list[FoundLog], list[str]]:
    """Choose the job that began last of those that ran at once in different directories, as the tasks of a job array do."""
    jobs: dict[str, list[FoundLog]] = defaultdict(list)
    common = os.path.commonpath([_directory(log) for log in run])
    for log in run:
        jobs[os.path.relpath(_directory(log), common).split(os.sep)[0]].append(log)
    began = {name: min(log.started for log in of_job) for name, of_job in jobs.items()}
    order = sorted(jobs, key=lambda name: (began[name], name), reverse=True)
    have = [{log.rank for log in jobs[name]} for name in order]
    if len(order) < 2:
        return run, []
    if all(ranks == {None} for ranks in have):
        why = "have logs of the same time without ranks: it is not known whether they are one job, and all are open"
        return run, [f"--latest: {_listed(common, order)} {why}"]
    first = have[0] - {None}
    others = [name for name, ranks in zip(order[1:], have[1:], strict=True) if first & ranks]
    if not others:
        return run, []
    same = [name for name in others if began[name] == began[order[0]]]
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began[order[0]]))
    place = os.path.join(common, order[0])
    named = _listed(common, same or others)
    how = f"began {when}, and so did {named}" if same else f"began last, {when}, while {named} ran"
    chosen = [log for name in order if name not in others for log in jobs[name]]
    return chosen, [f"--latest: {place} is open: it {how}; {'that is' if len(others) == 1 else 'these are'} left out"]


def _listed(common: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(os.path.join(common, name) for name in sorted(names)[:NAMED]) + more


def _directory(log: FoundLog) -> str:
    """Return the directory of a log, or of the saved index that has it; of a launch the directory of all launches."""
    if not log.is_here:
        return os.path.dirname(os.path.abspath(log.index))
    return _job(log) if log.launch else os.path.dirname(os.path.abspath(log.name.replace(INSIDE, os.sep)))


def _job(log: FoundLog) -> str:
    """The directory that holds the directories of the launches."""
    parts = os.path.abspath(log.name.replace(INSIDE, os.sep)).split(os.sep)
    return os.sep.join(parts[: len(parts) - 1 - parts[::-1].index(log.launch)])
