"""The JSON schemas are those of the types that are printed, and what is printed of all traces fits them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from real import DEMO, ROOT, opened
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from test_cli import ALL, label

from tltui.cli import COMMANDS, main
from tltui.cli.registry import parser_of
from tltui.cli.schema import NAMES, schema_text
from tltui.documents.envelope import envelope
from tltui.export import to_json
from tltui.model.artifacts import artifacts_of
from tltui.model.ref import parse_ref
from tltui.model.run import Run
from tltui.questions.artifacts.page import shown_data
from tltui.questions.build import build
from tltui.questions.check.limits import gates, parse_limits
from tltui.questions.index import QUESTIONS
from tltui.questions.records.grep_page import Query, grep_document
from tltui.questions.records.records_page import damage_document
from tltui.text.document import Options
from tltui.tree.listing import listing_data
from tltui.writers.bundle import Bundle
from tltui.writers.case import Case

MOST = 12
"""Entries of a list that are looked at: a large trace has thousands that were made by one line of ours."""


@cache
def schema(name: str) -> Any:
    return json.loads(schema_text(name))


@cache
def validator(name: str) -> Draft202012Validator:
    registry: Registry[Any] = Registry().with_resources(
        (f"{other}.json", Resource(contents=schema(other), specification=DRAFT202012)) for other in NAMES
    )
    return Draft202012Validator(schema(name), registry=registry)


def fits(name: str, value: object) -> Any:
    """What is printed, once it is seen to fit the schema of a command."""
    printed = json.loads(to_json(value), parse_constant=pytest.fail)
    errors = [
        f"{name} at {'/'.join(map(str, error.absolute_path))}: {error.message[:400]}"
        for error in validator(name).iter_errors(some(printed))
    ]
    assert not errors, "\n".join(errors[:5])
    return printed


def some(value: Any) -> Any:
    """A few entries of each list, the last among them."""
    if isinstance(value, dict):
        return {key: some(item) for key, item in value.items()}
    if isinstance(value, list):
        return [some(item) for item in (value if len(value) <= MOST else [*value[: MOST - 3], *value[-3:]])]
    return value


def test_the_command_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert capsys.readouterr().out.split() == list(NAMES)
    assert main(["schema", "check"]) == 0
    assert json.loads(capsys.readouterr().out) == schema("check")
    assert main(["schema", "chek"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "tltui: no command with JSON output: 'chek'\n  did you mean check?\n")


def test_each_command_that_prints_json_has_one() -> None:
    for name in COMMANDS:
        assert (name in NAMES) == parser_of(name).has_option("--json"), name
    said = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"tltui schema {name}`" not in said] == []


@pytest.mark.parametrize("name", NAMES)
def test_they_are_schemas_and_name_every_part(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    for kind in every_part(schema(name)):
        assert "prefixItems" not in kind, "a list whose entries have no names"


def every_part(value: Any) -> Any:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from every_part(item)


def view_data(run: Run, view: str, ref: str) -> Any:
    """As `tltui.cli.view` prints it."""
    document = build(run, f"@{view}:{ref}" if ref else f"@{view}", Options())
    while not document.advance():
        pass
    return envelope(view, run.title, ref, document.data())


@pytest.mark.parametrize("path", [*ALL, DEMO], ids=lambda path: "demo" if path == DEMO else label(path))
def test_what_is_printed_of_a_trace_fits(path: Path) -> None:
    run = opened(path)
    compiles = sorted(run.compiles(), key=lambda c: (not c.facts.failed, -c.facts.breaks, -(c.tally.compile_s)))[:2]
    places = ["", *(str(compile_.ref) for compile_ in compiles)]
    for view in QUESTIONS:
        for ref in places:
            fits(view.name, view_data(run, view.name, ref))
    fits("ls", envelope("ls", run.title, "", listing_data(run, check=path.name == "breaks")))
    fits("damage", envelope("damage", run.title, "", damage_document(run, Options(), check=False).data()))
    limits = parse_limits("error,eager,break,recompiles=1,cache_miss,compile_time=1,empty,unfinished,damage,diverge", False)
    fits("check", envelope("check", run.title, "", gates(run, limits, None)))
    grep = grep_document(run, Query("add", "*", "", None, None, 1), Options())
    while not grep.advance():
        pass
    fits("grep", envelope("grep", run.title, "", grep.data()))
    fits("bundle", envelope("bundle", run.title, "", Bundle(run, places[1:2], True, ()).result()))
    fits("case", envelope("case", run.title, "", Case(run).result()))
    artifacts = [artifact for compile_ in compiles for artifact in artifacts_of(compile_)][:3]
    pages = ["@damage", "@pages", "@records", "@problems", *(str(artifact.ref) for artifact in artifacts)]
    for ref in [*places, *pages, *(str(compile_.frame.ref) for compile_ in compiles if compile_.is_compile)]:
        fits("show", shown_data(run, parse_ref(ref), build(run, ref, Options())))


TRACE = str(ROOT / "tests" / "traces" / "torch-2.13" / "recompiles")


@pytest.mark.parametrize("arguments", [
    ["records", TRACE, "0/0"], ["source", TRACE, "recompiles.py:5"], ["diff", TRACE, "0/0", "0/1"], ["grep", "add", TRACE],
    ["diff", TRACE, "0/0:dynamo_cpp_guards_str", "0/1:dynamo_cpp_guards_str"], ["diff", TRACE, "--with", TRACE],
    ["guards", TRACE, "--filter", "kind:TENSOR"], ["guards", TRACE, "0/0"], ["provenance", TRACE, "0/0"], ["ls", TRACE, "--check"],
    ["bundle", TRACE, "0/0", "--preview"], ["check", TRACE], ["show", TRACE, "0/0:dynamo_output_graph"], ["timing", TRACE, "0/1"],
    ["show", TRACE, "@diff::0/0%200/1"], ["show", TRACE, "@grep::add"], ["damage", TRACE],
], ids=lambda arguments: " ".join(arguments).replace(TRACE, ""))  # fmt: skip
def test_what_a_command_prints_fits(arguments: list[str], capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main([*arguments, "--json"]) == 0
    fits(arguments[0], json.loads(capsysbinary.readouterr().out))


def test_a_summary_names_what_it_counts() -> None:
    tally = fits("summary", view_data(opened(TRACE), "summary", ""))["result"]["tally"]
    assert (tally["compiles"], tally["errors"], tally["recompiles"]) == (5, 0, 4)


def test_a_page_that_grows_is_shown_whole() -> None:
    run = opened(DEMO)
    for page in ("@problems", "@timing", "@recompiles"):
        document = build(run, page, Options())
        assert "result" in shown_data(run, parse_ref(page), document) and document.complete
