"""The processes of a run: found by the file that they hold, with what they and their children do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tltui.sources import local_processes as module
from tltui.sources.local_processes import (
    LINES,
    Child,
    LogProcess,
    LogProcesses,
    Stacks,
    began,
    compilers_of,
    lines_of,
    processes_of,
    stacks_of,
)
from tltui.trace.files import Identity, identity_of

HERE = os.path.isdir("/proc/self/fd")
HOLD = "import subprocess, sys, time; file = open(sys.argv[1], sys.argv[2])\n"
WAIT = "print('open', flush=True); sys.stdin.read()\n"


def identity(path: Path) -> Identity:
    return identity_of(os.stat(path))


def look(path: Path, **options: object) -> LogProcesses:
    [found] = processes_of({str(path): identity(path)}, **options)  # type: ignore[arg-type]
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_bytes(b"V")
    return path


@pytest.fixture
def started(log: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """A function that starts a process that has the log open."""
    processes = []

    def start(more: str = "", mode: str = "a", program: str = HOLD) -> subprocess.Popen[bytes]:
        line = [sys.executable, "-c", program + more + WAIT, str(log), mode]
        processes.append(subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert processes[-1].stdout.readline() == b"open\n"
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.skipif(not HERE, reason="no /proc here")
def test_a_process_that_has_the_log_open(log: Path, started: Callable[..., subprocess.Popen[bytes]]) -> None:
    assert look(log) == LogProcesses(str(log), ())
    started(mode="r")
    assert look(log).processes == (), "who reads it does not write it"
    job = started()
    [found] = look(log, interval=0.05).processes
    assert (found.pid, found.state, found.threads, found.children) == (job.pid, "S", 1, ())
    assert found.command.startswith(sys.executable)
    assert found.cpu_s < 5
    assert found.cpu_percent < 90
    assert found.start_ticks == began(job.pid)


@pytest.mark.skipif(not HERE, reason="no /proc here")
def test_another_log_of_the_same_name_is_not_it(log: Path, started: Callable[..., subprocess.Popen[bytes]]) -> None:
    started()
    os.rename(log, log.with_name("old"))
    log.write_bytes(b"V")
    assert look(log).processes == ()


@pytest.mark.skipif(not HERE, reason="no /proc here")
def test_a_compiler_at_work_below_a_process_that_waits(log: Path, started: Callable[..., subprocess.Popen[bytes]]) -> None:
    spin = "import sys; sys.stdin.close()\nwhile True: pass"
    job = started(f"subprocess.Popen(['sh', '-c', '{sys.executable} -c \"$0\"; :', {spin!r}], stdin=-1)\n"
                  "subprocess.Popen(['sleep', '60'], stdin=-1)\n")  # fmt: skip
    time.sleep(0.5)
    [found] = look(log, interval=0.5).processes
    assert found.pid == job.pid
    assert sorted(child.name.rstrip("0123456789.") for child in found.children) == ["python", "sh", "sleep"]
    lines = lines_of(look(log, interval=0.5))
    for child in found.children:
        os.kill(child.pid, 9)
    assert [child.name.rstrip("0123456789.") for child in found.at_work] == ["python"]
    assert lines[2] == "  3 child processes, 1 busy"
    [sleeping] = [line for line in lines if "  sleep 60  sleeping, 0% CPU, 0.0 s of CPU time since it started at " in line]
    assert re.search(r"at \d\d:\d\d:\d\d$", sleeping), "a time that stays, and no age"


@pytest.mark.skipif(not HERE, reason="no /proc here")
def test_what_a_process_compiles_now(log: Path, started: Callable[..., subprocess.Popen[bytes]]) -> None:
    """A compiler below a worker, as Inductor's pool starts it; another process with this number is not asked."""
    compiler = [sys.executable, "-c", "import sys; sys.stdin.read()", "-include", "pre.h", "/cache/ab/kernel.cpp", "-o", "out.cpp"]
    worker = f"import subprocess, sys; subprocess.run({compiler!r})"
    job = started(f"child = subprocess.Popen([sys.executable, '-c', {worker!r}], stdin=subprocess.PIPE)\n")
    found: tuple[str, ...] = ()
    for _ in range(200):
        if found := compilers_of(job.pid, identity(log)):
            break
        time.sleep(0.05)
    assert found == (f"{os.path.basename(sys.executable)} … kernel.cpp",)
    assert compilers_of(job.pid, (0, 0)) == () == compilers_of(os.getpid(), identity(log))


@pytest.mark.parametrize(("words", "file"), [
    (["g++", "/a/x.main.cpp", "-D", "A", "-o", "/a/x.so"], "/a/x.main.cpp"),
    (["cc1plus", "-quiet", "-dumpbase", "b.cpp", "a.cpp", "-o", "/tmp/c.s"], "a.cpp"),
    (["g++", "-x", "c++-header", "-include", "y.h", "z.h", "-o", "z.h.gch"], "z.h"),
    (["ptxas", "--gpu-name", "sm_90", "k.ptx", "-o", "k"], "k.ptx"),
    (["python", "train.py"], ""), (["g++"], ""), ([], ""),
])  # fmt: skip
def test_the_file_that_a_compiler_reads(words: list[str], file: str) -> None:
    assert module._compiled(words) == file


