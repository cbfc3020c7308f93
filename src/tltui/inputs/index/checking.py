"""The checksums of what an index has of a log, compared before any of it is used: a damaged byte costs the logs that need it, and
no page is made of half a log."""

from __future__ import annotations

from tltui.inputs.index.format import BadIndex, Chunk
from tltui.inputs.index.kept import Places, unpack_extents
from tltui.inputs.index.reader import EXTENTS, RECORDS, STREAM, IndexFile

NO_EXTENTS = bytes(12)
"""What the section of a log without texts would be."""


def check_log(index: IndexFile, number: int) -> None:
    """Compare the checksums of the records and texts of a log. Texts that several logs share are compared once. Raises `BadIndex`
    where one is wrong, OSError."""
    sections = index.logs[number].sections
    for name in (RECORDS, EXTENTS):
        if name in sections:
            index.check(sections[name])
    extents = unpack_extents(index.section(number, EXTENTS) or NO_EXTENTS)
    stream = sections.get(STREAM, Chunk(0, 0, 0, 0))
    for block in Places(extents, stream).blocks:
        index.check(block)
    for digest in extents.digests:
        if digest not in index.pool:
            raise BadIndex("it is damaged: a text is missing", index.path)
        index.check(index.pool[digest])
