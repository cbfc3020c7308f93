"""Cached answers about one node: `part`, the content keys that equal texts share, and counts with names for JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache, update_wrapper
from typing import Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, cast

from tltui.model.artifacts import OUTPUT_CODE, PIECE_STARTS, artifact_name, is_artifact
from tltui.model.derived_cache import MISSING, Parts
from tltui.model.nodes import Compile, Frame, Process
from tltui.model.record_reader import Reader
from tltui.text.lru import Lru
from tltui.trace.batch import Kind
from tltui.trace.envelope import METRICS
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


ALL = -1
HEAD = 400
"""Bytes of generated code that tell its direction, which is the name of its unit."""


def content_key(compile_: Compile, reader: Reader, names: frozenset[str], limit: int) -> bytes:
    """A digest of the artifacts of a compile in their order, with their attempts and subgraphs, and of the texts of those
    that have one of these names. That fixes their units and their numbers too. Of texts above `limit` stored bytes the
    declared md5 counts. b"" without any such text."""
    log, columns = compile_.process.log, compile_.process.log.columns
    kinds, contexts, sizes = columns.kind, columns.context, columns.size
    md5 = hashlib.md5(usedforsecurity=False)
    known: dict[int, tuple[bytes, bool, int]] = {}
    found = False
    for record in compile_.records:
        number = kinds[record]
        told = known.get(number)
        if told is None:
            told = known[number] = _told(log.kinds[number], names)
        label, always, much = told
        if not label or not (always or log.has_payload(record)):
            continue
        context = log.contexts[contexts[record]]
        md5.update(b"%s %d %r\n" % (label, context.attempt or 0, context.subgraph))
        if much == HEAD:
            md5.update(reader.payload(record, HEAD))
        elif much:
            found = True
            text = reader.payload(record, limit) if sizes[record] <= limit else str(log.md5(record)).encode()
            md5.update(b"%d\n" % len(text))
            md5.update(text)
    return md5.digest() if found else b""


@lru_cache(maxsize=4096)
def _told(kind: Kind, names: frozenset[str]) -> tuple[bytes, bool, int]:
    """What a record of this kind is called, b"" for no artifact; whether it is one even without payload; how much of its text
    counts: all, the head, nothing."""
    if not is_artifact(kind, True):
        return b"", False, 0
    name = artifact_name(kind)
    much = ALL if name in names or name == PIECE_STARTS else HEAD if name == OUTPUT_CODE else 0
    return repr(tuple(kind)).encode("utf-8", "surrogatepass"), kind.event in METRICS, much


class Count(NamedTuple):
    """How often something of a name occurs."""

    name: str
    times: int


def counts(pairs: Iterable[tuple[str, int]]) -> tuple[Count, ...]:
    """Pairs as counts."""
    return tuple(Count(*pair) for pair in pairs)
