"""Write the key tables into docs/keys.md: `python tools/readme_keys.py`. A test fails when they are stale."""

from __future__ import annotations

from pathlib import Path

from tltui.commands import key_table

KEYS = Path(__file__).parent.parent / "docs" / "keys.md"
BEGIN = "<!-- keys: made by `python tools/readme_keys.py`; a test compares -->\n"
END = "<!-- keys end -->\n"


def with_keys(text: str) -> str:
    """The page with the tables between its two marks made anew."""
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head}{BEGIN}\n{key_table()}\n{END}{tail}"


if __name__ == "__main__":
    KEYS.write_text(with_keys(KEYS.read_text("utf-8")), "utf-8")
