"""Pieces of bytes that come in any order and are wanted in that of their numbers, also where they do not fit into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

IN_MEMORY = 64 << 20
"""Bytes. Beyond them they are kept in a file without a name, which is gone with this process however that ends."""


class Shelf:
    """The pieces. `directory` has the file."""

    def __init__(self, directory: Path, in_memory: int = IN_MEMORY) -> None:
        self._file = tempfile.SpooledTemporaryFile(in_memory, dir=str(directory))  # noqa: SIM115
        self._places: dict[int, tuple[int, int]] = {}

    def __enter__(self) -> Shelf:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def put(self, number: int, piece: bytes) -> None:
        """Keep a piece. Raises OSError."""
        self._places[number] = (self._file.seek(0, 2), len(piece))
        self._file.write(piece)

    def pieces(self) -> Iterator[bytes]:
        """All of them, in the order of their numbers. Raises OSError."""
        for _, (offset, size) in sorted(self._places.items()):
            self._file.seek(offset)
            yield self._file.read(size)
