"""A document → text, ANSI, markdown; a result → JSON. One way out for every view, in the UI and on the command line."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tltui.text import tokens
from tltui.text.atomic import replacing
from tltui.text.document import Document, Line
from tltui.text.filename import safe_name
from tltui.text.json_codec import dumps
from tltui.text.sanitize import BEYOND

SGR: dict[str, str] = {
    tokens.OK: "32", tokens.BREAK: "33", tokens.ERROR: "1;31", tokens.EAGER: "31", tokens.EMPTY: "2",
    tokens.MISSING: "35", tokens.RUNNING: "35", tokens.SEEN: "2", tokens.WARN: "33", tokens.RECOMPILE: "36",
    tokens.TITLE: "1", tokens.HEADING: "1;34", tokens.LABEL: "2", tokens.DIM: "2", tokens.STRONG: "1",
    tokens.LINK: "4;36", tokens.CONTROL: "7",
    tokens.KEYWORD: "35", tokens.DEFINITION: "1", tokens.FUNCTION: "34", tokens.TYPE: "36", tokens.STRING: "32",
    tokens.NUMBER: "33", tokens.COMMENT: "2", tokens.ORIGIN: "1;33", tokens.DECORATOR: "35", tokens.KEY: "34",
    tokens.CONSTANT: "35", tokens.EXCEPTION: "31",
    tokens.ADDED: "32", tokens.REMOVED: "31", tokens.CHANGED: "33",
    tokens.PHASE_DYNAMO: "33", tokens.PHASE_AUTOGRAD: "32", tokens.PHASE_INDUCTOR: "34", tokens.PHASE_CACHE: "36",
    tokens.PHASE_KERNELS: "35", tokens.PHASE_GUARDS: "31", tokens.PHASE_OTHER: "2",
}  # fmt: skip
"""Style → ANSI code of the 16 colours that every terminal has."""

LEVELS = 250
"""Objects and lists in one another that a result is printed with: as many as orjson takes."""
_ACTED_ON = re.compile(f"[{BEYOND}]")

FORMATS = {"text": ".txt", "ansi": ".ansi", "markdown": ".md"}


def ansi(line: Line) -> str:
    """A line with ANSI colours. The text itself is sanitised already."""
    text, at, out = line.text, line.first, []
    done = at
    for span in sorted(line.spans, key=lambda span: span.start):
        start, end = max(span.start, done), min(span.end, at + len(text))
        code = SGR.get(span.style)
        if code is None or start >= end:
            continue
        out.append(text[done - at : start - at])
        out.append(f"\x1b[{code}m{text[start - at : end - at]}\x1b[0m")
        done = end
    out.append(text[done - at :])
    return "".join(out)


def brief_lines(document: Document, style: str = "text") -> Iterator[str]:
    """All lines as text or ANSI, but for what is aside: of torch's own frames in a row, how many there are."""
    while not document.advance():
        pass
    done = 0
    for section in document.sections() if document.language in ("", "traceback") else ():
        if not section.aside or section.first < done:
            continue
        yield from lines_of(document, style, done, section.first)
        head = document.line(section.first).text
        if head.endswith(section.title):
            yield from lines_of(document, style, section.first, section.first + 1)
        else:  # a text of torch's begins with the first of the frames
            yield _dim(head[: len(head) - len(head.lstrip())] + section.title, style)
        done = section.last + 1
    yield from lines_of(document, style, done, len(document))
    if done:
        yield ""
        yield _dim("Torch's own frames are counted only: --all prints them.", style)


def _dim(text: str, style: str) -> str:
    return f"\x1b[{SGR[tokens.DIM]}m{text}\x1b[0m" if style == "ansi" else text


