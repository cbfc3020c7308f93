"""Payloads and values of events, made from messages. Each is what torch writes to a trace at the same place, where the text tells.

What differs: graphs of AOTAutograd have one line for all parameters in the text, a graph break lacks the traceback of Dynamo
itself, symbols state one frame of the program instead of a stack.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

REASON = re.compile(rb"- (?=(?:\d+/\d+|!\d+(?:/\d+/\d+)?): )")
FAILURES = re.compile(rb"guard \d+ failures:$")
CLASS = re.compile(rb" ?\S.*? (?=class )| (?=class )| ?\S+ ?")
LATENCY = b"Guard eval latency = "
SUPPRESSED = b" (user stack suppressed due to duplicate graph break)"
STACK = b"User code traceback:"
FIRST_STACK = b"(The text leaves out the stack of this break: it is that of the first one at this place.)"
SYMBOL = re.compile(r"create_symbol (\S+) = (.+?) for (.+?) (\[[^\]]*\]) ?(.*)", re.DOTALL)
UNBACKED = re.compile(r"create_unbacked_\w+ (\S+) (\[.+?, .+?\])(?: (.*))?", re.DOTALL)
GUARD = re.compile(r"(\w+)(?: \(forcing_spec\))? (.+?) \[guard added\] ?(.*)", re.DOTALL)
SPECIALIZATION = re.compile(r"set_replacement (\S+) = (.+?) \((.+?)\) ")
START = re.compile(r"(?:Step 1: )?torchdynamo start (?:compiling|tracing) (.+) (\S+):(\d{1,9})(?:, stack .*)?")
PLACE = re.compile(r"(.*)  # (\S+):(\d{1,9}) in (\S+) \((\S+?):(\d{1,9}) in ([^)]*)\)")
FRAME = re.compile(r'  File "([^"\n]+)", line (\d{1,9}), in (\S+)')


@dataclass(frozen=True, slots=True)
class Said:
    """A message, and what stands elsewhere that belongs to it. Elsewhere is read when it is asked for."""

    lines: list[bytes]
    """Without prefixes and colours."""
    latency: Callable[[], bytes]
    """The message with the latency of this guard tree; b"" for none."""
    first_break: Callable[[], list[bytes]]
    """The lines of the first break at the place of this one; [] for none."""

    @property
    def first(self) -> str:
        """The first line."""
        return self.lines[0].decode("utf-8", "replace")


def whole(said: Said) -> bytes:
    """All of it."""
    return b"\n".join(said.lines)


def rest(said: Said) -> bytes:
    """All but the first line."""
    return b"\n".join(said.lines[1:])


def after_blank(said: Said) -> bytes:
    """What stands behind a title and an empty line."""
    return b"\n".join(said.lines[2:])


def graph(said: Said) -> bytes:
    r"""The graph of `TRACED GRAPH\n ===== NAME =====\n FILE class …`, which one more newline ends."""
    third = said.lines[2] if len(said.lines) > 2 else b""
    match = CLASS.match(third)
    body = b"\n".join([third[match.end() :] if match else third, *said.lines[3:]])
    return body.removesuffix(b"\n")


def recompile_reasons(said: Said) -> bytes:
    """One reason as it is, several as a JSON list: `trace_structured` of torch/_logging/_internal.py."""
    reasons: list[bytes] = []
    for line in said.lines[2:]:
        line = line.removeprefix(b"    ")
        if FAILURES.match(line):
            if reasons:  # an empty line stands before those of the next cache entry
                reasons[-1] = reasons[-1].removesuffix(b"\n")
            continue
        if match := REASON.match(line):
            reasons.append(line[match.end() :])
        elif reasons:
            reasons[-1] += b"\n" + line.removeprefix(b"- ")
    if len(reasons) == 1:
        return reasons[0]
    if not reasons:  # torch changed its words: better as it stands than nothing
        return rest(said)
    return ("[\n" + ",\n".join(json.dumps(reason.decode("utf-8", "replace")) for reason in reasons) + "\n]").encode()


def guard_tree(said: Said) -> bytes:
    """The tree, and the latency, which is a message of its own."""
    latency = said.latency()
    tree = b"\n".join(said.lines)
    return tree + b"\nGuard latency = " + latency.removeprefix(LATENCY) if latency else tree


def graph_break(said: Said) -> bytes:
    """The break, without the traceback of Dynamo itself.

    The text leaves out the stack where a break at this place was logged before: it is that one's then, and a line says so.
    """
    head = said.lines[0]
    lines = [head.replace(SUPPRESSED, b"", 1), *said.lines[1:]]
    if SUPPRESSED in head:
        first = said.first_break()
        if STACK in first:
            lines = [*_trimmed(lines), b"", *_trimmed(first[first.index(STACK) :]), b"", FIRST_STACK]
    return b"\n".join(lines)


def _trimmed(lines: list[bytes]) -> list[bytes]:
    end = len(lines)
    while end and not lines[end - 1]:
        end -= 1
    return lines[:end]


def symbol(said: Said) -> object:
    """`create_symbol s77 = 5 for L['x'].size()[0] [2, int_oo] CODE  # FILE:LINE in FUNCTION (…)`."""
    match = SYMBOL.match(said.first)
    if match is None:
        return {}
    name, value, source, limits, place = match.groups()
    return {"symbol": name, "val": value, "vr": limits, "source": source, **_place(place)}


def unbacked(said: Said) -> object:
    """`create_unbacked_symint u0 [-int_oo, int_oo] …`."""
    match = UNBACKED.match(said.first)
    return {"symbol": match[1], "vr": match[2], **_place(match[3] or "")} if match else {}


def guard(said: Said) -> object:
    """`eval Eq(s77, 5) [guard added] CODE  # FILE:LINE in FUNCTION (…)`."""
    match = GUARD.match(said.first)
    if match is None:
        return {}
    deferred = {"prefix": match[1]} if match[1] == "runtime_assert" else {}
    return {"expr": match[2], **deferred, **_place(match[3])}


def specialization(said: Said) -> object:
    """`set_replacement s77 = 5 (range_refined_to_singleton) VR[5, 5]`."""
    match = SPECIALIZATION.match(said.first)
    return {"symbol": match[1], "sources": [], "value": match[2], "reason": match[3]} if match else {}


def start(said: Said) -> object:
    """The stack of the program, and the function itself as its last frame."""
    match = START.match(said.first)
    if match is None:
        return {}
    stack: list[dict[str, object]] = []
    for line in said.lines[1:]:
        text = line.decode("utf-8", "replace")
        if frame := FRAME.match(text):
            stack.append({"line": int(frame[2]), "name": frame[3], "filename": frame[1]})
        elif stack and text.startswith("    ") and text.strip(" ~^"):
            stack[-1].setdefault("loc", text.strip())
    return {"stack": [*stack, {"line": int(match[3]), "name": match[1], "filename": match[2]}]}


def _place(text: str) -> dict[str, object]:
    """The one frame of the program that a message about a symbol states, and the one of torch that asked."""
    match = PLACE.match(text)
    if match is None:
        return {}
    code, file, line, name, by, by_line, by_name = match.groups()
    return {
        "user_stack": [{"line": int(line), "name": name, "filename": file, "loc": code}],
        "stack": [{"line": int(by_line), "name": by_name, "filename": f"torch/{by}"}],
    }
