"""Questions about one node whose answers are kept: `part` makes one of a pure function.

    @part
    def breaks_of(compile_: Compile, reader: Reader) -> tuple[GraphBreak, ...]: ...

    breaks_of(compile_)        # computed once, and again when the compile, or what else was read, has changed

What is kept must be frozen and small, hold no node, and depend on nothing but the node it is asked about, the parts that the
function asks for in its turn, and the nodes named to `reads`. Its addresses are those of the time when it was made: the naming
of the process counts as read. A question may have further, hashable arguments: each set of them is a question of its own.
`parsed` is the same for texts: equal payloads, of any compile and rank, are parsed once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from functools import update_wrapper
from typing import Concatenate, Generic, ParamSpec, TypeVar, cast

from tltui.analyses.records import Reader
from tltui.model.nodes import Compile, Frame, Process
from tltui.model.parts import MISSING, Parts
from tltui.text.lru import Lru
from tltui.trace.log import Log

Node = Compile | Frame | Process
N = TypeVar("N", Compile, Frame, Process)
P = TypeVar("P")
A = ParamSpec("A")


def reader_of(node: Node) -> Reader:
    """The reader of the log of a node: one for all questions, so that what one of them read the next one finds."""
    process = node if isinstance(node, Process) else node.process
    readers: Lru[Log, Reader] = process.parts.readers
    found = readers.get(process.log)
    if found is None:
        found = Reader(process.log)
        readers.put(process.log, found)
    return found


def reads(node: Node, *others: Node) -> None:
    """The part of `node` that is being made depends on `others` too."""
    process = node if isinstance(node, Process) else node.process
    process.parts.reads(*others)


class Part(Generic[N, A, P]):
    """A function of one node that remembers its answers."""

    def __init__(self, make: Callable[Concatenate[N, Reader, A], P]) -> None:
        self._make: Callable[Concatenate[N, Reader, A], P] = make
        update_wrapper(self, make)

    def __call__(self, node: N, *args: A.args, **kwargs: A.kwargs) -> P:
        """The answer. Raises what the function raises; that is not kept."""
        process = node if isinstance(node, Process) else node.process
        parts: Parts = process.parts
        question = (self, args, *kwargs.items()) if args or kwargs else self
        found = parts.get(question, node)
        if found is not MISSING:
            return cast(P, found)
        parts.begin(node, process.naming)
        try:
            made = self._make(node, reader_of(node), *args, **kwargs)
        finally:
            read = parts.end()
        parts.put(question, node, read, made)
        return made


def part(make: Callable[Concatenate[N, Reader, A], P]) -> Part[N, A, P]:
    """Keep the answers of a question about one node."""
    return Part(make)


def part_of(question: Hashable, nodes: Sequence[Node], make: Callable[[], P]) -> P:
    """The answer to a question about several nodes of one process that follow each other in an order to which nodes are only
    added. It is kept with the first of them."""
    first = nodes[0]
    process = first if isinstance(first, Process) else first.process
    parts: Parts = process.parts
    found = parts.get(question, first)
    if found is not MISSING and found[0] == len(nodes):
        return cast(P, found[1])
    parts.begin(process.naming, *nodes)
    try:
        made = make()
    finally:
        read = parts.end()
    parts.put(question, first, read, (len(nodes), made))
    return made


def shared(node: Node, question: Hashable, key: Hashable, make: Callable[[], P]) -> P:
    """An answer that rests on nothing but `key`, the content of the texts that it is made of: equal ones are made once, of
    whichever compile and rank they are."""
    parts = (node if isinstance(node, Process) else node.process).parts
    found = parts.get(question, key)
    if found is MISSING:
        found = make()
        parts.put(question, key, (), found)
    return cast(P, found)


def digest_of(*texts: bytes) -> bytes:
    """A key for `shared`: texts that give the same one are the same."""
    md5 = hashlib.md5(usedforsecurity=False)
    for text in texts:
        md5.update(b"%d\n" % len(text))
        md5.update(text)
    return md5.digest()


class Parsed(Generic[P]):
    """A function of a text that remembers its answers by the content of the text."""

    def __init__(self, make: Callable[[bytes], P]) -> None:
        self._make = make
        update_wrapper(self, make)

    def __call__(self, node: Node, text: bytes) -> P:
        """The answer for a text of `node`'s log. Raises what the function raises; that is not kept."""
        return shared(node, self, digest_of(text), lambda: self._make(text))


def parsed(make: Callable[[bytes], P]) -> Parsed[P]:
    """Keep the answers of a question about a text alone: equal texts are parsed once."""
    return Parsed(make)
