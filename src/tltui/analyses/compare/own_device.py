"""Which device is a rank's own: the one that most of its tensors are on."""

from __future__ import annotations

from collections import Counter

from tltui.analyses.parts import part, shared
from tltui.analyses.records import Reader, named
from tltui.model.nodes import Compile, Process
from tltui.text.diff.own import NOBODY, Own, devices_in, most_used

LIMIT = 256 << 10
"""Stored bytes of a graph that are read for it."""
TENSORS = 64
"""Descriptions of tensors that are read where a graph does not name devices, as those of older versions of torch."""
TELLING, ASKED = 16, 64
"""Compiles that have to name devices, and that are asked for them."""
Devices = tuple[tuple[tuple[str, int], int], ...]


@part
def devices_of(compile_: Compile, reader: Reader) -> Devices:
    """How many tensors of a compile are on each device with an index."""
    log = reader.log
    graphs = [record for record, _ in named(compile_, ("dynamo_output_graph",))]
    if graphs:
        record = graphs[-1]
        key = reader.md5(record) or (log.key, record)
        found = shared(compile_, devices_of, key, lambda: _in_graph(reader.text(record, LIMIT)))
        if found is not None:
            return found
    described = [record for record, _ in named(compile_, ("describe_tensor",))][:TENSORS]
    return tuple(devices_in("\n".join(reader.head(record).decode("utf-8", "replace") for record in described)).items())


def _in_graph(text: str) -> Devices | None:
    """None: its tensors have no devices."""
    found = tuple(devices_in(text).items())
    return found if found or ']cpu"' in text else None


@part
def own_device(process: Process, reader: Reader) -> tuple[str, int] | None:
    """The device that most tensors of the first compiles of a rank are on; None where none has an index."""
    votes: Counter[tuple[str, int]] = Counter()
    told = 0
    for number, compile_ in enumerate(process.ordered()):
        found = devices_of(compile_)
        votes.update(dict(found))
        told += bool(found)
        if told == TELLING or number == ASKED:
            break
    return most_used(votes)


def owns_of(left: Process, right: Process) -> tuple[Own, Own]:
    """What each side of a comparison may call its own. Within one process nothing: both sides mean the same device."""
    if left is right:
        return NOBODY, NOBODY
    devices = own_device(left), own_device(right)
    of_rank = left.rank != right.rank or devices[0] != devices[1]
    a, b = (Own(*device, of_rank) if device is not None else Own(of_rank=of_rank) for device in devices)
    return a, b
