"""`x`: where to write."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from tltui.screens.asking.question import Question, Row
from tltui.text import tokens

FORMS = {".html": "a page for a browser", ".md": "markdown", ".json": "the result", ".ansi": "with colours"}
"""Suffixes that make of a document something else than its text."""
DIRECTORIES = 3
"""Directories written to before that are proposed."""


class TargetQuestion(Question):
    """Asks for a path; its list proposes some."""

    HISTORY: ClassVar[str] = "target"

    def __init__(self, label: str, answered: Callable[[str], object], name: str, before: Sequence[str]) -> None:
        """`name` is proposed; `before`: what was answered before, the latest last."""
        super().__init__(label, answered, name, "tab completes", history=self.HISTORY)
        self._paths = self._shown = proposals(name, before)
        self._fitting: list[str] = []
        self._completed = ""
        self.rows = len(self._paths)

    def listed(self, text: str) -> Sequence[Row]:
        """The name in each form, here and where something was written before. A path that was typed keeps the list; where tab
        left a choice it is that."""
        is_choice = len(self._fitting) > 1 and text == self._completed
        self._shown = [(path, "") for path in self._fitting] if is_choice else self._paths
        return [[f"{path}  ", (form, tokens.DIM)] for path, form in self._shown]

    def filled(self, place: int) -> str:
        """The path of a row."""
        return self._shown[place][0]

    def completed(self, text: str) -> str:
        """The path as far as the file system leaves no choice."""
        self._fitting = fitting_paths(text)
        self._completed = completed_path(text, self._fitting)
        return self._completed


def proposals(name: str, before: Sequence[str]) -> list[tuple[str, str]]:
    """Paths to write to, each with what is said of it."""
    stem, suffix = os.path.splitext(name)
    found = [(name, "text"), *((stem + form, said) for form, said in FORMS.items() if form != suffix)]
    directories = dict.fromkeys(os.path.dirname(path) for path in reversed(before))
    own = os.path.dirname(name)
    for directory in [directory for directory in directories if directory not in ("", own)][:DIRECTORIES]:
        found.append((os.path.join(directory, os.path.basename(name)), "a directory you gave before"))
    return found


def fitting_paths(text: str) -> list[str]:
    """All paths that begin with `text`, in order; a directory ends with a slash. Hidden ones only where a dot was typed."""
    typed = Path(text).expanduser()
    parent, start = (typed, "") if text.endswith("/") else (typed.parent, typed.name)
    before = text[: len(text) - len(start)]
    try:
        with os.scandir(parent) as entries:
            fitting = [entry for entry in entries if entry.name.startswith(start) and (start or entry.name[0] != ".")]
            return sorted(f"{before}{entry.name}/" if entry.is_dir() else before + entry.name for entry in fitting)
    except OSError:
        return []


def completed_path(text: str, fitting: Sequence[str]) -> str:
    """`text` with what all of the paths have in common."""
    if not fitting:
        return text
    first, last = fitting[0], fitting[-1]
    same = len(first)
    while not last.startswith(first[:same]):  # in order: what these two have in common all have
        same -= 1
    return first[:same]
