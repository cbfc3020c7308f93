"""Standard input as a file of the cache that grows.

It is read to its end, whatever becomes of what is made of it: who writes into the pipe is never held up, and not ended by a limit.
When the program ends the pipe has no reader any more, and who writes into it is told so by SIGPIPE, as with any other.
"""

from __future__ import annotations

import os
import select
import threading

from tltui.inputs.archives.cache import Cache, Full, Member, own_cache
from tltui.inputs.archives.decompress import PIECE, CannotUnpack
from tltui.inputs.archives.magic import BLOCK, STANDARD_INPUT, packing_of

TICK = 0.2
"""Seconds between two looks at whether to end."""


class StandardInput:
    """What comes through a descriptor. Raises `CannotUnpack` where no file can be made for it."""

    def __init__(self, descriptor: int, cache: Cache) -> None:
        self._descriptor = descriptor
        self._cache = cache
        self._member = Member(cache, cache.new_file())
        self.path = str(self._member.path)
        """The file that it is copied to."""
        self.packing = ""
        """How it is packed; '' for text, and while too little has come to know."""
        self.fault = ""
        """Why the file is not all that has come."""
        self._head = b""
        self._begun, self._ended, self._stop = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._copy, name="tltui standard input", daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        """Whether all of it has come."""
        return self._ended.is_set()

    def wait(self) -> None:
        """Wait for its end."""
        while not self._ended.wait(TICK):
            self._cache.progress(STANDARD_INPUT, self._member.size, 0, self._cache.written)

    def wait_for_beginning(self, seconds: float) -> None:
        """Wait until it is known how it is packed, but not for ever."""
        self._begun.wait(seconds)

    def stop(self) -> None:
        """Read no more."""
        self._stop.set()

    def _copy(self) -> None:
        try:
            while not self._stop.is_set():
                if select.select([self._descriptor], [], [], TICK)[0]:
                    data = os.read(self._descriptor, PIECE)
                    if not data:
                        break
                    self._take(data)
        except OSError as error:
            self.fault = self.fault or f"standard input could not be read on: {error.strerror or error}"
        finally:
            self._member.end()
            self._begun.set()
            self._ended.set()

    def _take(self, data: bytes) -> None:
        if not self._begun.is_set():
            self._head += data
            self.packing = packing_of(self._head)
            if len(self._head) >= BLOCK:
                self._begun.set()
        if self.fault:
            return
        try:
            self._member.write(data)
        except Full as full:
            self.fault = f"cut at the limit: {full}"
        except CannotUnpack as cannot:
            self.fault = str(cannot)


_own: list[StandardInput] = []
_making = threading.Lock()


def standard_input(descriptor: int = 0) -> StandardInput:
    """That of this process, read from now on. `descriptor` counts the first time. Raises `CannotUnpack`."""
    with _making:
        if not _own:
            _own.append(StandardInput(descriptor, own_cache()))
        return _own[0]
