"""Parser of the text of Inductor's scheduler nodes, before and after fusion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import lru_cache

from tltui.text.frozen import frozen, mutable

_PART = re.compile(r"(?:op|buf)\d+$")


def is_node(name: str) -> bool:
    """Whether a name is one of a node."""
    return _PART.match(name.rpartition("_")[2]) is not None


@lru_cache(maxsize=1 << 14)
def members_of(name: str) -> tuple[str, ...]:
    """Split the name of a fused node, the names of its nodes joined by `_`. Any other name is its own member."""
    members: list[str] = []
    waiting: list[str] = []
    for part in name.split("_"):
        waiting.append(part)
        if _PART.match(part):
            members.append("_".join(waiting))
            waiting = []
    return (name,) if waiting else tuple(members)


WIDE = 4000
"""Characters of a line in which dependencies and users are looked for, and of an index expression."""
DEPTH = 8
"""How deep nodes are read that stand inside of each other; torch writes two levels."""
_HEAD = re.compile(r"^(\w+): (\w+)\((.*)\)\s*$")
_FIELD = re.compile(r"^(\w+)\.([a-z_]+(?:\.[a-z_]+)*) = ?(.*)$")
_MEMBER = re.compile(r"^(\w+)\.snodes\[\d+\] =\s*$")
_BODY = re.compile(r"^class (\w+)_loop_body:")
_LAYOUT = re.compile(r"^(\w+)_layout = (.*)$")
_MEMORY = re.compile(r"(\w*Dep)\('([^']{1,400})', ([^{}]{0,4000}), \{([^{}]{0,4000})\}(?:, (\w+))?\)")
_WHOLE = re.compile(r"(\w*Dep)\(name='([^']{1,400})'(?:, mutating_buf='([^']{1,400})')?(?:, mode='?(\w+)'?)?")
_RANGE = re.compile(r", (?=\w+: )")
_BUFFER = re.compile(r"^\s+(\w+): (\w+)\s*$")
_BUFFER_FIELD = re.compile(r"^\s+(\w+)\.(layout|users|mutations|aliases) = (.*)$")
_USER = re.compile(r"NodeUser\(node=(?:\w+\((?:name|nodes)='?(\w+)'?\)|(\w+))")
_QUOTED = re.compile(r"'([^']{1,400})'")


@frozen
class Dep:
    """A buffer that a node reads or writes.

    The location is known for a `MemoryDep`: `index` in terms of the loop variables in `sizes`; a `StarDep` means the full buffer, a
    `WeakDep` only an order (`other` is the buffer that changes it).
    """

    kind: str
    buffer: str
    index: str = ""
    sizes: tuple[tuple[str, str], ...] = ()
    mode: str = ""
    other: str = ""


@frozen
class IrBuffer:
    """A buffer that a node computes."""

    name: str
    kind: str
    """ComputedBuffer, ExternKernelOut, …"""
    line: int
    layout: str = ""
    mutations: tuple[str, ...] = ()
    """Buffers that are changed in place: this one is another name for them."""
    users: tuple[str, ...] = ()
    """Names of nodes, `OUTPUT` for what the graph hands out."""


@frozen
class IrNode:
    """A node of the scheduler, lines `first` to `last` (both inclusive)."""

    name: str
    kind: str
    """SchedulerNode, FusedSchedulerNode, ForeachKernelSchedulerNode, OuterLoopFusedSchedulerNode, ExternKernelSchedulerNode,
    NopKernelSchedulerNode, … as the class is called."""
    class_name: str
    """What stands in brackets behind it: the class of what it computes, of a fused node those of its members."""
    first: int
    last: int
    members: tuple[IrNode, ...] = ()
    writes: tuple[Dep, ...] = ()
    reads: tuple[Dep, ...] = ()
    """What it reads: first what nodes of this graph compute (unmet dependencies), then inputs."""
    outputs: tuple[IrBuffer, ...] = ()
    device: str = ""
    iteration: str = ""
    """The loops that it is run in: `((4,), (16,))`, the outer ones, and those that are reduced."""
    sizes: str = ""
    kernel: str = ""
    """Of an external node: the function that is called."""
    layouts: tuple[tuple[str, str], ...] = ()
    body: tuple[int, int] | None = None
    """The lines of its loop body."""

    def leaves(self) -> Iterator[IrNode]:
        """Yield the nodes before fusion."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.members:
                waiting.extend(reversed(node.members))
            else:
                yield node

    @property
    def operations(self) -> tuple[str, ...]:
        """The names of the nodes before fusion: those of its members, else, where the text is cut off, from its name."""
        original = members_of(self.name)
        names = tuple(dict.fromkeys(name for leaf in self.leaves() for name in members_of(leaf.name)))
        return names if len(names) >= len(original) else original

    @property
    def is_generated(self) -> bool:
        """Whether Inductor writes code for it: an external node calls a function, a no-op does nothing."""
        return not self.kind.startswith(("Extern", "Nop"))


@mutable
class _Open:
    """A node that is being read."""

    name: str
    kind: str
    class_name: str
    first: int
    last: int
    members: list[_Open] = field(default_factory=list)
    writes: list[Dep] = field(default_factory=list)
    unmet: list[Dep] = field(default_factory=list)
    met: list[Dep] = field(default_factory=list)
    outputs: list[IrBuffer] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    layouts: list[tuple[str, str]] = field(default_factory=list)
    body: tuple[int, int] | None = None


