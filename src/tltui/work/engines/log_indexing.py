"""Indexing of one log as a task of a local or remote worker."""

from __future__ import annotations

import hashlib
import os
import socket
from dataclasses import replace

from tltui.inputs.index.indexed_log import opened
from tltui.sources.discovery_results import FoundLog
from tltui.text.frozen import frozen
from tltui.text.sanitize import sanitize
from tltui.work.engines.gather import Failure
from tltui.writers.index import log_part

BEGINNING = 4096
"""Bytes at the beginning by which a log is recognised."""


@frozen
class LogPart:
    """A log, and how it is read."""

    log: FoundLog
    lean: bool = False
    key: bytes = b""
    """Arguments of `log_part`."""
    size: int = 0
    """Minimum bytes of its file."""
    beginning: bytes = b""
    """The digest of its first bytes; b'' for whoever reads it on the machine on which it was found."""

    @property
    def unread(self) -> int:
        """The bytes to read: of an indexed log, its growth."""
        indexed = opened(self.log.index).logs[self.log.number].reached if self.log.index else 0
        return max(self.log.size - indexed, 0)


def remote_part(part: LogPart) -> LogPart:
    """Return the same part for any machine that sees the log. Raises OSError."""
    log = part.log
    size = min(os.stat(log.path).st_size, log.size if log.is_here else BEGINNING)
    return replace(part, size=size, beginning=_beginning(log.path, size))


def index_part(part: LogPart) -> bytes | Failure[LogPart]:
    """Index a log, where this machine sees the same one. Raises OSError."""
    return _mismatch(part) or log_part(part.log, part.lean, part.key)


def _mismatch(part: LogPart) -> Failure[LogPart] | None:
    """Return a failure if this machine sees another file at the path of the log."""
    if not part.beginning:
        return None
    path, host = part.log.path, sanitize(socket.gethostname())
    try:
        if os.stat(path).st_size >= part.size and _beginning(path, part.size) == part.beginning:
            return None
    except OSError as error:
        return Failure(part, f"{host} cannot read it ({error.strerror or error})")
    return Failure(part, f"{host} has a different file of this name")


def _beginning(path: str, size: int) -> bytes:
    """Return the digest of the first bytes; for a directory, of its contents."""
    if os.path.isdir(path):
        return hashlib.blake2b("\0".join(sorted(os.listdir(path))).encode("utf-8", "surrogateescape"), digest_size=16).digest()
    with open(path, "rb") as file:
        return hashlib.blake2b(file.read(min(size, BEGINNING)), digest_size=16).digest()