@pytest.mark.skipif(not HERE, reason="no /proc here")
def test_a_forked_worker_is_a_child_and_not_another_process(log: Path, started: Callable[..., subprocess.Popen[bytes]]) -> None:
    """It has its parent's log open."""
    job = started("import os, signal\nif not (worker := os.fork()):\n    signal.pause()\n")
    [found] = look(log, interval=0.05).processes
    assert found.pid == job.pid
    [child] = found.children
    os.kill(child.pid, 9)


@pytest.mark.skipif(not HERE, reason="no /proc here")
def test_a_stopped_process(log: Path, started: Callable[..., subprocess.Popen[bytes]]) -> None:
    job = started()
    job.send_signal(19)
    time.sleep(0.1)
    assert lines_of(look(log, interval=0.05))[1].startswith("  stopped, 0% CPU, ")
    job.send_signal(18)


class Proc:
    """A /proc of our own."""

    def __init__(self, place: Path, log: Path) -> None:
        self.place = place
        self._log = log

    def add(self, pid: int, parent: int = 1, name: str = "python", state: str = "S", ticks: int = 100, holds: bool = False,
            command: bytes = b"python\0train.py\0", start: int = 7) -> None:  # fmt: skip
        own = self.place / str(pid)
        (own / "fd").mkdir(parents=True, exist_ok=True)
        (own / "fdinfo").mkdir(exist_ok=True)
        rest = f"{state} {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 3 0 {start} 0 0"
        (own / "stat").write_text(f"{pid} ({name}) {rest}\n")
        (own / "cmdline").write_bytes(command)
        if holds and not (own / "fd" / "5").exists():
            (own / "fd" / "5").symlink_to(self._log)
            (own / "fdinfo" / "5").write_text("pos:\t0\nflags:\t0102001\n")


@pytest.fixture
def proc(tmp_path: Path, log: Path) -> Proc:
    return Proc(tmp_path / "proc", log)


def test_what_is_used_between_two_looks(proc: Proc, log: Path) -> None:
    hertz = os.sysconf("SC_CLK_TCK")
    proc.add(10, holds=True, ticks=5 * hertz)
    for pid, parent, name in ((20, 10, "g++"), (21, 20, "cc1plus"), (22, 10, "a) S 1 (b"), (23, 10, "gone"), (30, 1, "other")):
        proc.add(pid, parent, name)

    def later(seconds: float) -> None:
        proc.add(10, holds=True, ticks=5 * hertz)
        command = b"/usr/lib/cc1plus\0-quiet\0-I\0a\0/cache/ab/cpu_fused.cpp\0-o\0x.s\0"
        proc.add(21, 20, "cc1plus", "R", 100 + 2 * hertz, command=command)
        proc.add(22, 10, "a) S 1 (b", ticks=2 * hertz, start=8)  # the number has gone to another
        proc.add(24, 10, "ptxas", "R", hertz)  # new
        (proc.place / "23" / "stat").unlink()
        began = time.monotonic()
        while time.monotonic() < began + 0.01:
            pass

    found = look(log, interval=4.0, proc=str(proc.place), sleep=later)
    [process] = found.processes
    assert process == LogProcess(
        10, "python train.py", "S", 5.0, 0.0, 3,
        (Child(21, "cc1plus", "R", 50.0, "cc1plus … cpu_fused.cpp", 3.0),
         Child(22, "a) S 1 (b", "S", 50.0, "python train.py", 2.0),
         Child(24, "ptxas", "R", 25.0, "python train.py", 1.0), Child(20, "g++", "S", 0.0, "python train.py", 1.0)), 7,
    )  # fmt: skip
    assert lines_of(found) == [
        "pid 10  python train.py",
        "  sleeping, 0% CPU, 5.0 s of CPU time since it started, 3 threads",
        "  4 child processes, 3 busy",
        "    pid 21  cc1plus … cpu_fused.cpp  running, 50% CPU, 3.0 s of CPU time since it started",
        "    pid 22  python train.py  sleeping, 50% CPU, 2.0 s of CPU time since it started",
        "    pid 24  python train.py  running, 25% CPU, 1.0 s of CPU time since it started",
        "    pid 20  python train.py  sleeping, 0% CPU, 1.0 s of CPU time since it started",
    ]


def test_names_are_hostile_text(proc: Proc, log: Path) -> None:
    proc.add(10, holds=True, command=b"python\0\x1b]0;x\x07\xff" + b"a" * 500)
    proc.add(11, 10, "\x1b[31m", ticks=10**9)
    text = "\n".join(lines_of(look(log, interval=0.0, proc=str(proc.place))))
    assert "\x1b" not in text
    assert "python ␛]0;x␇␦aaa" in text
    assert max(map(len, text.split("\n"))) < 140


