"""Have a job leave a trace: its command line and environment, steps to record; what it left, or why there is no log."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tltui.sources.discover import Found, NothingFound, discover
from tltui.sources.file_writers import PROC, pids
from tltui.sources.local_processes import LogProcess, command_of, processes_of
from tltui.trace.files import Identity, identity_of

PYTHONS = ("python", "python3")


def program_of(words: Sequence[str], path: str | None = None) -> tuple[str, ...]:
    """The command with its program. A script without one, `train.py …` or `-m package.train …`, is run by the `python` that a shell
    would find; `path` is PATH, where it is another one than ours."""
    first = words[0]
    if first == "-m" or (first.endswith(".py") and shutil.which(first, path=path) is None and os.path.isfile(first)):
        return _python(path), *words
    return tuple(words)


def _python(path: str | None) -> str:
    return next((name for name in PYTHONS if shutil.which(name, path=path)), sys.executable)


TRACE, DTRACE, PROVENANCE = "TORCH_TRACE", "TORCH_DTRACE", "INDUCTOR_PROVENANCE"
NO_CACHES = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"
DEBUG, DEBUG_DIRECTORY = "TORCH_COMPILE_DEBUG", "TORCH_COMPILE_DEBUG_DIR"
LOGS, LOGS_OUT = "TORCH_LOGS", "TORCH_LOGS_OUT"
LOGS_FILE = "torch_logs.txt"
"""Where TORCH_LOGS text goes, in the directory of the trace: all ranks append to it, and each line names its rank."""


class Refused(Exception):
    """The job is not started: its text says what the user can mend."""


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """What the user asked for."""

    directory: str = ""
    """Where the trace goes; '' for a new directory below the working directory."""
    fresh: bool = False
    """Without torch's caches."""
    debug: bool = False
    """With torch's debug directory."""
    logs: str = ""
    """Names for TORCH_LOGS, by commas."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a job is started with."""

    environment: dict[str, str]
    """All of it."""
    directory: str
    """Where the trace goes, an absolute path."""
    made: bool
    """Whether it was made for this run, or was empty; else logs of earlier runs may be in it."""
    logs_file: str
    """Where TORCH_LOGS text goes that was asked for; '' where none was."""
    said: tuple[str, ...]
    """What to say before the job starts: the first line is which directory is used."""


def prepare(wanted: TraceOptions, environ: Mapping[str, str], started: time.struct_time | None = None) -> Prepared:
    """The environment of a job, made from that of the user. Makes its directory. Raises `Refused`."""
    environment = dict(environ)
    directory, made, said = _trace_directory(wanted, environment, started or time.localtime())
    if not environment.get(PROVENANCE):
        environment[PROVENANCE] = "1"
    notes = [said]
    if wanted.fresh:
        notes += _switched_on(environment, NO_CACHES, "--fresh")
    if wanted.debug:
        notes += _switched_on(environment, DEBUG, "--debug")
        if not environment.get(DEBUG_DIRECTORY):
            environment[DEBUG_DIRECTORY] = directory  # torch makes torch_compile_debug in it
    logs_file = _logs(wanted.logs, environment, directory)
    return Prepared(environment, directory, made, logs_file, tuple(notes))


def _trace_directory(wanted: TraceOptions, environment: dict[str, str], started: time.struct_time) -> tuple[str, bool, str]:
    """The directory of the trace, whether it is a new one, and what to say of it."""
    by = next((name for name in (DTRACE, TRACE) if environment.get(name)), "")  # torch too asks for TORCH_DTRACE first
    if not by:
        directory, made = _named_directory(wanted.directory) if wanted.directory else (_new_directory(started), True)
        environment[TRACE] = directory
        return directory, made, f"the trace goes to {directory}"
    directory = os.path.abspath(environment[by])
    if wanted.directory and os.path.realpath(wanted.directory) != os.path.realpath(directory):
        raise Refused(f"{by} is set, the trace would go to {directory}: leave out -o {wanted.directory}, or unset {by}")
    return directory, False, f"{by} is set: the trace goes to {directory}"


def _named_directory(name: str) -> tuple[str, bool]:
    """The directory that the user named: a new one, or one without a file. The logs of two runs would be read as one run."""
    directory = os.path.abspath(name)
    try:
        os.makedirs(directory)
        return directory, True
    except FileExistsError:
        pass
    except OSError as error:
        raise Refused(f"-o {name}: {error.strerror}") from None
    try:
        entries = os.listdir(directory)
    except OSError as error:
        raise Refused(f"-o {name}: {error.strerror}") from None
    if entries:
        holds = f"{len(entries)} file{'s' * (len(entries) != 1)}"
        raise Refused(f"-o {name}: the directory is not empty ({holds}). A run needs one of its own: name one that is new or empty")
    return directory, True


