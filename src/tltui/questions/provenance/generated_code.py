"""Kernels in generated code: calls, definitions, comments, and operators in kernel names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from tltui.questions.provenance.graph_names import GraphText
from tltui.text.frozen import frozen
from tltui.text.graphs.fx_graph import FxNode

WIDE = 2000
"""Columns of a line in which the name of a C++ function is looked for."""
MAX_STRING = 4000
"""Lines of a raw string that are looked at for its end."""
MAX_STATEMENT = 200
"""Lines of one call that are looked at for its end."""
_HANDLE = re.compile(r"^\s*(?:#|//) *\[Provenance debug handles\] (\S+):(\d{1,15})\s*$")
_SOURCES = re.compile(r"^\s*(?:#|//)\s*(?:\w+ ){0,2}Source Nodes: \[([^\]]*)\], Original ATen: \[([^\]]*)\]")
_ARROW = re.compile(r"^\s*(?:#|//)\s+(\S+) => (\S.*)$")
_FRAGMENT = re.compile(r"^\s*(?:#|//)\s+%([\w.]+) : ")
_MADE = re.compile(r"= (?:call_function|call_method|call_module|get_attr)\[")
_KERNEL = re.compile(r"^(?:#|//)?\s*(\w+) = async_compile\.(\w+)\(")
_CPP_KERNEL = re.compile(r'^(?:extern "C"\s[^(;="]*?\b(\w+)|(?:static )?inline\s[^(;=]*?\bcall_(\w+))\s*\(')
_FUNCTION = ("extern ", "inline ", "static inline ")
_BODY = re.compile(
    r"^(\s*)def (call|partition_\d+|\w+(?=\((?:self, )?args\)))\("
    r"|^(\s*)(?:[\w:]+ )*\w*::?run_impl\(|^(\s*)void inductor_entry_impl\("
)
_INNER_CALL = re.compile(r"^\s+(?:\(?[\w, ]+\)? = )?(\w+)\(\1_args\)")
_WHOLE = re.compile(r"^(?:call|partition_\d+)?$")
_EXTERN = re.compile(r"(?<![\w.:])(extern_kernels(?:\.\w+)+|torch\.ops(?:\.\w+)+|(?:aten|inductor_ops)(?:\.\w+)+)\(")
_AOTI = re.compile(r"(?<![\w.:])(aoti_torch_(?:cpu|cuda|xpu|mps)_\w+|aoti_torch_proxy_executor_call_function)\(")
_RUN = re.compile(r"(?<![\w.:])(\w+)(?:\.run)?\(")
_UNPACK = re.compile(r"^\s+[A-Za-z_][\w, ]* = args\s*$|^\s*auto inputs = steal_from_raw_handles")
_RETURN = re.compile(r"^\s+return \(|^\s*output_handles\[\d+\] = ")
_AOT_ID = re.compile(r"^# AOT ID: \['(\d+)_(\w+)'\]")
_SETUP = re.compile(
    r"^(?:static constexpr|AtenTensorHandle |RAIIAtenTensorHandle |RAIIAtenRecordFunctionHandle |KernelContextGuard |"
    r"stream\d+ = get_raw_stream|with )"
)
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_HELPERS = frozenset((
    "torch.ops.inductor._alloc_from_pool", "torch.ops.inductor._reinterpret_tensor",
))  # fmt: skip


@frozen
class Remarks:
    """Inductor's comments above a call or a definition."""

    sources: tuple[str, ...] = ()
    """`Source Nodes`: names of pre-grad nodes; in a backward also of backward nodes.

    Producers precede users; '' at the end for a node whose name torch lost.
    """
    aten: tuple[str, ...] = ()
    """`Original ATen`: `aten.addmm`."""
    arrows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """`Source node to ATen node mapping`: source node → post-grad nodes."""
    nodes: tuple[str, ...] = ()
    """`Graph fragment`: the post-grad nodes that the kernel computes, without its inputs."""

    def __bool__(self) -> bool:
        return bool(self.sources or self.aten or self.arrows or self.nodes)


