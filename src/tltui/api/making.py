"""Results from documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tltui.api.errors import BadArgument
from tltui.api.nodes import WIDTH, Node, place
from tltui.api.results import Result, folded, kept
from tltui.api.runs import Run, read_profiles
from tltui.model.ref import Ref
from tltui.model.run import Run as ModelRun
from tltui.questions.index import BY_NAME
from tltui.questions.question import question_of, view_document
from tltui.text.document import Document, Options
from tltui.text.frozen import frozen

R = TypeVar("R")


@frozen
class Part:
    """The part of a run that a question is about."""

    run: Run
    ref: Ref


def part_of(run: Run | Node, ref: str | Node) -> Part:
    """Return the part of a run that the first two arguments of a function name. Raises `BadAddress`."""
    if isinstance(run, Node):
        if ref:
            raise BadArgument(f"{run!r} is a part of a run already: give the run, and the address of the part")
        return Part(Run(run._session), place(run))
    if not isinstance(run, Run):
        raise TypeError(f"{run!r} is no run: tltui.open(path) gives one")
    with run._reading():
        return Part(run, place(ref))


def view(name: str, about: Part, options: Options, records: Callable[[Any], Iterable[Any]] | None = None) -> Result[Any, Any]:
    """Return the answer of a question, its rows by `records` or by its declaration."""
    question = question_of(name)
    with about.run._reading() as run:
        document = view_document(run, BY_NAME[name], about.ref, options)
        page = kept(document)
        data = document.data()
        is_alone = isinstance(data, dict) and "schema" in data  # of the type `question.alone`
        printed = data if is_alone else {"schema": 1, "view": name, "result": data}
        rows = tuple((records or question.records)(data))
        return Result(name, str(about.ref), document.title, data, rows, page, printed, not question.is_long)


def answer(
    name: str, part: Part, make: Callable[[ModelRun, Options], Document], rows: Callable[[Any], Iterable[R]], width: int = WIDTH,
    is_folded: bool = False,
) -> Result[R, Any]:  # fmt: skip
    """Return the result of a command that is no view. `is_folded`: folded sections are not printed."""
    with part.run._reading() as run:
        document = make(run, Options(width=wide(width)))
        page = kept(document)
        data = document.data()
        hidden = folded(page) if is_folded else frozenset()
        return Result(name, str(part.ref), document.title, data, tuple(rows(data)), page, data, _hidden=hidden)


def wide(width: int) -> int:
    """Return the width of a page, limited as the command line limits COLUMNS."""
    return min(max(width, 40), 400)


def one_of(noun: str, name: str, names: Iterable[str]) -> str:
    """Check that a name is one of `names`. Raises `BadArgument`."""
    choices = tuple(names)
    if name and name not in choices:
        raise BadArgument(f"there is no {noun} {name!r}. There are: {', '.join(choices)}")
    return name


def with_profiles(part: Part) -> None:
    """Read the named profiles and those next to the logs."""
    read_profiles(part.run._session)

