"""Names in graphs and code: where one is defined, who reads it, what is known of it.

Used by `enter` on a name and by the line below the panes. Made once per document, off the UI thread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tltui.text.document import Document
from tltui.text.graphs.fx_graph import FxGraph, FxNode, parse

UP_TO = 8 << 20
"""Characters of a document up to which its names are looked for."""
LANGUAGES = frozenset(("fx", "output_code", "python", "cpp"))
USERS_NAMED = 3

_DEFINITION = re.compile(
    r"^\s*(?:async\s+def|def|class)\s+(\w+)"  # Python
    r"|^\s*([A-Za-z_]\w*)(?:\s*:\s*[^=\n]+)?\s*=(?!=)"  # an assignment
    r"|^\s*(?:extern \"C\" |static |inline |void |template<[^>]*> ?)+[\w:<>*& ]*?\b(\w+)\s*\("  # C++
)


@dataclass(frozen=True, slots=True)
class Names:
    """What the names of one document mean."""

    graph: FxGraph | None
    """The parsed graph of an FX document."""
    lines: dict[str, list[int]] = field(default_factory=dict)
    """Of other code: name → the lines where something is given that name, in order."""

    def definition(self, name: str, line: int) -> int | None:
        """The line where the thing that `name` means on `line` is defined; None if it is nowhere in the document."""
        if self.graph is not None:
            node = self._node(name, line)
            return None if node is None else node.line
        found = self.lines.get(name)
        if not found:
            return None
        return max((place for place in found if place < line), default=found[0])

    def about(self, name: str, line: int) -> str:
        """What is known of a name, on one line: its type, what made it, who reads it. '' for nothing."""
        node = self._node(name, line) if self.graph is not None else None
        if node is None or self.graph is None:
            return ""
        parts = [f"{node.name}: {node.type}" if node.type else node.name]
        if node.target:
            parts.append(node.target)
        if node.args:
            parts.append(f"from {_listed([producer.name for producer in self.graph.producers(node)] or list(node.args))}")
        users = self.graph.users(node)
        parts.append(f"read by {_listed([user.name for user in users])}" if users else "read by nothing here")
        if 0 <= node.origin < len(self.graph.origins):
            origin = self.graph.origins[node.origin]
            parts.append(f"{origin.path.rpartition('/')[2]}:{origin.place} {origin.code}".rstrip())
        return " · ".join(parts)

    def about_line(self, line: int) -> str:
        """What is known of the node that a line defines."""
        if self.graph is None:
            return ""
        nodes = self.graph.at(line)
        return self.about(nodes[0].name, line) if nodes else ""

    def _node(self, name: str, line: int) -> FxNode | None:
        assert self.graph is not None
        place = self.graph.graph_at(line)
        while place >= 0:
            if node := self.graph.find(name, place):
                return node
            place = self.graph.graphs[place].parent
        return None


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - USERS_NAMED} more" if len(names) > USERS_NAMED else ""
    return ", ".join(names[:USERS_NAMED]) + more


def names_of(document: Document) -> Names | None:
    """The names of a document; None for pages, data and documents that are too large."""
    if document.language not in LANGUAGES or document.width() * len(document) > UP_TO * 64:
        return None
    text, size = [], 0
    for line in document.text():
        size += len(line)
        if size > UP_TO:
            return None
        text.append(line)
    if document.language == "fx":
        return Names(parse(text))
    lines: dict[str, list[int]] = {}
    for number, line in enumerate(text):
        if match := _DEFINITION.match(line):
            name = match[1] or match[2] or match[3]
            lines.setdefault(name, []).append(number)
    return Names(None, lines)
