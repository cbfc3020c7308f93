"""Saved indexes for tests: made in this process, and taken apart."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from tltui.inputs.index.format import Chunk, Places, unpack, unpack_extents
from tltui.inputs.index.indexed_log import EXTENTS, RECORDS, STREAM, IndexFile
from tltui.sources.discover import discover
from tltui.writers.index import log_part, merged, settled, to_index

HOST = "node17"


def index(paths: Iterable[str | Path], target: Path, lean: bool = False, key: bytes = b"", host: str = HOST) -> Path:
    """Write an index of what lies at some paths."""
    logs = settled(to_index(discover([os.path.abspath(path) for path in paths]), str(target)))
    with target.open("wb") as file:
        file.writelines(merged((log_part(log, lean, key) for log in logs), host))
    return target


def all_of(path: Path) -> bytes:
    """Everything that an index has, unpacked."""
    file = IndexFile(str(path))
    parts = [json.dumps(file.facts).encode()]
    for log in file.logs:
        parts.append(file.section(log.number, RECORDS))
        if data := file.section(log.number, EXTENTS):
            extents, stream = unpack_extents(data), log.sections[STREAM]
            Places(extents, stream)
            at = stream.offset
            for stored, size, crc in zip(extents.stored, extents.length, extents.crc, strict=True):
                parts.append(unpack(file.source, Chunk(at, stored, size, crc)))
                at += stored
    for process in file.saved:
        parts += [process.course_bytes(), process.times_bytes(), process.phases_bytes()]
    parts += [unpack(file.source, chunk) for chunk in file.pool.values()]
    return b"\n".join(parts)
