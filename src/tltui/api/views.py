"""The questions, a function each: what the pages and the commands of these names tell.

Each takes a run (or a place of one) and the address of the part that is meant, and gives a `Result`: its rows, all of the answer
(`data`), the page (`print`), JSON. `width` is that of the page, in columns; it changes nothing else. They are made from the
declarations (`questions.question.Question`); those written here do more than ask.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

from tltui.api.errors import ProfileError, safe
from tltui.api.making import Part, one_of, part_of, view, wide, with_profiles
from tltui.api.nodes import WIDTH, Node, place
from tltui.api.results import Result
from tltui.api.runs import Run
from tltui.documents.scope import scope_of
from tltui.questions.index import BY_NAME
from tltui.questions.question import Question, question_of
from tltui.questions.runtime.profile_results import Refused
from tltui.questions.runtime.profile_sums import runtimes_of
from tltui.text.document import Options

Function = Callable[..., Result[Any, Any]]


def function_of(name: str) -> Function:
    """Return the function of a question."""
    question = question_of(name)
    ask = SPECIAL[name] if name in SPECIAL else _function(question)
    ask.__doc__ = inspect.cleandoc(question.doc)
    ask.__annotations__["return"] = result_type(question)
    return ask


def result_type(question: Question) -> str:
    """Return the type of what the function of a question gives: `Result[TimingRow, Timing]`."""
    answers = " | ".join(type_name(kind) for kind in (question.answer, question.alone) if kind is not None)
    return f"Result[{question.rows.__name__}, {answers}]"


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
    sort = one_of("order", sort, BY_NAME["runtime"].sorts)
    part = part_of(run, ref)
    with_profiles(part)
    with part.run._reading() as model:
        runtimes = runtimes_of(model)
    if runtimes and all(isinstance(item, Refused) for item in runtimes):
        refused = (result for result in runtimes if isinstance(result, Refused))
        raise ProfileError(safe("\n".join(f"{result.profile}: not joined: {result.why}" for result in refused)))
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
