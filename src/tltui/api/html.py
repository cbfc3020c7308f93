"""HTML for notebooks: a page with scoped styles and at most a few hundred lines."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tltui.export.html import STYLE, embedded, text
from tltui.text.document import Document, Line, TextDocument

LINES = 400
"""Maximum lines of a page in a notebook."""
WIDEST = 2_000
"""Maximum characters of a line in a notebook: lines of code may have megabytes."""
ROWS = 50
"""Maximum rows of a table in a notebook."""
CELL = 60
"""Maximum characters of a cell in a notebook."""
TABLE = "<table style='white-space:nowrap;text-align:left;color:inherit;border-spacing:1em 0;margin:0'>"
ROW = "<tr style='background:none;color:inherit;text-align:left'>"
"""Inline style that overrides the table rules of notebooks, which assume their own colours."""


def page_html(document: Document) -> str:
    """Return the HTML of a page or an artifact."""
    while not document.advance():
        pass
    more = len(document) - LINES
    shown = "".join(embedded(_beginning(document)))
    return shown + (_note_html(f"{more:,} more lines: print() shows all") if more > 0 else "")


def _beginning(document: Document) -> TextDocument:
    """Return the displayed first lines of a document."""
    lines = [_cut(document.line(n, 0, WIDEST + 1)) for n in range(min(len(document), LINES))]
    sections = [section for section in document.sections() if section.last < len(lines)]
    return TextDocument(document.ref, document.title, document.language, lines=lines, section_list=sections)


def _cut(line: Line) -> Line:
    return line if len(line.text) <= WIDEST else Line(line.text[:WIDEST] + "…", line.spans, line.links)


def table_html(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], count: int) -> str:
    """Return the first of `count` rows as a table, without empty columns."""
    shown = rows[:ROWS]
    shown_columns = [n for n in range(len(columns)) if any(row[n] not in (None, "") for row in shown)]
    out = [f"<div class=tltui style='overflow-x:auto'><style>{STYLE}</style>\n<h3>{text(title)}</h3>", TABLE, ROW]
    out += [*(f"<th>{text(columns[n])}</th>" for n in shown_columns), "</tr>\n"]
    for row in shown:
        out += [ROW, *(f"<td>{text(_cell(row[n]))}</td>" for n in shown_columns), "</tr>\n"]
    more = count - len(shown)
    return "".join(out) + "</table></div>\n" + (_note_html(f"{more:,} more: to_records() has all") if more > 0 else "")


def _cell(value: object) -> str:
    """Return a cell's text: the first line of a text, a number with three decimals."""
    if isinstance(value, float):
        return f"{value:.3f}"
    first, _, remainder = ("" if value is None else str(value)).partition("\n")
    return first[:CELL] + "…" if remainder or len(first) > CELL else first


def _note_html(note: str) -> str:
    return f"<div>… {escape(note)}</div>\n"