def lines_of(document: Document, style: str = "text", lo: int = 0, hi: int | None = None) -> Iterator[str]:
    """The lines of a document (`lo` to `hi`, exclusive) as text, ANSI or markdown, whole and uncapped."""
    while not document.advance():
        pass
    if style == "ansi":
        for n in range(lo, len(document) if hi is None else min(hi, len(document))):
            length = document.length(n)
            at, line = 0, document.line(n)
            text = ansi(line)
            at = len(line.text)
            # a long line comes in windows
            while at < length and line.text:
                line = document.line(n, at, length)
                text += ansi(line)
                at += len(line.text)
            yield text
    elif style == "markdown":
        yield f"## {document.title}"
        yield ""
        fence = _fence(document, lo, hi)
        yield fence + _fence_language(document.language)
        yield from document.text(lo, hi)
        yield fence
    else:
        yield from document.text(lo, hi)


def _fence(document: Document, lo: int, hi: int | None) -> str:
    """A fence longer than any run of backticks in the text."""
    longest = max((len(run) for line in document.text(lo, hi) for run in re.findall("`+", line)), default=0)
    return "`" * max(3, longest + 1)


def _fence_language(language: str) -> str:
    return {"fx": "python", "output_code": "python", "python": "python", "cpp": "cpp", "json": "json"}.get(language, "")


def format_of(path: str) -> str:
    """The format that a file name's suffix asks for; text for any other."""
    suffix = os.path.splitext(path)[1].lower()
    return next((name for name, own in FORMATS.items() if own == suffix), "text")


def proposed_name(document: Document) -> str:
    """What the export asks to be called."""
    suffix = {"fx": ".py", "output_code": ".py", "python": ".py", "cpp": ".cpp", "json": ".json"}.get(document.language, ".txt")
    return safe_name(document.ref or document.title, suffix)


class WouldOverwrite(Exception):
    """The file exists, and nobody has agreed to replace it."""


def write(document: Document, path: str, style: str = "", lo: int = 0, hi: int | None = None, force: bool = False) -> int:
    """Write a document to a file; the number of lines. `~` works; the file appears whole or not at all.

    Raises `WouldOverwrite`, and OSError with a message that names what failed.
    """
    target = Path(path).expanduser()
    if target.exists() and not force:
        raise WouldOverwrite(str(target))
    count = 0
    with replacing(target) as file:
        for line in lines_of(document, style or format_of(path), lo, hi):
            file.write((line + "\n").encode("utf-8", "backslashreplace"))
            count += 1
    return count


def to_json(value: Any, indent: bool = True) -> bytes:
    """A result as JSON: dataclasses and named tuples become objects, enums their values, tuples and ranges lists, numbers that
    JSON has no words for null. What a terminal would act on is written as an escape, which is the same JSON."""
    try:
        return _shown(dumps(value, indent=indent, default=_default, non_str_keys=True))
    except TypeError:  # integers beyond 64 bit, lone surrogates and depth are legal in a trace
        return _by_hand(value, indent)


def _by_hand(value: Any, indent: bool) -> bytes:
    """The same, with the slower encoder of Python, which takes them."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 16 * LEVELS))
    try:
        return json.dumps(_plain(value), indent=2 if indent else None, allow_nan=False).encode()
    finally:
        sys.setrecursionlimit(before)


def _plain(value: Any, level: int = 0) -> Any:
    """A result in terms of JSON."""
    if isinstance(value, enum.Enum):
        return _plain(value.value, level)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if level > LEVELS:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {_key(key): _plain(item, level + 1) for key, item in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return [_plain(item, level + 1) for item in value]
    return _plain(_default(value), level)


def _key(key: Any) -> str:
    """A key as orjson writes it."""
    plain = _plain(key)
    return plain if isinstance(plain, str) else json.dumps(plain)


def _default(value: Any) -> Any:
    """What JSON has no words for, one step nearer to it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, (tuple, range)):
        return list(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def _shown(data: bytes) -> bytes:
    """JSON without what a terminal would act on: it can only stand in strings, which have another spelling for it."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return _ACTED_ON.sub(lambda match: json.dumps(match[0])[1:-1], data.decode()).encode()
