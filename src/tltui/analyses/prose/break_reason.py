"""The message of a graph break: what happened, torch's explanation and hints; and, where another break came while this one was
handled, the same again for that one.

The grammar is `format_graph_break_message` and `unimplemented` of torch/_dynamo/exc.py, with what `log_graph_break` puts before
it. Before torch 2.7 a message is a line. What has none of that shape is its own headline, line for line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NESTED = "*** While handling this graph break, another graph break occurred: ***"
_GB = re.compile(r"/(gb\d{3,6})\.html")
_TRACING = re.compile(r"^Encountered graph break when attempting to trace (?P<op>.*):$")
_SKIPPING = re.compile(r"^Failed to handle graph break gracefully\. .*:$")
_CANNOT_RESUME = re.compile(r"^Encountered graph break that we cannot resume from\. .*:$")
_INTENDED = re.compile(r"^Encountered intentional debugging graph break:$")
_FIELD = re.compile(r"^\s*(Explanation|Hint|Developer debug context|Higher Order Operator): ?(.*)$")
_END = re.compile(
    r"^\s*(?:For more details about this graph break|Stack variable source attribution|User code traceback:"
    r"|Traceback \(most recent|from user code:|The above exception|During handling of the above exception)"
)
_TYPED = re.compile(r"^(?:torch\._dynamo\.exc\.)?Unsupported: (?=\S)")
_EARLIER = "This graph break may have been caused by an earlier graph break."
WRAPPERS = frozenset(("Graph break under GenericContextWrappingVariable",))
"""Names of torch's own making that say nothing: their explanation does."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one graph break happened, in torch's words."""

    headline: str
    """In a line; '' where torch wrote none."""
    gb: str | None = None
    """torch's stable id of the kind of break: `gb0059`."""
    explanation: str = ""
    hints: tuple[str, ...] = ()
    context: str = ""
    """What torch's developers want to know."""
    operator: str = ""
    """The higher order operator in whose function it happened, in torch's words."""
    rest: str = ""
    """What has none of that shape."""


@dataclass(frozen=True, slots=True)
class BreakReason:
    """All that the message says."""

    first: Reason
    later: tuple[Reason, ...] = ()
    """The breaks that came while the one before was handled: why torch could not go on after it."""
    op: str = ""
    """The bytecode that Dynamo was tracing, in torch's words: `CALL: a function call, e.g. f(x, y)`."""
    skips: bool = False
    """All of the function runs in eager mode."""
    stops: bool = False
    """What comes after the break runs in eager mode."""


def read_reason(text: str) -> BreakReason:
    """The message of an `Unsupported`, a restart reason, or what a record says after `Graph Break Reason:`."""
    own, *others = _split(_unquoted(text.strip()))
    lines = own.split("\n")
    op, skips, stops = "", False, False
    for n, line in enumerate(lines):
        said = line.strip()
        if tracing := _TRACING.match(said):
            op = tracing["op"]
        elif _SKIPPING.match(said):
            skips = True
        elif _CANNOT_RESUME.match(said):
            stops = True
        elif said and not _INTENDED.match(said):
            lines = lines[n:]
            break
    else:
        lines = []
    return BreakReason(_reason(lines), tuple(_reason(other.split("\n")) for other in others), op, skips, stops)


def _split(text: str) -> list[str]:
    """The first message, and those of the breaks that came while it was handled."""
    parts: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip() == NESTED:
            parts.append([])
        else:
            parts[-1].append(line)
    return ["\n".join(part) for part in parts]


def _unquoted(text: str) -> str:
    """Without the quotes that older versions put around a message, and without the name of torch's own exception."""
    text = _TYPED.sub("", text, count=1)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and "\n" not in text:
        return text[1:-1]
    return text


def _reason(lines: list[str]) -> Reason:
    """Headline, explanation and hints of one message. It ends with torch's link, or where something else begins."""
    headline = ""
    fields: list[list[str]] = []
    rest: list[str] = []
    current: list[str] | None = None
    gb = None
    for line in lines:
        if _END.match(line):
            current = None
            if (link := _GB.search(line)) is not None:
                gb = link[1]
            if headline:
                break
        elif field := _FIELD.match(line):
            current = [field[1], field[2]]
            fields.append(current)
        elif not line.strip():
            current = None
        elif current is not None:
            current[1] += "\n" + line.strip()
        elif not fields and not headline:
            headline = line.strip()
        else:
            rest.append(line.rstrip())
    first = {name: value.strip() for name, value in reversed(fields)}
    explanation = first.get("Explanation", "")
    if headline in WRAPPERS and explanation:
        headline, explanation = explanation.partition("\n")[0], ""
    return Reason(
        headline, gb, explanation,
        tuple(value.strip() for name, value in fields if name == "Hint" and value.strip()),
        first.get("Developer debug context", ""), first.get("Higher Order Operator", ""),
        "\n".join(rest),
    )  # fmt: skip


def own_hints(reason: Reason) -> tuple[str, ...]:
    """The hints of a break that came while another one was handled, but for the one that says just that."""
    return tuple(hint for hint in reason.hints if not hint.startswith(_EARLIER))
