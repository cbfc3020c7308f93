"""Signals from outside: the terminal gets back what it was, what was started ends, and the shell learns which signal it was."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import make_trace as mt
import pytest
from terminal import SOURCES, Terminal
from waiting import until

TRACES = Path(__file__).parents[1] / "traces" / "torch-2.13"
ENDING = [(signal.SIGTERM, 143), (signal.SIGHUP, 129)]
ASKED = (1000, 1003, 1006, 1015, 1004, 2004, 1049)
"""Modes that Textual switches on."""


def attributes(terminal: Terminal) -> list[Any]:
    return termios.tcgetattr(terminal.descriptor)


def assert_given_back(terminal: Terminal, before: list[Any]) -> None:
    assert attributes(terminal) == before, "echo, line by line, ctrl+c"
    for mode in ASKED:
        assert terminal.raw.count(b"\x1b[?%dh" % mode) >= 1, f"{mode} was never asked for"
        assert terminal.raw.rindex(b"\x1b[?%dl" % mode) > terminal.raw.rindex(b"\x1b[?%dh" % mode), mode
    assert terminal.raw.rindex(b"\x1b[?25h") > terminal.raw.rindex(b"\x1b[?25l"), "the cursor"
    assert terminal.raw.rindex(b"\x1b[<u") > terminal.raw.rindex(b"\x1b[>"), "the keyboard"
    assert b"Traceback" not in terminal.raw


class Opened(Terminal):
    """The UI, started by a shell that has the terminal before and after it."""

    @property
    def program(self) -> int:
        """The process of tltui: the shell's only child."""
        [child] = children(self.pid)
        return child


def children(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[Opened, list[Any]]]:
    line = f"read go; {sys.executable} -m tltui {TRACES / 'breaks'}; echo code $?; read end"
    environment = {"PAGER": f"{sys.executable} -c 'import time; print(\"paging\"); time.sleep(60)'"}
    with Opened(["/bin/sh", "-c", line], home=tmp_path, environment=environment) as terminal:
        before = attributes(terminal)
        terminal.press("enter")
        terminal.wait_for("6 compiles", "3 graph breaks")
        assert attributes(terminal) != before
        yield terminal, before


@pytest.mark.parametrize(("number", "code"), ENDING)
def test_the_terminal_is_given_back(number: int, code: int, opened: tuple[Opened, list[Any]]) -> None:
    terminal, before = opened
    os.kill(terminal.program, number)
    terminal.wait_for(f"code {code}")
    assert_given_back(terminal, before)


def test_while_another_program_has_the_terminal(opened: tuple[Opened, list[Any]]) -> None:
    terminal, before = opened
    terminal.press("X")
    terminal.wait_for("paging")
    program = terminal.program
    [pager] = children(program)
    os.kill(program, signal.SIGTERM)
    terminal.wait_for("code 143")
    assert_given_back(terminal, before)
    assert not Path(f"/proc/{pager}").exists()


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+\\"])
def test_keys_that_are_meant_for_another_program(key: str, tmp_path: Path) -> None:
    """Who leaves a search in less with ctrl+c comes back to the same place."""
    pager = tmp_path / "pager.py"
    pager.write_text(
        "import signal, time\ndef heard(*_):\n    print('heard', flush=True)\n    raise SystemExit\n"
        "signal.signal(signal.SIGINT, heard)\nsignal.signal(signal.SIGQUIT, heard)\nprint('paging', flush=True)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-m", "tltui", str(TRACES / "breaks")]
    with Terminal(command, home=tmp_path, environment={"PAGER": f"{sys.executable} {pager}"}) as terminal:
        terminal.wait_for("6 compiles", "3 graph breaks")
        terminal.press("X")
        terminal.wait_for("paging")
        terminal.press(key)
        terminal.wait(lambda: b"heard" in terminal.raw, "what the pager says")
        terminal.press("?")
        terminal.wait_for("Keys here")


def modes(terminal: Terminal) -> dict[int, bool]:
    """Which modes are on now."""
    found = {}
    for number, letter in re.findall(rb"\x1b\[\?(\d+)([hl])", bytes(terminal.raw)):
        found[int(number)] = letter == b"h"
    return found


def assert_nothing_left(terminal: Terminal, before: list[Any]) -> None:
    """As `assert_given_back`, whether or not it had come so far as to ask for anything."""
    assert attributes(terminal) == before
    left = {mode for mode, is_on in modes(terminal).items() if is_on} - {7, 25}
    assert not left, left
    assert modes(terminal).get(25, True), "the cursor"
    pushed, popped = terminal.raw.rfind(b"\x1b[>1u"), terminal.raw.rfind(b"\x1b[<u")
    assert pushed <= popped, "the keyboard"
    assert b"Traceback" not in terminal.raw


