"""Files and folders that the documents for developers name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from real import ROOT

PAGES = ("docs/architecture.md", "docs/design.md", "CONTRIBUTING.md")
BASES = (ROOT, ROOT / "src" / "tltui")
PATH = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|md|tcss|json))?|(?:[a-z_]+/)*[a-z_]+\.py)`")


def missing(text: str) -> list[str]:
    """Return the paths between backquotes that are neither in the repository nor in the package."""
    modules = {path.name for path in (ROOT / "src" / "tltui").rglob("*.py")}
    paths = [match[1] for match in PATH.finditer(text)]
    return [path for path in paths if not any((base / path).exists() for base in BASES) and ("/" in path or path not in modules)]


@pytest.mark.parametrize("page", PAGES)
def test_every_named_path_exists(page: str) -> None:
    assert missing((ROOT / page).read_text("utf-8")) == []


def test_a_path_that_moved_is_noticed() -> None:
    assert missing("`trace/scan.py`, `no_such.py`, `no/such/folder/`, `text/`, `log.py`") == ["no_such.py", "no/such/folder/"]
    assert Path(ROOT / "docs/architecture.md").read_text("utf-8").count(".py`") > 50
