"""Results of the API: rows, the complete answer, and the page as the command prints it or a notebook shows it.

They are immutable and independent of later changes of the run.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Generic, TypeVar, overload

from tltui.export import rounded, to_json
from tltui.export.html import STYLE, embedded
from tltui.export.html import text as html_text
from tltui.text.document import Document, Line, TextDocument

Row = TypeVar("Row", covariant=True)
Data = TypeVar("Data", covariant=True)
Plain = str | int | float | bool | None
"""A cell value of a record."""
NOTEBOOK_LINES = 400
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


@dataclass(frozen=True, eq=False, repr=False)
class Result(Sequence[Row], Generic[Row, Data]):
    """The answer to a question: a sequence of its rows, frozen, and can be pickled.

    A row is a frozen dataclass (its fields are the columns of docs/api-columns.md). `print(result)` prints what
    the command prints, a notebook shows it in color.
    """

    name: str
    """The view or command: `problems`."""
    ref: str
    """The address of the part of the run that the answer covers; '' for the whole run."""
    title: str
    """The title of the page."""
    data: Data
    """The complete answer as dataclasses. `to_dict()` has the same as plain dictionaries and lists."""
    rows: tuple[Row, ...]
    """The rows of `to_records()`, with attributes."""
    _page: TextDocument
    _json: object = None
    _is_indented: bool = True

    def __post_init__(self) -> None:
        """Round the numbers in the rows."""
        object.__setattr__(self, "rows", tuple(map(_with_rounded, self.rows)))

    @property
    def text(self) -> str:
        """The page, as the command prints it with `--all`."""
        return "\n".join(self._page.text())

    def to_records(self) -> list[dict[str, Plain]]:
        """Return the rows as flat dictionaries with the same keys, for `pandas.DataFrame(…)`.

        For polars use `polars.DataFrame(…, infer_schema_length=None)`: it infers types from 100 rows only, in which a column may be
        empty.
        """
        return [record(row) for row in self.rows]

    def to_json(self) -> str:
        """Return the output of the command with `--json` (docs/json.md)."""
        return to_json(self._json, self._is_indented).decode()

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `to_json` as dictionaries and lists."""
        parsed: dict[str, Any] = json.loads(self.to_json())
        return parsed

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, index: int | slice) -> Row | tuple[Row, ...]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        about = f" of {self.ref}" if self.ref else ""
        return f"<tltui {self.name}{about}: {len(self.rows):,} row{'s' * (len(self.rows) != 1)}; print() shows the page>"

    def _repr_html_(self) -> str:
        return page_html(self._page)


class CheckResult(Result[Row, Data]):
    """The limits, one per row. The result is true if no limit is exceeded: `assert tltui.check(run, "error,break")`."""

    def __bool__(self) -> bool:
        return bool(getattr(self.data, "passed"))  # noqa: B009 - the type of `data` is open here

    @property
    def passed(self) -> bool:
        """Whether no limit is exceeded."""
        return bool(self)

    def __repr__(self) -> str:
        exceeded = sum(bool(getattr(row, "exceeded", False)) for row in self.rows)
        outcome = "passed" if self else f"{exceeded} of {len(self.rows)} limits exceeded"
        return f"<tltui check: {outcome}; print() shows the page>"


def _with_rounded(row: Any) -> Any:
    """Return a row with rounded numbers, as in its JSON."""
    values = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    changed = {name: round_ for name, value in values.items() if isinstance(value, float) and (round_ := rounded(value)) != value}
    return dataclasses.replace(row, **changed) if changed else row


def record(row: object) -> dict[str, Plain]:
    """Return a row as a flat dictionary."""
    return {field.name: _plain(getattr(row, field.name)) for field in dataclasses.fields(row)}  # type: ignore[arg-type]


def _plain(value: object) -> Plain:
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    raise TypeError(f"{value!r} does not fit into a cell")


def snapshot(document: Document) -> TextDocument:
    """Return a snapshot of all lines of a page, independent of later changes of the run."""
    while not document.advance():
        pass
    lines = [_full_line(document, n) for n in range(len(document))]
    return TextDocument(document.ref, document.title, document.language, lines=lines, section_list=list(document.sections()))


def _full_line(document: Document, n: int) -> Line:
    """Return a line with all of its columns; long ones come in windows."""
    line, length = document.line(n), document.length(n)
    text, spans, links = line.text, list(line.spans), list(line.links)
    while len(text) < length and line.text:
        line = document.line(n, len(text), length)
        text += line.text
        spans += [span for span in line.spans if span not in spans]
        links += [link for link in line.links if link not in links]
    return Line(text, tuple(spans), tuple(links))


def page_html(document: Document) -> str:
    """Return the HTML of a page or an artifact."""
    while not document.advance():
        pass
    more = len(document) - NOTEBOOK_LINES
    shown = "".join(embedded(_beginning(document)))
    return shown + (_note_html(f"{more:,} more lines: print() shows all") if more > 0 else "")


def _beginning(document: Document) -> TextDocument:
    """Return the displayed first lines of a document."""
    lines = [_cut(document.line(n, 0, WIDEST + 1)) for n in range(min(len(document), NOTEBOOK_LINES))]
    sections = [section for section in document.sections() if section.last < len(lines)]
    return TextDocument(document.ref, document.title, document.language, lines=lines, section_list=sections)


def _cut(line: Line) -> Line:
    return line if len(line.text) <= WIDEST else Line(line.text[:WIDEST] + "…", line.spans, line.links)


def table_html(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], count: int) -> str:
    """Return the first of `count` rows as a table, without empty columns."""
    shown = rows[:ROWS]
    shown_columns = [n for n in range(len(columns)) if any(row[n] not in (None, "") for row in shown)]
    out = [f"<div class=tltui style='overflow-x:auto'><style>{STYLE}</style>\n<h3>{html_text(title)}</h3>", TABLE, ROW]
    out += [*(f"<th>{html_text(columns[n])}</th>" for n in shown_columns), "</tr>\n"]
    for row in shown:
        out += [ROW, *(f"<td>{html_text(_cell(row[n]))}</td>" for n in shown_columns), "</tr>\n"]
    more = count - len(shown)
    return "".join(out) + "</table></div>\n" + (_note_html(f"{more:,} more rows: to_records() has all") if more > 0 else "")


def _cell(value: object) -> str:
    """Return a cell's text: the first line of a text, a number with three decimals."""
    if isinstance(value, float):
        return f"{value:.3f}"
    first, _, remainder = ("" if value is None else str(value)).partition("\n")
    return first[:CELL] + "…" if remainder or len(first) > CELL else first


def _note_html(note: str) -> str:
    return f"<div>… {escape(note)}</div>\n"