def test_processes_of_another_user_are_only_counted(proc: Proc, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proc.add(10, holds=True)
    proc.add(11, holds=True)
    own = module.owner
    monkeypatch.setattr(module, "owner", lambda place: os.getuid() + 1 if place.endswith("/11") else own(place))
    found = look(log, interval=0.0, proc=str(proc.place))
    assert ([process.pid for process in found.processes], found.other_process_count) == ([10], 1)
    assert lines_of(found)[-1] == "1 process of another user has it open"


def test_nobody_and_nothing_to_be_seen(proc: Proc, log: Path) -> None:
    proc.add(10)
    assert lines_of(look(log, proc=str(proc.place))) == ["no process that runs on this machine has it open"]
    assert lines_of(look(log, proc="/no/such")) == ["none of your processes has it open"]


def test_parents_in_a_circle(proc: Proc, log: Path) -> None:
    """Two looks at /proc are no single moment."""
    proc.add(10, 11, holds=True)
    proc.add(11, 10)
    [process] = look(log, interval=0.0, proc=str(proc.place)).processes
    assert [child.pid for child in process.children] == [11]


@pytest.mark.parametrize("text", ["", "10 (x", "10 (x) S", "10 (x) S a 1 1 0 -1 0 0 0 0 0 1 0 0 0 20 0 3 0 7"])
def test_a_process_that_cannot_be_read_is_left_out(text: str, proc: Proc, log: Path) -> None:
    proc.add(10, holds=True)
    (proc.place / "10" / "stat").write_text(text)
    assert look(log, interval=0.0, proc=str(proc.place)).processes == ()


@pytest.fixture
def spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that puts a py-spy of ours on PATH."""

    def put(text: str) -> None:
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / "py-spy").write_text("#!/bin/sh\n" + text)
        (tmp_path / "bin" / "py-spy").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    return put


def own_stacks(timeout: float = 10.0) -> Stacks:
    since = began(os.getpid())
    assert since is not None
    return stacks_of(os.getpid(), since, timeout)


@pytest.mark.skipif(not HERE, reason="no /proc here")
def test_the_stacks_of_a_process(spy: Callable[[str], None]) -> None:
    spy(r"""echo "$@"; printf 'Thread 1 (idle): "\033[31m"\n\n    f (a.py:3)\n'""")
    pid = os.getpid()
    options = f"dump --nonblocking --full-filenames --pid {pid}"
    assert own_stacks() == Stacks((options, 'Thread 1 (idle): "␛[31m"', "    f (a.py:3)"))


@pytest.mark.skipif(not HERE, reason="no /proc here")
def test_stacks_are_bounded(spy: Callable[[str], None]) -> None:
    spy("i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); done")
    found = own_stacks()
    assert (len(found.lines), found.lines[-1]) == (LINES + 1, "… and 600 more lines")
    spy("exec yes " + "a" * 1000)
    assert max(map(len, own_stacks().lines)) == 400, "and who never stops is stopped"


@pytest.mark.skipif(not HERE, reason="no /proc here")
@pytest.mark.parametrize(("text", "fault"), [
    ("echo \"Permission Denied: Try again with elevated permissions by going 'sudo env !!'\" >&2; exit 1", "not permitted"),
    ("echo 'Error: Failed to find python version from target process' >&2; exit 1", "py-spy: Failed to find python version"),
    ("exit 3", "py-spy: it failed without a message"),
    ("printf 'Error: \\033[1m'; exit 1", "py-spy: ␛[1m"),
])  # fmt: skip
def test_what_py_spy_complains_of_is_one_line(text: str, fault: str, spy: Callable[[str], None]) -> None:
    spy(text)
    found = own_stacks()
    assert fault in found.fault
    assert found.lines == ()
    assert "sudo" not in found.fault
    assert "\n" not in found.fault


@pytest.mark.skipif(not HERE, reason="no /proc here")
def test_the_rule_of_the_kernel_is_named(spy: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spy("echo 'Permission denied (os error 13)'; exit 1")
    (tmp_path / "scope").write_text("1\n")
    monkeypatch.setattr("tltui.sources.local_processes.SCOPE", str(tmp_path / "scope"))
    rule = "kernel.yama.ptrace_scope is 1: only a parent process or root may attach"
    assert own_stacks().fault == f"py-spy is not permitted to attach to process {os.getpid()} ({rule})"


@pytest.mark.skipif(not HERE, reason="no /proc here")
def test_no_py_spy_no_answer_and_no_process(spy: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spy(f"echo $$ > {tmp_path}/pid; exec sleep 60")
    assert own_stacks(0.3) == Stacks((), "py-spy did not answer in 0.3 s")
    assert began(int((tmp_path / "pid").read_text())) is None, "it is ended"
    assert stacks_of(os.getpid(), 1) == Stacks((), f"process {os.getpid()} has ended")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert own_stacks() == Stacks((), "py-spy is not installed. To install it: pip install py-spy")
