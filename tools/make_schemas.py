#!/usr/bin/env python3
"""Make the JSON schemas of all commands, docs/schema/COMMAND.json, from the types of what they print.

`python tools/renew.py` writes them. A test sees to it that they are up to date,
and that what the commands print of all traces fits them.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import itertools
import json
import sys
import types
import typing
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "docs" / "schema"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"}, bool: {"type": "boolean"}, int: {"type": "integer"}, float: {"type": "number"}, Any: {}, object: {},
    type(None): {"type": "null"}, dict: {"type": "object"}, list: {"type": "array"},
}  # fmt: skip


class Schemas:
    """The schema of one document: its types, each described once."""

    def __init__(self) -> None:
        self.definitions: dict[str, dict[str, Any]] = {}
        self._names: dict[type, str] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type."""
        if kind in PLAIN:
            return dict(PLAIN[kind])
        if hasattr(kind, "__json__"):
            return self.of(typing.get_type_hints(kind.__json__)["return"])
        origin, given = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            return self._any_of(given)
        if origin is typing.Literal:
            return {"enum": list(given)}
        if origin is tuple and not (len(given) == 2 and given[1] is Ellipsis):
            size = len(given)
            return {"type": "array", "prefixItems": [self.of(item) for item in given], "minItems": size, "maxItems": size}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(given[1])}
        if isinstance(origin, type) and issubclass(origin, Collection):
            return {"type": "array", "items": self.of(given[0])}
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return {"enum": [item.value for item in kind]}
        if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "__annotations__")):
            return {"$ref": f"#/$defs/{self._named(kind)}"}
        raise TypeError(f"no schema for {kind!r}")

    def _any_of(self, kinds: tuple[Any, ...]) -> dict[str, Any]:
        found = [self.of(kind) for kind in kinds]
        if all(set(one) == {"type"} and isinstance(one["type"], str) for one in found):
            return {"type": [one["type"] for one in found]}
        return {"anyOf": found}

    def _named(self, kind: type) -> str:
        if kind not in self._names:
            name = kind.__name__.lstrip("_")
            self._names[kind] = name if name not in self.definitions else f"{name} of {kind.__module__.rpartition('.')[2]}"
            self.definitions[self._names[kind]] = {}  # it may hold itself
            self.definitions[self._names[kind]] = self._object(kind)
        return self._names[kind]

    def _object(self, kind: type) -> dict[str, Any]:
        hints, said = typing.get_type_hints(kind), _said(kind)
        names = _fields(kind) if not typing.is_typeddict(kind) else tuple(hints)
        properties = {name: self.of(hints[name]) | ({"description": said[name]} if name in said else {}) for name in names}
        optional: frozenset[str] = getattr(kind, "__optional_keys__", frozenset())
        return {
            "description": _one_line(inspect.getdoc(kind) or ""), "type": "object", "properties": properties,
            "required": [name for name in names if name not in optional], "additionalProperties": False,
        }  # fmt: skip


def _fields(kind: type) -> tuple[str, ...]:
    """The fields that are printed."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if not field.name.startswith("_"))
    return tuple(kind._fields)  # type: ignore[attr-defined]


def _said(kind: type) -> dict[str, str]:
    """Field → the string below it."""
    found: dict[str, str] = {}
    for field, below in itertools.pairwise(_body(kind)):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = below.value.value if isinstance(below.value, ast.Constant) else None
            if isinstance(text, str):
                found[field.target.id] = _one_line(inspect.cleandoc(text))
    return found


def _body(kind: type) -> list[ast.stmt]:
    """The statements of a class, those of what it inherits from first: a typed dictionary does not know it, its text does."""
    module = sys.modules[kind.__module__]
    classes = {node.name: node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ClassDef)}
    own = classes.get(kind.__name__)
    if own is None:
        return []
    above = [classes[base.id] for base in own.bases if isinstance(base, ast.Name) and base.id in classes]
    return [statement for node in (*above, own) for statement in node.body[bool(ast.get_docstring(node)) :]]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def documents() -> dict[str, Any]:
    """Command → the type of what it prints, of those that are no views."""
    from tltui.cli.config import ConfigReport
    from tltui.questions.artifacts.show_output import ShownArtifact
    from tltui.questions.check.limits import Gates
    from tltui.questions.compare.artifacts_page import CompareResult, DiffResult
    from tltui.questions.news.news_sections import TailLine
    from tltui.questions.records.damage_page import DamageReport
    from tltui.questions.records.grep_page import GrepResult
    from tltui.questions.records.log_page import OutputReport
    from tltui.questions.records.records_page import Records
    from tltui.questions.source_lines.page import SourceLine
    from tltui.tree.listing import Listing
    from tltui.writers.bundle import BundleResult
    from tltui.writers.case import CaseResult

    return {
        "ls": Listing, "records": Records, "source": SourceLine, "grep": GrepResult, "diff": DiffResult | CompareResult,
        "damage": DamageReport, "check": Gates, "bundle": BundleResult, "case": CaseResult, "show": ShownArtifact,
        "tail": TailLine, "log": OutputReport, "config": ConfigReport,
    }  # fmt: skip


def made() -> dict[Path, str]:
    """Return each file and its text."""
    from tltui.questions.index import QUESTIONS
    from tltui.questions.question import question_of

    found = {}
    for question in (question_of(entry.name) for entry in QUESTIONS):
        schemas = Schemas()
        root = _record({"schema": {"const": 1}, "view": {"const": question.name}, "result": {"$ref": "#/$defs/result"}})
        kind = question.answer
        if question.alone is not None:
            root, kind = (
                ({"$ref": "#/$defs/result"}, question.alone) if kind is None
                else ({"anyOf": [root, schemas.of(question.alone)]}, kind | question.alone)
            )  # fmt: skip
        schemas.definitions["result"] = schemas.of(kind)
        found[question.name] = _file(question.name, f"{question.help[0].upper()}{question.help[1:]}.", root, schemas)
    for name, kind in documents().items():
        schemas = Schemas()
        root = schemas.of(kind)
        if name == "show":
            root = {"anyOf": [root, *_shown_pages(schemas, [entry.name for entry in QUESTIONS])]}
        found[name] = _file(name, "", root, schemas)
    return {SCHEMAS / f"{name}.json": text for name, text in found.items()}


def _shown_pages(schemas: Schemas, views: list[str]) -> list[dict[str, Any]]:
    """What `show` prints of a page: the text where that is all there is, else the result, as the command of the page prints it."""
    from tltui.questions.records.index_page import Page

    head: dict[str, Any] = {"schema": {"const": 1}, "ref": schemas.of(str), "title": schemas.of(str)}
    own = [{"$ref": f"{name}.json"} for name in ("records", "source", "grep", "diff", "damage", "log")]
    pages = [{"$ref": f"{name}.json#/$defs/result"} for name in views] + own + [schemas.of(tuple[Page, ...])]
    return [_record(head | {"text": schemas.of(str)}), _record(head | {"result": {"anyOf": pages}})]


def _record(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _file(name: str, description: str, root: dict[str, Any], schemas: Schemas) -> str:
    title = f"tltui {name} --json"
    defs = {key: schemas.definitions[key] for key in sorted(schemas.definitions)}
    whole = {"$schema": DRAFT, "title": title, **({"description": description} if description else {}), **root, "$defs": defs}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
