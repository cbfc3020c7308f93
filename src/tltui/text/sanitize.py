"""Sanitising of hostile text: nothing in it may steer the terminal."""

from __future__ import annotations

import re

SUBSTITUTE = "\u2426"
TAB = "    "

BEYOND = (
    "\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""The dangerous characters beyond the C0 controls, as a set in a regular expression has them."""
_HOSTILE = re.compile(f"[\x00-\x1f{BEYOND}]")


def _mark(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code == 0x09:
        return TAB
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else SUBSTITUTE


def sanitize(text: str) -> str:
    """`text` with every dangerous character replaced by a visible mark. Idempotent."""
    if text.isascii() and text.isprintable():
        return text
    return _HOSTILE.sub(_mark, text)
