"""Start-up hook of tools/corpus.py: runs marks before a compile, and writes which guards of older versions fail.

`CORPUS_MARKS` is a JSON list of {name, line, calls}: before each compile of that code object, the calls run with its arguments as
variables, as if the program had made them before the call. `CORPUS_GUARDS` is a directory for one JSON line per recompilation:
the code object, and the failed guards of each version in torch's cache. Torch itself reports the first of them only.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.environ.get("CORPUS_RECORDER", ""))
from _tltui_recorder import Waiting

MARKS = json.loads(os.environ.get("CORPUS_MARKS") or "[]")
DIRECTORY = os.environ.get("CORPUS_GUARDS", "")
TENSOR = re.compile(r"check_tensor\((.*?), \w+, DispatchKeySet\((.*?)\), (torch\.\w+), device=(\w+), requires_grad=(\w+), (.*)\)$")
LISTS = re.compile(r"(size|stride)=\[([^\]]*)\]")


def log(kind, entry):
    """Append a JSON line to the file of this process."""
    with open(os.path.join(os.environ["TLTUI_TRIAL_DIRECTORY"], f"{kind}_{os.getpid()}.jsonl"), "a") as file:
        file.write(json.dumps(entry) + "\n")


def hook(convert_frame):
    """Run before each compile."""
    original = convert_frame.CatchErrorsWrapper.__call__

    def call(self, frame, cache_entry, frame_state):
        code = frame.f_code
        for mark in MARKS:
            if (mark["name"], mark["line"]) == (code.co_name, code.co_firstlineno):
                run_marks(mark, frame)
        if DIRECTORY:
            report(frame)
        return original(self, frame, cache_entry, frame_state)

    convert_frame.CatchErrorsWrapper.__call__ = call


def run_marks(mark, frame):
    """Run the calls of a remedy; one that cannot run is reported."""
    import torch

    for call in mark["calls"]:
        try:
            exec(call, {"torch": torch, **frame.f_globals}, dict(frame.f_locals))
        except Exception as error:
            log("marks", {"call": call, "error": f"{type(error).__name__}: {error}"})


def report(frame):
    """Write the failed guards of each version."""
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    code = frame.f_code
    versions = []
    for entry in _debug_get_cache_entry_list(code):
        try:
            versions.append(failed(entry.guard_manager, frame.f_locals))
        except Exception as error:
            versions.append([f"? {type(error).__name__}: {error}"])
    if versions:
        log("guards", {"name": code.co_name, "file": code.co_filename, "line": code.co_firstlineno, "versions": versions})


def failed(manager, variables):
    """Return the guards of a version that do not hold."""
    if getattr(manager, "root", None) is None or not hasattr(manager, "check_verbose"):
        return ["? deleted"]
    scope = {"L": variables, **manager.global_scope, **manager.closure_vars}
    results = []
    for part in leaves(manager.root, set()):
        text = re.split(r"  #| \(HINT|, type=<", part)[0].rstrip()
        try:
            if text.startswith("check_tensor("):
                results += tensor(text, scope)
            elif text.startswith("___check_global_state()"):
                results += state(text.partition("against ")[2])
            elif "saved_tensors_hooks" in text:  # no expression
                continue
            elif not eval(text, scope):
                results.append(text)
        except Exception as error:
            if type(error).__name__ in ("KeyError", "IndexError", "AttributeError"):
                results.append(text)
            elif "NO_TENSOR_ALIASING" not in text:
                results.append(f"? {text}")
    return results


def leaves(manager, seen):
    """Yield the texts of all guards below a manager."""
    for guard in manager.get_leaf_guards():
        if id(guard) not in seen:
            seen.add(id(guard))
            yield from guard.verbose_code_parts()
    for child in manager.get_child_managers():
        yield from leaves(child, seen)


def state(expected):
    """Return the settings of torch that differ."""
    from torch._C._dynamo.guards import GlobalStateGuard

    before, now = json.loads(expected), json.loads(GlobalStateGuard().__getstate__())
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [f"global_state {name} {before.get(name)} -> {now.get(name)}" for name in names]


def tensor(text, scope):
    """Return what differs in a tensor."""
    match = TENSOR.match(text)
    if match is None:
        return [f"? {text}"]
    source, _, dtype, device, grad, rest = match.groups()
    value = eval(source, scope)
    found = {"dtype": (dtype, str(value.dtype)), "requires_grad": (grad, str(value.requires_grad))}
    if value.device.type != "cpu" or device not in ("None",):
        found["device"] = (device, str(value.device.index))
    results = [f"{source} {name} {before} -> {now}" for name, (before, now) in found.items() if before != now]
    for kind, numbers in LISTS.findall(rest):
        actual = list(value.size() if kind == "size" else value.stride())
        expected = [number.strip() for number in numbers.split(",") if number.strip()]
        if len(expected) != len(actual):
            results.append(f"{source} rank {len(expected)} -> {len(actual)}")
        else:
            for dim, (before, now) in enumerate(zip(expected, actual, strict=True)):
                if before != "None" and before != str(now):
                    results.append(f"{source} {kind} {dim} {before} -> {now}")
    return results


if MARKS or DIRECTORY:
    sys.meta_path.insert(0, Waiting({"torch._dynamo.convert_frame": hook}))
