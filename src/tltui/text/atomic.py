"""A file takes its name when it is complete: whoever reads it finds the old one or the new one, never a part."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(target: Path, *, force: bool = True, private: bool = False, durable: bool = False) -> Iterator[IO[bytes]]:
    """What is written becomes `target` when the block ends well, in place of a file that is there; else nothing is left of it.

    `private`: for its owner only. `durable`: it is on the disk when the block has ended. The directory must be there. Raises
    OSError that names `target`: FileExistsError where something is there and `force` is not given; a directory or a device is never
    replaced.
    """
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory", str(target))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is no regular file", str(target))
    if not force and os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "exists", str(target))
    name = target.parent / f".tltui-{os.urandom(8).hex()}"
    try:
        # not by `tempfile`: this way the kernel applies the umask
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException as error:
        name.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            raise OSError(error.errno, error.strerror, str(target)) from None  # the disk is full
        raise
