"""Places in the user's source that a line names: `file:PATH:LINE` links.

Torch writes them in few ways: `# File: PATH:LINE in FN` (graphs), `File "PATH", line LINE` (tracebacks),
`# PATH:LINE in FN` (guards) and `user code at PATH:LINE` (graph breaks).
"""

from __future__ import annotations

import re

from tltui.text.document import Link

_PLACE = re.compile(
    r'File "(?P<p1>[^"\n]{1,1024})", line (?P<l1>\d{1,9})'
    r"|File: (?P<p2>\S.{0,1023}?):(?P<l2>\d{1,9})(?= in )"
    r"|(?<=# )(?P<p3>[^\s:#]{1,1024}):(?P<l3>\d{1,9})(?= in )"
    r"|(?<=user code at )(?P<p4>\S.{0,1023}?):(?P<l4>\d{1,9})(?=\s|$)"
)


def links(text: str) -> tuple[Link, ...]:
    """The places that a sanitised line names."""
    if ":" not in text and "File" not in text:
        return ()
    found = []
    for match in _PLACE.finditer(text):
        which = (match.lastgroup or "p1")[1:]
        path, line = match["p" + which], match["l" + which]
        start = match.start("p" + which)
        found.append(Link(start, match.end("l" + which), f"file:{path}:{line}"))
    return tuple(found)
