"""What an answer about the texts of a compile rests on, as a key: compiles that have the same key get the same answer.

A job compiles the same graphs again and again: on each rank, and for each block of a model. What is asked of graphs and code
is asked once for each different one (`tltui.analyses.parts.shared`).
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from tltui.analyses.records import Reader
from tltui.model.artifacts import OUTPUT_CODE, PIECE_STARTS, artifact_name, is_artifact
from tltui.model.nodes import Compile
from tltui.trace.batch import Kind
from tltui.trace.envelope import METRICS

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
