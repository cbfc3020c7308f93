"""What a step of a text scan hands over beside the columns, and what the flags of its records mean."""

from __future__ import annotations

from dataclasses import dataclass, field

from tltui.trace.batch import Batch

IRREGULAR = 4
"""Its lines do not stand in one piece with equal beginnings: others stand between, a launcher numbers them, or one was torn."""
UNCLEAN = 8
"""There are colours, carriage returns or trimmed blanks in it."""
TORN = 16
"""One of its lines was cut by another process."""

Piece = tuple[int, int]
"""Offset and size."""


@dataclass(slots=True)
class TextBatch(Batch):
    """What one step found in a text log."""

    flags: dict[int, int] = field(default_factory=dict)
    """Records of earlier batches → their flags now."""
    mended: dict[int, list[list[Piece]]] = field(default_factory=dict)
    """Record → its lines that were cut and put together again: the pieces of each."""
    latency: dict[int, int] = field(default_factory=dict)
    """The record of a guard tree → that of its latency."""
