"""The md5 of a stored payload, as torch computed it: over the text, without the tabs of the log."""

from __future__ import annotations

import hashlib

from tltui.text.frozen import frozen
from tltui.text.payload import Payload

PIECE = 4 << 20


@frozen
class Digest:
    """md5, bytes and lines of a payload."""

    md5: str
    size: int
    lines: int


def digest(payload: Payload, step: int = PIECE) -> Digest:
    """Hash a payload in pieces, so that a large one is never in memory at once."""
    md5 = hashlib.md5(usedforsecurity=False)
    size, lines, at, carry, begun = 0, 1, 0, b"\n", False
    while at < payload.size:
        data = payload.source.read(payload.offset + at, min(step, payload.size - at))
        if not data:
            break
        at += len(data)
        data = carry + data
        # keep back what may be the beginning of a line end that goes on in the next piece
        cut = len(data)
        while at < payload.size and data[cut - 1 : cut] in (b"\n", b"\r"):
            cut -= 1
        data, carry = data[:cut], data[cut:]
        if payload.crlf:
            data = data.replace(b"\r\n", b"\n")
            if at >= payload.size:
                data = data.removesuffix(b"\r")
        if payload.strip:
            data = data.replace(b"\n" + payload.strip, b"\n")
        if not begun and data:
            data, begun = data[1:], True  # the line end that the first piece was given
        size += len(data)
        lines += data.count(b"\n")
        md5.update(data)
    return Digest(md5.hexdigest(), size, lines)
