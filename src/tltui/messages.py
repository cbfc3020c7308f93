"""What other threads tell the screens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

from tltui.work.scanning import Step


@dataclass
class Scanned(Message):
    """A step of the scan."""

    step: Step


@dataclass
class Answer(Message, bubble=False):
    """Something that was asked for is there: `apply` shows it, on the UI thread."""

    apply: Callable[[], object]
