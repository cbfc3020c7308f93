"""Tracing of a job: its command line and environment, recorded steps, its new logs, or reasons for their absence.

`tltui run` writes the command to `job.json` of the trace directory, and `tltui try DIR` reads it. A command is run only if the
file and its directory belong to this user and nobody else can write them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tltui.sources.discover import Found, NothingFound, discover
from tltui.sources.file_writers import PROC, pids
from tltui.sources.job_output import MARK
from tltui.sources.local_processes import LogProcess, command_of, processes_of
from tltui.text.bad_input import BadInput
from tltui.text.frozen import frozen
from tltui.text.safe_files import read_small_json, replacing
from tltui.trace.files import Identity, identity_of

JOB = "job.json"
MAX_BYTES = 1 << 20
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
PYTHONS = ("python", "python3")

TRACE, DTRACE, PROVENANCE = "TORCH_TRACE", "TORCH_DTRACE", "INDUCTOR_PROVENANCE"
NO_CACHES = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"
DEBUG, DEBUG_DIRECTORY = "TORCH_COMPILE_DEBUG", "TORCH_COMPILE_DEBUG_DIR"
LOGS, LOGS_OUT = "TORCH_LOGS", "TORCH_LOGS_OUT"
LOGS_FILE = "torch_logs.txt"
"""File of TORCH_LOGS text in the trace directory: all ranks append to it, and each line names its rank."""
ANOTHER = "give a new or empty directory"

OFF = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
"""Variables that disable torch.compile when set to 1."""
RUNNING_SHOWN = 4
_NOT_CALLED = "the job did not reach torch.compile, or never called the compiled function"
_QUEUES = "{0} only queues the job: the log is written when the job runs"
_CONTAINER = "{0} starts a job without your environment and files. Add -e {1} -e {2} -v {3}:{3}"
_MPI = "{0} may start ranks without your environment. With Open MPI, add -x {1} -x {2}"
_SSH = "{0} starts a job on another machine without your environment. Put {1}={3} {2}=1 before python"
LAUNCHERS = {
    "ssh": _SSH, "pdsh": _SSH,
    "sudo": "{0} starts a job without your environment. Use sudo --preserve-env={1},{2}",
    "docker": _CONTAINER, "podman": _CONTAINER,
    "kubectl": "{0} starts a job without your environment. Set {1} and {2} in the pod",
    "mpirun": _MPI, "mpiexec": _MPI,
    "sbatch": _QUEUES, "qsub": _QUEUES, "bsub": _QUEUES,
}  # fmt: skip
"""Programs that start a job elsewhere or otherwise, with advice. {1} and {2} are the variables, {3} the directory."""
CLEARING = {
    ("env", "-i"): "env -i clears the environment. Add {1}={3} {2}=1 after it",
    ("env", "-"): "env - clears the environment. Add {1}={3} {2}=1 after it",
    ("env", "--ignore-environment"): "env --ignore-environment clears the environment. Add {1}={3} {2}=1 after it",
    ("srun", "--export"): "srun --export passes only the listed variables. Use --export=ALL",
}
"""A program and an option with which it drops the environment."""

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook")
STEPS, DIRECTORY = "TLTUI_RECORD_STEPS", "TLTUI_RECORD_DIRECTORY"
"""Variables with the options of `hook/_tltui_recorder.py`."""
PATH = "PYTHONPATH"
KERNELS = "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE"
"""Variable that makes C++ kernels report to the profiler. Part of the key of Inductor's caches."""
_STEPS = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")
_PYTHON = re.compile(r"python[0-9.]*t?|pypy[0-9.]*")
_IGNORING = {"I": "-I", "E": "-E", "S": "-S"}
"""Options with which Python ignores PYTHONPATH, or reads no `sitecustomize`."""
_WITH_VALUE = "WX"
_ELSEWHERE = {"ssh", "pdsh", "sudo", "docker", "podman", "kubectl"}


