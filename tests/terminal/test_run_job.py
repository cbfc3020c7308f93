"""`tltui run`: the job is a child that keeps everything it would have without tltui."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import SOURCES

TRACES = Path(__file__).parents[1] / "traces" / "torch-2.13"
COPY = "import glob, os, shutil\nos.makedirs(os.environ['TORCH_TRACE'], exist_ok=True)\nfor f in glob.glob({0!r}): "
COPY += "shutil.copy(f, os.environ['TORCH_TRACE'])\n"


def job(trace: str, more: str = "") -> list[str]:
    """A job that leaves a trace of ours, as torch would."""
    return [sys.executable, "-c", COPY.format(str(TRACES / trace / "*.log")) + more]


def tltui(home: Path, *arguments: str | Path, given: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(home), "LANG": "C.UTF-8", **environment}
    line = [sys.executable, "-m", "tltui", "run", *map(str, arguments)]
    return subprocess.run(line, cwd=home, env=clean, input=given, capture_output=True, timeout=60, check=False)


def said(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    return done.stderr.decode().splitlines()


def test_the_directory_first_the_summary_and_the_path_last(tmp_path: Path) -> None:
    done = tltui(tmp_path, "--", *job("breaks"))
    [made] = tmp_path.glob("tltui-*")
    assert re.fullmatch(r"tltui-\d{8}-\d{6}", made.name)
    lines = said(done)
    assert lines[0] == f"tltui: the trace goes to {made}"
    assert lines[-1] == f"tltui: trace directory: {made}"
    assert "torch 2.13.0+cpu · 6 compiles · 7.97 s of compiling" in lines
    assert (done.returncode, done.stdout) == (0, b"")


def test_output_and_input_pass_by_byte_for_byte(tmp_path: Path) -> None:
    given = bytes(range(256)) * 300
    done = tltui(tmp_path, "--", "cat", given=given)
    assert (done.returncode, done.stdout) == (0, given)
    assert tltui(tmp_path, "--", "sh", "-c", r"printf '\033]0;x\007\377' >&2").stderr.startswith(b"tltui: the trace goes to ")
    assert b"\x1b]0;x\x07\xff" in tltui(tmp_path, "--", "sh", "-c", r"printf '\033]0;x\007\377' >&2").stderr


def test_an_open_file_of_the_shell_is_the_jobs_too(tmp_path: Path) -> None:
    line = f"{sys.executable} -m tltui run -- sh -c 'echo three >&3' 3>{tmp_path / 'three'}"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(tmp_path)}
    subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=True)
    assert (tmp_path / "three").read_text() == "three\n"


@pytest.mark.parametrize("code", [0, 1, 2, 7, 70, 255])
def test_the_code_is_the_jobs(code: int, tmp_path: Path) -> None:
    done = tltui(tmp_path, "--", *job("breaks", f"raise SystemExit({code})"))
    assert done.returncode == code
    assert "6 compiles" in done.stderr.decode()


@pytest.mark.parametrize(("name", "number"), [("KILL", 9), ("TERM", 15), ("SEGV", 11), ("INT", 2)])
def test_a_job_that_a_signal_ended(name: str, number: int, tmp_path: Path) -> None:
    """tltui lives on: the summary is wanted then most of all."""
    done = tltui(tmp_path, "--", *job("breaks", f"import signal\nsignal.signal({number}, 0) if {number} != 9 else 0\n"
                                      f"os.kill(os.getpid(), {number})"))  # fmt: skip
    assert done.returncode == 128 + number
    assert f"tltui: {sys.executable} was killed by SIG{name}" in done.stderr.decode()
    assert ("memory ran out" in done.stderr.decode()) == (number == 9)
    assert "6 compiles" in done.stderr.decode()


@pytest.mark.parametrize(("command", "code", "why"), [
    ("no-such-program", 127, "no-such-program: not found"),
    ("./no/such/program", 127, "./no/such/program: not found"),
    ("./text", 126, "./text: not executable"),
    ("./dir", 126, "./dir: a directory"),
    ("./bang", 126, "./bang: the interpreter in its first line (#!) does not exist"),
    ("text", 126, "text: not executable"),
])  # fmt: skip
def test_what_cannot_be_started(command: str, code: int, why: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("")
    (tmp_path / "dir").mkdir()
    (tmp_path / "bang").write_text("#!/no/such/interpreter\n")
    (tmp_path / "bang").chmod(0o755)
    done = tltui(tmp_path, "--", command, PATH=f"{tmp_path}:{os.environ['PATH']}" if command == "text" else os.environ["PATH"])
    assert done.returncode == code
    assert said(done)[-1].endswith(why)
    if command != "./bang":  # only the kernel knows that one
        assert list(tmp_path.glob("tltui-*")) == [], "nothing is made for it"


def test_a_script_without_a_first_line_is_a_shells(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("echo $1; exit 3\n")
    (tmp_path / "plain").chmod(0o755)
    done = tltui(tmp_path, "--", "./plain", "word")
    assert (done.returncode, done.stdout) == (3, b"word\n")


def test_scripts_and_modules_are_pythons(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "train.py").write_text("import sys; print(sys.argv)")
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    assert tltui(tmp_path, "--", "train.py", "--lr", "3", PATH=path).stdout == b"['train.py', '--lr', '3']\n"
    assert tltui(tmp_path, "train.py", "--fresh", PATH=path).stdout == b"['train.py', '--fresh']\n", "without --"
    assert b"train.py" in tltui(tmp_path, "--", "-m", "train", PATH=path).stdout


def test_the_dashes_of_the_command_are_its_own(tmp_path: Path) -> None:
    show = "import sys; print(sys.argv[1:])"
    assert tltui(tmp_path, "--fresh", "--", sys.executable, "-c", show, "--", "-o").stdout == b"['--', '-o']\n"
    assert tltui(tmp_path, "--fresh", sys.executable, "-c", show, "a", "--", "-o").stdout == b"['a', '--', '-o']\n"


@pytest.mark.parametrize(("arguments", "why"), [
    (["--"], "missing COMMAND"),
    ([], "missing COMMAND"),
    (["--fail-on", "nonsense", "--", "true"], "unknown limit: 'nonsense'"),
    (["--fail-on", "break=+1", "--", "true"], "a number after + needs --baseline: 'break=+1'"),
    (["--baseline", ".", "--", "true"], "--baseline needs limits"),
    (["--fail-on", "error", "--baseline", "nowhere", "--", "true"], "No such file or directory: 'nowhere'"),
    (["--no-such", "--", "true"], "--no-such"),
    (["-o", "full", "--", "true"], "the directory of -o is not empty"),
])  # fmt: skip
def test_mistakes_are_said_before_the_job_starts(arguments: list[str], why: str, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    done = tltui(tmp_path, *(word.replace("true", "touch") if word == "true" else word for word in arguments), "started")
    if arguments in ([], ["--"]):
        done = tltui(tmp_path, *arguments)
    assert done.returncode == 2
    assert why in done.stderr.decode()
    assert not (tmp_path / "started").exists()
    assert list(tmp_path.glob("tltui-*")) == []


def test_check(tmp_path: Path) -> None:
    passed = tltui(tmp_path, "--fail-on", "error,break=3", "--", *job("breaks"))
    assert passed.returncode == 0
    assert "passed · 6 compiles" in passed.stderr.decode()
    failed = tltui(tmp_path, "--fail-on", "error", "--fail-on", "break=2", "--", *job("breaks"))
    assert failed.returncode == 1
    assert "FAILED: 1 of 2 limits exceeded" in failed.stderr.decode()
    done = tltui(tmp_path, "--fail-on", "break", "--", *job("breaks", "raise SystemExit(5)"))
    assert done.returncode == 5, "the job's comes first"
    compared = tltui(tmp_path, "--fail-on", "break", "--baseline", str(TRACES / "breaks"), "--", *job("breaks"))
    assert compared.returncode == 0


def test_what_could_not_be_checked_has_not_passed(tmp_path: Path) -> None:
    done = tltui(tmp_path, "--fail-on", "error", "--", "true")
    assert done.returncode == 1
    assert "tltui: check FAILED: no log to check" in said(done)


@pytest.mark.parametrize(("broken", "options", "code"), [
    ("tltui.questions.overview.run_page.summarise", [], 0),
    ("tltui.questions.overview.run_page.summarise", ["--fail-on", "error"], 0),
    ("tltui.questions.overview.run_page.summarise", ["--fail-on", "break"], 1),
    ("tltui.questions.check.limits.gates", ["--fail-on", "error"], 1),
    ("tltui.model.follow.open_run", [], 0),
    ("tltui.model.follow.open_run", ["--fail-on", "error"], 1),
])  # fmt: skip
def test_a_fault_of_ours_leaves_the_code(broken: str, options: list[str], code: int, tmp_path: Path) -> None:
    """What was not checked has not passed."""
    module, _, name = broken.rpartition(".")
    lines = f"import {module} as module\ndef fail(*given): raise ZeroDivisionError\nmodule.{name} = fail\n"
    (tmp_path / "sitecustomize.py").write_text(lines)
    done = tltui(tmp_path, *options, "--", *job("breaks"), PYTHONPATH=f"{tmp_path}:{SOURCES}")
    assert done.returncode == code
    assert "ZeroDivisionError: internal error in tltui" in done.stderr.decode()
    assert said(done)[-1].startswith(f"tltui: trace directory: {tmp_path / 'tltui-'}")


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", "2>&1 >/dev/null | :"])
def test_nobody_listens(closed: str, tmp_path: Path) -> None:
    """Where the summary goes nowhere the code is still right."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(tmp_path)}
    for limit, code in (("error", 0), ("break", 1)):
        line = f"{shlex.join([sys.executable, '-m', 'tltui', 'run', '--check', limit, '--', *job('breaks')])} {closed}"
        shell = ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"]
        done = subprocess.run(shell, cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=False)
        assert done.returncode == code


