"""`tltui run` and signals: what the terminal sends reaches the job once, what is sent to tltui is passed on, ctrl+z stops both."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import SOURCES, Terminal
from waiting import until

COUNTING = """
import os, signal, sys, time
seen = []
def note(number, frame):
    seen.append(number)
    os.write(1, b"got %s %d\\n" % (signal.Signals(number).name.encode(), len(seen)))
for name in sys.argv[1].split(","):
    signal.signal(getattr(signal, name), note)
os.write(1, b"ready %d\\n" % os.getpid())
deadline = time.monotonic() + 30
while time.monotonic() < deadline and not os.path.exists("end"):
    time.sleep(0.02)
os.write(1, b"seen %d\\n" % len(seen))
"""
"""A job that counts what it gets, until a file `end` is there."""


def counting(*names: str) -> list[str]:
    return [sys.executable, "-c", COUNTING, ",".join(names)]


def state(pid: int) -> str:
    """The letter of /proc/PID/stat: T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def pid_in(text: str) -> int:
    return int(text.rpartition("ready ")[2].split()[0])


class Started(Terminal):
    """tltui in a terminal of its own, the leader of its session, with a job that said that it is ready."""

    @property
    def job(self) -> int:
        return pid_in(self.text())

    def end(self, home: Path) -> None:
        (home / "end").touch()
        self.wait_end()


def started(home: Path, command: list[str]) -> Started:
    line = [sys.executable, "-m", "tltui", "run", "--", *command]
    terminal = Started(["sh", "-c", f"cd {home} && exec {shlex.join(line)}"], home=home)
    terminal.wait_for("ready ")
    return terminal


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    (tmp_path / "end").touch()


@pytest.mark.parametrize(("key", "name"), [("ctrl+c", "SIGINT"), ("ctrl+\\", "SIGQUIT")])
def test_a_key_reaches_the_job_once(key: str, name: str, home: Path) -> None:
    with started(home, counting(name)) as terminal:
        for count in (1, 2):
            terminal.press(key)
            terminal.wait_for(f"got {name} {count}")
        time.sleep(0.3)
        assert terminal.is_alive()
        terminal.end(home)
        assert "seen 2" in terminal.text()
        assert terminal.code == 0


@pytest.mark.parametrize("own", ["setsid", "setpgid"])
def test_a_key_reaches_a_job_in_a_session_or_group_of_its_own(own: str, home: Path) -> None:
    """The terminal does not know of it any more; without us ctrl+c would do nothing at all."""
    leave = f"import os, sys; os.{'setsid()' if own == 'setsid' else 'setpgid(0, 0)'}; os.execvp(sys.argv[1], sys.argv[1:])"
    with started(home, [sys.executable, "-c", leave, *counting("SIGINT")]) as terminal:
        terminal.press("ctrl+c")
        terminal.wait_for("got SIGINT 1")
        time.sleep(0.3)
        terminal.end(home)
        assert "seen 1" in terminal.text()


def test_ctrl_c_ends_a_job_that_does_nothing_about_it(home: Path) -> None:
    with started(home, ["sh", "-c", "echo ready $$; exec sleep 30"]) as terminal:
        terminal.press("ctrl+c")
        assert terminal.wait_end() == 130
        assert "sh was killed by SIGINT" in terminal.text()
        assert f"{home}/tltui-" in terminal.lines()[max(n for n, line in enumerate(terminal.lines()) if line)]


class Piped:
    """tltui without a terminal, with a job that said that it is ready."""

    def __init__(self, home: Path, command: list[str], before: list[str] | None = None) -> None:
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(home)}
        line = [*(before or []), sys.executable, "-m", "tltui", "run", "--", *command]
        self.process = subprocess.Popen(line, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, start_new_session=True)  # fmt: skip
        assert self.process.stdout is not None
        self.first = self.process.stdout.readline()
        self.job = int(self.first.split()[1])

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_what_is_sent_to_tltui_is_passed_on(name: str, home: Path) -> None:
    """Each time: the second SIGTERM means it."""
    piped = Piped(home, counting(name))
    for count in (1, 2):
        piped.process.send_signal(getattr(signal, name))
        assert piped.line() == f"got {name} {count}"
    (home / "end").touch()
    assert piped.process.communicate(timeout=20)[0] == "seen 2\n"
    assert piped.process.returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_job_that_ends_by_it(number: signal.Signals, code: int, home: Path) -> None:
    piped = Piped(home, ["sh", "-c", "echo ready $$; exec sleep 30"])
    piped.process.send_signal(number)
    error = piped.process.communicate(timeout=20)[1]
    assert piped.process.returncode == code
    assert f"sh was killed by {number.name}" in error
    assert error.splitlines()[-1].startswith(f"tltui: trace directory: {home}/tltui-")


def test_a_signal_to_the_whole_group_reaches_the_job_once(home: Path) -> None:
    piped = Piped(home, counting("SIGINT", "SIGQUIT"))
    os.killpg(piped.process.pid, signal.SIGINT)
    assert piped.line() == "got SIGINT 1"
    os.killpg(piped.process.pid, signal.SIGQUIT)
    assert piped.line() == "got SIGQUIT 2"
    time.sleep(0.2)
    (home / "end").touch()
    assert piped.process.communicate(timeout=20)[0] == "seen 2\n"


def test_a_job_that_is_killed(home: Path) -> None:
    piped = Piped(home, counting("SIGTERM"))
    os.kill(piped.job, signal.SIGKILL)
    error = piped.process.communicate(timeout=20)[1]
    assert piped.process.returncode == 137
    assert "by the kernel if memory ran out (see dmesg)" in error


