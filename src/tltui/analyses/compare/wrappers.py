"""The generated code around a graph: torch 2.13 and 2.14 write a record for each wrapper, torch 2.15 all of one compile in one.

To compare the two, that one text is cut where it names its parts: `# backward_prologue` stands before what was an artifact of that
name.
"""

from __future__ import annotations

import re

from tltui.model.kind import Phase
from tltui.model.kinds import kind_of

TOGETHER = "aot_autograd_runtime_wrappers"
_NAME = re.compile(r"^# (\w+)$", re.MULTILINE)


def parts_in(text: str) -> dict[str, str]:
    """Name → code of the wrappers in one text, the first of each name."""
    found: dict[str, str] = {}
    heads = [match for match in _NAME.finditer(text) if kind_of("artifact", match[1]).phase is Phase.RUNTIME]
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        found.setdefault(head[1], text[head.end() + 1 : end].rstrip("\n"))
    return found


def part_for(text: str, other: str) -> str:
    """What of one text is to be compared with an artifact of another name: all of it, if it has no such part."""
    return parts_in(text).get(other, text)
