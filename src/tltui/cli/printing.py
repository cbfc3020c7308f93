"""Conversion of documents and results to bytes, for stdout or the output file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tltui.cli.exits import Failure, print_error
from tltui.cli.options import path_words
from tltui.documents.envelope import envelope

if TYPE_CHECKING:
    from tltui.model.run import Run
    from tltui.text.document import Document, Options


BYTES = "bytes"
"""The format of unconverted output."""
RAW = ("show", "diff")
"""Commands whose --raw prints bytes instead of a document."""


def layout(options: argparse.Namespace) -> Options:
    """Return the layout options of a document for the terminal or the output file."""
    from tltui.text.document import Options

    sort, filtered = str(getattr(options, "sort", "")), str(getattr(options, "filter", ""))
    part, raw = str(getattr(options, "part", "")), bool(getattr(options, "raw", False))
    width, path = _width(_is_file(options)), path_words(options)
    return Options(width=width, sort=sort, filter=filtered, part=part, raw=raw, ascii=_ascii(options), path=path)


def resolve_output(options: argparse.Namespace) -> None:
    """Determine output and format from `-o`, --json, --markdown, --raw. Raises `Failure`."""
    has_json, has_markdown = getattr(options, "json", False), getattr(options, "markdown", False)
    if has_json and has_markdown:
        raise Failure("--json and --markdown cannot be combined", "leave one of them out")
    for flag, is_set in (("json", has_json), ("markdown", has_markdown)):
        for other in ("perfetto", "raw") if flag == "json" else ("perfetto", "raw", "check"):
            if is_set and getattr(options, other, None):
                raise Failure(f"--{other} and --{flag} cannot be combined", "leave one of them out")
    path = getattr(options, "to", None)
    options.is_stdout = path == "-"
    if path in (None, "-"):
        options.to = None
        return
    if getattr(options, "perfetto", None):
        raise Failure("--perfetto and -o cannot be combined", "leave one of them out")
    options.style = _style_of_file(options, path)
    if options.style == "json":
        options.json = True
    for flag, style, is_set in (("json", "json", has_json), ("markdown", "markdown", has_markdown)):
        if is_set and options.style not in (style, BYTES):
            raise Failure(f"--{flag} conflicts with the suffix of the file: '{path}'", "change one of them")


def _style_of_file(options: argparse.Namespace, path: str) -> str:
    """Return the format of an output file."""
    from tltui.export import SUFFIXES

    suffix = os.path.splitext(path)[1].lower()
    if suffix == getattr(options, "script_suffix", None):
        return BYTES
    style = SUFFIXES.get(suffix, "")
    output_format = getattr(options, "format", None)
    if output_format not in (None, "text", "json"):
        if style == "html" or (style == "json" and output_format not in ("sarif", "rdjson")):
            wanted = {"junit": ".xml", "markdown": ".md"}.get(output_format, ".txt")
            problem = f"--format {output_format} conflicts with the suffix of the file: '{path}'"
            raise Failure(problem, f"use a name that ends in {wanted}")
        return BYTES
    if options.command in RAW and options.raw:
        if style in ("markdown", "html"):
            raise Failure(f"--raw conflicts with the suffix of the file: '{path}'", "change one of them")
        return BYTES
    if not style:
        suffixes = ", ".join(SUFFIXES)
        xml = "; for XML use --format junit" if options.command == "check" and suffix == ".xml" else ""
        if os.path.isdir(os.path.expanduser(path)) or path.endswith("/"):
            raise Failure(f"Is a directory: '{path}'", f"add the name of a file that ends in {suffixes}")
        raise Failure(f"unknown format of the output file: '{path}'", f"use a name that ends in {suffixes}{xml}")
    if style == "json" and not hasattr(options, "json"):
        raise Failure(f"this command has no JSON output: '{path}'", "use another suffix")
    if output_format and output_format != style:
        raise Failure(f"--format {output_format} conflicts with the suffix of the file: '{path}'", "change one of them")
    if getattr(options, "check", False) and style != "json":
        raise Failure(f"--check conflicts with the suffix of the file: '{path}'", "use a name that ends in .json")
    return style


def _width(is_file: bool) -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and len(columns) < 10 and int(columns) > 0:
        return min(max(int(columns), 40), 400)
    if is_file:
        return 100
    try:
        return min(max(os.get_terminal_size(sys.stdout.fileno()).columns, 40), 200)
    except (OSError, ValueError):
        return 100


def _ascii(options: argparse.Namespace) -> bool:
    if options.ascii is not None:
        return bool(options.ascii)
    return not _is_file(options) and (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "utf16", "utf32")


def _is_file(options: argparse.Namespace) -> bool:
    """Return whether the output goes to a file."""
    return bool(getattr(options, "to", None))


def _style(options: argparse.Namespace) -> str:
    """Return the format: that of the file's suffix, else colours on a terminal or on request."""
    if getattr(options, "markdown", False):
        return "markdown"
    if _is_file(options) and options.style != "text":
        return str(options.style)
    if options.color:
        return "ansi"
    if _is_file(options):
        return "text"
    return "ansi" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" else "text"


