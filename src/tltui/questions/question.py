"""Questions: what a page, its command, its JSON and its function in Python have in common, declared once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tltui.questions.index import BY_NAME

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from tltui.documents.scope import Scope
    from tltui.model.input_coverage import Needs
    from tltui.model.run import Run
    from tltui.text.document import Document, Options

LAST = 1000
T = TypeVar("T")


def result_of(steps: Generator[object, None, T]) -> T:
    """Run the steps of an answer to their end, and return it."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return cast(T, stop.value)


@dataclass(frozen=True)
class Keyword:
    """A keyword of the function in Python, beside those that all of them have."""

    name: str
    option: str
    """The field of `Options` that it sets: `sort`, `filter` or `part`."""
    noun: str = ""
    """One of its values, as an error calls it: `order`."""
    values: tuple[str, ...] = ()
    """What it may be besides ''; () for any text."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A page about the run or a part of it, with the command, the JSON and the function of its name.

    The module that has one as `QUESTION` is found by `tools/make_index.py`.
    """

    name: str
    """The page `@name`, the command `tltui name` and the function `tltui.name`."""
    help: str
    """What it answers, as a phrase: in the help, in the list of pages, in the palette."""
    group: str
    """The heading of `tltui help` below which it stands (`GROUPS` of `cli/registry.py`)."""
    document: Callable[[Run, Scope, Options], Document]
    """Return the page about a part of the run; its `data()` is the answer."""
    answer: Any
    """The type of what `--json` has as `result`, several as a union."""
    rows: type
    """The type of the rows of `to_records()`: a dataclass with plain fields."""
    doc: str
    """The docstring of the function."""
    needs: Needs
    """What inputs besides a trace can tell of it."""
    records: Callable[[Any], Iterable[Any]] = tuple
    """Return the rows of an answer; by default the answer is a sequence of them."""
    key: str = ""
    """The key that opens it, '' for none."""
    order: int = LAST
    """Its place in the list of pages. By default it comes after those that have one."""
    help_order: int | None = None
    """Its place below its heading in the help, where that is not `order`: from 500 on after the commands without a page."""
    sorts: tuple[str, ...] = ()
    """The orders that its tables can be in, or what its cells can show, the default first."""
    sort_label: str = "sorted by"
    """The text before the name of the order that was chosen."""
    keywords: tuple[Keyword, ...] = ()
    """Keywords of the function besides `ref` and `width`."""
    add_arguments: Callable[[ArgumentParser], None] | None = None
    """Add the options that the command has beside those of every page."""
    alone: Any = None
    """The type of an answer that `--json` prints by itself, with a `schema` of its own; None where there is none."""
    is_long: bool = False
    """Whether its JSON is printed without indentation."""


def question_of(name: str) -> Question:
    """Return the question of a page."""
    return cast(Question, import_module(BY_NAME[name].module).QUESTION)
