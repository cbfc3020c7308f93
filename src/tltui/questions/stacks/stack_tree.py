"""Stacks of all compiles as one tree."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from dataclasses import field, replace
from typing import Any

from tltui.model.artifacts import artifact_name
from tltui.model.node_answers import part, reader_of
from tltui.model.nodes import Compile, Process
from tltui.model.record_reader import Reader, addresses, list_in
from tltui.model.ref import NO_ID
from tltui.questions.stacks.tracebacks import StackFrame, frames_of, full_stack, qualified_name
from tltui.text.frozen import frozen, mutable

AHEAD = 1 << 13
_PACKAGED = re.compile(r"[^/]+-seed-nspid[^/]+/")
IN_MEMORY = "<eval_with_key>"
"""Files that exist only in memory: torch logs their source as `dump_file`."""


@frozen
class TrieCompile:
    """A compile at the frame that it compiles."""

    ref: str
    id: str
    status: str | None
    rank: int | None
    qualified_name: str | None = None
    """What its function is known by, where its own name says little."""


@frozen
class TrieNode:
    """A frame with the compiles whose stack ends in it."""

    frame_number: int
    """Its number in the order in which the frames were logged, from 1: `@stacks:#N` is the page of what is below it."""
    frame: StackFrame
    parent: int
    """The place of its parent in the list; -1 for none."""
    depth: int
    """How many frames are above it."""
    indent: int
    """How far it is indented: how many of those above it are one of several."""
    child_count: int
    """How many children it has."""
    compiles: tuple[TrieCompile, ...] = ()
    records: tuple[str, ...] = ()
    """Addresses of the records without an id that were written here; the first few."""
    record_count: int = 0
    """How many these are."""
    source_ref: str | None = None
    """The address of the source, for a file that exists only in memory."""


@frozen
class Stacks:
    """All stacks of a part of a run."""

    nodes: tuple[TrieNode, ...]
    """Depth first, children in the order in which they were logged."""
    without_compile: tuple[TrieNode, ...]
    """The same for records that carry a stack as torch knew no compile that they belong to."""
    compiles: int
    without_stack: tuple[TrieCompile, ...]
    """Compiles for which no stack was logged: hits of the recompile limit, above all."""


Key = tuple[Any, ...]


@mutable(eq=False)
class Branch:
    """A mutable node during construction."""

    number: int = 0
    frame: StackFrame | None = None
    children: dict[Key, Branch] = field(default_factory=dict)
    compiles: list[Compile] = field(default_factory=list)
    records: list[tuple[Process, int]] = field(default_factory=list)
    process: Process | None = None
    parent: Branch | None = None


class Trie:
    """A mutable tree of stacks."""

    def __init__(self) -> None:
        self.root = Branch()
        self.size = 0
        self._at: dict[Link, Branch] = {}

    def place(self, process: Process, link: Link) -> Branch:
        """Return the node of the last frame of an interned stack."""
        above: list[Link] = []
        at: Link | None = link
        while at is not None and at.frame is not None and at not in self._at:
            above.append(at)
            at = at.parent
        node = self._at[at] if at is not None and at.frame is not None else self.root
        for parent in reversed(above):
            child = node.children.get(parent.key)
            if child is None:
                self.size += 1
                child = node.children[parent.key] = Branch(self.size, parent.frame, process=process, parent=node)
            node = self._at[parent] = child
        return node

    def insert(self, process: Process, stack: Sequence[Any]) -> Branch:
        """Insert a stack, outermost frame first; return the node of its last frame."""
        node = self.root
        for raw in stack:
            key = _key(process, raw)
            if key is None:
                continue
            child = node.children.get(key)
            if child is None:
                self.size += 1
                child = node.children[key] = Branch(self.size, frames_of(process, [raw])[0], process=process, parent=node)
            node = child
        return node


class Link:
    """A frame with its parent frames; stacks share common prefixes."""

    __slots__ = ("below", "frame", "key", "parent")

    def __init__(self, key: Key, frame: StackFrame | None, parent: Link | None) -> None:
        self.key = key
        self.frame = frame
        self.parent = parent
        self.below: dict[Key, Link] | None = None

    def child(self, key: Key, process: Process, raw: Any) -> Link:
        """Return this stack with another frame."""
        if self.below is None:
            self.below = {}
        link = self.below.get(key)
        if link is None:
            link = self.below[key] = Link(key, frames_of(process, [raw])[0], self)
        return link


@part
def start_of(compile_: Compile, reader: Reader) -> tuple[tuple[int, Link], ...]:
    """Return (record, stack) of each `dynamo_start` with a stack; as the last frame's link."""
    process, log = compile_.process, compile_.process.log
    numbers = {n for n, kind in enumerate(log.kinds) if kind.event == "dynamo_start"}
    column = log.columns.kind
    results = []
    for record in compile_.records if numbers else ():
        if column[record] in numbers and (stack := list_in(reader.event(record), "stack")):
            results.append((record, linked(process, without_suffix(process, full_stack(compile_, stack)))))
    return tuple(results)


