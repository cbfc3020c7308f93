"""Entries of `TORCH_COMPILE_DYNAMIC_SOURCES` match the source that they are made for, and no other."""

from __future__ import annotations

import ast
import shlex

import pytest
from dynamic_source_rules import HOSTILE, matches
from pages import page
from real import trace

from tltui.model.torch_versions import SETTINGS
from tltui.questions.recompiles.dynamic_sources import (
    CONFIG,
    SINCE,
    VARIABLE,
    assignment,
    entry_of,
    full_source,
    is_argument,
    statement,
    value_of,
)
from tltui.questions.recompiles.failed_guard_text import strip_local
from tltui.questions.recompiles.page import Recompiles


def test_the_first_version_is_the_same_everywhere() -> None:
    assert SETTINGS[VARIABLE].since == SETTINGS[CONFIG].since == SINCE


def test_there_are_forty_hostile_names() -> None:
    assert len(set(HOSTILE)) >= 40


@pytest.mark.parametrize("source", HOSTILE)
def test_an_entry_matches_its_source_only(source: str) -> None:
    entry = entry_of(source)
    assert [other for other in HOSTILE if matches(entry, other)] == [source]
    assert not matches(entry, source + ".x") and not matches(entry, source + "[0]") and not matches(entry, "x" + source)
    assert entry.endswith("$") and " " not in entry and "," not in entry


def test_entries_of_a_list_do_not_disturb_each_other() -> None:
    value = ",".join(map(entry_of, HOSTILE))
    assert all(matches(value, source) for source in HOSTILE)
    assert not matches(value, "L['y']")


@pytest.mark.parametrize("source", HOSTILE)
def test_a_shell_and_python_hand_the_value_on_unchanged(source: str) -> None:
    value = entry_of(source)
    assert shlex.split(assignment(value)) == [f"TORCH_COMPILE_DYNAMIC_SOURCES={value}"]
    assert ast.literal_eval(statement(value).partition(" = ")[2]) == value


@pytest.mark.parametrize(("short", "full"), [
    ("x", "L['x']"), ("d['a']", "L['d']['a']"), ("self.i", "L['self'].i"), ("args[0]", "L['args'][0]"), ("G['N']", "G['N']"),
    ("___from_numpy(x)", None), ("list(d)[0]", None), ("x.size() + 1", None), ("", None),
])  # fmt: skip
def test_the_full_source(short: str, full: str | None) -> None:
    assert full_source(short) == full
    assert full is None or strip_local(full) == short


def test_a_source_that_torch_cannot_match_has_no_value() -> None:
    assert value_of(["x", "___from_numpy(y)"]) == ""
    assert value_of(["x", "x", "y"]) == r"L\[\x27x\x27\]$,L\[\x27y\x27\]$"


@pytest.mark.parametrize(("source", "is_foreign", "expected"), [
    ("x", False, True), ("d['a']", False, True), ("xs[0]", False, True), ("x", True, False), ("args[0]", False, False),
    ("kwargs['x']", False, False), ("cache.layers[0].keys", False, False), ("args[1]._base", False, False),
])  # fmt: skip
def test_an_argument_of_the_program(source: str, is_foreign: bool, expected: bool) -> None:
    assert is_argument(source, is_foreign) is expected


@pytest.mark.parametrize("name", ["guards", "remedies", "ddp", "reasons", "recompiles"])
def test_each_entry_on_the_page_matches_its_source(name: str) -> None:
    result = page(trace(f"torch-2.13/{name}"), "@recompiles").data()
    assert isinstance(result, Recompiles)
    for variation in (v for frame in result.frames for v in frame.variations if v.remedy == "dynamic sources"):
        value = ast.literal_eval(variation.code[0].partition(" = ")[2])
        meant = [full for source in (*variation.sources, variation.source) if (full := full_source(source)) and "[*]" not in full]
        assert any(matches(value, source) for source in meant)
        assert not any(matches(value, source) for source in HOSTILE if source not in meant)
