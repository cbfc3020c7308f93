"""Real jobs under the terminal that a keeper holds for them: what they print is kept byte by byte, and how they ended is known."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tltui.questions.records.output_page import OutputDocument, job_status
from tltui.running import keeper
from tltui.running.job import OUTPUT_TAIL_BYTES, Job, NotStarted, OutputFile, save_output_tail, start
from tltui.sources.discover import NothingFound, discover, without_logs
from tltui.sources.job_output import JobState, is_recorded_job, process_began, read_state, state_path

TIMEOUT = 20.0
Started = Callable[..., Job]


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    jobs: list[Job] = []

    def begin(program: str, *arguments: str) -> Job:
        path = tmp_path / "job.py"
        path.write_text(program)
        job = start([sys.executable, str(path), *arguments], dict(os.environ), str(tmp_path / "trace"), (61, 20))
        jobs.append(job)
        return job

    yield begin
    for job in jobs:
        job.kill()
        until(lambda job=job: job._process.poll() is not None, "the end of the keeper")  # type: ignore[misc]


def ended(job: Job) -> JobState:
    until(lambda: job.has_ended, "the end of the job")
    assert job.state is not None
    return job.state


def printed(job: Job) -> bytes:
    return Path(job.output).read_bytes()


def test_it_has_a_terminal_and_no_input(started: Started) -> None:
    """The terminal is as wide as the output is shown; asked for input it fails at once, as nobody could type any."""
    job = started(
        "import os, sys\n"
        "print(sys.stdout.isatty(), sys.stderr.isatty(), os.get_terminal_size(1).columns)\n"
        "print('to stderr', file=sys.stderr)\n"
        "try: input()\n"
        "except EOFError: print('no input')\n"
        "sys.exit(3)\n"
    )
    state = ended(job)
    assert (state.code, state.exit_code, state.pid) == (3, 3, job.pid)
    assert printed(job) == b"True True 61\nto stderr\nno input\n"


def test_every_byte_is_kept(started: Started) -> None:
    """Of 20 MB, printed as fast as it goes, with bytes that a terminal would act on; nobody reads them meanwhile."""
    block = bytes(range(256)) * 64 + b"\r\n\n\x1b[2J\x04\x1a"
    job = started("import sys\nblock = bytes(range(256)) * 64 + b'\\r\\n\\n\\x1b[2J\\x04\\x1a'\n"
                  "for _ in range(1280): sys.stdout.buffer.write(block)\n")  # fmt: skip
    assert ended(job).code == 0
    assert printed(job) == block * 1280


def test_what_a_signal_ended(started: Started) -> None:
    job = started("import os\nprint('last words', flush=True)\nos.kill(os.getpid(), 9)\n")
    state = ended(job)
    assert (state.code, state.exit_code) == (-9, 137)
    assert printed(job) == b"last words\n"
    assert job_status(state)[0] == "SIGKILL (exit code 137)"


def test_ctrl_c_reaches_all_that_is_in_front(started: Started) -> None:
    job = started(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time\\nprint(\"ready\", flush=True)\\ntime.sleep(60)'])\n"
        "try: child.wait()\n"
        "except KeyboardInterrupt: child.wait(); sys.exit(7)\n"
    )
    until(lambda: b"ready" in printed(job), "ready")
    job.interrupt()
    assert ended(job).code == 7
    assert b"\nKeyboardInterrupt\n" in printed(job)


def test_who_does_not_hear_ctrl_c_is_killed_with_what_it_started(started: Started) -> None:
    """Also what is in a session of its own, as the workers of torchrun are."""
    job = started(
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: print('no', flush=True))\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
        "while True: time.sleep(0.1)\n"
    )
    until(lambda: printed(job).endswith(b"\n"), "the child")
    child = int(printed(job))
    job.interrupt()
    until(lambda: b"no\n" in printed(job), "that it heard, and goes on")
    assert job.runs
    job.kill()
    assert ended(job).code == -9
    until(lambda: process_began(child) is None, "the end of what it started")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc here")
@pytest.mark.parametrize("printed_bytes", [6, OUTPUT_TAIL_BYTES + 6])
def test_the_stored_end_of_a_redirected_output_has_how_the_job_ended(tmp_path: Path, printed_bytes: int) -> None:
    with open(tmp_path / "job.log", "wb") as stream:
        stream.write(b"x" * (printed_bytes - 6) + b"\nlast\n")
        stream.flush()
        output = save_output_tail(OutputFile(stream.fileno(), 0), str(tmp_path), ["python"], 0.0, 3)
    state = read_state(output)
    assert state is not None
    how, sentence, _ = job_status(state)
    assert how == "exit code 3" and sentence.startswith("The job ended with exit code 3 at ")
    assert ("of its output is missing" in sentence) == (printed_bytes > OUTPUT_TAIL_BYTES)


def test_what_is_left_behind_goes_on_and_is_kept(started: Started, tmp_path: Path) -> None:
    """The job's end is known at once; nobody waits for the others, whose output is kept too; nothing hangs up on them."""
    go = tmp_path / "go"
    job = started(
        "import subprocess, sys\n"
        "text = 'import os, sys, time\\nprint(\"first\", flush=True)\\n'\n"
        "text += 'while not os.path.exists(sys.argv[1]): time.sleep(0.01)\\nprint(\"later\", flush=True)'\n"
        "subprocess.Popen([sys.executable, '-c', text, sys.argv[1]])\n",
        str(go),
    )
    state = ended(job)
    assert state.code == 0 and state.held and not job.runs
    assert "are still running" in job_status(state)[1]
    until(lambda: printed(job) == b"first\n", "first")
    go.touch()
    until(lambda: job.state is not None and not job.state.held, "the end of what it left behind")
    assert printed(job) == b"first\nlater\n"


