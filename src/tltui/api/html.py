"""What a notebook shows: a page with its colours, which reach nothing else in the notebook, and never more than a few hundred
lines."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tltui.export.html import fragment
from tltui.text import tokens
from tltui.text.document import Document

LINES = 400
"""Lines of a page that a notebook is given."""
ROWS = 50
"""Rows of a table that a notebook is given."""
WIDEST = 20_000
"""Characters of a piece that a notebook is given: a line of code may have megabytes."""
CLASS = "tltui-shown"
"""The styles concern what is inside of this class alone."""

_COLOURS = {
    "#b3261e": (tokens.ERROR, tokens.EXCEPTION, tokens.REMOVED, tokens.PHASE_GUARDS, tokens.EAGER),
    "#8a5a00": (tokens.BREAK, tokens.WARN, tokens.NUMBER, tokens.CHANGED, tokens.ORIGIN, tokens.PHASE_DYNAMO),
    "#1b6e2d": (tokens.OK, tokens.STRING, tokens.ADDED, tokens.PHASE_AUTOGRAD),
    "#7b2d8b": (tokens.MISSING, tokens.RUNNING, tokens.KEYWORD, tokens.DECORATOR, tokens.CONSTANT, tokens.PHASE_KERNELS),
    "#1a56a8": (tokens.HEADING, tokens.FUNCTION, tokens.KEY, tokens.LINK, tokens.PHASE_INDUCTOR),
    "#00696b": (tokens.TYPE, tokens.RECOMPILE, tokens.PHASE_CACHE),
    "#6b6b6b": (tokens.DIM, tokens.LABEL, tokens.COMMENT, tokens.EMPTY, tokens.SEEN, tokens.PHASE_OTHER),
}
"""4.5 : 1 and better on the ground below."""


def _style() -> str:
    inside = f".{CLASS}"
    rules = [
        f"{inside}{{background:#fff;color:#1c1c1c;padding:.5em .8em;overflow-x:auto}}",
        f"{inside} h2{{font-size:1em;margin:0 0 .5em}}",
        f"{inside} pre{{background:none;color:inherit;font-size:12px;line-height:1.35;margin:0;white-space:pre}}",
        f"{inside} table{{border-collapse:collapse;font-size:12px;color:inherit}}",
        f"{inside} td,{inside} th{{text-align:left;padding:.1em .8em .1em 0}}",
        f"{inside} .{tokens.TITLE},{inside} .{tokens.HEADING},{inside} .{tokens.STRONG}{{font-weight:bold}}",
    ]
    for colour, styles in _COLOURS.items():
        rules.append(f"{','.join(f'{inside} .{style}' for style in styles)}{{color:{colour}}}")
    return "<style>" + "".join(rules) + "</style>"


STYLE = _style()


def page_html(document: Document) -> str:
    """A page, or an artifact."""
    shown = "".join(piece if len(piece) <= WIDEST else f"{escape('a line that is too long for a notebook')}\n"
                    for piece in fragment(document, hi=LINES))  # fmt: skip
    more = len(document) - LINES
    return _framed(shown + (_said(f"{more:,} more lines: print() shows all") if more > 0 else ""))


def table_html(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], count: int) -> str:
    """The first of `count` rows."""
    out = [f"<h2>{escape(title)}</h2><table><tr>", *(f"<th>{escape(name)}</th>" for name in columns), "</tr>"]
    for row in rows[:ROWS]:
        out += ["<tr>", *(f"<td>{escape('' if cell is None else str(cell)[:200])}</td>" for cell in row), "</tr>"]
    more = count - min(len(rows), ROWS)
    return _framed("".join(out) + "</table>" + (_said(f"{more:,} more: .to_records() has all") if more > 0 else ""))


def _framed(body: str) -> str:
    return f'<div class="{CLASS}">{STYLE}{body}</div>'


def _said(text: str) -> str:
    return f'<div class="{tokens.DIM}">… {escape(text)}</div>'
