#!/usr/bin/env python3
"""Make what depends on the Python API.

docs/api-columns.md has all columns of all tables, docs/examples/api.py the lines of docs/api.md as a program, for mypy, and
src/tltui/__init__.pyi names, types and docstrings, for editors and type checkers, and src/tltui/api/run_views.py the methods
of `Run`.

`python tools/renew.py` writes them. `python tools/make_api.py` writes what the lines of docs/api.md give into it anew: read the
difference.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import sys
import typing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tltui
from tltui.api.views import result_type
from tltui.cli.schema import field_docs, field_names
from tltui.questions.index import BY_NAME
from tltui.questions.question import question_of

ROOT = Path(__file__).resolve().parents[1]
PAGE, COLUMNS, EXAMPLES = (ROOT / "docs" / name for name in ("api.md", "api-columns.md", "examples/api.py"))
STUB = ROOT / "src" / "tltui" / "__init__.pyi"
VIEWS = ROOT / "src" / "tltui" / "api" / "run_views.py"
WIDTH = 132
FENCE = "```"
HEAD = """\
# The columns of `to_records()`

Made by `python tools/renew.py`: the attributes of the rows of each function, and the keys of `to_records()`. `str?` may
be None. Columns in `_s` are seconds, those in `_us` microseconds, those in `_at_us` microseconds since 1970 (UTC); `ref` is an
address that every function takes. A tuple is text with commas in `to_records()`.
"""


def without_fences(text: str) -> str:
    """Return the page for doctest, with each line at its place."""
    return "\n".join("" if line.startswith(FENCE) else line for line in text.split("\n"))


def examples(text: str) -> list[doctest.Example]:
    """Return the examples of the page."""
    return doctest.DocTestParser().get_examples(without_fences(text), PAGE.name)


def columns() -> str:
    """Return docs/api-columns.md."""
    out = [HEAD]
    for name, row in rows().items():
        out += [f"## {name}", "", " ".join((inspect.getdoc(row) or "").split()), ""]
        out += ["| column | type | meaning |", "| --- | --- | --- |"]
        docs = field_docs(row)
        for field in field_names(row):
            kind = str(row.__annotations__[field]).replace(" | None", "?")
            out.append(f"| `{field}` | `{kind}` | {docs[field].replace('|', chr(92) + '|')} |")
        out.append("")
    return "\n".join(out)


def rows() -> dict[str, type]:
    """Return function → the class of its rows."""
    from tltui.api import nodes

    classes = {}
    for name in ("Rank", "Process", "Frame", "Compile", "Artifact"):
        kind = inspect.signature(getattr(nodes, name).row).return_annotation
        plural = f"run.{name.lower()}{'es' if name.endswith('s') else 's'}"
        classes[plural] = getattr(importlib.import_module("tltui.api.rows"), kind)
    for name in tltui.__all__:
        function = getattr(tltui, name)
        if name in BY_NAME:
            classes[f"tltui.{name}(run)"] = question_of(name).rows
            continue
        annotation = str(getattr(function, "__annotations__", {}).get("return", ""))
        if inspect.isfunction(function) and "Result[" in annotation:
            row = annotation.split("Result[")[1].split(",")[0]
            classes[f"tltui.{name}(run)"] = getattr(inspect.getmodule(function), row)
    return classes


def program() -> str:
    """Return docs/examples/api.py."""
    head = '"""The lines of docs/api.md, made by tools/make_api.py: mypy reads them as a user\'s program."""\n\n'
    return head + "".join(example.source for example in examples(PAGE.read_text(encoding="utf-8")))


def with_outputs(text: str) -> str:
    """Return the page with the current output of its examples."""
    lines, space = text.split("\n"), {"__name__": "api"}
    out: list[str] = []
    done = 0
    for example in examples(text):
        end = example.lineno + example.source.count("\n")
        out += lines[done:end]
        out += given(example.source, space)
        done = end + len(example.want.splitlines())
    return "\n".join([*out, *lines[done:]])


def given(source: str, space: dict[str, object]) -> list[str]:
    """Return the output of a line in the shell."""
    before, sys.stdout = sys.stdout, io.StringIO()
    try:
        exec(compile(source, PAGE.name, "single"), space)
        return [line or "<BLANKLINE>" for line in sys.stdout.getvalue().splitlines()]
    finally:
        sys.stdout = before


def stub() -> str:
    """Return src/tltui/__init__.pyi: names of `tltui.api`, and the functions of the questions with their types and docstrings."""
    others = [name for name in tltui.api.__all__ if name not in BY_NAME]
    imports = {("tltui.api", f"{name} as {name}") for name in others}
    functions = []
    for name in sorted(BY_NAME):
        question = question_of(name)
        imports |= {(kind.__module__, kind.__name__) for kind in classes_in(question.rows, question.answer)}
        functions.append(definition(name, result_type(question)))
    modules: dict[str, list[str]] = {}
    for module, name in sorted(imports, key=lambda pair: (pair[0], pair[1].lower())):
        modules.setdefault(module, []).append(name)
    lines = []
    for module, names in sorted(modules.items()):
        line = f"from {module} import {', '.join(names)}"
        lines += [line] if len(line) <= WIDTH and " as " not in line else [f"from {module} import {name}" for name in names]
    return STUB_HEAD + "\n".join([*lines, "", "__version__: str", "", *functions])


