"""Log files below a directory: recognised by their beginning, and those of the newest run."""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tltui.inputs.archives import INSIDE, packing_of
from tltui.inputs.directory_layouts import RAW_LOG, RAW_ROWS, Report, is_rows, layout_of, report_in
from tltui.inputs.flight_recorder import is_dump
from tltui.inputs.forms import TEXT, form_of
from tltui.inputs.text.line_grammar import last_clock, recognise
from tltui.sources.discovery_results import OTHER, FoundLog, Skipped
from tltui.sources.saved_indexes import INDEX, is_index
from tltui.text.payload import Payload
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
    """Return the sort key of logs by time."""
    return log.started, log.path if log.is_here else log.label


def latest_run(logs: Sequence[FoundLog]) -> tuple[list[FoundLog], list[str]]:
    """Choose the logs of the newest run and the job output of that time; return them with remarks on ambiguities."""
    timed = [_timed(log) for log in logs if not log.is_output]
    run = newest(timed)
    chosen, notes = _one_job(run)
    began, ended = min(log.started for log in chosen), max(log.ended for log in chosen)
    dropped = {_directory(log) for log in run} - {_directory(log) for log in chosen}
    outputs = [
        log for log in logs
        if log.is_output and log.ended >= began and (log.clock is None or log.clock <= ended) and _directory(log) not in dropped
    ]  # fmt: skip
    names = {log.name for log in (*chosen, *outputs)}
    return [log for log in logs if log.name in names], notes


