"""Make tables of docs: keys, statuses, the pages that docs/glossary.md lacks. `python tools/renew.py` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tltui.commands import key_table
from tltui.model.status import TABLE
from tltui.questions.index import QUESTIONS

DOCS = Path(__file__).resolve().parents[1] / "docs"
KEYS, GLOSSARY, DESIGN, JSON = (DOCS / f"{name}.md" for name in ("keys", "glossary", "design", "json"))
BEGIN = "<!-- {}: made by `python tools/renew.py` -->\n"
END = "<!-- {} end -->\n"
HEADING = "## Pages\n"


def with_table(text: str, name: str, table: str) -> str:
    """Return a page with a new table between the two marks of a name."""
    head, begin, rest = text.partition(BEGIN.format(name))
    _, end, tail = rest.partition(END.format(name))
    if not begin or not end:
        raise ValueError(f"no marks of {name}")
    return f"{head}{begin}\n{table}\n{end}{tail}"


def _table(titles: str, rows: Iterable[Sequence[str]]) -> str:
    columns = titles.split(" | ")
    lines = [titles, " | ".join(["---"] * len(columns)), *(" | ".join(row) for row in rows)]
    return "".join(f"| {line} |\n" for line in lines)


def _keys(letters: str) -> str:
    return ", ".join(f"`{letter} {letter.upper()}`" for letter in letters)


def statuses(of: Path) -> str:
    """Return the table of statuses for one of the pages."""
    if of == GLOSSARY:
        return _table("status | mark | meaning", (
            (f'<a id="{status}"></a>{status}', row.glyph, row.meaning) for status, row in TABLE.items()
        ))  # fmt: skip
    if of == JSON:
        return _table("status | in `tally` | meaning", (
            (f"`{status}`", f"`{row.field}`", row.meaning) for status, row in TABLE.items()
        ))  # fmt: skip
    return _table("status | glyph | ASCII | style | counted as | in `tally` | limit | keys", (
        (
            str(status), row.glyph, f"`{row.ascii}`", row.colour, row.words, f"`{row.field}`",
            f"`{row.gate}`" if row.gate else "", _keys(row.keys),
        )
        for status, row in TABLE.items()
    ))  # fmt: skip


def completed(text: str) -> str:
    """Return the glossary with a row for each page: a page without one gets its help."""
    before, heading, rest = text.partition(HEADING)
    table, end, after = rest.partition("\n\n## ")
    names = set(re.findall(r"^\| <a id=\S+></a>(\S+) \|", table, re.MULTILINE))
    missing = [question for question in QUESTIONS if question.name not in names]
    rows = [f'| <a id="page-{question.name}"></a>{question.name} | {question.help} |' for question in missing]
    return before + heading + "\n".join([table.rstrip("\n"), *rows]) + (end + after if end else "\n")


def generated() -> dict[Path, str]:
    """Return each file and its text."""
    texts = {page: with_table(page.read_text("utf-8"), "statuses", statuses(page)) for page in (GLOSSARY, DESIGN, JSON)}
    texts[GLOSSARY] = completed(texts[GLOSSARY])
    return {KEYS: with_table(KEYS.read_text("utf-8"), "keys", key_table()), **texts}