class Untrusted(Exception):
    """The recorded command is not run; the text has the reason."""


class Refused(BadInput):
    """The job is not started."""


@frozen
class RecordedJob:
    """A command and where it ran."""

    command: tuple[str, ...]
    cwd: str
    variables: tuple[str, ...]
    """Names of the environment variables that it had; values are not recorded."""


@frozen
class TraceOptions:
    """Tracing options of the user."""

    directory: str = ""
    """Trace directory; '' for a new directory below the working directory."""
    fresh: bool = False
    """Whether to disable torch's caches."""
    debug: bool = False
    """Whether to enable torch's debug directory."""
    logs: str = ""
    """Comma-separated names for TORCH_LOGS."""


@frozen
class Prepared:
    """The environment and directory of a job."""

    environment: dict[str, str]
    """The complete environment."""
    directory: str
    """Absolute path of the trace directory."""
    is_new: bool
    """Whether the directory was created for this run, or was empty; else it may hold logs of earlier runs."""
    logs_file: str
    """File of requested TORCH_LOGS text; '' if none."""
    messages: tuple[str, ...]
    """Messages before the job starts: the first line names the directory."""


@frozen
class Steps:
    """The steps to record, both included, counted from 1."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}:{self.last}"


def write_job(directory: str, command: Sequence[str], variables: Iterable[str]) -> None:
    """Write `job.json` with mode 0600, unless the directory has one. Raises OSError."""
    path = Path(directory, JOB)
    if path.exists():
        return
    content = {"written_by": MARK, "command": list(command), "cwd": os.getcwd(), "variables": sorted(variables)}
    with replacing(path, force=False, private=True) as file:
        file.write(json.dumps(content, indent=1).encode("ascii") + b"\n")


def read_job(directory: str) -> RecordedJob:
    """Return the recorded command. Raises `Untrusted`."""
    path = os.path.join(directory, JOB)
    for place in (directory, path):
        try:
            status = os.lstat(place)
        except OSError as error:
            raise Untrusted(f"{place}: {error.strerror}; tltui run writes it") from None
        if stat.S_ISLNK(status.st_mode):
            raise Untrusted(f"{place}: a symbolic link")
        if status.st_uid != os.geteuid():
            raise Untrusted(f"{place}: belongs to another user")
        if status.st_mode & _WRITABLE_BY_OTHERS:
            raise Untrusted(f"{place}: others can write it")
    try:
        stored = read_small_json(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        raise Untrusted(f"{path}: {error}") from None
    command = stored.get("command") if isinstance(stored, dict) else None
    cwd = stored.get("cwd") if isinstance(stored, dict) else None
    variables = stored.get("variables", []) if isinstance(stored, dict) else []
    if not (_are_texts(command) and command and isinstance(cwd, str) and _are_texts(variables)):
        raise Untrusted(f"{path}: not a job recorded by tltui run")
    return RecordedJob(tuple(command), cwd, tuple(variables))


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and "\0" not in item for item in value)


def program_of(words: Sequence[str], path: str | None = None) -> tuple[str, ...]:
    """Return the command with its program.

    A script without one, `train.py …` or `-m package.train …`, is run by the `python` that a shell would find. `path`: PATH, if it
    differs from ours.
    """
    first = words[0]
    if first == "-m" or (first.endswith(".py") and shutil.which(first, path=path) is None and os.path.isfile(first)):
        return _python(path), *words
    return tuple(words)


def _python(path: str | None) -> str:
    return next((name for name in PYTHONS if shutil.which(name, path=path)), sys.executable)


def prepare(options: TraceOptions, environ: Mapping[str, str], started: time.struct_time | None = None) -> Prepared:
    """Derive the environment of a job from the user's and create its directory. Raises `Refused`."""
    environment = dict(environ)
    directory, is_new, note = _trace_directory(options, environment, started or time.localtime())
    if not environment.get(PROVENANCE):
        environment[PROVENANCE] = "1"
    notes = [note]
    if options.fresh:
        notes += _switched_on(environment, NO_CACHES, "--fresh")
    if options.debug:
        notes += _switched_on(environment, DEBUG, "--debug")
        if not environment.get(DEBUG_DIRECTORY):
            environment[DEBUG_DIRECTORY] = directory  # torch makes torch_compile_debug in it
    logs_file = _logs(options.logs, environment, directory)
    return Prepared(environment, directory, is_new, logs_file, tuple(notes))