@frozen
class Call:
    """One statement that runs a kernel."""

    name: str
    handle: int | None
    first: int
    """The first line of its comments, or of the call."""
    lines: tuple[int, ...]
    """The lines of the call itself; () if there is none below its handle."""
    remarks: Remarks = field(default_factory=Remarks)
    function: str = ""
    """The generated function of a subgraph that contains the call; '' for the outermost graph.

    For example `repeated_subgraph0`, or a branch of a `cond`.
    """

    @property
    def key(self) -> str:
        """The key in version 2 of the node mapping."""
        return self.name if self.handle is None else f"{self.name}:{self.handle}"

    @property
    def last(self) -> int:
        """The last line of the call."""
        return self.lines[-1] if self.lines else self.first


@frozen
class Definition:
    """The code of a kernel, lines `first` to `last` (both inclusive)."""

    name: str
    kind: str
    """triton, cpp_pybinding, … of `async_compile`; `cpp` for a function of C++."""
    first: int
    last: int
    remarks: Remarks = field(default_factory=Remarks)
    above: int = -1
    """The first line of the comments above it, or `first`."""


@frozen
class Function:
    """A function that runs a graph: its lines, both inclusive."""

    name: str
    """The name; '' in C++."""
    first: int
    last: int
    times: int = 1
    """The number of runs per run of the outermost graph; an upper bound in branches and loops."""

    @property
    def inner(self) -> str:
        """The subgraph that the function runs; '' for the outermost graph and its partitions."""
        return "" if _WHOLE.match(self.name) else self.name


@frozen
class CodeText:
    """The kernels, calls and functions of one generated code text."""

    calls: tuple[Call, ...] = ()
    definitions: tuple[Definition, ...] = ()
    handles: bool = False
    """Whether calls have handles."""
    inputs: tuple[int, ...] = ()
    """Lines that unpack the inputs."""
    outputs: tuple[int, ...] = ()
    """Lines that return the outputs."""
    aot_id: str = ""
    functions: tuple[Function, ...] = ()
    text: Sequence[str] = field(default=(), repr=False, compare=False)
    """The lines themselves; data flow is parsed on demand."""

    def times(self, function: str) -> int:
        """Return the number of calls of a function in one run of the outermost graph."""
        return next((candidate.times for candidate in self.functions if candidate.name == function), 1) if function else 1


def parse_code(lines: Sequence[str], kernel_names: Iterable[str] = ()) -> CodeText:
    """Parse generated code (Python wrapper, C++ wrapper or AOTInductor).

    `known` are names of kernels with a definition in another text.
    """
    definitions = _definitions(lines)
    inside = bytearray(len(lines))
    for definition in definitions:
        inside[definition.first : definition.last + 1] = b"\1" * (definition.last + 1 - definition.first)
    _mark_raw_strings(lines, inside)
    bodies = _bodies(lines, inside)
    calls = _with_handles(lines, bodies, inside)
    handles = bool(calls)
    call_lines = {n for call in calls for n in call.lines}
    names = frozenset((*kernel_names, *(definition.name for definition in definitions)))
    calls += _without_handles(lines, bodies, inside, names, call_lines)
    aot = next((match for line in lines[:8] if (match := _AOT_ID.match(line))), None)
    graph_lines = [n for body in bodies if not body.inner for n in range(body.first, body.last + 1)]
    inputs = [n for n in graph_lines if _UNPACK.match(lines[n])]
    outputs = [n for n in graph_lines if _RETURN.match(lines[n])]
    return CodeText(
        tuple(sorted(calls, key=lambda call: call.first)), tuple(definitions), handles, tuple(inputs), tuple(outputs),
        f"{aot[1]}_{aot[2]}" if aot else "", tuple(bodies), lines,
    )  # fmt: skip


