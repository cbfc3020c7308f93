"""Copying over SSH: into the terminal's clipboard where that works, and always into a file as well."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tltui.text.atomic import replacing

LIMIT = 74_000
"""Bytes that terminals take in one OSC 52 sequence."""


def copy(text: str, osc52: Callable[[str], None], file: Path) -> str:
    """Copy `text`; a sentence that says where it went.

    Inside tmux its own buffer is filled first (`load-buffer -w` hands it on to the outer terminal; with tmux's default
    settings a plain OSC 52 of a program inside would be dropped). `osc52` sends the sequence. The file is private; failing
    to write it is no error.
    """
    lines = text.count("\n") + 1
    what = f"{lines:,} lines" if lines > 1 else f"{len(text)} characters"
    sent = []
    data = text.encode("utf-8", "backslashreplace")
    if _to_tmux(data):
        sent.append("to tmux")
    elif len(data) <= LIMIT:
        osc52(text)
        sent.append("to the terminal (if it allows that)")
    where = _to_file(data, file)
    if where:
        sent.append(f"in {where}")
    return f"copied {what}: {', '.join(sent)}" if sent else f"could not copy {what}"


def _to_tmux(data: bytes) -> bool:
    if not os.environ.get("TMUX") or shutil.which("tmux") is None:
        return False
    try:
        done = subprocess.run(["tmux", "load-buffer", "-w", "-"], input=data, timeout=2, capture_output=True, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _to_file(data: bytes, file: Path) -> str:
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing(file, private=True) as out:
            out.write(data)
    except OSError:
        return ""
    home = str(Path.home())
    return str(file).replace(home, "~", 1) if str(file).startswith(home) else str(file)
