"""Starts the jobs of tests/live/programs/jobs.py as users start theirs, and ends those that hang."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from job_truths import TRUTHS

PROGRAM = Path(__file__).parents[1] / "live" / "programs" / "jobs.py"
PATIENCE_S = 180
WITHOUT_CACHES = (
    "killed_forward", "killed_backward", "killed_backward_early", "backward_error", "compiler_hangs", "barrier_inside",
    "flight_recorder_allreduce", "compiler_collective",
)  # fmt: skip
"""Jobs whose planted place would be skipped if the code came from the cache of another rank."""
RESTARTS = ("restart_works", "restart_fails")
FINISHED_BACKWARD = b'"bwd_compilation_metrics"'
HANGING_COMPILER = """#!/bin/bash
# The compiler hangs: it reads a FIFO, into which nobody writes, after the source.
[ -e {place}/armed ] && case "$*" in *--version*) ;; *) touch {place}/hangs; exec {compiler} "$@" -x c++ {place}/fifo ;; esac
exec {compiler} "$@"
"""


@dataclass
class Job:
    """A job that was started. Its directory has the logs in `trace`, what the job printed, and what it needs."""

    name: str
    place: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def trace(self) -> Path:
        return self.place / "trace"

    def output(self, part: int = 0) -> Path:
        return self.place / ("out.txt" if not part else f"out_{part}.txt")

    def wait(self) -> list[int]:
        """Wait for its end, and return the exit codes."""
        return [process.wait(PATIENCE_S) for process in self.processes]

    def wait_until_it_hangs(self) -> None:
        """Wait until the hanging rank hangs, and the logs of the others have what they write before they wait for it."""
        truth = TRUTHS[self.name]
        self._until(lambda: (self.place / "hangs").exists() or truth.wait is None)
        if truth.wait is None:
            self._until(lambda: b"step 3" in self.output().read_bytes())
            return
        texts = {"allreduce": FINISHED_BACKWARD, "barrier": b'"compilation_metrics"', "compiler_collective": b"compiler_collective"}
        for rank in truth.wait.waiting:
            self._until(partial(self._log_has, rank, texts[truth.wait.place]))
        time.sleep(2)  # from there to the collective

    def _log_has(self, rank: int, text: bytes) -> bool:
        return any(text in log.read_bytes() for log in self.trace.glob(f"*_rank_{rank}_*.log"))

    def ranks(self) -> dict[int, int]:
        """Find the process of each rank."""
        pids, place = {}, os.fsencode(self.place)
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (process / "cmdline").read_bytes().split(b"\0")
                variables = dict(each.partition(b"=")[::2] for each in (process / "environ").read_bytes().split(b"\0"))
                if b"RANK" in variables and os.fsencode(PROGRAM) in command and variables.get(b"TLTUI_JOB") == place:
                    pids[int(variables[b"RANK"])] = int(process.name)
        return dict(sorted(pids.items()))

    def dump_flight_recorder(self) -> None:
        """Let the ranks write what torch's flight recorder has, beside their logs."""
        (self.place / "dump").touch()
        self._until(lambda: len(list(self.trace.glob("comm_lib_trace_rank_*.json"))) == TRUTHS[self.name].ranks)

    def _until(self, is_true: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not is_true():
            assert time.monotonic() < end and self.processes[0].poll() is None, self.output().read_text()[-4000:]
            time.sleep(0.2)

    def stop(self) -> None:
        """End it from outside: SIGTERM to torchrun alone, which ends its ranks; then SIGKILL to what has not ended."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        try:
            self.wait()
        finally:
            if self.name == "compiler_hangs":
                with contextlib.suppress(OSError):  # nobody reads it: the compiler has ended
                    os.close(os.open(self.place / "fifo", os.O_WRONLY | os.O_NONBLOCK))
            for pid in (*self.ranks().values(), *(process.pid for process in self.processes if process.poll() is None)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def warm_cache(place: Path, python: str) -> Path:
    """Make a cache that has nothing but torch's checks of the processor, which take longer than these jobs."""
    program = "import torch\ntorch.compile(lambda x: x + 1)(torch.ones(8))"
    variables = environment("", place) | {"TORCHINDUCTOR_CACHE_DIR": str(place)}
    del variables["TORCH_TRACE"]
    subprocess.run([python, "-c", program], env=variables, check=True, capture_output=True, timeout=PATIENCE_S)
    return place


def start(name: str, place: Path, python: str, cache: Path) -> Job:
    """Start a job in this new directory, with a copy of this cache."""
    job = Job(name, place)
    place.mkdir(parents=True, exist_ok=True)
    shutil.copytree(cache, place / "cache")
    if name == "compiler_hangs":
        os.mkfifo(place / "fifo")
        script = place / "g++"
        script.write_text(HANGING_COMPILER.format(place=place, compiler=shutil.which("g++")))
        script.chmod(0o755)
    for part in range(2 if name == "two_jobs" else 1):
        with job.output(part).open("wb") as out:
            job.processes.append(
                subprocess.Popen(
                    command(name, python), env=environment(name, place) | {"TLTUI_JOB_PART": str(part)}, cwd=PROGRAM.parent,
                    stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                )
            )  # fmt: skip
    return job


def command(name: str, python: str) -> list[str]:
    """Return the command line by which a user starts it."""
    if name == "spawn_error":
        return [python, str(PROGRAM), name]
    restarts = ["--max-restarts", "1"] if name in RESTARTS else []
    return [
        python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(TRUTHS[name].ranks), *restarts,
        str(PROGRAM), name,
    ]  # fmt: skip


def environment(name: str, place: Path) -> dict[str, str]:
    """Return an environment in which torch has no settings but a trace, a cache of the job's own and few threads."""
    cleared = ("TORCH", "INDUCTOR", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_", "TLTUI")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    more = {}
    if name in WITHOUT_CACHES:
        more["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    if name.startswith("flight_recorder"):
        more |= {"TORCH_FR_BUFFER_SIZE": "2000", "TORCH_FR_DUMP_TEMP_FILE": str(place / "trace" / "comm_lib_trace_rank_")}
    return {key: value for key, value in os.environ.items() if not key.startswith(cleared)} | {
        "TORCH_TRACE": str(place / "trace"), "TORCHINDUCTOR_CACHE_DIR": str(place / "cache"), "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "MASTER_PORT": port, "TLTUI_JOB": str(place),
        **more,
    }  # fmt: skip
