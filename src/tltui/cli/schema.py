"""`tltui schema`: the JSON schema of what a command prints with `--json`, made from the types of its result.

A test sees to it that what the commands print of all traces fits.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import enum
import inspect
import itertools
import json
import sys
import types
import typing
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

from tltui.cli.exits import Failure
from tltui.cli.parser import Command, argument
from tltui.cli.printing import message
from tltui.documents.envelope import SCHEMA_VERSION
from tltui.questions.index import BY_NAME
from tltui.questions.question import question_of

EXAMPLES = """\
A schema (draft 2020-12) lists all fields of the JSON with type and meaning; docs/json.md explains the rest.
"$ref": "NAME.json" refers to the output of tltui schema NAME.

examples:
  tltui schema                        the commands that print JSON
  tltui schema check > check.json
"""
DRAFT = "https://json-schema.org/draft/2020-12/schema"
PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"}, bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": "number"}, Any: {}, object: {},
    type(None): {"type": "null"}, dict: {"type": "object"}, list: {"type": "array"},
}  # fmt: skip
RESULTS = {
    "ls": "tltui.tree.listing:Listing",
    "list": "tltui.questions.compare.run_list_page:RunList",
    "records": "tltui.questions.records.records_page:Records",
    "source": "tltui.questions.source_lines.page:SourceLine|SourceFile",
    "grep": "tltui.questions.records.grep_page:GrepResult",
    "diff": "tltui.questions.compare.artifacts_page:DiffResult|CompareResult",
    "damage": "tltui.questions.records.records_page:DamageReport",
    "check": "tltui.questions.check.limits:Gates",
    "bundle": "tltui.writers.bundle:BundleResult",
    "case": "tltui.writers.case:CaseResult",
    "show": "tltui.questions.artifacts.page:ShownArtifact|ShownText",
    "tail": "tltui.questions.news.news_sections:TailLine",
    "watch": "tltui.questions.compare.run_list_page:RunRow",
    "log": "tltui.questions.records.log_page:OutputReport",
    "config": "tltui.cli.config:ConfigReport",
    "try": "tltui.questions.trials.outcomes:TrialReport",
}
"""Command → the module and the types of what it prints, of those that are no pages."""
NAMES = (*BY_NAME, *RESULTS)


def run(options: argparse.Namespace) -> Iterator[bytes]:
    """Yield a schema, or the names of all."""
    if not options.name:
        yield from map(message, NAMES)
        return
    if options.name not in NAMES:
        near = get_close_matches(options.name, NAMES, 1)
        advice = f"did you mean {near[0]}?" if near else "tltui schema lists the commands"
        raise Failure(f"no command with JSON output: '{options.name}'", advice)
    yield schema_text(options.name).encode()


def schema_text(name: str) -> str:
    """Return the schema of a command as JSON."""
    description, definitions = "", Definitions()
    if name in BY_NAME:
        question = question_of(name)
        description = f"{question.help[0].upper()}{question.help[1:]}."
        result = definitions.schema_of(question.answer)
    else:
        module, _, kinds = RESULTS[name].partition(":")
        result_types = tuple(getattr(import_module(module), kind) for kind in kinds.split("|"))
        result = definitions.schema_of(typing.Union[result_types])  # noqa: UP007 - their number is open
    if name in ("tail", "watch"):  # a line each
        root = result
    else:
        definitions.by_name["result"] = {"anyOf": [result, *_shown_results(definitions)]} if name == "show" else result
        root = _enveloped(PLAIN[str] if name == "show" else {"const": name})
    described = {"description": description} if description else {}
    by_name = {key: definitions.by_name[key] for key in sorted(definitions.by_name)}
    document = {"$schema": DRAFT, "title": f"tltui {name} --json", **described, **root, "$defs": by_name}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _enveloped(view: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an `Envelope`."""
    text, version, result = PLAIN[str], {"const": SCHEMA_VERSION}, {"$ref": "#/$defs/result"}
    return _object({"view": view, "schema_version": version, "run": text, "ref": text, "result": result})