def _trace_directory(options: TraceOptions, environment: dict[str, str], started: time.struct_time) -> tuple[str, bool, str]:
    """Return the trace directory, whether it is new, and a message about it."""
    by = next((name for name in (DTRACE, TRACE) if environment.get(name)), "")  # torch too asks for TORCH_DTRACE first
    if not by:
        directory, is_new = named_directory(options.directory) if options.directory else (new_directory(started), True)
        environment[TRACE] = directory
        return directory, is_new, f"the trace goes to {directory}"
    directory = os.path.abspath(environment[by])
    if options.directory and os.path.realpath(options.directory) != os.path.realpath(directory):
        advice = f"leave out -o {options.directory}, or unset {by}"
        raise Refused(f"{by} sends the trace to another directory: '{directory}'", advice)
    return directory, False, f"{by} is set: the trace goes to {directory}"


def named_directory(name: str) -> tuple[str, bool]:
    """Create the user's directory or check that it is empty: logs of two runs would be read as one run. Raises `Refused`."""
    directory = os.path.abspath(name)
    try:
        os.makedirs(directory)
        return directory, True
    except FileExistsError:
        pass
    except OSError as error:
        raise Refused(f"{error.strerror}: '{name}'", ANOTHER) from None
    try:
        entries = os.listdir(directory)
    except OSError as error:
        raise Refused(f"{error.strerror}: '{name}'", ANOTHER) from None
    if entries:
        holds = f"{len(entries)} file{'s' * (len(entries) != 1)}"
        raise Refused(f"the directory of -o is not empty ({holds}): '{name}'", ANOTHER)
    return directory, True


def new_directory(started: time.struct_time, prefix: str = "tltui") -> str:
    """Create a new directory below the working directory; a second one within the same second gets a number. Raises `Refused`."""
    name = os.path.abspath(time.strftime(f"{prefix}-%Y%m%d-%H%M%S", started))
    directory, number = name, 1
    while True:
        try:
            os.mkdir(directory)
            return directory
        except FileExistsError:
            number += 1
            directory = f"{name}-{number}"
        except OSError as error:
            raise Refused(f"cannot create {directory}: {error.strerror}", "choose another with -o DIR") from None


def _switched_on(environment: dict[str, str], name: str, option: str) -> list[str]:
    """Set a switch; return a message if the user had set another value."""
    before = environment.get(name)
    environment[name] = "1"
    return [f"{name} was {before}; {option} sets it to 1"] if before and before != "1" else []


def _logs(names: str, environment: dict[str, str], directory: str) -> str:
    """Request TORCH_LOGS text; return its file. The user's own setting comes last: in torch the last entry wins."""
    if not names:
        return ""
    environment[LOGS] = ",".join(filter(None, (names, environment.get(LOGS))))
    if environment.get(LOGS_OUT):
        return os.path.abspath(environment[LOGS_OUT])
    try:
        os.makedirs(directory, exist_ok=True)  # torch opens the file before it makes the directory
    except OSError as error:
        raise Refused(f"cannot create {directory}: {error.strerror}") from None
    environment[LOGS_OUT] = os.path.join(directory, LOGS_FILE)
    return environment[LOGS_OUT]


