"""The bytes of a directory: none of its own, those of its files."""

from __future__ import annotations

from tltui.trace.files import FileBytes, Identity


class DirectoryBytes(FileBytes):
    """The directory that is read. Its scanner fills `files`, its log reads them."""

    __slots__ = ("files",)

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.files: list[FileBytes] = []
        """In the order in which they were found; the records name them by their places, from 1."""

    def size(self) -> int:
        return sum(file.size() for file in self.files)

    def read(self, offset: int, size: int) -> bytes:
        """Nothing: records are in the files."""
        return b""

    def reached(self, offset: int) -> None:
        """Nothing to remember: each file is known by its identity."""

    def add(self, path: str, identity: Identity) -> int:
        """One more file, and its number."""
        file = FileBytes(path)
        file.identity = identity
        self.files.append(file)
        return len(self.files)
