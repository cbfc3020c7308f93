"""Texts as words of a shell's command line."""

from __future__ import annotations

import re
import shlex

from tltui.text.sanitize import sanitize

_PLAIN = re.compile(r"[^\\'\x00-\x1f\x7f-\x9f]")


def quoted(text: str) -> str:
    """A word that a shell reads as `text`, and that is safe to paste: what a terminal would act on, and bytes of a file name that
    are no UTF-8, are written as escapes (`$'…'`)."""
    if sanitize(text) == text and "\t" not in text:
        return shlex.quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if _PLAIN.match(character) and sanitize(character) == character:
        return character
    if character in "\\'":
        return "\\" + character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
