#!/usr/bin/env python3
"""Make what docs/api.md does not say itself: docs/api-columns.md (all columns of all tables, from `tltui.api.rows`) and
docs/examples/api.py (the lines of docs/api.md as a program, for mypy).

`python tools/make_api.py` writes them, with `--check` it only says which differ. A test sees to it that they are up to date. With
`--outputs` what the lines of docs/api.md give is written into it anew: read the difference.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from make_schemas import _fields, _said

import tltui

ROOT = Path(__file__).resolve().parents[1]
PAGE, COLUMNS, EXAMPLES = (ROOT / "docs" / name for name in ("api.md", "api-columns.md", "examples/api.py"))
FENCE = "```"
HEAD = """\
# The columns of `to_records()`

Made from the code by `tools/make_api.py`: the attributes of the rows of each function, and the keys of `to_records()`. `str?` may
be None. Columns that end in `_s` and `seconds` are seconds, those in `_us` and `us` microseconds; `ref` is an address that every
function takes.
"""


def without_fences(text: str) -> str:
    """The page as doctest reads it: line by line at its place."""
    return "\n".join("" if line.startswith(FENCE) else line for line in text.split("\n"))


def examples(text: str) -> list[doctest.Example]:
    """The lines of the page that are run."""
    return doctest.DocTestParser().get_examples(without_fences(text), PAGE.name)


def columns() -> str:
    """docs/api-columns.md."""
    out = [HEAD]
    for name, row in rows().items():
        out += [f"## {name}", "", " ".join((inspect.getdoc(row) or "").split()), ""]
        out += ["| column | type | meaning |", "| --- | --- | --- |"]
        said = _said(row)
        for field in _fields(row):
            kind = str(row.__annotations__[field]).replace(" | None", "?")
            out.append(f"| `{field}` | `{kind}` | {said[field].replace('|', chr(92) + '|')} |")
        out.append("")
    return "\n".join(out)


def rows() -> dict[str, type]:
    """What is asked → the class of its rows."""
    from tltui.api import nodes

    found = {}
    for name in ("Rank", "Process", "Frame", "Compile", "Artifact"):
        kind = inspect.signature(getattr(nodes, name).row).return_annotation
        plural = f"run.{name.lower()}{'es' if name.endswith('s') else 's'}"
        found[plural] = getattr(importlib.import_module("tltui.api.rows.listed"), kind)
    for name in tltui.__all__:
        function = getattr(tltui, name)
        said = str(getattr(function, "__annotations__", {}).get("return", ""))
        if inspect.isfunction(function) and "Result[" in said:
            row = said.split("Result[")[1].split(",")[0]
            found[f"tltui.{name}(run)"] = getattr(inspect.getmodule(function), row)
    return found


def program() -> str:
    """docs/examples/api.py."""
    head = '"""The lines of docs/api.md, made by tools/make_api.py: mypy reads them as a user\'s program."""\n\n'
    return head + "".join(example.source for example in examples(PAGE.read_text(encoding="utf-8")))


def with_outputs(text: str) -> str:
    """The page with what its lines give now."""
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
    """What a line prints in the shell."""
    before, sys.stdout = sys.stdout, io.StringIO()
    try:
        exec(compile(source, PAGE.name, "single"), space)
        return [line or "<BLANKLINE>" for line in sys.stdout.getvalue().splitlines()]
    finally:
        sys.stdout = before


def made() -> dict[Path, str]:
    """Each file and its text."""
    return {COLUMNS: columns(), EXAMPLES: program()}


def main(arguments: list[str]) -> int:
    """Write them, or say which differ."""
    if "--outputs" in arguments:
        PAGE.write_text(with_outputs(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    differing = [path for path, text in made().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in differing:
        print(path.relative_to(ROOT))
        if "--check" not in arguments:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made()[path], encoding="utf-8")
    return int(bool(differing) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