def first_byte(terminal: Opened) -> None:
    terminal.wait(lambda: b"\x1b[?1049h" in terminal.raw, "the alternate screen")


def loading(terminal: Opened) -> None:
    terminal.wait_for("reading")


def in_a_prompt(terminal: Opened) -> None:
    terminal.wait_for("3 graph breaks")
    terminal.press("o", "inner")
    terminal.wait_for("inner_break")


def in_provenance(terminal: Opened) -> None:
    terminal.wait_for("3 graph breaks")
    terminal.press("b", "p")
    terminal.wait_for("mapped")


def while_help_is_open(terminal: Opened) -> None:
    terminal.wait_for("3 graph breaks")
    terminal.press("?")
    terminal.wait_for("Keys here")


MOMENTS = [first_byte, in_a_prompt, in_provenance, while_help_is_open]


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[tuple[Opened, list[Any]]]:
    """The UI, about to start."""
    line = f"read go; {sys.executable} -m tltui {TRACES / 'breaks'}; echo code $?; read end"
    with Opened(["/bin/sh", "-c", line], home=tmp_path) as terminal:
        before = attributes(terminal)
        terminal.press("enter")
        yield terminal, before


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("twice", [False, True])
def test_at_any_moment(moment: Callable[[Opened], None], twice: bool, starting: tuple[Opened, list[Any]]) -> None:
    terminal, before = starting
    moment(terminal)
    program = terminal.program
    os.kill(program, signal.SIGTERM)
    if twice:
        with suppress(ProcessLookupError):
            os.kill(program, signal.SIGHUP)
    terminal.wait(lambda: "code 143" in terminal.text() or (twice and "code 129" in terminal.text()), "the end")
    assert_nothing_left(terminal, before)


@pytest.mark.parametrize("wait", [0.0, 0.05, 0.15, 0.25])
def test_before_there_is_anything_to_see(wait: float, starting: tuple[Opened, list[Any]]) -> None:
    terminal, before = starting
    until(lambda: children(terminal.pid))
    time.sleep(wait)
    os.kill(terminal.program, signal.SIGTERM)
    terminal.wait(lambda: "code 143" in terminal.text(), "the end")
    assert_nothing_left(terminal, before)


def test_while_it_reads(tmp_path: Path) -> None:
    log = mt.write(tmp_path, b"".join(mt.artifact(f"a{n}", "x" * 200, frame=n, compile=0) for n in range(60_000)))
    line = f"read go; {sys.executable} -m tltui {log}; echo code $?; read end"
    with Opened(["/bin/sh", "-c", line], home=tmp_path) as terminal:
        before = attributes(terminal)
        terminal.press("enter")
        loading(terminal)
        os.kill(terminal.program, signal.SIGHUP)
        terminal.wait_for("code 129")
        assert_nothing_left(terminal, before)


def state(pid: int) -> str:
    """`T`: stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def shows(terminal: Opened, text: str) -> None:
    """A key works, and what it leads to is drawn."""
    terminal.press("0")
    terminal.wait_for("About the run")
    terminal.press("backspace")
    terminal.wait_for(text)


@pytest.mark.parametrize("how", [signal.SIGTSTP, signal.SIGSTOP])
def test_stopped_and_continued(how: signal.Signals, opened: tuple[Opened, list[Any]]) -> None:
    """After SIGSTOP, which nobody hears, the terminal is what the program needs again; and the shell's in the end."""
    terminal, before = opened
    program = terminal.program
    running = attributes(terminal)
    for _ in range(2):
        os.kill(program, how)
        until(lambda: state(program) == "T")
        if how is signal.SIGTSTP:
            while terminal.pump(0.2):
                """All that was written before it stopped."""
            assert_given_back(terminal, before)
        else:
            termios.tcsetattr(terminal.descriptor, termios.TCSANOW, before)  # as a shell does for itself
        os.kill(program, signal.SIGCONT)
        until(lambda: attributes(terminal) == running)
        terminal.wait(lambda: modes(terminal).get(1049) and modes(terminal).get(1000), "the alternate screen and the mouse")
        shows(terminal, "3 graph breaks")
    terminal.press("q")
    terminal.wait_for("code 0")
    assert_given_back(terminal, before)


