"""Make the key tables of docs/keys.md: `python tools/renew.py` writes them."""

from __future__ import annotations

from pathlib import Path

from tltui.commands import key_table

KEYS = Path(__file__).parent.parent / "docs" / "keys.md"
BEGIN = "<!-- keys: made by `python tools/renew.py` -->\n"
END = "<!-- keys end -->\n"


def with_keys(text: str) -> str:
    """Return the page with new tables between its two marks."""
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head}{BEGIN}\n{key_table()}\n{END}{tail}"


def generated() -> dict[Path, str]:
    """Return the file and its text."""
    return {KEYS: with_keys(KEYS.read_text("utf-8"))}
