"""Generated wrapper functions statement by statement: buffer versions and kernel arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from tltui.questions.provenance.dataflow.value_graph import Shape, arguments
from tltui.questions.provenance.generated_code import Definition, Function, called, statement_end
from tltui.text.frozen import mutable

if TYPE_CHECKING:
    from tltui.questions.provenance.dataflow.cpp_statements import Operators

READ, WRITE, BOTH, NEITHER = "read", "write", "both", ""
MAX_HEAD = 400
"""Lines of a kernel in which its signature is looked for."""
_DEF = re.compile(r"^\s*def (\w+)\(")
_CPP = re.compile(r"\bkernel(?:_\w+)?\($|\bkernel\(")
_NAMED = re.compile(r"^(in_out|in|out)_(?:ptr|desc_ptr)\d*$|^(ws)_ptr\d*$|^(arg)_\w+$")
_USES = {"in": READ, "arg": READ, "out": WRITE, "in_out": BOTH, "ws": NEITHER}
_PARAMETER_LINE = re.compile(r"\*\s*(?:__restrict__\s+)?in_out_ptr\d+[,)]|^\s*def ")
_LAST = re.compile(r"(\w+)\s*$")


def signature(lines: Sequence[str], definition: Definition) -> tuple[str, ...]:
    """Return the use of each kernel parameter, in order.

    READ, WRITE, BOTH, or NEITHER for a number; () for a kernel that is not in the text or that the user wrote.
    """
    last = min(definition.last, definition.first + MAX_HEAD)
    triton = definition.kind != "cpp_pybinding" and definition.kind != "cpp"
    for n in range(definition.first, min(last + 1, len(lines))):
        line = lines[n]
        if triton and "def " in line and (match := _DEF.match(line)):
            names = [part.partition(":")[0].partition("=")[0].strip() for part in _parameters(lines, n, last, match.end())]
            uses = _settled(lines, n, definition.last, names, list(map(_use_in_triton, names)))
            return uses if any(uses) else ()
        cpp = re.compile(rf"\b(?:call_)?{definition.name}\(") if definition.kind == "cpp" else _CPP
        if not triton and "(" in line and (match := cpp.search(line)) and not line.lstrip().startswith("#"):
            parameters = _parameters(lines, n, last, match.end())
            names = [name[1] if (name := _LAST.search(part)) else "" for part in parameters]
            return _settled(lines, n, definition.last, names, list(map(_use_in_cpp, parameters)))
    return ()


def _settled(lines: Sequence[str], first: int, last: int, names: Sequence[str], uses: list[str]) -> tuple[str, ...]:
    """Mark parameters that are written before they are read as write-only scratch memory."""
    waiting = {name: n for n, name in enumerate(names) if uses[n] == BOTH}
    for line in lines[first + 1 : last + 1] if waiting else ():
        name = next((name for name in waiting if name in line and re.search(rf"\b{name}\b", line)), "")
        if not name or _PARAMETER_LINE.search(line):
            continue
        place = waiting[name]
        if other := re.match(rf"^\s*auto (\w+) = {name};", line):
            waiting[other[1]] = place
            continue
        if re.search(rf"\bstore\w*\({name}\b|^\s*{name}\[.*\] = (?!.*\b{name}\b)", line):
            uses[place] = WRITE
        waiting = {name: n for name, n in waiting.items() if n != place}
    return tuple(uses)


def _parameters(lines: Sequence[str], n: int, last: int, start: int) -> list[str]:
    text, depth = "", 1
    for at in range(n, min(last + 1, len(lines))):
        for mark in lines[at][start if at == n else 0 :]:
            depth += (mark in "([{") - (mark in ")]}")
            if depth == 0:
                return [part for part in arguments(text) if part]
            text += mark
    return []


def _use_in_triton(name: str) -> str:
    match = _NAMED.match(name)
    return _USES[match[match.lastindex or 0]] if match else NEITHER


def _use_in_cpp(parameter: str) -> str:
    if "*" not in parameter and "&" not in parameter:
        return NEITHER
    name = _LAST.search(parameter)
    match = _NAMED.match(name[1]) if name else None
    if match:
        return _USES[match[match.lastindex or 0]]
    if "&" in parameter:
        return NEITHER
    return READ if parameter.lstrip().startswith("const ") else WRITE


FUSED, EXTERN, FUNCTION = "fused", "extern", "function"
DTYPES = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "i16",
    "int8": "i8", "uint8": "u8", "bool": "b8", "complex64": "c64", "complex128": "c128", "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2", "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2fnuz": "f8e5m2fnuz", "float8_e8m0fnu": "f8e8m0fnu",
    "float4_e2m1fn_x2": "f4e2m1fnx2", "uint16": "u16", "uint32": "u32", "uint64": "u64", "complex32": "c32",
}  # fmt: skip
"""Names of dtypes in generated code → those in graphs (`torch.utils._dtype_abbrs`)."""
UNPACK = re.compile(r"^\(?([A-Za-z_][\w, ]*?),?\s*\)? = args$")
_ALLOCATED = re.compile(r"^(\w+) = (?:empty_strided\w*|empty\w*|alloc_from_pool|torch\.empty\w*)\((.*)\)$")
SHOWN = re.compile(r"^(\w+) = (?:torch\.ops\.inductor\.)?_?reinterpret_tensor\((\w+)\b(.*)\)$")
RENAMED = re.compile(r"^(\w+) = ([A-Za-z_]\w*)$")
ITEM = re.compile(r"^(\w+) = (\w+)\[(\d{1,6})\]$")
LISTED = re.compile(r"^(\w+) = \[(.*)\]$")
PARTITION = re.compile(r"^\(?([\w, ]*?),?\s*\)? = self\.partitions\[(\d{1,6})\]\((\w+)\)$")
FUNCTION_CALL = re.compile(r"^\(?([\w, \[\]]*?),?\s*\)? = (\w+)\((\w+)\)$")
SLOT = re.compile(r"^(\w+\[\d{1,6}\]) = (\w+)$")
"""A value of a loop, in a list."""
_BRANCH = re.compile(r"^if (\w+)(?:\.item\(\))?:$")
IN_SLOT = re.compile(r"^\w+\[\d{1,6}\]$")
TESTED = "_cond_result"
"""How the name ends of what the condition of a loop returns."""
_ASSIGNED = re.compile(r"^(\w+) = (.*)$")
_PIECE = re.compile(r"^reinterpret_tensor\((\w+), \([^()]*\), \([^()]*\), (\d{1,15})\)$")
_KEYWORD = re.compile(r"^([A-Za-z_]\w*)=(?!=)(.*)$")
BASE = re.compile(r"^(?:(?:torch\.ops\.inductor\.)?_?reinterpret_tensor\(|aten\.\w+(?:\.\w+)?\()*([A-Za-z_]\w*)")
MAX_DEPTH = 20


@mutable(eq=False)
class Version:
    """The content of a buffer between two writes."""

    by: int
    """The step that wrote it, -1 for an input of the function."""
    shape: Shape | None = None
    strides: tuple[str, ...] = ()
    """The strides of its allocation; () if unknown."""
    node: str = ""
    """The node with this value, '' while unknown."""
    reader: str = ""
    """The node of an external kernel that reads it."""
    part_of: str = ""
    """The `cat` that copies it into its memory."""
    start_of: str = ""
    """The node that writes into it next: a scatter writes into its input."""
    items: dict[int, Version] = field(default_factory=dict)
    """The extracted results of a call with several results."""
    parts: tuple[Version, ...] = ()
    """Values written into parts of the memory, if no call wrote all of it."""


@mutable(eq=False)
class Step:
    """One call."""

    number: int
    kind: str
    name: str
    line: int
    reads: list[Version] = field(default_factory=list)
    """The versions read, in the order of the arguments."""
    offsets: dict[int, int] = field(default_factory=dict)
    """Number in `reads` → where in an input of the function the argument begins."""
    writes: list[Version] = field(default_factory=list)
    updates: list[tuple[Version, Version]] = field(default_factory=list)
    """The versions before and after, for arguments both read and written, or written into again under one name."""
    complete: bool = True
    """Whether the use of each argument is known."""
    decided_by: Version | None = None
    """The value that decides whether it runs: the predicate of a `cond`."""


@mutable
class Walked:
    """The calls, versions and results of one function."""

    steps: list[Step] = field(default_factory=list)
    given: list[tuple[str, Version]] = field(default_factory=list)
    """The inputs by name, in order."""
    returned: list[Version | None] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)
    updated: dict[str, Version] = field(default_factory=dict)
    """The last version of each mutated input."""


@mutable(eq=False)
class _Storage:
    """A memory block with its version, or the versions of its parts by offset."""

    content: Version | None = None
    parts: dict[str, Version] = field(default_factory=dict)
    reused: bool = False
    """Whether the content may be dead: the memory got another name."""


@mutable(eq=False)
class _Buffer:
    """A name for a view of a storage."""

    storage: _Storage
    shape: Shape | None = None
    offset: str = ""
    """The offset of a part; '' for the entire storage."""
    strides: tuple[str, ...] = ()


class _Walk:
    def __init__(
        self, lines: Sequence[str], functions: Mapping[str, Function], kernels: Mapping[str, tuple[str, ...]],
        shapes: Mapping[str, Shape | None],
    ) -> None:  # fmt: skip
        self.lines, self.functions, self.kernels, self.shapes = lines, functions, kernels, shapes
        self.names = frozenset(kernels)
        self.buffers: dict[str, _Buffer] = {}
        self.lists: dict[str, list[str]] = {}
        self.takes: set[str] = set()
        self.predicate: Version | None = None
        self.out = Walked()

    def run(self, function: Function, depth: int = 0) -> list[str]:
        """Walk through a function; return the arguments of its `return`."""
        n = function.first + 1
        while n <= function.last:
            text = self.lines[n].strip()
            if not text or text.startswith(("#", "del ", "assert_", "args.", "with ", "torch.cuda")):
                n += 1
                continue
            last = statement_end(self.lines, n)
            if last > n:
                text = " ".join(line.strip() for line in self.lines[n : last + 1])
            if text.startswith("return"):
                inner = text.removeprefix("return").strip().removeprefix("(").removesuffix(")")
                return [part for part in arguments(inner) if part]
            self.statement(n, text.partition("  # ")[0].partition(";")[0].rstrip(), text, depth)
            n = last + 1
        return []

    def statement(self, n: int, text: str, full_text: str, depth: int) -> None:
        """Process one statement; `whole` includes the continuation of its line."""
        if match := UNPACK.match(text):
            for name in (part.strip() for part in match[1].split(",")) if depth == 0 else ():
                self.give(name)
        elif match := _ALLOCATED.match(text):
            self.buffers[match[1]] = _Buffer(_Storage(), _allocated(match[2]), strides=_allocated_strides(match[2]))
        elif match := SHOWN.match(text):
            self.show(match[1], match[2], match[3], "# alias" in full_text)
            self.buffers[match[1]].storage.reused |= "# reuse" in full_text
        elif match := RENAMED.match(text):
            self.buffers[match[1]] = self.buffer(match[2])
            self.buffers[match[1]].storage.reused |= "# reuse" in full_text
        elif match := ITEM.match(text):
            self.bind_item(match[1], match[2], int(match[3]))
        elif match := _BRANCH.match(text):
            self.predicate = self.read(match[1])
        elif match := SLOT.match(text):
            self.buffers[match[1]] = self.buffer(match[2])
        elif (match := LISTED.match(text)) and "(" not in match[2].partition("reinterpret")[0]:
            self.lists[match[1]] = [part for part in arguments(match[2]) if part]
        elif "(" in text:
            self.call(n, text, depth)

    def give(self, name: str) -> None:
        shape = self.shapes.get(name)
        version = self.version(-1, shape)
        self.buffers[name] = _Buffer(_Storage(version), shape)
        self.out.given.append((name, version))
        self.takes.add(name)

    def version(self, by: int, shape: Shape | None) -> Version:
        version = Version(by, shape)
        self.out.versions.append(version)
        return version

    def buffer(self, name: str) -> _Buffer:
        """Return the buffer of a name; an unassigned name is a constant of the module."""
        if name not in self.buffers:
            self.give(name)
        return self.buffers[name]

    def show(self, name: str, of: str, layout: str, part: bool) -> None:
        """Process `name = reinterpret_tensor(of, sizes, strides, offset)`."""
        source = self.buffer(of)
        more = arguments(layout.lstrip(", "))
        shape = Shape(source.shape.dtype if source.shape else "", _sizes(more[0])) if more else None
        offset = f"{source.offset}+{more[2]}" if part and len(more) > 2 else source.offset
        self.buffers[name] = _Buffer(source.storage, shape if shape and shape.dtype else None, offset)

    def bind_item(self, name: str, of: str, item: int) -> None:
        """Process `name = of[item]`."""
        if (slot := f"{of}[{item}]") in self.buffers:
            self.buffers[name] = self.buffers[slot]
            return
        source = self.read(of)
        version = self.version(source.by if source else -1, None)
        if source is not None:
            version = source.items.setdefault(item, version)
        self.buffers[name] = _Buffer(_Storage(version))

    def read(self, argument: str) -> Version | None:
        """Return the current version of an argument; None for numbers and unwritten memory."""
        match = BASE.match(argument)
        if IN_SLOT.match(argument) and argument in self.buffers:
            return self.buffers[argument].storage.content
        if match is None or match[1] in ("None", "True", "False", "inf", "nan") or match[1].isdigit():
            return None
        if match[1] not in self.buffers and match[1] not in self.shapes:
            return None
        buffer = self.buffer(match[1])
        storage = buffer.storage
        if buffer.offset and buffer.offset in storage.parts:
            return storage.parts[buffer.offset]
        if storage.parts and not buffer.offset:
            joined = self.version(max(part.by for part in storage.parts.values()), buffer.shape)
            parts = tuple(storage.parts[at] for at in sorted(storage.parts, key=_place))
            counts = [part.shape.count if part.shape else None for part in parts]
            if storage.content is None or (buffer.shape and buffer.shape.count == sum(count or 0 for count in counts)):
                joined.parts = parts
            storage.content, storage.parts = joined, {}
        return storage.content

    def below(self, argument: str) -> Version | None:
        """Return what a kernel wrote into a buffer that is written into again: a scatter writes into a part of it."""
        match = BASE.match(argument)
        buffer = self.buffers.get(match[1]) if match else None
        if buffer is None or buffer.offset or buffer.storage.reused or buffer.storage.parts:
            return None
        content = buffer.storage.content
        return content if content is not None and content.by >= 0 else None

    def write(self, argument: str, step: int) -> Version | None:
        match = BASE.match(argument)
        if match is None:
            return None
        buffer = self.buffers.setdefault(match[1], _Buffer(_Storage()))
        version = self.version(step, buffer.shape)
        version.strides = buffer.strides
        if match[1] in self.takes:
            self.out.updated[match[1]] = version
        if buffer.offset:
            buffer.storage.parts[buffer.offset] = version
        else:
            buffer.storage.content, buffer.storage.parts, buffer.storage.reused = version, {}, False
        return version

    def call(self, n: int, text: str, depth: int) -> None:
        """Process a statement with brackets: a kernel call, a call of a generated function, or another call."""
        if (match := PARTITION.match(text)) and (function := self.functions.get(f"partition_{match[2]}")):
            self.inline(function, match[1], depth)
            return
        match = FUNCTION_CALL.match(text)
        if match and match[2] in self.functions and match[3] in self.lists:
            if match[2].startswith("partition_"):
                self.inline(self.functions[match[2]], match[1], depth)
            else:
                self.function(n, match[1].strip(), match[2], self.lists[match[3]])
            return
        name = called(text, self.names)
        assigned = _ASSIGNED.match(text)
        result = assigned[1] if assigned else ""
        if not name:
            if result:
                self.buffers[result] = _Buffer(_Storage(self.version(len(self.out.steps) - 1, None)))
            return
        at = text.find("(", text.find(name))
        operands = [part for part in arguments(_inside(text, at)) if part]
        if name in self.kernels:
            self.fused(n, name, operands)
        else:
            self.extern(n, name, operands, result)

    def inline(self, function: Function, results: str, depth: int) -> None:
        """Walk through a partition, which shares the names of its caller."""
        if depth < MAX_DEPTH:
            returned = self.run(function, depth + 1)
            for name, value in zip((part.strip() for part in results.split(",")), returned, strict=False):
                base = BASE.match(value)
                if name and base and base[1] in self.buffers:
                    self.buffers[name] = self.buffers[base[1]]

    def step(self, kind: str, name: str, n: int) -> Step:
        step = Step(len(self.out.steps), kind, name, n)
        if kind != FUNCTION:
            self.predicate = None
        self.out.steps.append(step)
        return step

    def function(self, n: int, result: str, name: str, operands: Sequence[str]) -> None:
        tests = result.endswith(TESTED)
        if tests and any(step.name == name for step in self.out.steps):
            return  # the condition of a loop, after the body: of values that its first call does not get
        step = self.step(FUNCTION, name, n)
        step.reads = [version for part in operands if (version := self.read(part)) is not None]
        if tests:
            return
        step.decided_by = self.predicate
        output = self.version(step.number, None)
        step.writes.append(output)
        slots = [part.strip() for part in result.split(",")]
        if IN_SLOT.match(slots[0]):
            for item, slot in enumerate(slots):
                self.buffers[slot] = _Buffer(_Storage(output.items.setdefault(item, self.version(step.number, None))))
        elif result:
            self.buffers[result] = _Buffer(_Storage(output))

    def fused(self, n: int, name: str, operands: Sequence[str]) -> None:
        step = self.step(FUSED, name, n)
        uses = self.kernels[name]
        positional = [part for part in operands if not _KEYWORD.match(part)]
        step.complete = bool(uses)
        written: list[tuple[str, Version | None]] = []
        entire_buffers: list[str] = []
        for place, part in enumerate(positional):
            use = uses[place] if place < len(uses) else NEITHER
            base = BASE.match(part)
            if use == NEITHER:
                if base is None or base[1] not in self.buffers or (uses and not _is_tensor(self.buffers[base[1]])):
                    continue
                step.complete, use = False, BOTH
            if use == READ and self.is_joined_by(part, positional):
                entire_buffers.append(part)
                continue
            before = self.read(part) if use in (READ, BOTH) else None
            if before is not None:
                step.reads.append(before)
            if use in (WRITE, BOTH):
                written.append((part, before or self.below(part)))
        for part, before in written:
            version = self.write(part, step.number)
            if version is not None:
                step.writes.append(version)
                step.updates += [(before, version)] if before is not None else []
        step.reads += [version for part in entire_buffers if (version := self.read(part)) is not None]

    def is_joined_by(self, argument: str, others: Iterable[str]) -> bool:
        """Return whether a kernel reads an entire buffer and writes parts of it itself: the last pieces of a `cat`."""
        match = BASE.match(argument)
        buffer = self.buffers.get(match[1]) if match else None
        if buffer is None or buffer.offset or not buffer.storage.parts:
            return False
        if buffer.storage.content is not None and not buffer.storage.reused:
            return False
        names = (match[1] for other in others if (match := BASE.match(other)))
        same = (self.buffers[name] for name in names if name in self.buffers)
        return any(other.storage is buffer.storage and other.offset not in ("", *buffer.storage.parts) for other in same)

    def extern(self, n: int, name: str, operands: Sequence[str], result: str) -> None:
        step = self.step(EXTERN, name, n)
        written: list[str] = []
        for part in operands:
            keyword = _KEYWORD.match(part)
            value = keyword[2] if keyword else part
            if keyword and keyword[1] == "out":
                written = [value]
                continue
            pieces = arguments(value[1:-1]) if value[:1] in ("[", "(") and value[-1:] in ("]", ")") else [value]
            for piece in pieces:
                if piece and (version := self.read(piece)) is not None:
                    if (match := _PIECE.match(piece)) and match[1] in self.takes:
                        step.offsets[len(step.reads)] = int(match[2])
                    step.reads.append(version)
        if in_place(name) and operands:
            written = [operands[0]]
        step.writes = [written_version for part in written if (written_version := self.write(part, step.number)) is not None]
        if result:
            written_version = self.version(step.number, None)
            self.buffers[result] = _Buffer(_Storage(written_version))
            step.writes.append(written_version)


def walk(
    lines: Sequence[str], function: Function, functions: Mapping[str, Function], kernels: Mapping[str, tuple[str, ...]],
    shapes: Mapping[str, Shape | None], operators: Operators | None = None,
) -> Walked | None:  # fmt: skip
    """Walk through a function; return None for one of C++ with an unknown statement.

    `kernels` are the generated kernels with their signatures, `shapes` the shapes of inputs and module constants from
    the graph, `operators` those that external kernels may run, with the results that are read of each node.
    """
    walk = _Walk(lines, functions, kernels, shapes)
    if function.name:
        returned = walk.run(function)
    else:
        from tltui.questions.provenance.dataflow.cpp_statements import python_statements  # few logs have C++ wrappers

        translated = python_statements(lines, function, kernels, operators or {})
        if not translated:
            return None
        statements, returned = translated
        for n, text in statements:
            walk.statement(n, text.partition("  # ")[0], text, 0)
    walk.out.returned = [walk.read(part) for part in returned]
    return walk.out


def in_place(name: str) -> bool:
    """Return whether an external kernel writes its first argument: `aten.index_put_`."""
    return any(part.endswith("_") and not part.endswith("__") for part in name.split(".")[-2:])


def _inside(text: str, at: int) -> str:
    depth = 0
    for n in range(max(at, 0), len(text)):
        depth += (text[n] in "([{") - (text[n] in ")]}")
        if depth == 0:
            return text[at + 1 : n]
    return ""


def _place(offset: str) -> tuple[int, str]:
    """Return the sort key of an offset; symbols sort after numbers."""
    parts = [part for part in offset.split("+") if part]
    is_number = all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts)
    return (sum(map(int, parts)), "") if is_number else (1 << 62, offset)


def _is_tensor(buffer: _Buffer) -> bool:
    content = buffer.storage.content
    return buffer.shape is not None or bool(buffer.storage.parts) or (content is not None and content.by >= 0)


def _sizes(text: str) -> tuple[str, ...]:
    return tuple(part for item in text.strip("()[] ").split(",") if (part := item.strip()))


def _allocated(text: str) -> Shape | None:
    """Parse `(8, 32), (32, 1), torch.float32` of `empty_strided`.

    Buffers from a pool get their sizes later.
    """
    parts = arguments(text)
    dtype = next((part.rpartition(".")[2] for part in parts if part.startswith(("torch.", "dtype=torch."))), "")
    sizes = next((part for part in parts if part[:1] == "("), None)
    return Shape(DTYPES[dtype], _sizes(sizes)) if dtype in DTYPES and sizes is not None else None


def _allocated_strides(text: str) -> tuple[str, ...]:
    """Parse the second bracket of `(8, 32), (32, 1), torch.float32`."""
    brackets = [part for part in arguments(text) if part[:1] == "("]
    return _sizes(brackets[1]) if len(brackets) > 1 else ()