def linked(process: Process, stack: Sequence[Any]) -> Link:
    """Return the link of a stack's last frame; the stack is outermost first."""
    cache = reader_of(process).cache
    link = cache.get((Link, process))
    if link is None:
        link = Link((), None, None)
        cache.put((Link, process), link)
    assert isinstance(link, Link)
    for raw in stack:
        if (key := _key(process, raw)) is not None:
            link = link.child(key, process, raw)
    return link


def _key(process: Process, raw: Any) -> Key | None:
    """Return the identity of a frame. In-memory files differ by process."""
    if not isinstance(raw, dict):
        return None
    number = raw.get("filename")
    file = process.string(number) if isinstance(number, int) and not isinstance(number, bool) else repr(number)
    if file is not None and file.startswith(("<", "‹")):
        file = f"{file}\0{id(process)}"
    return (file, _plain(raw.get("line")), _plain(raw.get("name")), _plain(raw.get("loc")))


def _plain(value: object) -> object:
    return value if isinstance(value, (str, int)) or value is None else repr(value)


def without_suffix(process: Process, stack: list[Any]) -> list[Any]:
    """Return a stack as tlparse inserts it.

    It removes Dynamo's last three frames in convert_frame.py if the path is short.
    """
    tails = ["catch_errors", "_convert_frame", "_convert_frame_assert"], ["__call__"] * 3
    if len(stack) < 3:
        return stack
    frames = frames_of(process, stack[-3:])
    names = [frame.name for frame in frames]
    if len(frames) == 3 and names in tails and all(simplified(f.file) == "torch/_dynamo/convert_frame.py" for f in frames):
        return stack[:-3]
    return stack


def simplified(path: str) -> str:
    """Shorten the paths of packaged programs as tlparse does."""
    _, result, remaining = path.partition("#link-tree/")
    if result:
        return remaining
    match = _PACKAGED.search(path)
    return path[match.end() :] if match else path


def insert_stacks_of_compiles(
    processes: Iterable[Process], compiles: Iterable[Compile], trie: Trie
) -> Generator[None, None, set[int]]:
    """Insert the stacks of compiles in log order; return the `id`s of compiles with one."""
    by_process: dict[Process, list[tuple[int, Link, Compile]]] = {}
    having: set[int] = set()
    for number, compile_ in enumerate(compiles):
        for record, link in start_of(compile_):
            by_process.setdefault(compile_.process, []).append((record, link, compile_))
            having.add(id(compile_))
        if number % 50 == 49:
            yield
    for process in processes:
        for number, (_, link, compile_) in enumerate(sorted(by_process.get(process, ()), key=lambda start: start[0])):
            trie.place(process, link).compiles.append(compile_)
            if number % 500 == 499:
                yield
    return having


def insert_stacks_without_compile(processes: Iterable[Process], trie: Trie) -> Generator[None, None, None]:
    """Insert the stacks of records without a compile."""
    for process in processes:
        log = process.log
        contexts = {n for n, context in enumerate(log.contexts) if context.stack}
        none = process.compiles.get(NO_ID)
        records = [n for n in sorted(none.records) if log.columns.context[n] in contexts] if none is not None and contexts else []
        for number, record in enumerate(records):
            try:
                stack = list_in(log.envelope(record), "stack")
            except OSError:
                break
            trie.insert(process, without_suffix(process, stack)).records.append((process, record))
            if number % 20 == 19:
                yield


RECORDS = 8


