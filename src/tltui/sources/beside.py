"""Files of a known name beside a log: what a job, or whoever collected its logs, laid there."""

from __future__ import annotations

import os
import stat

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def beside(log: str, name: str, limit: int) -> bytes:
    """The bytes of the file `name` in the directory of a log; b"" where there is none, where it is no regular file, or where it has
    more than `limit` bytes."""
    try:
        fd = os.open(os.path.join(os.path.dirname(log), name), _FLAGS)
    except (OSError, ValueError):
        return b""
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return b""
        with os.fdopen(os.dup(fd), "rb") as file:
            return file.read(limit)
    except OSError:
        return b""
    finally:
        os.close(fd)