_DEPS = {"writes": "writes", "unmet_dependencies": "unmet", "met_dependencies": "met"}
_TEXTS = ("group.device", "group.iteration", "sizes", "node.kernel")


def parse(lines: Sequence[str]) -> tuple[IrNode, ...]:
    """Parse the nodes of a text in its order, fused ones with their members."""
    stack: list[_Open] = []
    path: list[_Open] = []
    """The node that is being read, below those that hold it."""
    owner: _Open | None = None
    """Whose member comes next."""
    n = 0
    while n < len(lines):
        line = lines[n]
        n += 1
        goes_on = line[:1] in (" ", "\t", "]", ")", "")
        head = _HEAD.match(line) if not goes_on and ": " in line else None
        if head is not None and is_node(head[1]):
            node = _Open(head[1], head[2], head[3], n - 1, n - 1)
            if owner is not None:
                while path and path[-1] is not owner:
                    path.pop()
                owner.members.append(node)
            else:
                path.clear()
                stack.append(node)
            path.append(node)
            owner = None
        elif not goes_on and (member := _MEMBER.match(line)) and len(path) < DEPTH:
            owner = next((node for node in reversed(path) if node.name == member[1]), None)
        elif path and not goes_on:
            n = _line_of(path, lines, n - 1)
        for node in path if line else ():
            node.last = n - 1
    return tuple(map(_frozen, stack))


def _line_of(path: list[_Open], lines: Sequence[str], n: int) -> int:
    """Parse a line at the margin of the current node and its continuation; return the line after it."""
    line, node, stop = lines[n], path[-1], _end(lines, n + 1)
    if match := _FIELD.match(line):
        target = next((other for other in reversed(path) if other.name == match[1]), node)
        if kind := _DEPS.get(match[2]):
            getattr(target, kind).extend(dep for text in (match[3], *lines[n + 1 : stop]) for dep in _deps(text))
        elif match[2] == "outputs":
            target.outputs += _buffers(lines, n + 1, stop)
        elif match[2] in _TEXTS:
            target.texts[match[2]] = match[3].strip()
    elif layout := _LAYOUT.match(line):
        node.layouts.append((layout[1], layout[2]))
    elif _BODY.match(line):
        node.body = (n, stop - 1)
    return stop


def _end(lines: Sequence[str], n: int) -> int:
    """Return the first line from `n` on that does not continue the lines above."""
    while n < len(lines) and lines[n][:1] in (" ", "\t", "]", ")"):
        n += 1
    return n


def _deps(text: str) -> Iterator[Dep]:
    if "Dep(" not in text:
        return
    deps: dict[int, Dep] = {}
    text = text[:WIDE]
    for match in _MEMORY.finditer(text):
        pairs = (size.partition(": ") for size in _RANGE.split(match[4]) if size)
        sizes = tuple((name, size) for name, _, size in pairs)
        deps[match.start()] = Dep(match[1], match[2], match[3], sizes, match[5] or "")
    for match in _WHOLE.finditer(text):
        mode = match[4] or ""
        deps[match.start()] = Dep(match[1], match[2], mode="" if mode == "None" else mode, other=match[3] or "")
    for place in sorted(deps):
        yield deps[place]


def _buffers(lines: Sequence[str], first: int, stop: int) -> Iterator[IrBuffer]:
    """Yield the buffers between `outputs = [` and its bracket."""
    name, kind, at = "", "", first
    texts: dict[str, list[str]] = {}
    current: list[str] = []
    for n in range(first, stop + 1):
        line = lines[n][:WIDE] if n < stop else ""
        match = _BUFFER.match(line)
        if match is not None or n == stop:
            if name:
                yield _buffer(name, kind, at, texts)
            if match is not None:
                name, kind, at, texts, current = match[1], match[2], n, {}, []
        elif (value := _BUFFER_FIELD.match(line)) is not None and value[1] == name:
            current = texts.setdefault(value[2], [])
            current.append(value[3])
        else:
            current.append(line)


def _buffer(name: str, kind: str, line: int, texts: dict[str, list[str]]) -> IrBuffer:
    users = (match[1] or match[2] for text in texts.get("users", ()) for match in _USER.finditer(text))
    changed = (match[1] for text in texts.get("mutations", ()) for match in _QUOTED.finditer(text))
    layout = next(iter(texts.get("layout", ())), "").strip()
    return IrBuffer(name, kind, line, layout, tuple(dict.fromkeys(changed)), tuple(dict.fromkeys(users)))


def _frozen(root: _Open) -> IrNode:
    """Return the finished node. A text nests as deep as fused nodes do, which is twice."""
    stack: list[tuple[_Open, list[IrNode], int]] = [(root, [], 0)]
    while True:
        node, done, place = stack.pop()
        if place < len(node.members):
            stack.append((node, done, place + 1))
            stack.append((node.members[place], [], 0))
            continue
        frozen = IrNode(
            node.name, node.kind, node.class_name, node.first, node.last, tuple(done), tuple(node.writes), (*node.unmet, *node.met),
            tuple(node.outputs), node.texts.get("group.device", ""), node.texts.get("group.iteration", ""),
            node.texts.get("sizes", ""), node.texts.get("node.kernel", "").removesuffix("None"), tuple(node.layouts), node.body,
        )  # fmt: skip
        if not stack:
            return frozen
        stack[-1][1].append(frozen)
