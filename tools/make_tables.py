"""Make the key tables of docs/keys.md, and complete the table of pages in docs/glossary.md: `python tools/renew.py` writes them."""

from __future__ import annotations

import re
from pathlib import Path

from tltui.commands import key_table
from tltui.questions.index import QUESTIONS

DOCS = Path(__file__).resolve().parents[1] / "docs"
KEYS, GLOSSARY = DOCS / "keys.md", DOCS / "glossary.md"
BEGIN = "<!-- keys: made by `python tools/renew.py` -->\n"
END = "<!-- keys end -->\n"
HEADING = "## Pages\n"


def with_keys(text: str) -> str:
    """Return the page with new tables between its two marks."""
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head}{BEGIN}\n{key_table()}\n{END}{tail}"


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
    return {KEYS: with_keys(KEYS.read_text("utf-8")), GLOSSARY: completed(GLOSSARY.read_text("utf-8"))}
