"""Graphs, guards and code without what is their rank's own: equal for two ranks that do the same, each on its own device.

What is left out is what `tltui diff` leaves out: where it finds nothing, these are equal. That takes a millisecond for some
kilobytes, and most ranks write the same but for addresses and the number of their device. So these are taken out of the bytes
first (`bare`), and the rest is done once for each text that is then different.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tltui.analyses.compare.comparing import rules_for, side_of
from tltui.analyses.ranks.facets.fact import NONE, Fact, digest_of, fact
from tltui.text.diff.normalise import normalised
from tltui.text.diff.own import Own
from tltui.text.graphs.fx_graph import parse

_COMMENT = re.compile(r"(?m)^[ \t]*(?:#.*)?\n|  # .*$")
_IDS = (
    (b"___check_", re.compile(rb"(___check_\w{1,60}\([^\n]{0,400}?, )\d{6,}"), rb"\1I"),
    (b"0x", re.compile(rb"0x[0-9a-f]{6,16}"), b"0xA"),
    (b"Guard latency = ", re.compile(rb"Guard latency = [\d.]+"), b"Guard latency = T"),
    (b"# graph id: ", re.compile(rb"# graph id: \d+"), b"# graph id: N"),
    (b"torchinductor_", re.compile(rb"torchinductor_[\w.@+/-]*"), b"torchinductor_P"),
    (b"/attempt_", re.compile(rb"/attempt_\d{1,4}/\d{1,6}(?=/)"), b"/attempt_N/R"),
)
"""Needle, expression that begins with it (that makes it fast), what takes its place."""
GUARDS = "guards"
_RANK = re.compile(r"(?i)(rank\w{0,20}['\")\]]{0,3} == )\d+")
"""The number of a rank: what is called so differs from rank to rank, and says no more than that."""


def bare(text: bytes, own: Own) -> bytes:
    """The text without addresses, cache paths and the number of the own device, as far as bytes tell them quickly. Of equal
    results everything is equal that another rank can have in common."""
    for needle, pattern, sign in _IDS:
        if needle in text:
            text = pattern.sub(sign, text)
    for needle, pattern, sign in _own_patterns(own):
        if needle in text:
            text = pattern.sub(sign, text)
    return text


@lru_cache(maxsize=256)
def _own_patterns(own: Own) -> tuple[tuple[bytes, re.Pattern[bytes], bytes], ...]:
    if not own.device:
        return ()
    kind, n = own.device.encode(), b"%d" % own.index
    texts = (kind + b":", b"index=", b"device=", b"stream", b"get_raw_stream(", b"_DeviceGuard(", b"set_device(", b"triton/")
    signs = b"\xe2\x80\xb9own\xe2\x80\xba"
    return tuple((text + n, re.compile(re.escape(text + n) + rb"(?![\w.])"), text + signs) for text in texts)


def graph_fact(text: bytes, own: Own) -> Fact:
    """A graph of Dynamo: without comments, ids and the own device."""
    graph = text.decode("utf-8", "replace")
    if not graph.strip():
        return NONE
    nodes = len(parse(graph.split("\n")).nodes)
    return fact([f"{nodes} node{'s' * (nodes != 1)}"], [canonical(graph, own)])


def canonical(text: str, own: Own) -> bytes:
    """A graph without comments, empty lines, ids, and what is the rank's own."""
    plain = _COMMENT.sub("", text + "\n")
    line, _ = normalised(plain, rules_for(plain, own))
    return line.encode("utf-8", "replace")


def guards_fact(text: bytes, own: Own) -> Fact:
    """A guard tree: its guards in the order of their sources, as `tltui diff` compares them. Each is a line."""
    if not text.strip():
        return NONE
    side = side_of(text.decode("utf-8", "replace"), GUARDS, own)
    keys = [without_rank(str(key)) for key, line in zip(side.keys, side.lines, strict=True) if "+- " in line]
    return fact([_guard(key) for key in keys], [digest_of(key.encode("utf-8", "replace") for key in keys)])


def without_rank(text: str) -> str:
    """A guard on what is called a rank: `G['rank'] == 3` holds on rank 3 alone."""
    return _RANK.sub(r"\1‹rank›", text)


def _guard(line: str) -> str:
    return line.partition("+- ")[2].partition("  # ")[0].strip() if "+- " in line else line.strip()


def code_digest(text: bytes, own: Own) -> bytes:
    """Generated code: as `tltui diff` compares it, without comments that name lines of the source."""
    plain = text.decode("utf-8", "replace")
    line, _ = normalised(plain, rules_for(plain, own))
    return digest_of([line.encode("utf-8", "replace")])
