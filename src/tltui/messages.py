"""What other threads tell the screens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

from tltui.model.run import Event


@dataclass
class Scanned(Message):
    """The logs were read on."""

    event: Event


@dataclass
class Answer(Message, bubble=False):
    """Something that was asked for is there: `apply` shows it, on the UI thread."""

    apply: Callable[[], object]
