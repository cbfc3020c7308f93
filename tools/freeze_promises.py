#!/usr/bin/env python3
"""Record what docs/promises.md promises, as it is now, in tests/unit/data/promised.

Run it when a release is made: what was added since the last one is promised from then on. It refuses to forget anything that was
promised before (`--break` does it all the same, for a new major version). `tests/unit/test_promises.py` compares.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROMISED = ROOT / "tests" / "unit" / "data" / "promised"


def commands() -> dict[str, list[str]]:
    """Return command → its options; the terminal UI is ''."""
    from tltui.cli.registry import COMMANDS, parser_of
    from tltui.cli.ui import ui_parser

    parsers = {"": ui_parser(), **{name: parser_of(name) for name in COMMANDS}}
    return {
        name: sorted(option for action in parser._actions for option in action.option_strings)
        for name, parser in parsers.items()
    }


def settings() -> dict[str, Any]:
    """Return variable → its name in the file, type, choices, option."""
    from tltui.settings import SETTINGS

    return {
        setting.variable: {
            "name": setting.name, "type": setting.kind.__name__, "choices": list(setting.choices), "option": setting.option,
        }
        for setting in SETTINGS if not setting.is_internal
    }  # fmt: skip


def key_commands() -> list[str]:
    """Return the commands that `[keys]` may name."""
    from tltui.commands import COMMANDS

    return [command.id for command in COMMANDS]


def python() -> dict[str, Any]:
    """Return public name → the methods, properties and fields of a class, the parameters of a function.

    Rows are those of `to_records()`.
    """
    import tltui
    from tltui.api import rows
    from tltui.questions.index import BY_NAME
    from tltui.questions.question import question_of

    names: dict[str, Any] = {name: _public(getattr(tltui, name)) for name in tltui.__all__}
    classes = [question_of(name).rows for name in BY_NAME]
    classes += [value for name, value in vars(rows).items() if dataclasses.is_dataclass(value) and name.endswith("Row")]
    for row in classes:
        names[row.__name__] = [field.name for field in dataclasses.fields(row)]
    return names


def _public(value: Any) -> list[str]:
    if isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
        return sorted({name for name in (*fields, *dir(value)) if not name.startswith("_")} - set(dir(Exception)))
    return list(inspect.signature(value).parameters) if callable(value) else []


def tables() -> dict[str, Any]:
    """Return file → names that stay."""
    return {"commands.json": commands(), "settings.json": settings(), "key_commands.json": key_commands(), "python.json": python()}


def schemas() -> dict[str, Any]:
    """Return file → JSON schema, as `tltui schema` prints it."""
    from tltui.cli.schema import NAMES, schema_text

    return {f"{name}.json": json.loads(schema_text(name)) for name in sorted(NAMES)}


def promised_schemas() -> dict[str, Any]:
    """Return file → JSON schema, as it was promised."""
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted((PROMISED / "schema").glob("*.json"))}


def forgotten() -> list[str]:
    """Return the promises that do not hold any more."""
    frozen, now = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(PROMISED.glob("*.json"))}, tables()
    changed = Changed(promised_schemas(), schemas())
    return [
        *(problem for name, table in now.items() if name in frozen for problem in broken(frozen[name], table, name)),
        *(problem for name in promised_schemas() for problem in changed.changes(name)),
    ]


def broken(before: Any, now: Any, where: str = "") -> Iterator[str]:
    """Yield the differences of a table of names; additions are allowed."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name, value in before.items():
            yield from broken(value, now[name], f"{where}/{name}") if name in now else (f"{where}/{name} is gone",)
    elif isinstance(before, list) and isinstance(now, list):
        yield from (f"{where}/{item} is gone" for item in before if item not in now)
    elif before != now:
        yield f"{where} was {before!r} and is {now!r}"


