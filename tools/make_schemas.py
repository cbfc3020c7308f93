#!/usr/bin/env python3
"""Make the JSON schemas of all commands, docs/schema/COMMAND.json, from the types of what they print.

`python tools/make_schemas.py` writes them, with `--check` it only says which differ. A test sees to it that they are up to date,
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
from importlib import import_module
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


def results() -> dict[str, Any]:
    """View → the type of its result, several as a union. A page may say its own, `RESULT`."""
    from tltui.questions.caches.cache_report import CachesReport
    from tltui.questions.exports.export_report import Exports
    from tltui.questions.fusion.page import FusionReport
    from tltui.questions.guards.page import CompileGuards, GuardTable
    from tltui.questions.hang.page import WhereReport
    from tltui.questions.layers.layer_costs import CompileLayers
    from tltui.questions.metrics.compile_metrics import CompileMetrics, RunMetrics
    from tltui.questions.overview.compile_sections import Study
    from tltui.questions.overview.run_summary import Summary
    from tltui.questions.passes.page import Passes
    from tltui.questions.problems.absent_artifacts import Absence
    from tltui.questions.problems.problem_list import Problems
    from tltui.questions.provenance.page import Coverages
    from tltui.questions.ranks.matrix import Matrix
    from tltui.questions.ranks.page import RanksReport
    from tltui.questions.ranks.stragglers_page import Stragglers
    from tltui.questions.recompiles.page import Recompiles
    from tltui.questions.runtime.runtime_report import RuntimeJson, RuntimesJson
    from tltui.questions.shapes.page import ShapesReport
    from tltui.questions.stacks.stack_tree import Stacks
    from tltui.questions.timing.timing_results import Timing
    from tltui.questions.vllm.page import Vllm

    return {
        "summary": Summary | Study, "problems": Problems, "recompiles": Recompiles, "stacks": Stacks, "shapes": ShapesReport,
        "guards": GuardTable | CompileGuards | tuple[CompileGuards, ...], "caches": CachesReport, "timing": Timing,
        "provenance": Coverages, "layers": tuple[CompileLayers, ...], "fusion": FusionReport, "passes": Passes, "absent": Absence,
        "metrics": RunMetrics | CompileMetrics, "exports": Exports, "vllm": Vllm, "where": WhereReport,
        "runtime": RuntimeJson | RuntimesJson, "ranks": RanksReport, "stragglers": Stragglers, "matrix": Matrix,
    }  # fmt: skip


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


def made() -> dict[str, str]:
    """Name of a file → its text."""
    from tltui.questions.provenance.records import ProvenanceJson
    from tltui.questions.table import VIEWS as views

    found, all_results = {}, results()
    for view in views:
        schemas = Schemas()
        kind = all_results.get(view.name) or import_module(view.path).RESULT
        root = _record({"schema": {"const": 1}, "view": {"const": view.name}, "result": {"$ref": "#/$defs/result"}})
        if view.name == "provenance":  # of one compile it has a shape of its own
            root, kind = {"anyOf": [root, schemas.of(ProvenanceJson)]}, kind | ProvenanceJson
        if view.name == "runtime":
            root = {"$ref": "#/$defs/result"}
        schemas.definitions["result"] = schemas.of(kind)
        found[view.name] = _file(view.name, f"{view.help[0].upper()}{view.help[1:]}.", root, schemas)
    for name, kind in documents().items():
        schemas = Schemas()
        root = schemas.of(kind)
        if name == "show":
            root = {"anyOf": [root, *_shown_pages(schemas, list(dict.fromkeys([*all_results, *(view.name for view in views)])))]}
        found[name] = _file(name, "", root, schemas)
    return {f"{name}.json": text for name, text in found.items()}


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


def main() -> int:
    """Write the files, or say which differ."""
    differ = []
    for name, text in made().items():
        path = SCHEMAS / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            differ.append(name)
            if "--check" not in sys.argv[1:]:
                SCHEMAS.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    print(f"{'differ' if '--check' in sys.argv[1:] else 'written'}: {', '.join(differ) or 'none'}")
    return int("--check" in sys.argv[1:] and bool(differ))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    sys.exit(main())
