"""No module needs, directly or by others, a module that needs it: each can be understood without those that use it."""

from __future__ import annotations

import grimp


def test_no_modules_import_each_other() -> None:
    graph = grimp.build_graph("tltui")
    assert circles({module: graph.find_modules_directly_imported_by(module) for module in graph.modules}) == []


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def circles(imported: dict[str, set[str]]) -> list[list[str]]:
    """Modules that reach each other."""
    reached = {module: _reached(module, imported) for module in imported}
    found = {tuple(sorted(other for other in reached[module] if module in reached[other])) for module in imported}
    return sorted(list(circle) for circle in found if circle)


def _reached(module: str, imported: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = list(imported[module])
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += imported[name]
    return seen
