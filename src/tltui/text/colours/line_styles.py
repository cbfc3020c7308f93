"""Colours of languages whose lines stand by themselves: one expression each, tried along the line.

The name of the group that matches is the style; a group's name may end in a number, since names must differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tltui.text import tokens
from tltui.text.document import Span
from tltui.text.owner import is_framework

# A string that is not closed ends with the line: without that, a hostile line would take quadratic time.
_STRING = r"\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)"

_FX = re.compile(
    rf"(?P<comment>\#.*)"
    rf"|(?<=:\ )(?P<type>\"[^\"]*\")"
    rf"|(?P<string>{_STRING})"
    r"|(?P<dim>;\s+(?:[A-Za-z_]\w*\ =\ )+None(?=$|;|\s))"
    r"|^\s*(?P<keyword>class|def|return)\b(?:\s+(?P<definition1>\w+)(?=[(:]))?"
    r"|(?P<definition2>(?:^\s*|(?<=;\ \ ))[A-Za-z_]\w*)(?=:\ \"|\ =\ |:\ Sym)"
    r"|\b(?P<keyword2>lambda|with|if|else|for|in|and|or|not|import|from|as)\b"
    r"|\b(?P<constant>None|True|False)\b"
    r"|(?P<function>[A-Za-z_][\w.]*)(?=\()"
    r"|(?<![\w.])(?P<number>-?\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?![\w.])"
    r"|[A-Za-z_][\w.]*",
    re.VERBOSE,
)

FX_RESTART = re.compile(r"\b[A-Za-z_]\w*: \"|;  ")
"""Where a part of a long line of a graph can be read from: certainly not inside of a string."""

_JSON = re.compile(
    r"(?P<key>\"(?:[^\"\\]|\\.)*\")(?=\s*:)"
    r"|(?P<string>\"(?:[^\"\\]|\\.)*\"?)"
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<constant>\b(?:true|false|null|NaN|-?Infinity)\b)"
)

_GUARD = re.compile(
    r"^(?P<dim>(?:\|\ )*\+-\ )(?P<keyword>[\w]+(?:\ pair\ at\ index=\d+)?)(?::\ (?P<definition>\w*GuardManager)(?=:))?"
    r"|^(?P<heading>TREE_GUARD_MANAGER:)"
    r"|^(?P<label>Guard\ (?:eval\ )?latency\ =)"
    r"|(?<=source=)(?P<value>.*?)(?=,\ accessed_by=|,\ type=<|$)"
    r"|(?P<dim2>,\ (?:accessed_by=.*?)?(?=,\ type=<)|,\ type=<.*?>(?:,\ tag_safe=\(\w+,\ \w+\))?(?=\s|$))"
    r"|(?P<origin>\#\ [^\s#]+:\d+\ in\ .*$)"
    r"|(?P<comment>\#\ (?:[^#]|\#(?!\ ))*)"
    rf"|(?P<string>{_STRING})"
    r"|(?<![\w.])(?P<number>-?\d+(?:\.\d+)?)(?![\w.])"
    r"|\b(?P<constant>None|True|False)\b",
    re.VERBOSE,
)

_BYTECODE = re.compile(
    r"^\s*(?:(?P<number>\d+)\s+(?=(?:>>|-->)?\s*\d+\s+[A-Z]))?(?:(?P<operator>>>|-->)\s+)?(?:(?P<dim>\d+|L\d+:)\s*)?(?P<function>[A-Z][A-Z_0-9]+)\b"
    r"|^(?P<heading>\S.*:)$|(?P<string>\(.*\)$)|(?P<comment>\#.*$)|(?P<number2>\b\d+\b)"
)

_IR = re.compile(
    r"^(?P<definition>\w+)(?=:\ \w+\(.*\)\s*$)"
    r"|^(?P<keyword>class)\ (?P<definition2>\w+)"
    r"|^\s+(?P<keyword2>def|return)\b"
    r"|^(?P<dim>\w+\.)(?P<label>[a-z_]+(?:\.[a-z_]+)*(?:\[\d+\])?)(?=\ =)"
    r"|^\s+(?P<name>\w+)(?=:\ [A-Z]\w*$|\.(?:layout|users|mutations|aliases)\ =)"
    rf"|(?P<string>{_STRING})"
    r"|\b(?P<type>torch\.\w+|[A-Z]\w*Dep|\w*Layout\w*|\w*SchedulerNode|ComputedBuffer|ExternKernel\w*)\b"
    r"|\b(?P<constant>None|True|False|OUTPUT)\b"
    r"|(?P<function>[A-Za-z_][\w.]*)(?=\()"
    r"|(?<![\w.])(?P<number>-?\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?![\w.])"
    r"|[A-Za-z_][\w.]*",
    re.VERBOSE,
)

_FRAME = re.compile(
    r'^(?P<lead>\s*(?:\[\w+\]:\s*)?)File (?P<path>"[^"]*")(?:, line (?P<line>\d+))?(?:, in (?P<function>.*))?$'
)
_PLACE = re.compile(r"^(?P<lead>\s*)(?P<path>\S+?):(?P<line>\d+) in (?P<function>\S+)")
_MARKS = re.compile(r"^\s*[~^]+$")
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Unsupported|Violation\w*)(?=:|$)"
)
_DOTTED = re.compile(r"^(?:[A-Za-z_]\w*\.)+[A-Z]\w*(?=:)")
_HEADING = re.compile(
    r"^\s*(?:Traceback \(most recent call last\):|User code traceback:|User stack trace:|from user code:"
    r"|During handling of the above.*|The above exception was.*|={4,}|Graph break\b.*|Graph Break Reason:)"
)
_LABEL = re.compile(r"^\s*(?:Explanation|Hint|Developer debug context|Higher Order Operator|Guard failed|Reason):")


def _matches(pattern: re.Pattern[str]) -> Callable[[str], list[Span]]:
    names = {name: name.rstrip("0123456789") for name in pattern.groupindex}

    def styles(text: str) -> list[Span]:
        found = []
        for match in pattern.finditer(text):
            if match.lastgroup is None:
                continue
            for name, style in names.items():
                start, end = match.span(name)
                if end > start >= 0:
                    found.append(Span(start, end, style))
        return found if len(found) < 2 else sorted(found, key=lambda span: span.start)

    return styles


_fx_matches = _matches(_FX)


def _fx(text: str) -> list[Span]:
    spans = _fx_matches(text)
    last = spans[-1] if spans else None
    if last is not None and last.style == tokens.COMMENT and "File: " in text[last.start :]:
        spans[-1] = Span(last.start, last.end, tokens.ORIGIN)
    return spans


def _traceback(text: str) -> list[Span]:
    frame = _FRAME.match(text) or _PLACE.match(text)
    if frame:
        if is_framework(frame["path"].strip('"')):
            return [Span(frame.end("lead"), len(text), tokens.DIM)]
        parts = ((("path"), tokens.ORIGIN), ("line", tokens.NUMBER), ("function", tokens.DEFINITION))
        return [Span(*frame.span(name), style) for name, style in parts if frame[name]]
    if _MARKS.match(text):
        return [Span(len(text) - len(text.lstrip()), len(text), tokens.DIM)]
    for pattern, style in (
        (_HEADING, tokens.HEADING),
        (_LABEL, tokens.LABEL),
        (_EXCEPTION, tokens.EXCEPTION),
        (_DOTTED, tokens.EXCEPTION),
    ):
        match = pattern.match(text)
        if match:
            start = len(text) - len(text.lstrip())
            return [Span(start, match.end(), style)] if match.end() > start else []
    return []


STYLES: dict[str, Callable[[str], list[Span]]] = {
    "fx": _fx,
    "json": _matches(_JSON),
    "guards": _matches(_GUARD),
    "bytecode": _matches(_BYTECODE),
    "ir": _matches(_IR),
    "traceback": _traceback,
    "stack": _traceback,
}
