"""Files whose names others may have chosen: bounded reads, reads beside a log, atomic replacement, safe names, shell quoting."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tltui.text.sanitize import sanitize


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
            raise OSError(errno.EINVAL, "is not a regular file", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(handle)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"is larger than {limit:,} bytes", str(path))
    return data


def read_small_json(path: str | os.PathLike[str], limit: int) -> Any:
    """Return the value of a JSON file.

    Raises OSError as `read_small_file` does, and ValueError for invalid JSON or JSON nested too deeply.
    """
    data = read_small_file(path, limit)
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None


def read_beside_log(log: str, name: str, limit: int) -> bytes:
    """Read the file `name` in the directory of a log.

    Returns b"" for a missing file, one that is not regular, and one of more than `limit` bytes.
    """
    try:
        return read_small_file(os.path.join(os.path.dirname(log), name), limit, follow=False)
    except (OSError, ValueError):
        return b""


LONGEST = 120


def safe_name(text: str, suffix: str = "") -> str:
    """Return a file name for a label of the trace: no separators, no leading dot, at most 120 characters."""
    name = re.sub(r"[^\w.+=@-]+", "_", sanitize(text), flags=re.ASCII).strip("._") or "unnamed"
    return name[: LONGEST - len(suffix)] + suffix


_PLAIN = re.compile(r"[^\\'\x00-\x1f\x7f-\x9f]")


def quoted(text: str) -> str:
    """Quote a word for the shell so that it is safe to paste.

    Control characters and bytes of a file name that are not UTF-8 are written as escapes (`$'…'`).
    """
    if sanitize(text) == text and "\t" not in text:
        return shlex.quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if _PLAIN.match(character) and sanitize(character) == character:
        return character
    if character in "\\'":
        return "\\" + character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


@contextmanager
def replacing(target: Path, *, force: bool = True, private: bool = False, durable: bool = False) -> Iterator[IO[bytes]]:
    """Write a temporary file that replaces `target` if the block succeeds; else remove it.

    `private`: readable by its owner only. `durable`: on disk when the block has ended. The directory must exist. Raises OSError
    that names `target`: FileExistsError where a file exists and `force` is not set; a directory or a device is never replaced.
    """
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory", str(target))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is not a regular file", str(target))
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
