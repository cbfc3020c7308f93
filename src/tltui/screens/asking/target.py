"""`x`: where to write."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from tltui.screens.asking.question import Question, Row
from tltui.text import tokens

FORMS = {".ansi": "with colours", ".md": "markdown"}
"""Suffixes that make of a document something else than its text."""
DIRECTORIES = 3
"""Directories written to before that are proposed."""


class TargetQuestion(Question):
    """Asks for a path; its list proposes some."""

    HISTORY: ClassVar[str] = "target"

    def __init__(self, label: str, answered: Callable[[str], object], name: str, before: Sequence[str]) -> None:
        """`name` is proposed; `before`: what was answered before, the latest last."""
        super().__init__(label, answered, name, "tab completes", history=self.HISTORY)
        self._paths = proposals(name, before)
        self.rows = len(self._paths)

    def listed(self, text: str) -> Sequence[Row]:
        """The name in each form, here and where something was written before. A path that was typed keeps the list."""
        return [[f"{path}  ", (form, tokens.DIM)] for path, form in self._paths]

    def filled(self, place: int) -> str:
        """The path of a row."""
        return self._paths[place][0]

    def completed(self, text: str) -> str:
        """The path as far as the file system leaves no choice."""
        return completed_path(text)


def proposals(name: str, before: Sequence[str]) -> list[tuple[str, str]]:
    """Paths to write to, each with what is said of it."""
    stem, _ = os.path.splitext(name)
    found = [(name, "text"), *((stem + form, said) for form, said in FORMS.items())]
    directories = dict.fromkeys(os.path.dirname(path) for path in reversed(before))
    own = os.path.dirname(name)
    for directory in [directory for directory in directories if directory not in ("", own)][:DIRECTORIES]:
        found.append((os.path.join(directory, os.path.basename(name)), "where you wrote before"))
    return found


def completed_path(text: str) -> str:
    """`text` with what all paths have in common that begin with it; a directory ends with a slash."""
    typed = Path(text).expanduser()
    parent, start = (typed, "") if text.endswith("/") else (typed.parent, typed.name)
    try:
        with os.scandir(parent) as entries:
            fitting = sorted((entry.name, entry.is_dir()) for entry in entries if entry.name.startswith(start))
    except OSError:
        return text
    if not fitting:
        return text
    first, last = fitting[0][0], fitting[-1][0]
    same = len(first)
    while not last.startswith(first[:same]):  # sorted: what these two have in common all have
        same -= 1
    common = first[:same]
    end = "/" if len(fitting) == 1 and fitting[0][1] else ""
    return text[: len(text) - len(start)] + common + end