def test_what_nohup_made_deaf_stays_deaf_and_the_rest_is_as_it_was(home: Path) -> None:
    """The job's dispositions are those that it had without tltui: Python's own ignoring of SIGPIPE is not handed on."""
    show = "grep -E 'SigIgn|SigBlk' /proc/self/status"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(home)}
    found = []
    for ours in ([], [sys.executable, "-m", "tltui", "run", "--"]):
        done = subprocess.run(["nohup", *ours, "sh", "-c", show], cwd=home, env=environment, preexec_fn=_as_a_shell,
                              capture_output=True, text=True, check=True)  # fmt: skip
        blocked, ignored = (int(line.split()[1], 16) for line in done.stdout.splitlines())
        found.append((blocked, ignored & 0x7FFFFFFF))  # glibc keeps the next two for itself, and posix_spawn has them ignored
    assert found == [(0, 1)] * 2, "SIGHUP alone"


def _as_a_shell() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def test_a_pipe_that_nobody_reads_ends_the_job_as_ever(home: Path) -> None:
    line = f"{sys.executable} -m tltui run -- yes | head -1; echo ${{PIPESTATUS[0]}}"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(home)}
    done = subprocess.run(["bash", "-c", line], cwd=home, env=environment, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "y\n141\n"


class Shell(Terminal):
    """An interactive bash: it does job control."""

    def prompt(self, count: int) -> None:
        self.wait(lambda: self.text().count("prompt>") >= count, f"prompt {count}")


@pytest.fixture
def shell(home: Path) -> Iterator[Shell]:
    environment = {"PS1": "prompt>", "HISTFILE": "/dev/null"}
    with Shell(["bash", "--norc", "--noprofile", "-i"], home=home, environment=environment, columns=200) as terminal:
        terminal.press(f"cd {home}; PS1=prompt\\>", "enter")
        terminal.prompt(1)
        yield terminal


def begun(shell: Shell, *command: str) -> tuple[int, int]:
    """tltui and the job, started by the shell."""
    shell.press(f"{sys.executable} -m tltui run -- {shlex.join(command)}", "enter")
    shell.wait_for("ready ")
    job = pid_in(shell.text())
    return int(Path(f"/proc/{job}/stat").read_text().rpartition(") ")[2].split()[1]), job


@pytest.fixture
def job(home: Path) -> list[str]:
    """It does nothing until a file `end` is there. No shell: one that waits for vfork cannot stop."""
    (home / "job.py").write_text(COUNTING)
    return [sys.executable, "job.py", "SIGUSR1"]


def test_ctrl_z_stops_both_and_fg_continues_both(shell: Shell, home: Path, job: list[str]) -> None:
    tltui, child = begun(shell, *job)
    for _ in range(3):
        shell.press("ctrl+z")
        until(lambda: state(tltui) == state(child) == "T")
        shell.wait_for("Stopped")
        shell.press("clear", "enter", "fg", "enter")
        until(lambda: "T" not in (state(tltui), state(child)))
    shell.press("ctrl+z")
    until(lambda: state(tltui) == state(child) == "T")
    shell.press("bg", "enter")
    until(lambda: "T" not in (state(tltui), state(child)))
    (home / "end").touch()
    shell.wait_for("seen 0", f"{home}/tltui-")


def test_a_stop_that_was_sent_to_tltui_alone(shell: Shell, job: list[str]) -> None:
    tltui, child = begun(shell, *job)
    os.kill(tltui, signal.SIGTSTP)
    until(lambda: state(tltui) == state(child) == "T")
    shell.wait_for("Stopped")
    os.kill(tltui, signal.SIGCONT)
    until(lambda: "T" not in (state(tltui), state(child)))


def test_ctrl_z_stops_a_job_in_a_session_of_its_own(shell: Shell, job: list[str]) -> None:
    tltui, child = begun(shell, "setsid", *job)
    shell.press("ctrl+z")
    until(lambda: state(tltui) == state(child) == "T")
    shell.press("clear", "enter", "fg", "enter")
    until(lambda: "T" not in (state(tltui), state(child)))
    shell.press("ctrl+c")
    shell.wait_for("was killed by SIGINT")


def test_a_job_that_somebody_else_stopped_and_continued(shell: Shell, home: Path, job: list[str]) -> None:
    """Who suspends only the job continues only the job: tltui must not stay stopped."""
    tltui, child = begun(shell, *job)
    os.kill(child, signal.SIGSTOP)
    until(lambda: state(child) == "T")
    time.sleep(0.2)
    assert state(tltui) == "S"
    os.kill(child, signal.SIGCONT)
    (home / "end").touch()
    shell.wait_for("seen 0", f"{home}/tltui-")


@pytest.mark.parametrize("leader", [True, False])
def test_the_terminal_goes_away(leader: bool, home: Path) -> None:
    """One SIGHUP, whether tltui leads the session (then only it is told) or a shell does (then the kernel tells the job too)."""
    program = COUNTING.replace("    os.write(1", "    0 and os.write(1")  # nobody would read it
    program = program.replace('os.write(1, b"seen', "open('report', 'w').write(str(len(seen)))\nos.write(1, b\"seen")
    line = shlex.join([sys.executable, "-m", "tltui", "run", "--", sys.executable, "-c", program, "SIGHUP"])
    with Terminal(["sh", "-c", f"cd {home}; {'exec ' if leader else ''}{line}; :"], home=home) as terminal:
        terminal.wait_for("ready ")
        os.close(terminal.descriptor)
        terminal.descriptor = -1
        time.sleep(0.5)
        (home / "end").touch()
        until(lambda: (home / "report").exists() and (home / "report").read_text())
        assert (home / "report").read_text() == "1"
