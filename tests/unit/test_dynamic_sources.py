"""Entries of `TORCH_COMPILE_DYNAMIC_SOURCES` match the source that they are made for, and no other."""

from __future__ import annotations

import ast
import shlex

import pytest
from dynamic_source_rules import HOSTILE, matches
from pages import page
from real import trace

from tltui.model.torch_versions import SETTINGS, stated_version
from tltui.questions.recompiles.dynamic_sources import (
    CONFIGS,
    UNBACKED,
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
from tltui.questions.recompiles.remedies import Advice, CauseFacts, Settings, advice_for


def test_the_first_version_is_the_same_everywhere() -> None:
    for variable, setting in CONFIGS.items():
        assert SETTINGS[variable].since == SETTINGS[setting].since == (2, 8)


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


# the version of torch


def advised(version: str, *sizes: str) -> Advice:
    facts = CauseFacts("tensor size", "kwargs['x']", 0, values=dict.fromkeys(sizes), is_foreign=True)
    advice = advice_for(facts, Settings(version=stated_version(version)))
    assert advice is not None
    return advice


@pytest.mark.parametrize(("version", "remedy", "variable"), [
    ("2.6.0", "dynamic=True", ""), ("2.8.0", "dynamic sources", VARIABLE), ("2.13.0+cpu", "dynamic sources", VARIABLE),
    ("", "dynamic sources", VARIABLE),
])  # fmt: skip
def test_a_variable_is_offered_to_a_torch_that_knows_it(version: str, remedy: str, variable: str) -> None:
    advice = advised(version, "3", "5")
    assert (advice.remedy, advice.environment.partition("=")[0]) == (remedy, variable)
    assert ("(torch 2.8 and later)" in advice.text) == bool(variable)


def test_sizes_0_and_1_without_an_edit() -> None:
    advice, value = advised("2.13.0", "5", "1"), value_of(["kwargs['x']"])
    assert advice.remedy == "unbacked sources"
    assert shlex.split(advice.environment) == [f"{UNBACKED}={value}"]
    assert advice.code == (statement(value, UNBACKED),)
    assert advised("2.6.0", "5", "1") == Advice("Sizes 0 and 1 are always compiled separately.")
