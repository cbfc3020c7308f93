"""Consequences of a hit of the recompile limit for the functions that are called from the one at its limit."""

from __future__ import annotations

import re
from itertools import islice

from tltui.model.nodes import Compile
from tltui.questions.stacks.tracebacks import callers_of
from tltui.text.torch_names import PREFIX

LATER_READ = 64
"""Maximum number of later compiles whose stacks are read."""
WRAPPER = "torch/_dynamo/eval_frame.py"
"""The file with the wrapper of compiled functions."""
_RESUMED = re.compile(rf"{PREFIX}(?P<function>.+)_at_\d+")


def compiled_nothing_below(hit: Compile) -> bool:
    """Return whether no later compile of the process came from a call of the function at its limit.

    False also where that is unknown: without a trace, in a log that may go on, after more than `LATER_READ` later compiles, and
    where the caller is not in the log. A function that calls torch.compile itself, as flex_attention does, is compiled from such
    calls too.
    """
    if not hit.is_traced:
        return False
    name, file, _ = hit.frame.code
    names = {name, _resumed_in(name) or name}
    later = list(islice((compile_ for compile_ in hit.process.ordered() if _is_after(compile_, hit)), LATER_READ + 1))
    if not hit.log_ended or len(later) > LATER_READ:
        return False
    return not any(_may_be_below(compile_, names, file) for compile_ in later)


def _may_be_below(compile_: Compile, names: set[str | None], file: str | None) -> bool:
    """Whether a function of these names may be among the callers of a compile.

    Torch 2.13 leaves out the last two callers. After the wrapper of a compiled function the one left out is that function;
    the caller of a resume function is the function that it resumes.
    """
    callers = callers_of(compile_)
    if compile_.started is None or any(caller.name in names and caller.file == file for caller in callers):
        return True
    name, own_file, _ = compile_.frame.code
    if resumed := _resumed_in(name):
        return resumed in names and own_file == file
    return len(callers) > 0 and callers[-1].file.replace("\\", "/").endswith(WRAPPER)


def _resumed_in(name: str | None) -> str | None:
    """Return the function that a resume function resumes; None for any other function."""
    match = _RESUMED.fullmatch(name or "")
    return match["function"] if match else None


def _is_after(compile_: Compile, hit: Compile) -> bool:
    if not compile_.is_compile or compile_.frame is hit.frame or (compile_.started is None and compile_.facts.failed):
        return False
    return len(compile_.records) > 0 and len(hit.records) > 0 and compile_.records[0] > hit.records[0]
