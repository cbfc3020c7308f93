"""torchrun's summary of failed workers: the one that failed first, exit codes and signals, and those that it ended itself.

Format: `torch/distributed/elastic/multiprocessing/errors/__init__.py: ChildFailedError.format_msg`, the same since
torch 1.9. The first failure is the one with the earliest time stamp; workers that torchrun ended afterwards are listed with
SIGTERM: they are no failures of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"^(?P<name>.+) FAILED\s*$")
_FIELD = re.compile(r"^  (?P<key>time|host|rank|exitcode|error_file|traceback)\s*: ?(?P<value>.*)$")
_RANK = re.compile(r"(?P<rank>\d+) \(local_rank: (?P<local>\d+)\)")
_EXIT = re.compile(r"(?P<code>-?\d+) \(pid: (?P<pid>\d+)\)\s*(?:\((?P<signal>SIG\w+)\))?")
_ROOT, _OTHERS = "Root Cause (first observed failure):", "Failures:"
NOT_THERE = "<N/A>"


@dataclass(frozen=True, slots=True)
class WorkerEnd:
    """How one worker ended, as torchrun says."""

    rank: int | None
    local_rank: int | None
    pid: int | None
    exit_code: int | None
    signal: str = ""
    """`SIGKILL`"""
    host: str = ""
    time: str = ""
    """`2026-11-21_19:00:43`, local time of the host."""
    error_file: str = ""
    """'' for none."""
    traceback: str = ""
    """Where the worker's entry point has `@record`; '' else."""

    @property
    def is_ended_by_torchrun(self) -> bool:
        """Whether torchrun ended it, as another one had failed."""
        return self.signal == "SIGTERM"

    @property
    def exit(self) -> str:
        """`exit code 1`, `SIGSEGV`"""
        return self.signal or ("" if self.exit_code is None else f"exit code {self.exit_code}")


@dataclass(frozen=True, slots=True)
class TorchrunEnd:
    """One summary of failed workers."""

    offset: int
    """Bytes from the beginning of the file to the line that it begins with."""
    name: str
    """What was run: `train.py`."""
    root: WorkerEnd | None
    """The first failure; None where the text ends before it."""
    others: tuple[WorkerEnd, ...] = ()


def parse_torchrun(offset: int, text: str) -> TorchrunEnd:
    """Parse the message of a `ChildFailedError`, also one that is cut off."""
    name, section = "", ""
    root: list[dict[str, str]] = []
    others: list[dict[str, str]] = []
    key = ""
    for line in text.split("\n"):
        stripped = line.strip()
        if not section and (match := _NAME.match(line)):
            name = match["name"].strip()
        elif stripped in (_ROOT, _OTHERS):
            section, key = stripped, ""
        elif section and re.fullmatch(r"\[\d+\]:", stripped) and line[:1] == "[":
            (root if section == _ROOT else others).append({})
            key = ""
        elif section and (worker := (root if section == _ROOT else others)[-1:]):
            key = _take(worker[0], key, line)
    ends = [_worker(fields) for fields in root]
    return TorchrunEnd(offset, name, ends[0] if ends else None, tuple(map(_worker, others)))


def _take(fields: dict[str, str], key: str, line: str) -> str:
    """A line of a worker's block. Gives the field that it belongs to."""
    if key != "traceback" and (match := _FIELD.match(line)):
        fields[match["key"]] = match["value"]
        return match["key"]
    if key == "traceback" and line[:1].isspace():
        fields[key] += "\n" + line.removeprefix("  ")
        return key
    return ""


def _worker(fields: dict[str, str]) -> WorkerEnd:
    rank, ended = _RANK.match(fields.get("rank", "")), _EXIT.match(fields.get("exitcode", ""))
    said, error_file = fields.get("traceback", "").strip(), fields.get("error_file", "").strip()
    return WorkerEnd(
        int(rank["rank"]) if rank else None, int(rank["local"]) if rank else None, int(ended["pid"]) if ended else None,
        int(ended["code"]) if ended else None, (ended["signal"] or "") if ended else "", fields.get("host", "").strip(),
        fields.get("time", "").strip(), "" if error_file == NOT_THERE else error_file, said if said.startswith("Traceback") else "",
    )  # fmt: skip
