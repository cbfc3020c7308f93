"""The command of a recorded job, in `job.json` of its trace directory: `tltui run` writes it, `tltui try DIR` reads it.

A command is run only if the file and its directory belong to this user and nobody else can write them.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from tltui.sources.job_output import MARK
from tltui.text.frozen import frozen
from tltui.text.safe_files import read_small_json, replacing

JOB = "job.json"
MAX_BYTES = 1 << 20
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Untrusted(Exception):
    """The recorded command is not run; the text has the reason."""


@frozen
class RecordedJob:
    """A command and where it ran."""

    command: tuple[str, ...]
    cwd: str
    variables: tuple[str, ...]
    """Names of the environment variables that it had; values are not recorded."""


def write_job(directory: str, command: Sequence[str], variables: Iterable[str]) -> None:
    """Write `job.json` with mode 0600, unless the directory has one. Raises OSError."""
    path = Path(directory, JOB)
    if path.exists():
        return
    content = {"written_by": MARK, "command": list(command), "cwd": os.getcwd(), "variables": sorted(variables)}
    with replacing(path, force=False, private=True) as file:
        file.write(json.dumps(content, indent=1).encode("ascii") + b"\n")


def read_job(directory: str) -> RecordedJob:
    """Return the recorded command. Raises `Untrusted`."""
    path = os.path.join(directory, JOB)
    for place in (directory, path):
        try:
            status = os.lstat(place)
        except OSError as error:
            raise Untrusted(f"{place}: {error.strerror}; tltui run writes it") from None
        if stat.S_ISLNK(status.st_mode):
            raise Untrusted(f"{place}: a symbolic link")
        if status.st_uid != os.geteuid():
            raise Untrusted(f"{place}: belongs to another user")
        if status.st_mode & _WRITABLE_BY_OTHERS:
            raise Untrusted(f"{place}: others can write it")
    try:
        stored = read_small_json(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        raise Untrusted(f"{path}: {error}") from None
    command = stored.get("command") if isinstance(stored, dict) else None
    cwd = stored.get("cwd") if isinstance(stored, dict) else None
    variables = stored.get("variables", []) if isinstance(stored, dict) else []
    if not (_are_texts(command) and command and isinstance(cwd, str) and _are_texts(variables)):
        raise Untrusted(f"{path}: not a job recorded by tltui run")
    return RecordedJob(tuple(command), cwd, tuple(variables))


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and "\0" not in item for item in value)
