"""A document → markdown as GitHub reads it: all that a trace says stands in fences, what is long is folded.

Nothing in a fence or in `<code>` calls anybody (`@name`) or leads anywhere (`#12`, a commit), so titles that may hold such a thing
are code too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from tltui.export.html import headings
from tltui.text.document import Document
from tltui.text.sanitize import sanitize

LIMIT = 65_536
"""Characters that an issue, or a comment in it, may have. A browser sends each end of a line as two."""
LONG = 40
"""Lines from which on a section, or a text without sections, is folded."""
_RESERVED = 300
"""Characters for what is said of what is left out, and for the ends of what is open."""
_ADDRESS = re.compile(r"\[[0-9a-z:/!~+._-]*\] (?=\S)")
"""What most titles begin with. A link of markdown has no blank behind its bracket."""
_HARMLESS = re.compile(r"[A-Za-z0-9 ,.;:()/·…-]*")
_MEANS_MORE = re.compile(r"\b(?:[0-9a-f]{7,40}|gh-\d+)\b|://|www\.|^\s*$", re.IGNORECASE)
"""What GitHub makes a link of without any sign: commits, issues, addresses. An empty title is none."""
_LANGUAGES = {"fx": "python", "output_code": "python", "python": "python", "cpp": "cpp", "json": "json"}


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines in a fence of their own, folded where there is a `summary`, which the line before them makes."""

    first: int
    end: int
    summary: str = ""


def markdown(document: Document, lo: int = 0, hi: int | None = None, limit: int | None = None) -> Iterator[str]:
    """The lines `lo` to `hi` (exclusive) of a document as lines of markdown: its title, and fences. With a `limit` (characters,
    ends of lines counted twice) as many of them as fit, and how many are left out."""
    while not document.advance():
        pass
    end = len(document) if hi is None else min(hi, len(document))
    fence = "`" * _longest(document, lo, end)
    opening = fence + _LANGUAGES.get(document.language, "")
    yield from (head := [f"## {_in_prose(document.title)}", ""])
    room = None if limit is None else limit - _RESERVED - 2 * len(fence) - sum(map(_size, head))
    for block in _blocks(document, lo, end):
        before = [f"<details><summary>{block.summary}</summary>", "", opening] if block.summary else [opening]
        after = [fence, "", "</details>", ""] if block.summary else [fence]
        if room is not None:
            room -= sum(map(_size, (*before, *after)))
        if room is not None and room <= 0:
            yield from _left_out(end - block.first, end - lo)
            return
        yield from before
        for n, line in enumerate(document.text(block.first, block.end), block.first):
            if room is not None and (room := room - _size(line)) < 0:
                yield from after
                yield from _left_out(end - n, end - lo)
                return
            yield line
        yield from after


def _blocks(document: Document, lo: int, end: int) -> Iterator[_Block]:
    """What stands in one fence each, in order: outermost folds, long sections, and what is between them. What is nothing but
    empty lines is left out."""
    folds = list(_folds(document, lo, end))
    if not folds and end - lo > LONG:
        yield _Block(lo, end, f"{end - lo:,} lines")
        return
    at = lo
    for fold in (*folds, None):
        stop = end if fold is None else fold.first - 1
        texts = [bool(line) for line in document.text(at, stop)]
        if True in texts:
            yield _Block(at + texts.index(True), stop - texts[::-1].index(True))
        elif not folds:
            yield _Block(lo, lo)
        if fold is not None:
            yield fold
            at = fold.end


def _folds(document: Document, lo: int, end: int) -> Iterator[_Block]:
    heads = {own.first for own in headings(document)}
    at = lo
    for own in document.sections():
        if own.first < at or own.last >= end or own.last <= own.first:
            continue
        is_long = own.first in heads and own.last - own.first > LONG
        if own.folded or is_long:
            yield _Block(own.first + 1, own.last + 1, _as_code(document.line(own.first).text.strip() or own.title))
            at = own.last + 1


def _longest(document: Document, lo: int, end: int) -> int:
    """Backticks of a fence: more than any run of them in the text."""
    return max(3, 1 + max((len(run) for line in document.text(lo, end) for run in re.findall("`+", line)), default=0))


def _size(line: str) -> int:
    """Characters of a line with its end, as a browser counts them: some have two."""
    return len(line.encode("utf-16-le", "replace")) // 2 + 2


def _in_prose(text: str) -> str:
    """A text of anybody's in a line of markdown."""
    text = sanitize(text)
    if (address := _ADDRESS.match(text)) is not None:
        return address.group() + _in_prose(text[address.end() :])
    if _HARMLESS.fullmatch(text) and not _MEANS_MORE.search(text):
        return text
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{blank}{text}{blank}{ticks}"


def _as_code(text: str) -> str:
    """A text of anybody's in HTML within markdown."""
    return f"<code>{escape(sanitize(text))}</code>"


def _left_out(left: int, of: int) -> list[str]:
    what = "The last line is" if left == 1 else f"{left:,} of {of:,} lines are"
    return ["", f"*{what} left out: an issue takes {LIMIT:,} characters. A file, `-o NAME.md` or `-o NAME.html`, has all of them.*"]
