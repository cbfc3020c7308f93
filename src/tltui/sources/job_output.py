"""Stored output and state of a job that tltui started (output.txt, output.json)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from tltui.inputs.forms import TEXT
from tltui.sources.discovery_results import FoundLog
from tltui.text.frozen import frozen
from tltui.text.safe_files import read_small_json

NAME = "output"
"""What the files are called; a second job in the same directory gets `output-2`."""
MARK = "tltui run"
"""What `output.json` says of who wrote it."""
_TEXT = re.compile(rf"{NAME}(?:-\d{{1,4}})?\.txt")
_STATE = re.compile(rf"{NAME}(?:-\d{{1,4}})?\.json")
_UP_TO = 1 << 20


@frozen
class JobState:
    """The state of a job."""

    command: tuple[str, ...]
    pid: int
    began: float
    """Seconds since the epoch."""
    host: str
    keeper: int
    """The process that keeps its output."""
    keeper_began: str
    """When that began, as its system counts: a number is given to another process some day."""
    ended: float | None = None
    code: int | None = None
    """How it ended, as `subprocess` says it: its exit code, or the negative number of a signal."""
    held: bool = False
    """Processes that it left behind still have its terminal, and may print."""
    missing: int = 0
    """Bytes that it printed and that could not be kept."""
    why: str = ""
    """Why not."""

    @property
    def exit_code(self) -> int:
        """The exit code in the shell's convention: 128 plus the signal number for a killed job."""
        code = self.code or 0
        return code if code >= 0 else 128 - code


def is_job_output(path: str) -> bool:
    """Whether a file was written by tltui: text with its state beside it, or that state. Neither is somebody's log."""
    directory, name = os.path.split(path)
    if _TEXT.fullmatch(name):
        path = os.path.join(directory, name[:-4] + ".json")
    elif not _STATE.fullmatch(name):
        return False
    return _stored(path) is not None


def is_text(path: str) -> bool:
    """Return whether a stored file is the output of a job."""
    return path.endswith(".txt")


def state_path(output: str) -> str:
    """Return the path of the state file for an output file."""
    return output.removesuffix(".txt") + ".json"


def read_state(output: str) -> JobState | None:
    """Read the state of the job that wrote an output file; None if it is unreadable."""
    stored = _stored(state_path(output))
    if stored is None:
        return None
    command = stored.get("command")
    words = tuple(map(str, command)) if isinstance(command, list) else ()
    ended, code = stored.get("ended"), stored.get("code")
    return JobState(
        words, _number(stored, "pid"), _seconds(stored.get("began")) or 0.0, str(stored.get("host", "")),
        _number(stored, "keeper"), str(stored.get("keeper_began", "")), _seconds(ended),
        code if isinstance(code, int) and not isinstance(code, bool) and abs(code) < 1 << 16 else None,
        stored.get("held") is True, _number(stored, "missing"), str(stored.get("why", "")),
    )  # fmt: skip


def output_log(output: str) -> FoundLog | None:
    """Return the output of a job as a log with the start and end times of the job; None if the file is missing."""
    try:
        status = os.stat(output)
    except OSError:
        return None
    state = read_state(output)
    began, ended = (state.began, state.ended) if state is not None else (0.0, None)
    return FoundLog(
        output, status.st_size, None, "", began or status.st_mtime, ended or status.st_mtime, began or None, TEXT, is_output=True
    )  # fmt: skip


def _host() -> str:
    import socket  # few logs are kept by a job of ours

    return socket.gethostname()


def is_recorded_job(state: JobState, host: Callable[[], str] = _host, proc: str = "/proc") -> bool | None:
    """Whether the process that keeps the output is still there; None where that cannot be known."""
    if not state.host or state.host != host() or not state.keeper:
        return None
    began = process_began(state.keeper, proc)
    if began is None or not state.keeper_began:
        return None if not os.path.isdir(f"{proc}/self") else False
    return began == state.keeper_began


def process_began(pid: int, proc: str = "/proc") -> str | None:
    """When a process began, in ticks since the system did (proc(5), field 22 of stat); None where there is none of that number."""
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return fields[19].decode("ascii", "replace") if len(fields) > 19 and fields[0] != b"Z" else None


def _stored(path: str) -> dict[str, Any] | None:
    try:
        stored = read_small_json(path, _UP_TO)
    except (OSError, ValueError):
        return None
    return stored if isinstance(stored, dict) and stored.get("written_by") == MARK else None


def _number(stored: dict[str, Any], name: str) -> int:
    value = stored.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else 0


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1 << 40 else None