def flat(trie: Trie, dumps: Dumps | None = None) -> Generator[None, None, tuple[TrieNode, ...]]:
    """Flatten the tree into a list; yields during construction."""
    nodes: list[TrieNode] = []
    waiting = _below(trie.root, -1, 0, 0)
    while waiting:
        branch, parent, depth, level, inner = waiting.pop()
        assert branch.frame is not None
        place = len(nodes)
        nodes.append(
            TrieNode(
                branch.number, branch.frame, parent, depth, level, len(branch.children),
                tuple(placed(compile_) for compile_ in branch.compiles),
                tuple(_record_ref(process, record) for process, record in branch.records[:RECORDS]), len(branch.records),
                dumps.of(branch.process, branch.frame.file) if dumps and branch.process else None,
            )
        )  # fmt: skip
        waiting += _below(branch, place, depth + 1, inner)
        if place % 500 == 499:
            yield
    return tuple(nodes)


def _below(branch: Branch, place: int, depth: int, level: int) -> list[tuple[Branch, int, int, int, int]]:
    """Return the children in reverse order; below a fork they are indented further."""
    inner = level + (len(branch.children) > 1)
    return [(child, place, depth, level, inner) for child in reversed(branch.children.values())]


def part_of(nodes: Sequence[TrieNode], number: int) -> tuple[TrieNode, ...]:
    """Return a node by number with its ancestors and descendants; empty if there is none."""
    start = next((n for n, node in enumerate(nodes) if node.frame_number == number), None)
    if start is None:
        return ()
    end = start + 1
    while end < len(nodes) and nodes[end].depth > nodes[start].depth:
        end += 1
    above: list[TrieNode] = []
    place = nodes[start].parent
    while place >= 0:
        above.append(nodes[place])
        place = nodes[place].parent
    above.reverse()
    level, depth = nodes[start].indent, len(above)
    line = [
        replace(node, parent=n - 1, indent=0, child_count=1, compiles=(), records=(), record_count=0)
        for n, node in enumerate(above)
    ]
    moved = depth - start
    below = [
        replace(node, parent=depth - 1 if n == 0 else node.parent + moved, indent=node.indent - level)
        for n, node in enumerate(nodes[start:end])
    ]
    return (*line, *below)


def placed(compile_: Compile) -> TrieCompile:
    """Return a compile as the tree refers to it."""
    status = compile_.status
    qualified = qualified_name(compile_.frame)
    return TrieCompile(str(compile_.ref), compile_.label, str(status) if status else None, compile_.process.rank, qualified)


def _record_ref(process: Process, record: int) -> str:
    return f"@record:{process.ref}#{record + 1}"


class Dumps:
    """Addresses of the sources of in-memory files."""

    def __init__(self) -> None:
        self._refs: dict[int, dict[str, str]] = {}

    def of(self, process: Process, file: str) -> str | None:
        """Return the address of the source of `<eval_with_key>.5`."""
        if not file.startswith(IN_MEMORY):
            return None
        if id(process) not in self._refs:
            self._refs[id(process)] = self._read(process)
        return self._refs[id(process)].get(file)

    @staticmethod
    def _read(process: Process) -> dict[str, str]:
        if not any(kind.event == "dump_file" and kind.name for kind in process.log.kinds):
            return {}
        return {name: ref for compile_ in list(process.compiles.values()) for name, ref in dumps_of(compile_)}


@part
def dumps_of(compile_: Compile, reader: Reader) -> tuple[tuple[str, str], ...]:
    """Return (file, address) of the sources in a compile's log."""
    kinds, column = compile_.process.log.kinds, compile_.process.log.columns.kind
    names = {n: kind.name for n, kind in enumerate(kinds) if kind.event == "dump_file" and kind.name}
    dumped = [(record, column[record]) for record in compile_.records if column[record] in names]
    called = {number: artifact_name(kinds[number]) for _, number in dumped}
    refs = addresses(compile_, called.values()) if dumped else {}
    return tuple((names[n] or "", refs.get(record, f"{compile_.ref}:{called[n]}")) for record, n in dumped)


def stacks(processes: Sequence[Process], compiles: Sequence[Compile]) -> Generator[None, None, Stacks]:
    """Build the tree of some compiles, and of records of these processes without a compile."""
    trie, unknown, dumps = Trie(), Trie(), Dumps()
    having = yield from insert_stacks_of_compiles(processes, compiles, trie)
    if any(not compile_.is_compile for compile_ in compiles):
        yield from insert_stacks_without_compile(processes, unknown)
    without = tuple(placed(c) for c in compiles if c.is_compile and id(c) not in having)
    nodes, unknown_nodes = (yield from flat(trie, dumps)), (yield from flat(unknown, dumps))
    return Stacks(nodes, unknown_nodes, sum(c.is_compile for c in compiles), without)