def _mark_raw_strings(lines: Sequence[str], inside: bytearray) -> None:
    """Mark raw strings of C++: a profiled wrapper has the stack of a kernel in one, between its handle and its call."""
    n = 0
    while n < len(lines):
        if not inside[n] and 'R"(' in lines[n]:
            last = next((m for m in range(n, min(n + MAX_STRING, len(lines))) if ')"' in lines[m]), n)
            inside[n : last + 1] = b"\1" * (last + 1 - n)
            n = last
        n += 1


def _comment(line: str) -> bool:
    return line.lstrip().startswith(("#", "//"))


def _remarks(lines: Sequence[str], below: int) -> tuple[Remarks, int]:
    """Parse the comments directly above line `below`; return them with their first line."""
    first = below
    while first > 0 and _comment(lines[first - 1]):
        first -= 1
    sources: tuple[str, ...] = ()
    aten: tuple[str, ...] = ()
    arrows: list[tuple[str, tuple[str, ...]]] = []
    nodes: list[str] = []
    for n in range(first, below):
        line = lines[n]
        if "Source Nodes: " in line and (match := _SOURCES.match(line)):
            sources, aten, arrows, nodes = _listed(match[1]), _listed(match[2]), [], []
            sources += ("",) if match[1].rstrip().endswith(",") else ()
        elif " => " in line and (match := _ARROW.match(line)):
            arrows.append((match[1], _listed(match[2])))
        elif "%" in line and (match := _FRAGMENT.match(line)) and _MADE.search(line):
            nodes.append(match[1])
    return Remarks(sources, aten, tuple(arrows), tuple(nodes)), first


def _listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for item in text.split(",") if (part := item.strip())))


def _definitions(lines: Sequence[str]) -> list[Definition]:
    """Return kernels in strings of a Python wrapper, and C++ functions."""
    definitions: list[Definition] = []
    margin = max((n for n, line in enumerate(lines) if line.startswith("}")), default=-1)  # no function goes on behind it
    n = 0
    while n < len(lines):
        line = lines[n]
        last = n
        if "async_compile." in line and (kernel := _KERNEL.match(line)):
            remarks, above = _remarks(lines, n)
            last = _string_end(lines, n)
            definitions.append(Definition(kernel[1], kernel[2], n, last, remarks, above))
        elif n < margin and line.startswith(_FUNCTION) and (kernel := _CPP_KERNEL.match(line[:WIDE])):
            last = _brace_end(lines, n)
            if last > n:
                remarks, above = _remarks(lines, n)
                definitions.append(Definition(kernel[1] or kernel[2], "cpp", n, last, remarks, above))
            last = max(last, n)
        n = last + 1
    return definitions


def _string_end(lines: Sequence[str], first: int) -> int:
    """Return the last line of a kernel's string, or of its bracket if it has no string."""
    quote = next((quote for quote in ("'''", '"""') if quote in lines[first]), "")
    goes_on = lines[first].count(quote) == 1 if quote else lines[first].rstrip().endswith(("(", "[", "{", ","))
    if not goes_on:
        return first
    for n in range(first + 1, len(lines)):
        if quote in lines[n] if quote else lines[n][:1] in (")", "]", "}"):
            return n
        if "async_compile." in lines[n] and _KERNEL.match(lines[n]):
            return first
    return first


def _brace_end(lines: Sequence[str], first: int) -> int:
    """Return the line of the closing brace of a C++ function; -1 for a declaration."""
    for n in range(first, len(lines)):
        text = lines[n].rstrip()
        if n > first and text.startswith("}"):
            return n
        if text.endswith(";") and "{" not in text and not any("{" in line for line in lines[first:n]):
            return -1
    return -1


