"""Records some steps of a program with `torch.profiler`, without a change to the program: `tltui run --record-steps FIRST:LAST`.

`sitecustomize.py` beside this starts it in each Python process of the job. It waits for torch: a process that never imports it is
left alone. It imports nothing of tltui, works with Python 3.9 and torch 2.4 or later, and never breaks the job: what fails here is
one line on stderr, and the job goes on.

What is a step, counted from 1 in each process:

* it ends with `Optimizer.step`, where the program has an optimizer: of several the one that stepped first (another one from where
  that one no longer steps). Its end is seen by the hook that torch calls after each step of any optimizer.
* without one, it begins with the call of a compiled function, from outside of all others, that has been called in this step
  already: `prefill decode decode` are two steps. Calls are seen by the hooks that Dynamo's contexts have for entering.

Calls count until an optimizer steps for the first time: what was recorded by them then is dropped, unless it is the first step.

Each thread counts by itself, and the first one that gets there is recorded. A profiler of the program's own comes first: with it
ours ends. The file is written beside the trace under another name and renamed when it is whole; a job that ends early leaves what
was recorded so far.
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

STEPS, DIRECTORY = "TLTUI_RECORD_STEPS", "TLTUI_RECORD_DIRECTORY"
"""The variables that say what to record, `5:10`, and where the profile goes."""
KERNELS = "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE"


def begin(environ: Any) -> None:
    """Wait for torch if steps are to be recorded."""
    steps, directory = environ.get(STEPS), environ.get(DIRECTORY)
    if not steps or not directory:
        return
    first, _, last = steps.partition(":")
    recorder = Recorder(int(first), int(last), directory)
    hooks = {"torch": recorder.hook_optimizers, "torch._dynamo.eval_frame": recorder.hook_calls}
    sys.meta_path.insert(0, Waiting({**hooks, "torch._inductor.config": name_kernels}))


def name_kernels(config: Any) -> None:
    """Make C++ kernels report to the profiler, as the variable of that name does in a torch that reads it."""
    if os.environ.get(KERNELS) == "1" and getattr(config.cpp, "enable_kernel_profile", None) is False:
        config.cpp.enable_kernel_profile = True


class Waiting:
    """Meta path hook that runs callbacks after modules are imported."""

    def __init__(self, hooks: dict[str, Callable[[Any], None]]) -> None:
        self._hooks = hooks

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of the other finders for an awaited module."""
        if name not in self._hooks:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                self._await(name, spec.loader)
                return spec
        return None

    def _await(self, name: str, loader: Any) -> None:
        """Wrap `exec_module` of a loader. The loader object stays the same: programs ask it for files."""
        run: Any = getattr(loader, "exec_module", None)

        def exec_module(module: Any) -> None:
            loader.__dict__.pop("exec_module", None)
            run(module)
            act = self._hooks.pop(name, None)
            if not self._hooks and self in sys.meta_path:
                sys.meta_path.remove(self)
            if act is not None:
                act(module)

        if run is not None and hasattr(loader, "__dict__"):
            loader.exec_module = exec_module


class Here(threading.local):
    """The state of one thread."""

    number = 0
    """Current step; 0 before the first."""
    depth = 0
    """Nesting depth of compiled functions."""
    by_optimizer = False

    def __init__(self) -> None:
        self.called: set[int] = set()
        """Compiled functions that were called in this step; of optimizers those that stepped since the leading one did."""
        self.leader: int | None = None


