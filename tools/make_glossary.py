"""Complete the table of pages in docs/glossary.md, for `python tools/renew.py`: a page without a row gets its help."""

from __future__ import annotations

import re
from pathlib import Path

from tltui.questions.index import QUESTIONS

GLOSSARY = Path(__file__).resolve().parents[1] / "docs" / "glossary.md"
HEADING = "## Pages\n"


def completed(text: str) -> str:
    """Return the glossary with a row for each page."""
    before, heading, rest = text.partition(HEADING)
    table, end, after = rest.partition("\n\n## ")
    names = set(re.findall(r"^\| <a id=\S+></a>(\S+) \|", table, re.MULTILINE))
    missing = [question for question in QUESTIONS if question.name not in names]
    rows = [f'| <a id="page-{question.name}"></a>{question.name} | {question.help} |' for question in missing]
    return before + heading + "\n".join([table.rstrip("\n"), *rows]) + (end + after if end else "\n")


def generated() -> dict[Path, str]:
    """Return the file and its text."""
    return {GLOSSARY: completed(GLOSSARY.read_text("utf-8"))}