def _shown_results(definitions: Definitions) -> list[dict[str, Any]]:
    """Return the schemas of the results of pages, as `show` prints them."""
    from tltui.questions.records.index_page import Page

    pages = (*BY_NAME, "records", "source", "grep", "diff", "damage", "log")
    return [*({"$ref": f"{name}.json#/$defs/result"} for name in pages), definitions.schema_of(tuple[Page, ...])]


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


class Definitions:
    """The types of one schema, each described once."""

    def __init__(self) -> None:
        self.by_name: dict[str, dict[str, Any]] = {}
        """The `$defs` of the schema."""
        self._names: dict[type, str] = {}

    def schema_of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type, and define the classes in it."""
        if kind in PLAIN:
            return dict(PLAIN[kind])
        if hasattr(kind, "__json__"):
            return self.schema_of(typing.get_type_hints(kind.__json__)["return"])
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            return self._any_of(arguments)
        if origin is typing.Literal:
            return {"enum": list(arguments)}
        if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
            size = len(arguments)
            return {"type": "array", "prefixItems": list(map(self.schema_of, arguments)), "minItems": size, "maxItems": size}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.schema_of(arguments[1])}
        if isinstance(origin, type) and issubclass(origin, Collection):
            return {"type": "array", "items": self.schema_of(arguments[0])}
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return {"enum": [member.value for member in kind]}
        if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "__annotations__")):
            return {"$ref": f"#/$defs/{self._define(kind)}"}
        raise TypeError(f"no schema for {kind!r}")

    def _any_of(self, kinds: tuple[Any, ...]) -> dict[str, Any]:
        schemas = [self.schema_of(kind) for kind in kinds]
        if all(set(schema) == {"type"} and isinstance(schema["type"], str) for schema in schemas):
            return {"type": [schema["type"] for schema in schemas]}
        return {"anyOf": schemas}

    def _define(self, kind: type) -> str:
        """Add the definition of a class; return its name."""
        if kind not in self._names:
            name = kind.__name__.lstrip("_")
            self._names[kind] = name = name if name not in self.by_name else f"{name} of {kind.__module__.rpartition('.')[2]}"
            self.by_name[name] = {}  # it may hold itself
            self.by_name[name] = self._class_schema(kind)
        return self._names[kind]

    def _class_schema(self, kind: type) -> dict[str, Any]:
        hints, docs = typing.get_type_hints(kind), field_docs(kind)
        names = field_names(kind) if not typing.is_typeddict(kind) else tuple(hints)
        properties = {
            name: self.schema_of(hints[name]) | ({"description": docs[name]} if name in docs else {}) for name in names
        }
        optional: frozenset[str] = getattr(kind, "__optional_keys__", frozenset())
        required = [name for name in names if name not in optional]
        return {"description": _one_line(inspect.getdoc(kind) or ""), **_object(properties), "required": required}


def field_names(kind: type) -> tuple[str, ...]:
    """Return the names of the printed fields of a dataclass or named tuple."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if not field.name.startswith("_"))
    return tuple(kind._fields)  # type: ignore[attr-defined]


def field_docs(kind: type) -> dict[str, str]:
    """Return field → the string below it in the source."""
    docs: dict[str, str] = {}
    for field, below in itertools.pairwise(_class_body(kind)):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = below.value.value if isinstance(below.value, ast.Constant) else None
            if isinstance(text, str):
                docs[field.target.id] = _one_line(inspect.cleandoc(text))
    return docs


def _class_body(kind: type) -> list[ast.stmt]:
    """Return the statements of a class, those of its base classes first (a `TypedDict` does not have these at run time)."""
    classes = _classes_of(kind.__module__)
    if (node := classes.get(kind.__name__)) is None:
        return []
    bases = [classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
    return [statement for node in (*bases, node) for statement in node.body[bool(ast.get_docstring(node)) :]]


@cache
def _classes_of(module: str) -> dict[str, ast.ClassDef]:
    """Return the classes in the source of a module by name."""
    return {node.name: node for node in ast.parse(inspect.getsource(sys.modules[module])).body if isinstance(node, ast.ClassDef)}


def _one_line(text: str) -> str:
    return " ".join(text.split())


COMMANDS = {
    "schema": Command(run, (
        argument("name", nargs="?", default="", metavar="COMMAND", help="a command with --json (default: list all)"),
    ), EXAMPLES),
}  # fmt: skip
