"""The processes of a run on this machine: state, children, and Python stacks from py-spy."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from tltui.sources.file_writers import PROC, held, holds, owner, pids
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.trace.files import Identity

INTERVAL = 0.5
"""Seconds over which CPU use is measured."""
AT_WORK = 5.0
"""Per cent of a CPU from which on a process is at work."""
COMMAND_SHOWN = 100
COMMAND_READ = 1 << 16
CHILDREN_READ = 256
"""Processes below one that are looked at for compilers."""
COMPILED = (".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".cu", ".hip", ".ptx", ".ll", ".s", ".S", ".ttir", ".ttgir")
"""What the names of files end with that compilers read."""
OTHER_FILES = frozenset(("-o", "-include", "-imacros", "-isystem", "-I", "-L", "-MF", "-MT", "-dumpbase", "-dumpdir", "-aux-info"))
"""Options with a file that is not the one that is compiled."""
CHILDREN_SHOWN = 4
STATES = {
    "R": "running", "S": "sleeping", "D": "waiting for a device or a file system (D)", "T": "stopped", "t": "stopped by a debugger",
    "Z": "ended, exit status not collected (zombie)", "I": "idle", "X": "ended",
}  # fmt: skip
"""The letter in /proc/PID/stat (proc(5)) in words."""


@frozen
class Child:
    """A process that the job started, at any depth."""

    pid: int
    name: str
    state: str
    """The letter of proc(5)."""
    cpu_percent: float
    command: str = ""
    """Its command line; of a compiler its name and the file that it compiles."""
    cpu_s: float = 0.0
    """Used since it began."""
    started_at_us: float | None = None
    """When it began, in microseconds since the epoch; None where the machine does not tell."""


@frozen
class LogProcess:
    """A process that writes a log."""

    pid: int
    """Its number here; the log may know it by another one."""
    command: str
    state: str
    """The letter of proc(5)."""
    cpu_s: float
    """Used since it began."""
    cpu_percent: float
    """Of one CPU, over the interval."""
    threads: int
    children: tuple[Child, ...]
    """Those that use most of a CPU first."""
    start_ticks: int
    """In ticks since the machine began: with the number it says which process it is."""

    @property
    def at_work(self) -> tuple[Child, ...]:
        """The children that use a CPU."""
        return tuple(child for child in self.children if child.cpu_percent >= AT_WORK)


@frozen
class LogProcesses:
    """The processes that write a log."""

    log: str
    processes: tuple[LogProcess, ...]
    other_process_count: int = 0
    """Processes of other users that have it open."""
    has_unreadable_processes: bool = False
    """Nothing can be known of some process: of another user, or without /proc."""


@frozen
class _Stat:
    """The parsed fields of /proc/PID/stat."""

    name: str
    state: str
    parent: int
    ticks: int
    threads: int
    began: int


def processes_of(
    logs: Mapping[str, Identity], interval: float = INTERVAL, proc: str = PROC, sleep: Callable[[float], None] = time.sleep
) -> tuple[LogProcesses, ...]:
    """Who writes these logs, by their paths. Takes `interval` seconds where somebody does."""
    writers = held(set(logs.values()), proc)
    if writers is None:
        return tuple(LogProcesses(log, (), has_unreadable_processes=True) for log in logs)
    ours = {pid for group in writers.by.values() for pid in group if owner(f"{proc}/{pid}") == os.getuid()}
    before, began = _stats(proc) if ours else {}, time.monotonic()
    if ours:
        sleep(interval)
    table = _Table(before, _stats(proc) if ours else {}, max(time.monotonic() - began, interval, 0.001), proc)
    answers = []
    for log, file in logs.items():
        holders = writers.by.get(file, ())
        pids = [pid for pid in holders if pid in ours]
        processes = tuple(process for pid in table.oldest(pids) if (process := table.process(pid)) is not None)
        answers.append(LogProcesses(log, processes, len(holders) - len(pids), not processes and bool(writers.hidden)))
    return tuple(answers)


class _Table:
    """All processes, at two moments."""

    def __init__(self, before: Mapping[int, _Stat], after: Mapping[int, _Stat], seconds: float, proc: str) -> None:
        self._before, self._after, self._seconds, self._proc = before, after, seconds, proc
        self._booted = _booted(proc)
        self._children: dict[int, list[int]] = {}
        for pid, stat in after.items():
            self._children.setdefault(stat.parent, []).append(pid)

    def oldest(self, holders: Sequence[int]) -> list[int]:
        """Those that none of the others started."""
        below = {pid for holder in holders for pid in self._below(holder)}
        return [pid for pid in holders if pid not in below]

    def process(self, pid: int) -> LogProcess | None:
        """Return the activity of a process; None if it has ended meanwhile."""
        stat = self._after.get(pid)
        if stat is None:
            return None
        children = [self._child(child) for child in self._below(pid)]
        children.sort(key=lambda child: (-child.cpu_percent, child.pid))
        used, percent = stat.ticks / _ticks_a_second(), self._percent(pid)
        command = command_of(pid, self._proc) or stat.name
        return LogProcess(pid, command, stat.state, used, percent, stat.threads, tuple(children), stat.began)

    def _child(self, pid: int) -> Child:
        stat = self._after[pid]
        used, boot = stat.ticks / _ticks_a_second(), self._booted
        since = None if boot is None else (boot + stat.began / _ticks_a_second()) * 1e6
        return Child(pid, stat.name, stat.state, self._percent(pid), _compiling(pid, self._proc) or stat.name, used, since)

    def _below(self, pid: int) -> list[int]:
        """Everything that it started, at any depth. The two looks are no single moment: a circle must not be walked for ever."""
        pids: dict[int, None] = {}
        todo = list(self._children.get(pid, ()))
        while todo:
            child = todo.pop()
            if child not in pids and child != pid:
                pids[child] = None
                todo += self._children.get(child, ())
        return list(pids)

    def _percent(self, pid: int) -> float:
        """Return the CPU usage since the last sample; a new process counts from its start."""
        now, before = self._after[pid], self._before.get(pid)
        used = now.ticks - (before.ticks if before is not None and before.began == now.began else 0)
        return 100.0 * max(used, 0) / _ticks_a_second() / self._seconds


def command_of(pid: int, proc: str = PROC) -> str:
    """Its command line, '' where it has none (any more). Safe to print."""
    return _cut(" ".join(_words(pid, proc)).strip())


def _words(pid: int, proc: str) -> list[str]:
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as file:
            words = file.read(COMMAND_READ).rstrip(b"\0").split(b"\0")
    except OSError:
        return []
    return [sanitize(os.fsdecode(word)) for word in words]


def _cut(text: str) -> str:
    return text if len(text) <= COMMAND_SHOWN else text[: COMMAND_SHOWN - 1] + "…"


def _compiling(pid: int, proc: str) -> str:
    """`g++ … cpu_fused.cpp`: of the long command of a compiler its name and the file that it reads; else the command line."""
    words = _words(pid, proc)
    file = _compiled(words)
    return _short(words, file) if file else _cut(" ".join(words).strip())


def _compiled(words: Sequence[str]) -> str:
    """Return the source file in the arguments of a compiler; '' if there is none."""
    files = (word for before, word in pairwise(words) if before not in OTHER_FILES and not word.startswith("-"))
    return next((word for word in files if word.endswith(COMPILED)), "")


def _short(words: Sequence[str], file: str) -> str:
    return _cut(f"{os.path.basename(words[0])} {'… ' * (len(words) > 2)}{os.path.basename(file)}")


def _booted(proc: str) -> float | None:
    """When the machine began, in seconds since the epoch."""
    try:
        with open(f"{proc}/stat", encoding="ascii", errors="replace") as file:
            return next((float(line.split()[1]) for line in file if line.startswith("btime ")), None)
    except (OSError, ValueError, IndexError):
        return None


def began(pid: int, proc: str = PROC) -> int | None:
    """When a process began, None where there is none: whether a number still means the same process."""
    stat = _stat(f"{proc}/{pid}/stat")
    return stat.began if stat is not None else None


def _stats(proc: str) -> dict[int, _Stat]:
    return {pid: stat for pid in pids(proc) if (stat := _stat(f"{proc}/{pid}/stat")) is not None}


def _stat(path: str) -> _Stat | None:
    """Parse a stat file; None if the process has ended.

    The fields follow the name, which may contain anything: proc(5) has 3 state, 4 parent, 14 and 15 ticks, 20 threads, 22 start
    time.
    """
    try:
        with open(path, "rb") as file:
            head, _, fields_text = file.read().rpartition(b") ")
        fields = fields_text.split()
        name = sanitize(os.fsdecode(head.partition(b" (")[2]))
        ticks = int(fields[11]) + int(fields[12])
        return _Stat(name, os.fsdecode(fields[0]), int(fields[1]), ticks, int(fields[17]), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None


def _ticks_a_second() -> int:
    return os.sysconf("SC_CLK_TCK")


def lines_of(processes: LogProcesses) -> list[str]:
    """Describe the processes of a log in lines that are safe to print."""
    if not processes.processes and not processes.other_process_count:
        who = "none of your processes" if processes.has_unreadable_processes else "no process that runs on this machine"
        return [f"{who} has it open"]
    lines = [line for process in processes.processes for line in _lines(process)]
    if processes.other_process_count:
        several = processes.other_process_count != 1
        lines.append(
            f"{processes.other_process_count} process{'es' * several} of another user {'have' if several else 'has'} it open"
        )
    return lines


def doing_of(process: LogProcess) -> str:
    """Describe the activity of a process without its numbers: `sleeping, 1 child process: g++ … cpu_fused.cpp, sleeping`.

    Equal for processes with the same activity. Safe to print.
    """
    text = STATES.get(process.state, f"state {sanitize(process.state)}")
    text += ", busy" if process.cpu_percent >= AT_WORK else ""
    at_work = [child for child in process.children if child.cpu_percent >= AT_WORK or not child.name.startswith("python")]
    if at_work:
        states = [STATES.get(child.state, "in another state") for child in at_work]
        shown = [f"{child.command or child.name}, {state}" for child, state in zip(at_work[:CHILDREN_SHOWN], states, strict=False)]
        text += f"; child processes: {'; '.join(shown)}"
    return text


def _lines(process: LogProcess) -> list[str]:
    state = STATES.get(process.state, f"state {sanitize(process.state)}")
    threads = f"{process.threads} thread{'s' * (process.threads != 1)}"
    used = f"{process.cpu_percent:.0f}% CPU, {process.cpu_s:.1f} s of CPU time since it started"
    lines = [f"pid {process.pid}  {process.command}", f"  {state}, {used}, {threads}"]
    return lines + _children(process.children)


def _children(children: Sequence[Child]) -> list[str]:
    """Describe child processes: their number, then the active ones and those that are not Python, such as idle compilers.

    Workers of pools that wait for work are only counted.
    """
    if not children:
        return []
    count, busy = len(children), sum(child.cpu_percent >= AT_WORK for child in children)
    several = f"{count} child process{'es' * (count != 1)}"
    at_work = [child for child in children if child.cpu_percent >= AT_WORK or not child.name.startswith("python")]
    shown = at_work[:CHILDREN_SHOWN]
    lines = [f"  {several}, {f'{busy} busy' if busy else 'none busy' if count > 1 else 'not busy'}"]
    lines += [f"    pid {child.pid}  {child.command or child.name}  {_doing(child)}" for child in shown]
    if len(at_work) > len(shown):
        lines.append(f"    and {len(at_work) - len(shown)} more")
    return lines


def _doing(child: Child) -> str:
    """`sleeping, 0 % CPU, 0.0 s of CPU time since it started at 13:55:26`"""
    state = STATES.get(child.state, f"state {sanitize(child.state)}")
    at = "" if child.started_at_us is None else time.strftime(" at %H:%M:%S", time.localtime(child.started_at_us / 1e6))
    return f"{state}, {child.cpu_percent:.0f}% CPU, {child.cpu_s:.1f} s of CPU time since it started{at}"


def compilers_of(pid: int, log: Identity, proc: str = PROC) -> tuple[str, ...]:
    """Return the commands that a process with this log compiles with in child processes now: `g++ … cpu_fused.cpp`.

    Inspects only this process and its descendants; returns none where the pid has been reused.
    """
    if not holds(pid, log, proc):
        return ()
    commands: list[str] = []
    todo, visited = [pid], {pid}
    while todo and len(visited) < CHILDREN_READ:
        for child in _children_of(todo.pop(), proc):
            if child not in visited:
                visited.add(child)
                todo.append(child)
                if file := _compiled(words := _words(child, proc)):
                    commands.append(_short(words, file))
    return tuple(dict.fromkeys(commands))


def _children_of(pid: int, proc: str) -> list[int]:
    """proc(5): /proc/PID/task/TID/children; none where the kernel has no such file."""
    children: list[int] = []
    try:
        for thread in os.listdir(f"{proc}/{pid}/task"):
            with open(f"{proc}/{pid}/task/{thread}/children", encoding="ascii") as file:
                children += map(int, file.read(COMMAND_READ).split())
    except (OSError, ValueError):
        pass
    return children


TIMEOUT = 10.0
BYTES = 1 << 18
LINES = 400
WIDTH = 400
SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
SCOPES = {"1": "only a parent process or root may attach", "2": "only root may attach", "3": "attaching is disabled"}


@frozen
class Stacks:
    """The stacks of a process, or why there are none."""

    lines: tuple[str, ...]
    """As py-spy prints them. Safe to print."""
    fault: str = ""
    """One line; '' where there are stacks."""


def stacks_of(pid: int, since: int, timeout: float = TIMEOUT) -> Stacks:
    """Return the stacks of the process with this pid and start time `LogProcess.began`."""
    program = shutil.which("py-spy")
    if program is None:
        return Stacks((), "py-spy is not installed. To install it: pip install py-spy")
    if began(pid) != since:
        return Stacks((), f"process {pid} has ended")
    try:
        out, code = _output([program, "dump", "--nonblocking", "--full-filenames", "--pid", str(pid)], timeout)
    except OSError as error:
        return Stacks((), f"py-spy: {error.strerror or error}")
    lines = [sanitize(line)[:WIDTH] for line in out.decode("utf-8", "replace").splitlines() if line.strip()]
    if code is None:
        return Stacks((), f"py-spy did not answer in {timeout:g} s")
    if code != 0:
        return Stacks((), _fault(pid, lines))
    more = len(lines) - LINES
    return Stacks((*lines[:LINES], *([f"… and {more} more lines"] if more > 0 else ())))


def _output(command: list[str], timeout: float) -> tuple[bytes, int | None]:
    """Run a command and return at most `BYTES` of its output, and its exit code: None after a timeout."""
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
    """Read bytes until a deadline; return them and whether the end was reached."""
    out = bytearray()
    while len(out) < BYTES and (remaining := deadline - time.monotonic()) > 0:
        if select.select([descriptor], [], [], remaining)[0]:
            data = os.read(descriptor, 1 << 16)
            if not data:
                return bytes(out), True
            out += data
    return bytes(out[:BYTES]), False


def _fault(pid: int, lines: list[str]) -> str:
    """Return py-spy's error message in one line."""
    text = "\n".join(lines).lower()
    if "permission denied" in text or "operation not permitted" in text or "eperm" in text:
        scope = _scope()
        rule = f"kernel.yama.ptrace_scope is {scope}: {SCOPES[scope]}" if scope in SCOPES else "the kernel does not permit ptrace"
        return f"py-spy is not permitted to attach to process {pid} ({rule})"
    message = next((line for line in lines if "error" in line.lower()), lines[0] if lines else "it failed without a message")
    return f"py-spy: {message.removeprefix('Error: ')}"


def _scope() -> str:
    try:
        with open(SCOPE, encoding="ascii") as file:
            return file.read(8).strip()
    except (OSError, ValueError):
        return ""
