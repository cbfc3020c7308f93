"""The nested events of one compile, as a flame view shows them."""

from __future__ import annotations

from collections.abc import Iterable

from tltui.analyses.timing.results import Bar, Flame
from tltui.analyses.timing.spans import Group, record_page
from tltui.analyses.timing.sums import nested

_BACKWARD = "entire_backward_compile"


def flames_of(groups: Iterable[Group]) -> tuple[Flame, ...]:
    """One flame for each group, in the order of time."""
    return tuple(_flame(group) for group in sorted(groups, key=lambda group: group.start))


def _flame(group: Group) -> Flame:
    process, start = group.owner.process, group.start
    bars = [
        Bar(name, depth, (begin - start) / 1e6, (end - begin) / 1e6, max(own, 0.0) / 1e6,
            record_page(process, record), record in group.open)
        for (begin, record, end, name), depth, own in nested(group.spans)
    ]  # fmt: skip
    title = "backward" if any(span[3] == _BACKWARD for span in group.spans) else group.spans[0][3]
    return Flame(title, start, (group.end - start) / 1e6, tuple(bars))
