"""What torch calls the rest of a function behind a graph break, in short: `f ↩5` for `torch_dynamo_resume_in_f_at_5`.

Pages, the tree, tables and titles say the short name; JSON, addresses and what an artifact holds keep torch's. Whoever looks for
one of the two finds the other as well.
"""

from __future__ import annotations

import re

PREFIX = "torch_dynamo_resume_in_"
MARK, ASCII_MARK = "↩", "<-"
_NAME = re.compile(rf"(?<!\w){PREFIX}(<\w+>|\w+)_at_(\d+)(?!\w)")
_SHORT = re.compile(rf"(?<!\w)(<\w+>|\w+) ?(?:{MARK}|{ASCII_MARK})(\d+)(?!\w)")
_TYPED = re.compile(
    r"(?<![\w\\\[])(?:torch_dynamo_resume|(?:torch_dynamo_)?resume_in(?:_(\w*?)(?:_at(?:_(\d+))?)?)?)(?!\w)", re.IGNORECASE
)
"""What a pattern may have of such a name: all of it, or its beginning, with or without `torch_dynamo_`."""


def short(text: str, ascii_only: bool = False) -> str:
    """`text` with the functions in it called in short. Idempotent; a longer name that begins so (an artifact's) stays."""
    if PREFIX not in text:
        return text
    mark = ASCII_MARK if ascii_only else MARK

    def called(match: re.Match[str]) -> str:
        return f"{short(match[1], ascii_only)} {mark}{match[2]}"

    return _NAME.sub(called, text)


def both(text: str) -> str:
    """`text` in short, and behind it as torch has it where that is something else: what is searched for either."""
    shown = short(text)
    return text if shown is text else f"{shown} {text}"


def in_payloads(pattern: str) -> str:
    """A regular expression that finds what `pattern` does, and a function that it names in short by torch's name."""
    if MARK not in pattern and ASCII_MARK not in pattern:
        return pattern
    return _SHORT.sub(lambda match: f"(?:{PREFIX}{match[1]}_at_{match[2]}|{match[1]} (?:{MARK}|{ASCII_MARK}){match[2]})", pattern)


def either(pattern: str) -> str:
    """A regular expression that finds what `pattern` does, and a function that it names by its other name."""
    return _TYPED.sub(_typed, in_payloads(pattern)) if "resume" in pattern.lower() else in_payloads(pattern)


def _typed(match: re.Match[str]) -> str:
    name, line = match[1] or "", match[2] or ""
    return f"(?:{match[0]}|{name}{' ' if name else ''}(?:{MARK}|{ASCII_MARK}){line})"