def _new_directory(started: time.struct_time) -> str:
    """A new directory below the working directory. Who starts in the same second gets another number."""
    name = os.path.abspath(time.strftime("tltui-%Y%m%d-%H%M%S", started))
    directory, number = name, 1
    while True:
        try:
            os.mkdir(directory)
            return directory
        except FileExistsError:
            number += 1
            directory = f"{name}-{number}"
        except OSError as error:
            raise Refused(f"cannot make {directory}: {error.strerror}; -o DIR names another") from None


def _switched_on(environment: dict[str, str], name: str, option: str) -> list[str]:
    """Set a switch that was asked for; what to say where the user had set it to something else."""
    before = environment.get(name)
    environment[name] = "1"
    return [f"{name} was {before}, {option} sets it to 1"] if before and before != "1" else []


def _logs(names: str, environment: dict[str, str], directory: str) -> str:
    """Ask for TORCH_LOGS text; the file that it goes to. What the user set comes last: in torch the last word on a name counts."""
    if not names:
        return ""
    environment[LOGS] = ",".join(filter(None, (names, environment.get(LOGS))))
    if environment.get(LOGS_OUT):
        return os.path.abspath(environment[LOGS_OUT])
    try:
        os.makedirs(directory, exist_ok=True)  # torch opens the file before it makes the directory
    except OSError as error:
        raise Refused(f"cannot make {directory}: {error.strerror}") from None
    environment[LOGS_OUT] = os.path.join(directory, LOGS_FILE)
    return environment[LOGS_OUT]


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


def logs_in(directory: str, before: frozenset[Identity]) -> tuple[Found | None, int]:
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


HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook")
STEPS, DIRECTORY = "TLTUI_RECORD_STEPS", "TLTUI_RECORD_DIRECTORY"
"""What `hook/_tltui_recorder.py` is told."""
PATH = "PYTHONPATH"
KERNELS = "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE"
"""C++ kernels tell the profiler when they run. Part of the key of Inductor's caches."""
_STEPS = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")
_PYTHON = re.compile(r"python[0-9.]*t?|pypy[0-9.]*")
_IGNORING = {"I": "-I", "E": "-E", "S": "-S"}
"""Options with which Python ignores PYTHONPATH, or reads no `sitecustomize`."""
_WITH_VALUE = "WX"
_ELSEWHERE = {"ssh", "pdsh", "sudo", "docker", "podman", "kubectl"}


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps to record, both included, counted from 1."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}:{self.last}"


def parse_steps(text: str) -> Steps:
    """`5:10`. Raises `Refused`."""
    match = _STEPS.fullmatch(text)
    if match is None:
        raise Refused(f"--record-steps {text}: not FIRST:LAST, as in --record-steps 5:10")
    steps = Steps(int(match[1]), int(match[2]))
    if steps.first < 1:
        raise Refused(f"--record-steps {text}: steps are counted from 1")
    if steps.last < steps.first:
        raise Refused(f"--record-steps {text}: the last step is before the first one")
    return steps


def have_recorded(steps: Steps, environment: dict[str, str], directory: str) -> tuple[str, ...]:
    """Have the job's processes record these steps; what to say of it before the job starts."""
    environment[STEPS], environment[DIRECTORY] = str(steps), directory
    before = environment.get(PATH)
    environment[PATH] = HOOK + os.pathsep + before if before else HOOK
    said = [f"steps {steps.first} to {steps.last} are recorded into {directory}"]
    if not environment.get(KERNELS):
        environment[KERNELS] = "1"
        said.append(
            f"{KERNELS}=1 names C++ kernels in the profile. It is part of the key of Inductor's caches: "
            "how long this run compiles says nothing about the job without it"
        )
    elif environment[KERNELS] != "1":
        said.append(f"{KERNELS} is {environment[KERNELS]}: C++ kernels are not in the profile")
    return tuple(said)


def why_not(words: Sequence[str]) -> str:
    """Why the job's Python cannot be made to record, '' where nothing speaks against it."""
    if os.pathsep in HOOK or not os.path.isfile(os.path.join(HOOK, "sitecustomize.py")):
        return f"{PATH} cannot name the directory that tltui is in"
    names = [os.path.basename(word) for word in words]
    at = next((n for n, name in enumerate(names) if _PYTHON.fullmatch(name)), len(names))
    front = names[:at]
    if (other := next((name for name in front if name in _ELSEWHERE and name in LAUNCHERS), None)) is not None:
        return f"{other} starts the job without your environment"
    for name, option in CLEARING:
        if name == "env" and name in front and option in front:
            return f"env {option} empties the environment"
    option = _ignoring(words[at + 1 :])
    return f"{names[at]} {option} reads no start-up hook" if option else ""


def _ignoring(options: Sequence[str]) -> str:
    """The option with which Python ignores us, '' without one. They end where the program begins."""
    rest = iter(options)
    for word in rest:
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(rest, None)
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
                    next(rest, None)
                break
    return ""