STUB_HEAD = '''"""What `__init__.py` gives when it is asked for, made by `python tools/renew.py`."""

# ruff: noqa: A002, A004, I001

'''


def classes_in(*kinds: object) -> set[type]:
    """Return the classes that types are made of."""
    classes: set[type] = set()
    for kind in kinds:
        parts = typing.get_args(kind)
        if not parts and isinstance(kind, type):
            classes.add(kind)
        classes |= classes_in(*parts)
    return {kind for kind in classes if kind.__module__ != "builtins"}


def definition(name: str, returns: str) -> str:
    """Return the lines of a function."""
    function = getattr(tltui, name)
    parameters, is_keyword = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            parameters.append("*")
            is_keyword = True
        value = "" if parameter.default is parameter.empty else f" = {default(parameter.default)}"
        parameters.append(f"{parameter.name}: {parameter.annotation}{value}")
    head = f"def {name}({', '.join(parameters)}) -> {returns}:"
    if len(head) > WIDTH:
        head = f"def {name}(\n    {', '.join(parameters)}\n) -> {returns}:"
    doc = (inspect.getdoc(function) or "").split("\n")
    text = "\n".join([doc[0], *(line and f"    {line}" for line in doc[1:])])
    return f'{head}\n    """{text}{"" if len(doc) == 1 else chr(10) + "    "}"""\n'


def run_views() -> str:
    """Return src/tltui/api/run_views.py: the class with a method for each question."""
    imports: set[tuple[str, str]] = {("tltui.api.nodes", "Node"), ("tltui.api.results", "Result")}
    methods = []
    for name in sorted(BY_NAME):
        question = question_of(name)
        imports |= {(kind.__module__, kind.__name__) for kind in classes_in(question.rows, question.answer)}
        methods.append(method(name, result_type(question)))
    modules: dict[str, list[str]] = {}
    for module, kind in sorted(imports):
        modules.setdefault(module, []).append(kind)
    lines = [f"    from {module} import {', '.join(kinds)}" for module, kinds in sorted(modules.items())]
    return VIEWS_HEAD.replace("IMPORTS", "\n".join(lines)) + "\n".join(methods)


VIEWS_HEAD = '''"""Methods of `Run`, one for each question, made by `python tools/renew.py`."""

# ruff: noqa: A002, D205, D401, E501, I001

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tltui.api.functions import FUNCTIONS

if TYPE_CHECKING:
IMPORTS


class RunViews:
    """The views of a run as methods: `run.recompiles(rank=0)` is `tltui.recompiles(run, "0:")`."""

    __slots__ = ()

    def _ask(self, name: str, ref: str | Node, rank: int | None, frame: int | None, **keywords: Any) -> Any:
        return FUNCTIONS["ask_run"](self, name, ref, rank, frame, keywords)

'''


def method(name: str, returns: str) -> str:
    """Return the lines of the method of a question."""
    function = getattr(tltui, name)
    extra = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    keywords = [f"{p.name}: {p.annotation} = {default(p.default)}" for p in extra]
    parameters = ['self, ref: str | Node = ""', "*", "rank: int | None = None", "frame: int | None = None", *keywords]
    called = METHOD_NAMES.get(name, name)
    head = f"    def {called}(\n        {', '.join(parameters)},\n    ) -> {returns}:"
    values = ", ".join(f"{p.name}={p.name}" for p in extra)
    doc = (inspect.getdoc(function) or "").split("\n")
    doc = doc[: next((n for n, line in enumerate(doc) if line.startswith(">>>")), len(doc))]
    while not doc[-1]:
        doc.pop()
    text = "\n".join([doc[0], *(line and f"        {line}" for line in doc[1:])])
    closing = "" if len(doc) == 1 else "\n        "
    body = f'        return self._ask("{name}", ref, rank, frame, {values})  # type: ignore[no-any-return]\n'
    return f'{head}\n        """{text}{closing}"""\n{body}'


METHOD_NAMES = {"ranks": "rank_differences"}
"""Question → its method, where `Run` has another attribute of that name."""


def default(value: object) -> str:
    """Return a default as Python has it, with double quotes."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def generated() -> dict[Path, str]:
    """Return each file and its text."""
    return {COLUMNS: columns(), EXAMPLES: program(), STUB: stub(), VIEWS: run_views()}


if __name__ == "__main__":
    PAGE.write_text(with_outputs(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
