"""Steps of a job that are recorded with torch.profiler without a change to its program (`tltui run --record-steps FIRST:LAST`).

The directory `hook` is put first on PYTHONPATH: each Python process of the job reads the `sitecustomize.py` in it at its start.
What is done there, and what a step is, says `hook/_tltui_recorder.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tltui.running.environment import Refused
from tltui.running.left import CLEARING, LAUNCHERS

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
