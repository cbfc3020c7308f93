"""Payloads that are not what torch wrote: their md5 is another."""

from __future__ import annotations

import hashlib
import re

from tltui.analyses.parts import part
from tltui.analyses.records import JSON_LIMIT, Reader
from tltui.inputs.index.elsewhere import Elsewhere
from tltui.model.nodes import Compile
from tltui.trace.log import Check

LAST = "last"
"""Nothing stands behind it yet that could tell how to read it: to be asked again."""
_MD5 = re.compile(rb'"has_payload": ?"([0-9a-f]{32})"\}$')


@part
def wrong_payloads(compile_: Compile, reader: Reader) -> tuple[tuple[int, str], ...]:
    """(record, why) of the records of a compile whose payload is not that of their md5. Why: it cannot be read; `LAST`; or ''."""
    log = compile_.process.log
    end = len(log) - 1
    found = []
    for record in sorted(compile_.records):
        if not log.has_payload(record) or _is_plain(reader, record):
            continue
        try:
            checked = log.check(record)
        except Elsewhere:
            continue  # of what is not here nothing is known
        except OSError as error:
            found.append((record, f"cannot be read: {error.strerror or error}"))
            continue
        if checked is None or checked.check is Check.BAD:
            found.append((record, LAST if record == end else ""))
    return tuple(found)


def _is_plain(reader: Reader, record: int) -> bool:
    """Whether the md5 is that of the payload as it stands there, which nearly all are: neighbours are read together."""
    size = reader.log.columns.size[record]
    if not 0 < size <= JSON_LIMIT:
        return False
    try:
        declared = _MD5.search(reader.head(record)[-80:])
        if declared is None:
            return False
        text = reader.payload(record)
    except OSError:
        return False
    return hashlib.md5(text, usedforsecurity=False).hexdigest().encode() == declared[1]
