"""Documents and results as text, ANSI, markdown, JSON and files. A file is written completely or not at all."""

from __future__ import annotations

import dataclasses
import enum
import errno
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from tltui.documents.envelope import envelope
from tltui.documents.format import ALL
from tltui.documents.scope import place_of
from tltui.export.html import headings
from tltui.model.ref import Ref, parse_ref
from tltui.text import tokens
from tltui.text.composite_documents import DocumentPart
from tltui.text.document import Document, Line
from tltui.text.formatting import cells
from tltui.text.frozen import frozen
from tltui.text.json_codec import dumps
from tltui.text.safe_files import replacing, safe_name
from tltui.text.sanitize import BEYOND, sanitize
from tltui.text.torch_names import is_graph_break_page

SGR: dict[str, str] = {
    tokens.OK: "32", tokens.BREAK: "33", tokens.ERROR: "1;31", tokens.EAGER: "31", tokens.EMPTY: "2",
    tokens.UNFINISHED: "35", tokens.RUNNING: "35", tokens.SEEN: "2", tokens.WARN: "33", tokens.RECOMPILE: "36",
    tokens.TITLE: "1", tokens.HEADING: "1;34", tokens.LABEL: "2", tokens.DIM: "2", tokens.STRONG: "1",
    tokens.LINK: "36", tokens.CONTROL: "7",
    tokens.KEYWORD: "35", tokens.DEFINITION: "1", tokens.FUNCTION: "34", tokens.TYPE: "36", tokens.STRING: "32",
    tokens.NUMBER: "33", tokens.COMMENT: "2", tokens.ORIGIN: "1;33", tokens.DECORATOR: "35", tokens.KEY: "34",
    tokens.CONSTANT: "35", tokens.EXCEPTION: "31",
    tokens.ADDED: "32", tokens.REMOVED: "31", tokens.CHANGED: "33",
    tokens.PHASE_DYNAMO: "33", tokens.PHASE_AUTOGRAD: "32", tokens.PHASE_INDUCTOR: "34", tokens.PHASE_CACHE: "36",
    tokens.PHASE_KERNELS: "35", tokens.PHASE_GUARDS: "31", tokens.PHASE_OTHER: "2",
}  # fmt: skip
"""Style → ANSI code of the 16 colours that every terminal has."""


def ansi(line: Line) -> str:
    """Return a line with ANSI colours and OSC 8 hyperlinks; its text is already sanitised."""
    out, done, end = [], line.first, line.first + len(line.text)
    for link in line.links:
        if is_graph_break_page(link.target) and done <= link.start < link.end <= end:
            text = _colored(line, link.start, link.end)
            out += [_colored(line, done, link.start), f"\x1b]8;;{link.target}\x1b\\{text}\x1b]8;;\x1b\\"]
            done = link.end
    return "".join((*out, _colored(line, done, end)))


def _colored(line: Line, lo: int, hi: int) -> str:
    """Return the columns `lo` to `hi` (exclusive) of a line with ANSI colours."""
    out, done = [], lo
    for span in sorted(line.spans, key=lambda span: span.start):
        start, end = max(span.start, done), min(span.end, hi)
        code = SGR.get(span.style)
        if code is None or start >= end:
            continue
        out.append(line.text[done - line.first : start - line.first])
        out.append(f"\x1b[{code}m{line.text[start - line.first : end - line.first]}\x1b[0m")
        done = end
    out.append(line.text[done - line.first : hi - line.first])
    return "".join(out)


FIRST_ALL = "(hidden: --all shows the lines)"
"""`ALL` with an explanation, in the first folded line of a document."""


def folded_lines(document: Document, width: int, style: str = "text") -> Iterator[str]:
    """Yield the lines as text or ANSI; of a folded section only the first line, of a run of torch's own frames their count.

    The option that prints the others comes after the first line, or below it where it would exceed the width.
    """
    while not document.advance():
        pass
    done, hint = 0, FIRST_ALL
    for section in document.sections() if document.language in ("", "traceback") else ():
        if not (section.aside or section.folded) or section.first < done or section.last <= section.first:
            continue
        yield from plain(document, style == "ansi", done, section.first)
        head = document.line(section.first).text
        if section.aside and not head.endswith(section.title):  # a text of torch's begins with the first of the frames
            head = head[: len(head) - len(head.lstrip())] + section.title
            line = _dim(head, style)
        else:
            [line] = plain(document, style == "ansi", section.first, section.first + 1)
        if cells(head) + 2 + len(hint) <= width:
            yield line + _dim(f"  {hint}", style)
        else:
            yield line
            yield _dim(" " * (len(head) - len(head.lstrip()) + 2) + hint, style)
        hint = ALL
        done = section.last + 1
    yield from plain(document, style == "ansi", done, len(document))


def _dim(text: str, style: str) -> str:
    return f"\x1b[{SGR[tokens.DIM]}m{text}\x1b[0m" if style == "ansi" else text