def _bodies(lines: Sequence[str], inside: bytearray) -> list[Function]:
    """Return the functions that run the graph and its subgraphs."""
    functions: list[Function] = []
    n = 0
    while n < len(lines):
        line = lines[n]
        body = _BODY.match(line) if not inside[n] and ("def " in line or "_impl(" in line) else None
        n += 1
        if body is None or line.rstrip().endswith(";"):
            continue
        indent, python, first = len(body[1] or ""), body[2] is not None, n - 1
        while n < len(lines):
            text = lines[n]
            if text.strip() and len(text) - len(text.lstrip()) <= indent and (python or text.lstrip().startswith("}")):
                break
            n += 1
        functions.append(Function(body[2] or "", first, n - 1))
    return _counted(lines, functions)


def _counted(lines: Sequence[str], functions: list[Function]) -> list[Function]:
    """Add the number of calls to each function; callees precede their callers."""
    inner = {function.name for function in functions if function.inner}
    calls: dict[str, dict[str, int]] = {}
    for function in functions if inner else ():
        for n in range(function.first + 1, function.last + 1):
            called = _INNER_CALL.match(lines[n])
            if called and called[1] in inner:
                calls.setdefault(called[1], {}).setdefault(function.name, 0)
                calls[called[1]][function.name] += 1
    times = {function.name: 1 for function in functions}
    for function in reversed(functions):
        if function.inner and function.name in calls:
            times[function.name] = sum(count * times[caller] for caller, count in calls[function.name].items())
    return [replace(function, times=times[function.name]) for function in functions]


def _with_handles(lines: Sequence[str], bodies: Sequence[Function], inside: bytearray) -> list[Call]:
    """Return the calls below debug handles.

    Each is the first statement with the kernel's name before the next handle, `del` or `return`.
    """
    marks = [
        (n, match) for n, line in enumerate(lines)
        if "[Provenance debug handles]" in line and not inside[n] and (match := _HANDLE.match(line))
    ]  # fmt: skip
    calls = []
    for place, (n, match) in enumerate(marks):
        end = marks[place + 1][0] if place + 1 < len(marks) else len(lines)
        stop = min(end, n + 1 + MAX_STATEMENT + sum(inside[n:end]))
        remarks, first = _remarks(lines, n)
        at = _call_line(lines, n + 1, stop, match[1], inside)
        span = _statement(lines, at) if at >= 0 else ()
        function = next((body.inner for body in bodies if body.inner and body.first < n <= body.last), "")
        calls.append(Call(match[1], int(match[2]), first, span, remarks, function))
    return calls


def _call_line(lines: Sequence[str], first: int, stop: int, name: str, inside: bytearray) -> int:
    """Return the line that runs a kernel.

    A custom operator runs under another name; then this is the first statement with an effect.
    """
    pattern = re.compile(rf"(?<![\w.:])(?:call_)?{re.escape(name)}(?![\w:])")
    otherwise = -1
    for n in range(first, stop):
        text = "" if inside[n] else lines[n].strip()
        if text.startswith(("del ", "return")):
            break
        if not text or text.startswith(("#", "//")):
            continue
        if name in text and pattern.search(_STRING.sub("''", text)):
            return n
        if otherwise < 0 and "(" in text and not _SETUP.match(text):
            otherwise = n
    return otherwise


def _statement(lines: Sequence[str], first: int) -> tuple[int, ...]:
    """Return the lines of the statement that begins at `first`, up to its last closing bracket."""
    depth = 0
    for n in range(first, min(first + MAX_STATEMENT, len(lines))):
        text = _STRING.sub("", lines[n])
        depth += sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))
        if depth <= 0:
            return tuple(range(first, n + 1))
    return (first,)


def statement_end(lines: Sequence[str], first: int) -> int:
    """Return the last line of the statement that begins at `first`."""
    return _statement(lines, first)[-1]


