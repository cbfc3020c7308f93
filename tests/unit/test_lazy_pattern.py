"""Expressions that are compiled late are those that `re.compile` would make, and every one in tltui compiles."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tltui
from tltui.text.lazy_pattern import LazyPattern, lazy_pattern


def declared() -> dict[str, LazyPattern]:
    """Return the late expressions of all modules, also those in tables, by module and name."""
    patterns: dict[str, LazyPattern] = {}
    for module in pkgutil.walk_packages(tltui.__path__, "tltui."):
        if module.name.endswith("__main__") or module.name == "tltui.pytest":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            rows = value if isinstance(value, tuple) else (value,)
            for number, row in enumerate(rows):
                for part in row if isinstance(row, tuple) else (row, getattr(row, "pattern", None)):
                    if isinstance(part, LazyPattern):
                        patterns[f"{module.name}.{name}.{number}"] = part
    return patterns


def test_every_expression_compiles() -> None:
    patterns = declared()
    assert len(patterns) > 150
    for name, pattern in patterns.items():
        assert isinstance(pattern.pattern, (str, bytes)), name


def test_it_has_the_methods_of_the_compiled_expression() -> None:
    late, early = lazy_pattern(r"(?P<letter>[a-z])(\d)", re.IGNORECASE), re.compile(r"(?P<letter>[a-z])(\d)", re.IGNORECASE)
    assert "search" not in vars(late), "not compiled yet"
    text = "A1 b2 -"
    assert late.search(text)["letter"] == "A" and "search" in vars(late)  # type: ignore[index]
    for method in ("findall", "split"):
        assert getattr(late, method)(text) == getattr(early, method)(text)
    assert late.sub("x", text) == early.sub("x", text) == "x x -" and late.subn("x", text) == early.subn("x", text)
    assert [match[0] for match in late.finditer(text)] == ["A1", "b2"] and late.match("c3") and not late.fullmatch("c3 ")
    assert (late.pattern, late.flags, late.groups, dict(late.groupindex)) == (early.pattern, early.flags, 2, {"letter": 1})
    assert lazy_pattern(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_errors() -> None:
    with pytest.raises(re.error):
        lazy_pattern("(").search("a")
    with pytest.raises(AttributeError):
        getattr(lazy_pattern("a"), "other")  # noqa: B009


def test_a_command_compiles_few(tmp_path: Path) -> None:
    code = (
        "import re, sys; compile = re.compile; made = []\n"
        "re.compile = lambda *a, **k: made.append(a) or compile(*a, **k)\n"
        "from tltui.cli import main\n"
        "try: main(['summary', '--demo', '-o', sys.argv[1]])\n"
        "except SystemExit: pass\n"
        "print(len(made))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "page.txt")]
    made = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
    assert made < 420, "of 530 in the imported modules"
