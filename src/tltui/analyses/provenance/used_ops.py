"""Where a printed program calls an operator, and from which line of the user's."""

from __future__ import annotations

import re
from dataclasses import dataclass

USES = 20
_FROM = re.compile(r"^\s*# (?:.* )?File: (?P<file>.+):(?P<line>\d{1,9}) in (?P<name>.+?), code: (?P<code>.*)$")


@dataclass(frozen=True, slots=True)
class OpUse:
    """A call of an operator in a graph."""

    text: str
    """The line of the graph."""
    file: str | None
    line: int | None
    function: str | None
    code: str | None


def uses_of(op: str, program: str) -> tuple[OpUse, ...]:
    """The calls of `demo.no_fake.default` in the text of a program, at most `USES`."""
    wanted = re.compile(rf"torch\.ops\.{re.escape(op)}\(")
    found: list[OpUse] = []
    last: re.Match[str] | None = None
    for line in program.split("\n"):
        if match := _FROM.match(line):
            last = match
        elif wanted.search(line):
            text = line.strip().partition(";  ")[0]
            if last is None:
                found.append(OpUse(text, None, None, None, None))
            else:
                found.append(OpUse(text, last["file"], int(last["line"]), last["name"], last["code"]))
            if len(found) == USES:
                break
    return tuple(found)
