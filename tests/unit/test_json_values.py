"""JSON holds data: no signs of the screen, no numbers in strings, no joined lists, rounded numbers, names with units."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real import DEMO, TRACES, opened
from test_cli import ALL, label
from test_schemas import some, view_data

from tltui.documents.rank_groups import ranks_of
from tltui.export import rounded, to_json
from tltui.model.ref import Ranks
from tltui.model.run import Run
from tltui.questions.build import build
from tltui.questions.check.limits import gates, parse_limits
from tltui.questions.index import QUESTIONS
from tltui.questions.question import question_of
from tltui.text.document import Options
from tltui.tree.listing import listing_data

PATHS = [
    *ALL, DEMO, TRACES / "ranks", TRACES / "inputs" / "autotune", TRACES / "layers",
    TRACES / "profiler" / "mlp", TRACES / "inputs" / "fusion",
    *sorted((TRACES / "hangs").iterdir()), *sorted((TRACES / "jobs").glob("*/trace")),
]  # fmt: skip
GLYPHS = re.compile("[←-⇿─-➿…×·–†⚑]")
"""Arrows, lines, blocks, symbols, and signs of cut or joined text."""
NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)? ?(s|ms|us|µs|ns|min|h|B|[KMG]i?B|%)?")
LIST = re.compile(r"\d+(, ?\d+)+|\d+[-–]\d+")
SENTENCES = frozenset(("answer", "pace", "description", "advice", "help", "text", "reason", "sentence"))
"""Fields with English sentences."""
QUOTED = (
    re.compile(r"metrics\.(configs\[\]\.values|records\[\]\.fields\[\]\.value|texts\[\]\.values)\b"),
    re.compile(r"\.(expected|actual|values\[\]|terms\[\]\.value)$"),
    re.compile(r"exports\.exports\[\]\.failures\[\]\.(expressions\[\]\.arguments\[\]|locals\[\]\.value)$"),
    re.compile(r"\.code(\[\])?$"),
    re.compile(r"warmup\.calls\[\]\.arguments\[\]\.value$"),
)
"""Texts of the log: settings, values of any type in guards as Python writes them, arguments, expressions, lines of code."""
NAMES = re.compile(r"(\bref|\bpath|\blayer|\blayers\[\]|group\.name|conflicts\[\]\.name)$")
"""Addresses, module paths, process groups and processes: a number may be a name."""
TIME_OR_SIZE = re.compile(r"(^|_)(time|duration|seconds|took|elapsed|latency|memory|bytes|saved|span|wait|since|until|ms|ns|us|s)$")
UNITS = ("_s", "_us", "_bytes")
CALLS = frozenset(("times",))
"""How often."""


def values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Paths of all strings, numbers, true, false and null, with `[]` for an index."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from values(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from values(item, f"{path}[]")
    else:
        yield path, value


def problem(path: str, value: Any) -> str:
    """What is wrong with a value; '' for nothing."""
    name = path.rstrip("[]").rpartition(".")[2]
    if isinstance(value, bool) or value is None:
        return ""
    if any(quoted.search(path) for quoted in QUOTED):
        return ""
    if isinstance(value, (int, float)):
        if isinstance(value, float) and rounded(value) != value:
            return "digits"
        return "unit" if TIME_OR_SIZE.search(name) and not name.endswith(UNITS) and name not in CALLS else ""
    if name in SENTENCES or NAMES.search(path):
        return ""
    return "glyph" if GLYPHS.search(value) else "list" if LIST.fullmatch(value) else "number" if NUMBER.fullmatch(value) else ""


def printed(run: Run) -> Iterator[tuple[str, Any]]:
    """Yield what is printed of the run and of two compiles, by the name of the command, and the rows of the Python API."""
    compiles = sorted(run.compiles(), key=lambda c: (not c.facts.failed, -c.facts.breaks, -c.tally.compile_s))[:2]
    for view in QUESTIONS:
        for ref in ("", *(str(compile_.ref) for compile_ in compiles)):
            data: Any = view_data(run, view.name, ref)["result"]
            yield view.name, data
            if not ref and view.name != "summary":  # its row has counts
                yield f"{view.name} rows", list(question_of(view.name).records(data))
    yield "ls", listing_data(run)
    yield "damage", document_data(run, "@damage")
    yield "records", document_data(run, f"@records:{compiles[0].ref}" if compiles else "@records")
    yield "check", gates(run, parse_limits("error,break,recompiles=1,compile_time=1,diverge", False), None)


def document_data(run: Run, page: str) -> Any:
    document = build(run, page, Options())
    while not document.advance():
        pass
    return document.data()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: "demo" if path == DEMO else label(path))
def test_values_are_data(path: Path) -> None:
    found = {
        f"{reason}: {place} = {value!r}"[:200]
        for name, result in printed(opened(path))
        for place, value in values(some(json.loads(to_json(result))), name)
        if (reason := problem(place, value))
    }
    assert not found, "\n".join(sorted(found)[:20])


@pytest.mark.parametrize(("path", "value", "reason"), [
    ("a.ranks", "0, 2", "list"), ("a.ranks", "0–2", "glyph"), ("a.count", "4", "number"), ("a.size", "3 KB", "number"),
    ("a.took", "1.2 s", "number"), ("a.took", 1.5, "unit"), ("a.took_s", 0.1 + 0.2, "digits"), ("a.took_s", 1.5, ""),
    ("a.path", "0", ""), ("a.name", "a → b", "glyph"), ("a.description", "a → b", ""), ("a.reasons[].expected", "4", ""),
    ("a.wait_ms", 2, "unit"), ("a.is_late", True, ""),
])  # fmt: skip
def test_each_kind_of_problem_is_noticed(path: str, value: object, reason: str) -> None:
    assert problem(path, value) == reason


def test_ranks_are_numbers_in_json_and_ranges_as_text() -> None:
    ranks = Ranks((8, 0, 1, 2, 1))
    assert (tuple(ranks), str(ranks), f"{ranks}") == ((0, 1, 2, 8), "0–2, 8", "0–2, 8")
    assert json.loads(to_json({"ranks": ranks, "none": Ranks()})) == {"ranks": [0, 1, 2, 8], "none": []}
    assert ranks_of(["2:0/1", "0.1:0/1", "norank:0/1"]) == (0, 2)


@pytest.mark.parametrize("indent", [True, False])
def test_numbers_are_rounded_and_strings_are_not(indent: bool) -> None:
    text = 'x: 1.23456789, "2.3456789012"\n1.23456789\n'
    value = {"a_s": 0.1 + 0.2, "b": [1.23456789, -12.000000049, 1e-7 / 3, 1e300, 4.0], "text": text}
    expected = {"a_s": 0.3, "b": [1.234568, -12.0, 3.333e-08, 1e300, 4.0], "text": text}
    assert json.loads(to_json(value, indent)) == expected
    assert json.loads(to_json([value, 2**70], indent)) == [expected, 2**70]
