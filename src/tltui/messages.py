"""What the scan thread and the document loader tell the screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from tltui.text.document import Document
from tltui.trace.batch import Batch

if TYPE_CHECKING:
    from tltui.documents.names import Names


@dataclass
class Scanned(Message):
    """A step of the scan: a batch of the log with this number, or why the log cannot be read on."""

    log: int
    batch: Batch | None
    error: OSError | None = None


@dataclass
class DocumentReady(Message):
    """A document that was asked for can be shown. `ticket` tells late answers for an old selection from the wanted one."""

    ticket: int
    document: Document


@dataclass
class NamesReady(Message):
    """What the names of a document mean is known."""

    ticket: int
    names: Names


@dataclass
class DocumentGrown(Message):
    """The badge of a document changed: its md5 has been compared."""

    ticket: int
    document: Document


@dataclass
class Written(Message):
    """An export has ended: what to tell, or what to ask before it can go on."""

    text: str
    ask: Callable[[], None] | None = None
    style: str = ""