def test_nothing_was_compiled(tmp_path: Path) -> None:
    done = tltui(tmp_path, "--", "true")
    text = " ".join(done.stderr.decode().split())
    assert done.returncode == 0
    assert "no log was written into" in text
    assert "(1) nothing was compiled" in text
    assert "ssh, sudo, docker, srun --export=NONE or env -i" in text
    assert len(list(tmp_path.glob("tltui-*"))) == 1, "nothing is deleted"


def test_the_environment_was_dropped(tmp_path: Path) -> None:
    done = tltui(tmp_path, "--", "env", "-i", "true")
    assert "env -i clears the environment. Add TORCH_TRACE=" in " ".join(done.stderr.decode().split())


def test_a_log_without_a_compile(tmp_path: Path) -> None:
    line = 'V1122 02:50:38.876000 14086 torch/_logging/structured.py:28] {"str": ["a.py", 0]}\n'
    write = f"import os; open(os.environ['TORCH_TRACE'] + '/a.log', 'w').write({line!r})"
    done = tltui(tmp_path, "--", sys.executable, "-c", write)
    assert done.returncode == 0
    assert "tltui: nothing was compiled" in said(done)


def test_a_directory_that_the_user_set_may_hold_earlier_runs(tmp_path: Path) -> None:
    """The summary is that of this run alone."""
    for name in ("TORCH_TRACE", "TORCH_DTRACE"):
        place = tmp_path / name
        shutil.copytree(TRACES / "recompiles", place)
        more = {"TORCH_TRACE": str(place)} if name == "TORCH_DTRACE" else {}
        done = tltui(tmp_path, "--", *job("breaks"), **{name: str(place), **more})
        lines = said(done)
        assert lines[0] == f"tltui: {name} is set: the trace goes to {place}"
        assert "torch 2.13.0+cpu · 6 compiles · 7.97 s of compiling" in lines
        assert "tltui: that directory also has 1 log of earlier runs; --latest opens only the newest run" in lines
        assert lines[-1] == f"tltui: trace directory: {place}"


