"""Small files whose names somebody else may have given to a pipe, a device or a file without end."""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import Any


def read_small_file(path: str | os.PathLike[str], limit: int, *, follow: bool = True) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes. It opens at once, where a pipe without a writer would wait.

    Raises OSError, also where it is no regular file or a larger one, and where it is a symbolic link without `follow`; ValueError
    where no file can have this name.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(handle)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"is larger than {limit:,} bytes", str(path))
    return data


def read_small_json(path: str | os.PathLike[str], limit: int) -> Any:
    """Return the value of a JSON file. Raises OSError as `read_small_file` does, and ValueError for what is no JSON or is nested
    too deeply to be read."""
    data = read_small_file(path, limit)
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None
