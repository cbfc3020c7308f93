"""Where a process stands in its Python code, asked of `py-spy`: only when somebody asks for it, and never as another user.

With `--nonblocking` the process is not stopped, so a stack may be torn. What py-spy prints is text of that process: it is sanitised
and bounded, and its advice to use sudo is not repeated.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from dataclasses import dataclass

from tltui.sources.pids import began
from tltui.text.sanitize import sanitize

TIMEOUT = 10.0
BYTES = 1 << 18
LINES = 400
WIDTH = 400
SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
SCOPES = {"1": "only a parent or root may", "2": "only root may", "3": "nobody may"}


@dataclass(frozen=True, slots=True)
class Stacks:
    """The stacks of a process, or why there are none."""

    lines: tuple[str, ...]
    """As py-spy prints them. Safe to print."""
    fault: str = ""
    """One line; '' where there are stacks."""


def stacks_of(pid: int, since: int, timeout: float = TIMEOUT) -> Stacks:
    """The stacks of the process that has this number since `LogProcess.began`."""
    program = shutil.which("py-spy")
    if program is None:
        return Stacks((), "py-spy is not installed here: pip install py-spy")
    if began(pid) != since:
        return Stacks((), f"process {pid} has ended")
    try:
        out, code = _output([program, "dump", "--nonblocking", "--full-filenames", "--pid", str(pid)], timeout)
    except OSError as error:
        return Stacks((), f"py-spy: {error.strerror or error}")
    lines = [sanitize(line)[:WIDTH] for line in out.decode("utf-8", "replace").splitlines() if line.strip()]
    if code is None:
        return Stacks((), f"py-spy gave no answer in {timeout:g} s")
    if code != 0:
        return Stacks((), _fault(pid, lines))
    more = len(lines) - LINES
    return Stacks((*lines[:LINES], *([f"… and {more} more lines"] if more > 0 else ())))


def _output(command: list[str], timeout: float) -> tuple[bytes, int | None]:
    """What a command prints, at most `BYTES` of it, and its exit code: None where it took too long."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout is not None
            out, end = _read(process.stdout.fileno(), time.monotonic() + timeout)
            if not end and len(out) < BYTES:
                return out, None
            return out, process.wait(1) if end else 0
        except subprocess.TimeoutExpired:
            return out, None
        finally:
            process.kill()


def _read(descriptor: int, deadline: float) -> tuple[bytes, bool]:
    """The bytes up to a moment, and whether that is all of them."""
    out = bytearray()
    while len(out) < BYTES and (left := deadline - time.monotonic()) > 0:
        if select.select([descriptor], [], [], left)[0]:
            data = os.read(descriptor, 1 << 16)
            if not data:
                return bytes(out), True
            out += data
    return bytes(out[:BYTES]), False


def _fault(pid: int, lines: list[str]) -> str:
    """What py-spy complains of, in one line."""
    text = "\n".join(lines).lower()
    if "permission denied" in text or "operation not permitted" in text or "eperm" in text:
        scope = _scope()
        rule = f"kernel.yama.ptrace_scope is {scope}: {SCOPES[scope]}" if scope in SCOPES else "the kernel permits no ptrace here"
        return f"py-spy may not look into process {pid} ({rule})"
    said = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "it failed and said nothing")
    return f"py-spy: {said.removeprefix('Error: ')}"


def _scope() -> str:
    try:
        with open(SCOPE, encoding="ascii") as file:
            return file.read(8).strip()
    except (OSError, ValueError):
        return ""