class Changed:
    """Differences of a JSON schema from the promised one that break its readers.

    What is printed may have further fields, further names in an enumeration, and a further kind of object where there were several.
    A field that was always there is, and has no type that it did not have.
    """

    def __init__(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        """Set the promised and the current schemas by file."""
        self._before, self._now = before, now
        self._compared_refs: set[tuple[str, str, str, str]] = set()

    def changes(self, name: str) -> list[str]:
        """Return the differences of one file."""
        if name not in self._now:
            return [f"{name} is gone"]
        return list(self._compared(name, self._before[name], name, self._now[name], name))

    def _compared(self, old_file: str, old: Any, new_file: str, new: Any, where: str) -> Iterator[str]:
        if "$ref" in old and "$ref" in new:
            key = (old_file, old["$ref"], new_file, new["$ref"])
            if key in self._compared_refs:
                return
            self._compared_refs.add(key)
        old_file, old = _resolved(self._before, old_file, old)
        new_file, new = _resolved(self._now, new_file, new)
        if "anyOf" in old or "anyOf" in new:
            yield from self._choices(old_file, old, new_file, new, where)
            return
        if "const" in old or "enum" in old:
            values = new.get("enum", [new["const"]] if "const" in new else [])
            yield from (f"{where}: {value!r} is gone" for value in old.get("enum", [old.get("const")]) if value not in values)
            return
        if "type" in old and not _types(new) <= _types(old):
            yield f"{where}: was {sorted(_types(old))}, may be {sorted(_types(new)) or 'anything'}"
            return
        for field, kind in old.get("properties", {}).items():
            if field not in new.get("properties", {}):
                yield f"{where}.{field} is gone"
                continue
            if field in old.get("required", ()) and field not in new.get("required", ()):
                yield f"{where}.{field} need not be there"
            yield from self._compared(old_file, kind, new_file, new["properties"][field], f"{where}.{field}")
        for part in ("items", "additionalProperties"):
            if isinstance(old.get(part), dict):
                other = new.get(part)
                yield from self._compared(old_file, old[part], new_file, other if isinstance(other, dict) else {}, f"{where}[]")

    def _choices(self, old_file: str, old: Any, new_file: str, new: Any, where: str) -> Iterator[str]:
        """Yield the removed kinds of a union, and new kinds that are no objects or answers of new pages."""
        before, now = old.get("anyOf", [old]), new.get("anyOf", [new])
        left = list(now)
        for kind in before:
            changes: list[str] = []
            for other in sorted(left, key=lambda other: other != kind):
                before_refs = set(self._compared_refs)
                changes = list(self._compared(old_file, kind, new_file, other, where))
                if not changes:
                    left.remove(other)
                    break
                self._compared_refs = before_refs
            else:
                if len(now) >= len(before) or not left:  # fewer kinds are fewer cases for who reads
                    yield f"{where}: {_called(kind)} is no longer there as it was" + (f" ({changes[0]})" if changes else "")
        for kind in left:
            is_object = "anyOf" in old and _types(_resolved(self._now, new_file, kind)[1]) == {"object"}
            page = kind.get("$ref", "").partition("#")[0]
            if not is_object and (not page or page in self._before):
                yield f"{where}: may be {_called(kind)}, too"


def _resolved(files: dict[str, Any], file: str, schema: Any) -> tuple[str, Any]:
    """Return the target of a reference and its file."""
    while "$ref" in schema:
        other, _, place = schema["$ref"].partition("#")
        file = other or file
        schema = files[file]
        for step in place.strip("/").split("/") if place.strip("/") else ():
            schema = schema[step]
    return file, schema


def _types(schema: Any) -> set[str]:
    types = schema.get("type", [])
    if not types and ("const" in schema or "enum" in schema):
        values = schema.get("enum", [schema.get("const")])
        types = [{str: "string", bool: "boolean", int: "integer", float: "number"}.get(type(value), "null") for value in values]
    return {types} if isinstance(types, str) else set(types)


def _called(kind: Any) -> str:
    return str(kind.get("$ref") or kind.get("type") or kind)


def main() -> int:
    """Write the files, unless something would be forgotten."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--break", action="store_true", dest="breaks", help="forget what was promised before")
    breaks = parser.parse_args().breaks
    if (wrong := forgotten()) and not breaks:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    (PROMISED / "schema").mkdir(parents=True, exist_ok=True)
    for name, value in (*tables().items(), *((f"schema/{name}", schema) for name, schema in schemas().items())):
        (PROMISED / name).write_text(json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    sys.exit(main())
