"""Messages from other threads to the screens."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from tltui.model.run import Event
from tltui.sources.discover import Found
from tltui.text.frozen import mutable


@mutable(slots=False)
class Scanned(Message):
    """The logs were read further; None among them: all initially present bytes have been read."""

    events: tuple[Event | None, ...]


@mutable(slots=False)
class Again(Message):
    """Request to read all logs from their beginning."""

    discovered: Found


@mutable(slots=False)
class Answer(Message, bubble=False):
    """A requested result: `apply` shows it, on the UI thread."""

    apply: Callable[[], object]


@mutable(slots=False)
class Undrawn(Message, bubble=False):
    """A row that could not be drawn."""

    error: Exception
