"""The program of a worker process that scans parts of logs (`scan_workers.py`).

It is started by its path, so it can import no module of tltui until the first message gives the search path. It ends when its
standard input does: that is when its parent ends, however that ends. Ctrl+c is for the parent.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import struct
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = struct.Struct(">Q")
"""Before every message: its bytes."""


def packed(message: object) -> bytes:
    """Serialize a message for a pipe."""
    data = pickle.dumps(message, protocol=5)
    return SIZE.pack(len(data)) + data


def _received(source: BinaryIO) -> Any:
    """Return the next message; None at the end of input."""
    head = source.read(SIZE.size)
    if len(head) < SIZE.size:
        return None
    data = source.read(SIZE.unpack(head)[0])
    return pickle.loads(data)


def serve(source: BinaryIO, out: BinaryIO) -> None:
    """Scan the requested parts until the input ends.

    Failures are answered with None: the caller then scans the part itself, and reports the reason.
    """
    sys.path[:] = _received(source)
    from tltui.trace.scan import scan_part

    answer: Callable[[Any], object] = scan_part
    while (part := _received(source)) is not None:
        try:
            result = answer(part)
        except Exception:
            result = None
        out.write(packed(result))
        out.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # nothing here has circles
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what anything prints is no answer
    try:
        serve(sys.stdin.buffer, pipe)
    except OSError:
        os._exit(1)  # the parent has ended, and what it was to get is nobody's
