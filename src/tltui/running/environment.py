"""What a job is started with, so that torch leaves a trace of it: the environment, and the directory that the trace goes to.

What the user has set is kept. An empty variable counts as not set: torch takes an empty TORCH_TRACE for a directory that it cannot
make, and fails at the first compile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

TRACE, DTRACE, PROVENANCE = "TORCH_TRACE", "TORCH_DTRACE", "INDUCTOR_PROVENANCE"
NO_CACHES = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"
DEBUG, DEBUG_DIRECTORY = "TORCH_COMPILE_DEBUG", "TORCH_COMPILE_DEBUG_DIR"
LOGS, LOGS_OUT = "TORCH_LOGS", "TORCH_LOGS_OUT"
LOGS_FILE = "torch_logs.txt"
"""Where TORCH_LOGS text goes, in the directory of the trace: all ranks append to it, and each line names its rank."""


class Refused(Exception):
    """The job is not started: its text says what the user can mend."""


@dataclass(frozen=True, slots=True)
class Wanted:
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


def prepare(wanted: Wanted, environ: Mapping[str, str], started: time.struct_time | None = None) -> Prepared:
    """The environment of a job, made from that of the user. Makes its directory. Raises `Refused`."""
    environment = dict(environ)
    directory, made, said = _trace(wanted, environment, started or time.localtime())
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


def _trace(wanted: Wanted, environment: dict[str, str], started: time.struct_time) -> tuple[str, bool, str]:
    """The directory of the trace, whether it is a new one, and what to say of it."""
    by = next((name for name in (DTRACE, TRACE) if environment.get(name)), "")  # torch too asks for TORCH_DTRACE first
    if not by:
        directory, made = _named(wanted.directory) if wanted.directory else (_new(started), True)
        environment[TRACE] = directory
        return directory, made, f"the trace goes to {directory}"
    directory = os.path.abspath(environment[by])
    if wanted.directory and os.path.realpath(wanted.directory) != os.path.realpath(directory):
        raise Refused(f"{by} is set, the trace would go to {directory}: leave out -o {wanted.directory}, or unset {by}")
    return directory, False, f"{by} is set: the trace goes to {directory}"


def _named(name: str) -> tuple[str, bool]:
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


def _new(started: time.struct_time) -> str:
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
