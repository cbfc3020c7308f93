"""Names in the code are nouns and verbs of the field: words that only readers of this code would know are no names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from real import ROOT

SOURCE = ROOT / "src" / "tltui"
FORBIDDEN = frozenset((
    "found", "own", "said", "told", "known", "kept", "take", "taken", "look", "looked", "named", "nothing", "tell", "tells",
    "whole", "made", "says", "ways", "turns", "beside", "between", "elsewhere", "standing", "undrawn", "seen", "shelf", "what",
    "which", "there", "thing", "things", "know", "knows", "stands", "comes", "came", "gone", "saying", "telling", "some",
))  # fmt: skip
"""Participles and pronouns in place of a noun, and verbs that do not name the operation. A leading underscore does not count."""
FIELDS = frozenset((
    ("inputs/archives/decompress.py", "tell"),
    ("inputs/archives/members.py", "tell"),
))  # fmt: skip
"""Module and name of `tell` in Python's file protocol."""


def identifiers(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names that a module defines, with their lines: functions, classes, arguments, variables, attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias(asname=str()):
                yield node.asname or "", node.lineno


def forbidden(path: Path) -> list[tuple[str, str, int]]:
    """Return module, name and line of the forbidden names of a module, its own name with line 0."""
    module = str(path.relative_to(SOURCE))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [(path.stem, 0), *identifiers(tree)]
    return [(module, name, line) for name, line in names if name.strip("_") in FORBIDDEN and (module, name) not in FIELDS]


def test_no_forbidden_name() -> None:
    modules = sorted(SOURCE.rglob("*.py"))
    assert len(modules) > 200
    assert [entry for path in modules for entry in forbidden(path)] == []


def test_every_exception_is_used() -> None:
    used = {
        (module, name)
        for module in {module for module, _ in FIELDS}
        for name, _ in identifiers(ast.parse((SOURCE / module).read_text(encoding="utf-8")))
    }
    assert used >= FIELDS


def test_a_name_in_each_position_is_noticed(tmp_path: Path) -> None:
    program = "def told(own): found = own\nclass Kept:\n    known: int\nself.said = 1\nimport x as look\n"
    assert {name for name, _ in identifiers(ast.parse(program))} == {"told", "own", "found", "Kept", "known", "said", "look"}