def files_in(directory: str) -> frozenset[Identity]:
    """Return the identities of the files below a directory."""
    identities = set()
    for place, _, names in os.walk(directory):
        for name in names:
            try:
                identities.add(identity_of(os.lstat(os.path.join(place, name))))
            except OSError:
                continue
    return frozenset(identities)


def logs_in(directory: str, before: frozenset[Identity]) -> tuple[Found | None, int]:
    """Return the new logs, None if there are none, and the number of logs of earlier runs."""
    try:
        discovered = discover([directory])
    except NothingFound:
        return None, 0
    new = tuple(log for log in discovered.logs if not _existed(log.path, before))
    earlier = len(discovered.logs) - len(new)
    skipped = tuple(item for item in discovered.skipped if not _existed(item.path, before))
    profiles = tuple(profile for profile in discovered.profiles if not _existed(profile.path, before))
    dumps = tuple(profile for profile in discovered.dumps if not _existed(profile.path, before))
    return replace(discovered, logs=new, skipped=skipped, profiles=profiles, dumps=dumps) if new else None, earlier


def still_written(discovered: Found) -> tuple[LogProcess, ...]:
    """Return processes of the job that still have a log open."""
    logs = {}
    for log in discovered.logs:
        try:
            logs[log.path] = identity_of(os.stat(log.path))
        except OSError:
            continue
    return tuple({process.pid: process for item in processes_of(logs, 0.0) for process in item.processes}.values())


def is_full(directory: str) -> bool:
    """Return whether its file system has no space left: lost records look like an unfinished compile."""
    try:
        return os.statvfs(directory).f_bavail == 0
    except OSError:
        return False


def _existed(path: str, before: frozenset[Identity]) -> bool:
    if not before:
        return False
    try:
        return identity_of(os.stat(path)) in before
    except OSError:
        return False


def why_no_log(words: Sequence[str], prepared: Prepared) -> tuple[str, ...]:
    """Return why there may be no log: known reasons, else the two possible ones."""
    if running := _still_running(prepared):
        return tuple(f"the job still runs in the background and may compile: pid {pid}  {command}" for pid, command in running)
    reasons = [*_switched_off(prepared.environment), *_launched(words, prepared.directory), *_path_warnings(prepared.environment)]
    if reasons:
        return tuple(reasons)
    if prepared.logs_file and os.path.exists(prepared.logs_file):
        return (f"torch was imported (it started {os.path.basename(prepared.logs_file)}) but compiled nothing: {_NOT_CALLED}",)
    return (
        f"(1) nothing was compiled: {_NOT_CALLED}",
        f"(2) the job did not get {TRACE}: ssh, sudo, docker, srun --export=NONE or env -i start jobs without your "
        f"environment. In this case, put {TRACE}={shlex.quote(prepared.directory)} {PROVENANCE}=1 before python in that command",
    )


def _still_running(prepared: Prepared) -> list[tuple[int, str]]:
    """Return running processes of the job, identified by the new trace directory in their environment."""
    if not prepared.is_new:
        return []
    return [(pid, command_of(pid)) for pid in tracing_pids(prepared.directory)][:RUNNING_SHOWN]


def tracing_pids(directory: str) -> list[int]:
    """Return the running processes whose environment has this trace directory."""
    variable = f"{TRACE}={directory}".encode("utf-8", "surrogateescape")
    return [pid for pid in pids() if variable in _environment_of(pid)]


