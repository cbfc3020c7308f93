"""The functions of the questions, made from their declarations (`questions.question.Question`).

Each takes a run (or a place of one) and the address of the part that is meant, and returns a `Result`: its rows, all of the answer
(`data`), the page (`print`), JSON. `width` is that of the page, in columns; it changes nothing else.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar, get_args

from tltui.api.errors import BadArgument, ProfileError, safe
from tltui.api.functions import FUNCTIONS
from tltui.api.nodes import WIDTH, Node, options_of, place
from tltui.api.renamed import with_earlier_names
from tltui.api.results import Result, snapshot
from tltui.api.runs import Run, read_profiles
from tltui.documents.envelope import envelope
from tltui.documents.scope import scope_of
from tltui.model.ref import Ref
from tltui.model.run import Run as ModelRun
from tltui.questions.index import BY_NAME
from tltui.questions.question import Question, question_of, view_document
from tltui.text.document import Document, Options
from tltui.text.frozen import frozen

R = TypeVar("R")
Function = Callable[..., Result[Any, Any]]


@frozen
class Part:
    """The part of a run that a question is about."""

    run: Run
    ref: Ref


def part_of(run: Run | Node, ref: str | Node) -> Part:
    """Return the part of a run that the first two arguments of a function name. Raises `BadAddress`."""
    if isinstance(run, Node):
        if ref:
            raise BadArgument(f"{run!r} is a part of a run. Give the run and the address of the part")
        return Part(Run(run._session), place(run))
    if not isinstance(run, Run):
        raise TypeError(f"{run!r} is not a run. To open one: tltui.open(path)")
    with run._reading():
        return Part(run, place(ref))


def view(name: str, about: Part, options: Options, records: Callable[[Any], Iterable[Any]] | None = None) -> Result[Any, Any]:
    """Return the answer of a question, its rows by `records` or by its declaration."""
    question = question_of(name)
    with about.run._reading() as run:
        path = options_of(run).path
        document = view_document(run, BY_NAME[name], about.ref, replace(options, path=path))
        page = snapshot(document)
        data = document.data()
        printed = envelope(name, run.title, str(about.ref), data)
        rows = tuple((records or question.records)(data))
        return Result(name, str(about.ref), document.title, data, rows, page, printed, not question.is_long)


def answer(
    name: str, part: Part, make: Callable[[ModelRun, Options], Document], rows: Callable[[Any], Iterable[R]], width: int = WIDTH
) -> Result[R, Any]:  # fmt: skip
    """Return the result of a command that is no view."""
    with part.run._reading() as run:
        document = make(run, options_of(run, wide(width)))
        page = snapshot(document)
        data = document.data()
        printed = envelope(name, run.title, str(part.ref), data)
        return Result(name, str(part.ref), document.title, data, tuple(rows(data)), page, printed)


def ask_run(
    run: Any, name: str, ref: str | Node, rank: int | None, frame: int | None, keywords: dict[str, Any]
) -> Result[Any, Any]:
    """Return the answer of a question about a part of a run, named by its address or by rank and frame. Raises `BadArgument`."""
    if rank is not None or frame is not None:
        if ref:
            raise BadArgument("name a part of the run by its address, or by rank= and frame=")
        ref = ("" if rank is None else f"{rank}:") + ("" if frame is None else f"{frame}/")
    return function_of(name)(run, ref, **keywords)


def wide(width: int) -> int:
    """Return the width of a page, limited as the command line limits COLUMNS."""
    return min(max(width, 40), 400)


def one_of(noun: str, name: str, names: Iterable[str]) -> str:
    """Check that a name is one of `names`. Raises `BadArgument`."""
    choices = tuple(names)
    if name and name not in choices:
        raise BadArgument(f"unknown {noun} {name!r}. Choices: {', '.join(choices)}")
    return name


def with_profiles(part: Part) -> None:
    """Read the named profiles and those next to the logs."""
    read_profiles(part.run._session)


def function_of(name: str) -> Function:
    """Return the function of a question."""
    question = question_of(name)
    with_earlier_names(question.rows)
    ask = SPECIAL[name] if name in SPECIAL else _function(question)
    ask.__doc__ = inspect.cleandoc(question.doc)
    ask.__annotations__["return"] = result_type(question)
    return ask


def result_type(question: Question) -> str:
    """Return the type of what the function of a question gives: `Result[TimingRow, Timing]`."""
    return f"Result[{question.rows.__name__}, {type_name(question.answer)}]"


def type_name(kind: Any) -> str:
    """Return a type as an annotation has it: `tuple[Compile, ...]`."""
    return kind.__name__ if inspect.isclass(kind) and not get_args(kind) else re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(kind))


def _function(question: Question) -> Function:
    """Make the function of a question from its declaration."""
    keywords = {keyword.name: keyword for keyword in question.keywords}

    def ask(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH, **values: str) -> Result[Any, Any]:
        options: dict[str, str] = {}
        for name, value in values.items():
            if name not in keywords:
                raise TypeError(f"{question.name}() got an unexpected keyword argument {name!r}")
            keyword = keywords[name]
            options[keyword.option] = one_of(keyword.noun, value, keyword.values) if keyword.values else value
        return view(question.name, part_of(run, ref), Options(width=wide(width), **options))  # type: ignore[arg-type]

    *before, width, _ = inspect.signature(ask).parameters.values()
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default="", annotation="str") for name in keywords]
    ask.__signature__ = inspect.Signature([*before, *parameters, width], return_annotation=result_type(question))  # type: ignore[attr-defined]
    ask.__name__ = ask.__qualname__ = question.name
    return ask


def _summary(run: Run | Node, ref: str | Node = "", *, width: int = WIDTH) -> Result[Any, Any]:
    """Count the compiles of the part: the row has more than the answer."""
    from tltui.questions.overview.summary_page import summary_rows

    part = part_of(run, ref)
    with part.run._reading() as model:
        compiles = scope_of(model, part.ref).compiles
        return view("summary", part, Options(width=wide(width)), lambda data: summary_rows(data, str(part.ref), compiles))


def _runtime(run: Run | Node, ref: str | Node = "", *, sort: str = "", width: int = WIDTH) -> Result[Any, Any]:
    """Read the profiles that lie beside the logs first."""
    from tltui.questions.runtime.profile_results import Refused
    from tltui.questions.runtime.profile_sums import runtimes_of

    sort = one_of("order", sort, BY_NAME["runtime"].sorts)
    part = part_of(run, ref)
    with_profiles(part)
    with part.run._reading() as model:
        runtimes = runtimes_of(model)
    if runtimes and all(isinstance(item, Refused) for item in runtimes):
        refused = (result for result in runtimes if isinstance(result, Refused))
        raise ProfileError(safe("\n".join(f"{result.profile}: not joined: {result.reason}" for result in refused)))
    return view("runtime", part, Options(width=wide(width), sort=sort))


def _layers(
    run: Run | Node, ref: str | Node = "", *, layer: str = "", merge: bool = False, width: int = WIDTH
) -> Result[Any, Any]:
    """Add the rows of each compile, where the page of several only names those that have layers."""
    sort = BY_NAME["layers"].sorts[1] if merge else ""
    part = part_of(run, ref)
    with part.run._reading():
        result = view("layers", part, Options(width=wide(width), filter=layer, sort=sort))
        if result.rows:
            return result
        each = [view("layers", Part(part.run, place(compile_row.ref)), Options(sort=sort)) for compile_row in result.data]
        return replace(result, rows=tuple(row for compile_row in each for row in compile_row.rows))


SPECIAL: dict[str, Function] = {"summary": _summary, "runtime": _runtime, "layers": _layers}
for _name, _ask in SPECIAL.items():
    _ask.__name__ = _ask.__qualname__ = _name


FUNCTIONS.update(ask_run=ask_run, function_of=function_of)
