"""What a job has left in the directory of its trace; and where it left no log, what the reason may be.

A directory that the user set may hold logs of earlier runs: only those files count that were not there before.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tltui.running.environment import DTRACE, PROVENANCE, TRACE, Prepared
from tltui.sources.discover import Found, NothingFound, discover
from tltui.sources.open_files import PROC, pids
from tltui.sources.pids import LogProcess, command_of, processes_of
from tltui.trace.files import Identity, identity_of

OFF = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
"""Variables that switch torch.compile off when they are 1."""
RUNNING_SHOWN = 4
_NOT_CALLED = "torch.compile was not reached, or what it returned was never called"
_QUEUES = "{0} only queues the job: the log comes when it has run"
_CONTAINER = "{0} starts a job without your environment and files: add -e {1} -e {2} -v {3}:{3}"
_MPI = "{0} may start ranks without your environment: with Open MPI add -x {1} -x {2}"
_SSH = "{0} starts a job on another machine and without your environment: put {1}={3} {2}=1 in front of python"
LAUNCHERS = {
    "ssh": _SSH, "pdsh": _SSH,
    "sudo": "{0} starts a job without your environment: sudo --preserve-env={1},{2}",
    "docker": _CONTAINER, "podman": _CONTAINER,
    "kubectl": "{0} starts a job without your environment: set {1} and {2} in the pod",
    "mpirun": _MPI, "mpiexec": _MPI,
    "sbatch": _QUEUES, "qsub": _QUEUES, "bsub": _QUEUES,
}  # fmt: skip
"""Programs that start a job elsewhere or otherwise: what to do there. {1} and {2} are the variables, {3} the directory."""
CLEARING = {
    ("env", "-i"): "env -i empties the environment: add {1}={3} {2}=1 behind it",
    ("env", "-"): "env - empties the environment: add {1}={3} {2}=1 behind it",
    ("env", "--ignore-environment"): "env --ignore-environment empties it: add {1}={3} {2}=1 behind it",
    ("srun", "--export"): "srun --export hands on only what it names: use --export=ALL",
}
"""A program and an option with which it drops the environment."""


def files_in(directory: str) -> frozenset[Identity]:
    """Which files are below a directory."""
    found = set()
    for place, _, names in os.walk(directory):
        for name in names:
            try:
                found.add(identity_of(os.lstat(os.path.join(place, name))))
            except OSError:
                continue
    return frozenset(found)


def left_in(directory: str, before: frozenset[Identity]) -> tuple[Found | None, int]:
    """The logs that are new, None without any; and how many logs are of earlier runs."""
    try:
        found = discover([directory])
    except NothingFound:
        return None, 0
    new = tuple(log for log in found.logs if not _was_there(log.path, before))
    earlier = len(found.logs) - len(new)
    skipped = tuple(item for item in found.skipped if not _was_there(item.path, before))
    profiles = tuple(own for own in found.profiles if not _was_there(own.path, before))
    dumps = tuple(own for own in found.dumps if not _was_there(own.path, before))
    return replace(found, logs=new, skipped=skipped, profiles=profiles, dumps=dumps) if new else None, earlier


def still_written(found: Found) -> tuple[LogProcess, ...]:
    """What the job left behind that still has a log open."""
    logs = {}
    for log in found.logs:
        try:
            logs[log.path] = identity_of(os.stat(log.path))
        except OSError:
            continue
    return tuple({process.pid: process for item in processes_of(logs, 0.0) for process in item.processes}.values())


def is_full(directory: str) -> bool:
    """Whether its file system has no space left: what torch could not write looks like a compile that did not finish."""
    try:
        return os.statvfs(directory).f_bavail == 0
    except OSError:
        return False


def _was_there(path: str, before: frozenset[Identity]) -> bool:
    if not before:
        return False
    try:
        return identity_of(os.stat(path)) in before
    except OSError:
        return False


def why_no_log(words: Sequence[str], prepared: Prepared) -> tuple[str, ...]:
    """Why there may be no log: what is known, else the two things that it can be."""
    if running := _still_running(prepared):
        return tuple(f"the job goes on in the background, and may compile yet: pid {pid}  {command}" for pid, command in running)
    known = [*_switched_off(prepared.environment), *_launched(words, prepared.directory), *_elsewhere(prepared.environment)]
    if known:
        return tuple(known)
    if prepared.logs_file and os.path.exists(prepared.logs_file):
        return (f"torch was imported (it began {os.path.basename(prepared.logs_file)}), and nothing was compiled: {_NOT_CALLED}",)
    return (
        f"either nothing was compiled: {_NOT_CALLED}",
        f"or the job did not get {TRACE}: ssh, sudo, docker, srun --export=NONE, env -i and the like start it without your "
        f"environment. Then put {TRACE}={shlex.quote(prepared.directory)} {PROVENANCE}=1 in front of python there",
    )


def _still_running(prepared: Prepared) -> list[tuple[int, str]]:
    """Processes of the job: nobody else has the name of a directory that was made for it."""
    if not prepared.made:
        return []
    variable = f"{TRACE}={prepared.directory}".encode("utf-8", "surrogateescape")
    return [(pid, command_of(pid)) for pid in pids() if variable in _environment_of(pid)][:RUNNING_SHOWN]


def _environment_of(pid: int) -> list[bytes]:
    try:
        with open(f"{PROC}/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _switched_off(environment: Mapping[str, str]) -> list[str]:
    return [f"{name}=1 is set: torch.compile does nothing" for name in OFF if environment.get(name) == "1"]


def _launched(words: Sequence[str], directory: str) -> list[str]:
    """What is known of the programs that stand in front of the job's own."""
    names = [os.path.basename(word) for word in words]
    end = next((n for n, name in enumerate(names) if name.startswith("python") or name.endswith(".py")), len(names))
    front = names[:end]
    said = [(name, LAUNCHERS[name]) for name in front if name in LAUNCHERS]
    options = {word.partition("=")[0] for word in words[:end]}
    if any(word.removeprefix("--export=").startswith("ALL") for word in words[:end]):
        options.discard("--export")
    said += [(name, text) for (name, option), text in CLEARING.items() if name in front and option in options]
    return [text.format(name, TRACE, PROVENANCE, shlex.quote(directory)) for name, text in said]


def _elsewhere(environment: Mapping[str, str]) -> list[str]:
    if environment.get(DTRACE):
        return [] if environment.get(TRACE) else [f"{DTRACE} is read by torch 2.7 and later only: set {TRACE} for an older one"]
    if os.path.isabs(environment[TRACE]):
        return []
    return [f"{TRACE} is a relative path: a job that goes to another directory writes below that one"]
