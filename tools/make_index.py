#!/usr/bin/env python3
"""Make src/tltui/questions/index.py from every `QUESTION` in the modules of src/tltui.

`python tools/renew.py` writes it.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tltui.questions.question import Question

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tltui"
INDEX = PACKAGE / "questions" / "index.py"
HEAD = '''"""Index of the questions, made by `python tools/renew.py` from `QUESTION` in their modules, which it does not import."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """What is needed of a question before its page is asked for; the fields are those of `questions.question.Question`."""

    name: str
    key: str
    help: str
    group: str
    help_order: int
    module: str
    """The module with its `QUESTION`."""
    sorts: tuple[str, ...] = ()
    sort_label: str = "sorted by"
    in_debug_dir: bool = False
    """Whether a torch_compile_debug directory has what it shows."""


QUESTIONS: tuple[Entry, ...] = (
'''
TAIL = """)
BY_NAME = {question.name: question for question in QUESTIONS}
"""


def questions() -> list[tuple[str, Question]]:
    """Return the module and the declaration of every question, in the order of the list of pages."""
    modules = [path for path in sorted(PACKAGE.rglob("*.py")) if re.search(r"^QUESTION\b", path.read_text("utf-8"), re.MULTILINE)]
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in modules]
    pairs = [(name, import_module(name).QUESTION) for name in names]
    return sorted(pairs, key=lambda pair: (pair[1].order, pair[1].name))


def text() -> str:
    """Return the module."""
    return HEAD + "".join(f"    {entry(module, question)},\n" for module, question in questions()) + TAIL


def entry(module: str, question: Question) -> str:
    """Return the entry of a question."""
    place = question.order if question.help_order is None else question.help_order
    values = [f'"{question.name}"', f'"{question.key}"', f'"{question.help}"', f'"{question.group}"', str(place), f'"{module}"']
    optional = {"sorts": question.sorts, "sort_label": question.sort_label, "in_debug_dir": question.needs.in_debug_dir}
    extra = [f"{name}={literal(value)}" for name, value in optional.items() if value not in ((), "sorted by", False)]
    lines = [", ".join(part) for part in (values[:3], values[3:], extra) if part]
    return "Entry(\n" + "".join(f"        {line},\n" for line in lines) + "    )"


def literal(value: object) -> str:
    """Return a value as Python has it, with double quotes."""
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def generated() -> dict[Path, str]:
    """Return the file and its text."""
    return {INDEX: text()}