class Recorder:
    """Step counter and profiler of this process."""

    def __init__(self, first: int, last: int, directory: str) -> None:
        self.first = first
        self.last = last
        self.directory = directory
        self.here = Here()
        self.over = False
        """Nothing more is to be done."""
        self.profiler: Any = None
        """While it runs."""
        self.thread = 0
        self.is_preparing = False
        """Ours is being prepared."""
        self.written = ""
        self.dropped = False
        self.other: Callable[[], Any] = lambda: None
        """A reference to the program's own profiler that was prepared last."""

    # what torch is initialize to tell us

    def hook_optimizers(self, torch: Any) -> None:
        """Register a hook on optimizer steps."""
        try:
            optimizers = importlib.import_module("torch.optim.optimizer")
            is_compiling = torch.compiler.is_compiling

            def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
                if not is_compiling():  # a compiled optimizer: Dynamo reads this, and it adds nothing to the graph
                    self.when_left(sys._getframe(1), lambda: self.optimizer_stepped(id(optimizer)))

            optimizers.register_optimizer_step_post_hook(stepped)
            self.hook_profilers(torch.autograd.profiler.profile)
            atexit.register(self.at_exit)
            os.register_at_fork(after_in_child=self.forked)
        except Exception as error:
            self.give_up(error)

    def hook_profilers(self, profiler: Any) -> None:
        """Stop our profiler when the program prepares its own: torch has one at a time, and would raise in the program."""
        prepare = getattr(profiler, "_prepare_trace", None)
        if prepare is None:
            return

        def prepared(itself: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.is_preparing:
                self.other = weakref.ref(itself)
                if self.profiler is not None:
                    self.stop()
                    outcome = f"the steps recorded before are in {self.written}" if self.written else "no steps were recorded"
                    self.say(f"the program starts its own profiler: {outcome}")
            return prepare(itself, *args, **kwargs)

        profiler._prepare_trace = prepared

    def hook_calls(self, eval_frame: Any) -> None:
        """Register a hook on calls of compiled functions."""
        try:
            context = eval_frame.OptimizeContext
            make = context.__init__

            def enter_of(number: int) -> Callable[[], Callable[[], None]]:
                def enter() -> Callable[[], None]:
                    return self.entered(number)

                return enter

            def initialize(itself: Any, *args: Any, **kwargs: Any) -> None:
                make(itself, *args, **kwargs)
                hooks = getattr(itself, "enter_exit_hooks", None)
                if isinstance(hooks, list):
                    hooks.append(enter_of(id(itself)))

            initialize.__wrapped__ = make  # type: ignore[attr-defined]
            context.__init__ = initialize
            skip = getattr(eval_frame, "skip_code", None)
            if skip is not None:  # torch 2.4 calls the hooks of a nested context with Dynamo at work: it would compile them
                for function in (enter_of(0), self.entered, self.returned):
                    skip(function.__code__)
        except Exception as error:
            self.give_up(error)

    def when_left(self, frame: Any, act: Callable[[], None]) -> None:
        """Call `act` when a function of this thread returns, so that its record in the profile is complete.

        Call it at once if another profiler is set.
        """
        if self.over and not self.written:
            return
        if sys.getprofile() is not None:
            act()
            return

        def left(at: Any, event: str, _: Any) -> None:
            if event == "return" and at is frame:
                sys.setprofile(None)
                act()

        sys.setprofile(left)

    # counting

    def entered(self, context: int) -> Callable[[], None]:
        """Count the call of a compiled function; return the callback for its return."""
        here = self.here
        here.depth += 1
        if here.depth == 1 and not self.over and not here.by_optimizer:
            if here.number == 0 or context in here.called:
                here.called.clear()
                self.advance()
            here.called.add(context)
        return self.returned

    def returned(self) -> None:
        """Count the return of a compiled function."""
        self.here.depth -= 1

    def optimizer_stepped(self, optimizer: int) -> None:
        """End a step if the leading optimizer stepped."""
        here = self.here
        if not here.by_optimizer:
            here.by_optimizer, here.leader = True, optimizer
            if here.number > 1 and self.first > 1:
                self.drop()
            here.number = 1
        elif optimizer != here.leader:
            if optimizer not in here.called:
                here.called.add(optimizer)
                return
            here.leader = optimizer
        here.called.clear()
        self.advance()

    def advance(self) -> None:
        """Begin the next step of this thread."""
        here = self.here
        here.number += 1
        try:
            if self.over:
                return
            if self.profiler is None:
                if self.first - 1 <= here.number <= self.last:
                    self.start(here.number)
            elif self.thread == threading.get_ident():
                self.profiler.step_num = here.number - 1
                self.profiler.step()  # after the last one the schedule ends it
                if here.number > self.last:
                    self.end()
        except Exception as error:
            self.give_up(error)

    # recording

    def start(self, number: int) -> None:
        """Start the profiler: in the step before the first one, if there is one, as a warm-up."""
        torch = importlib.import_module("torch")
        profiling = torch.autograd.profiler
        other = self.other()
        if getattr(profiling, "_is_profiler_enabled", False) or getattr(other, "kineto_results", self) is None:
            self.over = True
            self.say("the program runs its own profiler: tltui records no steps")
            return
        self.thread, self.dropped = threading.get_ident(), False
        profiler = torch.profiler.profile(schedule=self.action, on_trace_ready=self.write)
        profiler.step_num = min(number, self.first - 1)
        self.is_preparing = True
        try:
            profiler.start()  # prepares
        finally:
            self.is_preparing = False
        self.profiler = profiler
        if number >= self.first:
            profiler.step_num = number - 1
            profiler.step()

    def action(self, number: int) -> Any:
        """Return the profiler action of a step."""
        action = importlib.import_module("torch.profiler").ProfilerAction
        if number < self.first:
            return action.WARMUP
        if number < self.last:
            return action.RECORD
        return action.RECORD_AND_SAVE if number == self.last else action.NONE

    def write(self, profiler: Any) -> None:
        """Write the profile atomically."""
        if self.dropped:
            return
        rank = self.rank()
        of_rank = "" if rank is None else f"rank_{rank}_"
        path = os.path.join(self.directory, f"profile_{of_rank}{os.getpid()}.json")
        part = path + ".part"
        os.makedirs(self.directory, exist_ok=True)
        try:
            profiler.export_chrome_trace(part)
            os.replace(part, path)
        finally:
            if os.path.exists(part):
                os.remove(part)
        self.written = path

    def end(self) -> None:
        """Mark the recording as finished."""
        self.over, self.profiler = True, None

    def stop(self) -> None:
        """Stop recording early and write the profile so far."""
        profiler = self.profiler
        self.end()
        try:
            profiler.stop()
        except Exception as error:
            self.give_up(error)

    def drop(self) -> None:
        """Discard the recording, whose calls were no steps, and start again."""
        if self.profiler is not None:
            self.dropped = True
            self.stop()
        if self.written:
            os.remove(self.written)
            self.written = ""
        self.over = False

    def give_up(self, error: BaseException) -> None:
        """Disable the recorder after an error; the job goes on."""
        running, self.over = self.profiler, True
        self.end()
        line = str(error).split("\n")[0]
        self.say(f"recording failed: {type(error).__name__}: {line}")
        if running is not None:
            try:
                self.dropped = True
                running.stop()
            except Exception:  # it may have stopped already
                pass

    # the end of the process

    def forked(self) -> None:
        """Reset in a forked child: the parent's recording belongs to the parent."""
        if self.profiler is not None:
            self.end()

    def at_exit(self) -> None:
        """Finish at the end of the process, which may be before the last step."""
        number = self.here.number
        if self.over:
            return
        if self.profiler is not None:
            if self.thread != threading.get_ident():
                self.say("the program ended while another thread was recorded: no profile was written")
                return
            self.stop()
            if self.written:
                self.say(f"the program ended in step {number}: the steps recorded before are in {self.written}")
                return
        if number and number < self.first and self.rank() in (None, 0):
            self.say(f"the program ended in step {number}, before step {self.first}: no steps were recorded")

    def rank(self) -> int | None:
        """Return the rank of this process, None without ranks."""
        distributed = sys.modules.get("torch.distributed")
        try:
            if distributed is not None and distributed.is_available() and distributed.is_initialized():
                return int(distributed.get_rank())
        except Exception:  # a group that is being taken down
            pass
        text = os.environ.get("RANK", "")
        return int(text) if text.isdigit() else None

    def say(self, text: str) -> None:
        """Print one line for the user."""
        try:
            sys.stderr.write(f"tltui: --record-steps: {text}\n")
            sys.stderr.flush()
        except Exception:  # nobody listens
            pass