def test_the_text_that_was_asked_for_is_nothing_to_complain_of(tmp_path: Path) -> None:
    text = "V1120 09:22:50.876000 3536 torch/_inductor/scheduler.py:4995] [0/0] [__fusion] ===== attempting fusion\n"
    done = tltui(tmp_path, "--logs", "fusion", "--", *job("breaks", f"open(os.environ['TORCH_LOGS_OUT'], 'w').write({text!r})"))
    assert "6 compiles" in done.stderr.decode()
    assert "Not read" not in done.stderr.decode()


def test_a_job_that_leaves_a_process_behind_is_not_waited_for(tmp_path: Path) -> None:
    left = "import glob, os, time; f = open(glob.glob(os.environ['TORCH_TRACE'] + '/*.log')[0], 'a')\n"
    left += "print(os.getpid(), flush=True); time.sleep(30)"
    more = f"import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', {left!r}], "
    more += "stdout=-1, stderr=-3)\npid = p.stdout.readline().decode()\nprint(pid, end='', flush=True)\n"
    done = tltui(tmp_path, "--", *job("breaks", more))
    pid = int(done.stdout)
    os.kill(pid, 9)
    assert done.returncode == 0
    assert "6 compiles" in done.stderr.decode()
    assert f"tltui: started by the job and still writing: pid {pid}  {sys.executable} -c import glob" in done.stderr.decode()


@pytest.mark.parametrize(("steps", "why"), [
    ("x", ["invalid steps: 'x'", "use FIRST:LAST, for example --record-steps 5:10"]),
    ("10:5", ["the last step precedes the first: '10:5'", "use --record-steps 5:10"]),
    ("0:0", ["steps count from 1: '0:0'", "use --record-steps 1:1"]),
])  # fmt: skip
def test_steps_to_record_that_are_none(steps: str, why: list[str], tmp_path: Path) -> None:
    done = tltui(tmp_path, "--record-steps", steps, "--", *job("breaks"))
    assert (done.returncode, said(done)) == (2, [f"tltui: {why[0]}", f"  {why[1]}"])
    assert list(tmp_path.iterdir()) == [], "nothing is made for it"


