"""What other threads tell the screens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

from tltui.model.run import Event
from tltui.sources.discover import Found


@dataclass
class Scanned(Message):
    """The logs were read on; None among them: all that was there in the beginning has been read."""

    events: tuple[Event | None, ...]


@dataclass
class Again(Message):
    """All logs are to be read from their beginning: what there is now."""

    found: Found


@dataclass
class Answer(Message, bubble=False):
    """Something that was asked for is there: `apply` shows it, on the UI thread."""

    apply: Callable[[], object]


@dataclass
class Undrawn(Message, bubble=False):
    """A row could not be drawn."""

    error: Exception
