"""`tltui run --view` in a real terminal: jobs that print, end, do not hear, and outlive the screen."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from terminal import TIMEOUT, Terminal

from tltui.running.keeper import _descendants
from tltui.sources.job_output import JobState, process_began, read_state

TRACE = Path(__file__).parents[1] / "traces" / "torch-2.13" / "breaks"
RUN = ["run", "--view", "--"]
SIZES = [(80, 24), (120, 40)]
TRAIN = f"""
import os, shutil, sys, time
print("\\x1b[32mbegin\\x1b[0m", os.get_terminal_size(1).columns, flush=True)
def wait(name):
    while not os.path.exists(name): time.sleep(0.01)
for n in range(5): print(f"\\r{{n * 20}}%|{{'█' * n}}", end="", flush=True)
wait("compile")
for name in os.listdir({str(TRACE)!r}): shutil.copy(os.path.join({str(TRACE)!r}, name), os.environ["TORCH_TRACE"])
print("\\nhalf", flush=True)
wait("end")
print("done", flush=True)
sys.exit(3)
"""
DEAF = """
import signal, time
signal.signal(signal.SIGINT, lambda *_: print("heard", flush=True))
print("ready", flush=True)
while True: time.sleep(0.1)
"""
Begun = Callable[..., Terminal]


class Viewed(Terminal):
    """tltui in a directory of its own, with the program that it runs."""

    def __init__(self, program: str, where: Path, columns: int = 120, rows: int = 40, patience: float = 10.0) -> None:
        (where / "job.py").write_text(program)
        begin = f"import os, sys; os.chdir({str(where)!r}); import tltui.screens.child_processes as c; c.PATIENCE = {patience}\n"
        begin += "from tltui.cli import main; sys.exit(main())"
        words = [sys.executable, "-c", begin, *RUN, sys.executable, "job.py"]
        super().__init__(words, home=where, columns=columns, rows=rows)
        self.where = where

    @property
    def trace(self) -> Path:
        """The directory that was made for the run."""
        return next(self.where.glob("tltui-*"))

    @property
    def output(self) -> Path:
        """What the job printed."""
        return self.trace / "output.txt"

    @property
    def state(self) -> JobState:
        """What became of the job."""
        state = read_state(str(self.output))
        assert state is not None
        return state

    def ends(self) -> str:
        """Wait for the end; what was said after the screen was given back."""
        self.code = self.wait_end()
        return bytes(self.raw).rpartition(b"\x1b[?1049l")[2].decode().replace("\r", "")


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Begun]:
    terminals: list[Viewed] = []

    def begin(program: str, columns: int = 120, rows: int = 40, patience: float = 10.0) -> Viewed:
        terminals.append(Viewed(program, tmp_path, columns, rows, patience))
        return terminals[-1]

    yield begin
    for terminal in terminals:
        terminal.close()
        for state in tmp_path.glob("tltui-*/output*.txt"):
            if (found := read_state(str(state))) is not None and found.ended is None:
                for pid in (found.pid, *_descendants(found.pid)):
                    if process_began(pid) is not None:
                        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_job_from_its_start_to_its_end(columns: int, rows: int, begun: Begun) -> None:
    terminal = begun(TRAIN, columns, rows)
    terminal.wait_for("begin", "80%|████", "job runs", "waiting for the first record")
    assert "0%|\n" not in terminal.text()
    (terminal.where / "compile").touch()
    terminal.wait_for("half", "6 compiles" if columns > 100 else "⚑3")
    assert "Start here" not in terminal.text()  # what one looks at stays
    terminal.press("1")
    terminal.wait_for("3 graph breaks")
    (terminal.where / "end").touch()
    terminal.wait_for("the job ended with exit code 3; O shows its output")
    terminal.press("O")
    terminal.wait_for("done", "The job ended with exit code 3 at")
    terminal.press("q")
    said = terminal.ends()
    assert terminal.code == 3
    assert said.splitlines()[-1] == f"tltui: trace directory: {terminal.trace}"
    width = int(terminal.output.read_bytes().decode().split("\x1b[0m ")[1].split()[0])
    bars = "".join(f"\r{n * 20}%|{'█' * n}" for n in range(5))
    assert terminal.output.read_bytes().decode() == f"\x1b[32mbegin\x1b[0m {width}\n{bars}\nhalf\ndone\n"
    assert columns // 2 - 10 < width < columns


def test_leave_it_running(begun: Begun) -> None:
    """It goes on, all that it prints is kept, and the directory can be opened again while it runs and when it has ended."""
    terminal = begun(TRAIN)
    terminal.wait_for("80%")
    terminal.press("q")
    terminal.wait_for("l or q leave it running", "the job is still running")
    terminal.press("escape")
    terminal.wait_gone("l or q leave it running")
    terminal.press("ctrl+q")
    terminal.wait_for("l or q leave it running")
    terminal.press("l")
    said = terminal.ends()
    assert terminal.code == 0
    pid = terminal.state.pid
    assert f"the job is still running, pid {pid}" in said and str(terminal.output) in said
    assert said.splitlines()[-1] == f"tltui: trace directory: {terminal.trace}"
    with Terminal.tltui(terminal.trace, home=terminal.where) as again:
        again.wait_for("80%", f"runs, pid {pid}", "waiting for the first record")
        (terminal.where / "compile").touch()
        again.wait_for("6 compiles")
        again.press("O")
        again.wait_for("half")
        (terminal.where / "end").touch()
        again.wait_for("The job ended with exit code 3")
        again.press("q")
        assert again.wait_end() == 0
    assert terminal.output.read_bytes().decode().endswith("80%|████\nhalf\ndone\n")


def test_stop_it(begun: Begun) -> None:
    program = "import time\nprint('ready', flush=True)\ntry: time.sleep(60)\n"
    terminal = begun(program + "except KeyboardInterrupt: print('bye'); exit(4)\n")
    terminal.wait_for("ready")
    terminal.press("q", "s")
    said = terminal.ends()
    assert (terminal.code, terminal.state.code) == (4, 4)
    assert "the job ended with exit code 4" in said
    assert terminal.output.read_bytes().decode() == "ready\nbye\n"


def test_a_job_that_does_not_hear(begun: Begun) -> None:
    terminal = begun(DEAF, patience=0.3)
    terminal.wait_for("ready")
    terminal.press("q", "s")
    terminal.wait_for("heard", "k kill it", "still runs after ctrl+c")
    terminal.press("k")
    said = terminal.ends()
    assert terminal.code == 137
    assert "SIGKILL (exit code 137)" in said


def test_who_stays_is_not_left_with(begun: Begun) -> None:
    terminal = begun(DEAF)
    terminal.wait_for("ready")
    terminal.press("q", "s")
    terminal.wait_for("heard", "waiting for its end")
    terminal.press("escape")
    terminal.wait_for("tltui stays")
    os.kill(terminal.state.pid, signal.SIGKILL)
    terminal.wait_for("job: SIGKILL (exit code 137)")
    terminal.press("q")
    terminal.ends()
    assert terminal.code == 137


@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 129), (signal.SIGTERM, 143)])
def test_what_ends_tltui_does_not_end_the_job(number: int, code: int, begun: Begun) -> None:
    terminal = begun(TRAIN)
    terminal.wait_for("80%")
    os.kill(terminal.pid, number)
    said = terminal.ends()
    assert terminal.code == code
    assert f"the job is still running, pid {terminal.state.pid}" in said
    for name in ("compile", "end"):
        (terminal.where / name).touch()
    until(lambda: terminal.state.code == 3, "the end of the job")
    assert terminal.output.read_bytes().decode().endswith("half\ndone\n")


@pytest.mark.parametrize("way", ["the connection is lost", "tltui is killed"])
def test_without_a_word(way: str, begun: Begun) -> None:
    """The terminal goes away, or tltui is killed: nothing hangs up on the job."""
    terminal = begun(TRAIN)
    terminal.wait_for("80%")
    if way == "tltui is killed":
        os.kill(terminal.pid, signal.SIGKILL)
    else:
        os.close(terminal.descriptor)
        terminal.descriptor = -1
    until(lambda: not terminal.is_alive(), "the end of tltui")
    for name in ("compile", "end"):
        (terminal.where / name).touch()
    until(lambda: terminal.state.code == 3, "the end of the job")
    assert terminal.output.read_bytes().decode().endswith("half\ndone\n")


def test_a_flood_of_output(begun: Begun) -> None:
    """100 MB as fast as they go: keys are answered meanwhile, what is kept of them in memory has a bound, the end is shown."""
    program = "import sys\nline = b'x' * 90 + b'\\n'\nfor _ in range(11000): sys.stdout.buffer.write(line * 100)\n"
    terminal = begun(program + "print('the end')\n")
    terminal.wait_for("xxxxxxxx")
    terminal.press("?")
    terminal.wait_for("Keys here")
    terminal.press("escape")
    terminal.wait_for("the end", "The job ended with exit code 0", timeout=60)
    terminal.press("/")
    terminal.wait(lambda: terminal.lines()[-1].startswith(" /"), "the prompt")
    for letter in "the end":
        terminal.press(letter)
    terminal.press("enter")
    terminal.wait_for("1/1", timeout=60)
    assert terminal.peak() < 250 << 20
    terminal.press("q")
    terminal.ends()
    assert terminal.code == 0
    assert terminal.output.stat().st_size == 91 * 1_100_000 + 8


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with Terminal.tltui(*RUN, "no-such-program", home=tmp_path) as terminal:
        terminal.wait_for("no-such-program")
        assert terminal.wait_end() == 127


def test_the_job_learns_how_wide_the_screen_is(begun: Begun) -> None:
    program = "import os, signal, time\n"
    program += "def say(*_): print('columns:', os.get_terminal_size(1).columns, flush=True)\n"
    program += "signal.signal(signal.SIGWINCH, say)\nsay()\ntime.sleep(60)\n"
    terminal = begun(program, 120, 30)
    terminal.wait_for("columns: 66")
    terminal.resize(180, 30)
    terminal.wait_for("columns: 105")
    assert terminal.output.read_bytes().split(b"\n") == [b"columns: 66", b"columns: 105", b""]  # 66 from the beginning on


def test_ctrl_c_is_not_for_the_job(begun: Begun) -> None:
    """It does not reach it by chance: it is said how it does."""
    terminal = begun(DEAF)
    terminal.wait_for("ready", "? help")
    terminal.press("ctrl+c")
    terminal.wait_for("ctrl+c does not reach the job; press q to stop it")
    assert b"heard" not in terminal.output.read_bytes()


def test_what_was_not_in_the_bars_fails(tmp_path: Path) -> None:
    """As without --view: the job's code, else whether the run exceeds what was allowed."""
    program = f"import os, shutil\nfor name in os.listdir({str(TRACE)!r}): "
    program += f"shutil.copy(os.path.join({str(TRACE)!r}, name), os.environ['TORCH_TRACE'])\n"
    (tmp_path / "job.py").write_text(program)
    words = ["run", "--view", "-o", str(tmp_path / "trace"), "--fail-on", "break", "--", sys.executable, str(tmp_path / "job.py")]
    with Terminal.tltui(*words, home=tmp_path) as terminal:
        terminal.wait_for("The job ended with exit code 0", "6 compiles")
        terminal.press("q")
        assert terminal.wait_end() == 1
        said = bytes(terminal.raw).rpartition(b"\x1b[?1049l")[2].decode()
        assert "the job ended with exit code 0" in said and "FAILED" in said
        assert said.strip().splitlines()[-1] == f"tltui: trace directory: {tmp_path / 'trace'}"


def test_without_a_terminal_nothing_is_made(tmp_path: Path) -> None:
    import subprocess

    words = [sys.executable, "-m", "tltui", "run", "--view", "-o", str(tmp_path / "trace"), "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2] / "src")
    assert done.returncode == 2
    assert "--view needs a terminal" in done.stderr
    assert not (tmp_path / "trace").exists()
