"""Files of a known name beside a log: what a job, or whoever collected its logs, laid there."""

from __future__ import annotations

import os

from tltui.text.small_file import read_small_file


def beside(log: str, name: str, limit: int) -> bytes:
    """The bytes of the file `name` in the directory of a log; b"" where there is none, where it is no regular file, or where it has
    more than `limit` bytes."""
    try:
        return read_small_file(os.path.join(os.path.dirname(log), name), limit, follow=False)
    except (OSError, ValueError):
        return b""
