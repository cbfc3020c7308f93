"""What the beginning of a file says of it: a `TORCH_TRACE` log, something else that is looked into, or why it is neither."""

from __future__ import annotations

import re
import time

from tltui.inputs.archives.magic import packing_of
from tltui.inputs.flight_recorder.dump import is_dump
from tltui.inputs.profile.recognise import is_profile
from tltui.inputs.table import form_of
from tltui.inputs.text.recognise import recognise
from tltui.inputs.tlparse.report import is_rows
from tltui.sources.found import OTHER
from tltui.sources.indexed import INDEX, is_index
from tltui.text.payload import Payload
from tltui.trace.files import FileBytes

SNIFF = 1 << 16
SNIFF_ON = 64 << 20
"""How far a file is searched that begins with NULs, blank lines or payload lines."""
_BEGIN = rb"^\x00*(?!\x00)[^\t\n]{0,80}?[A-Z]\d{4} \d\d:\d\d:\d\d\.\d{6,} \d+ [^\n]{1,500}?:\d+\]"
_RECORD = re.compile(_BEGIN + rb' ?\{[\r\x00]*(?:"|\}|$)', re.MULTILINE)
_CUT = re.compile(rb"(?:\xef\xbb\xbf)?V\d{4} \d\d:\d\d:\d\d\.\d{6,} \d+(?: [^\n\]]*(?:\] ?)?)?")
"""A log that ends inside its first line (full match)."""

EMPTY = "empty: no records"
UTF_16 = "UTF-16 text: convert it to UTF-8 first"
PACKED = "packed"
"""Of what is looked into (`sources/packed.py`)."""
REPORT = "a report of tlparse without the trace"
_NAMED = re.compile(
    r"torch_trace|torch_compile|tlparse|(?:^|[_.-])rank[_.-]?\d|\.trace\.json|\.(?:log|err|out|stdout|stderr|tlx)(?:\.\w{1,5}){0,2}$",
    re.IGNORECASE,
)
"""Names that torch, launchers, schedulers and tltui give to what they write, also where it is rotated or compressed."""


def is_named_like_a_log(name: str) -> bool:
    """Return whether a file of this name is opened first where there are too many to open all."""
    return _NAMED.search(name) is not None


def head_of(file: FileBytes) -> bytes:
    """The beginning of a file, from the first block on that says something.

    A log whose first line is lost may begin with a large payload, one that was truncated while it was written with
    NULs.
    """
    head = file.read(0, SNIFF)
    if head[:1] not in (b"\t", b"\n", b"\r", b"\x00") or _RECORD.search(head):
        return head
    at, size = len(head), 1 << 20
    while at < SNIFF_ON and (more := file.read(at, size)):
        # overlap: the first line of a record may lie on the edge
        found = _RECORD.search(file.read(max(at - SNIFF, 0), SNIFF) + more)
        if found:
            return found.string[found.start() :].lstrip(b"\x00")[:SNIFF]
        if not head.strip(b"\r\n \x00"):
            head = more
        at += len(more)
    return head


def why_no_log(head: bytes, name: str, is_named: bool) -> str:
    """Why a file of which only the beginning is at hand is no log of any form; '' when it is one."""
    reason = not_a_log(head, name)
    if reason != OTHER or is_profile(head) or is_dump(head) or form_of(head):
        return "" if reason == OTHER else reason
    text = recognise(Payload.of(head).source, name, is_named, time.time())
    return "" if text.certainty else text.reason or reason


def not_a_log(head: bytes, name: str = "") -> str:
    """Why the beginning of a file is not that of a `TORCH_TRACE` log; '' when it is one."""
    if not head.strip(b"\r\n \x00") and not packing_of(head, name):
        return EMPTY if not head else "no records"
    if packing_of(head, name):
        return PACKED
    if is_index(head):
        return INDEX
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return UTF_16
    if is_rows(head):
        return REPORT
    if _RECORD.search(head) or (len(head) < SNIFF and _CUT.fullmatch(head)):
        return ""
    head = head.lstrip(b"\x00")
    if head[:64].count(0) > 16:
        return UTF_16 if not head[:64:2].strip(b"\x00") or not head[1:64:2].strip(b"\x00") else OTHER
    return OTHER
