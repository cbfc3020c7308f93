"""What a compile amounts to, whichever rank it ran on: its graph without comments and ids, its breaks, its collectives.

Equal texts are read once, by the md5 that their records declare: most ranks of a job write the same.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from tltui.analyses.compare.comparing import rules_for
from tltui.analyses.compare.own_device import devices_of
from tltui.analyses.parts import digest_of, part, shared
from tltui.analyses.problems.breaks import known_breaks
from tltui.analyses.records import Reader, named
from tltui.model.nodes import Compile
from tltui.text.diff.normalise import normalised
from tltui.text.diff.own import Own

LIMIT = 4 << 20
"""Stored bytes of a graph that count."""
BREAKS = 20
GRAPH, SCHEDULE = "dynamo_output_graph", "inductor_collective_schedule"
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#.*)?\n|  # .*$")


@part
def texts_of(compile_: Compile, reader: Reader) -> tuple[tuple[int, str | None], tuple[str | None, ...]]:
    """The record of its last graph (-1 for none) with the md5 of that, and the md5s of its collectives in their order."""
    graph: tuple[int, str | None] = (-1, None)
    schedules = []
    for record, name in named(compile_, (GRAPH, SCHEDULE)):
        if name == GRAPH:
            graph = (record, None)
        else:
            schedules.append(reader.log.md5(record))
    if graph[0] >= 0:
        graph = (graph[0], reader.log.md5(graph[0]))
    return graph, tuple(schedules)


@part
def graph_of(compile_: Compile, reader: Reader, own: Own) -> bytes:
    """What its graph computes: equal for two ranks that compute the same, each on its own device and in its own groups."""
    (record, md5), _ = texts_of(compile_)
    if record < 0:
        return b""
    return shared(compile_, graph_of, (md5 or (reader.log.key, record), own), lambda: canonical(reader.text(record, LIMIT), own))


def canonical(text: str, own: Own) -> bytes:
    """A graph without comments, empty lines, ids, and what is the rank's own."""
    bare = _COMMENT.sub("", text + "\n")
    line, _ = normalised(bare, rules_for(bare, own))
    return digest_of(line.encode("utf-8", "replace"))[:8]


@dataclass(frozen=True, slots=True)
class Told:
    """A graph break; two are the same if they differ only as any two runs do."""

    key: str
    said: str = field(compare=False)
    """As a sentence with its line."""


@part
def breaks_told(compile_: Compile, reader: Reader) -> tuple[Told, ...]:
    """Its graph breaks."""
    if not compile_.tally.breaks:
        return ()
    found = []
    for one in known_breaks(compile_, BREAKS):
        said = f"{one.headline}, {os.path.basename(one.file)}:{one.line}" if one.file else one.headline
        found.append(Told(normalised(said)[0], said))
    return tuple(found)


def other_devices(compile_: Compile, own: Own) -> tuple[str, ...]:
    """Devices of its tensors that are not the rank's own."""
    names = (f"{kind}:{index}" for (kind, index), _ in devices_of(compile_))
    return tuple(sorted(name for name in names if name != own.name))
