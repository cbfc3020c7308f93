#!/usr/bin/env python3
"""Write down what docs/promises.md promises, as it is now: tests/unit/data/promised.

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
    """Command → its options; the terminal UI is ''."""
    from tltui.cli.registry import COMMANDS, parser_of
    from tltui.cli.ui import ui_parser

    parsers = {"": ui_parser(), **{name: parser_of(name) for name in COMMANDS}}
    return {name: sorted(option for own in parser._actions for option in own.option_strings) for name, parser in parsers.items()}


def settings() -> dict[str, Any]:
    """Variable → its name in the file, type, choices, option."""
    from tltui.settings import SETTINGS

    return {
        own.variable: {"name": own.name, "type": own.kind.__name__, "choices": list(own.choices), "option": own.option}
        for own in SETTINGS if not own.is_internal
    }  # fmt: skip


def key_commands() -> list[str]:
    """What `[keys]` may name."""
    from tltui.commands import COMMANDS

    return [command.id for command in COMMANDS]


def python() -> dict[str, Any]:
    """Public name → what a class has: its methods, properties and fields; of a function its parameters. Rows are those of
    `to_records()`."""
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


def _public(own: Any) -> list[str]:
    if isinstance(own, type):
        fields = [field.name for field in dataclasses.fields(own)] if dataclasses.is_dataclass(own) else []
        return sorted({name for name in (*fields, *dir(own)) if not name.startswith("_")} - set(dir(Exception)))
    return list(inspect.signature(own).parameters) if callable(own) else []


def tables() -> dict[str, Any]:
    """File → names that stay."""
    return {"commands.json": commands(), "settings.json": settings(), "key_commands.json": key_commands(), "python.json": python()}


def schemas() -> dict[str, Any]:
    """Return file → JSON schema, as `tltui schema` prints it."""
    from tltui.cli.schema import NAMES, schema_text

    return {f"{name}.json": json.loads(schema_text(name)) for name in sorted(NAMES)}


def promised_schemas() -> dict[str, Any]:
    """Return file → JSON schema, as it was promised."""
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted((PROMISED / "schema").glob("*.json"))}


def forgotten() -> list[str]:
    """What was promised and does not hold any more."""
    frozen, now = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(PROMISED.glob("*.json"))}, tables()
    changed = Changed(promised_schemas(), schemas())
    return [
        *(said for name, own in now.items() if name in frozen for said in broken(frozen[name], own, name)),
        *(said for name in promised_schemas() for said in changed.found(name)),
    ]


def broken(before: Any, now: Any, where: str = "") -> Iterator[str]:
    """What a table of names lacks, or has otherwise: only further names may be there."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name, value in before.items():
            yield from broken(value, now[name], f"{where}/{name}") if name in now else (f"{where}/{name} is gone",)
    elif isinstance(before, list) and isinstance(now, list):
        yield from (f"{where}/{item} is gone" for item in before if item not in now)
    elif before != now:
        yield f"{where} was {before!r} and is {now!r}"


class Changed:
    """What a JSON schema says otherwise than the one that was promised, so that who reads by the old one goes wrong.

    What is printed may have further fields, further names in an enumeration, and a further kind of object where there were several.
    A field that was always there is, and has no type that it did not have.
    """

    def __init__(self, before: dict[str, Any], now: dict[str, Any]) -> None:
        """Name of the file → schema, for both."""
        self._before, self._now = before, now
        self._seen: set[tuple[str, str, str, str]] = set()

    def found(self, name: str) -> list[str]:
        """What is told of one file."""
        if name not in self._now:
            return [f"{name} is gone"]
        return list(self._compared(name, self._before[name], name, self._now[name], name))

    def _compared(self, old_file: str, old: Any, new_file: str, new: Any, where: str) -> Iterator[str]:
        if "$ref" in old and "$ref" in new:
            key = (old_file, old["$ref"], new_file, new["$ref"])
            if key in self._seen:
                return
            self._seen.add(key)
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
        """Each kind that there was is, and what was none of several things is none of them now but an object."""
        before, now = old.get("anyOf", [old]), new.get("anyOf", [new])
        left = list(now)
        for kind in before:
            said: list[str] = []
            for other in sorted(left, key=lambda other: other != kind):
                seen = set(self._seen)
                said = list(self._compared(old_file, kind, new_file, other, where))
                if not said:
                    left.remove(other)
                    break
                self._seen = seen
            else:
                if len(now) >= len(before) or not left:  # fewer kinds are fewer cases for who reads
                    yield f"{where}: {_called(kind)} is no longer there as it was" + (f" ({said[0]})" if said else "")
        for kind in left:
            if not ("anyOf" in old and _types(_resolved(self._now, new_file, kind)[1]) == {"object"}):
                yield f"{where}: may be {_called(kind)}, too"


def _resolved(files: dict[str, Any], file: str, schema: Any) -> tuple[str, Any]:
    """What a reference stands for, and in which file."""
    while "$ref" in schema:
        other, _, place = schema["$ref"].partition("#")
        file = other or file
        schema = files[file]
        for step in place.strip("/").split("/") if place.strip("/") else ():
            schema = schema[step]
    return file, schema


def _types(schema: Any) -> set[str]:
    found = schema.get("type", [])
    if not found and ("const" in schema or "enum" in schema):
        values = schema.get("enum", [schema.get("const")])
        found = [{str: "string", bool: "boolean", int: "integer", float: "number"}.get(type(value), "null") for value in values]
    return {found} if isinstance(found, str) else set(found)


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
    for name, value in (*tables().items(), *((f"schema/{name}", own) for name, own in schemas().items())):
        (PROMISED / name).write_text(json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    sys.exit(main())
