"""`tltui run --record-steps`: what the job is started with, and what its start-up hook leaves alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tltui.running.job_trace import (
    DIRECTORY,
    HOOK,
    KERNELS,
    STEPS,
    Refused,
    Steps,
    enable_recording,
    parse_steps,
    recording_obstacle,
)

TOLD = {STEPS: "5:10"}
BARE = "import sys; print('sitecustomize' in sys.modules, [type(f).__name__ for f in sys.meta_path][:1], sys.path[1:2])"


def python(where: Path, program: str, *options: str, path: str = HOOK, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a Python without a `sitecustomize` of its own, with the hook."""
    told = {"PYTHONPATH": path, DIRECTORY: str(where / "out"), **TOLD, **environment}
    line = [sys.executable, *options, "-c", program]
    clean = {"PATH": os.environ["PATH"], **told}
    return subprocess.run(line, cwd=where, env=clean, timeout=60, capture_output=True, text=True, check=False)


def test_steps() -> None:
    assert parse_steps("5:10") == Steps(5, 10)
    assert parse_steps("1:1") == Steps(1, 1)


@pytest.mark.parametrize(("text", "why"), [
    ("x", "use FIRST:LAST, for example --record"), ("", "use FIRST:LAST"), ("5", "use FIRST:LAST"), ("5:", "use FIRST:LAST"),
    ("-1:3", "use FIRST:LAST"), ("1:2:3", "use FIRST:LAST"), ("1.5:2", "use FIRST:LAST"), ("٣:٤", "use FIRST:LAST"),
    ("10:5", "the last step precedes the first"), ("0:0", "steps count from 1"), ("0:3", "steps count from 1"),
])  # fmt: skip
def test_steps_that_are_none(text: str, why: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_steps(text)
    assert repr(text) in refused.value.problem and (refused.value.problem.startswith(why) or refused.value.advice.startswith(why))


def test_the_users_pythonpath_stays_behind_ours() -> None:
    environment = {"PYTHONPATH": "/a::b"}
    said = enable_recording(Steps(2, 3), environment, "/t")
    assert environment == {"PYTHONPATH": f"{HOOK}:/a::b", STEPS: "2:3", DIRECTORY: "/t", KERNELS: "1"}
    assert said[0] == "recording steps 2 to 3 into /t"
    assert "changes Inductor's cache keys" in said[1]
    empty = {"PYTHONPATH": ""}
    enable_recording(Steps(2, 3), empty, "/t")
    assert empty["PYTHONPATH"] == HOOK, "an empty entry would be the working directory"


def test_what_the_user_has_set_stays() -> None:
    environment = {KERNELS: "0"}
    assert enable_recording(Steps(2, 3), environment, "/t")[1:] == (f"{KERNELS} is 0: the profile has no C++ kernels",)
    assert environment[KERNELS] == "0"


@pytest.mark.parametrize(("words", "why"), [
    ("python train.py", ""), ("torchrun --nproc-per-node 2 train.py", ""), ("./run.sh -I", ""), ("python3.12 train.py -S", ""),
    ("python -u -Wignore -X dev -W error train.py -E", ""), ("python -m package -I", ""), ("python -c pass -S", ""),
    ("python -I train.py", "python -I disables start-up hooks"),
    ("/usr/bin/python3 -uS a.py", "python3 -S disables start-up hooks"),
    ("python -X importtime -E a.py", "python -E disables start-up hooks"),
    ("python --check-hash-based-pycs always -bI a.py", "python -I disables start-up hooks"),
    ("nice -n 5 python -IS a.py", "python -I disables start-up hooks"),
    ("docker run image python a.py", "docker starts the job without your environment"),
    ("ssh host python a.py", "ssh starts the job without your environment"),
    ("env -i python a.py", "env -i clears the environment"),
    ("python ssh.py", ""), ("python a.py docker", ""),
])  # fmt: skip
def test_where_no_hook_works(words: str, why: str) -> None:
    assert recording_obstacle(words.split()) == why


def test_a_program_without_torch_is_left_alone(tmp_path: Path) -> None:
    hooked = python(tmp_path, BARE)
    plain = python(tmp_path, BARE, path="")
    assert (hooked.stderr, plain.stderr) == ("", "")
    assert hooked.stdout.replace("Waiting", "_") != hooked.stdout, "it waits"
    assert hooked.stdout.split("[")[0] == plain.stdout.split("[")[0], "no sitecustomize where there was none"
    assert HOOK not in hooked.stdout, "sys.path is what it would be"
    assert not (tmp_path / "out").exists()


def test_nothing_is_waited_for_where_nothing_is_to_be_recorded(tmp_path: Path) -> None:
    assert "Waiting" not in python(tmp_path, BARE, **{STEPS: ""}).stdout


@pytest.mark.parametrize("option", ["-I", "-S", "-E"])
def test_options_with_which_python_ignores_the_hook(option: str, tmp_path: Path) -> None:
    assert "Waiting" not in python(tmp_path, BARE, option).stdout


def test_the_users_sitecustomize_is_read_too(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys\nHERE = 7\nprint('theirs', __name__, __spec__.name, file=sys.stderr)\n")
    done = python(tmp_path, "import sys, sitecustomize as s; print(s.HERE, s.__file__)", path=f"{HOOK}:{own}")
    assert done.stdout == f"7 {own / 'sitecustomize.py'}\n"
    assert done.stderr == "theirs sitecustomize sitecustomize\n"


def test_an_error_in_the_users_sitecustomize_is_said_as_without_us(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("1 / 0\n")
    hooked, plain = (python(tmp_path, "print('on')", path=path) for path in (f"{HOOK}:{tmp_path}", str(tmp_path)))
    assert hooked.stdout == plain.stdout == "on\n"
    assert hooked.stderr == plain.stderr != ""


def test_children_have_the_hook(tmp_path: Path) -> None:
    program = f"import subprocess, sys; print(subprocess.run([sys.executable, '-c', {BARE!r}], stdout=-1, text=True).stdout)"
    assert "Waiting" in python(tmp_path, program).stdout


def test_a_torch_that_is_another_one(tmp_path: Path) -> None:
    """One line, and the program goes on."""
    (tmp_path / "torch.py").write_text("compiler = 3\n")
    done = python(tmp_path, "import torch; print(torch.compiler, type(torch.__spec__.loader).__name__, vars(torch.__loader__))")
    assert done.stdout.startswith("3 SourceFileLoader {'name': 'torch', 'path': ")
    assert "exec_module" not in done.stdout, "the loader is as it was"
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("tltui: --record-steps: recording failed: ")
    assert done.returncode == 0


def test_a_torch_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no driver')\n")
    hooked, plain = (python(tmp_path, "import torch", path=path) for path in (HOOK, ""))
    assert hooked.returncode == plain.returncode == 1
    assert hooked.stderr.splitlines()[-1] == plain.stderr.splitlines()[-1] == "ImportError: no driver"


def test_it_is_only_looked_for(tmp_path: Path) -> None:
    """As libraries do that can do without torch."""
    (tmp_path / "torch.py").write_text("print('imported')\n")
    done = python(tmp_path, "import importlib.util as u; s = u.find_spec('torch'); print(s.origin, s.loader.get_data(s.origin))")
    assert done.stdout.startswith(str(tmp_path / "torch.py"))
    assert done.stderr == ""


def test_a_hook_that_cannot_begin(tmp_path: Path) -> None:
    done = python(tmp_path, "print('on')", **{STEPS: "five"})
    assert (done.stdout, done.returncode) == ("on\n", 0)
    assert done.stderr.startswith("tltui: --record-steps: no steps were recorded: ValueError(")
    assert len(done.stderr.splitlines()) == 1
