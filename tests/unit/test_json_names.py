"""docs/json-names.md: each name of 0.2 is in its class, and the name of 0.1 is not."""

from __future__ import annotations

import dataclasses
import json
import re

from real import ROOT

from tltui.api import rows
from tltui.cli.schema import NAMES, schema_text
from tltui.questions.index import BY_NAME
from tltui.questions.question import question_of

LINE = re.compile(r"^\| `(\w+)` \| ([\w, ]+) \| `(\w+)` \| `(\w+)` \|$", re.MULTILINE)
TABLE = LINE.findall((ROOT / "docs" / "json-names.md").read_text(encoding="utf-8"))


def test_the_new_names_are_there_and_the_old_ones_are_not() -> None:
    schemas = {name: json.loads(schema_text(name))["$defs"] for name in NAMES}
    classes = [question_of(name).rows for name in BY_NAME]
    classes += [kind for kind in vars(rows).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    columns = {kind.__name__: {field.name for field in dataclasses.fields(kind)} for kind in classes}
    assert len(TABLE) > 300
    for kind, places, old, new in TABLE:
        if places == "rows":
            assert new in columns[kind] and old not in columns[kind], (kind, old, new)
            continue
        for place in places.split(", "):
            found = [set(item["properties"]) for name, item in schemas[place].items() if name.partition(" of ")[0] == kind]
            assert any(new in names and old not in names for names in found), (place, kind, old, new)