def test_continued_without_having_been_stopped(opened: tuple[Opened, list[Any]]) -> None:
    terminal, before = opened
    program = terminal.program
    for _ in range(2):
        begun = terminal.raw.count(b"\x1b[?1049h")
        os.kill(program, signal.SIGCONT)
        terminal.wait(lambda then=begun: terminal.raw.count(b"\x1b[?1049h") > then, "the alternate screen")
    shows(terminal, "3 graph breaks")
    terminal.press("q")  # no timer helps here
    terminal.wait_for("code 0")
    assert_given_back(terminal, before)


def test_a_stopped_program_is_told_to_end(opened: tuple[Opened, list[Any]]) -> None:
    terminal, before = opened
    program = terminal.program
    os.kill(program, signal.SIGTSTP)
    until(lambda: state(program) == "T")
    os.kill(program, signal.SIGTERM)
    os.kill(program, signal.SIGCONT)
    terminal.wait_for("code 143")
    assert_given_back(terminal, before)


def test_a_fault_that_ends_the_program(tmp_path: Path) -> None:
    """One line, the terminal as it was, and no values of variables: texts of the trace are among them."""
    text = "from tltui.screens.browser import Browser\nimport sys\nfrom tltui.cli import main\n"
    text += "def fail(self):\n    secret = 'a text of the trace'\n    raise ZeroDivisionError(secret)\n"
    text += f"Browser.on_mount = fail\nsys.exit(main([{str(TRACES / 'breaks')!r}]))"
    (tmp_path / "fail.py").write_text(text)
    line = f"read go; {sys.executable} {tmp_path / 'fail.py'}; echo code $?; read end"
    with Terminal(["/bin/sh", "-c", line], home=tmp_path, columns=200) as terminal:
        before = attributes(terminal)
        terminal.press("enter")
        terminal.wait_for("code 70")
        assert attributes(terminal) == before
        said = "tltui: ZeroDivisionError: internal error in tltui; details are in ~/.cache/tltui/crash.log"
        assert f"{said} (TLTUI_DEBUG=1 prints the traceback)" in terminal.text()
        assert b"Traceback" not in terminal.raw and b"a text of the trace" not in terminal.raw


def test_a_program_that_hangs_gives_it_back_too(tmp_path: Path) -> None:
    """The loop of the UI never gets round to leaving; a timer does."""
    hang = "import time\nfrom tltui.screens.browser import Browser\n"
    hang += "Browser.action_damage = Browser.action_view = lambda *given: [time.sleep(0.01) for _ in range(10**9)]\n"
    hang += f"import sys\nfrom tltui.cli import main\nsys.exit(main([{str(TRACES / 'breaks')!r}]))"
    (tmp_path / "hang.py").write_text(hang)
    with Opened([sys.executable, str(tmp_path / "hang.py")], home=tmp_path) as terminal:
        terminal.wait_for("6 compiles", "3 graph breaks")
        terminal.press("2")
        time.sleep(0.3)
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.wait_end() == 143
        for mode in ASKED:
            assert terminal.raw.rindex(b"\x1b[?%dl" % mode) > terminal.raw.rindex(b"\x1b[?%dh" % mode), mode


def command(tmp_path: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A command without a terminal."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(tmp_path)}
    line = [sys.executable, "-m", "tltui", *arguments]
    return subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(("number", "code"), [*ENDING, (signal.SIGINT, 130)])
def test_a_command_ends_what_it_started(number: int, code: int, tmp_path: Path) -> None:
    log = mt.write(tmp_path, mt.artifact("a", "a" * 60 + "!", frame=0, compile=0))
    with command(tmp_path, "grep", "(a+)+$", str(log)) as process:
        [matching] = until(lambda: children(process.pid))
        os.kill(process.pid, number)
        try:
            assert process.communicate(timeout=20) == (b"", b"")
        finally:
            process.kill()
        assert process.returncode == code
    until(lambda: not Path(f"/proc/{matching}").exists())


def test_a_command_that_writes_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    log = mt.write(tmp_path, mt.artifact("a", "line\n" * 8_000_000, frame=0, compile=0))
    out = tmp_path / "out"
    with command(tmp_path, "extract", str(log), "-o", str(out)) as process:
        until(lambda: list(out.rglob(".tltui-*")))
        os.kill(process.pid, signal.SIGTERM)
        assert process.communicate(timeout=20)[1] == b""
        assert process.returncode == 143
    assert [path for path in out.rglob("*") if path.is_file()] == []


def test_what_nohup_made_deaf_stays_deaf(tmp_path: Path) -> None:
    code = "import os, signal, sys\nfrom dataclasses import replace\nfrom tltui.cli import main, records\n"
    code += "ls = records.COMMANDS['ls']\n"
    code += "def run(options):\n    os.kill(os.getpid(), signal.SIGHUP)\n    return ls.run(options)\n"
    code += "records.COMMANDS['ls'] = replace(ls, run=run)\n"
    code += f"sys.exit(main(['ls', {str(TRACES / 'breaks')!r}]))"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(tmp_path)}
    for line, expected in ((["nohup"], 0), ([], 129)):
        done = subprocess.run([*line, sys.executable, "-c", code], env=environment, capture_output=True, timeout=30, check=False)
        assert done.returncode == expected, done.stderr


