"""The script of warm-up calls: modules that the user names, identifiers, and literals; nothing else of the trace is code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files

from tltui.questions.warmup.recorded_calls import Argument, RecordedCall, UncalledCompile, is_name
from tltui.writers.repro.script import comment

UNCALLED_LISTED = 100
HEAD = """\
From a trace: read before running. It calls the functions below with made-up tensors of the recorded shapes.

Run:     python warmup.py           in the directory from which your program imports its modules, with its settings and
                                   TORCHINDUCTOR_CACHE_DIR; or in your program: import warmup; warmup.main()
Effect:  compiles each function as the recorded run did, and so fills the caches. The calls change state: buffers such as the
         statistics of BatchNorm. Do not run it with objects whose state you keep.
Exit:    0 if all calls succeeded, 1 if some failed, 2 if an object is missing below.

Written by tltui warmup."""


class BadModule(ValueError):
    """A name that is not a dotted path of identifiers."""


def check_modules(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of modules without duplicates. Raises `BadModule` for any but dotted identifiers."""
    for name in names:
        if not all(is_name(part) for part in name.split(".")):
            raise BadModule(name)
    return tuple(dict.fromkeys(names))


def script_of(calls: Sequence[RecordedCall], uncalled: Sequence[UncalledCompile], modules: Sequence[str], origin: str) -> str:
    """Return the script. `origin`: torch's version and the run, for the comment. Raises `BadModule`."""
    lines = [*map(comment, HEAD.split("\n")), comment(origin), ""]
    template = files(__package__).joinpath("script.txt").read_text("ascii").rstrip("\n").split("\n")
    names = check_modules(modules)
    parts = {
        "MODULES": [*(f"import {name}" for name in names), "", f"MODULES = ({', '.join(names)},)"],
        "OBJECTS": [f"    {name!r}: None," for name in dict.fromkeys(call.name for call in calls if call.receiver)],
        "CALLS": [line for call in calls for line in call_lines(call)],
        "UNCALLED": ["# Without a call:", *_uncalled(uncalled)] if uncalled else [],
    }
    for line in template:
        lines += parts.get(line.removeprefix("#: "), [line]) if line.startswith("#: ") else [line]
    return "\n".join(lines) + "\n"


def call_lines(call: RecordedCall) -> Iterator[str]:
    """Yield the lines of a call."""
    mode = "inference" if call.is_inference else "grad" if call.has_grad else "no_grad"
    where = (call.function, call.receiver, call.file.replace("\\", "/").rpartition("/")[2], call.line)
    yield f"    Call({call.ref!a}, {', '.join(f'{item!a}' for item in where)}, {mode!a}, backward={call.has_backward},"
    yield f"         dynamic={call.is_dynamic or None}, arguments={{"
    for argument in call.arguments:
        yield f"        {argument.name!a}: {_value(argument)},"
    yield "    }, later={"
    for argument in call.later:
        yield f"        {argument.name!a}: {_value(argument)},"
    yield "    }),"


def _value(argument: Argument) -> str:
    if argument.size is None:
        return ascii(argument.value)
    stride = None if argument.stride is None else tuple(argument.stride)
    marks = tuple((one.mark, one.dim) for one in argument.marks)
    more = (f", grad={argument.requires_grad}" if argument.requires_grad else "") + (f", marks={marks!a}" if marks else "")
    return f"Tensor({argument.dtype!a}, {tuple(argument.size)!a}, {stride!a}, {argument.device!a}{more})"


def _uncalled(uncalled: Sequence[UncalledCompile]) -> Iterator[str]:
    for one in uncalled[:UNCALLED_LISTED]:
        yield comment(f"{one.ref} {one.function or '?'}: {one.reason}")
    if len(uncalled) > UNCALLED_LISTED:
        yield f"# and {len(uncalled) - UNCALLED_LISTED} more: tltui warmup PATH lists all"
