"""One line of statements of an FX graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Lines are of any length and may be hostile: no expression here may take more than linear time. So a string that is
# not closed ends with the line, and nothing that may be blank stands beside something else that may be blank.
_QUOTED = r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)"
QUOTED = re.compile(_QUOTED)
_PIECE = re.compile(rf"(?:{_QUOTED}|[^;\"'])+|[;\"']")
_NAME = r"[A-Za-z_]\w*"
_FREE = re.compile(rf"^(?:{_NAME} = )+None$|^del {_NAME}(?:, {_NAME})*$|^pass$")
_ASSIGN = re.compile(rf"^({_NAME})(?!\w)\s*(?::\s*(\"[^\"]*\"\s*|[^=\"'\s][^=\"']*))?=(?!=)\s*(.+)$")
_DECLARED = re.compile(rf"^({_NAME})\s*:\s*(\"[^\"]*\")$")
_UNPACK = re.compile(r"^([\[(]?[A-Za-z_][\w\s,]*(?:[\])]\s*)?)=(?!=)\s*(.+)$")
_IN_PLACE = re.compile(rf"^({_NAME})\s*(\+|-|\*\*?|//?|%|@|&|\||\^|<<|>>)=\s*(.+)$")
_STORE = re.compile(rf"^({_NAME})(\[.*\]|(?:\.\w+)+)\s*=(?!=)\s*(.+)$")
_RETURN = re.compile(r"^return\b\s*(.*)$")
_WORD = re.compile(rf"{_QUOTED}|(?<![\w.])({_NAME})(?!\s=[^=])(?!\w)")
_CALL = re.compile(rf"^({_NAME}(?:\.\w+)*)\(")
_ATTRIBUTE = re.compile(r"^self(?:\.\w+)+$")
_ITEM = re.compile(rf"^{_NAME}(?:\.{_NAME})*\[")
_OPERATOR = re.compile(r"\s(\+|-|\*\*|\*|//|/|%|@|&|\||\^|<<|>>|<=|>=|==|!=|<|>|and|or|in|is)\s|^(-|~|not )")
_PARAMETER = re.compile(
    rf"(?:^|(?<=[,\s(*]))({_NAME})(?!\w)\s*(?::\s*(\"[^\"]*\"|[^\s,=\"]+))?(?=\s*(?:,|=|$))"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What one statement does. `kind` is one of `FxNode.kind`, 'free', or '' when it was not understood."""

    kind: str
    names: tuple[str, ...] = ()
    type: str = ""
    target: str = ""
    words: tuple[str, ...] = ()
    """Every name that is read; the names of nodes are among them."""
    in_place: str = ""


def parameters(text: str) -> Iterator[tuple[str, str]]:
    """The names and types of the parameters of a `def`, without `self`."""
    for found in _PARAMETER.finditer(text):
        if found[1] != "self":
            yield found[1], (found[2] or "").strip('"')


def split(text: str) -> list[str]:
    """The statements of a line: cut at `;` outside of strings."""
    if ";" not in text:
        return [text]
    parts = [""]
    for found in _PIECE.finditer(text):
        if found.group() == ";":
            parts.append("")
        else:
            parts[-1] += found.group()
    return [part.strip() for part in parts if part.strip()]


def statements(text: str) -> Iterator[Statement]:
    """The statements of a line. `x += y;  x_1: "T" = x` is one statement, the update in place that makes `x_1`."""
    update: Statement | None = None
    for part in split(text):
        statement = _statement(part)
        if update is not None and statement.kind == "alias" and statement.words == update.names:
            statement = Statement("call", statement.names, statement.type, update.target, update.words, update.in_place)
            update = None
        elif update is not None:
            yield update
            update = None
        if statement.in_place:
            update = statement
            continue
        yield statement
    if update is not None:
        yield update


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found[1] for found in _WORD.finditer(text) if found[1]))


def _statement(text: str) -> Statement:
    if _FREE.match(text):
        return Statement("free")
    found = _RETURN.match(text)
    if found:
        return Statement("output", ("output",), target="return", words=_words(found[1]))
    found = _ASSIGN.match(text)
    if found:
        kind, target = _expression(found[3])
        return Statement(kind, (found[1],), (found[2] or "").strip('" '), target, _words(found[3]))
    found = _DECLARED.match(text)
    if found:
        return Statement("placeholder", (found[1],), found[2][1:-1])
    found = _IN_PLACE.match(text)
    if found:
        operator = found[2] + "="
        return Statement("call", (found[1],), "", operator, (found[1], *_words(found[3])), operator)
    found = _STORE.match(text)
    if found:
        words = (found[1], *_words(found[2]), *_words(found[3]))
        return Statement("call", (found[1],), "", "setitem" if found[2][0] == "[" else "setattr", words, "[]=")
    found = _UNPACK.match(text)
    if found:
        names = tuple(re.findall(_NAME, found[1]))
        return Statement("unpack", names, "", _expression(found[2])[1], _words(found[2]))
    found = _CALL.match(text)
    if found and text.endswith(")"):
        return Statement("call", (), "", found[1], _words(text))
    return Statement("")


def _expression(text: str) -> tuple[str, str]:
    """The kind and target of the right side of an assignment."""
    if text.isidentifier():
        return "alias", ""
    call = _CALL.match(text)
    if call and text.endswith(")"):
        return "call", call[1]
    if _ATTRIBUTE.match(text):
        return "get_attr", text
    if _ITEM.match(text) and text.endswith("]"):
        return "getitem", "getitem"
    operator = _OPERATOR.search(text)
    if operator:
        return "expression", (operator[1] or operator[2]).strip()
    return "expression", text[:80]
