"""Applies the changes of a trial to a program, and times its steps: `tltui try`.

`sitecustomize.py` beside this starts it in each Python process of the job. Like the recorder it waits for torch, imports nothing of
tltui, works with Python 3.9 and torch 2.4 or later, and never breaks the job: arguments that a call of `torch.compile` gives itself
win, and a setting that this torch lacks is skipped and reported. A step is what `_tltui_recorder.py` counts as one.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from _tltui_recorder import Recorder, Waiting  # type: ignore[import-not-found]

CHANGES, DIRECTORY, UNTIL = "TLTUI_TRIAL_CHANGES", "TLTUI_TRIAL_DIRECTORY", "TLTUI_TRIAL_UNTIL_STEP"
"""The variables: a JSON object of `arguments` of torch.compile and `config` values, where results go, the last step."""
MAX_TIMES = 1_000_000


def begin(environ: Any) -> None:
    """Wait for torch if this process is part of a trial."""
    directory = environ.get(DIRECTORY)
    if not directory:
        return
    changes = json.loads(environ.get(CHANGES) or "{}")
    timer = StepTimer(directory, int(environ.get(UNTIL) or 0))
    hooks: dict[str, Callable[[Any], None]] = {"torch._dynamo.eval_frame": timer.hook_calls}
    for name, value in changes.get("config", {}).items():
        module, _, option = name.rpartition(".")
        hooks[module] = functools.partial(configure, timer, option, value, hooks.get(module))

    def on_torch(torch: Any) -> None:
        timer.hook_optimizers(torch)
        add_arguments(timer, torch, changes.get("arguments", {}))

    hooks["torch"] = on_torch
    sys.meta_path.insert(0, Waiting(hooks))


def configure(timer: StepTimer, option: str, value: Any, before: Callable[[Any], None] | None, module: Any) -> None:
    """Set an option of a config module after it is imported, unless this torch lacks it."""
    if before is not None:
        before(module)
    if hasattr(module, option):
        setattr(module, option, value)
    else:
        timer.unsupported.append(option)


def add_arguments(timer: StepTimer, torch: Any, arguments: dict[str, Any]) -> None:
    """Give `torch.compile` other defaults. None counts as not given: it is the default of these arguments."""
    compile_ = torch.compile
    parameters = inspect.signature(compile_).parameters
    supported = {name: value for name, value in arguments.items() if name in parameters}
    timer.unsupported += [name for name in arguments if name not in parameters]
    if not supported:
        return

    @functools.wraps(compile_)
    def compile_with(*models: Any, **given: Any) -> Any:
        return compile_(*models, **merged(supported, given))

    torch.compile = compile_with


def merged(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call: its own ones win."""
    return {**given, **{name: value for name, value in defaults.items() if given.get(name) is None}}


class StepTimer(Recorder):  # type: ignore[misc]
    """Clock of the steps of this process, which may end it after a step."""

    def __init__(self, directory: str, until: int) -> None:
        super().__init__(sys.maxsize, sys.maxsize, directory)
        self.until = until
        self.times: list[float] = []
        """When steps began, in seconds."""
        self.unsupported: list[str] = []

    def hook_profilers(self, profiler: Any) -> None:
        """Leave the program's profilers alone."""

    def advance(self) -> None:
        """Note the time at which a step begins."""
        here = self.here
        here.number += 1
        if not self.times:
            self.thread = threading.get_ident()
        if self.thread != threading.get_ident() or len(self.times) >= MAX_TIMES:
            return
        self.times.append(time.perf_counter())
        if self.until and here.number > self.until:
            self.at_exit()
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(0)

    def at_exit(self) -> None:
        """Write the times and what this torch lacks."""
        path = os.path.join(self.directory, f"steps_{os.getpid()}.json")
        with open(path + ".part", "w", encoding="ascii") as file:
            json.dump({"times": self.times, "unsupported": sorted(set(self.unsupported))}, file)
        os.replace(path + ".part", path)

    def say(self, text: str) -> None:
        """Print one line for the user."""
        with contextlib.suppress(Exception):  # nobody listens
            sys.stderr.write(f"tltui: try: {text}\n")
