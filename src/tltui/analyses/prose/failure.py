"""The names and messages with which metrics say that a compile failed."""

from __future__ import annotations

import re

_CLASS = re.compile(r"^<class '(?P<name>[^'\n]+)'>$")


def exception_name(text: str) -> str:
    """The name of an exception without its module: before torch 2.5 it is written as `<class 'torch._dynamo.exc.Unsupported'>`.
    A text that is no such name is left as it is."""
    text = text.strip()
    name = match["name"] if (match := _CLASS.match(text)) else text
    last = name.rpartition(".")[2]
    return last if name.replace(".", "").isidentifier() and last else text