def plain(document: Document, colours: bool = False, lo: int = 0, hi: int | None = None) -> Iterator[str]:
    """Yield the lines `lo` to `hi` (exclusive) of a document, uncut."""
    while not document.advance():
        pass
    if not colours:
        yield from document.text(lo, hi)
        return
    for n in range(lo, len(document) if hi is None else min(hi, len(document))):
        length = document.length(n)
        line = document.line(n)
        text = ansi(line)
        at = len(line.text)
        while at < length and line.text:  # a long line comes in windows
            line = document.line(n, at, length)
            text += ansi(line)
            at += len(line.text)
        yield text


LEVELS = 250
"""Deepest nesting of objects and lists in a printed result: the limit of orjson."""
_ACTED_ON = re.compile(f"[{BEYOND}]")


def to_json(value: Any, indent: bool = True) -> bytes:
    """Encode a result as JSON.

    Dataclasses and named tuples become objects, enums their values, tuples and ranges lists, NaN and infinities null. Numbers are
    `rounded`. Control characters that a terminal would act on are written as JSON escapes.
    """
    try:
        data = dumps(value, indent=indent, default=_default, non_str_keys=True)
    except TypeError:  # integers beyond 64 bit, lone surrogates and depth are legal in a trace
        return _with_rounded(_encode_with_stdlib(value, indent), indent)
    return _shown(_with_rounded(data, indent))


DECIMALS = 6
"""Decimals of a number in JSON and in rows: those of a microsecond in seconds."""
_SMALL, _SMALL_DIGITS = 0.001, 4
"""Numbers below it have that many significant digits instead."""
_LONG_AT_LINE_END = re.compile(rb"-?\d+\.\d{7,}(?:e-?\d+)?(?=,?\n)")
"""A number with many digits in indented JSON. Line ends never occur in strings."""
_STRING_OR_LONG = re.compile(rb'"(?:[^"\\]|\\.)*"|(-?\d+\.\d{7,}(?:e-?\d+)?)')


def rounded(value: float) -> float:
    """Round a number to `DECIMALS`, a very small one to 4 significant digits."""
    return float(f"{value:.{_SMALL_DIGITS}g}") if abs(value) < _SMALL else round(value, DECIMALS)


def _with_rounded(data: bytes, indent: bool) -> bytes:
    """Round the numbers in JSON."""
    if indent:
        return _LONG_AT_LINE_END.sub(lambda match: dumps(rounded(float(match[0]))), data)
    return _STRING_OR_LONG.sub(lambda match: dumps(rounded(float(match[1]))) if match[1] else match[0], data)


def _encode_with_stdlib(value: Any, indent: bool) -> bytes:
    """Encode as JSON with the slower `json` module, which takes large integers, lone surrogates and deep nesting."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 16 * LEVELS))
    try:
        return json.dumps(_to_json_types(value), indent=2 if indent else None, allow_nan=False).encode()
    finally:
        sys.setrecursionlimit(before)


def _to_json_types(value: Any, level: int = 0) -> Any:
    """Convert a result to the types of JSON."""
    if isinstance(value, enum.Enum):
        return _to_json_types(value.value, level)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if level > LEVELS:
        return "(nested too deeply)"
    if isinstance(value, dict):
        return {_key(key): _to_json_types(item, level + 1) for key, item in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return [_to_json_types(item, level + 1) for item in value]
    return _to_json_types(_default(value), level)


def _key(key: Any) -> str:
    """Return an object key as orjson writes it."""
    plain = _to_json_types(key)
    return plain if isinstance(plain, str) else json.dumps(plain)


def _default(value: Any) -> Any:
    """Convert a value without a JSON type one step; `__json__`, the form that its type declares, comes first."""
    if hasattr(value, "__json__") and not isinstance(value, type):
        return value.__json__()
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
    """Escape the control characters in JSON; they occur in strings only."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return _ACTED_ON.sub(lambda match: json.dumps(match[0])[1:-1], data.decode()).encode()


LIMIT = 65_536
"""Maximum characters of a GitHub issue or comment. A browser sends each line end as two."""
LONG = 40
"""Minimum number of lines at which a section, or a text without sections, is folded."""
_RESERVED = 300
"""Characters reserved for the note about omitted lines and for closing fences and folds."""
_ADDRESS = re.compile(r"\[[0-9a-z:/!~+._-]*\] (?=\S)")
"""The address that most titles begin with. A markdown link has no blank after its bracket."""
_HARMLESS = re.compile(r"[A-Za-z0-9 ,.;:()/·…-]*")
_MEANS_MORE = re.compile(r"\b(?:[0-9a-f]{7,40}|gh-\d+)\b|://|www\.|^\s*$", re.IGNORECASE)
"""Text that GitHub links without markup: commits, issues, URLs; also an empty title."""
_LANGUAGES = {"fx": "python", "output_code": "python", "python": "python", "cpp": "cpp", "json": "json"}


@frozen
class _Block:
    """Lines of one fence, folded under `summary` if there is one."""

    first: int
    end: int
    summary: str = ""


