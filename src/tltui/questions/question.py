"""Questions: what a page, its command, its JSON and its function in Python have in common, declared once; and their documents."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tltui.documents.page import Page
from tltui.documents.scope import Scope, scope_of, stands_for
from tltui.model.input_coverage import TEXT, is_untold, untold
from tltui.model.ref import Ref
from tltui.model.run import Run
from tltui.questions.index import BY_NAME, QUESTIONS, Entry
from tltui.text import tokens
from tltui.text.composite_documents import GrowingDocument
from tltui.text.document import Document, Options, Piece

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from tltui.documents.scope import Scope
    from tltui.model.input_coverage import Needs
    from tltui.model.run import Run
    from tltui.text.document import Document, Options

LAST = 1000
SORTED = "sorted by"
"""The text before an order of tables."""
T = TypeVar("T")


@dataclass(frozen=True)
class Keyword:
    """A keyword of the function in Python, beside those that all of them have."""

    name: str
    option: str
    """The field of `Options` that it sets: `sort`, `filter` or `part`."""
    noun: str = ""
    """One of its values, as an error calls it: `order`."""
    values: tuple[str, ...] = ()
    """Its values besides ''; () for any text."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A page about the run or a part of it, with the command, the JSON and the function of its name.

    The module that has one as `QUESTION` is found by `tools/make_index.py`.
    """

    name: str
    """The page `@name`, the command `tltui name` and the function `tltui.name`."""
    help: str
    """Its purpose, as a phrase: in the help, in the list of pages, in the palette."""
    group: str
    """Its heading in `tltui help` (`GROUPS` of `cli/registry.py`)."""
    document: Callable[[Run, Scope, Options], Document]
    """Return the page about a part of the run; its `data()` is the answer."""
    answer: Any
    """The type of what `--json` has as `result`, several as a union."""
    rows: type
    """The type of the rows of `to_records()`: a dataclass with plain fields."""
    doc: str
    """The docstring of the function."""
    needs: Needs
    """Coverage by inputs other than a trace."""
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
    sort_label: str = SORTED
    """The text before the name of the order that was chosen. By default the orders are those of tables, and options of `--sort`."""
    keywords: tuple[Keyword, ...] = ()
    """Keywords of the function besides `ref` and `width`."""
    add_arguments: Callable[[ArgumentParser], None] | None = None
    """Add the options that the command has beside those of every page."""
    is_long: bool = False
    """Whether its JSON is printed without indentation."""


def question_of(name: str) -> Question:
    """Return the question of a page."""
    return cast(Question, import_module(BY_NAME[name].module).QUESTION)


def view_document(run: Run, view: Entry, ref: Ref, options: Options) -> Document:
    """Return the page of a view about the part of the run that `ref` names. Raises `BadAddress`."""
    question = question_of(view.name)
    make = question.document
    scope = replace(scope_of(run, ref), n=ref.n)
    options = replace(options, goes_on=run.goes_on, newest=run.restarted)
    if view.name == "summary":  # an overview has it below its title
        return make(run, scope, options)
    about = "" if str(scope.ref) else stands_for(run)
    if question.needs.reads_engine_log and has_engine_log(run):
        return make(run, scope, replace(options, about=about))
    options = replace(options, untold=untold(scope.processes, question.needs), about=about)
    if is_untold(scope.processes, question.needs):
        return _uncovered_document(view, scope, options, make(run, scope, options))
    return make(run, scope, options)


def has_engine_log(run: Run) -> bool:
    """Return whether the beginning of an output is the log of vLLM or SGLang."""
    if all(model.form != TEXT for model in run.models):
        return False
    from tltui.questions.vllm.startup import has_startup

    return has_startup(run)


def _uncovered_document(view: Entry, scope: Scope, options: Options, answered: Document) -> Document:
    """Return the page of a question that the inputs do not answer: it has that as its text, and the usual result."""

    def fill(page: Page) -> Generator[None, None, object]:
        if any(TEXT in process.origins for process in scope.processes):
            page.add("Available page: ", ("@log", tokens.LINK, str(scope.ref.at("log"))), " every line as it was written")
        else:
            links: list[Piece] = ["Available pages:"]
            for name in (other.name for other in QUESTIONS if other.in_debug_dir):
                links += [" ", (name, tokens.LINK, str(scope.ref.at(name)))]
            page.row(links, "")
        while not answered.advance():
            yield
        return answered.data()

    return GrowingDocument(scope.page(view.name), f"{view.name}{scope.title}", options, fill, Page)