def _environment_of(pid: int) -> list[bytes]:
    try:
        with open(f"{PROC}/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _switched_off(environment: Mapping[str, str]) -> list[str]:
    return [f"{name}=1 is set, which disables torch.compile" for name in OFF if environment.get(name) == "1"]


def _launched(words: Sequence[str], directory: str) -> list[str]:
    """Return advice on the launchers before the job's own program."""
    names = [os.path.basename(word) for word in words]
    end = next((n for n, name in enumerate(names) if name.startswith("python") or name.endswith(".py")), len(names))
    front = names[:end]
    advice = [(name, LAUNCHERS[name]) for name in front if name in LAUNCHERS]
    options = {word.partition("=")[0] for word in words[:end]}
    if any(word.removeprefix("--export=").startswith("ALL") for word in words[:end]):
        options.discard("--export")
    advice += [(name, text) for (name, option), text in CLEARING.items() if name in front and option in options]
    return [text.format(name, TRACE, PROVENANCE, shlex.quote(directory)) for name, text in advice]


def _path_warnings(environment: Mapping[str, str]) -> list[str]:
    if environment.get(DTRACE):
        return [] if environment.get(TRACE) else [f"only torch 2.7 and later read {DTRACE}. For older versions, set {TRACE}"]
    if os.path.isabs(environment[TRACE]):
        return []
    return [f"{TRACE} is a relative path: if the job changes its directory, the trace goes below the new one"]


def parse_steps(text: str) -> Steps:
    """Parse `5:10`. Raises `Refused`."""
    match = _STEPS.fullmatch(text)
    if match is None:
        raise Refused(f"invalid steps: '{text}'", "use FIRST:LAST, for example --record-steps 5:10")
    steps = Steps(int(match[1]), int(match[2]))
    if steps.first < 1:
        raise Refused(f"steps count from 1: '{text}'", f"use --record-steps 1:{max(steps.last, 1)}")
    if steps.last < steps.first:
        raise Refused(f"the last step precedes the first: '{text}'", f"use --record-steps {steps.last}:{steps.first}")
    return steps


def enable_recording(steps: Steps, environment: dict[str, str], directory: str) -> tuple[str, ...]:
    """Set up the recording of these steps in the job's processes; return messages to print before it starts."""
    environment[STEPS], environment[DIRECTORY] = str(steps), directory
    add_hook(environment)
    notes = [f"recording steps {steps.first} to {steps.last} into {directory}"]
    if not environment.get(KERNELS):
        environment[KERNELS] = "1"
        notes.append(
            f"{KERNELS}=1 adds C++ kernel names to the profile. It changes Inductor's cache keys: do not compare "
            "compile times of this run with runs without it"
        )
    elif environment[KERNELS] != "1":
        notes.append(f"{KERNELS} is {environment[KERNELS]}: the profile has no C++ kernels")
    return tuple(notes)


def add_hook(environment: dict[str, str]) -> None:
    """Make each Python of the job read our start-up hook first."""
    before = environment.get(PATH)
    environment[PATH] = HOOK + os.pathsep + before if before else HOOK


def recording_obstacle(words: Sequence[str]) -> str:
    """Return why the job's Python cannot read our start-up hook, '' if it can."""
    if os.pathsep in HOOK or not os.path.isfile(os.path.join(HOOK, "sitecustomize.py")):
        return f"{PATH} cannot contain the directory of tltui"
    names = [os.path.basename(word) for word in words]
    at = next((n for n, name in enumerate(names) if _PYTHON.fullmatch(name)), len(names))
    front = names[:at]
    if (other := next((name for name in front if name in _ELSEWHERE and name in LAUNCHERS), None)) is not None:
        return f"{other} starts the job without your environment"
    for name, option in CLEARING:
        if name == "env" and name in front and option in front:
            return f"env {option} clears the environment"
    option = _ignoring(words[at + 1 :])
    return f"{names[at]} {option} disables start-up hooks" if option else ""


def _ignoring(options: Sequence[str]) -> str:
    """Return the interpreter option that disables the hook, '' without one. Options end where the program begins."""
    remaining = iter(options)
    for word in remaining:
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(remaining, None)
            continue
        if len(word) < 2 or word[0] != "-":
            return ""
        for place, letter in enumerate(word[1:], 2):
            if letter in _IGNORING:
                return _IGNORING[letter]
            if letter in "cm":
                return ""
            if letter in _WITH_VALUE:
                if place == len(word):
                    next(remaining, None)
                break
    return ""
