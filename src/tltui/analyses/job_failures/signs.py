"""Last words of others: the shell, the kernel, slurm, NCCL's watchdog. Each is one line that says how a process ended, or why."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tltui.analyses.job_failures.lines import TextLine

OOM, KILLED, SIGNAL, TIMEOUT, CANCELLED, WORKER = "out of memory", "killed", "signal", "timeout", "cancelled", "worker"
LOOKED_AT = 2000
"""Columns of a line that are looked at: last words are short."""
_RANKED = re.compile(r"^(?:\[default\d+\]:)?\[rank(\d+)\]:|\[(?:Rank|rank) (\d+)\]|\bRank (\d+)\]")


@dataclass(frozen=True, slots=True)
class SignRow:
    """One kind of last words."""

    kind: str
    needle: bytes
    """Stands in each such line."""
    pattern: re.Pattern[str]
    means: str
    """In a sentence, for somebody who has not seen it before."""
    source: str
    """Who writes it."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One line that tells of an end."""

    offset: int
    kind: str
    text: str
    means: str
    rank: int | None = None
    pid: int | None = None


def _row(kind: str, needle: str, pattern: str, means: str, source: str) -> SignRow:
    return SignRow(kind, needle.encode(), re.compile(pattern), means, source)


_END = r"(?:\s*$|\s{2,}|\s+\(core dumped\))"
_SHELL = r"(?:^|: line \d+:\s+|^\S+: task \d+: ?)(?P<pid>\d+)? ?"
_STRSIGNAL = "strsignal of the C library, as bash and slurm print it"
SIGNS: tuple[SignRow, ...] = (
    _row(
        OOM, "oom_kill event", r"Detected \d+ oom_kill events? in ",
        "the job used more memory than slurm gave it: the kernel killed processes of it",
        "slurm, plugins/task/cgroup/task_cgroup_memory.c",
    ),
    _row(
        OOM, "oom-kill", r"Detected \d+ oom-kill event\(s\) in |\boom-kill:constraint=",
        "a process used more memory than it may: the kernel killed it", "slurm before 20.11; Linux, mm/oom_kill.c",
    ),
    _row(
        OOM, "Out of memory", r"Out of memory: Killed process (?P<pid>\d+)",
        "the machine ran out of memory: the kernel killed a process", "Linux, mm/oom_kill.c",
    ),
    _row(OOM, "OOMKilled", r"\bOOMKilled\b", "the container used more memory than it may", "Kubernetes, the state of a container"),
    _row(
        CANCELLED, "DUE TO TIME LIMIT", r"\*\*\* \w+ \S+ ON \S+ CANCELLED (?:AT \S+ )?DUE TO TIME LIMIT \*\*\*",
        "the job's time was up: slurm ended it", "slurm, slurmd/slurmstepd/req.c",
    ),
    _row(
        CANCELLED, "CANCELLED", r"\*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED",
        "slurm ended the job: cancelled, preempted, or a node failed", "slurm, slurmd/slurmstepd/req.c",
    ),
    _row(
        TIMEOUT, "Watchdog caught collective operation timeout",
        r"\[[Rr]ank \d+\] Watchdog caught collective operation timeout: ",
        "a collective did not come to its end in time: some rank did not take part in it",
        "torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp",
    ),
    _row(
        WORKER, "is killed by signal", r"DataLoader worker \(pid (?P<pid>\d+)\) is killed by signal",
        "a worker of a DataLoader was ended, often for want of memory or of /dev/shm", "torch/csrc/DataLoader.cpp",
    ),
    _row(
        KILLED, "srun: error: ", r"^srun: error: \S+: tasks? [\d,-]+: (?:Killed|Out Of Memory)",
        "slurm says that tasks were killed", "slurm, srun/libsrun/launch.c",
    ),
    _row(
        KILLED, "Killed", rf"{_SHELL}Killed{_END}",
        "SIGKILL: most often the kernel's out-of-memory killer, else somebody's kill -9", _STRSIGNAL,
    ),
    _row(SIGNAL, "Segmentation fault", rf"{_SHELL}Segmentation fault{_END}", "a crash in compiled code (SIGSEGV)", _STRSIGNAL),
    _row(SIGNAL, "Bus error", rf"{_SHELL}Bus error{_END}", "SIGBUS: most often /dev/shm or a disk is full", _STRSIGNAL),
    _row(SIGNAL, "Aborted", rf"{_SHELL}Aborted{_END}", "SIGABRT: compiled code gave up; what it said stands before", _STRSIGNAL),
)  # fmt: skip
"""The first row that fits a line counts."""
NEEDLES = tuple(dict.fromkeys(row.needle for row in SIGNS))


def sign_of(line: TextLine) -> Sign | None:
    """What a line says of an end; None for nothing."""
    rows = [row for row in SIGNS if row.needle in line.data]
    if not rows:
        return None
    text = line.text[:LOOKED_AT]
    bare = re.sub(r"^(?:\[default\d+\]:|\d{1,6}: )", "", text)
    for row in rows:
        if match := row.pattern.search(bare):
            ranked = _RANKED.search(text)
            number = next((group for group in ranked.groups() if group), None) if ranked else None
            rank = int(number) if number else line.rank
            pid = match.groupdict().get("pid")
            return Sign(line.offset, row.kind, bare.strip(), row.means, rank, int(pid) if pid else None)
    return None
