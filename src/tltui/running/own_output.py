"""The output of a job that `tltui run` starts, where a shell or Slurm sends it to a file: its end is kept beside the trace.

A job's last lines name the rank that failed first. On a terminal or in a pipe they pass by: only a file can be read again.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tltui.sources.kept import MARK, NAME, state_path
from tltui.text.atomic import replacing

KEPT_BYTES = 1 << 20
"""Bytes of the end of the output that are kept."""


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A regular file that this process, and the job with it, writes its standard error or output to."""

    descriptor: int
    begin: int
    """Bytes that were in it before the job started."""


def output_file() -> OutputFile | None:
    """Return the file of standard error, else that of standard output; None for a terminal or a pipe."""
    for descriptor in (2, 1):
        try:
            status = os.fstat(descriptor)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            return OutputFile(descriptor, status.st_size)
    return None


def keep_end(file: OutputFile, directory: str, words: Sequence[str], began: float, status: int) -> str:
    """Copy the end of a job's output to `output.txt` of its directory, with its state beside it; return the path.

    `status`: the exit code, or the negative number of a signal. Returns an empty text where the output cannot be read again, or the
    directory has such a file. Raises OSError.
    """
    path = os.path.join(directory, f"{NAME}.txt")
    source = f"/proc/self/fd/{file.descriptor}"
    if os.path.exists(path) or not os.path.exists(source):
        return ""
    with open(source, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        begin = max(file.begin, size - KEPT_BYTES)
        stream.seek(begin)
        data = stream.read(size - begin)
    missing = begin - file.begin
    if missing:
        cut = data.find(b"\n") + 1
        data, missing = data[cut:], missing + cut
    state = {
        "written_by": MARK, "command": list(words), "host": socket.gethostname(), "pid": 0, "began": began, "ended": time.time(),
        "code": status, "held": False, "missing": missing, "why": "only the end of the output is kept" if missing else "",
    }  # fmt: skip
    for target, content in ((state_path(path), json.dumps(state).encode("ascii") + b"\n"), (path, data)):
        with replacing(Path(target), force=False) as out:
            out.write(content)
    return path
