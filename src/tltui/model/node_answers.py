"""Cached answers about one node: `part`, the content keys that equal texts share, and counts with names for JSON."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache, update_wrapper
from typing import Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, cast

from tltui.model.artifacts import GUARDS, OUTPUT_CODE, PIECE_STARTS, artifact_name, is_artifact
from tltui.model.derived_cache import MISSING, Parts
from tltui.model.nodes import Compile, Frame, Process
from tltui.model.record_reader import Reader
from tltui.text.lru import Lru
from tltui.trace.batch import Kind
from tltui.trace.grammar import METRICS
from tltui.trace.log import Log

Node = Compile | Frame | Process
N = TypeVar("N", Compile, Frame, Process)
P = TypeVar("P")
A = ParamSpec("A")


def reader_of(node: Node) -> Reader:
    """Return the reader of the log of a node, shared by all questions so that each text is read once."""
    return _reader_in(node if isinstance(node, Process) else node.process)


def _reader_in(process: Process) -> Reader:
    readers: Lru[Log, Reader] = process.parts.readers
    reader = readers.get(process.log)
    if reader is None:
        reader = Reader(process.log)
        readers.put(process.log, reader)
    return reader


def reads(node: Node, *others: Node) -> None:
    """Add `others` to the dependencies of the part of `node` in progress."""
    process = node if isinstance(node, Process) else node.process
    process.parts.reads(*others)


class Part(Generic[N, A, P]):
    """A function of one node that remembers its answers."""

    def __init__(self, make: Callable[Concatenate[N, Reader, A], P]) -> None:
        self._make: Callable[Concatenate[N, Reader, A], P] = make
        update_wrapper(self, make)

    def __call__(self, node: N, *args: A.args, **kwargs: A.kwargs) -> P:
        """Return the answer. Exceptions of the function propagate and are not cached."""
        process = node if isinstance(node, Process) else node.process
        parts: Parts = process.parts
        question = (self, args, *kwargs.items()) if args or kwargs else self
        answer = parts.get(question, node)
        if answer is not MISSING:
            return cast(P, answer)
        parts.begin(node, process.naming)
        try:
            value = self._make(node, _reader_in(process), *args, **kwargs)
        finally:
            read = parts.end()
        parts.put(question, node, read, value)
        return value


def part(make: Callable[Concatenate[N, Reader, A], P]) -> Part[N, A, P]:
    """Keep the answers of a question about one node."""
    return Part(make)


def part_of(question: Hashable, nodes: Sequence[Node], make: Callable[[], P]) -> P:
    """Return the answer to a question about several nodes of one process, cached with the first of them.

    The nodes follow each other in an append-only order.
    """
    first = nodes[0]
    process = first if isinstance(first, Process) else first.process
    parts: Parts = process.parts
    answer = parts.get(question, first)
    if answer is not MISSING and answer[0] == len(nodes):
        return cast(P, answer[1])
    parts.begin(process.naming, *nodes)
    try:
        value = make()
    finally:
        read = parts.end()
    parts.put(question, first, read, (len(nodes), value))
    return value


def shared(node: Node, question: Hashable, key: Hashable, make: Callable[[], P]) -> P:
    """Return an answer that depends only on `key`, the content of its texts; it is computed once for all compiles and ranks."""
    parts = (node if isinstance(node, Process) else node.process).parts
    answer = parts.get(question, key)
    if answer is MISSING:
        answer = make()
        parts.put(question, key, (), answer)
    return cast(P, answer)


def digest_of(*texts: bytes) -> bytes:
    """Return a key for `shared`: equal texts have equal keys."""
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
        """Return the answer for a text of `node`'s log. Exceptions of the function propagate and are not cached."""
        return shared(node, self, digest_of(text), lambda: self._make(text))


def parsed(make: Callable[[bytes], P]) -> Parsed[P]:
    """Keep the answers of a question about a text alone: equal texts are parsed once."""
    return Parsed(make)


ALL, WITHOUT_ADDRESSES = -1, -2
HEAD = 400
"""Bytes of generated code that tell its direction, which is the name of its unit."""


_OBJECT = re.compile(rb"(___check_(?:obj|type)_id\([^ \n]+, )\d+(?=\))")
_ADDRESS = re.compile(rb" at 0x[0-9a-f]+(?=>)")
_LATENCY = b"\nGuard latency = "


def _without_addresses(guards: bytes) -> bytes:
    """Return the text of guards without what differs in each compile."""
    text, latency, duration = guards.rpartition(_LATENCY)
    text = _OBJECT.sub(rb"\1", text + latency if b"\n" not in duration.rstrip(b"\n") else guards)
    return _ADDRESS.sub(b"", text) if b" at 0x" in text else text


def content_key(compile_: Compile, reader: Reader, names: frozenset[str], limit: int) -> bytes:
    """Return a digest of the artifacts of a compile and of the texts of those with one of these names.

    It covers their order, attempts and subgraphs, and thereby their units and numbers. Texts above `limit` stored bytes count by
    their declared md5. Guards count without what differs in each compile: the addresses of objects and types, and how long they
    took. b"" without any such text.
    """
    log, columns = compile_.process.log, compile_.process.log.columns
    kinds, contexts, sizes = columns.kind, columns.context, columns.size
    md5 = hashlib.md5(usedforsecurity=False)
    by_number: dict[int, tuple[bytes, bool, int]] = {}
    has_text = False
    for record in compile_.records:
        number = kinds[record]
        kind = by_number.get(number)
        if kind is None:
            kind = by_number[number] = _digest_rule(log.kinds[number], names)
        label, always, much = kind
        if not label or not (always or log.has_payload(record)):
            continue
        context = log.contexts[contexts[record]]
        md5.update(b"%s %d %r\n" % (label, context.attempt or 0, context.subgraph))
        if much == HEAD:
            md5.update(reader.payload(record, HEAD))
        elif much:
            has_text = True
            text = reader.payload(record, limit) if sizes[record] <= limit else str(log.md5(record)).encode()
            if much == WITHOUT_ADDRESSES:
                text = _without_addresses(text)
            md5.update(b"%d\n" % len(text))
            md5.update(text)
    return md5.digest() if has_text else b""


@lru_cache(maxsize=4096)
def _digest_rule(kind: Kind, names: frozenset[str]) -> tuple[bytes, bool, int]:
    """Return how a kind of record enters the digest.

    The result is its name, b"" for no artifact; whether it is one even without payload; how much of its text counts: all, the head,
    nothing.
    """
    if not is_artifact(kind, True):
        return b"", False, 0
    name = artifact_name(kind)
    much = ALL if name in names or name == PIECE_STARTS else HEAD if name == OUTPUT_CODE else 0
    if name == GUARDS and much:
        much = WITHOUT_ADDRESSES
    return repr(tuple(kind)).encode("utf-8", "surrogatepass"), kind.event in METRICS, much


class Count(NamedTuple):
    """The number of occurrences of a name."""

    name: str
    times: int


def counts(pairs: Iterable[tuple[str, int]]) -> tuple[Count, ...]:
    """Pairs as counts."""
    return tuple(Count(*pair) for pair in pairs)