def test_a_job_without_a_terminal_lives_on(started: Started, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = started(
        "import os, sys, time\n"
        "print('bye', flush=True)\n"
        "for fd in (0, 1, 2): os.close(fd)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
        "os.write(os.open('/dev/tty', os.O_WRONLY), b'x' * 100_000 + b'again')\n"
        "os._exit(5)\n",
        str(go),
    )
    until(lambda: printed(job) == b"bye\n", "bye")
    assert job.runs
    go.touch()
    assert ended(job).code == 5
    assert printed(job).endswith(b"xagain")


def test_what_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(NotStarted, match="no-such-program: No such file") as fault:
        start(["no-such-program"], dict(os.environ), str(tmp_path), (80, 24))
    assert fault.value.code == 127
    (tmp_path / "text").write_text("")
    with pytest.raises(NotStarted, match="denied") as fault:
        start([str(tmp_path / "text")], dict(os.environ), str(tmp_path), (80, 24))
    assert fault.value.code == 126


def test_a_script_without_its_first_line_is_for_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "train"
    script.write_text("echo $1\nexit 6\n")
    script.chmod(0o755)
    job = start([str(script), "hello"], dict(os.environ), str(tmp_path), (80, 24))
    assert ended(job).code == 6
    assert printed(job) == b"hello\n"


def test_a_second_job_keeps_its_output_beside_the_first(started: Started) -> None:
    first = started("print('one')")
    ended(first)
    second = started("print('two')")
    ended(second)
    assert (printed(first), printed(second)) == (b"one\n", b"two\n")
    with pytest.raises(NothingFound) as nothing:
        discover([str(Path(first.output).parent)])
    assert nothing.value.outputs == (first.output, second.output)
    assert without_logs(["trace"], nothing.value).is_over


def test_a_full_disk_costs_output_and_nothing_else(tmp_path: Path) -> None:
    state = tmp_path / "output.json"
    words = [sys.executable, "-I", "-S", keeper.__file__, "/dev/full", str(state), "80", "24"]
    program = "import sys\nsys.stdout.write('x' * 100_000)\nsys.exit(4)"
    words += [sys.executable, "-c", program]
    subprocess.run(words, input=b"", stdout=subprocess.DEVNULL, start_new_session=True, check=True)
    found = read_state(str(tmp_path / "output.txt"))
    assert found is not None and (found.code, found.missing) == (4, 100_000)
    assert "97.7 KB of its output is missing: No space left on device" in job_status(found)[1]


def test_whose_keeper_was_killed(started: Started) -> None:
    """That the job ended is not claimed, only that nobody will tell."""
    job = started("import signal, time\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nprint(1, flush=True)\ntime.sleep(60)\n")
    until(lambda: printed(job) == b"1\n", "its output")
    state = read_state(job.output)
    assert state is not None and is_recorded_job(state)
    assert job_status(state)[:2] == (f"runs, pid {job.pid}", "")
    os.kill(state.keeper, signal.SIGKILL)
    until(lambda: job.is_lost, "that nobody will tell")
    assert not job.runs and not job.has_ended
    assert "exit status is unknown" in job_status(state)[1]
    os.kill(job.pid, signal.SIGKILL)


def test_who_ends_the_keeper_means_the_job(started: Started) -> None:
    job = started("print(1, flush=True)\nimport time; time.sleep(60)")
    until(lambda: printed(job) == b"1\n", "its output")
    state = read_state(job.output)
    assert state is not None
    os.kill(state.keeper, signal.SIGTERM)
    assert ended(job).code == -15


def test_a_state_from_elsewhere(tmp_path: Path) -> None:
    """Of another machine it is not known; what is no state is none, and a text of that name is then any file."""
    output = tmp_path / "output.txt"
    output.write_text("epoch 1\n")
    for text in ("", "{", "[]", '{"command": 3}', "[" * 100_000):
        Path(state_path(str(output))).write_text(text)
        assert read_state(str(output)) is None
    assert OutputDocument(str(output)).badge == ""
    says = '{"written_by": "tltui run", "host": "far", "keeper": 1, "pid": 7, "code": "x", "missing": -1, '
    says += '"command": ["\\u001b[2J"]}'
    Path(state_path(str(output))).write_text(says)
    document = OutputDocument(str(output))
    assert document.state is not None and is_recorded_job(document.state) is None
    assert document.badge == "runs, pid 7 on far, probably"
    assert document.title == "output of ␛[2J"