def commanded(program: str, directory: Path) -> subprocess.CompletedProcess[bytes]:
    """What `python -m tltui ls` would do if it did what is given."""
    head = "import os, signal, sys, time\nfrom tltui import cli\ndef ls(arguments):\n"
    (directory / "commanded.py").write_text(f"{head}{program}\ncli._run = ls\nsys.exit(cli.main(['ls', 'x']))\n")
    own = os.environ | {"PYTHONPATH": f"{SOURCES}:{directory}", "XDG_CACHE_HOME": str(directory)}
    return subprocess.run([sys.executable, "-m", "commanded"], env=own, capture_output=True, timeout=60, check=False)


def test_an_interrupt_while_python_executes_a_string_has_its_code(tmp_path: Path) -> None:
    """So are dataclasses made."""
    done = commanded("    exec('raise KeyboardInterrupt')", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


LEAVING = [(signal.SIGINT, 130), *ENDING]


@pytest.mark.parametrize(("number", "code"), LEAVING)
def test_a_signal_waits_for_the_end_of_an_import(number: int, code: int, tmp_path: Path) -> None:
    """Until then what is imported is whole."""
    (tmp_path / "imported.py").write_text(
        f"import os, time\nos.kill(os.getpid(), {int(number)})\n"
        "try:\n    time.sleep(0.3)\nfinally:\n    print('whole', flush=True)\n"
    )  # fmt: skip
    done = commanded("    import imported\n    print('imported', flush=True)\n    time.sleep(30)", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"whole\nimported\n", b"")


@pytest.mark.parametrize(("number", "code"), LEAVING)
def test_a_second_signal_does_not_wait(number: int, code: int, tmp_path: Path) -> None:
    kill = f"os.kill(os.getpid(), {int(number)})\n"
    (tmp_path / "imported.py").write_text(f"import os\n{kill}print('whole', flush=True)\n{kill}print('more', flush=True)\n")
    done = commanded("    import imported", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"whole\n", b"")


@pytest.mark.parametrize(("number", "code"), LEAVING)
def test_a_signal_does_not_wait_for_an_import_without_end(number: int, code: int, tmp_path: Path) -> None:
    (tmp_path / "imported.py").write_text(f"import os, time\nos.kill(os.getpid(), {int(number)})\ntime.sleep(30)\n")
    done = commanded("    import imported", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


@pytest.mark.parametrize(("number", "code"), LEAVING)
def test_what_fails_because_of_a_signal_is_no_fault(number: int, code: int, tmp_path: Path) -> None:
    """As argparse does in Python 3.11: it takes away in `finally` what it had not put there yet."""
    program = f"    try:\n        os.kill(os.getpid(), {int(number)})\n        time.sleep(30)\n    finally:\n        del os.nothing"
    done = commanded(program, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")
    assert not list(tmp_path.rglob("crash.log"))


@pytest.mark.parametrize(("number", "code"), LEAVING)
def test_a_signal_is_raised_again_where_nobody_got_it(number: int, code: int, tmp_path: Path) -> None:
    """Python throws away what is raised in a callback, as that of a weak reference."""
    program = (
        "    import weakref\n    class Thing: pass\n    thing = Thing()\n    def gone(_):\n"
        f"        os.kill(os.getpid(), {int(number)})\n        time.sleep(30)\n"
        "    kept = weakref.ref(thing, gone)\n    del thing\n    time.sleep(30)"
    )
    done = commanded(program, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


def test_what_else_nobody_gets_is_told_as_ever(tmp_path: Path) -> None:
    program = "    class Thing:\n        def __del__(self):\n            raise ValueError(7)\n    Thing()\n    return 3"
    done = commanded(program, tmp_path)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.rstrip().endswith(b"ValueError: 7")
