"""What a job has left, and why there may be nothing."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tltui.running.job_trace import Prepared, files_in, is_full, logs_in, still_written, why_no_log

TRACES = Path(__file__).parents[1] / "traces" / "torch-2.13"


def why(*words: str, logs_file: str = "", **environment: str) -> list[str]:
    prepared = Prepared({"TORCH_TRACE": "/t", **environment}, "/t", True, logs_file, ())
    return list(why_no_log(words, prepared))


def test_nothing_is_known() -> None:
    for words in (("python", "ssh.py"), ("./run.sh",), ("torchrun", "train.py", "docker"), ("python", "-m", "sudo")):
        compiled, launched = why(*words)
        assert compiled.startswith("(1) nothing was compiled: the job did not reach torch.compile")
        assert launched.startswith("(2) the job did not get TORCH_TRACE: ssh, sudo, docker, srun --export=NONE or env -i")
        assert launched.endswith("put TORCH_TRACE=/t INDUCTOR_PROVENANCE=1 before python in that command")


OPTIONS = "TORCH_TRACE=/t INDUCTOR_PROVENANCE=1"


@pytest.mark.parametrize(("words", "said"), [
    ("ssh node7 python\\ train.py",
     f"ssh starts a job on another machine without your environment. Put {OPTIONS} before python"),
    ("/usr/bin/sudo -u me python a.py",
     "sudo starts a job without your environment. Use sudo --preserve-env=TORCH_TRACE,INDUCTOR_PROVENANCE"),
    ("docker run image",
     "docker starts a job without your environment and files. Add -e TORCH_TRACE -e INDUCTOR_PROVENANCE -v /t:/t"),
    ("mpirun -n 2 python a.py",
     "mpirun may start ranks without your environment. With Open MPI, add -x TORCH_TRACE -x INDUCTOR_PROVENANCE"),
    ("sbatch job.sh", "sbatch only queues the job: the log is written when the job runs"),
    ("env -i python a.py", f"env -i clears the environment. Add {OPTIONS} after it"),
    ("srun --export=NONE python a.py", "srun --export passes only the listed variables. Use --export=ALL"),
    ("srun --export A=1 python a.py", "srun --export passes only the listed variables. Use --export=ALL"),
])  # fmt: skip
def test_launchers_that_are_known(words: str, said: str) -> None:
    assert why(*shlex.split(words)) == [said]


def test_launchers_that_hand_the_environment_on() -> None:
    for words in ("srun python a.py", "srun --export=ALL,A=1 python", "srun --export ALL python", "env A=1 python", "setsid x -i"):
        assert len(why(*words.split())) == 2, "nothing is known"


def test_what_is_known_of_the_environment(tmp_path: Path) -> None:
    assert why("python", TORCHDYNAMO_DISABLE="1") == ["TORCHDYNAMO_DISABLE=1 is set, which disables torch.compile"]
    assert len(why("python", TORCH_COMPILE_DISABLE="0")) == 2
    assert why("python", TORCH_TRACE="", TORCH_DTRACE="/t") == [
        "only torch 2.7 and later read TORCH_DTRACE. For older versions, set TORCH_TRACE"
    ]
    assert len(why("python", TORCH_DTRACE="/t")) == 2
    assert why("python", TORCH_TRACE="t") == [
        "TORCH_TRACE is a relative path: if the job changes its directory, the trace goes below the new one"
    ]
    begun = tmp_path / "torch_logs.txt"
    assert len(why("python", logs_file=str(begun))) == 2
    begun.touch()
    [said] = why("python", logs_file=str(begun))
    assert said.startswith("torch was imported (it started torch_logs.txt) but compiled nothing")


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="no /proc here")
def test_a_job_that_goes_on_in_the_background(tmp_path: Path) -> None:
    """It may compile yet: there is nothing to explain."""
    environment = {"PATH": os.environ["PATH"], "TORCH_TRACE": str(tmp_path)}
    with subprocess.Popen(["sleep", "60"], env=environment) as process:
        try:
            # Popen returns as soon as exec closed its pipe; the kernel sets up the environment after that
            while not Path(f"/proc/{process.pid}/environ").read_bytes():
                os.sched_yield()
            found = [why_no_log(("x",), Prepared(environment, str(tmp_path), made, "", ())) for made in (True, False)]
        finally:
            process.kill()
    assert found[0] == (f"the job still runs in the background and may compile: pid {process.pid}  sleep 60",)
    assert len(found[1]) == 2, "others too have the variable that the user set"


def test_only_what_is_new_counts(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    shutil.copytree(TRACES / "breaks", tmp_path / "deep" / "old")
    (tmp_path / "dedicated_log_torch_trace_old.log").touch()
    before = files_in(str(tmp_path))
    assert logs_in(str(tmp_path), before) == (None, 1)
    shutil.copytree(TRACES / "dyn", tmp_path / "new")
    (tmp_path / "dedicated_log_torch_trace_new.log").touch()
    found, earlier = logs_in(str(tmp_path), before)
    assert found is not None
    assert ({os.path.dirname(log.path) for log in found.logs}, earlier) == ({str(tmp_path / "new")}, 1)
    assert [os.path.basename(item.path) for item in found.skipped] == ["dedicated_log_torch_trace_new.log"]
    assert still_written(found) == ()


def test_a_directory_that_torch_never_made() -> None:
    assert files_in("/no/such") == frozenset()
    assert logs_in("/no/such", frozenset()) == (None, 0)


def test_what_is_there_to_be_copied_is_quoted() -> None:
    prepared = Prepared({"TORCH_TRACE": "/tmp/a b"}, "/tmp/a b", True, "", ())
    assert "put TORCH_TRACE='/tmp/a b' INDUCTOR_PROVENANCE=1 before python" in why_no_log(("x",), prepared)[-1]
    assert "-v '/tmp/a b':'/tmp/a b'" in why_no_log(("docker", "run"), prepared)[-1]


def test_a_file_system_without_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_full(str(tmp_path)) and not is_full(str(tmp_path / "nowhere"))
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=0))
    assert is_full(str(tmp_path))