def _without_handles(
    lines: Sequence[str], bodies: Sequence[Function], inside: bytearray, names: frozenset[str], call_lines: set[int]
) -> list[Call]:
    """Return calls by their syntax, in the functions that run the graph."""
    calls = []
    for body in bodies:
        n = body.first + 1
        while n <= body.last:
            line = lines[n]
            name = "" if inside[n] or n in call_lines or _comment(line) or "(" not in line else called(line, names)
            n += 1
            if name:
                span = _statement(lines, n - 1)
                remarks, above = _call_remarks(lines, n - 1, body.first)
                calls.append(Call(name, None, above, span, remarks, body.inner))
                n = span[-1] + 1
    return calls


def called(line: str, names: frozenset[str]) -> str:
    """Return the kernel that a line calls, '' for none."""
    if "_xnumel = " in line:
        return ""
    text = _STRING.sub("''", line)
    for pattern in (_EXTERN, _AOTI):
        for match in pattern.finditer(text):
            if match[1] not in _HELPERS:
                return match[1]
    return next((name for match in _RUN.finditer(text) if (name := match[1].removeprefix("call_")) in names), "")


def _call_remarks(lines: Sequence[str], n: int, first: int) -> tuple[Remarks, int]:
    """Parse the comments above a call; setup lines may lie between."""
    at = n
    while at - 1 > first and _SETUP.match(lines[at - 1].strip()):
        at -= 1
    remarks, above = _remarks(lines, at)
    return (remarks, above) if remarks else (Remarks(), n)


_BASE = re.compile(r"^(?:torch\.)?(?:ops\.)?(\w+)\.(\w+)")
_NUMBER = re.compile(r"_\d+$")
_FUSED = re.compile(r"_fused_(\w+?)(?:_\d+)?$")
MAX_PARTS = 60


def aten_of(node: FxNode) -> str:
    """Shorten an operator name: `torch.ops.aten.addmm.default` → `aten.addmm`."""
    match = _BASE.match(node.target)
    return f"{match[1]}.{match[2]}" if match else node.target


def name_base(name: str) -> str:
    """Return a node name without its number: `view_14` → `view`.

    This is the operator at creation; a pass may have replaced it, e.g. with `reshape`.
    """
    return _NUMBER.sub("", name)


def vocabulary(pre: GraphText | None, post: GraphText | None, codes: Iterable[CodeText]) -> frozenset[str]:
    """Return the operator names that occur in a unit."""
    names: set[str] = set()
    for node in post.nodes if post is not None else ():
        if node.kind == "call":
            names.update((aten_of(node).partition(".")[2], name_base(node.name)))
    for node in pre.nodes if pre is not None else ():
        if node.kind in ("call", "expression"):
            plain = node.target.removesuffix(".default").rpartition(".")[2].strip("_")
            names.update((plain, f"native_{plain}", f"{plain}_backward", f"native_{plain}_backward"))
    for code in codes:
        for remarks in (*(definition.remarks for definition in code.definitions), *(call.remarks for call in code.calls)):
            names.update(aten.rpartition(".")[2] for aten in remarks.aten)
    return frozenset(word for word in names if word)


def fused_operators(kernel: str, operators: frozenset[str]) -> frozenset[str]:
    """Return the operators in a kernel's name; none if any part of the name is unknown."""
    match = _FUSED.search(kernel)
    parts = match[1].split("_") if match is not None else []
    if not 0 < len(parts) <= MAX_PARTS:
        return frozenset()
    # best[n]: the fewest operators that parts n … can be read as, and the end of the first of them
    best: list[tuple[int, int] | None] = [None] * len(parts) + [(0, 0)]
    for n in range(len(parts) - 1, -1, -1):
        for stop in range(n + 1, len(parts) + 1):
            remaining = best[stop]
            if remaining is not None and "_".join(parts[n:stop]) in operators:
                choice = (remaining[0] + 1, stop)
                current = best[n]
                if current is None or choice[0] <= current[0]:
                    best[n] = choice
    words, n = set(), 0
    while n < len(parts):
        step = best[n]
        if step is None:
            return frozenset()
        words.add("_".join(parts[n : step[1]]))
        n = step[1]
    return frozenset(words)
