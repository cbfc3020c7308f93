"""What a notebook shows: a page with its colours, which reach nothing else in it, and never more than a few hundred lines."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tltui.export.html import STYLE, embedded, text
from tltui.text.document import Document, Line, TextDocument

LINES = 400
"""Lines of a page that a notebook is given."""
WIDEST = 2_000
"""Characters of a line that a notebook is given: one of code may have megabytes."""
ROWS = 50
"""Rows of a table that a notebook is given."""
CELL = 60
"""Characters of a cell that a notebook is given."""
TABLE = "<table style='white-space:nowrap;text-align:left;color:inherit;border-spacing:1em 0;margin:0'>"
ROW = "<tr style='background:none;color:inherit;text-align:left'>"
"""Notebooks have rules of their own for tables, made for their own colours."""


def page_html(document: Document) -> str:
    """A page, or an artifact."""
    while not document.advance():
        pass
    more = len(document) - LINES
    shown = "".join(embedded(_beginning(document)))
    return shown + (_said(f"{more:,} more lines: print() shows all") if more > 0 else "")


def _beginning(document: Document) -> TextDocument:
    """The first lines of a document, as far as they are shown."""
    lines = [_cut(document.line(n, 0, WIDEST + 1)) for n in range(min(len(document), LINES))]
    sections = [own for own in document.sections() if own.last < len(lines)]
    return TextDocument(document.ref, document.title, document.language, lines=lines, section_list=sections)


def _cut(line: Line) -> Line:
    return line if len(line.text) <= WIDEST else Line(line.text[:WIDEST] + "…", line.spans, line.links)


def table_html(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], count: int) -> str:
    """The first of `count` rows; columns with nothing in them are left out."""
    shown = rows[:ROWS]
    wanted = [n for n in range(len(columns)) if any(row[n] not in (None, "") for row in shown)]
    out = [f"<div class=tltui style='overflow-x:auto'><style>{STYLE}</style>\n<h3>{text(title)}</h3>", TABLE, ROW]
    out += [*(f"<th>{text(columns[n])}</th>" for n in wanted), "</tr>\n"]
    for row in shown:
        out += [ROW, *(f"<td>{text(_cell(row[n]))}</td>" for n in wanted), "</tr>\n"]
    more = count - len(shown)
    return "".join(out) + "</table></div>\n" + (_said(f"{more:,} more: to_records() has all") if more > 0 else "")


def _cell(value: object) -> str:
    """A cell as it is shown: of a text its first line, of a number three places."""
    if isinstance(value, float):
        return f"{value:.3f}"
    first, _, rest = ("" if value is None else str(value)).partition("\n")
    return first[:CELL] + "…" if rest or len(first) > CELL else first


def _said(what: str) -> str:
    return f"<div>… {escape(what)}</div>\n"