def write(chunks: Iterable[bytes]) -> None:
    """Print in blocks, so that `| head` ends us early."""
    out = sys.stdout.buffer
    for chunk in chunks:
        out.write(chunk)
    out.flush()


def deliver(chunks: Iterable[bytes], options: argparse.Namespace) -> None:
    """Print, or with `-o` write to the file atomically."""
    if not _is_file(options):
        write(chunks)
        return
    from tltui.text.safe_files import replacing

    size = 0
    with replacing(Path(options.to).expanduser(), force=options.force) as file:
        for chunk in chunks:
            size += file.write(chunk)
    print_error(f"wrote {options.to}  {size:,} bytes")


def as_text(document: Document, options: argparse.Namespace, complete: bool = False) -> Iterator[bytes]:
    """Yield a document in the requested format.

    Text has only the first line of folded sections, unless it goes to a file or with --all. `complete`: nothing is cut.
    """
    from tltui.export import pieces_of

    to_file, style = _is_file(options), _style(options)
    encoding = "utf-8" if to_file else sys.stdout.encoding or "utf-8"
    if style in ("text", "ansi"):
        pieces: Iterable[str] = _lines(document, style, complete or options.all or to_file, _width(to_file))
    elif getattr(options, "markdown", False):
        from tltui.export.files import LIMIT, markdown

        pieces = (line + "\n" for line in markdown(document, limit=LIMIT))
    else:
        pieces = pieces_of(document, style, of=" ".join(options.paths))
    for piece in pieces:
        yield piece.encode(encoding, "backslashreplace")


def _lines(document: Document, style: str, complete: bool, width: int) -> Iterator[str]:
    """Yield the lines of a document as text."""
    from tltui.export import folded_lines, lines_of

    for line in lines_of(document, style) if complete else folded_lines(document, width, style):
        yield line + "\n"


def as_json(value: object, indent: bool = True) -> Iterator[bytes]:
    """Yield a result as JSON."""
    from tltui.export import to_json

    yield to_json(value, indent) + b"\n"


def result_of(document: Document) -> object:
    """Return the result of a completed document."""
    while not document.advance():
        pass
    return document.data()


def printed(
    run: Run, document: Document, options: argparse.Namespace, ref: str = "", complete: bool = False
) -> Iterator[bytes]:
    """Yield a document, or with --json its result. `ref`: the part of the run that it is about."""
    if options.json:
        yield from as_json(envelope(options.command, run.title, ref, result_of(document)))
    else:
        yield from as_text(document, options, complete)


def message(text: str) -> bytes:
    """Return a status line as bytes."""
    return f"{text}\n".encode("utf-8", "backslashreplace")