def test_a_job_that_records_nothing(tmp_path: Path) -> None:
    """It has the hook, behind what its Python path was, and the way by hand is said at the end."""
    done = tltui(tmp_path, "--record-steps", "2:3", "-o", "t", "--", *job("breaks", "print(os.environ['PYTHONPATH'])"))
    hook, before = done.stdout.decode().strip().split(":")
    assert (hook.endswith("/running/hook"), before) == (True, str(SOURCES))
    lines = said(done)
    assert lines[1] == f"tltui: recording steps 2 to 3 into {tmp_path / 't'}"
    assert lines[2].startswith("tltui: TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1 adds C++ kernel names to the profile.")
    assert "tltui: no profile was written. To record one:" in lines
    assert "          profiler.step()" in lines
    assert (done.returncode, lines[-1]) == (0, f"tltui: trace directory: {tmp_path / 't'}")


def test_a_python_that_reads_no_hook(tmp_path: Path) -> None:
    program = job("breaks", "print('TLTUI_RECORD_STEPS' in os.environ)")
    done = tltui(tmp_path, "--record-steps", "2:3", "--", program[0], "-I", *program[1:])
    assert done.stdout == b"False\n"
    name = os.path.basename(sys.executable)
    assert said(done)[1].startswith(f"tltui: no steps are recorded: {name} -I disables start-up hooks. The lines to paste")
    assert "  torch._inductor.config.cpp.enable_kernel_profile = True" in said(done)


def test_profiles_that_a_job_leaves(tmp_path: Path) -> None:
    """Those of an earlier run in the same directory are not its."""
    profile = TRACES.parent / "profiler" / "plain" / "profile.json"
    (tmp_path / "t").mkdir()
    shutil.copyfile(profile, tmp_path / "t" / "earlier.json")
    left = f"shutil.copyfile({str(profile)!r}, os.environ['TORCH_TRACE'] + '/now.json')"
    done = tltui(tmp_path, "--record-steps", "2:3", "--", *job("breaks", left), TORCH_TRACE=str(tmp_path / "t"))
    assert f"tltui: recorded: {tmp_path / 't' / 'now.json'}" in said(done)
    assert f"tltui: see where the time goes: tltui runtime {tmp_path / 't'}" in said(done)
    assert "earlier.json" not in done.stderr.decode()



def test_the_exit_code_comes_first(tmp_path: Path) -> None:
    lines = said(tltui(tmp_path, "--", *job("breaks", "raise SystemExit(3)")))
    assert lines[1:3] == ["tltui: the job failed (exit code 3)", ""]
    assert "torch 2.13.0+cpu · 6 compiles · 7.97 s of compiling" in lines


def test_a_job_that_failed_before_it_compiled_is_not_a_lost_trace(tmp_path: Path) -> None:
    done = tltui(tmp_path, "--", sys.executable, "nosuch.py")
    lines = said(done)
    failed = lines.index("tltui: the job failed (exit code 2) before anything was compiled")
    assert lines[failed + 1].strip() == "Its own error is printed above."
    assert not any("did not get TORCH_TRACE" in line for line in lines)
    assert done.returncode == 2


TORCHRUN = (
    "import sys\nsys.stderr.write('E1123 10:00:00.000000 90 torch/distributed/elastic/multiprocessing/api.py:1002] "
    "failed (exitcode: 3) local_rank: 1 (pid: 4711) of binary: /usr/bin/python\\n')\nraise SystemExit(1)"
)


def test_the_output_of_a_job_that_goes_to_a_file_is_kept_where_it_failed(tmp_path: Path) -> None:
    """As in a batch script of Slurm: the end of the output is kept beside the trace, and the summary names the rank."""
    line = shlex.join([sys.executable, "-m", "tltui", "run", "-o", "trace", "--", *job("breaks", TORCHRUN)])
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(tmp_path)}
    done = subprocess.run(["sh", "-c", f"{line} >job.out 2>&1"], cwd=tmp_path, env=environment, timeout=60, check=False)
    text = (tmp_path / "job.out").read_text()
    assert done.returncode == 1
    assert "tltui: the job failed (exit code 1)" in text
    assert "local_rank: 1" in (tmp_path / "trace" / "output.txt").read_text()


def test_the_output_of_a_job_that_ended_well_is_not_copied(tmp_path: Path) -> None:
    line = shlex.join([sys.executable, "-m", "tltui", "run", "-o", "trace", "--", *job("breaks")])
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "HOME": str(tmp_path)}
    subprocess.run(["sh", "-c", f"{line} >job.out 2>&1"], cwd=tmp_path, env=environment, timeout=60, check=True)
    assert [own.name for own in (tmp_path / "trace").glob("output*")] == []