def newest(logs: Sequence[FoundLog]) -> list[FoundLog]:
    """Return the logs of the newest run: the last log to start and all that belong to it.

    Those are logs whose times overlap with the run's, its other launches (`attempt_K` beside `attempt_K`), and missing ranks that
    ended just before: ranks do not compile at the same time.
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
        why = "have logs of the same time without ranks. Whether they are one job is unknown, so all are open"
        return run, [f"--latest: {_listed(common, order)} {why}"]
    first = have[0] - {None}
    repeated = [name for name, ranks in zip(order[1:], have[1:], strict=True) if first & ranks]
    if not repeated:
        return run, []
    same = [name for name in repeated if began[name] == began[order[0]]]
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began[order[0]]))
    place = os.path.join(common, order[0])
    listed = _listed(common, same or repeated)
    how = f"started {when}, at the same time as {listed}" if same else f"started last, {when}, during the run of {listed}"
    chosen = [log for name in order if name not in repeated for log in jobs[name]]
    return chosen, [f"--latest opened only {place}: it {how}"]


def _listed(common: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(os.path.join(common, name) for name in sorted(names)[:NAMED]) + more


def _directory(log: FoundLog) -> str:
    """Return the directory of a log, or of the saved index that has it; of a launch the directory of all launches."""
    if not log.is_here:
        return os.path.dirname(os.path.abspath(log.index))
    return _job(log) if log.launch else os.path.dirname(os.path.abspath(log.name.replace(INSIDE, os.sep)))


def _job(log: FoundLog) -> str:
    """Return the parent of the launch directories."""
    parts = os.path.abspath(log.name.replace(INSIDE, os.sep)).split(os.sep)
    return os.sep.join(parts[: len(parts) - 1 - parts[::-1].index(log.launch)])


SNIFF = 1 << 16
SNIFF_ON = 64 << 20
"""How far a file is searched that begins with NULs, blank lines or payload lines."""
_BEGIN = rb"^\x00*(?!\x00)[^\t\n]{0,80}?[A-Z]\d{4} \d\d:\d\d:\d\d\.\d{6,} \d+ [^\n]{1,500}?:\d+\]"
_RECORD = re.compile(_BEGIN + rb' ?\{[\r\x00]*(?:"|\}|$)', re.MULTILINE)
_CUT = re.compile(rb"(?:\xef\xbb\xbf)?V\d{4} \d\d:\d\d:\d\d\.\d{6,} \d+(?: [^\n\]]*(?:\] ?)?)?")
"""A log that ends inside its first line (full match)."""

EMPTY = "the file is empty"
UTF_16 = "UTF-16 text without a byte order mark; convert it to UTF-8 first"
PACKED = "packed"
"""Of what is looked into (`sources/packed_sources.py`)."""
REPORT = "a tlparse report without the trace"
_NAMED = re.compile(
    r"torch_trace|torch_compile|tlparse|(?:^|[_.-])rank[_.-]?\d|\.trace\.json|\.(?:log|err|out|stdout|stderr|tlx)(?:\.\w{1,5}){0,2}$",
    re.IGNORECASE,
)
"""Names that torch, launchers, schedulers and tltui give to what they write, also where it is rotated or compressed."""


def is_named_like_a_log(name: str) -> bool:
    """Return whether a file of this name is opened first where there are too many to open all."""
    return _NAMED.search(name) is not None


def head_of(file: FileBytes) -> bytes:
    """Return the beginning of a file, from the first block that is not blank.

    A log without its first line may begin with a large payload; one that was truncated while it was written begins with NULs.
    """
    head = file.read(0, SNIFF)
    if head[:1] not in (b"\t", b"\n", b"\r", b"\x00") or _RECORD.search(head):
        return head
    at, size = len(head), 1 << 20
    while at < SNIFF_ON and (more := file.read(at, size)):
        # overlap: the first line of a record may lie on the edge
        match = _RECORD.search(file.read(max(at - SNIFF, 0), SNIFF) + more)
        if match:
            return match.string[match.start() :].lstrip(b"\x00")[:SNIFF]
        if not head.strip(b"\r\n \x00"):
            head = more
        at += len(more)
    return head


def why_no_log(head: bytes, name: str, is_named: bool) -> str:
    """Explain from the beginning of a file why it is no log of any form; '' if it is one."""
    reason = not_a_log(head, name)
    if reason != OTHER:
        return reason
    from tltui.inputs.profile_reader import is_profile

    if is_profile(head) or is_dump(head) or form_of(head):
        return ""
    text = recognise(Payload.of(head).source, name, is_named, time.time())
    return "" if text.certainty else text.reason or reason


def not_a_log(head: bytes, name: str = "") -> str:
    """Why the beginning of a file is not that of a `TORCH_TRACE` log; '' when it is one."""
    if not head.strip(b"\r\n \x00") and not packing_of(head, name):
        return EMPTY if not head else "no records"
    if packing_of(head, name):
        return PACKED
    if is_index(head):
        return INDEX
    if is_rows(head):
        return REPORT
    if _RECORD.search(head) or (len(head) < SNIFF and _CUT.fullmatch(head)):
        return ""
    head = head.lstrip(b"\x00")
    if head[:64].count(0) > 16:
        return UTF_16 if not head[:64:2].strip(b"\x00") or not head[1:64:2].strip(b"\x00") else OTHER
    return OTHER


MAX_DEPTH = 8
MAX_FILES = 20_000
"""Files of a directory that are opened whatever their names are; as many again with names of logs."""
MAX_LISTED = 1_000_000
"""Files and directories whose names are read."""


def walk(top: str, skipped: list[Skipped]) -> Iterator[str]:
    """Yield regular files below a directory, breadth first, and unit directories in place of their files.

    Of very many files only those with names of logs are returned: the others are counted, and the directory is the first skipped.
    """
    queue, chosen = [(top, 0)], _Chosen()
    while queue and chosen.listed < MAX_LISTED:
        directory, depth = queue.pop(0)
        try:
            with os.scandir(directory) as entries:
                listing = sorted(entries, key=lambda entry: _natural(entry.name))
        except OSError as error:
            skipped.append(Skipped(directory, error.strerror or str(error)))
            continue
        chosen.listed += 1
        report = report_in({entry.name for entry in listing})
        if report is not Report.NONE:  # whatever else is in it says the same once more, or is a page to be looked at
            yield os.path.join(directory, RAW_LOG if report is Report.WITH_LOG else RAW_ROWS)
            continue
        if (units := layout_of(directory, listing)) is not None:
            yield directory
            if units.inside is None:
                continue
        for entry in listing:
            if units is not None and units.inside is not None and entry.name in units.inside:
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH:
                    queue.append((entry.path, depth + 1))
                else:
                    skipped.append(Skipped(entry.path, f"more than {MAX_DEPTH} levels deep"))
            elif entry.is_symlink() and os.path.isdir(entry.path):
                if not _is_inside(entry.path, top):
                    skipped.append(Skipped(entry.path, "a symbolic link to a directory: not followed"))
            elif chosen.takes(entry.name):
                yield entry.path
    if reason := chosen.stopped(is_all=not queue):
        skipped.insert(0, Skipped(top, reason))


class _Chosen:
    """Counts files, and chooses those that are opened."""

    def __init__(self) -> None:
        self.listed = 0
        """Files and directories whose names were read."""
        self._files = self._log_like = 0

    def takes(self, name: str) -> bool:
        """Whether the next file is opened."""
        self._files += 1
        self.listed += 1
        if self._files <= MAX_FILES:
            return True
        if self._log_like == MAX_FILES or not is_named_like_a_log(name):
            return False
        self._log_like += 1
        return True

    def stopped(self, is_all: bool) -> str:
        """How many files were not opened; '' where all were."""
        opened = min(self._files, MAX_FILES) + self._log_like
        if is_all and opened == self._files:
            return ""
        more, first = "" if is_all else "more than ", ", files with log names first" if self._log_like else ""
        return f"stopped after {opened:,} of {more}{self._files:,} files{first}. Give the log or its directory"


def _is_inside(path: str, top: str) -> bool:
    """Return whether the target of a link is reached by the walk anyway."""
    real = os.path.realpath(top)
    return os.path.commonpath([os.path.realpath(path), real]) == real


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]
