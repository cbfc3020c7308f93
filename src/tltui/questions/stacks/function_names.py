"""Qualified names of functions whose own name says little: `Net.forward`."""

from __future__ import annotations

import re

from tltui.model.node_answers import part
from tltui.model.nodes import Compile, Frame
from tltui.model.record_reader import Reader, list_in, records_of
from tltui.questions.stacks.tracebacks import StackFrame, frames_of, start_stack
from tltui.text.frozen import frozen

GUARDS, GRAPH = "dynamo_cpp_guards_str", "dynamo_output_graph"
LIMIT = 1 << 20
"""Stored bytes of a guard tree that are read."""
HEAD = 1 << 16
"""Stored bytes of a graph that are read."""
COMPILES_READ = 4
"""Compiles of a function that are asked, until one tells."""
METHODS = frozenset(("forward", "__call__"))
_WRAPPER = re.compile(
    r"_{0,2}(?:wrapper|wrapped|wrap|inner|inner_fn|fn|func|new_func|decorated?|decorator|decorate_\w+|wrapped_\w+|\w+_wrapper)_{0,2}"
)
_LOCAL = re.compile(
    rb"source=L\['(?P<name>\w+)'\], accessed_by=FrameLocalsGuardAccessor\(key='(?P=name)', framelocals_idx=(?P<place>\d+)\),"
    rb" type=<class '(?P<type>[^'\n]{1,200})'>"
)
_ORIGIN = re.compile(rb"^[ \t]*# File: (?P<file>[^\n]+?):\d+ in (?P<name>\w+), code:", re.MULTILINE)
_OTHER_TYPE = re.compile(r"___check_type_id\((?:L\['(\w+)'\]|(\w+)),")
_OTHER_CODE = re.compile(r"___check_obj_id\((?:L\['\w+'\]|\w+)\.__code__,")
_CALLS_FORWARD = ("_call_impl", "_wrapped_call_impl")
_MODULE, _EXTERNAL = "/torch/nn/modules/module.py", "/torch/_dynamo/external_utils.py"
_WITH_STACK = ("create_symbol", "create_unbacked_symbol", "guard_added_fast", "symbolic_shape_specialization")
_PLAIN = frozenset(("function", "builtin_function_or_method", "method", "type", "functools.partial"))


@frozen
class _Locals:
    """The classes of the function's local names in a guard tree."""

    first: str | None
    """The name of the first argument, where it is the object that the function is a method of."""
    receiver: str | None
    """Its class."""
    called: str | None
    """The class of `fn`, `func` …: what it calls."""
    closes: bool
    """One of the local names is a function."""


def says_little(name: str | None) -> bool:
    """Return whether a function name is ambiguous, such as `forward`."""
    return name is not None and (name in METHODS or _WRAPPER.fullmatch(name) is not None)


def known_as(frame: Frame) -> str | None:
    """Return the qualified name of a function; None if its name is unambiguous."""
    return _name_from_compiles(frame) if says_little(frame.code[0]) else None


@part
def _name_from_compiles(frame: Frame, reader: Reader) -> str | None:
    """Return the qualified name from the function's compiles."""
    name, file = frame.code[0] or "", frame.code[1]
    compiles = [compile_ for compile_ in frame.compiles if compile_.is_compile][:COMPILES_READ]
    results = (_name_from_compile(compile_, reader, name, file or "") for compile_ in compiles)
    result = next((result for result in results if result is not None), None)
    if result is None:
        return None
    text, first = result
    reasons = [m.recompile_reason for compile_ in frame.compiles for m in compile_.metrics if m.recompile_reason]
    has_other = any(first in match.groups() for reason in reasons if first and (match := _OTHER_TYPE.search(reason)))
    if not has_other and name not in METHODS:
        has_other = any(map(_OTHER_CODE.search, reasons))
    return f"{text} and others" if has_other else text


def shown_name(frame: Frame) -> str | None:
    """Return the display name of a function."""
    return known_as(frame) or frame.code[0]


def _name_from_compile(compile_: Compile, reader: Reader, name: str, file: str) -> tuple[str, str | None] | None:
    """Return the qualified name from one compile, and the argument of that class."""
    result = _locals(compile_, reader)
    if name in METHODS:
        return (f"{result.receiver}.{name}", result.first) if result.receiver else None
    if file.replace("\\", "/").endswith(_EXTERNAL) and result.called:
        return f"{result.called}.__call__", "fn"
    below = _called(compile_, reader, name, file)
    if result.first == "self" and result.closes and below is not None and below.name in METHODS:
        return f"{result.receiver}.{below.name} ({name})", result.first
    if result.first == "self" and _is_forward(start_stack(compile_, reader)):
        return f"{result.receiver}.forward ({name})", result.first
    if below is not None:
        return f"{below.name} ({name})", None
    runs = _runs(compile_, reader, name) if result.closes else None
    return (f"{name} (runs {runs})", None) if runs else None


def _locals(compile_: Compile, reader: Reader) -> _Locals:
    """Return the classes of local names, from the guards on them (torch 2.10 and later)."""
    first = receiver = called = None
    closes = False
    for record, _ in records_of(compile_, (GUARDS,)):
        text = reader.payload(record, LIMIT)
        for match in _LOCAL.finditer(text):
            name, kind = match["name"].decode(), match["type"].decode("utf-8", "replace")
            if match["place"] == b"0" and (name == "self" or _is_module(match["name"], text)):
                first, receiver = name, kind.rpartition(".")[2]
            elif kind == "function":
                closes = True
            elif name == "fn" and kind not in _PLAIN:
                called = called or kind.rpartition(".")[2]
        break
    return _Locals(first, receiver, called, closes)


def _is_module(name: bytes, text: bytes) -> bool:
    """Return whether guards on a local name access it as a module."""
    return any(b"L['%s']._%s" % (name, attribute) in text for attribute in (b"modules", b"parameters", b"buffers"))


def _called(compile_: Compile, reader: Reader, name: str, file: str) -> StackFrame | None:
    """Return the function that a wrapper called: the first frame below without a wrapper."""
    for record, _ in records_of(compile_, _WITH_STACK):
        stack = frames_of(compile_.process, list_in(reader.event(record), "user_stack"))
        if len(stack) > 1 and (stack[0].name, stack[0].file) == (name, file):
            return next((frame for frame in stack[1:] if not _WRAPPER.fullmatch(frame.name)), None)
    return None


def _is_forward(stack: tuple[StackFrame, ...]) -> bool:
    """Return whether a module called a frame as its `forward`.

    Only Dynamo frames lie between `Module._call_impl` and it.
    """
    for frame in reversed(stack[:-1]):
        path = frame.file.replace("\\", "/")
        if "/torch/_dynamo/" not in path:
            return frame.name in _CALLS_FORWARD and path.endswith(_MODULE)
    return False


def _runs(compile_: Compile, reader: Reader, name: str) -> str | None:
    """Return the only function with operations in the graph."""
    for record, _ in records_of(compile_, (GRAPH,)):
        result = {match["name"].decode() for match in _ORIGIN.finditer(reader.payload(record, HEAD))} - {name}
        return result.pop() if len(result) == 1 else None
    return None