def markdown(document: Document, lo: int = 0, hi: int | None = None, limit: int | None = None) -> Iterator[str]:
    """Yield the lines `lo` to `hi` (exclusive) of a document as markdown: its title, and fences.

    With a `limit` (characters, line ends counted twice) as many lines as fit, and the number of omitted ones.
    """
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
    """Yield one block per fence, in order: outermost folds, long sections, and the lines between them.

    Blocks of empty lines are omitted.
    """
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
    heads = {section.first for section in headings(document)}
    at = lo
    for section in document.sections():
        if section.first < at or section.last >= end or section.last <= section.first:
            continue
        is_long = section.first in heads and section.last - section.first > LONG
        if section.folded or is_long:
            yield _Block(section.first + 1, section.last + 1, _as_code(document.line(section.first).text.strip() or section.title))
            at = section.last + 1


def _longest(document: Document, lo: int, end: int) -> int:
    """Return the number of backticks of a fence: more than any run of them in the text."""
    return max(3, 1 + max((len(run) for line in document.text(lo, end) for run in re.findall("`+", line)), default=0))


def _size(line: str) -> int:
    """Return the characters of a line with its end, in UTF-16 units as a browser counts them."""
    return len(line.encode("utf-16-le", "replace")) // 2 + 2


def _in_prose(text: str) -> str:
    """Escape untrusted text for a line of markdown."""
    text = sanitize(text)
    if (address := _ADDRESS.match(text)) is not None:
        return address.group() + _in_prose(text[address.end() :])
    if _HARMLESS.fullmatch(text) and not _MEANS_MORE.search(text):
        return text
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    blank = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{blank}{text}{blank}{ticks}"


def _as_code(text: str) -> str:
    """Return untrusted text as a `<code>` element within markdown."""
    return f"<code>{escape(sanitize(text))}</code>"


def _left_out(count: int, of: int) -> list[str]:
    noun = "The last line is" if count == 1 else f"{count:,} of {of:,} lines are"
    return ["", f"*{noun} omitted: a GitHub issue holds {LIMIT:,} characters. For all lines, use `-o NAME.md` or `-o NAME.html`.*"]


SUFFIXES = {".txt": "text", ".ansi": "ansi", ".md": "markdown", ".html": "html", ".htm": "html", ".json": "json"}
"""Suffix → format."""


class WouldOverwrite(Exception):
    """The file exists, and overwriting it was not confirmed."""


def format_of(path: str) -> str:
    """Return the format of a file name's suffix; text for an unknown one."""
    return SUFFIXES.get(os.path.splitext(path)[1].lower(), "text")


def proposed_name(document: Document) -> str:
    """Return the default file name of an export."""
    suffix = {"fx": ".py", "output_code": ".py", "python": ".py", "cpp": ".cpp", "json": ".json"}.get(document.language, ".txt")
    return safe_name(document.ref or document.title, suffix)


def lines_of(document: Document, style: str = "text", lo: int = 0, hi: int | None = None) -> Iterator[str]:
    """Yield the lines of a document (`lo` to `hi`, exclusive) as text, ANSI or markdown, uncut and without a limit."""
    if style == "markdown":
        return markdown(document, lo, hi)
    return plain(document, style == "ansi", lo, hi)


def pieces_of(document: Document, style: str, lo: int = 0, hi: int | None = None, of: str = "", run: str = "") -> Iterator[str]:
    """Yield a document in a format of `SUFFIXES`, in pieces. HTML has the opened path `of`, JSON the title of the `run`."""
    if style == "html":
        from tltui.export.html import page

        yield from page(document, lo, hi, of)
    elif style == "json" and document.language != "json":
        yield _json_of(document, lo, hi, run) + "\n"
    else:
        for line in lines_of(document, style, lo, hi):
            yield line + "\n"


def _json_of(document: Document, lo: int, hi: int | None, run: str) -> str:
    """Return a document as JSON: the result of a page, as `tltui show --json` prints it; the text of an artifact or a part."""
    while not document.advance():
        pass
    is_whole = lo == 0 and hi is None and not document.language and not isinstance(document, DocumentPart)
    result = document.data() if is_whole else None
    ref = Ref() if document.ref.startswith("@diff") else parse_ref(document.ref)
    if result is None:
        result = {"title": document.title, "text": "\n".join(document.text(lo, hi))}
    return to_json(envelope(ref.view or "show", run, str(place_of(ref) if ref.view else ref), result)).decode()


def write(
    document: Document, path: str, style: str = "", lo: int = 0, hi: int | None = None, force: bool = False, run: str = ""
) -> int:
    """Write a document to a file in the format of `style` or of the file's suffix; return the number of lines written.

    `~` is expanded; the file is written completely or not at all. Raises `WouldOverwrite`, and OSError with a message that names
    the file.
    """
    target = Path(path).expanduser()
    count = 0
    try:
        with replacing(target, force=force) as file:
            for piece in pieces_of(document, style or format_of(path), lo, hi, run=run):
                file.write(piece.encode("utf-8", "backslashreplace"))
                count += piece.count("\n")
    except FileExistsError as error:
        if error.errno == errno.EEXIST:
            raise WouldOverwrite(str(target)) from None
        raise
    return count
