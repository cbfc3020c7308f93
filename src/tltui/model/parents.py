"""Which process was forked from which."""

from __future__ import annotations

import os
from bisect import bisect_right

from tltui.model.nodes import Process


def find_parents(processes: list[Process]) -> None:
    """A forked child goes on with its parent's string table but writes a log of its own.

    It shows: its first own string id is above 0, or its stacks name ids that it does not define. The parent is the
    youngest older process of the same directory that defines them.
    """
    wanting = [(child, wanted) for child in processes if not child.inherits and (wanted := child.undefined_strings())]
    if not wanting:
        return
    older: dict[str, list[Process]] = {}
    for process in sorted(processes, key=lambda process: process.started):
        older.setdefault(os.path.dirname(process.log.path), []).append(process)
    for child, wanted in wanting:
        near = older[os.path.dirname(child.log.path)]
        parent: Process | None = None
        for other in reversed(near[: bisect_right(near, child.started, key=lambda process: process.started)]):
            if parent is not None and other.started < parent.started:
                break
            if other is not child and other.pid != child.pid and wanted <= other.strings.keys():
                parent = other  # of several that began at once the first one
        if parent is not None and parent is not child.parent:
            child.forked_from(parent)
