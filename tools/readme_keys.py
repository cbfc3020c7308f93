"""Write the key table into README.md: `python tools/readme_keys.py`. A test fails when the table is stale."""

from __future__ import annotations

from pathlib import Path

from tltui.commands import key_table

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- keys: made by `python tools/readme_keys.py`; a test compares -->\n"
END = "<!-- keys end -->\n"


def with_keys(text: str) -> str:
    """The README with the table between its two marks made anew."""
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head}{BEGIN}\n{key_table()}\n{END}{tail}"


if __name__ == "__main__":
    README.write_text(with_keys(README.read_text("utf-8")), "utf-8")
