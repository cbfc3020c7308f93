"""Golden texts: what a page said when somebody last read it with care.

`TLTUI_UPDATE_GOLDEN=1 pytest tests/unit` rewrites them; read the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

DIRECTORY = Path(__file__).parents[1] / "unit" / "golden"


def assert_golden(name: str, text: str) -> None:
    path = DIRECTORY / f"{name}.txt"
    text = text.rstrip("\n") + "\n"
    if os.environ.get("TLTUI_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"{path} is not there: TLTUI_UPDATE_GOLDEN=1 writes it"
    assert text == path.read_text(encoding="utf-8")
