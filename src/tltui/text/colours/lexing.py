"""Pygments on a window of lines. Pygments is imported when the first line is lexed: `tltui ls` must start fast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tltui.text import tokens
from tltui.text.document import Span

# The first entry that a token type is, or is part of, counts; '' is drawn plain.
_STYLES: tuple[tuple[str, str], ...] = (
    ("Keyword.Constant", tokens.CONSTANT),
    ("Keyword.Type", tokens.TYPE),
    ("Keyword", tokens.KEYWORD),
    ("Operator.Word", tokens.KEYWORD),
    ("Operator", tokens.OPERATOR),
    ("Name.Builtin.Pseudo", tokens.NAME),
    ("Name.Builtin", tokens.FUNCTION),
    ("Name.Function", tokens.DEFINITION),
    ("Name.Class", tokens.DEFINITION),
    ("Name.Decorator", tokens.DECORATOR),
    ("Name.Exception", tokens.EXCEPTION),
    ("Name.Label", tokens.NAME),
    ("Literal.String.Doc", tokens.COMMENT),
    ("Literal.String", tokens.STRING),
    ("Literal.Number", tokens.NUMBER),
    ("Comment.Preproc", tokens.DECORATOR),
    ("Comment", tokens.COMMENT),
)

ORIGINS = (
    "# File: ",
    "# Topologically Sorted Source Nodes:",
    "# [Provenance debug handles]",
    "// [Provenance debug handles]",
)
"""Comments that say where generated code comes from."""


@lru_cache(maxsize=512)
def _style(kind: Any) -> str:
    name = str(kind).removeprefix("Token.")
    return next((style for prefix, style in _STYLES if name == prefix or name.startswith(prefix + ".")), "")


@lru_cache(maxsize=4)
def _lexer(language: str) -> Any:
    if language == "cpp":
        from pygments.lexers.c_cpp import CppLexer

        return CppLexer()
    from pygments.lexers.python import PythonLexer

    return PythonLexer()


def lex(language: str, lines: Sequence[str]) -> list[tuple[Span, ...]]:
    """The spans of each line, lexed together as 'python' or 'cpp'."""
    spans: list[list[Span]] = [[] for _ in lines]
    starts, offset = [], 0
    for line in lines:
        starts.append(offset)
        offset += len(line) + 1
    n = 0
    for index, kind, value in _lexer(language).get_tokens_unprocessed("\n".join(lines) + "\n"):
        while n + 1 < len(starts) and starts[n + 1] <= index:
            n += 1
        style = _style(kind)
        if not style or not value or value == ".":
            continue
        if style == tokens.COMMENT and value.startswith(ORIGINS):
            style = tokens.ORIGIN
        _add(spans, n, index - starts[n], value, style)
    return [tuple(line) for line in spans]


def _add(spans: list[list[Span]], n: int, column: int, value: str, style: str) -> None:
    """Add a token that may go over several lines. A neighbour of the same style grows."""
    for part in value.split("\n"):
        if part and n < len(spans):
            line = spans[n]
            if line and line[-1].end == column and line[-1].style == style:
                line[-1] = Span(line[-1].start, column + len(part), style)
            else:
                line.append(Span(column, column + len(part), style))
        n, column = n + 1, 0
